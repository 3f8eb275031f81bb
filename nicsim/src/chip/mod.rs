// SPDX-License-Identifier: GPL-2.0
//! The models. Each chip is a folder with its register table as data; what it needs
//! from outside is [`Host`], what it offers is [`Chip`].

pub mod i40e;
pub mod ixgbe;
pub mod packet_buffer;
pub mod registers;

use std::time::Instant;

use crate::host::Host;
use crate::pci::Function;

/// A model of one PCI function with one Ethernet port.
pub trait Chip {
    /// What the function looks like on PCI before any driver touched it.
    fn function(&self) -> Function;

    /// PCI reset: registers get their reset values, all DMA stops.
    fn reset(&mut self, host: &mut Host);

    /// The guest reads `data.len()` bytes of BAR 0 at `offset`.
    fn read(&mut self, host: &mut Host, offset: u64, data: &mut [u8]);

    /// The guest writes `data` to BAR 0 at `offset`.
    fn write(&mut self, host: &mut Host, offset: u64, data: &[u8]);

    /// A frame arrives from the wire, without its CRC. What the chip cannot take it
    /// drops and counts.
    fn receive(&mut self, host: &mut Host, frame: &[u8]);

    /// Bytes that wait in the chip's Rx packet buffer for descriptors. A source that
    /// may wait gives no more while this is not small.
    fn rx_backlog(&self) -> usize;

    /// Whether frames would be taken at all: link up, receiver enabled.
    fn rx_enabled(&self) -> bool;

    /// Whether the port sends XOFF: the peer is to wait if it heeds pause frames.
    fn sends_pause(&self) -> bool;

    /// Whether the port, as configured, waits when its peer sends XOFF.
    fn heeds_pause(&self) -> bool;

    /// The peer asked for a pause that the port heeds; once for each time.
    fn xoff_received(&mut self) {}

    /// The cable is plugged in, or out.
    fn set_link(&mut self, host: &mut Host, up: bool);

    /// Does what is due at `host.now`: timers, late work, frames that wait for room.
    /// Returns when to be called again at the latest.
    fn run(&mut self, host: &mut Host) -> Option<Instant>;

    /// Names and values of the chip's counters since start, never cleared by reads.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
