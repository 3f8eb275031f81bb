// SPDX-License-Identifier: GPL-2.0
//! Registers of the X710 as data.
//!
//! Names are those of the Intel X710/XL710 data sheet, 10.2.2.x; arrays over ports or
//! functions have only the element of port 0 or function 0, unless a driver reads more.

pub use crate::chip::registers::Registers;
use crate::chip::registers::{ALL, Access, Row, many, one};

use Access::{Ro, Rw};

/// Bytes of BAR 0 that hold registers.
pub const SPACE: u32 = 0x40_0000;

/// Bits of the high register of a 48-bit statistics counter.
pub const COUNTER_HIGH: u32 = 0xFFFF;

/// Offsets by name; of an array, that of the first register.
#[rustfmt::skip]
#[allow(missing_docs)]
pub mod at {
    pub const PFINT_ITRN: u32 = 0x03_0000;
    pub const PFINT_DYN_CTLN: u32 = 0x03_4800;
    pub const PFINT_LNKLSTN: u32 = 0x03_5000;
    pub const PFINT_RATEN: u32 = 0x03_5800;
    pub const PFINT_ITR0: u32 = 0x03_8000;
    pub const PFINT_STAT_CTL0: u32 = 0x03_8400;
    pub const PFINT_DYN_CTL0: u32 = 0x03_8480;
    pub const PFINT_LNKLST0: u32 = 0x03_8500;
    pub const PFINT_ICR0: u32 = 0x03_8780;
    pub const PFINT_ICR0_ENA: u32 = 0x03_8800;
    pub const QINT_RQCTL: u32 = 0x03_A000;
    pub const QINT_TQCTL: u32 = 0x03_C000;
    pub const ATQBAL: u32 = 0x08_0000;
    pub const ARQBAL: u32 = 0x08_0080;
    pub const ATQBAH: u32 = 0x08_0100;
    pub const ARQBAH: u32 = 0x08_0180;
    pub const ATQLEN: u32 = 0x08_0200;
    pub const ARQLEN: u32 = 0x08_0280;
    pub const ATQH: u32 = 0x08_0300;
    pub const ARQH: u32 = 0x08_0380;
    pub const ATQT: u32 = 0x08_0400;
    pub const ARQT: u32 = 0x08_0480;
    pub const GLVFGEN_TIMER: u32 = 0x08_81BC;
    pub const PFGEN_CTRL: u32 = 0x09_2400;
    pub const PRTRPB_SHW: u32 = 0x0A_C580;
    pub const PRTRPB_SLW: u32 = 0x0A_C6A0;
    pub const PRTRPB_SPS: u32 = 0x0A_C7C0;
    pub const GLNVM_SRCTL: u32 = 0x0B_6110;
    pub const GLNVM_SRDATA: u32 = 0x0B_6114;
    pub const GLGEN_RSTCTL: u32 = 0x0B_8180;
    pub const GLGEN_RSTAT: u32 = 0x0B_8188;
    pub const GLGEN_RTRIG: u32 = 0x0B_8190;
    pub const PFHMC_SDCMD: u32 = 0x0C_0000;
    pub const PFHMC_SDDATALOW: u32 = 0x0C_0100;
    pub const PFHMC_SDDATAHIGH: u32 = 0x0C_0200;
    pub const PFHMC_PDINV: u32 = 0x0C_0300;
    pub const PFHMC_ERRORINFO: u32 = 0x0C_0400;
    pub const PFHMC_ERRORDATA: u32 = 0x0C_0500;
    pub const GLHMC_LANTXBASE: u32 = 0x0C_6200;
    pub const GLHMC_LANTXCNT: u32 = 0x0C_6300;
    pub const GLHMC_LANRXBASE: u32 = 0x0C_6400;
    pub const GLHMC_LANRXCNT: u32 = 0x0C_6500;
    pub const QTX_HEAD: u32 = 0x0E_4000;
    pub const GLLAN_TXPRE_QDIS: u32 = 0x0E_6500;
    pub const QTX_ENA: u32 = 0x10_0000;
    pub const QTX_CTL: u32 = 0x10_4000;
    pub const QTX_TAIL: u32 = 0x10_8000;
    pub const QRX_ENA: u32 = 0x12_0000;
    pub const QRX_TAIL: u32 = 0x12_8000;
    pub const GLLAN_RCTL_0: u32 = 0x12_A500;
    pub const PFLAN_QALLOC: u32 = 0x1C_0400;
    pub const PFQF_CTL_0: u32 = 0x1C_0AC0;
    pub const PRTGL_SAL: u32 = 0x1E_2120;
    pub const PRTGL_SAH: u32 = 0x1E_2140;
    pub const PRTMAC_TX_PAUSE_ENABLE: u32 = 0x1E_30D0;
    pub const PRTMAC_RX_PAUSE_ENABLE: u32 = 0x1E_30C0;
    pub const PFQF_HLUT: u32 = 0x24_0000;
    pub const PFQF_HKEY: u32 = 0x24_4800;
    pub const PFQF_HENA: u32 = 0x24_5900;
    pub const PFQF_CTL_1: u32 = 0x24_5D80;
    pub const PFQF_FDSTAT: u32 = 0x24_6380;
    pub const PRTQF_FD_INSET: u32 = 0x25_0000;
    pub const PRTQF_FLX_PIT: u32 = 0x25_5200;
    pub const GLQF_PCNT: u32 = 0x26_6800;
    pub const GL_MDET_TX: u32 = 0x0E_6480;
    pub const PF_MDET_TX: u32 = 0x0E_6400;
    pub const GLQF_HASH_INSET: u32 = 0x26_7600;
    pub const GLQF_FDCNT_0: u32 = 0x26_9BAC;
    pub const GLQF_HKEY: u32 = 0x27_0140;

