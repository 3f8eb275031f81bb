// SPDX-License-Identifier: GPL-2.0
//! The internal switch: VSIs with their queues, VEBs, MAC and VLAN filters, promiscuity.
//!
//! The switch selects the VSIs that receive a frame from the port. Frames between VSIs of
//! the port are sent and not received: a VEB here is an element that drivers can create,
//! not a bridge.

use std::collections::HashMap;

use super::QUEUES;
use super::adminq::{Answer, Command, Fields, Refusal};
use crate::frame::{VLAN, is_broadcast, is_multicast};

/// VSIs that the function may have.
pub const VSIS: usize = 8;
const VEBS: usize = 4;
/// Index of the statistics of the main VSI. Those before it are of frames that ports
/// handle themselves, which DPDK subtracts.
pub const FIRST_COUNTERS: u16 = 16;
/// SEID of the permanent VSI; those of others follow.
pub const MAIN_SEID: u16 = 512;
const VEB_SEID: u16 = 288;
/// SEIDs of the port and of the function.
const PORT_SEID: u16 = 2;
const FUNCTION_SEID: u16 = 16;
/// MAC filters of the chip that the function may use.
const FILTERS_MAX: usize = 1024;
/// Maximum number of settings for a single VLAN.
const VLAN_RULES_MAX: usize = 4096;
const CONTROL_FILTERS_MAX: usize = 64;

/// Bytes that describe a VSI in commands 0210h to 0212h.
const PROPERTIES: usize = 128;
/// Sections that a driver writes: flag in the first word, and range of bytes.
const SECTIONS: &[(u16, std::ops::Range<usize>)] = &[
    (0x001, 2..6),   // switch
    (0x002, 6..8),   // security
    (0x004, 8..16),  // VLAN
    (0x008, 24..28), // cascaded port virtualizer
    (0x010, 16..20), // user priorities in
    (0x020, 20..24), // user priorities out
    (0x040, 28..78), // queue map
    (0x080, 78..82), // queueing
    (0x100, 84..88), // outer user priorities
    (0x200, 82..84), // scheduler
];
const PORT_VLAN_FLAGS: usize = 12;
const MAPPING_FLAGS: usize = 28;
const QUEUE_MAPPING: usize = 30;
const TC_MAPPING: usize = 62;
const HANDLES: usize = 96;
const STATISTICS: usize = 112;
const NO_HANDLE: u16 = 0xFFFF;
/// Traffic classes.
const CLASSES: usize = 8;

/// Kind of a frame's destination: the bit of command 0254h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cast {
    Uni = 0,
    Multi = 1,
    Broad = 2,
}

impl Cast {
    const ALL: [Self; 3] = [Self::Uni, Self::Multi, Self::Broad];

    fn of(frame: &[u8]) -> Self {
        if is_broadcast(frame) {
            Self::Broad
        } else if is_multicast(frame) {
            Self::Multi
        } else {
            Self::Uni
        }
    }
}

const PROMISCUOUS_DEFAULT: u16 = 0x08;
const PROMISCUOUS_VLAN: u16 = 0x10;
const VLAN_VALID: u16 = 0x8000;
const VLAN_ID: u16 = 0xFFF;

const ADD_IGNORE_VLAN: u16 = 0x04;
const REMOVE_IGNORE_VLAN: u8 = 0x08;
/// How an added filter matches: by all bits of the address.
const MATCH_PERFECT: u8 = 1;
const NO_RESOURCE: u8 = 0xFF;
const NOT_FOUND: u8 = 0xFF;

const CONTROL_DROP: u16 = 0x02;
const CONTROL_TX: u16 = 0x08;

/// A virtual station interface.
#[derive(Clone, Debug)]
struct Vsi {
    uplink: u16,
    properties: [u8; PROPERTIES],
    /// Traffic classes that are enabled.
    classes: u8,
    /// Its own RSS table.
    table: Option<[u8; 64]>,
}

impl Vsi {
    fn new(number: usize, uplink: u16) -> Self {
        let mut properties = [0; PROPERTIES];
        properties.put16(STATISTICS, FIRST_COUNTERS + number as u16);
        properties.put16(STATISTICS + 2, number as u16);
        let mut vsi = Self {
            uplink,
            properties,
            classes: 1,
            table: None,
        };
        vsi.set_classes(number, 1);
        vsi
    }

