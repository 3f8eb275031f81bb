// SPDX-License-Identifier: GPL-2.0
//! Captures as source and as sink: classic pcap files of Ethernet frames without CRC.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pcap_file::pcap::{PcapHeader, PcapReader};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use serde_json::{Value, json};

use super::pace::{Pacer, Rate};
use super::{MAX_FRAME, Next, Sink, Source, no_command, pad, unknown_command};

/// Pace of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Evenly, or as fast as the port accepts frames.
    At(Rate),
    /// With the intervals of the capture.
    Recorded,
}

/// A capture to replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The file.
    pub file: PathBuf,
    /// When each frame is due.
    pub pace: Pace,
    /// Whether it starts without a command.
    pub auto: bool,
}

/// Replays frames with the intervals of the capture.
#[derive(Debug)]
enum Clock {
    Paced(Pacer),
    /// When the first frame was due, and its capture time.
    Recorded(Option<(Instant, Duration)>),
}

impl Clock {
    fn new(pace: Pace) -> Self {
        match pace {
            Pace::At(rate) => Self::Paced(Pacer::new(rate)),
            Pace::Recorded => Self::Recorded(None),
        }
    }

    /// Whether the frame captured at `time` is due; otherwise when it is. A frame
    /// captured before the first one is due at once.
    fn due(&mut self, now: Instant, time: Duration) -> Result<(), Instant> {
        match self {
            Self::Paced(pacer) => pacer.next(now),
            Self::Recorded(first) => {
                let (start, first) = *first.get_or_insert((now, time));
                let due = start
                    .checked_add(time.saturating_sub(first))
                    .unwrap_or(start);
                if now < due { Err(due) } else { Ok(()) }
            }
        }
    }
}

/// Replays the frames of a capture. Short frames are padded with zeros, frames longer
/// than [`MAX_FRAME`] are skipped. The file is read during the replay.
pub struct PcapSource {
    config: Config,
    /// None at the end, and before the start.
    reader: Option<PcapReader<File>>,
    clock: Clock,
    /// The next frame, if it is read already, and its capture time.
    pending: Option<Duration>,
    frame: Vec<u8>,
    sent: u64,
    bytes: u64,
    skipped: u64,
    error: Option<String>,
}

impl PcapSource {
    /// Opens the capture.
    ///
    /// # Errors
    /// A text for the user if it cannot be read, or holds no Ethernet frames.
    pub fn open(config: Config) -> Result<Self, String> {
        // Opened even without a start, so that errors are found now.
        let reader = open(&config.file)?;
        let clock = Clock::new(config.pace);
        Ok(Self {
            reader: config.auto.then_some(reader),
            config,
            clock,
            pending: None,
            frame: Vec::new(),
            sent: 0,
            bytes: 0,
            skipped: 0,
            error: None,
        })
    }

    /// From the first frame.
    fn start(&mut self) -> Result<(), String> {
        self.reader = Some(open(&self.config.file)?);
        self.clock = Clock::new(self.config.pace);
        (self.pending, self.error) = (None, None);
        Ok(())
    }

    /// Reads the next frame that is not skipped; returns its capture time, or none at the
    /// end.
    fn read(&mut self) -> Option<Duration> {
        let reader = self.reader.as_mut()?;
        let nanos = match reader.header().ts_resolution {
            TsResolution::MicroSecond => 1000,
            TsResolution::NanoSecond => 1,
        };
        loop {
            match reader.next_raw_packet() {
                Some(Ok(packet)) if packet.data.len() <= MAX_FRAME => {
                    self.frame.clear();
                    self.frame.extend_from_slice(&packet.data);
                    pad(&mut self.frame);
                    let fraction = u64::from(packet.ts_frac) * nanos;
                    let seconds = Duration::from_secs(packet.ts_sec.into());
                    return Some(seconds + Duration::from_nanos(fraction));
                }
                Some(Ok(_)) => self.skipped += 1,
                Some(Err(error)) => {
                    let error = explain(&error);
                    eprintln!("nicsim: pcap-in: {}: {error}", self.config.file.display());
                    self.error = Some(error);
                    return None;
                }
                None => return None,
            }
        }
    }
}

impl Source for PcapSource {
    fn next(&mut self, now: Instant, frame: &mut Vec<u8>) -> Next {
        let Some(time) = self.pending.take().or_else(|| self.read()) else {
            self.reader = None;
            return Next::Idle;
        };
        if let Err(due) = self.clock.due(now, time) {
            self.pending = Some(time);
            return Next::At(due);
        }
        std::mem::swap(frame, &mut self.frame);
        self.sent += 1;
        self.bytes += frame.len() as u64;
        Next::Frame
    }

    fn back_pressure(&self) -> bool {
        self.config.pace == Pace::At(Rate::Full)
    }

    fn counters(&self) -> Value {
        json!({
            "kind": "pcap-in", "sent": self.sent, "bytes": self.bytes,
            "skipped": self.skipped, "running": self.reader.is_some(), "error": self.error,
        })
    }