    pub const GLPRT_GORC: u32 = 0x30_0000;
    pub const GLPRT_MLFC: u32 = 0x30_0020;
    pub const GLPRT_RUC: u32 = 0x30_0100;
    pub const GLPRT_ROC: u32 = 0x30_0120;
    pub const GLPRT_LXONRXC: u32 = 0x30_0140;
    pub const GLPRT_LXOFFRXC: u32 = 0x30_0160;
    pub const GLPRT_PRC64: u32 = 0x30_0480;
    pub const GLPRT_UPRC: u32 = 0x30_05A0;
    pub const GLPRT_MPRC: u32 = 0x30_05C0;
    pub const GLPRT_BPRC: u32 = 0x30_05E0;
    pub const GLPRT_RDPC: u32 = 0x30_0600;
    pub const GLPRT_GOTC: u32 = 0x30_0680;
    pub const GLPRT_PTC64: u32 = 0x30_06A0;
    pub const GLPRT_LXONTXC: u32 = 0x30_0980;
    pub const GLPRT_LXOFFTXC: u32 = 0x30_09A0;
    pub const GLPRT_UPTC: u32 = 0x30_09C0;
    pub const GLPRT_MPTC: u32 = 0x30_09E0;
    pub const GLPRT_BPTC: u32 = 0x30_0A00;
    pub const GLPRT_TDOLD: u32 = 0x30_0A20;
    pub const GLV_RDPC: u32 = 0x31_0000;
    pub const GL_RXERR1: u32 = 0x31_8000;
    pub const GLV_GOTC: u32 = 0x32_8000;
    pub const GLSW_GOTC: u32 = 0x32_C000;
    pub const GLVEBTC_TBC: u32 = 0x33_4000;
    pub const GLVEBTC_TPC: u32 = 0x33_8000;
    pub const GLV_UPTC: u32 = 0x33_C000;
    pub const GLV_MPTC: u32 = 0x33_CC00;
    pub const GLV_BPTC: u32 = 0x33_D800;
    pub const GLSW_UPTC: u32 = 0x34_0000;
    pub const GLSW_MPTC: u32 = 0x34_0080;
    pub const GLSW_BPTC: u32 = 0x34_0100;
    pub const GLV_TEPC: u32 = 0x34_4000;
    pub const GLSW_TDPC: u32 = 0x34_8000;
    pub const GLV_GORC: u32 = 0x35_8000;
    pub const GLSW_GORC: u32 = 0x35_C000;
    pub const GLVEBTC_RBC: u32 = 0x36_4000;
    pub const GLVEBTC_RPC: u32 = 0x36_8000;
    pub const GLV_UPRC: u32 = 0x36_C000;
    pub const GLV_MPRC: u32 = 0x36_CC00;
    pub const GLV_BPRC: u32 = 0x36_D800;
    pub const GLV_RUPP: u32 = 0x36_E400;
    pub const GLSW_UPRC: u32 = 0x37_0000;
    pub const GLSW_MPRC: u32 = 0x37_0080;
    pub const GLSW_BPRC: u32 = 0x37_0100;
    pub const GLSW_RUPP: u32 = 0x37_0180;
}

