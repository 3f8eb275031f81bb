// SPDX-License-Identifier: GPL-2.0
//! The chip from the driver's point of view: firmware behind the admin queue, queues with
//! contexts in host memory, receive filters, resets.

use super::adminq::Fields;
use super::regs::at;
use super::switch::{FIRST_COUNTERS, MAIN_SEID};
use super::*;
use crate::frame::tests::{content, ethernet, ipv4, udp};
use crate::host::Timing;
use crate::memory::GuestMemory;

const RAM: u64 = 0x100_0000;
const SEND_RING: u64 = RAM;
const EVENT_RING: u64 = RAM + 0x1000;
const COMMAND_BUFFER: u64 = RAM + 0x2000;
/// The segment of private memory: Tx contexts, then Rx contexts.
const PRIVATE: u64 = RAM + 0x1_0000;
const TX_RINGS: u64 = RAM + 0x10_0000;
const RX_RINGS: u64 = RAM + 0x20_0000;
const BUFFERS: u64 = RAM + 0x30_0000;
/// Distance of the rings, and of the buffers, of two queues.
const QUEUE_SPACE: u64 = 0x1_0000;
const ENTRIES: u32 = 32;
const MAC: [u8; 6] = [2, 0, 0, 0x71, 0, 1];

const ENABLE: u32 = 1 << 31;
/// Offset of the counters of the main VSI.
const MAIN_COUNTERS: u32 = 8 * FIRST_COUNTERS as u32;
const EOP_RS: u64 = 3 << 4;
const DUMMY: u64 = 1 << 8;

/// A chip whose admin queues and first queue pairs are set up.
struct Machine {
    chip: X710,
    host: Host,
    commands: u32,
}

impl Machine {
    /// Sets up `queues` queue pairs of the main VSI.
    fn new(queues: usize) -> Self {
        let mut host = Host::new("test", VECTORS, Timing::LOCKSTEP);
        host.memory = GuestMemory::with_ram(RAM, 8 << 20).expect("memory");
        host.bus_master = true;
        let mut machine = Self {
            chip: X710::new(MAC),
            host,
            commands: 0,
        };
        machine.start_admin();
        machine.map_queues(queues);
        machine.set(at::PFHMC_SDDATALOW, PRIVATE as u32 | 3);
        machine.set(at::PFHMC_SDCMD, ENABLE);
        for (base, count) in [
            (at::GLHMC_LANTXBASE, at::GLHMC_LANTXCNT),
            (at::GLHMC_LANRXBASE, at::GLHMC_LANRXCNT),
        ] {
            let behind_tx = 128 * QUEUES as u32 / 512;
            let first = if base == at::GLHMC_LANTXBASE {
                0
            } else {
                behind_tx
            };
            machine.set(base, first);
            machine.set(count, QUEUES as u32);
        }
        for queue in 0..queues {
            machine.start_queue(queue);
        }
        machine
    }

    fn start_admin(&mut self) {
        self.commands = 0;
        for (low, length, ring) in [
            (at::ATQBAL, at::ATQLEN, SEND_RING),
            (at::ARQBAL, at::ARQLEN, EVENT_RING),
        ] {
            self.set(low, ring as u32);
            self.set(length, ENABLE | 32);
        }
        self.set(at::ARQT, 31);
        self.set(at::PFINT_ICR0_ENA, irq::ADMINQ | irq::GRST);
        self.set(at::PFINT_DYN_CTL0, 1);
    }

    /// The map of the main VSI: the first `queues` queues; broadcast is accepted.
    fn map_queues(&mut self, queues: usize) {
        let mut properties = [0; 128];
        properties.put16(0, 0x40);
        properties.put16(62, (queues.ilog2() << 9) as u16);
        self.admin(0x0211, &[(0, MAIN_SEID)], &properties);
        self.admin(0x0254, &[(0, 4), (2, 4), (4, MAIN_SEID)], &[]);
    }

