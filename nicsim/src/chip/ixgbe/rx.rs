// SPDX-License-Identifier: GPL-2.0
//! Rx queues (data sheet 7.1).

use crate::chip::ring::{self, Outcome};
use crate::host::Host;

/// SRRCTL: drop a frame without descriptors (8.2.3.8.7).
const DROP_EN: u32 = 1 << 28;
/// RXDCTL: strip VLAN tags (8.2.3.8.8).
const VME: u32 = 1 << 30;
const DD: u64 = 1 << 0;
const EOP: u64 = 1 << 1;

/// Description of a frame for descriptors, without its length (7.1.5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// RSS and packet type, the low 16 bits of the first dword.
    pub packet_info: u32,
    /// RSS hash, the second dword.
    pub hash: u32,
    /// Status and errors without DD and EOP, for the last descriptor.
    pub status: u32,
    /// Stripped tag.
    pub vlan: u16,
}

/// Settings in SRRCTL and RXDCTL.
#[derive(Debug, Default)]
pub struct Control {
    buffer: usize,
    drops: bool,
    strips_vlan: bool,
}

/// One Rx queue.
pub type RxRing = ring::RxRing<Control>;

impl RxRing {
    /// Whether VLAN tags are moved from frames into descriptors.
    pub fn strips_vlan(&self) -> bool {
        self.chip.strips_vlan
    }

    /// Takes SRRCTL and RXDCTL, also while the queue runs. A buffer size of zero is
    /// invalid and means the reset value.
    pub fn configure(&mut self, srrctl: u32, rxdctl: u32) {
        self.chip = Control {
            buffer: match srrctl & 0x1F {
                0 => 2048,
                kilobytes => kilobytes as usize * 1024,
            },
            drops: srrctl & DROP_EN != 0,
            strips_vlan: rxdctl & VME != 0,
        };
    }

    /// Puts a frame into guest memory, in as many buffers as it needs.
    pub fn deliver(&mut self, host: &mut Host, frame: &[u8], meta: Meta) -> Outcome {
        let outcome = self.fill(host, frame, self.chip.buffer, |length, last| {
            let (status, tag) = match last {
                true => (DD | EOP | u64::from(meta.status), meta.vlan),
                false => (DD, 0),
            };
            let low = u64::from(meta.hash) << 32 | u64::from(meta.packet_info);
            let high = u64::from(tag) << 48 | length << 32 | status;
            [low, high, 0, 0]
        });
        match outcome {
            Outcome::NoDescriptor if self.chip.drops => Outcome::Dropped,
            outcome => outcome,
        }
    }
}
