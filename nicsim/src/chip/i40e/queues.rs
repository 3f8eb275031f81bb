// SPDX-License-Identifier: GPL-2.0
//! The queues of the function, and how they are enabled and disabled.

use super::QUEUES;
use super::hmc::{Error, Hmc};
use super::regs::at;
use super::rx::RxRing;
use super::tx::TxRing;
use crate::chip::registers::Registers;
use crate::event::Event;
use crate::host::Host;

/// QTX_ENA and QRX_ENA: the driver's request, and the state.
const REQUEST: u32 = 1 << 0;
const STATUS: u32 = 1 << 2;

const QDIS_INDEX: u32 = 0x7FF;
const QDIS_SET: u32 = 1 << 30;
const QDIS_CLEAR: u32 = 1 << 31;

/// All queues, and the private memory with their contexts.
pub struct Queues {
    /// Tx queues.
    pub tx: Vec<TxRing>,
    /// Rx queues.
    pub rx: Vec<RxRing>,
    /// Private memory of the function.
    pub hmc: Hmc,
    /// The core was reset, and the driver has neither reset the function nor enabled a Tx
    /// queue since: it may not know yet, and write tails. Assumption: the chip ignores them.
    pub reset_unnoticed: bool,
}

impl Default for Queues {
    fn default() -> Self {
        Self {
            tx: (0..QUEUES).map(|_| TxRing::default()).collect(),
            rx: (0..QUEUES).map(|_| RxRing::default()).collect(),
            hmc: Hmc::default(),
            reset_unnoticed: false,
        }
    }
}

impl Queues {
    /// Reset of the function: all queues stop, without further DMA.
    pub fn forget(&mut self) {
        self.tx.iter_mut().for_each(TxRing::forget);
        self.rx.iter_mut().for_each(RxRing::forget);
        self.hmc.clear();
        self.reset_unnoticed = false;
    }

    /// Takes a write to QTX_ENA. The context is read when the queue is enabled. The
    /// status follows the request at once; false if the context is invalid.
    pub fn write_tx_ena(
        &mut self,
        host: &mut Host,
        registers: &mut Registers,
        queue: usize,
        value: u32,
    ) -> bool {
        if value & REQUEST != 0 {
            self.reset_unnoticed = false;
        }
        let ring = &mut self.tx[queue];
        match (ring.enabled(), value & REQUEST != 0) {
            (false, true) => match self.hmc.tx_context(host, registers, queue) {
                Ok(context) => ring.enable(context),
                Err(error) => refuse(host, registers, "Tx", queue, error),
            },
            (true, false) => ring.disable(host),
            _ => {}
        }
        show(registers, at::QTX_ENA, queue, value, ring.enabled())
    }

    /// Takes a write to QRX_ENA, as [`write_tx_ena`](Self::write_tx_ena). Descriptors are
    /// posted before.
    pub fn write_rx_ena(
        &mut self,
        host: &mut Host,
        registers: &mut Registers,
        queue: usize,
        value: u32,
    ) -> bool {
        let tail = registers.get(at::QRX_TAIL + 4 * queue as u32);
        let ring = &mut self.rx[queue];
        match (ring.enabled(), value & REQUEST != 0) {
            (false, true) if host.faults.rx_stuck => {}
            (false, true) => match self.hmc.rx_context(host, registers, queue) {
                Ok(context) => ring.enable(context, tail),
                Err(error) => refuse(host, registers, "Rx", queue, error),
            },
            (true, false) => ring.disable(host),
            _ => {}
        }
        show(registers, at::QRX_ENA, queue, value, ring.enabled())
    }

    /// Effect of a write to QTX_TAIL; true if the queue may have work now.
    pub fn write_tx_tail(&mut self, host: &mut Host, queue: usize, tail: u32) -> bool {
        let detail = || format!("Tx queue {queue}: {tail}");
        let ring = &mut self.tx[queue];
        if !ring.enabled() {
            if !self.reset_unnoticed {
                host.events.record(Event::TailWhileDisabled, detail);
            }
            return false;
        }
        let good = ring.set_tail(host, tail);
        if !good {
            host.events.record(Event::TailBeyondRing, detail);
        }
        good
    }

    /// Effect of a write to QRX_TAIL. Before the queue is enabled, only the register
    /// stores it.
    pub fn write_rx_tail(&mut self, host: &mut Host, queue: usize, tail: u32) {
        let ring = &mut self.rx[queue];
        if ring.enabled() && !ring.set_tail(tail) {
            host.events.record(Event::TailBeyondRing, || {
                format!("Rx queue {queue}: {tail}")
            });
        }
    }

    /// Takes a write to GLLAN_TXPRE_QDIS `block`: a queue is about to be disabled, or
    /// enabled again. Each block has 128 queues.
    pub fn write_qdis(&mut self, registers: &mut Registers, block: u32, value: u32) {
        let index = value & QDIS_INDEX;
        registers.set(at::GLLAN_TXPRE_QDIS + 4 * block, index);
        let held = match value & (QDIS_SET | QDIS_CLEAR) {
            QDIS_SET => true,
            QDIS_CLEAR => false,
            _ => return,
        };
        if let Some(ring) = self.tx.get_mut((block * 128 + index) as usize) {
            ring.hold(held);
        }
    }
}

