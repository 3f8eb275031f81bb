// SPDX-License-Identifier: GPL-2.0
//! Classification of a frame: the packet type for the descriptor, the classifier type
//! (PCTYPE), and the fields that an input set selects.

use super::regs::{Registers, at};
use crate::frame::{L3, L4, Parsed};

/// Classifier types.
pub const PCTYPES: usize = 64;
const IPV4_UDP: u8 = 31;
const IPV4_TCP: u8 = 33;
const IPV4_SCTP: u8 = 34;
const IPV4_OTHER: u8 = 35;
const IPV4_FRAGMENT: u8 = 36;
const IPV6_UDP: u8 = 41;
const IPV6_TCP: u8 = 43;
const IPV6_SCTP: u8 = 44;
const IPV6_OTHER: u8 = 45;
const IPV6_FRAGMENT: u8 = 46;
/// Everything except IP.
pub const L2: u8 = 63;

// Bits of an input set: each selects a word of two bytes
const SOURCE_V4: u64 = 3 << 47;
const DESTINATION_V4: u64 = 3 << 35;
const SOURCE_V6: u64 = 0xFF << 43;
const DESTINATION_V6: u64 = 0xFF << 35;
const SOURCE_PORT: u64 = 1 << 34;
const DESTINATION_PORT: u64 = 1 << 33;
const VERIFICATION_TAG: u64 = 3 << 31;
const VLAN: u64 = 1 << 55;
/// The first of eight flexible words; the others have lower bits.
const FLEXIBLE: u64 = 1 << 13;

/// Rows of PRTQF_FLX_PIT for words behind the IP header, and behind the L4 header.
const PIT_L3: u32 = 3;
const PIT_L4: u32 = 6;
const PIT_ROWS: u32 = 3;
/// First flexible word of the field vector.
const FLEXIBLE_FIRST: usize = 50;

/// Classifier type of a frame.
pub fn pctype(parsed: &Parsed) -> u8 {
    match (parsed.l3, parsed.l4) {
        (L3::None, _) => L2,
        (L3::Ipv4 { fragment: true, .. }, _) => IPV4_FRAGMENT,
        (L3::Ipv4 { .. }, L4::Udp) => IPV4_UDP,
        (L3::Ipv4 { .. }, L4::Tcp) => IPV4_TCP,
        (L3::Ipv4 { .. }, L4::Sctp) => IPV4_SCTP,
        (L3::Ipv4 { .. }, _) => IPV4_OTHER,
        (L3::Ipv6 { fragment: true, .. }, _) => IPV6_FRAGMENT,
        (L3::Ipv6 { .. }, L4::Udp) => IPV6_UDP,
        (L3::Ipv6 { .. }, L4::Tcp) => IPV6_TCP,
        (L3::Ipv6 { .. }, L4::Sctp) => IPV6_SCTP,
        (L3::Ipv6 { .. }, _) => IPV6_OTHER,
    }
}

/// Packet type of a frame, for the Rx descriptor; tunnels have no types of their own.
pub fn ptype(parsed: &Parsed) -> u8 {
    const ARP: u16 = 0x0806;
    let first = match parsed.l3 {
        L3::None if parsed.ethertype == ARP => return 11,
        L3::None => return 1,
        L3::Ipv4 { .. } => 22,
        L3::Ipv6 { .. } => 88,
    };
    let fragment = matches!(
        parsed.l3,
        L3::Ipv4 { fragment: true, .. } | L3::Ipv6 { fragment: true, .. }
    );
    first
        + match parsed.l4 {
            _ if fragment => 0,
            L4::None => 1,
            L4::Udp => 2,
            L4::Tcp => 4,
            L4::Sctp => 5,
            L4::Icmp | L4::Icmp6 => 6,
        }
}

