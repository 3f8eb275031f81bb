// SPDX-License-Identifier: GPL-2.0
//! Host memory cache: the private memory of the function, which is in host memory, and
//! the queue contexts in it.
//!
//! The function sees its private memory as segments of 2 MB. A segment is direct (one
//! block of host memory) or paged (a page of 512 page descriptors). The chip caches page
//! descriptors until PFHMC_PDINV invalidates them; the model reads them each time.

use super::regs::at;
use crate::chip::registers::Registers;
use crate::host::Host;
use crate::memory::DmaFault;

const SEGMENTS: usize = 4096;
const SEGMENT_SHIFT: u32 = 21;
const PAGE_SHIFT: u32 = 12;
const PAGE_MASK: u64 = (1 << PAGE_SHIFT) - 1;
const SDCMD_INDEX: u32 = 0xFFF;
const SDCMD_WRITE: u32 = 1 << 31;
const SD_VALID: u64 = 1 << 0;
const SD_DIRECT: u64 = 1 << 1;
const PD_VALID: u64 = 1 << 0;
/// Unit of the base registers of objects.
const BASE_UNIT: u64 = 512;
const TX_CONTEXT: usize = 128;
const RX_CONTEXT: usize = 32;
/// QTX_CTL: owner of the queue: the physical function, or one of its VMDq VSIs.
const QTX_CTL_OWNER: u32 = 3;
const OWNER_VM: u32 = 1;
const OWNER_PF: u32 = 2;
/// Maximum length of a ring.
const RING_MAX: u32 = 8160;
/// Maximum number of buffers of a frame, which limits RXMAX.
const CHAIN_MAX: usize = 5;

/// Tx queue context. Fields that only tune the chip are omitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxContext {
    /// Index of the first descriptor to fetch.
    pub head: u32,
    /// Address of the ring.
    pub base: u64,
    /// Descriptors in the ring.
    pub length: u32,
    /// Address of the head write-back, if enabled.
    pub head_write_back: Option<u64>,
    /// Filter programming is allowed.
    pub filters: bool,
}

/// Rx queue context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxContext {
    /// Index of the first descriptor to fetch.
    pub head: u32,
    /// Address of the ring.
    pub base: u64,
    /// Descriptors in the ring.
    pub length: u32,
    /// Bytes of a buffer.
    pub buffer: usize,
    /// Descriptors have 32 bytes, else 16.
    pub long: bool,
    /// The CRC is stripped.
    pub strips_crc: bool,
    /// The stripped outer tag is in L2TAG1, otherwise in L2TAG2.
    pub tag_in_l2tag1: bool,
    /// Maximum frame length, with CRC.
    pub longest: usize,
}