    /// Enables traffic classes; each of them has a handle.
    fn set_classes(&mut self, number: usize, classes: u8) {
        self.classes = classes;
        for class in 0..CLASSES {
            let handle = if classes >> class & 1 != 0 {
                (number * CLASSES + class) as u16
            } else {
                NO_HANDLE
            };
            self.properties.put16(HANDLES + 2 * class, handle);
        }
    }

    /// Updates the sections that are flagged as valid.
    fn update(&mut self, from: &[u8; PROPERTIES]) {
        let valid = from.get16(0);
        for (flag, range) in SECTIONS {
            if valid & flag != 0 {
                self.properties[range.clone()].copy_from_slice(&from[range.clone()]);
            }
        }
    }

    /// Queue of the function for queue `index` of the VSI.
    fn queue(&self, index: usize) -> usize {
        let entry = |index: usize| self.properties.get16(QUEUE_MAPPING + 2 * index);
        let queue = if self.properties[MAPPING_FLAGS] & 1 == 0 {
            usize::from(entry(0) & 0x7FF) + index
        } else {
            usize::from(entry(index & 15) & 0x7FF)
        };
        queue % QUEUES
    }

    /// First queue and number of queues of a traffic class.
    fn class(&self, class: usize) -> (usize, usize) {
        let mapping = self.properties.get16(TC_MAPPING + 2 * class);
        (usize::from(mapping & 0x1FF), 1 << (mapping >> 9 & 7))
    }

    fn queues(&self) -> impl Iterator<Item = usize> + '_ {
        let count = (0..CLASSES)
            .filter(|class| self.classes >> class & 1 != 0)
            .map(|class| self.class(class))
            .map(|(first, size)| first + size)
            .max();
        (0..count.unwrap_or(0).min(QUEUES)).map(|index| self.queue(index))
    }
}

/// A MAC filter: VSIs for an address and a VLAN; VLAN 0 includes untagged frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MacFilter {
    vsi: usize,
    vlan: Option<u16>,
}

/// A filter by ethertype for frames that the function sends or receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ControlFilter {
    address: [u8; 6],
    ethertype: u16,
    flags: u16,
    seid: u16,
}

/// A virtual Ethernet bridge.
#[derive(Clone, Copy, Debug)]
struct Veb {
    uplink: u16,
    flags: u16,
}

/// The switch of the port.
pub struct Switch {
    vsis: [Option<Vsi>; VSIS],
    vebs: [Option<Veb>; VEBS],
    filters: HashMap<[u8; 6], Vec<MacFilter>>,
    filter_count: usize,
    /// Sets of VSIs, by number, that accept all frames of a kind.
    promiscuous: [u32; 3],
    /// The same in one VLAN.
    promiscuous_in: Vec<(Cast, u16, usize)>,
    /// VSIs whose MAC filters ignore the VLAN.
    any_vlan: u32,
    /// VSI for frames without a match.
    default: Option<usize>,
    control: Vec<ControlFilter>,
    /// VSI of each queue.
    owners: [u8; QUEUES],
}

impl Switch {
    /// State after a reset: the main VSI with one queue and a filter for `mac`.
    pub fn new(mac: [u8; 6]) -> Self {
        let mut switch = Self {
            vsis: [const { None }; VSIS],
            vebs: [None; VEBS],
            filters: HashMap::new(),
            filter_count: 0,
            promiscuous: [0; 3],
            promiscuous_in: Vec::new(),
            any_vlan: 0,
            default: None,
            control: Vec::new(),
            owners: [0; QUEUES],
        };
        switch.vsis[0] = Some(Vsi::new(0, PORT_SEID));
        switch.add_filter(mac, MacFilter { vsi: 0, vlan: None });
        switch
    }

    // For the data path

    /// VSIs, by number, that receive a frame from the port.
    pub fn receivers(&self, frame: &[u8]) -> u32 {
        let Some(destination) = frame.first_chunk::<6>() else {
            return 0;
        };
        let vlan = vlan_of(frame);
        let cast = Cast::of(frame);
        let mut set = self.promiscuous[cast as usize];
        for filter in self.filters.get(destination).into_iter().flatten() {
            let bit = 1 << filter.vsi;
            if filter.vlan.is_none_or(|wanted| wanted == vlan) || self.any_vlan & bit != 0
            {
                set |= bit;
            }
        }
        for rule in &self.promiscuous_in {
            if (rule.0, rule.1) == (cast, vlan) {
                set |= 1 << rule.2;
            }
        }
        match (set, self.default) {
            (0, Some(default)) => 1 << default,
            _ => set,
        }
    }

