// SPDX-License-Identifier: GPL-2.0
//! Hostile guests, wires and timings for the chips: invalid input is counted and never
//! causes a crash, a hang, or invalid DMA.
//!
//! ```text
//! cargo test --test fuzz                               five seconds, and the saved seeds
//! NICSIM_FUZZ_SECONDS=600 cargo test --test fuzz       longer NICSIM_FUZZ_SEED=1234
//! cargo test --test fuzz         a single seed
//! ```
//!
//! A run depends only on its seed, which is printed on failure. Seeds that found a bug
//! are in `seeds/`, a file per bug.
#![allow(clippy::expect_used)] // tests fail by panics

mod frames;
mod i40e;
mod ixgbe;
mod random;
mod ring;
mod world;
mod worst;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use world::{Model, World};

/// Steps of one run.
const STEPS: u32 = 400;
/// CPU time after which a step hangs.
const STEP_LIMIT: Duration = Duration::from_secs(1);
/// Time after which a step is endless, even on a busy machine.
const ENDLESS: Duration = Duration::from_secs(30);

/// Memory limit of all runs: guest memory, packet buffer, and a few large frames each.
const MEMORY_LIMIT: u64 = 512 << 20;

/// The current run, and the steps of all runs, for the watchdog.
static SEED: AtomicU64 = AtomicU64::new(0);
static STEP: AtomicU64 = AtomicU64::new(0);

/// CPU time of this thread.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs one step, which fails if it takes too much CPU time.
fn timed<T>(what: &str, step: impl FnOnce() -> T) -> T {
    let start = used();
    let result = step();
    let took = used() - start;
    assert!(took < STEP_LIMIT, "{what} took {took:?}");
    result
}

/// Counters of the chips over all runs: a fuzzer that moves no frames finds no bugs.
type Counts = BTreeMap<&'static str, u64>;

/// One run: a driver starts, then random actions follow.
fn run(model: Model, seed: u64, counts: &mut Counts) {
    SEED.store(seed, Ordering::Relaxed);
    let mut world = World::new(seed, model);
    let mut driver = model.probe(&mut world);
    for step in 0..STEPS {
        timed(&format!("step {step}"), || {
            if world.random.once_in(2) {
                driver.act(&mut world);
            } else {
                world.act();
            }
            world.check();
        });
        STEP.fetch_add(1, Ordering::Relaxed);
    }
    timed("the end", || world.finish(driver.as_ref()));
    assert!(
        peak_memory() < MEMORY_LIMIT,
        "{} bytes of memory",
        peak_memory()
    );
    for (name, count) in world
        .chip
        .counters()
        .into_iter()
        .chain(world.host.events.iter())
    {
        *counts.entry(name).or_default() += count;
    }
}

/// Peak memory of this process, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = line.and_then(|line| line.split_whitespace().next());
    words
        .and_then(|kilobytes| kilobytes.parse().ok())
        .map_or(0, |size: u64| size * 1024)
}

/// Runs `seed`; a failure names it.
fn run_named(model: Model, seed: u64, counts: &mut Counts) {
    if let Err(failure) = catch_unwind(AssertUnwindSafe(|| run(model, seed, counts))) {
        eprintln!("fuzz: {model:?} failed with NICSIM_FUZZ_SEED={seed}");
        resume_unwind(failure);
    }
}

/// Aborts the program when a step does not end.
fn watch() {
    let mut last = (STEP.load(Ordering::Relaxed), Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let step = STEP.load(Ordering::Relaxed);
        if step != last.0 {
            last = (step, Instant::now());
        } else if last.1.elapsed() > ENDLESS {
            eprintln!(
                "fuzz: endless with NICSIM_FUZZ_SEED={}",
                SEED.load(Ordering::Relaxed)
            );
            std::process::abort();
        }
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The seeds in `seeds/`: a number per line, `#` begins a comment.
fn saved_seeds() -> Vec<u64> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/seeds");
    let files = std::fs::read_dir(folder)
        .expect("seeds")
        .map(|file| file.expect("seed"));
    let texts = files.map(|file| std::fs::read_to_string(file.path()).expect("seed"));
    let texts: Vec<String> = texts.collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.map(|line| line.parse().expect("a number")).collect()
}

#[test]
fn hostile_guest_of_the_82599() {
    fuzz(Model::I82599);
}

#[test]
fn hostile_guest_of_the_x710() {
    fuzz(Model::X710);
}

fn fuzz(model: Model) {
    static WATCHDOG: Once = Once::new();
    WATCHDOG.call_once(|| drop(std::thread::spawn(watch)));
    let mut counts = Counts::new();
    if let Some(seed) = setting("NICSIM_FUZZ_SEED") {
        run_named(model, seed, &mut counts);
        return;
    }
    let saved = saved_seeds();
    saved
        .iter()
        .for_each(|seed| run_named(model, *seed, &mut counts));
    let limit = Duration::from_secs(setting("NICSIM_FUZZ_SECONDS").unwrap_or(5));
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let first = clock.map_or(0, |time| time.as_nanos() as u64);
    let (start, mut runs) = (Instant::now(), 0);
    while start.elapsed() < limit {
        run_named(model, first.wrapping_add(runs), &mut counts);
        runs += 1;
    }
    println!(
        "fuzz: {model:?}: {} saved seeds, {runs} from {first}: {counts:?}",
        saved.len()
    );
    assert!(
        counts["rx_frames"] > 0 && counts["tx_frames"] > 0,
        "no frames moved"
    );
}
