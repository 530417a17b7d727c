//! What a message waited for: its time divided into what held it up, exactly where the world knows it.
//!
//! The time of a message runs from the moment when the application handed over its first byte until the receiver had the last one in order
//! (or until the run ended). It is divided in this order, and no part of it is counted twice:
//!
//! 1. **behind**: until the message before it on the same connection was delivered.
//! 2. **Stalls** that a timer ended, each as long as the timer had run, but not longer than the sender had been silent and not from before
//!    the message: the retransmission timer (`rto`), the tail loss probe (`tlp`), the timer of the SYN (`syn`). And the delayed-ACK timer
//!    of the receiver (`delayed-ack`), from the last segment's arrival, where the sender had sent nothing since and had more to send, but no
//!    window for it.
//!    A sender that was silent when the run ended, for longer than the queues on its way and back can have held what it sent, waited for the
//!    timer that had not run out yet.
//! 3. **What nothing can save**: the ideal time (`ideal`), for the first message of a connection with its handshake.
//! 4. **The rest** went by in round trips. Of one round trip the part beyond the empty path, its mean over the message, was spent in queues.
//!    (A message that fitted into the window when it was written, and of which nothing was sent twice, took one round trip, all of whose
//!    delay is queues.) Once this delays the message itself: `host-queue` or `switch-queue`. What is then left is time in which its window, round trip for
//!    round trip, let no more leave: in the part in which the packets of a window stood in queues it is the link that had no more for it
//!    (`share`), in the other part the window was too small for the empty path (`window`: congestion or receive window, or a pacing rate).
//!    Queues in the host's own interface are the sender's own doing, so that all time in them is `host-queue`. The queue is that of the port
//!    on the way at which a packet spends most time, on average after the warm-up.
//!
//! The cause of a message is the largest of these parts; of equal ones the first in the order of [`Cause`].

use forebay_types::PortId;

/// The worlds that see what messages wait for, by their names in results; those of early versions name none.
pub const SEEN_IN: [&str; 2] = ["sim", ""];

/// What a message waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The retransmission timer.
    Timeout,
    /// The tail loss probe.
    Probe,
    /// The timer of a lost SYN, or of its lost answer.
    Syn,
    /// The receiver's delayed-ACK timer.
    DelayedAck,
    /// The queue of the sending host's own interface.
    HostQueue,
    /// The queue of a switch port.
    SwitchQueue,
    /// Its share of a link that others used as well.
    Share,
    /// The window or the pacing rate of its sender, or the receiver's window.
    Window,
    /// Earlier messages of its connection.
    HeadOfLine,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 9] = [
        Cause::Timeout,
        Cause::Probe,
        Cause::Syn,
        Cause::DelayedAck,
        Cause::HostQueue,
        Cause::SwitchQueue,
        Cause::Share,
        Cause::Window,
        Cause::HeadOfLine,
    ];

    /// Name in the results.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Timeout => "rto",
            Cause::Probe => "tlp",
            Cause::Syn => "syn",
            Cause::DelayedAck => "delayed-ack",
            Cause::HostQueue => "host-queue",
            Cause::SwitchQueue => "switch-queue",
            Cause::Share => "share",
            Cause::Window => "window",
            Cause::HeadOfLine => "head-of-line",
        }
    }

    /// The one of this name.
    pub fn of(name: &str) -> Option<Cause> {
        Cause::ALL.into_iter().find(|c| c.name() == name)
    }

    /// Name in a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Cause::Timeout => "retransmission timeout",
            Cause::Probe => "tail loss probe",
            Cause::Syn => "SYN retransmission timeout",
            Cause::DelayedAck => "delayed ACK",
            Cause::HostQueue => "queue of the sending host",
            Cause::SwitchQueue => "switch queue",
            Cause::Share => "bandwidth share",
            Cause::Window => "congestion or receive window, or pacing",
            Cause::HeadOfLine => "earlier messages of the connection",
        }
    }
}

/// What held a message up until something rare happened, ps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Silence that the retransmission timer ended.
    pub timeout: u64,
    /// Silence that the tail loss probe ended.
    pub probe: u64,
    /// Waiting for the answer to a SYN that was sent again.
    pub syn: u64,
    /// ACKs that the receiver held back while the sender had no window left.
    pub delayed_ack: u64,
    /// Until the message before it on the connection was delivered.
    pub behind: u64,
}

/// What a world knows about the time of a message, ps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Course {
    /// From its start to its last byte, or to the end of the run.
    pub took: u64,
    /// What ended at a moment that is known.
    pub stalls: Stalls,
    /// Its ideal time, with the handshake where it had one.
    pub ideal: u64,
    /// The round trip of a full segment and its ACK on the empty path.
    pub empty_rtt: u64,
    /// Mean round trip, without what the receiver held ACKs back; `None` without a sample.
    pub rtt: Option<u64>,
    /// It fitted into the window when it was written, and nothing was sent twice: its window never held it up.
    pub at_once: bool,
}

/// The largest part of a message's time beyond the ideal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// What for.
    pub cause: Cause,
    /// How long, ps.
    pub time_ps: u64,
    /// The port on its way that holds packets longest: see [`Waited::port`].
    pub longest: PortId,
}

impl Waited {
    /// At which port, where it waited in a queue or for its share of a link.
    pub fn port(&self) -> Option<PortId> {
        matches!(self.cause, Cause::HostQueue | Cause::SwitchQueue | Cause::Share).then_some(self.longest)
    }
}

