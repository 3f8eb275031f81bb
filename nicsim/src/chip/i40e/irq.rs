// SPDX-License-Identifier: GPL-2.0
//! Interrupts: causes, self-clearing enable bits, throttling, and the linked lists of
//! queues.
//!
//! Vector 0 has the causes of ICR0, the others those of queues only. A cause of a
//! disabled vector is pending until the vector is enabled. A vector that fires, or has
//! WB_ON_ITR set, first triggers the write-back of the queues in its linked list.
//!
//! CLEARPBA has no effect here: it clears messages that are pending in the MSI-X table,
//! not causes that wait for INTENA.

use std::time::{Duration, Instant};

use super::queues::Queues;
use super::regs::at;
use super::{QUEUES, VECTORS};
use crate::chip::registers::Registers;
use crate::host::Host;

/// Causes in ICR0 under the mask in PFINT_ICR0_ENA.
const MASKED: u32 = 0x7FFF_0000;
const INTEVENT: u32 = 1 << 0;
/// First of eight causes of queues that use vector 0.
const QUEUE_0: u32 = 1 << 1;
const QUEUES_0_TO_7: u32 = 0xFF << 1;
/// Malicious driver detection.
pub const MAL_DETECT: u32 = 1 << 19;
/// Global reset.
pub const GRST: u32 = 1 << 20;
/// Error in the private memory.
pub const HMC_ERR: u32 = 1 << 26;
/// Event in the admin receive queue.
pub const ADMINQ: u32 = 1 << 30;
const SWINT: u32 = 1 << 31;

const INTENA: u32 = 1 << 0;
const SWINT_TRIG: u32 = 1 << 2;
const SW_ITR_INDX_ENA: u32 = 1 << 24;
const WB_ON_ITR: u32 = 1 << 30;
const INTENA_MSK: u32 = 1 << 31;
/// Index for no interval.
const ITR_NONE: u32 = 3;
/// Unit of PFINT_ITR and of the interval in PFINT_DYN_CTL.
const ITR_UNIT: Duration = Duration::from_micros(2);
/// Unit of the interval in PFINT_RATE, and its enable bit.
const RATE_UNIT: Duration = Duration::from_micros(4);
const RATE_ENABLE: u32 = 1 << 6;

const CAUSE_ENA: u32 = 1 << 30;
/// End of a linked list of queues.
const END_OF_LIST: u32 = 0x7FF;

/// Direction of a queue's cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Rx queue.
    Rx,
    /// Tx queue.
    Tx,
}

/// State of a vector.
#[derive(Clone, Copy, Debug, Default)]
struct Vector {
    enabled: bool,
    write_back_on_itr: bool,
    /// A pending cause of a queue, or a pending software interrupt.
    pending: bool,
    /// When the pending cause may fire.
    due: Option<Instant>,
    /// When it last fired.
    fired: Option<Instant>,
}

/// State of the interrupt block.
pub struct Interrupts {
    vectors: Vec<Vector>,
    /// Causes of vector 0.
    icr0: u32,
    /// The earliest due time.
    next: Option<Instant>,
}

impl Default for Interrupts {
    fn default() -> Self {
        Self {
            vectors: vec![Vector::default(); VECTORS],
            icr0: 0,
            next: None,
        }
    }
}

/// Vector of the PFINT_DYN_CTL register at `offset`.
fn control(offset: u32) -> Option<usize> {
    const LAST: u32 = at::PFINT_DYN_CTLN + 4 * (VECTORS as u32 - 2);
    match offset {
        at::PFINT_DYN_CTL0 => Some(0),
        at::PFINT_DYN_CTLN..=LAST => {
            Some(((offset - at::PFINT_DYN_CTLN) / 4 + 1) as usize)
        }
        _ => None,
    }
}

