// SPDX-License-Identifier: GPL-2.0
//! Rx queues: descriptors of 16 and 32 bytes, multi-buffer frames, status of filter
//! programming.

use super::hmc::RxContext;
use crate::chip::ring::{self, DESCRIPTOR, Extent, Outcome};
use crate::host::Host;

const CRC: usize = 4;

// Second quad word of a descriptor after write-back
const DD: u64 = 1 << 0;
const EOF: u64 = 1 << 1;
const L2TAG1P: u64 = 1 << 2;
const FLTSTAT_FD_ID: u64 = 1 << 12;
const FLTSTAT_RSS: u64 = 3 << 12;
const ERROR_SHIFT: u32 = 19;
const PTYPE_SHIFT: u32 = 30;
const LENGTH_SHIFT: u32 = 38;
/// The descriptor is the status of filter programming, without a length.
const PROGRAM_STATUS: u64 = 1 << 63;
const PROGRAM_FLOW_DIRECTOR: u64 = 1 << 2;

// Third quad word, of long descriptors
const L2TAG2P: u64 = 1 << 0;
const FLEXBH_FD_ID: u64 = 1 << 4;

/// Programming failed: the filter table is full.
pub const TABLE_FULL: u8 = 1 << 0;
/// Programming failed: the filter to remove does not exist.
pub const NO_ENTRY: u8 = 1 << 1;

/// Description of a frame for its last descriptor, without its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Packet type.
    pub ptype: u8,
    /// Status bits without DD, EOF, tag and filter bits.
    pub status: u32,
    /// Error bits.
    pub errors: u8,
    /// RSS hash.
    pub hash: Option<u32>,
    /// Id of the flow director filter that matched, if it is reported.
    pub fd_id: Option<u32>,
    /// Stripped tag.
    pub vlan: Option<u16>,
}

/// Context and scratch space of a queue.
#[derive(Debug, Default)]
pub struct State {
    context: RxContext,
    /// The frame with its CRC, for queues that do not strip it.
    with_crc: Vec<u8>,
}

/// One Rx queue.
pub type RxRing = ring::RxRing<State>;

impl RxRing {
    /// Starts the queue. Descriptors up to `tail` are posted.
    pub fn enable(&mut self, context: RxContext, tail: u32) {
        let RxContext {
            base, length, head, ..
        } = context;
        self.start(Extent {
            base,
            length,
            size: DESCRIPTOR * if context.long { 2 } else { 1 },
            head,
            tail: if tail < length { tail } else { head },
        });
        self.chip.context = context;
    }

    /// Puts a frame into guest memory, in as many buffers as it needs.
    pub fn deliver(&mut self, host: &mut Host, frame: &[u8], meta: Meta) -> Outcome {
        if !self.enabled() {
            return Outcome::NoDescriptor;
        }
        let tag = if meta.vlan.is_some() { 4 } else { 0 };
        let context = self.chip.context;
        if frame.len() + tag + CRC > context.longest {
            return Outcome::TooLong;
        }
        if context.strips_crc {
            return self.fill_buffers(host, frame, meta);
        }
        let mut with_crc = std::mem::take(&mut self.chip.with_crc);
        with_crc.clear();
        with_crc.extend_from_slice(frame);
        with_crc.extend_from_slice(&crc32fast::hash(frame).to_le_bytes());
        let outcome = self.fill_buffers(host, &with_crc, meta);
        self.chip.with_crc = with_crc;
        outcome
    }

    fn fill_buffers(&mut self, host: &mut Host, frame: &[u8], meta: Meta) -> Outcome {
        let context = self.chip.context;
        self.fill(host, frame, context.buffer, |length, last| {
            let mut words = match last {
                true => last_words(&context, meta),
                false => [0; 4],
            };
            words[1] |= DD | length << LENGTH_SHIFT;
            words
        })
    }

    /// Status of the programming of filter `id`: uses one descriptor, without its buffer.
    /// `error` is zero, [`TABLE_FULL`] or [`NO_ENTRY`].
    pub fn program_status(&mut self, host: &mut Host, id: u32, error: u8) -> Outcome {
        let status = PROGRAM_STATUS | PROGRAM_FLOW_DIRECTOR | DD;
        let word = status | u64::from(error) << ERROR_SHIFT;
        self.report(host, [u64::from(id) << 32, word, 0, 0])
    }
}

