// SPDX-License-Identifier: GPL-2.0
//! A driver of the X710 with mostly valid accesses.

use nicsim::chip::i40e::regs::{TABLE, at};

use crate::ring::{self, Format, Ring};
use crate::world::{self, RINGS, World, address};

/// Queues in use: those of the main VSI, and one that only filters reach.
const QUEUES: [u64; 5] = [0, 1, 2, 3, 127];
/// Private memory: Tx contexts, then Rx contexts.
const PRIVATE: u64 = RINGS.start + 0x3_0000;
const RX_CONTEXTS: u64 = PRIVATE + 128 * 128;
const SEND_RING: u64 = RINGS.start + 0x3_8000;
const EVENT_RING: u64 = SEND_RING + 0x1000;
const COMMAND_BUFFER: u64 = SEND_RING + 0x2000;
const HEADS: u64 = SEND_RING + 0x4000;
const ADMIN_ENTRIES: u32 = 32;
const ENABLE: u32 = 1 << 31;
/// QTX_ENA, QRX_ENA.
const STATUS: u32 = 1 << 2;

const FORMAT: Format = Format {
    part_max: 0x3FFF,
    eop: 1 << 4,
    rs: 1 << 5,
};
const DUMMY: u64 = 1 << 8;

/// Registers that trigger a reset.
const RESETS: [&str; 2] = ["PFGEN_CTRL", "GLGEN_RTRIG"];

/// Commands with effects, and some unknown ones.
const COMMANDS: [u16; 40] = [
    0x0001, 0x0008, 0x000A, 0x0107, 0x0200, 0x0204, 0x0206, 0x0207, 0x0210, 0x0211,
    0x0212, 0x0230, 0x0232, 0x0243, 0x0250, 0x0251, 0x0254, 0x025A, 0x025B, 0x0407,
    0x0408, 0x040A, 0x0419, 0x0600, 0x0601, 0x0603, 0x0605, 0x0607, 0x0613, 0x0618,
    0x0701, 0x0A00, 0x0B00, 0x0B01, 0x0B02, 0x0B03, 0x0B04, 0x0B05, 0xFF03, 0xFF04,
];

/// State of the driver. The id of a ring is its queue.
pub struct Driver {
    rx: Vec<Ring>,
    tx: Vec<Ring>,
    commands: u32,
}

fn register(base: u32, queue: u64) -> u64 {
    u64::from(base) + 4 * queue
}

impl Driver {
    /// Initializes the chip as Linux does: admin queue, VSI, RSS, interrupts, a few
    /// queues.
    pub fn probe(world: &mut World) -> Self {
        let rings = |first: usize| {
            let queues = (first..).zip(QUEUES);
            queues
                .map(|(index, queue)| Ring::new(queue, index))
                .collect()
        };
        let mut driver = Self {
            rx: rings(0),
            tx: rings(QUEUES.len()),
            commands: 0,
        };
        driver.start(world);
        driver
    }

    /// Resets and configures the chip.
    fn start(&mut self, world: &mut World) {
        world.write32(at::PFGEN_CTRL.into(), 1);
        self.start_admin(world);
        self.basic(world);
        for index in 0..QUEUES.len() {
            self.start_rx(world, index);
            self.start_tx(world, index);
        }
    }

    fn start_admin(&mut self, world: &mut World) {
        self.commands = 0;
        for (low, length, ring) in [
            (at::ATQBAL, at::ATQLEN, SEND_RING),
            (at::ARQBAL, at::ARQLEN, EVENT_RING),
        ] {
            world.write32(low.into(), ring as u32);
            world.write32(u64::from(length), ENABLE | ADMIN_ENTRIES);
        }
        world.write32(at::ATQH.into(), 0);
        world.write32(at::ATQT.into(), 0);
        world.write32(at::ARQT.into(), ADMIN_ENTRIES - 1);
    }