    fn start_queue(&mut self, queue: usize) {
        let at = queue as u64;
        let register = 4 * queue as u32;
        let tx = context::<128>(&[
            (32, (TX_RINGS + at * QUEUE_SPACE) >> 7),
            (161, ENTRIES.into()),
            (91, 1),
        ]);
        let rx = context::<32>(&[
            (32, (RX_RINGS + at * QUEUE_SPACE) >> 7),
            (89, ENTRIES.into()),
            (102, 16),
            (117, 1),
            (119, 1),
            (174, 9728),
        ]);
        let tx_context = PRIVATE + 128 * at;
        let rx_context = PRIVATE + 128 * QUEUES as u64 + 32 * at;
        self.host.memory.write(tx_context, &tx).expect("context");
        self.host.memory.write(rx_context, &rx).expect("context");
        self.post(queue, ENTRIES - 1);
        self.set(at::QTX_CTL + register, 2);
        self.set(at::QTX_ENA + register, 1);
        self.set(at::QRX_ENA + register, 1);
        assert_eq!(self.get(at::QTX_ENA + register), 5);
        assert_eq!(self.get(at::QRX_ENA + register), 5);
    }

    /// Sets the buffers of all descriptors and posts `tail` of them.
    fn post(&mut self, queue: usize, tail: u32) {
        for index in 0..u64::from(ENTRIES) {
            let ring = RX_RINGS + queue as u64 * QUEUE_SPACE;
            let buffer = BUFFERS + queue as u64 * QUEUE_SPACE + 2048 * index;
            self.host
                .memory
                .write_u64(ring + 16 * index, buffer)
                .expect("ring");
            self.host
                .memory
                .write_u64(ring + 16 * index + 8, 0)
                .expect("ring");
        }
        self.set(at::QRX_TAIL + 4 * queue as u32, tail);
    }

    fn get(&mut self, offset: u32) -> u32 {
        let mut data = [0; 4];
        self.chip.read(&mut self.host, u64::from(offset), &mut data);
        u32::from_le_bytes(data)
    }

    fn set(&mut self, offset: u32, value: u32) {
        self.chip
            .write(&mut self.host, u64::from(offset), &value.to_le_bytes());
    }

    /// Sends a command; returns its code, parameters and buffer.
    fn try_admin(
        &mut self,
        opcode: u16,
        params: &[(usize, u16)],
        buffer: &[u8],
    ) -> (u16, [u8; 16], Vec<u8>) {
        let index = self.commands % 32;
        self.commands += 1;
        let address = SEND_RING + 32 * u64::from(index);
        let mut descriptor = [0; 32];
        descriptor.put16(0, 0x2000); // SI
        if !buffer.is_empty() {
            descriptor.put16(0, 0x3400);
        }
        descriptor.put16(2, opcode);
        descriptor.put16(4, buffer.len() as u16);
        for (at, value) in params {
            descriptor.put16(16 + at, *value);
        }
        if !buffer.is_empty() {
            descriptor.put32(28, COMMAND_BUFFER as u32);
        }
        self.host.memory.write(address, &descriptor).expect("ring");
        self.host
            .memory
            .write(COMMAND_BUFFER, buffer)
            .expect("buffer");
        self.set(at::ATQT, (index + 1) % 32);
        assert_eq!(self.get(at::ATQH), (index + 1) % 32);
        self.host
            .memory
            .read(address, &mut descriptor)
            .expect("ring");
        assert_eq!(descriptor.get16(0) & 3, 3, "done");
        let mut answer = buffer.to_vec();
        self.host
            .memory
            .read(COMMAND_BUFFER, &mut answer)
            .expect("buffer");
        let mut params = [0; 16];
        params.copy_from_slice(&descriptor[16..]);
        (descriptor.get16(6), params, answer)
    }

    /// Sends a command that must not fail.
    fn admin(
        &mut self,
        opcode: u16,
        params: &[(usize, u16)],
        buffer: &[u8],
    ) -> ([u8; 16], Vec<u8>) {
        let (code, params, answer) = self.try_admin(opcode, params, buffer);
        assert_eq!(code, 0, "{opcode:#06x}");
        (params, answer)
    }

    fn event(&self, index: u64) -> [u8; 32] {
        let mut event = [0; 32];
        let address = EVENT_RING + 32 * index;
        self.host.memory.read(address, &mut event).expect("ring");
        event
    }

    fn receive(&mut self, frame: &[u8]) {
        self.chip.receive(&mut self.host, frame);
    }

    /// Second word of an Rx descriptor.
    fn received(&self, queue: usize, index: u64) -> u64 {
        let address = RX_RINGS + queue as u64 * QUEUE_SPACE + 16 * index + 8;
        self.host.memory.read_u64(address).expect("ring")
    }