/// Reason why a queue cannot be enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The queue's context is beyond the configured number of objects.
    NoObject,
    /// The segment of this index, or the page in it, is not valid.
    NoSegment(usize),
    /// The context, or the page descriptor, is not in guest memory.
    Fault(DmaFault),
    /// QTX_CTL names another owner of the queue.
    NotOwner,
    /// A field of the context has an invalid value.
    BadField(&'static str, u64),
    /// The context enables an unsupported feature.
    NotModelled(&'static str),
}

/// Segment descriptors of the function.
#[derive(Debug)]
pub struct Hmc {
    /// As in SDDATAHIGH and SDDATALOW.
    segments: Vec<u64>,
}

impl Default for Hmc {
    fn default() -> Self {
        Self {
            segments: vec![0; SEGMENTS],
        }
    }
}

impl Hmc {
    /// Invalidates all segments.
    pub fn clear(&mut self) {
        self.segments.fill(0);
    }

    /// Takes a value written to PFHMC_SDCMD: writes the data registers to a segment
    /// descriptor, or reads them from one.
    pub fn command(&mut self, registers: &mut Registers, value: u32) {
        let segment = &mut self.segments[(value & SDCMD_INDEX) as usize];
        if value & SDCMD_WRITE == 0 {
            registers.set(at::PFHMC_SDDATALOW, *segment as u32);
            registers.set(at::PFHMC_SDDATAHIGH, (*segment >> 32) as u32);
            return;
        }
        *segment = u64::from(registers.get(at::PFHMC_SDDATAHIGH)) << 32
            | u64::from(registers.get(at::PFHMC_SDDATALOW));
    }

    /// Host address of a byte of private memory, valid up to the end of its page.
    fn translate(&self, host: &Host, address: u64) -> Result<u64, Error> {
        let index = (address >> SEGMENT_SHIFT) as usize;
        let invalid = Error::NoSegment(index);
        let segment = *self.segments.get(index).ok_or(invalid)?;
        if segment & SD_VALID == 0 {
            return Err(invalid);
        }
        let block = segment & !PAGE_MASK;
        let offset = address & ((1 << SEGMENT_SHIFT) - 1);
        if segment & SD_DIRECT != 0 {
            return Ok(block.wrapping_add(offset));
        }
        let entry = block.wrapping_add((offset >> PAGE_SHIFT) * 8);
        let page = host.memory.read_u64(entry).map_err(Error::Fault)?;
        if page & PD_VALID == 0 {
            return Err(invalid);
        }
        Ok((page & !PAGE_MASK).wrapping_add(address & PAGE_MASK))
    }

    /// Reads object `index` of `count` objects at `base`. Objects do not cross pages:
    /// their sizes divide 512, which their base is aligned to.
    fn object<const SIZE: usize>(
        &self,
        host: &Host,
        (base, count): (u32, u32),
        index: usize,
    ) -> Result<Context<SIZE>, Error> {
        if index >= count as usize {
            return Err(Error::NoObject);
        }
        let address = u64::from(base) * BASE_UNIT + (index * SIZE) as u64;
        let at = self.translate(host, address)?;
        let mut bytes = [0; SIZE];
        host.memory.read(at, &mut bytes).map_err(Error::Fault)?;
        Ok(Context(bytes))
    }

    /// Reads and checks the context of Tx queue `queue`.
    pub fn tx_context(
        &self,
        host: &Host,
        registers: &Registers,
        queue: usize,
    ) -> Result<TxContext, Error> {
        let owner = registers.get(at::QTX_CTL + 4 * queue as u32) & QTX_CTL_OWNER;
        if !matches!(owner, OWNER_VM | OWNER_PF) {
            return Err(Error::NotOwner);
        }
        let objects = (
            registers.get(at::GLHMC_LANTXBASE),
            registers.get(at::GLHMC_LANTXCNT),
        );
        let context = self.object::<TX_CONTEXT>(host, objects, queue)?;
        let (base, length, head) = context.ring(161)?;
        Ok(TxContext {
            head,
            base,
            length,
            head_write_back: context.flag(160).then(|| context.bits(192, 64)),
            filters: context.flag(91),
        })
    }

    /// Reads and checks the context of Rx queue `queue`.
    pub fn rx_context(
        &self,
        host: &Host,
        registers: &Registers,
        queue: usize,
    ) -> Result<RxContext, Error> {
        let objects = (
            registers.get(at::GLHMC_LANRXBASE),
            registers.get(at::GLHMC_LANRXCNT),
        );
        let context = self.object::<RX_CONTEXT>(host, objects, queue)?;
        let (base, length, head) = context.ring(89)?;
        let buffer = context.field("DBUFF", 102, 7, 8..=127)? as usize * 128;
        let longest = context.field("RXMAX", 174, 14, 64..=9728)? as usize;
        if context.bits(114, 2) != 0 {
            return Err(Error::NotModelled("header split"));
        }
        Ok(RxContext {
            head,
            base,
            length,
            buffer,
            long: context.flag(116),
            strips_crc: context.flag(117),
            tag_in_l2tag1: context.flag(119),
            longest: longest.min(CHAIN_MAX * buffer),
        })
    }
}

/// A queue context in memory: fields at bit offsets.
struct Context<const SIZE: usize>([u8; SIZE]);

impl<const SIZE: usize> Context<SIZE> {
    /// `width` bits, up to 64, from bit `first` on.
    fn bits(&self, first: usize, width: usize) -> u64 {
        let bytes = &self.0[first / 8..(first + width).div_ceil(8)];
        let value = bytes
            .iter()
            .rev()
            .fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
        (value >> (first % 8) & ((1 << width) - 1)) as u64
    }

    fn flag(&self, bit: usize) -> bool {
        self.bits(bit, 1) != 0
    }

    fn field(
        &self,
        name: &'static str,
        first: usize,
        width: usize,
        allowed: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, Error> {
        let value = self.bits(first, width);
        if allowed.contains(&value) {
            Ok(value)
        } else {
            Err(Error::BadField(name, value))
        }
    }

    /// Base, length and head of the ring; the length is at bit `qlen`.
    fn ring(&self, qlen: usize) -> Result<(u64, u32, u32), Error> {
        let length = self.field("QLEN", qlen, 13, 8..=u64::from(RING_MAX))?;
        let head = self.field("HEAD", 0, 13, 0..=length - 1)?;
        Ok((self.bits(32, 57) << 7, length as u32, head as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::super::regs::{SPACE, TABLE};
    use super::*;
    use crate::host::Timing;
    use crate::memory::GuestMemory;

    const RAM: u64 = 0x20_0000;

    fn setup() -> (Hmc, Host, Registers) {
        let mut host = Host::new("test", 1, Timing::LOCKSTEP);
        host.memory = GuestMemory::with_ram(RAM, 1 << 20).expect("memory");
        let mut registers = Registers::new(TABLE, SPACE);
        registers.set(at::GLHMC_LANTXBASE, 0);
        registers.set(at::GLHMC_LANTXCNT, 4);
        registers.set(at::GLHMC_LANRXBASE, 1); // behind 4 Tx contexts
        registers.set(at::GLHMC_LANRXCNT, 4);
        registers.set(at::QTX_CTL + 4, OWNER_PF);
        (Hmc::default(), host, registers)
    }

    fn segment(hmc: &mut Hmc, registers: &mut Registers, index: u32, value: u64) {
        registers.set(at::PFHMC_SDDATALOW, value as u32);
        registers.set(at::PFHMC_SDDATAHIGH, (value >> 32) as u32);
        hmc.command(registers, SDCMD_WRITE | index);
    }

    fn put(bytes: &mut [u8], first: usize, value: u64) {
        for bit in 0..64 {
            if value >> bit & 1 != 0 {
                bytes[(first + bit) / 8] |= 1 << ((first + bit) % 8);
            }
        }
    }

    fn rx_bytes() -> [u8; RX_CONTEXT] {
        let mut bytes = [0; RX_CONTEXT];
        for (first, value) in [
            (0, 5),
            (32, 0x1234_5680 >> 7),
            (89, 512),
            (102, 12),
            (116, 1),
            (117, 1),
            (119, 1),
            (174, 1534),
        ] {
            put(&mut bytes, first, value);
        }
        bytes
    }

    #[test]
    fn rx_context_in_a_direct_segment() {
        let (mut hmc, host, mut registers) = setup();
        segment(
            &mut hmc,
            &mut registers,
            0,
            RAM | SD_VALID | SD_DIRECT | 0x800,
        );
        host.memory
            .write(RAM + 512 + 2 * 32, &rx_bytes())
            .expect("context");
        let context = hmc.rx_context(&host, &registers, 2).expect("context");
        let expected = RxContext {
            head: 5,
            base: 0x1234_5680,
            length: 512,
            buffer: 1536,
            long: true,
            strips_crc: true,
            tag_in_l2tag1: true,
            longest: 1534,
        };
        assert_eq!(context, expected);
    }

    #[test]
    fn tx_context_in_a_paged_segment() {
        let (mut hmc, host, mut registers) = setup();
        registers.set(at::GLHMC_LANTXBASE, (0x20_0000 + 0x3000) / 512);
        segment(&mut hmc, &mut registers, 1, RAM | SD_VALID);
        let page = RAM + 0x5000;
        let read = |hmc: &Hmc| hmc.tx_context(&host, &registers, 1);
        assert_eq!(read(&hmc), Err(Error::NoSegment(1)));
        host.memory
            .write_u64(RAM + 3 * 8, page | PD_VALID)
            .expect("page");
        let mut bytes = [0; TX_CONTEXT];
        for (first, value) in [(32, 0x8000 >> 7), (91, 1), (160, 1), (161, 64)] {
            put(&mut bytes, first, value);
        }
        put(&mut bytes, 192, 0x0123_4567_89AB_CDE0);
        host.memory.write(page + 128, &bytes).expect("context");
        let expected = TxContext {
            head: 0,
            base: 0x8000,
            length: 64,
            head_write_back: Some(0x0123_4567_89AB_CDE0),
            filters: true,
        };
        assert_eq!(read(&hmc), Ok(expected));
    }

    #[test]
    fn bad_contexts() {
        let (mut hmc, host, mut registers) = setup();
        segment(&mut hmc, &mut registers, 0, RAM | SD_VALID | SD_DIRECT);
        assert_eq!(hmc.rx_context(&host, &registers, 4), Err(Error::NoObject));
        assert_eq!(hmc.tx_context(&host, &registers, 0), Err(Error::NotOwner));
        assert_eq!(
            hmc.tx_context(&host, &registers, 1),
            Err(Error::BadField("QLEN", 0))
        );
        let mut bytes = rx_bytes();
        put(&mut bytes, 114, 1);
        host.memory.write(RAM + 512, &bytes).expect("context");
        assert_eq!(
            hmc.rx_context(&host, &registers, 0),
            Err(Error::NotModelled("header split"))
        );
        segment(
            &mut hmc,
            &mut registers,
            0,
            0x7000_0000 | SD_VALID | SD_DIRECT,
        );
        assert!(matches!(
            hmc.rx_context(&host, &registers, 0),
            Err(Error::Fault(_))
        ));
        hmc.clear();
        assert_eq!(
            hmc.rx_context(&host, &registers, 0),
            Err(Error::NoSegment(0))
        );
    }

    #[test]
    fn a_segment_can_be_read_back() {
        let (mut hmc, _, mut registers) = setup();
        segment(&mut hmc, &mut registers, 7, 0x1_2345_6000 | SD_VALID);
        registers.set(at::PFHMC_SDDATALOW, 0);
        hmc.command(&mut registers, 7);
        assert_eq!(registers.get(at::PFHMC_SDDATALOW), 0x2345_6001);
        assert_eq!(registers.get(at::PFHMC_SDDATAHIGH), 1);
    }
}
