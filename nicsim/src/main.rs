// SPDX-License-Identifier: GPL-2.0
//! The command line of nicsim.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Parser;
use nicsim::chip::Chip;
use nicsim::chip::i40e::X710;
use nicsim::chip::ixgbe::Ixgbe;
use nicsim::control::{COMMANDS, Server, TIMINGS, timing};
use nicsim::host::Timing;
use nicsim::lab::Lab;
use nicsim::wire::spec::{self, Connection, FORMS, Wire};

/// The models for `--port`.
struct Model {
    name: &'static str,
    meaning: &'static str,
    /// Creates a NIC with this address.
    make: fn([u8; 6]) -> Box<dyn Chip>,
}

const MODELS: [Model; 2] = [
    Model {
        name: "82599",
        meaning: "Intel 82599, 10 Gb/s, driver ixgbe",
        make: |mac| Box::new(Ixgbe::new(mac)),
    },
    Model {
        name: "x710",
        meaning: "Intel X710, 10 Gb/s, driver i40e",
        make: |mac| Box::new(X710::new(mac)),
    },
];

const EXAMPLES: &str = "\
Examples:
  Two NICs connected by a cable, with a capture at the second one:
    nicsim --port 82599:nic0.sock --port 82599:nic1.sock \\
      --wire cable:0-1 --wire record:1,file=nic1.pcap

  A NIC that receives 64-byte frames of 16 flows as fast as it accepts them, and a check of
  the frames that it sends:
    nicsim --port 82599:nic0.sock --wire gen:0,flows=16 --wire sink:0,verify \\
      --control control.sock
    echo counters | socat - UNIX:control.sock

  A NIC on the host's network:
    nicsim --port 82599:nic0.sock,mac=02:00:00:00:00:01 --wire tap:0,name=nic0
    ip address add 192.0.2.1/24 dev nic0; ip link set nic0 up

  A guest with the NIC (start nicsim first):
    qemu-system-x86_64 -machine q35,memory-backend=mem \\
      -object memory-backend-memfd,id=mem,size=1G,share=on \\
      -device pcie-root-port,id=root0,chassis=1 \\
      -device '{\"driver\": \"vfio-user-pci\", \"bus\": \"root0\",
        \"socket\": {\"type\": \"unix\", \"path\": \"nic0.sock\"}}' ...
";

/// Models of NICs, served to QEMU's vfio-user-pci.
///
/// Each --port is one NIC: a PCI function with a socket. nicsim runs until it is killed
/// or gets the command quit; guests may connect one after the other.
#[derive(Debug, Parser)]
#[command(version, after_help = after_help())]
struct Args {
    /// A NIC and its socket; the first one is port 0.
    #[arg(long = "port", value_name = "MODEL:SOCKET[,mac=MAC]", required = true)]
    ports: Vec<PortArg>,

    /// Peer of a port, see below; without one, frames are counted and dropped.
    #[arg(long = "wire", value_name = "KIND:PORT[,OPTION...]")]
    wires: Vec<Wire>,

    /// Delays of write-backs and interrupts, see below.
    #[arg(long, value_name = "NAME", default_value = "lockstep", value_parser = timing)]
    timing: Timing,

    /// Socket for commands, see below: one per line, each replied to with a line of JSON.
    #[arg(long, value_name = "SOCKET")]
    control: Option<PathBuf>,

    /// Writes the register accesses of a port as text: R or W, offset, value.
    #[arg(long = "trace", value_name = "PORT=FILE")]
    traces: Vec<TraceArg>,
}

/// The value of `--port`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PortArg {
    /// Index into [`MODELS`].
    model: usize,
    socket: PathBuf,
    mac: Option<[u8; 6]>,
}

impl FromStr for PortArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = MODELS.map(|model| model.name);
        let (model, rest) = text
            .split_once(':')
            .ok_or("write MODEL:SOCKET, for example 82599:nic0.sock")?;
        let model = names
            .iter()
            .position(|name| *name == model)
            .ok_or_else(|| {
                format!("unknown model '{model}'; known are: {}", names.join(", "))
            })?;
        let (socket, options) = rest.split_once(',').unwrap_or((rest, ""));
        if socket.is_empty() {
            return Err("the path of the socket is missing: MODEL:SOCKET".into());
        }
        let mut options = spec::Options::new(options);
        let mac = options.value("mac").map(parse_mac).transpose()?;
        options
            .end()
            .map_err(|error| format!("{error}; known is: mac=MAC"))?;
        Ok(Self {
            model,
            socket: socket.into(),
            mac,
        })
    }
}

