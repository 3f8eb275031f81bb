// SPDX-License-Identifier: GPL-2.0
//! Flow director: exact-match filters, programmed by descriptors in a Tx ring with a
//! frame of the flow's Tx direction.

use std::collections::HashMap;

use super::classify::{self, Input, PCTYPES};
use super::regs::{Registers, at};
use super::rx::{NO_ENTRY, TABLE_FULL};
use super::tx::FilterProgram;
use crate::frame::Parsed;

/// Guaranteed filters of the function, and best-effort filters shared with other
/// functions.
pub const GUARANTEED: usize = 512;
/// See [`GUARANTEED`].
pub const BEST_EFFORT: usize = 7680;
const CTL_0_ENABLE: u32 = 1 << 17;

const TO_NOWHERE: u8 = 0;
const TO_QUEUE: u8 = 1;
const REPORT_ID: u8 = 1;

/// Result of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Drop it.
    Drop,
    /// Deliver it to the queue of this index in the VSI, or to the same queue as without
    /// the filter; the id may be in the descriptor.
    To(Option<u16>, Option<u32>),
}

/// Classifier type and selected fields.
type Key = (u8, Input);

/// The table of filters.
#[derive(Debug, Default)]
pub struct FlowDirector {
    filters: HashMap<Key, FilterProgram>,
    /// Number of guaranteed and best-effort filters.
    counts: Vec<u32>,
}

impl FlowDirector {
    /// Removes all filters.
    pub fn clear(&mut self, registers: &mut Registers) {
        *self = Self::default();
        self.show(registers);
    }

    /// Updates the numbers of filters in the registers.
    fn show(&self, registers: &mut Registers) {
        let guaranteed = self.filters.len().min(GUARANTEED);
        let rest = (self.filters.len() - guaranteed) as u32;
        let guaranteed = guaranteed as u32;
        registers.set(at::PFQF_FDSTAT, rest << 16 | guaranteed);
        registers.set(at::GLQF_FDCNT_0, rest << 13 | guaranteed);
    }

    /// Adds or removes the filter for the reverse flow of `frame`; 0, or the error for
    /// the programming status.
    pub fn program(
        &mut self,
        registers: &mut Registers,
        program: FilterProgram,
        frame: &[u8],
    ) -> u8 {
        let key = programmed(registers, program.pctype, frame);
        let error = if program.remove {
            self.remove(&key)
        } else {
            self.add(key, program)
        };
        self.show(registers);
        error
    }

    fn add(&mut self, key: Key, program: FilterProgram) -> u8 {
        let full = self.filters.len() >= GUARANTEED + BEST_EFFORT;
        if full && !self.filters.contains_key(&key) {
            return TABLE_FULL;
        }
        self.counts.resize(PCTYPES, 0);
        if self.filters.insert(key, program).is_none() {
            self.counts[usize::from(key.0)] += 1;
        }
        0
    }

    fn remove(&mut self, key: &Key) -> u8 {
        if self.filters.remove(key).is_none() {
            return NO_ENTRY;
        }
        self.counts[usize::from(key.0)] -= 1;
        0
    }

    /// Applies the filters to a received frame and counts the match; `None` without a
    /// match.
    pub fn find(
        &self,
        registers: &mut Registers,
        pctype: u8,
        frame: &[u8],
        parsed: &Parsed,
        vsi: usize,
    ) -> Option<Verdict> {
        let count = self.counts.get(usize::from(pctype)).copied().unwrap_or(0);
        if count == 0 || registers.get(at::PFQF_CTL_0) & CTL_0_ENABLE == 0 {
            return None;
        }
        let set = classify::flow_input_set(registers, pctype);
        let mut input = classify::input(set, pctype, frame, parsed);
        classify::add_flexible(&mut input, set, registers, pctype, frame, parsed);
        let filter = self.filters.get(&(pctype, input))?;
        if usize::from(filter.vsi) != vsi {
            return None;
        }
        if let Some(counter) = filter.counter {
            let counter = at::GLQF_PCNT + 4 * u32::from(counter);
            registers.set(counter, registers.get(counter).wrapping_add(1));
        }
        if filter.destination == TO_NOWHERE {
            return Some(Verdict::Drop);
        }
        let queue = (filter.destination == TO_QUEUE).then_some(filter.queue);
        let id = (filter.report == REPORT_ID).then_some(filter.id);
        Some(Verdict::To(queue, id))
    }
}

/// The flow of a frame from the driver: its reverse flow.
fn programmed(registers: &Registers, pctype: u8, frame: &[u8]) -> Key {
    let parsed = Parsed::parse(frame);
    let set = classify::flow_input_set(registers, pctype);
    let turned = classify::turned_set(set, pctype);
    let input = classify::input(turned, pctype, frame, &parsed);
    let mut input = classify::turned(&input);
    classify::add_flexible(&mut input, set, registers, pctype, frame, &parsed);
    (pctype, input)
}

