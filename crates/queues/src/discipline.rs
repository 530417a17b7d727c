//! The two kinds of disciplines. The order of a FIFO never changes, so its port computes the departure time of a packet on arrival. A buffered
//! discipline may change the order or drop packets of the backlog later, so the port takes the next packet from it after each transmission.

use crate::{Arrival, Effects, Handle, PortState, QueueState, Queued, Verdict};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use forebay_types::{QueueLen, Rate, Rng, Time};

/// Setup and properties that all disciplines have in common.
pub trait Discipline {
    /// Prepares for a port of this rate, with a random stream of its own.
    fn start(&mut self, _rate: Rate, _rng: Rng) {}

    /// Sets the defaults that depend on the network: `senders` hosts may send full packets of `packet` bytes.
    fn set_defaults(&mut self, _senders: u64, _packet: u64) {}

    /// Returns true if it can set CE with its parameters.
    fn marks(&self) -> bool;

    /// Returns true if it uses classes of service or ranks.
    fn reads_priority(&self) -> bool {
        false
    }

    /// See [`Queue::holds_departures`].
    fn holds_departures(&self) -> bool {
        false
    }

    /// See [`Queue::marking_threshold`].
    fn marking_threshold(&self) -> Option<QueueState> {
        None
    }

    /// See [`Queue::thresholds`].
    fn thresholds(&self) -> Vec<(String, QueueState)> {
        Vec::new()
    }

    /// See [`Queue::policing_rate`].
    fn policing_rate(&self) -> Option<Rate> {
        None
    }
}

/// A discipline that decides about each packet on arrival and serves in order of arrival.
pub(crate) trait Fifo: Discipline {
    /// See [`FifoDiscipline::fast_path_limit`].
    fn fast_path_limit(&self) -> QueueState;

    /// See [`FifoDiscipline::is_step`].
    fn is_step(&self) -> bool;

    /// Decides about a packet.
    fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict;
}

/// A discipline that holds the backlog.
#[expect(clippy::len_without_is_empty, reason = "ports know whether they have a backlog")]
pub trait Buffered: Discipline {
    /// Enqueues or drops an arriving packet, and marks or drops packets of the backlog as a consequence. `effects` receives every mark and drop in
    /// order, including those of the arriving packet. The port has served all packets whose transmission starts before this arrival.
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects);

    /// As `push`, where no other packet is affected: returns the decision, which has been carried out. `None`: `push` must be called next, and no
    /// visible state has changed.
    fn try_push(&mut self, _port: &PortState, _packet: &Queued) -> Option<Verdict> {
        None
    }

    /// True if `try_push` has a fast path.
    const HAS_FAST_PUSH: bool = false;

    /// Returns true if `try_push` would take its fast path: enqueue the packet, marked or not, without allocating memory.
    fn takes_fast_push(&self, _port: &PortState, _packet: &Queued) -> bool {
        false
    }

    /// As `push` followed by `pop`, for a packet that arrives at an idle port with an empty backlog. `None`: these must be called, and nothing has
    /// changed.
    fn push_idle(&mut self, _port: &PortState, _packet: &Arrival) -> Option<Verdict> {
        None
    }

    /// Returns true if a port may omit `push_idle`: every fitting packet that arrives at an idle port with an empty backlog is accepted unchanged,
    /// and later decisions depend only on the idle time of [`Buffered::add_idle`].
    fn accepts_idle(&self) -> bool {
        false
    }

    /// True if `accepts_idle` changes during a run, so that `add_idle` must be called.
    const IDLE_VARIES: bool = false;

    /// Adds the time for which the port was idle before packets whose `push_idle` was omitted. Called before the next other call.
    fn add_idle(&mut self, _idle: Time) {}

    /// Notes that the sender of `flow` holds a packet until its departure time, which is later than `now`. It passes the packet on at that time, with
    /// [`Arrival::RELEASED`]. See [`Discipline::holds_departures`].
    fn hold(&mut self, _flow: u64, _now: Time) {}

    /// Removes the packet whose transmission starts at `now`; it is in service until the next call. Other packets may be dropped, and the returned
    /// one may be marked: `effects` receives both. `None` when the backlog is empty, before or after drops.
    fn pop(&mut self, now: Time, effects: &mut impl Effects) -> Option<Handle>;

    /// Returns true if a packet that arrives at an empty queue does not enter it, even if it must wait for the transmit ring of its host
    /// (`TCQ_F_CAN_BYPASS`).
    fn can_bypass(&self) -> bool {
        false
    }

    /// Adds a segment of `wire` bytes to the burst `handle`, the newest packet of its flow: bursts of segmentation offload are one packet. Returns
    /// false, with no change, if the discipline has no bursts.
    fn extend(&mut self, _handle: Handle, _wire: u32) -> bool {
        false
    }

    /// Packets in the backlog. A burst counts as one.
    fn len(&self) -> usize;

    /// Runs an operation on it.
    #[inline(always)]
    fn apply<O: Operation>(&mut self, operation: O) -> O::Output
    where
        Self: Sized,
    {
        operation.run(self)
    }
}

