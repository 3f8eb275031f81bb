// SPDX-License-Identifier: GPL-2.0
//! Models of Intel NICs, served to QEMU over vfio-user.
//!
//! ```text
//!   guest driver
//!      | registers (vfio-user messages)        | DMA (shared guest memory)
//!   [vfio_user] --> [port]: [chip] + [host] ---+
//!                      |      frames
//!                   [wire]: loopback, cable, generator, sink, pcap, tap
//! ```
//!
//! One thread serves all ports ([`lab`]), so that a register write, the DMA that it
//! causes and the reply to the next register read have one order, as on PCI. All input
//! from a guest is hostile: it is masked, counted in [`event::Events`] and logged once;
//! it never ends the program. All `unsafe` is in [`memory`].
#![deny(unsafe_code)]

pub mod chip;
pub mod control;
pub mod event;
pub mod fault;
pub mod frame;
pub mod host;
pub mod lab;
pub mod memory;
pub mod msix;
pub mod pci;
pub mod vfio_user;
pub mod wire;
