// SPDX-License-Identifier: GPL-2.0
//! Descriptor rings: head, tail, and descriptors that are complete but not written back.
//!
//! The driver posts descriptors and moves the tail. The chip uses descriptors from the
//! head to the tail and reports them as done in ring order, at once or later, as
//! [`Timing`](crate::host::Timing) says. [`TxRing`] and [`RxRing`] are what the queues of
//! all chips have in common; `C` is the part that is specific to a chip.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::event::Event;
use crate::host::Host;
use crate::memory::{DmaFault, GuestMemory};

/// Bytes of a descriptor, except for long Rx descriptors.
pub const DESCRIPTOR: u64 = 16;
/// Bytes moved by one call for Tx queues. The next turn of the loop does the rest. A ring
/// of 4096 short frames fits.
pub const WORK_PER_TURN: usize = 1 << 20;
/// Work for a descriptor, and for a frame, in addition to their bytes.
pub const OVERHEAD: usize = 64;
/// Minimum frame length on the wire, without CRC.
pub const FRAME_MIN: usize = 60;

/// Location and indices of a ring when its queue is enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// Address of the first descriptor.
    pub base: u64,
    /// Number of descriptors.
    pub length: u32,
    /// Bytes of a descriptor.
    pub size: u64,
    /// Index of the next descriptor to use, less than the length.
    pub head: u32,
    /// Index behind the last posted descriptor, less than the length.
    pub tail: u32,
}

/// A ring whose write-backs carry a `W`.
#[derive(Debug, Default)]
pub(super) struct Ring<W> {
    enabled: bool,
    extent: Extent,
    /// A DMA failed: no progress until the queue is disabled.
    stuck: bool,
    /// Descriptors to write back.
    due: VecDeque<(u32, W)>,
    /// Start of the write-back delay.
    oldest: Option<Instant>,
}

impl<W> Ring<W> {
    fn enable(&mut self, extent: Extent) {
        self.forget();
        self.enabled = true;
        self.extent = extent;
    }

    fn forget(&mut self) {
        self.enabled = false;
        self.stuck = false;
        self.due.clear();
        self.oldest = None;
    }

    fn set_tail(&mut self, tail: u32) -> bool {
        let exists = tail < self.extent.length;
        if exists {
            self.extent.tail = tail;
        }
        exists
    }

    /// Index of the descriptor that follows `index`.
    pub fn following(&self, index: u32) -> u32 {
        if index + 1 == self.extent.length {
            0
        } else {
            index + 1
        }
    }

    /// Number of posted descriptors.
    fn posted(&self) -> usize {
        let Extent {
            head, tail, length, ..
        } = self.extent;
        let wrapped = if tail < head { length } else { 0 };
        (tail + wrapped - head) as usize
    }

    fn address(&self, index: u32) -> u64 {
        let offset = u64::from(index) * self.extent.size;
        self.extent.base.wrapping_add(offset)
    }

    /// Moves the head by one descriptor.
    pub fn advance(&mut self) {
        self.extent.head = self.following(self.extent.head);
    }

    /// Moves the head by one descriptor, which is to be written back.
    pub fn push(&mut self, words: W) {
        self.due.push_back((self.extent.head, words));
        self.advance();
    }

    /// Starts the write-back delay.
    pub fn start_delay(&mut self, now: Instant) {
        self.oldest.get_or_insert(now);
    }

    /// Drops what is to be written back; returns the index of the last descriptor of it.
    pub fn take_due(&mut self) -> Option<u32> {
        self.oldest = None;
        self.due.drain(..).last().map(|(index, _)| index)
    }

    /// Whether the write-back delay runs.
    pub fn is_delayed(&self) -> bool {
        self.oldest.is_some()
    }

    /// Whether descriptors are to be written back.
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    fn group_is_full(&self, host: &Host) -> bool {
        self.due.len() >= host.timing.writeback_group as usize
    }

    /// Writes back all descriptors that are due, each with `write`; whether there were any.
    pub fn write_back(
        &mut self,
        host: &mut Host,
        what: &str,
        write: impl Fn(&GuestMemory, u64, W) -> Result<(), DmaFault>,
    ) -> bool {
        self.oldest = None;
        if self.due.is_empty() || !host.may_dma() {
            self.due.clear();
            return false;
        }
        while let Some((index, words)) = self.due.pop_front() {
            if let Err(fault) = write(&host.memory, self.address(index), words) {
                host.record_fault(what, fault);
            }
        }
        true
    }
}

