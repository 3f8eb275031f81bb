// SPDX-License-Identifier: GPL-2.0
//! The chip and its environment, with a simulated clock, and the invariants that hold for
//! any guest.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::Duration;

use nicsim::chip::Chip;
use nicsim::chip::i40e::X710;
use nicsim::chip::ixgbe::Ixgbe;
use nicsim::host::{Host, Timing};
use nicsim::memory::GuestMemory;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use crate::random::Random;
use crate::{frames, i40e, ixgbe};

/// Memory for rings.
pub const RINGS: Range<u64> = 0x10_0000..0x14_0000;
/// Memory for buffers.
pub const BUFFERS: Range<u64> = 0x20_0000..0x28_0000;
/// Directly after the buffers: read-only for the device.
const READ_ONLY: Range<u64> = 0x28_0000..0x29_0000;
/// Mapped without a file.
const EMPTY: Range<u64> = 0x30_0000..0x31_0000;
/// The highest addresses.
const HIGH: Range<u64> = 0xffff_ffff_fffe_0000..0xffff_ffff_ffff_0000;
/// Boundaries of memory.
const EDGES: [u64; 8] = [
    RINGS.start,
    RINGS.end,
    BUFFERS.start,
    BUFFERS.end,
    READ_ONLY.end,
    EMPTY.start + 0x800,
    HIGH.start + 0x800,
    HIGH.end,
];

/// Maximum length of a sent frame: the chip is specified for 9.5 KB, the length field
/// allows 16 KB.
const FRAME_MAX: usize = 16 * 1024;
/// Maximum backlog: the Tx FIFO and the segments of one frame, and the packet buffer of
/// the receiver.
const TX_MAX: usize = 64 << 20;
const RX_MAX: usize = 1 << 20;

/// The model under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    I82599,
    X710,
}

impl Model {
    fn chip(self) -> Box<dyn Chip> {
        match self {
            Self::I82599 => Box::new(Ixgbe::new(frames::MAC)),
            Self::X710 => Box::new(X710::new(frames::MAC)),
        }
    }

    /// Initializes the chip as Linux does.
    pub fn probe(self, world: &mut World) -> Box<dyn Driver> {
        match self {
            Self::I82599 => Box::new(ixgbe::Driver::probe(world)),
            Self::X710 => Box::new(i40e::Driver::probe(world)),
        }
    }
}

/// A driver with mostly valid accesses.
pub trait Driver {
    /// One action of the guest.
    fn act(&mut self, world: &mut World);

    /// Disables all queues and waits until they read as disabled, as the driver does
    /// before it frees the memory. False if one is still enabled.
    fn stop(&self, world: &mut World) -> bool;

    /// Writes the tails of all queues, enabled or not.
    fn kick(&self, world: &mut World);
}

pub struct World {
    pub random: Random,
    pub chip: Box<dyn Chip>,
    pub host: Host,
    frame: Vec<u8>,
}

fn map(memory: &mut GuestMemory, range: &Range<u64>, writable: bool) {
    let size = range.end - range.start;
    let fd: OwnedFd = memfd_create("fuzz", MemfdFlags::CLOEXEC).expect("memfd");
    ftruncate(&fd, size).expect("size");
    memory
        .map(range.start, size, Some((fd, 0)), writable)
        .expect("map");
}

impl World {
    pub fn new(seed: u64, model: Model) -> Self {
        let mut random = Random::new(seed);
        let mut host = Host::new("fuzz", 129, timing(&mut random));
        for range in [RINGS, BUFFERS, HIGH] {
            map(&mut host.memory, &range, true);
        }
        map(&mut host.memory, &READ_ONLY, false);
        host.memory
            .map(EMPTY.start, EMPTY.end - EMPTY.start, None, true)
            .expect("map");
        host.bus_master = true;
        let mut chip = model.chip();
        chip.reset(&mut host);
        chip.set_link(&mut host, true);
        Self {
            random,
            chip,
            host,
            frame: Vec::new(),
        }
    }

    pub fn read32(&mut self, offset: u64) -> u32 {
        let mut data = [0; 4];
        self.chip.read(&mut self.host, offset, &mut data);
        u32::from_le_bytes(data)
    }

    pub fn write32(&mut self, offset: u64, value: u32) {
        self.chip
            .write(&mut self.host, offset, &value.to_le_bytes());
    }

    /// The guest writes its own memory; writes elsewhere are ignored.
    pub fn store(&mut self, address: u64, value: u64) {
        let _ = self.host.memory.write(address, &value.to_le_bytes());
    }

    /// One action of the environment.
    pub fn act(&mut self) {
        match self.random.below(64) {
            0 => {
                let up = !self.random.once_in(8);
                self.chip.set_link(&mut self.host, up);
            }
            1 => self.host.bus_master = !self.random.once_in(8),
            2 => self.host.timing = timing(&mut self.random),
            3 => self.fault(),
            4 if self.random.once_in(8) => self.chip.reset(&mut self.host),
            5..24 => {
                let limit = self.random.pick(&[1, 1_000, 100_000, 20_000_000]);
                let micros = self.random.below(limit);
                self.pass(micros);
            }
            _ => self.receive(),
        }
    }