/// The input sets that the firmware sets: addresses and ports.
pub fn reset_input_sets(registers: &mut Registers) {
    let ports = SOURCE_PORT | DESTINATION_PORT;
    let v4 = SOURCE_V4 | DESTINATION_V4;
    let v6 = SOURCE_V6 | DESTINATION_V6;
    for (pctypes, set) in [
        (&[IPV4_UDP, IPV4_TCP, IPV4_SCTP], v4 | ports),
        (&[IPV4_OTHER, IPV4_FRAGMENT, IPV4_FRAGMENT], v4),
        (&[IPV6_UDP, IPV6_TCP, IPV6_SCTP], v6 | ports),
        (&[IPV6_OTHER, IPV6_FRAGMENT, IPV6_FRAGMENT], v6),
    ] {
        for pctype in pctypes {
            let pctype = u32::from(*pctype);
            registers.set(at::GLQF_HASH_INSET + 8 * pctype, set as u32);
            registers.set(at::GLQF_HASH_INSET + 8 * pctype + 4, (set >> 32) as u32);
            registers.set(at::PRTQF_FD_INSET + 64 * pctype, set as u32);
            registers.set(at::PRTQF_FD_INSET + 64 * pctype + 32, (set >> 32) as u32);
        }
    }
}

/// Input set of the hash for a classifier type.
pub fn hash_input_set(registers: &Registers, pctype: u8) -> u64 {
    let low = at::GLQF_HASH_INSET + 8 * u32::from(pctype);
    u64::from(registers.get(low + 4)) << 32 | u64::from(registers.get(low))
}

/// Input set of the flow director for a classifier type.
pub fn flow_input_set(registers: &Registers, pctype: u8) -> u64 {
    let low = at::PRTQF_FD_INSET + 64 * u32::from(pctype);
    u64::from(registers.get(low + 32)) << 32 | u64::from(registers.get(low))
}

/// Offsets of the fields in [`Input`]; addresses of IPv4 use the first 4 bytes.
const AT_SOURCE: usize = 0;
const AT_DESTINATION: usize = 16;
const AT_PORTS: usize = 32;
const AT_TAG: usize = 36;
const AT_VLAN: usize = 40;
const AT_FLEXIBLE: usize = 42;

/// Selected fields of a frame; the others are zero.
pub type Input = [u8; 58];

/// Copies `SIZE` bytes at `from` of the frame; zeros if it is too short.
fn field<const SIZE: usize>(frame: &[u8], from: usize) -> [u8; SIZE] {
    let bytes = frame.get(from..).and_then(|rest| rest.first_chunk());
    bytes.copied().unwrap_or([0; SIZE])
}

fn is_v6(pctype: u8) -> bool {
    (IPV6_UDP..=IPV6_FRAGMENT).contains(&pctype)
}

/// The selected fields of a received frame of type `pctype`.
pub fn input(set: u64, pctype: u8, frame: &[u8], parsed: &Parsed) -> Input {
    let mut input = [0; 58];
    if pctype == L2 {
        return input;
    }
    let (source, destination) = if is_v6(pctype) {
        addresses::<16>(&mut input, frame, parsed.l3_offset + 8);
        (set & SOURCE_V6, set & DESTINATION_V6)
    } else {
        addresses::<4>(&mut input, frame, parsed.l3_offset + 12);
        (set & SOURCE_V4, set & DESTINATION_V4)
    };
    if source == 0 {
        input[AT_SOURCE..AT_DESTINATION].fill(0);
    }
    if destination == 0 {
        input[AT_DESTINATION..AT_PORTS].fill(0);
    }
    if has_ports(pctype) {
        if set & SOURCE_PORT != 0 {
            let port: [u8; 2] = field(frame, parsed.l4_offset);
            input[AT_PORTS..AT_PORTS + 2].copy_from_slice(&port);
        }
        if set & DESTINATION_PORT != 0 {
            let port: [u8; 2] = field(frame, parsed.l4_offset + 2);
            input[AT_PORTS + 2..AT_TAG].copy_from_slice(&port);
        }
    }
    if set & VERIFICATION_TAG != 0 && matches!(pctype, IPV4_SCTP | IPV6_SCTP) {
        let tag: [u8; 4] = field(frame, parsed.l4_offset + 4);
        input[AT_TAG..AT_VLAN].copy_from_slice(&tag);
    }
    if set & VLAN != 0 {
        let tag = parsed.vlan_tci[0].to_be_bytes();
        input[AT_VLAN..AT_FLEXIBLE].copy_from_slice(&tag);
    }
    input
}

