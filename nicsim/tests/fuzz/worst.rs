// SPDX-License-Identifier: GPL-2.0
//! The most expensive register writes of a guest, which random actions seldom find. Each
//! call of the chip has to return soon, since it blocks all ports; the whole work may
//! take any time. For the 82599.

use nicsim::event::Event;
use nicsim::host::Timing;

use crate::random::Random;
use crate::world::{BUFFERS, Model, RINGS, World};
use crate::{MEMORY_LIMIT, frames, peak_memory, timed};

const DATA: u64 = 3 << 20 | 1 << 29;
const CONTEXT: u64 = 2 << 20 | 1 << 29;
const EOP: u64 = 1 << 24;
const TSE: u64 = 1 << 31;

/// A transmitting chip, with all queues on one ring.
fn sender(loopback: bool, descriptors: &[(u64, u64)]) -> World {
    let mut world = World::new(1, Model::I82599);
    world.host.timing = Timing::LOCKSTEP;
    let (frame, _) = (1..)
        .map(|seed| frames::well_formed(&mut Random::new(seed), 0))
        .find(|(_, shape)| shape.ipv4 && shape.l4 == 1 && shape.mac_len == 14)
        .expect("one of many");
    world
        .host
        .memory
        .write(BUFFERS.start, &frame)
        .expect("mapped");
    let descriptors = RINGS.step_by(16).zip(descriptors.iter().cycle());
    for (at, (low, high)) in descriptors {
        world.store(at, *low);
        world.store(at + 8, *high);
    }
    world.write32(0x05080, 0x702); // FCTRL: all frames
    world.write32(0x04240, 0x1_0c0f | u32::from(loopback) << 15); // HLREG0
    world.write32(0x03000, 1); // RXCTRL.RXEN
    world.write32(0x04a80, 1); // DMATXCTL.TE
    for queue in 0..128 {
        let registers = 0x6000 + 0x40 * queue;
        world.write32(registers, RINGS.start as u32);
        world.write32(registers + 8, (RINGS.end - RINGS.start) as u32);
        world.write32(registers + 0x28, 1 << 25);
    }
    world
}

/// A frame in one descriptor, with PAYLEN.
fn frame(length: u64) -> (u64, u64) {
    (BUFFERS.start, DATA | EOP | length | length << 46)
}

/// Frames of 256 KB to segment, with `mss` bytes of payload each. Without RS, so that no
/// write-back changes the shared ring.
fn large_sends(mss: u64) -> Vec<(u64, u64)> {
    let context = (14 << 9 | 20, CONTEXT | 3 << 10 | 20 << 40 | mss << 48);
    let payload = (
        BUFFERS.start,
        DATA | TSE | 0xffff | 0x40000 << 46 | 0x300 << 32,
    );
    let last = (BUFFERS.start, payload.1 | EOP);
    vec![context, payload, payload, payload, last]
}

/// All tails move; then the chip runs for a while. Returns the number of sent frames.
fn exhaust(mut world: World, what: &str) -> u64 {
    let tail = ((RINGS.end - RINGS.start) / 16 - 1) as u32;
    for queue in 0..128 {
        timed(what, || world.write32(0x6000 + 0x40 * queue + 0x18, tail));
        timed(what, || world.check());
    }
    for _ in 0..8 {
        timed(what, || world.chip.run(&mut world.host));
        world.check();
    }
    let counters = world.chip.counters();
    counters
        .iter()
        .find(|(name, _)| *name == "tx_frames")
        .map_or(0, |(_, count)| *count)
}

#[test]
fn frames_without_eop() {
    assert_eq!(
        exhaust(sender(false, &[(BUFFERS.start, DATA | 0xffff)]), "no EOP"),
        0
    );
    assert_eq!(exhaust(sender(false, &[(0, 0)]), "nothing"), 0);
    let mut world = sender(false, &[(BUFFERS.start, DATA | 0xffff)]);
    world.write32(0x6018, 0x3fff);
    assert!(world.idle(), "the ring has an end");
    assert!(
        peak_memory() < MEMORY_LIMIT,
        "{} bytes of memory",
        peak_memory()
    );
    assert_ne!(exhaust(sender(true, &[frame(14)]), "runts"), 0);
}

#[test]
fn large_sends_of_small_segments() {
    for mss in [0, 1, 8, 64, 0xffff] {
        let sent = [false, true].map(|loopback| {
            exhaust(sender(loopback, &large_sends(mss)), &format!("MSS {mss}"))
        });
        assert_eq!(sent.map(|frames| frames > 0), [mss == 64; 2], "{mss}");
    }
}

#[test]
fn large_sends_into_a_full_flow_director() {
    let mut world = sender(true, &large_sends(64));
    world.write32(0x0ee00, 1 << 4 | 3); // FDIRCTRL: perfect filters
    for filter in 0..8_192 {
        world.write32(0x0ee28, filter << 16); // FDIRHASH
        world.write32(0x0ee18, filter); // FDIRIPSA
        timed("filter", || world.write32(0x0ee2c, 1 | 1 << 15)); // FDIRCMD
    }
    assert_ne!(exhaust(world, "filters"), 0);
}

#[test]
fn tails_beyond_the_ring() {
    let entries = (RINGS.end - RINGS.start) / 16;
    for tail in [entries, entries + 1, 0xffff] {
        let mut world = sender(true, &[frame(60)]);
        let events = |world: &World| world.host.events.count(Event::TailBeyondRing);
        world.write32(0x6018, tail as u32);
        assert_eq!(events(&world), 1, "Tx");
        world.write32(0x1000, RINGS.start as u32);
        world.write32(0x1008, (RINGS.end - RINGS.start) as u32);
        world.write32(0x1028, 1 << 25);
        world.write32(0x1018, tail as u32);
        assert_eq!(events(&world), 2, "Rx");
        world.write32(0x6018, 1); // one frame for the receiver, which has no buffers
        assert!(world.idle());
        let moved = world
            .chip
            .counters()
            .into_iter()
            .filter(|(_, count)| *count > 0);
        let names: Vec<&str> = moved.map(|(name, _)| name).collect();
        assert!(
            names.contains(&"tx_frames") && !names.contains(&"rx_frames"),
            "{names:?}"
        );
    }
}
