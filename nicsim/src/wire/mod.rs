// SPDX-License-Identifier: GPL-2.0
//! What hangs on a port: another port, the port itself, or a source and a sink.
//!
//! A frame here is what is in memory: from the destination address to the end of the
//! data, without preamble and without CRC.

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

/// Shortest frame on a wire, in bytes without CRC (IEEE 802.3, 4.2.3.3).
pub const MIN_FRAME: usize = 60;

/// Longest frame that a source gives or a sink takes, in bytes without CRC: the largest
/// packet that the 82599 can receive is 15.5 KB with CRC (data sheet, 8.2.3.22.13, MAXFRS).
pub const MAX_FRAME: usize = 15_872 - 4;

/// What a [`Source`] has at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The buffer holds a frame.
    Frame,
    /// Nothing now, the next frame is due then.
    At(Instant),
    /// Nothing, until [`Source::fd`] is readable or a command came.
    Idle,
}

/// Gives frames to a port.
pub trait Source {
    /// Replaces the content of `frame` by the next frame if there is one at `now`. Only
    /// [`Next::Frame`] says that `frame` is to be used.
    fn next(&mut self, now: Instant, frame: &mut Vec<u8>) -> Next;

    /// Whether the frames can wait: the port asks for no more than it can take. Else a
    /// frame that is due comes, and what the port cannot take is lost.
    fn patient(&self) -> bool {
        false
    }

    /// Readable when there is something new after [`Next::Idle`].
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// What it has given so far, as a JSON object.
    fn counters(&self) -> Value;

    /// Does what `gen PORT words...` on the control socket asks for.
    ///
    /// # Errors
    /// A text for the user if it does not know the words.
    fn command(&mut self, words: &[&str]) -> Result<Value, String>;
}

/// Takes frames from a port.
pub trait Sink {
    /// Takes `frame`, which the port sent at `now`.
    fn take(&mut self, now: Instant, frame: &[u8]);

    /// Writes out what is buffered. To be called before the program sleeps.
    fn flush(&mut self) {}

    /// What it has taken so far, as a JSON object.
    fn counters(&self) -> Value;

    /// Does what `sink PORT words...` on the control socket asks for.
    ///
    /// # Errors
    /// A text for the user if it does not know the words.
    fn command(&mut self, words: &[&str]) -> Result<Value, String>;
}

/// The other end of a port's wire.
pub enum Attachment {
    /// What the port sends comes back to it.
    Loopback,
    /// Joined to the port of this number, which names this one in turn.
    Cable(usize),
    /// A source, if any, and a sink.
    Open {
        /// Where the port's frames come from; none if nothing ever comes.
        source: Option<Box<dyn Source>>,
        /// Where the port's frames go to.
        sink: Box<dyn Sink>,
    },
}

/// Fills `frame` up with zeros to the length that a sending card gives it at least.
fn pad(frame: &mut Vec<u8>) {
    if frame.len() < MIN_FRAME {
        frame.resize(MIN_FRAME, 0);
    }
}

/// The answer to a command that a source or sink does not have.
fn unknown_command(who: &str, words: &[&str], known: &str) -> String {
    format!(
        "{who} does not know '{}'; it knows: {known}",
        words.join(" ")
    )
}

/// The answer of a source or sink to any command, if it has none.
fn no_command(who: &str) -> String {
    format!("{who} takes no commands")
}
