// SPDX-License-Identifier: GPL-2.0
//! Tx queues: descriptors, offloads, write-back (data sheet 7.2).

use std::collections::VecDeque;
use std::time::Instant;

use crate::event::Event;
use crate::frame::checksum::{insert_ipv4, insert_l4};
use crate::frame::segment::{Layout, Segmenter};
use crate::frame::{L4, insert_vlan};
use crate::host::Host;

/// Bytes of a descriptor.
pub const DESCRIPTOR: u64 = 16;
/// Most that one frame, or one buffer to be segmented, may have: 256 KB of payload
/// (7.2.4.5) after headers.
const FRAME_MAX: usize = 256 * 1024 + 1024;
/// Largest frame without segmentation (8.2.3.22.13: MAXFRS).
const JUMBO_MAX: usize = 15872;
/// Shortest frame on the wire, without its CRC.
pub const FRAME_MIN: usize = 60;
/// Segments get no smaller, so that one descriptor cannot make a flood of frames.
const MSS_MIN: usize = 32;
/// Work that one access may cause, in bytes moved; the rest is done in the next turn of
/// the loop. A ring of 4096 short frames fits.
pub const WORK_PER_TURN: usize = 1 << 20;
/// What a descriptor, and a frame, cost beside their bytes.
const OVERHEAD: usize = 64;

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
const TUCMD_IPV4: u32 = 1 << 10;
const L4T_SHIFT: u32 = 11;
/// Written back in the last dword of a descriptor (7.2.3.2.5).
const DD: u64 = 1 << 32;

/// What a context descriptor says of the headers (7.2.3.2.3).
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
}

/// Command and options of a frame, from its first data descriptor.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    command: u32,
    options: u32,
    legacy_vlan: u16,
}

/// What holds for all frames of the port, read once for each call.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// HLREG0.TXPADEN: short frames are padded to 60 bytes.
    pub pad: bool,
    /// Ethertype of the tags that are inserted, from DMATXCTL.
    pub vlan_type: u16,
}

/// What a call of [`TxRing::process`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Descriptors were written back: the queue's cause is due.
    pub written_back: bool,
    /// There is more to do as soon as the FIFO has room, or in the next turn.
    pub more: bool,
}

/// One Tx queue.
#[derive(Debug, Default)]
pub struct TxRing {
    enabled: bool,
    base: u64,
    length: u32,
    head: u32,
    tail: u32,
    contexts: [Context; 2],
    frame: Vec<u8>,
    order: Option<Order>,
    /// The frame that is being gathered cannot be sent; what is left of it is skipped.
    bad: bool,
    /// A descriptor could not be read: nothing goes on until the queue is disabled.
    stuck: bool,
    due: VecDeque<u32>,
    oldest: Option<Instant>,
    /// When to look at the tail.
    tail_due: Option<Instant>,
}

impl TxRing {
    /// Whether the queue is enabled.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Index of the next descriptor that will be fetched.
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Starts the queue on a ring of `length` descriptors at `base`.
    pub fn enable(&mut self, base: u64, length: u32, head: u32, tail: u32) {
        let wrap = |index: u32| if index < length { index } else { 0 };
        let (frame, due) = (
            std::mem::take(&mut self.frame),
            std::mem::take(&mut self.due),
        );
        *self = Self {
            enabled: true,
            base,
            length,
            head: wrap(head),
            tail: wrap(tail),
            frame,
            due,
            ..Self::default()
        };
        self.frame.clear();
        self.due.clear();
    }

    /// Stops the queue. What is complete is written back before the driver can see
    /// that the queue is disabled; after that there is no DMA any more.
    pub fn disable(&mut self, host: &mut Host) {
        if self.enabled {
            self.write_back(host);
        }
        self.forget();
    }

    /// Stops the queue at a reset: nothing more is written.
    pub fn forget(&mut self) {
        self.enabled = false;
        self.stuck = false;
        self.bad = false;
        self.order = None;
        self.frame.clear();
        self.due.clear();
        self.oldest = None;
        self.tail_due = None;
    }

    /// The driver moved the tail. False if the ring has no such descriptor.
    pub fn set_tail(&mut self, host: &Host, tail: u32) -> bool {
        if tail >= self.length {
            return false;
        }
        self.tail = tail;
        self.tail_due
            .get_or_insert(host.now + host.timing.tail_delay);
        true
    }

    /// When [`process`](Self::process) has something to do that waits for time.
    pub fn next(&self, host: &Host) -> Option<Instant> {
        let flush = self.oldest.map(|oldest| oldest + write_back_delay(host));
        match (flush, self.tail_due) {
            (Some(flush), Some(tail)) => Some(flush.min(tail)),
            (flush, tail) => flush.or(tail),
        }
    }

    /// Fetches descriptors up to the tail, hands each frame to `emit`, and writes back
    /// what is due. `work` is how much it may do, and gets less by what it did.
    pub fn process(
        &mut self,
        host: &mut Host,
        settings: Settings,
        work: &mut usize,
        mut emit: impl FnMut(&mut Host, &[u8]),
    ) -> Done {
        let mut done = Done::default();
        if !self.enabled {
            return done;
        }
        if self.tail_due.is_some_and(|due| due <= host.now) && !host.faults.tx_stop {
            done.more = self.fetch(host, settings, work, &mut emit);
            if !done.more {
                self.tail_due = None;
            }
        }
        let overdue = self
            .oldest
            .is_some_and(|oldest| oldest + write_back_delay(host) <= host.now);
        if overdue || self.group_is_full(host) {
            done.written_back = self.write_back(host);
        }
        done
    }

