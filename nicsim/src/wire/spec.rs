// SPDX-License-Identifier: GPL-2.0
//! The syntax of `--wire`, and the attachments of all ports.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use super::generator::{self, Generator, Size};
use super::pace::Rate;
use super::pcap::{self, Pace, PcapSink, PcapSource};
use super::sink::CountingSink;
use super::{Attachment, MAX_FRAME, MIN_FRAME, Sink, Source, tap};

/// Bytes of the CRC: sizes on the command line include it, frames here do not.
const CRC: usize = 4;

/// The forms of `--wire` and their meaning, for error messages and the help text.
pub const FORMS: [(&str, &str); 8] = [
    (
        "loopback:PORT",
        "the port receives the frames that it sends",
    ),
    ("cable:PORT-PORT", "connects two ports"),
    (
        "gen:PORT[,size=64|imix|N][,flows=N][,count=N][,rate=PPS|full][,seed=N]\
         [,start=auto|off]",
        "generates UDP frames of this size on the wire (with the CRC: 64 is 60 bytes in\n\
         memory); full waits for the port, PPS does not",
    ),
    (
        "sink:PORT[,verify]",
        "counts frames, the default for every port; verify checks those\n\
         of a generator for damage, loss, order and duplicates",
    ),
    (
        "tap:PORT,name=NAME",
        "connects a new tap interface of this host",
    ),
    (
        "pcap-in:PORT,file=FILE[,rate=PPS|full|pcap][,start=auto|off]",
        "replays a capture; pcap keeps its intervals",
    ),
    (
        "pcap-out:PORT,file=FILE",
        "captures the frames that the port sends",
    ),
    (
        "record:PORT,file=FILE",
        "captures both directions, in addition to any other wire",
    ),
];

/// The kind of a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The port receives the frames that it sends.
    Loopback,
    /// To the port of this number.
    Cable(usize),
    /// A generator as source.
    Generator(generator::Config),
    /// A counting sink, which verifies or not.
    Sink(bool),
    /// A tap of this name as source and sink.
    Tap(String),
    /// A capture as source.
    PcapIn(pcap::Config),
    /// A capture as sink.
    PcapOut(PathBuf),
    /// A capture of both directions, in addition to any other wire.
    Record(PathBuf),
}

/// One `--wire`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Number of the port.
    pub port: usize,
    /// Kind of the wire.
    pub kind: Kind,
}

impl FromStr for Wire {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut forms = FORMS.iter().map(|(form, _)| *form);
        let form = forms
            .find(|form| form.split(':').next() == Some(name))
            .ok_or_else(|| {
                let forms = FORMS.map(|(form, _)| form).join(", ");
                format!("unknown wire '{name}'; known are: {forms}")
            })?;
        parse(name, rest).map_err(|error| format!("{error}; write: {form}"))
    }
}

fn parse(name: &str, rest: &str) -> Result<Wire, String> {
    let (port, options) = rest.split_once(',').unwrap_or((rest, ""));
    let mut options = Options::new(options);
    let (port, peer) = match port.split_once('-') {
        Some((port, peer)) if name == "cable" => (port, Some(peer)),
        _ => (port, None),
    };
    let kind = match name {
        "loopback" => Kind::Loopback,
        "cable" => Kind::Cable(port_number(peer.unwrap_or_default())?),
        "gen" => Kind::Generator(generator_config(&mut options)?),
        "sink" => Kind::Sink(options.flag("verify")),
        "tap" => Kind::Tap(options.need("name")?.into()),
        "pcap-in" => Kind::PcapIn(pcap_config(&mut options)?),
        "pcap-out" => Kind::PcapOut(options.need("file")?.into()),
        _ => Kind::Record(options.need("file")?.into()),
    };
    options.end()?;
    Ok(Wire {
        port: port_number(port)?,
        kind,
    })
}

fn port_number(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| format!("'{text}' is not the number of a port"))
}

/// `key=value` and `flag` words, separated by commas.
pub struct Options<'a>(Vec<&'a str>);

impl<'a> Options<'a> {
    /// Splits `text`, which may be empty.
    pub fn new(text: &'a str) -> Self {
        Self(text.split(',').filter(|word| !word.is_empty()).collect())
    }