    /// Whether a frame of the function may be sent.
    pub fn may_send(&self, frame: &[u8]) -> bool {
        if self.control.is_empty() {
            return true;
        }
        let ethertype = frame
            .get(12..14)
            .map_or(0, |bytes| u16::from(bytes[0]) << 8 | u16::from(bytes[1]));
        !self.control.iter().any(|filter| {
            filter.ethertype == ethertype
                && filter.flags & (CONTROL_TX | CONTROL_DROP) == CONTROL_TX | CONTROL_DROP
        })
    }

    /// Queue for entry `entry` of the redirection table.
    pub fn queue_by_table(&self, vsi: usize, entry: usize) -> Option<usize> {
        let vsi = self.vsis.get(vsi)?.as_ref()?;
        let (first, size) = vsi.class(0);
        Some(vsi.queue(first + (entry & (size - 1))))
    }

    /// Queue of the function that is queue `index` of a VSI.
    pub fn queue_by_index(&self, vsi: usize, index: usize) -> Option<usize> {
        Some(self.vsis.get(vsi)?.as_ref()?.queue(index))
    }

    /// The VSI's own redirection table, if it has one.
    pub fn table(&self, vsi: usize) -> Option<&[u8; 64]> {
        self.vsis.get(vsi)?.as_ref()?.table.as_ref()
    }

    /// Sets the VSI's own redirection table.
    pub fn set_table(&mut self, vsi: usize, table: [u8; 64]) -> Answer {
        let vsi = self.vsis.get_mut(vsi).and_then(Option::as_mut);
        vsi.ok_or(Refusal::Enoent)?.table = Some(table);
        Ok(())
    }

    /// Number of the VSI that a queue belongs to.
    pub fn owner(&self, queue: usize) -> usize {
        usize::from(self.owners[queue])
    }

    /// Whether tags of received frames are stripped into the descriptor.
    pub fn strips_vlan(&self, vsi: usize) -> bool {
        let vsi = self.vsis.get(vsi).and_then(Option::as_ref);
        vsi.is_some_and(|vsi| vsi.properties[PORT_VLAN_FLAGS] >> 3 & 3 != 3)
    }

    // VSIs

    /// Number of the VSI with this SEID.
    fn number(&self, seid: u16) -> Result<usize, Refusal> {
        let number = usize::from((seid & 0x3FF).wrapping_sub(MAIN_SEID));
        match self.vsis.get(number) {
            Some(Some(_)) => Ok(number),
            _ => Err(Refusal::Enoent),
        }
    }

    fn vsi(&mut self, seid: u16) -> Result<(usize, &mut Vsi), Refusal> {
        let number = self.number(seid)?;
        match &mut self.vsis[number] {
            Some(vsi) => Ok((number, vsi)),
            None => Err(Refusal::Enoent),
        }
    }

    /// Reply of commands 0210h to 0212h.
    fn describe(&self, number: usize, command: &mut Command) -> Answer {
        let used = self.vsis.iter().flatten().count();
        command.params.put16(0, MAIN_SEID + number as u16);
        command.params.put16(2, number as u16);
        command.params.put16(4, used as u16);
        command.params.put16(6, (VSIS - used) as u16);
        let vsi = self.vsis[number].as_ref().ok_or(Refusal::Enoent)?;
        *command.data()? = vsi.properties;
        Ok(())
    }

    fn find_owners(&mut self) {
        self.owners = [0; QUEUES];
        for (number, vsi) in self.vsis.iter().enumerate().skip(1) {
            for queue in vsi.iter().flat_map(Vsi::queues) {
                self.owners[queue] = number as u8;
            }
        }
    }

    /// Add VSI (0210h).
    pub fn add_vsi(&mut self, command: &mut Command) -> Answer {
        let properties = *command.data::<PROPERTIES>()?;
        let uplink = command.params.get16(0);
        let free = self.vsis.iter().position(Option::is_none);
        let number = free.ok_or(Refusal::Enospc)?;
        let mut vsi = Vsi::new(number, uplink);
        vsi.update(&properties);
        self.vsis[number] = Some(vsi);
        self.find_owners();
        self.describe(number, command)
    }

