// SPDX-License-Identifier: GPL-2.0
//! Statistics: registers of the port and of VSIs, which only a core reset clears, and
//! totals since start.

use super::regs::{COUNTER_HIGH, Registers, at};
use super::switch::FIRST_COUNTERS;
use crate::chip::totals::totals;
use crate::frame;

/// Octets are counted with the CRC.
const CRC: u32 = 4;
/// Distance of the counters of two size classes.
const SIZE_STRIDE: u32 = 0x20;

totals! {
    /// Frames from the wire, before any check.
    rx_wire,
    /// Frames in the guest's buffers.
    rx_frames,
    /// Their bytes, without CRC.
    rx_bytes,
    /// Frames while the link was down.
    rx_disabled,
    /// Frames that no VSI accepted.
    rx_filtered,
    /// Frames of invalid length.
    rx_bad_length,
    /// Frames dropped because the packet buffer was full.
    rx_missed,
    /// Frames dropped because of a shortage of descriptors or a disabled queue.
    rx_no_descriptor,
    /// Frames dropped by a flow director filter.
    rx_fdir_dropped,
    /// Filters of the flow director that were added or removed.
    fdir_programmed,
    /// The same that failed.
    fdir_failed,
    /// XOFF frames sent.
    xoff_sent,
    /// XOFF frames received.
    xoff_received,
    /// Frames sent.
    tx_frames,
    /// Their bytes, without CRC.
    tx_bytes,
    /// Frames dropped because the link was down, or by a control packet filter.
    tx_dropped,
    /// Commands of the admin queue.
    admin_commands,
    /// Events in the admin receive queue.
    admin_events,
    /// Resets of the function, by the driver or the bus.
    resets,
    /// Resets of the core or of the whole device.
    global_resets,
}

/// Offset from the counter for 64 bytes: to 127, 255, 511, 1023, 1522, and above, with
/// CRC.
fn size_class(length: u32) -> u32 {
    let class = match length + CRC {
        0..=64 => 0,
        65..=127 => 1,
        128..=255 => 2,
        256..=511 => 3,
        512..=1023 => 4,
        1024..=1522 => 5,
        _ => 6,
    };
    class * SIZE_STRIDE
}

fn wide(registers: &mut Registers, low: u32, amount: u32) {
    registers.count_wide(low, amount, COUNTER_HIGH);
}

/// Increments a register of 32 bits.
pub fn count(registers: &mut Registers, offset: u32) {
    registers.set(offset, registers.get(offset).wrapping_add(1));
}

/// Counters for unicast, multicast and broadcast.
type Casts = [u32; 3];

fn count_cast(registers: &mut Registers, frame: &[u8], casts: Casts, at: u32) {
    let cast = if frame::is_broadcast(frame) {
        2
    } else {
        usize::from(frame::is_multicast(frame))
    };
    wide(registers, casts[cast] + at, 1);
}

/// Offset of a VSI's counters from the first of their kind.
fn of(vsi: usize) -> u32 {
    8 * (u32::from(FIRST_COUNTERS) + vsi as u32)
}

/// A good frame arrived from the wire.
pub fn arrived(registers: &mut Registers, frame: &[u8]) {
    let length = frame.len() as u32;
    wide(registers, at::GLPRT_GORC, length + CRC);
    wide(registers, at::GLPRT_PRC64 + size_class(length), 1);
    let casts = [at::GLPRT_UPRC, at::GLPRT_MPRC, at::GLPRT_BPRC];
    count_cast(registers, frame, casts, 0);
}

/// It is for a VSI.
pub fn accepted(registers: &mut Registers, vsi: usize, frame: &[u8]) {
    wide(registers, at::GLV_GORC + of(vsi), frame.len() as u32 + CRC);
    let casts = [at::GLV_UPRC, at::GLV_MPRC, at::GLV_BPRC];
    count_cast(registers, frame, casts, of(vsi));
}

/// The VSI's queue had no descriptors for it.
pub fn dropped(registers: &mut Registers, vsi: usize) {
    count(registers, at::GLV_RDPC + of(vsi));
}

/// The frame is longer than the queue accepts. These counters are per function; those of
/// physical functions follow those of virtual functions.
pub fn too_long(registers: &mut Registers) {
    wide(registers, at::GL_RXERR1 + 8 * 128, 1);
}

/// A frame of a VSI was sent.
pub fn sent(registers: &mut Registers, vsi: usize, frame: &[u8]) {
    let length = frame.len() as u32;
    wide(registers, at::GLPRT_GOTC, length + CRC);
    wide(registers, at::GLPRT_PTC64 + size_class(length), 1);
    let casts = [at::GLPRT_UPTC, at::GLPRT_MPTC, at::GLPRT_BPTC];
    count_cast(registers, frame, casts, 0);
    wide(registers, at::GLV_GOTC + of(vsi), length + CRC);
    let casts = [at::GLV_UPTC, at::GLV_MPTC, at::GLV_BPTC];
    count_cast(registers, frame, casts, of(vsi));
}

#[cfg(test)]
mod tests {
    use super::super::regs;
    use super::*;

    #[test]
    fn frames_are_counted_for_port_and_vsi() {
        let mut registers = regs::new();
        let mut frame = vec![0xFF; 60];
        sent(&mut registers, 2, &frame);
        assert_eq!(registers.get(at::GLPRT_BPTC), 1);
        assert_eq!(registers.get(at::GLPRT_PTC64), 1);
        assert_eq!(registers.get(at::GLV_GOTC + of(2)), 64);
        assert_eq!(registers.get(at::GLV_BPTC + of(2)), 1);
        frame.resize(1515, 1);
        frame[0] = 2;
        arrived(&mut registers, &frame);
        accepted(&mut registers, 0, &frame);
        assert_eq!(registers.get(0x30_0520), 1, "to 1522");
        assert_eq!(registers.get(at::GLPRT_GORC), 1519);
        assert_eq!(registers.get(at::GLV_UPRC + of(0)), 1);
        frame.push(1);
        frame.resize(1519, 1);
        arrived(&mut registers, &frame);
        assert_eq!(registers.get(0x30_0540), 1, "above");
    }
}