    fn group_is_full(&self, host: &Host) -> bool {
        !self.due.is_empty()
            && host.faults.tx_delay.is_zero()
            && self.due.len() >= host.timing.writeback_group as usize
    }

    /// True if descriptors are left that can be fetched later.
    fn fetch(
        &mut self,
        host: &mut Host,
        settings: Settings,
        work: &mut usize,
        emit: &mut impl FnMut(&mut Host, &[u8]),
    ) -> bool {
        if self.head == self.tail || self.stuck || !host.may_dma() {
            return false;
        }
        while self.head != self.tail {
            if *work == 0 || !host.tx_has_room() {
                return true;
            }
            let at = self.base.wrapping_add(u64::from(self.head) * DESCRIPTOR);
            let read = (
                host.memory.read_u64(at),
                host.memory.read_u64(at.wrapping_add(8)),
            );
            let (Ok(low), Ok(high)) = read else {
                self.stuck = true;
                if let Err(fault) = read.0.and(read.1) {
                    host.note_fault("Tx descriptor", fault);
                }
                return false;
            };
            let cost = self.descriptor(host, settings, low, high, emit);
            *work = work.saturating_sub(cost);
            if high as u32 & RS != 0 && high as u32 & DTYP != DTYP_CONTEXT {
                self.due.push_back(self.head);
                self.oldest.get_or_insert(host.now);
            }
            self.head = if self.head + 1 == self.length {
                0
            } else {
                self.head + 1
            };
        }
        false
    }

    /// Acts on one descriptor; returns how much work it was.
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
            self.contexts[index] = Context::decode(low, high);
            return OVERHEAD;
        }
        if extended && command & DTYP != DTYP_DATA {
            host.events
                .note(Event::BadTxDescriptor, || format!("type in {high:#x}"));
            self.bad = true;
        }
        self.order.get_or_insert(Order {
            command,
            options: if extended { (high >> 32) as u32 } else { 0 },
            legacy_vlan: if extended { 0 } else { (high >> 48) as u16 },
        });
        let length = (high & 0xFFFF) as usize;
        self.gather(host, low, length);
        let mut cost = OVERHEAD + length;
        if command & EOP != 0 {
            self.finish(host, settings, &mut |host, frame| {
                cost += OVERHEAD + frame.len();
                emit(host, frame);
            });
        }
        cost
    }

    fn gather(&mut self, host: &mut Host, address: u64, length: usize) {
        if self.bad {
            return;
        }
        let start = self.frame.len();
        if length == 0 || start + length > FRAME_MAX {
            host.events.note(Event::BadTxDescriptor, || {
                format!("length {length} after {start}")
            });
            self.bad = true;
            return;
        }
        self.frame.resize(start + length, 0);
        if let Err(fault) = host.memory.read(address, &mut self.frame[start..]) {
            host.note_fault("Tx buffer", fault);
            self.bad = true;
        }
    }

    /// The frame is complete: offloads, then out.
    fn finish(
        &mut self,
        host: &mut Host,
        settings: Settings,
        emit: &mut impl FnMut(&mut Host, &[u8]),
    ) {
        let order = self.order.take().unwrap_or_default();
        let mut frame = std::mem::take(&mut self.frame);
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
        let context = self.contexts[(order.options >> 4 & 1) as usize];
        let vlan = (order.command & VLE != 0).then_some(match order.command & DEXT {
            0 => order.legacy_vlan,
            _ => context.vlan,
        });
        if order.command & (DEXT | TSE) == DEXT | TSE {
            segment(host, settings, context, vlan, frame, emit);
            return;
        }
        if frame.len() > JUMBO_MAX {
            let length = frame.len();
            host.events.note(Event::BadTxDescriptor, || {
                format!("frame of {length} bytes")
            });
            return;
        }
        let l4 = context.mac_len + context.ip_len;
        if order.options & POPTS_IXSM != 0 {
            insert_ipv4(frame, context.mac_len, context.ip_len);
        }
        if order.options & POPTS_TXSM != 0 {
            insert_l4(frame, context.mac_len, l4, context.l4);
        }
        send(host, settings, vlan, frame, emit);
    }

    /// Sets DD in all descriptors that are due. True if there were any.
    fn write_back(&mut self, host: &mut Host) -> bool {
        self.oldest = None;
        if self.due.is_empty() || !host.may_dma() {
            self.due.clear();
            return false;
        }
        while let Some(index) = self.due.pop_front() {
            let at = self.base.wrapping_add(u64::from(index) * DESCRIPTOR);
            // All but DD is reserved and written as zero, DD last
            let done = host
                .memory
                .write_u64(at, 0)
                .and_then(|()| host.memory.write_u64(at.wrapping_add(8), DD));
            if let Err(fault) = done {
                host.note_fault("Tx write-back", fault);
            }
        }
        true
    }
}

fn write_back_delay(host: &Host) -> std::time::Duration {
    host.timing.writeback_delay.max(host.faults.tx_delay)
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
        host.events.note(Event::BadTxDescriptor, || {
            format!("cannot be cut: {layout:?}")
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
