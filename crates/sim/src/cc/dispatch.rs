//! Static dispatch over the congestion controls: one enum, made from one list. An ACK needs no indirect call, and each connection
//! has a bit for each optional hook.

use super::congestion_control::{Ack, CongestionControl, Opportunity, Outcome, Path, Window};
use forebay_types::{Rate, TimeOrNever};

/// The optional hooks of a congestion control, one bit each, because every connection has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hooks(u8);

impl Hooks {
    /// Hooks of the congestion control `L`; `recorded`: it is listed `in WithSentRecords`.
    pub(super) const fn of<L: CongestionControl>(recorded: bool) -> Hooks {
        assert!(recorded == (size_of::<L::Sent>() > 0), "only congestion controls with records are listed `in WithSentRecords`");
        let has = [
            L::IN_ACK_EVENT,
            L::PKTS_ACKED,
            L::GATE.is_some(),
            L::PATH.is_some(),
            L::OWN_SLOW_START,
            recorded,
            L::CONTROL.is_some(),
            L::PACING_RATE.is_some(),
        ];
        let (mut bits, mut bit) = (0, 0);
        while bit < has.len() {
            bits |= (has[bit] as u8) << bit;
            bit += 1;
        }
        Hooks(bits)
    }

    /// [`CongestionControl::in_ack_event`].
    #[inline(always)]
    pub fn in_ack_event(self) -> bool {
        self.0 & 1 == 1
    }

    /// [`CongestionControl::pkts_acked`].
    #[inline(always)]
    pub fn pkts_acked(self) -> bool {
        self.0 >> 1 & 1 == 1
    }

    /// [`CongestionControl::GATE`].
    #[inline(always)]
    pub fn gate(self) -> bool {
        self.0 >> 2 & 1 == 1
    }

    /// [`CongestionControl::PATH`].
    #[inline(always)]
    pub fn path(self) -> bool {
        self.0 >> 3 & 1 == 1
    }

    /// [`CongestionControl::OWN_SLOW_START`].
    #[inline(always)]
    pub fn own_slow_start(self) -> bool {
        self.0 >> 4 & 1 == 1
    }

    /// Returns true if [`CongestionControl::Sent`] is not empty.
    #[inline(always)]
    pub fn records(self) -> bool {
        self.0 >> 5 & 1 == 1
    }

    /// [`CongestionControl::CONTROL`].
    #[inline(always)]
    pub fn control(self) -> bool {
        self.0 >> 6 & 1 == 1
    }

    /// [`CongestionControl::PACING_RATE`].
    #[inline(always)]
    pub fn paces(self) -> bool {
        self.0 >> 7 & 1 == 1
    }
}

/// Calls hooks that are constants, where they exist.
pub(super) trait OptionalHooks: CongestionControl {
    fn path(&mut self, path: Path) {
        if let Some(hook) = Self::PATH {
            hook(self, path);
        }
    }

    /// Calls the hooks of an ACK for a congestion control without `pkts_acked`.
    #[inline(always)]
    fn fast_path_ack(&mut self, w: &mut Window, ack: &Ack, grows: bool) {
        if Self::IN_ACK_EVENT {
            self.in_ack_event(w, &{ *ack });
        }
        if grows {
            self.cong_avoid(w, &{ *ack });
        }
    }

    fn may_send(&mut self, w: &mut Window, at: &Opportunity) -> u64 {
        Self::GATE.map_or(u64::MAX, |gate| (gate.may_send)(self, w, at))
    }

    fn sent(&mut self, from: u64, to: u64, at: &Opportunity) {
        if let Some(gate) = Self::GATE {
            (gate.sent)(self, from, to, at);
        }
    }

    fn due(&self) -> TimeOrNever {
        Self::GATE.map_or(TimeOrNever::NEVER, |gate| (gate.due)(self))
    }

    fn control(&mut self, w: &mut Window, ack: &Ack, outcome: &Outcome) {
        if let Some(hook) = Self::CONTROL {
            hook(self, w, ack, outcome);
        }
    }

    fn limits_between_writes(&self) -> bool {
        Self::LIMITS_BETWEEN_WRITES
    }

    fn marked_in_round(&self, ack: &Ack) -> Option<u16> {
        Self::MARKED_IN_ROUND.and_then(|hook| hook(self, ack))
    }

    fn pacing_rate(&self, mss: u32) -> Rate {
        Self::PACING_RATE.map_or(Rate(u64::MAX), |hook| hook(self, mss))
    }
}

impl<L: CongestionControl> OptionalHooks for L {}

/// The place of a congestion control in the enum: inline or boxed.
macro_rules! place {
    ($cc:ty) => { $cc };
    ($cc:ty, $cell:ident) => { $cell<$cc> };
}

/// True for a place in the enum that keeps records.
macro_rules! recorded {
    (WithSentRecords) => {
        true
    };
    ($($cell:ident)?) => {
        false
    };
}

/// Generates the registry and the enums from the list of congestion controls. A row is `module::Type`, and in brackets the modules whose `ENTRY`
/// names it in scenarios; none for objects of the caller. `in Box` keeps connections of others small if its state is larger than most; `in WithSentRecords` records segments.
macro_rules! congestion_controls {
    ($($(#[$doc:meta])* $module:ident::$cc:ident $(in $cell:ident)? [$($entry:ident)*],)+) => {
        $(pub use $module::$cc;)+

        /// All congestion controls, in the order of `forebay list`.
        pub const REGISTRY: &[CcEntry] = &[$($($entry::ENTRY,)*)+];

        /// A congestion control and its parameters, as configured.
        #[derive(Debug, Clone, PartialEq)]
        pub enum CcConfig {
            $($(#[$doc])* $cc($module::Config),)+
        }

        /// A congestion control and its state.
        #[derive(Debug, Clone)]
        pub enum Cc {
            $($(#[$doc])* $cc(place!($module::$cc $(, $cell)?)),)+
        }

        impl CcConfig {
            /// Creates the state of one connection.
            pub fn start(&self) -> Cc {
                match self {
                    $(CcConfig::$cc(c) => Cc::$cc($module::$cc::new(c).into()),)+
                }
            }

            /// The optional hooks.
            pub fn hooks(&self) -> Hooks {
                match self {
                    $(CcConfig::$cc(_) => const { Hooks::of::<$module::$cc>(recorded!($($cell)?)) },)+
                }
            }

            /// Returns true if it has [`CongestionControl::MARKED_IN_ROUND`].
            #[cfg(test)]
            pub fn counts_marked_rounds(&self) -> bool {
                match self {
                    $(CcConfig::$cc(_) => <$module::$cc as CongestionControl>::MARKED_IN_ROUND.is_some(),)+
                }
            }
        }

        /// Calls a hook of the congestion control in the enum.
        macro_rules! each {
            ($self:ident, $state:ident => $call:expr) => {
                match $self {
                    $(Cc::$cc($state) => $call,)+
                }
            };
        }
    };
}
