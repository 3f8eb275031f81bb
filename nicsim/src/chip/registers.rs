// SPDX-License-Identifier: GPL-2.0
//! A register space as data: a table has a row per register or array of registers, with
//! the effect of reads and writes by the bus. Further effects are in the module of the
//! function, which sets values here.

use crate::event::{Event, Events};

/// Effect of bus accesses on a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Writes change the bits of the mask.
    Rw(u32),
    /// Writes are ignored.
    Ro,
    /// A statistics counter: a read clears it, writes are ignored.
    Rc,
}

use Access::{Rc, Rw};

/// Access of a register whose bits are all writable.
pub const ALL: Access = Rw(u32::MAX);

/// A register, or an array of `count` registers `stride` bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name in the data sheet.
    pub name: &'static str,
    /// Byte offset in BAR 0 of the first.
    pub offset: u32,
    /// Bytes from one to the next.
    pub stride: u32,
    /// Number of registers.
    pub count: u32,
    /// Effect of reads and writes.
    pub access: Access,
    /// Value after reset.
    pub reset: u32,
}

/// A row of one register.
pub const fn one(name: &'static str, offset: u32, access: Access, reset: u32) -> Row {
    Row {
        name,
        offset,
        stride: 4,
        count: 1,
        access,
        reset,
    }
}

/// A row of `count` registers, `stride` bytes apart.
pub const fn many(
    name: &'static str,
    offset: u32,
    stride: u32,
    count: u32,
    access: Access,
    reset: u32,
) -> Row {
    Row {
        name,
        offset,
        stride,
        count,
        access,
        reset,
    }
}

impl Row {
    fn offsets(&self) -> impl Iterator<Item = u32> + use<> {
        let (first, stride) = (self.offset, self.stride);
        (0..self.count).map(move |index| first + index * stride)
    }
}

const NONE: u16 = u16::MAX;

/// The values of all registers, and the effect of bus accesses on them.
pub struct Registers {
    table: &'static [Row],
    words: Vec<u32>,
    rows: Vec<u16>,
}

impl Registers {
    /// All registers of `table`, none of them at or above offset `space`, at their reset
    /// values.
    pub fn new(table: &'static [Row], space: u32) -> Self {
        let words = (space / 4) as usize;
        let mut registers = Self {
            table,
            words: vec![0; words],
            rows: vec![NONE; words],
        };
        for (number, row) in table.iter().enumerate() {
            for offset in row.offsets() {
                let word = (offset / 4) as usize;
                if registers.rows[word] == NONE {
                    registers.rows[word] = number as u16;
                }
            }
        }
        registers.reset();
        registers
    }

    /// Back to the reset values.
    pub fn reset(&mut self) {
        self.reset_below(u32::MAX);
    }

    /// Resets the rows that begin at an offset less than `end`. Where rows overlap the
    /// first one counts.
    pub fn reset_below(&mut self, end: u32) {
        for row in self.table.iter().rev().filter(|row| row.offset < end) {
            for offset in row.offsets() {
                self.set(offset, row.reset);
            }
        }
    }

    /// Value of the register at byte offset `offset`, which must be in the space.
    pub fn get(&self, offset: u32) -> u32 {
        self.words[(offset / 4) as usize]
    }

    /// Sets it, independent of its access.
    pub fn set(&mut self, offset: u32, value: u32) {
        self.words[(offset / 4) as usize] = value;
    }

    /// Counts `amount` more; the counter stays at its maximum.
    pub fn count(&mut self, offset: u32, amount: u32) {
        let word = &mut self.words[(offset / 4) as usize];
        *word = word.saturating_add(amount);
    }

    /// Counts `amount` more in the register at `low` and the next one, which has the
    /// bits of `high`; together they wrap.
    pub fn count_wide(&mut self, low: u32, amount: u32, high: u32) {
        let (sum, carry) = self.get(low).overflowing_add(amount);
        self.set(low, sum);
        if carry {
            self.set(low + 4, self.get(low + 4).wrapping_add(1) & high);
        }
    }

    fn row(&self, offset: u32) -> Option<&'static Row> {
        let row = self.rows.get((offset / 4) as usize)?;
        self.table.get(usize::from(*row))
    }

    /// A read by the bus. An unknown register reads 0 and is an event.
    pub fn bus_read(&mut self, events: &mut Events, offset: u32) -> u32 {
        let Some(row) = self.row(offset) else {
            events.record(Event::UnknownRegister, || format!("read of {offset:#x}"));
            return 0;
        };
        let value = self.get(offset);
        if row.access == Rc {
            self.set(offset, 0);
        }
        value
    }

    /// A write by the bus. One to an unknown register is an event.
    pub fn bus_write(&mut self, events: &mut Events, offset: u32, value: u32) {
        let Some(row) = self.row(offset) else {
            events.record(Event::UnknownRegister, || {
                format!("write of {value:#x} to {offset:#x}")
            });
            return;
        };
        if let Rw(mask) = row.access {
            self.set(offset, self.get(offset) & !mask | value & mask);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Fails if registers overlap, except for rows whose names `may_overlap` allows.
    pub fn assert_unique(
        table: &[Row],
        space: u32,
        may_overlap: impl Fn(&str, &str) -> bool,
    ) {
        let mut names = vec![None; (space / 4) as usize];
        for row in table {
            assert!(row.offset % 4 == 0 && row.stride % 4 == 0, "{}", row.name);
            for offset in row.offsets() {
                assert!(offset < space, "{} at {offset:#x}", row.name);
                if let Some(other) = names[(offset / 4) as usize].replace(row.name) {
                    let name = row.name;
                    assert!(may_overlap(other, name), "{name}, {other} at {offset:#x}");
                }
            }
        }
    }

    const TABLE: &[Row] = &[
        one("MASKED", 0, Rw(0xFF0), 0x10),
        one("FIXED", 4, Access::Ro, 7),
        many("COUNTERS", 8, 8, 2, Rc, 0),
        one("HIGH", 12, Rc, 0),
    ];

    #[test]
    fn access_kinds() {
        let mut registers = Registers::new(TABLE, 0x40);
        let mut events = Events::new("test");
        registers.bus_write(&mut events, 0, u32::MAX);
        assert_eq!(registers.bus_read(&mut events, 0), 0xFF0);
        registers.count(16, 7);
        registers.bus_write(&mut events, 16, 1);
        assert_eq!(registers.bus_read(&mut events, 16), 7);
        assert_eq!(registers.bus_read(&mut events, 16), 0);
        registers.bus_write(&mut events, 4, u32::MAX);
        assert_eq!(registers.bus_read(&mut events, 4), 7);
        assert_eq!(events.total(), 0);
        registers.bus_write(&mut events, 0x3C, 1);
        assert_eq!(registers.bus_read(&mut events, 0x3C), 0);
        assert_eq!(registers.bus_read(&mut events, 0x40), 0);
        assert_eq!(events.count(Event::UnknownRegister), 3);
        registers.reset();
        assert_eq!(registers.get(0), 0x10);
    }

    #[test]
    fn wide_counters_carry_and_wrap() {
        let mut registers = Registers::new(TABLE, 0x40);
        registers.set(8, u32::MAX - 10);
        registers.count_wide(8, 20, 1);
        assert_eq!((registers.get(8), registers.get(12)), (9, 1));
        registers.set(8, u32::MAX);
        registers.count_wide(8, 1, 1);
        assert_eq!((registers.get(8), registers.get(12)), (0, 0));
    }
}