/// Result of [`TxRing`]'s processing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The queue's cause is due: descriptors were written back, or are to be as soon as
    /// the vector fires.
    pub event: bool,
    /// There is more to do as soon as the FIFO has room, or in the next turn.
    pub more: bool,
}

/// A Tx queue.
#[derive(Debug, Default)]
pub struct TxRing<C> {
    pub(super) ring: Ring<()>,
    /// State of the chip's own, reset with the queue.
    pub(super) chip: C,
    /// The frame that is being gathered.
    pub(super) frame: Vec<u8>,
    /// That frame cannot be sent; its remaining descriptors are skipped.
    pub(super) bad: bool,
    /// No descriptors are fetched: the driver announced that it disables the queue.
    pub(super) held: bool,
    /// When to act on the tail.
    tail_due: Option<Instant>,
}

impl<C: Default> TxRing<C> {
    /// Whether the queue is enabled.
    pub fn enabled(&self) -> bool {
        self.ring.enabled
    }

    /// Index of the next descriptor to fetch.
    pub fn head(&self) -> u32 {
        self.ring.extent.head
    }

    /// Starts the queue.
    pub(super) fn start(&mut self, extent: Extent, chip: C) {
        self.forget();
        self.ring.enable(extent);
        self.chip = chip;
    }

    /// Stops the queue at a reset: no further DMA.
    pub fn forget(&mut self) {
        self.ring.forget();
        self.chip = C::default();
        self.frame.clear();
        self.bad = false;
        self.tail_due = None;
    }

    /// The driver moved the tail. False if the ring has no such descriptor.
    pub fn set_tail(&mut self, host: &Host, tail: u32) -> bool {
        let exists = self.ring.set_tail(tail);
        if exists {
            self.tail_due
                .get_or_insert(host.now + host.timing.tail_delay);
        }
        exists
    }

    fn write_back_due(&self, host: &Host) -> Option<Instant> {
        let delay = host.timing.writeback_delay.max(host.faults.tx_delay);
        self.ring.oldest.map(|oldest| oldest + delay)
    }

    /// When the queue next has work that waits for time.
    pub fn next(&self, host: &Host) -> Option<Instant> {
        let write_back = self.write_back_due(host).into_iter();
        write_back.chain(self.tail_due).min()
    }

    /// Whether descriptors are to be written back now.
    pub(super) fn is_due(&self, host: &Host) -> bool {
        let full = self.ring.has_due()
            && host.faults.tx_delay == Duration::ZERO
            && self.ring.group_is_full(host);
        full || self.write_back_due(host).is_some_and(|due| due <= host.now)
    }

    /// Reads descriptors up to the tail, if the tail is due. `execute` acts on the two words
    /// of one, moves the head, and returns the work that it did, which `work` is reduced by.
    /// True if descriptors are left that can be fetched later.
    pub(super) fn fetch(
        &mut self,
        host: &mut Host,
        work: &mut usize,
        execute: impl FnMut(&mut Self, &mut Host, u64, u64) -> usize,
    ) -> bool {
        let is_due = self.tail_due.is_some_and(|due| due <= host.now);
        if !self.ring.enabled || !is_due || host.faults.tx_stop || self.held {
            return false;
        }
        let more = self.fetch_posted(host, work, execute);
        if !more {
            self.tail_due = None;
        }
        more
    }

    fn fetch_posted(
        &mut self,
        host: &mut Host,
        work: &mut usize,
        mut execute: impl FnMut(&mut Self, &mut Host, u64, u64) -> usize,
    ) -> bool {
        if self.ring.posted() == 0 || self.ring.stuck || !host.may_dma() {
            return false;
        }
        while self.ring.posted() != 0 {
            if *work == 0 || !host.tx_has_room() {
                return true;
            }
            let at = self.ring.address(self.head());
            let read = (
                host.memory.read_u64(at),
                host.memory.read_u64(at.wrapping_add(8)),
            );
            let (Ok(low), Ok(high)) = read else {
                self.ring.stuck = true;
                if let Err(fault) = read.0.and(read.1) {
                    host.record_fault("Tx descriptor", fault);
                }
                return false;
            };
            let cost = execute(self, host, low, high);
            *work = work.saturating_sub(cost);
        }
        false
    }

