// SPDX-License-Identifier: GPL-2.0
//! The shadow RAM: the part of the NVM that drivers read, by word through GLNVM_SRCTL or
//! by admin command 0701h.

use super::adminq::{Answer, Command, Fields, Refusal};
use super::regs::{Registers, at};

const WORDS: usize = 0x800;
/// Bytes of the flash. It begins with the shadow RAM; the rest is empty.
const FLASH: usize = 64 * 1024;
/// Sum of all words except those of the VPD and of the PCIe alternative area.
const CHECKSUM: u16 = 0xBABA;
/// Words of either of these areas.
const AREA: usize = 512;
const VPD: usize = 0x300;
const PCIE_ALTERNATIVE: usize = 0x600;
/// Offset of the settings of the embedded management controller.
const SETTINGS: usize = 0x100;
/// Word of the settings: offset of the current status of LLDP, relative to this word.
const LLDP_STATUS: usize = SETTINGS + 0x2B;

/// Words that are not zero: index and value.
#[rustfmt::skip]
const CONTENT: &[(usize, u16)] = &[
    (0x00, 0x0040),                  // this image is valid
    (0x15, 0xFAFA), (0x16, 0x0200),  // board assembly number is at 200h
    (0x18, 0x9020),                  // version of the image, 9.20
    (0x1B, 0xFFFF),                  // no OEM version
    (0x2D, 0x0FE1), (0x2E, 0x8000),  // its build, 0x80000FE1
    (0x2F, VPD as u16),
    (0x3E, PCIE_ALTERNATIVE as u16),
    (0x48, SETTINGS as u16),
    (LLDP_STATUS, 0x0004),           // port statuses are 1 + 4 words further on
    (LLDP_STATUS + 5, 0x3333),       // LLDP receives and sends
    (0x200, 6),                      // words of the assembly number, this one included
    (0x201, 0x4B31), (0x202, 0x3233), (0x203, 0x3435), (0x204, 0x2D30), (0x205, 0x3030),
];

const START: u32 = 1 << 30;
const DONE: u32 = 1 << 31;
const ADDRESS_SHIFT: u32 = 14;
const ADDRESS: u32 = 0x7FFF;

/// 16-bit words by their address.
pub struct Nvm(Vec<u16>);

impl Nvm {
    /// The image, with a valid checksum.
    pub fn new() -> Self {
        let mut words = vec![0; WORDS];
        for (index, value) in CONTENT {
            words[*index] = *value;
        }
        let sum = summed(&words);
        words[0x3F] = CHECKSUM.wrapping_sub(sum);
        Self(words)
    }

    /// A write to GLNVM_SRCTL, which is stored already: the word is available at once.
    pub fn command(&self, registers: &mut Registers) {
        let control = registers.get(at::GLNVM_SRCTL);
        if control & START == 0 {
            return;
        }
        let address = (control >> ADDRESS_SHIFT & ADDRESS) as usize;
        let word = self.0.get(address).copied().unwrap_or(0);
        registers.set(at::GLNVM_SRDATA, u32::from(word) << 16);
        registers.set(at::GLNVM_SRCTL, control & !START | DONE);
    }

    /// NVM read (0701h) of the flat image, module 0; length and offset are in bytes.
    pub fn read(&self, command: &mut Command) -> Answer {
        let module = command.params[1];
        let length = usize::from(command.params.get16(2));
        let offset = (command.params.get32(4) & 0x00FF_FFFF) as usize;
        let end = offset + length;
        if module != 0 || end > FLASH || length > command.buffer.len() {
            return Err(Refusal::Einval);
        }
        for (at, byte) in (offset..end).zip(&mut command.buffer) {
            let word = self.0.get(at / 2).copied().unwrap_or(0xFFFF);
            *byte = word.to_le_bytes()[at % 2];
        }
        Ok(())
    }
}

/// Sum of the words under the checksum, without the checksum.
fn summed(words: &[u16]) -> u16 {
    let covered = |index: &usize| {
        !(VPD..VPD + AREA).contains(index)
            && !(PCIE_ALTERNATIVE..PCIE_ALTERNATIVE + AREA).contains(index)
            && *index != 0x3F
    };
    (0..words.len())
        .filter(covered)
        .fold(0, |sum, index| sum.wrapping_add(words[index]))
}

#[cfg(test)]
mod tests {
    use super::super::regs;
    use super::*;

    #[test]
    fn checksum_and_read_by_register() {
        let nvm = Nvm::new();
        assert_eq!(summed(&nvm.0).wrapping_add(nvm.0[0x3F]), CHECKSUM);
        let mut registers = regs::new();
        assert_ne!(registers.get(at::GLNVM_SRCTL) & DONE, 0);
        registers.set(at::GLNVM_SRCTL, START | 0x18 << ADDRESS_SHIFT);
        nvm.command(&mut registers);
        assert_eq!(registers.get(at::GLNVM_SRDATA), 0x9020_0000);
        assert_eq!(registers.get(at::GLNVM_SRCTL) >> 30, 2);
    }

    #[test]
    fn read_by_command_in_bytes() {
        let nvm = Nvm::new();
        let mut command = Command {
            buffer: vec![0xEE; 4],
            ..Command::default()
        };
        command.params.put16(2, 3);
        command.params.put32(4, 0x31);
        assert_eq!(nvm.read(&mut command), Ok(()));
        assert_eq!(command.buffer, [0x90, 0, 0, 0xEE]);
        command.params.put32(4, 0xFFE);
        assert_eq!(nvm.read(&mut command), Ok(()));
        assert_eq!(command.buffer[1..], [0, 0xFF, 0xEE]);
        command.params.put32(4, 0xFFFE);
        assert_eq!(nvm.read(&mut command), Err(Refusal::Einval));
    }
}
