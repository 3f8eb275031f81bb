// SPDX-License-Identifier: GPL-2.0
//! Registers of the 82599 as data.
//!
//! Sections are those of the Intel 82599 10 GbE Controller data sheet, 8.2.3.x. Rows for
//! the 82598 layout (`ethtool -d`) are marked.

pub use crate::chip::registers::Registers;
use crate::chip::registers::{ALL, Access, Row, many, one};

use Access::{Rc, Ro, Rw};

/// Bytes of BAR 0 that hold registers.
pub const SPACE: u32 = 0x20000;

/// Bits of the high register of a 36-bit counter of octets (8.2.3.23).
pub const OCTETS_HIGH: u32 = 0xF;

/// Offsets by name; of an array, that of the first register.
#[rustfmt::skip]
#[allow(missing_docs)]
pub mod at {
    pub const CTRL: u32 = 0x00000;
    pub const STATUS: u32 = 0x00008;
    pub const EICR: u32 = 0x00800;
    pub const EICS: u32 = 0x00808;
    pub const EIAC: u32 = 0x00810;
    pub const EITR_LOW: u32 = 0x00820;
    pub const EIMS: u32 = 0x00880;
    pub const EIMC: u32 = 0x00888;
    pub const EIAM: u32 = 0x00890;
    pub const GPIE: u32 = 0x00898;
    pub const IVAR: u32 = 0x00900;
    pub const IVAR_MISC: u32 = 0x00A00;
    pub const EICS_EX: u32 = 0x00A90;
    pub const EIMS_EX: u32 = 0x00AA0;
    pub const EIMC_EX: u32 = 0x00AB0;
    pub const EIAM_EX: u32 = 0x00AD0;
    pub const RX_LOW: u32 = 0x01000;
    pub const SRRCTL_LOW: u32 = 0x02100;
    pub const DCA_RXCTRL_LOW: u32 = 0x02200;
    pub const RDRXCTL: u32 = 0x02F00;
    pub const RXCTRL: u32 = 0x03000;
    pub const FCRTL: u32 = 0x03220;
    pub const FCRTH: u32 = 0x03260;
    pub const RXPBSIZE: u32 = 0x03C00;
    pub const FCCFG: u32 = 0x03D00;
    pub const LXONTXC: u32 = 0x03F60;
    pub const LXOFFTXC: u32 = 0x03F68;
    pub const MPC: u32 = 0x03FA0;
    pub const PRC64: u32 = 0x0405C;
    pub const GPRC: u32 = 0x04074;
    pub const BPRC: u32 = 0x04078;
    pub const MPRC: u32 = 0x0407C;
    pub const GPTC: u32 = 0x04080;
    pub const GORCL: u32 = 0x04088;
    pub const GOTCL: u32 = 0x04090;
    pub const RUC: u32 = 0x040A4;
    pub const ROC: u32 = 0x040AC;
    pub const TORL: u32 = 0x040C0;
    pub const TPR: u32 = 0x040D0;
    pub const TPT: u32 = 0x040D4;
    pub const PTC64: u32 = 0x040D8;
    pub const MPTC: u32 = 0x040F0;
    pub const BPTC: u32 = 0x040F4;
    pub const XEC: u32 = 0x04120;
    pub const LXONRXCNT: u32 = 0x041A4;
    pub const LXOFFRXCNT: u32 = 0x041A8;
    pub const HLREG0: u32 = 0x04240;
    pub const MSCA: u32 = 0x0425C;
    pub const MHADD: u32 = 0x04268;
    pub const MFLCN: u32 = 0x04294;
    pub const LINKS: u32 = 0x042A4;
    pub const DMATXCTL: u32 = 0x04A80;
    pub const DTXTCPFLGL: u32 = 0x04A88;
    pub const RXCSUM: u32 = 0x05000;
    pub const FCTRL: u32 = 0x05080;
    pub const VLNCTRL: u32 = 0x05088;
    pub const MCSTCTRL: u32 = 0x05090;
    pub const ETQF: u32 = 0x05128;
    pub const MTA: u32 = 0x05200;
    pub const RAL_LOW: u32 = 0x05400;
    pub const MRQC: u32 = 0x05818;
    pub const RETA: u32 = 0x05C00;
    pub const RSSRK: u32 = 0x05C80;
    pub const TX: u32 = 0x06000;
    pub const SECTXCTRL: u32 = 0x08800;
    pub const SECTXSTAT: u32 = 0x08804;
    pub const SECRXCTRL: u32 = 0x08D00;
    pub const SECRXSTAT: u32 = 0x08D04;
    pub const QBTC: u32 = 0x08700;
    pub const VFTA: u32 = 0x0A000;
    pub const RAL_HIGH: u32 = 0x0A200;
    pub const RX_HIGH: u32 = 0x0D000;
    pub const ETQS: u32 = 0x0EC00;
    pub const FDIRCTRL: u32 = 0x0EE00;
    pub const FDIRSIPV6: u32 = 0x0EE0C;
    pub const FDIRIPSA: u32 = 0x0EE18;
    pub const FDIRIPDA: u32 = 0x0EE1C;
    pub const FDIRPORT: u32 = 0x0EE20;
    pub const FDIRVLAN: u32 = 0x0EE24;
    pub const FDIRHASH: u32 = 0x0EE28;
    pub const FDIRCMD: u32 = 0x0EE2C;
    pub const FDIRFREE: u32 = 0x0EE38;
    pub const FDIRDIP4M: u32 = 0x0EE3C;
    pub const FDIRSIP4M: u32 = 0x0EE40;
    pub const FDIRTCPM: u32 = 0x0EE44;
    pub const FDIRUDPM: u32 = 0x0EE48;
    pub const FDIRLEN: u32 = 0x0EE4C;
    pub const FDIRUSTAT: u32 = 0x0EE50;
    pub const FDIRMATCH: u32 = 0x0EE58;
    pub const FDIRMISS: u32 = 0x0EE5C;
    pub const FDIRM: u32 = 0x0EE70;
    pub const EERD: u32 = 0x10014;
    pub const SWSM: u32 = 0x10140;
    pub const EITR_HIGH: u32 = 0x12300;
}

