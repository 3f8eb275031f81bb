// SPDX-License-Identifier: GPL-2.0
//! Commands of the admin queue: dispatch by opcode, and the commands for the whole
//! device, LLDP and tunnels.

use std::time::Instant;

use super::adminq::{Answer, Command, Fields, Refusal};
use super::fdir::{BEST_EFFORT, GUARANTEED};
use super::regs::{Registers, SPACE};
use super::switch::VSIS;
use super::{QUEUES, VECTORS, X710, rss};
use crate::event::Events;
use crate::host::Host;

/// Versions of the firmware and of its driver interface; Linux 6.12 expects this
/// interface.
const FIRMWARE: [u16; 2] = [9, 20];
const INTERFACE: [u16; 2] = [1, 15];
const BUILD: u32 = 0x0001_26B2;
/// Maximum ownership of a resource, in milliseconds.
const RESOURCE_TIMEOUT: u32 = 3000;
const TUNNELS: usize = 16;

/// Capabilities: id, number, logical id, physical id.
const CAPABILITIES: &[(u16, u32, u32, u32)] = &[
    (0x05, 1, 0, 0),                                  // valid functions
    (0x17, VSIS as u32, 0, 0),                        // VSIs
    (0x18, 1, 1, 8),                                  // DCB: traffic classes
    (0x40, 512, 6, 0),                                // RSS: table, width
    (0x41, QUEUES as u32, 0, 0),                      // Rx queues
    (0x42, QUEUES as u32, 0, 0),                      // Tx queues
    (0x43, VECTORS as u32, 0, 0),                     // MSI-X vectors
    (0x45, GUARANTEED as u32, BEST_EFFORT as u32, 0), // flow director
];
/// Bytes of a capability.
const CAPABILITY: usize = 32;

/// State of the firmware outside other modules.
#[derive(Clone, Copy, Debug)]
pub struct Firmware {
    lldp: bool,
    /// UDP ports and types of tunnels.
    tunnels: [Option<(u16, u8)>; TUNNELS],
}

impl Default for Firmware {
    fn default() -> Self {
        Self {
            lldp: true,
            tunnels: [None; TUNNELS],
        }
    }
}

impl Firmware {
    /// Reset of the function: the state of the port is kept.
    pub fn reset_function(&mut self) {
        self.tunnels = [None; TUNNELS];
    }

    /// Get LLDP MIB (0A00h): there is no neighbour.
    fn get_mib(self, command: &mut Command) -> Answer {
        const REMOTE: u8 = 1;
        if !self.lldp {
            return Err(Refusal::Eperm);
        }
        if command.params[0] & 3 == REMOTE {
            return Err(Refusal::Enoent);
        }
        // Only the end TLV
        command.buffer.fill(0);
        command.params.put16(2, 2);
        command.params.put16(4, 0);
        Ok(())
    }

    /// Start LLDP (0A06h).
    fn start_lldp(&mut self) -> Answer {
        if std::mem::replace(&mut self.lldp, true) {
            return Err(Refusal::Eexist);
        }
        Ok(())
    }

    /// Add UDP tunnel (0B00h). Frames in tunnels are classified as UDP.
    fn add_tunnel(&mut self, command: &mut Command) -> Answer {
        let tunnel = (command.params.get16(0), command.params[5]);
        if self.tunnels.contains(&Some(tunnel)) {
            return Err(Refusal::Eexist);
        }
        let free = self.tunnels.iter().position(Option::is_none);
        let index = free.ok_or(Refusal::Enospc)?;
        self.tunnels[index] = Some(tunnel);
        let used = self.tunnels.iter().flatten().count();
        command.params.put(2, &[index as u8, 0, used as u8]);
        Ok(())
    }

    /// Remove UDP tunnel (0B01h).
    fn remove_tunnel(&mut self, command: &mut Command) -> Answer {
        let index = command.params[2];
        let tunnel = self.tunnels.get_mut(usize::from(index));
        let (port, _) = tunnel.and_then(Option::take).ok_or(Refusal::Enoent)?;
        let used = self.tunnels.iter().flatten().count();
        command.params.put16(0, port);
        command.params.put(2, &[index, 0, used as u8]);
        Ok(())
    }
}

