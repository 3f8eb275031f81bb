// SPDX-License-Identifier: GPL-2.0
//! Segmentation: one set of headers with a large payload becomes many frames (82599 data
//! sheet, 7.2.4).
//!
//! The transport checksum field from the driver holds the sum of the pseudo header
//! without the length, which differs between segments and is added here. The IPv4
//! checksum field is zero, or cancels tunnel headers (see [`insert_ipv4`]).

use super::checksum::{fold, insert_ipv4, insert_sum};
use super::{L4, be16};

const FLAG_FIN: u8 = 0x01;
const FLAG_PSH: u8 = 0x08;
const FLAG_CWR: u8 = 0x80;

/// Headers of a frame to segment, from its descriptors. Offsets count from the start of
/// the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// IP header; the outer one of a tunnel.
    pub l3: usize,
    /// Transport header.
    pub l4: usize,
    /// First byte of payload.
    pub payload: usize,
    /// The IP header is IPv4, else IPv6.
    pub ipv4: bool,
    /// TCP or UDP.
    pub kind: L4,
    /// Payload per segment.
    pub mss: usize,
}

impl Layout {
    /// Whether a frame of `length` bytes can be segmented in this way.
    fn is_sane(&self, length: usize) -> bool {
        let ip = if self.ipv4 { 20 } else { 40 };
        let transport = match self.kind {
            L4::Tcp => 20,
            L4::Udp => 8,
            _ => return false,
        };
        let fits = |from: usize, size: usize, to: usize| {
            from.checked_add(size).is_some_and(|end| end <= to)
        };
        self.mss > 0
            && self.payload <= length
            && fits(self.l3, ip, self.l4)
            && fits(self.l4, transport, self.payload)
    }
}

/// Segments one frame, a segment per call, so that the caller may pause between them.
#[derive(Clone, Debug)]
pub struct Segmenter {
    layout: Layout,
    /// Payload bytes returned so far.
    done: usize,
    /// Segments returned so far.
    count: usize,
    finished: bool,
}

impl Segmenter {
    /// Segments `frame`: headers followed by all payload. None if the layout does not fit
    /// it.
    pub fn new(frame: &[u8], layout: Layout) -> Option<Self> {
        let start = Self {
            layout,
            done: 0,
            count: 0,
            finished: false,
        };
        layout.is_sane(frame.len()).then_some(start)
    }

    /// Replaces the content of `segment` by the next segment of `frame`, which is the
    /// same at each call; false after the last one. A frame without payload is one
    /// segment.
    pub fn next_into(&mut self, frame: &[u8], segment: &mut Vec<u8>) -> bool {
        let Some((headers, payload)) = frame.split_at_checked(self.layout.payload) else {
            return false;
        };
        let Some(rest) = payload.get(self.done..).filter(|_| !self.finished) else {
            return false;
        };
        let part = &rest[..rest.len().min(self.layout.mss)];
        segment.clear();
        segment.extend_from_slice(headers);
        segment.extend_from_slice(part);
        self.finished = part.len() == rest.len();
        self.fix_transport(segment);
        self.fix_ip(segment);
        self.done += part.len();
        self.count += 1;
        true
    }

    fn fix_ip(&self, segment: &mut [u8]) {
        let Layout { l3, l4, ipv4, .. } = self.layout;
        let length = segment.len() - l3;
        if ipv4 {
            put16(segment, l3 + 2, length as u16);
            let id = be16(segment, l3 + 4).unwrap_or(0);
            put16(segment, l3 + 4, id.wrapping_add(self.count as u16));
            insert_ipv4(segment, l3, l4 - l3);
        } else {
            put16(segment, l3 + 4, (length - 40) as u16);
        }
    }

    fn fix_transport(&self, segment: &mut [u8]) {
        let tcp = self.layout.kind == L4::Tcp;
        let datagram = &mut segment[self.layout.l4..];
        let length = datagram.len();
        let field = if tcp {
            self.fix_tcp(datagram);
            16
        } else {
            put16(datagram, 4, length as u16);
            6
        };
        let seed = be16(datagram, field).unwrap_or(0);
        let seed = fold(u32::from(seed) + fold(length as u32));
        put16(datagram, field, seed as u16);
        insert_sum(datagram, field, !tcp);
    }

    /// CWR only in the first segment, FIN and PSH only in the last.
    fn fix_tcp(&self, header: &mut [u8]) {
        if let Some(sequence) = header[4..].first_chunk_mut::<4>() {
            let value = u32::from_be_bytes(*sequence).wrapping_add(self.done as u32);
            *sequence = value.to_be_bytes();
        }
        if self.count > 0 {
            header[13] &= !FLAG_CWR;
        }
        if !self.finished {
            header[13] &= !(FLAG_FIN | FLAG_PSH);
        }
    }
}

