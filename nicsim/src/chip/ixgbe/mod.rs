// SPDX-License-Identifier: GPL-2.0
//! Intel 82599 10 GbE controller, one port, device id 8086:10F9 (CX4): a permanent link
//! partner and no SFP module.
//!
//! Section numbers are those of the data sheet. nicsim/README.md lists unsupported
//! features.

mod eeprom;
mod filter;
mod irq;
pub mod regs;
mod rx;
mod stats;
mod tx;

use std::time::Instant;

use self::eeprom::Eeprom;
use self::filter::{Filters, FlowDirector, Rss, Verdict};
use self::irq::{Direction, Interrupts, LSC, VECTORS};
use self::regs::{Registers, SPACE, at};
use self::rx::{Meta, RxRing};
use self::stats::Totals;
use self::tx::{Settings, TxRing};
use crate::chip::Chip;
use crate::chip::packet_buffer::{PacketBuffer, Pause};
use crate::chip::ring::{Active, DESCRIPTOR, Extent, FRAME_MIN, Outcome, WORK_PER_TURN};
use crate::event::Event;
use crate::frame::checksum::{ipv4_header_ok, l4_ok};
use crate::frame::{L3, L4, Parsed};
use crate::host::Host;
use crate::pci::{Function, Link, MsixLayout};

const QUEUES: usize = 128;
const BAR0_SIZE: u64 = 512 * 1024;

const CTRL_LINK_RESET: u32 = 1 << 3;
const CTRL_RESET: u32 = 1 << 26;
const ENABLE: u32 = 1 << 25;
const RXCTRL_RXEN: u32 = 1;
const SECRX_DIS: u32 = 1 << 1;
const DMATXCTL_TE: u32 = 1;
const HLREG0_JUMBOEN: u32 = 1 << 2;
const HLREG0_TXPADEN: u32 = 1 << 10;
const HLREG0_LPBK: u32 = 1 << 15;
const RXCSUM_PCSD: u32 = 1 << 13;
const FCCFG_TFCE_802_3X: u32 = 1 << 3;
const MFLCN_RFCE: u32 = 1 << 3;
const FCRTH_FCEN: u32 = 1 << 31;
const FDIRCTRL_INIT_DONE: u32 = 1 << 3;
/// Up, 10 Gb/s (8.2.3.22.19).
const LINKS_UP_10G: u32 = 0x7000_0000;
/// Bytes of the Rx packet buffer, a limit to RXPBSIZE (7.1.3.1).
const PACKET_BUFFER: u32 = 512 * 1024;
/// Maximum frame length with CRC while jumbo frames are off (8.2.3.22.8).
const MAX_FRAME: usize = 1518;

/// The model.
pub struct Ixgbe {
    mac: [u8; 6],
    registers: Registers,
    eeprom: Eeprom,
    interrupts: Interrupts,
    filters: Filters,
    stale_filters: bool,
    director: FlowDirector,
    rx: Vec<RxRing>,
    tx: Vec<TxRing>,
    tx_active: Active,
    rx_active: Active,
    buffer: PacketBuffer,
    link: bool,
    totals: Totals,
    scratch: Vec<u8>,
}

/// Registers of a queue with effects.
const HEAD: u32 = 0x10;
const SRRCTL: u32 = 0x14;
const TAIL: u32 = 0x18;
const CONTROL: u32 = 0x28;

/// Base address of the registers of Rx queue `queue`.
fn rx_base(queue: usize) -> u32 {
    match queue as u32 {
        queue @ 0..64 => at::RX_LOW + 0x40 * queue,
        queue => at::RX_HIGH + 0x40 * (queue - 64),
    }
}

fn tx_base(queue: usize) -> u32 {
    at::TX + 0x40 * queue as u32
}

/// Queue and offset in its block of registers.
fn rx_register(offset: u32) -> Option<(usize, u32)> {
    let (first, base) = match offset {
        at::RX_LOW..0x2000 => (0, at::RX_LOW),
        at::RX_HIGH..0xE000 => (64, at::RX_HIGH),
        _ => return None,
    };
    Some((first + ((offset - base) >> 6) as usize, offset & 0x3F))
}