impl X710 {
    /// Executes a command. Its parameters and buffer become those of the reply.
    pub(super) fn execute(&mut self, host: &mut Host, command: &mut Command) -> Answer {
        match command.opcode >> 8 {
            0x00 | 0x01 => self.execute_device(command),
            0x02 => self.execute_switch(host, command),
            0x04 => self.execute_scheduler(command),
            0x06 => self.execute_link(host.now, command),
            0x0A | 0x0B => self.execute_protocols(command),
            _ => match command.opcode {
                // DCB: ignore PFC, DCBX configuration done, set parameters
                0x0301..=0x0303 => Ok(()),
                // Profile of the private memory
                0x0501 => Ok(()),
                0x0701 => self.nvm.read(command),
                0xFF03 => self.debug_read(&mut host.events, command),
                0xFF04 => self.debug_write(&mut host.events, command),
                _ => Err(Refusal::Enosys),
            },
        }
    }

    fn execute_device(&mut self, command: &mut Command) -> Answer {
        match command.opcode {
            0x0001 => version(command),
            // Driver version, queue shutdown, function context, release of a resource
            0x0002..=0x0004 | 0x0009 => Ok(()),
            0x0008 => {
                command.params.put32(4, RESOURCE_TIMEOUT);
                Ok(())
            }
            0x000A | 0x000B => capabilities(command),
            0x0107 => self.read_address(command),
            // MAC address write, leave PXE mode
            0x0108 | 0x0110 => Ok(()),
            _ => Err(Refusal::Enosys),
        }
    }

    fn execute_switch(&mut self, host: &mut Host, command: &mut Command) -> Answer {
        match command.opcode {
            0x0200 => self.switch.configuration(command),
            // Port parameters, switch configuration: unchanged
            0x0203 | 0x0205 => Ok(()),
            0x0204 => {
                command.params[0] = 0;
                Ok(())
            }
            0x0206 => self.control_read(&mut host.events, command),
            0x0207 => self.control_write(&mut host.events, command),
            0x0210 => self.switch.add_vsi(command),
            0x0211 => self.switch.update_vsi(command),
            0x0212 => self.switch.get_vsi(command),
            0x0230 => self.switch.add_veb(command),
            0x0232 => self.switch.get_veb(command),
            0x0243 => self.switch.delete(command),
            0x0250 => self.switch.add_filters(command),
            0x0251 => self.switch.remove_filters(command),
            0x0254 => self.switch.set_promiscuous(command),
            0x025A => self.switch.add_control_filter(command),
            0x025B => self.switch.remove_control_filter(command),
            _ => Err(Refusal::Enosys),
        }
    }

    fn execute_scheduler(&mut self, command: &mut Command) -> Answer {
        match command.opcode {
            // Limits and shares, suspend and resume
            0x0400 | 0x0406 | 0x0410 | 0x0413..=0x0417 | 0x041B..=0x041D => Ok(()),
            0x0407 => self.switch.set_classes(command),
            0x0408 => self.switch.get_classes(command),
            0x040A => self.switch.get_shares(command),
            0x0418 | 0x041A => one_class(command, 0),
            0x0419 => one_class(command, 4),
            _ => Err(Refusal::Enosys),
        }
    }

    fn execute_link(&mut self, now: Instant, command: &mut Command) -> Answer {
        match command.opcode {
            0x0600 => self.link.abilities(command),
            0x0601 => self.link.configure(now, command),
            0x0603 => self.link.configure_mac(command),
            0x0605 => self.link.restart(now, command),
            0x0607 => self.link.status(command),
            0x0613 => self.link.set_mask(command),
            0x0618 => self.link.set_loopback(command),
            // PHY debug
            0x0622 => Ok(()),
            _ => Err(Refusal::Enosys),
        }
    }

