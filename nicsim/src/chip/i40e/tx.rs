// SPDX-License-Identifier: GPL-2.0
//! Tx queues: descriptors, offloads, filter programming, write-back.
//!
//! A descriptor with RS is reported as done: by DD in the descriptor, or by the head at
//! the address in the queue context. With head write-back, later frames without RS are
//! also reported when the interrupt vector of the queue fires ([`TxRing::flush`]). Linux
//! relies on it: it sets RS in every fourth frame and expects all of them to complete.

use std::ops::RangeInclusive;

use super::hmc::TxContext;
use crate::chip::ring::{self, DESCRIPTOR, Done, Extent, FRAME_MIN, OVERHEAD};
use crate::event::Event;
use crate::frame::checksum::{insert_ipv4, insert_l4};
use crate::frame::segment::{Layout, Segmenter};
use crate::frame::{L4, insert_vlan};
use crate::host::Host;

/// Maximum frame length without CRC and inserted tags.
const FRAME_MAX: usize = 9724;
/// Minimum frame length in a ring; a shorter one is malicious.
const GIVEN_MIN: usize = 17;
/// Maximum bytes of a frame before segmentation: the length field has 18 bits.
const SEND_MAX: usize = 256 * 1024;
/// Maximum number of descriptors of a frame that is not segmented; more are malicious.
const PARTS_MAX: u32 = 8;
/// Minimum segment size; a smaller one is malicious.
const MSS_MIN: usize = 64;
/// Range of MACLEN with an offload: an Ethernet header, and what the field can hold of
/// which Linux' driver uses 6 bits (`i40e_features_check`).
const MAC_LENGTHS: RangeInclusive<usize> = 14..=126;

const TYPE: u64 = 0xF;
const TYPE_DATA: u64 = 0x0;
const TYPE_CONTEXT: u64 = 0x1;
const TYPE_FILTER: u64 = 0x8;
/// Type of a descriptor that is written back.
const TYPE_DONE: u64 = 0xF;

const EOP: u64 = 1 << 4;
const RS: u64 = 1 << 5;
const IL2TAG1: u64 = 1 << 7;
const DUMMY: u64 = 1 << 8;

const CONTEXT_TSO: u64 = 1 << 4;
const CONTEXT_IL2TAG2: u64 = 1 << 6;

/// Headers in front of the innermost IP header (context descriptor).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tunnel {
    ip_len: usize,
    /// From the outer transport header to the inner IP header.
    nat_len: usize,
    /// The outer IP header is IPv4, with checksum insertion.
    ipv4: bool,
    ipv4_sum: bool,
    udp: bool,
    udp_sum: bool,
}

impl Tunnel {
    fn decode(low: u64) -> Option<Self> {
        let kind = low & 3;
        (kind != 0).then_some(Self {
            ip_len: (low >> 2 & 0x7F) as usize * 4,
            nat_len: (low >> 12 & 0x7F) as usize * 2,
            ipv4: kind >= 2,
            ipv4_sum: kind == 3,
            udp: low >> 9 & 3 == 1,
            udp_sum: low >> 23 & 1 != 0,
        })
    }

    fn len(&self) -> usize {
        self.ip_len + self.nat_len
    }
}

/// Fields of a context descriptor.
#[derive(Clone, Copy, Debug, Default)]
struct Context {
    segments: bool,
    mss: usize,
    payload: usize,
    outer_tag: Option<u16>,
    tunnel: Option<Tunnel>,
}

impl Context {
    fn decode(low: u64, high: u64) -> Self {
        Self {
            segments: high & CONTEXT_TSO != 0,
            mss: (high >> 50) as usize,
            payload: (high >> 30 & 0x3_FFFF) as usize,
            outer_tag: (high & CONTEXT_IL2TAG2 != 0).then_some((low >> 32) as u16),
            tunnel: Tunnel::decode(low),
        }
    }
}

/// Fields of the first data descriptor of a frame.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    tag: Option<u16>,
    dummy: bool,
    /// IPv4, with checksum insertion.
    ipv4: bool,
    ipv4_sum: bool,
    ipv6: bool,
    l4: L4,
    mac_len: usize,
    ip_len: usize,
    l4_len: usize,
}

