//! The two kinds of disciplines. A FIFO's order never changes, so its port knows at the arrival when a packet will leave. In a buffered
//! discipline the order, or what stays in the backlog, can change after the arrival, so the port takes the next packet from it
//! whenever it has sent one.

use crate::{Arrival, Effects, Handle, PortState, QueueState, Queued, RawParams, Verdict};
use forebay_sampling::Rng;
use forebay_units::{QueueLen, Rate, Time};

/// What every discipline receives, and says of itself, before the first packet.
pub trait Discipline {
    /// Gets ready for a port of this rate, with a random stream of its own.
    fn start(&mut self, _rate: Rate, _rng: Rng) {}

    /// Sets what the scenario left open and depends on who may send: `senders` hosts, with full packets of `packet` bytes.
    fn set_defaults(&mut self, _senders: u64, _packet: u64) {}

    /// Whether it can set CE, with the parameters it has.
    fn marks(&self) -> bool;

    /// Whether it looks at classes of service or ranks.
    fn reads_priority(&self) -> bool {
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

    /// See [`Queue::raw_params`].
    fn raw_params(&self) -> Option<RawParams>;
}

/// A discipline that decides about a packet when it arrives, once and for all, and serves in order of arrival.
pub(crate) trait Fifo: Discipline {
    /// See [`FifoDiscipline::fast_path_limit`].
    fn fast_path_limit(&self) -> QueueState;

    /// See [`FifoDiscipline::is_step`].
    fn is_step(&self) -> bool;

    /// Decides about a packet.
    fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict;
}

/// A discipline that holds the backlog.
pub trait Buffered: Discipline {
    /// Takes in an arriving packet, or drops it, and does to the rest of the backlog what follows from the arrival. `effects`
    /// receives every mark and drop in order, those of the arriving packet too; a packet that was not dropped is in the backlog
    /// when this returns. The port has served all packets whose transmission starts before this arrival.
    fn push(&mut self, port: &PortState, packet: Queued, effects: &mut impl Effects);

    /// What `push` would decide about a packet, and this is then done, where no other packet is concerned. `None`, and nothing is changed that
    /// could be noticed, where `push` must be called next.
    fn try_push(&mut self, _port: &PortState, _packet: &Queued) -> Option<Verdict> {
        None
    }

    /// Whether there is a quick way through `try_push`.
    const HAS_FAST_PUSH: bool = false;

    /// Whether `try_push` would go that way with this packet: take it in, marked or not, and call nobody, not even for memory.
    fn takes_fast_push(&self, _port: &PortState, _packet: &Queued) -> bool {
        false
    }

    /// A packet arrives at an idle port with nothing in the backlog: what `push` would decide about it, and this is then done, as by
    /// `push` and `pop` at once. `None`, and nothing is changed, where these must be called.
    fn push_idle(&mut self, _port: &PortState, _packet: &Arrival) -> Option<Verdict> {
        None
    }

    /// A promise by which a port may leave out `push_idle`: a packet that arrives at an idle port with nothing in the backlog, and fits, is always
    /// accepted unchanged, and nothing that is decided later depends on that call, but on what [`Buffered::add_idle`] tells.
    fn accepts_idle(&self) -> bool {
        false
    }

    /// Whether the promise is given and taken back while packets arrive, and `add_idle` is of interest.
    const IDLE_VARIES: bool = false;

    /// How long together the port was idle before packets for which `push_idle` was left out, told before the next call.
    fn add_idle(&mut self, _idle: Time) {}

    /// Takes out the packet whose transmission starts at `now`; it is in service until the next call. Packets may be dropped on
    /// the way, and the one that is returned may be marked: `effects` receives it. `None` when the backlog is empty, at first or
    /// after drops.
    fn pop(&mut self, now: Time, effects: &mut impl Effects) -> Option<Handle>;

    /// Packets in the backlog.
    fn len(&self) -> usize;

    /// Whether the backlog is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does some work with it.
    #[inline(always)]
    fn apply<W: Operation>(&mut self, apply: W) -> W::Output
    where
        Self: Sized,
    {
        apply.run(self)
    }
}

/// What meets at a port.
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

/// Something to do with a buffered discipline, compiled for each kind of them: which one it is, is asked once.
pub trait Operation {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run(self, discipline: &mut impl Buffered) -> Self::Output;
}

/// An enum over all disciplines of one kind, so that the packet path has no indirect call, and the methods that they share.
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

            fn marking_threshold(&self) -> Option<QueueState> {
                each!($name, self, d => d.marking_threshold(), $($variant)*)
            }

            fn thresholds(&self) -> Vec<(String, QueueState)> {
                each!($name, self, d => d.thresholds(), $($variant)*)
            }

