// SPDX-License-Identifier: GPL-2.0
//! The chip from the driver's point of view: registers, rings in guest memory,
//! interrupts.

use std::time::Duration;

use super::regs::at;
use super::{ENABLE, HLREG0_LPBK, HLREG0_TXPADEN, Ixgbe, LINKS_UP_10G};
use crate::chip::Chip;
use crate::event::Event;
use crate::frame::checksum::{fold, sum};
use crate::host::{Host, Timing};
use crate::memory::GuestMemory;

const RAM: u64 = 0x10_0000;
const TX_RING: u64 = RAM;
const RX_RING: u64 = RAM + 0x1_0000;
const TX_BUFFERS: u64 = RAM + 0x2_0000;
const RX_BUFFERS: u64 = RAM + 0x4_0000;
const ENTRIES: u32 = 64;
const MAC: [u8; 6] = [2, 0, 0, 0x99, 0x25, 1];

/// A chip with one queue pair in use, as a driver would set it up.
struct Machine {
    chip: Ixgbe,
    host: Host,
}

impl Machine {
    fn new(timing: Timing) -> Self {
        let mut host = Host::new("test", 64, timing);
        host.memory = GuestMemory::with_ram(RAM, 1 << 20).expect("memory");
        host.bus_master = true;
        let mut machine = Self {
            chip: Ixgbe::new(MAC),
            host,
        };
        machine.start();
        machine
    }

    fn start(&mut self) {
        self.set(at::FCTRL, 1 << 10); // broadcast
        self.set(at::EIAC, 0xFFFF);
        self.set(at::IVAR, 0x8180); // Rx 0 to vector 0, Tx 0 to vector 1
        self.set(at::EIMS_EX, 3);
        for (base, ring) in [(at::RX_LOW, RX_RING), (at::TX, TX_RING)] {
            self.set(base, ring as u32);
            self.set(base + 4, 0);
            self.set(base + 8, ENTRIES * 16);
        }
        self.set(at::DMATXCTL, 0x8100_0001);
        self.set(at::TX + 0x28, ENABLE);
        self.set(at::RX_LOW + 0x28, ENABLE);
        assert_eq!(self.get(at::RX_LOW + 0x28) & ENABLE, ENABLE);
        self.set(at::RXCTRL, 1);
        self.post_buffers();
        self.set(at::RX_LOW + 0x18, ENTRIES - 1);
    }

    fn post_buffers(&self) {
        for index in 0..u64::from(ENTRIES) {
            let at = RX_RING + 16 * index;
            self.host
                .memory
                .write_u64(at, RX_BUFFERS + 2048 * index)
                .expect("ring");
        }
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

    fn write_descriptor(&self, index: u32, low: u64, high: u64) {
        let at = TX_RING + 16 * u64::from(index);
        self.host.memory.write_u64(at, low).expect("ring");
        self.host.memory.write_u64(at + 8, high).expect("ring");
    }

    /// A data descriptor for `length` bytes at the start of the buffers, for a frame of its
    /// own.
    fn data(&self, index: u32, length: usize, flags: u64) {
        self.part(index, length, flags | (length as u64) << 46);
    }

    /// The same for a part of a frame, without its length.
    fn part(&self, index: u32, length: usize, flags: u64) {
        let command = 0x2030_0000 | flags | length as u64;
        self.write_descriptor(index, TX_BUFFERS, command);
    }

    fn tx_done(&self, index: u32) -> bool {
        let at = TX_RING + 16 * u64::from(index) + 8;
        self.host.memory.read_u64(at).expect("ring") & 1 << 32 != 0
    }

    fn rx_descriptor(&self, index: u32) -> (u64, u64) {
        let at = RX_RING + 16 * u64::from(index);
        let read = |at| self.host.memory.read_u64(at).expect("ring");
        (read(at), read(at + 8))
    }

    fn sent(&mut self) -> Vec<u8> {
        let mut frame = Vec::new();
        assert!(self.host.tx.pop(&mut frame), "nothing was sent");
        frame
    }
}

const EOP_RS: u64 = 1 << 24 | 1 << 27;

fn broadcast(length: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
    frame[..6].fill(0xFF);
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    frame
}

#[test]
fn sends_a_frame_and_writes_back_where_rs_is_set() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    let frame = broadcast(100);
    machine
        .host
        .memory
        .write(TX_BUFFERS, &frame)
        .expect("buffer");
    machine.data(0, 100, 1 << 24); // EOP alone
    machine.data(1, 100, EOP_RS);
    machine.set(at::TX + 0x18, 2);
    assert_eq!(machine.sent(), frame);
    assert_eq!(machine.sent(), frame);
    assert!(!machine.tx_done(0) && machine.tx_done(1));
    assert_eq!(machine.get(at::TX + 0x10), 2);
    assert_eq!(machine.host.msix.count(1), 1);
    assert_eq!(machine.get(at::GPTC), 2);
    assert_eq!(machine.get(at::GOTCL), 208);
    assert_eq!(machine.host.events.total(), 0);
}