    fn command(&mut self, words: &[&str]) -> Result<Value, String> {
        match words {
            ["start"] => self.start()?,
            ["stop"] => (self.reader, self.pending) = (None, None),
            _ => return Err(unknown_command("pcap-in", words, "start, stop")),
        }
        Ok(Value::Null)
    }
}

fn open(path: &Path) -> Result<PcapReader<File>, String> {
    let name = path.display();
    let file =
        File::open(path).map_err(|error| format!("cannot open {name}: {error}"))?;
    let reader = PcapReader::new(file).map_err(|error| {
        format!(
            "{name} is not a classic pcap file: {}; pcapng is converted by: \
             editcap -F pcap {name} NEW",
            explain(&error)
        )
    })?;
    match reader.header().datalink {
        DataLink::ETHERNET => Ok(reader),
        other => Err(format!(
            "{name} holds {other:?} frames; only Ethernet can be sent"
        )),
    }
}

fn explain(error: &PcapError) -> String {
    match error {
        PcapError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the file ends in the middle of a frame".into()
        }
        PcapError::IoError(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Writes frames to a capture, with nanoseconds.
pub struct PcapSink {
    path: PathBuf,
    /// None after an error.
    file: Option<BufWriter<File>>,
    /// An instant, and the same in time since 1970.
    epoch: (Instant, Duration),
    frames: u64,
    bytes: u64,
    dropped: u64,
}

impl PcapSink {
    /// Creates or truncates the file.
    ///
    /// # Errors
    /// A text for the user if the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, String> {
        let fail = |error: &dyn std::fmt::Display| {
            format!("cannot write {}: {error}", path.display())
        };
        let mut file = BufWriter::new(File::create(path).map_err(|error| fail(&error))?);
        let header = PcapHeader {
            snaplen: 1 << 18,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        header
            .write_to(&mut file)
            .map_err(|error| fail(&explain(&error)))?;
        file.flush().map_err(|error| fail(&error))?;
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Self {
            path: path.into(),
            file: Some(file),
            epoch: (Instant::now(), since_1970),
            frames: 0,
            bytes: 0,
            dropped: 0,
        })
    }

    /// The header of a frame's record: seconds, nanoseconds, and the length twice.
    fn record(&self, now: Instant, length: usize) -> [u8; 16] {
        let (instant, since_1970) = self.epoch;
        let time = since_1970 + now.saturating_duration_since(instant);
        let length = length as u32;
        let fields = [time.as_secs() as u32, time.subsec_nanos(), length, length];
        let mut bytes = [0; 16];
        for (target, field) in bytes.chunks_exact_mut(4).zip(fields) {
            target.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// Ends the capture if `result` is an error.
    fn end_on_error(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            eprintln!("nicsim: capture {} ends: {error}", self.path.display());
            self.file = None;
        }
    }
}

impl Sink for PcapSink {
    fn take(&mut self, now: Instant, frame: &[u8]) {
        let record = self.record(now, frame.len());
        let Some(file) = &mut self.file else {
            self.dropped += 1;
            return;
        };
        let result = file.write_all(&record).and_then(|()| file.write_all(frame));
        self.end_on_error(result);
        self.frames += 1;
        self.bytes += frame.len() as u64;
    }

    fn flush(&mut self) {
        if let Some(file) = &mut self.file {
            let result = file.flush();
            self.end_on_error(result);
        }
    }

    fn counters(&self) -> Value {
        json!({
            "kind": "pcap-out", "frames": self.frames, "bytes": self.bytes,
            "dropped": self.dropped,
        })
    }

    fn command(&mut self, _words: &[&str]) -> Result<Value, String> {
        Err(no_command("pcap-out"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    /// A file for one test, removed afterwards.
    struct TempFile(PathBuf);

    impl TempFile {
        fn new(name: &str) -> Self {
            let name = format!("nicsim-{name}-{}.pcap", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn source(&self, pace: Pace) -> PcapSource {
            let config = Config {
                file: self.0.clone(),
                pace,
                auto: true,
            };
            PcapSource::open(config).unwrap()
        }
    }

    impl Drop for TempFile {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    const FULL: Pace = Pace::At(Rate::Full);

    fn drain(source: &mut PcapSource) -> Vec<Vec<u8>> {
        let (mut frame, mut all) = (Vec::new(), Vec::new());
        while source.next(Instant::now(), &mut frame) == Next::Frame {
            all.push(frame.clone());
        }
        all
    }

    /// A capture with a frame of `length` at each of these times in microseconds.
    fn capture(name: &str, times: &[u64], length: usize) -> TempFile {
        let file = TempFile::new(name);
        let mut sink = PcapSink::create(&file.0).unwrap();
        for (index, us) in times.iter().enumerate() {
            let now = sink.epoch.0 + Duration::from_micros(*us);
            sink.take(now, &vec![index as u8; length]);
        }
        sink.flush();
        file
    }

    #[test]
    fn reads_what_it_writes() {
        let file = TempFile::new("roundtrip");
        let mut sink = PcapSink::create(&file.0).unwrap();
        let frames = [vec![1; 60], vec![2; 1514], vec![3; MAX_FRAME]];
        frames
            .iter()
            .for_each(|frame| sink.take(Instant::now(), frame));
        sink.flush();
        let mut source = file.source(FULL);
        assert!(source.back_pressure());
        assert_eq!(drain(&mut source), frames);
        assert_eq!(source.counters()["running"], false);
        assert_eq!((sink.frames, sink.dropped), (3, 0));
    }

    #[test]
    fn time_in_the_file_is_the_time_of_the_day() {
        let file = capture("time", &[0, 1_500_000], 60);
        let mut source = file.source(FULL);
        let first = source.read().unwrap();
        let second = source.read().unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        assert_eq!(second - first, Duration::from_micros(1_500_000));
        assert!(now.abs_diff(first) < Duration::from_secs(10));
    }

    #[test]
    fn short_frames_are_padded_and_long_ones_skipped() {
        let short = capture("short", &[0], 42);
        assert_eq!(drain(&mut short.source(FULL)), [[0; 60]]);
        let long = capture("long", &[0, 1], MAX_FRAME + 1);
        let mut source = long.source(FULL);
        assert!(drain(&mut source).is_empty());
        assert_eq!(source.counters()["skipped"], 2);
    }

    #[test]
    fn keeps_recorded_intervals() {
        let file = capture("recorded", &[0, 10, 5, 30], 60);
        let mut source = file.source(Pace::Recorded);
        assert!(!source.back_pressure());
        let (start, mut frame) = (Instant::now(), Vec::new());
        let at = |us| start + Duration::from_micros(us);
        assert_eq!(source.next(at(0), &mut frame), Next::Frame);
        assert_eq!(source.next(at(0), &mut frame), Next::At(at(10)));
        assert_eq!(source.next(at(10), &mut frame), Next::Frame);
        assert_eq!(frame, [1; 60]);
        assert_eq!(source.next(at(10), &mut frame), Next::Frame);
        assert_eq!(source.next(at(10), &mut frame), Next::At(at(30)));
        assert_eq!(source.next(at(40), &mut frame), Next::Frame);
        assert_eq!(source.next(at(40), &mut frame), Next::Idle);
    }

    #[test]
    fn keeps_a_rate() {
        let file = capture("rate", &[0, 0, 0], 60);
        let rate = Rate::PerSecond(NonZeroU32::new(100).unwrap());
        let mut source = file.source(Pace::At(rate));
        let (now, mut frame) = (Instant::now(), Vec::new());
        assert_eq!(source.next(now, &mut frame), Next::Frame);
        let due = now + Duration::from_millis(10);
        assert_eq!(source.next(now, &mut frame), Next::At(due));
        assert_eq!(source.next(due, &mut frame), Next::Frame);
        assert_eq!(frame, [1; 60]);
    }

    #[test]
    fn starts_again_on_command() {
        let file = capture("again", &[0, 1], 60);
        let config = Config {
            file: file.0.clone(),
            pace: FULL,
            auto: false,
        };
        let mut source = PcapSource::open(config).unwrap();
        assert!(drain(&mut source).is_empty());
        for _ in 0..2 {
            source.command(&["start"]).unwrap();
            assert_eq!(drain(&mut source).len(), 2);
        }
        source.command(&["start"]).unwrap();
        source.command(&["stop"]).unwrap();
        assert!(drain(&mut source).is_empty());
        assert!(source.command(&["start", "count=1"]).is_err());
        assert_eq!(source.counters()["sent"], 4);
    }

    #[test]
    fn invalid_files_are_rejected_or_end_early() {
        let file = capture("bad", &[0, 1], 60);
        let bytes = std::fs::read(&file.0).unwrap();
        std::fs::write(&file.0, &bytes[..bytes.len() - 1]).unwrap();
        let mut source = file.source(FULL);
        assert_eq!(drain(&mut source).len(), 1);
        assert!(
            source.counters()["error"]
                .as_str()
                .unwrap()
                .contains("in the middle")
        );
        let mut raw_ip = bytes;
        raw_ip[20] = 101;
        let open = |bytes: &[u8]| {
            std::fs::write(&file.0, bytes).unwrap();
            let config = Config {
                file: file.0.clone(),
                pace: FULL,
                auto: false,
            };
            PcapSource::open(config).err().unwrap()
        };
        assert!(open(&raw_ip).contains("only Ethernet"));
        assert!(open(&[0; 64]).contains("editcap"));
        assert!(open(b"").contains("not a classic pcap"));
        std::fs::remove_file(&file.0).unwrap();
        let config = Config {
            file: file.0.clone(),
            pace: FULL,
            auto: false,
        };
        assert!(
            PcapSource::open(config)
                .err()
                .unwrap()
                .contains("cannot open")
        );
    }

    #[test]
    fn a_full_disk_ends_the_capture_only() {
        let mut sink = PcapSink::create(&TempFile::new("full").0).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        sink.file = Some(BufWriter::new(full));
        sink.take(Instant::now(), &[0; 60]);
        sink.flush();
        sink.take(Instant::now(), &[0; 60]);
        assert_eq!(sink.counters()["dropped"], 1);
    }
}
