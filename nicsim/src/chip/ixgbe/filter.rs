// SPDX-License-Identifier: GPL-2.0
//! Rx filters and queue selection: L2 filters, RSS, perfect filters of the flow director
//! (data sheet 7.1.1, 7.1.2).

use super::regs::{Registers, at};
use crate::frame::toeplitz::Toeplitz;
use crate::frame::{self, L3, L4, Parsed};

const FCTRL_MPE: u32 = 1 << 8;
const FCTRL_UPE: u32 = 1 << 9;
const FCTRL_BAM: u32 = 1 << 10;
const VLNCTRL_VFE: u32 = 1 << 30;
const MCSTCTRL_MFE: u32 = 1 << 2;
const RAH_VALID: u32 = 1 << 31;
const MRQC_RSS: u32 = 1;

/// Copy of the registers that every frame depends on, in an efficient form. Rebuilt when
/// one of them is written.
pub struct Filters {
    addresses: Vec<u64>,
    fctrl: u32,
    vlan_type: Option<u16>,
    multicast: Option<u32>,
    hash: Toeplitz,
    mrqc: u32,
    reta: [u8; 128],
}

/// Result of RSS: type and hash as in the descriptor, and the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rss {
    /// RSS type (7.1.5.1.3): 0 is "not hashed".
    pub kind: u32,
    /// The hash.
    pub hash: u32,
    /// The queue according to the redirection table.
    pub queue: u8,
}

impl Filters {
    /// Whether the register at `offset` is part of this copy.
    pub fn depends_on(offset: u32) -> bool {
        matches!(offset,
            at::FCTRL | at::VLNCTRL | at::MCSTCTRL | at::MRQC
            | at::RAL_LOW..0x5480
            | at::RETA..0x5C80
            | at::RSSRK..0x5CA8
            | at::RAL_HIGH..0xA600)
    }

    /// Reads all of them.
    pub fn load(registers: &Registers) -> Self {
        let mut key = [0; 40];
        for (word, bytes) in (0..).zip(key.chunks_exact_mut(4)) {
            bytes.copy_from_slice(&registers.get(at::RSSRK + 4 * word).to_le_bytes());
        }
        let mut reta = [0; 128];
        for (word, entries) in (0..).zip(reta.chunks_exact_mut(4)) {
            entries.copy_from_slice(&registers.get(at::RETA + 4 * word).to_le_bytes());
        }
        let vlan = registers.get(at::VLNCTRL);
        let multicast = registers.get(at::MCSTCTRL);
        Self {
            addresses: addresses(registers),
            fctrl: registers.get(at::FCTRL),
            vlan_type: (vlan & VLNCTRL_VFE != 0).then_some(vlan as u16),
            multicast: (multicast & MCSTCTRL_MFE != 0).then_some(multicast & 3),
            hash: Toeplitz::new(&key),
            mrqc: registers.get(at::MRQC),
            reta,
        }
    }

    /// Whether the port accepts the frame.
    pub fn accepts(&self, registers: &Registers, frame: &[u8]) -> bool {
        let Some(destination) = frame.first_chunk() else {
            return false;
        };
        let address = if frame::is_broadcast(frame) {
            self.fctrl & FCTRL_BAM != 0
        } else if frame::is_multicast(frame) {
            self.fctrl & FCTRL_MPE != 0 || self.takes_multicast(registers, destination)
        } else {
            self.fctrl & FCTRL_UPE != 0 || self.addresses.contains(&number(destination))
        };
        address && self.takes_vlan(registers, frame)
    }

    fn takes_multicast(&self, registers: &Registers, destination: &[u8; 6]) -> bool {
        self.multicast.is_some_and(|offset| {
            let vector = multicast_vector(destination, offset);
            registers.get(at::MTA + 4 * (vector >> 5)) & 1 << (vector & 31) != 0
        })
    }

    fn takes_vlan(&self, registers: &Registers, frame: &[u8]) -> bool {
        let tag = frame.get(12..16).map(|tag| (be16(tag), be16(&tag[2..])));
        match (self.vlan_type, tag) {
            (Some(expected), Some((found, tci))) if expected == found => {
                let id = u32::from(tci & 0xFFF);
                registers.get(at::VFTA + 4 * (id >> 5)) & 1 << (id & 31) != 0
            }
            _ => true,
        }
    }

