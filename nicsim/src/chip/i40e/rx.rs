// SPDX-License-Identifier: GPL-2.0
//! Rx queues: descriptors of 16 and 32 bytes, frames over several buffers, status of
//! filter programming.

use std::collections::VecDeque;
use std::time::Instant;

use super::hmc::RxContext;
use crate::event::Event;
use crate::host::Host;

const CRC: usize = 4;

// Second quad word of a descriptor that was written back
const DD: u64 = 1 << 0;
const EOF: u64 = 1 << 1;
const L2TAG1P: u64 = 1 << 2;
const FLTSTAT_FD_ID: u64 = 1 << 12;
const FLTSTAT_RSS: u64 = 3 << 12;
const ERROR_SHIFT: u32 = 19;
const PTYPE_SHIFT: u32 = 30;
const LENGTH_SHIFT: u32 = 38;
/// In place of a length: this is the status of filter programming.
const PROGRAM_STATUS: u64 = 1 << 63;
const PROGRAM_FLOW_DIRECTOR: u64 = 1 << 2;

// Third quad word, of long descriptors
const L2TAG2P: u64 = 1 << 0;
const FLEXBH_FD_ID: u64 = 1 << 4;

/// Programming failed: the filter table is full.
pub const TABLE_FULL: u8 = 1 << 0;
/// Programming failed: there is no such filter to remove.
pub const NO_ENTRY: u8 = 1 << 1;

/// What the last descriptor of a frame says, apart from its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Packet type.
    pub ptype: u8,
    /// Status bits without DD, EOF, tag and filter bits.
    pub status: u32,
    /// Error bits.
    pub errors: u8,
    /// RSS hash.
    pub hash: Option<u32>,
    /// Id of the flow director filter that matched, if it is to be reported.
    pub fd_id: Option<u32>,
    /// Tag, if it was stripped.
    pub vlan: Option<u16>,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// In the guest's buffers; true if its descriptors were written back, too.
    Delivered(bool),
    /// Not enough descriptors, or the queue is disabled. The chip drops the frame unless
    /// its priority is lossless.
    NoDescriptor,
    /// Longer than the queue takes.
    TooLong,
    /// The descriptor or the buffer was no memory.
    Dropped,
}

/// The four quad words of a descriptor; the last two of long ones only.
#[derive(Clone, Copy, Debug)]
struct WriteBack {
    index: u32,
    words: [u64; 4],
}

/// One Rx queue.
#[derive(Debug, Default)]
pub struct RxRing {
    enabled: bool,
    context: RxContext,
    head: u32,
    tail: u32,
    /// A descriptor or buffer was no memory: nothing goes on until it is disabled.
    stuck: bool,
    due: VecDeque<WriteBack>,
    oldest: Option<Instant>,
    written: u32,
    /// The frame with its CRC, for queues that want it.
    with_crc: Vec<u8>,
}

impl RxRing {
    /// Whether the queue is enabled.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Starts the queue. Descriptors up to `tail` were posted before.
    pub fn enable(&mut self, context: RxContext, tail: u32) {
        self.forget();
        self.enabled = true;
        self.context = context;
        self.head = context.head;
        self.tail = if tail < context.length {
            tail
        } else {
            context.head
        };
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
        if tail >= self.context.length {
            return false;
        }
        self.tail = tail;
        true
    }

    fn free(&self) -> usize {
        let free = if self.tail >= self.head {
            self.tail - self.head
        } else {
            self.tail + self.context.length - self.head
        };
        free as usize
    }

    /// Puts a frame into the guest's memory, cut over as many buffers as it takes.
    pub fn deliver(&mut self, host: &mut Host, frame: &[u8], meta: Meta) -> Outcome {
        if !self.enabled {
            return Outcome::NoDescriptor;
        }
        let tag = if meta.vlan.is_some() { 4 } else { 0 };
        if frame.len() + tag + CRC > self.context.longest {
            return Outcome::TooLong;
        }
        if self.context.strips_crc {
            return self.place(host, frame, meta);
        }
        let mut with_crc = std::mem::take(&mut self.with_crc);
        with_crc.clear();
        with_crc.extend_from_slice(frame);
        with_crc.extend_from_slice(&crc32fast::hash(frame).to_le_bytes());
        let outcome = self.place(host, &with_crc, meta);
        self.with_crc = with_crc;
        outcome
    }