impl Course {
    /// The parts of its time, as the head of this file says; those in queues before it is known whose they are.
    pub fn parts(&self) -> Parts {
        let s = self.stalls;
        let mut left = self.took;
        let mut take = |part: u64| {
            let part = part.min(left);
            left -= part;
            part
        };
        let behind = take(s.behind);
        let (timeout, probe, syn, delayed_ack) = (take(s.timeout), take(s.probe), take(s.syn), take(s.delayed_ack));
        take(self.ideal);
        // Without a sample nothing says how long a round trip took: all of the rest is taken for one, as for a message that left at once.
        let queued = self.rtt.filter(|_| !self.at_once).map_or(left, |rtt| rtt.saturating_sub(self.empty_rtt));
        let once = queued.min(left);
        let rest = left - once;
        let round = u128::from(queued) + u128::from(self.empty_rtt);
        let share = (u128::from(rest) * u128::from(queued)).checked_div(round).map_or(0, |share| share as u64);
        let window = rest - share;
        let of = [
            (Cause::Timeout, timeout),
            (Cause::Probe, probe),
            (Cause::Syn, syn),
            (Cause::DelayedAck, delayed_ack),
            (Cause::Window, window),
            (Cause::HeadOfLine, behind),
        ];
        // Of equal ones the first.
        let largest = of.iter().fold(of[0], |largest, part| if part.1 > largest.1 { *part } else { largest });
        Parts { once, share, largest }
    }
}

/// The parts of a message's time, as far as they can decide what it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// In queues, of one round trip.
    pub once: u64,
    /// For its share of the link.
    pub share: u64,
    /// The largest part that is none of these.
    pub largest: (Cause, u64),
}

impl Parts {
    /// What it waited for longest; `None` for a message that lost no time. `port` is the one on its way that holds packets longest, and
    /// whether that is the sender's own interface.
    pub fn waited(&self, port: PortId, own: bool) -> Option<Waited> {
        let queues = if own {
            [(Cause::HostQueue, self.once + self.share), (Cause::HostQueue, 0)]
        } else {
            [(Cause::SwitchQueue, self.once), (Cause::Share, self.share)]
        };
        // Of equal ones the first cause.
        let or = |a: (Cause, u64), b: (Cause, u64)| if (b.1, a.0) > (a.1, b.0) { b } else { a };
        let (cause, time_ps) = or(or(self.largest, queues[0]), queues[1]);
        (time_ps > 0).then_some(Waited { cause, time_ps, longest: port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;
    const PORT: PortId = PortId::new(3);

    #[test]
    fn names_lead_back() {
        assert!(Cause::ALL.iter().all(|c| Cause::of(c.name()) == Some(*c)));
        assert_eq!(Cause::of("rtos"), None);
    }

    #[test]
    fn a_stall_is_what_a_message_waited_for_when_nothing_else_took_as_long() {
        let stalls = Stalls { timeout: 200 * MS, probe: 2 * MS, syn: 0, delayed_ack: 40 * MS, behind: 10 * MS };
        let c = Course { took: 300 * MS, stalls, ideal: 8 * MS, empty_rtt: MS, rtt: Some(4 * MS), at_once: false };
        let parts = c.parts();
        assert_eq!(parts.waited(PORT, false), Some(Waited { cause: Cause::Timeout, time_ps: 200 * MS, longest: PORT }));
        // 40 ms are left: 3 ms in the queue once, of the other 37 three quarters behind others and one on the empty path.
        assert_eq!((parts.once, parts.share), (3 * MS, 37 * MS * 3 / 4));
    }

    #[test]
    fn stalls_that_overlap_are_no_longer_than_the_message() {
        let stalls = Stalls { timeout: 200 * MS, delayed_ack: 400 * MS, ..Stalls::default() };
        let parts = Course { took: 210 * MS, stalls, ideal: 5 * MS, ..Course::default() }.parts();
        assert_eq!(parts, Parts { once: 0, share: 0, largest: (Cause::Timeout, 200 * MS) });
    }

    #[test]
    fn a_message_on_an_empty_path_waits_for_its_window_or_for_nothing() {
        let c = Course { took: 5 * MS, ideal: 5 * MS, empty_rtt: MS, rtt: Some(MS), ..Course::default() };
        assert_eq!(c.parts().waited(PORT, false), None);
        let queued = Course { took: 9 * MS, at_once: true, ..c };
        assert_eq!(
            queued.parts().waited(PORT, false),
            Some(Waited { cause: Cause::SwitchQueue, time_ps: 4 * MS, longest: PORT })
        );
        let slow = Course { took: 9 * MS, ..c };
        assert_eq!(slow.parts().waited(PORT, false), Some(Waited { cause: Cause::Window, time_ps: 4 * MS, longest: PORT }));
    }

    #[test]
    fn time_in_the_own_interface_is_the_hosts() {
        let c = Course { took: 50 * MS, ideal: MS, empty_rtt: MS, rtt: Some(30 * MS), ..Course::default() };
        let parts = c.parts();
        let w = |own| parts.waited(PORT, own).unwrap();
        assert_eq!((w(true).cause, w(true).time_ps), (Cause::HostQueue, parts.once + parts.share));
        assert_eq!((w(false).cause, w(false).port()), (Cause::SwitchQueue, Some(PORT)));
    }
}
