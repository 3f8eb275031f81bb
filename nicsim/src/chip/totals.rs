// SPDX-License-Identifier: GPL-2.0
//! Counters of a chip since start, in addition to registers that the guest can clear.

/// Declares `Totals`, a structure of counters with a list of their names and values.
macro_rules! totals {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Totals since start, never cleared.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Totals { $($(#[$doc])* pub $name: u64,)* }

        impl Totals {
            /// Names and values.
            pub fn list(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

pub(crate) use totals;
