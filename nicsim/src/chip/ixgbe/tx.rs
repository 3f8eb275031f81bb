// SPDX-License-Identifier: GPL-2.0
//! Tx queues: descriptors, offloads, write-back (data sheet 7.2).

use std::ops::RangeInclusive;

use crate::chip::ring::{self, Done, Extent, FRAME_MIN, OVERHEAD};
use crate::event::Event;
use crate::frame::checksum::{insert_ipv4, insert_l4};
use crate::frame::segment::{Layout, Segmenter};
use crate::frame::{L4, insert_vlan};
use crate::host::Host;

/// Maximum bytes of a frame before segmentation: 256 KB of payload (7.2.4.5) and headers.
const FRAME_MAX: usize = 256 * 1024 + 1024;
/// Maximum frame length without segmentation (8.2.3.22.13: MAXFRS).
const JUMBO_MAX: usize = 15872;
/// Maximum number of data descriptors of a frame, without WTHRESH (7.2.1.1).
const PARTS_MAX: u32 = 40 - 2;
/// Minimum segment size, so that one descriptor cannot cause a flood of frames.
const MSS_MIN: usize = 32;

const DTYP: u32 = 0x00F0_0000;
const DTYP_CONTEXT: u32 = 0x0020_0000;
const DTYP_DATA: u32 = 0x0030_0000;
const EOP: u32 = 1 << 24;
const RS: u32 = 1 << 27;
const DEXT: u32 = 1 << 29;
const VLE: u32 = 1 << 30;
const TSE: u32 = 1 << 31;
const POPTS_IXSM: u32 = 1 << 8;
const POPTS_TXSM: u32 = 1 << 9;
/// Ranges of MACLEN and IPLEN in the context of a frame with an offload (7.2.3.2.3).
const MAC_LENGTHS: RangeInclusive<usize> = 14..=127;
const IP_LENGTHS: RangeInclusive<usize> = 20..=511;
const TUCMD_IPV4: u32 = 1 << 10;
const L4T_SHIFT: u32 = 11;
/// Written back in the last dword of a descriptor (7.2.3.2.5).
const DD: u64 = 1 << 32;

/// Headers according to a context descriptor (7.2.3.2.3).
#[derive(Clone, Copy, Debug, Default)]
struct Context {
    vlan: u16,
    mac_len: usize,
    ip_len: usize,
    l4_len: usize,
    mss: usize,
    ipv4: bool,
    l4: L4,
}

impl Context {
    fn decode(low: u64, high: u64) -> Self {
        let command = high as u32;
        let sizes = (high >> 32) as u32;
        Self {
            vlan: (low >> 16) as u16,
            mac_len: (low >> 9 & 0x7F) as usize,
            ip_len: (low & 0x1FF) as usize,
            l4_len: (sizes >> 8 & 0xFF) as usize,
            mss: (sizes >> 16) as usize,
            ipv4: command & TUCMD_IPV4 != 0,
            l4: match command >> L4T_SHIFT & 3 {
                0 => L4::Udp,
                1 => L4::Tcp,
                2 => L4::Sctp,
                _ => L4::None,
            },
        }
    }

    /// Inserts the checksums that `options` request; false if the lengths are invalid or
    /// the headers exceed the frame.
    fn insert_sums(&self, options: u32, frame: &mut [u8]) -> bool {
        if options & (POPTS_IXSM | POPTS_TXSM) == 0 {
            return true;
        }
        MAC_LENGTHS.contains(&self.mac_len)
            && IP_LENGTHS.contains(&self.ip_len)
            && (options & POPTS_IXSM == 0
                || insert_ipv4(frame, self.mac_len, self.ip_len))
            && (options & POPTS_TXSM == 0
                || insert_l4(frame, self.mac_len, self.mac_len + self.ip_len, self.l4))
    }
}

/// Command and options of a frame, from its first data descriptor.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    command: u32,
    options: u32,
    legacy_vlan: u16,
    /// Number of data descriptors so far.
    parts: u32,
}

impl Order {
    /// Whether PAYLEN is the length of a frame that is not segmented (7.2.3.2.4).
    fn has_length(&self, length: usize) -> bool {
        self.command & DEXT == 0 || (self.options >> 14) as usize == length
    }
}

/// Settings of all frames of the port.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// HLREG0.TXPADEN: short frames are padded to 60 bytes.
    pub pad: bool,
    /// Ethertype of the tags that are inserted, from DMATXCTL.
    pub vlan_type: u16,
}

/// State between descriptors.
#[derive(Debug, Default)]
pub struct State {
    contexts: [Context; 2],
    order: Option<Order>,
    /// Maximum number of data descriptors of a frame.
    parts_max: u32,
}

/// One Tx queue.
pub type TxRing = ring::TxRing<State>;

impl TxRing {
    /// Starts the queue, with TXDCTL.
    pub fn enable(&mut self, extent: Extent, txdctl: u32) {
        let wthresh = txdctl >> 16 & 0x7F;
        let state = State {
            parts_max: PARTS_MAX.saturating_sub(wthresh),
            ..State::default()
        };
        self.start(extent, state);
    }

    /// Stops the queue. Completed descriptors are written back before the driver can see
    /// that the queue is disabled; there is no DMA afterwards.
    pub fn disable(&mut self, host: &mut Host) {
        if self.enabled() {
            self.write_back(host);
        }
        self.forget();
    }

