// SPDX-License-Identifier: GPL-2.0
//! The server side of vfio-user: VFIO requests as messages on a Unix socket.
//!
//! A message is a header of 16 bytes and a payload, in the byte order of the host:
//!
//! ```text
//!   u16 id | u16 command | u32 size with header | u32 flags | u32 errno | payload
//! ```
//!
//! Payloads are the structures of `linux/vfio.h`. The server has the commands that QEMU's
//! `vfio-user-pci` sends; any other command gets an error reply, and the stream stays in
//! step because each message contains its length. Not supported: DMA by messages,
//! mappable regions, migration, several writes in one message.
//!
//! A [`Connection`] never blocks and allocates no memory per message. Replies are
//! buffered until [`Connection::flush`], so that the caller decides what happens before
//! the guest continues.

use std::io::{self, ErrorKind, IoSliceMut};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::cmsg_space;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send,
};
use vfio_bindings::bindings::vfio::{
    VFIO_DEVICE_FLAGS_PCI, VFIO_DEVICE_FLAGS_RESET, VFIO_DMA_MAP_FLAG_WRITE,
    VFIO_DMA_UNMAP_FLAG_ALL, VFIO_IRQ_INFO_EVENTFD, VFIO_IRQ_INFO_NORESIZE,
    VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_IRQ_SET_DATA_EVENTFD, VFIO_IRQ_SET_DATA_NONE,
    VFIO_PCI_MSIX_IRQ_INDEX, VFIO_PCI_NUM_IRQS, VFIO_PCI_NUM_REGIONS,
    VFIO_REGION_INFO_FLAG_READ, VFIO_REGION_INFO_FLAG_WRITE,
};

/// Maximum data of one region access, in bytes.
const MAX_DATA: usize = 1 << 20;
/// Maximum number of file descriptors per message.
const MAX_FDS: usize = 16;

/// Capabilities in the version reply.
const CAPABILITIES: &[u8] = b"{\"capabilities\":{\"max_msg_fds\":16,\
    \"max_data_xfer_size\":1048576,\"pgsizes\":4096,\"max_dma_maps\":65535}}\0";

const HEADER: usize = 16;
/// Header and payload of a region access without its data.
const ACCESS: usize = HEADER + 16;
const MAX_MESSAGE: usize = ACCESS + MAX_DATA;

/// Input buffer: more than 1800 posted writes of 4 bytes.
const INPUT: usize = 64 * 1024;
/// Pending output above which no message is handled.
const OUTPUT: usize = 64 * 1024;

mod command {
    pub const VERSION: u16 = 1;
    pub const DMA_MAP: u16 = 2;
    pub const DMA_UNMAP: u16 = 3;
    pub const GET_INFO: u16 = 4;
    pub const GET_REGION_INFO: u16 = 5;
    pub const GET_IRQ_INFO: u16 = 7;
    pub const SET_IRQS: u16 = 8;
    pub const REGION_READ: u16 = 9;
    pub const REGION_WRITE: u16 = 10;
    pub const RESET: u16 = 13;
}

const FLAGS_TYPE: u32 = 0xF;
const FLAGS_REPLY: u32 = 0x1;
const FLAGS_NO_REPLY: u32 = 0x10;
const FLAGS_ERROR: u32 = 0x20;

const DEVICE_FLAGS: u32 = VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI;
const REGION_FLAGS: u32 = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
/// Any change of the eventfds begins with the removal of all.
const IRQ_FLAGS: u32 = VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE;
/// With a count of 0 this removes all eventfds.
const SET_DISABLE: u32 = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
const SET_ASSIGN: u32 = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;

/// A range of memory that a client maps.
#[derive(Debug)]
pub struct DmaMap {
    /// First address, from the device's point of view.
    pub iova: u64,
    /// Bytes.
    pub size: u64,
    /// The file to map and the offset in it; without a file the range is not accessible.
    pub file: Option<(OwnedFd, u64)>,
    /// Whether the device may write.
    pub writable: bool,
}

/// The device behind a connection. Region accesses are inside their region, and interrupt
/// numbers are below their count.
pub trait Device {
    /// Size of a region in bytes; 0 if there is none.
    fn region_size(&self, region: u32) -> u64;

    /// Number of MSI-X vectors.
    fn irq_count(&self) -> u32;

    /// Reads from a region.
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]);

    /// Writes to a region.
    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]);

    /// Makes memory accessible to the device.
    ///
    /// # Errors
    /// Those that are returned to the client.
    fn dma_map(&mut self, map: DmaMap) -> io::Result<()>;

    /// Unmaps a range of address and size, or all memory.
    ///
    /// # Errors
    /// Those that are returned to the client.
    fn dma_unmap(&mut self, range: Option<(u64, u64)>) -> io::Result<()>;

    /// Sets or removes the eventfd of an MSI-X vector.
    fn set_irq(&mut self, vector: usize, fd: Option<OwnedFd>);

    /// Removes the eventfds of all vectors.
    fn disable_irqs(&mut self);

    /// Function reset.
    fn reset(&mut self);
}

