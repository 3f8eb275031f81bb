// SPDX-License-Identifier: GPL-2.0
//! Frame processing that all chips share: headers ([`Parsed`]), checksums ([`checksum`]),
//! segmentation ([`segment`]), flow hash ([`toeplitz`]), VLAN tags.
//!
//! Frames begin with the destination address and have no CRC. They are from a guest or a
//! wire, so every length and offset in them is validated.

pub mod checksum;
pub mod segment;
pub mod toeplitz;

/// Ethertype of a customer VLAN tag (IEEE 802.1Q).
pub const VLAN: u16 = 0x8100;
/// Ethertype of a service VLAN tag (IEEE 802.1ad).
pub const SERVICE_VLAN: u16 = 0x88a8;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ADDRESSES: usize = 12;

const PROTO_HOP_BY_HOP: u8 = 0;
const PROTO_ROUTING: u8 = 43;
const PROTO_FRAGMENT: u8 = 44;
const PROTO_AUTHENTICATION: u8 = 51;
const PROTO_DESTINATION: u8 = 60;

/// Network layer of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum L3 {
    /// Not IP, or too short for IP.
    #[default]
    None,
    /// IPv4.
    Ipv4 {
        /// The header is longer than 20 bytes.
        options: bool,
        /// A fragment, also the first one.
        fragment: bool,
    },
    /// IPv6.
    Ipv6 {
        /// It has extension headers.
        extensions: bool,
        /// It has a fragment header.
        fragment: bool,
    },
}

/// Transport layer of a frame. Fragments have none, as in hardware: only the first one
/// has a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum L4 {
    /// Unknown, a fragment, or a header longer than its datagram.
    #[default]
    None,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
    /// ICMP in IPv4.
    Icmp,
    /// ICMP in IPv6.
    Icmp6,
}

impl L4 {
    fn from_protocol(protocol: u8, ipv6: bool) -> Self {
        match (protocol, ipv6) {
            (6, _) => Self::Tcp,
            (17, _) => Self::Udp,
            (132, _) => Self::Sctp,
            (1, false) => Self::Icmp,
            (58, true) => Self::Icmp6,
            _ => Self::None,
        }
    }

    /// Length of the header at the start of `datagram`; None if it does not fit.
    fn header_len(self, datagram: &[u8]) -> Option<usize> {
        let length = match self {
            Self::None => return None,
            Self::Tcp => usize::from(datagram.get(12)? >> 4) * 4,
            Self::Udp | Self::Icmp | Self::Icmp6 => 8,
            Self::Sctp => 12,
        };
        let minimum = if self == Self::Tcp { 20 } else { 8 };
        (length >= minimum && length <= datagram.len()).then_some(length)
    }
}

/// Offsets of the headers of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Number of VLAN tags found, 0 to 2; a third would be `ethertype`.
    pub vlans: usize,
    /// Control information of the tags, outer first, at 14 and 18. Their ethertypes are
    /// at 12 and 16.
    pub vlan_tci: [u16; 2],
    /// Ethertype after the tags, or the length of an IEEE 802.3 frame; 0 if truncated.
    pub ethertype: u16,
    /// Network layer.
    pub l3: L3,
    /// First byte after the ethertype.
    pub l3_offset: usize,
    /// Transport layer.
    pub l4: L4,
    /// First byte after the IP headers.
    pub l4_offset: usize,
    /// First byte after the transport header; `l4_offset` without one.
    pub payload_offset: usize,
    /// End of the IP datagram by its own length, without padding; the end of the frame if
    /// it is not IP or the length is invalid.
    pub ip_end: usize,
}

impl Parsed {
    /// Finds the headers of `frame`, which may have any content.
    pub fn parse(frame: &[u8]) -> Self {
        let mut parsed = Self {
            ip_end: frame.len(),
            ..Self::default()
        };
        let mut offset = ADDRESSES;
        let mut ethertype = be16(frame, offset);
        while let Some(VLAN | SERVICE_VLAN) = ethertype {
            let (Some(tci), true) = (be16(frame, offset + 2), parsed.vlans < 2) else {
                break;
            };
            parsed.vlan_tci[parsed.vlans] = tci;
            parsed.vlans += 1;
            offset += 4;
            ethertype = be16(frame, offset);
        }
        parsed.ethertype = ethertype.unwrap_or(0);
        let start = frame.len().min(offset + 2);
        parsed.l3_offset = start;
        parsed.l4_offset = start;
        parsed.payload_offset = start;
        match parsed.ethertype {
            IPV4 => parsed.ipv4(frame),
            IPV6 => parsed.ipv6(frame),
            _ => None,
        };
        parsed
    }