/// All registers of the model.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    // 8.2.3.1 General control
    one("CTRL", at::CTRL, Rw(!0x0400_0008), 0),
    one("CTRL (mirror)", 0x00004, Ro, 0),
    one("STATUS", at::STATUS, Ro, 0),
    one("CTRL_EXT", 0x00018, ALL, 0),
    one("ESDP", 0x00020, ALL, 0),
    one("I2CCTL", 0x00028, ALL, 0),
    one("TSSDP", 0x0003C, ALL, 0),
    one("FRTIMER", 0x00048, Ro, 0),
    one("TCPTIMER", 0x0004C, ALL, 0),
    one("LEDCTL", 0x00200, ALL, 0x0000_0200),
    one("CORESPARE", 0x00600, ALL, 0),
    many("PFVFLREC", 0x00700, 4, 4, Ro, 0),
    many("PFMBICR", 0x00710, 4, 4, Ro, 0),
    many("PFMBIMR", 0x00720, 4, 2, ALL, 0),
    // 8.2.3.2 EEPROM and flash
    one("EEC", 0x10010, Rw(0x7F), 0x0000_2780),
    one("EERD", at::EERD, ALL, 0),
    one("FLA", 0x1001C, ALL, 0),
    one("EEMNGCTL", 0x10110, ALL, 0x0003_0000),
    one("EEMNGDATA", 0x10114, Ro, 0),
    one("FLMNGCTL", 0x10118, ALL, 0),
    one("FLMNGDATA", 0x1011C, ALL, 0),
    one("FLMNGCNT", 0x10120, ALL, 0),
    one("FLOP", 0x1013C, ALL, 0),
    one("SWSM", at::SWSM, Rw(0x3), 0),
    one("FWSM", 0x10148, Ro, 0x0000_8000),
    one("FACTPS", 0x10150, Ro, 0),
    one("SW_FW_SYNC", 0x10160, ALL, 0),
    one("GRC", 0x10200, ALL, 0),
    // 8.2.3.3 Flow control
    many("FCTTV", 0x03200, 4, 4, ALL, 0),
    many("FCADBU", 0x03210, 4, 4, ALL, 0),
    many("FCRTL", at::FCRTL, 4, 8, Rw(0x8007_FFE0 | 0x10), 0),
    many("PXON2OFFCNT", 0x03240, 4, 8, Rc, 0),
    many("FCRTH", at::FCRTH, 4, 8, Rw(0x8007_FFE0 | 0x10), 0),
    many("FCRTH (82598)", 0x03280, 4, 8, Ro, 0),
    one("FCRTV", 0x032A0, ALL, 0),
    one("FCCFG", at::FCCFG, ALL, 0),
    one("DROPEN", 0x03D04, ALL, 0),
    one("TFCS", 0x0CE00, Ro, 0),
    // 8.2.3.4 PCIe
    one("GCR", 0x11000, ALL, 0),
    one("GTV", 0x11004, ALL, 0),
    one("FUNCTAG", 0x11008, ALL, 0),
    one("GLT", 0x1100C, ALL, 0),
    many("GSCL", 0x11010, 4, 12, ALL, 0),
    many("PCIEPHY", 0x11040, 4, 4, ALL, 0),
    one("GCR_EXT", 0x11050, ALL, 0),
    one("MREVID", 0x11064, Ro, 1),
    many("PBACL", 0x11068, 4, 2, ALL, 0),
    one("DCA_ID", 0x11070, Ro, 0),
    one("DCA_CTRL", 0x11074, ALL, 1),
    many("CIAA", 0x11088, 4, 2, ALL, 0),
    many("PCIE_DIAG", 0x11090, 4, 8, Ro, 0),
    one("PICAUSE", 0x110B0, Ro, 0),
    one("CDQ_MBR", 0x110B4, ALL, 0),
    one("PIENA", 0x110B8, ALL, 0),
    one("PCIESPARE", 0x110BC, ALL, 0),
    one("ECC_STATUS", 0x110E0, Ro, 0),
    many("MISC_REG", 0x110F0, 4, 2, ALL, 0),
    many("ECC_CTRL", 0x11100, 4, 2, ALL, 0),
    // 8.2.3.5 Interrupts
    one("EICR", at::EICR, Ro, 0),
    one("EICS", at::EICS, Ro, 0),
    one("EIAC", at::EIAC, ALL, 0),
    many("EITR 0-23", at::EITR_LOW, 4, 24, Rw(0x8000_FFF8), 0),
    one("EIMS", at::EIMS, Ro, 0),
    one("EIMC", at::EIMC, Ro, 0),
    one("EIAM", at::EIAM, Ro, 0),
    one("EITRSEL", 0x00894, ALL, 0),
    one("GPIE", at::GPIE, ALL, 0),
    many("IVAR", at::IVAR, 4, 64, Rw(0xBFBF_BFBF), 0),
    one("IVAR_MISC", at::IVAR_MISC, Rw(0xBFBF), 0),
    many("EICS_EX", at::EICS_EX, 4, 2, Ro, 0),
    many("EIMS_EX", at::EIMS_EX, 4, 2, Ro, 0),
    many("EIMC_EX", at::EIMC_EX, 4, 2, Ro, 0),
    many("EIAM_EX", at::EIAM_EX, 4, 2, Ro, 0),
    many("EITR 24-128", at::EITR_HIGH, 4, 105, Rw(0x8000_FFF8), 0),
    one("MSIXPBA (82598)", 0x02000, Ro, 0),
    // 8.2.3.7 Receive
    one("RXCSUM", at::RXCSUM, ALL, 0),
    one("RFCTL", 0x05008, ALL, 0),
    many("MAVTV", 0x05010, 4, 8, ALL, 0),
    many("MFUTP", 0x05030, 4, 8, ALL, 0),
    one("EXVET", 0x05078, ALL, 0x8100_0000),
    one("FCTRL", at::FCTRL, ALL, 0),
    one("VLNCTRL", at::VLNCTRL, ALL, 0x0000_8100),
    one("MCSTCTRL", at::MCSTCTRL, Rw(0x7), 0),
    one("RUPPBMR", 0x050A0, ALL, 0),
    one("RFVAL", 0x050A4, ALL, 0),
    many("PFFLP", 0x050B0, 4, 2, ALL, 0),
    many("ETQF", at::ETQF, 4, 8, ALL, 0),
    many("MTA", at::MTA, 4, 128, ALL, 0),
    many("RAL 0-15", at::RAL_LOW, 8, 16, ALL, 0),
    many("RAH 0-15", at::RAL_LOW + 4, 8, 16, Rw(0x8001_FFFF), 0),
    many("PSRTYPE 0-15", 0x05480, 4, 16, ALL, 0),
    one("MRQC", at::MRQC, ALL, 0),
    one("VMD_CTL", 0x0581C, ALL, 0),
    many("IMIR (82598)", 0x05A80, 4, 16, Ro, 0),
    one("IMIRVP", 0x05AC0, ALL, 0),
    many("RETA", at::RETA, 4, 32, ALL, 0),
    many("RSSRK", at::RSSRK, 4, 10, ALL, 0),
    many("MPSAR", 0x0A600, 4, 256, ALL, 0),
    many("VFTA", at::VFTA, 4, 128, ALL, 0),
    many("RAL 16-127", at::RAL_HIGH + 16 * 8, 8, 112, ALL, 0),
    many("RAH 16-127", at::RAL_HIGH + 16 * 8 + 4, 8, 112, Rw(0x8001_FFFF), 0),
    many("RAL 0-15 (alias)", at::RAL_HIGH, 8, 16, Ro, 0),
    many("RAH 0-15 (alias)", at::RAL_HIGH + 4, 8, 16, Ro, 0),
    many("SAQF", 0x0E000, 4, 128, ALL, 0),
    many("DAQF", 0x0E200, 4, 128, ALL, 0),
    many("SDPQF", 0x0E400, 4, 128, ALL, 0),
    many("FTQF", 0x0E600, 4, 128, ALL, 0),
    many("L34TIMIR", 0x0E800, 4, 128, ALL, 0),
    many("PSRTYPE", 0x0EA00, 4, 64, ALL, 0),
    many("ETQS", at::ETQS, 4, 8, ALL, 0),
    one("SYNQF", 0x0EC30, ALL, 0),
    one("RQTC", 0x0EC70, ALL, 0),
    one("LLITHRESH", 0x0EC90, ALL, 0),
    // 8.2.3.8 Receive DMA; 64 queues here, 64 above
    many("RDBAL 0-63", at::RX_LOW, 0x40, 64, Rw(0xFFFF_FF80), 0),
    many("RDBAH 0-63", at::RX_LOW + 0x04, 0x40, 64, ALL, 0),
    many("RDLEN 0-63", at::RX_LOW + 0x08, 0x40, 64, Rw(0x000F_FF80), 0),
    many("DCA_RXCTRL 0-63", at::RX_LOW + 0x0C, 0x40, 64, ALL, 0x0000_A200),
    many("RDH 0-63", at::RX_LOW + 0x10, 0x40, 64, Rw(0xFFFF), 0),
    many("SRRCTL 0-63", at::RX_LOW + 0x14, 0x40, 64, ALL, 0x0000_0402),
    many("RDT 0-63", at::RX_LOW + 0x18, 0x40, 64, Rw(0xFFFF), 0),
    many("RXDCTL 0-63", at::RX_LOW + 0x28, 0x40, 64, Rw(!0x0400_0000), 0),
    many("RSCCTL 0-63", at::RX_LOW + 0x2C, 0x40, 64, ALL, 0),
    many("QPRC", at::RX_LOW + 0x30, 0x40, 16, Rc, 0),
    many("QBRC_L", at::RX_LOW + 0x34, 0x40, 16, Rc, 0),
    many("QBRC_H", at::RX_LOW + 0x38, 0x40, 16, Rc, 0),
    many("QPRDC", at::RX_LOW + 0x430, 0x40, 16, Rc, 0),
    many("SRRCTL 0-15 (alias)", at::SRRCTL_LOW, 4, 16, ALL, 0x0000_0402),
    many("RTRPT4C", 0x02140, 4, 8, ALL, 0),
    many("RTRPT4S", 0x02160, 4, 8, Ro, 0),
    many("DCA_RXCTRL 0-15 (alias)", at::DCA_RXCTRL_LOW, 4, 16, ALL, 0x0000_A200),
    many("RQSMR", 0x02300, 4, 32, ALL, 0),
    one("RTRPCS", 0x02430, ALL, 0),
    many("RDSTAT", 0x02C00, 4, 9, ALL, 0),
    one("RDRXCTL", at::RDRXCTL, ALL, 0x8000_8008),
    one("PFQDE", 0x02F04, ALL, 0),
    one("RDHMPN", 0x02F08, ALL, 0),
    many("RIC_DW", 0x02F10, 4, 4, Ro, 0),
    one("RDPROBE", 0x02F20, Ro, 0),
    many("RDMAM", 0x02F30, 4, 2, ALL, 0),
    many("WQBR_RX", 0x02FB0, 4, 4, Ro, 0),
    one("RXCTRL", at::RXCTRL, ALL, 0),
    one("PFCTOP", 0x03008, ALL, 0x0001_8808),
    one("RTRUP2TC", 0x03020, ALL, 0),
    one("STARCTRL", 0x03024, ALL, 0),
    one("RSCDBU", 0x03028, ALL, 0),
    one("RXMEMWRAP", 0x03190, Ro, 0),
    one("PBRXECC", 0x03300, Ro, 0),
    many("RXBUFCTRL", 0x03600, 4, 8, Ro, 0),
    many("RXDATAWRPTR", 0x03700, 4, 32, Ro, 0),
    one("RXPBSIZE 0", at::RXPBSIZE, Rw(0x000F_FC00), 0x0008_0000),
    many("RXPBSIZE 1-7", at::RXPBSIZE + 4, 4, 7, Rw(0x000F_FC00), 0),
    many("RT2CR (82598)", 0x03C20, 4, 8, Ro, 0),
    many("RT2SR (82598)", 0x03C40, 4, 8, Ro, 0),
    many("RDBAL 64-127", at::RX_HIGH, 0x40, 64, Rw(0xFFFF_FF80), 0),
    many("RDBAH 64-127", at::RX_HIGH + 0x04, 0x40, 64, ALL, 0),
    many("RDLEN 64-127", at::RX_HIGH + 0x08, 0x40, 64, Rw(0x000F_FF80), 0),
    many("DCA_RXCTRL 64-127", at::RX_HIGH + 0x0C, 0x40, 64, ALL, 0x0000_A200),
    many("RDH 64-127", at::RX_HIGH + 0x10, 0x40, 64, Rw(0xFFFF), 0),
    many("SRRCTL 64-127", at::RX_HIGH + 0x14, 0x40, 64, ALL, 0x0000_0402),
    many("RDT 64-127", at::RX_HIGH + 0x18, 0x40, 64, Rw(0xFFFF), 0),
    many("RXDCTL 64-127", at::RX_HIGH + 0x28, 0x40, 64, Rw(!0x0400_0000), 0),
    many("RSCCTL 64-127", at::RX_HIGH + 0x2C, 0x40, 64, ALL, 0),
    // 8.2.3.9 Transmit
    many("TXPBTHRESH", 0x04950, 4, 8, ALL, 0x96),
    one("DMATXCTL", at::DMATXCTL, ALL, 0x8100_0000),
    one("DTXTCPFLGL", at::DTXTCPFLGL, ALL, 0x0FF6_0FF6),
    one("DTXTCPFLGH", at::DTXTCPFLGL + 4, ALL, 0x0000_0F7F),
    many("TDBAL", at::TX, 0x40, 128, Rw(0xFFFF_FF80), 0),
    many("TDBAH", at::TX + 0x04, 0x40, 128, ALL, 0),
    many("TDLEN", at::TX + 0x08, 0x40, 128, Rw(0x000F_FF80), 0),
    many("DCA_TXCTRL", at::TX + 0x0C, 0x40, 128, ALL, 0x0000_2A00),
    many("TDH", at::TX + 0x10, 0x40, 128, Rw(0xFFFF), 0),
    many("TDT", at::TX + 0x18, 0x40, 128, Rw(0xFFFF), 0),
    many("TXDCTL", at::TX + 0x28, 0x40, 128, Rw(!0x0400_0000), 0),
    many("TDTQ2TC (82598)", at::TX + 0x2C, 0x40, 128, Ro, 0),
    many("DCA_TXCTRL (82598)", at::TX + 0x14, 0x40, 128, Ro, 0),
    many("TDPROBE (82598)", at::TX + 0x1C, 0x40, 128, Ro, 0),
    many("TDSTAT (82598)", at::TX + 0x20, 0x40, 128, Ro, 0),
    many("TIC_DW (82598)", at::TX + 0x24, 0x40, 128, Ro, 0),
    many("QPTC", at::TX + 0x30, 0x40, 16, Rc, 0),
    many("QPTC 16-127", at::TX + 0x430, 0x40, 112, Rc, 0),
    many("QBTC (82598)", at::TX + 0x34, 0x40, 128, Ro, 0),
    many("TDWBAL", at::TX + 0x38, 0x40, 128, ALL, 0),
    many("TDWBAH", at::TX + 0x3C, 0x40, 128, ALL, 0),
    many("VMVIR", 0x08000, 4, 64, ALL, 0),
    one("DTXMXSZRQ", 0x08100, ALL, 0x0000_0010),
    many("PFVFTE", 0x08110, 4, 2, ALL, 0),
    one("MTQC", 0x08120, ALL, 0),
    many("WQBR_TX", 0x08130, 4, 4, Ro, 0),
    many("PFVFSPOOF", 0x08200, 4, 8, ALL, 0),
    one("PFDTXGSWC", 0x08220, ALL, 0),
    many("TIC_DW2", 0x082B0, 4, 4, Ro, 0),
    one("TXDESCIC", 0x082CC, Ro, 0),
    many("TXLLQ", 0x082E0, 4, 4, ALL, 0),
    one("TDHMPN2", 0x082FC, ALL, 0),
    many("TQSM", 0x08600, 4, 32, ALL, 0),
    many("TXBUFCTRL", 0x0C600, 4, 8, Ro, 0),
    one("PBTXECC", 0x0C300, Ro, 0),
    one("LBDRPEN", 0x0CA00, ALL, 0),
    one("TIPG", 0x0CB00, ALL, 0),
    many("TXPBSIZE", 0x0CC00, 4, 8, Rw(0x000F_FC00), 0x0002_8000),
    one("MNGTXMAP", 0x0CD10, ALL, 0),
    // 8.2.3.10 Data centre bridging
    one("RTTDCS", 0x04900, ALL, 0),
    one("RTTDQSEL", 0x04904, ALL, 0),
    many("RTTDT1", 0x04908, 4, 2, ALL, 0),
    many("RTTDT2C", 0x04910, 4, 8, ALL, 0),
    many("RTTDT2S", 0x04930, 4, 8, Ro, 0),
    many("RTTBCN", 0x04980, 4, 5, ALL, 0),
    one("RTTQCNTG", 0x04A90, ALL, 0),
    many("TEOFF", 0x04A94, 4, 2, ALL, 0),
    one("RTTQCNCR", 0x08B00, ALL, 0),
    one("RTTUP2TC", 0x0C800, ALL, 0),
    one("RTTPCS", 0x0CD00, ALL, 0),
    many("RTTPT2", 0x0CD20, 4, 16, ALL, 0),
    // 8.2.3.12 to 8.2.3.14 Security, MACsec, IPsec: fused off
    one("SECTXCTRL", at::SECTXCTRL, Rw(0x7), 0x1),
    one("SECTXSTAT", at::SECTXSTAT, Ro, 0x2),
    one("SECTXBUFFAF", 0x08808, ALL, 0x250),
    one("SECTXMINIFG", 0x08810, ALL, 0x1),
    many("IPSTX", 0x08900, 4, 6, ALL, 0),
    many("LSECTX", 0x08A00, 4, 20, ALL, 0),
    one("SECRXCTRL", at::SECRXCTRL, Rw(0x3), 0x1),
    one("SECRXSTAT", at::SECRXSTAT, Ro, 0x2),
    many("IPSRX", 0x08E00, 4, 13, ALL, 0),
    many("LSECRX", 0x08F00, 4, 33, ALL, 0),
    // 8.2.3.17 to 8.2.3.20 Fibre Channel: fused off
    many("FCPTR", 0x02410, 4, 3, ALL, 0),
    one("FCOERPDC", 0x0241C, Rc, 0),
    many("FCDMARW", 0x02420, 4, 2, ALL, 0),
    many("FCOEPRC", 0x02428, 4, 2, Rc, 0),
    many("FCRXCTRL", 0x05100, 4, 6, ALL, 0),
    one("FCCRC", 0x05118, Rc, 0),
    one("REOFF", 0x05158, ALL, 0),
    one("FCPARAM", 0x051D8, ALL, 0),
    one("RSOFF", 0x051F8, ALL, 0),
    many("FCOEPTC", 0x08784, 4, 2, Rc, 0),
    many("FCRECTL", 0x0ED00, 4, 12, ALL, 0),
    // 8.2.3.21 Flow director
    one("FDIRCTRL", at::FDIRCTRL, ALL, 0),
    many("FDIRSIPV6", at::FDIRSIPV6, 4, 3, ALL, 0),
    one("FDIRIPSA", at::FDIRIPSA, ALL, 0),
    one("FDIRIPDA", at::FDIRIPDA, ALL, 0),
    one("FDIRPORT", at::FDIRPORT, ALL, 0),
    one("FDIRVLAN", at::FDIRVLAN, ALL, 0),
    one("FDIRHASH", at::FDIRHASH, ALL, 0),
    one("FDIRCMD", at::FDIRCMD, Ro, 0),
    one("FDIRFREE", at::FDIRFREE, Ro, 0),
    one("FDIRDIP4M", at::FDIRDIP4M, ALL, 0),
    one("FDIRSIP4M", at::FDIRSIP4M, ALL, 0),
    one("FDIRTCPM", at::FDIRTCPM, ALL, 0),
    one("FDIRUDPM", at::FDIRUDPM, ALL, 0),
    one("FDIRLEN", at::FDIRLEN, Ro, 0),
    many("FDIRUSTAT", at::FDIRUSTAT, 4, 2, Rc, 0),
    one("FDIRMATCH", at::FDIRMATCH, Rc, 0),
    one("FDIRMISS", at::FDIRMISS, Rc, 0),
    many("FDIRKEY", 0x0EE68, 4, 2, ALL, 0),
    one("FDIRM", at::FDIRM, ALL, 0),
    many("FDIRIP6M", 0x0EE74, 4, 2, ALL, 0),
    // 8.2.3.22 MAC and link
    one("PCS1GCFIG", 0x04200, ALL, 0),
    one("PCS1GLCTL", 0x04208, ALL, 0),
    one("PCS1GLSTA", 0x0420C, Ro, 0),
    many("PCS1GDBG", 0x04210, 4, 2, Ro, 0),
    many("PCS1GAN", 0x04218, 4, 4, ALL, 0),
    one("HLREG0", at::HLREG0, ALL, 0x0001_0C0B),
    one("HLREG1", 0x04244, Ro, 0),
    one("PAP", 0x04248, ALL, 0),
    one("MACA", 0x0424C, ALL, 0),
    one("APAE", 0x04250, ALL, 0),
    one("ARD", 0x04254, ALL, 0),
    one("AIS", 0x04258, Ro, 0),
    one("MSCA", at::MSCA, Rw(!0x4000_0000), 0),
    one("MSRWD", 0x04260, Ro, 0xFFFF_0000),
    one("MLADD", 0x04264, ALL, 0),
    one("MHADD", at::MHADD, ALL, 0x05EE_0000),
    one("MAXFRS (82598)", 0x0426C, ALL, 0),
    one("TREG", 0x0426C + 4, ALL, 0),
    many("PCSS", 0x04288, 4, 2, Ro, 0),
    one("XPCSS", 0x04290, Ro, 0),
    one("MFLCN", at::MFLCN, ALL, 0),
    one("SERDESC", 0x04298, ALL, 0),
    one("MACS", 0x0429C, ALL, 0),
    one("AUTOC", 0x042A0, ALL, 0x0000_2100),
    one("LINKS", at::LINKS, Ro, 0),
    one("LINKS2", 0x04324, Ro, 0),
    one("AUTOC2", 0x042A8, ALL, 0),
    one("AUTOC3", 0x042AC, ALL, 0),
    many("ANLP", 0x042B0, 4, 2, Ro, 0),
    many("MDFT", 0x042B8, 4, 6, ALL, 0),
    many("FCAMAC", 0x04328, 4, 2, ALL, 0),
    one("MACC", 0x04330, ALL, 0),
    one("ATLASCTL", 0x04800, ALL, 0),
    many("PFMAILBOX", 0x04B00, 4, 64, ALL, 0),
    many("PFMBMEM", 0x13000, 4, 1024, ALL, 0),
    // 8.2.3.23 Statistics
    many("PXONTXC", 0x03F00, 4, 16, Rc, 0),
    one("LXONTXC", at::LXONTXC, Rc, 0),
    one("LXOFFTXC", at::LXOFFTXC, Rc, 0),
    many("MPC", at::MPC, 4, 8, Rc, 0),
    many("RNBC (82598)", 0x03FC0, 4, 8, Rc, 0),
    many("CRCERRS", 0x04000, 4, 16, Rc, 0),
    one("RLEC", 0x04040, Rc, 0),
    many("PRC", at::PRC64, 4, 6, Rc, 0),
    one("GPRC", at::GPRC, Rc, 0),
    one("BPRC", at::BPRC, Rc, 0),
    one("MPRC", at::MPRC, Rc, 0),
    one("GPTC", at::GPTC, Rc, 0),
    many("GORC", at::GORCL, 4, 2, Rc, 0),
    many("GOTC", at::GOTCL, 4, 2, Rc, 0),
    many("RUC RFC ROC RJC", at::RUC, 4, 4, Rc, 0),
    many("MNGPC", 0x040B4, 4, 2, Rc, 0),
    many("TOR", at::TORL, 4, 2, Rc, 0),
    one("TPR", at::TPR, Rc, 0),
    one("TPT", at::TPT, Rc, 0),
    many("PTC", at::PTC64, 4, 6, Rc, 0),
    one("MPTC", at::MPTC, Rc, 0),
    one("BPTC", at::BPTC, Rc, 0),
    one("XEC", at::XEC, Rc, 0),
    many("PXONRXCNT", 0x04140, 4, 16, Rc, 0),
    one("LXONRXCNT", at::LXONRXCNT, Rc, 0),
    one("LXOFFRXCNT", at::LXOFFRXCNT, Rc, 0),
    many("QBTC", at::QBTC, 4, 32, Rc, 0),
    one("SSVPC", 0x08780, Rc, 0),
    many("VMECM", 0x08790, 4, 2, ALL, 0),
    one("SECTX counters", 0x087A0, Rc, 0),
    many("PXONRXC (82598)", 0x0CF00, 4, 16, Rc, 0),
    one("LXONRXC (82598)", 0x0CF60, Rc, 0),
    one("LXOFFRXC (82598)", 0x0CF68, Rc, 0),
    one("MNGPTC", 0x0CF90, Rc, 0),
    // 8.2.3.24 Wake-up
    one("WUC", 0x05800, ALL, 0),
    one("WUFC", 0x05808, ALL, 0),
    one("WUS", 0x05810, Ro, 0),
    one("IPAV", 0x05838, ALL, 0),
    many("IP4AT", 0x05840, 4, 8, ALL, 0),
    many("IP6AT", 0x05880, 4, 4, ALL, 0),
    one("WUPL", 0x05900, Ro, 0),
    many("WUPM", 0x05A00, 4, 32, Ro, 0),
    many("FHFT", 0x09000, 4, 384, ALL, 0),
    // 8.2.3.25 Management
    many("METF", 0x05190, 4, 4, ALL, 0),
    many("MDEF_EXT", 0x05160, 4, 8, ALL, 0),
    many("MANC", 0x05820, 4, 2, ALL, 0),
    one("MANC2H", 0x05860, ALL, 0),
    many("MDEF", 0x05890, 4, 8, ALL, 0),
    many("MIPAF", 0x058B0, 4, 16, ALL, 0),
    many("MMAL", 0x05910, 4, 8, ALL, 0),
    one("FWSTS", 0x15F0C, ALL, 0),
    one("HICR", 0x15F00, Rw(0x3E), 0),
    many("HSMC", 0x15F04, 4, 2, ALL, 0),
    one("SWSR", 0x15F10, ALL, 0),
    many("FLEX_MNG", 0x15800, 4, 448, ALL, 0),
    // 8.2.3.26 Time stamps
    one("RXMTRL", 0x05120, ALL, 0),
    one("TSYNCRXCTL", 0x05188, ALL, 0),
    many("RXSAT", 0x051A0, 4, 3, Ro, 0),
    one("RXSTMPL", 0x051E8, Ro, 0),
    one("TSYNCTXCTL", 0x08C00, ALL, 0),
    many("TXSTMP", 0x08C04, 4, 2, Ro, 0),
    many("SYSTIM", 0x08C0C, 4, 2, ALL, 0),
    many("TIMINCA", 0x08C14, 4, 15, ALL, 0),
    one("SYSTIMR", 0x08C58, ALL, 0),
    one("TSIM", 0x08C68, ALL, 0),
    // 8.2.3.27 Virtualization
    many("PFVMTXSW", 0x05180, 4, 2, ALL, 0),
    one("PFVTCTL", 0x051B0, ALL, 0),
    one("RXFECCERR0", 0x051B8, ALL, 0),
    many("PFVFRE", 0x051E0, 4, 2, ALL, 0),
    many("PFVML2FLT", 0x0F000, 4, 64, ALL, 0),
    many("PFVLVF", 0x0F100, 4, 64, ALL, 0),
    many("PFVLVFB", 0x0F200, 4, 128, ALL, 0),
    many("PFUTA", 0x0F400, 4, 128, ALL, 0),
    many("PFMRCTL", 0x0F600, 4, 4, ALL, 0),
    many("PFMRVLAN", 0x0F610, 4, 8, ALL, 0),
    many("PFMRVM", 0x0F630, 4, 8, ALL, 0),
];

