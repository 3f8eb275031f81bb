// SPDX-License-Identifier: GPL-2.0
//! What a driver or an application did that a real card would not take: counted, and
//! logged once each, as malicious-driver detection would.

/// A kind of misbehaviour, or of fault, that the model saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// DMA to an address that is not the guest's memory.
    DmaFault,
    /// DMA was due while the bus master enable bit of the PCI command was clear.
    NotBusMaster,
    /// Access to a register that the model does not have.
    UnknownRegister,
    /// Register access of a width that the chip does not take.
    BadAccessWidth,
    /// A tail or head register beyond its ring.
    TailBeyondRing,
    /// A tail write to a queue that is not enabled.
    TailWhileDisabled,
    /// A queue enabled with a ring of length zero or a misaligned base.
    BadRing,
    /// A Tx descriptor with a reserved type, length zero, or a frame too long.
    BadTxDescriptor,
    /// An Rx descriptor with a buffer address of zero.
    BadRxDescriptor,
    /// An admin queue command that the chip does not know, or in the wrong form.
    BadAdminCommand,
}

impl Event {
    /// All kinds, in the order of their declaration.
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
    pub fn note(&mut self, event: Event, detail: impl FnOnce() -> String) {
        let count = &mut self.counts[event as usize];
        *count += 1;
        if *count == 1 {
            eprintln!("nicsim: {}: {}: {}", self.label, event.name(), detail());
        }
    }

    /// How often `event` was seen.
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
        events.note(Event::DmaFault, || "first".into());
        events.note(Event::DmaFault, || panic!("logged twice"));
        assert_eq!(events.count(Event::DmaFault), 2);
        assert_eq!(events.total(), 2);
        assert_eq!(events.iter().count(), Event::ALL.len());
    }
}