#[test]
fn gathers_a_frame_over_descriptors_and_pads_short_ones() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    machine
        .host
        .memory
        .write(TX_BUFFERS, &broadcast(30))
        .expect("buffer");
    machine.part(0, 20, 50 << 46);
    machine.set(at::TX + 0x18, 1);
    assert!(machine.host.tx.is_empty());
    machine.part(1, 30, EOP_RS);
    machine.set(at::TX + 0x18, 2);
    let mut expected = broadcast(30)[..20].to_vec();
    expected.extend_from_slice(&broadcast(30));
    expected.resize(60, 0);
    assert_eq!(machine.sent(), expected);
    machine.set(at::HLREG0, 0x0001_0C0B & !HLREG0_TXPADEN);
    machine.data(2, 30, EOP_RS);
    machine.set(at::TX + 0x18, 3);
    assert_eq!(machine.sent().len(), 30);
}

#[test]
fn paylen_of_the_first_descriptor_is_the_length_of_the_frame() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    for (number, paylen) in [100, 60, 0].into_iter().enumerate() {
        let first = 2 * number as u32;
        machine.part(first, 60, paylen << 46);
        machine.part(first + 1, 40, EOP_RS | 40 << 46);
        machine.set(at::TX + 0x18, first + 2);
        let bad = machine.host.events.count(Event::BadTxDescriptor);
        assert_eq!(bad, number as u64);
        assert!(machine.tx_done(first + 1));
    }
    assert_eq!(machine.sent().len(), 100);
    assert!(machine.host.tx.is_empty());
}

#[test]
fn descriptors_of_a_frame_are_limited_by_wthresh() {
    for (wthresh, most) in [(0, 38), (8, 30)] {
        for (parts, bad) in [(most, 0), (most + 1, 1)] {
            let mut machine = Machine::new(Timing::LOCKSTEP);
            machine.set(at::TX + 0x28, 0);
            machine.set(at::TX + 0x28, ENABLE | wthresh << 16);
            machine.part(0, 10, u64::from(10 * parts) << 46);
            for index in 1..parts - 1 {
                machine.part(index, 10, 0);
            }
            machine.part(parts - 1, 10, EOP_RS);
            machine.set(at::TX + 0x18, parts);
            assert_eq!(machine.host.events.count(Event::BadTxDescriptor), bad);
            assert_eq!(machine.host.tx.is_empty(), bad == 1);
        }
    }
}

#[test]
fn segments_tcp() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    let mut frame = vec![0; 54 + 250];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[23] = 6;
    frame[46] = 0x50;
    machine
        .host
        .memory
        .write(TX_BUFFERS, &frame)
        .expect("buffer");
    // Context: MAC 14, IP 20, TCP 20, MSS 100, IPv4, TCP
    machine.write_descriptor(
        0,
        14 << 9 | 20,
        100 << 48 | 20 << 40 | 0x2020_0000 | 3 << 10,
    );
    machine.part(1, frame.len(), EOP_RS | 1 << 31 | 250 << 46 | 3 << 40);
    machine.set(at::TX + 0x18, 2);
    let lengths: Vec<usize> = (0..3).map(|_| machine.sent().len()).collect();
    assert_eq!(lengths, [154, 154, 104]);
    assert!(machine.host.tx.is_empty() && machine.tx_done(1));
}