/// The registers after power-on.
pub fn new() -> Registers {
    Registers::new(TABLE, SPACE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::registers::tests::assert_unique;
    use crate::event::{Event, Events};

    #[test]
    fn table_has_no_register_twice() {
        // Tx queues 16 and up share the layout of the first 16
        assert_unique(TABLE, SPACE, |first, second| {
            first == "QPTC" || second == "QPTC 16-127"
        });
    }

    #[test]
    fn access_kinds() {
        let mut registers = new();
        let mut events = Events::new("test");
        registers.bus_write(&mut events, at::RX_LOW + 8, u32::MAX);
        assert_eq!(registers.bus_read(&mut events, at::RX_LOW + 8), 0x000F_FF80);
        registers.count(at::GPRC, 7);
        registers.bus_write(&mut events, at::GPRC, 1);
        assert_eq!(registers.bus_read(&mut events, at::GPRC), 7);
        assert_eq!(registers.bus_read(&mut events, at::GPRC), 0);
        registers.bus_write(&mut events, at::STATUS, u32::MAX);
        assert_eq!(registers.bus_read(&mut events, at::STATUS), 0);
        assert_eq!(events.total(), 0);
        registers.bus_write(&mut events, 0x1FFFC, 1);
        assert_eq!(registers.bus_read(&mut events, 0x1FFFC), 0);
        assert_eq!(events.count(Event::UnknownRegister), 2);
    }

    #[test]
    fn octets_carry_into_the_high_register() {
        let mut registers = new();
        registers.set(at::GORCL, u32::MAX - 10);
        registers.count_wide(at::GORCL, 20, OCTETS_HIGH);
        assert_eq!(registers.get(at::GORCL), 9);
        assert_eq!(registers.get(at::GORCL + 4), 1);
    }
}