    /// Removes the first word for which `pick` returns a value.
    fn take<T>(&mut self, pick: impl Fn(&'a str) -> Option<T>) -> Option<T> {
        let (at, found) = self
            .0
            .iter()
            .enumerate()
            .find_map(|(at, word)| pick(word).map(|found| (at, found)))?;
        self.0.remove(at);
        Some(found)
    }

    /// Removes `key=value` and returns its value.
    pub fn value(&mut self, key: &str) -> Option<&'a str> {
        self.take(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// Removes `key=value`, which is required.
    fn need(&mut self, key: &str) -> Result<&'a str, String> {
        let value = self.value(key).filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("{key}= is missing"))
    }

    /// Removes a number from `low` to `high`; `default` without one.
    fn number(
        &mut self,
        key: &str,
        low: u64,
        high: u64,
        default: u64,
    ) -> Result<u64, String> {
        let Some(text) = self.value(key) else {
            return Ok(default);
        };
        let number = text
            .parse()
            .ok()
            .filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| format!("{key}={text} is not a number from {low} to {high}"))
    }

    /// Removes `word`; returns whether it was present.
    fn flag(&mut self, word: &str) -> bool {
        self.take(|other| (other == word).then_some(())).is_some()
    }

    /// Whether the source starts without a command: `start=auto|off`.
    fn start(&mut self) -> Result<bool, String> {
        match self.value("start") {
            None | Some("auto") => Ok(true),
            Some("off") => Ok(false),
            Some(other) => Err(format!("start={other} is neither auto nor off")),
        }
    }

    /// The end of the options.
    ///
    /// # Errors
    /// Names a word that is left.
    pub fn end(self) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some(word) => Err(format!("'{word}' is not an option here, or a duplicate")),
        }
    }
}

fn generator_config(options: &mut Options<'_>) -> Result<generator::Config, String> {
    let size = match options.value("size") {
        None => generator::Config::default().size,
        Some("imix") => Size::Imix,
        Some(text) => fixed_size(text)?,
    };
    Ok(generator::Config {
        size,
        flows: options.number("flows", 1, 1 << 16, 1)? as u32,
        count: match options.number("count", 1, u64::MAX, 0)? {
            0 => None,
            count => Some(count),
        },
        rate: options.value("rate").map_or(Ok(Rate::Full), rate)?,
        seed: options.number("seed", 0, u64::MAX, 1)?,
        auto: options.start()?,
    })
}

fn fixed_size(text: &str) -> Result<Size, String> {
    let sizes = MIN_FRAME + CRC..=MAX_FRAME + CRC;
    match text.parse() {
        Ok(size) if sizes.contains(&size) => Ok(Size::Fixed(size - CRC)),
        _ => Err(format!(
            "size={text} is neither imix nor a number from {} to {}",
            sizes.start(),
            sizes.end()
        )),
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    match text.parse::<NonZeroU32>() {
        _ if text == "full" => Ok(Rate::Full),
        Ok(pps) => Ok(Rate::PerSecond(pps)),
        Err(_) => Err(format!(
            "rate={text} is neither full nor a number of frames per second up to {}",
            u32::MAX
        )),
    }
}

fn pcap_config(options: &mut Options<'_>) -> Result<pcap::Config, String> {
    Ok(pcap::Config {
        file: options.need("file")?.into(),
        pace: match options.value("rate") {
            None => Pace::At(Rate::Full),
            Some("pcap") => Pace::Recorded,
            Some(text) => Pace::At(rate(text)?),
        },
        auto: options.start()?,
    })
}

/// Attachment of one port.
pub struct Connection {
    /// The other end of the wire.
    pub attachment: Attachment,
    /// Sink for both directions.
    pub record: Option<Box<dyn Sink>>,
}

/// The wires of one port, before anything is opened.
#[derive(Default)]
struct Plan<'a> {
    /// Loopback or cable.
    link: Option<&'a Kind>,
    source: Option<&'a Kind>,
    sink: Option<&'a Kind>,
    record: Option<&'a PathBuf>,
}

impl<'a> Plan<'a> {
    /// Collects the wires of `port`.
    fn new(port: usize, wires: &'a [Wire]) -> Result<Self, String> {
        let mut plan = Self::default();
        for wire in wires.iter().filter(|wire| wire.port == port) {
            let kind = &wire.kind;
            match kind {
                Kind::Loopback | Kind::Cable(_) => once(&mut plan.link, kind)?,
                Kind::Generator(_) | Kind::PcapIn(_) => once(&mut plan.source, kind)?,
                Kind::Sink(_) | Kind::PcapOut(_) => once(&mut plan.sink, kind)?,
                Kind::Tap(_) => {
                    once(&mut plan.source, kind)?;
                    once(&mut plan.sink, kind)?;
                }
                Kind::Record(path) => once(&mut plan.record, path)?,
            }
        }
        if plan.link.is_some() && (plan.source.is_some() || plan.sink.is_some()) {
            return Err(
                "loopback and cable leave no end for another wire but record".into(),
            );
        }
        Ok(plan)
    }