/// The start of a message.
#[derive(Clone, Copy, Debug)]
struct Header {
    id: u16,
    command: u16,
    size: u32,
    flags: u32,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self, Errno> {
        Ok(Self {
            id: u16_at(bytes, 0)?,
            command: u16_at(bytes, 2)?,
            size: u32_at(bytes, 4)?,
            flags: u32_at(bytes, 8)?,
        })
    }

    /// The size, if it is valid.
    fn checked_size(self) -> io::Result<usize> {
        let size = self.size as usize;
        if (HEADER..=MAX_MESSAGE).contains(&size) {
            Ok(size)
        } else {
            Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("message of {size} bytes"),
            ))
        }
    }
}

/// The bytes from `offset` on, or `EINVAL` if the message is shorter.
fn chunk<const N: usize>(bytes: &[u8], offset: usize) -> Result<[u8; N], Errno> {
    let chunk = bytes.get(offset..).and_then(|rest| rest.first_chunk());
    chunk.copied().ok_or(Errno::INVAL)
}

fn u16_at(bytes: &[u8], offset: usize) -> Result<u16, Errno> {
    chunk(bytes, offset).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Result<u32, Errno> {
    chunk(bytes, offset).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Result<u64, Errno> {
    chunk(bytes, offset).map(u64::from_ne_bytes)
}

/// Received messages that are not handled yet.
///
/// A file descriptor arrives with the first byte of its message, and the kernel ends a
/// read after data that were sent with file descriptors. So file descriptors belong to
/// the last message whose beginning is in the buffer. While there are any, no data beyond
/// that message are read.
#[derive(Debug)]
struct Input {
    bytes: Vec<u8>,
    /// The part of `bytes` that is filled and not handled.
    filled: Range<usize>,
    fds: Vec<OwnedFd>,
}

impl Input {
    fn new() -> Self {
        Self {
            bytes: vec![0; INPUT],
            filled: 0..0,
            fds: Vec::new(),
        }
    }

    /// Size of the first message in the buffer; of a header if the header is incomplete.
    fn wanted(&self) -> io::Result<usize> {
        match Header::parse(&self.bytes[self.filled.clone()]) {
            Ok(header) if self.filled.len() >= HEADER => header.checked_size(),
            _ => Ok(HEADER),
        }
    }

    /// Whether the next message is complete.
    fn has_message(&self) -> io::Result<bool> {
        Ok(self.wanted()? <= self.filled.len())
    }

    /// Removes the next message, if it is complete.
    fn take(&mut self) -> io::Result<Option<(Range<usize>, Vec<OwnedFd>)>> {
        if !self.has_message()? {
            return Ok(None);
        }
        let start = self.filled.start;
        self.filled.start += self.wanted()?;
        let fds = if self.filled.is_empty() {
            std::mem::take(&mut self.fds)
        } else {
            Vec::new()
        };
        Ok(Some((start..self.filled.start, fds)))
    }

    /// Receives once, without blocking. Called only if no message is complete, so less
    /// than a message is moved to the front.
    fn fill(&mut self, stream: &UnixStream) -> io::Result<()> {
        self.bytes.copy_within(self.filled.clone(), 0);
        self.filled = 0..self.filled.len();
        let wanted = self.wanted()?;
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        let limit = if self.fds.is_empty() {
            self.bytes.len()
        } else {
            wanted
        };
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let room = &mut self.bytes[self.filled.end..limit];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received =
            match recvmsg(stream, &mut [IoSliceMut::new(room)], &mut control, flags) {
                Ok(message) => message.bytes,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                self.fds.extend(fds);
                self.fds.truncate(MAX_FDS);
            }
        }
        self.filled.end += received;
        if received > 0 {
            Ok(())
        } else {
            Err(ErrorKind::UnexpectedEof.into())
        }
    }
}

/// Pending replies.
#[derive(Debug, Default)]
struct Output {
    bytes: Vec<u8>,
}

impl Output {
    /// Begins a reply to `header`; [`Self::finish`] sets its size.
    fn begin(&mut self, header: Header) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&header.id.to_ne_bytes());
        self.bytes.extend_from_slice(&header.command.to_ne_bytes());
        self.put_u32(&[0, FLAGS_REPLY, 0]);
        start
    }

    fn put_u32(&mut self, values: &[u32]) {
        for value in values {
            self.bytes.extend_from_slice(&value.to_ne_bytes());
        }
    }

    fn put_u64(&mut self, values: &[u64]) {
        for value in values {
            self.bytes.extend_from_slice(&value.to_ne_bytes());
        }
    }

    /// Ends the reply that begins at `start`. A reply to a posted message is dropped; a
    /// reply with an error is a header only.
    fn finish(&mut self, start: usize, header: Header, result: Result<(), Errno>) {
        if header.flags & FLAGS_NO_REPLY != 0 {
            self.bytes.truncate(start);
            return;
        }
        if let Err(error) = result {
            self.bytes.truncate(start + 8);
            self.put_u32(&[
                FLAGS_REPLY | FLAGS_ERROR,
                error.raw_os_error().unsigned_abs(),
            ]);
        }
        let size = (self.bytes.len() - start) as u32;
        self.bytes[start + 4..start + 8].copy_from_slice(&size.to_ne_bytes());
    }

    /// Sends as much as the client accepts.
    fn flush(&mut self, stream: &UnixStream) -> io::Result<()> {
        while !self.bytes.is_empty() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match send(stream, &self.bytes, flags) {
                Ok(count) => drop(self.bytes.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// One client.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    input: Input,
    output: Output,
}

impl Connection {
    /// Serves `stream`, which may be in blocking mode.
    pub fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            input: Input::new(),
            output: Output::default(),
        }
    }

    /// File descriptor to poll for [`Self::interest`].
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Events to wait for: room for pending replies, otherwise messages.
    pub fn interest(&self) -> PollFlags {
        if self.output.bytes.is_empty() {
            PollFlags::IN
        } else {
            PollFlags::OUT
        }
    }

    /// Whether [`Self::serve`] has work without input from the client.
    pub fn has_work(&self) -> bool {
        self.output.bytes.is_empty() && self.input.has_message().unwrap_or(true)
    }

    /// Receives once if there is no complete message, then handles up to `limit`
    /// messages; returns their number. Replies are pending until [`Self::flush`].
    ///
    /// # Errors
    /// The client disconnected, or its message is invalid.
    pub fn serve(&mut self, device: &mut impl Device, limit: usize) -> io::Result<usize> {
        if !self.input.has_message()? {
            self.input.fill(&self.stream)?;
        }
        let mut count = 0;
        while count < limit && self.output.bytes.len() < OUTPUT {
            let Some((range, fds)) = self.input.take()? else {
                break;
            };
            handle(&self.input.bytes[range], fds, &mut self.output, device);
            count += 1;
        }
        Ok(count)
    }

    /// Sends the replies, as far as the client accepts them.
    ///
    /// # Errors
    /// The client disconnected.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush(&self.stream)
    }
}

