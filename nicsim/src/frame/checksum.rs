// SPDX-License-Identifier: GPL-2.0
//! Checksums of IP, TCP, UDP and SCTP: checked on receive, inserted on transmit.
//!
//! Insertion works as on Intel chips since the 82571: at offsets from a descriptor. The
//! sum covers the data *including* the content of the checksum field. This seed lets the
//! driver decide what else is covered: Linux writes the sum of the pseudo header
//! (`CHECKSUM_PARTIAL`), zero for an IPv4 header, or a value that cancels the tunnel
//! headers behind it (`SKB_GSO_PARTIAL` in ixgbe).

use super::{L3, L4, Parsed, be16};

/// Ones' complement sum of `bytes` as big-endian 16 bit words, not inverted, 0 to
/// 0xffff; an odd last byte counts as if a zero followed.
pub fn sum(bytes: &[u8]) -> u32 {
    // Word order does not matter to the sum, byte order only to the result (RFC 1071).
    let mut total = 0u64;
    let words = bytes.chunks_exact(4);
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    for word in words {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        total = total.wrapping_add(u64::from(word));
    }
    total = total.wrapping_add(u64::from(u32::from_le_bytes(last)));
    total = (total & 0xffff_ffff) + (total >> 32);
    let total = (total & 0xffff) + (total >> 16 & 0xffff) + (total >> 32);
    u32::from((fold(total as u32) as u16).swap_bytes())
}

/// Folds a sum of up to 65537 results of [`sum`] into 16 bits.
pub fn fold(total: u32) -> u32 {
    let total = (total & 0xffff) + (total >> 16);
    (total & 0xffff) + (total >> 16)
}

/// Whether the checksum of the IPv4 header is correct; None without an IPv4 header.
pub fn ipv4_header_ok(frame: &[u8], parsed: &Parsed) -> Option<bool> {
    let L3::Ipv4 { .. } = parsed.l3 else {
        return None;
    };
    let start = frame.get(parsed.l3_offset..)?;
    let length = usize::from(start.first()? & 0xf) * 4;
    Some(sum(start.get(..length)?) == 0xffff)
}

/// Whether the checksum of TCP, UDP or SCTP is correct. None if it is not checked:
/// fragments, other protocols, UDP without checksum, inconsistent lengths, and IPv6
/// extension headers, since a routing header would change the pseudo header.
pub fn l4_ok(frame: &[u8], parsed: &Parsed) -> Option<bool> {
    if let L3::Ipv6 {
        extensions: true, ..
    } = parsed.l3
    {
        return None;
    }
    let datagram = frame.get(parsed.l4_offset..parsed.ip_end)?;
    match parsed.l4 {
        L4::Tcp => Some(pseudo_sum_ok(frame, parsed, 6, datagram)),
        L4::Udp => {
            if be16(datagram, 6)? == 0 && matches!(parsed.l3, L3::Ipv4 { .. }) {
                return None;
            }
            let length = usize::from(be16(datagram, 4)?);
            let datagram = datagram.get(..length).filter(|_| length >= 8)?;
            Some(pseudo_sum_ok(frame, parsed, 17, datagram))
        }
        L4::Sctp => {
            let found = datagram.get(8..)?.first_chunk()?;
            Some(sctp_crc(datagram).to_le_bytes() == *found)
        }
        L4::None | L4::Icmp | L4::Icmp6 => None,
    }
}

fn pseudo_sum_ok(frame: &[u8], parsed: &Parsed, protocol: u32, datagram: &[u8]) -> bool {
    let (first, length) = match parsed.l3 {
        L3::Ipv4 { .. } => (12, 8),
        _ => (8, 32),
    };
    let first = parsed.l3_offset + first;
    let addresses = frame.get(first..first + length).unwrap_or(&[]);
    let total = sum(addresses) + protocol + datagram.len() as u32 + sum(datagram);
    fold(total) == 0xffff
}

/// Inserts the checksum of the IPv4 header of `length` bytes at `l3`; false if the frame
/// is too short or the length is invalid.
pub fn insert_ipv4(frame: &mut [u8], l3: usize, length: usize) -> bool {
    let header = frame.get_mut(l3..).and_then(|rest| rest.get_mut(..length));
    let Some(header) = header.filter(|header| header.len() >= 20) else {
        return false;
    };
    let value = !(sum(header) as u16);
    header[10..12].copy_from_slice(&value.to_be_bytes());
    true
}