    fn attachment(&self, mac: [u8; 6]) -> Result<Attachment, String> {
        match self.link {
            Some(Kind::Cable(peer)) => return Ok(Attachment::Cable(*peer)),
            Some(_) => return Ok(Attachment::Loopback),
            None => {}
        }
        if let Some(Kind::Tap(name)) = self.source {
            let (source, sink) = tap::open(name)?;
            return Ok(Attachment::Open {
                source: Some(Box::new(source)),
                sink: Box::new(sink),
            });
        }
        let source: Option<Box<dyn Source>> = match self.source {
            Some(Kind::Generator(config)) => {
                Some(Box::new(Generator::new(config.clone(), mac)))
            }
            Some(Kind::PcapIn(config)) => {
                Some(Box::new(PcapSource::open(config.clone())?))
            }
            _ => None,
        };
        let sink: Box<dyn Sink> = match self.sink {
            Some(Kind::PcapOut(path)) => Box::new(PcapSink::create(path)?),
            Some(Kind::Sink(verify)) => Box::new(CountingSink::new(*verify)),
            _ => Box::new(CountingSink::new(false)),
        };
        Ok(Attachment::Open { source, sink })
    }
}

fn once<T>(target: &mut Option<T>, value: T) -> Result<(), String> {
    match target.replace(value) {
        None => Ok(()),
        Some(_) => Err(
            "one source (gen, pcap-in, tap), one sink (sink, pcap-out, tap), one \
                        loopback or cable, and one record at most"
                .into(),
        ),
    }
}

/// Opens `wires` for ports with these addresses.
///
/// # Errors
/// A text for the user that names the wire.
pub fn connect(wires: &[Wire], macs: &[[u8; 6]]) -> Result<Vec<Connection>, String> {
    let mut wires = wires.to_vec();
    for at in 0..wires.len() {
        if let Wire {
            port,
            kind: Kind::Cable(peer),
        } = wires[at]
        {
            wires.push(Wire {
                port: peer,
                kind: Kind::Cable(port),
            });
        }
    }
    let stray =
        |wire: &&Wire| wire.port >= macs.len() || wire.kind == Kind::Cable(wire.port);
    if let Some(Wire { port, kind }) = wires.iter().find(stray) {
        return Err(match kind {
            Kind::Cable(peer) if peer == port => {
                format!(
                    "--wire cable:{port}-{port}: a cable has two ends; or write: loopback:{port}"
                )
            }
            _ => format!(
                "--wire names port {port}, but there are only {}: give more --port, ports \
                 count from 0",
                macs.len()
            ),
        });
    }
    (0..macs.len())
        .map(|port| connection(port, &wires, macs[port]))
        .collect()
}