    fn basic(&mut self, world: &mut World) {
        // The main VSI: four queues
        let mut properties = [0; 128];
        properties[0] = 0x40;
        properties[63] = 2 << 1;
        self.command(world, 0x0211, [512, 0, 0, 0], &properties);
        self.command(world, 0x0254, [7, 7, 512, 0], &[]);
        self.command(world, 0x0607, [3, 0, 0, 0], &[]);
        world.write32(at::PFQF_CTL_0.into(), 3 << 16);
        for offset in [at::PFQF_HENA, at::PFQF_HENA + 128] {
            world.write32(offset.into(), u32::MAX);
        }
        for index in 0..13 {
            let value = world.random.next() as u32;
            world.write32(u64::from(at::PFQF_HKEY + 128 * index), value);
            world.write32(u64::from(at::PFQF_HLUT + 128 * index), value & 0x0303_0303);
        }
        world.write32(at::PFHMC_SDDATALOW.into(), PRIVATE as u32 | 3);
        world.write32(at::PFHMC_SDDATAHIGH.into(), 0);
        world.write32(at::PFHMC_SDCMD.into(), ENABLE);
        for (offset, value) in [
            (at::GLHMC_LANTXBASE, 0),
            (at::GLHMC_LANTXCNT, 128),
            (at::GLHMC_LANRXBASE, 128 * 128 / 512),
            (at::GLHMC_LANRXCNT, 128),
            (at::PFINT_ICR0_ENA, 0xFFFF_0000),
            (at::PFINT_DYN_CTL0, 1),
        ] {
            world.write32(offset.into(), value);
        }
        for (index, queue) in (0..).zip(QUEUES) {
            let next = QUEUES.get(index + 1).copied().unwrap_or(0x7FF);
            let vector = index as u32 + 1;
            let cause = 1 << 30 | vector;
            let to_tx = 1 << 27 | (queue as u32) << 16;
            world.write32(register(at::QINT_RQCTL, queue), cause | to_tx);
            let end = world.random.pick(&[0x7FF, 0x7FF, next as u32]) << 16;
            world.write32(register(at::QINT_TQCTL, queue), cause | end | 1 << 11);
            world.write32(register(at::PFINT_LNKLSTN, index as u64), queue as u32);
            world.write32(register(at::PFINT_DYN_CTLN, index as u64), 1);
        }
    }

    /// A queue context with `fields` (first bit and value), mostly.
    fn context(world: &mut World, entry: u64, bytes: usize, fields: &[(usize, u64)]) {
        let mut context = vec![0; bytes];
        for (first, value) in fields {
            let value = world.random.near(*value, 64);
            for bit in (0..64).filter(|bit| value >> bit & 1 != 0) {
                if let Some(byte) = context.get_mut((first + bit) / 8) {
                    *byte |= 1 << ((first + bit) % 8);
                }
            }
        }
        let _ = world.host.memory.write(entry, &context);
    }

    fn start_rx(&mut self, world: &mut World, index: usize) {
        let ring = &mut self.rx[index];
        ring.length = world.random.pick(&[32, 64, 64, 512]);
        ring.tail = 0;
        let long = world.random.below(2);
        ring.size = 16 << long;
        let buffer = world.random.pick(&[8, 12, 16, 16, 127]);
        let longest = world.random.pick(&[1522, 1522, 9728, 64]);
        let base = match world.random.below(24) {
            0 => address(&mut world.random, 2),
            _ => ring.base,
        };
        let fields = [
            (32, base >> 7),
            (89, ring.length),
            (102, buffer),
            (116, long),
            (117, world.random.below(2)),
            (119, world.random.below(2)),
            (174, longest),
        ];
        let ring = *ring;
        world.write32(register(at::QRX_ENA, ring.id), 0);
        Self::context(world, RX_CONTEXTS + 32 * ring.id, 32, &fields);
        self.post(world, index, ring.length - 1);
        world.write32(register(at::QRX_ENA, ring.id), 1);
        self.post(world, index, 0);
    }

    fn start_tx(&mut self, world: &mut World, index: usize) {
        let ring = &mut self.tx[index];
        ring.length = world.random.pick(&[32, 64, 64, 512, 1024]);
        ring.tail = 0;
        let ring = *ring;
        let head = match world.random.below(12) {
            0 => address(&mut world.random, 2),
            _ => HEADS + 4 * ring.id,
        };
        let fields = [
            (32, ring.base >> 7),
            (91, 1),
            (160, world.random.below(2)),
            (161, ring.length),
            (192, head),
        ];
        world.write32(register(at::QTX_ENA, ring.id), 0);
        Self::context(world, PRIVATE + 128 * ring.id, 128, &fields);
        world.write32(register(at::QTX_CTL, ring.id), 2);
        let qdis = world.random.pick(&[1 << 31, 1 << 31, 1 << 31, 1 << 30]);
        world.write32(at::GLLAN_TXPRE_QDIS.into(), qdis | ring.id as u32);
        world.write32(register(at::QTX_ENA, ring.id), 1);
    }