    /// Number of descriptors of a queue that are written back.
    fn count(&self, queue: usize) -> usize {
        let done = |index: &u64| self.received(queue, *index) & 1 != 0;
        (0..u64::from(ENTRIES)).filter(done).count()
    }

    /// Writes descriptors to a Tx ring from index `at` on and moves the tail.
    fn transmit(&mut self, queue: usize, at: u64, descriptors: &[(u64, u64)]) {
        let ring = TX_RINGS + queue as u64 * QUEUE_SPACE;
        for (index, (low, high)) in (at..).zip(descriptors) {
            let address = ring + 16 * index;
            self.host.memory.write_u64(address, *low).expect("ring");
            self.host
                .memory
                .write_u64(address + 8, *high)
                .expect("ring");
        }
        let tail = at as u32 + descriptors.len() as u32;
        self.set(at::QTX_TAIL + 4 * queue as u32, tail);
    }

    /// Programs a filter for the reverse flow of `frame`, or removes it.
    fn program(&mut self, at: u64, frame: &[u8], remove: bool, queue: u64) {
        let buffer = COMMAND_BUFFER + 0x1000;
        self.host.memory.write(buffer, frame).expect("buffer");
        let command = if remove { 2 } else { 1 };
        let high = 7 << 32 | 1 << 13 | 1 << 7 | command << 4 | 8;
        let data = (frame.len() as u64) << 34 | EOP_RS | DUMMY;
        self.transmit(0, at, &[(31 << 17 | queue, high), (buffer, data)]);
    }
}

/// A queue context with `fields`: first bit and value.
fn context<const SIZE: usize>(fields: &[(usize, u64)]) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    for (first, value) in fields {
        for bit in (0..64).filter(|bit| value >> bit & 1 != 0) {
            bytes[(first + bit) / 8] |= 1 << ((first + bit) % 8);
        }
    }
    bytes
}

fn broadcast(length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..6].fill(0xFF);
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    frame
}

/// A datagram to the port.
fn datagram(port: u16) -> Vec<u8> {
    let mut frame = [ethernet(0x800), ipv4(17, 48), udp(40), content(40)].concat();
    frame[..6].copy_from_slice(&MAC);
    frame[34..36].copy_from_slice(&port.to_be_bytes());
    frame
}

/// The same with source and destination exchanged.
fn way_back(frame: &[u8]) -> Vec<u8> {
    let mut back = frame.to_vec();
    back[26..30].copy_from_slice(&frame[30..34]);
    back[30..34].copy_from_slice(&frame[26..30]);
    back[34..36].copy_from_slice(&frame[36..38]);
    back[36..38].copy_from_slice(&frame[34..36]);
    back
}

#[test]
fn the_firmware_reports_its_version() {
    let mut machine = Machine::new(1);
    let (version, _) = machine.admin(0x0001, &[], &[]);
    assert_eq!((version.get16(8), version.get16(10)), (9, 20));
    assert_eq!((version.get16(12), version.get16(14)), (1, 15));
    let (code, ..) = machine.try_admin(0x000A, &[], &[0; 64]);
    assert_eq!(code, 9, "too small");
    let (params, capabilities) = machine.admin(0x000A, &[], &[0; 1024]);
    assert_eq!(params.get32(4), 8);
    let queues = capabilities.chunks(32).find(|cap| cap.get16(0) == 0x41);
    assert_eq!(queues.expect("queues").get32(4), 128);
    let (_, addresses) = machine.admin(0x0107, &[], &[0; 24]);
    assert_eq!((&addresses[..6], &addresses[12..18]), (&MAC[..], &MAC[..]));
    assert_eq!(machine.host.events.total(), 0);
    let (code, ..) = machine.try_admin(0x1234, &[], &[]);
    assert_eq!(code, 17);
    assert_eq!(machine.host.events.count(Event::BadAdminCommand), 1);
}

#[test]
fn registers_by_command_have_no_effects() {
    let mut machine = Machine::new(1);
    machine.admin(0x0207, &[(4, 0x0AC0), (6, 0x001C), (12, 0), (14, 2)], &[]);
    assert_eq!(machine.get(at::PFQF_CTL_0), 0x2_0000);
    let (value, _) = machine.admin(0xFF03, &[(4, 0x0AC0), (6, 0x001C)], &[]);
    assert_eq!(value.get32(12), 0x2_0000);
    // A reset by command would disable the queue of the reply
    machine.admin(0xFF04, &[(4, 0x2400), (6, 9), (12, 1)], &[]);
    assert_eq!(machine.get(at::ATQLEN), ENABLE | 32);
    let (code, ..) = machine.try_admin(0x0206, &[(4, 2), (6, 0x40)], &[]);
    assert_eq!(code, 14);
}

