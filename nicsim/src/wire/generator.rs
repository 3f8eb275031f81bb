// SPDX-License-Identifier: GPL-2.0
//! UDP frames of a size or a mix of sizes, in flows. A sink can verify their content (see
//! [`super::payload`]).

use std::time::Instant;

use serde_json::{Value, json};

use super::pace::{Pacer, Rate};
use super::{Next, Source, payload, unknown_command};

/// Sizes in memory, without the CRC of 4 bytes, of the mix 64 : 594 : 1518 = 7 : 4 : 1.
const IMIX: [usize; 12] = [60, 60, 60, 60, 60, 60, 60, 590, 590, 590, 590, 1514];

/// Bytes in front of those that differ between frames: headers, magic, flow.
const FIXED: usize = payload::START + 6;

/// Length of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// One length: bytes in memory, from [`super::MIN_FRAME`] to [`super::MAX_FRAME`].
    Fixed(usize),
    /// 64, 594 and 1518 bytes on the wire, 7 : 4 : 1, in pseudo-random order.
    Imix,
}

/// Settings of a generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Length of the frames.
    pub size: Size,
    /// Number of flows, which take turns: 1 to 65536.
    pub flows: u32,
    /// Number of frames per start; none is endless.
    pub count: Option<u64>,
    /// The rate.
    pub rate: Rate,
    /// Seed of the content and of the order of sizes.
    pub seed: u64,
    /// Whether it starts without a command.
    pub auto: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            size: Size::Fixed(super::MIN_FRAME),
            flows: 1,
            count: None,
            rate: Rate::Full,
            seed: 1,
            auto: true,
        }
    }
}

/// The common part of all frames of a flow, with lengths and checksums zero.
struct Flow {
    /// The first bytes.
    fixed: [u8; FIXED],
    /// Sum of the 16-bit words of the IPv4 header.
    ip_sum: u64,
    /// Sum of the words under the UDP checksum: addresses, protocol, ports, payload.
    udp_sum: u64,
}

impl Flow {
    fn new(flow: u16, destination: [u8; 6]) -> Self {
        let mut fixed = [0; FIXED];
        let [high, low] = flow.to_be_bytes();
        fixed[..6].copy_from_slice(&destination);
        fixed[6..12].copy_from_slice(&[0x02, 0x6e, 0x73, 0xff, high, low]);
        fixed[12..14].copy_from_slice(&[0x08, 0x00]);
        // IPv4: no options, don't fragment, TTL 64, UDP; addresses for benchmarks (RFC
        // 2544, C.2.2).
        fixed[14..26].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0]);
        fixed[26..30].copy_from_slice(&[198, 18, high, low]);
        fixed[30..34].copy_from_slice(&[198, 19, high, low]);
        // Ports: the dynamic ones to some around "discard".
        fixed[34..36].copy_from_slice(&(0xc000 | (flow & 0x3fff)).to_be_bytes());
        fixed[36..38].copy_from_slice(&(9 + (flow >> 8)).to_be_bytes());
        fixed[42..46].copy_from_slice(&payload::MAGIC);
        fixed[46..48].copy_from_slice(&[high, low]);
        let ip_sum = sum(&fixed[14..34]);
        let udp_sum = sum(&fixed[26..FIXED]) + u64::from(fixed[23]);
        Self {
            fixed,
            ip_sum,
            udp_sum,
        }
    }

    /// Fills `frame`, whose length is set, with the frame of this number.
    fn make(&self, frame: &mut [u8], seed: u64, number: u64) {
        let ip_len = frame.len() - 14;
        let udp_len = ip_len - 20;
        frame[..FIXED].copy_from_slice(&self.fixed);
        payload::fill(frame, seed, number);
        let [high, low] = (ip_len as u16).to_be_bytes();
        frame[16..18].copy_from_slice(&[high, low]);
        let ip = checksum(self.ip_sum + ip_len as u64);
        frame[24..26].copy_from_slice(&ip.to_be_bytes());
        frame[38..40].copy_from_slice(&(udp_len as u16).to_be_bytes());
        // The length counts twice: in the header and in the pseudo header (RFC 768).
        let udp = checksum(self.udp_sum + 2 * udp_len as u64 + sum(&frame[FIXED..]));
        // Zero means "no checksum".
        let udp = if udp == 0 { 0xffff } else { udp };
        frame[40..42].copy_from_slice(&udp.to_be_bytes());
    }
}