impl Order {
    fn decode(high: u64) -> Self {
        let ip = high >> 9 & 3;
        Self {
            tag: (high & IL2TAG1 != 0).then_some((high >> 48) as u16),
            dummy: high & DUMMY != 0,
            ipv4: ip >= 2,
            ipv4_sum: ip == 3,
            ipv6: ip == 1,
            l4: match high >> 12 & 3 {
                1 => L4::Tcp,
                2 => L4::Sctp,
                3 => L4::Udp,
                _ => L4::None,
            },
            mac_len: (high >> 16 & 0x7F) as usize * 2,
            ip_len: (high >> 23 & 0x7F) as usize * 4,
            l4_len: (high >> 30 & 0xF) as usize * 4,
        }
    }

    /// Whether checksums are requested with lengths of headers that are possible, in a
    /// frame of `length` bytes whose IP header is at `l3`. L4T needs IIPT.
    fn is_sane(&self, l3: usize, length: usize) -> bool {
        if !self.ipv4_sum && self.l4 == L4::None {
            return true;
        }
        let ip = match (self.ipv4, self.ipv6) {
            (true, _) => 20..=60,
            (_, true) => 40..=508,
            _ => return false,
        };
        let l4 = match self.l4 {
            L4::Tcp => 20..=60,
            L4::Udp => 8..=8,
            L4::Sctp => 12..=12,
            _ => 0..=60,
        };
        MAC_LENGTHS.contains(&self.mac_len)
            && ip.contains(&self.ip_len)
            && l4.contains(&self.l4_len)
            && l3 + self.ip_len + self.l4_len <= length
    }
}

/// A flow director filter to add or remove. Its flow is that of the frame that follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterProgram {
    /// Queue of the flow's frames.
    pub queue: u16,
    /// VSI of that queue.
    pub vsi: u16,
    /// Packet classifier type of the filter.
    pub pctype: u8,
    /// Remove it, else add or update it.
    pub remove: bool,
    /// Action for frames of the flow: 0 drop, 1 to the queue, 2 as without filter.
    pub destination: u8,
    /// Counter of matches.
    pub counter: Option<u16>,
    /// Field that the Rx descriptor reports: 1 the id.
    pub report: u8,
    /// The frame is not sent: the filter is the user's, not derived from traffic.
    pub dummy: bool,
    /// Id of the filter.
    pub id: u32,
}

impl FilterProgram {
    fn decode(low: u64, high: u64) -> Self {
        let counted = high >> 11 & 1 != 0;
        Self {
            queue: (low & 0x7FF) as u16,
            vsi: (low >> 23 & 0x1FF) as u16,
            pctype: (low >> 17 & 0x3F) as u8,
            remove: high >> 4 & 7 == 2,
            destination: (high >> 7 & 3) as u8,
            counter: counted.then_some((high >> 20 & 0x1FF) as u16),
            report: (high >> 13 & 3) as u8,
            dummy: false,
            id: (high >> 32) as u32,
        }
    }
}

/// Output of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent<'a> {
    /// A frame for the wire.
    Frame(&'a [u8]),
    /// A filter, and a frame of its flow. If the frame is also sent, it follows.
    Filter(FilterProgram, &'a [u8]),
}

/// Settings of all frames of the port.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Ethertype of the tags that are inserted from data descriptors.
    pub vlan_type: u16,
}

/// Context of a queue, and state between descriptors.
#[derive(Debug, Default)]
pub struct State {
    context: TxContext,
    offload: Context,
    filter: Option<FilterProgram>,
    order: Option<Order>,
    parts: u32,
    /// Index after the last complete frame.
    finished: u32,
    /// Head of the last write-back.
    reported: u32,
}

/// One Tx queue.
pub type TxRing = ring::TxRing<State>;

impl TxRing {
    /// Starts the queue, without posted descriptors.
    pub fn enable(&mut self, context: TxContext) {
        let TxContext {
            base, length, head, ..
        } = context;
        let extent = Extent {
            base,
            length,
            size: DESCRIPTOR,
            head,
            tail: head,
        };
        let state = State {
            context,
            finished: head,
            reported: head,
            ..State::default()
        };
        self.start(extent, state);
    }

    /// Stops the queue. Completed descriptors are written back before the driver can see
    /// that the queue is disabled; there is no DMA afterwards.
    pub fn disable(&mut self, host: &mut Host) {
        if self.enabled() {
            self.write_back(host, true);
        }
        self.forget();
    }

