// SPDX-License-Identifier: GPL-2.0
//! PCI configuration space of a function.
//!
//! QEMU emulates the base addresses and most of MSI-X itself and forwards the rest to
//! here. Layout after the PCI Local Bus Specification 3.0 (chapter 6), PCI Power
//! Management 1.2 (3.2) and PCI Express Base Specification 3.0 (7.8).

/// Size of the configuration space of a PCI Express function, in bytes.
pub const CONFIG_SIZE: usize = 4096;

const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const REVISION: usize = 0x08;
const CACHE_LINE_SIZE: usize = 0x0C;
const BARS: usize = 0x10;
const SUBSYSTEM: usize = 0x2C;
const CAPABILITIES: usize = 0x34;
const INTERRUPT_LINE: usize = 0x3C;

/// Memory space, bus master, parity error response, SERR#, INTx disable. No I/O space.
const COMMAND_WRITABLE: u16 = 0x0546;
const COMMAND_BUS_MASTER: u8 = 0x04;
const STATUS_CAPABILITIES: u16 = 0x0010;

/// 64 bits wide, in memory.
const BAR_64: u8 = 0x04;
const BAR_PREFETCHABLE: u8 = 0x08;

const CAP_PM: u8 = 0x01;
/// Control and status in the power management capability; its low bits are the state.
const POWER: usize = 4;
const D3_HOT: u8 = 3;
const CAP_MSIX: u8 = 0x11;
const CAP_PCIE: u8 = 0x10;

/// Properties of a PCI function after reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Vendor id.
    pub vendor: u16,
    /// Device id.
    pub device: u16,
    /// Revision id.
    pub revision: u8,
    /// Class code, 24 bits: base class, sub-class, programming interface.
    pub class: u32,
    /// Subsystem vendor id.
    pub subsystem_vendor: u16,
    /// Subsystem id.
    pub subsystem_device: u16,
    /// Size of BAR 0 (registers, 64-bit memory) in bytes, a power of two.
    pub bar0_size: u64,
    /// Whether BAR 0 is prefetchable.
    pub bar0_prefetchable: bool,
    /// The MSI-X table and its BAR.
    pub msix: MsixLayout,
    /// The PCI Express link.
    pub link: Link,
    /// Offset of the power management capability.
    pub pm_offset: u8,
    /// Offset of the MSI-X capability.
    pub msix_offset: u8,
    /// Offset of the PCI Express capability.
    pub pcie_offset: u8,
}

/// Location of the MSI-X structures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MsixLayout {
    /// Index of their BAR (64-bit memory), 3 or 4.
    pub bar: u8,
    /// Size of that BAR in bytes, a power of two.
    pub bar_size: u64,
    /// Number of vectors, 1 to 2048.
    pub vectors: u16,
    /// Offset of the table in the BAR, a multiple of 8.
    pub table_offset: u32,
    /// Offset of the pending bit array in the BAR, a multiple of 8.
    pub pba_offset: u32,
}

/// Speed and width of a PCI Express link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// 1: 2.5 GT/s, 2: 5 GT/s, 3: 8 GT/s.
    pub speed: u8,
    /// Number of lanes.
    pub width: u8,
}

impl Link {
    /// As in Link Capabilities and Link Status.
    fn bits(self) -> u16 {
        u16::from(self.speed & 0xF) | u16::from(self.width & 0x3F) << 4
    }
}

/// The bytes of the configuration space, and the bits that a guest may change.
#[derive(Clone, Debug)]
struct Image {
    bytes: Vec<u8>,
    writable: Vec<u8>,
}

impl Image {
    fn new(function: &Function) -> Self {
        let mut image = Self {
            bytes: vec![0; CONFIG_SIZE],
            writable: vec![0; CONFIG_SIZE],
        };
        image.add_header(function);
        image.add_pm(function.pm_offset.into(), function.msix_offset);
        image.add_msix(
            function.msix_offset.into(),
            function.pcie_offset,
            &function.msix,
        );
        image.add_pcie(function.pcie_offset.into(), function.link);
        image
    }

    fn set(&mut self, offset: usize, value: &[u8]) {
        self.bytes[offset..offset + value.len()].copy_from_slice(value);
    }

    fn set_writable(&mut self, offset: usize, mask: u16) {
        self.writable[offset..offset + 2].copy_from_slice(&mask.to_le_bytes());
    }

    fn add_header(&mut self, function: &Function) {
        self.set(0x00, &function.vendor.to_le_bytes());
        self.set(0x02, &function.device.to_le_bytes());
        self.set_writable(COMMAND, COMMAND_WRITABLE);
        self.set(STATUS, &STATUS_CAPABILITIES.to_le_bytes());
        let class = function.class << 8 | u32::from(function.revision);
        self.set(REVISION, &class.to_le_bytes());
        self.set_writable(CACHE_LINE_SIZE, 0x00FF);
        let prefetchable = if function.bar0_prefetchable {
            BAR_PREFETCHABLE
        } else {
            0
        };
        self.set(BARS, &[BAR_64 | prefetchable]);
        self.set(BARS + 4 * usize::from(function.msix.bar), &[BAR_64]);
        self.set(SUBSYSTEM, &function.subsystem_vendor.to_le_bytes());
        self.set(SUBSYSTEM + 2, &function.subsystem_device.to_le_bytes());
        self.set(CAPABILITIES, &[function.pm_offset]);
        self.set_writable(INTERRUPT_LINE, 0x00FF);
    }

