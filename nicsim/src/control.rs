// SPDX-License-Identifier: GPL-2.0
//! The control socket: one command per line, one line of JSON as the reply,
//! `{"ok":true, ...}` or `{"ok":false,"error":"..."}`.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use serde_json::{Value, json};

use crate::fault::Faults;
use crate::host::Timing;

/// Form and meaning of each command, for error messages and the help text.
pub const COMMANDS: [(&str, &str); 7] = [
    ("counters", "all counters of all ports"),
    ("link PORT up|down", "plugs the cable in or out"),
    (
        FAULT,
        "injects a fault; N: every Nth frame, 0 is none; clear ends all",
    ),
    (
        "gen PORT start [count=N] | stop",
        "starts or stops the source: gen, pcap-in",
    ),
    ("sink PORT reset", "resets the counters of the sink"),
    ("timing PORT NAME", "changes the timing"),
    ("quit", "ends nicsim"),
];

const FAULT: &str = "fault PORT tx-delay US | tx-stop on|off | rx-stuck on|off | drop N | \
                     duplicate N | corrupt N | stall MS | unplug | clear";

/// Maximum length of a line, in bytes.
const LINE_MAX: usize = 4096;

/// Unread replies of a client before it is disconnected, in bytes.
const UNREAD_MAX: usize = 1 << 20;

const fn us(count: u64) -> Duration {
    Duration::from_micros(count)
}

/// The named timings: name, values, purpose.
pub const TIMINGS: [(&str, Timing, &str); 6] = [
    (
        "lockstep",
        Timing::LOCKSTEP,
        "all work is done before the reply to an access; QEMU waits for the reply to a write if \
         x-no-posted-writes is true",
    ),
    (
        "async",
        Timing {
            throttle: true,
            ..Timing::LOCKSTEP
        },
        "interrupts are throttled as the driver sets them, no other delay",
    ),
    (
        "late",
        Timing {
            tail_delay: us(50),
            writeback_group: u32::MAX,
            writeback_delay: us(300),
            ..Timing::LOCKSTEP
        },
        "tails are processed 50 us late, descriptors written back 300 us late",
    ),
    (
        "group",
        Timing {
            writeback_group: 8,
            writeback_delay: us(2000),
            ..Timing::LOCKSTEP
        },
        "descriptors are written back in groups of 8, or after 2 ms",
    ),
    (
        "itr",
        Timing {
            writeback_group: u32::MAX,
            writeback_delay: us(1000),
            throttle: true,
            ..Timing::LOCKSTEP
        },
        "descriptors are written back every 1 ms only, interrupts are throttled",
    ),
    (
        "coalesce",
        Timing {
            tail_delay: us(20),
            irq_delay: us(500),
            ..Timing::LOCKSTEP
        },
        "interrupts are 500 us late and merged, tails are processed 20 us late",
    ),
];

/// The timing called `name`.
///
/// # Errors
/// A text that lists the valid names.
pub fn timing(name: &str) -> Result<Timing, String> {
    let found = TIMINGS.iter().find(|(known, ..)| *known == name);
    found.map(|(_, timing, _)| *timing).ok_or_else(|| {
        let names: Vec<_> = TIMINGS.iter().map(|(known, ..)| *known).collect();
        format!("unknown timing '{name}'; known are: {}", names.join(", "))
    })
}

/// A change of the faults of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Sets [`Faults::tx_delay`].
    TxDelay(Duration),
    /// Sets [`Faults::tx_stop`].
    TxStop(bool),
    /// Sets [`Faults::rx_stuck`].
    RxStuck(bool),
    /// Sets [`Faults::drop_every`].
    Drop(u32),
    /// Sets [`Faults::duplicate_every`].
    Duplicate(u32),
    /// Sets [`Faults::corrupt_every`].
    Corrupt(u32),
    /// Sets [`Faults::stall_until`] to this long from now.
    Stall(Duration),
    /// Sets [`Faults::unplugged`].
    Unplug,
    /// Ends all faults.
    Clear,
}

