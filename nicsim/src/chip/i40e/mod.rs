// SPDX-License-Identifier: GPL-2.0
//! Intel X710 10 GbE controller, one function with one port, device id 8086:1572, a
//! 10GBASE-SR module.
//!
//! The driver controls the switch, the link and the NVM through firmware, over the admin
//! queue ([`adminq`], [`firmware`]). The data path is in [`tx`] and [`rx`]; its queue
//! contexts are in host memory ([`hmc`]). nicsim/README.md lists unsupported features.

mod adminq;
mod classify;
mod fdir;
mod firmware;
mod hmc;
mod irq;
mod link;
mod nvm;
mod queues;
pub mod regs;
mod rss;
mod rx;
mod stats;
mod switch;
mod tx;

use std::time::{Duration, Instant};

use self::fdir::{FlowDirector, Verdict};
use self::firmware::Firmware;
use self::irq::{Direction, Interrupts};
use self::link::Link;
use self::nvm::Nvm;
use self::queues::Queues;
use self::regs::{Registers, SPACE, at};
use self::rss::Rss;
use self::rx::Meta;
use self::stats::Totals;
use self::switch::Switch;
use self::tx::{FilterProgram, Sent, Settings};
use crate::chip::Chip;
use crate::chip::packet_buffer::{PacketBuffer, Pause};
use crate::chip::ring::{Active, FRAME_MIN, Outcome, WORK_PER_TURN};
use crate::event::Event;
use crate::frame::checksum::{ipv4_header_ok, l4_ok};
use crate::frame::{self, L3, Parsed, VLAN};
use crate::host::Host;
use crate::pci::{self, Function, MsixLayout};

/// LAN queue pairs of the function.
pub const QUEUES: usize = 128;
/// MSI-X vectors of the function.
pub const VECTORS: usize = 129;
/// GL_MDET_TX: valid; the queue is in its low bits.
const DETECTED: u32 = 1 << 31;
const BAR0_SIZE: u64 = SPACE as u64;
/// Registers from here on are statistics.
const STATISTICS: u32 = at::GLPRT_GORC;
/// Bytes of the Rx packet buffer, a limit to PRTRPB_SPS.
const PACKET_BUFFER: u32 = 512 * 1024;

const FUNCTION_RESET: u32 = 1 << 0;
/// Bits of GLGEN_RTRIG: reset of the core, of the device, of the embedded management controller.
const RESET_TRIGGERS: u32 = 7;
/// GLGEN_RSTAT: a reset is requested; the bits above have its kind.
const RESET_REQUESTED: u32 = 1;
const RESET_KIND_SHIFT: u32 = 2;
/// Unit of the delay in GLGEN_RSTCTL.
const RESET_DELAY: Duration = Duration::from_millis(100);
const CLEAR_FILTERS: u32 = 1 << 0;
/// Maximum number of commands that a write to the tail of the admin queue executes. The
/// next turn of the loop executes the others.
const COMMANDS_PER_TURN: u32 = 64;

/// The model.
pub struct X710 {
    mac: [u8; 6],
    registers: Registers,
    nvm: Nvm,
    firmware: Firmware,
    link: Link,
    switch: Switch,
    interrupts: Interrupts,
    queues: Queues,
    director: FlowDirector,
    rss: Rss,
    stale_rss: bool,
    tx_active: Active,
    rx_active: Active,
    /// The main VSI has an enabled queue.
    listening: bool,
    buffer: PacketBuffer,
    /// The queue that the oldest frame in the packet buffer waits for.
    awaited: Option<usize>,
    /// There are commands to execute in the next turn.
    admin_waits: bool,
    /// When a triggered reset takes place.
    reset_due: Option<Instant>,
    totals: Totals,
    scratch: Vec<u8>,
}

/// Result for a frame that a VSI accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steered {
    /// Delivered, or dropped and counted.
    Done,
    /// The queue has no descriptors.
    Waits(usize),
}

