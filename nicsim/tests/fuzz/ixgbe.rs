// SPDX-License-Identifier: GPL-2.0
//! A driver of the 82599 with mostly valid accesses.

use nicsim::chip::ixgbe::regs::TABLE;

use crate::frames;
use crate::ring::{self, Format, RING_SPACE, Ring};
use crate::world::{self, World, address};

const RX_ENABLE: u32 = 1 << 25;
/// Queues in use: those of RSS, and some that only filters reach.
const QUEUES: [u32; 6] = [0, 1, 2, 3, 64, 127];

const FORMAT: Format = Format {
    part_max: 0xffff,
    eop: 1 << 24,
    rs: 1 << 27,
};
const DEXT: u64 = 1 << 29;
const VLE: u64 = 1 << 30;
const TSE: u64 = 1 << 31;
const CONTEXT: u64 = 2 << 20 | DEXT;
const DATA: u64 = 3 << 20 | DEXT;

/// State of the driver. The id of a ring is the offset of its registers.
pub struct Driver {
    rx: Vec<Ring>,
    tx: Vec<Ring>,
}

fn rx_registers(queue: u32) -> u64 {
    u64::from(match queue {
        0..64 => 0x1000 + 0x40 * queue,
        _ => 0xd000 + 0x40 * (queue - 64),
    })
}

fn tx_registers(queue: u32) -> u64 {
    u64::from(0x6000 + 0x40 * queue)
}

impl Driver {
    /// Initializes the chip as Linux does: filters, RSS, interrupts, a few queues.
    pub fn probe(world: &mut World) -> Self {
        let rx = |(index, queue): (usize, &u32)| Ring::new(rx_registers(*queue), index);
        let tx =
            |(index, queue): (usize, &u32)| Ring::new(tx_registers(*queue), index + 8);
        let mut driver = Self {
            rx: QUEUES.iter().enumerate().map(rx).collect(),
            tx: QUEUES.iter().enumerate().map(tx).collect(),
        };
        driver.start(world);
        driver
    }

    /// Resets and configures the chip.
    fn start(&mut self, world: &mut World) {
        world.write32(0x00000, 1 << 26); // CTRL.RST
        self.basic(world);
        for index in 0..QUEUES.len() {
            self.start_rx(world, index);
            self.start_tx(world, index);
        }
    }

    fn basic(&self, world: &mut World) {
        world.write32(0x05080, 0x702); // FCTRL: all frames
        world.write32(0x04240, 0x1_0c0f); // HLREG0: jumbo, pad
        world.write32(0x04268, 0x3e80_0000); // MHADD: 16000
        world.write32(0x05000, 0x3000); // RXCSUM
        world.write32(0x05818, 0x0033_0001); // MRQC: RSS
        for index in 0..42 {
            let value = world.random.next() as u32;
            world.write32(0x05c00 + 4 * index, value & 0x0303_0303); // RETA, RSSRK
        }
        world.write32(0x00898, 0xc000_0036); // GPIE
        for index in 0..64 {
            let value = world.random.next() as u32;
            world.write32(0x00900 + 4 * index, value | 0x8080_8080); // IVAR
        }
        for offset in [0xaa0, 0xaa4, 0xad0, 0xad4, 0x880] {
            world.write32(offset, u32::MAX);
        }
        if world.random.once_in(4) {
            world.write32(0x03d00, 1 << 3); // FCCFG: send pause frames
            world.write32(0x03260, 1 << 31 | 0x4000); // FCRTH
            world.write32(0x03220, 1 << 31 | 0x2000); // FCRTL
        }
        world.write32(0x04a80, 0x8100_0001); // DMATXCTL.TE
        world.write32(0x03000, 1); // RXCTRL.RXEN
    }

