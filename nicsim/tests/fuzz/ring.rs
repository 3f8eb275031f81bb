// SPDX-License-Identifier: GPL-2.0
//! What the drivers of all chips do to descriptor rings and registers.

use nicsim::chip::registers::Row;

use crate::frames::{self, Shape};
use crate::random::Random;
use crate::world::{RINGS, World, address};

/// Bytes of guest memory for each ring.
pub const RING_SPACE: u64 = 0x4000;

/// Second word of a Tx data descriptor.
pub struct Format {
    /// Maximum length of a buffer.
    pub part_max: u64,
    pub eop: u64,
    pub rs: u64,
}

/// A ring from the driver's point of view.
#[derive(Clone, Copy)]
pub struct Ring {
    /// Queue number, or offset of its registers.
    pub id: u64,
    pub base: u64,
    pub length: u64,
    /// Bytes of a descriptor.
    pub size: u64,
    pub tail: u64,
}

impl Ring {
    /// Ring number `index` in guest memory.
    pub fn new(id: u64, index: usize) -> Self {
        Self {
            id,
            base: RINGS.start + index as u64 * RING_SPACE,
            length: 64,
            size: 16,
            tail: 0,
        }
    }

    /// Address of the next descriptor.
    pub fn advance(&mut self) -> u64 {
        let descriptor = self.base.wrapping_add(self.tail * self.size);
        self.tail = (self.tail + 1) % self.length;
        descriptor
    }

    /// Value of the tail register, mostly.
    pub fn near_tail(&self, random: &mut Random) -> u32 {
        random.near(self.tail, 24) as u32
    }

    /// A Tx descriptor, mostly as given.
    pub fn put(&mut self, world: &mut World, low: u64, high: u64) {
        let descriptor = self.advance();
        let low = world.random.near(low, 64);
        let high = world.random.near(high, 64);
        world.store(descriptor, low);
        world.store(descriptor.wrapping_add(8), high);
    }

    /// Descriptors for a buffer, cut at random. `describe` gives the second word of one
    /// from its length.
    pub fn put_data(
        &mut self,
        world: &mut World,
        (mut address, mut left): (u64, u64),
        format: &Format,
        mut describe: impl FnMut(&mut Random, u64) -> u64,
    ) {
        while left > 0 {
            let part = match world.random.below(4) {
                0 => 1 + world.random.below(left),
                _ => left,
            };
            let part = part.min(format.part_max);
            let mut high = describe(&mut world.random, part);
            left -= part;
            if left == 0 && !world.random.once_in(32) {
                high |= format.eop;
            }
            if world.random.once_in(3) {
                high |= format.rs;
            }
            self.put(world, address, high);
            address = address.wrapping_add(part);
        }
    }
}

/// A frame to send: address and length of its buffer, and the shape of its headers.
pub fn frame_in_memory(world: &mut World) -> ((u64, u64), Shape) {
    let limit = world.random.pick(&[100, 1_500, 1_500, 9_000, 60_000]);
    let payload = world.random.below(limit) as usize;
    let (frame, shape) = frames::well_formed(&mut world.random, payload);
    let buffer = address(&mut world.random, 32);
    // Where the buffer is not writable, the chip sends what is there.
    let _ = world.host.memory.write(buffer, &frame);
    ((buffer, frame.len() as u64), shape)
}

/// Writes garbage to rings and contexts while the chip uses them.
pub fn scribble(world: &mut World) {
    for _ in 0..world.random.below(64) {
        let word = (RINGS.start + world.random.below(RINGS.end - RINGS.start)) & !7;
        let value = world.random.next();
        world.store(word, value);
    }
}

/// Writes 0 to the registers that enable queues; whether all queues are disabled then,
/// that is have `status` clear.
pub fn disable(world: &mut World, enables: &[u64], status: u32) -> bool {
    for enable in enables {
        world.write32(*enable, 0);
    }
    world.pass(100_000);
    enables
        .iter()
        .all(|enable| world.read32(*enable) & status == 0)
}

/// Offset and name of a register of the chip.
pub fn register(random: &mut Random, table: &[Row]) -> (u64, &'static str) {
    let row = &table[random.below(table.len() as u64) as usize];
    let index = random.below(u64::from(row.count));
    (
        u64::from(row.offset) + index * u64::from(row.stride),
        row.name,
    )
}

/// Writes any register, but seldom one of `resets`, which end the interesting part.
pub fn any_register(world: &mut World, table: &[Row], resets: &[&str]) {
    let (offset, name) = register(&mut world.random, table);
    if resets.contains(&name) && !world.random.once_in(16) {
        return;
    }
    let value = match world.random.below(2) {
        0 => world.read32(offset) ^ 1 << world.random.below(32),
        _ => world.random.value(),
    };
    world.write32(offset, value);
}

/// Accesses of widths and at offsets that no driver uses; BAR 0 has `size` bytes.
pub fn odd_access(world: &mut World, size: u64) {
    let number = world.random.next();
    let offset = match world.random.below(4) {
        0 => number,
        1 => u64::MAX - number % 16,
        _ => number % (size + 16),
    };
    let mut data = vec![number as u8; world.random.pick(&[0, 1, 2, 3, 4, 5, 8, 16, 64])];
    if world.random.once_in(2) {
        world.chip.read(&mut world.host, offset, &mut data);
    } else {
        world.chip.write(&mut world.host, offset, &data);
    }
}