    fn ipv4(&mut self, frame: &[u8]) -> Option<()> {
        let packet = frame.get(self.l3_offset..)?;
        let header: &[u8; 20] = packet.first_chunk()?;
        let length = usize::from(header[0] & 0xf) * 4;
        if header[0] >> 4 != 4 || length < 20 || length > packet.len() {
            return None;
        }
        let fragment = (u16::from(header[6]) << 8 | u16::from(header[7])) & 0x3fff != 0;
        self.l3 = L3::Ipv4 {
            options: length > 20,
            fragment,
        };
        self.l4_offset = self.l3_offset + length;
        self.payload_offset = self.l4_offset;
        let total = usize::from(header[2]) << 8 | usize::from(header[3]);
        if total < length || total > packet.len() {
            return None;
        }
        self.ip_end = self.l3_offset + total;
        if fragment {
            return None;
        }
        self.transport(frame, L4::from_protocol(header[9], false))
    }

    fn ipv6(&mut self, frame: &[u8]) -> Option<()> {
        let packet = frame.get(self.l3_offset..)?;
        let header: &[u8; 40] = packet.first_chunk()?;
        if header[0] >> 4 != 6 {
            return None;
        }
        self.l3 = L3::Ipv6 {
            extensions: false,
            fragment: false,
        };
        self.l4_offset = self.l3_offset + 40;
        self.payload_offset = self.l4_offset;
        let total = 40 + (usize::from(header[4]) << 8 | usize::from(header[5]));
        // Zero is a jumbogram, which is larger than any frame of these chips.
        if total == 40 || total > packet.len() {
            return None;
        }
        self.ip_end = self.l3_offset + total;
        let (protocol, fragment) = self.skip_extensions(frame, header[6])?;
        if fragment {
            return None;
        }
        self.transport(frame, L4::from_protocol(protocol, true))
    }

    /// Moves the offsets past the IPv6 extension headers. Returns the protocol after them
    /// and whether one was a fragment header; None if they do not fit. Each has at least
    /// 8 bytes, which bounds the loop.
    fn skip_extensions(&mut self, frame: &[u8], first: u8) -> Option<(u8, bool)> {
        let mut protocol = first;
        let mut fragment = false;
        loop {
            let unit = match protocol {
                PROTO_HOP_BY_HOP | PROTO_ROUTING | PROTO_DESTINATION => 8,
                PROTO_FRAGMENT => 0,
                PROTO_AUTHENTICATION => 4,
                _ => return Some((protocol, fragment)),
            };
            let rest = frame.get(self.l4_offset..self.ip_end)?;
            let length = 8 + usize::from(*rest.get(1)?) * unit;
            if length > rest.len() {
                return None;
            }
            fragment |= protocol == PROTO_FRAGMENT;
            self.l3 = L3::Ipv6 {
                extensions: true,
                fragment,
            };
            protocol = rest[0];
            self.l4_offset += length;
            self.payload_offset = self.l4_offset;
            if fragment {
                return Some((protocol, true));
            }
        }
    }

    fn transport(&mut self, frame: &[u8], kind: L4) -> Option<()> {
        let datagram = frame.get(self.l4_offset..self.ip_end)?;
        self.payload_offset = self.l4_offset + kind.header_len(datagram)?;
        self.l4 = kind;
        Some(())
    }
}

/// Whether the destination is the broadcast address.
pub fn is_broadcast(frame: &[u8]) -> bool {
    frame.starts_with(&[0xff; 6])
}

/// Whether the destination is a group address; true for broadcast too.
pub fn is_multicast(frame: &[u8]) -> bool {
    frame.first().is_some_and(|byte| byte & 1 != 0)
}