#[test]
fn receives_with_status_and_length_in_one_word() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    let frame = broadcast(60);
    machine.chip.receive(&mut machine.host, &frame);
    let (_, high) = machine.rx_descriptor(0);
    assert_eq!(high, 60 << 32 | 3);
    let mut data = [0; 60];
    machine
        .host
        .memory
        .read(RX_BUFFERS, &mut data)
        .expect("buffer");
    assert_eq!(data[..], frame);
    assert_eq!(machine.host.msix.count(0), 1);
    assert_eq!(machine.get(at::GPRC), 1);
    assert_eq!(machine.get(at::RX_LOW + 0x30), 1);
    assert_eq!(machine.get(at::RX_LOW + 0x10), 1);
}

#[test]
fn long_frame_takes_several_descriptors() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    machine.set(at::RX_LOW + 0x14, 0x0200_0401); // buffers of 1 KB
    machine.chip.receive(&mut machine.host, &broadcast(1500));
    assert_eq!(machine.rx_descriptor(0).1, 1024 << 32 | 1);
    assert_eq!(machine.rx_descriptor(1).1, 476 << 32 | 3);
}

#[test]
fn frames_wait_for_descriptors_unless_the_queue_drops() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    for _ in 0..ENTRIES + 5 {
        machine.chip.receive(&mut machine.host, &broadcast(60));
    }
    assert_eq!(machine.get(at::RX_LOW + 0x10), ENTRIES - 1);
    assert_eq!(machine.chip.rx_backlog(), 6 * 60);
    machine.post_buffers();
    machine.set(at::RX_LOW + 0x18, 3);
    assert_eq!(machine.chip.rx_backlog(), 2 * 60);
    machine.set(at::RX_LOW + 0x14, 1 << 28 | 0x0200_0402);
    assert_eq!(machine.chip.rx_backlog(), 0);
    assert_eq!(machine.get(at::RX_LOW + 0x430), 2);
}

#[test]
fn a_full_packet_buffer_misses_and_pauses_the_peer() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    machine.set(at::RX_LOW + 0x18, 0);
    machine.set(at::RXPBSIZE, 0x800); // 2 KB
    machine.set(at::FCCFG, 1 << 3);
    machine.set(at::FCRTL, 1 << 31 | 256);
    machine.set(at::FCRTH, 1 << 31 | 1024);
    for _ in 0..100 {
        machine.chip.receive(&mut machine.host, &broadcast(60));
    }
    assert!(machine.chip.sends_pause());
    assert_eq!(machine.get(at::MPC), 66);
    assert_eq!(machine.get(at::LXOFFTXC), 1);
    machine.set(at::RX_LOW + 0x18, 40);
    assert!(!machine.chip.sends_pause());
    assert_eq!(machine.get(at::LXONTXC), 1);
    // Drivers subtract pause frames from these
    assert_eq!(machine.get(at::GPTC), 2);
    assert_eq!(machine.get(at::MPTC), 2);
    assert_eq!(machine.get(at::PTC64), 2);
    assert_eq!(machine.get(at::GOTCL), 2 * 64);
}