    /// Sends a command without a check of its result.
    fn command(&mut self, world: &mut World, opcode: u16, params: [u16; 4], data: &[u8]) {
        let index = self.commands % ADMIN_ENTRIES;
        self.commands = (index + 1) % ADMIN_ENTRIES;
        let entry = SEND_RING + 32 * u64::from(index);
        let flags: u64 = match data.len() {
            0 => 0x2000,
            _ => 0x3400,
        };
        let length = world.random.near(data.len() as u64, 32) & 0xFFFF;
        let buffer = match world.random.below(64) {
            0 => address(&mut world.random, 2),
            _ => COMMAND_BUFFER,
        };
        let _ = world.host.memory.write(COMMAND_BUFFER, data);
        let low = params
            .iter()
            .rev()
            .fold(0, |sum, param| sum << 16 | u64::from(*param));
        let opcode = u64::from(opcode) << 16;
        world.store(entry, flags | opcode | length << 32);
        world.store(entry + 8, 0);
        world.store(entry + 16, low);
        world.store(entry + 24, buffer.rotate_right(32));
        let tail = world.random.near(self.commands.into(), 64);
        world.write32(at::ATQT.into(), tail as u32);
    }

    /// Any command, with parameters that may be valid.
    fn any_command(&mut self, world: &mut World) {
        let opcode = match world.random.below(16) {
            0 => world.random.next() as u16,
            _ => world.random.pick(&COMMANDS),
        };
        let mut params = [0; 4];
        for param in &mut params {
            let seid = 512 + world.random.below(10) as u16;
            let any = world.random.value() as u16;
            *param = world.random.pick(&[seid, seid | 0x8000, any, 1, 288, 7]);
        }
        let size = world
            .random
            .pick(&[0, 16, 24, 32, 52, 64, 128, 512, 536, 1024]);
        let mut data = vec![0; size];
        for byte in &mut data {
            if world.random.once_in(4) {
                *byte = world.random.next() as u8;
            }
        }
        self.command(world, opcode, params, &data);
    }

    /// Writes frames to a Tx ring, with the offloads of Linux, and the tail.
    fn send(&mut self, world: &mut World, index: usize) {
        for _ in 0..world.random.below(8) {
            let (buffer, shape) = ring::frame_in_memory(world);
            match world.random.below(6) {
                0 => self.filter(world, index),
                1 | 2 => self.segments(world, index, buffer.1),
                _ => {}
            }
            let [mac, ip, l4] = [shape.mac_len / 2, shape.ip_len / 4, shape.l4_len / 4];
            let offsets = mac | ip << 7 | l4 << 14;
            let ip = if shape.ipv4 { 3 } else { 1 } << 5;
            let l4 = [3, 1, 2, 0][(shape.l4 & 3) as usize] << 8;
            let tag = world.random.pick(&[0, 0, 8]) | world.random.next() << 48;
            let command = (ip | l4 | tag & 8) << 4 | offsets << 16 | tag & !0xFFFF << 32;
            self.data(world, index, buffer, command);
        }
        self.move_tail(world, self.tx[index], at::QTX_TAIL);
    }

    fn segments(&mut self, world: &mut World, index: usize, length: u64) {
        let mss = world
            .random
            .pick(&[536, 1_448, 1_448, 8_948, 0, 1, 63, 64, 9_674]);
        let tag = world.random.pick(&[0, 0, 1 << 6]);
        let tunnel = world
            .random
            .pick(&[0, 0, 0, 3 | 5 << 2 | 1 << 9 | 15 << 12]);
        let high = mss << 50 | (length & 0x3_FFFF) << 30 | tag | 1 << 4 | 1;
        self.tx[index].put(world, tunnel, high);
    }

    /// A filter for the next frame.
    fn filter(&mut self, world: &mut World, index: usize) {
        let pctype = world.random.pick(&[31, 33, 34, 35, 41, 43, 44, 46, 63]);
        let low = pctype << 17 | world.random.below(130);
        let command = world.random.pick(&[1, 1, 1, 2]) << 4;
        let to = world.random.below(3) << 7;
        let counter = world.random.below(512) << 20 | 1 << 11;
        let high = world.random.value();
        let high = u64::from(high) << 32 | counter | 1 << 13 | to | command | 8;
        self.tx[index].put(world, low, high);
    }

