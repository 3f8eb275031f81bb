// SPDX-License-Identifier: GPL-2.0
//! Frames from valid to random.

use crate::random::Random;

/// The station address of the chip under test.
pub const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PAUSE: [u8; 6] = [1, 0x80, 0xc2, 0, 0, 1];

/// Lengths of the headers of a frame, in units of a context descriptor.
#[derive(Clone, Copy)]
pub struct Shape {
    pub mac_len: u64,
    pub ip_len: u64,
    pub l4_len: u64,
    pub ipv4: bool,
    /// L4T of a context descriptor: 0 UDP, 1 TCP, 2 SCTP.
    pub l4: u64,
}

/// A well-formed IP frame with `payload` bytes and without checksums.
pub fn well_formed(random: &mut Random, payload: usize) -> (Vec<u8>, Shape) {
    let broadcast = [0xff; 6];
    let group = [0x33, 0x33, 0, 0, 0, random.next() as u8];
    let mut frame = random.pick(&[MAC, MAC, broadcast, group, PAUSE]).to_vec();
    frame.extend([2, 0, 0, 0, 0, 2]);
    while random.once_in(4) {
        frame.extend(random.pick(&[[0x81, 0], [0x88, 0xa8]]));
        frame.extend((random.next() as u16).to_be_bytes());
    }
    let (l4, l4_len, protocol) = random.pick(&[(0, 8, 17), (1, 20, 6), (2, 12, 132)]);
    let ipv4 = random.once_in(2);
    let length = (payload + l4_len) as u16;
    let header = if ipv4 {
        ipv4_header(length, protocol)
    } else {
        ipv6_header(length, protocol)
    };
    frame.extend(if ipv4 { [8, 0] } else { [0x86, 0xdd] });
    let shape = Shape {
        mac_len: frame.len() as u64,
        ip_len: header.len() as u64,
        l4_len: l4_len as u64,
        ipv4,
        l4,
    };
    frame.extend(header);
    let transport = frame.len();
    frame.extend((random.next() as u16 & 0xff).to_be_bytes());
    frame.resize(transport + l4_len, 0);
    match l4 {
        0 => frame[transport + 4..][..2].copy_from_slice(&length.to_be_bytes()),
        1 => frame[transport + 12] = 0x50,
        _ => (),
    }
    frame.resize(transport + l4_len + payload, random.next() as u8);
    (frame, shape)
}

fn ipv4_header(payload: u16, protocol: u8) -> Vec<u8> {
    let total = payload.wrapping_add(20).to_be_bytes();
    let mut header = vec![0x45, 0, total[0], total[1], 0, 1, 0, 0, 64, protocol, 0, 0];
    header.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    header
}

fn ipv6_header(payload: u16, protocol: u8) -> Vec<u8> {
    let length = payload.to_be_bytes();
    let mut header = vec![0x60, 0, 0, 0, length[0], length[1], protocol, 64];
    header.extend([0xfd; 32]);
    header
}

/// Flow control: XOFF or XON, sometimes malformed.
fn pause(random: &mut Random) -> Vec<u8> {
    let mut frame = PAUSE.to_vec();
    frame.extend([
        2,
        0,
        0,
        0,
        0,
        2,
        0x88,
        0x08,
        0,
        random.pick(&[1, 1, 0x01, 2]),
    ]);
    frame.extend(random.pick(&[[0, 0], [0xff, 0xff], [0, 1]]));
    frame.resize(60, 0);
    frame
}

/// A frame for the receiver: mostly well-formed, sometimes damaged.
pub fn any(random: &mut Random) -> Vec<u8> {
    let payload = match random.below(8) {
        0 => random.below(16_000),
        1 => random.below(70_000),
        2 => 0,
        _ => random.below(1_500),
    };
    let mut frame = match random.below(16) {
        0 => pause(random),
        1 => vec![random.next() as u8; payload as usize],
        _ => well_formed(random, payload as usize).0,
    };
    if random.once_in(4) {
        for _ in 0..random.below(8) {
            let index = random.below(frame.len().min(80) as u64) as usize;
            if let Some(byte) = frame.get_mut(index) {
                *byte = random.next() as u8;
            }
        }
    }
    if random.once_in(8) {
        frame.truncate(random.below(70) as usize);
    }
    frame
}