fn tx_register(offset: u32) -> Option<(usize, u32)> {
    (at::TX..0x8000)
        .contains(&offset)
        .then(|| (((offset - at::TX) >> 6) as usize, offset & 0x3F))
}

/// The first address of a register with two addresses (8.2.2).
fn canonical(offset: u32) -> u32 {
    match offset {
        at::SRRCTL_LOW..0x2140 => at::RX_LOW + SRRCTL + ((offset - at::SRRCTL_LOW) << 4),
        at::DCA_RXCTRL_LOW..0x2240 => {
            at::RX_LOW + 0x0C + ((offset - at::DCA_RXCTRL_LOW) << 4)
        }
        at::RAL_HIGH..0xA280 => at::RAL_LOW + (offset - at::RAL_HIGH),
        _ => offset,
    }
}

impl Ixgbe {
    /// A port with the station address `mac`, with its cable plugged in.
    pub fn new(mac: [u8; 6]) -> Self {
        let registers = regs::new();
        let mut chip = Self {
            mac,
            filters: Filters::load(&registers),
            registers,
            eeprom: Eeprom::new(),
            interrupts: Interrupts::default(),
            stale_filters: false,
            director: FlowDirector::default(),
            rx: (0..QUEUES).map(|_| RxRing::default()).collect(),
            tx: (0..QUEUES).map(|_| TxRing::default()).collect(),
            tx_active: Active::default(),
            rx_active: Active::default(),
            buffer: PacketBuffer::default(),
            link: true,
            totals: Totals::default(),
            scratch: Vec::new(),
        };
        chip.reset_registers();
        chip
    }

    /// Resets all state except the link and the totals (4.2.1.6).
    fn reset_registers(&mut self) {
        self.registers.reset();
        let [a, b, c, d, e, f] = self.mac;
        self.registers
            .set(at::RAL_LOW, u32::from_le_bytes([a, b, c, d]));
        self.registers
            .set(at::RAL_LOW + 4, 1 << 31 | u32::from_le_bytes([e, f, 0, 0]));
        self.interrupts = Interrupts::default();
        self.director.clear();
        self.buffer.clear();
        self.rx.iter_mut().for_each(RxRing::forget);
        self.tx.iter_mut().for_each(TxRing::forget);
        self.rx_active.clear();
        self.tx_active.clear();
        self.stale_filters = true;
        self.show_link();
    }

    fn show_link(&mut self) {
        let links = if self.link { LINKS_UP_10G } else { 0 };
        self.registers.set(at::LINKS, links);
    }

    fn is_set(&self, offset: u32, bits: u32) -> bool {
        self.registers.get(offset) & bits != 0
    }

    fn device_reset(&mut self, host: &mut Host) {
        self.totals.resets += 1;
        host.tx.clear();
        self.reset_registers();
    }

    /// The ring whose registers begin at `base`.
    fn extent(&self, base: u32) -> Extent {
        let value = |offset| self.registers.get(base + offset);
        let length = value(8) / DESCRIPTOR as u32;
        let wrap = |index| if index < length { index } else { 0 };
        Extent {
            base: u64::from(value(4)) << 32 | u64::from(value(0)),
            length,
            size: DESCRIPTOR,
            head: wrap(value(HEAD)),
            tail: wrap(value(TAIL)),
        }
    }

    /// Effect of a write to a register of an Rx queue, which is stored by now.
    fn write_rx(&mut self, host: &mut Host, queue: usize, register: u32, before: u32) {
        let base = rx_base(queue);
        let value = self.registers.get(base + register);
        match register {
            CONTROL if value & !before & ENABLE != 0 => {
                let extent = self.extent(base);
                self.rx[queue].start(extent);
            }
            CONTROL if before & !value & ENABLE != 0 => self.rx[queue].disable(host),
            TAIL if self.rx[queue].enabled() => {
                if !self.rx[queue].set_tail(value) && self.rx_enabled() {
                    host.events.record(Event::TailBeyondRing, || {
                        format!("Rx queue {queue}: {value}")
                    });
                }
                self.drain(host);
            }
            _ => {}
        }
        if let CONTROL | SRRCTL = register {
            let rxdctl = self.registers.get(base + CONTROL);
            self.rx[queue].configure(self.registers.get(base + SRRCTL), rxdctl);
            self.drain(host);
        }
    }