/// First register and queue of a register in a per-queue array.
fn queue_register(offset: u32) -> Option<(u32, usize)> {
    const BYTES: u32 = 4 * QUEUES as u32;
    let bases = [
        at::QTX_ENA,
        at::QTX_TAIL,
        at::QRX_ENA,
        at::QRX_TAIL,
        at::QTX_HEAD,
    ];
    let base = bases
        .into_iter()
        .find(|base| (*base..*base + BYTES).contains(&offset))?;
    Some((base, ((offset - base) / 4) as usize))
}

impl X710 {
    /// A port with the station address `mac`, with its cable plugged in.
    pub fn new(mac: [u8; 6]) -> Self {
        let registers = regs::new();
        let mut chip = Self {
            mac,
            nvm: Nvm::new(),
            firmware: Firmware::default(),
            link: Link::new(true),
            switch: Switch::new(mac),
            interrupts: Interrupts::default(),
            queues: Queues::default(),
            director: FlowDirector::default(),
            rss: Rss::load(&registers),
            registers,
            stale_rss: true,
            tx_active: Active::default(),
            rx_active: Active::default(),
            listening: false,
            buffer: PacketBuffer::default(),
            awaited: None,
            admin_waits: false,
            reset_due: None,
            totals: Totals::default(),
            scratch: Vec::new(),
        };
        chip.reset_function();
        chip.totals = Totals::default();
        chip
    }

    // Resets

    /// Reset of the function: all but statistics, link and totals.
    fn reset_function(&mut self) {
        self.registers.reset_below(STATISTICS);
        let [a, b, c, d, e, f] = self.mac;
        let high = self.registers.get(at::PRTGL_SAH) | u32::from_le_bytes([e, f, 0, 0]);
        self.registers
            .set(at::PRTGL_SAL, u32::from_le_bytes([a, b, c, d]));
        self.registers.set(at::PRTGL_SAH, high);
        classify::reset_input_sets(&mut self.registers);
        self.firmware.reset_function();
        self.link.reset_function();
        self.switch = Switch::new(self.mac);
        self.interrupts = Interrupts::default();
        self.queues.forget();
        self.director.clear(&mut self.registers);
        self.stale_rss = true;
        self.tx_active.clear();
        self.rx_active.clear();
        self.listening = false;
        self.buffer.clear();
        self.awaited = None;
        self.admin_waits = false;
        self.totals.resets += 1;
    }

    /// The driver triggers a reset of more than the function. An interrupt announces it,
    /// and it takes place after the delay in GLGEN_RSTCTL.
    fn trigger_reset(&mut self, host: &mut Host, triggers: u32) {
        if triggers & RESET_TRIGGERS == 0 || self.reset_due.is_some() {
            return;
        }
        let kind = 32 - (triggers & RESET_TRIGGERS).leading_zeros();
        let status = kind << RESET_KIND_SHIFT | RESET_REQUESTED;
        self.registers.set(at::GLGEN_RSTAT, status);
        let delay = self.registers.get(at::GLGEN_RSTCTL) & 0x3F;
        self.reset_due = Some(host.now + RESET_DELAY * delay);
        self.raise(host, irq::GRST);
    }

    /// The triggered reset. It also resets statistics and, except for a core reset, the
    /// link. The register still has the kind of the reset.
    fn reset_core(&mut self, host: &mut Host) {
        const CORE: u32 = 1 << RESET_KIND_SHIFT;
        let status = self.registers.get(at::GLGEN_RSTAT) & !RESET_REQUESTED;
        host.tx.clear();
        self.registers.reset();
        self.reset_function();
        self.queues.reset_unnoticed = true;
        self.firmware = Firmware::default();
        if status != CORE {
            self.link = Link::new(self.link.plugged());
        }
        self.registers.set(at::GLGEN_RSTAT, status);
        self.reset_due = None;
        self.totals.global_resets += 1;
    }