fn put16(bytes: &mut [u8], offset: usize, value: u16) {
    bytes[offset..offset + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::Parsed;
    use super::super::checksum::{ipv4_header_ok, l4_ok, sum};
    use super::super::tests::{content, ethernet, ipv4, ipv6, tcp, udp};
    use super::*;

    /// A frame as the driver prepares it: lengths zero, seed without length.
    fn large(v4: bool, is_tcp: bool, payload: usize) -> (Vec<u8>, Layout) {
        let (protocol, header, field) = if is_tcp {
            (6, tcp(), 16)
        } else {
            (17, udp(0), 6)
        };
        let mut ip = if v4 {
            ipv4(protocol, 0)
        } else {
            ipv6(protocol, 0)
        };
        ip[if v4 { 2..4 } else { 4..6 }].fill(0);
        let addresses = if v4 {
            sum(&ip[12..20])
        } else {
            sum(&ip[8..40])
        };
        let l4 = 14 + ip.len();
        let end = l4 + header.len();
        let ethertype = if v4 { 0x800 } else { 0x86dd };
        let mut frame = [ethernet(ethertype), ip, header, content(payload)].concat();
        put16(
            &mut frame,
            l4 + field,
            fold(addresses + u32::from(protocol)) as u16,
        );
        (
            frame,
            Layout {
                l3: 14,
                l4,
                payload: end,
                ipv4: v4,
                kind: if is_tcp { L4::Tcp } else { L4::Udp },
                mss: 1000,
            },
        )
    }

    fn cut(frame: &[u8], layout: Layout) -> Vec<Vec<u8>> {
        let mut segmenter = Segmenter::new(frame, layout).unwrap();
        let mut segment = vec![0xaa; 5];
        let mut all = Vec::new();
        while segmenter.next_into(frame, &mut segment) {
            all.push(segment.clone());
        }
        all
    }

    #[test]
    fn segments_are_whole_frames_with_correct_checksums() {
        for (v4, is_tcp) in [(true, true), (false, true), (true, false), (false, false)] {
            let (frame, layout) = large(v4, is_tcp, 3_333);
            let segments = cut(&frame, layout);
            assert_eq!(segments.len(), 4);
            let mut payload = Vec::new();
            for segment in &segments {
                let parsed = Parsed::parse(segment);
                let kind = if is_tcp { L4::Tcp } else { L4::Udp };
                assert_eq!((parsed.l4, parsed.ip_end), (kind, segment.len()));
                assert_ne!(ipv4_header_ok(segment, &parsed), Some(false));
                assert_eq!(l4_ok(segment, &parsed), Some(true), "{v4} {is_tcp}");
                payload.extend_from_slice(&segment[parsed.payload_offset..]);
            }
            assert_eq!(payload, content(3_333));
        }
    }

    #[test]
    fn tcp_sequence_flags_and_ipv4_id_go_on() {
        let (frame, layout) = large(true, true, 2_500);
        let segments = cut(&frame, layout);
        let field = |at: usize, size: usize| -> Vec<u64> {
            let number = |bytes: &[u8]| {
                bytes
                    .iter()
                    .fold(0, |number, byte| number << 8 | u64::from(*byte))
            };
            segments
                .iter()
                .map(|segment| number(&segment[at..at + size]))
                .collect()
        };
        assert_eq!(field(18, 2), [0x1234, 0x1235, 0x1236]);
        assert_eq!(field(38, 4), [0xffff_ff00, 0x2e8, 0x6d0]);
        assert_eq!(field(47, 1), [0x90, 0x10, 0x19]);
        assert_eq!(field(16, 2), [1040, 1040, 540]);
    }

    #[test]
    fn one_segment_keeps_all_flags() {
        for payload in [0, 1, 1000] {
            let (frame, layout) = large(true, true, payload);
            let segments = cut(&frame, layout);
            assert_eq!((segments.len(), segments[0][47]), (1, 0x99));
            assert_eq!(segments[0].len(), 54 + payload);
        }
    }

    #[test]
    fn large_sends_beyond_64_kbyte_and_tiny_mss_work() {
        let (frame, layout) = large(false, true, 200_000);
        assert_eq!(cut(&frame, layout).len(), 200);
        let layout = Layout { mss: 1, ..layout };
        assert_eq!(cut(&frame[..layout.payload + 9], layout).len(), 9);
        let layout = Layout {
            mss: usize::MAX,
            ..layout
        };
        assert_eq!(cut(&frame, layout).len(), 1);
    }

    #[test]
    fn layouts_that_do_not_fit_are_rejected() {
        let (frame, good) = large(true, true, 100);
        let bad = [
            Layout { mss: 0, ..good },
            Layout {
                payload: frame.len() + 1,
                ..good
            },
            Layout {
                payload: 53,
                ..good
            },
            Layout { l4: 33, ..good },
            Layout {
                l4: usize::MAX,
                ..good
            },
            Layout {
                l3: usize::MAX,
                ..good
            },
            Layout {
                ipv4: false,
                ..good
            },
            Layout {
                kind: L4::Sctp,
                ..good
            },
        ];
        for layout in bad {
            assert!(Segmenter::new(&frame, layout).is_none(), "{layout:?}");
        }
        let mut segmenter = Segmenter::new(&frame, good).unwrap();
        assert!(!segmenter.next_into(&frame[..20], &mut Vec::new()));
    }
}
