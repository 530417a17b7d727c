//! List of the shims that tag packets (`shim/tag.rs`), and the tagger of a sender, which writes the `win` field of its packets.

use super::tag::{Message, MessageStart, Messages, Restart, Segment, TagShim};
use crate::net::packet::service;
use forebay_types::Time;

/// Makes the configuration and the state of a connection from the list of shims.
macro_rules! tag_shims {
    ($($name:ident: $module:ident::$shim:ident),+ $(,)?) => {
        /// A shim that tags packets, and its parameters, as configured.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Config {
            $(#[doc = concat!("See `shim/", stringify!($module), "`.")] $name(<super::$module::$shim as TagShim>::Config)),+
        }

        $(impl From<<super::$module::$shim as TagShim>::Config> for Config {
            fn from(c: <super::$module::$shim as TagShim>::Config) -> Config {
                Config::$name(c)
            }
        })+

        impl Config {
            /// Name in the registry.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Config::$name(_) => super::$module::ENTRY.entry.name),+
                }
            }

            /// Returns true if receivers send their ACKs in the most urgent class.
            pub fn urgent_acks(&self) -> bool {
                match self {
                    $(Config::$name(_) => <super::$module::$shim as TagShim>::URGENT_CONTROL),+
                }
            }

            /// Returns true if tags have ranks, which take the place of the TSecr.
            pub fn has_ranks(&self) -> bool {
                match self {
                    $(Config::$name(_) => <super::$module::$shim as TagShim>::RANKS),+
                }
            }

            fn start(&self, delayed_acks: bool) -> State {
                match self {
                    $(Config::$name(c) => State::$name(<super::$module::$shim as TagShim>::new(c, delayed_acks))),+
                }
            }
        }

        /// The state of one connection.
        #[derive(Debug, Clone)]
        enum State {
            $($name(super::$module::$shim)),+
        }

        /// Forwards a hook to the shim in the enum.
        macro_rules! each {
            ($state:expr, $s:ident => $call:expr) => {
                match $state {
                    $(State::$name($s) => $call),+
                }
            };
        }
    };
}

tag_shims! {
    Pias: pias::Pias,
    Prin: prin::Prin,
    Service: service::Service,
    Srpt: srpt::Srpt,
}

/// Tags the packets of one connection.
#[derive(Debug, Clone)]
pub struct Tagger {
    state: State,
    /// Tag of packets without data.
    control: u16,
    messages: Messages,
}

impl Tagger {
    /// Creates a tagger, boxed, so that connections without one carry no more than a null pointer. `delayed_acks` is true if the peer delays ACKs.
    pub fn new(config: Option<&Config>, delayed_acks: bool) -> Option<Box<Tagger>> {
        let c = config?;
        let state = c.start(delayed_acks);
        let control = service(each!(&state, t => t.control()), 0);
        Some(Box::new(Tagger { state, control, messages: Messages::default() }))
    }

    /// Adds the message `begin..end` of the application; everything before `una` is acknowledged.
    pub fn write(&mut self, begin: u64, end: u64, una: u64) {
        self.messages.forget(una);
        self.messages.push(Message { begin, end });
    }

    /// Ends the stream at `end`, before the end of its last message.
    pub fn stop(&mut self, end: u64) {
        if let Some(m) = self.messages.0.back_mut() {
            m.end = m.end.min(end);
        }
    }

    /// The `win` field of a data segment.
    pub fn data(&mut self, s: &Segment) -> u16 {
        self.messages.forget(s.una);
        let Some(m) = self.messages.at(s.offset) else { return self.control };
        each!(&self.state, t => t.tag(&m, s))
    }

    /// The `win` field of SYNs and of ACKs in the data direction.
    pub fn control(&self) -> u16 {
        self.control
    }

    /// Bytes from `offset` to the next required segment boundary.
    pub fn cut(&self, offset: u64, mss: u64) -> u64 {
        each!(&self.state, t => t.cut(&self.messages, offset, mss))
    }

    /// See [`TagShim::message_start`].
    pub fn message_start(&mut self, at: &MessageStart) -> Option<Restart> {
        let messages = &self.messages;
        each!(&mut self.state, t => t.message_start(messages, at))
    }

    /// See [`TagShim::fast_retransmit_wait`].
    pub fn fast_retransmit_wait(&self, high: u64) -> Option<Time> {
        each!(&self.state, t => t.fast_retransmit_wait(&self.messages, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::rank_of;

    fn tagger(c: Config) -> Box<Tagger> {
        Tagger::new(Some(&c), false).unwrap()
    }

    #[test]
    fn ranks_are_remaining_sizes() {
        let mut t = tagger(Config::Srpt(crate::shim::srpt::Config));
        t.write(0, 5_000, 0);
        t.write(5_000, 7_500, 0);
        let mut rank = |(offset, una)| t.data(&Segment { offset, una, sacked: 0, high: offset, mss: 1_000, again: false });
        // All packets of a window say the same; the second message is complete until its first byte is acknowledged.
        let ranks: Vec<u16> = [(0, 0), (4_000, 0), (4_000, 3_000), (5_000, 3_000), (7_000, 3_000)].map(&mut rank).to_vec();
        assert_eq!(ranks, [5, 5, 2, 3, 3]);
        assert_eq!(rank((7_000, 6_000)), 2);
    }

    #[test]
    fn sacked_bytes_do_not_remain() {
        let mut t = tagger(Config::Srpt(crate::shim::srpt::Config));
        t.write(0, 5_000, 0);
        let segment = |high| Segment { offset: 0, una: 0, sacked: 3_000, high, mss: 1_000, again: true };
        assert_eq!(t.data(&segment(4_000)), 2);
        // Behind the message they may be those of the next one.
        t.write(5_000, 9_000, 0);
        assert_eq!(t.data(&segment(6_000)), 5);
    }

    #[test]
    fn acknowledged_messages_are_forgotten() {
        let mut t = tagger(Config::Srpt(crate::shim::srpt::Config));
        for i in 0..1_000 {
            t.write(i * 10, i * 10 + 10, (i * 10).saturating_sub(20));
        }
        assert!(t.messages.0.len() <= 4);
        // A FIN behind the last message, acknowledged or not.
        let mut fin = |una| t.data(&Segment { offset: 10_000, una, sacked: 0, high: 10_000, mss: 1_000, again: false });
        assert_eq!(fin(9_995), 1);
        assert_eq!(fin(10_000), service(7, 0));
    }

    #[test]
    fn endless_messages_are_the_least_urgent() {
        let mut t = tagger(Config::Srpt(crate::shim::srpt::Config));
        t.write(0, u64::MAX / 4, 0);
        let s = Segment { offset: 1 << 40, una: 1 << 40, sacked: 0, high: 1 << 40, mss: 1_460, again: false };
        assert_eq!(t.data(&s), rank_of(u64::MAX));
        t.stop((1 << 40) + 1_460);
        assert_eq!(t.data(&s), 1);
    }
}
