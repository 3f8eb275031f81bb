// SPDX-License-Identifier: GPL-2.0
//! The ports, and the one thread that serves them.
//!
//! A turn of the loop sleeps until there is work, handles messages of clients, runs the
//! chips and moves frames until no frame moves, and only then sends the replies. So a
//! guest whose writes are not posted waits until all effects of its write are complete,
//! on its own port and on connected ones.
//!
//! The work per turn is limited, so that no port starves another one.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::{Map, Value, json};
use vfio_bindings::bindings::vfio::VFIO_PCI_CONFIG_REGION_INDEX;

use crate::chip::Chip;
use crate::control::{self, Command};
use crate::host::{Host, Timing};
use crate::pci::{CONFIG_SIZE, ConfigSpace, Function};
use crate::vfio_user::{Connection, Device, DmaMap};
use crate::wire::sink::CountingSink;
use crate::wire::{Attachment, Next, Sink};

/// Messages of a client per turn.
const MESSAGES: usize = 256;
/// Frames of a port per round, in each direction.
const FRAMES: usize = 64;
/// Rounds per turn.
const ROUNDS: usize = 32;
/// Backlog of the chip, in bytes, above which a source with back-pressure waits.
const BACKLOG: usize = 8 * 1024;

/// A pause that lasts is renewed by another XOFF after half of its time, which drivers set to
/// 0xffff quanta of 512 bit times (82599 data sheet, FCRTV and FCTTV; IEEE 802.3 annex 31B).
const PAUSE_REFRESH: Duration = Duration::from_millis(1);

/// One PCI function: its chip, its client, and its wire.
pub struct Port {
    /// The model.
    pub chip: Box<dyn Chip>,
    /// The environment of the model.
    pub host: Host,
    /// The other end of the wire.
    pub attachment: Attachment,
    label: String,
    function: Function,
    config: ConfigSpace,
    listener: UnixListener,
    connection: Option<Connection>,
    record: Option<Box<dyn Sink>>,
    trace: Option<BufWriter<File>>,
    tally: Tally,
    /// When the chip has to run next.
    chip_due: Option<Instant>,
    /// When the peer last sent XOFF, if it sent no XON since.
    paused: Option<Instant>,
    /// Last result of the source; none while the chip accepts no frames.
    source: Option<Next>,
}

/// Traffic counters of a port.
#[derive(Debug, Default)]
struct Tally {
    /// Register accesses.
    reads: u64,
    writes: u64,
    /// Frames that arrived from the wire; those passed to the chip, after drops and
    /// duplicates by faults; those that the chip sent.
    arrived: u64,
    to_chip: u64,
    from_chip: u64,
}

impl Port {
    fn new(
        label: String,
        chip: Box<dyn Chip>,
        listener: UnixListener,
        timing: Timing,
    ) -> Self {
        let function = chip.function();
        let sink = Box::new(CountingSink::new(false));
        let mut port = Self {
            host: Host::new(&label, function.msix.vectors.into(), timing),
            config: ConfigSpace::new(&function),
            attachment: Attachment::Open { source: None, sink },
            connection: None,
            record: None,
            trace: None,
            tally: Tally::default(),
            chip_due: None,
            paused: None,
            source: None,
            chip,
            label,
            function,
            listener,
        };
        port.reset();
        port
    }

    /// Frames of both directions are also passed to `record`.
    pub fn set_record(&mut self, record: Box<dyn Sink>) {
        self.record = Some(record);
    }

    /// Register accesses are written to the file at `path`: a line each, `R` or `W`,
    /// offset and value in hexadecimal.
    ///
    /// # Errors
    /// Those of creating the file.
    pub fn set_trace(&mut self, path: &Path) -> io::Result<()> {
        self.trace = Some(BufWriter::new(File::create(path)?));
        Ok(())
    }

    /// Plugs the cable in or out at this port.
    pub fn set_link(&mut self, up: bool) {
        self.chip.set_link(&mut self.host, up);
    }

    /// All counters, in the form of the control socket.
    pub fn counters(&self) -> Value {
        let object = |pairs: Vec<(&str, u64)>| -> Map<String, Value> {
            pairs
                .into_iter()
                .map(|(name, count)| (name.into(), count.into()))
                .collect()
        };
        let (source, sink) = match &self.attachment {
            Attachment::Open { source, sink } => (
                source.as_ref().map(|source| source.counters()),
                sink.counters(),
            ),
            _ => (None, Value::Null),
        };
        json!({
            "chip": object(self.chip.counters()),
            "events": object(self.host.events.iter().collect()),
            "irqs": self.host.msix.total(),
            "accesses": { "reads": self.tally.reads, "writes": self.tally.writes },
            "tx_fifo": self.host.tx.len(),
            "wire": {
                "source": source, "sink": sink,
                "to_chip": self.tally.to_chip, "from_chip": self.tally.from_chip,
            },
        })
    }

