// SPDX-License-Identifier: GPL-2.0
//! Receive side scaling: the hash of a frame, and its queue in the redirection table. Key
//! and table are in registers and can be set by commands 0B02h to 0B05h.

use super::adminq::{Answer, Command, Fields, Refusal};
use super::classify::{self, PCTYPES};
use super::regs::{Registers, at};
use super::switch::Switch;
use crate::frame::Parsed;
use crate::frame::toeplitz::Toeplitz;

const KEY: usize = 52;
const TABLE: usize = 512;
const CTL_0_TABLE_512: u32 = 1 << 16;
/// In commands: the VSI is valid; its number is in the low bits.
const VSI_VALID: u16 = 1 << 15;
const VSI_NUMBER: u16 = 0x3FF;
/// The table is that of the function.
const TABLE_OF_FUNCTION: u16 = 1;

/// Copy of the registers that every frame depends on, in an efficient form. Rebuilt when
/// one of them is written.
pub struct Rss {
    hash: Toeplitz,
    /// Bit set of the classifier types that are hashed.
    enabled: u64,
    sets: [u64; PCTYPES],
    table: Vec<u8>,
}

impl Rss {
    /// Whether the register at `offset` is part of this copy.
    pub fn depends_on(offset: u32) -> bool {
        matches!(offset,
            at::PFQF_CTL_0
            | at::PFQF_HLUT..0x24_4000
            | at::PFQF_HKEY..0x24_4E80
            | at::PFQF_HENA..0x24_5A00
            | at::GLQF_HASH_INSET..0x26_7800)
    }

    /// Reads all of them.
    pub fn load(registers: &Registers) -> Self {
        let wide = registers.get(at::PFQF_CTL_0) & CTL_0_TABLE_512 != 0;
        let size = if wide { TABLE } else { 128 };
        let high = registers.get(at::PFQF_HENA + 128);
        Self {
            hash: Toeplitz::new(&read(registers, at::PFQF_HKEY, KEY)),
            enabled: u64::from(high) << 32 | u64::from(registers.get(at::PFQF_HENA)),
            sets: std::array::from_fn(|pctype| {
                classify::hash_input_set(registers, pctype as u8)
            }),
            table: read(registers, at::PFQF_HLUT, size),
        }
    }

    /// Hash of a frame, if its type is hashed.
    pub fn hash(&self, pctype: u8, frame: &[u8], parsed: &Parsed) -> Option<u32> {
        if pctype == classify::L2 || self.enabled >> pctype & 1 == 0 {
            return None;
        }
        let set = self.sets[usize::from(pctype)];
        let input = classify::input(set, pctype, frame, parsed);
        let (bytes, length) = classify::hash_input(&input, pctype);
        Some(self.hash.hash(&bytes[..length]))
    }

    /// Queue of the VSI for a hash; the first one for frames without a hash.
    pub fn queue(&self, switch: &Switch, vsi: usize, hash: Option<u32>) -> Option<usize> {
        let hash = hash.unwrap_or(0) as usize;
        let entry = match switch.table(vsi) {
            Some(table) => table[hash % table.len()],
            // The table of the function is for its main VSI
            None if vsi == 0 => self.table[hash % self.table.len()],
            None => 0,
        };
        switch.queue_by_table(vsi, usize::from(entry))
    }
}

/// Bytes from an array of registers 128 bytes apart.
fn read(registers: &Registers, first: u32, length: usize) -> Vec<u8> {
    (0..length as u32 / 4)
        .flat_map(|index| registers.get(first + 128 * index).to_le_bytes())
        .collect()
}

fn write(registers: &mut Registers, first: u32, bytes: &[u8]) {
    for (index, word) in (0..).zip(bytes.chunks_exact(4)) {
        registers.set(first + 128 * index, word.get32(0));
    }
}

/// Set RSS key (0B02h): that of the function; VSIs have no keys of their own here.
pub fn set_key(registers: &mut Registers, command: &mut Command) -> Answer {
    let key = *command.data::<KEY>()?;
    write(registers, at::PFQF_HKEY, &key);
    Ok(())
}

/// Get RSS key (0B04h).
pub fn get_key(registers: &Registers, command: &mut Command) -> Answer {
    let data = command.data::<KEY>()?;
    data.copy_from_slice(&read(registers, at::PFQF_HKEY, KEY));
    Ok(())
}

/// Set RSS redirection table (0B03h), of the function or of a VSI.
pub fn set_table(
    registers: &mut Registers,
    switch: &mut Switch,
    command: &mut Command,
) -> Answer {
    if command.params.get16(2) & TABLE_OF_FUNCTION == 0 {
        return switch.set_table(vsi(command)?, *command.data()?);
    }
    let length = command.buffer.len().min(TABLE);
    write(registers, at::PFQF_HLUT, &command.buffer[..length]);
    Ok(())
}

