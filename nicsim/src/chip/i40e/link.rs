// SPDX-License-Identifier: GPL-2.0
//! The port's link, as reported and set by the firmware: PHY, flow control, loopback,
//! link status events.

use std::time::{Duration, Instant};

use super::adminq::{Answer, Command, Fields};

/// Opcode of the link status, as a command and as an event.
pub const LINK_STATUS: u16 = 0x0607;

/// The module is 10GBASE-SR.
const PHY_TYPE: u8 = 0x14;
const PHY_TYPES: u32 = 1 << PHY_TYPE;
const SPEED_10G: u8 = 0x08;
/// Maximum frame length, with CRC.
const FRAME_MAX: u16 = 9728;

/// Delay from a link restart to its event. The link is not reported as down in between: a
/// driver polls the status before real hardware would report it.
const RESTART: Duration = Duration::from_millis(200);

/// In the query of abilities: the initial ones of the port.
const INITIAL_VALUES: u8 = 0x02;
const PAUSE_TX: u8 = 0x01;
const PAUSE_RX: u8 = 0x02;
const ENABLE_LINK: u8 = 0x08;
const ATOMIC_LINK: u8 = 0x20;
const RESTART_LINK_ENABLE: u8 = 0x04;

/// Flags of the command for the link status: report changes from now on, or not.
const REPORT: u16 = 0x3;
const REPORT_ENABLE: u16 = 0x3;
const REPORT_DISABLE: u16 = 0x2;
/// In the mask of events: changes of the link are not reported.
const MASK_UPDOWN: u16 = 0x2;

// Link status
const INFO_UP: u8 = 0x01;
const INFO_UP_PORT: u8 = 0x20;
const INFO_MEDIA: u8 = 0x40;
const INFO_SIGNAL: u8 = 0x80;
const NEGOTIATED: u8 = 0x01;
const NEGOTIATED_PAUSE_TX: u8 = 0x20;
const NEGOTIATED_PAUSE_RX: u8 = 0x40;
const QUALIFIED_MODULE: u8 = 0x80;
const CONFIG_CRC: u8 = 0x04;

/// Settings of command 0601h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Config {
    /// PHY types and speeds that are allowed.
    types: u32,
    speeds: u8,
    abilities: u8,
}

impl Config {
    const INITIAL: Self = Self {
        types: PHY_TYPES,
        speeds: SPEED_10G,
        abilities: ENABLE_LINK,
    };

    /// Without a type of the module, or a speed, there is no link.
    fn has_link(self) -> bool {
        self.types != 0 && self.speeds != 0 && self.abilities & ENABLE_LINK != 0
    }
}

/// State of the link.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    cable: bool,
    /// The last settings, and the active ones.
    requested: Config,
    config: Config,
    loopback: bool,
    /// End of a link restart.
    restarted: Option<Instant>,
    /// The restart ended, but is not reported yet.
    back: bool,
    /// The next change is reported.
    reports: bool,
    mask: u16,
    frame_max: u16,
    /// The last reported state.
    reported_up: bool,
}

impl Link {
    /// After power on.
    pub fn new(cable: bool) -> Self {
        Self {
            cable,
            requested: Config::INITIAL,
            config: Config::INITIAL,
            loopback: false,
            restarted: None,
            back: false,
            reports: false,
            mask: 0,
            frame_max: FRAME_MAX,
            reported_up: cable,
        }
    }

    /// Reset of the function: the port keeps its link.
    pub fn reset_function(&mut self) {
        *self = Self {
            requested: self.requested,
            config: self.config,
            ..Self::new(self.cable)
        };
    }

    /// The cable is plugged in, or out.
    pub fn plug(&mut self, cable: bool) {
        self.cable = cable;
    }

    /// Whether the cable is plugged in.
    pub fn plugged(&self) -> bool {
        self.cable
    }

    /// Whether frames can be sent and received.
    pub fn up(&self) -> bool {
        self.loopback || self.cable && self.config.has_link()
    }

    /// When the restart ends.
    pub fn due(&self) -> Option<Instant> {
        self.restarted
    }

