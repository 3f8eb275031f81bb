// SPDX-License-Identifier: GPL-2.0
//! Interrupt causes, masks, automask and throttling in MSI-X mode (data sheet 7.3 and
//! 8.2.3.5).
//!
//! A queue cause has the number of its MSI-X vector, 0 to 63. The "extended" registers
//! have all of them, the low 16 bits of EICR, EICS, EIMS, EIMC and EIAM are the first 16.
//! All other causes share the vector in IVAR_MISC.

use std::time::{Duration, Instant};

use super::regs::{Registers, at};
use crate::host::Host;

/// MSI-X vectors of the function.
pub const VECTORS: usize = 64;
/// Link status change.
pub const LSC: u32 = 1 << 20;

const OTHER: u32 = 0x7FFF_0000;
const IVAR_VALID: u32 = 0x80;
const GPIE_EIAME: u32 = 1 << 30;
/// Unit of the interval in EITR at 10 Gb/s (8.2.3.5.12).
const EITR_UNIT: Duration = Duration::from_micros(2);

/// Direction of a queue's cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Rx queue.
    Rx,
    /// Tx queue.
    Tx,
}

/// A vector's timers.
#[derive(Clone, Copy, Debug, Default)]
struct Timer {
    /// Time of a delayed interrupt.
    due: Option<Instant>,
    /// End of the throttling interval.
    not_before: Option<Instant>,
}

/// State of the interrupt block.
pub struct Interrupts {
    queue_cause: u64,
    queue_mask: u64,
    queue_automask: u64,
    other_cause: u32,
    other_mask: u32,
    timers: [Timer; VECTORS],
    waiting: u64,
}

impl Default for Interrupts {
    fn default() -> Self {
        Self {
            queue_cause: 0,
            queue_mask: 0,
            queue_automask: 0,
            other_cause: 0,
            other_mask: 0,
            timers: [Timer::default(); VECTORS],
            waiting: 0,
        }
    }
}

/// Whether the register has bits 0 to 31 of a set, or 32 to 63.
fn wide(offset: u32, base: u32, value: u32) -> u64 {
    u64::from(value) << if offset == base { 0 } else { 32 }
}

fn half(offset: u32, base: u32, set: u64) -> u32 {
    (set >> if offset == base { 0 } else { 32 }) as u32
}

impl Interrupts {
    /// Value of an interrupt register, or `None` if it is plain storage.
    pub fn read(&mut self, offset: u32) -> Option<u32> {
        const EX: u32 = 4;
        Some(match offset {
            at::EICR => {
                let value = self.eicr();
                self.queue_cause &= !0xFFFF;
                self.other_cause = 0;
                value
            }
            at::EICS => self.eicr(),
            at::EIMS | at::EIMC => self.other_mask | (self.queue_mask as u32 & 0xFFFF),
            at::EIAM => self.queue_automask as u32 & 0xFFFF,
            _ if offset & !EX == at::EICS_EX => {
                half(offset, at::EICS_EX, self.queue_cause)
            }
            _ if offset & !EX == at::EIMS_EX => {
                half(offset, at::EIMS_EX, self.queue_mask)
            }
            _ if offset & !EX == at::EIMC_EX => {
                half(offset, at::EIMC_EX, self.queue_mask)
            }
            _ if offset & !EX == at::EIAM_EX => {
                half(offset, at::EIAM_EX, self.queue_automask)
            }
            _ => return None,
        })
    }

    fn eicr(&self) -> u32 {
        self.other_cause | (self.queue_cause as u32 & 0xFFFF)
    }

