// SPDX-License-Identifier: GPL-2.0
//! Peers of a port: another port, the port itself, or a source and a sink.
//!
//! A frame here is the data in memory: from the destination address to the end of the
//! data, without preamble and CRC.

pub mod generator;
pub mod pace;
pub mod payload;
pub mod pcap;
pub mod sink;
pub mod spec;
pub mod tap;

use std::os::fd::BorrowedFd;
use std::time::Instant;

use serde_json::Value;

/// Minimum length of a frame on a wire, in bytes without CRC (IEEE 802.3, 4.2.3.3).
pub const MIN_FRAME: usize = 60;

/// Maximum length of a frame of a source or sink, in bytes without CRC: the largest
/// packet that the 82599 can receive is 15.5 KB with CRC (data sheet, 8.2.3.22.13,
/// MAXFRS).
pub const MAX_FRAME: usize = 15_872 - 4;

/// State of a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The buffer holds a frame.
    Frame,
    /// No frame now, the next one is due then.
    At(Instant),
    /// No frame until [`Source::fd`] is readable or a command arrives.
    Idle,
}

/// A source of frames for a port.
pub trait Source {
    /// Replaces the content of `frame` by the next frame if there is one at `now`.
    /// `frame` is only valid with [`Next::Frame`].
    fn next(&mut self, now: Instant, frame: &mut Vec<u8>) -> Next;

    /// Whether the port applies back-pressure: it takes only as many frames as it has
    /// room for. Otherwise frames arrive when they are due, and surplus frames are lost.
    fn back_pressure(&self) -> bool {
        false
    }

    /// Readable when there is a frame after [`Next::Idle`].
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Counters, as a JSON object.
    fn counters(&self) -> Value;

    /// Executes `gen PORT words...` of the control socket.
    ///
    /// # Errors
    /// A text for the user if the words are unknown.
    fn command(&mut self, words: &[&str]) -> Result<Value, String>;
}

/// A sink for the frames of a port.
pub trait Sink {
    /// Takes `frame`, which the port sent at `now`.
    fn take(&mut self, now: Instant, frame: &[u8]);

    /// Writes buffered data. Called before the program sleeps.
    fn flush(&mut self) {}

    /// Counters, as a JSON object.
    fn counters(&self) -> Value;

    /// Executes `sink PORT words...` of the control socket.
    ///
    /// # Errors
    /// A text for the user if the words are unknown.
    fn command(&mut self, words: &[&str]) -> Result<Value, String>;
}

/// The other end of a port's wire.
pub enum Attachment {
    /// The port receives the frames that it sends.
    Loopback,
    /// Connected to the port of this number, whose peer is this port.
    Cable(usize),
    /// A source, if any, and a sink.
    Open {
        /// Source of the frames that the port receives.
        source: Option<Box<dyn Source>>,
        /// Sink of the frames that the port sends.
        sink: Box<dyn Sink>,
    },
}

/// Pads `frame` with zeros to the minimum length.
fn pad(frame: &mut Vec<u8>) {
    if frame.len() < MIN_FRAME {
        frame.resize(MIN_FRAME, 0);
    }
}

/// The reply to an unknown command.
fn unknown_command(who: &str, words: &[&str], known: &str) -> String {
    format!(
        "{who}: unknown command '{}'; known are: {known}",
        words.join(" ")
    )
}

/// The reply of a source or sink that has no commands.
fn no_command(who: &str) -> String {
    format!("{who} has no commands")
}