/// Executes a complete message and buffers the reply.
fn handle(
    message: &[u8],
    fds: Vec<OwnedFd>,
    output: &mut Output,
    device: &mut impl Device,
) {
    let Ok(header) = Header::parse(message) else {
        return;
    };
    // A reply gets no reply.
    if header.flags & FLAGS_TYPE != 0 {
        return;
    }
    let start = output.begin(header);
    let payload = message.get(HEADER..).unwrap_or_default();
    let result = execute(header.command, payload, fds, output, device);
    output.finish(start, header, result);
}

/// Executes a command and appends the payload of its reply.
fn execute(
    command: u16,
    payload: &[u8],
    fds: Vec<OwnedFd>,
    output: &mut Output,
    device: &mut impl Device,
) -> Result<(), Errno> {
    match command {
        command::REGION_WRITE => region_write(payload, output, device),
        command::REGION_READ => region_read(payload, output, device),
        command::VERSION => version(payload, output),
        command::DMA_MAP => dma_map(payload, fds, device),
        command::DMA_UNMAP => dma_unmap(payload, output, device),
        command::GET_INFO => get_info(payload, output),
        command::GET_REGION_INFO => get_region_info(payload, output, device),
        command::GET_IRQ_INFO => get_irq_info(payload, output, device),
        command::SET_IRQS => set_irqs(payload, fds, device),
        command::RESET => {
            device.reset();
            Ok(())
        }
        _ => Err(Errno::OPNOTSUPP),
    }
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// `{ u16 major, minor; text }`; the client's capabilities are not used.
fn version(payload: &[u8], output: &mut Output) -> Result<(), Errno> {
    let (major, _minor) = (u16_at(payload, 0)?, u16_at(payload, 2)?);
    if major != 0 {
        return Err(Errno::INVAL);
    }
    output.put_u32(&[0]);
    output.bytes.extend_from_slice(CAPABILITIES);
    Ok(())
}

/// `{ u32 argsz, flags; u64 offset in the file, address, size }`
fn dma_map(
    payload: &[u8],
    mut fds: Vec<OwnedFd>,
    device: &mut impl Device,
) -> Result<(), Errno> {
    let flags = u32_at(payload, 4)?;
    let offset = u64_at(payload, 8)?;
    let (iova, size) = (u64_at(payload, 16)?, u64_at(payload, 24)?);
    let file = fds.pop().map(|fd| (fd, offset));
    if !fds.is_empty() {
        return Err(Errno::INVAL);
    }
    let map = DmaMap {
        iova,
        size,
        file,
        writable: flags & VFIO_DMA_MAP_FLAG_WRITE != 0,
    };
    device.dma_map(map).map_err(|error| errno(&error))
}

/// `{ u32 argsz, flags; u64 address, size }`
fn dma_unmap(
    payload: &[u8],
    output: &mut Output,
    device: &mut impl Device,
) -> Result<(), Errno> {
    let flags = u32_at(payload, 4)?;
    let (iova, size) = (u64_at(payload, 8)?, u64_at(payload, 16)?);
    let range = match flags {
        0 => Some((iova, size)),
        VFIO_DMA_UNMAP_FLAG_ALL => None,
        _ => return Err(Errno::INVAL),
    };
    output.put_u32(&[24, flags]);
    output.put_u64(&[iova, size]);
    device.dma_unmap(range).map_err(|error| errno(&error))
}

/// `{ u32 argsz, flags, regions, kinds of interrupts }`
fn get_info(payload: &[u8], output: &mut Output) -> Result<(), Errno> {
    u32_at(payload, 12)?;
    output.put_u32(&[16, DEVICE_FLAGS, VFIO_PCI_NUM_REGIONS, VFIO_PCI_NUM_IRQS]);
    Ok(())
}

/// `{ u32 argsz, flags, index, offset of more; u64 size, offset in the file }`
fn get_region_info(
    payload: &[u8],
    output: &mut Output,
    device: &impl Device,
) -> Result<(), Errno> {
    let index = u32_at(payload, 8)?;
    u64_at(payload, 24)?;
    if index >= VFIO_PCI_NUM_REGIONS {
        return Err(Errno::INVAL);
    }
    let size = device.region_size(index);
    let flags = if size > 0 { REGION_FLAGS } else { 0 };
    output.put_u32(&[32, flags, index, 0]);
    output.put_u64(&[size, 0]);
    Ok(())
}

/// `{ u32 argsz, flags, index, count }`
fn get_irq_info(
    payload: &[u8],
    output: &mut Output,
    device: &impl Device,
) -> Result<(), Errno> {
    let index = u32_at(payload, 8)?;
    u32_at(payload, 12)?;
    let (flags, count) = match index {
        VFIO_PCI_MSIX_IRQ_INDEX => (IRQ_FLAGS, device.irq_count()),
        0..VFIO_PCI_NUM_IRQS => (0, 0),
        _ => return Err(Errno::INVAL),
    };
    output.put_u32(&[16, flags, index, count]);
    Ok(())
}

/// `{ u32 argsz, flags, index, start, count }`, with a file descriptor for each vector,
/// or without any to remove them.
fn set_irqs(
    payload: &[u8],
    fds: Vec<OwnedFd>,
    device: &mut impl Device,
) -> Result<(), Errno> {
    let (flags, index) = (u32_at(payload, 4)?, u32_at(payload, 8)?);
    let (start, count) = (u32_at(payload, 12)?, u32_at(payload, 16)?);
    let existing = if index == VFIO_PCI_MSIX_IRQ_INDEX {
        device.irq_count()
    } else {
        0
    };
    let in_range = start.checked_add(count).is_some_and(|end| end <= existing);
    match flags {
        SET_DISABLE if count == 0 && index == VFIO_PCI_MSIX_IRQ_INDEX => {
            device.disable_irqs();
        }
        SET_DISABLE if count == 0 && index < VFIO_PCI_NUM_IRQS => {}
        SET_ASSIGN if in_range && (fds.is_empty() || fds.len() == count as usize) => {
            let mut fds = fds.into_iter();
            for vector in start..start + count {
                device.set_irq(vector as usize, fds.next());
            }
        }
        _ => return Err(Errno::INVAL),
    }
    Ok(())
}

/// `{ u64 offset; u32 region, count }`: an access inside its region.
struct Access {
    offset: u64,
    region: u32,
    count: usize,
}

impl Access {
    fn parse(payload: &[u8], device: &impl Device) -> Result<Self, Errno> {
        let offset = u64_at(payload, 0)?;
        let (region, count) = (u32_at(payload, 8)?, u32_at(payload, 12)?);
        let size = if region < VFIO_PCI_NUM_REGIONS {
            device.region_size(region)
        } else {
            0
        };
        let inside = offset
            .checked_add(count.into())
            .is_some_and(|end| end <= size);
        if inside && (1..=MAX_DATA).contains(&(count as usize)) {
            Ok(Self {
                offset,
                region,
                count: count as usize,
            })
        } else {
            Err(Errno::INVAL)
        }
    }

    fn put(&self, output: &mut Output) {
        output.put_u64(&[self.offset]);
        output.put_u32(&[self.region, self.count as u32]);
    }
}

fn region_read(
    payload: &[u8],
    output: &mut Output,
    device: &mut impl Device,
) -> Result<(), Errno> {
    let access = Access::parse(payload, device)?;
    access.put(output);
    let start = output.bytes.len();
    output.bytes.resize(start + access.count, 0);
    device.region_read(access.region, access.offset, &mut output.bytes[start..]);
    Ok(())
}

fn region_write(
    payload: &[u8],
    output: &mut Output,
    device: &mut impl Device,
) -> Result<(), Errno> {
    let access = Access::parse(payload, device)?;
    let data = payload.get(16..16 + access.count).ok_or(Errno::INVAL)?;
    access.put(output);
    device.region_write(access.region, access.offset, data);
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::{IoSlice, Read, Write};

    use rustix::event::{EventfdFlags, eventfd};
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, sendmsg};
    use vfio_bindings::bindings::vfio::{
        VFIO_DMA_MAP_FLAG_READ, VFIO_DMA_UNMAP_FLAG_GET_DIRTY_BITMAP,
        VFIO_IRQ_SET_DATA_BOOL,
    };

    use super::*;

    /// A message from a client.
    pub(crate) fn message(command: u16, flags: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&0x1234u16.to_ne_bytes());
        bytes.extend_from_slice(&command.to_ne_bytes());
        bytes.extend_from_slice(&((HEADER + payload.len()) as u32).to_ne_bytes());
        bytes.extend_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(payload);
        bytes
    }

    /// Words of 32 bits in the order of the host.
    pub(crate) fn words(values: &[u32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect()
    }

    fn map_payload(flags: u32, offset: u64, iova: u64, size: u64) -> Vec<u8> {
        let mut payload = words(&[32, flags]);
        for value in [offset, iova, size] {
            payload.extend_from_slice(&value.to_ne_bytes());
        }
        payload
    }

    /// A region access: its payload.
    pub(crate) fn access(region: u32, offset: u64, count: u32, data: &[u8]) -> Vec<u8> {
        let mut payload = offset.to_ne_bytes().to_vec();
        payload.extend_from_slice(&words(&[region, count]));
        payload.extend_from_slice(data);
        payload
    }

    pub(crate) fn write_message(region: u32, offset: u64, data: &[u8]) -> Vec<u8> {
        let payload = access(region, offset, data.len() as u32, data);
        message(command::REGION_WRITE, FLAGS_NO_REPLY, &payload)
    }

    pub(crate) fn read_message(region: u32, offset: u64, count: u32) -> Vec<u8> {
        message(command::REGION_READ, 0, &access(region, offset, count, &[]))
    }

    pub(crate) fn map_message(iova: u64, size: u64) -> Vec<u8> {
        message(command::DMA_MAP, 0, &map_payload(READ_WRITE, 0, iova, size))
    }

    pub(crate) fn irq_message(start: u32, count: u32) -> Vec<u8> {
        let payload = words(&[20, SET_ASSIGN, VFIO_PCI_MSIX_IRQ_INDEX, start, count]);
        message(command::SET_IRQS, 0, &payload)
    }

    pub(crate) fn send_fds(stream: &UnixStream, bytes: &[u8], fds: &[OwnedFd]) {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        if !fds.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        }
        let flags = SendFlags::empty();
        let sent = sendmsg(stream, &[IoSlice::new(bytes)], &mut control, flags).unwrap();
        assert_eq!(sent, bytes.len());
    }

    /// Reads one reply: its command, error and payload.
    pub(crate) fn reply(mut stream: &UnixStream) -> (u16, u32, Vec<u8>) {
        let mut header = [0; HEADER];
        stream.read_exact(&mut header).unwrap();
        let parsed = Header::parse(&header).unwrap();
        assert_eq!(
            (parsed.id, parsed.flags & FLAGS_TYPE),
            (0x1234, FLAGS_REPLY)
        );
        let error = u32_at(&header, 12).unwrap();
        assert_eq!(parsed.flags & FLAGS_ERROR != 0, error != 0);
        let mut payload = vec![0; parsed.size as usize - HEADER];
        stream.read_exact(&mut payload).unwrap();
        (parsed.command, error, payload)
    }

    /// Logs calls as text.
    #[derive(Default)]
    struct Log {
        lines: Vec<String>,
        fail: bool,
    }

    impl Log {
        fn result(&self) -> io::Result<()> {
            if self.fail {
                Err(Errno::NOMEM.into())
            } else {
                Ok(())
            }
        }
    }

    impl Device for Log {
        fn region_size(&self, region: u32) -> u64 {
            [0x1000, 0, 0, 0, 0, 0, 0, 256, 0][region as usize]
        }
        fn irq_count(&self) -> u32 {
            8
        }
        fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) {
            self.lines
                .push(format!("read {region} {offset:#x} {}", data.len()));
            data.fill(0x5A);
        }
        fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) {
            self.lines
                .push(format!("write {region} {offset:#x} {data:?}"));
        }
        fn dma_map(&mut self, map: DmaMap) -> io::Result<()> {
            let offset = map.file.map(|(_, offset)| offset);
            let DmaMap {
                iova,
                size,
                writable,
                ..
            } = map;
            self.lines
                .push(format!("map {iova:#x} {size:#x} {offset:?} {writable}"));
            self.result()
        }
        fn dma_unmap(&mut self, range: Option<(u64, u64)>) -> io::Result<()> {
            self.lines.push(format!("unmap {range:?}"));
            self.result()
        }
        fn set_irq(&mut self, vector: usize, fd: Option<OwnedFd>) {
            self.lines.push(format!("irq {vector} {}", fd.is_some()));
        }
        fn disable_irqs(&mut self) {
            self.lines.push("disable".into());
        }
        fn reset(&mut self) {
            self.lines.push("reset".into());
        }
    }

    struct Bench {
        client: UnixStream,
        server: Connection,
        device: Log,
    }

    impl Bench {
        fn new() -> Self {
            let (client, server) = UnixStream::pair().unwrap();
            Self {
                client,
                server: Connection::new(server),
                device: Log::default(),
            }
        }

        fn serve(&mut self) -> io::Result<usize> {
            let count = self.server.serve(&mut self.device, usize::MAX)?;
            self.server.flush().map(|()| count)
        }

        fn send(&mut self, bytes: &[u8]) {
            self.client.write_all(bytes).unwrap();
        }

        /// Sends a command and returns error and payload of its reply.
        fn call(
            &mut self,
            command: u16,
            payload: &[u8],
            fds: &[OwnedFd],
        ) -> (u32, Vec<u8>) {
            send_fds(&self.client, &message(command, 0, payload), fds);
            assert_eq!(self.serve().unwrap(), 1);
            let (answered, error, payload) = reply(&self.client);
            assert_eq!(answered, command);
            (error, payload)
        }

        fn error(&mut self, command: u16, payload: &[u8], fds: &[OwnedFd]) -> u32 {
            let (error, payload) = self.call(command, payload, fds);
            assert!(error == 0 || payload.is_empty());
            error
        }

        fn lines(&mut self) -> Vec<String> {
            std::mem::take(&mut self.device.lines)
        }
    }

    const READ_WRITE: u32 = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
    const INVAL: u32 = Errno::INVAL.raw_os_error().unsigned_abs();

    fn fds(count: usize) -> Vec<OwnedFd> {
        let new = || eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        std::iter::repeat_with(new).take(count).collect()
    }

    #[test]
    fn version_is_negotiated() {
        let mut bench = Bench::new();
        let (error, payload) = bench.call(command::VERSION, b"\0\0\0\0{}\0", &[]);
        assert_eq!((error, &payload[..4]), (0, &[0; 4][..]));
        let (end, text) = payload[4..].split_last().unwrap();
        assert_eq!(*end, 0);
        let value: serde_json::Value = serde_json::from_slice(text).unwrap();
        assert_eq!(value["capabilities"]["max_msg_fds"], MAX_FDS);
        assert_eq!(value["capabilities"]["max_data_xfer_size"], MAX_DATA);
        assert_eq!(
            value["capabilities"]["max_dma_maps"],
            crate::memory::MAX_MAPS
        );
        let other = [&1u16.to_ne_bytes()[..], &[0; 3]].concat();
        assert_eq!(bench.error(command::VERSION, &other, &[]), INVAL);
    }

    #[test]
    fn describes_the_device() {
        let mut bench = Bench::new();
        let info = bench.call(command::GET_INFO, &words(&[16, 0, 0, 0]), &[]);
        assert_eq!(info, (0, words(&[16, 3, 9, 5])));
        let mut region = |index| {
            bench.call(
                command::GET_REGION_INFO,
                &words(&[32, 0, index, 0, 0, 0, 0, 0]),
                &[],
            )
        };
        assert_eq!(region(0), (0, words(&[32, 3, 0, 0, 0x1000, 0, 0, 0])));
        assert_eq!(region(8), (0, words(&[32, 0, 8, 0, 0, 0, 0, 0])));
        assert_eq!(region(9), (INVAL, vec![]));
        let mut irq =
            |index| bench.call(command::GET_IRQ_INFO, &words(&[16, 0, index, 0]), &[]);
        assert_eq!(irq(2), (0, words(&[16, 9, 2, 8])));
        assert_eq!(irq(0), (0, words(&[16, 0, 0, 0])));
        assert_eq!(irq(5), (INVAL, vec![]));
    }

    #[test]
    fn accesses_reach_the_device_in_order() {
        let mut bench = Bench::new();
        let mut all = write_message(0, 0xFF8, &[1, 2, 3, 4]);
        all.extend(read_message(7, 4, 2));
        all.extend(message(command::REGION_WRITE, 0, &access(7, 0, 1, &[9])));
        bench.send(&all);
        assert_eq!(bench.serve().unwrap(), 3);
        let order = [
            "write 0 0xff8 [1, 2, 3, 4]",
            "read 7 0x4 2",
            "write 7 0x0 [9]",
        ];
        assert_eq!(bench.lines(), order);
        let read = (command::REGION_READ, 0, access(7, 4, 2, &[0x5A, 0x5A]));
        assert_eq!(reply(&bench.client), read);
        let written = (command::REGION_WRITE, 0, access(7, 0, 1, &[]));
        assert_eq!(reply(&bench.client), written);
    }

    #[test]
    fn accesses_outside_of_regions_are_errors() {
        let mut bench = Bench::new();
        for payload in [
            access(0, 0xFFD, 4, &[]),
            access(0, u64::MAX, 4, &[]),
            access(1, 0, 1, &[]),
            access(9, 0, 1, &[]),
            access(u32::MAX, 0, 0, &[]),
            access(0, 0, u32::MAX, &[]),
            vec![0; 15],
        ] {
            assert_eq!(bench.error(command::REGION_READ, &payload, &[]), INVAL);
            assert_eq!(bench.error(command::REGION_WRITE, &payload, &[]), INVAL);
        }
        let short = access(0, 0, 4, &[1, 2, 3]);
        assert_eq!(bench.error(command::REGION_WRITE, &short, &[]), INVAL);
        assert!(bench.lines().is_empty());
        bench.send(&write_message(9, 0, &[0]));
        assert_eq!(bench.serve().unwrap(), 1);
        assert_eq!(bench.error(command::RESET, &[], &[]), 0);
    }

    #[test]
    fn memory_is_mapped_and_unmapped() {
        let mut bench = Bench::new();
        let map = map_payload(READ_WRITE, 0x2000, 0x10_0000, 0x1000);
        assert_eq!(bench.error(command::DMA_MAP, &map, &fds(1)), 0);
        assert_eq!(
            bench.error(
                command::DMA_MAP,
                &map_payload(VFIO_DMA_MAP_FLAG_READ, 0, 0, 1),
                &[]
            ),
            0
        );
        assert_eq!(bench.error(command::DMA_MAP, &map, &fds(2)), INVAL);
        let unmap = [words(&[24, 0]), words(&[0x1000, 0, 0x3000, 0])].concat();
        assert_eq!(bench.call(command::DMA_UNMAP, &unmap, &[]), (0, unmap));
        let all = [words(&[24, VFIO_DMA_UNMAP_FLAG_ALL]), vec![0; 16]].concat();
        assert_eq!(bench.error(command::DMA_UNMAP, &all, &[]), 0);
        let bitmap = [
            words(&[24, VFIO_DMA_UNMAP_FLAG_GET_DIRTY_BITMAP]),
            vec![0; 16],
        ]
        .concat();
        assert_eq!(bench.error(command::DMA_UNMAP, &bitmap, &[]), INVAL);
        let lines = [
            "map 0x100000 0x1000 Some(8192) true",
            "map 0x0 0x1 None false",
            "unmap Some((4096, 12288))",
            "unmap None",
        ];
        assert_eq!(bench.lines(), lines);
    }

    #[test]
    fn errors_of_the_device_reach_the_client() {
        let mut bench = Bench::new();
        bench.device.fail = true;
        let no_memory = Errno::NOMEM.raw_os_error().unsigned_abs();
        assert_eq!(
            bench.error(command::DMA_MAP, &map_payload(READ_WRITE, 0, 0, 1), &[]),
            no_memory
        );
        let unmap = [words(&[24, 0]), vec![0; 16]].concat();
        assert_eq!(bench.error(command::DMA_UNMAP, &unmap, &[]), no_memory);
    }

    #[test]
    fn eventfds_of_vectors_are_set_and_removed() {
        let mut bench = Bench::new();
        let mut set = |values: &[u32], count| {
            bench.error(command::SET_IRQS, &words(values), &fds(count))
        };
        assert_eq!(set(&[20, SET_DISABLE, 2, 0, 0], 0), 0);
        assert_eq!(set(&[20, SET_DISABLE, 0, 0, 0], 0), 0);
        assert_eq!(set(&[20, SET_ASSIGN, 2, 6, 2], 2), 0);
        assert_eq!(set(&[20, SET_ASSIGN, 2, 7, 1], 0), 0);
        for bad in [
            [20, SET_DISABLE, 5, 0, 0],
            [20, SET_DISABLE, 2, 0, 1],
            [20, SET_ASSIGN, 2, 7, 2],
            [20, SET_ASSIGN, 2, u32::MAX, 2],
            [20, SET_ASSIGN, 2, 0, 3],
            [20, SET_ASSIGN, 0, 0, 2],
            [
                20,
                VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER,
                2,
                0,
                2,
            ],
        ] {
            assert_eq!(set(&bad, 2), INVAL, "{bad:?}");
        }
        let lines = ["disable", "irq 6 true", "irq 7 true", "irq 7 false"];
        assert_eq!(bench.lines(), lines);
    }

    #[test]
    fn unknown_commands_keep_the_stream_in_step() {
        let mut bench = Bench::new();
        for command in [0, 6, 11, 12, 14, 15, 16, u16::MAX] {
            let error = bench.error(command, &[0xFF; 100], &fds(1));
            assert_eq!(error, Errno::OPNOTSUPP.raw_os_error().unsigned_abs());
        }
        bench.send(&message(99, FLAGS_NO_REPLY, &[0; 5]));
        bench.send(&message(command::RESET, FLAGS_REPLY, &[]));
        assert_eq!(bench.serve().unwrap(), 2);
        assert_eq!(bench.error(command::RESET, &[], &[]), 0);
        assert_eq!(bench.lines(), ["reset"]);
    }

    #[test]
    fn short_payloads_are_errors() {
        let mut bench = Bench::new();
        let full = [
            (1, 4),
            (2, 32),
            (3, 24),
            (4, 16),
            (5, 32),
            (7, 16),
            (8, 20),
            (9, 16),
        ];
        for (command, size) in full {
            for length in [0, size - 1] {
                assert_eq!(bench.error(command, &vec![0; length], &[]), INVAL);
            }
        }
    }

    #[test]
    fn messages_in_pieces_are_assembled() {
        let mut bench = Bench::new();
        let bytes = write_message(0, 0, &[1; 8]);
        for piece in bytes.chunks(3) {
            assert_eq!(bench.lines().len(), 0);
            bench.send(piece);
            bench.serve().unwrap();
        }
        assert_eq!(bench.lines().len(), 1);
        assert_eq!(bench.serve().unwrap(), 0);
    }

    #[test]
    fn a_message_beyond_the_maximum_ends_the_connection() {
        let mut bench = Bench::new();
        let mut client = bench.client.try_clone().unwrap();
        let largest = message(77, 0, &vec![0; MAX_MESSAGE - HEADER]);
        let sender = std::thread::spawn(move || {
            client.write_all(&largest).unwrap();
            client
                .write_all(&words(&[0, MAX_MESSAGE as u32 + 1, 0, 0]))
                .unwrap();
        });
        let error = loop {
            if let Err(error) = bench.serve() {
                break error;
            }
        };
        sender.join().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(reply(&bench.client).0, 77);
    }

    #[test]
    fn a_size_below_the_header_ends_the_connection() {
        let mut bench = Bench::new();
        bench.send(&words(&[0, 15, 0, 0]));
        assert_eq!(bench.serve().unwrap_err().kind(), ErrorKind::InvalidData);
        let mut bench = Bench::new();
        bench.client.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(bench.serve().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn file_descriptors_belong_to_their_message() {
        let mut bench = Bench::new();
        bench.send(&write_message(0, 0, &[1]));
        send_fds(&bench.client, &irq_message(0, 2), &fds(2));
        send_fds(&bench.client, &irq_message(4, 1), &[]);
        send_fds(&bench.client, &irq_message(5, 1), &fds(1));
        for _ in 0..4 {
            bench.serve().unwrap();
        }
        let lines = [
            "write 0 0x0 [1]",
            "irq 0 true",
            "irq 1 true",
            "irq 4 false",
            "irq 5 true",
        ];
        assert_eq!(bench.lines(), lines);
    }

    #[test]
    fn file_descriptors_wait_for_the_rest_of_their_message() {
        let mut bench = Bench::new();
        let set = irq_message(3, 1);
        for cut in [1, HEADER - 1, HEADER, set.len() - 1] {
            send_fds(&bench.client, &set[..cut], &fds(1));
            bench.serve().unwrap();
            // The following messages neither take this file descriptor nor lose their
            // own.
            bench.send(&[&set[cut..], &write_message(0, 0, &[1])].concat());
            send_fds(&bench.client, &irq_message(4, 1), &fds(1));
            for _ in 0..4 {
                bench.serve().unwrap();
            }
            let lines = bench.lines();
            assert_eq!(
                lines,
                ["irq 3 true", "write 0 0x0 [1]", "irq 4 true"],
                "{cut}"
            );
        }
    }

    #[test]
    fn a_client_that_does_not_read_gets_back_pressure() {
        let mut bench = Bench::new();
        let read = read_message(0, 0, 0x1000);
        let mut sent = 0;
        bench.client.set_nonblocking(true).unwrap();
        for _ in 0..100 {
            while bench.client.write_all(&read).is_ok() {
                sent += 1;
            }
            let _ = bench.serve().unwrap();
        }
        assert!(bench.server.output.bytes.len() < OUTPUT + 0x2000);
        assert_eq!(bench.server.interest(), PollFlags::OUT);
        assert!(!bench.server.has_work());
        assert!(bench.lines().len() < sent);
    }

    #[test]
    fn work_is_limited_per_turn() {
        let mut bench = Bench::new();
        let many = write_message(0, 0, &[0; 4]).repeat(10);
        bench.send(&many);
        assert_eq!(bench.server.serve(&mut bench.device, 4).unwrap(), 4);
        assert!(bench.server.has_work());
        assert_eq!(bench.serve().unwrap(), 6);
        assert!(!bench.server.has_work());
    }

    #[test]
    fn random_messages_are_harmless() {
        let mut bench = Bench::new();
        let mut state = 1u64;
        let mut random = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % limit
        };
        let edges = [0, 1, 2, 4, 7, 20, 0x24, 0x1000, 1 << 20, 1 << 31, u32::MAX];
        for _ in 0..20_000 {
            let payload: Vec<u32> = (0..random(10))
                .map(|_| edges[random(11) as usize])
                .collect();
            let flags = [0, 0, FLAGS_NO_REPLY, FLAGS_REPLY][random(4) as usize];
            let bytes = message(random(17) as u16, flags, &words(&payload));
            send_fds(&bench.client, &bytes, &fds(random(3) as usize));
            bench.serve().unwrap();
            bench.lines();
            bench.client.set_nonblocking(true).unwrap();
            while (&bench.client).read(&mut [0; 65536]).is_ok() {}
        }
    }
}