/// Offset of interval register `index`, 0 to 2, of a vector.
fn interval_register(vector: usize, index: u32) -> u32 {
    match vector as u32 {
        0 => at::PFINT_ITR0 + 0x80 * index,
        vector => at::PFINT_ITRN + 0x800 * index + 4 * (vector - 1),
    }
}

impl Interrupts {
    /// Value of an interrupt register, or `None` if it is plain storage.
    pub fn read(&mut self, registers: &Registers, offset: u32) -> Option<u32> {
        if offset == at::PFINT_ICR0 {
            let event = match self.active(registers) {
                0 => 0,
                _ => INTEVENT,
            };
            return Some(std::mem::take(&mut self.icr0) | event);
        }
        let vector = self.vectors[control(offset)?];
        let enabled = if vector.enabled { INTENA } else { 0 };
        let write_back = if vector.write_back_on_itr {
            WB_ON_ITR
        } else {
            0
        };
        Some(enabled | write_back)
    }

    /// Takes a write to an interrupt register; false if it is plain storage.
    pub fn write(
        &mut self,
        host: &mut Host,
        registers: &mut Registers,
        queues: &mut Queues,
        offset: u32,
        value: u32,
    ) -> bool {
        if let Some(vector) = control(offset) {
            self.write_control(host, registers, queues, vector, value);
            return true;
        }
        if offset == at::PFINT_ICR0_ENA {
            registers.bus_write(&mut host.events, offset, value);
            self.fire_other(host, registers, queues);
            return true;
        }
        offset == at::PFINT_ICR0
    }

    fn write_control(
        &mut self,
        host: &mut Host,
        registers: &mut Registers,
        queues: &mut Queues,
        vector: usize,
        value: u32,
    ) {
        let index = value >> 3 & 3;
        if index != ITR_NONE {
            let interval = value >> 5 & 0xFFF;
            registers.set(interval_register(vector, index), interval);
        }
        let state = &mut self.vectors[vector];
        if value & INTENA_MSK == 0 {
            state.enabled = value & INTENA != 0;
        }
        state.write_back_on_itr = value & WB_ON_ITR != 0;
        if value & SWINT_TRIG != 0 {
            let index = if value & SW_ITR_INDX_ENA == 0 {
                ITR_NONE
            } else {
                value >> 25 & 3
            };
            if vector == 0 {
                self.icr0 |= SWINT;
            }
            self.pend(host, registers, vector, index);
        }
        self.try_vector(host, registers, queues, vector);
        if vector == 0 {
            self.fire_other(host, registers, queues);
        }
    }

    /// A descriptor of `queue` is written back, or will be when its vector fires.
    pub fn queue_event(
        &mut self,
        host: &mut Host,
        registers: &Registers,
        queues: &mut Queues,
        queue: usize,
        direction: Direction,
    ) {
        let control = registers.get(cause_register(queue as u32, direction));
        let vector = (control & 0xFF) as usize;
        if control & CAUSE_ENA == 0 || vector >= VECTORS {
            return;
        }
        if vector == 0 {
            self.icr0 |= QUEUE_0 << (control >> 13 & 7);
        }
        self.pend(host, registers, vector, control >> 11 & 3);
        self.try_vector(host, registers, queues, vector);
    }

    /// Sets causes in ICR0.
    pub fn raise(
        &mut self,
        host: &mut Host,
        registers: &Registers,
        queues: &mut Queues,
        causes: u32,
    ) {
        self.icr0 |= causes;
        self.fire_other(host, registers, queues);
    }

    /// Causes in ICR0 that are not masked.
    fn active(&self, registers: &Registers) -> u32 {
        let enabled = registers.get(at::PFINT_ICR0_ENA) & MASKED;
        self.icr0 & (enabled | SWINT | QUEUES_0_TO_7)
    }

    /// Fires vector 0 if it is enabled and has an unmasked cause other than those of
    /// queues.
    fn fire_other(
        &mut self,
        host: &mut Host,
        registers: &Registers,
        queues: &mut Queues,
    ) {
        let causes = self.active(registers) & MASKED;
        if causes != 0 && self.vectors[0].enabled {
            self.fire(host, registers, queues, 0);
        }
    }