    fn receive(&mut self) {
        if self.random.once_in(8) {
            self.chip.xoff_received();
        }
        for _ in 0..self.random.below(32) {
            let frame = frames::any(&mut self.random);
            self.chip.receive(&mut self.host, &frame);
        }
    }

    fn fault(&mut self) {
        let random = &mut self.random;
        let faults = &mut self.host.faults;
        *faults = Default::default();
        let micros = random.below(1_000_000);
        match random.below(10) {
            0 => faults.tx_stop = true,
            1 => faults.tx_delay = Duration::from_micros(micros),
            2 => faults.corrupt_every = random.below(4) as u32,
            3 => faults.stall_until = Some(self.host.now + Duration::from_micros(micros)),
            _ => (),
        }
    }

    /// Time passes; the chip runs as in the loop of the lab.
    pub fn pass(&mut self, micros: u64) {
        let end = self.host.now + Duration::from_micros(micros);
        for _ in 0..64 {
            let next = self.chip.run(&mut self.host);
            self.drain();
            match next {
                Some(next) if next <= end => self.host.now = self.host.now.max(next),
                _ => break,
            }
        }
        self.host.now = self.host.now.max(end);
    }

    /// Runs the chip until it has no immediate work; false if that takes too many calls.
    pub fn idle(&mut self) -> bool {
        (0..20_000).any(|_| {
            let next = self.chip.run(&mut self.host);
            self.drain();
            next.is_none_or(|next| next > self.host.now)
        })
    }

    /// The wire takes all frames and returns some.
    fn drain(&mut self) {
        assert!(
            self.host.tx.bytes() <= TX_MAX,
            "Tx FIFO: {}",
            self.host.tx.bytes()
        );
        let mut frame = std::mem::take(&mut self.frame);
        let back = self.random.once_in(4);
        while self.host.tx.pop(&mut frame) {
            assert!(frame.len() <= FRAME_MAX, "frame of {} bytes", frame.len());
            if back && self.random.once_in(8) {
                self.chip.receive(&mut self.host, &frame);
            }
        }
        self.frame = frame;
    }

    /// Invariants after every step.
    pub fn check(&mut self) {
        self.drain();
        assert!(
            self.chip.rx_backlog() <= RX_MAX,
            "backlog: {}",
            self.chip.rx_backlog()
        );
        self.chip.counters();
        self.chip.rx_enabled();
        self.chip.sends_pause();
        self.chip.heeds_pause();
    }

    /// Guest memory in all ranges.
    fn snapshot(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for range in [RINGS, BUFFERS, READ_ONLY, HIGH] {
            let start = all.len();
            all.resize(start + (range.end - range.start) as usize, 0);
            self.host
                .memory
                .read(range.start, &mut all[start..])
                .expect("mapped");
        }
        all
    }

    /// Asserts that no action of guest or wire changes memory.
    fn expect_quiet(&mut self, driver: &dyn Driver, when: &str) {
        let before = self.snapshot();
        for _ in 0..4 {
            driver.kick(self);
            self.receive();
            self.pass(1_000_000);
        }
        let after = self.snapshot();
        let changed = before
            .iter()
            .zip(&after)
            .position(|(before, after)| before != after);
        assert_eq!(changed, None, "DMA {when}");
    }

    /// Asserts that all work ends, and that each method to stop DMA works.
    pub fn finish(&mut self, driver: &dyn Driver) {
        self.host.faults = Default::default();
        self.host.bus_master = true;
        assert!(self.idle(), "never idle");
        self.host.bus_master = false;
        self.expect_quiet(driver, "without bus mastering");
        self.host.bus_master = true;
        assert!(driver.stop(self), "a queue is still enabled");
        self.expect_quiet(driver, "to a disabled queue");
        self.chip.reset(&mut self.host);
        self.expect_quiet(driver, "after a reset");
        let next = self.chip.run(&mut self.host);
        assert!(
            next.is_none_or(|next| next > self.host.now),
            "busy after a reset"
        );
        let mut fixed = [1; 0x1_0000];
        self.host
            .memory
            .read(READ_ONLY.start, &mut fixed)
            .expect("mapped");
        assert!(
            fixed.iter().all(|byte| *byte == 0),
            "read-only memory was written"
        );
    }
}

fn timing(random: &mut Random) -> Timing {
    if random.once_in(2) {
        return Timing::LOCKSTEP;
    }
    let mut delay = || Duration::from_micros(random.pick(&[0, 0, 1, 50, 2_000]));
    let (tail_delay, writeback_delay, irq_delay) = (delay(), delay(), delay());
    Timing {
        tail_delay,
        writeback_group: random.pick(&[1, 8, 64, u32::MAX]),
        writeback_delay,
        irq_delay,
        throttle: random.once_in(2),
    }
}

/// Address of a buffer: in memory, or once in `wrong_once_in` times across a boundary of
/// it.
pub fn address(random: &mut Random, wrong_once_in: u64) -> u64 {
    let Range { start, end } = BUFFERS;
    if !random.once_in(wrong_once_in) {
        return start + random.below(end - start);
    }
    match random.below(4) {
        0 => random.next(),
        1 => u64::MAX - random.below(4_096),
        _ => random.pick(&EDGES).wrapping_sub(random.below(2_048)),
    }
}