    /// Update VSI parameters (0211h).
    pub fn update_vsi(&mut self, command: &mut Command) -> Answer {
        let properties = *command.data::<PROPERTIES>()?;
        let (number, vsi) = self.vsi(command.params.get16(0))?;
        vsi.update(&properties);
        self.find_owners();
        self.describe(number, command)
    }

    /// Get VSI parameters (0212h).
    pub fn get_vsi(&mut self, command: &mut Command) -> Answer {
        let number = self.number(command.params.get16(0))?;
        self.describe(number, command)
    }

    /// Delete element (0243h): a VSI or a VEB.
    pub fn delete(&mut self, command: &mut Command) -> Answer {
        let seid = command.params.get16(0);
        if let Ok(veb) = self.veb(seid) {
            self.vebs[veb] = None;
            return Ok(());
        }
        let number = self.number(seid)?;
        if number == 0 {
            return Err(Refusal::Eperm);
        }
        self.vsis[number] = None;
        self.forget_filters(number);
        self.find_owners();
        Ok(())
    }

    fn forget_filters(&mut self, number: usize) {
        for list in self.filters.values_mut() {
            list.retain(|filter| filter.vsi != number);
        }
        self.filters.retain(|_, list| !list.is_empty());
        self.filter_count = self.filters.values().map(Vec::len).sum();
        let others = !(1 << number);
        for set in &mut self.promiscuous {
            *set &= others;
        }
        self.any_vlan &= others;
        self.promiscuous_in.retain(|rule| rule.2 != number);
        self.default = self.default.filter(|default| *default != number);
    }

    /// Get switch configuration (0200h): header and elements of 16 bytes each.
    pub fn configuration(&self, command: &mut Command) -> Answer {
        const VEB: u8 = 17;
        const VSI: u8 = 19;
        let vsis = self.vsis.iter().enumerate().filter_map(|(number, vsi)| {
            let uplink = vsi.as_ref()?.uplink;
            Some((VSI, MAIN_SEID + number as u16, uplink))
        });
        let vebs = self.vebs.iter().enumerate().filter_map(|(number, veb)| {
            Some((VEB, VEB_SEID + number as u16, veb.as_ref()?.uplink))
        });
        let elements: Vec<_> = vsis.chain(vebs).collect();
        let first = usize::from(command.params.get16(0));
        command.buffer.fill(0);
        let room = (command.buffer.len() / 16).saturating_sub(1);
        let rest = elements.get(first..).unwrap_or_default();
        for (index, (kind, seid, uplink)) in rest.iter().take(room).enumerate() {
            let at = 16 + 16 * index;
            command.buffer.put(at, &[*kind, 1]);
            command.buffer.put16(at + 2, *seid);
            command.buffer.put16(at + 4, *uplink);
            command.buffer.put16(at + 6, FUNCTION_SEID);
            command.buffer.put(at + 11, &[1]); // a regular data port
        }
        let reported = rest.len().min(room);
        command.buffer.put16(0, reported as u16);
        command.buffer.put16(2, elements.len() as u16);
        let more = reported < rest.len();
        let next = if more { first + reported } else { 0 };
        command.params.put16(0, next as u16);
        Ok(())
    }

    // VEBs

    fn veb(&self, seid: u16) -> Result<usize, Refusal> {
        let number = usize::from(seid.wrapping_sub(VEB_SEID));
        match self.vebs.get(number) {
            Some(Some(_)) => Ok(number),
            _ => Err(Refusal::Enoent),
        }
    }

    fn veb_counts(&self) -> (u16, u16) {
        let used = self.vebs.iter().flatten().count();
        (used as u16, (VEBS - used) as u16)
    }

