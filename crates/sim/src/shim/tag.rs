//! Shims that tag packets at the sender: the hooks they have, the list of them, and what they share: which message a byte belongs to, and
//! the `win` field of its packet. `tcp/sender/tagged.rs` is where the sender calls the hooks that are about more than a tag.

use super::{ShimConfig, ShimEntry};
use crate::net::packet::service;
use forebay_units::Time;
use std::collections::VecDeque;

/// A message of the application as a stretch of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Stream offset of its first byte.
    pub begin: u64,
    /// Stream offset behind its last byte.
    pub end: u64,
}

/// A segment about to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Stream offset of its first byte.
    pub offset: u64,
    /// Oldest unacknowledged offset.
    pub una: u64,
    /// Highest offset sent so far, this segment not included.
    pub high: u64,
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// Whether it is a retransmission.
    pub again: bool,
}

/// The congestion window at the start of a message, in segments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageStart {
    /// Stream offset of the message's first byte, which is about to be sent for the first time.
    pub offset: u64,
    /// Congestion window, without the inflation of fast recovery.
    pub cwnd: f64,
    /// Whether this is the connection's first message and the window is still the initial one.
    pub initial: bool,
}

/// What a shim makes of the window at the start of a message, in segments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Restart {
    /// The new congestion window.
    pub cwnd: f64,
    /// The slow start threshold may not be above this; `None`: it stays as it is.
    pub ssthresh_limit: Option<f64>,
}

/// A shim that tags the packets of one sender. To add one: implement this in a file of its own, and add a line to the list below.
pub trait TagShim: std::fmt::Debug + Clone {
    /// Its parameters, from the registry entry.
    type Config: std::fmt::Debug + Clone + PartialEq;

    /// Whether packets without data (SYN, ACK, FIN) are of the most urgent class, in both directions.
    const URGENT_CONTROL: bool;

    /// The state of a new connection; `delayed_acks` says whether the peer delays ACKs.
    fn new(c: &Self::Config, delayed_acks: bool) -> Self;

    /// Class of the sender's own packets without data: SYN, FIN, and ACKs in the data direction.
    fn control(&self) -> u8 {
        if Self::URGENT_CONTROL { URGENT } else { 0 }
    }

    /// Tag of a data segment of message `m`; see [`service`].
    fn tag(&self, m: &Message, s: &Segment) -> u16;

    /// Bytes from stream offset `offset` to the next place where a segment has to end; `u64::MAX`: it may end anywhere.
    fn cut(&self, _messages: &Messages, _offset: u64, _mss: u64) -> u64 {
        u64::MAX
    }

    /// Called immediately before new data is sent: if a message starts there, the shim may set the window for it.
    fn message_start(&mut self, _messages: &Messages, _at: &MessageStart) -> Option<Restart> {
        None
    }

    /// Called at the duplicate ACK that would start a fast retransmission, when everything up to `high` has been sent: how long to wait for
    /// an ACK that makes it superfluous.
    fn fast_retransmit_wait(&self, _messages: &Messages, _high: u64) -> Option<Time> {
        None
    }
}

