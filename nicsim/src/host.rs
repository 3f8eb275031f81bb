// SPDX-License-Identifier: GPL-2.0
//! The environment of a chip: guest memory, interrupt vectors, the Tx FIFO towards the
//! wire, and timing.

use std::time::{Duration, Instant};

use crate::event::{Event, Events};
use crate::fault::Faults;
use crate::memory::{DmaFault, GuestMemory};
use crate::msix::Msix;

/// Delays that a chip is free to choose. The default is lockstep: none, so that all work
/// is done before the reply to the access that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Delay of a tail write.
    pub tail_delay: Duration,
    /// Completed descriptors of a ring are written back in groups of this size ...
    pub writeback_group: u32,
    /// ... or after this delay of the oldest one.
    pub writeback_delay: Duration,
    /// Delay of an interrupt; further interrupts within it are merged.
    pub irq_delay: Duration,
    /// Whether interrupts keep the throttling intervals that the driver sets.
    pub throttle: bool,
}

impl Timing {
    /// No delays.
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

    /// Moves the oldest frame to `frame`, whose content is replaced; false without one.
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

/// The environment of one port.
#[derive(Debug)]
pub struct Host {
    /// Guest memory that the function may access.
    pub memory: GuestMemory,
    /// Interrupt vectors.
    pub msix: Msix,
    /// Events so far.
    pub events: Events,
    /// Faults set over the control socket.
    pub faults: Faults,
    /// Delays.
    pub timing: Timing,
    /// Bus master enable of the PCI command register.
    pub bus_master: bool,
    /// Tx FIFO: frames between the rings and the wire.
    pub tx: FrameQueue,
    /// Time of the current turn of the loop.
    pub now: Instant,
}

impl Host {
    /// Capacity of the Tx FIFO, in bytes: a full one stops descriptor fetches. The 82599
    /// has 160 KB (data sheet, 7.2.1.2).
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

    /// Whether the Tx FIFO has room for one more frame.
    pub fn tx_has_room(&self) -> bool {
        self.tx.bytes() < Self::TX_FIFO
    }

    /// Whether a fault stops all DMA.
    pub fn is_stalled(&self) -> bool {
        let Faults {
            unplugged,
            stall_until,
            ..
        } = self.faults;
        unplugged || stall_until.is_some_and(|until| until > self.now)
    }

    /// Whether DMA is allowed; an event if not.
    pub fn may_dma(&mut self) -> bool {
        if !self.bus_master {
            self.events
                .record(Event::NotBusMaster, || "DMA is due".into());
        }
        self.bus_master
    }

    /// Counts a failed DMA.
    pub fn record_fault(&mut self, what: &str, fault: DmaFault) {
        self.events.record(Event::DmaFault, || {
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
