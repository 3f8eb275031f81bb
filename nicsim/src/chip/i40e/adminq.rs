// SPDX-License-Identifier: GPL-2.0
//! Admin queues: commands from the driver to the firmware (ATQ), events from the firmware
//! to the driver (ARQ). The commands are in [`firmware`](super::firmware).

use super::regs::{Registers, at};
use crate::event::Event;
use crate::host::Host;

/// Bytes of a descriptor.
const DESCRIPTOR: usize = 32;
/// Maximum buffer size of a command.
const BUFFER_MAX: usize = 4096;

const LENGTH: u32 = 0x3FF;
const CRITICAL: u32 = 1 << 30;
const OVERFLOW: u32 = 1 << 29;
const ENABLE: u32 = 1 << 31;

const FLAG_DD: u16 = 1 << 0;
const FLAG_CMP: u16 = 1 << 1;
const FLAG_ERR: u16 = 1 << 2;
const FLAG_LB: u16 = 1 << 9;
const FLAG_BUF: u16 = 1 << 12;
/// No interrupt for this command; the driver polls.
const FLAG_SI: u16 = 1 << 13;

/// Error codes of the firmware, for the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not permitted.
    Eperm = 1,
    /// No such element.
    Enoent = 2,
    /// The buffer is too small.
    Enomem = 9,
    /// Exists already.
    Eexist = 13,
    /// Bad argument.
    Einval = 14,
    /// No resource is free.
    Enospc = 16,
    /// Unknown command.
    Enosys = 17,
}

/// Result of a command.
pub type Answer = Result<(), Refusal>;

/// Little-endian fields of a structure from the driver, which may be too short: missing
/// bytes read as 0 and are not written.
pub trait Fields {
    /// 16 bits at byte offset `at`.
    fn get16(&self, at: usize) -> u16;
    /// 32 bits at byte offset `at`.
    fn get32(&self, at: usize) -> u32;
    /// Puts `value` at byte offset `at`.
    fn put(&mut self, at: usize, value: &[u8]);
    /// Puts 16 bits.
    fn put16(&mut self, at: usize, value: u16) {
        self.put(at, &value.to_le_bytes());
    }
    /// Puts 32 bits.
    fn put32(&mut self, at: usize, value: u32) {
        self.put(at, &value.to_le_bytes());
    }
}

impl Fields for [u8] {
    fn get16(&self, at: usize) -> u16 {
        let bytes = self.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    fn get32(&self, at: usize) -> u32 {
        let bytes = self.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn put(&mut self, at: usize, value: &[u8]) {
        if let Some(target) = self.get_mut(at..at + value.len()) {
            target.copy_from_slice(value);
        }
    }
}

/// A command, and its reply in the same fields.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Opcode.
    pub opcode: u16,
    /// Length of the data in the buffer; set if the reply has another length.
    pub length: u16,
    /// Bytes 16 to 31 of the descriptor.
    pub params: [u8; 16],
    /// The buffer of an indirect command, empty without one.
    pub buffer: Vec<u8>,
}

impl Command {
    /// The first `SIZE` bytes of the buffer, or an error if it is shorter.
    pub fn data<const SIZE: usize>(&mut self) -> Result<&mut [u8; SIZE], Refusal> {
        self.buffer.first_chunk_mut().ok_or(Refusal::Einval)
    }
}

/// One of the two queues: offsets of its registers.
struct Queue {
    low: u32,
    high: u32,
    length: u32,
    head: u32,
    tail: u32,
}

const SEND: Queue = Queue {
    low: at::ATQBAL,
    high: at::ATQBAH,
    length: at::ATQLEN,
    head: at::ATQH,
    tail: at::ATQT,
};

const RECEIVE: Queue = Queue {
    low: at::ARQBAL,
    high: at::ARQBAH,
    length: at::ARQLEN,
    head: at::ARQH,
    tail: at::ARQT,
};

impl Queue {
    /// Address of the descriptor at the head, if the queue is enabled and not empty.
    fn next(&self, registers: &Registers) -> Option<u64> {
        let length = registers.get(self.length);
        let (head, tail) = (registers.get(self.head), registers.get(self.tail));
        let usable = length & ENABLE != 0 && length & CRITICAL == 0;
        let inside = head < length & LENGTH && tail < length & LENGTH;
        let base = u64::from(registers.get(self.high)) << 32
            | u64::from(registers.get(self.low));
        (usable && inside && head != tail)
            .then(|| base.wrapping_add(u64::from(head) * DESCRIPTOR as u64))
    }

    fn advance(&self, registers: &mut Registers) {
        let head = registers.get(self.head) + 1;
        let length = registers.get(self.length) & LENGTH;
        registers.set(self.head, if head >= length { 0 } else { head });
    }