    /// Whether there are received messages to handle.
    fn has_work(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::has_work)
    }

    /// What to poll for the client: a connection, messages, or room for replies.
    fn poll_fd(&self) -> PollFd<'_> {
        match &self.connection {
            Some(connection) => {
                PollFd::from_borrowed_fd(connection.fd(), connection.interest())
            }
            None => PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN),
        }
    }

    /// Accepts a client, or handles its messages.
    fn serve(&mut self) {
        let Some(mut connection) = self.connection.take() else {
            let accepted = self.listener.accept().ok();
            self.connection = accepted.map(|(stream, _)| Connection::new(stream));
            return;
        };
        match connection.serve(self, MESSAGES) {
            Ok(_) => self.connection = Some(connection),
            Err(error) => self.disconnect(&error),
        }
    }

    /// Sends pending replies.
    fn answer(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        if let Err(error) = connection.flush() {
            self.disconnect(&error);
        }
    }

    /// The connection ended. The next client finds the device reset.
    fn disconnect(&mut self, error: &io::Error) {
        if error.kind() != ErrorKind::UnexpectedEof {
            eprintln!("nicsim: {}: connection ended: {error}", self.label);
        }
        self.connection = None;
        self.host.msix.disable_all();
        self.host.memory.clear();
        self.reset();
    }

    /// Runs the chip.
    fn run(&mut self, now: Instant) {
        self.host.now = now;
        self.chip_due = None;
        if self.host.faults.unplugged {
            self.host.tx.clear();
        } else {
            self.chip_due = self.chip.run(&mut self.host);
        }
    }

    /// Sets a fault, or ends all. The end of an unplug is a reset: it is a new NIC.
    fn fault(&mut self, fault: control::Fault) {
        let unplugged = self.host.faults.unplugged;
        fault.apply(&mut self.host.faults, Instant::now());
        if unplugged && !self.host.faults.unplugged {
            self.reset();
        }
    }

    /// Whether the peer pauses the port; the chip counts the XOFF frames. ixgbe takes a Tx queue
    /// that waits without one since the last check for a hang.
    fn pause(&mut self, paused: bool) {
        let now = self.host.now;
        self.paused = match self.paused {
            _ if !paused => None,
            Some(sent) if now < sent + PAUSE_REFRESH => Some(sent),
            _ => {
                self.chip.xoff_received();
                Some(now)
            }
        };
    }

    /// Takes the next frame that the chip sends; false without one.
    fn send(&mut self, frame: &mut Vec<u8>) -> bool {
        let sent = self.host.tx.pop(frame);
        if sent {
            self.tally.from_chip += 1;
            if let Some(record) = &mut self.record {
                record.take(self.host.now, frame);
            }
        }
        sent
    }

    /// A frame arrives from the wire.
    fn receive(&mut self, frame: &[u8]) {
        let faults = &self.host.faults;
        self.tally.arrived += 1;
        let hit = |every: u32| self.tally.arrived.checked_rem(every.into()) == Some(0);
        if faults.unplugged || hit(faults.drop_every) {
            return;
        }
        let copies = if hit(faults.duplicate_every) { 2 } else { 1 };
        for _ in 0..copies {
            self.tally.to_chip += 1;
            if let Some(record) = &mut self.record {
                record.take(self.host.now, frame);
            }
            self.chip.receive(&mut self.host, frame);
        }
    }

    /// Receives frames from the source; true if there was one.
    fn feed(&mut self, frame: &mut Vec<u8>) -> bool {
        let mut moved = false;
        for _ in 0..FRAMES {
            self.source = self.ask_source(frame);
            if self.source != Some(Next::Frame) {
                break;
            }
            self.receive(frame);
            moved = true;
        }
        moved
    }

    fn ask_source(&mut self, frame: &mut Vec<u8>) -> Option<Next> {
        let Attachment::Open {
            source: Some(source),
            ..
        } = &mut self.attachment
        else {
            return None;
        };
        let paused = self.chip.sends_pause();
        let full = self.host.faults.unplugged
            || !self.chip.rx_enabled()
            || self.chip.rx_backlog() > BACKLOG;
        // Every peer obeys pause frames; some sources also apply back-pressure.
        if paused || (full && source.back_pressure()) {
            return None;
        }
        Some(source.next(self.host.now, frame))
    }

    /// File descriptor of an idle source, which is readable when it has frames.
    fn source_fd(&self) -> Option<PollFd<'_>> {
        match &self.attachment {
            Attachment::Open {
                source: Some(source),
                ..
            } if self.source == Some(Next::Idle) => source
                .fd()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
            _ => None,
        }
    }

    /// When this port has work next.
    fn due(&self) -> Option<Instant> {
        let source = match self.source {
            Some(Next::At(instant)) => Some(instant),
            _ => None,
        };
        [self.chip_due, source].into_iter().flatten().min()
    }

    /// Writes buffered data.
    fn flush(&mut self) {
        if let Attachment::Open { sink, .. } = &mut self.attachment {
            sink.flush();
        }
        if let Some(record) = &mut self.record {
            record.flush();
        }
        if let Some(trace) = &mut self.trace {
            let _ = trace.flush();
        }
    }

    fn trace(&mut self, kind: char, offset: u64, data: &[u8]) {
        let Some(trace) = &mut self.trace else {
            return;
        };
        // A write error, such as a full disk, does not affect the NIC.
        let _ = write!(trace, "{kind} {offset:05x} ");
        for byte in data.iter().rev() {
            let _ = write!(trace, "{byte:02x}");
        }
        let _ = writeln!(trace);
    }

    /// Executes `gen` and `sink`.
    fn command(&mut self, to_source: bool, words: &[String]) -> Result<Value, String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match &mut self.attachment {
            Attachment::Open {
                source: Some(source),
                ..
            } if to_source => source.command(&words),
            Attachment::Open { sink, .. } if !to_source => sink.command(&words),
            _ => Err(format!("no such source or sink at {}", self.label)),
        }
    }
}

