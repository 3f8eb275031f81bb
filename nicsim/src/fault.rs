// SPDX-License-Identifier: GPL-2.0
//! Injected faults, set over the control socket, for chips and wires.

use std::time::{Duration, Instant};

/// The current faults of a port. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Delay of Tx completions.
    pub tx_delay: Duration,
    /// Tx tails are accepted, but no descriptor is completed.
    pub tx_stop: bool,
    /// An Rx queue does not start when it is enabled: only on i40e.
    pub rx_stuck: bool,
    /// Every Nth frame from the wire is dropped; 0 is never.
    pub drop_every: u32,
    /// Every Nth frame from the wire is duplicated; 0 is never.
    pub duplicate_every: u32,
    /// Every Nth Rx write-back has a damaged length field; 0 is never.
    pub corrupt_every: u32,
    /// No DMA until this instant.
    pub stall_until: Option<Instant>,
    /// Removed from the bus: reads return all ones, writes and frames are dropped.
    pub unplugged: bool,
}