    /// Appends a buffer to the frame, which is bad if it is longer than `longest` then.
    pub(super) fn gather(
        &mut self,
        host: &mut Host,
        address: u64,
        length: usize,
        longest: usize,
    ) {
        if self.bad {
            return;
        }
        let start = self.frame.len();
        if length == 0 || start + length > longest {
            host.events.record(Event::BadTxDescriptor, || {
                format!("length {length} after {start}")
            });
            self.bad = true;
            return;
        }
        self.frame.resize(start + length, 0);
        if let Err(fault) = host.memory.read(address, &mut self.frame[start..]) {
            host.record_fault("Tx buffer", fault);
            self.bad = true;
        }
    }
}

/// What became of a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The frame is in the guest's buffers; true if its descriptors are written back, too.
    Delivered(bool),
    /// Shortage of descriptors, or the queue is disabled: the frame may wait.
    NoDescriptor,
    /// The frame is longer than the queue accepts.
    TooLong,
    /// DMA is off or failed, or the queue drops frames without descriptors.
    Dropped,
}

/// An Rx queue. A descriptor has two words of 64 bits, or four if it is a long one.
#[derive(Debug, Default)]
pub struct RxRing<C> {
    ring: Ring<[u64; 4]>,
    /// State of the chip's own, kept when the queue is disabled.
    pub(super) chip: C,
    /// Number of write-backs, for the fault that damages every Nth length.
    written: u32,
}

impl<C> RxRing<C> {
    /// Whether the queue is enabled.
    pub fn enabled(&self) -> bool {
        self.ring.enabled
    }

    /// Index of the next descriptor to use.
    pub fn head(&self) -> u32 {
        self.ring.extent.head
    }

    /// Starts the queue. Descriptors up to the tail are posted.
    pub(super) fn start(&mut self, extent: Extent) {
        self.ring.enable(extent);
    }

    /// Stops the queue. Completed descriptors are written back before the driver can see
    /// that the queue is disabled; there is no DMA afterwards.
    pub fn disable(&mut self, host: &mut Host) {
        if self.ring.enabled {
            self.write_back(host);
        }
        self.forget();
    }

    /// Stops the queue at a reset: no further DMA.
    pub fn forget(&mut self) {
        self.ring.forget();
    }

    /// The driver moved the tail. False if the ring has no such descriptor.
    pub fn set_tail(&mut self, tail: u32) -> bool {
        self.ring.set_tail(tail)
    }

    /// Puts a frame into guest memory, split into buffers of `size` bytes. `describe` returns
    /// the words of a descriptor from the length in its buffer and whether it is the last.
    pub(super) fn fill(
        &mut self,
        host: &mut Host,
        frame: &[u8],
        size: usize,
        describe: impl Fn(u64, bool) -> [u64; 4],
    ) -> Outcome {
        if frame.len().div_ceil(size) > self.ring.posted() || self.ring.stuck {
            return Outcome::NoDescriptor;
        }
        if !host.may_dma() {
            return Outcome::Dropped;
        }
        let mut parts = frame.chunks(size).peekable();
        while let Some(part) = parts.next() {
            if !self.fill_buffer(host, part) {
                self.ring.stuck = true;
                return Outcome::Dropped;
            }
            let length = self.maybe_damage(host, part.len() as u64);
            self.ring.push(describe(length, parts.peek().is_none()));
        }
        Outcome::Delivered(self.completed(host))
    }

    /// Fills the buffer of the descriptor at the head; false at a DMA fault.
    fn fill_buffer(&mut self, host: &mut Host, part: &[u8]) -> bool {
        let at = self.ring.address(self.head());
        let address = match host.memory.read_u64(at) {
            Ok(address) => address,
            Err(fault) => {
                host.record_fault("Rx descriptor", fault);
                return false;
            }
        };
        if address == 0 {
            host.events
                .record(Event::BadRxDescriptor, || format!("no buffer at {at:#x}"));
            return false;
        }
        let written = host.memory.write(address, part);
        if let Err(fault) = written {
            host.record_fault("Rx buffer", fault);
        }
        written.is_ok()
    }

    /// Uses one descriptor, with `words` and without a buffer.
    pub(super) fn report(&mut self, host: &mut Host, words: [u64; 4]) -> Outcome {
        if !self.ring.enabled || self.ring.stuck || self.ring.posted() == 0 {
            return Outcome::NoDescriptor;
        }
        self.ring.push(words);
        Outcome::Delivered(self.completed(host))
    }