    /// Receive side scaling (7.1.2.8): frames that are not hashed are for queue 0.
    pub fn rss(&self, frame: &[u8], parsed: &Parsed) -> Rss {
        if self.mrqc & 0xF != MRQC_RSS {
            return Rss::default();
        }
        let field = |bit: u32| self.mrqc & 1 << bit != 0;
        let (kind, ports) = match (parsed.l3, parsed.l4) {
            (L3::Ipv4 { .. }, L4::Tcp) if field(16) => (1, true),
            (L3::Ipv4 { .. }, L4::Udp) if field(22) => (7, true),
            (L3::Ipv4 { .. }, _) if field(17) => (2, false),
            (L3::Ipv6 { .. }, L4::Tcp) if field(21) => (3, true),
            (L3::Ipv6 { .. }, L4::Udp) if field(23) => (8, true),
            (L3::Ipv6 { .. }, _) if field(20) => (5, false),
            _ => return Rss::default(),
        };
        let hash = if ports {
            self.hash.ports(frame, parsed)
        } else {
            self.hash.addresses(frame, parsed)
        };
        let hash = hash.unwrap_or(0);
        Rss {
            kind,
            hash,
            queue: self.reta[(hash & 0x7F) as usize] & 0xF,
        }
    }
}

fn addresses(registers: &Registers) -> Vec<u64> {
    let pairs = (0..16)
        .map(|index| at::RAL_LOW + 8 * index)
        .chain((16..128).map(|index| at::RAL_HIGH + 8 * index));
    pairs
        .map(|low| (registers.get(low), registers.get(low + 4)))
        .filter(|(_, high)| high & RAH_VALID != 0)
        .map(|(low, high)| u64::from(high & 0xFFFF) << 32 | u64::from(low))
        .collect()
}

fn number(address: &[u8; 6]) -> u64 {
    address
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn be16(bytes: &[u8]) -> u16 {
    u16::from(bytes[0]) << 8 | u16::from(bytes[1])
}

/// The 12 bits of the destination that MCSTCTRL.MO selects (8.2.3.7.7).
fn multicast_vector(address: &[u8; 6], offset: u32) -> u32 {
    let high = u32::from(address[5]) << 8 | u32::from(address[4]);
    high >> [4, 3, 2, 0][(offset & 3) as usize] & 0xFFF
}

const FDIRCTRL_PERFECT: u32 = 1 << 4;
const FDIRCTRL_PBALLOC: u32 = 3;
const FDIRM_VLANID: u32 = 1 << 0;
const FDIRM_L4P: u32 = 1 << 3;
const COMMAND_ADD: u32 = 1;
const COMMAND_REMOVE: u32 = 2;
const COMMAND_QUERY: u32 = 3;
const FILTER_VALID: u32 = 1 << 2;
const IPV6: u32 = 1 << 7;
const CLEAR: u32 = 1 << 8;
const DROP: u32 = 1 << 9;
const QUEUE_EN: u32 = 1 << 15;
/// 2K filters less two, with the smallest memory that the driver can select (7.1.2.7).
const FILTERS_MAX: usize = 2046;

#[derive(Clone, Copy, Debug)]
struct PerfectFilter {
    software: u32,
    source: u32,
    destination: u32,
    ports: u32,
    vlan: u16,
    command: u32,
}

/// Result of a perfect filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// To this queue.
    Queue(u8),
    /// Drop it.
    Drop,
}

/// Perfect filters of the flow director, IPv4 as Linux programs them (7.1.2.7). Signature
/// filters are accepted and never match, as if their hash table were full: RSS selects
/// the queue.
#[derive(Debug, Default)]
pub struct FlowDirector {
    filters: Vec<PerfectFilter>,
}

impl FlowDirector {
    /// Removes all filters.
    pub fn clear(&mut self) {
        self.filters.clear();
    }

    /// A write to FDIRCMD; the register then reads as complete.
    pub fn command(&mut self, registers: &mut Registers, value: u32) {
        let software = registers.get(at::FDIRHASH) >> 16;
        let mut result = value & !(COMMAND_QUERY | FILTER_VALID);
        if value & CLEAR != 0 {
            self.clear();
        }
        match value & COMMAND_QUERY {
            COMMAND_ADD if is_perfect(registers) => {
                self.remove(software);
                self.add(registers, software, value);
            }
            COMMAND_REMOVE => self.remove(software),
            COMMAND_QUERY
                if self
                    .filters
                    .iter()
                    .any(|filter| filter.software == software) =>
            {
                result |= FILTER_VALID;
            }
            _ => {}
        }
        registers.set(at::FDIRCMD, result);
        let free = FILTERS_MAX - self.filters.len();
        registers.set(at::FDIRFREE, free as u32);
    }

