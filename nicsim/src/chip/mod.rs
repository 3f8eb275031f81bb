// SPDX-License-Identifier: GPL-2.0
//! The models. Each chip is a folder with its register table as data. A chip implements
//! [`Chip`] and uses [`Host`].

pub mod i40e;
pub mod ixgbe;
pub mod packet_buffer;
pub mod registers;
pub mod ring;
pub mod totals;

use std::time::Instant;

use crate::event::Event;
use crate::host::Host;
use crate::pci::Function;

/// A model of one PCI function with one Ethernet port.
pub trait Chip {
    /// Properties of the PCI function after reset.
    fn function(&self) -> Function;

    /// PCI reset: registers have their reset values, all DMA stops.
    fn reset(&mut self, host: &mut Host);

    /// Bytes of registers at the start of BAR 0.
    fn register_space(&self) -> u32;

    /// The guest reads the register at `offset`, a multiple of 4 below
    /// [`register_space`](Self::register_space).
    fn read_register(&mut self, host: &mut Host, offset: u32) -> u32;

    /// The guest writes the register at `offset`, as for reads.
    fn write_register(&mut self, host: &mut Host, offset: u32, value: u32);

    /// The guest reads `data.len()` bytes of BAR 0 at `offset`: register by register,
    /// zeros without one.
    fn read(&mut self, host: &mut Host, offset: u64, data: &mut [u8]) {
        data.fill(0);
        if !whole_words(host, "read", offset, data.len()) {
            return;
        }
        for (index, word) in (0..).zip(data.chunks_exact_mut(4)) {
            let value = match u32::try_from(offset.wrapping_add(4 * index)) {
                Ok(offset) if offset < self.register_space() => {
                    self.read_register(host, offset)
                }
                _ => 0,
            };
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// The guest writes `data` to BAR 0 at `offset`. One access may be to several
    /// registers: ixgbe writes FDIRHASH and FDIRCMD with one of 8 bytes.
    fn write(&mut self, host: &mut Host, offset: u64, data: &[u8]) {
        if !whole_words(host, "write", offset, data.len()) {
            return;
        }
        for (index, word) in (0..).zip(data.chunks_exact(4)) {
            let value = word
                .iter()
                .rev()
                .fold(0, |sum, byte| sum << 8 | u32::from(*byte));
            match u32::try_from(offset.wrapping_add(4 * index)) {
                Ok(offset) if offset < self.register_space() => {
                    self.write_register(host, offset, value);
                }
                _ => {}
            }
        }
    }

    /// A frame arrives from the wire, without its CRC. The chip drops and counts frames
    /// that it has no room for.
    fn receive(&mut self, host: &mut Host, frame: &[u8]);

    /// Bytes in the chip's Rx packet buffer that wait for descriptors, for sources with
    /// back-pressure.
    fn rx_backlog(&self) -> usize;

    /// Whether the chip accepts frames: link up, receiver enabled.
    fn rx_enabled(&self) -> bool;

    /// Whether the port sends XOFF, which stops a peer that obeys pause frames.
    fn sends_pause(&self) -> bool;

    /// Whether the port is configured to obey XOFF of its peer.
    fn heeds_pause(&self) -> bool;

    /// The peer starts a pause that the port obeys.
    fn xoff_received(&mut self) {}

    /// The cable is plugged in, or out.
    fn set_link(&mut self, host: &mut Host, up: bool);

    /// Runs timers, delayed work and waiting frames that are due at `host.now`. Returns
    /// when to run next.
    fn run(&mut self, host: &mut Host) -> Option<Instant>;

    /// Names and values of the chip's counters since start, never cleared by reads.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}

/// Whether an access is of whole registers; an event if not.
fn whole_words(host: &mut Host, what: &str, offset: u64, length: usize) -> bool {
    let whole = length % 4 == 0 && offset % 4 == 0;
    if !whole {
        host.events.record(Event::BadAccessWidth, || {
            format!("{what} of {length} bytes at {offset:#x}")
        });
    }
    whole
}