/// Sum of the big-endian 16-bit words, as sum of 32-bit words: the same once folded.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    let last = u64::from(u32::from_be_bytes(last));
    last + words
        .map(|word| u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]])))
        .sum::<u64>()
}

/// The Internet checksum of words with this sum (RFC 1071).
fn checksum(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    !((sum >> 16) + (sum & 0xffff)) as u16
}

/// Generates frames according to its [`Config`]. Frame numbers continue from one start to
/// the next.
pub struct Generator {
    config: Config,
    flows: Vec<Flow>,
    pacer: Pacer,
    /// Number of frames until it stops.
    left: u64,
    /// Index of the flow of the next frame.
    turn: usize,
    /// Number of the next frame in that flow.
    number: u64,
    sent: u64,
    bytes: u64,
}

impl Generator {
    /// Generator of frames to the address `destination`.
    pub fn new(config: Config, destination: [u8; 6]) -> Self {
        let last = config.flows.clamp(1, 1 << 16) - 1;
        let flows = (0..=last as u16)
            .map(|flow| Flow::new(flow, destination))
            .collect();
        let pacer = Pacer::new(config.rate);
        let left = if config.auto {
            config.count.unwrap_or(u64::MAX)
        } else {
            0
        };
        Self {
            config,
            flows,
            pacer,
            left,
            turn: 0,
            number: 0,
            sent: 0,
            bytes: 0,
        }
    }

    fn start(&mut self, count: Option<u64>) {
        self.left = count.or(self.config.count).unwrap_or(u64::MAX);
        self.pacer.restart();
    }

    /// Length of the next frame.
    fn length(&self) -> usize {
        match self.config.size {
            Size::Fixed(length) => length,
            // A fixed order could be in phase with flows or rings.
            Size::Imix => {
                IMIX[(payload::random(!self.config.seed, self.sent) % 12) as usize]
            }
        }
    }
}

impl Source for Generator {
    fn next(&mut self, now: Instant, frame: &mut Vec<u8>) -> Next {
        if self.left == 0 {
            return Next::Idle;
        }
        if let Err(due) = self.pacer.next(now) {
            return Next::At(due);
        }
        frame.resize(self.length(), 0);
        self.flows[self.turn].make(frame, self.config.seed, self.number);
        self.turn += 1;
        if self.turn == self.flows.len() {
            self.turn = 0;
            self.number += 1;
        }
        self.left -= 1;
        self.sent += 1;
        self.bytes += frame.len() as u64;
        Next::Frame
    }

    fn back_pressure(&self) -> bool {
        self.config.rate == Rate::Full
    }

    fn counters(&self) -> Value {
        json!({
            "kind": "gen", "sent": self.sent, "bytes": self.bytes, "running": self.left > 0,
        })
    }

    fn command(&mut self, words: &[&str]) -> Result<Value, String> {
        match words {
            ["start"] => self.start(None),
            ["start", option] => self.start(Some(count(option)?)),
            ["stop"] => self.left = 0,
            _ => {
                return Err(unknown_command(
                    "the generator",
                    words,
                    "start [count=N], stop",
                ));
            }
        }
        Ok(Value::Null)
    }
}