    fn execute_protocols(&mut self, command: &mut Command) -> Answer {
        match command.opcode {
            0x0A00 => self.firmware.get_mib(command),
            // Events of the MIB, the driver's MIB, agents of DCB
            0x0A01 | 0x0A08..=0x0A0A => Ok(()),
            0x0A05 => {
                self.firmware.lldp = false;
                Ok(())
            }
            0x0A06 => self.firmware.start_lldp(),
            // CEE configuration: there is no neighbour
            0x0A07 => Err(Refusal::Enoent),
            0x0B00 => self.firmware.add_tunnel(command),
            0x0B01 => self.firmware.remove_tunnel(command),
            0x0B02 => self.change_rss(|registers, _| rss::set_key(registers, command)),
            0x0B03 => self.change_rss(|registers, switch| {
                rss::set_table(registers, switch, command)
            }),
            0x0B04 => rss::get_key(&self.registers, command),
            0x0B05 => rss::get_table(&self.registers, &self.switch, command),
            _ => Err(Refusal::Enosys),
        }
    }

    /// Manage MAC address read (0107h).
    fn read_address(&self, command: &mut Command) -> Answer {
        const LAN_AND_PORT_VALID: u16 = 0x50;
        let data = command.data::<24>()?;
        data.fill(0);
        data.put(0, &self.mac);
        data.put(12, &self.mac);
        command.params.put16(0, LAN_AND_PORT_VALID);
        Ok(())
    }

    // Registers by command. These access plain values, without the effects of bus
    // accesses, since otherwise a command could start another one.

    fn read_plain(&mut self, events: &mut Events, address: u32) -> Result<u32, Refusal> {
        if address % 4 != 0 || address >= SPACE {
            return Err(Refusal::Einval);
        }
        Ok(self.registers.bus_read(events, address))
    }

    fn write_plain(&mut self, events: &mut Events, address: u32, value: u32) -> Answer {
        if address % 4 != 0 || address >= SPACE {
            return Err(Refusal::Einval);
        }
        self.registers.bus_write(events, address, value);
        self.filter_register_written(address, value);
        Ok(())
    }

    /// Rx control register read (0206h).
    fn control_read(&mut self, events: &mut Events, command: &mut Command) -> Answer {
        let value = self.read_plain(events, command.params.get32(4))?;
        command.params.put32(12, value);
        Ok(())
    }

    /// Rx control register write (0207h).
    fn control_write(&mut self, events: &mut Events, command: &mut Command) -> Answer {
        let value = command.params.get32(12);
        self.write_plain(events, command.params.get32(4), value)
    }

    /// Debug register read (FF03h).
    fn debug_read(&mut self, events: &mut Events, command: &mut Command) -> Answer {
        let value = self.read_plain(events, command.params.get32(4))?;
        command.params.put32(8, 0);
        command.params.put32(12, value);
        Ok(())
    }

    /// Debug register write (FF04h).
    fn debug_write(&mut self, events: &mut Events, command: &mut Command) -> Answer {
        let value = command.params.get32(12);
        self.write_plain(events, command.params.get32(4), value)
    }

    fn change_rss(
        &mut self,
        change: impl FnOnce(&mut Registers, &mut super::switch::Switch) -> Answer,
    ) -> Answer {
        self.stale_rss = true;
        change(&mut self.registers, &mut self.switch)
    }
}

/// Get version (0001h).
fn version(command: &mut Command) -> Answer {
    command.params.put32(0, 0);
    command.params.put32(4, BUILD);
    for (at, value) in [8, 10, 12, 14]
        .into_iter()
        .zip(FIRMWARE.into_iter().chain(INTERFACE))
    {
        command.params.put16(at, value);
    }
    Ok(())
}

/// List function or device capabilities (000Ah, 000Bh).
fn capabilities(command: &mut Command) -> Answer {
    let length = CAPABILITY * CAPABILITIES.len();
    command.length = length as u16;
    if command.buffer.len() < length {
        return Err(Refusal::Enomem);
    }
    command.buffer.fill(0);
    for (index, (id, number, logical, physical)) in CAPABILITIES.iter().enumerate() {
        let element = &mut command.buffer[CAPABILITY * index..];
        element.put16(0, *id);
        element[2] = 1;
        for (at, value) in [(4, number), (8, logical), (12, physical)] {
            element.put32(at, *value);
        }
    }
    command.params.put32(4, CAPABILITIES.len() as u32);
    Ok(())
}

/// Queries of ETS: one traffic class; `at` is the offset of the set of classes.
fn one_class(command: &mut Command, at: usize) -> Answer {
    command.buffer.fill(0);
    command.buffer.put(at, &[1]);
    Ok(())
}
