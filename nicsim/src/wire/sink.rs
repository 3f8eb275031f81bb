// SPDX-License-Identifier: GPL-2.0
//! Counts frames and verifies generator frames: damage, loss, order, duplicates.

use std::time::Instant;

use serde_json::{Value, json};

use super::payload::{self, Content};
use super::{Sink, unknown_command};

/// State of a flow.
#[derive(Clone, Debug, Default)]
struct Flow {
    /// The expected number.
    next: u64,
    /// Bit n: frame `next - 1 - n` has arrived.
    seen: u64,
}

/// Result for the frames of a generator.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    /// Undamaged and not a duplicate.
    good: u64,
    /// Damaged. Their numbers are not valid: each is also lost.
    bad: u64,
    /// Missing, although a later one of the flow arrived.
    lost: u64,
    /// Arrived after a later one of the flow.
    out_of_order: u64,
    /// Duplicates.
    duplicate: u64,
    /// Not from a generator.
    foreign: u64,
}

/// Checks generator frames.
#[derive(Debug, Default)]
struct Verifier {
    flows: Vec<Flow>,
    tally: Tally,
    /// After a reset the generator may be at any number: the first frame of a flow is
    /// good.
    resync: bool,
}

impl Verifier {
    fn take(&mut self, frame: &[u8]) {
        match payload::check(frame) {
            Content::Foreign => self.tally.foreign += 1,
            Content::Damaged => self.tally.bad += 1,
            Content::Good { flow, number } => self.good(flow.into(), number),
        }
    }

    fn good(&mut self, flow: usize, number: u64) {
        if flow >= self.flows.len() {
            self.flows.resize(flow + 1, Flow::default());
        }
        let flow = &mut self.flows[flow];
        if self.resync && flow.seen == 0 {
            flow.next = number;
        }
        if let Some(late) = flow.next.checked_sub(number).filter(|late| *late > 0) {
            return Self::late(&mut self.tally, flow, late - 1);
        }
        let gap = number - flow.next;
        self.tally.lost = self.tally.lost.saturating_add(gap);
        self.tally.good += 1;
        let steps = u32::try_from(gap).unwrap_or(u32::MAX).saturating_add(1);
        flow.seen = flow.seen.checked_shl(steps).unwrap_or(0) | 1;
        flow.next = number.wrapping_add(1);
    }

    /// A frame whose number is `age` below the highest one.
    fn late(tally: &mut Tally, flow: &mut Flow, age: u64) {
        // A number older than the bits is new: such a late duplicate is unlikely.
        let bit = u32::try_from(age)
            .ok()
            .and_then(|age| 1u64.checked_shl(age))
            .unwrap_or(0);
        if flow.seen & bit != 0 {
            tally.duplicate += 1;
            return;
        }
        flow.seen |= bit;
        tally.good += 1;
        tally.out_of_order += 1;
        tally.lost = tally.lost.saturating_sub(1);
    }
}

/// Counts frames.
#[derive(Debug, Default)]
pub struct CountingSink {
    frames: u64,
    bytes: u64,
    verifier: Option<Verifier>,
}

impl CountingSink {
    /// A sink with counters at zero; with `verify` it checks the frames of generators.
    /// Each flow begins with its first frame.
    pub fn new(verify: bool) -> Self {
        Self {
            verifier: verify.then(Verifier::default),
            ..Self::default()
        }
    }
}

impl Sink for CountingSink {
    fn take(&mut self, _now: Instant, frame: &[u8]) {
        self.frames += 1;
        self.bytes += frame.len() as u64;
        if let Some(verifier) = &mut self.verifier {
            verifier.take(frame);
        }
    }

    fn counters(&self) -> Value {
        let mut value =
            json!({ "kind": "sink", "frames": self.frames, "bytes": self.bytes });
        if let Some(Verifier { tally, .. }) = &self.verifier {
            value["verify"] = json!({
                "good": tally.good, "bad": tally.bad, "lost": tally.lost,
                "out_of_order": tally.out_of_order, "duplicate": tally.duplicate,
                "foreign": tally.foreign,
            });
        }
        value
    }