/// The descriptor that ends a frame, without its length.
fn last_words(context: &RxContext, meta: Meta) -> [u64; 4] {
    let mut words = [0; 4];
    words[1] = EOF
        | u64::from(meta.status)
        | u64::from(meta.errors) << ERROR_SHIFT
        | u64::from(meta.ptype) << PTYPE_SHIFT;
    match meta.vlan {
        Some(tag) if context.tag_in_l2tag1 => {
            words[0] |= u64::from(tag) << 16;
            words[1] |= L2TAG1P;
        }
        Some(tag) => words[2] |= u64::from(tag) << 48 | L2TAG2P,
        None => {}
    }
    // A short descriptor has either the hash or the id
    match (meta.hash, meta.fd_id) {
        (_, Some(id)) if !context.long => {
            words[0] |= u64::from(id) << 32;
            words[1] |= FLTSTAT_FD_ID;
        }
        (Some(hash), _) => {
            words[0] |= u64::from(hash) << 32;
            words[1] |= FLTSTAT_RSS;
        }
        _ => {}
    }
    if let Some(id) = meta.fd_id {
        words[2] |= FLEXBH_FD_ID;
        words[3] |= u64::from(id) << 32;
    }
    words
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::event::Event;
    use crate::host::Timing;
    use crate::memory::GuestMemory;

    const RAM: u64 = 0x10_0000;
    const BUFFERS: u64 = RAM + 0x1_0000;
    const CONTEXT: RxContext = RxContext {
        head: 0,
        base: RAM,
        length: 16,
        buffer: 1024,
        long: false,
        strips_crc: true,
        tag_in_l2tag1: true,
        longest: 5120,
    };

    fn setup(context: RxContext, timing: Timing) -> (RxRing, Host) {
        let mut host = Host::new("test", 1, timing);
        host.memory = GuestMemory::with_ram(RAM, 1 << 20).expect("memory");
        host.bus_master = true;
        let size = if context.long { 32 } else { 16 };
        for index in 0..u64::from(context.length) {
            let buffer = BUFFERS + 2048 * index;
            host.memory
                .write_u64(RAM + size * index, buffer)
                .expect("ring");
        }
        let mut ring = RxRing::default();
        ring.enable(context, 15);
        (ring, host)
    }

    fn word(host: &Host, at: u64) -> u64 {
        host.memory.read_u64(RAM + at).expect("ring")
    }

    const META: Meta = Meta {
        ptype: 26,
        status: 1 << 3,
        errors: 1 << 4,
        hash: Some(0xABCD_0123),
        fd_id: None,
        vlan: Some(0x123),
    };

    #[test]
    fn short_descriptor() {
        let (mut ring, mut host) = setup(CONTEXT, Timing::LOCKSTEP);
        let frame: Vec<u8> = (0..60).collect();
        let outcome = ring.deliver(&mut host, &frame, META);
        assert_eq!(outcome, Outcome::Delivered(true));
        assert_eq!(word(&host, 0), 0xABCD_0123 << 32 | 0x123 << 16);
        let expected = 60 << 38 | 26 << 30 | 1 << 23 | 3 << 12 | 0xF;
        assert_eq!(word(&host, 8), expected);
        let mut data = [0; 60];
        host.memory.read(BUFFERS, &mut data).expect("buffer");
        assert_eq!(data[..], frame);
        // The id of a filter replaces the hash
        let meta = Meta {
            fd_id: Some(7),
            ..META
        };
        ring.deliver(&mut host, &frame, meta);
        assert_eq!(word(&host, 16) >> 32, 7);
        assert_eq!(word(&host, 24) >> 12 & 3, 1);
    }

    #[test]
    fn long_descriptor() {
        let context = RxContext {
            long: true,
            tag_in_l2tag1: false,
            ..CONTEXT
        };
        let (mut ring, mut host) = setup(context, Timing::LOCKSTEP);
        let meta = Meta {
            fd_id: Some(7),
            ..META
        };
        ring.deliver(&mut host, &[1; 60], META);
        ring.deliver(&mut host, &[1; 60], meta);
        assert_eq!(word(&host, 8) & L2TAG1P, 0);
        assert_eq!(word(&host, 16), 0x123 << 48 | L2TAG2P);
        assert_eq!(word(&host, 32), 0xABCD_0123 << 32);
        assert_eq!(word(&host, 40) >> 12 & 3, 3);
        assert_eq!(word(&host, 48) >> 4 & 3, 1);
        assert_eq!(word(&host, 56), 7 << 32);
    }

    #[test]
    fn status_is_in_the_last_descriptor_of_a_frame() {
        let (mut ring, mut host) = setup(CONTEXT, Timing::LOCKSTEP);
        ring.deliver(&mut host, &[1; 2500], META);
        assert_eq!(word(&host, 8), 1024 << 38 | DD);
        assert_eq!(word(&host, 24), 1024 << 38 | DD);
        assert_eq!(word(&host, 40) >> 38, 452);
        assert_eq!(word(&host, 40) & 0xF, 0xF);
        assert_eq!((word(&host, 0), word(&host, 16)), (0, 0));
    }

    #[test]
    fn limits() {
        let (mut ring, mut host) = setup(CONTEXT, Timing::LOCKSTEP);
        let long = [1; 5120];
        let deliver = |ring: &mut RxRing, host: &mut Host, length: usize, meta| {
            ring.deliver(host, &long[..length], meta)
        };
        let plain = Meta::default();
        // RXMAX includes the CRC and the stripped tag
        assert_eq!(deliver(&mut ring, &mut host, 5117, plain), Outcome::TooLong);
        assert_eq!(deliver(&mut ring, &mut host, 5113, META), Outcome::TooLong);
        for _ in 0..3 {
            let outcome = deliver(&mut ring, &mut host, 5116, plain);
            assert_eq!(outcome, Outcome::Delivered(true));
        }
        let outcome = deliver(&mut ring, &mut host, 60, plain);
        assert_eq!(outcome, Outcome::NoDescriptor);
        for index in 0..16 {
            let at = RAM + 16 * index;
            host.memory.write_u64(at, BUFFERS).expect("ring");
        }
        assert!(ring.set_tail(3) && !ring.set_tail(16));
        let outcome = deliver(&mut ring, &mut host, 4000, plain);
        assert_eq!(outcome, Outcome::Delivered(true));
        assert_eq!(host.events.total(), 0);
    }

    #[test]
    fn crc_if_the_queue_does_not_strip_it() {
        let context = RxContext {
            strips_crc: false,
            ..CONTEXT
        };
        let (mut ring, mut host) = setup(context, Timing::LOCKSTEP);
        ring.deliver(&mut host, &[1; 60], Meta::default());
        assert_eq!(word(&host, 8) >> 38, 64);
        let crc = host.memory.read_u32(BUFFERS + 60).expect("buffer");
        assert_eq!(crc, crc32fast::hash(&[1; 60]));
    }

    #[test]
    fn programming_status_takes_a_descriptor() {
        let (mut ring, mut host) = setup(CONTEXT, Timing::LOCKSTEP);
        let outcome = ring.program_status(&mut host, 99, TABLE_FULL);
        assert_eq!(outcome, Outcome::Delivered(true));
        assert_eq!(word(&host, 0), 99 << 32);
        assert_eq!(word(&host, 8), 1 << 63 | 1 << 19 | 1 << 2 | DD);
        ring.deliver(&mut host, &[1; 60], Meta::default());
        assert_eq!(word(&host, 24) >> 38, 60);
    }

    #[test]
    fn late_write_back_in_groups() {
        let late = Timing {
            writeback_group: 4,
            writeback_delay: Duration::from_millis(1),
            ..Timing::LOCKSTEP
        };
        let (mut ring, mut host) = setup(CONTEXT, late);
        let outcomes = [false, false, false, true, false, false]
            .map(|_| ring.deliver(&mut host, &[1; 60], Meta::default()));
        assert_eq!(outcomes[3], Outcome::Delivered(true));
        assert_eq!(outcomes[4], Outcome::Delivered(false));
        assert_eq!(word(&host, 4 * 16 + 8), 0);
        ring.flush(&mut host);
        assert_ne!(word(&host, 5 * 16 + 8), 0);
        assert_eq!(ring.next(&host), None);
        ring.deliver(&mut host, &[1; 60], Meta::default());
        host.now = ring.next(&host).expect("one waits");
        assert!(ring.run(&mut host) && !ring.run(&mut host));
        ring.deliver(&mut host, &[1; 60], Meta::default());
        ring.disable(&mut host);
        assert_ne!(
            word(&host, 7 * 16 + 8),
            0,
            "complete before the queue is disabled"
        );
        host.memory.clear();
        ring.flush(&mut host);
        assert_eq!(host.events.total(), 0);
    }

    #[test]
    fn damaged_length_and_bad_buffers() {
        let (mut ring, mut host) = setup(CONTEXT, Timing::LOCKSTEP);
        host.faults.corrupt_every = 2;
        ring.deliver(&mut host, &[1; 60], Meta::default());
        ring.deliver(&mut host, &[1; 60], Meta::default());
        assert_eq!(word(&host, 8) >> 38, 60);
        assert_eq!(word(&host, 24) >> 38, 61);
        host.memory.write_u64(RAM + 32, 0).expect("ring");
        let outcome = ring.deliver(&mut host, &[1; 60], Meta::default());
        assert_eq!(outcome, Outcome::Dropped);
        assert_eq!(host.events.count(Event::BadRxDescriptor), 1);
        let outcome = ring.deliver(&mut host, &[1; 60], Meta::default());
        assert_eq!(outcome, Outcome::NoDescriptor, "stuck until disabled");
    }
}