    // Registers

    /// Effect of a write to a register of a queue.
    fn write_queue(&mut self, host: &mut Host, register: u32, queue: usize, value: u32) {
        let (registers, queues) = (&mut self.registers, &mut self.queues);
        match register {
            at::QTX_ENA => {
                let good = queues.write_tx_ena(host, registers, queue, value);
                self.tx_active.remove(queue);
                self.report_bad_context(host, good);
            }
            at::QRX_ENA => {
                let good = queues.write_rx_ena(host, registers, queue, value);
                self.rx_active.remove(queue);
                self.report_bad_context(host, good);
                self.find_listening();
                self.drain(host);
            }
            at::QTX_TAIL if queues.write_tx_tail(host, queue, value) => {
                self.tx_active.insert(queue);
                self.run_tx(host, queue, &mut { WORK_PER_TURN });
            }
            at::QRX_TAIL => {
                queues.write_rx_tail(host, queue, value);
                self.drain(host);
            }
            _ => {}
        }
    }

    fn report_bad_context(&mut self, host: &mut Host, good: bool) {
        if !good {
            self.raise(host, irq::HMC_ERR);
        }
    }

    /// Effect of a write to a register of RSS or the flow director.
    fn filter_register_written(&mut self, offset: u32, value: u32) {
        self.stale_rss |= Rss::depends_on(offset);
        match offset {
            at::PFQF_CTL_1 if value & CLEAR_FILTERS != 0 => {
                self.director.clear(&mut self.registers);
            }
            // Counters of matches: a write clears them
            at::GLQF_PCNT..0x26_7000 => self.registers.set(offset, 0),
            _ => {}
        }
    }

    fn find_listening(&mut self) {
        let main = |queue: &usize| self.switch.owner(*queue) == 0;
        self.listening = (0..QUEUES)
            .filter(main)
            .any(|queue| self.queues.rx[queue].enabled());
    }

    fn raise(&mut self, host: &mut Host, causes: u32) {
        self.interrupts
            .raise(host, &self.registers, &mut self.queues, causes);
    }

    fn queue_event(&mut self, host: &mut Host, queue: usize, direction: Direction) {
        let (registers, queues) = (&self.registers, &mut self.queues);
        self.interrupts
            .queue_event(host, registers, queues, queue, direction);
    }

    // Admin queue

    /// Executes commands, up to the limit per turn.
    fn run_admin(&mut self, host: &mut Host) {
        self.admin_waits = true;
        if host.is_stalled() {
            return;
        }
        for _ in 0..COMMANDS_PER_TURN {
            let Some(mut fetched) = adminq::fetch(host, &mut self.registers) else {
                self.admin_waits = false;
                break;
            };
            self.totals.admin_commands += 1;
            let answer = self.execute(host, &mut fetched.command);
            let registers = &mut self.registers;
            if adminq::complete(host, registers, &mut fetched, answer) {
                self.raise(host, irq::ADMINQ);
            }
            self.report_link(host);
        }
        self.find_listening();
    }

    /// Posts an event if the link changed and the driver enabled the event.
    fn report_link(&mut self, host: &mut Host) {
        let Some(event) = self.link.event() else {
            return;
        };
        if adminq::post(host, &mut self.registers, &event) {
            self.totals.admin_events += 1;
        }
        self.raise(host, irq::ADMINQ);
    }

    // Transmit