    fn command(&mut self, words: &[&str]) -> Result<Value, String> {
        if words != ["reset"] {
            return Err(unknown_command("the sink", words, "reset"));
        }
        (self.frames, self.bytes) = (0, 0);
        if let Some(verifier) = &mut self.verifier {
            *verifier = Verifier {
                resync: true,
                ..Verifier::default()
            };
        }
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::generator::{Config, Generator, Size};
    use crate::wire::{Next, Source};

    fn generated(config: Config, count: usize) -> Vec<Vec<u8>> {
        let mut generator = Generator::new(config, [2; 6]);
        (0..count)
            .map(|_| {
                let mut frame = Vec::new();
                assert_eq!(generator.next(Instant::now(), &mut frame), Next::Frame);
                frame
            })
            .collect()
    }

    /// The tally of frames of one flow that arrive in the order of `numbers`.
    fn tally(numbers: &[usize]) -> Tally {
        let frames = generated(Config::default(), 300);
        let mut verifier = Verifier::default();
        numbers
            .iter()
            .for_each(|number| verifier.take(&frames[*number]));
        verifier.tally
    }

    #[test]
    fn all_good() {
        let config = Config {
            size: Size::Imix,
            flows: 17,
            ..Config::default()
        };
        let mut sink = CountingSink::new(true);
        for frame in generated(config, 1000) {
            sink.take(Instant::now(), &frame);
        }
        let verify = &sink.counters()["verify"];
        assert_eq!(verify["good"], 1000);
        for name in ["bad", "lost", "out_of_order", "duplicate", "foreign"] {
            assert_eq!(verify[name], 0, "{name}");
        }
        assert_eq!(sink.counters()["frames"], 1000);
    }

    #[test]
    fn finds_gaps_order_and_duplicates() {
        let none = Tally::default;
        assert_eq!(
            tally(&[0, 1, 4]),
            Tally {
                good: 3,
                lost: 2,
                ..none()
            }
        );
        assert_eq!(
            tally(&[2, 3]),
            Tally {
                good: 2,
                lost: 2,
                ..none()
            }
        );
        let swapped = Tally {
            good: 4,
            out_of_order: 1,
            ..none()
        };
        assert_eq!(tally(&[0, 2, 1, 3]), swapped);
        assert_eq!(
            tally(&[0, 0, 1, 0]),
            Tally {
                good: 2,
                duplicate: 2,
                ..none()
            }
        );
        let late_twice = Tally {
            good: 3,
            out_of_order: 1,
            duplicate: 1,
            ..none()
        };
        assert_eq!(tally(&[0, 2, 1, 1]), late_twice);
        let far = Tally {
            good: 3,
            lost: 252,
            out_of_order: 1,
            ..none()
        };
        assert_eq!(tally(&[0, 254, 60]), far);
    }

    #[test]
    fn finds_damage_and_foreign_frames() {
        let mut frames = generated(Config::default(), 3);
        frames[1][59] ^= 1;
        let mut verifier = Verifier::default();
        frames.iter().for_each(|frame| verifier.take(frame));
        verifier.take(&[0; 60]);
        let expected = Tally {
            good: 2,
            bad: 1,
            lost: 1,
            foreign: 1,
            ..Tally::default()
        };
        assert_eq!(verifier.tally, expected);
    }

    #[test]
    fn reset_continues_at_the_next_frame() {
        let frames = generated(Config::default(), 10);
        let mut sink = CountingSink::new(true);
        sink.command(&["reset"]).unwrap();
        frames[5..]
            .iter()
            .for_each(|frame| sink.take(Instant::now(), frame));
        let counters = sink.counters();
        assert_eq!(
            (&counters["verify"]["good"], &counters["verify"]["lost"]),
            (&json!(5), &json!(0))
        );
        assert!(sink.command(&["set"]).unwrap_err().contains("reset"));
        assert_eq!(CountingSink::new(false).counters()["verify"], Value::Null);
    }

    #[test]
    fn numbers_at_the_end_of_the_range() {
        let mut verifier = Verifier::default();
        verifier.good(65_535, u64::MAX);
        verifier.good(65_535, u64::MAX);
        verifier.good(65_535, 0);
        assert_eq!(verifier.flows.len(), 65_536);
    }

    /// `cargo test --release -- --ignored --nocapture speed`
    #[test]
    #[ignore = "a measurement"]
    fn speed() {
        for (size, flows) in [
            (Size::Fixed(60), 1),
            (Size::Fixed(60), 256),
            (Size::Fixed(1514), 1),
        ] {
            let frames = generated(
                Config {
                    size,
                    flows,
                    ..Config::default()
                },
                4096,
            );
            let mut sink = CountingSink::new(true);
            let now = Instant::now();
            for _ in 0..1000 {
                // Otherwise the frames of a second round would be duplicates.
                sink.command(&["reset"]).unwrap();
                frames.iter().for_each(|frame| sink.take(now, frame));
            }
            let rate = 4.096 / now.elapsed().as_secs_f64();
            println!(
                "verifying sink {size:?}, {flows} flows: {rate:.1} million frames/s"
            );
        }
    }
}