/// Inserts the checksum of `kind` into the transport header at `l4`. It covers everything
/// up to the end of the datagram whose IP header is at `l3`. For TCP and UDP the field
/// holds the sum of the pseudo header. False if the frame is too short or `kind` has no
/// checksum.
pub fn insert_l4(frame: &mut [u8], l3: usize, l4: usize, kind: L4) -> bool {
    let end = ip_end(frame, l3)
        .filter(|end| *end > l4)
        .unwrap_or(frame.len());
    let Some(datagram) = frame.get_mut(l4..end) else {
        return false;
    };
    match kind {
        L4::Tcp => insert_sum(datagram, 16, false),
        L4::Udp => insert_sum(datagram, 6, true),
        L4::Sctp => insert_crc(datagram),
        L4::None | L4::Icmp | L4::Icmp6 => false,
    }
}

/// End of the IP datagram at `l3` by its length field, if that is inside the frame.
/// Padding behind it is not part of a checksum or a CRC.
fn ip_end(frame: &[u8], l3: usize) -> Option<usize> {
    let packet = frame.get(l3..)?;
    let length = match packet.first()? >> 4 {
        4 => usize::from(be16(packet, 2)?),
        6 => 40 + usize::from(be16(packet, 4)?),
        _ => return None,
    };
    (length <= packet.len()).then_some(l3 + length)
}

/// Replaces the seed at `field` by the checksum of `datagram`. Zero means "no checksum"
/// in UDP (`mangle_zero`) and is replaced by its other representation.
pub(super) fn insert_sum(datagram: &mut [u8], field: usize, mangle_zero: bool) -> bool {
    let value = match !(sum(datagram) as u16) {
        0 if mangle_zero => 0xffff,
        value => value,
    };
    let Some(target) = datagram.get_mut(field..field + 2) else {
        return false;
    };
    target.copy_from_slice(&value.to_be_bytes());
    true
}

fn insert_crc(datagram: &mut [u8]) -> bool {
    if datagram.len() < 12 {
        return false;
    }
    let value = sctp_crc(datagram);
    datagram[8..12].copy_from_slice(&value.to_le_bytes());
    true
}

/// CRC-32C of an SCTP packet of at least 12 bytes, with zero in its own field (RFC 9260,
/// appendix A).
fn sctp_crc(packet: &[u8]) -> u32 {
    let (head, rest) = packet.split_at(8.min(packet.len()));
    let state = crc32c(crc32c(!0, head), &[0; 4]);
    !crc32c(state, rest.get(4..).unwrap_or(&[]))
}

fn crc32c(state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |state, byte| {
        let index = state as u8 ^ byte;
        CRC32C[usize::from(index)] ^ state >> 8
    })
}