fn count(option: &str) -> Result<u64, String> {
    let number = option
        .strip_prefix("count=")
        .and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("'{option}' is not count=N with a number N"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::payload::Content;
    use std::num::NonZeroU32;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

    fn frames(config: Config, count: usize) -> Vec<Vec<u8>> {
        let mut generator = Generator::new(config, MAC);
        let now = Instant::now();
        (0..count)
            .map(|_| {
                let mut frame = Vec::new();
                assert_eq!(generator.next(now, &mut frame), Next::Frame);
                frame
            })
            .collect()
    }

    /// Reference checksum: 16-bit words, one by one.
    fn slow_checksum(bytes: &[u8]) -> u16 {
        let sum = bytes.chunks(2).fold(0, |sum: u32, word| {
            let low = word.get(1).copied().unwrap_or(0);
            let sum = sum + u32::from(u16::from_be_bytes([word[0], low]));
            (sum & 0xffff) + (sum >> 16)
        });
        !(sum as u16)
    }

    #[test]
    fn headers_are_correct() {
        for length in [60, 61, 63, 590, 1514, 9014] {
            let config = Config {
                size: Size::Fixed(length),
                flows: 700,
                ..Config::default()
            };
            for frame in frames(config, 1500) {
                assert_eq!(frame.len(), length);
                assert_eq!(frame[..6], MAC);
                assert_eq!(slow_checksum(&frame[14..34]), 0);
                let (ip, udp) = ((length - 14) as u16, (length - 34) as u16);
                assert_eq!(frame[16..18], ip.to_be_bytes());
                assert_eq!(frame[38..40], udp.to_be_bytes());
                let pseudo = [&frame[26..34], &[0, 17], &udp.to_be_bytes()].concat();
                assert_eq!(slow_checksum(&[&pseudo, &frame[34..]].concat()), 0);
                assert_ne!(frame[40..42], [0, 0]);
            }
        }
    }

    #[test]
    fn flows_take_turns_and_differ() {
        let config = Config {
            flows: 3,
            ..Config::default()
        };
        let frames = frames(config, 7);
        let contents: Vec<_> = frames.iter().map(|frame| payload::check(frame)).collect();
        let good = |flow, number| Content::Good { flow, number };
        assert_eq!(
            contents[..4],
            [good(0, 0), good(1, 0), good(2, 0), good(0, 1)]
        );
        assert_eq!(contents[6], good(0, 2));
        assert_ne!(frames[0][26..36], frames[1][26..36]);
        assert_eq!(frames[0][..38], frames[3][..38]);
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let of = |seed| {
            frames(
                Config {
                    seed,
                    size: Size::Imix,
                    ..Config::default()
                },
                20,
            )
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn imix_has_its_shares() {
        let frames = frames(
            Config {
                size: Size::Imix,
                ..Config::default()
            },
            12_000,
        );
        for (length, share) in [(60, 7), (590, 4), (1514, 1)] {
            let count = frames.iter().filter(|frame| frame.len() == length).count();
            assert!(count.abs_diff(share * 1000) < 200, "{count} of {length}");
        }
    }

    #[test]
    fn stops_and_starts() {
        let config = Config {
            count: Some(2),
            auto: false,
            ..Config::default()
        };
        let mut generator = Generator::new(config, MAC);
        let (mut frame, now) = (Vec::new(), Instant::now());
        let mut run = |generator: &mut Generator| {
            (0..10)
                .take_while(|_| generator.next(now, &mut frame) == Next::Frame)
                .count()
        };
        assert_eq!(run(&mut generator), 0);
        generator.command(&["start"]).unwrap();
        assert_eq!(run(&mut generator), 2);
        generator.command(&["start", "count=5"]).unwrap();
        assert_eq!(generator.counters()["running"], true);
        assert_eq!(run(&mut generator), 5);
        generator.command(&["start", "count=5"]).unwrap();
        generator.command(&["stop"]).unwrap();
        assert_eq!(run(&mut generator), 0);
        assert_eq!(generator.counters()["sent"], 7);
        assert!(
            generator
                .command(&["start", "5"])
                .unwrap_err()
                .contains("count=N")
        );
        assert!(generator.command(&["jump"]).unwrap_err().contains("jump"));
    }

    #[test]
    fn only_full_rate_applies_back_pressure() {
        assert!(Generator::new(Config::default(), MAC).back_pressure());
        let rate = Rate::PerSecond(NonZeroU32::MIN);
        let mut paced = Generator::new(
            Config {
                rate,
                ..Config::default()
            },
            MAC,
        );
        assert!(!paced.back_pressure());
        let now = Instant::now();
        assert_eq!(paced.next(now, &mut Vec::new()), Next::Frame);
        assert!(matches!(paced.next(now, &mut Vec::new()), Next::At(_)));
    }

    /// `cargo test --release -- --ignored --nocapture speed`
    #[test]
    #[ignore = "a measurement"]
    fn speed() {
        let (mut frame, now) = (Vec::new(), Instant::now());
        for (size, flows) in [
            (Size::Fixed(60), 1),
            (Size::Fixed(60), 256),
            (Size::Imix, 16),
            (Size::Fixed(1514), 1),
        ] {
            let config = Config {
                size,
                flows,
                ..Config::default()
            };
            let mut generator = Generator::new(config, MAC);
            let start = Instant::now();
            for _ in 0..5_000_000 {
                assert_eq!(generator.next(now, &mut frame), Next::Frame);
            }
            let rate = 5.0 / start.elapsed().as_secs_f64();
            println!("generator {size:?}, {flows} flows: {rate:.1} million frames/s");
        }
    }
}