    fn flag(&self, registers: &mut Registers, error: u32) {
        registers.set(self.length, registers.get(self.length) | error);
    }
}

/// A fetched command without a reply yet.
#[derive(Debug, Default)]
pub struct Fetched {
    /// The command.
    pub command: Command,
    at: u64,
    descriptor: [u8; DESCRIPTOR],
}

impl Fetched {
    fn flags(&self) -> u16 {
        self.descriptor.get16(0)
    }

    fn buffer_address(&self) -> u64 {
        u64::from(self.descriptor.get32(24)) << 32 | u64::from(self.descriptor.get32(28))
    }
}

/// Fetches the next command, if there is one. A descriptor or buffer outside guest memory
/// is a critical error: the queue stops until it is set up again.
pub fn fetch(host: &mut Host, registers: &mut Registers) -> Option<Fetched> {
    let at = SEND.next(registers)?;
    if !host.may_dma() {
        return None;
    }
    let mut fetched = Fetched {
        at,
        ..Fetched::default()
    };
    let done = host
        .memory
        .read(at, &mut fetched.descriptor)
        .and_then(|()| {
            let descriptor = &fetched.descriptor;
            let command = &mut fetched.command;
            command.opcode = descriptor.get16(2);
            command.length = descriptor.get16(4);
            command.params.copy_from_slice(&descriptor[16..]);
            if fetched.descriptor.get16(0) & FLAG_BUF == 0 {
                return Ok(());
            }
            let length = usize::from(command.length).min(BUFFER_MAX);
            fetched.command.buffer = vec![0; length];
            let from = fetched.buffer_address();
            host.memory.read(from, &mut fetched.command.buffer)
        });
    if let Err(fault) = done {
        host.record_fault("admin command", fault);
        SEND.flag(registers, CRITICAL);
        return None;
    }
    Some(fetched)
}

/// Writes the reply: the buffer, the descriptor, and then the head. True if the command
/// requests an interrupt.
pub fn complete(
    host: &mut Host,
    registers: &mut Registers,
    fetched: &mut Fetched,
    answer: Answer,
) -> bool {
    let result = answer.map_or_else(|refusal| refusal as u16, |()| 0);
    if result == Refusal::Enosys as u16 {
        let opcode = fetched.command.opcode;
        host.events
            .record(Event::BadAdminCommand, || format!("{opcode:#06x}"));
    }
    let indirect = fetched.flags() & FLAG_BUF != 0;
    let to = fetched.buffer_address();
    let (at, command) = (fetched.at, &fetched.command);
    let descriptor = &mut fetched.descriptor;
    let error = if result == 0 { 0 } else { FLAG_ERR };
    let flags = descriptor.get16(0) & !FLAG_ERR | FLAG_DD | FLAG_CMP | error;
    descriptor.put16(0, flags);
    descriptor.put16(4, command.length);
    descriptor.put16(6, result);
    // The address of a buffer is unchanged
    let params = if indirect { 8 } else { 16 };
    descriptor.put(16, &command.params[..params]);
    let written = if indirect {
        host.memory.write(to, &command.buffer)
    } else {
        Ok(())
    };
    let written = written
        .and_then(|()| host.memory.write(at.wrapping_add(8), &descriptor[8..]))
        .and_then(|()| host.memory.write(at, &descriptor[..8]));
    if let Err(fault) = written {
        host.record_fault("reply of the firmware", fault);
        SEND.flag(registers, CRITICAL);
        return false;
    }
    SEND.advance(registers);
    flags & FLAG_SI == 0
}

/// Posts an event to the receive queue; false if the queue is full.
pub fn post(host: &mut Host, registers: &mut Registers, event: &Command) -> bool {
    let Some(at) = RECEIVE.next(registers) else {
        if registers.get(at::ARQLEN) & ENABLE != 0 {
            RECEIVE.flag(registers, OVERFLOW);
        }
        return false;
    };
    if !host.may_dma() {
        return false;
    }
    let mut descriptor = [0; DESCRIPTOR];
    let done = host.memory.read(at, &mut descriptor).and_then(|()| {
        let large = descriptor.get16(0) & (FLAG_LB | FLAG_BUF);
        descriptor.put16(0, large | FLAG_DD | FLAG_CMP);
        descriptor.put16(2, event.opcode);
        descriptor.put16(4, event.length);
        descriptor.put16(6, 0);
        descriptor.put(16, &event.params);
        host.memory.write(at, &descriptor)
    });
    if let Err(fault) = done {
        host.record_fault("event of the firmware", fault);
        RECEIVE.flag(registers, CRITICAL);
        return false;
    }
    RECEIVE.advance(registers);
    true
}

#[cfg(test)]
mod tests {
    use super::super::regs;
    use super::*;
    use crate::host::Timing;
    use crate::memory::GuestMemory;