#[test]
fn no_dma_after_a_queue_reads_as_disabled() {
    let late = Timing {
        writeback_group: u32::MAX,
        writeback_delay: Duration::from_secs(1),
        ..Timing::LOCKSTEP
    };
    let mut machine = Machine::new(late);
    machine.data(0, 60, EOP_RS);
    machine.set(at::TX + 0x18, 1);
    machine.chip.receive(&mut machine.host, &broadcast(60));
    assert!(!machine.tx_done(0));
    assert_eq!(machine.rx_descriptor(0).1, 0);
    machine.set(at::TX + 0x28, 0);
    machine.set(at::RX_LOW + 0x28, 0);
    assert_eq!(machine.get(at::TX + 0x28) & ENABLE, 0);
    assert!(machine.tx_done(0), "complete before the queue is disabled");
    machine.host.memory.clear(); // the driver frees its memory: any DMA is a fault
    machine.host.now += Duration::from_secs(2);
    machine.chip.run(&mut machine.host);
    machine.chip.receive(&mut machine.host, &broadcast(60));
    assert_eq!(machine.host.events.total(), 0);
}

#[test]
fn late_write_back_in_groups_or_when_due() {
    let late = Timing {
        writeback_group: 4,
        writeback_delay: Duration::from_millis(1),
        ..Timing::LOCKSTEP
    };
    let mut machine = Machine::new(late);
    for _ in 0..5 {
        machine.chip.receive(&mut machine.host, &broadcast(60));
    }
    assert_ne!(machine.rx_descriptor(3).1, 0);
    assert_eq!(machine.rx_descriptor(4).1, 0);
    let due = machine.chip.run(&mut machine.host).expect("one is due");
    machine.host.now = due;
    assert_eq!(machine.chip.run(&mut machine.host), None);
    assert_ne!(machine.rx_descriptor(4).1, 0);
    assert_eq!(machine.host.msix.count(0), 2);
}

#[test]
fn tail_is_processed_late() {
    let late = Timing {
        tail_delay: Duration::from_micros(50),
        ..Timing::LOCKSTEP
    };
    let mut machine = Machine::new(late);
    machine.data(0, 60, EOP_RS);
    machine.set(at::TX + 0x18, 1);
    assert!(machine.host.tx.is_empty());
    let due = machine.chip.run(&mut machine.host).expect("due");
    machine.host.now = due;
    machine.chip.run(&mut machine.host);
    assert_eq!(machine.sent().len(), 60);
}

#[test]
fn loopback_reaches_the_receiver() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    machine.set(at::HLREG0, 0x0001_0C0B | HLREG0_LPBK);
    machine
        .host
        .memory
        .write(TX_BUFFERS, &broadcast(60))
        .expect("buffer");
    machine.data(0, 60, EOP_RS);
    machine.set(at::TX + 0x18, 1);
    assert!(machine.host.tx.is_empty());
    assert_eq!(machine.rx_descriptor(0).1, 60 << 32 | 3);
}

#[test]
fn link_change_is_shown_and_interrupts() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    machine.set(at::IVAR_MISC, 0x8200);
    machine.set(at::EIMS, super::irq::LSC);
    assert_eq!(machine.get(at::LINKS), LINKS_UP_10G);
    machine.chip.set_link(&mut machine.host, false);
    assert_eq!(machine.get(at::LINKS), 0);
    assert_eq!(machine.host.msix.count(2), 1);
    machine.data(0, 60, EOP_RS);
    machine.set(at::TX + 0x18, 1);
    assert!(machine.host.tx.is_empty(), "nothing is sent without a link");
    machine.chip.set_link(&mut machine.host, true);
    machine.chip.run(&mut machine.host);
    assert_eq!(machine.sent().len(), 60);
}

#[test]
fn reset_stops_everything_and_keeps_the_address() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    machine.set(at::RAL_LOW, 0);
    machine.set(at::CTRL, 1 << 26);
    assert_eq!(machine.get(at::CTRL) & 1 << 26, 0);
    assert_eq!(machine.get(at::RAL_LOW).to_le_bytes(), MAC[..4]);
    assert_eq!(machine.get(at::RXCTRL), 0);
    machine.chip.receive(&mut machine.host, &broadcast(60));
    machine.set(at::TX + 0x18, 5);
    assert_eq!(machine.rx_descriptor(0).1, 0);
    assert_eq!(machine.host.events.count(Event::TailWhileDisabled), 1);
}