impl PortArg {
    /// The address of the option, or one by the number of the port.
    fn mac(&self, port: usize) -> [u8; 6] {
        let [.., high, low] = port.to_be_bytes();
        self.mac.unwrap_or([0x02, 0x6e, 0x73, 0, high, low])
    }
}

fn parse_mac(text: &str) -> Result<[u8; 6], String> {
    let bytes: Vec<u8> = text
        .split(':')
        .filter(|byte| byte.len() == 2)
        .filter_map(|byte| u8::from_str_radix(byte, 16).ok())
        .collect();
    match <[u8; 6]>::try_from(bytes) {
        Ok(mac) if text.len() == 17 && mac[0] & 1 == 0 && mac != [0; 6] => Ok(mac),
        _ => Err(format!(
            "mac={text} is not the address of one NIC, such as 02:00:00:00:00:01"
        )),
    }
}

/// The value of `--trace`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TraceArg {
    port: usize,
    file: PathBuf,
}

impl FromStr for TraceArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').filter(|(_, file)| !file.is_empty());
        let (port, file) = parts.ok_or("write PORT=FILE, for example 0=nic0.trace")?;
        let port = port
            .parse()
            .map_err(|_| format!("'{port}' is not a port's number"))?;
        Ok(Self {
            port,
            file: file.into(),
        })
    }
}

/// The part of the help text from tables, and the examples.
fn after_help() -> String {
    let mut text = String::new();
    let mut section = |title: &str, rows: &[(&str, &str)]| {
        // Writing into a String does not fail.
        let _ = writeln!(text, "{title}:");
        for (name, meaning) in rows {
            let meaning = meaning.replace('\n', "\n          ");
            let _ = writeln!(text, "  {name}\n          {meaning}");
        }
        text.push('\n');
    };
    section("Models", &MODELS.map(|model| (model.name, model.meaning)));
    section("Wires", &FORMS);
    section(
        "Timings",
        &TIMINGS.map(|(name, _, meaning)| (name, meaning)),
    );
    section("Commands for the control socket", &COMMANDS);
    text + EXAMPLES
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nicsim: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    build(args)?
        .run()
        .map_err(|error| format!("stopped: {error}"))
}

/// Sockets last: when they exist, everything else is ready.
fn build(args: &Args) -> Result<Lab, String> {
    let macs: Vec<_> = args
        .ports
        .iter()
        .enumerate()
        .map(|(port, arg)| arg.mac(port))
        .collect();
    let connections = spec::connect(&args.wires, &macs)?;
    let mut lab = Lab::default();
    for ((arg, mac), connection) in args.ports.iter().zip(macs).zip(connections) {
        add_port(&mut lab, arg, mac, args.timing, connection)?;
    }
    for trace in &args.traces {
        add_trace(&mut lab, trace)?;
    }
    if let Some(path) = &args.control {
        let option = format!("--control {}", path.display());
        lab.set_control(Server::bind(path).map_err(|error| refused(&option, &error))?);
    }
    Ok(lab)
}

fn add_port(
    lab: &mut Lab,
    arg: &PortArg,
    mac: [u8; 6],
    timing: Timing,
    connection: Connection,
) -> Result<(), String> {
    let model = &MODELS[arg.model];
    let option = format!("--port {}:{}", model.name, arg.socket.display());
    let added = lab.add_port((model.make)(mac), &arg.socket, timing);
    let number = added.map_err(|error| refused(&option, &error))?;
    let port = &mut lab.ports_mut()[number];
    port.attachment = connection.attachment;
    if let Some(record) = connection.record {
        port.set_record(record);
    }
    Ok(())
}