    /// Descriptors are due now; true if they were written back at once.
    fn completed(&mut self, host: &mut Host) -> bool {
        self.ring.start_delay(host.now);
        self.ring.group_is_full(host) && self.write_back(host)
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
        self.ring
            .oldest
            .map(|oldest| oldest + host.timing.writeback_delay)
    }

    /// Writes back descriptors whose delay is over; true if there were any.
    pub fn run(&mut self, host: &mut Host) -> bool {
        self.next(host).is_some_and(|due| due <= host.now) && self.write_back(host)
    }

    /// Writes back descriptors, as the queue's vector fires.
    pub fn flush(&mut self, host: &mut Host) {
        if self.ring.has_due() {
            self.write_back(host);
        }
    }

    /// Word 1 is last: drivers poll the status or length in it.
    fn write_back(&mut self, host: &mut Host) -> bool {
        let order: &[usize] = match self.ring.extent.size {
            DESCRIPTOR => &[0, 1],
            _ => &[0, 2, 3, 1],
        };
        self.ring
            .write_back(host, "Rx write-back", |memory, at, words| {
                order.iter().try_for_each(|word| {
                    memory.write_u64(at.wrapping_add(8 * *word as u64), words[*word])
                })
            })
    }
}

/// Queues, up to 128, that may have work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Active {
    queues: u128,
    first: u32,
}

impl Active {
    /// Adds a queue.
    pub fn insert(&mut self, queue: usize) {
        self.queues |= 1 << queue;
    }

    /// Removes a queue.
    pub fn remove(&mut self, queue: usize) {
        self.queues &= !(1 << queue);
    }

    /// Removes all queues.
    pub fn clear(&mut self) {
        self.queues = 0;
    }

    /// The queues in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        bits(self.queues)
    }

    /// The queues in ascending order, beginning one queue later than the last time.
    pub fn rotate(&mut self) -> impl Iterator<Item = usize> + use<> {
        if self.queues != 0 {
            self.first = (self.first + 1) % u128::BITS;
        }
        let first = self.first;
        bits(self.queues.rotate_right(first))
            .map(move |bit| (bit + first as usize) % u128::BITS as usize)
    }

    /// When the first Tx queue has work that waits for time alone.
    pub fn next_tx<C: Default>(&self, tx: &[TxRing<C>], host: &Host) -> Option<Instant> {
        self.iter()
            .filter_map(|queue| tx[queue].next(host))
            .filter(|due| *due > host.now)
            .min()
    }
}