    fn place(&mut self, host: &mut Host, frame: &[u8], meta: Meta) -> Outcome {
        if frame.len().div_ceil(self.context.buffer) > self.free() || self.stuck {
            return Outcome::NoDescriptor;
        }
        if !host.may_dma() {
            return Outcome::Dropped;
        }
        let mut rest = frame;
        while !rest.is_empty() {
            let (part, more) = rest.split_at(rest.len().min(self.context.buffer));
            if !self.fill(host, part, more.is_empty(), meta) {
                self.stuck = true;
                return Outcome::Dropped;
            }
            rest = more;
        }
        Outcome::Delivered(self.completed(host))
    }

    /// Status of the programming of filter `id`: takes one descriptor, whose buffer
    /// stays as it was. `error` is zero, [`TABLE_FULL`] or [`NO_ENTRY`].
    pub fn program_status(&mut self, host: &mut Host, id: u32, error: u8) -> Outcome {
        if !self.enabled || self.stuck || self.free() == 0 {
            return Outcome::NoDescriptor;
        }
        let status = PROGRAM_STATUS | PROGRAM_FLOW_DIRECTOR | DD;
        let word = status | u64::from(error) << ERROR_SHIFT;
        self.push([u64::from(id) << 32, word, 0, 0]);
        Outcome::Delivered(self.completed(host))
    }

    /// Something is due now; true if it was written back at once.
    fn completed(&mut self, host: &mut Host) -> bool {
        self.oldest.get_or_insert(host.now);
        self.due.len() >= host.timing.writeback_group as usize && self.write_back(host)
    }

    fn size(&self) -> u64 {
        if self.context.long { 32 } else { 16 }
    }

    fn address(&self, index: u32) -> u64 {
        self.context
            .base
            .wrapping_add(u64::from(index) * self.size())
    }

    /// One buffer and its descriptor; false at a DMA fault.
    fn fill(&mut self, host: &mut Host, part: &[u8], last: bool, meta: Meta) -> bool {
        let at = self.address(self.head);
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
        let length = self.maybe_damage(host, part.len() as u64) << LENGTH_SHIFT;
        let mut words = [0; 4];
        if last {
            words = self.last_words(meta);
        }
        words[1] |= DD | length;
        self.push(words);
        true
    }

    /// The descriptor that ends a frame, without its length.
    fn last_words(&self, meta: Meta) -> [u64; 4] {
        let mut words = [0; 4];
        words[1] = EOF
            | u64::from(meta.status)
            | u64::from(meta.errors) << ERROR_SHIFT
            | u64::from(meta.ptype) << PTYPE_SHIFT;
        match meta.vlan {
            Some(tag) if self.context.tag_in_l2tag1 => {
                words[0] |= u64::from(tag) << 16;
                words[1] |= L2TAG1P;
            }
            Some(tag) => words[2] |= u64::from(tag) << 48 | L2TAG2P,
            None => {}
        }
        // A short descriptor has room for the hash or for the id
        match (meta.hash, meta.fd_id) {
            (_, Some(id)) if !self.context.long => {
                words[0] |= u64::from(id) << 32;
                words[1] |= FLTSTAT_FD_ID;
            }
            (Some(hash), _) => {
                words[0] |= u64::from(hash) << 32;
                words[1] |= FLTSTAT_RSS;
            }
            _ => {}
        }
        if let Some(id) = meta.fd_id {
            words[2] |= FLEXBH_FD_ID;
            words[3] |= u64::from(id) << 32;
        }
        words
    }