    /// Effect of a write to a register of a Tx queue, which is stored by now.
    fn write_tx(&mut self, host: &mut Host, queue: usize, register: u32, before: u32) {
        let base = tx_base(queue);
        let value = self.registers.get(base + register);
        match register {
            CONTROL if value & !before & ENABLE != 0 => {
                let extent = self.extent(base);
                if extent.length == 0 {
                    host.events.record(Event::BadRing, || {
                        format!("Tx queue {queue}: no length")
                    });
                }
                self.tx[queue].enable(extent, value);
            }
            CONTROL if before & !value & ENABLE != 0 => {
                self.tx[queue].disable(host);
                self.tx_active.remove(queue);
            }
            TAIL => self.write_tx_tail(host, queue, value),
            _ => {}
        }
    }

    /// Drivers write zero to the tail of a disabled queue before they set it up.
    fn write_tx_tail(&mut self, host: &mut Host, queue: usize, tail: u32) {
        let detail = || format!("Tx queue {queue}: {tail}");
        if self.tx[queue].enabled() {
            if self.tx[queue].set_tail(host, tail) {
                self.tx_active.insert(queue);
                self.run_tx(host, queue, &mut { WORK_PER_TURN });
            } else {
                host.events.record(Event::TailBeyondRing, detail);
            }
        } else if tail != 0 {
            host.events.record(Event::TailWhileDisabled, detail);
        }
    }

    /// Runs one Tx queue, up to `work`; true if it could do more.
    fn run_tx(&mut self, host: &mut Host, queue: usize, work: &mut usize) -> bool {
        let loopback = self.is_set(at::HLREG0, HLREG0_LPBK);
        let on = self.is_set(at::DMATXCTL, DMATXCTL_TE) && (self.link || loopback);
        if !on || host.is_stalled() {
            return false;
        }
        let settings = Settings {
            pad: self.is_set(at::HLREG0, HLREG0_TXPADEN),
            vlan_type: (self.registers.get(at::DMATXCTL) >> 16) as u16,
        };
        let mut ring = std::mem::take(&mut self.tx[queue]);
        let done = ring.process(host, settings, work, |host, frame| {
            stats::sent(&mut self.registers, queue as u32, frame);
            self.totals.tx_frames += 1;
            self.totals.tx_bytes += frame.len() as u64;
            if loopback {
                self.receive_frame(host, frame);
            } else {
                host.tx.push(frame);
            }
        });
        if ring.next(host).is_none() {
            self.tx_active.remove(queue);
        }
        self.tx[queue] = ring;
        if done.event {
            let queue = queue as u32;
            self.interrupts
                .queue_event(host, &self.registers, queue, Direction::Tx);
        }
        done.more && host.tx_has_room()
    }

    /// Runs all Tx queues, in turns; true if one of them could do more at once.
    fn run_all_tx(&mut self, host: &mut Host) -> bool {
        let mut work = WORK_PER_TURN;
        let mut more = false;
        for queue in self.tx_active.rotate() {
            more |= self.run_tx(host, queue, &mut work);
        }
        more
    }

    fn longest_frame(&self) -> usize {
        if self.is_set(at::HLREG0, HLREG0_JUMBOEN) {
            (self.registers.get(at::MHADD) >> 16) as usize
        } else {
            MAX_FRAME
        }
    }