            fn raw_params(&self) -> Option<RawParams> {
                each!($name, self, d => d.raw_params(), $($variant)*)
            }
        }

        disciplines!(@methods $name $($variant)*);
    };
    (@type $type:ident) => { $type };
    (@type $type:ident $pointer:ident) => { $pointer<$type> };
    (@methods FifoDiscipline $($variant:ident)*) => {
        impl FifoDiscipline {
            /// A promise by which a port may leave out `on_arrival`: any arrival that meets fewer packets than this and fewer bytes than
            /// this, and fits, is accepted unchanged, and the discipline's state does not depend on that call.
            pub fn fast_path_limit(&self) -> QueueState {
                each!(FifoDiscipline, self, d => d.fast_path_limit(), $($variant)*)
            }

            /// A second promise: any arrival that fits and meets `fast_path_limit` or more is marked if it is ECN-capable and accepted
            /// otherwise, and the discipline's state does not depend on that call either.
            pub fn is_step(&self) -> bool {
                each!(FifoDiscipline, self, d => d.is_step(), $($variant)*)
            }

            /// Decides about a packet.
            #[inline(always)]
            pub fn on_arrival(&mut self, port: &PortState, packet: &Arrival) -> Verdict {
                self.decide(&(*port, *packet))
            }

            /// As `on_arrival`, of facts that are put together for each discipline by itself: what it does not look at need not be.
            #[inline(always)]
            pub fn decide(&mut self, context: &impl ArrivalContext) -> Verdict {
                each!(FifoDiscipline, self, d => d.on_arrival(&context.port(), &context.packet()), $($variant)*)
            }
        }
    };
    (@methods BufferedDiscipline $($variant:ident)*) => {
        impl BufferedDiscipline {
            /// Does some work with whichever it is.
            #[inline(always)]
            pub fn apply<W: Operation>(&mut self, apply: W) -> W::Output {
                each!(BufferedDiscipline, self, d => d.apply(apply), $($variant)*)
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

            /// Whether the backlog is empty.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
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
    /// A FIFO discipline and its state. Which one it is, is a number of its own, which is quicker to read than what the fields leave free.
    #[repr(u8)]
    FifoDiscipline:
    drop_tail::DropTail, "Tail drop only.";
    dctcp_step::DctcpStep, "DCTCP's step.";
    red::Red in Box, "Random early detection.";
    lossy::Lossy in Box, "A FIFO on a link that loses packets.";
    protect::Protect, "Drop precedence: a reserve for high classes.";
}

disciplines! {
    /// A buffered discipline and its backlog, with a number of its own as well.
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
    pie::Pie in Box, "A FIFO under PIE.";
}

/// The queue of a port, as configured: a discipline in its initial state.
#[derive(Debug, Clone, PartialEq)]
pub enum Queue {
    /// In order of arrival.
    Fifo(FifoDiscipline),
    /// In an order, or with a backlog, of its own.
    Buffered(BufferedDiscipline),
}

impl Queue {
    /// Gets ready for a port of this rate, with a random stream of its own.
    pub fn start(&mut self, rate: Rate, rng: Rng) {
        match self {
            Queue::Fifo(d) => d.start(rate, rng),
            Queue::Buffered(d) => d.start(rate, rng),
        }
    }

    /// Sets what the scenario left open and depends on who may send: `senders` hosts, with full packets of `packet` bytes.
    pub fn set_defaults(&mut self, senders: u64, packet: u64) {
        match self {
            Queue::Fifo(d) => d.set_defaults(senders, packet),
            Queue::Buffered(d) => d.set_defaults(senders, packet),
        }
    }

    /// Whether it can set CE, with the parameters it has.
    pub fn marks(&self) -> bool {
        match self {
            Queue::Fifo(d) => d.marks(),
            Queue::Buffered(d) => d.marks(),
        }
    }

    /// Whether it loses packets whatever happens: what it drops early is not meant as a signal.
    pub fn is_lossy(&self) -> bool {
        matches!(self, Queue::Fifo(FifoDiscipline::Lossy(_)))
    }

    /// Whether it looks at classes of service or ranks.
    pub fn reads_priority(&self) -> bool {
        match self {
            Queue::Fifo(d) => d.reads_priority(),
            Queue::Buffered(d) => d.reads_priority(),
        }
    }

    /// The length of the whole queue from which on it marks, where it marks by a step of that: DCTCP's K. The unit that it does not count is
    /// unlimited.
    pub fn marking_threshold(&self) -> Option<QueueState> {
        match self {
            Queue::Fifo(d) => d.marking_threshold(),
            Queue::Buffered(d) => d.marking_threshold(),
        }
        .filter(|k| *k != QueueState::UNLIMITED)
    }

    /// Lengths other than K from which on it may mark or drop early, and of what: RED's thresholds on the average, K of single queues by class.
    pub fn thresholds(&self) -> Vec<(String, QueueLen)> {
        let thresholds = match self {
            Queue::Fifo(d) => d.thresholds(),
            Queue::Buffered(d) => d.thresholds(),
        };
        // The unit that a threshold does not count is unlimited.
        let length =
            |k: QueueState| if k.packets < u32::MAX { QueueLen::Packets(k.packets.into()) } else { QueueLen::Bytes(k.bytes) };
        thresholds.into_iter().map(|(name, k)| (name, length(k))).collect()
    }

    /// Its kind and parameters as plain numbers; `None` for one that is written in Rust only. What depends on the network must have been set
    /// with [`Queue::set_defaults`].
    pub fn raw_params(&self) -> Option<RawParams> {
        match self {
            Queue::Fifo(d) => d.raw_params(),
            Queue::Buffered(d) => d.raw_params(),
        }
    }
}

/// The plainest: it drops what does not fit.
impl Default for FifoDiscipline {
    fn default() -> FifoDiscipline {
        FifoDiscipline::DropTail(crate::DropTail)
    }
}

#[cfg(test)]
#[path = "discipline_tests.rs"]
mod tests;