    fn add(&mut self, registers: &Registers, software: u32, command: u32) {
        if self.filters.len() >= FILTERS_MAX {
            return;
        }
        self.filters.push(PerfectFilter {
            software,
            source: registers.get(at::FDIRIPSA),
            destination: registers.get(at::FDIRIPDA),
            ports: registers.get(at::FDIRPORT),
            vlan: registers.get(at::FDIRVLAN) as u16,
            command,
        });
    }

    fn remove(&mut self, software: u32) {
        self.filters.retain(|filter| filter.software != software);
    }

    /// Applies the filters to the frame; counts match or miss.
    pub fn find(
        &self,
        registers: &mut Registers,
        frame: &[u8],
        parsed: &Parsed,
    ) -> Option<Verdict> {
        if registers.get(at::FDIRCTRL) & FDIRCTRL_PBALLOC == 0 {
            return None;
        }
        let found = self
            .filters
            .iter()
            .find(|filter| matches(registers, filter, frame, parsed))
            .map(|filter| filter.command);
        registers.count(
            if found.is_some() {
                at::FDIRMATCH
            } else {
                at::FDIRMISS
            },
            1,
        );
        match found? {
            command if command & DROP != 0 => Some(Verdict::Drop),
            command if command & QUEUE_EN != 0 => {
                Some(Verdict::Queue((command >> 16 & 0x7F) as u8))
            }
            _ => None,
        }
    }
}

fn is_perfect(registers: &Registers) -> bool {
    registers.get(at::FDIRCTRL) & FDIRCTRL_PERFECT != 0
}