fn addresses<const SIZE: usize>(input: &mut Input, frame: &[u8], from: usize) {
    input[AT_SOURCE..AT_SOURCE + SIZE].copy_from_slice(&field::<SIZE>(frame, from));
    input[AT_DESTINATION..AT_DESTINATION + SIZE]
        .copy_from_slice(&field::<SIZE>(frame, from + SIZE));
}

fn has_ports(pctype: u8) -> bool {
    matches!(
        pctype,
        IPV4_UDP | IPV4_TCP | IPV4_SCTP | IPV6_UDP | IPV6_TCP | IPV6_SCTP
    )
}

/// Adds the flexible words.
pub fn add_flexible(
    input: &mut Input,
    set: u64,
    registers: &Registers,
    pctype: u8,
    frame: &[u8],
    parsed: &Parsed,
) {
    if set & (2 * FLEXIBLE - (FLEXIBLE >> 7)) == 0 {
        return;
    }
    let (rows, base) = if has_ports(pctype) {
        (PIT_L4, payload_offset(pctype, parsed))
    } else {
        (PIT_L3, parsed.l4_offset)
    };
    for row in rows..rows + PIT_ROWS {
        let row = registers.get(at::PRTQF_FLX_PIT + 32 * row);
        let (from, size) = ((row & 0x1F) as usize, (row >> 5 & 0x1F) as usize);
        let to = (row >> 10 & 0x3F) as usize;
        for word in 0..size {
            let Some(index) = (to + word).checked_sub(FLEXIBLE_FIRST) else {
                continue;
            };
            if index < 8 && set & FLEXIBLE >> index != 0 {
                let at = AT_FLEXIBLE + 2 * index;
                let bytes: [u8; 2] = field(frame, base + 2 * (from + word));
                input[at..at + 2].copy_from_slice(&bytes);
            }
        }
    }
}

/// Frames for filter programming have lengths of zero in their headers.
fn payload_offset(pctype: u8, parsed: &Parsed) -> usize {
    if parsed.l4 != L4::None {
        return parsed.payload_offset;
    }
    parsed.l4_offset
        + match pctype {
            IPV4_UDP | IPV6_UDP => 8,
            IPV4_SCTP | IPV6_SCTP => 12,
            _ => 20,
        }
}

/// The reverse flow: source and destination exchanged.
pub fn turned(input: &Input) -> Input {
    let mut turned = *input;
    turned[AT_SOURCE..AT_DESTINATION].copy_from_slice(&input[AT_DESTINATION..AT_PORTS]);
    turned[AT_DESTINATION..AT_PORTS].copy_from_slice(&input[AT_SOURCE..AT_DESTINATION]);
    turned[AT_PORTS..AT_PORTS + 2].copy_from_slice(&input[AT_PORTS + 2..AT_TAG]);
    turned[AT_PORTS + 2..AT_TAG].copy_from_slice(&input[AT_PORTS..AT_PORTS + 2]);
    turned
}

/// The input set for a frame of the reverse flow: source and destination exchanged.
pub fn turned_set(set: u64, pctype: u8) -> u64 {
    let (source, destination) = if is_v6(pctype) {
        (SOURCE_V6, DESTINATION_V6)
    } else {
        (SOURCE_V4, DESTINATION_V4)
    };
    let mut turned = set & !(source | destination | SOURCE_PORT | DESTINATION_PORT);
    for (from, to) in [
        (source, destination),
        (destination, source),
        (SOURCE_PORT, DESTINATION_PORT),
        (DESTINATION_PORT, SOURCE_PORT),
    ] {
        if set & from != 0 {
            turned |= to;
        }
    }
    turned
}

/// Input of the hash: addresses and ports in the order of a frame.
pub fn hash_input(input: &Input, pctype: u8) -> ([u8; 36], usize) {
    let size = if is_v6(pctype) { 16 } else { 4 };
    let mut bytes = [0; 36];
    bytes[..size].copy_from_slice(&input[AT_SOURCE..AT_SOURCE + size]);
    bytes[size..2 * size].copy_from_slice(&input[AT_DESTINATION..AT_DESTINATION + size]);
    bytes[2 * size..2 * size + 4].copy_from_slice(&input[AT_PORTS..AT_TAG]);
    (bytes, 2 * size + 4)
}