    /// Add VEB (0230h): between an element and a VSI.
    pub fn add_veb(&mut self, command: &mut Command) -> Answer {
        let free = self.vebs.iter().position(Option::is_none);
        let number = free.ok_or(Refusal::Enospc)?;
        let seid = VEB_SEID + number as u16;
        if let Ok((_, vsi)) = self.vsi(command.params.get16(2)) {
            vsi.uplink = seid;
        }
        self.vebs[number] = Some(Veb {
            uplink: command.params.get16(0),
            flags: command.params.get16(4),
        });
        let (used, free) = self.veb_counts();
        for (at, value) in [
            (6, PORT_SEID),
            (8, seid),
            (10, number as u16),
            (12, used),
            (14, free),
        ] {
            command.params.put16(at, value);
        }
        Ok(())
    }

    /// Get VEB parameters (0232h).
    pub fn get_veb(&self, command: &mut Command) -> Answer {
        let seid = command.params.get16(0);
        let number = self.veb(seid)?;
        let flags = self.vebs[number].map_or(0, |veb| veb.flags);
        let (used, free) = self.veb_counts();
        for (at, value) in [
            (2, FUNCTION_SEID),
            (4, flags),
            (6, number as u16),
            (8, used),
            (10, free),
        ] {
            command.params.put16(at, value);
        }
        Ok(())
    }

    // Filters

    /// False if the table is full.
    fn add_filter(&mut self, address: [u8; 6], filter: MacFilter) -> bool {
        if self.filter_count >= FILTERS_MAX {
            return false;
        }
        let list = self.filters.entry(address).or_default();
        if !list.contains(&filter) {
            list.push(filter);
            self.filter_count += 1;
        }
        true
    }

    /// False if there is no such filter.
    fn remove_filter(&mut self, address: [u8; 6], filter: MacFilter) -> bool {
        let Some(list) = self.filters.get_mut(&address) else {
            return false;
        };
        let before = list.len();
        list.retain(|other| *other != filter);
        let found = list.len() < before;
        if list.is_empty() {
            self.filters.remove(&address);
        }
        self.filter_count -= usize::from(found);
        found
    }

    fn filter_counts(&self, command: &mut Command) {
        let free = FILTERS_MAX - self.filter_count;
        command.params.put16(0, self.filter_count as u16);
        command.params.put16(2, free as u16);
    }

    /// Add MAC/VLAN filters (0250h): elements of 16 bytes.
    pub fn add_filters(&mut self, command: &mut Command) -> Answer {
        let number = self.number(command.params.get16(2))?;
        let count = usize::from(command.params.get16(0));
        let mut answer = Ok(());
        let mut buffer = std::mem::take(&mut command.buffer);
        for element in buffer.chunks_exact_mut(16).take(count) {
            let (address, vlan) = (address_of(element), element.get16(6) & VLAN_ID);
            let ignore = element.get16(8) & ADD_IGNORE_VLAN != 0;
            let vlan = (!ignore).then_some(vlan);
            if self.add_filter(address, MacFilter { vsi: number, vlan }) {
                element[12] = MATCH_PERFECT;
            } else {
                element[12] = NO_RESOURCE;
                answer = Err(Refusal::Enospc);
            }
        }
        command.buffer = buffer;
        self.filter_counts(command);
        answer
    }

    /// Remove MAC/VLAN filters (0251h): elements of 16 bytes.
    pub fn remove_filters(&mut self, command: &mut Command) -> Answer {
        let number = self.number(command.params.get16(2))?;
        let count = usize::from(command.params.get16(0));
        let mut answer = Ok(());
        let mut buffer = std::mem::take(&mut command.buffer);
        for element in buffer.chunks_exact_mut(16).take(count) {
            let (address, vlan) = (address_of(element), element.get16(6) & VLAN_ID);
            let ignore = element[8] & REMOVE_IGNORE_VLAN != 0;
            let vlan = (!ignore).then_some(vlan);
            if self.remove_filter(address, MacFilter { vsi: number, vlan }) {
                element[12] = 0;
            } else {
                element[12] = NOT_FOUND;
                answer = Err(Refusal::Enoent);
            }
        }
        command.buffer = buffer;
        self.filter_counts(command);
        answer
    }