impl Device for Port {
    fn region_size(&self, region: u32) -> u64 {
        match region {
            0 => self.function.bar0_size,
            VFIO_PCI_CONFIG_REGION_INDEX => CONFIG_SIZE as u64,
            bar if bar == u32::from(self.function.msix.bar) => {
                self.function.msix.bar_size
            }
            _ => 0,
        }
    }

    fn irq_count(&self) -> u32 {
        self.function.msix.vectors.into()
    }

    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) {
        self.host.now = Instant::now();
        match region {
            _ if self.host.faults.unplugged => data.fill(0xFF),
            0 => {
                self.tally.reads += 1;
                self.chip.read(&mut self.host, offset, data);
                self.trace('R', offset, data);
            }
            VFIO_PCI_CONFIG_REGION_INDEX => self.config.read(offset, data),
            // Only reads of the pending bits of the MSI-X BAR arrive here. They are zero:
            // QEMU handles masked vectors.
            _ => data.fill(0),
        }
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) {
        self.host.now = Instant::now();
        match region {
            _ if self.host.faults.unplugged => {}
            0 => {
                self.tally.writes += 1;
                self.trace('W', offset, data);
                self.chip.write(&mut self.host, offset, data);
            }
            VFIO_PCI_CONFIG_REGION_INDEX => {
                let asleep = self.config.is_asleep();
                self.config.write(offset, data);
                self.host.bus_master = self.config.bus_master();
                if asleep && !self.config.is_asleep() {
                    self.reset();
                }
            }
            _ => {}
        }
    }

    fn dma_map(&mut self, map: DmaMap) -> io::Result<()> {
        self.host
            .memory
            .map(map.iova, map.size, map.file, map.writable)
    }

    fn dma_unmap(&mut self, range: Option<(u64, u64)>) -> io::Result<()> {
        match range {
            Some((iova, size)) => self.host.memory.unmap(iova, size),
            None => {
                self.host.memory.clear();
                Ok(())
            }
        }
    }

    fn set_irq(&mut self, vector: usize, fd: Option<OwnedFd>) {
        self.host.msix.set_fd(vector, fd);
    }

    fn disable_irqs(&mut self) {
        self.host.msix.disable_all();
    }

    fn reset(&mut self) {
        self.host.now = Instant::now();
        self.config.reset();
        self.host.bus_master = false;
        self.host.msix.reset();
        self.host.tx.clear();
        self.chip.reset(&mut self.host);
    }
}

/// All ports, their wires and the control socket.
#[derive(Default)]
pub struct Lab {
    ports: Vec<Port>,
    control: Option<control::Server>,
    /// Which clients of the ports have input, and at the end the control socket.
    ready: Vec<bool>,
    /// The frame in transit.
    frame: Vec<u8>,
    quit: bool,
}

impl Lab {
    /// Adds a port that listens at `socket`, where a stale socket file is replaced, and
    /// returns its number. Its peer is a counting sink.
    ///
    /// # Errors
    /// Those of [`control::listen`].
    pub fn add_port(
        &mut self,
        chip: Box<dyn Chip>,
        socket: &Path,
        timing: Timing,
    ) -> io::Result<usize> {
        let number = self.ports.len();
        let listener = control::listen(socket)?;
        self.ports
            .push(Port::new(format!("port {number}"), chip, listener, timing));
        Ok(number)
    }