impl Fault {
    /// Makes the change to `faults`.
    pub fn apply(self, faults: &mut Faults, now: Instant) {
        match self {
            Self::TxDelay(delay) => faults.tx_delay = delay,
            Self::TxStop(stop) => faults.tx_stop = stop,
            Self::RxStuck(stuck) => faults.rx_stuck = stuck,
            Self::Drop(every) => faults.drop_every = every,
            Self::Duplicate(every) => faults.duplicate_every = every,
            Self::Corrupt(every) => faults.corrupt_every = every,
            Self::Stall(length) => faults.stall_until = now.checked_add(length),
            Self::Unplug => faults.unplugged = true,
            Self::Clear => *faults = Faults::default(),
        }
    }

    fn parse(words: &[&str]) -> Result<Self, String> {
        Ok(match words {
            ["tx-delay", us] => Self::TxDelay(Duration::from_micros(number(us)?.into())),
            ["tx-stop", state] => Self::TxStop(switch(state, "on", "off")?),
            ["rx-stuck", state] => Self::RxStuck(switch(state, "on", "off")?),
            ["drop", every] => Self::Drop(number(every)?),
            ["duplicate", every] => Self::Duplicate(number(every)?),
            ["corrupt", every] => Self::Corrupt(number(every)?),
            ["stall", ms] => Self::Stall(Duration::from_millis(number(ms)?.into())),
            ["unplug"] => Self::Unplug,
            ["clear"] => Self::Clear,
            _ => return Err(format!("unknown fault; write: {FAULT}")),
        })
    }
}

/// One line of the control socket. Port numbers are not validated yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Returns the counters of all ports.
    Counters,
    /// Plugs the cable of a port in or out.
    Link {
        /// The port's number.
        port: usize,
        /// In.
        up: bool,
    },
    /// Starts or ends a fault.
    Fault {
        /// The port's number.
        port: usize,
        /// The change.
        fault: Fault,
    },
    /// Command for the source of a port: [`crate::wire::Source::command`].
    Source {
        /// The port's number.
        port: usize,
        /// At least one word.
        words: Vec<String>,
    },
    /// Command for the sink of a port: [`crate::wire::Sink::command`].
    Sink {
        /// The port's number.
        port: usize,
        /// At least one word.
        words: Vec<String>,
    },
    /// Sets the timing of a port.
    Timing {
        /// The port's number.
        port: usize,
        /// From now on.
        timing: Timing,
    },
    /// Ends the program.
    Quit,
}

impl FromStr for Command {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        Ok(match words.as_slice() {
            ["counters"] => Self::Counters,
            ["quit"] => Self::Quit,
            ["link", port, state] => Self::Link {
                port: port_number(port)?,
                up: switch(state, "up", "down")?,
            },
            ["fault", port, rest @ ..] => Self::Fault {
                port: port_number(port)?,
                fault: Fault::parse(rest)?,
            },
            ["gen", port, rest @ ..] if !rest.is_empty() => Self::Source {
                port: port_number(port)?,
                words: owned(rest),
            },
            ["sink", port, rest @ ..] if !rest.is_empty() => Self::Sink {
                port: port_number(port)?,
                words: owned(rest),
            },
            ["timing", port, name] => Self::Timing {
                port: port_number(port)?,
                timing: timing(name)?,
            },
            _ => return Err(unknown(&words)),
        })
    }
}

fn unknown(words: &[&str]) -> String {
    let first = words.first().copied().unwrap_or_default();
    let name = |form: &'static str| form.split(' ').next().unwrap_or_default();
    match COMMANDS.iter().find(|(form, _)| name(form) == first) {
        Some((form, _)) => format!("the form of '{first}' is: {form}"),
        None => {
            let names = COMMANDS.map(|(form, _)| name(form)).join(", ");
            format!("unknown command '{first}'; known are: {names}")
        }
    }
}

fn port_number(word: &str) -> Result<usize, String> {
    word.parse()
        .map_err(|_| format!("'{word}' is not a port; the first is 0"))
}

fn number(word: &str) -> Result<u32, String> {
    word.parse()
        .map_err(|_| format!("'{word}' is not a number from 0 to {}", u32::MAX))
}

fn switch(word: &str, yes: &str, no: &str) -> Result<bool, String> {
    match word {
        _ if word == yes => Ok(true),
        _ if word == no => Ok(false),
        _ => Err(format!("'{word}' is neither {yes} nor {no}")),
    }
}