    /// A frame from the wire, or from the transmitter in loopback.
    fn receive_frame(&mut self, host: &mut Host, frame: &[u8]) {
        self.totals.rx_wire += 1;
        stats::arrived(&mut self.registers, frame);
        let tag = if frame.get(12..14) == Some(&[0x81, 0]) {
            4
        } else {
            0
        };
        if frame.len() < FRAME_MIN || frame.len() + 4 > self.longest_frame() + tag {
            let counter = if frame.len() < FRAME_MIN {
                at::RUC
            } else {
                at::ROC
            };
            self.registers.count(counter, 1);
            self.totals.rx_bad_length += 1;
            return;
        }
        if std::mem::take(&mut self.stale_filters) {
            self.filters = Filters::load(&self.registers);
        }
        if !self.filters.accepts(&self.registers, frame) {
            self.totals.rx_filtered += 1;
            return;
        }
        stats::accepted(&mut self.registers, frame);
        if self.buffer.is_empty() && self.steer(host, frame) {
            return;
        }
        self.store(frame);
    }

    fn store(&mut self, frame: &[u8]) {
        let size: u32 = (0..8)
            .map(|index| self.registers.get(at::RXPBSIZE + 4 * index))
            .sum();
        if self.buffer.bytes() + frame.len() > size.min(PACKET_BUFFER) as usize {
            self.registers.count(at::MPC, 1);
            self.totals.rx_missed += 1;
            return;
        }
        self.buffer.push(frame);
        self.update_pause();
    }

    fn update_pause(&mut self) {
        let high = self.registers.get(at::FCRTH);
        let low = self.registers.get(at::FCRTL);
        let bytes = |value: u32| (value & 0x0007_FFE0) as usize;
        let on = self.is_set(at::FCCFG, FCCFG_TFCE_802_3X) && high & FCRTH_FCEN != 0;
        match self.buffer.pause(on.then(|| (bytes(low), bytes(high)))) {
            Some(Pause::Xoff) => {
                stats::pause_sent(&mut self.registers, at::LXOFFTXC);
                self.totals.xoff_sent += 1;
            }
            Some(Pause::Xon) => stats::pause_sent(&mut self.registers, at::LXONTXC),
            None => {}
        }
    }

    /// Delivers frames of the packet buffer in order. A frame that has to wait blocks all
    /// others, as in the chip (7.1.3.2).
    fn drain(&mut self, host: &mut Host) {
        if self.buffer.is_empty() {
            return;
        }
        while let Some(frame) = self.buffer.take() {
            if !self.rx_enabled() || !self.steer(host, &frame) {
                self.buffer.put_back(frame);
                break;
            }
            self.buffer.recycle(frame);
        }
        self.update_pause();
    }

    /// Steers a frame to its queue; false if it has to wait.
    fn steer(&mut self, host: &mut Host, frame: &[u8]) -> bool {
        if host.is_stalled() {
            return false;
        }
        let parsed = Parsed::parse(frame);
        let rss = self.filters.rss(frame, &parsed);
        let queue = match self.director.find(&mut self.registers, frame, &parsed) {
            Some(Verdict::Drop) => {
                self.totals.rx_fdir_dropped += 1;
                return true;
            }
            Some(Verdict::Queue(queue)) => usize::from(queue),
            None => usize::from(rss.queue),
        };
        if !self.rx[queue].enabled() {
            self.totals.rx_no_descriptor += 1;
            return true;
        }
        let mut meta = self.meta(frame, &parsed, rss);
        let outcome = if parsed.vlans > 0 && self.rx[queue].strips_vlan() {
            self.strip(&mut meta, frame, &parsed);
            let stripped = std::mem::take(&mut self.scratch);
            let outcome = self.rx[queue].deliver(host, &stripped, meta);
            self.scratch = stripped;
            outcome
        } else {
            self.rx[queue].deliver(host, frame, meta)
        };
        self.account(host, queue, frame.len(), outcome)
    }

    /// Counts and interrupts; false if the frame has to wait.
    fn account(
        &mut self,
        host: &mut Host,
        queue: usize,
        length: usize,
        outcome: Outcome,
    ) -> bool {
        match outcome {
            Outcome::NoDescriptor => return false,
            Outcome::Dropped | Outcome::TooLong => {
                stats::dropped(&mut self.registers, queue as u32);
                self.totals.rx_no_descriptor += 1;
            }
            Outcome::Delivered(written_back) => {
                stats::delivered(&mut self.registers, queue as u32, length);
                self.totals.rx_frames += 1;
                self.totals.rx_bytes += length as u64;
                if written_back {
                    let queue = queue as u32;
                    self.interrupts.queue_event(
                        host,
                        &self.registers,
                        queue,
                        Direction::Rx,
                    );
                } else {
                    self.rx_active.insert(queue);
                }
            }
        }
        true
    }

