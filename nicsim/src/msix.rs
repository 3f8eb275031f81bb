// SPDX-License-Identifier: GPL-2.0
//! MSI-X vectors. QEMU owns the table and the mask bits; here a vector is an eventfd.

use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

#[derive(Debug, Default)]
struct Vector {
    fd: Option<OwnedFd>,
    pending: bool,
    count: u64,
}

impl Vector {
    /// Signals the client. A full eventfd (`EAGAIN`) is readable already. Other errors
    /// are the client's, with its own file descriptor.
    fn signal(&self) {
        if let Some(fd) = &self.fd {
            let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
        }
    }
}

/// The vectors of one function.
///
/// QEMU removes all eventfds and sets them again whenever the guest uses one more vector.
/// Vectors raised in between stay pending: a lost edge would be a stuck queue.
#[derive(Debug)]
pub struct Msix {
    vectors: Vec<Vector>,
}

impl Msix {
    /// `vectors` vectors without eventfds.
    pub fn new(vectors: usize) -> Self {
        Self {
            vectors: std::iter::repeat_with(Vector::default)
                .take(vectors)
                .collect(),
        }
    }

    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// Sets or removes the eventfd of a vector. A pending vector fires at once. The file
    /// descriptor becomes non-blocking, so that no client can block the program.
    pub fn set_fd(&mut self, vector: usize, fd: Option<OwnedFd>) {
        let Some(vector) = self.vectors.get_mut(vector) else {
            return;
        };
        if let Some(fd) = &fd {
            let flags = fcntl_getfl(fd).unwrap_or(OFlags::empty());
            let _ = fcntl_setfl(fd, flags | OFlags::NONBLOCK);
        }
        vector.fd = fd;
        if vector.fd.is_some() && std::mem::take(&mut vector.pending) {
            vector.signal();
        }
    }

    /// Removes all eventfds; pending vectors stay pending.
    pub fn disable_all(&mut self) {
        for vector in &mut self.vectors {
            vector.fd = None;
        }
    }

    /// Fires a vector; without an eventfd it becomes pending.
    pub fn raise(&mut self, vector: usize) {
        if let Some(vector) = self.vectors.get_mut(vector) {
            vector.count += 1;
            vector.pending = vector.fd.is_none();
            vector.signal();
        }
    }

    /// Number of times `vector` was raised.
    pub fn count(&self, vector: usize) -> u64 {
        self.vectors.get(vector).map_or(0, |vector| vector.count)
    }

    /// Number of times any vector was raised.
    pub fn total(&self) -> u64 {
        self.vectors.iter().map(|vector| vector.count).sum()
    }

    /// Function reset: no vector is pending.
    pub fn reset(&mut self) {
        for vector in &mut self.vectors {
            vector.pending = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{EventfdFlags, eventfd};
    use rustix::io::Errno;

    use super::*;

    fn new_fd() -> (OwnedFd, OwnedFd) {
        let fd = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        (fd.try_clone().unwrap(), fd)
    }

    /// Number of signals since the last call.
    fn signals(fd: &OwnedFd) -> u64 {
        let mut value = [0; 8];
        match rustix::io::read(fd, &mut value) {
            Ok(_) => u64::from_ne_bytes(value),
            Err(error) => {
                assert_eq!(error, Errno::AGAIN);
                0
            }
        }
    }

    #[test]
    fn raise_signals_the_vector() {
        let mut msix = Msix::new(2);
        let (mine, theirs) = new_fd();
        msix.set_fd(1, Some(theirs));
        assert_eq!(signals(&mine), 0);
        msix.raise(0);
        msix.raise(1);
        msix.raise(1);
        assert_eq!(signals(&mine), 2);
        assert_eq!((msix.count(0), msix.count(1), msix.total()), (1, 2, 3));
    }

    #[test]
    fn raised_without_eventfd_fires_when_one_is_set() {
        let mut msix = Msix::new(1);
        let (mine, theirs) = new_fd();
        msix.set_fd(0, Some(theirs.try_clone().unwrap()));
        msix.disable_all();
        msix.raise(0);
        msix.raise(0);
        assert_eq!(signals(&mine), 0);
        msix.set_fd(0, None);
        msix.set_fd(0, Some(theirs.try_clone().unwrap()));
        assert_eq!(signals(&mine), 1);
        msix.set_fd(0, Some(theirs));
        assert_eq!(signals(&mine), 0);
    }

    #[test]
    fn reset_clears_pending_vectors() {
        let mut msix = Msix::new(1);
        msix.raise(0);
        msix.reset();
        let (mine, theirs) = new_fd();
        msix.set_fd(0, Some(theirs));
        assert_eq!((signals(&mine), msix.count(0)), (0, 1));
    }

    #[test]
    fn vectors_out_of_range_are_ignored() {
        let mut msix = Msix::new(1);
        msix.raise(1);
        msix.set_fd(usize::MAX, Some(new_fd().1));
        assert_eq!((msix.count(1), msix.total(), msix.len()), (0, 0, 1));
        assert!(!msix.is_empty());
    }

    #[test]
    fn a_full_eventfd_does_not_block() {
        let mut msix = Msix::new(1);
        let (mine, theirs) = new_fd();
        rustix::io::write(&mine, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        msix.set_fd(0, Some(theirs));
        msix.raise(0);
        assert_eq!(signals(&mine), u64::MAX - 1);
    }
}
