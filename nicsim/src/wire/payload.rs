// SPDX-License-Identifier: GPL-2.0
//! Payload of generator frames, from which a sink finds loss, duplicates, order and
//! damage. Numbers are big endian, offsets are from the start of the UDP payload, which
//! is at byte 42 of the frame:
//!
//! | offset | bytes | what                                                        |
//! |--------|-------|-------------------------------------------------------------|
//! | 0      | 4     | "nics"                                                      |
//! | 4      | 2     | flow                                                        |
//! | 6      | 8     | number of the frame in its flow, from 0                     |
//! | 14     | 4     | CRC-32 of flow, number, length of the frame (4 bytes), rest |
//! | 18     |       | pseudo-random, by seed, flow and number                     |
//!
//! Headers are not covered: a forwarder may rewrite them.

/// Start of the UDP payload: Ethernet 14, IPv4 without options 20, UDP 8 bytes.
pub const START: usize = 14 + 20 + 8;

/// Bytes in front of the pseudo-random ones.
pub const HEADER: usize = 4 + 2 + 8 + 4;

/// Marks a generator frame.
pub const MAGIC: [u8; 4] = *b"nics";

/// Verdict on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Not a generator frame.
    Foreign,
    /// A damaged generator frame.
    Damaged,
    /// An undamaged generator frame.
    Good {
        /// Its flow.
        flow: u16,
        /// Its number in the flow.
        number: u64,
    },
}

/// A pseudo-random word for each `index`: the output function of SplitMix64 on a counter,
/// so that words do not depend on each other.
pub fn random(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Fills `bytes` with pseudo-random ones.
fn scatter(bytes: &mut [u8], seed: u64) {
    let mut words = bytes.chunks_exact_mut(8);
    let mut index = 0;
    for word in &mut words {
        word.copy_from_slice(&random(seed, index).to_be_bytes());
        index += 1;
    }
    let rest = words.into_remainder();
    rest.copy_from_slice(&random(seed, index).to_be_bytes()[..rest.len()]);
}

/// CRC-32 over `flow` and `number`, as in the frame, `length` of the frame, and `rest`.
fn checksum(flow_and_number: &[u8], length: usize, rest: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(flow_and_number);
    hasher.update(&(length as u32).to_be_bytes());
    hasher.update(rest);
    hasher.finalize()
}

/// Writes number, random bytes and CRC into `frame`, whose magic and flow are set. A
/// frame too short for them is unchanged.
pub fn fill(frame: &mut [u8], seed: u64, number: u64) {
    let length = frame.len();
    let Some((header, rest)) = frame
        .get_mut(START..)
        .and_then(|payload| payload.split_first_chunk_mut::<HEADER>())
    else {
        return;
    };
    header[6..14].copy_from_slice(&number.to_be_bytes());
    if !rest.is_empty() {
        let flow = self::number(&header[4..6]);
        scatter(rest, random(seed ^ flow, number));
    }
    let crc = checksum(&header[4..14], length, rest);
    header[14..18].copy_from_slice(&crc.to_be_bytes());
}

/// Checks `frame`.
pub fn check(frame: &[u8]) -> Content {
    let payload = frame
        .get(START..)
        .and_then(|payload| payload.split_first_chunk());
    let Some((header, rest)) = payload else {
        return Content::Foreign;
    };
    let header: &[u8; HEADER] = header;
    if header[..4] != MAGIC {
        return Content::Foreign;
    }
    if u64::from(checksum(&header[4..14], frame.len(), rest)) != number(&header[14..18]) {
        return Content::Damaged;
    }
    Content::Good {
        flow: number(&header[4..6]) as u16,
        number: number(&header[6..14]),
    }
}

/// The big-endian number in `bytes`.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(length: usize, flow: u16, number: u64) -> Vec<u8> {
        let mut frame = vec![0; length];
        frame[START..START + 4].copy_from_slice(&MAGIC);
        frame[START + 4..START + 6].copy_from_slice(&flow.to_be_bytes());
        fill(&mut frame, 7, number);
        frame
    }

    #[test]
    fn reads_as_written() {
        for length in [60, 61, 67, 68, 1514, 9000] {
            let good = Content::Good {
                flow: 513,
                number: 1 << 40,
            };
            assert_eq!(check(&frame(length, 513, 1 << 40)), good);
        }
    }

    #[test]
    fn finds_every_damaged_byte() {
        let good = frame(100, 3, 9);
        for at in START + 4..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert_eq!(check(&bad), Content::Damaged, "byte {at}");
        }
        assert_eq!(check(&good[..99]), Content::Damaged);
        assert_eq!(check(&[good.as_slice(), &[0]].concat()), Content::Damaged);
    }

    #[test]
    fn headers_may_change() {
        let mut frame = frame(60, 1, 2);
        frame[..START].fill(0x55);
        assert_eq!(check(&frame), Content::Good { flow: 1, number: 2 });
    }

    #[test]
    fn other_frames_are_foreign() {
        assert_eq!(check(&[]), Content::Foreign);
        assert_eq!(check(&[0; 59]), Content::Foreign);
        assert_eq!(check(&[0; 1514]), Content::Foreign);
        fill(&mut [0; 59], 0, 0);
    }
}
