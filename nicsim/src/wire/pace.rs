// SPDX-License-Identifier: GPL-2.0
//! When the next frame is due.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// How fast frames are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// As fast as the port takes them, without loss.
    Full,
    /// This many per second, whether the port can take them or not.
    PerSecond(NonZeroU32),
}

/// A source that is this much behind does not catch up: the burst would be one that no
/// wire carries.
pub const SLACK: Duration = Duration::from_millis(10);

/// Spaces frames evenly at a [`Rate`].
#[derive(Clone, Debug)]
pub struct Pacer {
    rate: Rate,
    /// When the running second began; none before the first frame.
    second: Option<Instant>,
    /// Frames given in the running second.
    given: u32,
}

impl Pacer {
    /// Starts with the first call of [`Self::next`].
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            second: None,
            given: 0,
        }
    }

    /// The rate as given.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Forgets the time that has passed: the next frame is due at once.
    pub fn restart(&mut self) {
        self.second = None;
    }

    /// Takes the next frame if it is due at `now`, else says when it is.
    ///
    /// # Errors
    /// When to come again.
    pub fn next(&mut self, now: Instant) -> Result<(), Instant> {
        let Rate::PerSecond(rate) = self.rate else {
            return Ok(());
        };
        let rate = rate.get();
        let second = *self.second.get_or_insert_with(|| {
            self.given = 0;
            now
        });
        let nanos = u64::from(self.given) * 1_000_000_000 / u64::from(rate);
        let due = second + Duration::from_nanos(nanos);
        if now < due {
            return Err(due);
        }
        self.given += 1;
        if now - due > SLACK {
            (self.second, self.given) = (Some(now), 1);
        }
        if self.given == rate {
            self.second = self.second.map(|second| second + Duration::from_secs(1));
            self.given = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_second(rate: u32) -> Pacer {
        Pacer::new(Rate::PerSecond(NonZeroU32::new(rate).unwrap()))
    }

    /// Frames given when asked every `step` from 0 to `until`.
    fn given(pacer: &mut Pacer, start: Instant, step: Duration, until: Duration) -> u32 {
        let (mut count, mut at) = (0, Duration::ZERO);
        while at < until {
            while pacer.next(start + at).is_ok() {
                count += 1;
            }
            at += step;
        }
        count
    }

    #[test]
    fn keeps_the_rate_without_drift() {
        let (ms, minute) = (Duration::from_millis(1), Duration::from_secs(60));
        for rate in [1, 3, 999, 1_000, 123_456] {
            let count = given(&mut per_second(rate), Instant::now(), ms, minute);
            // The last look is at 59.999 s; the first frame is due at 0.
            let due = u64::from(rate) * 59_999 / 1000 + 1;
            assert_eq!(u64::from(count), due, "rate {rate}");
        }
    }

    #[test]
    fn says_when_to_come_again() {
        let (mut pacer, start) = (per_second(4), Instant::now());
        assert_eq!(pacer.next(start), Ok(()));
        assert_eq!(pacer.next(start), Err(start + Duration::from_millis(250)));
    }

    #[test]
    fn does_not_catch_up_a_long_pause() {
        let (mut pacer, start) = (per_second(1_000_000), Instant::now());
        assert_eq!(pacer.next(start), Ok(()));
        let later = start + Duration::from_secs(5);
        assert_eq!(pacer.next(later), Ok(()));
        assert_eq!(pacer.next(later), Err(later + Duration::from_micros(1)));
    }

    #[test]
    fn full_is_always_due() {
        let mut pacer = Pacer::new(Rate::Full);
        assert!((0..1000).all(|_| pacer.next(Instant::now()).is_ok()));
    }
}