    /// Set VSI promiscuous modes (0254h).
    pub fn set_promiscuous(&mut self, command: &mut Command) -> Answer {
        let (on, valid) = (command.params.get16(0), command.params.get16(2));
        let number = self.number(command.params.get16(4))?;
        let vlan = command.params.get16(6);
        for cast in Cast::ALL {
            let flag = 1 << cast as u16;
            if valid & flag == 0 {
                continue;
            }
            let rule = (cast, vlan & VLAN_ID, number);
            if vlan & VLAN_VALID == 0 {
                set_bit(&mut self.promiscuous[cast as usize], number, on & flag != 0);
                continue;
            }
            self.promiscuous_in.retain(|other| *other != rule);
            if on & flag != 0 {
                if self.promiscuous_in.len() >= VLAN_RULES_MAX {
                    return Err(Refusal::Enospc);
                }
                self.promiscuous_in.push(rule);
            }
        }
        if valid & PROMISCUOUS_VLAN != 0 {
            set_bit(&mut self.any_vlan, number, on & PROMISCUOUS_VLAN != 0);
        }
        if valid & PROMISCUOUS_DEFAULT != 0 {
            let others = self.default.filter(|default| *default != number);
            let set = on & PROMISCUOUS_DEFAULT != 0;
            self.default = if set { Some(number) } else { others };
        }
        Ok(())
    }

    fn control_filter(&self, command: &Command) -> Result<ControlFilter, Refusal> {
        let seid = command.params.get16(10);
        self.number(seid)?;
        Ok(ControlFilter {
            address: address_of(&command.params),
            ethertype: command.params.get16(6),
            flags: command.params.get16(8),
            seid,
        })
    }

    fn control_counts(&self, command: &mut Command) -> Answer {
        let used = self.control.len();
        for (at, value) in [(0, 0), (2, used), (4, 0), (6, CONTROL_FILTERS_MAX - used)] {
            command.params.put16(at, value as u16);
        }
        Ok(())
    }

    /// Add control packet filter (025Ah).
    pub fn add_control_filter(&mut self, command: &mut Command) -> Answer {
        let filter = self.control_filter(command)?;
        if self.control.contains(&filter) {
            return Err(Refusal::Eexist);
        }
        if self.control.len() >= CONTROL_FILTERS_MAX {
            return Err(Refusal::Enospc);
        }
        self.control.push(filter);
        self.control_counts(command)
    }

    /// Remove control packet filter (025Bh).
    pub fn remove_control_filter(&mut self, command: &mut Command) -> Answer {
        let filter = self.control_filter(command)?;
        let before = self.control.len();
        self.control.retain(|other| *other != filter);
        if self.control.len() == before {
            return Err(Refusal::Enoent);
        }
        self.control_counts(command)
    }

    // Scheduling: without a line rate, limits and shares have no effect

    /// Configure VSI bandwidth of traffic classes (0407h): enables them.
    pub fn set_classes(&mut self, command: &mut Command) -> Answer {
        let classes = command.data::<32>()?[0];
        let (number, vsi) = self.vsi(command.params.get16(0))?;
        vsi.set_classes(number, classes);
        let handles = vsi.properties[HANDLES..HANDLES + 2 * CLASSES].to_vec();
        command.buffer.put(16, &handles);
        self.find_owners();
        Ok(())
    }

    /// Query VSI bandwidth configuration (0408h).
    pub fn get_classes(&mut self, command: &mut Command) -> Answer {
        let seid = command.params.get16(0);
        let data = command.data::<64>()?;
        data.fill(0);
        let (_, vsi) = self.vsi(seid)?;
        data[0] = vsi.classes;
        data.put(16, &vsi.properties[HANDLES..HANDLES + 2 * CLASSES]);
        Ok(())
    }

    /// Query VSI bandwidth of traffic classes (040Ah).
    pub fn get_shares(&mut self, command: &mut Command) -> Answer {
        let seid = command.params.get16(0);
        let data = command.data::<32>()?;
        data.fill(0);
        let (_, vsi) = self.vsi(seid)?;
        data[0] = vsi.classes;
        for class in 0..CLASSES {
            data[4 + class] = vsi.classes >> class & 1;
        }
        Ok(())
    }
}

fn set_bit(set: &mut u32, bit: usize, on: bool) {
    *set = *set & !(1 << bit) | u32::from(on) << bit;
}

/// VLAN of a frame, 0 if it has no tag.
fn vlan_of(frame: &[u8]) -> u16 {
    match frame.get(12..16) {
        Some([high, low, tag @ ..]) if [*high, *low] == VLAN.to_be_bytes() => {
            (u16::from(tag[0]) << 8 | u16::from(tag[1])) & VLAN_ID
        }
        _ => 0,
    }
}

