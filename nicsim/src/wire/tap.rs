// SPDX-License-Identifier: GPL-2.0
//! A tap interface of the host as the peer of a port.
//!
//! The interface is created at start and removed when the program ends. It is down at
//! first: `ip link set NAME up`. The crate tappers wraps the `ioctl` that creates it, so
//! that no `unsafe` is needed here.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::time::Instant;

use rustix::io::{Errno, read, write};
use serde_json::{Value, json};
use tappers::Interface;
use tappers::linux::Tap;

use super::{MAX_FRAME, Next, Sink, Source, no_command, pad};

/// One interface, shared by source and sink.
struct Device {
    tap: Tap,
    /// The host deleted the interface.
    deleted: Cell<bool>,
}

/// Creates the tap interface `name`: a source of the frames that the host sends, and a
/// sink.
///
/// # Errors
/// A text for the user with the remedy.
pub fn open(name: &str) -> Result<(TapSource, TapSink), String> {
    let tap = Interface::new(name)
        .and_then(Tap::new_named)
        .and_then(|tap| tap.set_nonblocking(true).map(|()| tap))
        .map_err(|error| explain(name, &error))?;
    let device = Rc::new(Device {
        tap,
        deleted: Cell::new(false),
    });
    let source = TapSource {
        device: device.clone(),
        frames: 0,
        bytes: 0,
        too_long: 0,
    };
    Ok((
        source,
        TapSink {
            device,
            frames: 0,
            bytes: 0,
            dropped: 0,
        },
    ))
}

fn explain(name: &str, error: &std::io::Error) -> String {
    let remedy = match Errno::from_io_error(error) {
        Some(Errno::BUSY) => format!(
            "an interface of that name exists: choose another one, or remove a tap that \
             is left over: ip link delete {name}"
        ),
        Some(Errno::PERM | Errno::ACCESS) => {
            "CAP_NET_ADMIN is required: run as root, or in a namespace (unshare -rn)"
                .into()
        }
        Some(Errno::NOENT | Errno::NXIO | Errno::NODEV) => {
            "this host has no /dev/net/tun: modprobe tun".into()
        }
        _ => "a name has 1 to 15 bytes and no '/'".into(),
    };
    format!("cannot create the tap interface '{name}': {error} ({remedy})")
}

/// Frames that the host sends to the interface.
pub struct TapSource {
    device: Rc<Device>,
    frames: u64,
    bytes: u64,
    too_long: u64,
}

impl Source for TapSource {
    fn next(&mut self, _now: Instant, frame: &mut Vec<u8>) -> Next {
        while !self.device.deleted.get() {
            frame.clear();
            // One more byte, to detect longer frames.
            frame.reserve(MAX_FRAME + 1);
            match read(
                self.device.tap.as_fd(),
                rustix::buffer::spare_capacity(frame),
            ) {
                Ok(length) if length <= MAX_FRAME => {
                    pad(frame);
                    self.frames += 1;
                    self.bytes += frame.len() as u64;
                    return Next::Frame;
                }
                Ok(_) => self.too_long += 1,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Next::Idle,
                Err(error) => {
                    eprintln!("nicsim: tap: {error}: no more frames from the host");
                    self.device.deleted.set(true);
                }
            }
        }
        Next::Idle
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.device.deleted.get()).then(|| self.device.tap.as_fd())
    }

    fn counters(&self) -> Value {
        json!({
            "kind": "tap", "sent": self.frames, "bytes": self.bytes,
            "skipped": self.too_long, "running": !self.device.deleted.get(),
        })
    }

    fn command(&mut self, _words: &[&str]) -> Result<Value, String> {
        Err(no_command("a tap"))
    }
}

/// Passes frames to the host. Frames that it rejects, being down or short of memory, are
/// dropped and counted.
pub struct TapSink {
    device: Rc<Device>,
    frames: u64,
    bytes: u64,
    dropped: u64,
}

impl Sink for TapSink {
    fn take(&mut self, _now: Instant, frame: &[u8]) {
        match write(self.device.tap.as_fd(), frame) {
            Ok(_) => {
                self.frames += 1;
                self.bytes += frame.len() as u64;
            }
            Err(_) => self.dropped += 1,
        }
    }

    fn counters(&self) -> Value {
        json!({
            "kind": "tap", "frames": self.frames, "bytes": self.bytes,
            "dropped": self.dropped,
        })
    }

    fn command(&mut self, _words: &[&str]) -> Result<Value, String> {
        Err(no_command("a tap"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_remedy() {
        let error = |name: &str| open(name).err().unwrap();
        assert!(error("a/b").contains("a/b"));
        assert!(error("sixteen-bytes-ab").contains("1 to 15 bytes"));
    }

    #[test]
    fn a_new_interface_is_quiet() {
        // Without the capability only the message is tested.
        let (mut source, mut sink) = match open("nicsim-test") {
            Ok(both) => both,
            Err(error) => return assert!(error.contains("'nicsim-test'"), "{error}"),
        };
        assert!(
            open("nicsim-test")
                .err()
                .unwrap()
                .contains("ip link delete nicsim-test")
        );
        assert_eq!(source.next(Instant::now(), &mut Vec::new()), Next::Idle);
        assert!(source.fd().is_some());
        sink.take(Instant::now(), &[0xff; 60]);
        assert_eq!(sink.counters()["dropped"], 1);
    }
}