fn add_trace(lab: &mut Lab, TraceArg { port, file }: &TraceArg) -> Result<(), String> {
    let option = format!("--trace {port}={}", file.display());
    let count = lab.ports().len();
    let Some(target) = lab.ports_mut().get_mut(*port) else {
        return Err(format!(
            "{option}: there are only {count} ports, counted from 0"
        ));
    };
    target
        .set_trace(file)
        .map_err(|error| format!("{option}: {error}"))
}

/// The remedy when a socket cannot be bound.
fn refused(option: &str, error: &std::io::Error) -> String {
    let remedy = match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "; another program serves that socket, or it is a file: end it, or use \
             another path"
        }
        std::io::ErrorKind::InvalidInput => "; use a path of less than 108 bytes",
        _ => "; use a path in a folder that exists and can be written",
    };
    format!("{option}: {error}{remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(line.split_whitespace())
    }

    fn error(line: &str) -> String {
        parse(line).unwrap_err().to_string()
    }

    #[test]
    fn the_command_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn parses_all_options() {
        let args = parse(
            "nicsim --port 82599:a.sock --port 82599:b.sock,mac=02:00:00:00:00:fE \
             --wire cable:0-1 --wire record:0,file=x --timing late --control c.sock \
             --trace 1=t",
        )
        .unwrap();
        let macs: Vec<_> = (0..2).map(|port| args.ports[port].mac(port)).collect();
        assert_eq!(macs, [[2, 0x6e, 0x73, 0, 0, 0], [2, 0, 0, 0, 0, 0xfe]]);
        assert_eq!(args.ports[0].socket, PathBuf::from("a.sock"));
        assert_eq!(args.wires.len(), 2);
        assert_eq!(args.timing, timing("late").unwrap());
        assert_eq!(
            args.traces,
            [TraceArg {
                port: 1,
                file: "t".into()
            }]
        );
    }

    #[test]
    fn errors_name_the_option_and_the_remedy() {
        let cases = [
            ("nicsim", "--port", "MODEL:SOCKET"),
            ("nicsim --port nic0", "--port", "82599:nic0.sock"),
            ("nicsim --port e1000:x", "--port", "known are: 82599"),
            ("nicsim --port 82599:", "--port", "path of the socket"),
            ("nicsim --port 82599:x,mac=1:2", "--port", "such as 02:"),
            (
                "nicsim --port 82599:x,mac=01:00:00:00:00:01",
                "--port",
                "of one NIC",
            ),
            ("nicsim --port 82599:x,mtu=9", "--port", "known is: mac=MAC"),
            (
                "nicsim --port 82599:x --wire gen:0,size=9",
                "--wire",
                "from 64",
            ),
            (
                "nicsim --port 82599:x --timing never",
                "--timing",
                "lockstep, async",
            ),
            ("nicsim --port 82599:x --trace 0", "--trace", "0=nic0.trace"),
            ("nicsim --port 82599:x --trace a=b", "--trace", "'a' is not"),
        ];
        for (line, option, way_out) in cases {
            let error = error(line);
            assert!(
                error.contains(option) && error.contains(way_out),
                "{line}: {error}"
            );
        }
    }

    #[test]
    fn the_examples_are_valid() {
        let text = EXAMPLES.replace("\\\n", " ");
        let lines = text
            .lines()
            .filter(|line| line.trim().starts_with("nicsim "));
        let ports = lines.map(|line| parse(line).unwrap().ports.len());
        assert_eq!(ports.collect::<Vec<_>>(), [2, 1, 1]);
    }

    #[test]
    fn help_has_every_table() {
        let error = parse("nicsim --help").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DisplayHelp);
        let help = error.to_string();
        let forms = FORMS.iter().chain(&COMMANDS).map(|(form, _)| *form);
        for name in forms.chain(TIMINGS.map(|(name, ..)| name)).chain(["82599"]) {
            assert!(help.contains(name), "{name}");
        }
    }

    #[test]
    fn building_reports_errors() {
        let error = |line: &str| build(&parse(line).unwrap()).err().unwrap();
        let lost = "nicsim --port 82599:/nonexistent/x.sock";
        assert!(error(lost).contains("--port 82599:/nonexistent/x.sock: "));
        assert!(
            error("nicsim --port 82599:x --wire sink:1").contains("--wire names port 1")
        );
    }
}