    /// Vector `vector` has a cause, with the interval of register `index`.
    fn pend(&mut self, host: &Host, registers: &Registers, vector: usize, index: u32) {
        let state = &mut self.vectors[vector];
        state.pending = true;
        let mut due = host.now + host.timing.irq_delay;
        if let (true, Some(fired)) = (host.timing.throttle, state.fired) {
            due = due.max(fired + interval(registers, vector, index));
        }
        state.due = Some(state.due.map_or(due, |earlier| earlier.min(due)));
    }

    /// Fires a vector, or triggers its write-backs, if it may do so now; otherwise
    /// schedules it.
    fn try_vector(
        &mut self,
        host: &mut Host,
        registers: &Registers,
        queues: &mut Queues,
        vector: usize,
    ) {
        let state = self.vectors[vector];
        let waits = !(state.enabled || state.write_back_on_itr);
        let (true, Some(due), false) = (state.pending, state.due, waits) else {
            return;
        };
        // No write-back, since a stall stops DMA
        let due = due.max(host.faults.stall_until.unwrap_or(due));
        if due > host.now {
            self.next = Some(self.next.map_or(due, |next| next.min(due)));
        } else if state.enabled {
            self.fire(host, registers, queues, vector);
        } else {
            write_back(host, registers, queues, vector);
        }
    }

    /// Write-backs, then the message. The vector is disabled until the driver re-enables
    /// it.
    fn fire(
        &mut self,
        host: &mut Host,
        registers: &Registers,
        queues: &mut Queues,
        vector: usize,
    ) {
        let state = &mut self.vectors[vector];
        state.enabled = false;
        state.pending = false;
        state.due = None;
        state.fired = Some(host.now);
        write_back(host, registers, queues, vector);
        host.msix.raise(vector);
    }

    /// Fires vectors that are due; returns when the next one is.
    pub fn run(
        &mut self,
        host: &mut Host,
        registers: &Registers,
        queues: &mut Queues,
    ) -> Option<Instant> {
        if self.next.is_some_and(|next| next <= host.now) {
            self.next = None;
            for vector in 0..VECTORS {
                self.try_vector(host, registers, queues, vector);
            }
        }
        self.next
    }
}

fn cause_register(queue: u32, direction: Direction) -> u32 {
    4 * queue
        + match direction {
            Direction::Rx => at::QINT_RQCTL,
            Direction::Tx => at::QINT_TQCTL,
        }
}

/// Minimum time between two interrupts of a vector for a cause with ITR index `index`.
fn interval(registers: &Registers, vector: usize, index: u32) -> Duration {
    let rate = match vector as u32 {
        0 => 0,
        vector => registers.get(at::PFINT_RATEN + 4 * (vector - 1)),
    };
    let rate = if rate & RATE_ENABLE == 0 {
        0
    } else {
        rate & 0x3F
    };
    let itr = match index {
        ITR_NONE => 0,
        index => registers.get(interval_register(vector, index)) & 0xFFF,
    };
    (ITR_UNIT * itr).max(RATE_UNIT * rate)
}