/// Get RSS redirection table (0B05h).
pub fn get_table(
    registers: &Registers,
    switch: &Switch,
    command: &mut Command,
) -> Answer {
    let table = if command.params.get16(2) & TABLE_OF_FUNCTION == 0 {
        switch
            .table(vsi(command)?)
            .map_or(vec![0; 64], |table| table.to_vec())
    } else {
        read(registers, at::PFQF_HLUT, TABLE)
    };
    for (to, from) in command.buffer.iter_mut().zip(table) {
        *to = from;
    }
    Ok(())
}

fn vsi(command: &Command) -> Result<usize, Refusal> {
    let vsi = command.params.get16(0);
    let number = usize::from(vsi & VSI_NUMBER);
    (vsi & VSI_VALID != 0)
        .then_some(number)
        .ok_or(Refusal::Einval)
}

#[cfg(test)]
mod tests {
    use super::super::regs;
    use super::*;
    use crate::frame::tests::{ethernet, ipv4, tcp, udp};

    /// The key of Microsoft's verification suite.
    const MICROSOFT: [u8; 40] = [
        0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43,
        0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb,
        0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01,
        0xfa,
    ];

    fn registers() -> Registers {
        let mut registers = regs::new();
        classify::reset_input_sets(&mut registers);
        write(&mut registers, at::PFQF_HKEY, &MICROSOFT);
        registers
    }

    /// From 66.9.149.187:2794 to 161.142.100.80:1766.
    fn published(protocol: u8, l4: &[u8]) -> Vec<u8> {
        let mut frame = [&ethernet(0x800)[..], &ipv4(protocol, l4.len()), l4].concat();
        frame[26..34].copy_from_slice(&[66, 9, 149, 187, 161, 142, 100, 80]);
        frame[34..36].copy_from_slice(&2794u16.to_be_bytes());
        frame[36..38].copy_from_slice(&1766u16.to_be_bytes());
        frame
    }

    fn hash(registers: &Registers, frame: &[u8]) -> Option<u32> {
        let parsed = Parsed::parse(frame);
        Rss::load(registers).hash(classify::pctype(&parsed), frame, &parsed)
    }

    #[test]
    fn enabled_types_are_hashed() {
        let mut registers = registers();
        let (tcp, udp) = (published(6, &tcp()), published(17, &udp(0)));
        assert_eq!(hash(&registers, &tcp), None);
        registers.set(at::PFQF_HENA + 128, 1 << (33 - 32));
        assert_eq!(hash(&registers, &tcp), Some(0x51cc_c178));
        assert_eq!(hash(&registers, &udp), None);
        registers.set(at::PFQF_HENA, 1 << 31);
        assert_eq!(hash(&registers, &udp), Some(0x51cc_c178));
    }

    #[test]
    fn the_input_set_chooses_the_fields() {
        let mut registers = registers();
        registers.set(at::PFQF_HENA + 128, 1 << (33 - 32));
        registers.set(at::GLQF_HASH_INSET + 8 * 33, 0);
        let addresses = 3 << (47 - 32) | 3 << (35 - 32);
        registers.set(at::GLQF_HASH_INSET + 8 * 33 + 4, addresses);
        assert_eq!(hash(&registers, &published(6, &tcp())), Some(0x323e_8fc2));
    }

    #[test]
    fn table_of_128_or_512_entries() {
        let mut registers = registers();
        let mut switch = Switch::new([2; 6]);
        let mut table: Vec<u8> = (0..TABLE).map(|entry| (entry / 128) as u8).collect();
        let mut command = Command {
            buffer: std::mem::take(&mut table),
            ..Command::default()
        };
        command.params.put16(2, TABLE_OF_FUNCTION);
        let answer = set_table(&mut registers, &mut switch, &mut command);
        assert_eq!(answer, Ok(()));
        assert_eq!(Rss::load(&registers).table.len(), 128);
        registers.set(at::PFQF_CTL_0, CTL_0_TABLE_512);
        let rss = Rss::load(&registers);
        assert_eq!(rss.table[300], 2);
        // The main VSI has one queue after reset, independent of the table
        assert_eq!(rss.queue(&switch, 0, Some(300)), Some(0));
    }

    #[test]
    fn key_by_command() {
        let mut registers = registers();
        let mut get = Command {
            buffer: vec![0; KEY],
            ..Command::default()
        };
        assert_eq!(get_key(&registers, &mut get), Ok(()));
        assert_eq!(get.buffer[..40], MICROSOFT);
        get.buffer.reverse();
        assert_eq!(set_key(&mut registers, &mut get), Ok(()));
        assert_eq!(registers.get(at::PFQF_HKEY + 128 * 12) >> 24, 0x6d);
    }
}
