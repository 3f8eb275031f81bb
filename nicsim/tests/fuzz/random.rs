// SPDX-License-Identifier: GPL-2.0
//! Numbers of a hostile guest, reproducible from a seed.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    /// 0 to `limit` - 1; 0 if the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// A register value: corner cases are frequent.
    pub fn value(&mut self) -> u32 {
        let shift = self.below(32);
        match self.below(8) {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << shift,
            3 => (1 << shift) - 1,
            4 => self.below(64) as u32,
            5 => self.below(0x1_0000) as u32,
            _ => self.next() as u32,
        }
    }

    /// `right`, or once in `wrong_once_in` times another number.
    pub fn near(&mut self, right: u64, wrong_once_in: u64) -> u64 {
        if !self.once_in(wrong_once_in) {
            return right;
        }
        match self.below(4) {
            0 => right.wrapping_add(1),
            1 => right.wrapping_sub(1),
            2 => right ^ 1 << self.below(64),
            _ => u64::from(self.value()),
        }
    }
}