/// All queues in the linked list of a vector write back complete descriptors.
fn write_back(
    host: &mut Host,
    registers: &Registers,
    queues: &mut Queues,
    vector: usize,
) {
    let first = match vector as u32 {
        0 => at::PFINT_LNKLST0,
        vector => at::PFINT_LNKLSTN + 4 * (vector - 1),
    };
    let first = registers.get(first);
    let mut queue = first & 0x7FF;
    let mut is_tx = first >> 11 & 3 != 0;
    // The limit ends a circular list
    for _ in 0..2 * QUEUES {
        let index = queue as usize;
        if queue == END_OF_LIST || index >= QUEUES {
            break;
        }
        let direction = if is_tx {
            queues.tx[index].flush(host);
            Direction::Tx
        } else {
            queues.rx[index].flush(host);
            Direction::Rx
        };
        let next = registers.get(cause_register(queue, direction));
        queue = next >> 16 & 0x7FF;
        is_tx = next >> 27 & 3 != 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::hmc::{RxContext, TxContext};
    use super::super::regs::{SPACE, TABLE};
    use super::super::rx::Meta;
    use super::super::tx::Settings;
    use super::*;
    use crate::host::Timing;
    use crate::memory::GuestMemory;

    const RAM: u64 = 0x10_0000;
    const HEAD: u64 = RAM + 0x2000;
    /// DYN_CTL with no change of an interval.
    const ENABLE: u32 = INTENA | ITR_NONE << 3;

    struct Setup {
        irq: Interrupts,
        host: Host,
        registers: Registers,
        queues: Queues,
    }

    impl Setup {
        /// Queue 0 on vector 1, as Linux sets it up; queue 2 on vector 0.
        fn new(throttle: bool) -> Self {
            let timing = Timing {
                throttle,
                ..Timing::LOCKSTEP
            };
            let mut setup = Self {
                irq: Interrupts::default(),
                host: Host::new("test", VECTORS, timing),
                registers: Registers::new(TABLE, SPACE),
                queues: Queues::default(),
            };
            let registers = &mut setup.registers;
            registers.set(at::PFINT_LNKLST0, END_OF_LIST);
            registers.set(at::PFINT_LNKLSTN, 0);
            registers.set(at::QINT_RQCTL, 0x4800_0001);
            registers.set(at::QINT_TQCTL, 0x47FF_0801);
            registers.set(at::QINT_RQCTL + 8, 0x4000_2000);
            setup
        }

        fn set(&mut self, offset: u32, value: u32) {
            assert!(self.irq.write(
                &mut self.host,
                &mut self.registers,
                &mut self.queues,
                offset,
                value
            ));
        }

        fn event(&mut self, queue: usize, direction: Direction) {
            self.irq.queue_event(
                &mut self.host,
                &self.registers,
                &mut self.queues,
                queue,
                direction,
            );
        }

        fn run(&mut self) -> Option<Instant> {
            self.irq
                .run(&mut self.host, &self.registers, &mut self.queues)
        }

        fn count(&self, vector: usize) -> u64 {
            self.host.msix.count(vector)
        }

        /// Gives queue 0 an Rx and a Tx descriptor that wait for the vector.
        fn wait_in_rings(&mut self) {
            self.host.memory = GuestMemory::with_ram(RAM, 1 << 20).expect("memory");
            self.host.bus_master = true;
            self.host.timing.writeback_group = u32::MAX;
            self.host.timing.writeback_delay = Duration::from_secs(1);
            let memory = &self.host.memory;
            memory.write_u64(RAM, RAM + 0x8000).expect("Tx ring");
            memory
                .write_u64(RAM + 8, 60 << 34 | 1 << 4)
                .expect("Tx ring");
            memory.write_u64(RAM + 0x1000, RAM + 0x9000).expect("Rx");
            let tx = &mut self.queues.tx[0];
            tx.enable(TxContext {
                base: RAM,
                length: 8,
                head_write_back: Some(HEAD),
                ..TxContext::default()
            });
            tx.set_tail(&self.host, 1);
            let settings = Settings { vlan_type: 0x8100 };
            tx.process(&mut self.host, settings, &mut 1000, |_, _| {});
            let context = RxContext {
                base: RAM + 0x1000,
                length: 8,
                buffer: 1024,
                longest: 1518,
                strips_crc: true,
                ..RxContext::default()
            };
            let rx = &mut self.queues.rx[0];
            rx.enable(context, 7);
            rx.deliver(&mut self.host, &[0; 60], Meta::default());
            assert_eq!(self.written_back(), (false, false));
        }

        fn written_back(&self) -> (bool, bool) {
            let memory = &self.host.memory;
            (
                memory.read_u32(HEAD).expect("head") == 1,
                memory.read_u64(RAM + 0x1008).expect("ring") != 0,
            )
        }
    }

    #[test]
    fn cause_while_disabled_fires_when_enabled() {
        let mut setup = Setup::new(false);
        setup.event(0, Direction::Rx);
        assert_eq!(setup.count(1), 0);
        setup.set(at::PFINT_DYN_CTLN, ENABLE);
        assert_eq!(setup.count(1), 1);
        // It disabled itself, and no cause is pending
        let value = setup.irq.read(&setup.registers, at::PFINT_DYN_CTLN);
        assert_eq!(value, Some(0));
        setup.set(at::PFINT_DYN_CTLN, ENABLE);
        assert_eq!(setup.count(1), 1);
        setup.event(0, Direction::Tx);
        setup.event(0, Direction::Rx);
        assert_eq!(setup.count(1), 2);
    }

    #[test]
    fn intena_msk_leaves_the_enable_bit() {
        let mut setup = Setup::new(false);
        setup.set(at::PFINT_DYN_CTLN, ENABLE);
        setup.set(at::PFINT_DYN_CTLN, INTENA_MSK | ITR_NONE << 3);
        setup.event(0, Direction::Rx);
        assert_eq!(setup.count(1), 1);
        setup.set(at::PFINT_DYN_CTLN, 0);
        setup.event(0, Direction::Rx);
        assert_eq!(setup.count(1), 1);
    }

    #[test]
    fn disabled_cause_is_silent() {
        let mut setup = Setup::new(false);
        setup.set(at::PFINT_DYN_CTLN, ENABLE);
        setup.registers.set(at::QINT_TQCTL, 0x07FF_0801);
        setup.event(0, Direction::Tx);
        assert_eq!(setup.count(1), 0);
    }

    #[test]
    fn software_interrupt_fires_without_work() {
        let mut setup = Setup::new(false);
        setup.set(at::PFINT_DYN_CTLN, ENABLE | SWINT_TRIG | SW_ITR_INDX_ENA);
        assert_eq!(setup.count(1), 1);
        setup.set(at::PFINT_DYN_CTL0, ENABLE | SWINT_TRIG);
        assert_eq!(setup.count(0), 1);
        let icr0 = |setup: &mut Setup| setup.irq.read(&setup.registers, at::PFINT_ICR0);
        assert_eq!(icr0(&mut setup), Some(SWINT | INTEVENT));
        assert_eq!(icr0(&mut setup), Some(0));
    }

    #[test]
    fn causes_of_vector_0_are_masked_and_wait() {
        let mut setup = Setup::new(false);
        setup.set(at::PFINT_DYN_CTL0, ENABLE);
        let raise = |setup: &mut Setup, cause| {
            setup
                .irq
                .raise(&mut setup.host, &setup.registers, &mut setup.queues, cause);
        };
        raise(&mut setup, ADMINQ);
        assert_eq!(setup.count(0), 0);
        setup.set(at::PFINT_ICR0_ENA, ADMINQ);
        assert_eq!(setup.count(0), 1);
        let value = setup.irq.read(&setup.registers, at::PFINT_ICR0);
        assert_eq!(value, Some(ADMINQ | INTEVENT));
        raise(&mut setup, ADMINQ);
        assert_eq!(setup.count(0), 1);
        setup.set(at::PFINT_DYN_CTL0, ENABLE);
        assert_eq!(setup.count(0), 2);
    }

    #[test]
    fn queue_on_vector_0() {
        let mut setup = Setup::new(false);
        setup.set(at::PFINT_DYN_CTL0, ENABLE);
        setup.event(2, Direction::Rx);
        assert_eq!(setup.count(0), 1);
        let value = setup.irq.read(&setup.registers, at::PFINT_ICR0);
        assert_eq!(value, Some(QUEUE_0 << 1 | INTEVENT));
    }

    #[test]
    fn throttling_keeps_the_interval_of_the_cause() {
        let mut setup = Setup::new(true);
        // Rx: 100 us by PFINT_ITRN, Tx: 20 us by the control register
        setup.registers.set(at::PFINT_ITRN, 50);
        setup.set(at::PFINT_DYN_CTLN, INTENA | 1 << 3 | 10 << 5);
        assert_eq!(setup.registers.get(at::PFINT_ITRN + 0x800), 10);
        setup.event(0, Direction::Rx);
        assert_eq!(setup.count(1), 1);
        let start = setup.host.now;
        setup.set(at::PFINT_DYN_CTLN, ENABLE);
        setup.event(0, Direction::Rx);
        assert_eq!(setup.run(), Some(start + Duration::from_micros(100)));
        setup.event(0, Direction::Tx);
        assert_eq!(setup.run(), Some(start + Duration::from_micros(20)));
        setup.host.now = start + Duration::from_micros(20);
        assert_eq!(setup.run(), None);
        assert_eq!(setup.count(1), 2);
        // A software interrupt without an interval is not delayed
        setup.set(at::PFINT_DYN_CTLN, ENABLE | SWINT_TRIG);
        assert_eq!(setup.count(1), 3);
    }

    #[test]
    fn rate_limit_holds_for_all_causes() {
        let mut setup = Setup::new(true);
        setup.registers.set(at::PFINT_RATEN, RATE_ENABLE | 25);
        setup.set(at::PFINT_DYN_CTLN, ENABLE);
        setup.event(0, Direction::Tx);
        setup.set(at::PFINT_DYN_CTLN, ENABLE);
        setup.event(0, Direction::Tx);
        let due = setup.host.now + Duration::from_micros(100);
        assert_eq!(setup.run(), Some(due));
    }

    #[test]
    fn a_vector_that_fires_flushes_its_list() {
        let mut setup = Setup::new(false);
        setup.wait_in_rings();
        setup.set(at::PFINT_DYN_CTLN, ENABLE | SWINT_TRIG);
        assert_eq!(setup.count(1), 1);
        assert_eq!(setup.written_back(), (true, true));
    }

    #[test]
    fn write_back_without_interrupt() {
        let mut setup = Setup::new(false);
        setup.wait_in_rings();
        setup.event(0, Direction::Rx);
        assert_eq!(setup.written_back(), (false, false));
        setup.set(at::PFINT_DYN_CTLN, WB_ON_ITR | ITR_NONE << 3);
        assert_eq!(setup.written_back(), (true, true));
        assert_eq!(setup.count(1), 0);
        setup.set(at::PFINT_DYN_CTLN, ENABLE);
        assert_eq!(setup.count(1), 1);
    }

    #[test]
    fn a_stall_holds_write_backs() {
        let mut setup = Setup::new(false);
        setup.wait_in_rings();
        let until = setup.host.now + Duration::from_millis(10);
        setup.host.faults.stall_until = Some(until);
        setup.set(at::PFINT_DYN_CTLN, ENABLE | SWINT_TRIG);
        assert_eq!(setup.written_back(), (false, false));
        assert_eq!(setup.run(), Some(until));
        setup.host.now = until;
        setup.run();
        assert_eq!(setup.written_back(), (true, true));
        assert_eq!(setup.count(1), 1);
    }

    #[test]
    fn a_circular_list_ends() {
        let mut setup = Setup::new(false);
        setup.registers.set(at::QINT_RQCTL, 0x4000_0001);
        setup.set(at::PFINT_DYN_CTLN, ENABLE | SWINT_TRIG);
        assert_eq!(setup.count(1), 1);
        setup.event(0x7F, Direction::Rx);
        setup.set(at::PFINT_DYN_CTLN + 4 * 126, ENABLE | SWINT_TRIG);
        assert_eq!(setup.count(127), 1);
    }
}
