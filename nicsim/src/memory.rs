// SPDX-License-Identifier: GPL-2.0
//! Guest memory, mapped from the file descriptors that QEMU passes. The only module with
//! `unsafe`.
//!
//! Addresses are those that the guest programs into the NIC (IOVAs; without a virtual
//! IOMMU: guest physical addresses). The guest may change any byte at any time, so there
//! is no Rust reference to its memory: bytes are copied in and out, words that pass
//! ownership (DD bits, heads) are single atomic accesses.
//!
//! A client that truncates its file after mapping it causes a SIGBUS in this process.
//! QEMU does not truncate it. The length of the file is checked when it is mapped.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Alignment of maps, in bytes.
pub const PAGE: u64 = 4096;

/// Maximum number of maps.
pub const MAX_MAPS: usize = 65_535;

/// An access to memory that is not mapped, or a write to read-only memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaFault {
    /// First address of the access.
    pub iova: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// Pages of a file in this process, unmapped on drop.
#[derive(Debug)]
struct Pages {
    base: NonNull<u8>,
    len: usize,
}

impl Pages {
    /// Maps `len` bytes of `fd` from `offset`; the caller validates all three.
    fn new(fd: &OwnedFd, offset: u64, len: usize, writable: bool) -> io::Result<Self> {
        let mut protection = ProtFlags::READ;
        protection.set(ProtFlags::WRITE, writable);
        // SAFETY: a new mapping at an address that the kernel chooses; there are no
        // references to its content.
        let base = unsafe {
            mmap(
                ptr::null_mut(),
                len,
                protection,
                MapFlags::SHARED,
                fd,
                offset,
            )?
        };
        NonNull::new(base.cast())
            .map(|base| Self { base, len })
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and unmapped only here. All
        // accesses go through a `GuestMemory` that still owns the pages.
        let result = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(result.is_ok());
    }
}

#[derive(Debug)]
struct Map {
    iova: u64,
    /// Last address, so that a map may end at the end of the address space.
    last: u64,
    writable: bool,
    /// None: the client passed no file (ROM), so it is not accessible.
    pages: Option<Pages>,
}