/// The reply to a command: "ok" and the members of an object, or "value" with any other
/// value but null.
fn answer(result: Result<Value, String>) -> String {
    let mut line = match result {
        Ok(Value::Object(mut members)) => {
            members.insert("ok".into(), true.into());
            Value::Object(members)
        }
        Ok(Value::Null) => json!({ "ok": true }),
        Ok(value) => json!({ "ok": true, "value": value }),
        Err(error) => json!({ "ok": false, "error": error }),
    }
    .to_string();
    line.push('\n');
    line
}

/// Listens at `path`, non-blocking. A socket file without a server is replaced.
///
/// # Errors
/// Those of the system; [`ErrorKind::AddrInUse`] if another server listens there, or if
/// the file is no socket.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_stale(path) => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        other => other?,
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Whether `path` is a socket without a server.
fn is_stale(path: &Path) -> bool {
    // A file that is no socket gives the same error.
    let is_socket = std::fs::symlink_metadata(path)
        .is_ok_and(|meta| std::os::unix::fs::FileTypeExt::is_socket(&meta.file_type()));
    let refused = UnixStream::connect(path)
        .is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
    is_socket && refused
}

/// One connection to the control socket.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    /// Bytes of an incomplete line.
    input: Vec<u8>,
    /// Replies that are not sent yet.
    output: Vec<u8>,
}

impl Client {
    fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            input: Vec::new(),
            output: Vec::new(),
        })
    }

    /// Reads available bytes, executes complete lines, and writes the replies. False ends
    /// the connection.
    fn serve(
        &mut self,
        execute: &mut dyn FnMut(Command) -> Result<Value, String>,
    ) -> bool {
        let open = self.read();
        while let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            let command = String::from_utf8_lossy(&line).parse();
            self.output
                .extend_from_slice(answer(command.and_then(&mut *execute)).as_bytes());
        }
        let fits = self.input.len() < LINE_MAX;
        if !fits {
            let error = format!("a line is longer than {LINE_MAX} bytes");
            self.output.extend_from_slice(answer(Err(error)).as_bytes());
        }
        self.write() && open && fits
    }

    /// False at the end of the client's input.
    fn read(&mut self) -> bool {
        let mut bytes = [0; LINE_MAX];
        match self.stream.read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                self.input.extend_from_slice(&bytes[..count]);
                true
            }
            Err(error) => may_go_on(&error),
        }
    }

    /// False if the client does not read its replies.
    fn write(&mut self) -> bool {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(count) => drop(self.output.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return may_go_on(&error) && self.output.len() < UNREAD_MAX,
            }
        }
        true
    }
}

fn may_go_on(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The control socket with its clients.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    clients: Vec<Client>,
}

impl Server {
    /// Listens at `path`: see [`listen`].
    ///
    /// # Errors
    /// As [`listen`].
    pub fn bind(path: &Path) -> io::Result<Self> {
        Ok(Self {
            listener: listen(path)?,
            clients: Vec::new(),
        })
    }