    /// Takes a write to an interrupt register; false if it is plain storage.
    pub fn write(
        &mut self,
        host: &mut Host,
        registers: &Registers,
        offset: u32,
        value: u32,
    ) -> bool {
        const EX: u32 = 4;
        let low = u64::from(value & 0xFFFF);
        match offset {
            at::EICR => {
                self.other_cause &= !(value & OTHER);
                self.queue_cause &= !low;
            }
            at::EICS => self.raise(host, registers, low, value & OTHER),
            at::EIMS => {
                self.other_mask |= value & OTHER;
                self.queue_mask |= low;
                self.raise_pending(host, registers);
            }
            at::EIMC => {
                self.other_mask &= !value;
                self.queue_mask &= !low;
            }
            at::EIAM => self.queue_automask = self.queue_automask & !0xFFFF | low,
            _ if offset & !EX == at::EICS_EX => {
                self.raise(host, registers, wide(offset, at::EICS_EX, value), 0);
            }
            _ if offset & !EX == at::EIMS_EX => {
                self.queue_mask |= wide(offset, at::EIMS_EX, value);
                self.raise_pending(host, registers);
            }
            _ if offset & !EX == at::EIMC_EX => {
                self.queue_mask &= !wide(offset, at::EIMC_EX, value);
            }
            _ if offset & !EX == at::EIAM_EX => {
                let other_half = wide(offset ^ EX, at::EIAM_EX, u32::MAX);
                self.queue_automask =
                    self.queue_automask & other_half | wide(offset, at::EIAM_EX, value);
            }
            _ => return false,
        }
        true
    }

    /// A descriptor of `queue` was written back.
    pub fn queue_event(
        &mut self,
        host: &mut Host,
        registers: &Registers,
        queue: u32,
        direction: Direction,
    ) {
        let ivar = registers.get(at::IVAR + 4 * (queue >> 1));
        let shift = 16 * (queue & 1) + if direction == Direction::Tx { 8 } else { 0 };
        let entry = ivar >> shift;
        if entry & IVAR_VALID != 0 {
            self.raise(host, registers, 1 << (entry & 0x3F), 0);
        }
    }

    /// Sets causes: `queues` by vector, `other` by bit of EICR.
    pub fn raise(
        &mut self,
        host: &mut Host,
        registers: &Registers,
        queues: u64,
        other: u32,
    ) {
        self.queue_cause |= queues;
        self.other_cause |= other;
        self.assert(host, registers, queues & self.queue_mask);
        if other & self.other_mask != 0 {
            self.assert_other(host, registers);
        }
    }

    /// Causes that are masked interrupt when they are unmasked (7.3.1.4).
    fn raise_pending(&mut self, host: &mut Host, registers: &Registers) {
        self.assert(host, registers, self.queue_cause & self.queue_mask);
        if self.other_cause & self.other_mask != 0 {
            self.assert_other(host, registers);
        }
    }

    fn assert_other(&mut self, host: &mut Host, registers: &Registers) {
        let entry = registers.get(at::IVAR_MISC) >> 8;
        if entry & IVAR_VALID != 0 {
            host.msix.raise((entry & 0x3F) as usize);
        }
    }

    fn assert(&mut self, host: &mut Host, registers: &Registers, mut vectors: u64) {
        while vectors != 0 {
            let vector = vectors.trailing_zeros();
            vectors &= vectors - 1;
            self.schedule(host, registers, vector);
        }
    }

    fn schedule(&mut self, host: &mut Host, registers: &Registers, vector: u32) {
        let timer = &mut self.timers[vector as usize];
        if timer.due.is_some() {
            return;
        }
        let mut due = host.now + host.timing.irq_delay;
        if host.timing.throttle {
            due = due.max(timer.not_before.unwrap_or(due));
        }
        if due > host.now {
            timer.due = Some(due);
            self.waiting |= 1 << vector;
        } else {
            self.fire(host, registers, vector);
        }
    }

    /// Sends the message if an enabled cause is still set; autoclear and automask.
    fn fire(&mut self, host: &mut Host, registers: &Registers, vector: u32) {
        let bit = 1u64 << vector;
        if self.queue_cause & self.queue_mask & bit == 0 {
            return;
        }
        let autoclear = vector >= 16 || registers.get(at::EIAC) & 1 << vector != 0;
        if autoclear {
            self.queue_cause &= !bit;
        }
        if registers.get(at::GPIE) & GPIE_EIAME != 0 {
            self.queue_mask &= !(bit & self.queue_automask);
        }
        let interval = EITR_UNIT * (eitr(registers, vector) >> 3 & 0x1FF);
        self.timers[vector as usize].not_before = Some(host.now + interval);
        host.msix.raise(vector as usize);
    }