impl Map {
    fn contains(&self, iova: u64) -> bool {
        self.iova <= iova && iova <= self.last
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// Contiguous memory of this process, inside one map.
struct Piece {
    start: *mut u8,
    len: usize,
}

/// All maps of one function.
#[derive(Debug, Default)]
pub struct GuestMemory {
    /// Sorted by address, without overlaps.
    maps: Vec<Map>,
    /// Index of the last hit: most rings and buffers are in one map.
    hit: Cell<usize>,
}

impl GuestMemory {
    /// No memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Memory of zeros: `size` bytes at `iova`, both multiples of [`PAGE`].
    ///
    /// # Errors
    /// As [`Self::map`], and those of creating an anonymous file.
    pub fn with_ram(iova: u64, size: u64) -> io::Result<Self> {
        let file = memfd_create("ram", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, size)?;
        let mut memory = Self::new();
        memory.map(iova, size, Some((file, 0)), true)?;
        Ok(memory)
    }

    /// Makes `size` bytes at `iova` accessible: the part of the file from the offset on.
    /// Without a file they are mapped, but each access faults.
    ///
    /// # Errors
    /// `EINVAL` for an address, size or offset that is no multiple of [`PAGE`] or beyond
    /// the end of the file or of the address space, `EEXIST` if it overlaps an earlier
    /// map, `ENOSPC` if there are [`MAX_MAPS`] maps, and those of `mmap`.
    pub fn map(
        &mut self,
        iova: u64,
        size: u64,
        file: Option<(OwnedFd, u64)>,
        writable: bool,
    ) -> io::Result<()> {
        let last = last_address(iova, size)?;
        let index = self.maps.partition_point(|map| map.last < iova);
        if self.maps.get(index).is_some_and(|map| map.iova <= last) {
            return Err(Errno::EXIST.into());
        }
        if self.maps.len() >= MAX_MAPS {
            return Err(Errno::NOSPC.into());
        }
        let pages = file
            .map(|(fd, offset)| map_file(&fd, offset, size, writable))
            .transpose()?;
        self.maps.insert(
            index,
            Map {
                iova,
                last,
                writable,
                pages,
            },
        );
        Ok(())
    }

    /// Removes all maps inside the range.
    ///
    /// # Errors
    /// `EINVAL`, and no map is removed, if the range is invalid or a map is only partly
    /// inside.
    pub fn unmap(&mut self, iova: u64, size: u64) -> io::Result<()> {
        let last = last_address(iova, size)?;
        let from = self.maps.partition_point(|map| map.last < iova);
        let to = self.maps.partition_point(|map| map.iova <= last);
        let inside = &self.maps[from..to];
        if inside.iter().any(|map| map.iova < iova || map.last > last) {
            return Err(Errno::INVAL.into());
        }
        self.maps.drain(from..to);
        Ok(())
    }

    /// Removes all maps.
    pub fn clear(&mut self) {
        self.maps.clear();
    }

    /// Copies guest memory at `iova` into `data`.
    ///
    /// # Errors
    /// A fault if any byte is not accessible; nothing is copied then.
    pub fn read(&self, iova: u64, data: &mut [u8]) -> Result<(), DmaFault> {
        self.check(iova, data.len(), Access::Read)?;
        let mut done = 0;
        while done < data.len() {
            let rest = &mut data[done..];
            let piece = self.piece(iova + done as u64, rest.len(), Access::Read)?;
            // SAFETY: both are valid for `piece.len` bytes, and `data` cannot overlap
            // the mapping, of which no references exist.
            unsafe {
                ptr::copy_nonoverlapping(piece.start, rest.as_mut_ptr(), piece.len);
            }
            done += piece.len;
        }
        Ok(())
    }

    /// Copies `data` into guest memory at `iova`.
    ///
    /// # Errors
    /// A fault if any byte is not writable; nothing is copied then.
    pub fn write(&self, iova: u64, data: &[u8]) -> Result<(), DmaFault> {
        self.check(iova, data.len(), Access::Write)?;
        let mut done = 0;
        while done < data.len() {
            let rest = &data[done..];
            let piece = self.piece(iova + done as u64, rest.len(), Access::Write)?;
            // SAFETY: as in `read`.
            unsafe {
                ptr::copy_nonoverlapping(rest.as_ptr(), piece.start, piece.len);
            }
            done += piece.len;
        }
        Ok(())
    }

    /// Reads a little-endian word in one access, before all later reads (acquire).
    ///
    /// # Errors
    /// A fault if it is not accessible or `iova` is not a multiple of 8.
    pub fn read_u64(&self, iova: u64) -> Result<u64, DmaFault> {
        let word = self.word(iova, Access::Read)?;
        // SAFETY: valid, aligned (see `word`), and only accessed atomically here; a
        // concurrent access of the guest is like that of another device.
        let value = unsafe { AtomicU64::from_ptr(word) }.load(Ordering::Acquire);
        Ok(u64::from_le(value))
    }

    /// As [`Self::read_u64`], 4 bytes.
    ///
    /// # Errors
    /// A fault if it is not accessible or `iova` is not a multiple of 4.
    pub fn read_u32(&self, iova: u64) -> Result<u32, DmaFault> {
        let word = self.word(iova, Access::Read)?;
        // SAFETY: as in `read_u64`.
        let value = unsafe { AtomicU32::from_ptr(word) }.load(Ordering::Acquire);
        Ok(u32::from_le(value))
    }

    /// Writes a little-endian word in one access, after all earlier writes (release).
    ///
    /// # Errors
    /// A fault if it is not writable or `iova` is not a multiple of 8.
    pub fn write_u64(&self, iova: u64, value: u64) -> Result<(), DmaFault> {
        let word = self.word(iova, Access::Write)?;
        // SAFETY: as in `read_u64`.
        unsafe { AtomicU64::from_ptr(word) }.store(value.to_le(), Ordering::Release);
        Ok(())
    }

    /// As [`Self::write_u64`], 4 bytes.
    ///
    /// # Errors
    /// A fault if it is not writable or `iova` is not a multiple of 4.
    pub fn write_u32(&self, iova: u64, value: u32) -> Result<(), DmaFault> {
        let word = self.word(iova, Access::Write)?;
        // SAFETY: as in `read_u64`.
        unsafe { AtomicU32::from_ptr(word) }.store(value.to_le(), Ordering::Release);
        Ok(())
    }

    /// Pointer to the word at `iova`, aligned to its size.
    fn word<T>(&self, iova: u64, access: Access) -> Result<*mut T, DmaFault> {
        let len = size_of::<T>();
        let piece = self.piece(iova, len, access)?;
        // Maps begin and end at pages, so an aligned address is an aligned pointer and
        // the word is in one map.
        if iova % len as u64 == 0 && piece.len == len {
            Ok(piece.start.cast())
        } else {
            Err(DmaFault {
                iova,
                len: len as u64,
            })
        }
    }

    /// Whether all of the range is accessible.
    fn check(&self, iova: u64, len: usize, access: Access) -> Result<(), DmaFault> {
        let fault = DmaFault {
            iova,
            len: len as u64,
        };
        let mut done = 0;
        while done < len {
            let address = iova.checked_add(done as u64).ok_or(fault)?;
            let piece = self.piece(address, len - done, access).map_err(|_| fault)?;
            done += piece.len;
        }
        Ok(())
    }

    /// The part of the range that is in the map of its first byte.
    fn piece(&self, iova: u64, len: usize, access: Access) -> Result<Piece, DmaFault> {
        let fault = DmaFault {
            iova,
            len: len as u64,
        };
        let map = self.find(iova).ok_or(fault)?;
        let pages = map.pages.as_ref().ok_or(fault)?;
        if access == Access::Write && !map.writable {
            return Err(fault);
        }
        let offset = (iova - map.iova) as usize;
        let len = len.min(pages.len - offset);
        // SAFETY: `offset` is less than the length of the mapping, which `find` ensures.
        let start = unsafe { pages.base.as_ptr().add(offset) };
        Ok(Piece { start, len })
    }

    fn find(&self, iova: u64) -> Option<&Map> {
        let hit = self.maps.get(self.hit.get());
        if let Some(map) = hit.filter(|map| map.contains(iova)) {
            return Some(map);
        }
        let index = self.maps.partition_point(|map| map.last < iova);
        let map = self.maps.get(index).filter(|map| map.contains(iova))?;
        self.hit.set(index);
        Some(map)
    }
}

/// The last address of a range of pages.
fn last_address(iova: u64, size: u64) -> io::Result<u64> {
    let last = size.checked_sub(1).and_then(|more| iova.checked_add(more));
    last.filter(|_| iova % PAGE == 0 && size % PAGE == 0)
        .ok_or_else(|| Errno::INVAL.into())
}

/// Maps pages of a file after checking that it has them: an access beyond the end of a
/// file would be a SIGBUS.
fn map_file(fd: &OwnedFd, offset: u64, size: u64, writable: bool) -> io::Result<Pages> {
    let end = offset.checked_add(size).ok_or(Errno::INVAL)?;
    let length = u64::try_from(fstat(fd)?.st_size).map_err(|_| Errno::INVAL)?;
    let len = usize::try_from(size).map_err(|_| Errno::INVAL)?;
    if offset % PAGE != 0 || end > length {
        return Err(Errno::INVAL.into());
    }
    Pages::new(fd, offset, len, writable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(pages: u64) -> OwnedFd {
        let file = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, pages * PAGE).unwrap();
        file
    }

    fn errno(result: io::Result<impl Sized>) -> Errno {
        Errno::from_io_error(&result.err().unwrap()).unwrap()
    }

    fn fault(iova: u64, len: u64) -> DmaFault {
        DmaFault { iova, len }
    }

    #[test]
    fn copies_inside_a_map() {
        let memory = GuestMemory::with_ram(0x10_0000, 2 * PAGE).unwrap();
        let mut data = [0; 5];
        memory.write(0x10_0ffe, b"hello").unwrap();
        memory.read(0x10_0ffe, &mut data).unwrap();
        assert_eq!(&data, b"hello");
        assert_eq!(
            memory.read_u32(0x10_1000),
            Ok(u32::from_le_bytes(*b"llo\0"))
        );
        memory.write(0, &[]).unwrap();
    }

    #[test]
    fn a_transfer_spans_maps_of_one_file_in_any_order() {
        let fd = file(3);
        let mut memory = GuestMemory::new();
        memory
            .map(PAGE, PAGE, Some((fd.try_clone().unwrap(), 0)), true)
            .unwrap();
        memory.map(0, PAGE, Some((fd, 2 * PAGE)), true).unwrap();
        memory.write(PAGE - 3, b"abcdef").unwrap();
        let mut data = [0; 6];
        memory.read(PAGE - 3, &mut data).unwrap();
        assert_eq!(&data, b"abcdef");
        assert_eq!(memory.read_u32(PAGE), Ok(u32::from_le_bytes(*b"def\0")));
    }

    #[test]
    fn a_fault_in_the_second_map_copies_nothing() {
        let mut memory = GuestMemory::with_ram(0, PAGE).unwrap();
        memory.map(PAGE, PAGE, Some((file(1), 0)), false).unwrap();
        memory.map(2 * PAGE, PAGE, None, true).unwrap();
        assert_eq!(memory.write(PAGE - 1, b"ab"), Err(fault(PAGE - 1, 2)));
        let mut data = [7; 2];
        memory.read(PAGE - 1, &mut data).unwrap();
        assert_eq!(data, [0; 2]);
        assert_eq!(memory.write_u64(PAGE, 1), Err(fault(PAGE, 8)));
        data = [7; 2];
        assert_eq!(
            memory.read(2 * PAGE - 1, &mut data),
            Err(fault(2 * PAGE - 1, 2))
        );
        assert_eq!(data, [7; 2]);
        assert_eq!(memory.read_u32(2 * PAGE), Err(fault(2 * PAGE, 4)));
    }

    #[test]
    fn addresses_that_wrap_fault() {
        let top = u64::MAX - PAGE + 1;
        let memory = GuestMemory::with_ram(top, PAGE).unwrap();
        let mut data = [0; 16];
        assert!(memory.read(u64::MAX - 15, &mut data).is_ok());
        assert!(memory.read(u64::MAX - 14, &mut data).is_err());
        assert!(memory.read(u64::MAX, &mut data).is_err());
        assert_eq!(memory.read_u64(u64::MAX - 7), Ok(0));
        assert_eq!(memory.read_u64(u64::MAX - 6), Err(fault(u64::MAX - 6, 8)));
        assert_eq!(memory.write(0, b"x"), Err(fault(0, 1)));
    }

    #[test]
    fn words_are_little_endian_and_aligned() {
        let memory = GuestMemory::with_ram(0, PAGE).unwrap();
        memory.write_u64(8, 0x0102_0304_0506_0708).unwrap();
        assert_eq!(memory.read_u64(8), Ok(0x0102_0304_0506_0708));
        assert_eq!(memory.read_u32(12), Ok(0x0102_0304));
        memory.write_u32(12, 1).unwrap();
        let mut bytes = [0; 8];
        memory.read(8, &mut bytes).unwrap();
        assert_eq!(bytes, [8, 7, 6, 5, 1, 0, 0, 0]);
        assert_eq!(memory.read_u64(4), Err(fault(4, 8)));
        assert_eq!(memory.write_u32(2, 0), Err(fault(2, 4)));
        assert_eq!(memory.read_u64(PAGE), Err(fault(PAGE, 8)));
    }

    #[test]
    fn invalid_maps_are_rejected() {
        let mut memory = GuestMemory::with_ram(4 * PAGE, 2 * PAGE).unwrap();
        let mut map = |iova, size, offset, pages| {
            errno(memory.map(iova, size, Some((file(pages), offset)), true))
        };
        assert_eq!(map(0, 0, 0, 1), Errno::INVAL);
        assert_eq!(map(1, PAGE, 0, 1), Errno::INVAL);
        assert_eq!(map(0, PAGE + 1, 0, 2), Errno::INVAL);
        assert_eq!(map(0, PAGE, 1, 2), Errno::INVAL);
        assert_eq!(map(0, PAGE, PAGE, 1), Errno::INVAL);
        assert_eq!(map(0, PAGE, u64::MAX - PAGE + 1, 1), Errno::INVAL);
        assert_eq!(map(u64::MAX - PAGE + 1, 2 * PAGE, 0, 2), Errno::INVAL);
        assert_eq!(map(8 * PAGE, 1 << 62, 0, 1), Errno::INVAL);
        for iova in [0, 3, 4, 5] {
            assert_eq!(map(iova * PAGE, 6 * PAGE, 0, 6), Errno::EXIST);
        }
        let (pipe, _) = rustix::pipe::pipe().unwrap();
        assert_eq!(
            errno(memory.map(0, PAGE, Some((pipe, 0)), true)),
            Errno::INVAL
        );
        assert_eq!(memory.maps.len(), 1);
    }

    #[test]
    fn unmap_removes_whole_maps_only() {
        let mut memory = GuestMemory::new();
        for page in [1, 2, 5] {
            memory
                .map(page * PAGE, PAGE, Some((file(1), 0)), true)
                .unwrap();
        }
        memory.map(8 * PAGE, 2 * PAGE, None, false).unwrap();
        assert_eq!(memory.read_u32(5 * PAGE), Ok(0));
        assert_eq!(errno(memory.unmap(0, 9 * PAGE)), Errno::INVAL);
        assert_eq!(errno(memory.unmap(9 * PAGE, PAGE)), Errno::INVAL);
        assert_eq!(errno(memory.unmap(0, 0)), Errno::INVAL);
        assert_eq!(memory.maps.len(), 4);
        memory.unmap(3 * PAGE, 2 * PAGE).unwrap();
        assert_eq!(memory.maps.len(), 4);
        memory.unmap(0, 3 * PAGE).unwrap();
        assert_eq!(memory.maps.len(), 2);
        assert!(memory.read_u32(PAGE).is_err());
        assert_eq!(memory.read_u32(5 * PAGE), Ok(0));
        memory.clear();
        assert!(memory.read_u32(5 * PAGE).is_err());
    }

    #[test]
    fn maps_of_one_file_share_its_content() {
        let fd = file(1);
        let mut memory = GuestMemory::new();
        memory
            .map(0, PAGE, Some((fd.try_clone().unwrap(), 0)), true)
            .unwrap();
        memory.write(100, b"shared").unwrap();
        let mut data = [0; 6];
        rustix::io::pread(&fd, &mut data, 100).unwrap();
        assert_eq!(&data, b"shared");
    }
}