    /// File descriptors to poll: call [`Self::poll`] when any of them is ready.
    pub fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let listener = PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN);
        let clients = self.clients.iter().map(|client| {
            let blocked = !client.output.is_empty();
            let flags = if blocked {
                PollFlags::OUT
            } else {
                PollFlags::empty()
            };
            PollFd::from_borrowed_fd(client.stream.as_fd(), PollFlags::IN | flags)
        });
        std::iter::once(listener).chain(clients)
    }

    /// Accepts clients and lets `execute` run their commands. Never blocks.
    pub fn poll(&mut self, execute: &mut dyn FnMut(Command) -> Result<Value, String>) {
        while let Ok((stream, _)) = self.listener.accept() {
            self.clients.extend(Client::new(stream));
        }
        self.clients.retain_mut(|client| client.serve(execute));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::path::PathBuf;

    /// A socket path of its own for each test.
    fn socket(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("nicsim-{name}-{}", std::process::id()))
    }

    #[test]
    fn parses_every_form() {
        let cases = [
            ("counters", Command::Counters),
            ("  quit ", Command::Quit),
            ("link 1 down", Command::Link { port: 1, up: false }),
            (
                "fault 0 tx-delay 250",
                Command::Fault {
                    port: 0,
                    fault: Fault::TxDelay(Duration::from_micros(250)),
                },
            ),
            (
                "fault 0 tx-stop on",
                Command::Fault {
                    port: 0,
                    fault: Fault::TxStop(true),
                },
            ),
            (
                "fault 0 rx-stuck off",
                Command::Fault {
                    port: 0,
                    fault: Fault::RxStuck(false),
                },
            ),
            (
                "fault 2 drop 100",
                Command::Fault {
                    port: 2,
                    fault: Fault::Drop(100),
                },
            ),
            (
                "fault 0 clear",
                Command::Fault {
                    port: 0,
                    fault: Fault::Clear,
                },
            ),
            (
                "gen 0 start count=5",
                Command::Source {
                    port: 0,
                    words: vec!["start".into(), "count=5".into()],
                },
            ),
            (
                "sink 1 reset",
                Command::Sink {
                    port: 1,
                    words: vec!["reset".into()],
                },
            ),
            (
                "timing 1 lockstep",
                Command::Timing {
                    port: 1,
                    timing: Timing::LOCKSTEP,
                },
            ),
        ];
        for (line, command) in cases {
            assert_eq!(line.parse(), Ok(command), "{line}");
        }
    }

    #[test]
    fn errors_name_the_valid_form() {
        let error = |line: &str| line.parse::<Command>().unwrap_err();
        assert!(error("").contains("counters, link, fault"));
        assert!(error("counter").contains("'counter'"));
        assert!(error("link 0").contains("link PORT up|down"));
        assert!(error("link 0 left").contains("neither up nor down"));
        assert!(error("link -1 up").contains("not a port"));
        assert!(error("fault 0 drop x").contains("'x' is not a number"));
        assert!(error("fault 0 explode").contains("tx-delay US"));
        assert!(error("timing 0 slow").contains("lockstep, async"));
        assert!(error("gen 0").contains("start [count=N]"));
    }

    #[test]
    fn faults_apply_and_clear() {
        let now = Instant::now();
        let mut faults = Faults::default();
        Fault::Stall(Duration::from_secs(1)).apply(&mut faults, now);
        Fault::Unplug.apply(&mut faults, now);
        assert_eq!(faults.stall_until, Some(now + Duration::from_secs(1)));
        assert!(faults.unplugged);
        Fault::Clear.apply(&mut faults, now);
        assert_eq!(faults, Faults::default());
    }

    #[test]
    fn replies_are_one_line_of_json() {
        assert_eq!(answer(Ok(Value::Null)), "{\"ok\":true}\n");
        assert_eq!(answer(Ok(json!({ "a": 1 }))), "{\"a\":1,\"ok\":true}\n");
        assert_eq!(answer(Ok(json!([1]))), "{\"ok\":true,\"value\":[1]}\n");
        assert_eq!(
            answer(Err("a\nb".into())),
            "{\"error\":\"a\\nb\",\"ok\":false}\n"
        );
    }

    #[test]
    fn serves_clients_and_replaces_a_stale_socket() {
        let path = socket("control");
        drop(UnixListener::bind(&path).unwrap());
        let mut server = Server::bind(&path).unwrap();
        assert_eq!(
            Server::bind(&path).unwrap_err().kind(),
            ErrorKind::AddrInUse
        );
        let client = UnixStream::connect(&path).unwrap();
        (&client).write_all(b"quit\nnonsense\ncoun").unwrap();
        let mut seen = Vec::new();
        let mut execute = |command| {
            seen.push(command);
            Ok(Value::Null)
        };
        server.poll(&mut execute);
        (&client).write_all(b"ters\n").unwrap();
        server.poll(&mut execute);
        assert_eq!(seen, [Command::Quit, Command::Counters]);
        let lines: Vec<_> = BufReader::new(&client).lines().take(3).flatten().collect();
        assert_eq!(lines[0], "{\"ok\":true}");
        assert!(lines[1].contains("nonsense"));
        assert_eq!(lines[2], "{\"ok\":true}");
        assert_eq!(server.fds().count(), 2);
        drop(client);
        server.poll(&mut |_| Ok(Value::Null));
        assert_eq!(server.fds().count(), 1);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn rejects_endless_lines_and_other_files() {
        let path = socket("endless");
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(
            Server::bind(&path).unwrap_err().kind(),
            ErrorKind::AddrInUse
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        std::fs::remove_file(&path).unwrap();
        let mut server = Server::bind(&path).unwrap();
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(&[b'x'; LINE_MAX]).unwrap();
        server.poll(&mut |_| Ok(Value::Null));
        assert_eq!(server.fds().count(), 1);
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert!(text.contains("longer than"));
        std::fs::remove_file(path).unwrap();
    }
}