    fn push(&mut self, words: [u64; 4]) {
        self.due.push_back(WriteBack {
            index: self.head,
            words,
        });
        self.head = if self.head + 1 == self.context.length {
            0
        } else {
            self.head + 1
        };
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

    /// Writes back what is due, as the queue's vector fires.
    pub fn flush(&mut self, host: &mut Host) {
        if !self.due.is_empty() {
            self.write_back(host);
        }
    }

    /// The second quad word goes last: the driver looks at the length in it.
    fn write_back(&mut self, host: &mut Host) -> bool {
        self.oldest = None;
        if self.due.is_empty() || !host.may_dma() {
            self.due.clear();
            return false;
        }
        let order: &[usize] = if self.context.long {
            &[0, 2, 3, 1]
        } else {
            &[0, 1]
        };
        while let Some(WriteBack { index, words }) = self.due.pop_front() {
            let at = self.address(index);
            let done = order.iter().try_for_each(|word| {
                let at = at.wrapping_add(8 * *word as u64);
                host.memory.write_u64(at, words[*word])
            });
            if let Err(fault) = done {
                host.note_fault("Rx write-back", fault);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::host::Timing;
    use crate::memory::GuestMemory;

    const RAM: u64 = 0x10_0000;
    const BUFFERS: u64 = RAM + 0x1_0000;
    const CONTEXT: RxContext = RxContext {
        head: 0,
        base: RAM,
        length: 16,
        buffer: 1024,
        long: false,
        strips_crc: true,
        tag_in_l2tag1: true,
        longest: 5120,
    };

    fn setup(context: RxContext, timing: Timing) -> (RxRing, Host) {
        let mut host = Host::new("test", 1, timing);
        host.memory = GuestMemory::with_ram(RAM, 1 << 20).expect("memory");
        host.bus_master = true;
        let size = if context.long { 32 } else { 16 };
        for index in 0..u64::from(context.length) {
            let buffer = BUFFERS + 2048 * index;
            host.memory
                .write_u64(RAM + size * index, buffer)
                .expect("ring");
        }
        let mut ring = RxRing::default();
        ring.enable(context, 15);
        (ring, host)
    }

    fn word(host: &Host, at: u64) -> u64 {
        host.memory.read_u64(RAM + at).expect("ring")
    }

    const META: Meta = Meta {
        ptype: 26,
        status: 1 << 3,
        errors: 1 << 4,
        hash: Some(0xABCD_0123),
        fd_id: None,
        vlan: Some(0x123),
    };

    #[test]
    fn short_descriptor() {
        let (mut ring, mut host) = setup(CONTEXT, Timing::LOCKSTEP);
        let frame: Vec<u8> = (0..60).collect();
        let outcome = ring.deliver(&mut host, &frame, META);
        assert_eq!(outcome, Outcome::Delivered(true));
        assert_eq!(word(&host, 0), 0xABCD_0123 << 32 | 0x123 << 16);
        let expected = 60 << 38 | 26 << 30 | 1 << 23 | 3 << 12 | 0xF;
        assert_eq!(word(&host, 8), expected);
        let mut data = [0; 60];
        host.memory.read(BUFFERS, &mut data).expect("buffer");
        assert_eq!(data[..], frame);
        // The id of a filter takes the place of the hash
        let meta = Meta {
            fd_id: Some(7),
            ..META
        };
        ring.deliver(&mut host, &frame, meta);
        assert_eq!(word(&host, 16) >> 32, 7);
        assert_eq!(word(&host, 24) >> 12 & 3, 1);
    }

    #[test]
    fn long_descriptor() {
        let context = RxContext {
            long: true,
            tag_in_l2tag1: false,
            ..CONTEXT
        };
        let (mut ring, mut host) = setup(context, Timing::LOCKSTEP);
        let meta = Meta {
            fd_id: Some(7),
            ..META
        };
        ring.deliver(&mut host, &[1; 60], META);
        ring.deliver(&mut host, &[1; 60], meta);
        assert_eq!(word(&host, 8) & L2TAG1P, 0);
        assert_eq!(word(&host, 16), 0x123 << 48 | L2TAG2P);
        assert_eq!(word(&host, 32), 0xABCD_0123 << 32);
        assert_eq!(word(&host, 40) >> 12 & 3, 3);
        assert_eq!(word(&host, 48) >> 4 & 3, 1);
        assert_eq!(word(&host, 56), 7 << 32);
    }

    #[test]
    fn status_is_in_the_last_descriptor_of_a_frame() {
        let (mut ring, mut host) = setup(CONTEXT, Timing::LOCKSTEP);
        ring.deliver(&mut host, &[1; 2500], META);
        assert_eq!(word(&host, 8), 1024 << 38 | DD);
        assert_eq!(word(&host, 24), 1024 << 38 | DD);
        assert_eq!(word(&host, 40) >> 38, 452);
        assert_eq!(word(&host, 40) & 0xF, 0xF);
        assert_eq!((word(&host, 0), word(&host, 16)), (0, 0));
    }

    #[test]
    fn limits() {
        let (mut ring, mut host) = setup(CONTEXT, Timing::LOCKSTEP);
        let long = [1; 5120];
        let deliver = |ring: &mut RxRing, host: &mut Host, length: usize, meta| {
            ring.deliver(host, &long[..length], meta)
        };
        let plain = Meta::default();
        // RXMAX counts the CRC, and the tag that was stripped
        assert_eq!(deliver(&mut ring, &mut host, 5117, plain), Outcome::TooLong);
        assert_eq!(deliver(&mut ring, &mut host, 5113, META), Outcome::TooLong);
        for _ in 0..3 {
            let outcome = deliver(&mut ring, &mut host, 5116, plain);
            assert_eq!(outcome, Outcome::Delivered(true));
        }
        let outcome = deliver(&mut ring, &mut host, 60, plain);
        assert_eq!(outcome, Outcome::NoDescriptor);
        for index in 0..16 {
            let at = RAM + 16 * index;
            host.memory.write_u64(at, BUFFERS).expect("ring");
        }
        assert!(ring.set_tail(3) && !ring.set_tail(16));
        let outcome = deliver(&mut ring, &mut host, 4000, plain);
        assert_eq!(outcome, Outcome::Delivered(true));
        assert_eq!(host.events.total(), 0);
    }

    #[test]
    fn crc_if_the_queue_wants_it() {
        let context = RxContext {
            strips_crc: false,
            ..CONTEXT
        };
        let (mut ring, mut host) = setup(context, Timing::LOCKSTEP);
        ring.deliver(&mut host, &[1; 60], Meta::default());
        assert_eq!(word(&host, 8) >> 38, 64);
        let crc = host.memory.read_u32(BUFFERS + 60).expect("buffer");
        assert_eq!(crc, crc32fast::hash(&[1; 60]));
    }

    #[test]
    fn programming_status_takes_a_descriptor() {
        let (mut ring, mut host) = setup(CONTEXT, Timing::LOCKSTEP);
        let outcome = ring.program_status(&mut host, 99, TABLE_FULL);
        assert_eq!(outcome, Outcome::Delivered(true));
        assert_eq!(word(&host, 0), 99 << 32);
        assert_eq!(word(&host, 8), 1 << 63 | 1 << 19 | 1 << 2 | DD);
        ring.deliver(&mut host, &[1; 60], Meta::default());
        assert_eq!(word(&host, 24) >> 38, 60);
    }

    #[test]
    fn late_write_back_in_groups() {
        let late = Timing {
            writeback_group: 4,
            writeback_delay: Duration::from_millis(1),
            ..Timing::LOCKSTEP
        };
        let (mut ring, mut host) = setup(CONTEXT, late);
        let outcomes = [false, false, false, true, false, false]
            .map(|_| ring.deliver(&mut host, &[1; 60], Meta::default()));
        assert_eq!(outcomes[3], Outcome::Delivered(true));
        assert_eq!(outcomes[4], Outcome::Delivered(false));
        assert_eq!(word(&host, 4 * 16 + 8), 0);
        ring.flush(&mut host);
        assert_ne!(word(&host, 5 * 16 + 8), 0);
        assert_eq!(ring.next(&host), None);
        ring.deliver(&mut host, &[1; 60], Meta::default());
        host.now = ring.next(&host).expect("one waits");
        assert!(ring.run(&mut host) && !ring.run(&mut host));
        ring.deliver(&mut host, &[1; 60], Meta::default());
        ring.disable(&mut host);
        assert_ne!(word(&host, 7 * 16 + 8), 0, "complete before the answer");
        host.memory.clear();
        ring.flush(&mut host);
        assert_eq!(host.events.total(), 0);
    }

    #[test]
    fn damaged_length_and_bad_buffers() {
        let (mut ring, mut host) = setup(CONTEXT, Timing::LOCKSTEP);
        host.faults.corrupt_every = 2;
        ring.deliver(&mut host, &[1; 60], Meta::default());
        ring.deliver(&mut host, &[1; 60], Meta::default());
        assert_eq!(word(&host, 8) >> 38, 60);
        assert_eq!(word(&host, 24) >> 38, 61);
        host.memory.write_u64(RAM + 32, 0).expect("ring");
        let outcome = ring.deliver(&mut host, &[1; 60], Meta::default());
        assert_eq!(outcome, Outcome::Dropped);
        assert_eq!(host.events.count(Event::BadRxDescriptor), 1);
        let outcome = ring.deliver(&mut host, &[1; 60], Meta::default());
        assert_eq!(outcome, Outcome::NoDescriptor, "stuck until disabled");
    }
}
