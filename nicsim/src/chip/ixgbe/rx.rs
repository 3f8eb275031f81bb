// SPDX-License-Identifier: GPL-2.0
//! Rx queues (data sheet 7.1).

use std::collections::VecDeque;
use std::time::Instant;

use super::tx::DESCRIPTOR;
use crate::event::Event;
use crate::host::Host;

/// SRRCTL: what to do with a frame that finds no descriptor (8.2.3.8.7).
const DROP_EN: u32 = 1 << 28;
/// RXDCTL: strip VLAN tags (8.2.3.8.8).
const VME: u32 = 1 << 30;
const DD: u64 = 1 << 0;
const EOP: u64 = 1 << 1;

/// What the descriptors say of a frame, apart from its length (7.1.5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// RSS and packet type, the low 16 bits of the first dword.
    pub packet_info: u32,
    /// RSS hash, the second dword.
    pub hash: u32,
    /// Status and errors without DD and EOP, for the last descriptor.
    pub status: u32,
    /// Tag, if it was stripped.
    pub vlan: u16,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// In the guest's buffers; true if its descriptors were written back, too.
    Delivered(bool),
    /// Not enough descriptors, and the queue does not drop: it waits.
    NoDescriptor,
    /// Not enough descriptors, and the queue drops.
    Dropped,
}

#[derive(Clone, Copy, Debug)]
struct WriteBack {
    index: u32,
    low: u64,
    high: u64,
}

/// One Rx queue.
#[derive(Debug, Default)]
pub struct RxRing {
    enabled: bool,
    base: u64,
    length: u32,
    head: u32,
    tail: u32,
    buffer: usize,
    drops: bool,
    strips_vlan: bool,
    /// A descriptor or buffer was no memory: nothing goes on until it is disabled.
    stuck: bool,
    due: VecDeque<WriteBack>,
    oldest: Option<Instant>,
    written: u32,
}

impl RxRing {
    /// Whether the queue is enabled.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Whether tags are to be taken out of frames and put into the descriptor.
    pub fn strips_vlan(&self) -> bool {
        self.strips_vlan
    }

    /// Index of the next descriptor that will be used.
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Starts the queue on a ring of `length` descriptors at `base`.
    pub fn enable(&mut self, base: u64, length: u32, head: u32, tail: u32) {
        let wrap = |index: u32| if index < length { index } else { 0 };
        self.forget();
        self.enabled = true;
        self.base = base;
        self.length = length;
        self.head = wrap(head);
        self.tail = wrap(tail);
    }

    /// Takes SRRCTL and RXDCTL, also while the queue runs. A buffer size of zero is
    /// not allowed and taken for the reset value.
    pub fn configure(&mut self, srrctl: u32, rxdctl: u32) {
        self.buffer = match srrctl & 0x1F {
            0 => 2048,
            kilobytes => kilobytes as usize * 1024,
        };
        self.drops = srrctl & DROP_EN != 0;
        self.strips_vlan = rxdctl & VME != 0;
    }

    /// Stops the queue. What is in the buffers is written back before the driver can
    /// see that the queue is disabled; after that there is no DMA any more.
    pub fn disable(&mut self, host: &mut Host) {
        if self.enabled {
            self.write_back(host);
        }
        self.forget();
    }

    /// Stops the queue at a reset: nothing more is written.
    pub fn forget(&mut self) {
        self.enabled = false;
        self.stuck = false;
        self.due.clear();
        self.oldest = None;
    }

    /// The driver moved the tail. False if the ring has no such descriptor.
    pub fn set_tail(&mut self, tail: u32) -> bool {
        if tail >= self.length {
            return false;
        }
        self.tail = tail;
        true
    }

    fn free(&self) -> usize {
        let free = if self.tail >= self.head {
            self.tail - self.head
        } else {
            self.tail + self.length - self.head
        };
        free as usize
    }

    fn no_room(&self) -> Outcome {
        if self.drops {
            Outcome::Dropped
        } else {
            Outcome::NoDescriptor
        }
    }

    /// Puts a frame into the guest's memory, cut over as many buffers as it takes.
    pub fn deliver(&mut self, host: &mut Host, frame: &[u8], meta: Meta) -> Outcome {
        if frame.len().div_ceil(self.buffer) > self.free() || self.stuck {
            return self.no_room();
        }
        if !host.may_dma() {
            return Outcome::Dropped;
        }
        let mut rest = frame;
        while !rest.is_empty() {
            let (part, more) = rest.split_at(rest.len().min(self.buffer));
            if !self.fill(host, part, more.is_empty(), meta) {
                self.stuck = true;
                return Outcome::Dropped;
            }
            rest = more;
        }
        self.oldest.get_or_insert(host.now);
        let full = self.due.len() >= host.timing.writeback_group as usize;
        Outcome::Delivered(full && self.write_back(host))
    }

    /// One buffer and its descriptor; false at a DMA fault.
    fn fill(&mut self, host: &mut Host, part: &[u8], last: bool, meta: Meta) -> bool {
        let at = self.base.wrapping_add(u64::from(self.head) * DESCRIPTOR);
        let address = match host.memory.read_u64(at) {
            Ok(address) => address,
            Err(fault) => {
                host.note_fault("Rx descriptor", fault);
                return false;
            }
        };
        if address == 0 {
            host.events
                .note(Event::BadRxDescriptor, || format!("no buffer at {at:#x}"));
            return false;
        }
        if let Err(fault) = host.memory.write(address, part) {
            host.note_fault("Rx buffer", fault);
            return false;
        }
        let mut status = DD;
        if last {
            status |= EOP | u64::from(meta.status);
        }
        let tag = if last { meta.vlan } else { 0 };
        let length = self.maybe_damage(host, part.len() as u64);
        self.due.push_back(WriteBack {
            index: self.head,
            low: u64::from(meta.hash) << 32 | u64::from(meta.packet_info),
            high: u64::from(tag) << 48 | length << 32 | status,
        });
        self.head = if self.head + 1 == self.length {
            0
        } else {
            self.head + 1
        };
        true
    }

    /// The fault that damages the length in every Nth write-back.
    fn maybe_damage(&mut self, host: &Host, length: u64) -> u64 {
        self.written = self.written.wrapping_add(1);
        match host.faults.corrupt_every {
            every if every > 0 && self.written % every == 0 => length ^ 1,
            _ => length,
        }
    }

    /// When write-backs are overdue.
    pub fn next(&self, host: &Host) -> Option<Instant> {
        self.oldest
            .map(|oldest| oldest + host.timing.writeback_delay)
    }

    /// Writes back what has waited long enough; true if there was anything.
    pub fn run(&mut self, host: &mut Host) -> bool {
        self.next(host).is_some_and(|due| due <= host.now) && self.write_back(host)
    }

    /// Status and length are in one word, which goes last: the driver looks at it.
    fn write_back(&mut self, host: &mut Host) -> bool {
        self.oldest = None;
        if self.due.is_empty() || !host.may_dma() {
            self.due.clear();
            return false;
        }
        while let Some(WriteBack { index, low, high }) = self.due.pop_front() {
            let at = self.base.wrapping_add(u64::from(index) * DESCRIPTOR);
            let done = host
                .memory
                .write_u64(at, low)
                .and_then(|()| host.memory.write_u64(at.wrapping_add(8), high));
            if let Err(fault) = done {
                host.note_fault("Rx write-back", fault);
            }
        }
        true
    }
}