/// An arriving packet and the port, each built only if a discipline reads it.
pub trait ArrivalContext {
    /// The state of the port.
    fn port(&self) -> PortState;

    /// The arriving packet.
    fn packet(&self) -> Arrival;
}

impl ArrivalContext for (PortState, Arrival) {
    #[inline(always)]
    fn port(&self) -> PortState {
        self.0
    }

    #[inline(always)]
    fn packet(&self) -> Arrival {
        self.1
    }
}

/// An operation on a buffered discipline that is compiled for each type, so that the type is dispatched once.
pub trait Operation {
    /// Result of the operation.
    type Output;

    /// Runs it.
    fn run(self, discipline: &mut impl Buffered) -> Self::Output;
}

/// Defines an enum over all disciplines of one kind, with their common methods, so that the packet path has no indirect call.
macro_rules! disciplines {
    ($(#[$doc:meta])* $name:ident: $($module:ident::$variant:ident $(in $pointer:ident)?, $ring_buffer:literal;)*) => {
        $(pub use crate::$module::$variant;)*

        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $(#[doc = $ring_buffer] $variant(disciplines!(@type $variant $($pointer)?)),)*
        }

        impl $name {
            fn start(&mut self, rate: Rate, rng: Rng) {
                each!($name, self, d => d.start(rate, rng), $($variant)*)
            }

            fn set_defaults(&mut self, senders: u64, packet: u64) {
                each!($name, self, d => d.set_defaults(senders, packet), $($variant)*)
            }

            fn marks(&self) -> bool {
                each!($name, self, d => d.marks(), $($variant)*)
            }

            fn reads_priority(&self) -> bool {
                each!($name, self, d => d.reads_priority(), $($variant)*)
            }

            /// See [`Queue::holds_departures`].
            pub fn holds_departures(&self) -> bool {
                each!($name, self, d => d.holds_departures(), $($variant)*)
            }

            fn marking_threshold(&self) -> Option<QueueState> {
                each!($name, self, d => d.marking_threshold(), $($variant)*)
            }

            fn thresholds(&self) -> Vec<(String, QueueState)> {
                each!($name, self, d => d.thresholds(), $($variant)*)
            }

            fn policing_rate(&self) -> Option<Rate> {
                each!($name, self, d => d.policing_rate(), $($variant)*)
            }
        }

        disciplines!(@methods $name $($variant)*);
    };
    (@type $type:ident) => { $type };
    (@type $type:ident $pointer:ident) => { $pointer<$type> };
    (@methods FifoDiscipline $($variant:ident)*) => {
        impl FifoDiscipline {
            /// Queue length below which a port may omit `on_arrival`. With fewer packets and fewer bytes than this, every arriving packet that fits
            /// is accepted unchanged, and the discipline's state does not depend on the call.
            pub fn fast_path_limit(&self) -> QueueState {
                each!(FifoDiscipline, self, d => d.fast_path_limit(), $($variant)*)
            }

            /// Returns true if `on_arrival` may be omitted at `fast_path_limit` and above as well. A packet that fits is then marked if it is
            /// ECN-capable and accepted otherwise, and the discipline's state does not depend on the call.
            pub fn is_step(&self) -> bool {
                each!(FifoDiscipline, self, d => d.is_step(), $($variant)*)
            }

            /// Decides about a packet.
            #[inline(always)]
            pub fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict {
                self.decide(&(*port, *packet))
            }

            /// As `on_arrival`, with a context of which only the parts are built that the discipline reads.
            #[inline(always)]
            pub fn decide(&mut self, context: &impl ArrivalContext) -> Verdict {
                each!(FifoDiscipline, self, d => d.on_arrival(&context.port(), &context.packet()), $($variant)*)
            }
        }
    };
    (@methods BufferedDiscipline $($variant:ident)*) => {
        #[expect(clippy::len_without_is_empty, reason = "ports know whether they have a backlog")]
        impl BufferedDiscipline {
            /// Runs an operation on it.
            #[inline(always)]
            pub fn apply<O: Operation>(&mut self, operation: O) -> O::Output {
                each!(BufferedDiscipline, self, d => d.apply(operation), $($variant)*)
            }

            /// See [`Buffered::push`].
            pub fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects) {
                each!(BufferedDiscipline, self, d => d.push(port, packet, effects), $($variant)*)
            }

            /// See [`Buffered::pop`].
            pub fn pop(&mut self, now: Time, effects: &mut impl Effects) -> Option<Handle> {
                each!(BufferedDiscipline, self, d => d.pop(now, effects), $($variant)*)
            }

            /// See [`Buffered::accepts_idle`].
            pub fn accepts_idle(&self) -> bool {
                each!(BufferedDiscipline, self, d => d.accepts_idle(), $($variant)*)
            }

            /// Packets in the backlog.
            pub fn len(&self) -> usize {
                each!(BufferedDiscipline, self, d => d.len(), $($variant)*)
            }
        }
    };
}

macro_rules! each {
    ($name:ident, $self:ident, $d:ident => $call:expr, $($variant:ident)*) => {
        match $self { $($name::$variant($d) => $call,)* }
    };
}

