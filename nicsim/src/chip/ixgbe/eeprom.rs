// SPDX-License-Identifier: GPL-2.0
//! The part of the EEPROM image that drivers read (data sheet 6), and EERD.

const WORDS: usize = 0x800;
/// Sum of the words 0 to 0x3F (6.3.2.14).
const CHECKSUM: u16 = 0xBABA;
const ABSENT: u16 = 0xFFFF;
const DONE: u32 = 1 << 1;

/// Words that are neither absent nor zero: index and value.
#[rustfmt::skip]
const CONTENT: &[(usize, u16)] = &[
    (0x15, 0xE666), (0x16, 0x0100), // board assembly number E66601-000
    (0x2C, 0x0082),                 // device capabilities: FCoE fused off
    (0x2D, 0x1234), (0x2E, 0x8000), // version of the image, 0x80001234
];
/// Pointers to sections that this image does not have.
const POINTERS: &[usize] = &[
    3, 4, 5, 6, 7, 8, 9, 0xA, 0xB, 0xC, 0xD, 0xE, 0xF, 0x17, 0x1B, 0x27, 0x28,
];

/// 16-bit words by their address.
pub struct Eeprom(Vec<u16>);

impl Eeprom {
    /// The image, with a good checksum.
    pub fn new() -> Self {
        let mut words = vec![ABSENT; WORDS];
        words[..0x40].fill(0);
        for pointer in POINTERS {
            words[*pointer] = ABSENT;
        }
        for (index, value) in CONTENT {
            words[*index] = *value;
        }
        let sum = words[..0x3F]
            .iter()
            .fold(0u16, |sum, word| sum.wrapping_add(*word));
        words[0x3F] = CHECKSUM.wrapping_sub(sum);
        Self(words)
    }

    /// Value of EERD after a write of `command`: the word and the done bit (8.2.3.2.2).
    pub fn read(&self, command: u32) -> u32 {
        let address = command >> 2 & 0x3FFF;
        let word = self.0.get(address as usize).copied().unwrap_or(ABSENT);
        u32::from(word) << 16 | command & 0xFFFC | DONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_and_read() {
        let eeprom = Eeprom::new();
        let sum = (0..0x40u32)
            .map(|address| (eeprom.read(address << 2 | 1) >> 16) as u16)
            .fold(0u16, |sum, word| sum.wrapping_add(word));
        assert_eq!(sum, CHECKSUM);
        assert_eq!(eeprom.read(0x15 << 2 | 1), 0xE666_0056);
        assert_eq!(eeprom.read(u32::MAX) >> 16, 0xFFFF);
    }
}