/// Inserts a VLAN tag in front of the ethertype; frames without one are unchanged.
pub fn insert_vlan(frame: &mut Vec<u8>, ethertype: u16, tci: u16) {
    let length = frame.len();
    if length < ADDRESSES + 2 {
        return;
    }
    frame.extend_from_slice(&[0; 4]);
    frame.copy_within(ADDRESSES..length, ADDRESSES + 4);
    frame[ADDRESSES..ADDRESSES + 2].copy_from_slice(&ethertype.to_be_bytes());
    frame[ADDRESSES + 2..ADDRESSES + 4].copy_from_slice(&tci.to_be_bytes());
}

/// The big-endian 16 bit word at `offset`.
fn be16(bytes: &[u8], offset: usize) -> Option<u16> {
    let word = bytes.get(offset..)?.first_chunk()?;
    Some(u16::from_be_bytes(*word))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Ethernet header without tags.
    pub fn ethernet(ethertype: u16) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(ethertype.to_be_bytes());
        frame
    }

    /// IPv4 header without checksum.
    pub fn ipv4(protocol: u8, payload: usize) -> Vec<u8> {
        let total = (20 + payload) as u16;
        let mut header = vec![0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0];
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header.extend([10, 1, 2, 3, 192, 168, 77, 88]);
        header
    }

    /// IPv6 header.
    pub fn ipv6(protocol: u8, payload: usize) -> Vec<u8> {
        let mut header = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
        header[4..6].copy_from_slice(&(payload as u16).to_be_bytes());
        header.extend((0..32).map(|byte| 0x20 + byte));
        header
    }

    /// TCP header without checksum, FIN, PSH, ACK and CWR set.
    pub fn tcp() -> Vec<u8> {
        let mut header = vec![0x12, 0x34, 0, 80, 0xff, 0xff, 0xff, 0, 0, 0, 0, 9];
        header.extend([0x50, 0x99, 1, 0, 0, 0, 0, 0]);
        header
    }

    /// UDP header without checksum.
    pub fn udp(payload: usize) -> Vec<u8> {
        let mut header = vec![0x12, 0x34, 0, 53];
        header.extend((8 + payload as u16).to_be_bytes());
        header.extend([0, 0]);
        header
    }

    /// `length` bytes of content.
    pub fn content(length: usize) -> Vec<u8> {
        (0..length)
            .map(|byte| (byte * 7 + byte / 256) as u8)
            .collect()
    }

    #[test]
    fn finds_udp_in_ipv4_and_ignores_padding() {
        let frame = [
            ethernet(IPV4),
            ipv4(17, 12),
            udp(4),
            content(4),
            vec![0; 14],
        ]
        .concat();
        let parsed = Parsed::parse(&frame);
        assert_eq!(
            parsed.l3,
            L3::Ipv4 {
                options: false,
                fragment: false
            }
        );
        assert_eq!(
            (parsed.l4, parsed.l3_offset, parsed.l4_offset),
            (L4::Udp, 14, 34)
        );
        assert_eq!((parsed.payload_offset, parsed.ip_end), (42, 46));
        assert_eq!(frame.len(), 60);
    }

    #[test]
    fn finds_tcp_in_ipv6_behind_two_tags() {
        let tags = [0x88, 0xa8, 0x20, 5, 0x81, 0, 0x0f, 0xff, 0x86, 0xdd];
        let mut frame = ethernet(0)[..12].to_vec();
        frame.extend(tags);
        frame.extend([ipv6(6, 20), tcp()].concat());
        let parsed = Parsed::parse(&frame);
        assert_eq!((parsed.vlans, parsed.vlan_tci), (2, [0x2005, 0xfff]));
        assert_eq!((parsed.ethertype, parsed.l3_offset), (IPV6, 22));
        assert_eq!((parsed.l4, parsed.l4_offset), (L4::Tcp, 62));
        assert_eq!(parsed.payload_offset, frame.len());
    }

    #[test]
    fn finds_options_and_fragments() {
        let mut frame = [ethernet(IPV4), ipv4(6, 24), vec![1; 4], tcp()].concat();
        frame[14] = 0x46;
        let parsed = Parsed::parse(&frame);
        assert_eq!(
            parsed.l3,
            L3::Ipv4 {
                options: true,
                fragment: false
            }
        );
        assert_eq!((parsed.l4, parsed.l4_offset), (L4::Tcp, 38));
        frame[20] = 0x20; // more fragments
        let parsed = Parsed::parse(&frame);
        assert_eq!(
            parsed.l3,
            L3::Ipv4 {
                options: true,
                fragment: true
            }
        );
        assert_eq!((parsed.l4, parsed.payload_offset), (L4::None, 38));
    }

    #[test]
    fn walks_ipv6_extensions() {
        let hop = vec![60, 0, 0, 0, 0, 0, 0, 0];
        let mut options = vec![17, 1];
        options.resize(16, 0);
        let frame = [
            ethernet(IPV6),
            ipv6(0, 36),
            hop,
            options,
            udp(4),
            content(4),
        ]
        .concat();
        let parsed = Parsed::parse(&frame);
        assert_eq!(
            parsed.l3,
            L3::Ipv6 {
                extensions: true,
                fragment: false
            }
        );
        assert_eq!((parsed.l4, parsed.l4_offset), (L4::Udp, 78));
        let fragment = vec![17, 0, 0, 1, 0, 0, 0, 7];
        let frame = [ethernet(IPV6), ipv6(44, 16), fragment, udp(0)].concat();
        let parsed = Parsed::parse(&frame);
        assert_eq!(
            parsed.l3,
            L3::Ipv6 {
                extensions: true,
                fragment: true
            }
        );
        assert_eq!((parsed.l4, parsed.l4_offset), (L4::None, 62));
    }

    #[test]
    fn wrong_lengths_hide_the_transport_header() {
        let good = [ethernet(IPV4), ipv4(6, 20), tcp()].concat();
        for (at, value) in [(17, 41), (17, 19), (46, 0x60), (46, 0x40)] {
            let mut frame = good.clone();
            frame[at] = value;
            let parsed = Parsed::parse(&frame);
            assert!(
                parsed.l3 != L3::None && parsed.l4 == L4::None,
                "{at} {value}"
            );
        }
    }

    #[test]
    fn offsets_stay_inside_any_frame() {
        let ext = vec![0, 200, 0, 0, 0, 0, 0, 0];
        let samples = [
            [ethernet(IPV4), ipv4(17, 8), udp(0)].concat(),
            [ethernet(IPV6), ipv6(0, 28), ext, tcp()].concat(),
            [ethernet(VLAN), vec![0, 1, 0x81, 0, 0, 2, 0x81, 0]].concat(),
        ];
        let mut state = 1u32;
        for round in 0..200_000 {
            let mut frame = samples[round % 3].clone();
            for _ in 0..3 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = (state >> 8) as usize % frame.len();
                frame[at] = state as u8;
            }
            frame.truncate(frame.len() - (state >> 24) as usize % frame.len());
            let parsed = Parsed::parse(&frame);
            assert!(parsed.l3_offset <= parsed.l4_offset);
            assert!(parsed.l4_offset <= parsed.payload_offset);
            assert!(parsed.payload_offset <= frame.len());
            assert!(parsed.ip_end <= frame.len());
            assert!(parsed.l4 == L4::None || parsed.payload_offset <= parsed.ip_end);
            checksum::ipv4_header_ok(&frame, &parsed);
            checksum::l4_ok(&frame, &parsed);
        }
    }

    #[test]
    fn tags_precede_the_ethertype() {
        let plain = [ethernet(IPV4), ipv4(17, 8), udp(0)].concat();
        let mut frame = plain.clone();
        insert_vlan(&mut frame, VLAN, 0xe123);
        assert_eq!(Parsed::parse(&frame).vlan_tci[0], 0xe123);
        assert_eq!([&frame[..12], &frame[16..]].concat(), plain);
        let mut short = vec![0; 13];
        insert_vlan(&mut short, VLAN, 1);
        assert_eq!(short.len(), 13);
    }

    #[test]
    fn group_addresses() {
        assert!(is_broadcast(&[0xff; 14]) && is_multicast(&[0xff; 14]));
        assert!(is_multicast(&[0x33, 0x33, 0, 0, 0, 1]));
        assert!(!is_broadcast(&[0x33; 14]) && !is_multicast(&[]));
        assert!(!is_multicast(&ethernet(IPV4)));
    }
}