/// Queues of the chip; function 0 has the first 128 of them.
const LAN_QUEUES: u32 = 1536;
/// Counters of one VSI are 8 bytes apart.
const VSIS: u32 = 384;
/// Counters of one VEB as well.
const VEBS: u32 = 16;
/// QUEUES - 1 in [26:16], valid.
const QALLOC: u32 = 1 << 31 | 127 << 16;
/// Vectors of the function, less two, and of a VF, less one.
const VECTORS: u32 = 127 << 2 | 3 << 13;
/// A shadow RAM of 2048 words.
const SR_SIZE: u32 = 2 << 5;
/// Frames of up to 9728 bytes.
const MFS: u32 = 0x2600 << 16;

/// All registers of the model.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    // General control and reset
    one("GL_FWSTS", 0x08_3048, Ro, 0),
    one("GLGEN_RSTCTL", at::GLGEN_RSTCTL, ALL, 1),
    one("GLGEN_RSTAT", at::GLGEN_RSTAT, Ro, 0),
    one("GLGEN_RTRIG", at::GLGEN_RTRIG, Ro, 0),
    one("GLGEN_STAT", 0x0B_612C, Ro, 0),
    many("GLGEN_GPIO_CTL", 0x08_8100, 4, 30, ALL, 0),
    one("GLGEN_GPIO_SET", 0x08_8184, ALL, 0),
    many("GLGEN_MSCA", 0x08_818C, 4, 4, Rw(!0x4000_0000), 0),
    many("GLGEN_MSRWD", 0x08_819C, 4, 4, Ro, 0),
    many("GLGEN_MDIO_I2C_SEL", 0x08_81C0, 4, 4, ALL, 0),
    many("GLGEN_VFLRSTAT", 0x09_2600, 4, 4, ALL, 0),
    one("GLGEN_PCIFCNCNT", 0x1C_0AB4, Ro, 0),
    one("GLVFGEN_TIMER", at::GLVFGEN_TIMER, Ro, 0),
    one("PFGEN_CTRL", at::PFGEN_CTRL, Ro, 0),
    one("PFGEN_PORTNUM", 0x1C_0480, Ro, 0),
    one("PFGEN_PORTMDIO_NUM", 0x03_F100, Ro, 0),
    many("PRTGEN_STATUS", 0x0B_8100, 4, 4, Ro, 0),
    one("PRTGEN_CNF 0", 0x0B_8120, Ro, 0),
    many("PRTGEN_CNF 1-3", 0x0B_8124, 4, 3, Ro, 1),
    // PCIe
    one("PF_FUNC_RID", 0x09_C000, Ro, 0),
    one("PF_PCI_CIAA", 0x09_C080, ALL, 0),
    one("PF_PCI_CIAD", 0x09_C100, Ro, 0),
    one("PFPCI_SUBSYSID", 0x0B_E100, Ro, 0),
    one("GLPCI_LBARCTRL", 0x0B_E484, Ro, 0),
    one("GLPCI_CNF2", 0x0B_E494, Ro, VECTORS),
    one("GLPCI_CAPSUP", 0x0B_E4A8, Ro, 1),
    one("PF_VT_PFALLOC", 0x1C_0500, Ro, 0),
    // Non-volatile memory
    one("GLNVM_ULD", 0x0B_6008, Ro, 0x18),
    one("GLNVM_GENS", 0x0B_6100, Ro, SR_SIZE),
    one("GLNVM_FLA", 0x0B_6108, Ro, 0x40),
    one("GLNVM_SRCTL", at::GLNVM_SRCTL, Rw(0x7FFF_FFFF), 1 << 31),
    one("GLNVM_SRDATA", at::GLNVM_SRDATA, Ro, 0),
    // Admin queue
    one("ATQBAL", at::ATQBAL, Rw(!0x3F), 0),
    one("ATQBAH", at::ATQBAH, ALL, 0),
    one("ATQLEN", at::ATQLEN, Rw(0xF000_03FF), 0),
    one("ATQH", at::ATQH, Rw(0x3FF), 0),
    one("ATQT", at::ATQT, Rw(0x3FF), 0),
    one("ARQBAL", at::ARQBAL, Rw(!0x3F), 0),
    one("ARQBAH", at::ARQBAH, ALL, 0),
    one("ARQLEN", at::ARQLEN, Rw(0xF000_03FF), 0),
    one("ARQH", at::ARQH, Rw(0x3FF), 0),
    one("ARQT", at::ARQT, Rw(0x3FF), 0),
    // Host memory cache
    one("PFHMC_SDCMD", at::PFHMC_SDCMD, ALL, 0),
    one("PFHMC_SDDATALOW", at::PFHMC_SDDATALOW, ALL, 0),
    one("PFHMC_SDDATAHIGH", at::PFHMC_SDDATAHIGH, ALL, 0),
    one("PFHMC_PDINV", at::PFHMC_PDINV, ALL, 0),
    one("PFHMC_ERRORINFO", at::PFHMC_ERRORINFO, ALL, 0),
    one("PFHMC_ERRORDATA", at::PFHMC_ERRORDATA, ALL, 0),
    one("GLHMC_LANTXOBJSZ", 0x0C_2004, Ro, 7),
    one("GLHMC_LANQMAX", 0x0C_2008, Ro, LAN_QUEUES),
    one("GLHMC_LANRXOBJSZ", 0x0C_200C, Ro, 5),
    one("GLHMC_FCOEDDPOBJSZ", 0x0C_2010, Ro, 0),
    one("GLHMC_FCOEMAX", 0x0C_2014, Ro, 0),
    one("GLHMC_FCOEFOBJSZ", 0x0C_2018, Ro, 0),
    one("GLHMC_FCOEFMAX", 0x0C_20D0, Ro, 0x1000),
    many("GLHMC_LANTXBASE", at::GLHMC_LANTXBASE, 4, 16, Rw(0x00FF_FFFF), 0),
    many("GLHMC_LANTXCNT", at::GLHMC_LANTXCNT, 4, 16, Rw(0x7FF), 0),
    many("GLHMC_LANRXBASE", at::GLHMC_LANRXBASE, 4, 16, Rw(0x00FF_FFFF), 0),
    many("GLHMC_LANRXCNT", at::GLHMC_LANRXCNT, 4, 16, Rw(0x7FF), 0),
    many("GLHMC_FCOEDDPBASE", 0x0C_6600, 4, 16, ALL, 0),
    many("GLHMC_FCOEDDPCNT", 0x0C_6700, 4, 16, ALL, 0),
    many("GLHMC_FCOEFBASE", 0x0C_6800, 4, 16, ALL, 0),
    many("GLHMC_FCOEFCNT", 0x0C_6900, 4, 16, ALL, 0),
    // Interrupts
    many("PFINT_ITRN 0", at::PFINT_ITRN, 4, 512, Rw(0xFFF), 0),
    many("PFINT_ITRN 1", at::PFINT_ITRN + 0x800, 4, 512, Rw(0xFFF), 0),
    many("PFINT_ITRN 2", at::PFINT_ITRN + 0x1000, 4, 512, Rw(0xFFF), 0),
    many("PFINT_DYN_CTLN", at::PFINT_DYN_CTLN, 4, 512, ALL, 0),
    many("PFINT_LNKLSTN", at::PFINT_LNKLSTN, 4, 512, Rw(0x1FFF), 0),
    many("PFINT_RATEN", at::PFINT_RATEN, 4, 512, Rw(0x7F), 0),
    many("PFINT_ITR0", at::PFINT_ITR0, 128, 3, Rw(0xFFF), 0),
    one("PFINT_STAT_CTL0", at::PFINT_STAT_CTL0, Rw(0xC), 0),
    one("PFINT_DYN_CTL0", at::PFINT_DYN_CTL0, ALL, 0),
    one("PFINT_LNKLST0", at::PFINT_LNKLST0, Rw(0x1FFF), 0),
    one("PFINT_ICR0", at::PFINT_ICR0, Ro, 0),
    one("PFINT_ICR0_ENA", at::PFINT_ICR0_ENA, Rw(0xFFFF_0000), 0),
    one("PFINT_AEQCTL", 0x03_8700, ALL, 0),
    many("PFINT_CEQCTL", 0x03_6800, 4, 512, ALL, 0),
    one("GLINT_CTL", 0x03_F800, ALL, 0),
    many("QINT_RQCTL", at::QINT_RQCTL, 4, LAN_QUEUES, ALL, 0),
    many("QINT_TQCTL", at::QINT_TQCTL, 4, LAN_QUEUES, ALL, 0),
    many("VPINT_LNKLSTN", 0x02_5000, 4, 512, ALL, 0),
    many("VPINT_CEQCTL", 0x02_6800, 4, 512, ALL, 0),
    many("VPINT_LNKLST0", 0x02_A800, 4, 128, ALL, 0),
    many("VPINT_AEQCTL", 0x02_B800, 4, 128, ALL, 0),
    // LAN queues
    one("PFLAN_QALLOC", at::PFLAN_QALLOC, Ro, QALLOC),
    one("GLLAN_RCTL_0", at::GLLAN_RCTL_0, Ro, 0),
    many("GLLAN_TSOMSK", 0x04_42D8, 4, 3, ALL, 0),
    one("MSS", 0x0E_64DC, Rw(0x03FF_FFFF), 0),
    many("GLLAN_TXPRE_QDIS", at::GLLAN_TXPRE_QDIS, 4, 12, Rw(0x7FF), 0),
    many("QTX_HEAD", at::QTX_HEAD, 4, LAN_QUEUES, Rw(0x1FFF), 0),
    many("QTX_ENA", at::QTX_ENA, 4, LAN_QUEUES, Rw(0x3), 0),
    many("QTX_CTL", at::QTX_CTL, 4, LAN_QUEUES, Rw(0xFFFF), 0),
    many("QTX_TAIL", at::QTX_TAIL, 4, LAN_QUEUES, Rw(0x1FFF), 0),
    many("QRX_ENA", at::QRX_ENA, 4, LAN_QUEUES, Rw(0x3), 0),
    many("QRX_TAIL", at::QRX_TAIL, 4, LAN_QUEUES, Rw(0x1FFF), 0),
    many("VPLAN_QTABLE", 0x07_0000, 4, 0x1000, ALL, 0),
    many("VPLAN_MAPENA", 0x07_4000, 4, 128, ALL, 0),
    // VSIs
    many("VSI_L2TAGSTXVALID", 0x04_2800, 4, VSIS, ALL, 0),
    many("VSI_TSR", 0x05_0800, 4, VSIS, ALL, 0),
    many("VSILAN_QTABLE", 0x20_0000, 4, 0x1000, ALL, 0),
    many("VSILAN_QBASE", 0x20_C800, 4, VSIS, ALL, 0),
    // Malicious driver detection
    one("GL_MDET_TX", at::GL_MDET_TX, ALL, 0),
    one("PF_MDET_TX", at::PF_MDET_TX, ALL, 0),
    many("VP_MDET_TX", 0x0E_6000, 4, 128, ALL, 0),
    one("GL_MDET_RX", 0x12_A510, ALL, 0),
    one("PF_MDET_RX", 0x12_A400, ALL, 0),
    many("VP_MDET_RX", 0x12_A000, 4, 128, ALL, 0),
    // Packet buffer
    many("PRTRPB_DHW", 0x0A_C100, 32, 8, ALL, 0),
    many("PRTRPB_DLW", 0x0A_C220, 32, 8, ALL, 0),
    many("PRTRPB_DPS", 0x0A_C320, 32, 8, ALL, 0),
    many("PRTRPB_SHT", 0x0A_C480, 32, 8, ALL, 0),
    one("PRTRPB_SHW", at::PRTRPB_SHW, ALL, 384 * 1024),
    many("PRTRPB_SLT", 0x0A_C5A0, 32, 8, ALL, 0),
    one("PRTRPB_SLW", at::PRTRPB_SLW, ALL, 256 * 1024),
    one("PRTRPB_SPS", at::PRTRPB_SPS, ALL, 512 * 1024),
    // Data centre bridging
    one("PRTDCB_GENC", 0x08_3000, ALL, 0),
    one("PRTDCB_GENS", 0x08_3020, Ro, 0),
    many("PRTDCB_TCMSTC", 0x0A_0040, 32, 8, ALL, 0),
    one("PRTDCB_TDPMC", 0x0A_0180, ALL, 0),
    many("PRTDCB_TCWSTC", 0x0A_2040, 32, 8, ALL, 0),
    one("PRTDCB_TCPMC", 0x0A_21A0, ALL, 0),
    one("PRTDCB_TETSC_TCB", 0x0A_E060, ALL, 0),
    one("PRTDCB_TETSC_TPB", 0x09_8060, ALL, 0),
    many("PRTDCB_RETSTCC", 0x12_2180, 32, 8, ALL, 0),
    one("PRTDCB_RPPMC", 0x12_23A0, ALL, 0),
    one("PRTDCB_RETSC", 0x12_23E0, ALL, 0),
    many("PRTDCB_RUPTQ", 0x12_2400, 32, 8, ALL, 0),
    one("PRTDCB_TC2PFC", 0x1C_0980, ALL, 0),
    one("PRTDCB_RUP2TC", 0x1C_09A0, ALL, 0),
    one("PRTDCB_RUP", 0x1C_0B00, ALL, 0),
    one("PRTDCB_MFLCN", 0x1E_2400, ALL, 0),
    one("PRTDCB_TFCS", 0x1E_4560, Ro, 0),
    one("PRTDCB_FCCFG", 0x1E_4640, ALL, 0),
    many("PRTDCB_TPFCTS", 0x1E_4660, 32, 8, ALL, 0),
    one("GL_SWR_PM_UP_THR", 0x26_9FBC, ALL, 0),
    many("GL_SWR_PRI_JOIN_MAP", 0x26_CE00, 4, 3, ALL, 0),
    one("PRT_SWR_PM_THR", 0x26_CD00, ALL, 0),
    many("GL_SWT_L2TAGCTRL", 0x1C_0A70, 4, 8, ALL, 0),
    one("PRT_L2TAGSEN", 0x1C_0B20, ALL, 0),
    // MAC, power management
    one("PRTGL_SAL", at::PRTGL_SAL, ALL, 0),
    one("PRTGL_SAH", at::PRTGL_SAH, ALL, MFS),
    one("PRTMAC_HSEC_CTL_RX_PAUSE_ENABLE", at::PRTMAC_RX_PAUSE_ENABLE, ALL, 0),
    one("PRTMAC_HSEC_CTL_TX_PAUSE_ENABLE", at::PRTMAC_TX_PAUSE_ENABLE, ALL, 0),
    one("PRTMAC_HSEC_CTL_RX_ENABLE_GPP", 0x1E_3260, ALL, 0),
    one("PRTMAC_HSEC_CTL_RX_ENABLE_PPP", 0x1E_32E0, ALL, 0),
    many("PRTMAC_HSEC_CTL_TX_PAUSE_REFRESH_TIMER", 0x1E_3400, 16, 9, ALL, 0),
    one("PRTPM_EEE_STAT", 0x1E_4320, Ro, 0),
    one("PRTPM_RLPIC", 0x1E_43A0, Ro, 0),
    one("PRTPM_TLPIC", 0x1E_43C0, Ro, 0),
    one("PFPM_APM", 0x0B_8080, ALL, 0),
    one("PFPM_WUFC", 0x06_B400, ALL, 0),
    // Time stamps: registers store, the clock does not run
    one("PRTTSYN_CTL1", 0x08_5020, ALL, 0),
    many("PRTTSYN_RXTIME_H", 0x08_5040, 32, 4, Ro, 0),
    many("PRTTSYN_RXTIME_L", 0x08_50C0, 32, 4, Ro, 0),
    one("PRTTSYN_STAT_1", 0x08_5140, Ro, 0),
    one("PRTTSYN_INC_L", 0x1E_4040, ALL, 0),
    one("PRTTSYN_INC_H", 0x1E_4060, ALL, 0),
    many("PRTTSYN_EVNT_L", 0x1E_4080, 32, 2, Ro, 0),
    many("PRTTSYN_EVNT_H", 0x1E_40C0, 32, 2, Ro, 0),
    one("PRTTSYN_TIME_L", 0x1E_4100, ALL, 0),
    one("PRTTSYN_TIME_H", 0x1E_4120, ALL, 0),
    many("PRTTSYN_TGT_L", 0x1E_4140, 32, 2, ALL, 0),
    many("PRTTSYN_TGT_H", 0x1E_4180, 32, 2, ALL, 0),
    one("PRTTSYN_TXTIME_L", 0x1E_41C0, Ro, 0),
    one("PRTTSYN_TXTIME_H", 0x1E_41E0, Ro, 0),
    one("PRTTSYN_CTL0", 0x1E_4200, ALL, 0),
    one("PRTTSYN_STAT_0", 0x1E_4220, Ro, 0),
    many("PRTTSYN_CLKO", 0x1E_4240, 32, 2, ALL, 0),
    one("PRTTSYN_ADJ", 0x1E_4280, ALL, 0),
    many("PRTTSYN_AUX_0", 0x1E_42A0, 32, 2, ALL, 0),
    many("PRTTSYN_AUX_1", 0x1E_42E0, 32, 2, ALL, 0),
    // Queue filters, RSS, flow director
    one("PFQF_CTL_0", at::PFQF_CTL_0, ALL, 0),
    one("PFQF_CTL_1", at::PFQF_CTL_1, Ro, 0),
    many("PFQF_HLUT", at::PFQF_HLUT, 128, 128, Rw(0x3F3F_3F3F), 0),
    many("PFQF_HKEY", at::PFQF_HKEY, 128, 13, ALL, 0),
    many("PFQF_HREGION", 0x24_5400, 128, 8, ALL, 0),
    many("PFQF_HENA", at::PFQF_HENA, 128, 2, ALL, 0),
    one("PFQF_FDALLOC", 0x24_6280, Ro, 0),
    one("PFQF_FDSTAT", at::PFQF_FDSTAT, Ro, 0),
    many("PRTQF_FD_INSET", at::PRTQF_FD_INSET, 32, 128, ALL, 0),
    many("PRTQF_FD_MSK", 0x25_2000, 32, 128, ALL, 0),
    many("PRTQF_FD_FLXINSET", 0x25_3800, 32, 64, ALL, 0),
    many("PRTQF_FLX_PIT", at::PRTQF_FLX_PIT, 32, 9, ALL, 0),
    one("PRTQF_CTL_0", 0x25_6E60, ALL, 0),
    many("GLQF_PCNT", at::GLQF_PCNT, 4, 512, ALL, 0),
    many("GLQF_FD_MSK", 0x26_7200, 4, 128, ALL, 0),
    many("GLQF_HASH_INSET", at::GLQF_HASH_INSET, 4, 128, ALL, 0),
    many("GLQF_HASH_MSK", 0x26_7A00, 4, 128, ALL, 0),
    many("GLQF_SWAP", 0x26_7E00, 4, 128, ALL, 0),
    many("GLQF_FD_PCTYPES", 0x26_8000, 4, 64, ALL, 0),
    many("GLQF_ORT", 0x26_8900, 4, 64, ALL, 0),
    many("GLQF_PIT", 0x26_8C80, 4, 24, ALL, 0),
    many("GLQF_L3_MAP", 0x26_C700, 4, 64, ALL, 0),
    many("GL_PRS_FVBM", 0x26_9760, 4, 4, ALL, 0),
    one("GLQF_CTL", 0x26_9BA4, ALL, 0),
    one("GLQF_FDCNT_0", at::GLQF_FDCNT_0, Ro, 0),
    many("GLQF_HSYM", 0x26_9D00, 4, 64, ALL, 0),
    many("GLQF_HKEY", at::GLQF_HKEY, 4, 13, ALL, 0),
    many("GLQF_FDEVICTENA", 0x27_0384, 4, 2, ALL, 0),
    // Statistics: only a core reset clears them. The first one of a pair has the low 32
    // bits; ports are 8 bytes apart.
    many("GLPRT GORC to ROC", at::GLPRT_GORC, 4, 80, Ro, 0),
    many("GLPRT LXONRXC to PXOFFRXC", at::GLPRT_LXONRXC, 4, 144, Ro, 0),
    many("GLPRT RXON2OFFCNT to XEC", 0x30_0380, 4, 192, Ro, 0),
    many("GLPRT GOTC to PXONTXC", at::GLPRT_GOTC, 4, 128, Ro, 0),
    many("GLPRT PXOFFTXC to TDOLD", 0x30_0880, 4, 112, Ro, 0),
    many("GLV_RDPC", at::GLV_RDPC, 4, 2 * VSIS, Ro, 0),
    many("GL_RXERR1", at::GL_RXERR1, 4, 288, Ro, 0),
    many("GLV_GOTC", at::GLV_GOTC, 4, 2 * VSIS, Ro, 0),
    many("GLSW_GOTC", at::GLSW_GOTC, 4, 2 * VEBS, Ro, 0),
    many("GLVEBTC_TBC", at::GLVEBTC_TBC, 4, 16 * VEBS, Ro, 0),
    many("GLVEBTC_TPC", at::GLVEBTC_TPC, 4, 16 * VEBS, Ro, 0),
    many("GLV_UPTC", at::GLV_UPTC, 4, 2 * VSIS, Ro, 0),
    many("GLV_MPTC", at::GLV_MPTC, 4, 2 * VSIS, Ro, 0),
    many("GLV_BPTC", at::GLV_BPTC, 4, 2 * VSIS, Ro, 0),
    many("GLSW_UPTC", at::GLSW_UPTC, 4, 2 * VEBS, Ro, 0),
    many("GLSW_MPTC", at::GLSW_MPTC, 4, 2 * VEBS, Ro, 0),
    many("GLSW_BPTC", at::GLSW_BPTC, 4, 2 * VEBS, Ro, 0),
    many("GLV_TEPC", at::GLV_TEPC, 4, 2 * VSIS, Ro, 0),
    many("GLSW_TDPC", at::GLSW_TDPC, 4, 2 * VEBS, Ro, 0),
    many("GLV_GORC", at::GLV_GORC, 4, 2 * VSIS, Ro, 0),
    many("GLSW_GORC", at::GLSW_GORC, 4, 2 * VEBS, Ro, 0),
    many("GLVEBTC_RBC", at::GLVEBTC_RBC, 4, 16 * VEBS, Ro, 0),
    many("GLVEBTC_RPC", at::GLVEBTC_RPC, 4, 16 * VEBS, Ro, 0),
    many("GLV_UPRC", at::GLV_UPRC, 4, 2 * VSIS, Ro, 0),
    many("GLV_MPRC", at::GLV_MPRC, 4, 2 * VSIS, Ro, 0),
    many("GLV_BPRC", at::GLV_BPRC, 4, 2 * VSIS, Ro, 0),
    many("GLV_RUPP", at::GLV_RUPP, 4, 2 * VSIS, Ro, 0),
    many("GLSW_UPRC", at::GLSW_UPRC, 4, 2 * VEBS, Ro, 0),
    many("GLSW_MPRC", at::GLSW_MPRC, 4, 2 * VEBS, Ro, 0),
    many("GLSW_BPRC", at::GLSW_BPRC, 4, 2 * VEBS, Ro, 0),
    many("GLSW_RUPP", at::GLSW_RUPP, 4, 2 * VEBS, Ro, 0),
    one("GLGEN_STAT_CLEAR", 0x39_0004, ALL, 0),
];

/// The registers after power-on.
pub fn new() -> Registers {
    Registers::new(TABLE, SPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_no_register_twice() {
        crate::chip::registers::tests::assert_unique(TABLE, SPACE, |_, _| false);
    }
}