    /// Ends a restart that is due.
    pub fn run(&mut self, now: Instant) {
        if self.restarted.is_some_and(|due| due <= now) {
            self.restarted = None;
            self.back = true;
        }
    }

    /// Activates the settings.
    fn apply(&mut self, now: Instant) {
        self.config = self.requested;
        self.restarted = Some(now + RESTART);
    }

    /// Sent frames are received.
    pub fn loopback(&self) -> bool {
        self.loopback
    }

    /// The port sends pause frames.
    pub fn sends_pause(&self) -> bool {
        self.config.abilities & PAUSE_TX != 0
    }

    /// The port obeys pause frames.
    pub fn heeds_pause(&self) -> bool {
        self.config.abilities & PAUSE_RX != 0
    }

    /// Maximum frame length with CRC.
    pub fn frame_max(&self) -> usize {
        usize::from(self.frame_max)
    }

    /// The pending event after a change of the link or a restart. There is no other event
    /// before the driver reads the status again.
    pub fn event(&mut self) -> Option<Command> {
        let changed = std::mem::take(&mut self.back) || self.up() != self.reported_up;
        if !changed || !self.reports || self.mask & MASK_UPDOWN != 0 {
            return None;
        }
        let mut event = Command {
            opcode: LINK_STATUS,
            ..Command::default()
        };
        self.show(&mut event.params);
        self.reports = false;
        Some(event)
    }

    fn show(&mut self, params: &mut [u8; 16]) {
        let up = self.up();
        self.reported_up = up;
        params.fill(0);
        params.put16(0, u16::from(self.reports));
        params[2] = PHY_TYPE;
        params[4] = INFO_MEDIA;
        params[5] = QUALIFIED_MODULE;
        if up {
            params[3] = SPEED_10G;
            params[4] |= INFO_UP | INFO_UP_PORT | INFO_SIGNAL;
            params[5] |= NEGOTIATED;
            if self.sends_pause() {
                params[5] |= NEGOTIATED_PAUSE_TX;
            }
            if self.heeds_pause() {
                params[5] |= NEGOTIATED_PAUSE_RX;
            }
        }
        params[7] = u8::from(self.loopback);
        params.put16(8, self.frame_max);
        params[10] = CONFIG_CRC;
        params.put32(11, PHY_TYPES);
    }

    /// Get link status (0607h).
    pub fn status(&mut self, command: &mut Command) -> Answer {
        match command.params.get16(0) & REPORT {
            REPORT_ENABLE => self.reports = true,
            REPORT_DISABLE => self.reports = false,
            _ => {}
        }
        self.show(&mut command.params);
        Ok(())
    }

    /// Get PHY abilities (0600h).
    pub fn abilities(&self, command: &mut Command) -> Answer {
        let config = if command.params[0] & INITIAL_VALUES == 0 {
            self.requested
        } else {
            Config::INITIAL
        };
        let data = command.data::<0x218>()?;
        data.fill(0);
        data.put32(0, config.types);
        data[4] = config.speeds;
        data[5] = config.abilities;
        Ok(())
    }

    /// Set PHY config (0601h).
    pub fn configure(&mut self, now: Instant, command: &Command) -> Answer {
        let abilities = command.params[5];
        self.requested = Config {
            types: command.params.get32(0) & PHY_TYPES,
            speeds: command.params[4] & SPEED_10G,
            abilities: abilities & !ATOMIC_LINK,
        };
        if abilities & ATOMIC_LINK != 0 {
            self.apply(now);
        }
        Ok(())
    }

    /// Set link and restart auto-negotiation (0605h).
    pub fn restart(&mut self, now: Instant, command: &Command) -> Answer {
        let enable = command.params[0] & RESTART_LINK_ENABLE != 0;
        let enabled = if enable { ENABLE_LINK } else { 0 };
        self.requested.abilities = self.requested.abilities & !ENABLE_LINK | enabled;
        self.apply(now);
        Ok(())
    }

    /// Set MAC config (0603h): maximum frame length; its other fields tune the line.
    pub fn configure_mac(&mut self, command: &Command) -> Answer {
        let frame_max = command.params.get16(0);
        if frame_max != 0 {
            self.frame_max = frame_max.min(FRAME_MAX);
        }
        Ok(())
    }