    const RAM: u64 = 0x1_0000;
    const RING: u64 = RAM;
    const BUFFER: u64 = RAM + 0x1000;

    fn setup() -> (Host, Registers) {
        let mut host = Host::new("test", 1, Timing::LOCKSTEP);
        host.memory = GuestMemory::with_ram(RAM, 1 << 16).expect("memory");
        host.bus_master = true;
        let mut registers = regs::new();
        for (low, length) in [(at::ATQBAL, at::ATQLEN), (at::ARQBAL, at::ARQLEN)] {
            registers.set(low, RING as u32);
            registers.set(length, ENABLE | 4);
        }
        (host, registers)
    }

    fn descriptor(host: &Host, flags: u16, length: u16) {
        let mut bytes = [0; DESCRIPTOR];
        bytes.put16(0, flags);
        bytes.put16(2, 0x0250);
        bytes.put16(4, length);
        bytes.put32(8, 0xC001);
        bytes.put32(16, 7);
        bytes.put32(28, BUFFER as u32);
        host.memory.write(RING, &bytes).expect("ring");
    }

    fn written(host: &Host) -> [u8; DESCRIPTOR] {
        let mut bytes = [0; DESCRIPTOR];
        host.memory.read(RING, &mut bytes).expect("ring");
        bytes
    }

    #[test]
    fn replies_with_buffer_and_descriptor() {
        let (mut host, mut registers) = setup();
        descriptor(&host, FLAG_BUF | FLAG_SI, 8);
        host.memory.write(BUFFER, b"question").expect("buffer");
        registers.set(at::ATQT, 1);
        let mut fetched = fetch(&mut host, &mut registers).expect("command");
        assert_eq!(fetched.command.opcode, 0x0250);
        assert_eq!(fetched.command.buffer, b"question");
        fetched.command.buffer.copy_from_slice(b"answered");
        fetched.command.params.put16(0, 9);
        assert!(!complete(&mut host, &mut registers, &mut fetched, Ok(())));
        let answer = written(&host);
        assert_eq!(answer.get16(0), FLAG_BUF | FLAG_SI | FLAG_DD | FLAG_CMP);
        assert_eq!((answer.get32(8), answer.get32(16)), (0xC001, 9));
        assert_eq!(answer.get32(28), BUFFER as u32);
        let mut buffer = [0; 8];
        host.memory.read(BUFFER, &mut buffer).expect("buffer");
        assert_eq!(&buffer, b"answered");
        assert_eq!(registers.get(at::ATQH), 1);
        assert!(fetch(&mut host, &mut registers).is_none());
    }

    #[test]
    fn fails_with_a_code() {
        let (mut host, mut registers) = setup();
        descriptor(&host, 0, 0);
        registers.set(at::ATQT, 1);
        let mut fetched = fetch(&mut host, &mut registers).expect("command");
        let answer = Err(Refusal::Enosys);
        assert!(complete(&mut host, &mut registers, &mut fetched, answer));
        assert_eq!(written(&host).get16(0), FLAG_DD | FLAG_CMP | FLAG_ERR);
        assert_eq!(written(&host).get16(6), 17);
        assert_eq!(host.events.count(Event::BadAdminCommand), 1);
    }

    #[test]
    fn a_bad_address_is_critical() {
        let (mut host, mut registers) = setup();
        registers.set(at::ATQBAH, 1);
        registers.set(at::ATQT, 1);
        assert!(fetch(&mut host, &mut registers).is_none());
        assert_ne!(registers.get(at::ATQLEN) & CRITICAL, 0);
        assert_eq!(host.events.count(Event::DmaFault), 1);
        assert!(fetch(&mut host, &mut registers).is_none());
        assert_eq!(host.events.count(Event::DmaFault), 1);
    }

    #[test]
    fn events_need_room() {
        let (mut host, mut registers) = setup();
        let event = Command {
            opcode: 0x0607,
            params: [5; 16],
            ..Command::default()
        };
        assert!(!post(&mut host, &mut registers, &event));
        assert_ne!(registers.get(at::ARQLEN) & OVERFLOW, 0);
        registers.set(at::ARQT, 3);
        assert!(post(&mut host, &mut registers, &event));
        assert_eq!(registers.get(at::ARQH), 1);
        assert_eq!(written(&host).get16(2), 0x0607);
        assert_eq!(written(&host)[16..], [5; 16]);
    }
}
