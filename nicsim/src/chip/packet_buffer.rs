// SPDX-License-Identifier: GPL-2.0
//! The packet buffer between the wire and the Rx queues.

use crate::host::FrameQueue;

/// Frames that passed the filters and wait for descriptors, and flow control by their
/// number.
#[derive(Debug, Default)]
pub struct PacketBuffer {
    frames: FrameQueue,
    /// The oldest frame, while it is not in `frames`.
    front: Vec<u8>,
    has_front: bool,
    xoff: bool,
}

/// Pause frame to send when a watermark is crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Stop.
    Xoff,
    /// Continue.
    Xon,
}

impl PacketBuffer {
    /// Bytes of all frames.
    pub fn bytes(&self) -> usize {
        self.frames.bytes() + if self.has_front { self.front.len() } else { 0 }
    }

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        !self.has_front && self.frames.is_empty()
    }

    /// Adds a frame at the end.
    pub fn push(&mut self, frame: &[u8]) {
        self.frames.push(frame);
    }

    /// Takes the oldest frame; to return with [`put_back`](Self::put_back) if it has to
    /// wait, otherwise with [`recycle`](Self::recycle).
    pub fn take(&mut self) -> Option<Vec<u8>> {
        if !self.has_front && !self.frames.pop(&mut self.front) {
            return None;
        }
        self.has_front = false;
        Some(std::mem::take(&mut self.front))
    }

    /// Returns a frame that has to wait and remains the oldest.
    pub fn put_back(&mut self, frame: Vec<u8>) {
        self.front = frame;
        self.has_front = true;
    }

    /// Returns a frame that was delivered, to reuse its memory.
    pub fn recycle(&mut self, frame: Vec<u8>) {
        self.front = frame;
    }

    /// Drops all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether the port stopped its peer.
    pub fn xoff(&self) -> bool {
        self.xoff
    }

    /// Compares the level with the watermarks, in bytes; `None` is no flow control.
    pub fn pause(&mut self, watermarks: Option<(usize, usize)>) -> Option<Pause> {
        let level = self.bytes();
        let xoff = match watermarks {
            None => false,
            Some((_, high)) if level > high => true,
            Some((low, _)) if level < low => false,
            Some(_) => self.xoff,
        };
        let changed = xoff != self.xoff;
        self.xoff = xoff;
        changed.then_some(if xoff { Pause::Xoff } else { Pause::Xon })
    }
}