disciplines! {
    /// A FIFO discipline and its state. `repr(u8)`: an explicit tag is faster to read than a niche in the fields.
    #[repr(u8)]
    FifoDiscipline:
    drop_tail::DropTail, "Tail drop only.";
    dctcp_step::DctcpStep, "DCTCP's step.";
    red::Red in Box, "Random early detection.";
    lossy::Lossy in Box, "A FIFO on a link that loses packets.";
    policer::Policer in Box, "A FIFO behind a token bucket.";
    protect::Protect, "Drop precedence: a reserve for high classes.";
}

disciplines! {
    /// A buffered discipline and its backlog, with an explicit tag as well.
    #[repr(u8)]
    BufferedDiscipline:
    strict_priority::StrictPriority, "Several FIFOs, the most urgent served first.";
    dwrr::Dwrr in Box, "Several FIFOs, which take turns by weight.";
    wfq::Wfq in Box, "Several FIFOs, served by weight packet by packet.";
    choke::Choke, "CHOKe, with one or more samples.";
    pushout::Pushout, "A FIFO in which a high class evicts ordinary packets.";
    pfabric::Pfabric, "By remaining size.";
    codel::Codel, "A FIFO under CoDel.";
    fq_codel::FqCodel in Box, "A queue for each flow, each under CoDel.";
    fq::Fq in Box, "A queue for each connection.";
    pie::Pie in Box, "A FIFO under PIE.";
    dualpi2::Dualpi2 in Box, "Two coupled queues, for L4S and for other traffic.";
}

/// The queue of a port, as configured: a discipline in its initial state.
#[derive(Debug, Clone, PartialEq)]
pub enum Queue {
    /// In order of arrival.
    Fifo(FifoDiscipline),
    /// In another order, or with drops from the backlog.
    Buffered(BufferedDiscipline),
}

impl Queue {
    /// Prepares for a port of this rate, with a random stream of its own.
    pub fn start(&mut self, rate: Rate, rng: Rng) {
        match self {
            Queue::Fifo(d) => d.start(rate, rng),
            Queue::Buffered(d) => d.start(rate, rng),
        }
    }

    /// Sets the defaults that depend on the network: `senders` hosts may send full packets of `packet` bytes.
    pub fn set_defaults(&mut self, senders: u64, packet: u64) {
        match self {
            Queue::Fifo(d) => d.set_defaults(senders, packet),
            Queue::Buffered(d) => d.set_defaults(senders, packet),
        }
    }

    /// Returns true if it can set CE with its parameters.
    pub fn marks(&self) -> bool {
        match self {
            Queue::Fifo(d) => d.marks(),
            Queue::Buffered(d) => d.marks(),
        }
    }

    /// Returns true if it models packet loss: its early drops are not congestion signals.
    pub fn has_random_loss(&self) -> bool {
        matches!(self, Queue::Fifo(FifoDiscipline::Lossy(_)))
    }

    /// Returns true if it uses classes of service or ranks.
    pub fn reads_priority(&self) -> bool {
        match self {
            Queue::Fifo(d) => d.reads_priority(),
            Queue::Buffered(d) => d.reads_priority(),
        }
    }

    /// Returns true if a host with this queue passes packets to it before their departure times, until which it holds them (`SK_PACING_FQ`). Else TCP
    /// itself waits.
    pub fn holds_departures(&self) -> bool {
        match self {
            Queue::Fifo(d) => d.holds_departures(),
            Queue::Buffered(d) => d.holds_departures(),
        }
    }

    /// DCTCP's K: the length of the whole queue from which on every packet is marked, for step marking. The other unit is unlimited.
    pub fn marking_threshold(&self) -> Option<QueueState> {
        match self {
            Queue::Fifo(d) => d.marking_threshold(),
            Queue::Buffered(d) => d.marking_threshold(),
        }
        .filter(|k| *k != QueueState::UNLIMITED)
    }

    /// Other lengths from which on it may mark or drop early, with names: RED's thresholds on the average, K of single queues by class.
    pub fn thresholds(&self) -> Vec<(String, QueueLen)> {
        let thresholds = match self {
            Queue::Fifo(d) => d.thresholds(),
            Queue::Buffered(d) => d.thresholds(),
        };
        // A threshold counts one unit; the other is unlimited.
        let length =
            |k: QueueState| if k.packets < u32::MAX { QueueLen::Packets(k.packets.into()) } else { QueueLen::Bytes(k.bytes) };
        thresholds.into_iter().map(|(name, k)| (name, length(k))).collect()
    }

    /// Rate above which it drops packets although the link has capacity to spare, in bytes on the wire: that of a policer.
    pub fn policing_rate(&self) -> Option<Rate> {
        match self {
            Queue::Fifo(d) => d.policing_rate(),
            Queue::Buffered(d) => d.policing_rate(),
        }
    }
}

/// Drop-tail.
impl Default for FifoDiscipline {
    fn default() -> FifoDiscipline {
        FifoDiscipline::DropTail(crate::DropTail)
    }
}

#[cfg(test)]
#[path = "discipline_tests.rs"]
mod tests;