    /// Fires vectors that are due; returns when the next one is.
    pub fn run(&mut self, host: &mut Host, registers: &Registers) -> Option<Instant> {
        let mut next = None;
        let mut waiting = self.waiting;
        while waiting != 0 {
            let vector = waiting.trailing_zeros();
            waiting &= waiting - 1;
            let timer = &mut self.timers[vector as usize];
            match timer.due {
                Some(due) if due > host.now => {
                    next = Some(next.map_or(due, |next: Instant| next.min(due)));
                }
                _ => {
                    timer.due = None;
                    self.waiting &= !(1 << vector);
                    self.fire(host, registers, vector);
                }
            }
        }
        next
    }
}

fn eitr(registers: &Registers, vector: u32) -> u32 {
    registers.get(match vector {
        0..24 => at::EITR_LOW + 4 * vector,
        _ => at::EITR_HIGH + 4 * (vector - 24),
    })
}

#[cfg(test)]
mod tests {
    use super::super::regs;
    use super::*;
    use crate::host::Timing;

    fn setup() -> (Interrupts, Host, Registers) {
        let mut registers = regs::new();
        registers.set(at::IVAR, 0x8382_8180); // queue 0: Rx 0, Tx 1; queue 1: Rx 2, Tx 3
        registers.set(at::IVAR_MISC, 0x8500);
        registers.set(at::EIAC, 0x4000_FFFF);
        registers.set(at::GPIE, GPIE_EIAME);
        let host = Host::new("test", VECTORS, Timing::LOCKSTEP);
        (Interrupts::default(), host, registers)
    }

    #[test]
    fn cause_while_masked_fires_at_unmask() {
        let (mut irq, mut host, registers) = setup();
        irq.queue_event(&mut host, &registers, 1, Direction::Tx);
        assert_eq!(host.msix.count(3), 0);
        irq.write(&mut host, &registers, at::EIMS_EX, 1 << 3);
        assert_eq!(host.msix.count(3), 1);
    }

    #[test]
    fn automask_and_autoclear() {
        let (mut irq, mut host, registers) = setup();
        irq.write(&mut host, &registers, at::EIAM_EX, u32::MAX);
        irq.write(&mut host, &registers, at::EIMS_EX, 1);
        irq.queue_event(&mut host, &registers, 0, Direction::Rx);
        irq.queue_event(&mut host, &registers, 0, Direction::Rx);
        assert_eq!(host.msix.count(0), 1);
        assert_eq!(irq.read(at::EIMS_EX), Some(0));
        irq.write(&mut host, &registers, at::EIMS_EX, 1);
        assert_eq!(host.msix.count(0), 2);
        irq.write(&mut host, &registers, at::EIMS_EX, 1);
        assert_eq!(host.msix.count(0), 2);
    }

    #[test]
    fn software_cause_fires_without_work() {
        let (mut irq, mut host, registers) = setup();
        irq.write(&mut host, &registers, at::EIMS_EX + 4, 1 << 8);
        irq.write(&mut host, &registers, at::EICS_EX + 4, 1 << 8);
        assert_eq!(host.msix.count(40), 1);
    }

    #[test]
    fn other_causes_share_a_vector_and_stay_until_cleared() {
        let (mut irq, mut host, registers) = setup();
        irq.write(&mut host, &registers, at::EIMS, LSC);
        irq.raise(&mut host, &registers, 0, LSC);
        assert_eq!(host.msix.count(5), 1);
        assert_eq!(irq.read(at::EICS), Some(LSC));
        irq.write(&mut host, &registers, at::EICR, LSC);
        assert_eq!(irq.read(at::EICR), Some(0));
        irq.write(&mut host, &registers, at::EIMS, LSC);
        assert_eq!(host.msix.count(5), 1);
    }

    #[test]
    fn throttling_keeps_the_interval() {
        let (mut irq, mut host, mut registers) = setup();
        host.timing.throttle = true;
        registers.set(at::EITR_LOW, 50 << 3);
        irq.write(&mut host, &registers, at::EIMS_EX, 1);
        irq.queue_event(&mut host, &registers, 0, Direction::Rx);
        irq.queue_event(&mut host, &registers, 0, Direction::Rx);
        assert_eq!(host.msix.count(0), 1);
        let due = irq.run(&mut host, &registers).expect("one waits");
        assert_eq!(due, host.now + Duration::from_micros(100));
        host.now = due;
        assert_eq!(irq.run(&mut host, &registers), None);
        assert_eq!(host.msix.count(0), 2);
    }
}