    /// Fetches descriptors up to the tail, passes each frame to `emit`, and writes back
    /// descriptors that are due. `work` limits the work and is reduced by it.
    pub fn process(
        &mut self,
        host: &mut Host,
        settings: Settings,
        work: &mut usize,
        mut emit: impl FnMut(&mut Host, &[u8]),
    ) -> Done {
        let more = self.fetch(host, work, |queue, host, low, high| {
            let cost = queue.descriptor(host, settings, low, high, &mut emit);
            let command = high as u32;
            if command & RS != 0 && command & DTYP != DTYP_CONTEXT {
                queue.ring.push(());
                queue.ring.start_delay(host.now);
            } else {
                queue.ring.advance();
            }
            cost
        });
        let event = self.is_due(host) && self.write_back(host);
        Done { event, more }
    }

    /// Executes one descriptor; returns its work.
    fn descriptor(
        &mut self,
        host: &mut Host,
        settings: Settings,
        low: u64,
        high: u64,
        emit: &mut impl FnMut(&mut Host, &[u8]),
    ) -> usize {
        let command = high as u32;
        let extended = command & DEXT != 0;
        if extended && command & DTYP == DTYP_CONTEXT {
            let index = (high >> 36 & 1) as usize;
            self.chip.contexts[index] = Context::decode(low, high);
            return OVERHEAD;
        }
        if extended && command & DTYP != DTYP_DATA {
            host.events
                .record(Event::BadTxDescriptor, || format!("type in {high:#x}"));
            self.bad = true;
        }
        let order = self.chip.order.get_or_insert(Order {
            command,
            options: if extended { (high >> 32) as u32 } else { 0 },
            legacy_vlan: if extended { 0 } else { (high >> 48) as u16 },
            parts: 0,
        });
        order.parts = order.parts.saturating_add(1);
        let length = (high & 0xFFFF) as usize;
        self.gather(host, low, length, FRAME_MAX);
        let mut cost = OVERHEAD + length;
        if command & EOP != 0 {
            self.finish(host, settings, &mut |host, frame| {
                cost += OVERHEAD + frame.len();
                emit(host, frame);
            });
        }
        cost
    }

    /// The frame is complete: applies offloads and sends it.
    fn finish(
        &mut self,
        host: &mut Host,
        settings: Settings,
        emit: &mut impl FnMut(&mut Host, &[u8]),
    ) {
        let order = self.chip.order.take().unwrap_or_default();
        let mut frame = std::mem::take(&mut self.frame);
        if order.parts > self.chip.parts_max {
            let (parts, most) = (order.parts, self.chip.parts_max);
            host.events.record(Event::BadTxDescriptor, || {
                format!("frame of {parts} descriptors, more than {most}")
            });
            self.bad = true;
        }
        if !std::mem::take(&mut self.bad) {
            self.offload(host, settings, order, &mut frame, emit);
        }
        frame.clear();
        self.frame = frame;
    }

    fn offload(
        &self,
        host: &mut Host,
        settings: Settings,
        order: Order,
        frame: &mut Vec<u8>,
        emit: &mut impl FnMut(&mut Host, &[u8]),
    ) {
        let context = self.chip.contexts[(order.options >> 4 & 1) as usize];
        let vlan = (order.command & VLE != 0).then_some(match order.command & DEXT {
            0 => order.legacy_vlan,
            _ => context.vlan,
        });
        if order.command & (DEXT | TSE) == DEXT | TSE {
            segment(host, settings, context, vlan, frame, emit);
            return;
        }
        let length = frame.len();
        if length > JUMBO_MAX || !order.has_length(length) {
            host.events.record(Event::BadTxDescriptor, || {
                format!("frame of {length} bytes, options {:#x}", order.options)
            });
            return;
        }
        if !context.insert_sums(order.options, frame) {
            let length = frame.len();
            host.events.record(Event::BadTxDescriptor, || {
                format!("checksums by {context:?} in {length} bytes")
            });
            return;
        }
        send(host, settings, vlan, frame, emit);
    }

    /// Sets DD in all descriptors that are due; all else is reserved and written as zero,
    /// DD last (7.2.3.2.5). True if there were any.
    fn write_back(&mut self, host: &mut Host) -> bool {
        self.ring
            .write_back(host, "Tx write-back", |memory, at, ()| {
                memory.write_u64(at, 0)?;
                memory.write_u64(at.wrapping_add(8), DD)
            })
    }
}

fn segment(
    host: &mut Host,
    settings: Settings,
    context: Context,
    vlan: Option<u16>,
    frame: &[u8],
    emit: &mut impl FnMut(&mut Host, &[u8]),
) {
    let l4 = context.mac_len + context.ip_len;
    let layout = Layout {
        l3: context.mac_len,
        l4,
        payload: l4 + context.l4_len,
        ipv4: context.ipv4,
        kind: context.l4,
        mss: context.mss,
    };
    let sane = (MSS_MIN..JUMBO_MAX - layout.payload).contains(&layout.mss);
    let Some(mut segmenter) = Segmenter::new(frame, layout).filter(|_| sane) else {
        host.events.record(Event::BadTxDescriptor, || {
            format!("cannot be segmented: {layout:?}")
        });
        return;
    };
    let mut out = Vec::with_capacity(layout.payload + layout.mss + 4);
    while segmenter.next_into(frame, &mut out) {
        send(host, settings, vlan, &mut out, emit);
    }
}

fn send(
    host: &mut Host,
    settings: Settings,
    vlan: Option<u16>,
    frame: &mut Vec<u8>,
    emit: &mut impl FnMut(&mut Host, &[u8]),
) {
    if let Some(tag) = vlan {
        insert_vlan(frame, settings.vlan_type, tag);
    }
    if settings.pad && frame.len() < FRAME_MIN {
        frame.resize(FRAME_MIN, 0);
    }
    emit(host, frame);
}
