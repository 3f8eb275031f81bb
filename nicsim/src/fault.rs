// SPDX-License-Identifier: GPL-2.0
//! Faults on demand, set over the control socket, obeyed by chips and wires.

use std::time::{Duration, Instant};

/// What is wrong with a port right now. The default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Tx completions are held back this long.
    pub tx_delay: Duration,
    /// Tx tails are accepted and nothing is ever completed.
    pub tx_stop: bool,
    /// An Rx queue that is told to start does not: only on i40e.
    pub rx_stuck: bool,
    /// Every Nth frame from the wire is dropped; 0 is never.
    pub drop_every: u32,
    /// Every Nth frame from the wire comes twice; 0 is never.
    pub duplicate_every: u32,
    /// Every Nth Rx write-back has its length field damaged; 0 is never.
    pub corrupt_every: u32,
    /// No DMA until this instant.
    pub stall_until: Option<Instant>,
    /// Gone from the bus: reads give all ones, writes and frames vanish.
    pub unplugged: bool,
}