    fn start_rx(&mut self, world: &mut World, index: usize) {
        let size = world.random.pick(&[1, 2, 2, 3, 8, 10]);
        let kind = world.random.pick(&[1, 1, 1, 5]) << 25;
        let drop = world.random.pick(&[0, 1 << 28]);
        let ring = set_up(world, &mut self.rx[index]);
        world.write32(ring.id + 0x14, drop | kind | 4 << 8 | size); // SRRCTL
        let strip = world.random.pick(&[0, 1 << 30]);
        world.write32(ring.id + 0x28, RX_ENABLE | strip);
        self.post(world, index, ring.length - 1);
    }

    fn start_tx(&mut self, world: &mut World, index: usize) {
        let ring = set_up(world, &mut self.tx[index]);
        world.write32(ring.id + 0x28, RX_ENABLE | 8 << 16 | 1 << 8 | 32);
    }

    /// Writes frames to a Tx ring, with the offloads of Linux, and the tail.
    fn send(&mut self, world: &mut World, index: usize) {
        for _ in 0..world.random.below(8) {
            let (buffer, shape) = ring::frame_in_memory(world);
            let large = world.random.once_in(3);
            let options = self.context(world, index, shape, large);
            self.data(world, index, buffer, options);
        }
        self.move_tail(world, self.tx[index]);
    }

    /// A context descriptor, or none; returns command and options for the data
    /// descriptors.
    fn context(
        &mut self,
        world: &mut World,
        index: usize,
        shape: frames::Shape,
        large: bool,
    ) -> (u64, u64) {
        let random = &mut world.random;
        if random.once_in(4) {
            return (random.pick(&[0, 0, TSE, VLE]), random.pick(&[0, 0, 0x300]));
        }
        let mss = random.pick(&[536, 1_448, 1_448, 8_948, 0, 1, 8, 64, 0xffff]);
        let low = random.next() & 0xffff << 16
            | random.near(shape.mac_len, 16) << 9 & 0xfe00
            | random.near(shape.ip_len, 16) & 0x1ff;
        let context = random.below(2);
        let high = CONTEXT
            | u64::from(shape.ipv4) << 10
            | random.near(shape.l4, 16) << 11 & 0x1800
            | context << 36
            | (random.near(shape.l4_len, 16) & 0xff) << 40
            | mss << 48;
        let options = 0x300 | 0x80 | context << 4;
        self.tx[index].put(world, low, high);
        (
            if large {
                TSE
            } else {
                world.random.pick(&[0, VLE])
            },
            options,
        )
    }

    fn data(
        &mut self,
        world: &mut World,
        index: usize,
        buffer: (u64, u64),
        (command, options): (u64, u64),
    ) {
        let all = command | options << 32 | buffer.1 << 46;
        self.tx[index].put_data(world, buffer, &FORMAT, |random, part| {
            random.pick(&[DATA, DATA, DATA, DATA, DATA, 0]) | all | part
        });
    }

    fn post(&mut self, world: &mut World, index: usize, count: u64) {
        for _ in 0..count {
            let descriptor = self.rx[index].advance();
            let buffer = address(&mut world.random, 1_000);
            world.store(descriptor, buffer);
            let header = match world.random.below(4) {
                0 => address(&mut world.random, 1_000),
                _ => 0,
            };
            world.store(descriptor.wrapping_add(8), header);
        }
        self.move_tail(world, self.rx[index]);
    }

    fn move_tail(&self, world: &mut World, ring: Ring) {
        let tail = ring.near_tail(&mut world.random);
        world.write32(ring.id + 0x18, tail);
    }

    /// Writes a register of a queue that is probably enabled.
    fn hit_queue(&mut self, world: &mut World, index: usize) {
        let rings = if world.random.once_in(2) {
            &self.rx
        } else {
            &self.tx
        };
        let ring = rings[index];
        let register = world
            .random
            .pick(&[0u64, 4, 8, 0x10, 0x14, 0x18, 0x28, 0x28, 0x38]);
        let value = match register {
            0 => world.random.near(ring.base, 2) as u32,
            8 => world.random.near(ring.length * 16, 2) as u32,
            0x10 | 0x18 => world.random.near(ring.length, 2) as u32,
            0x28 => world.random.pick(&[0, RX_ENABLE, 1 << 26, u32::MAX]),
            _ => world.random.value(),
        };
        world.write32(ring.id + register, value);
    }