    /// Writes back Rx descriptors that are due; returns when the next ones are.
    fn run_rx(&mut self, host: &mut Host) -> Option<Instant> {
        let mut next = None;
        for queue in self.rx_active.iter() {
            let ring = &mut self.rx[queue];
            let written_back = ring.run(host);
            match ring.next(host) {
                Some(due) => next = Some(next.map_or(due, |next: Instant| next.min(due))),
                None => self.rx_active.remove(queue),
            }
            if written_back {
                let queue = queue as u32;
                self.interrupts
                    .queue_event(host, &self.registers, queue, Direction::Rx);
            }
        }
        next
    }

    /// Copies the frame without its outer tag to the scratch buffer.
    fn strip(&mut self, meta: &mut Meta, frame: &[u8], parsed: &Parsed) {
        meta.vlan = parsed.vlan_tci[0];
        self.scratch.clear();
        self.scratch.extend_from_slice(&frame[..12]);
        self.scratch.extend_from_slice(&frame[16..]);
    }

    /// Description of the frame for descriptors (7.1.5.1.3 and 7.1.5.2).
    fn meta(&self, frame: &[u8], parsed: &Parsed, rss: Rss) -> Meta {
        let hashed = self.is_set(at::RXCSUM, RXCSUM_PCSD);
        Meta {
            packet_info: packet_type(parsed) | rss.kind,
            hash: if hashed { rss.hash } else { 0 },
            status: status(frame, parsed),
            vlan: 0,
        }
    }
}

fn packet_type(parsed: &Parsed) -> u32 {
    let l3 = match parsed.l3 {
        L3::None => return 0,
        L3::Ipv4 { options: false, .. } => 0x10,
        L3::Ipv4 { options: true, .. } => 0x30,
        L3::Ipv6 {
            extensions: false, ..
        } => 0x40,
        L3::Ipv6 {
            extensions: true, ..
        } => 0xC0,
    };
    let l4 = match parsed.l4 {
        L4::Tcp => 0x100,
        L4::Udp => 0x200,
        L4::Sctp => 0x400,
        _ => 0,
    };
    l3 | l4
}

/// Checksum and VLAN bits of status and errors.
fn status(frame: &[u8], parsed: &Parsed) -> u32 {
    const VP: u32 = 1 << 3;
    const UDPCS: u32 = 1 << 4;
    const L4CS: u32 = 1 << 5;
    const IPCS: u32 = 1 << 6;
    const TCPE: u32 = 1 << 30;
    const IPE: u32 = 1 << 31;
    let mut status = if parsed.vlans > 0 { VP } else { 0 };
    if let Some(good) = ipv4_header_ok(frame, parsed) {
        status |= IPCS | if good { 0 } else { IPE };
    }
    if let Some(good) = l4_ok(frame, parsed) {
        status |= L4CS | if good { 0 } else { TCPE };
        if parsed.l4 == L4::Udp {
            status |= UDPCS;
        }
    }
    status
}

impl Chip for Ixgbe {
    fn function(&self) -> Function {
        Function {
            vendor: 0x8086,
            device: 0x10F9,
            revision: 1,
            class: 0x02_0000,
            subsystem_vendor: 0x8086,
            subsystem_device: 0x000C,
            bar0_size: BAR0_SIZE,
            bar0_prefetchable: false,
            msix: MsixLayout {
                bar: 4,
                bar_size: 0x4000,
                vectors: VECTORS as u16,
                table_offset: 0,
                pba_offset: 0x2000,
            },
            link: Link { speed: 2, width: 8 },
            pm_offset: 0x40,
            msix_offset: 0x70,
            pcie_offset: 0xA0,
        }
    }

    fn reset(&mut self, host: &mut Host) {
        self.device_reset(host);
        host.msix.reset();
    }

    fn register_space(&self) -> u32 {
        SPACE
    }