    /// Runs one Tx queue, up to `work`; true if it could do more.
    fn run_tx(&mut self, host: &mut Host, queue: usize, work: &mut usize) -> bool {
        if host.is_stalled() {
            return false;
        }
        let settings = Settings { vlan_type: VLAN };
        let malicious = host.events.count(Event::BadTxDescriptor);
        let mut ring = std::mem::take(&mut self.queues.tx[queue]);
        let done = ring.process(host, settings, work, |host, sent| match sent {
            Sent::Frame(frame) => self.send(host, queue, frame),
            Sent::Filter(program, frame) => {
                self.program_filter(host, queue, program, frame);
            }
        });
        if ring.next(host).is_none() {
            self.tx_active.remove(queue);
        }
        self.queues.tx[queue] = ring;
        if host.events.count(Event::BadTxDescriptor) != malicious {
            self.registers.set(at::GL_MDET_TX, DETECTED | queue as u32);
            self.registers.set(at::PF_MDET_TX, 1);
            self.raise(host, irq::MAL_DETECT);
        }
        if done.event {
            self.queue_event(host, queue, Direction::Tx);
        }
        done.more && host.tx_has_room()
    }

    fn send(&mut self, host: &mut Host, queue: usize, frame: &[u8]) {
        if !self.link.up() {
            stats::count(&mut self.registers, at::GLPRT_TDOLD);
            self.totals.tx_dropped += 1;
            return;
        }
        if !self.switch.may_send(frame) {
            self.totals.tx_dropped += 1;
            return;
        }
        stats::sent(&mut self.registers, self.switch.owner(queue), frame);
        self.totals.tx_frames += 1;
        self.totals.tx_bytes += frame.len() as u64;
        if self.link.loopback() {
            self.receive_frame(host, frame);
        } else {
            host.tx.push(frame);
        }
    }