#[test]
fn link_changes_are_events() {
    let mut machine = Machine::new(1);
    machine.admin(0x0607, &[(0, 3)], &[]);
    machine.chip.set_link(&mut machine.host, false);
    assert_eq!(machine.event(0).get16(2), 0x0607);
    assert_eq!(machine.event(0)[20] & 1, 0, "down");
    assert_eq!(machine.get(at::ARQH), 1);
    assert_eq!(machine.host.msix.count(0), 1);
    assert_eq!(machine.get(at::PFINT_ICR0) & irq::ADMINQ, irq::ADMINQ);
    machine.chip.set_link(&mut machine.host, true);
    assert_eq!(machine.get(at::ARQH), 1, "not before the status was read");
    let (status, _) = machine.admin(0x0607, &[(0, 3)], &[]);
    assert_eq!((status[2], status[3], status[4] & 1), (0x14, 8, 1));
}

#[test]
fn rss_spreads_over_the_queues_of_the_vsi() {
    let mut machine = Machine::new(4);
    for index in 0..128 {
        machine.set(at::PFQF_HLUT + 128 * index, 0x0302_0100);
    }
    for index in 0..13 {
        machine.set(at::PFQF_HKEY + 128 * index, 0x9E37_79B9 ^ index << 7);
    }
    for port in 0..60 {
        machine.receive(&datagram(port));
    }
    assert_eq!(machine.count(0), 31, "not hashed: all to the first");
    machine.set(at::PFQF_HENA, 1 << 31);
    machine.post(0, 30);
    let before: usize = (0..4).map(|queue| machine.count(queue)).sum();
    for port in 0..40 {
        machine.receive(&datagram(port));
    }
    let counts = [0, 1, 2, 3].map(|queue| machine.count(queue));
    assert!(counts.iter().all(|count| *count > 2), "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>() - before, 40);
    assert_eq!(machine.received(1, 0) >> 12 & 3, 3, "the hash is valid");
    assert_eq!(machine.received(1, 0) >> 30 & 0xFF, 24, "packet type");
}

#[test]
fn frames_for_other_addresses_are_filtered() {
    let mut machine = Machine::new(1);
    let mut frame = datagram(1);
    machine.receive(&frame);
    frame[5] ^= 1;
    machine.receive(&frame);
    assert_eq!(machine.count(0), 1);
    machine.admin(0x0254, &[(0, 1), (2, 1), (4, MAIN_SEID)], &[]);
    machine.receive(&frame);
    assert_eq!(machine.count(0), 2);
    assert_eq!(machine.get(at::GLPRT_UPRC), 3);
    assert_eq!(machine.get(at::GLV_UPRC + MAIN_COUNTERS), 2);
}

#[test]
fn stripped_tags_are_in_the_descriptor() {
    let mut machine = Machine::new(1);
    let mut frame = broadcast(64);
    frame[12..18].copy_from_slice(&[0x81, 0, 0x20, 7, 0x88, 0xB5]);
    machine.receive(&frame);
    let length = |word: u64| word >> 38 & 0x3FFF;
    let word = machine.received(0, 0);
    assert_eq!((length(word), word >> 2 & 1), (60, 1));
    let low = machine.host.memory.read_u64(RX_RINGS).expect("ring");
    assert_eq!(low >> 16 & 0xFFFF, 0x2007);
    let mut properties = [0; 128];
    properties.put16(0, 4);
    properties[12] = 0x18;
    machine.admin(0x0211, &[(0, MAIN_SEID)], &properties);
    machine.receive(&frame);
    let word = machine.received(0, 1);
    assert_eq!((length(word), word >> 2 & 1), (64, 0));
}

#[test]
fn without_flow_control_one_frame_waits() {
    let mut machine = Machine::new(1);
    for _ in 0..ENTRIES + 4 {
        machine.receive(&broadcast(60));
    }
    assert_eq!(machine.count(0), 31);
    assert_eq!(machine.get(at::GLV_RDPC + MAIN_COUNTERS), 4);
    assert!(
        machine.chip.rx_backlog() > 8192,
        "sources with back-pressure wait"
    );
    machine.set(at::QRX_TAIL, 3);
    assert_eq!(machine.chip.rx_backlog(), 0);
    assert!(!machine.chip.sends_pause());
}

#[test]
fn with_flow_control_frames_wait_and_the_peer_is_paused() {
    let mut machine = Machine::new(1);
    // All types and speeds; link, atomic, low power, pause Tx
    machine.admin(0x0601, &[(0, 0xFFFF), (2, 0xFFFF), (4, 0x2DFF)], &[]);
    machine.set(at::PRTRPB_SPS, 4096);
    machine.set(at::PRTRPB_SHW, 1024);
    machine.set(at::PRTRPB_SLW, 256);
    for _ in 0..200 {
        machine.receive(&broadcast(60));
    }
    assert!(machine.chip.sends_pause());
    assert_eq!(machine.get(at::GLPRT_LXOFFTXC), 1);
    assert_eq!(machine.get(at::GLV_RDPC + MAIN_COUNTERS), 0);
    assert_eq!(machine.get(at::GLPRT_RDPC), 200 - 31 - 4096 / 60);
    for tail in [30, 29, 28] {
        machine.post(0, tail);
    }
    assert!(!machine.chip.sends_pause());
    assert_eq!(machine.get(at::GLPRT_LXONTXC), 1);
}

#[test]
fn a_full_queue_does_not_block_others() {
    let mut machine = Machine::new(2);
    machine.set(at::PFQF_CTL_0, 1 << 17);
    let frame = datagram(7);
    machine.program(0, &way_back(&frame), false, 1);
    for _ in 0..40 {
        machine.receive(&broadcast(60));
    }
    machine.receive(&frame);
    assert_eq!((machine.count(0), machine.count(1)), (31, 1));
}

#[test]
fn flow_director_steers_and_reports_failures() {
    let mut machine = Machine::new(2);
    machine.set(at::PFQF_CTL_0, 1 << 17);
    let frame = datagram(7);
    machine.program(0, &way_back(&frame), false, 1);
    assert!(machine.host.tx.is_empty(), "a dummy is not sent");
    machine.receive(&frame);
    machine.receive(&datagram(8));
    assert_eq!((machine.count(0), machine.count(1)), (1, 1));
    machine.program(2, &way_back(&frame), true, 1);
    assert_eq!(machine.count(0), 1, "success is not reported");
    machine.program(4, &way_back(&frame), true, 1);
    // DD, flow director, no entry, and the mark of a status instead of a length
    assert_eq!(machine.received(0, 1), 1 << 63 | 2 << 19 | 1 << 2 | 1);
    let low = machine.host.memory.read_u64(RX_RINGS + 16).expect("ring");
    assert_eq!(low >> 32, 7);
}

#[test]
fn a_malicious_descriptor_is_detected() {
    let mut machine = Machine::new(2);
    machine.set(at::PFINT_ICR0_ENA, irq::MAL_DETECT);
    // A frame of ten bytes
    machine.transmit(1, 0, &[(COMMAND_BUFFER, 10 << 34 | EOP_RS)]);
    assert!(machine.host.tx.is_empty());
    assert_eq!(
        machine.get(at::PFINT_ICR0) & irq::MAL_DETECT,
        irq::MAL_DETECT
    );
    assert_eq!(machine.get(at::GL_MDET_TX), 1 << 31 | 1);
    assert_eq!(machine.get(at::PF_MDET_TX), 1);
    for register in [at::GL_MDET_TX, at::PF_MDET_TX] {
        machine.set(register, u32::MAX);
        assert_eq!(machine.get(register), 0);
    }
}

#[test]
fn loopback_and_link_down() {
    let mut machine = Machine::new(1);
    let frame = broadcast(60);
    let buffer = COMMAND_BUFFER + 0x1000;
    machine.host.memory.write(buffer, &frame).expect("buffer");
    let data = (buffer, 60 << 34 | EOP_RS);
    machine.admin(0x0618, &[(0, 1)], &[]);
    machine.transmit(0, 0, &[data]);
    assert!(machine.host.tx.is_empty());
    assert_eq!(machine.count(0), 1);
    machine.admin(0x0618, &[(0, 0)], &[]);
    machine.chip.set_link(&mut machine.host, false);
    machine.transmit(0, 1, &[data]);
    assert!(machine.host.tx.is_empty());
    assert_eq!(machine.get(at::GLPRT_TDOLD), 1);
    machine.chip.set_link(&mut machine.host, true);
    machine.transmit(0, 2, &[data]);
    assert_eq!(machine.host.tx.len(), 1);
    assert_eq!(machine.get(at::GLPRT_BPTC), 2);
}

#[test]
fn reset_of_the_function_keeps_statistics() {
    let mut machine = Machine::new(1);
    machine.receive(&broadcast(60));
    machine.set(at::PFGEN_CTRL, 1);
    assert_eq!(machine.get(at::PFGEN_CTRL), 0);
    assert_eq!((machine.get(at::QRX_ENA), machine.get(at::ATQLEN)), (0, 0));
    machine.host.memory.clear(); // the driver frees its memory: any DMA is a fault
    machine.receive(&broadcast(60));
    machine.receive(&datagram(1));
    machine.set(at::QTX_TAIL + 4, 0);
    assert_eq!(machine.host.events.count(Event::DmaFault), 0);
    assert_eq!(machine.get(at::GLPRT_BPRC), 2);
    assert_eq!(machine.get(at::GLV_BPRC + MAIN_COUNTERS), 1);
    assert!(!machine.chip.rx_enabled());
}

#[test]
fn a_global_reset_is_announced() {
    let mut machine = Machine::new(1);
    machine.receive(&broadcast(60));
    machine.set(at::GLGEN_RTRIG, 2);
    assert_eq!(machine.get(at::GLGEN_RSTAT), 2 << 2 | 1);
    assert_eq!(machine.host.msix.count(0), 1);
    assert_eq!(machine.get(at::PFINT_ICR0) & irq::GRST, irq::GRST);
    machine.admin(0x0003, &[], &[]);
    let due = machine.chip.run(&mut machine.host).expect("due");
    assert_eq!(due, machine.host.now + RESET_DELAY);
    machine.host.now = due;
    machine.chip.run(&mut machine.host);
    assert_eq!(machine.get(at::GLGEN_RSTAT), 2 << 2);
    assert_eq!(machine.get(at::GLPRT_BPRC), 0);
    assert_eq!(machine.get(at::ATQLEN), 0);
    // The driver may still transmit, until it has noticed and resets the function
    machine.set(at::QTX_TAIL + 4, 0);
    assert_eq!(machine.host.events.count(Event::TailWhileDisabled), 0);
    machine.set(at::PFGEN_CTRL, 1);
    machine.set(at::QTX_TAIL + 4, 0);
    assert_eq!(machine.host.events.count(Event::TailWhileDisabled), 1);
    machine.start_admin();
    machine.admin(0x0001, &[], &[]);
}

#[test]
fn a_bad_context_leaves_the_queue_off() {
    let mut machine = Machine::new(1);
    machine.set(at::PFINT_ICR0_ENA, irq::HMC_ERR);
    machine.set(at::PFHMC_SDDATALOW, 0);
    machine.set(at::PFHMC_SDCMD, ENABLE);
    machine.set(at::QRX_ENA + 4, 1);
    assert_eq!(machine.get(at::QRX_ENA + 4), 1);
    assert_eq!(machine.host.events.count(Event::BadRing), 1);
    assert_eq!(machine.host.msix.count(0), 1);
    assert_ne!(machine.get(at::PFHMC_ERRORINFO), 0);
}

#[test]
fn no_dma_while_the_bus_is_stalled() {
    let mut machine = Machine::new(1);
    let until = machine.host.now + Duration::from_millis(5);
    machine.host.faults.stall_until = Some(until);
    machine.receive(&broadcast(60));
    machine.set(at::ATQT, (machine.commands + 1) % 32);
    assert_eq!(machine.count(0), 0);
    assert_eq!(machine.get(at::ATQH), machine.commands);
    assert_eq!(machine.chip.run(&mut machine.host), Some(until));
    machine.host.now = until;
    machine.chip.run(&mut machine.host);
    assert_eq!(machine.count(0), 1);
    assert_eq!(machine.get(at::ATQH), machine.commands + 1);
}

#[test]
fn every_port_has_the_bars_of_an_x710() {
    let function = X710::new(MAC).function();
    assert_eq!((function.vendor, function.device), (0x8086, 0x1572));
    assert!(function.bar0_size > 0x39_0004 && function.bar0_size.is_power_of_two());
    assert!(usize::from(function.msix.vectors) == VECTORS);
}
