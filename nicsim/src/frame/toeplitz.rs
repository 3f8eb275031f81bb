// SPDX-License-Identifier: GPL-2.0
//! The flow hash of receive side scaling, as Microsoft specified it ("RSS hashing
//! functions") and all chips implement it (82599 data sheet, 7.1.2.8.1).

use super::{L3, L4, Parsed};

/// Contribution of a byte of input to the hash, by its position and its two halves. 16
/// entries each, rather than 256, keep the table of a key in the first level cache.
#[derive(Clone, Debug)]
struct Row {
    high: [u32; 16],
    low: [u32; 16],
}

/// Toeplitz hash with one key. Rebuilt when the key changes.
#[derive(Clone, Debug)]
pub struct Toeplitz {
    rows: Vec<Row>,
}

impl Toeplitz {
    /// Table for `key`, for inputs of up to `key.len() - 4` bytes: 36 for the 40 bytes of
    /// the 82599. Further bytes do not change the hash.
    pub fn new(key: &[u8]) -> Self {
        let rows = key.windows(5).map(|window| {
            let bits = window
                .iter()
                .fold(0, |bits, byte| bits << 8 | u64::from(*byte));
            Row {
                high: nibble_sums(bits >> 4),
                low: nibble_sums(bits),
            }
        });
        Self {
            rows: rows.collect(),
        }
    }

    /// Hash of any input.
    pub fn hash(&self, input: &[u8]) -> u32 {
        Self::mix(&self.rows, input)
    }

    /// Hash of source and destination address; None if `frame` is not IP.
    pub fn addresses(&self, frame: &[u8], parsed: &Parsed) -> Option<u32> {
        let input = frame.get(parsed.l3_offset..)?;
        match parsed.l3 {
            L3::None => None,
            L3::Ipv4 { .. } => Some(self.hash(input.get(12..20)?)),
            L3::Ipv6 { .. } => Some(self.hash(input.get(8..40)?)),
        }
    }

    /// Hash of addresses and ports; None if `frame` is not TCP, UDP or SCTP.
    pub fn ports(&self, frame: &[u8], parsed: &Parsed) -> Option<u32> {
        let (L4::Tcp | L4::Udp | L4::Sctp) = parsed.l4 else {
            return None;
        };
        let offset = if let L3::Ipv4 { .. } = parsed.l3 {
            8
        } else {
            32
        };
        let ports = frame.get(parsed.l4_offset..)?.get(..4)?;
        let rest = Self::mix(self.rows.get(offset..)?, ports);
        Some(self.addresses(frame, parsed)? ^ rest)
    }

    fn mix(rows: &[Row], input: &[u8]) -> u32 {
        rows.iter().zip(input).fold(0, |hash, (row, byte)| {
            let high = row.high[usize::from(byte >> 4)];
            hash ^ high ^ row.low[usize::from(byte & 15)]
        })
    }
}

/// Sums for the 16 values of a nibble; its lowest bit is multiplied with `bits` from 1
/// to 32, the next with those from 2, and so on.
fn nibble_sums(bits: u64) -> [u32; 16] {
    std::array::from_fn(|nibble| {
        let used = (0..4).filter(|bit| nibble >> bit & 1 != 0);
        used.fold(0, |sum, bit| sum ^ (bits >> (bit + 1)) as u32)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ethernet, ipv4, ipv6, tcp};
    use super::*;

    /// The key of Microsoft's verification suite.
    const KEY: [u8; 40] = [
        0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43,
        0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb,
        0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01,
        0xfa,
    ];

    fn frame_of(source: &str, from: u16, destination: &str, to: u16) -> Vec<u8> {
        let octets = |text: &str| match text.parse().unwrap() {
            std::net::IpAddr::V4(address) => address.octets().to_vec(),
            std::net::IpAddr::V6(address) => address.octets().to_vec(),
        };
        let addresses = [octets(source), octets(destination)].concat();
        let (mut frame, offset) = if addresses.len() == 8 {
            ([ethernet(0x800), ipv4(6, 20)].concat(), 26)
        } else {
            ([ethernet(0x86dd), ipv6(6, 20)].concat(), 22)
        };
        frame[offset..].copy_from_slice(&addresses);
        frame.extend(from.to_be_bytes());
        frame.extend(to.to_be_bytes());
        frame.extend_from_slice(&tcp()[4..]);
        frame
    }

    #[test]
    fn agrees_with_the_published_vectors() {
        let v6 = "3ffe:1900:4545:3:200:f8ff:fe21:67cf";
        #[rustfmt::skip]
        let vectors = [
            ("66.9.149.187", 2794, "161.142.100.80", 1766, 0x323e_8fc2, 0x51cc_c178),
            ("199.92.111.2", 14230, "65.69.140.83", 4739, 0xd718_262a, 0xc626_b0ea),
            ("24.19.198.95", 12898, "12.22.207.184", 38024, 0xd2d0_a5de, 0x5c2b_394a),
            ("38.27.205.30", 48228, "209.142.163.6", 2217, 0x8298_9176, 0xafc7_327f),
            ("153.39.163.191", 44251, "202.188.127.2", 1303, 0x5d18_09c5, 0x10e8_28a2),
            ("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766,
             0x2cc1_8cd5, 0x4020_7d3d),
            ("3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739,
             0x0f0c_461c, 0xdde5_1bbf),
            (v6, 44251, "fe80::200:f8ff:fe21:67cf", 38024, 0x4b61_e985, 0x02d1_feef),
        ];
        let toeplitz = Toeplitz::new(&KEY);
        for (source, from, destination, to, addresses, ports) in vectors {
            let frame = frame_of(source, from, destination, to);
            let parsed = Parsed::parse(&frame);
            assert_eq!(
                toeplitz.addresses(&frame, &parsed),
                Some(addresses),
                "{source}"
            );
            assert_eq!(toeplitz.ports(&frame, &parsed), Some(ports), "{source}");
        }
    }

    #[test]
    fn a_longer_key_only_allows_more_input() {
        let long = Toeplitz::new(&[&KEY[..], &[0x55; 12]].concat());
        let short = Toeplitz::new(&KEY);
        assert_eq!(long.hash(&[7; 36]), short.hash(&[7; 36]));
        assert_ne!(long.hash(&[7; 48]), long.hash(&[7; 36]));
        assert_eq!(short.hash(&[7; 48]), short.hash(&[7; 36]));
        assert_eq!(Toeplitz::new(&[]).hash(&[1; 12]), 0);
    }

    #[test]
    fn hashes_only_existing_headers() {
        let toeplitz = Toeplitz::new(&KEY);
        let frame = [ethernet(0x800), ipv4(1, 8), vec![8; 8]].concat();
        let parsed = Parsed::parse(&frame);
        assert!(toeplitz.addresses(&frame, &parsed).is_some());
        assert_eq!(toeplitz.ports(&frame, &parsed), None);
        let frame = ethernet(0x806);
        assert_eq!(toeplitz.addresses(&frame, &Parsed::parse(&frame)), None);
    }
}