    /// Set event mask (0613h).
    pub fn set_mask(&mut self, command: &Command) -> Answer {
        self.mask = command.params.get16(8);
        Ok(())
    }

    /// Set loopback modes (0618h): all of them are in the MAC.
    pub fn set_loopback(&mut self, command: &Command) -> Answer {
        self.loopback = command.params.get16(0) != 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(at: usize, value: u16) -> Command {
        let mut command = Command::default();
        command.params.put16(at, value);
        command
    }

    #[test]
    fn a_change_is_reported_once() {
        let mut link = Link::new(true);
        link.plug(false);
        assert!(link.event().is_none(), "no RS");
        let mut status = command(0, REPORT_ENABLE);
        assert_eq!(link.status(&mut status), Ok(()));
        assert_eq!(status.params.get16(0), 1);
        assert_eq!((status.params[3], status.params[4]), (0, INFO_MEDIA));
        link.plug(true);
        let event = link.event().expect("event");
        assert_eq!(event.opcode, LINK_STATUS);
        assert_eq!(event.params[4] & INFO_UP, INFO_UP);
        link.plug(false);
        assert!(link.event().is_none(), "not before the status was read");
        let mut status = command(0, REPORT_ENABLE);
        assert_eq!(link.status(&mut status), Ok(()));
        assert_eq!(link.set_mask(&command(8, MASK_UPDOWN)), Ok(()));
        link.plug(true);
        assert!(link.event().is_none(), "masked");
    }

    #[test]
    fn flow_control_and_link_are_set_together() {
        let mut link = Link::new(true);
        let now = Instant::now();
        let mut config = Command::default();
        config.params.put32(0, u32::MAX);
        config.params[4] = 0xFF;
        config.params[5] = ENABLE_LINK | PAUSE_TX;
        assert_eq!(link.configure(now, &config), Ok(()));
        assert!(!link.sends_pause() && link.up());
        config.params[5] |= ATOMIC_LINK;
        assert_eq!(link.configure(now, &config), Ok(()));
        assert!(link.sends_pause() && !link.heeds_pause() && link.up());
        let mut status = command(0, REPORT_ENABLE);
        assert_eq!(link.status(&mut status), Ok(()));
        assert!(link.event().is_none());
        assert_eq!(link.due(), Some(now + RESTART));
        link.run(now + RESTART);
        assert!(link.event().is_some() && link.event().is_none());
        let mut abilities = Command {
            buffer: vec![0xFF; 0x218],
            ..Command::default()
        };
        assert_eq!(link.abilities(&mut abilities), Ok(()));
        assert_eq!(abilities.buffer.get32(0), PHY_TYPES);
        assert_eq!(abilities.buffer[4..6], [SPEED_10G, ENABLE_LINK | PAUSE_TX]);
        assert_eq!(link.restart(now, &command(0, 2)), Ok(()));
        assert!(!link.up());
        link.reset_function();
        assert!(link.sends_pause());
        assert_eq!(link.restart(now, &command(0, 6)), Ok(()));
        assert!(link.up());
    }

    #[test]
    fn without_a_phy_type_there_is_no_link() {
        let mut link = Link::new(true);
        let mut config = Command::default();
        config.params[4] = SPEED_10G;
        config.params[5] = ENABLE_LINK | ATOMIC_LINK;
        assert_eq!(link.configure(Instant::now(), &config), Ok(()));
        assert!(!link.up());
        let mut abilities = Command {
            buffer: vec![0xFF; 0x218],
            ..Command::default()
        };
        assert_eq!(link.abilities(&mut abilities), Ok(()));
        assert_eq!(abilities.buffer.get32(0), 0);
        abilities.params[0] = INITIAL_VALUES;
        assert_eq!(link.abilities(&mut abilities), Ok(()));
        assert_eq!(abilities.buffer.get32(0), PHY_TYPES);
    }

    #[test]
    fn loopback_needs_no_cable() {
        let mut link = Link::new(false);
        assert_eq!(link.set_loopback(&command(0, 1)), Ok(()));
        assert!(link.up());
        link.reset_function();
        assert!(!link.up());
    }
}