    /// A failure is reported in the Rx queue of the same number.
    fn program_filter(
        &mut self,
        host: &mut Host,
        queue: usize,
        program: FilterProgram,
        frame: &[u8],
    ) {
        let error = self.director.program(&mut self.registers, program, frame);
        self.totals.fdir_programmed += 1;
        if error == 0 {
            return;
        }
        self.totals.fdir_failed += 1;
        let ring = &mut self.queues.rx[queue];
        if let Outcome::Delivered(written_back) =
            ring.program_status(host, program.id, error)
        {
            self.delivered(host, queue, written_back);
        }
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

    // Receive

    /// A frame from the wire, or from the transmitter in loopback.
    fn receive_frame(&mut self, host: &mut Host, frame: &[u8]) {
        self.totals.rx_wire += 1;
        if frame.len() < FRAME_MIN || frame.len() + 4 > self.link.frame_max() {
            let short = frame.len() < FRAME_MIN;
            let counter = if short { at::GLPRT_RUC } else { at::GLPRT_ROC };
            stats::count(&mut self.registers, counter);
            self.totals.rx_bad_length += 1;
            return;
        }
        stats::arrived(&mut self.registers, frame);
        if self.switch.receivers(frame) == 0 {
            self.totals.rx_filtered += 1;
            return;
        }
        if host.is_stalled() || self.is_lossless() && !self.buffer.is_empty() {
            self.store(frame);
            return;
        }
        match self.steer(host, frame) {
            Steered::Done => {}
            Steered::Waits(queue) if self.buffer.is_empty() || self.is_lossless() => {
                self.store(frame);
                self.awaited = (!self.buffer.is_empty()).then_some(queue);
            }
            Steered::Waits(queue) => self.drop_frame(self.switch.owner(queue)),
        }
    }

    /// With flow control a frame waits for descriptors and blocks all later ones. Without
    /// it, only the first frame waits, and others for the same queue are dropped.
    fn is_lossless(&self) -> bool {
        self.link.sends_pause()
    }

    fn store(&mut self, frame: &[u8]) {
        let size = self.registers.get(at::PRTRPB_SPS).min(PACKET_BUFFER);
        if self.buffer.bytes() + frame.len() > size as usize {
            stats::count(&mut self.registers, at::GLPRT_RDPC);
            self.totals.rx_missed += 1;
            return;
        }
        self.buffer.push(frame);
        self.update_pause();
    }

    fn update_pause(&mut self) {
        let high = self.registers.get(at::PRTRPB_SHW) as usize;
        let low = self.registers.get(at::PRTRPB_SLW) as usize;
        let on = self.is_lossless();
        match self.buffer.pause(on.then_some((low, high))) {
            Some(Pause::Xoff) => {
                stats::count(&mut self.registers, at::GLPRT_LXOFFTXC);
                self.totals.xoff_sent += 1;
            }
            Some(Pause::Xon) => stats::count(&mut self.registers, at::GLPRT_LXONTXC),
            None => {}
        }
    }

    /// Delivers frames of the packet buffer in order.
    fn drain(&mut self, host: &mut Host) {
        if self.buffer.is_empty() || host.is_stalled() {
            return;
        }
        self.awaited = None;
        while let Some(frame) = self.buffer.take() {
            if let Steered::Waits(queue) = self.steer(host, &frame) {
                if self.is_lossless() || self.buffer.is_empty() {
                    self.awaited = Some(queue);
                    self.buffer.put_back(frame);
                    break;
                }
                self.drop_frame(self.switch.owner(queue));
            }
            self.buffer.recycle(frame);
        }
        self.update_pause();
    }

    /// Delivers a frame to all VSIs that accept it. It may wait for a queue if it is for
    /// one VSI only.
    fn steer(&mut self, host: &mut Host, frame: &[u8]) -> Steered {
        if std::mem::take(&mut self.stale_rss) {
            self.rss = Rss::load(&self.registers);
        }
        let parsed = Parsed::parse(frame);
        let hash = self.rss.hash(classify::pctype(&parsed), frame, &parsed);
        let meta = Meta {
            hash,
            ..meta(frame, &parsed, self.link.loopback())
        };
        let mut receivers = self.switch.receivers(frame);
        let alone = receivers.is_power_of_two();
        while receivers != 0 {
            let vsi = receivers.trailing_zeros() as usize;
            receivers &= receivers - 1;
            match self.steer_to_vsi(host, vsi, frame, &parsed, meta) {
                Steered::Done => {}
                waits if alone => return waits,
                Steered::Waits(_) => self.drop_frame(vsi),
            }
        }
        Steered::Done
    }

    /// Steers a frame to a queue of a VSI.
    fn steer_to_vsi(
        &mut self,
        host: &mut Host,
        vsi: usize,
        frame: &[u8],
        parsed: &Parsed,
        mut meta: Meta,
    ) -> Steered {
        let pctype = classify::pctype(parsed);
        let registers = &mut self.registers;
        let verdict = self.director.find(registers, pctype, frame, parsed, vsi);
        let queue = match verdict {
            Some(Verdict::Drop) => {
                self.totals.rx_fdir_dropped += 1;
                return Steered::Done;
            }
            Some(Verdict::To(Some(index), id)) => {
                meta.fd_id = id;
                self.switch.queue_by_index(vsi, usize::from(index))
            }
            Some(Verdict::To(None, id)) => {
                meta.fd_id = id;
                self.rss.queue(&self.switch, vsi, meta.hash)
            }
            None => self.rss.queue(&self.switch, vsi, meta.hash),
        };
        match queue {
            Some(queue) if self.queues.rx[queue].enabled() => {
                if self.awaited == Some(queue) {
                    return Steered::Waits(queue);
                }
                let outcome = self.deliver(host, vsi, queue, frame, parsed, meta);
                self.account(host, vsi, queue, frame, outcome)
            }
            _ => {
                self.drop_frame(vsi);
                Steered::Done
            }
        }
    }

    /// Puts a frame into a queue, without its outer tag if the VSI strips tags.
    fn deliver(
        &mut self,
        host: &mut Host,
        vsi: usize,
        queue: usize,
        frame: &[u8],
        parsed: &Parsed,
        mut meta: Meta,
    ) -> Outcome {
        let ring = &mut self.queues.rx[queue];
        if parsed.vlans == 0 || !self.switch.strips_vlan(vsi) {
            return ring.deliver(host, frame, meta);
        }
        meta.vlan = Some(parsed.vlan_tci[0]);
        self.scratch.clear();
        self.scratch.extend_from_slice(&frame[..12]);
        self.scratch.extend_from_slice(&frame[16..]);
        ring.deliver(host, &self.scratch, meta)
    }

    fn account(
        &mut self,
        host: &mut Host,
        vsi: usize,
        queue: usize,
        frame: &[u8],
        outcome: Outcome,
    ) -> Steered {
        match outcome {
            Outcome::NoDescriptor => return Steered::Waits(queue),
            Outcome::Dropped => self.drop_frame(vsi),
            Outcome::TooLong => {
                stats::too_long(&mut self.registers);
                self.totals.rx_bad_length += 1;
            }
            Outcome::Delivered(written_back) => {
                stats::accepted(&mut self.registers, vsi, frame);
                self.totals.rx_frames += 1;
                self.totals.rx_bytes += frame.len() as u64;
                self.delivered(host, queue, written_back);
            }
        }
        Steered::Done
    }

    fn delivered(&mut self, host: &mut Host, queue: usize, written_back: bool) {
        if written_back {
            self.queue_event(host, queue, Direction::Rx);
        } else {
            self.rx_active.insert(queue);
        }
    }

    fn drop_frame(&mut self, vsi: usize) {
        stats::dropped(&mut self.registers, vsi);
        self.totals.rx_no_descriptor += 1;
    }

    /// Writes back Rx descriptors that are due; returns when the next ones are.
    fn run_rx(&mut self, host: &mut Host) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for queue in self.rx_active.iter() {
            if self.queues.rx[queue].run(host) {
                self.queue_event(host, queue, Direction::Rx);
            }
            match self.queues.rx[queue].next(host) {
                Some(due) => next = Some(next.map_or(due, |next| next.min(due))),
                None => self.rx_active.remove(queue),
            }
        }
        next
    }
}