    /// No descriptors are fetched while `held`.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Fetches descriptors up to the tail, passes each frame to `emit`, and writes back
    /// descriptors that are due. `work` limits the work and is reduced by it.
    pub fn process(
        &mut self,
        host: &mut Host,
        settings: Settings,
        work: &mut usize,
        mut emit: impl FnMut(&mut Host, Sent<'_>),
    ) -> Done {
        let more = self.fetch(host, work, |queue, host, low, high| {
            let cost = queue.descriptor(host, settings, low, high, &mut emit);
            queue.executed(host, high);
            cost
        });
        let event = self.is_due(host) && self.report(host);
        Done { event, more }
    }

    /// With throttling, frames without RS are reported when the vector fires.
    fn report(&mut self, host: &mut Host) -> bool {
        let waits = host.timing.throttle && host.faults.tx_delay.is_zero();
        if waits && !self.ring.has_due() {
            self.ring.take_due();
            return self.unreported();
        }
        self.write_back(host, !waits) || self.unreported()
    }

    /// Reports all complete descriptors when the queue's vector fires.
    pub fn flush(&mut self, host: &mut Host) {
        let may = !self.ring.is_delayed() || host.faults.tx_delay.is_zero();
        if self.enabled() && may {
            self.write_back(host, true);
        }
    }

    fn unreported(&self) -> bool {
        let State {
            context,
            finished,
            reported,
            ..
        } = &self.chip;
        context.head_write_back.is_some() && finished != reported
    }

    /// Moves the head past the executed descriptor.
    fn executed(&mut self, host: &Host, high: u64) {
        if high & TYPE != TYPE_DATA {
            return self.ring.advance();
        }
        if high & RS != 0 {
            self.ring.push(());
        } else {
            self.ring.advance();
        }
        if high & EOP != 0 {
            self.chip.finished = self.head();
        }
        if high & RS != 0 || self.unreported() {
            self.ring.start_delay(host.now);
        }
    }

    /// Executes one descriptor; returns its work.
    fn descriptor(
        &mut self,
        host: &mut Host,
        settings: Settings,
        low: u64,
        high: u64,
        emit: &mut impl FnMut(&mut Host, Sent<'_>),
    ) -> usize {
        match high & TYPE {
            TYPE_DATA => {}
            TYPE_CONTEXT if self.chip.order.is_none() => {
                self.chip.offload = Context::decode(low, high);
                return OVERHEAD;
            }
            TYPE_FILTER if self.chip.order.is_none() && self.chip.context.filters => {
                self.chip.filter = Some(FilterProgram::decode(low, high));
                return OVERHEAD;
            }
            _ => {
                host.events
                    .record(Event::BadTxDescriptor, || format!("type in {high:#x}"));
                self.bad = true;
                return OVERHEAD;
            }
        }
        self.chip.order.get_or_insert(Order::decode(high));
        let length = (high >> 34 & 0x3FFF) as usize;
        self.count_part(host);
        self.gather(host, low, length, SEND_MAX + FRAME_MAX);
        let mut cost = OVERHEAD + length;
        if high & EOP != 0 {
            self.finish(host, settings, &mut |host, sent| {
                if let Sent::Frame(frame) = sent {
                    cost += OVERHEAD + frame.len();
                }
                emit(host, sent);
            });
        }
        cost
    }

    fn count_part(&mut self, host: &mut Host) {
        let State { parts, offload, .. } = &mut self.chip;
        *parts += u32::from(!self.bad);
        if !self.bad && *parts > PARTS_MAX && !offload.segments {
            host.events
                .record(Event::BadTxDescriptor, || format!("part {parts}"));
            self.bad = true;
        }
    }

    /// The frame is complete: programs a filter, applies offloads and sends it.
    fn finish(
        &mut self,
        host: &mut Host,
        settings: Settings,
        emit: &mut impl FnMut(&mut Host, Sent<'_>),
    ) {
        let order = self.chip.order.take().unwrap_or_default();
        let offload = std::mem::take(&mut self.chip.offload);
        let filter = self.chip.filter.take();
        let mut frame = std::mem::take(&mut self.frame);
        self.chip.parts = 0;
        if !std::mem::take(&mut self.bad) {
            if let Some(filter) = filter {
                let dummy = order.dummy;
                emit(
                    host,
                    Sent::Filter(FilterProgram { dummy, ..filter }, &frame),
                );
            }
            if !order.dummy {
                send(host, settings, order, offload, &mut frame, emit);
            }
        }
        frame.clear();
        self.frame = frame;
    }

    /// Reports descriptors with RS, or `all` complete descriptors. True if there were
    /// any.
    fn write_back(&mut self, host: &mut Host, all: bool) -> bool {
        match self.chip.context.head_write_back {
            Some(at) => self.write_head(host, at, all),
            None => self
                .ring
                .write_back(host, "Tx write-back", |memory, at, ()| {
                    memory.write_u64(at.wrapping_add(8), TYPE_DONE)
                }),
        }
    }

    fn write_head(&mut self, host: &mut Host, at: u64, all: bool) -> bool {
        let last = self.ring.take_due();
        if last.is_none() && !self.unreported() || !host.may_dma() {
            return false;
        }
        let head = match last {
            _ if all => self.chip.finished,
            Some(index) => self.ring.following(index),
            None => return false,
        };
        self.chip.reported = head;
        if let Err(fault) = host.memory.write_u32(at, head) {
            host.record_fault("Tx head write-back", fault);
        }
        true
    }
}

/// Applies offloads and sends the frame.
fn send(
    host: &mut Host,
    settings: Settings,
    order: Order,
    offload: Context,
    frame: &mut Vec<u8>,
    emit: &mut impl FnMut(&mut Host, Sent<'_>),
) {
    if offload.segments {
        segment(host, settings, order, offload, frame, emit);
        return;
    }
    if !(GIVEN_MIN..=FRAME_MAX).contains(&frame.len()) {
        let length = frame.len();
        host.events.record(Event::BadTxDescriptor, || {
            format!("frame of {length} bytes")
        });
        return;
    }
    let l3 = order.mac_len + offload.tunnel.map_or(0, |tunnel| tunnel.len());
    if !order.is_sane(l3, frame.len()) {
        host.events.record(Event::BadTxDescriptor, || {
            format!("header lengths of {order:?} in {} bytes", frame.len())
        });
        return;
    }
    if order.ipv4_sum {
        insert_ipv4(frame, l3, order.ip_len);
    }
    if order.l4 != L4::None {
        insert_l4(frame, l3, l3 + order.ip_len, order.l4);
    }
    if let Some(tunnel) = offload.tunnel {
        insert_outer_sums(frame, order.mac_len, tunnel);
    }
    put_out(host, settings, order, offload, frame, emit);
}

fn segment(
    host: &mut Host,
    settings: Settings,
    order: Order,
    offload: Context,
    frame: &[u8],
    emit: &mut impl FnMut(&mut Host, Sent<'_>),
) {
    let l3 = order.mac_len + offload.tunnel.map_or(0, |tunnel| tunnel.len());
    let l4 = l3 + order.ip_len;
    let layout = Layout {
        l3,
        l4,
        payload: l4 + order.l4_len,
        ipv4: order.ipv4,
        kind: order.l4,
        mss: offload.mss,
    };
    let sane = (MSS_MIN..=FRAME_MAX.saturating_sub(layout.payload)).contains(&layout.mss)
        && layout.payload + offload.payload == frame.len()
        && offload.tunnel.is_none_or(|tunnel| tunnel.ip_len >= 20);
    let Some(mut segmenter) = Segmenter::new(frame, layout).filter(|_| sane) else {
        host.events.record(Event::BadTxDescriptor, || {
            format!("cannot be segmented: {layout:?}, {offload:?}")
        });
        return;
    };
    let mut out = Vec::with_capacity(layout.payload + layout.mss + 8);
    let mut count = 0;
    while segmenter.next_into(frame, &mut out) {
        if let Some(tunnel) = offload.tunnel {
            fix_outer(&mut out, order.mac_len, tunnel, count);
        }
        count = count.wrapping_add(1);
        put_out(host, settings, order, offload, &mut out, emit);
    }
}

/// Fixes lengths and checksums of the outer headers of segment number `count`.
fn fix_outer(frame: &mut [u8], outer: usize, tunnel: Tunnel, count: u16) {
    let length = frame.len().saturating_sub(outer);
    if tunnel.ipv4 {
        put16(frame, outer + 2, length as u16);
        let id = get16(frame, outer + 4).wrapping_add(count);
        put16(frame, outer + 4, id);
    } else {
        put16(frame, outer + 4, length.saturating_sub(40) as u16);
    }
    if tunnel.udp {
        let datagram = length.saturating_sub(tunnel.ip_len);
        put16(frame, outer + tunnel.ip_len + 4, datagram as u16);
        if tunnel.udp_sum {
            add_length(frame, outer + tunnel.ip_len + 6, datagram as u16);
        }
    }
    insert_outer_sums(frame, outer, tunnel);
}

fn insert_outer_sums(frame: &mut [u8], outer: usize, tunnel: Tunnel) {
    if tunnel.ipv4_sum {
        put16(frame, outer + 10, 0);
        insert_ipv4(frame, outer, tunnel.ip_len);
    }
    if tunnel.udp && tunnel.udp_sum {
        insert_l4(frame, outer, outer + tunnel.ip_len, L4::Udp);
    }
}

/// Adds the length, which the driver omits from the sum of the pseudo header.
fn add_length(frame: &mut [u8], field: usize, length: u16) {
    let (sum, carry) = get16(frame, field).overflowing_add(length);
    put16(frame, field, sum.wrapping_add(u16::from(carry)));
}

fn get16(frame: &[u8], at: usize) -> u16 {
    match frame.get(at..at + 2) {
        Some([high, low]) => u16::from_be_bytes([*high, *low]),
        _ => 0,
    }
}

fn put16(frame: &mut [u8], at: usize, value: u16) {
    if let Some(target) = frame.get_mut(at..at + 2) {
        target.copy_from_slice(&value.to_be_bytes());
    }
}

/// Sends a frame with its tags, the outer one last, and padding.
fn put_out(
    host: &mut Host,
    settings: Settings,
    order: Order,
    offload: Context,
    frame: &mut Vec<u8>,
    emit: &mut impl FnMut(&mut Host, Sent<'_>),
) {
    for tag in [order.tag, offload.outer_tag].into_iter().flatten() {
        insert_vlan(frame, settings.vlan_type, tag);
    }
    if frame.len() < FRAME_MIN {
        frame.resize(FRAME_MIN, 0);
    }
    emit(host, Sent::Frame(frame));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::chip::ring::WORK_PER_TURN;
    use crate::frame::Parsed;
    use crate::frame::checksum::{ipv4_header_ok, l4_ok};
    use crate::host::Timing;
    use crate::memory::GuestMemory;

    const RAM: u64 = 0x10_0000;
    const BUFFERS: u64 = RAM + 0x1_0000;
    const HEAD: u64 = RAM + 0x8000;
    const LENGTH: u32 = 32;
    const EOP_RS: u64 = EOP | RS;

    struct Setup {
        ring: TxRing,
        host: Host,
        frames: Vec<Vec<u8>>,
        filters: Vec<FilterProgram>,
    }

    impl Setup {
        fn new(timing: Timing, head_write_back: bool) -> Self {
            let mut host = Host::new("test", 1, timing);
            host.memory = GuestMemory::with_ram(RAM, 1 << 20).expect("memory");
            host.bus_master = true;
            let mut ring = TxRing::default();
            ring.enable(TxContext {
                head: 0,
                base: RAM,
                length: LENGTH,
                head_write_back: head_write_back.then_some(HEAD),
                filters: true,
            });
            Self {
                ring,
                host,
                frames: Vec::new(),
                filters: Vec::new(),
            }
        }

        fn put(&self, index: u64, low: u64, high: u64) {
            let at = RAM + index * DESCRIPTOR;
            self.host.memory.write_u64(at, low).expect("ring");
            self.host.memory.write_u64(at + 8, high).expect("ring");
        }

        fn data(&self, index: u64, length: u64, flags: u64) {
            self.put(index, BUFFERS, length << 34 | flags);
        }

        fn buffer(&self, frame: &[u8]) {
            self.host.memory.write(BUFFERS, frame).expect("buffer");
        }

        fn tail(&mut self, tail: u32) -> Done {
            assert!(self.ring.set_tail(&self.host, tail));
            self.process()
        }

        fn process(&mut self) -> Done {
            let (frames, filters) = (&mut self.frames, &mut self.filters);
            let settings = Settings { vlan_type: 0x8100 };
            let mut work = WORK_PER_TURN;
            self.ring
                .process(&mut self.host, settings, &mut work, |_, sent| match sent {
                    Sent::Frame(frame) => frames.push(frame.to_vec()),
                    Sent::Filter(filter, _) => filters.push(filter),
                })
        }

        fn written_head(&self) -> u32 {
            self.host.memory.read_u32(HEAD).expect("head")
        }

        fn is_done(&self, index: u64) -> bool {
            let at = RAM + index * DESCRIPTOR + 8;
            self.host.memory.read_u64(at).expect("ring") & TYPE == TYPE_DONE
        }
    }

    /// UDP or TCP over IPv4 with the sum of the pseudo header as from the driver.
    fn ipv4(protocol: u8, payload: usize, with_length: bool) -> Vec<u8> {
        let transport: usize = if protocol == 6 { 20 } else { 8 };
        let mut frame = vec![0x5A; 34 + transport + payload];
        frame[12..14].copy_from_slice(&[8, 0]);
        let total = (20 + transport + payload) as u16;
        frame[14..34].copy_from_slice(&[
            0x45, 0, 0, 0, 0, 7, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        put16(&mut frame, 16, total);
        let (field, zero) = if protocol == 6 { (50, 46) } else { (40, 38) };
        put16(
            &mut frame,
            zero,
            if protocol == 6 { 0x5010 } else { total - 20 },
        );
        let length = if with_length { total - 20 } else { 0 };
        let pseudo = 0x0A00u32 + 1 + 0x0A00 + 2 + u32::from(protocol) + u32::from(length);
        put16(&mut frame, field, pseudo as u16);
        frame
    }

    fn assert_sums(frame: &[u8]) {
        let parsed = Parsed::parse(frame);
        assert_eq!(ipv4_header_ok(frame, &parsed), Some(true));
        assert_eq!(l4_ok(frame, &parsed), Some(true));
    }

    /// MAC 14, IP 20, transport as given; IPv4 with sum, TCP or UDP.
    fn offsets(l4_len: u64, l4t: u64) -> u64 {
        3 << 9 | l4t << 12 | 7 << 16 | 5 << 23 | (l4_len / 4) << 30
    }

    #[test]
    fn dd_only_where_rs_is_set() {
        let mut setup = Setup::new(Timing::LOCKSTEP, false);
        setup.buffer(&[7; 100]);
        setup.data(0, 100, EOP);
        setup.data(1, 100, EOP_RS);
        let done = setup.tail(2);
        assert!(done.event && !done.more);
        assert!(!setup.is_done(0) && setup.is_done(1));
        assert_eq!(setup.frames, [vec![7; 100], vec![7; 100]]);
        setup.data(2, 100, EOP);
        assert!(!setup.tail(3).event, "no RS");
        assert_eq!(setup.host.events.total(), 0);
    }

    #[test]
    fn head_is_written_for_frames_without_rs_too() {
        let mut setup = Setup::new(Timing::LOCKSTEP, true);
        setup.data(0, 60, EOP);
        assert!(setup.tail(1).event);
        assert_eq!(setup.written_head(), 1);
        setup.data(1, 30, 0); // half a frame: the head is still the end of the last frame
        assert!(!setup.tail(2).event);
        assert_eq!(setup.written_head(), 1);
        setup.data(2, 30, EOP_RS);
        assert!(setup.tail(3).event);
        assert_eq!(setup.written_head(), 3);
        assert!(!setup.is_done(2));
    }

    #[test]
    fn with_throttling_frames_without_rs_wait_for_the_vector() {
        let timing = Timing {
            throttle: true,
            ..Timing::LOCKSTEP
        };
        let mut setup = Setup::new(timing, true);
        setup.data(0, 60, EOP_RS);
        setup.data(1, 60, EOP);
        assert!(setup.tail(2).event);
        assert_eq!(setup.written_head(), 1);
        setup.data(2, 60, EOP);
        assert!(setup.tail(3).event, "the vector has to fire");
        assert_eq!(setup.written_head(), 1);
        assert_eq!(setup.ring.next(&setup.host), None);
        setup.ring.flush(&mut setup.host);
        assert_eq!(setup.written_head(), 3);
    }

    #[test]
    fn the_head_wraps() {
        let mut setup = Setup::new(Timing::LOCKSTEP, true);
        for index in 0..u64::from(LENGTH) {
            setup.data(index, 60, EOP_RS);
        }
        setup.tail(LENGTH - 1);
        assert_eq!(setup.written_head(), LENGTH - 1);
        setup.tail(0);
        assert_eq!(setup.written_head(), 0);
        assert_eq!(setup.frames.len(), LENGTH as usize);
        assert!(!setup.ring.set_tail(&setup.host, LENGTH));
    }

    #[test]
    fn inserts_sums_and_tags_and_pads() {
        let mut setup = Setup::new(Timing::LOCKSTEP, true);
        let frame = ipv4(17, 5, true);
        setup.buffer(&frame);
        let flags = EOP_RS | offsets(8, 3) | IL2TAG1 | 0x0123 << 48;
        setup.data(0, frame.len() as u64, flags);
        setup.tail(1);
        let sent = &setup.frames[0];
        assert_eq!(sent[12..18], [0x81, 0, 1, 0x23, 8, 0]);
        assert_eq!(sent.len(), 60);
        assert_sums(sent);
    }

    #[test]
    fn segments_tcp() {
        let mut setup = Setup::new(Timing::LOCKSTEP, true);
        let frame = ipv4(6, 250, false);
        setup.buffer(&frame);
        let context = TYPE_CONTEXT | CONTEXT_TSO | 250 << 30 | 100 << 50;
        setup.put(0, 0, context);
        setup.data(1, frame.len() as u64, EOP_RS | offsets(20, 1));
        setup.tail(2);
        let lengths: Vec<usize> = setup.frames.iter().map(Vec::len).collect();
        assert_eq!(lengths, [154, 154, 104]);
        setup.frames.iter().for_each(|frame| assert_sums(frame));
        assert_eq!(setup.host.events.total(), 0);
        setup.put(2, 0, TYPE_CONTEXT | CONTEXT_TSO | 249 << 30 | 100 << 50);
        setup.data(3, frame.len() as u64, EOP_RS | offsets(20, 1));
        setup.tail(4);
        assert_eq!(setup.host.events.count(Event::BadTxDescriptor), 1);
        assert_eq!(setup.frames.len(), 3);
    }

    #[test]
    fn segments_in_a_tunnel() {
        let mut setup = Setup::new(Timing::LOCKSTEP, true);
        // Outer MAC, IPv4, UDP, 8 bytes of VXLAN; then the inner frame
        let mut frame = ipv4(17, 0, false);
        put16(&mut frame, 16, 0);
        frame.extend_from_slice(&[0; 8]);
        frame.extend_from_slice(&ipv4(6, 250, false));
        setup.buffer(&frame);
        let nat = (8 + 8 + 14) / 2;
        let tunnel = 3 | 5 << 2 | 1 << 9 | nat << 12 | 1 << 23;
        let context = TYPE_CONTEXT | CONTEXT_TSO | 250 << 30 | 100 << 50;
        setup.put(0, tunnel, context);
        setup.data(1, frame.len() as u64, EOP_RS | offsets(20, 1));
        setup.tail(2);
        assert_eq!(setup.frames.len(), 3, "{:?}", setup.host.events);
        for (frame, payload) in setup.frames.iter().zip([100, 100, 50]) {
            assert_eq!(frame.len(), 50 + 54 + payload);
            assert_eq!(usize::from(get16(frame, 16)), frame.len() - 14);
            assert_eq!(usize::from(get16(frame, 38)), frame.len() - 34);
            assert_sums(frame);
            assert_sums(&frame[50..]);
        }
    }

    #[test]
    fn filters_reach_the_flow_director_with_their_frame() {
        let mut setup = Setup::new(Timing::LOCKSTEP, false);
        setup.buffer(&ipv4(17, 20, true));
        let low = 5 | 31 << 17 | 1 << 23;
        let high = TYPE_FILTER | 1 << 4 | 1 << 7 | 1 << 11 | 1 << 13 | 9 << 20 | 77 << 32;
        setup.put(0, low, high);
        setup.data(1, 512, EOP_RS | DUMMY);
        setup.put(2, low, high & !(7 << 4) | 2 << 4);
        setup.data(3, 60, EOP_RS);
        setup.tail(4);
        let added = FilterProgram {
            queue: 5,
            vsi: 1,
            pctype: 31,
            remove: false,
            destination: 1,
            counter: Some(9),
            report: 1,
            dummy: true,
            id: 77,
        };
        let removed = FilterProgram {
            remove: true,
            dummy: false,
            ..added
        };
        assert_eq!(setup.filters, [added, removed]);
        assert_eq!(setup.frames.len(), 1, "the dummy is not sent");
        assert!(setup.is_done(1) && setup.is_done(3));
    }

    #[test]
    fn malicious_descriptors() {
        let mut setup = Setup::new(Timing::LOCKSTEP, true);
        let bad = [(0, EOP_RS), (10, EOP_RS), (9725, EOP_RS), (60, EOP_RS | 3)];
        for (index, (length, flags)) in (0..).zip(bad) {
            setup.data(index, length, flags);
            setup.tail(index as u32 + 1);
            let seen = setup.host.events.count(Event::BadTxDescriptor);
            assert_eq!(seen, index + 1);
        }
        assert!(setup.frames.is_empty());
        // Descriptors after the last one, of a reserved type, are part of its frame
        setup.data(4, 60, EOP_RS);
        for index in 5..13 {
            setup.data(index, 60, 0);
        }
        setup.data(13, 60, EOP_RS);
        setup.data(14, 60, EOP_RS);
        setup.tail(15);
        assert_eq!(setup.host.events.count(Event::BadTxDescriptor), 5);
        assert_eq!(setup.frames.len(), 1, "nine parts are above the maximum");
        assert_eq!(setup.written_head(), 15);
    }

    #[test]
    fn header_lengths_of_a_checksum() {
        let mut setup = Setup::new(Timing::LOCKSTEP, true);
        let frame = ipv4(17, 5, true);
        setup.buffer(&frame);
        let length = frame.len() as u64;
        let fields = |ip: u64, l4t: u64, mac: u64, ip_len: u64, l4_len: u64| {
            EOP_RS | ip << 9 | l4t << 12 | mac << 16 | ip_len << 23 | l4_len << 30
        };
        let bad = [
            fields(0, 3, 7, 5, 2), // no IIPT
            fields(2, 3, 6, 5, 2), // no Ethernet header
            fields(2, 3, 64, 5, 2),
            fields(2, 3, 7, 4, 2), // no IPv4 header
            fields(1, 3, 7, 9, 2), // no IPv6 header
            fields(2, 3, 7, 5, 0), // no UDP header
            fields(2, 1, 7, 5, 4), // no TCP header
            fields(2, 1, 7, 5, 5), // TCP header beyond the frame
        ];
        let mut tail = 0;
        for flags in bad {
            setup.data(tail, length, flags);
            tail += 1;
            setup.tail(tail as u32);
            assert_eq!(setup.host.events.count(Event::BadTxDescriptor), tail);
        }
        assert!(setup.frames.is_empty());
        setup.data(tail, length, fields(2, 3, 7, 5, 2));
        setup.tail(tail as u32 + 1);
        assert_eq!(l4_ok(&setup.frames[0], &Parsed::parse(&frame)), Some(true));
    }

    #[test]
    fn no_dma_after_disable() {
        let timing = Timing {
            writeback_group: u32::MAX,
            writeback_delay: Duration::from_secs(1),
            ..Timing::LOCKSTEP
        };
        let mut setup = Setup::new(timing, true);
        setup.data(0, 60, EOP_RS);
        assert!(!setup.tail(1).event);
        assert_eq!(setup.written_head(), 0);
        setup.ring.disable(&mut setup.host);
        assert_eq!(
            setup.written_head(),
            1,
            "complete before the queue is disabled"
        );
        setup.host.memory.clear();
        setup.host.now += Duration::from_secs(2);
        assert!(!setup.process().event);
        setup.ring.flush(&mut setup.host);
        assert_eq!(setup.host.events.total(), 0);
    }

    #[test]
    fn faults_and_delays() {
        let timing = Timing {
            tail_delay: Duration::from_micros(50),
            ..Timing::LOCKSTEP
        };
        let mut setup = Setup::new(timing, true);
        setup.host.faults.tx_stop = true;
        setup.data(0, 60, EOP);
        setup.tail(1);
        setup.host.now = setup.ring.next(&setup.host).expect("due");
        setup.process();
        assert!(setup.frames.is_empty());
        setup.host.faults.tx_stop = false;
        setup.host.faults.tx_delay = Duration::from_millis(5);
        assert!(!setup.process().event);
        setup.ring.flush(&mut setup.host);
        assert_eq!((setup.frames.len(), setup.written_head()), (1, 0));
        setup.host.now = setup.ring.next(&setup.host).expect("due");
        assert!(setup.process().event);
        assert_eq!(setup.written_head(), 1);
    }

    #[test]
    fn nothing_is_fetched_while_held() {
        let mut setup = Setup::new(Timing::LOCKSTEP, true);
        setup.ring.hold(true);
        setup.data(0, 60, EOP_RS);
        setup.tail(1);
        assert!(setup.frames.is_empty());
        setup.ring.hold(false);
        setup.process();
        assert_eq!(setup.frames.len(), 1);
    }
}