fn connection(port: usize, wires: &[Wire], mac: [u8; 6]) -> Result<Connection, String> {
    let at_port = |error| format!("--wire of port {port}: {error}");
    let plan = Plan::new(port, wires).map_err(at_port)?;
    let record = match plan.record {
        Some(path) => {
            Some(Box::new(PcapSink::create(path).map_err(at_port)?) as Box<dyn Sink>)
        }
        None => None,
    };
    Ok(Connection {
        attachment: plan.attachment(mac).map_err(at_port)?,
        record,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(text: &str) -> Wire {
        text.parse().unwrap()
    }

    fn error(text: &str) -> String {
        text.parse::<Wire>().unwrap_err()
    }

    fn generator(text: &str) -> generator::Config {
        match wire(text).kind {
            Kind::Generator(config) => config,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parses_every_kind() {
        let at = |port, kind| Wire { port, kind };
        assert_eq!(wire("loopback:0"), at(0, Kind::Loopback));
        assert_eq!(wire("cable:0-12"), at(0, Kind::Cable(12)));
        assert_eq!(wire("sink:3"), at(3, Kind::Sink(false)));
        assert_eq!(wire("sink:3,verify"), at(3, Kind::Sink(true)));
        assert_eq!(wire("tap:1,name=nic0"), at(1, Kind::Tap("nic0".into())));
        assert_eq!(
            wire("pcap-out:0,file=a/b"),
            at(0, Kind::PcapOut("a/b".into()))
        );
        assert_eq!(wire("record:0,file=x"), at(0, Kind::Record("x".into())));
        let file = "x".into();
        let config = pcap::Config {
            file,
            pace: Pace::Recorded,
            auto: false,
        };
        assert_eq!(
            wire("pcap-in:0,rate=pcap,file=x,start=off"),
            at(0, Kind::PcapIn(config))
        );
    }

    #[test]
    fn parses_generators() {
        assert_eq!(generator("gen:0"), generator::Config::default());
        assert_eq!(generator("gen:0,size=imix").size, Size::Imix);
        assert_eq!(generator("gen:0,size=64").size, Size::Fixed(60));
        assert_eq!(generator("gen:0,rate=full").rate, Rate::Full);
        let config = generator("gen:0,size=1518,flows=8,count=9,rate=7,seed=5,start=off");
        let rate = Rate::PerSecond(NonZeroU32::new(7).unwrap());
        let (size, count) = (Size::Fixed(1514), Some(9));
        let expected = generator::Config {
            size,
            flows: 8,
            count,
            rate,
            seed: 5,
            auto: false,
        };
        assert_eq!(config, expected);
    }

    #[test]
    fn errors_name_the_valid_form() {
        assert!(error("telepathy:0").contains("loopback:PORT, cable:PORT-PORT"));
        assert!(error("gen").contains("gen:PORT["));
        assert!(error("gen:0,size=63").contains("from 64 to 15872"));
        assert!(error("gen:0,rate=0").contains("frames per second"));
        assert!(error("gen:0,rate=pcap").contains("neither full"));
        assert!(error("gen:0,flows=65537").contains("from 1 to 65536"));
        assert!(error("gen:0,flows=1,flows=2").contains("duplicate"));
        assert!(error("gen:0,start=now").contains("auto nor off"));
        assert!(error("sink:0,verfy").contains("'verfy' is not an option"));
        assert!(error("cable:0").contains("cable:PORT-PORT"));
        assert!(error("tap:0").contains("name= is missing"));
        assert!(error("pcap-in:0").contains("file= is missing"));
        assert!(error("loopback:one").contains("'one'"));
    }

    fn connect_all(texts: &[&str], ports: usize) -> Result<Vec<Connection>, String> {
        let wires: Vec<_> = texts.iter().map(|text| wire(text)).collect();
        connect(&wires, &vec![[2; 6]; ports])
    }

    #[test]
    fn connects_both_ends_of_a_cable() {
        let ports = connect_all(&["cable:0-2", "loopback:1"], 4).unwrap();
        let kinds: Vec<_> = ports.into_iter().map(|port| port.attachment).collect();
        assert!(matches!(
            kinds.as_slice(),
            [
                Attachment::Cable(2),
                Attachment::Loopback,
                Attachment::Cable(0),
                Attachment::Open { source: None, .. }
            ]
        ));
    }

    #[test]
    fn opens_source_sink_and_record() {
        let path =
            std::env::temp_dir().join(format!("nicsim-spec-{}", std::process::id()));
        let record = format!("record:0,file={}", path.display());
        let mut ports =
            connect_all(&["gen:0,count=1", "sink:0,verify", &record], 1).unwrap();
        let port = ports.remove(0);
        assert!(port.record.is_some());
        let Attachment::Open {
            source: Some(mut source),
            sink,
        } = port.attachment
        else {
            panic!("not open");
        };
        let mut frame = Vec::new();
        source.next(std::time::Instant::now(), &mut frame);
        assert_eq!(frame[..6], [2; 6]);
        assert!(sink.counters()["verify"].is_object());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn rejects_invalid_combinations() {
        let error = |texts: &[&str]| connect_all(texts, 2).err().unwrap();
        assert!(error(&["sink:2"]).contains("names port 2, but there are only 2"));
        assert!(error(&["cable:0-5"]).contains("names port 5"));
        assert!(error(&["cable:1-1"]).contains("write: loopback:1"));
        assert!(error(&["gen:0", "gen:0"]).contains("one source"));
        assert!(error(&["loopback:0", "gen:0"]).contains("no end for another"));
        assert!(error(&["cable:0-1", "sink:1"]).contains("port 1"));
        assert!(error(&["cable:0-1", "cable:1-0"]).contains("at most"));
        assert!(error(&["tap:0,name=x", "sink:0"]).contains("one sink"));
        assert!(error(&["pcap-in:0,file=/nonexistent"]).contains("cannot open"));
        assert!(error(&["pcap-out:1,file=/nonexistent/x"]).contains("port 1"));
    }
}
