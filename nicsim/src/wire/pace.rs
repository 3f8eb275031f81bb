// SPDX-License-Identifier: GPL-2.0
//! Pacing: when the next frame is due.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// The rate of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// As fast as the port accepts frames, without loss.
    Full,
    /// This many frames per second, whether the port has room for them or not.
    PerSecond(NonZeroU32),
}

/// A source that is late by more than this does not catch up: no wire carries such a
/// burst.
pub const SLACK: Duration = Duration::from_millis(10);

/// Spaces frames evenly at a [`Rate`].
#[derive(Clone, Debug)]
pub struct Pacer {
    rate: Rate,
    /// Start of the current second; none before the first frame.
    second: Option<Instant>,
    /// Frames in the current second.
    frames: u32,
}

impl Pacer {
    /// Starts with the first call of [`Self::next`].
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            second: None,
            frames: 0,
        }
    }

    /// The configured rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Restarts the pace: the next frame is due at once.
    pub fn restart(&mut self) {
        self.second = None;
    }

    /// Accounts for the next frame if it is due at `now`.
    ///
    /// # Errors
    /// When the next frame is due.
    pub fn next(&mut self, now: Instant) -> Result<(), Instant> {
        let Rate::PerSecond(rate) = self.rate else {
            return Ok(());
        };
        let rate = rate.get();
        let second = *self.second.get_or_insert_with(|| {
            self.frames = 0;
            now
        });
        let nanos = u64::from(self.frames) * 1_000_000_000 / u64::from(rate);
        let due = second + Duration::from_nanos(nanos);
        if now < due {
            return Err(due);
        }
        self.frames += 1;
        if now - due > SLACK {
            (self.second, self.frames) = (Some(now), 1);
        }
        if self.frames == rate {
            self.second = self.second.map(|second| second + Duration::from_secs(1));
            self.frames = 0;
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

    /// Number of frames for a call every `step` from 0 to `until`.
    fn frames(pacer: &mut Pacer, start: Instant, step: Duration, until: Duration) -> u32 {
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
            let count = frames(&mut per_second(rate), Instant::now(), ms, minute);
            // The last call is at 59.999 s; the first frame is due at 0.
            let due = u64::from(rate) * 59_999 / 1000 + 1;
            assert_eq!(u64::from(count), due, "rate {rate}");
        }
    }

    #[test]
    fn returns_when_the_next_frame_is_due() {
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