/// Set bits of a mask register mean "do not compare". FDIRPORT has the destination port
/// in the upper half; the halves of its mask have the bits in reverse order
/// (8.2.3.21.15).
fn matches(
    registers: &Registers,
    filter: &PerfectFilter,
    frame: &[u8],
    parsed: &Parsed,
) -> bool {
    let L3::Ipv4 { .. } = parsed.l3 else {
        return false;
    };
    let word = |offset: usize| {
        let bytes = frame.get(offset..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
    };
    let differs = |found: u32, wanted: u32, mask: u32| (found ^ wanted) & !mask != 0;
    if filter.command & IPV6 != 0
        || differs(
            word(parsed.l3_offset + 12),
            filter.source,
            registers.get(at::FDIRSIP4M),
        )
        || differs(
            word(parsed.l3_offset + 16),
            filter.destination,
            registers.get(at::FDIRDIP4M),
        )
    {
        return false;
    }
    let mask = registers.get(at::FDIRM);
    if mask & FDIRM_VLANID == 0 && (filter.vlan ^ parsed.vlan_tci[0]) & 0xFFF != 0 {
        return false;
    }
    if mask & FDIRM_L4P != 0 {
        return true;
    }
    let kind = match parsed.l4 {
        L4::Udp => 1,
        L4::Tcp => 2,
        L4::Sctp => 3,
        _ => 0,
    };
    let ports = if kind == 0 { 0 } else { word(parsed.l4_offset) };
    let port_mask = registers.get(at::FDIRTCPM).reverse_bits().rotate_left(16);
    kind == filter.command >> 5 & 3
        && !differs(ports.rotate_left(16), filter.ports, port_mask)
}

#[cfg(test)]
mod tests {
    use super::super::regs;
    use super::*;
    use crate::event::Events;

    fn frame(destination: [u8; 6]) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&destination);
        frame
    }

    #[test]
    fn unicast_needs_a_receive_address_or_promiscuity() {
        let mut registers = regs::new();
        registers.set(at::RAL_LOW, 0x0403_0201);
        registers.set(at::RAL_LOW + 4, RAH_VALID | 0x0605);
        let mine = frame([1 << 1, 0, 0, 0, 0, 1]);
        let filters = Filters::load(&registers);
        assert!(!filters.accepts(&registers, &mine));
        registers.set(at::RAL_HIGH + 8 * 127, 2);
        registers.set(at::RAL_HIGH + 8 * 127 + 4, RAH_VALID | 0x0100);
        assert!(Filters::load(&registers).accepts(&registers, &mine));
        registers.set(at::FCTRL, FCTRL_UPE);
        let other = frame([2, 9, 9, 9, 9, 9]);
        assert!(Filters::load(&registers).accepts(&registers, &other));
    }

    #[test]
    fn multicast_by_hash() {
        let mut registers = regs::new();
        let group = [0x01, 0x00, 0x5E, 0x00, 0x00, 0xFB];
        registers.set(at::MCSTCTRL, MCSTCTRL_MFE);
        assert!(!Filters::load(&registers).accepts(&registers, &frame(group)));
        // MO 0: bits 47 to 36 of the address, 0xFB0
        registers.set(at::MTA + 4 * (0xFB0 >> 5), 1 << (0xFB0 & 31));
        assert!(Filters::load(&registers).accepts(&registers, &frame(group)));
        assert!(!Filters::load(&registers).accepts(&registers, &frame([0xFF; 6])));
    }

    #[test]
    fn vlan_filter_uses_the_table() {
        let mut registers = regs::new();
        registers.set(at::FCTRL, FCTRL_BAM);
        registers.set(at::VLNCTRL, VLNCTRL_VFE | 0x8100);
        let mut tagged = frame([0xFF; 6]);
        tagged[12..16].copy_from_slice(&[0x81, 0, 0xE0, 42]);
        let filters = Filters::load(&registers);
        assert!(!filters.accepts(&registers, &tagged));
        registers.set(at::VFTA + 4, 1 << 10);
        assert!(filters.accepts(&registers, &tagged));
        assert!(filters.accepts(&registers, &frame([0xFF; 6])));
    }

    #[test]
    fn rss_uses_the_redirection_table() {
        let mut registers = regs::new();
        for word in 0..32 {
            registers.set(at::RETA + 4 * word, 0x0303_0303);
        }
        registers.set(at::RSSRK, 0x1234_5678);
        registers.set(at::MRQC, MRQC_RSS | 1 << 17);
        let mut udp = frame([0xFF; 6]);
        udp[12..14].copy_from_slice(&[8, 0]);
        udp[14] = 0x45;
        udp[16..18].copy_from_slice(&[0, 46]);
        udp[23] = 17;
        udp[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let parsed = Parsed::parse(&udp);
        let rss = Filters::load(&registers).rss(&udp, &parsed);
        assert_eq!((rss.kind, rss.queue), (2, 3));
        assert_ne!(rss.hash, 0);
        registers.set(at::MRQC, 0);
        assert_eq!(Filters::load(&registers).rss(&udp, &parsed), Rss::default());
    }

    #[test]
    fn perfect_filter_by_port() {
        let mut registers = regs::new();
        let mut events = Events::new("test");
        let mut director = FlowDirector::default();
        registers.bus_write(&mut events, at::FDIRCTRL, FDIRCTRL_PERFECT | 1);
        registers.set(at::FDIRSIP4M, u32::MAX);
        registers.set(at::FDIRDIP4M, u32::MAX);
        registers.set(at::FDIRM, FDIRM_VLANID);
        // All but the destination port is masked out
        registers.set(at::FDIRTCPM, 0x0000_FFFF);
        registers.set(at::FDIRPORT, 53 << 16);
        registers.set(at::FDIRHASH, 7 << 16);
        director.command(&mut registers, COMMAND_ADD | QUEUE_EN | 1 << 5 | 5 << 16);
        let mut udp = frame([0xFF; 6]);
        udp[12..14].copy_from_slice(&[8, 0]);
        udp[14] = 0x45;
        udp[16..18].copy_from_slice(&[0, 46]);
        udp[23] = 17;
        udp[34..42].copy_from_slice(&[0x12, 0x34, 0, 53, 0, 26, 0, 0]);
        let parsed = Parsed::parse(&udp);
        assert_eq!(parsed.l4, L4::Udp);
        assert_eq!(
            director.find(&mut registers, &udp, &parsed),
            Some(Verdict::Queue(5))
        );
        director.command(&mut registers, COMMAND_QUERY);
        assert_ne!(registers.get(at::FDIRCMD) & FILTER_VALID, 0);
        director.command(&mut registers, COMMAND_REMOVE);
        assert_eq!(director.find(&mut registers, &udp, &parsed), None);
        assert_eq!(registers.get(at::FDIRMATCH), 1);
        assert_eq!(registers.get(at::FDIRMISS), 1);
    }
}