    fn read_register(&mut self, host: &mut Host, offset: u32) -> u32 {
        let offset = canonical(offset);
        if let Some(value) = self.interrupts.read(offset) {
            return value;
        }
        let value = self.registers.bus_read(&mut host.events, offset);
        match offset {
            // A read acquires the semaphore (8.2.3.4.11)
            at::SWSM => self.registers.set(offset, value | 1),
            // With the data path off, it is idle at once (8.2.3.12)
            at::SECTXSTAT => {
                return value | u32::from(self.is_set(at::SECTXCTRL, SECRX_DIS));
            }
            at::SECRXSTAT => {
                return value | u32::from(self.is_set(at::SECRXCTRL, SECRX_DIS));
            }
            at::FDIRCTRL if value != 0 => return value | FDIRCTRL_INIT_DONE,
            _ => {}
        }
        match (rx_register(offset), tx_register(offset)) {
            (Some((queue, HEAD)), _) if self.rx[queue].enabled() => self.rx[queue].head(),
            (_, Some((queue, HEAD))) if self.tx[queue].enabled() => self.tx[queue].head(),
            _ => value,
        }
    }

    fn write_register(&mut self, host: &mut Host, offset: u32, value: u32) {
        let offset = canonical(offset);
        if self.interrupts.write(host, &self.registers, offset, value) {
            return;
        }
        let before = self.registers.get(offset);
        self.registers.bus_write(&mut host.events, offset, value);
        self.stale_filters |= Filters::depends_on(offset);
        match offset {
            at::CTRL if value & (CTRL_LINK_RESET | CTRL_RESET) != 0 => {
                self.device_reset(host);
            }
            at::EERD => self.registers.set(offset, self.eeprom.read(value)),
            at::FDIRCMD => self.director.command(&mut self.registers, value),
            at::FDIRCTRL => self.director.clear(),
            at::RXCTRL | at::SECRXCTRL => self.drain(host),
            at::DMATXCTL | at::HLREG0 => {
                self.run_all_tx(host);
            }
            _ => {
                if let Some((queue, register)) = rx_register(offset) {
                    self.write_rx(host, queue, register, before);
                } else if let Some((queue, register)) = tx_register(offset) {
                    self.write_tx(host, queue, register, before);
                }
            }
        }
    }

    fn receive(&mut self, host: &mut Host, frame: &[u8]) {
        if self.rx_enabled() && !self.is_set(at::HLREG0, HLREG0_LPBK) {
            self.receive_frame(host, frame);
        } else {
            self.totals.rx_wire += 1;
            self.totals.rx_disabled += 1;
        }
    }

    fn rx_backlog(&self) -> usize {
        self.buffer.bytes()
    }

    fn rx_enabled(&self) -> bool {
        (self.link || self.is_set(at::HLREG0, HLREG0_LPBK))
            && self.is_set(at::RXCTRL, RXCTRL_RXEN)
            && !self.is_set(at::SECRXCTRL, SECRX_DIS)
    }

    fn sends_pause(&self) -> bool {
        self.buffer.xoff()
    }

    fn heeds_pause(&self) -> bool {
        self.is_set(at::MFLCN, MFLCN_RFCE)
    }

    fn xoff_received(&mut self) {
        self.registers.count(at::LXOFFRXCNT, 1);
        self.totals.xoff_received += 1;
    }

    fn set_link(&mut self, host: &mut Host, up: bool) {
        if self.link != up {
            self.link = up;
            self.show_link();
            self.interrupts.raise(host, &self.registers, 0, LSC);
        }
    }

    fn run(&mut self, host: &mut Host) -> Option<Instant> {
        if host.is_stalled() {
            return host.faults.stall_until.filter(|_| !host.faults.unplugged);
        }
        let more = self.run_all_tx(host);
        self.drain(host);
        let due = [
            more.then_some(host.now),
            self.run_rx(host),
            self.tx_active.next_tx(&self.tx, host),
            self.interrupts.run(host, &self.registers),
        ];
        due.into_iter().flatten().min()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.totals.list()
    }
}

#[cfg(test)]
mod tests;