#[test]
fn semaphore_is_acquired_by_a_read() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    assert_eq!(machine.get(at::SWSM) & 1, 0);
    assert_eq!(machine.get(at::SWSM) & 1, 1);
    machine.set(at::SWSM, 0);
    assert_eq!(machine.get(at::SWSM) & 1, 0);
}

#[test]
fn registers_with_two_addresses() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    machine.set(0x2104, 0x0200_0403);
    assert_eq!(machine.get(at::RX_LOW + 0x40 + 0x14), 0x0200_0403);
    machine.set(0xA208, 0x1234);
    assert_eq!(machine.get(at::RAL_LOW + 8), 0x1234);
}

#[test]
fn invalid_accesses_are_counted_and_harmless() {
    let mut machine = Machine::new(Timing::LOCKSTEP);
    machine.set(at::TX + 0x18, ENTRIES);
    assert_eq!(machine.host.events.count(Event::TailBeyondRing), 1);
    machine.write_descriptor(0, 0xFFFF_FFFF_FFFF_F000, 0x2030_0000 | EOP_RS | 64);
    machine.set(at::TX + 0x18, 1);
    assert_eq!(machine.host.events.count(Event::DmaFault), 1);
    machine.data(1, 0, EOP_RS);
    machine.set(at::TX + 0x18, 2);
    assert_eq!(machine.host.events.count(Event::BadTxDescriptor), 1);
    assert!(machine.host.tx.is_empty());
    let mut data = [0; 3];
    machine.chip.read(&mut machine.host, 2, &mut data);
    assert_eq!(machine.host.events.count(Event::BadAccessWidth), 1);
    machine.host.bus_master = false;
    machine.data(2, 60, EOP_RS);
    machine.set(at::TX + 0x18, 3);
    assert!(machine.host.events.count(Event::NotBusMaster) > 0);
    assert!(machine.host.tx.is_empty());
}

#[test]
fn checksums_need_a_valid_context() {
    const TXSM: u64 = 1 << 41;
    let mut machine = Machine::new(Timing::LOCKSTEP);
    // UDP, IPv4; the seed is not that of a pseudo header
    let mut frame = broadcast(60);
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    frame[16..18].copy_from_slice(&[0, 46]);
    machine
        .host
        .memory
        .write(TX_BUFFERS, &frame)
        .expect("buffer");
    let mut tail = 0;
    let mut send = |machine: &mut Machine, lengths: u64, l4t: u64, index: u64| {
        machine.write_descriptor(tail, lengths, 0x2020_0000 | l4t << 11 | index << 36);
        machine.data(tail + 1, 60, EOP_RS | 60 << 46 | TXSM | 1 << 36);
        tail += 2;
        machine.set(at::TX + 0x18, tail);
        machine.host.events.count(Event::BadTxDescriptor)
    };
    let mac_ip = |mac: u64, ip: u64| mac << 9 | ip;
    assert_eq!(
        send(&mut machine, mac_ip(14, 20), 0, 0),
        1,
        "the other context"
    );
    assert_eq!(send(&mut machine, mac_ip(13, 20), 0, 1), 2);
    assert_eq!(send(&mut machine, mac_ip(14, 19), 0, 1), 3);
    assert_eq!(
        send(&mut machine, mac_ip(14, 45), 0, 1),
        4,
        "beyond the frame"
    );
    assert_eq!(send(&mut machine, mac_ip(14, 20), 3, 1), 5, "reserved L4T");
    assert!(machine.host.tx.is_empty());
    assert_eq!(send(&mut machine, mac_ip(14, 20), 0, 1), 5);
    let sent = machine.sent();
    assert_eq!(
        sum(&sent[34..40]) + sum(&sent[42..]),
        sum(&frame[34..40]) + sum(&frame[42..])
    );
    let (old, new) = (sum(&frame[34..]), sum(&sent[40..42]));
    assert_eq!(fold(old + new), 0xffff);
}
