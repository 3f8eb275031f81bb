// SPDX-License-Identifier: GPL-2.0
//! Statistics (data sheet 8.2.3.23): registers that are cleared by reads, and totals
//! since start.

use super::regs::{OCTETS_HIGH, Registers, at};
use crate::chip::totals::totals;
use crate::frame;

/// Octets are counted with the CRC.
const CRC: u32 = 4;
/// Queues with Rx counters.
const QUEUES: u32 = 16;

totals! {
    /// Frames from the wire, before any check.
    rx_wire,
    /// Frames in the guest's buffers.
    rx_frames,
    /// Their bytes, without CRC.
    rx_bytes,
    /// Frames while the link or the receiver was off.
    rx_disabled,
    /// Frames that no filter accepted.
    rx_filtered,
    /// Frames of invalid length.
    rx_bad_length,
    /// Frames dropped because the packet buffer was full.
    rx_missed,
    /// Frames dropped because of a shortage of descriptors or a disabled queue.
    rx_no_descriptor,
    /// Frames dropped by a flow director filter.
    rx_fdir_dropped,
    /// XOFF frames sent.
    xoff_sent,
    /// XOFF frames received.
    xoff_received,
    /// Frames sent.
    tx_frames,
    /// Their bytes, without CRC.
    tx_bytes,
    /// Resets by the driver or the bus.
    resets,
}

fn octets(registers: &mut Registers, low: u32, amount: u32) {
    registers.count_wide(low, amount, OCTETS_HIGH);
}

/// Index of the size class: 64, to 127, 255, 511, 1023, and above, with CRC.
fn size_class(length: u32) -> u32 {
    match length + CRC {
        0..=64 => 0,
        65..=127 => 1,
        128..=255 => 2,
        256..=511 => 3,
        512..=1023 => 4,
        _ => 5,
    }
}

fn count_cast(registers: &mut Registers, frame: &[u8], broadcast: u32, multicast: u32) {
    if frame::is_broadcast(frame) {
        registers.count(broadcast, 1);
    } else if frame::is_multicast(frame) {
        registers.count(multicast, 1);
    }
}

/// A frame arrived from the wire.
pub fn arrived(registers: &mut Registers, frame: &[u8]) {
    registers.count(at::TPR, 1);
    octets(registers, at::TORL, frame.len() as u32 + CRC);
}

/// It passed the filters.
pub fn accepted(registers: &mut Registers, frame: &[u8]) {
    let length = frame.len() as u32;
    registers.count(at::GPRC, 1);
    octets(registers, at::GORCL, length + CRC);
    registers.count(at::PRC64 + 4 * size_class(length), 1);
    count_cast(registers, frame, at::BPRC, at::MPRC);
}

/// It is in the buffers of `queue`.
pub fn delivered(registers: &mut Registers, queue: u32, length: usize) {
    if queue < QUEUES {
        let base = at::RX_LOW + 0x40 * queue;
        registers.count(base + 0x30, 1);
        octets(registers, base + 0x34, length as u32 + CRC);
    }
}

/// It was dropped: `queue` had no descriptors.
pub fn dropped(registers: &mut Registers, queue: u32) {
    if queue < QUEUES {
        registers.count(at::RX_LOW + 0x430 + 0x40 * queue, 1);
    }
}

/// Counts a transmitted frame for the port.
fn transmitted(registers: &mut Registers, frame: &[u8]) {
    let length = frame.len() as u32;
    registers.count(at::GPTC, 1);
    registers.count(at::TPT, 1);
    octets(registers, at::GOTCL, length + CRC);
    registers.count(at::PTC64 + 4 * size_class(length), 1);
    count_cast(registers, frame, at::BPTC, at::MPTC);
}

/// Counts a transmitted pause frame in `kind`. It is also one of the frames sent: drivers
/// subtract those from their counters.
pub fn pause_sent(registers: &mut Registers, kind: u32) {
    const LENGTH: usize = 60;
    let mut frame = [0; LENGTH];
    frame[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 1]);
    registers.count(kind, 1);
    transmitted(registers, &frame);
}

/// A frame of `queue` was sent.
pub fn sent(registers: &mut Registers, queue: u32, frame: &[u8]) {
    let length = frame.len() as u32;
    transmitted(registers, frame);
    registers.count(at::TX + 0x30 + 0x40 * queue, 1);
    if queue < QUEUES {
        octets(registers, at::QBTC + 8 * queue, length + CRC);
    }
}