#[cfg(test)]
mod tests {
    use super::super::regs;
    use super::*;
    use crate::frame::tests::{content, ethernet, ipv4, udp};

    const UDP: u8 = 31;

    fn setup() -> (FlowDirector, Registers) {
        let mut registers = regs::new();
        classify::reset_input_sets(&mut registers);
        registers.set(at::PFQF_CTL_0, CTL_0_ENABLE);
        (FlowDirector::default(), registers)
    }

    /// A received frame: 10.1.2.3:0x1234 to 192.168.77.88:53.
    fn received() -> Vec<u8> {
        [ethernet(0x800), ipv4(17, 24), udp(16), content(16)].concat()
    }

    /// The frame that Linux programs for it: the reverse flow, without lengths.
    fn dummy() -> Vec<u8> {
        let mut frame = received();
        frame[16..18].fill(0);
        frame[38..40].fill(0);
        let (source, destination) = frame[26..34].split_at_mut(4);
        source.swap_with_slice(destination);
        let (source, destination) = frame[34..38].split_at_mut(2);
        source.swap_with_slice(destination);
        frame
    }

    fn program(queue: u16) -> FilterProgram {
        FilterProgram {
            queue,
            pctype: UDP,
            destination: TO_QUEUE,
            counter: Some(3),
            report: REPORT_ID,
            id: 9,
            dummy: true,
            ..FilterProgram::default()
        }
    }

    fn find(
        director: &FlowDirector,
        registers: &mut Registers,
        frame: &[u8],
    ) -> Option<Verdict> {
        let parsed = Parsed::parse(frame);
        let pctype = classify::pctype(&parsed);
        director.find(registers, pctype, frame, &parsed, 0)
    }

    #[test]
    fn a_filter_matches_the_reverse_flow() {
        let (mut director, mut registers) = setup();
        assert_eq!(director.program(&mut registers, program(5), &dummy()), 0);
        let found = find(&director, &mut registers, &received());
        assert_eq!(found, Some(Verdict::To(Some(5), Some(9))));
        assert_eq!(registers.get(at::GLQF_PCNT + 12), 1);
        assert_eq!(registers.get(at::PFQF_FDSTAT), 1);
        let mut other = received();
        other[37] += 1;
        assert_eq!(find(&director, &mut registers, &other), None);
        registers.set(at::PFQF_CTL_0, 0);
        assert_eq!(find(&director, &mut registers, &received()), None);
    }

    #[test]
    fn fields_outside_the_input_set_are_ignored() {
        let (mut director, mut registers) = setup();
        // The destination port alone
        registers.set(at::PRTQF_FD_INSET + 64 * u32::from(UDP), 0);
        registers.set(at::PRTQF_FD_INSET + 64 * u32::from(UDP) + 32, 1 << 1);
        let mut drop = program(0);
        drop.destination = TO_NOWHERE;
        assert_eq!(director.program(&mut registers, drop, &dummy()), 0);
        let mut other = received();
        other[26..36].fill(7);
        let found = find(&director, &mut registers, &other);
        assert_eq!(found, Some(Verdict::Drop));
        other[37] += 1;
        assert_eq!(find(&director, &mut registers, &other), None);
    }

    #[test]
    fn words_of_the_payload() {
        let (mut director, mut registers) = setup();
        let low = at::PRTQF_FD_INSET + 64 * u32::from(UDP);
        registers.set(low, registers.get(low) | 1 << 12);
        // Word 3 of the payload is word 51 of the field vector
        registers.set(0x25_5200 + 32 * 6, 51 << 10 | 1 << 5 | 3);
        assert_eq!(director.program(&mut registers, program(5), &dummy()), 0);
        assert!(find(&director, &mut registers, &received()).is_some());
        let mut other = received();
        other[42 + 7] ^= 1;
        assert_eq!(find(&director, &mut registers, &other), None);
        other[42 + 7] ^= 1;
        other[42 + 8] ^= 1;
        assert!(find(&director, &mut registers, &other).is_some());
    }

    #[test]
    fn failures_are_reported() {
        let (mut director, mut registers) = setup();
        let mut remove = program(0);
        remove.remove = true;
        assert_eq!(director.program(&mut registers, remove, &dummy()), NO_ENTRY);
        let mut frame = dummy();
        for port in 0..(GUARANTEED + BEST_EFFORT) as u16 {
            frame[34..36].copy_from_slice(&port.to_be_bytes());
            assert_eq!(director.program(&mut registers, program(1), &frame), 0);
        }
        assert_eq!(registers.get(at::GLQF_FDCNT_0), 7680 << 13 | 512);
        assert_eq!(director.program(&mut registers, program(1), &frame), 0);
        frame[34..36].fill(0xFF);
        let full = director.program(&mut registers, program(1), &frame);
        assert_eq!(full, TABLE_FULL);
        director.clear(&mut registers);
        assert_eq!(registers.get(at::GLQF_FDCNT_0), 0);
        assert_eq!(director.program(&mut registers, program(1), &frame), 0);
    }
}
