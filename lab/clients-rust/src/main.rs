// SPDX-License-Identifier: GPL-2.0
//! Receives frames on a queue with the crate xdpilone, which loads no program, and sends them back.
//!
//! `clients-rust IFACE COUNT attach` attaches its socket with `XDP_ATTACH`; with the path of a pinned
//! XSKMAP in place of `attach`, it enters the socket there. It prints `ready`, and after COUNT
//! frames their number of bytes.

use std::ffi::CString;
use std::num::NonZeroU32;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::{env, io, mem, ptr, slice, thread, time};

use xdpilone::xdp::XdpDesc;
use xdpilone::{
    DeviceQueue, Errno, IfInfo, RingRx, RingTx, Socket, SocketConfig, Umem, UmemConfig,
};

const CHUNK: u32 = 4096;
const CHUNKS: u32 = 2048;
const SOL_XDP: libc::c_int = 283;
const XDP_ATTACH: libc::c_int = 257;
const XDP_ATTACH_F_DRV_MODE: u32 = 1 << 1;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_OBJ_GET: libc::c_long = 7;

type Error = Box<dyn std::error::Error>;

/// The value of the option, as in linux/if_xdp_fastpath.h.
#[repr(C)]
#[derive(Default)]
struct Attach {
    flags: u32,
    results: [u32; 4],
}

#[repr(C)]
struct ObjGet {
    path: u64,
    fd: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u64,
    key: u64,
    value: u64,
    flags: u64,
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Requests, before `bind()`, that the kernel redirects the packets of the queue to the socket.
fn attach(socket: RawFd) -> io::Result<()> {
    let value = Attach {
        flags: XDP_ATTACH_F_DRV_MODE,
        ..Attach::default()
    };
    let size = mem::size_of::<Attach>() as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of `value`
    let result =
        unsafe { libc::setsockopt(socket, SOL_XDP, XDP_ATTACH, (&raw const value).cast(), size) };
    checked(result.into()).map(drop)
}

/// Makes a system call of bpf.
fn bpf<T>(command: libc::c_long, value: &T) -> io::Result<libc::c_long> {
    let value: *const T = value;
    // SAFETY: the kernel reads `T`, whose addresses are those of objects that outlive the call
    checked(unsafe { libc::syscall(libc::SYS_bpf, command, value, mem::size_of::<T>()) })
}

/// Enters the socket into a pinned XSKMAP, for queue 0.
fn enter(socket: RawFd, path: &str) -> Result<(), Error> {
    let path = CString::new(path)?;
    let map = bpf(
        BPF_OBJ_GET,
        &ObjGet {
            path: path.as_ptr() as u64,
            fd: 0,
            flags: 0,
        },
    )?;
    let (key, value) = (0_u32, socket);
    bpf(
        BPF_MAP_UPDATE_ELEM,
        &MapUpdate {
            map: map as u64,
            key: (&raw const key) as u64,
            value: (&raw const value) as u64,
            flags: 0,
        },
    )?;
    Ok(())
}

/// Gives chunks to the kernel.
fn fill(device: &mut DeviceQueue, chunks: impl ExactSizeIterator<Item = u64>) {
    let mut writer = device.fill(chunks.len() as u32);
    writer.insert(chunks);
    writer.commit();
    drop(writer);
    if device.needs_wakeup() {
        device.wake();
    }
}

/// Receives frames, with their MAC addresses swapped.
fn receive(area: &mut [u8], rx: &mut RingRx) -> Vec<XdpDesc> {
    let mut found = Vec::new();
    let mut reader = rx.receive(64);
    while let Some(frame) = reader.read() {
        let at = frame.addr as usize;
        let (destination, source) = area[at..at + 12].split_at_mut(6);
        destination.swap_with_slice(source);
        found.push(frame);
    }
    reader.release();
    found
}

/// Sends frames; the kernel has room for all chunks.
fn send(tx: &mut RingTx, frames: &[XdpDesc]) {
    let mut writer = tx.transmit(frames.len() as u32);
    writer.insert(frames.iter().copied());
    writer.commit();
    drop(writer);
    if tx.needs_wakeup() {
        tx.wake();
    }
}

/// Takes the chunks of frames that are sent.
fn complete(device: &mut DeviceQueue) -> Vec<u64> {
    let mut found = Vec::new();
    let mut reader = device.complete(64);
    while let Some(chunk) = reader.read() {
        found.push(chunk / u64::from(CHUNK) * u64::from(CHUNK));
    }
    reader.release();
    found
}

/// Returns zeroed memory that is aligned to pages and is never freed.
fn allocate(size: usize) -> io::Result<&'static mut [u8]> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping
    let address = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping has this size and is never removed
    Ok(unsafe { slice::from_raw_parts_mut(address.cast(), size) })
}

/// An error of the crate, which has a type of its own.
fn error(number: Errno) -> io::Error {
    io::Error::from_raw_os_error(number.get_raw())
}

/// Binds a socket to queue 0.
fn open(
    interface: &str,
    how: &str,
    area: NonNull<[u8]>,
) -> Result<(DeviceQueue, RingRx, RingTx), Error> {
    let config = UmemConfig {
        fill_size: CHUNKS,
        complete_size: CHUNKS,
        frame_size: CHUNK,
        headroom: 0,
        flags: 0,
    };
    let rings = SocketConfig {
        rx_size: NonZeroU32::new(CHUNKS),
        tx_size: NonZeroU32::new(CHUNKS),
        bind_flags: SocketConfig::XDP_BIND_NEED_WAKEUP,
    };
    let mut info = IfInfo::invalid();
    info.from_name(&CString::new(interface)?).map_err(error)?;
    // SAFETY: the area is aligned to pages and is never freed
    let umem = unsafe { Umem::new(config, area) }.map_err(error)?;
    let socket = Socket::with_shared(&info, &umem).map_err(error)?;
    let device = umem.fq_cq(&socket).map_err(error)?;
    let user = umem.rx_tx(&socket, &rings).map_err(error)?;
    let rx = user.map_rx().map_err(error)?;
    let tx = user.map_tx().map_err(error)?;
    if how == "attach" {
        attach(rx.as_raw_fd())?;
    }
    umem.bind(&user).map_err(error)?;
    if how != "attach" {
        enter(rx.as_raw_fd(), how)?;
    }
    Ok((device, rx, tx))
}

fn main() -> Result<(), Error> {
    let args: Vec<_> = env::args().collect();
    let [_, interface, count, how] = &args[..] else {
        return Err("usage: clients-rust IFACE COUNT attach|MAP".into());
    };
    let count: usize = count.parse()?;
    let area = allocate((CHUNK * CHUNKS) as usize)?;
    let (mut device, mut rx, mut tx) = open(interface, how, NonNull::from(&mut *area))?;
    let chunks: Vec<_> = (0..CHUNKS).map(|chunk| u64::from(chunk * CHUNK)).collect();
    fill(&mut device, chunks.into_iter());
    println!("ready");
    let (mut received, mut completed, mut bytes) = (0, 0, 0);
    while completed < count {
        let frames = receive(area, &mut rx);
        received += frames.len();
        bytes += frames.iter().map(|frame| frame.len as usize).sum::<usize>();
        if received == completed {
            thread::sleep(time::Duration::from_millis(1));
        }
        send(&mut tx, &frames);
        let done = complete(&mut device);
        completed += done.len();
        fill(&mut device, done.into_iter());
    }
    println!("{completed} frames, {bytes} bytes");
    Ok(())
}