/// Sets the register; false if the queue is not in the requested state.
fn show(
    registers: &mut Registers,
    base: u32,
    queue: usize,
    value: u32,
    enabled: bool,
) -> bool {
    let status = if enabled { STATUS } else { 0 };
    registers.set(base + 4 * queue as u32, value & 3 | status);
    (value & REQUEST != 0) == enabled
}

/// The queue remains disabled, and registers report an error of the private memory.
fn refuse(
    host: &mut Host,
    registers: &mut Registers,
    kind: &str,
    queue: usize,
    error: Error,
) {
    const VALID: u32 = 1 << 31;
    host.events.record(Event::BadRing, || {
        format!("{kind} queue {queue}: {error:?}")
    });
    if let Error::Fault(fault) = error {
        host.record_fault("queue context", fault);
    }
    registers.set(at::PFHMC_ERRORINFO, VALID);
    registers.set(at::PFHMC_ERRORDATA, queue as u32);
}

#[cfg(test)]
mod tests {
    use super::super::regs::{SPACE, TABLE};
    use super::*;
    use crate::host::Timing;
    use crate::memory::GuestMemory;

    const RAM: u64 = 0x20_0000;

    fn setup() -> (Queues, Host, Registers) {
        let mut host = Host::new("test", 1, Timing::LOCKSTEP);
        host.memory = GuestMemory::with_ram(RAM, 1 << 20).expect("memory");
        let mut registers = Registers::new(TABLE, SPACE);
        registers.set(at::GLHMC_LANTXCNT, 2);
        registers.set(at::GLHMC_LANRXBASE, 1);
        registers.set(at::GLHMC_LANRXCNT, 2);
        registers.set(at::QTX_CTL, 2);
        registers.set(at::PFHMC_SDDATALOW, RAM as u32 | 3);
        let mut queues = Queues::default();
        queues.hmc.command(&mut registers, 1 << 31);
        let qlen = 64u64;
        // Tx: bits 161 and on; Rx: 89 and on, buffer 102, RXMAX 174
        let put = |at, value| host.memory.write_u64(RAM + at, value).expect("context");
        put(16, qlen << 33);
        put(512 + 8, qlen << 25 | 16 << 38);
        put(512 + 16, 1518 << 46);
        (queues, host, registers)
    }

    #[test]
    fn status_follows_the_request() {
        let (mut queues, mut host, mut registers) = setup();
        registers.set(at::QRX_TAIL, 10);
        assert!(queues.write_tx_ena(&mut host, &mut registers, 0, REQUEST));
        assert!(queues.write_rx_ena(&mut host, &mut registers, 0, REQUEST));
        assert_eq!(registers.get(at::QTX_ENA), REQUEST | STATUS);
        assert_eq!(registers.get(at::QRX_ENA), REQUEST | STATUS);
        assert!(queues.tx[0].enabled() && queues.rx[0].enabled());
        assert!(queues.write_tx_tail(&mut host, 0, 63));
        assert!(queues.write_tx_ena(&mut host, &mut registers, 0, 0));
        assert!(queues.write_rx_ena(&mut host, &mut registers, 0, 0));
        assert_eq!(registers.get(at::QTX_ENA) | registers.get(at::QRX_ENA), 0);
        assert_eq!(host.events.total(), 0);
    }

    #[test]
    fn a_bad_context_leaves_the_queue_off() {
        let (mut queues, mut host, mut registers) = setup();
        queues.hmc.clear();
        assert!(!queues.write_tx_ena(&mut host, &mut registers, 0, REQUEST));
        assert!(!queues.write_rx_ena(&mut host, &mut registers, 1, REQUEST));
        assert_eq!(registers.get(at::QTX_ENA), REQUEST);
        assert_eq!(host.events.count(Event::BadRing), 2);
        assert_ne!(registers.get(at::PFHMC_ERRORINFO), 0);
    }

    #[test]
    fn tails_beyond_the_ring_or_without_one() {
        let (mut queues, mut host, mut registers) = setup();
        assert!(!queues.write_tx_tail(&mut host, 0, 1));
        assert_eq!(host.events.count(Event::TailWhileDisabled), 1);
        queues.write_rx_tail(&mut host, 0, 100);
        queues.write_tx_ena(&mut host, &mut registers, 0, REQUEST);
        queues.write_rx_ena(&mut host, &mut registers, 0, REQUEST);
        assert!(!queues.write_tx_tail(&mut host, 0, 64));
        queues.write_rx_tail(&mut host, 0, 64);
        assert_eq!(host.events.count(Event::TailBeyondRing), 2);
    }

    #[test]
    fn qdis_names_its_queue() {
        let (mut queues, _, mut registers) = setup();
        queues.write_qdis(&mut registers, 0, QDIS_SET | 3);
        assert_eq!(registers.get(at::GLLAN_TXPRE_QDIS), 3);
        queues.write_qdis(&mut registers, 11, QDIS_SET | QDIS_INDEX);
        queues.write_qdis(&mut registers, 0, QDIS_CLEAR | 3);
    }
}