    /// Version 3, no PME. A change of the power state has no effect on the registers:
    /// No_Soft_Reset is set.
    fn add_pm(&mut self, at: usize, next: u8) {
        self.set(at, &[CAP_PM, next, 0x03, 0x00]);
        // No_Soft_Reset is clear: leaving D3hot resets the function.
        self.set_writable(at + POWER, 0x0003);
    }

    fn add_msix(&mut self, at: usize, next: u8, layout: &MsixLayout) {
        let bar = u32::from(layout.bar);
        self.set(at, &[CAP_MSIX, next]);
        self.set(
            at + 2,
            &(layout.vectors.wrapping_sub(1) & 0x7FF).to_le_bytes(),
        );
        self.set_writable(at + 2, 0xC000);
        self.set(at + 4, &(layout.table_offset | bar).to_le_bytes());
        self.set(at + 8, &(layout.pba_offset | bar).to_le_bytes());
    }

    /// Version 2, endpoint, without function level reset.
    fn add_pcie(&mut self, at: usize, link: Link) {
        self.set(at, &[CAP_PCIE, 0, 0x02, 0x00]);
        // Device Capabilities: payloads to 512 bytes, acceptable latencies 512 ns (L0s)
        // and 64 us (L1), role-based error reporting.
        self.set(at + 0x04, &0x8CC2u32.to_le_bytes());
        // Device Control: read requests to 512 bytes, no snoop, relaxed ordering.
        self.set(at + 0x08, &0x2810u16.to_le_bytes());
        self.set_writable(at + 0x08, 0x7FFF);
        self.set(at + 0x0C, &link.bits().to_le_bytes());
        // Link Control: ASPM, common clock, extended synch.
        self.set_writable(at + 0x10, 0x00C3);
        self.set(at + 0x12, &link.bits().to_le_bytes());
        // Device Capabilities 2: completion timeouts in all ranges, can be disabled.
        self.set(at + 0x24, &[0x1F]);
        // Device Control 2: completion timeout 50 to 100 us. Drivers derive from it how
        // long they wait for DMA to stop.
        self.set(at + 0x28, &[0x01]);
        self.set_writable(at + 0x28, 0x001F);
        // Link Capabilities 2: all speeds up to that of the link, from bit 1 on.
        let speeds = (1u8 << (link.speed & 3)).wrapping_sub(1) << 1;
        self.set(at + 0x2C, &[speeds]);
        self.set(at + 0x30, &[link.speed & 0xF]);
    }
}

/// The configuration space of one function.
#[derive(Clone, Debug)]
pub struct ConfigSpace {
    image: Image,
    /// Values after reset.
    initial: Vec<u8>,
    /// Offset of the power state.
    power: usize,
}

impl ConfigSpace {
    /// The configuration space of `function` after power-on.
    pub fn new(function: &Function) -> Self {
        let image = Image::new(function);
        let initial = image.bytes.clone();
        let power = usize::from(function.pm_offset) + POWER;
        Self {
            image,
            initial,
            power,
        }
    }

    /// Reads bytes from `offset` on; bytes beyond the end are zero.
    pub fn read(&self, offset: u64, data: &mut [u8]) {
        let start = usize::try_from(offset).unwrap_or(CONFIG_SIZE);
        let bytes = self.image.bytes.get(start..).unwrap_or_default();
        let known = data.len().min(bytes.len());
        let (inside, beyond) = data.split_at_mut(known);
        inside.copy_from_slice(&bytes[..known]);
        beyond.fill(0);
    }

