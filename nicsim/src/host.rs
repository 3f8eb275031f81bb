// SPDX-License-Identifier: GPL-2.0
//! What a chip sees of everything around it: the guest's memory, its interrupt
//! vectors, the Tx FIFO towards the wire, and how time passes.

use std::time::{Duration, Instant};

use crate::event::{Event, Events};
use crate::fault::Faults;
use crate::memory::{DmaFault, GuestMemory};
use crate::msix::Msix;

/// When the chip does what it may do late. The default is lockstep: all at once,
/// before the access that caused it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A tail write is acted on this much later.
    pub tail_delay: Duration,
    /// Completed descriptors are written back when this many of a ring are due ...
    pub writeback_group: u32,
    /// ... or when the oldest has waited this long.
    pub writeback_delay: Duration,
    /// Each interrupt is held back this long, those that come meanwhile join it.
    pub irq_delay: Duration,
    /// Whether the throttling intervals that the driver sets are kept.
    pub throttle: bool,
}

impl Timing {
    /// All at once.
    pub const LOCKSTEP: Self = Self {
        tail_delay: Duration::ZERO,
        writeback_group: 1,
        writeback_delay: Duration::ZERO,
        irq_delay: Duration::ZERO,
        throttle: false,
    };
}

impl Default for Timing {
    fn default() -> Self {
        Self::LOCKSTEP
    }
}

/// Frames between chip and wire, without their CRC, in one flat buffer.
#[derive(Debug, Default)]
pub struct FrameQueue {
    bytes: std::collections::VecDeque<u8>,
    lengths: std::collections::VecDeque<u32>,
}

impl FrameQueue {
    /// Appends a frame.
    pub fn push(&mut self, frame: &[u8]) {
        self.bytes.extend(frame);
        self.lengths.push_back(frame.len() as u32);
    }

    /// Moves the oldest frame into `frame`, whose content is replaced; false if none.
    pub fn pop(&mut self, frame: &mut Vec<u8>) -> bool {
        let Some(length) = self.lengths.pop_front() else {
            return false;
        };
        frame.clear();
        let (front, back) = self.bytes.as_slices();
        let length = length as usize;
        let cut = length.min(front.len());
        frame.extend_from_slice(&front[..cut]);
        frame.extend_from_slice(&back[..length - cut]);
        self.bytes.drain(..length);
        true
    }

    /// Length of the oldest frame.
    pub fn front_len(&self) -> Option<usize> {
        self.lengths.front().map(|length| *length as usize)
    }

    /// Bytes of all frames.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Drops all frames.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }
}

/// The host side of one port.
#[derive(Debug)]
pub struct Host {
    /// The guest's memory as the IOMMU would let this function see it.
    pub memory: GuestMemory,
    /// Interrupt vectors.
    pub msix: Msix,
    /// Misbehaviour seen.
    pub events: Events,
    /// Faults asked for over the control socket.
    pub faults: Faults,
    /// When things are done that may be done late.
    pub timing: Timing,
    /// Bus master enable of the PCI command register.
    pub bus_master: bool,
    /// Tx FIFO: frames that left the rings and wait for the wire.
    pub tx: FrameQueue,
    /// The time that the current turn of the loop takes as now.
    pub now: Instant,
}

impl Host {
    /// What the Tx FIFO takes before the chip stops fetching descriptors, in bytes.
    /// The 82599 has 160 KB (data sheet, 7.2.1.2).
    pub const TX_FIFO: usize = 160 * 1024;

    /// A host without memory; `label` names the port in logs.
    pub fn new(label: &str, vectors: usize, timing: Timing) -> Self {
        Self {
            memory: GuestMemory::new(),
            msix: Msix::new(vectors),
            events: Events::new(label),
            faults: Faults::default(),
            timing,
            bus_master: false,
            tx: FrameQueue::default(),
            now: Instant::now(),
        }
    }

    /// Whether the chip may fetch one more frame from its Tx rings.
    pub fn tx_has_room(&self) -> bool {
        self.tx.bytes() < Self::TX_FIFO
    }

    /// Whether DMA is allowed; notes it if not.
    pub fn may_dma(&mut self) -> bool {
        if !self.bus_master {
            self.events
                .note(Event::NotBusMaster, || "DMA was due".into());
        }
        self.bus_master
    }

    /// Counts a DMA that failed.
    pub fn note_fault(&mut self, what: &str, fault: DmaFault) {
        self.events.note(Event::DmaFault, || {
            format!("{what} at {:#x}, {} bytes", fault.iova, fault.len)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_queue_keeps_order_and_bounds() {
        let mut queue = FrameQueue::default();
        let mut out = Vec::new();
        for round in 0..100u8 {
            queue.push(&[round; 60]);
            queue.push(&[round, 1, 2]);
            assert_eq!(queue.front_len(), Some(60));
            assert!(queue.pop(&mut out));
            assert_eq!(out, [round; 60]);
            assert!(queue.pop(&mut out));
            assert_eq!(out, [round, 1, 2]);
        }
        assert!(!queue.pop(&mut out));
        assert!(queue.is_empty() && queue.bytes() == 0);
    }
}
