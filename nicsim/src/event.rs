// SPDX-License-Identifier: GPL-2.0
//! Accesses of a driver or an application that real hardware would reject: counted, and
//! each kind is logged once, as by malicious driver detection.

/// A kind of misbehaviour or fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// DMA to an address that is not guest memory.
    DmaFault,
    /// DMA while the bus master enable bit of the PCI command is clear.
    NotBusMaster,
    /// Access to an unknown register.
    UnknownRegister,
    /// Register access of an invalid width.
    BadAccessWidth,
    /// A tail or head register beyond its ring.
    TailBeyondRing,
    /// A tail write to a disabled queue.
    TailWhileDisabled,
    /// A queue enabled with a ring of length zero or a misaligned base.
    BadRing,
    /// A Tx descriptor with a reserved type or length zero, or of an oversized frame.
    BadTxDescriptor,
    /// An Rx descriptor with a buffer address of zero.
    BadRxDescriptor,
    /// An unknown or malformed admin queue command.
    BadAdminCommand,
}

impl Event {
    /// All kinds in declaration order.
    pub const ALL: [Self; 10] = [
        Self::DmaFault,
        Self::NotBusMaster,
        Self::UnknownRegister,
        Self::BadAccessWidth,
        Self::TailBeyondRing,
        Self::TailWhileDisabled,
        Self::BadRing,
        Self::BadTxDescriptor,
        Self::BadRxDescriptor,
        Self::BadAdminCommand,
    ];

    /// The name in logs and counters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DmaFault => "dma_fault",
            Self::NotBusMaster => "not_bus_master",
            Self::UnknownRegister => "unknown_register",
            Self::BadAccessWidth => "bad_access_width",
            Self::TailBeyondRing => "tail_beyond_ring",
            Self::TailWhileDisabled => "tail_while_disabled",
            Self::BadRing => "bad_ring",
            Self::BadTxDescriptor => "bad_tx_descriptor",
            Self::BadRxDescriptor => "bad_rx_descriptor",
            Self::BadAdminCommand => "bad_admin_command",
        }
    }
}

/// Counts of all kinds of events of one port.
#[derive(Debug, Default)]
pub struct Events {
    label: String,
    counts: [u64; Event::ALL.len()],
}

impl Events {
    /// Counters at zero; `label` names the port in the log.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..Self::default()
        }
    }

    /// Counts `event`; the first of its kind is logged with `detail`.
    pub fn record(&mut self, event: Event, detail: impl FnOnce() -> String) {
        let count = &mut self.counts[event as usize];
        *count += 1;
        if *count == 1 {
            eprintln!("nicsim: {}: {}: {}", self.label, event.name(), detail());
        }
    }

    /// Number of times `event` occurred.
    pub fn count(&self, event: Event) -> u64 {
        self.counts[event as usize]
    }

    /// Name and count of each kind, zeros included.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Event::ALL
            .iter()
            .map(|event| (event.name(), self.count(*event)))
    }

    /// Sum over all kinds.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_kind() {
        let mut events = Events::new("test");
        events.record(Event::DmaFault, || "first".into());
        events.record(Event::DmaFault, || panic!("logged twice"));
        assert_eq!(events.count(Event::DmaFault), 2);
        assert_eq!(events.total(), 2);
        assert_eq!(events.iter().count(), Event::ALL.len());
    }
}