    /// Writes bytes from `offset` on: only writable bits change. Base addresses are not
    /// writable: QEMU keeps them.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let start = usize::try_from(offset).unwrap_or(CONFIG_SIZE);
        let bytes = self.image.bytes.iter_mut().zip(&self.image.writable);
        for ((byte, mask), new) in bytes.skip(start).zip(data) {
            *byte = *byte & !mask | new & mask;
        }
    }

    /// Whether the function may do DMA and send interrupts.
    pub fn bus_master(&self) -> bool {
        self.image.bytes[COMMAND] & COMMAND_BUS_MASTER != 0
    }

    /// Whether the function is in D3hot. Leaving it resets the function.
    pub fn is_asleep(&self) -> bool {
        self.image.bytes[self.power] & D3_HOT == D3_HOT
    }

    /// Function reset: all values as after power-on.
    pub fn reset(&mut self) {
        self.image.bytes.copy_from_slice(&self.initial);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A function with the layout of the 82599.
    pub(crate) fn function() -> Function {
        Function {
            vendor: 0x8086,
            device: 0x10F9,
            revision: 1,
            class: 0x02_0000,
            subsystem_vendor: 0x8086,
            subsystem_device: 0x000C,
            bar0_size: 0x8_0000,
            bar0_prefetchable: false,
            msix: MsixLayout {
                bar: 4,
                bar_size: 0x4000,
                vectors: 64,
                table_offset: 0,
                pba_offset: 0x2000,
            },
            link: Link { speed: 2, width: 8 },
            pm_offset: 0x40,
            msix_offset: 0x70,
            pcie_offset: 0xA0,
        }
    }

    fn read32(config: &ConfigSpace, offset: u64) -> u32 {
        let mut data = [0; 4];
        config.read(offset, &mut data);
        u32::from_le_bytes(data)
    }

    #[test]
    fn header_of_the_function() {
        let config = ConfigSpace::new(&function());
        assert_eq!(read32(&config, 0x00), 0x10F9_8086);
        assert_eq!(read32(&config, 0x04), 0x0010_0000);
        assert_eq!(read32(&config, 0x08), 0x0200_0001);
        assert_eq!(read32(&config, 0x0C), 0);
        let bars: Vec<u32> = (0..6).map(|bar| read32(&config, 0x10 + 4 * bar)).collect();
        assert_eq!(bars, [4, 0, 0, 0, 4, 0]);
        assert_eq!(read32(&config, 0x2C), 0x000C_8086);
        let other = Function {
            bar0_prefetchable: true,
            ..function()
        };
        assert_eq!(read32(&ConfigSpace::new(&other), 0x10), 0xC);
    }

    #[test]
    fn capabilities_form_a_list() {
        let config = ConfigSpace::new(&function());
        assert_eq!(read32(&config, 0x34), 0x40);
        assert_eq!(read32(&config, 0x40), 0x0003_7001);
        assert_eq!(read32(&config, 0x70), 0x003F_A011);
        assert_eq!((read32(&config, 0x74), read32(&config, 0x78)), (4, 0x2004));
        assert_eq!(read32(&config, 0xA0), 0x0002_0010);
        assert_eq!(read32(&config, 0x100), 0);
    }

    #[test]
    fn link_and_timeout() {
        let config = ConfigSpace::new(&function());
        assert_eq!(read32(&config, 0xAC), 0x82);
        assert_eq!(read32(&config, 0xB0), 0x0082_0000);
        assert_eq!(read32(&config, 0xC8), 1);
        assert_eq!(read32(&config, 0xCC), 0x06);
        let link = Link { speed: 3, width: 8 };
        let config = ConfigSpace::new(&Function { link, ..function() });
        assert_eq!(read32(&config, 0xCC), 0x0E);
    }

    #[test]
    fn only_writable_bits_change() {
        let initial = ConfigSpace::new(&function());
        let mut config = initial.clone();
        config.write(0, &[0xFF; CONFIG_SIZE]);
        let changed: Vec<(usize, u8)> = (0..CONFIG_SIZE)
            .map(|at| (at, config.image.bytes[at] ^ initial.image.bytes[at]))
            .filter(|(_, bits)| *bits != 0)
            .collect();
        let expected = [
            (0x04, 0x46),
            (0x05, 0x05),
            (0x0C, 0xFF),
            (0x3C, 0xFF),
            (0x44, 0x03),
            (0x73, 0xC0),
            (0xA8, 0xEF),
            (0xA9, 0x57),
            (0xB0, 0xC3),
            (0xC8, 0x1E),
        ];
        assert_eq!(changed, expected);
        config.reset();
        assert_eq!(config.image.bytes, initial.image.bytes);
    }

    #[test]
    fn sleeps_in_d3_hot() {
        let mut config = ConfigSpace::new(&function());
        config.write(0x44, &[3]);
        assert!(config.is_asleep());
        config.write(0x44, &[0]);
        assert!(!config.is_asleep());
    }

    #[test]
    fn bus_master_follows_the_command() {
        let mut config = ConfigSpace::new(&function());
        assert!(!config.bus_master());
        config.write(4, &[0x06, 0x04]);
        assert!(config.bus_master());
        assert_eq!(read32(&config, 4), 0x0010_0406);
        config.write(4, &[0x02]);
        assert!(!config.bus_master());
    }

    #[test]
    fn accesses_beyond_the_end_are_harmless() {
        let mut config = ConfigSpace::new(&function());
        let mut data = [7; 8];
        config.read(CONFIG_SIZE as u64 - 2, &mut data);
        assert_eq!(data, [0; 8]);
        config.read(u64::MAX, &mut data);
        config.write(CONFIG_SIZE as u64 - 1, &data);
        config.write(u64::MAX, &data);
    }
}