/// The one list of the shims of this place: what a transport is configured with, and the state of a connection.
macro_rules! tag_shims {
    ($($name:ident: $module:ident::$shim:ident),+ $(,)?) => {
        /// A shim that tags packets, and its parameters, as configured.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Config {
            $(#[doc = concat!("See `shim/", stringify!($module), "`.")] $name(<super::$module::$shim as TagShim>::Config)),+
        }

        impl Config {
            pub(super) fn entry(&self) -> &'static ShimEntry {
                match self {
                    $(Config::$name(_) => &super::$module::ENTRY),+
                }
            }

            fn urgent_control(&self) -> bool {
                match self {
                    $(Config::$name(_) => <super::$module::$shim as TagShim>::URGENT_CONTROL),+
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

/// The messages of a connection that are not wholly acknowledged, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Messages(VecDeque<Message>);

impl Messages {
    /// The message that `offset` belongs to, or for a FIN the last one. `None` if that is acknowledged.
    pub fn at(&self, offset: u64) -> Option<Message> {
        let behind = self.0.partition_point(|m| m.begin <= offset);
        behind.checked_sub(1).map(|i| self.0[i])
    }

    /// Appends the message that the application has just written.
    pub fn push(&mut self, message: Message) {
        self.0.push_back(message);
    }

    fn forget(&mut self, una: u64) {
        while self.0.front().is_some_and(|m| m.end <= una) {
            self.0.pop_front();
        }
    }
}

/// Tags the packets of one connection.
#[derive(Debug, Clone)]
pub struct Tagger {
    state: State,
    /// Tag of packets without data.
    control: u16,
    messages: Messages,
}

/// The most urgent class of service.
const URGENT: u8 = 7;

impl Tagger {
    /// The tagger among `shims`, boxed: connections of other transports carry no more than a null pointer. `delayed_acks` says whether the
    /// peer delays ACKs.
    pub fn new(shims: &[ShimConfig], delayed_acks: bool) -> Option<Box<Tagger>> {
        let c = configured(shims)?;
        let state = c.start(delayed_acks);
        let control = service(each!(&state, t => t.control()), 0);
        Some(Box::new(Tagger { state, control, messages: Messages::default() }))
    }

    /// The application wrote the message `begin..end`; everything before `una` is acknowledged.
    pub fn write(&mut self, begin: u64, end: u64, una: u64) {
        self.messages.forget(una);
        self.messages.push(Message { begin, end });
    }

    /// The stream ends at `end`, before the end of its last message.
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

    /// Bytes from `offset` to the next place where a segment has to end.
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

fn configured(shims: &[ShimConfig]) -> Option<&Config> {
    shims.iter().find_map(|s| if let ShimConfig::Tag(c) = s { Some(c) } else { None })
}

/// Whether receivers of a transport with `shims` send their ACKs in the most urgent class.
pub fn urgent_acks(shims: &[ShimConfig]) -> bool {
    configured(shims).is_some_and(Config::urgent_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::rank_of;

    fn tagger(c: Config) -> Box<Tagger> {
        Tagger::new(&[ShimConfig::Tag(c)], false).unwrap()
    }

    #[test]
    fn ranks_fall_towards_the_end_of_each_message() {
        let mut t = tagger(Config::Srpt(crate::shim::srpt::Config));
        t.write(0, 5_000, 0);
        t.write(5_000, 7_500, 0);
        let mut rank = |offset| t.data(&Segment { offset, una: 0, high: offset, mss: 1_000, again: false });
        let ranks: Vec<u16> = [0, 1_000, 4_000, 5_000, 6_000, 7_000].map(&mut rank).to_vec();
        assert_eq!(ranks, [5, 4, 1, 3, 2, 1]);
    }

    #[test]
    fn acknowledged_messages_are_forgotten() {
        let mut t = tagger(Config::Srpt(crate::shim::srpt::Config));
        for i in 0..1_000 {
            t.write(i * 10, i * 10 + 10, (i * 10).saturating_sub(20));
        }
        assert!(t.messages.0.len() <= 4);
        // A FIN behind the last message, all acknowledged or not.
        let mut fin = |una| t.data(&Segment { offset: 10_000, una, high: 10_000, mss: 1_000, again: false });
        assert_eq!(fin(9_995), 0);
        assert_eq!(fin(10_000), service(7, 0));
    }

    #[test]
    fn endless_messages_are_the_least_urgent() {
        let mut t = tagger(Config::Srpt(crate::shim::srpt::Config));
        t.write(0, u64::MAX / 4, 0);
        let s = Segment { offset: 1 << 40, una: 0, high: 1 << 40, mss: 1_460, again: false };
        assert_eq!(t.data(&s), rank_of(u64::MAX));
        t.stop((1 << 40) + 1_460);
        assert_eq!(t.data(&s), 1);
    }
}