/// Description of a frame for descriptors, without the hash.
fn meta(frame: &[u8], parsed: &Parsed, loopback: bool) -> Meta {
    const L3L4P: u32 = 1 << 3;
    const MULTICAST: u32 = 1 << 9;
    const BROADCAST: u32 = 2 << 9;
    const LPBK: u32 = 1 << 14;
    const IPV6EXADD: u32 = 1 << 15;
    const IPE: u8 = 1 << 3;
    const L4E: u8 = 1 << 4;
    let mut meta = Meta {
        ptype: classify::ptype(parsed),
        ..Meta::default()
    };
    if frame::is_broadcast(frame) {
        meta.status |= BROADCAST;
    } else if frame::is_multicast(frame) {
        meta.status |= MULTICAST;
    }
    if loopback {
        meta.status |= LPBK;
    }
    if let L3::Ipv6 {
        extensions: true, ..
    } = parsed.l3
    {
        meta.status |= IPV6EXADD;
    }
    for (good, error) in [
        (ipv4_header_ok(frame, parsed), IPE),
        (l4_ok(frame, parsed), L4E),
    ] {
        meta.status |= if good.is_some() { L3L4P } else { 0 };
        meta.errors |= if good == Some(false) { error } else { 0 };
    }
    meta
}

impl Chip for X710 {
    fn function(&self) -> Function {
        Function {
            vendor: 0x8086,
            device: 0x1572,
            revision: 1,
            class: 0x02_0000,
            subsystem_vendor: 0x8086,
            subsystem_device: 0x0000,
            bar0_size: BAR0_SIZE,
            bar0_prefetchable: true,
            msix: MsixLayout {
                bar: 3,
                bar_size: 0x8000,
                vectors: VECTORS as u16,
                table_offset: 0,
                pba_offset: 0x1000,
            },
            link: pci::Link { speed: 3, width: 8 },
            pm_offset: 0x40,
            msix_offset: 0x70,
            pcie_offset: 0xA0,
        }
    }

    fn reset(&mut self, host: &mut Host) {
        self.reset_core(host);
        host.msix.reset();
    }