/// Indices of the bits that are set.
fn bits(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = set.trailing_zeros();
        set &= set.checked_sub(1)?;
        Some(bit as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Timing;

    const RAM: u64 = 0x10_0000;
    const BUFFERS: u64 = RAM + 0x1000;
    const EXTENT: Extent = Extent {
        base: RAM,
        length: 8,
        size: DESCRIPTOR,
        head: 6,
        tail: 6,
    };
    const GROUP: Timing = Timing {
        writeback_group: 3,
        writeback_delay: Duration::from_millis(1),
        ..Timing::LOCKSTEP
    };

    fn host(timing: Timing) -> Host {
        let mut host = Host::new("test", 1, timing);
        host.memory = GuestMemory::with_ram(RAM, 1 << 16).expect("memory");
        host.bus_master = true;
        host
    }

    fn word(host: &Host, index: u64, word: u64) -> u64 {
        let at = RAM + DESCRIPTOR * index + 8 * word;
        host.memory.read_u64(at).expect("ring")
    }

    /// Executes descriptors, each of which is to be written back; returns their words 0.
    fn fetch(queue: &mut TxRing<()>, host: &mut Host, work: &mut usize) -> Vec<u64> {
        let mut words = Vec::new();
        queue.fetch(host, work, |queue, host, low, _| {
            words.push(low);
            queue.ring.push(());
            queue.ring.start_delay(host.now);
            OVERHEAD
        });
        words
    }

    #[test]
    fn tx_stops_at_the_tail_and_at_the_limit_of_work() {
        let (mut queue, mut host) = (TxRing::default(), host(Timing::LOCKSTEP));
        queue.start(EXTENT, ());
        for index in 0..8 {
            let at = RAM + DESCRIPTOR * index;
            host.memory.write_u64(at, index).expect("ring");
        }
        let mut work = 3 * OVERHEAD;
        assert!(!queue.set_tail(&host, 8) && queue.set_tail(&host, 2));
        assert_eq!(fetch(&mut queue, &mut host, &mut work), [6, 7, 0]);
        assert_eq!((queue.head(), work), (1, 0));
        assert!(queue.next(&host).is_some());
        assert_eq!(fetch(&mut queue, &mut host, &mut { OVERHEAD }), [1]);
        assert!(fetch(&mut queue, &mut host, &mut { OVERHEAD }).is_empty());
    }

    #[test]
    fn tx_waits_for_its_delays() {
        let delay = Duration::from_micros(50);
        let timing = Timing {
            tail_delay: delay,
            ..GROUP
        };
        let (mut queue, mut host) = (TxRing::default(), host(timing));
        queue.start(EXTENT, ());
        queue.set_tail(&host, 7);
        let mut work = WORK_PER_TURN;
        assert!(fetch(&mut queue, &mut host, &mut work).is_empty());
        assert_eq!(queue.next(&host), Some(host.now + delay));
        host.now += delay;
        assert_eq!(fetch(&mut queue, &mut host, &mut work).len(), 1);
        assert!(!queue.is_due(&host));
        assert_eq!(queue.next(&host), Some(host.now + GROUP.writeback_delay));
        queue.set_tail(&host, 1);
        host.now += delay;
        assert_eq!(fetch(&mut queue, &mut host, &mut work).len(), 2);
        assert!(queue.is_due(&host), "three are a group");
        host.faults.tx_delay = Duration::from_secs(1);
        assert!(!queue.is_due(&host));
        let write = |memory: &GuestMemory, at, ()| memory.write_u64(at, 9);
        assert!(queue.ring.write_back(&mut host, "test", write));
        assert!(!queue.ring.write_back(&mut host, "test", write));
        assert_eq!(
            [6, 7, 0, 1].map(|index| word(&host, index, 0)),
            [9, 9, 9, 0]
        );
    }

    #[test]
    fn rx_writes_back_in_groups_and_before_it_is_disabled() {
        let (mut queue, mut host) = (RxRing::<()>::default(), host(GROUP));
        for index in 0..8 {
            let at = RAM + DESCRIPTOR * index;
            host.memory.write_u64(at, BUFFERS).expect("ring");
        }
        queue.start(Extent { tail: 4, ..EXTENT });
        let mut fill = |queue: &mut RxRing<()>, length| {
            queue.fill(&mut host, &[7; 100][..length], 40, |length, last| {
                [length, u64::from(last), 0, 0]
            })
        };
        assert_eq!(fill(&mut queue, 60), Outcome::Delivered(false));
        assert_eq!(fill(&mut queue, 40), Outcome::Delivered(true));
        assert_eq!(fill(&mut queue, 41), Outcome::Delivered(false));
        assert_eq!(fill(&mut queue, 41), Outcome::NoDescriptor);
        let words = |host: &Host| [6, 7, 0, 1, 2].map(|index| word(host, index, 0));
        assert_eq!(words(&host), [40, 20, 40, BUFFERS, BUFFERS]);
        assert_eq!([6, 7, 0].map(|index| word(&host, index, 1)), [0, 1, 1]);
        queue.disable(&mut host);
        assert_eq!(words(&host), [40, 20, 40, 40, 1]);
        assert_eq!((queue.next(&host), host.events.total()), (None, 0));
    }

    #[test]
    fn long_descriptors_have_four_words() {
        let (mut queue, mut host) = (RxRing::<()>::default(), host(Timing::LOCKSTEP));
        queue.start(Extent {
            size: 2 * DESCRIPTOR,
            head: 0,
            tail: 1,
            ..EXTENT
        });
        assert_eq!(
            queue.report(&mut host, [1, 2, 3, 4]),
            Outcome::Delivered(true)
        );
        assert_eq!(queue.report(&mut host, [5; 4]), Outcome::NoDescriptor);
        let words = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)];
        let words = words.map(|(index, which)| word(&host, index, which));
        assert_eq!(words, [1, 2, 3, 4, 0]);
    }

    #[test]
    fn queues_take_turns() {
        let mut active = Active::default();
        assert_eq!(active.rotate().count(), 0);
        [0, 2, 127]
            .into_iter()
            .for_each(|queue| active.insert(queue));
        assert_eq!(active.rotate().collect::<Vec<_>>(), [2, 127, 0]);
        assert_eq!(active.rotate().collect::<Vec<_>>(), [2, 127, 0]);
        assert_eq!(active.rotate().collect::<Vec<_>>(), [127, 0, 2]);
        active.remove(2);
        assert_eq!(active.iter().collect::<Vec<_>>(), [0, 127]);
    }
}