    /// The ports in the order in which they were added.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The ports, mutable.
    pub fn ports_mut(&mut self) -> &mut [Port] {
        &mut self.ports
    }

    /// Sets the control socket.
    pub fn set_control(&mut self, control: control::Server) {
        self.control = Some(control);
    }

    /// Serves all ports until the command `quit`.
    ///
    /// # Errors
    /// Those of `poll`.
    pub fn run(&mut self) -> io::Result<()> {
        let mut busy = true;
        while !self.quit {
            self.wait(busy)?;
            busy = self.turn();
        }
        self.ports.iter_mut().for_each(Port::flush);
        Ok(())
    }

    /// Waits for work; if there is some already (`busy`), only polls the clients.
    fn wait(&mut self, busy: bool) -> io::Result<()> {
        let due = self.ports.iter().filter_map(Port::due).min();
        let until = |due: Instant| due.saturating_duration_since(Instant::now());
        let timeout = if busy {
            Some(Duration::ZERO)
        } else {
            due.map(until)
        };
        if timeout != Some(Duration::ZERO) {
            self.ports.iter_mut().for_each(Port::flush);
        }
        let Self {
            ports,
            control,
            ready,
            ..
        } = self;
        let mut fds: Vec<_> = ports.iter().map(Port::poll_fd).collect();
        fds.extend(control.iter().flat_map(control::Server::fds));
        let clients = fds.len();
        fds.extend(ports.iter().filter_map(Port::source_fd));
        // A timeout beyond `Timespec` is none.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = fds[..clients].iter().map(|fd| !fd.revents().is_empty());
        ready.clear();
        ready.extend(events.by_ref().take(ports.len()));
        ready.push(events.any(|event| event));
        Ok(())
    }

    /// One turn; true if there is more work.
    fn turn(&mut self) -> bool {
        for (port, ready) in self.ports.iter_mut().zip(&self.ready) {
            if *ready || port.has_work() {
                port.serve();
            }
        }
        if self.ready.last() == Some(&true) {
            self.serve_control();
        }
        let busy = (0..ROUNDS).all(|_| self.round());
        self.ports.iter_mut().for_each(Port::answer);
        busy || self.ports.iter().any(Port::has_work)
    }

    /// Runs each chip and moves some frames; true if any frame moved.
    fn round(&mut self) -> bool {
        let now = Instant::now();
        let mut moved = false;
        self.ports.iter_mut().for_each(|port| port.run(now));
        for number in 0..self.ports.len() {
            moved |= self.drain(number);
            moved |= self.ports[number].feed(&mut self.frame);
        }
        moved
    }

    /// Moves frames that the chip of a port sends; true if there was one.
    fn drain(&mut self, number: usize) -> bool {
        let Self { ports, frame, .. } = self;
        let peer = match ports[number].attachment {
            Attachment::Loopback => Some(number),
            Attachment::Cable(peer) => Some(peer),
            Attachment::Open { .. } => None,
        };
        let mut moved = false;
        for _ in 0..FRAMES {
            let paused = peer.and_then(|peer| ports.get(peer)).is_some_and(|peer| {
                peer.chip.sends_pause() && ports[number].chip.heeds_pause()
            });
            ports[number].pause(paused);
            if paused || !ports[number].send(frame) {
                break;
            }
            moved = true;
            let now = ports[number].host.now;
            if let Attachment::Open { sink, .. } = &mut ports[number].attachment {
                sink.take(now, frame);
            } else if let Some(peer) = peer.and_then(|peer| ports.get_mut(peer)) {
                peer.receive(frame);
            }
        }
        moved
    }

    fn serve_control(&mut self) {
        if let Some(mut control) = self.control.take() {
            control.poll(&mut |command| self.execute(command));
            self.control = Some(control);
        }
    }

    /// Executes a command of the control socket.
    fn execute(&mut self, command: Command) -> Result<Value, String> {
        match command {
            Command::Counters => {
                let ports: Vec<_> = self.ports.iter().map(Port::counters).collect();
                return Ok(json!({ "ports": ports }));
            }
            Command::Link { port, up } => self.set_link(port, up)?,
            Command::Fault { port, fault } => {
                self.port(port)?.fault(fault);
            }
            Command::Source { port, words } => {
                return self.port(port)?.command(true, &words);
            }
            Command::Sink { port, words } => {
                return self.port(port)?.command(false, &words);
            }
            Command::Timing { port, timing } => self.port(port)?.host.timing = timing,
            Command::Quit => self.quit = true,
        }
        Ok(Value::Null)
    }