fn address_of(element: &[u8]) -> [u8; 6] {
    element.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const GROUP: [u8; 6] = [0x33, 0x33, 0, 0, 0, 1];

    fn command(params: &[(usize, u16)], buffer: &[u8]) -> Command {
        let mut command = Command {
            buffer: buffer.to_vec(),
            ..Command::default()
        };
        for (at, value) in params {
            command.params.put16(*at, *value);
        }
        command
    }

    fn frame(destination: [u8; 6], vlan: Option<u16>) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&destination);
        if let Some(vlan) = vlan {
            frame[12..14].copy_from_slice(&[0x81, 0]);
            frame[14..16].copy_from_slice(&vlan.to_be_bytes());
        }
        frame
    }

    fn element(address: [u8; 6], vlan: u16, flags: u16) -> Vec<u8> {
        let mut element = vec![0; 16];
        element.put(0, &address);
        element.put16(6, vlan);
        element.put16(8, flags);
        element[12] = 0xEE;
        element
    }

    fn add_vsi(switch: &mut Switch, base: u16, mapping: u16) -> u16 {
        let mut properties = [0; PROPERTIES];
        properties.put16(0, 0x40);
        properties.put16(QUEUE_MAPPING, base);
        properties.put16(TC_MAPPING, mapping);
        let mut command = command(&[(0, PORT_SEID)], &properties);
        assert_eq!(switch.add_vsi(&mut command), Ok(()));
        let handle = command.buffer.get16(HANDLES);
        assert_eq!(handle, command.params.get16(2) * 8);
        assert_eq!(command.buffer.get16(HANDLES + 2), NO_HANDLE);
        command.params.get16(0)
    }

    #[test]
    fn filters_by_address_and_vlan() {
        let mut switch = Switch::new(MAC);
        assert_eq!(switch.receivers(&frame(MAC, Some(7))), 1);
        let default = element(MAC, 0, 0x08);
        let one = [(0, 1), (2, VLAN_VALID | MAIN_SEID)];
        let mut remove = command(&one, &default);
        assert_eq!(switch.remove_filters(&mut remove), Ok(()));
        assert_eq!(switch.receivers(&frame(MAC, None)), 0);
        let mut remove = command(&one, &default);
        assert_eq!(switch.remove_filters(&mut remove), Err(Refusal::Enoent));
        assert_eq!(remove.buffer[12], NOT_FOUND);
        let elements = [element(MAC, 7, 1), element(GROUP, 0, 1)].concat();
        let mut add = command(&[(0, 2), (2, VLAN_VALID | MAIN_SEID)], &elements);
        assert_eq!(switch.add_filters(&mut add), Ok(()));
        assert_eq!(
            (add.buffer[12], add.buffer[28]),
            (MATCH_PERFECT, MATCH_PERFECT)
        );
        assert_eq!(add.params.get16(0), 2);
        assert_eq!(switch.receivers(&frame(MAC, Some(0xE007))), 1);
        assert_eq!(switch.receivers(&frame(MAC, None)), 0);
        assert_eq!(switch.receivers(&frame(GROUP, None)), 1);
        assert_eq!(switch.receivers(&frame(GROUP, Some(0xE000))), 1);
        assert_eq!(switch.receivers(&frame(GROUP, Some(7))), 0);
    }

    #[test]
    fn filters_are_finite() {
        let mut switch = Switch::new(MAC);
        let many: Vec<u8> = (0..FILTERS_MAX as u16)
            .flat_map(|vlan| element(GROUP, vlan, 1))
            .collect();
        let count = (0, FILTERS_MAX as u16);
        let mut add = command(&[count, (2, MAIN_SEID)], &many);
        assert_eq!(switch.add_filters(&mut add), Err(Refusal::Enospc));
        assert_eq!(add.buffer[many.len() - 4], NO_RESOURCE);
        assert_eq!(add.params.get16(2), 0);
    }

    #[test]
    fn promiscuity_of_each_kind() {
        let mut switch = Switch::new(MAC);
        let broadcast = frame([0xFF; 6], None);
        let set = |switch: &mut Switch, on, valid, vlan| {
            let mut modes = command(&[(0, on), (2, valid), (4, 512), (6, vlan)], &[]);
            assert_eq!(switch.set_promiscuous(&mut modes), Ok(()));
        };
        assert_eq!(switch.receivers(&broadcast), 0);
        set(&mut switch, 4, 4, 0);
        assert_eq!(switch.receivers(&broadcast), 1);
        assert_eq!(switch.receivers(&frame(GROUP, None)), 0);
        set(&mut switch, 2, 2, VLAN_VALID | 5);
        assert_eq!(switch.receivers(&frame(GROUP, None)), 0);
        assert_eq!(switch.receivers(&frame(GROUP, Some(5))), 1);
        set(&mut switch, 0, 2, VLAN_VALID | 5);
        assert_eq!(switch.receivers(&frame(GROUP, Some(5))), 0);
        let other = frame([2, 9, 9, 9, 9, 9], Some(3));
        set(&mut switch, 8, 8, 0);
        assert_eq!(switch.receivers(&other), 1);
        set(&mut switch, 1, 9, 0);
        assert_eq!(switch.receivers(&other), 1);
        set(&mut switch, 0, 1, 0);
        assert_eq!(switch.receivers(&other), 0);
    }

    #[test]
    fn queues_by_the_map_of_the_vsi() {
        let mut switch = Switch::new(MAC);
        let seid = add_vsi(&mut switch, 40, 2 << 9 | 1);
        assert_eq!(seid, MAIN_SEID + 1);
        assert_eq!(switch.queue_by_table(1, 6), Some(43));
        assert_eq!(switch.queue_by_index(1, 6), Some(46));
        assert_eq!((switch.owner(44), switch.owner(45)), (1, 0));
        assert_eq!(switch.queue_by_table(2, 0), None);
        let mut delete = command(&[(0, seid)], &[]);
        assert_eq!(switch.delete(&mut delete), Ok(()));
        assert_eq!(switch.owner(44), 0);
        assert_eq!(switch.delete(&mut delete), Err(Refusal::Enoent));
        let mut main = command(&[(0, MAIN_SEID)], &[]);
        assert_eq!(switch.delete(&mut main), Err(Refusal::Eperm));
    }

    #[test]
    fn elements_are_listed() {
        let mut switch = Switch::new(MAC);
        let mut list = command(&[], &[0; 512]);
        assert_eq!(switch.configuration(&mut list), Ok(()));
        assert_eq!((list.buffer.get16(0), list.buffer.get16(2)), (1, 1));
        assert_eq!(list.buffer[16], 19);
        assert_eq!(list.buffer.get16(18), MAIN_SEID);
        let mut veb = command(&[(0, PORT_SEID), (2, MAIN_SEID)], &[]);
        assert_eq!(switch.add_veb(&mut veb), Ok(()));
        assert_eq!(veb.params.get16(8), VEB_SEID);
        let mut list = command(&[], &[0; 32]);
        assert_eq!(switch.configuration(&mut list), Ok(()));
        assert_eq!((list.buffer.get16(0), list.params.get16(0)), (1, 1));
        assert_eq!(list.buffer.get16(20), VEB_SEID);
    }

    #[test]
    fn vlan_stripping_follows_the_vsi() {
        let mut switch = Switch::new(MAC);
        let mut properties = [0; PROPERTIES];
        properties.put16(0, 0x04);
        properties[PORT_VLAN_FLAGS] = 0x18 | 3;
        let mut update = command(&[(0, MAIN_SEID)], &properties);
        assert!(switch.strips_vlan(0));
        assert_eq!(switch.update_vsi(&mut update), Ok(()));
        assert!(!switch.strips_vlan(0));
    }

    #[test]
    fn control_frames_are_not_sent() {
        let mut switch = Switch::new(MAC);
        let mut pause = frame(MAC, None);
        pause[12..14].copy_from_slice(&[0x88, 0x08]);
        assert!(switch.may_send(&pause));
        let filter = [(6, 0x8808), (8, 0xB), (10, MAIN_SEID)];
        let mut add = command(&filter, &[]);
        assert_eq!(switch.add_control_filter(&mut add), Ok(()));
        assert!(!switch.may_send(&pause));
        assert!(switch.may_send(&frame(MAC, None)));
        let mut remove = command(&filter, &[]);
        assert_eq!(switch.remove_control_filter(&mut remove), Ok(()));
        assert!(switch.may_send(&pause));
    }
}