    fn register_space(&self) -> u32 {
        SPACE
    }

    fn read_register(&mut self, host: &mut Host, offset: u32) -> u32 {
        if let Some(value) = self.interrupts.read(&self.registers, offset) {
            return value;
        }
        let value = self.registers.bus_read(&mut host.events, offset);
        match queue_register(offset) {
            Some((at::QTX_HEAD, queue)) if self.queues.tx[queue].enabled() => {
                self.queues.tx[queue].head()
            }
            _ => value,
        }
    }

    fn write_register(&mut self, host: &mut Host, offset: u32, value: u32) {
        let (registers, queues) = (&mut self.registers, &mut self.queues);
        if self
            .interrupts
            .write(host, registers, queues, offset, value)
        {
            return;
        }
        registers.bus_write(&mut host.events, offset, value);
        match offset {
            at::ATQT => self.run_admin(host),
            at::GLNVM_SRCTL => self.nvm.command(registers),
            at::PFGEN_CTRL if value & FUNCTION_RESET != 0 => {
                host.tx.clear();
                self.reset_function();
            }
            at::GLGEN_RTRIG => self.trigger_reset(host, value),
            at::PFHMC_SDCMD => queues.hmc.command(registers, value),
            // A write clears the detected event
            at::GL_MDET_TX | at::PF_MDET_TX => registers.set(offset, 0),
            at::GLLAN_TXPRE_QDIS..0x0E_6530 => {
                let block = (offset - at::GLLAN_TXPRE_QDIS) / 4;
                queues.write_qdis(registers, block, value);
            }
            _ => match queue_register(offset) {
                Some((register, queue)) => {
                    self.write_queue(host, register, queue, value);
                }
                None => self.filter_register_written(offset, value),
            },
        }
    }

    fn receive(&mut self, host: &mut Host, frame: &[u8]) {
        if self.link.up() && !self.link.loopback() {
            self.receive_frame(host, frame);
        } else {
            self.totals.rx_wire += 1;
            self.totals.rx_disabled += 1;
        }
    }

    /// While a frame waits for descriptors, sources with back-pressure wait.
    fn rx_backlog(&self) -> usize {
        if self.awaited.is_some() {
            PACKET_BUFFER as usize
        } else {
            self.buffer.bytes()
        }
    }

    fn rx_enabled(&self) -> bool {
        self.link.up() && self.listening
    }

    fn sends_pause(&self) -> bool {
        self.buffer.xoff()
    }

    fn heeds_pause(&self) -> bool {
        self.link.heeds_pause()
    }

    fn xoff_received(&mut self) {
        stats::count(&mut self.registers, at::GLPRT_LXOFFRXC);
        self.totals.xoff_received += 1;
    }

    fn set_link(&mut self, host: &mut Host, up: bool) {
        if self.link.plugged() != up {
            self.link.plug(up);
            self.report_link(host);
        }
    }

    fn run(&mut self, host: &mut Host) -> Option<Instant> {
        if host.is_stalled() {
            return host.faults.stall_until.filter(|_| !host.faults.unplugged);
        }
        if self.reset_due.is_some_and(|due| due <= host.now) {
            self.reset_core(host);
        }
        if self.link.due().is_some_and(|due| due <= host.now) {
            self.link.run(host.now);
            self.report_link(host);
        }
        if self.admin_waits {
            self.run_admin(host);
        }
        let more = self.run_all_tx(host);
        self.drain(host);
        let due = [
            (more || self.admin_waits).then_some(host.now),
            self.run_rx(host),
            self.tx_active.next_tx(&self.queues.tx, host),
            self.reset_due,
            self.link.due(),
        ];
        let (registers, queues) = (&self.registers, &mut self.queues);
        let interrupts = self.interrupts.run(host, registers, queues);
        due.into_iter().chain([interrupts]).flatten().min()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.totals.list()
    }
}

#[cfg(test)]
mod tests;