    fn port(&mut self, number: usize) -> Result<&mut Port, String> {
        self.ports
            .get_mut(number)
            .ok_or_else(|| format!("no port {number}"))
    }

    /// Plugs a port's cable in or out: this affects both ends.
    fn set_link(&mut self, number: usize, up: bool) -> Result<(), String> {
        let port = self.port(number)?;
        port.host.now = Instant::now();
        port.set_link(up);
        if let Attachment::Cable(peer) = port.attachment {
            let peer = self.port(peer)?;
            peer.host.now = Instant::now();
            peer.set_link(up);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixStream;
    use std::path::PathBuf;
    use std::rc::Rc;

    use rustix::event::{EventfdFlags, eventfd};

    use super::*;
    use crate::vfio_user::tests as client;

    /// State of a chip that a test sets and checks.
    #[derive(Default)]
    struct State {
        received: Vec<Vec<u8>>,
        log: Vec<String>,
        backlog: usize,
        enabled: bool,
        sends_pause: bool,
        xoffs: u32,
        heeds_pause: bool,
        due: Option<Instant>,
    }

    /// A write to register 0 sends that many frames of 60 bytes, numbered.
    struct TestChip(Rc<RefCell<State>>);

    impl Chip for TestChip {
        fn function(&self) -> Function {
            crate::pci::tests::function()
        }
        fn reset(&mut self, _host: &mut Host) {
            self.0.borrow_mut().log.push("reset".into());
        }
        // Accesses of any width are valid
        fn read(&mut self, _host: &mut Host, offset: u64, data: &mut [u8]) {
            data.fill(offset as u8);
        }
        fn write(&mut self, host: &mut Host, _offset: u64, data: &[u8]) {
            for number in 0..data[0] {
                host.tx.push(&[number; 60]);
            }
        }
        fn register_space(&self) -> u32 {
            0
        }
        fn read_register(&mut self, _host: &mut Host, _offset: u32) -> u32 {
            0
        }
        fn write_register(&mut self, _host: &mut Host, _offset: u32, _value: u32) {}
        fn receive(&mut self, _host: &mut Host, frame: &[u8]) {
            let mut state = self.0.borrow_mut();
            state.backlog += frame.len();
            state.received.push(frame.to_vec());
        }
        fn rx_backlog(&self) -> usize {
            self.0.borrow().backlog
        }
        fn rx_enabled(&self) -> bool {
            self.0.borrow().enabled
        }
        fn sends_pause(&self) -> bool {
            self.0.borrow().sends_pause
        }
        fn heeds_pause(&self) -> bool {
            self.0.borrow().heeds_pause
        }
        fn xoff_received(&mut self) {
            self.0.borrow_mut().xoffs += 1;
        }
        fn set_link(&mut self, _host: &mut Host, up: bool) {
            self.0.borrow_mut().log.push(format!("link {up}"));
        }
        fn run(&mut self, _host: &mut Host) -> Option<Instant> {
            self.0.borrow().due
        }
        fn counters(&self) -> Vec<(&'static str, u64)> {
            vec![("good", 1)]
        }
    }

    /// Returns `left` frames, then `last`.
    struct TestSource {
        left: usize,
        last: Next,
        back_pressure: bool,
    }

    impl crate::wire::Source for TestSource {
        fn next(&mut self, _now: Instant, frame: &mut Vec<u8>) -> Next {
            if self.left == 0 {
                return self.last;
            }
            self.left -= 1;
            *frame = vec![9; 1000];
            Next::Frame
        }
        fn back_pressure(&self) -> bool {
            self.back_pressure
        }
        fn counters(&self) -> Value {
            json!({ "left": self.left })
        }
        fn command(&mut self, words: &[&str]) -> Result<Value, String> {
            Ok(words.join("+").into())
        }
    }

    fn source(left: usize, last: Next, back_pressure: bool) -> Attachment {
        Attachment::Open {
            source: Some(Box::new(TestSource {
                left,
                last,
                back_pressure,
            })),
            sink: Box::new(CountingSink::new(false)),
        }
    }

    /// A lab with a folder of its own.
    struct Bench {
        lab: Lab,
        folder: PathBuf,
        states: Vec<Rc<RefCell<State>>>,
    }

    impl Bench {
        fn new(name: &str, ports: usize) -> Self {
            let name = format!("nicsim-lab-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let mut bench = Self {
                lab: Lab::default(),
                folder,
                states: Vec::new(),
            };
            for number in 0..ports {
                let state = Rc::new(RefCell::new(State::default()));
                state.borrow_mut().enabled = true;
                let chip = Box::new(TestChip(state.clone()));
                let socket = bench.socket(number);
                let added = bench.lab.add_port(chip, &socket, Timing::LOCKSTEP).unwrap();
                assert_eq!(added, number);
                bench.states.push(state);
            }
            bench
        }

        fn socket(&self, number: usize) -> PathBuf {
            self.folder.join(format!("port{number}"))
        }

        fn connect(&mut self, number: usize) -> UnixStream {
            let stream = UnixStream::connect(self.socket(number)).unwrap();
            self.turn();
            stream
        }

        fn turn(&mut self) -> bool {
            self.lab.wait(true).unwrap();
            self.lab.turn()
        }

        /// Takes the numbers of the frames that a chip received.
        fn received(&self, port: usize) -> Vec<u8> {
            let mut state = self.states[port].borrow_mut();
            std::mem::take(&mut state.received)
                .iter()
                .map(|frame| frame[0])
                .collect()
        }

        fn log(&self, port: usize) -> Vec<String> {
            std::mem::take(&mut self.states[port].borrow_mut().log)
        }

        fn send(&mut self, port: usize, count: u8) {
            self.lab.ports[port].region_write(0, 0, &[count]);
            self.turn();
        }
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    #[test]
    fn a_client_reaches_registers_and_configuration() {
        let mut bench = Bench::new("client", 1);
        let stream = bench.connect(0);
        client::send_fds(&stream, &client::write_message(0, 0, &[2]), &[]);
        client::send_fds(&stream, &client::read_message(0, 0x18, 4), &[]);
        client::send_fds(&stream, &client::write_message(7, 4, &[6, 0]), &[]);
        client::send_fds(&stream, &client::read_message(7, 0, 4), &[]);
        client::send_fds(&stream, &client::read_message(4, 0x2000, 8), &[]);
        bench.turn();
        let data = |reply: (u16, u32, Vec<u8>)| reply.2[16..].to_vec();
        assert_eq!(data(client::reply(&stream)), [0x18; 4]);
        assert_eq!(data(client::reply(&stream)), [0x86, 0x80, 0xF9, 0x10]);
        assert_eq!(data(client::reply(&stream)), [0; 8]);
        assert!(bench.lab.ports[0].host.bus_master);
        let counters = bench.lab.ports[0].counters();
        assert_eq!(counters["accesses"], json!({ "reads": 1, "writes": 1 }));
        assert_eq!(counters["wire"]["sink"]["frames"], 2);
    }

    #[test]
    fn regions_are_those_of_the_function() {
        let bench = Bench::new("regions", 1);
        let port = &bench.lab.ports[0];
        let sizes: Vec<u64> = (0..9).map(|region| port.region_size(region)).collect();
        assert_eq!(sizes, [0x8_0000, 0, 0, 0, 0x4000, 0, 0, 4096, 0]);
        assert_eq!(port.irq_count(), 64);
    }

    #[test]
    fn the_next_client_finds_a_reset_device() {
        let mut bench = Bench::new("reconnect", 1);
        let stream = bench.connect(0);
        let fd = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let memory = GuestFile::new();
        client::send_fds(&stream, &client::map_message(0, 4096), &[memory.0]);
        client::send_fds(&stream, &client::irq_message(0, 1), &[fd]);
        client::send_fds(&stream, &client::write_message(7, 4, &[6]), &[]);
        for _ in 0..3 {
            bench.turn();
        }
        assert!(bench.lab.ports[0].host.memory.write(0, b"x").is_ok());
        assert_eq!(bench.log(0), ["reset"]);
        drop(stream);
        bench.turn();
        assert_eq!(bench.log(0), ["reset"]);
        assert!(bench.lab.ports[0].host.memory.write(0, b"x").is_err());
        assert!(!bench.lab.ports[0].host.bus_master);
        let stream = bench.connect(0);
        client::send_fds(&stream, &client::read_message(0, 1, 1), &[]);
        bench.turn();
        assert_eq!(client::reply(&stream).2.last(), Some(&1));
    }

    /// A page of memory to map.
    struct GuestFile(OwnedFd);

    impl GuestFile {
        fn new() -> Self {
            let flags = rustix::fs::MemfdFlags::CLOEXEC;
            let file = rustix::fs::memfd_create("guest", flags).unwrap();
            rustix::fs::ftruncate(&file, 4096).unwrap();
            Self(file)
        }
    }

    #[test]
    fn an_invalid_message_ends_the_connection() {
        let mut bench = Bench::new("nonsense", 1);
        let stream = bench.connect(0);
        client::send_fds(&stream, &[0xFF; 64], &[]);
        bench.turn();
        assert!(bench.lab.ports[0].connection.is_none());
        assert_eq!(bench.log(0), ["reset", "reset"]);
    }

    #[test]
    fn the_reply_to_a_write_follows_its_frames() {
        let mut bench = Bench::new("lockstep", 2);
        bench.lab.ports[0].attachment = Attachment::Cable(1);
        bench.lab.ports[1].attachment = Attachment::Cable(0);
        let stream = bench.connect(0);
        client::send_fds(&stream, &client::write_message(0, 0, &[200]), &[]);
        client::send_fds(&stream, &client::read_message(0, 0, 4), &[]);
        bench.turn();
        client::reply(&stream);
        assert_eq!(bench.received(1), (0..200).collect::<Vec<u8>>());
        assert!(bench.received(0).is_empty());
        assert_eq!(bench.lab.ports[0].counters()["wire"]["from_chip"], 200);
    }

    #[test]
    fn posted_writes_are_limited_per_turn() {
        let mut bench = Bench::new("fair", 1);
        let stream = bench.connect(0);
        let many = client::write_message(0, 0, &[0]).repeat(MESSAGES + 1);
        client::send_fds(&stream, &many, &[]);
        assert!(bench.turn());
        assert_eq!(bench.lab.ports[0].tally.writes, MESSAGES as u64);
        assert!(!bench.turn());
        assert_eq!(bench.lab.ports[0].tally.writes, MESSAGES as u64 + 1);
    }

    #[test]
    fn frames_wait_if_and_only_if_both_sides_use_pause() {
        let mut bench = Bench::new("pause", 1);
        bench.lab.ports[0].attachment = Attachment::Loopback;
        bench.states[0].borrow_mut().sends_pause = true;
        bench.send(0, 2);
        assert_eq!(bench.received(0), [0, 1]);
        bench.states[0].borrow_mut().heeds_pause = true;
        bench.send(0, 2);
        assert!(bench.received(0).is_empty());
        assert_eq!(bench.lab.ports[0].counters()["tx_fifo"], 2);
        bench.states[0].borrow_mut().sends_pause = false;
        bench.turn();
        assert_eq!(bench.received(0), [0, 1]);
    }

    #[test]
    fn a_pause_that_lasts_is_renewed() {
        let mut bench = Bench::new("renewed", 1);
        let port = &mut bench.lab.ports[0];
        port.pause(true);
        port.pause(true);
        assert_eq!(bench.states[0].borrow().xoffs, 1);
        port.host.now += PAUSE_REFRESH;
        port.pause(true);
        port.pause(true);
        assert_eq!(bench.states[0].borrow().xoffs, 2);
        port.pause(false);
        port.pause(true);
        assert_eq!(bench.states[0].borrow().xoffs, 3);
    }

    #[test]
    fn faults_of_the_wire() {
        let mut bench = Bench::new("faults", 1);
        bench.lab.ports[0].attachment = Attachment::Loopback;
        bench.lab.ports[0].host.faults.drop_every = 3;
        bench.send(0, 6);
        assert_eq!(bench.received(0), [0, 1, 3, 4]);
        bench.lab.ports[0].host.faults.drop_every = 0;
        bench.lab.ports[0].host.faults.duplicate_every = 2;
        bench.send(0, 4);
        assert_eq!(bench.received(0), [0, 1, 1, 2, 3, 3]);
    }

    #[test]
    fn an_unplugged_nic_does_not_answer() {
        let mut bench = Bench::new("unplugged", 2);
        bench.lab.ports[0].attachment = Attachment::Cable(1);
        bench.lab.ports[1].attachment = Attachment::Cable(0);
        bench
            .lab
            .execute("fault 0 unplug".parse().unwrap())
            .unwrap();
        for (region, offset) in [(0, 0), (7, 0)] {
            let mut data = [0; 4];
            bench.lab.ports[0].region_read(region, offset, &mut data);
            assert_eq!(data, [0xFF; 4]);
        }
        bench.send(0, 3);
        bench.send(1, 3);
        assert!(bench.received(0).is_empty() && bench.received(1).is_empty());
        bench.states[0].borrow_mut().log.clear();
        bench.lab.execute("fault 0 clear".parse().unwrap()).unwrap();
        assert_eq!(bench.states[0].borrow().log, ["reset"]);
        bench.send(0, 1);
        assert_eq!(bench.received(1), [0]);
    }

    #[test]
    fn a_source_with_back_pressure_waits_for_the_chip() {
        let mut bench = Bench::new("back-pressure", 1);
        bench.lab.ports[0].attachment = source(100, Next::Idle, true);
        bench.turn();
        assert_eq!(bench.received(0).len(), BACKLOG / 1000 + 1);
        assert_eq!(bench.lab.ports[0].source, None);
        bench.turn();
        assert_eq!(bench.received(0).len(), 0);
        bench.states[0].borrow_mut().backlog = BACKLOG - 500;
        bench.turn();
        assert_eq!(bench.received(0).len(), 1);
        for (enabled, sends_pause) in [(false, false), (true, true)] {
            let state = State {
                enabled,
                sends_pause,
                ..State::default()
            };
            bench.states[0].replace(state);
            bench.turn();
            assert_eq!(bench.received(0).len(), 0);
        }
        bench.lab.ports[0].attachment = source(100, Next::Idle, false);
        bench.turn();
        assert_eq!(bench.received(0).len(), 0);
        bench.states[0].borrow_mut().sends_pause = false;
        bench.states[0].borrow_mut().enabled = false;
        bench.turn();
        assert_eq!(bench.received(0).len(), 100);
    }

    #[test]
    fn sleeps_until_work_is_due() {
        let mut bench = Bench::new("due", 1);
        assert_eq!(bench.lab.ports[0].due(), None);
        let soon = Instant::now() + Duration::from_millis(1);
        let later = soon + Duration::from_secs(1000);
        bench.lab.ports[0].attachment = source(1, Next::At(soon), true);
        bench.states[0].borrow_mut().due = Some(later);
        assert!(!bench.turn());
        assert_eq!(bench.lab.ports[0].due(), Some(soon));
        bench.lab.wait(false).unwrap();
        assert!(Instant::now() >= soon);
        bench.lab.ports[0].attachment = source(0, Next::Idle, true);
        bench.turn();
        assert_eq!(bench.lab.ports[0].due(), Some(later));
    }

    #[test]
    fn both_ends_of_a_cable_lose_the_link() {
        let mut bench = Bench::new("link", 3);
        bench.lab.ports[0].attachment = Attachment::Cable(2);
        bench.lab.execute("link 0 down".parse().unwrap()).unwrap();
        bench.lab.execute("link 1 up".parse().unwrap()).unwrap();
        assert_eq!(bench.log(0), ["reset", "link false"]);
        assert_eq!(bench.log(1), ["reset", "link true"]);
        assert_eq!(bench.log(2), ["reset", "link false"]);
    }

    #[test]
    fn commands_reach_their_port() {
        let mut bench = Bench::new("commands", 2);
        bench.lab.ports[1].attachment = source(7, Next::Idle, true);
        bench.states[1].borrow_mut().enabled = false;
        let mut execute = |line: &str| bench.lab.execute(line.parse().unwrap());
        assert_eq!(execute("gen 1 start count=5").unwrap(), "start+count=5");
        assert!(execute("gen 0 stop").unwrap_err().contains("port 0"));
        assert_eq!(execute("sink 0 reset").unwrap(), Value::Null);
        assert!(execute("sink 2 reset").unwrap_err().contains("no port 2"));
        execute("timing 1 group").unwrap();
        let counters = execute("counters").unwrap();
        let port = &counters["ports"][1];
        assert_eq!(port["chip"], json!({ "good": 1 }));
        assert_eq!(port["events"]["dma_fault"], 0);
        assert_eq!((&port["irqs"], &port["tx_fifo"]), (&json!(0), &json!(0)));
        assert_eq!(port["wire"]["source"], json!({ "left": 7 }));
        assert_eq!(port["wire"]["to_chip"], 0);
        assert_eq!(counters["ports"].as_array().unwrap().len(), 2);
        assert_eq!(bench.lab.ports[1].host.timing.writeback_group, 8);
    }

    #[test]
    fn runs_until_quit() {
        let mut bench = Bench::new("quit", 1);
        let path = bench.folder.join("control");
        bench.lab.set_control(control::Server::bind(&path).unwrap());
        let client = UnixStream::connect(&path).unwrap();
        (&client).write_all(b"counters\nquit\n").unwrap();
        bench.lab.run().unwrap();
        assert_eq!(BufReader::new(&client).lines().take(2).count(), 2);
    }

    #[test]
    fn accesses_are_traced() {
        let mut bench = Bench::new("trace", 1);
        let path = bench.folder.join("trace");
        bench.lab.ports[0].set_trace(&path).unwrap();
        let port = &mut bench.lab.ports[0];
        port.region_write(0, 0x1234, &[0, 0xAB, 0, 1]);
        port.region_read(0, 0x20, &mut [0; 8]);
        port.region_read(7, 0, &mut [0; 4]);
        port.flush();
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text, "W 01234 0100ab00\nR 00020 2020202020202020\n");
    }
}