    /// Flow director commands, enough to fill its table.
    fn flow_director(&self, world: &mut World) {
        let size = world.random.pick(&[1, 2, 3, 0]);
        world.write32(0x0ee00, 1 << 4 | size); // FDIRCTRL: perfect filters
        // The masks: all bits of a field, or none
        for offset in [0xee3c, 0xee40, 0xee44, 0xee48, 0xee70] {
            let value = world.random.pick(&[u32::MAX, u32::MAX, 0]);
            world.write32(offset, value);
        }
        for _ in 0..world.random.pick(&[1, 16, 600]) {
            for offset in [0xee0c, 0xee18, 0xee1c, 0xee20, 0xee24, 0xee28] {
                let value = world.random.value();
                world.write32(offset, value);
            }
            let command = world.random.pick(&[1, 1, 1, 2, 3, 0]);
            let queue = world.random.pick(&QUEUES) << 16 | 1 << 15;
            let value = world.random.pick(&[queue, queue, queue | 1 << 9, 1 << 8]);
            let value = world.random.near(value.into(), 8) as u32;
            world.write32(0x0ee2c, command | value & !3); // FDIRCMD
        }
    }
}

impl world::Driver for Driver {
    fn act(&mut self, world: &mut World) {
        let index = world.random.below(QUEUES.len() as u64) as usize;
        match world.random.below(25) {
            24 if world.random.once_in(4) => self.start(world),
            0..6 => self.send(world, index),
            6..9 => {
                let count = world.random.below(80);
                self.post(world, index, count);
            }
            9..12 => self.hit_queue(world, index),
            12 => self.start_rx(world, index),
            13 => self.start_tx(world, index),
            14 => ring::scribble(world),
            15 => self.flow_director(world),
            16 => self.basic(world),
            17..20 => ring::any_register(world, TABLE, &["CTRL"]),
            20 => {
                let (offset, _) = ring::register(&mut world.random, TABLE);
                world.read32(offset);
            }
            21 => ring::odd_access(world, 0x8_0000),
            _ => interrupts(world),
        }
    }

    fn stop(&self, world: &mut World) -> bool {
        let enables = |queue| [rx_registers(queue) + 0x28, tx_registers(queue) + 0x28];
        let enables: Vec<u64> = (0..128).flat_map(enables).collect();
        ring::disable(world, &enables, RX_ENABLE)
    }

    fn kick(&self, world: &mut World) {
        for ring in self.rx.iter().chain(&self.tx) {
            world.write32(ring.id + 0x18, (ring.tail % ring.length) as u32);
        }
    }
}

/// Base, length, head and tail; sometimes invalid.
fn set_up(world: &mut World, ring: &mut Ring) -> Ring {
    world.write32(ring.id + 0x28, 0);
    let entries = world.random.pick(&[8, 64, 64, 512, RING_SPACE / 16]);
    let length = match world.random.below(24) {
        0 => world.random.pick(&[0, 1, 16, 0xf_ff80, 0xffff_ffff]),
        _ => entries * 16,
    };
    let base = match world.random.below(24) {
        0 => address(&mut world.random, 2) & !0x7f,
        _ => ring.base,
    };
    ring.length = entries;
    ring.tail = 0;
    world.write32(ring.id, base as u32);
    world.write32(ring.id + 4, (base >> 32) as u32);
    world.write32(ring.id + 8, length as u32);
    for register in [0x10, 0x18] {
        let value = world.random.near(0, 24);
        world.write32(ring.id + register, value as u32);
    }
    *ring
}

fn interrupts(world: &mut World) {
    let offset = world
        .random
        .pick(&[0x800, 0x808, 0x880, 0x888, 0xa90, 0xa94, 0xaa0, 0xab0]);
    let value = world.random.value();
    world.write32(offset, value);
    let vector = world.random.below(64);
    world.write32(0x820 + 4 * (vector % 24), value & 0xff8);
    world.read32(0x800);
}