/// One step of the Castagnoli polynomial, reflected, for each byte.
static CRC32C: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = value >> 1 ^ if value & 1 != 0 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::super::tests::{content, ethernet, ipv4, ipv6, tcp, udp};
    use super::*;

    /// Sum of the addresses, the protocol and the length, as Linux seeds it.
    fn seed(addresses: &[u8], protocol: u32, length: usize) -> [u8; 2] {
        (fold(sum(addresses) + protocol + length as u32) as u16).to_be_bytes()
    }

    fn plain_sum(bytes: &[u8]) -> u32 {
        let mut total = 0;
        for pair in bytes.chunks(2) {
            total += u32::from(pair[0]) << 8;
            total += pair.get(1).map_or(0, |byte| u32::from(*byte));
            total = (total & 0xffff) + (total >> 16);
        }
        total
    }

    #[test]
    fn sum_of_any_length_and_alignment() {
        let bytes = content(9000);
        for start in 0..9 {
            for end in (start..100).chain([4096, 8999, 9000]) {
                let slice = &bytes[start..end];
                assert_eq!(sum(slice), plain_sum(slice), "{start}..{end}");
            }
        }
        assert_eq!(sum(&[0xff; 65536]), 0xffff);
        // The example of RFC 1071, section 3.
        assert_eq!(sum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
    }

    #[test]
    fn crc32c_matches_rfc3720() {
        assert_eq!(!crc32c(!0, b"123456789"), 0xe306_9283);
        assert_eq!(!crc32c(!0, &[0; 32]), 0x8a91_36aa); // RFC 3720, B.4
    }

    #[test]
    fn ipv4_header_sum_is_inserted_and_checked() {
        let mut frame = [ethernet(0x800), ipv4(17, 8), udp(0)].concat();
        let parsed = Parsed::parse(&frame);
        assert_eq!(ipv4_header_ok(&frame, &parsed), Some(false));
        assert!(insert_ipv4(&mut frame, 14, 20));
        assert_eq!(ipv4_header_ok(&frame, &parsed), Some(true));
        frame[18] ^= 1;
        assert_eq!(ipv4_header_ok(&frame, &parsed), Some(false));
        let frame = [ethernet(0x86dd), ipv6(17, 8), udp(0)].concat();
        assert_eq!(ipv4_header_ok(&frame, &Parsed::parse(&frame)), None);
    }

    #[test]
    fn transport_sums_from_a_pseudo_header_seed() {
        for (kind, header, field) in [(L4::Tcp, tcp(), 16), (L4::Udp, udp(31), 6)] {
            let protocol = if kind == L4::Tcp { 6 } else { 17 };
            let length = header.len() + 31;
            for (ethertype, ip, addresses) in [
                (0x800, ipv4(protocol, length), 12..20),
                (0x86dd, ipv6(protocol, length), 8..40),
            ] {
                let l4 = 14 + ip.len();
                let seed = seed(&ip[addresses], protocol.into(), length);
                let mut frame =
                    [ethernet(ethertype), ip, header.clone(), content(31)].concat();
                frame[l4 + field..l4 + field + 2].copy_from_slice(&seed);
                frame.extend([0xee; 7]); // padding, which is not summed
                assert!(insert_l4(&mut frame, 14, l4, kind));
                let parsed = Parsed::parse(&frame);
                assert_eq!(l4_ok(&frame, &parsed), Some(true));
                frame[l4 + 20] ^= 0x80;
                assert_eq!(l4_ok(&frame, &parsed), Some(false));
            }
        }
    }

    #[test]
    fn udp_sum_of_zero_is_mangled_and_absent_sum_not_checked() {
        let mut datagram = [0, 0, 0, 0, 0, 8, 0xff, 0xf7];
        assert!(insert_sum(&mut datagram, 6, true));
        assert_eq!(datagram[6..], [0xff, 0xff]);
        let mut frame = [ethernet(0x800), ipv4(17, 8), udp(0)].concat();
        let parsed = Parsed::parse(&frame);
        assert_eq!(l4_ok(&frame, &parsed), None);
        frame[39] = 200; // UDP length beyond the datagram
        frame[41] = 1;
        assert_eq!(l4_ok(&frame, &parsed), None);
        let frame = [ethernet(0x86dd), ipv6(17, 8), udp(0)].concat();
        assert_eq!(l4_ok(&frame, &Parsed::parse(&frame)), Some(false));
    }

    #[test]
    fn sctp_crc_is_inserted() {
        let header = vec![0, 7, 0, 9, 1, 2, 3, 4, 0xaa, 0xaa, 0xaa, 0xaa];
        let mut frame = [
            ethernet(0x800),
            ipv4(132, 32),
            header,
            content(20),
            vec![1; 3],
        ]
        .concat();
        assert!(insert_l4(&mut frame, 14, 34, L4::Sctp));
        let parsed = Parsed::parse(&frame);
        assert_eq!(l4_ok(&frame, &parsed), Some(true));
        frame[46] ^= 1;
        assert_eq!(l4_ok(&frame, &parsed), Some(false));
    }

    #[test]
    fn a_tunnel_header_is_cancelled_by_the_seed() {
        let mut frame = [ethernet(0x800), ipv4(17, 24), content(24)].concat();
        let cancel = !(sum(&frame[34..50]) as u16);
        frame[24..26].copy_from_slice(&cancel.to_be_bytes());
        assert!(insert_ipv4(&mut frame, 14, 36));
        assert_eq!(ipv4_header_ok(&frame, &Parsed::parse(&frame)), Some(true));
    }

    #[test]
    fn invalid_offsets_are_rejected() {
        let mut frame = [ethernet(0x800), ipv4(6, 20), tcp()].concat();
        for l4 in [0, 13, 53, 54, 55, 638, usize::MAX] {
            for l3 in [0, 14, 53, 54, usize::MAX] {
                for kind in [L4::Tcp, L4::Udp, L4::Sctp, L4::Icmp] {
                    insert_l4(&mut frame, l3, l4, kind);
                }
                for length in [0, 19, 40, 511, usize::MAX] {
                    insert_ipv4(&mut frame, l3, length);
                }
            }
        }
        assert!(!insert_l4(&mut frame, 14, 54, L4::Tcp));
        assert!(!insert_l4(&mut frame, 14, 34, L4::None));
        assert!(!insert_ipv4(&mut frame, 14, 19));
        assert!(!insert_ipv4(&mut frame, 14, 41));
    }
}