    fn data(
        &mut self,
        world: &mut World,
        index: usize,
        buffer: (u64, u64),
        command: u64,
    ) {
        let dummy = world.random.pick(&[0, 0, 0, 0, 0, 0, 0, DUMMY]);
        let all = command & !(0x3FFF << 34) | dummy;
        self.tx[index].put_data(world, buffer, &FORMAT, |_, part| all | part << 34);
    }

    fn post(&mut self, world: &mut World, index: usize, count: u64) {
        for _ in 0..count {
            let size = self.rx[index].size;
            let descriptor = self.rx[index].advance();
            let buffer = address(&mut world.random, 1_000);
            world.store(descriptor, buffer);
            for word in 1..size / 8 {
                world.store(descriptor.wrapping_add(8 * word), 0);
            }
        }
        self.move_tail(world, self.rx[index], at::QRX_TAIL);
    }

    fn move_tail(&self, world: &mut World, ring: Ring, base: u32) {
        let tail = ring.near_tail(&mut world.random);
        world.write32(register(base, ring.id), tail);
    }

    /// Writes a register of a queue that is probably enabled.
    fn hit_queue(&mut self, world: &mut World, index: usize) {
        let base = world.random.pick(&[
            at::QTX_ENA,
            at::QRX_ENA,
            at::QTX_TAIL,
            at::QRX_TAIL,
            at::QTX_CTL,
            at::QINT_RQCTL,
            at::QINT_TQCTL,
        ]);
        let value = match base {
            at::QTX_ENA | at::QRX_ENA => world.random.below(8) as u32,
            _ => world.random.value(),
        };
        world.write32(register(base, QUEUES[index]), value);
    }
}

impl world::Driver for Driver {
    fn act(&mut self, world: &mut World) {
        let index = world.random.below(QUEUES.len() as u64) as usize;
        match world.random.below(26) {
            25 if world.random.once_in(4) => self.start(world),
            0..6 => self.send(world, index),
            6..9 => {
                let count = world.random.below(80);
                self.post(world, index, count);
            }
            9..11 => self.hit_queue(world, index),
            11 => self.start_rx(world, index),
            12 => self.start_tx(world, index),
            13 => ring::scribble(world),
            14..18 => self.any_command(world),
            18 => self.start_admin(world),
            19 => self.basic(world),
            20 | 21 => ring::any_register(world, TABLE, &RESETS),
            22 => {
                let (offset, _) = ring::register(&mut world.random, TABLE);
                world.read32(offset);
            }
            23 => ring::odd_access(world, 0x40_0000),
            _ => interrupts(world),
        }
    }

    fn stop(&self, world: &mut World) -> bool {
        for offset in [at::ATQLEN, at::ARQLEN] {
            world.write32(offset.into(), 0);
        }
        let enables =
            |queue| [register(at::QTX_ENA, queue), register(at::QRX_ENA, queue)];
        let enables: Vec<u64> = (0..128).flat_map(enables).collect();
        ring::disable(world, &enables, STATUS)
    }

    fn kick(&self, world: &mut World) {
        for (rings, base) in [(&self.rx, at::QRX_TAIL), (&self.tx, at::QTX_TAIL)] {
            for ring in rings {
                let tail = (ring.tail % ring.length) as u32;
                world.write32(register(base, ring.id), tail);
            }
        }
        world.write32(at::ATQT.into(), (self.commands + 1) % ADMIN_ENTRIES);
    }
}

fn interrupts(world: &mut World) {
    let vector = world.random.below(6);
    let base = world.random.pick(&[
        at::PFINT_DYN_CTLN,
        at::PFINT_DYN_CTLN,
        at::PFINT_LNKLSTN,
        at::PFINT_ITRN,
        at::PFINT_DYN_CTL0,
        at::PFINT_ICR0_ENA,
    ]);
    let value = match base {
        at::PFINT_LNKLSTN => world.random.pick(&QUEUES) as u32,
        _ => world.random.value(),
    };
    let vector = match base {
        at::PFINT_DYN_CTL0 | at::PFINT_ICR0_ENA => 0,
        _ => vector,
    };
    world.write32(register(base, vector), value);
    world.read32(at::PFINT_ICR0.into());
}
