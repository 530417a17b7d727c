//! Delay attribution: the time of a message divided into its causes, exactly if the backend measures them.
//!
//! The time of a message runs from the moment when the application hands over its first byte until the receiver has the last one in order, or until
//! the end of the run. It is divided in this order, and no part is counted twice:
//!
//! 1. **Stalls** that a timer ended: the retransmission timer (`rto`), the tail loss probe (`tlp`), the timer of the SYN (`syn`), RACK's reordering
//!    timer (part of `recovery`). A stall is as long as the timer ran, but not longer than the sender was silent, and not from before the message. The receiver's delayed-ACK timer (`delayed-ack`)
//!    counts from the last segment's arrival, and only while the sender was silent, had more to send, and had no window. A sender that was silent at
//!    the end of the run waited for a running timer, if it was silent for longer than queues could have held its packets.
//! 2. **Ideal time** (`ideal`), for the first message of a connection with its handshake.
//! 3. **Head-of-line blocking** (`head-of-line`): the time until the previous message of the connection was delivered, less the ideal time. Messages
//!    overlap on the path: one that takes its ideal time was not delayed, although an earlier one was still under way when it was written.
//! 4. **The rest** is round trips. The part of a round trip beyond the empty path, its mean over the message, was spent in queues. (A message that
//!    fitted into the window when it was written, and of which nothing was retransmitted, took one round trip, all of whose delay is queues.) This
//!    part, less the time that the interrupts of the hosts can have added (`interrupts`: receive offload with interrupt moderation), delays the
//!    message itself once: `host-queue` or `switch-queue`. In the remaining time the window limited sending, round trip by round
//!    trip. The share in which the packets of a window were in queues is `share`: the link had no more capacity for the message. The other part is
//!    `window`: the congestion window, receive window or pacing rate was too small for the empty path. A link that carried less than that share in
//!    the whole run bounds it: a queue that a window filled once is not the share of others. While that link is full, the interrupts of a round trip
//!    delay nothing, because other packets use the link, and count as `share`. The part of `window` that its receiver or send buffer
//!    does not explain is `recovery` for a message with retransmissions: they took round trips, and the window that the losses left took more. All
//!    time in the host's own interface is `host-queue`. The queue is that of the port on the path at which a packet spends most time, on average after the warm-up.
//!
//! The cause of a message is the largest of these parts; of equal ones the first in the order of [`Cause`].

use forebay_types::PortId;

/// Backends that attribute delays, by their names in results; early results have an empty name.
pub const WORLDS_WITH_CAUSES: [&str; 2] = ["sim", ""];

/// Causes of delay.
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
    /// Retransmissions without a timeout or probe, the wait for RACK's reordering timer, and the window that losses left.
    Recovery,
    /// The queue of the sending host's own interface.
    HostQueue,
    /// The queue of a switch port.
    SwitchQueue,
    /// Its share of a link with other traffic.
    Share,
    /// The window or the pacing rate of its sender, or the receiver's window.
    Window,
    /// Earlier messages of its connection.
    HeadOfLine,
    /// Interrupt moderation of the hosts that receive its packets.
    Interrupts,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 11] = [
        Cause::Timeout,
        Cause::Probe,
        Cause::Syn,
        Cause::DelayedAck,
        Cause::Recovery,
        Cause::HostQueue,
        Cause::SwitchQueue,
        Cause::Share,
        Cause::Window,
        Cause::HeadOfLine,
        Cause::Interrupts,
    ];

    /// Name in the results.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Timeout => "rto",
            Cause::Probe => "tlp",
            Cause::Syn => "syn",
            Cause::DelayedAck => "delayed-ack",
            Cause::Recovery => "recovery",
            Cause::HostQueue => "host-queue",
            Cause::SwitchQueue => "switch-queue",
            Cause::Share => "share",
            Cause::Window => "window",
            Cause::HeadOfLine => "head-of-line",
            Cause::Interrupts => "interrupts",
        }
    }

    /// Cause called `name`.
    pub fn of(name: &str) -> Option<Cause> {
        Cause::ALL.into_iter().find(|c| c.name() == name)
    }

    /// Name of [`Cause::Window`] in a sentence where the receive window limits the sender for most of the time.
    pub const RECEIVE_WINDOW: &'static str = "receive window";

    /// Name in a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Cause::Timeout => "retransmission timeout",
            Cause::Probe => "tail loss probe",
            Cause::Syn => "SYN retransmission timeout",
            Cause::DelayedAck => "delayed ACK",
            Cause::Recovery => "loss recovery",
            Cause::HostQueue => "queue of the sending host",
            Cause::SwitchQueue => "switch queue",
            Cause::Share => "bandwidth share",
            Cause::Window => "congestion or receive window, or pacing",
            Cause::HeadOfLine => "earlier messages of the connection",
            Cause::Interrupts => "interrupt moderation of the receiving hosts",
        }
    }
}

/// Stalls of a message, ps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Silence that the retransmission timer ended.
    pub timeout: u64,
    /// Silence that the tail loss probe ended.
    pub probe: u64,
    /// Waiting for the answer to a retransmitted SYN.
    pub syn: u64,
    /// Silence that RACK's reordering timer ended (RFC 8985 section 6.2 step 5).
    pub reordering: u64,
    /// Delayed ACKs while the sender had no window left.
    pub delayed_ack: u64,
    /// Until the message before it on the connection was delivered.
    pub behind: u64,
}

/// Measured times of a message, ps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageTime {
    /// Time from its start to its last byte, or to the end of the run.
    pub took: u64,
    /// Stalls.
    pub stalls: Stalls,
    /// Ideal time, with the handshake if it had one.
    pub ideal: u64,
    /// Round trip of a full segment and its ACK on the empty path.
    pub empty_rtt: u64,
    /// Mean round trip without delayed ACKs; `None` without a sample.
    pub rtt: Option<u64>,
    /// True if it fitted into the window when it was written and nothing was retransmitted: the window never delayed it.
    pub at_once: bool,
    /// Most that the interrupts of the hosts can have added to a round trip; to all of its time, if it was sent at once.
    pub interrupts: u64,
    /// True if the port with the longest queueing time was full for its time.
    pub full: bool,
    /// Most that traffic beside its own can have occupied the port with the longest queueing time; `None` where it is unknown.
    pub busy: Option<u64>,
    /// Time in which its receive window or its send buffer limited the sender, if some of it was retransmitted; `None` without losses.
    pub repaired: Option<u64>,
}

/// The largest part of a message's time beyond the ideal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongestWait {
    /// Cause.
    pub cause: Cause,
    /// Time, ps.
    pub time_ps: u64,
    /// Port on its path with the longest queueing time: see [`LongestWait::port`].
    pub longest: PortId,
}

impl LongestWait {
    /// Port, if it waited in a queue or for its share of a link.
    pub fn port(&self) -> Option<PortId> {
        matches!(self.cause, Cause::HostQueue | Cause::SwitchQueue | Cause::Share).then_some(self.longest)
    }
}

impl MessageTime {
    /// Parts of its time, as defined at the head of this file, before queueing time is assigned to a host or switch.
    pub fn parts(&self) -> TimeParts {
        let s = self.stalls;
        let mut left = self.took;
        let mut take = |part: u64| {
            let part = part.min(left);
            left -= part;
            part
        };
        let (timeout, probe, syn) = (take(s.timeout), take(s.probe), take(s.syn));
        let (reordering, delayed_ack) = (take(s.reordering), take(s.delayed_ack));
        take(self.ideal);
        let behind = take(s.behind);
        // Without an RTT sample all remaining time counts as one round trip, as for a message that was sent at once.
        let queued = self.rtt.filter(|_| !self.at_once).map_or(left, |rtt| rtt.saturating_sub(self.empty_rtt));
        let held = self.interrupts.min(queued);
        let once = queued.min(left);
        let rest = left - once;
        let round = u128::from(queued) + u128::from(self.empty_rtt);
        let of_rest = |part: u64| (u128::from(rest) * u128::from(part)).checked_div(round).map_or(0, |part| part as u64);
        let in_rounds = if self.full { 0 } else { held };
        let share = of_rest(queued - in_rounds);
        let share = share.min(self.busy.unwrap_or(share));
        let (held_once, held_rest) = (held.min(once), of_rest(in_rounds));
        let limited = rest - share - held_rest;
        let window = self.repaired.map_or(limited, |ends| ends.min(limited));
        let of = [
            (Cause::Timeout, timeout),
            (Cause::Probe, probe),
            (Cause::Syn, syn),
            (Cause::DelayedAck, delayed_ack),
            (Cause::Recovery, reordering + limited - window),
            (Cause::Window, window),
            (Cause::HeadOfLine, behind),
            (Cause::Interrupts, held_once + held_rest),
        ];
        // The first of equal ones.
        let largest = of.iter().fold(of[0], |largest, part| if part.1 > largest.1 { *part } else { largest });
        TimeParts { once: once - held_once, share, largest }
    }
}

/// Parts of a message's time that can be its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeParts {
    /// Queueing time of one round trip.
    pub once: u64,
    /// Time for its share of the link.
    pub share: u64,
    /// Largest other part.
    pub largest: (Cause, u64),
}

impl TimeParts {
    /// Longest wait; `None` for a message without delay. `port` is the port on its path with the longest queueing time; `own` is true for the
    /// sender's own interface.
    pub fn waited(&self, port: PortId, own: bool) -> Option<LongestWait> {
        let queues = if own {
            [(Cause::HostQueue, self.once + self.share), (Cause::HostQueue, 0)]
        } else {
            [(Cause::SwitchQueue, self.once), (Cause::Share, self.share)]
        };
        // The first of equal causes.
        let or = |a: (Cause, u64), b: (Cause, u64)| if (b.1, a.0) > (a.1, b.0) { b } else { a };
        let (cause, time_ps) = or(or(self.largest, queues[0]), queues[1]);
        (time_ps > 0).then_some(LongestWait { cause, time_ps, longest: port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;
    const PORT: PortId = PortId::new(3);

    #[test]
    fn cause_names_roundtrip() {
        assert!(Cause::ALL.iter().all(|c| Cause::of(c.name()) == Some(*c)));
        assert_eq!(Cause::of("rtos"), None);
    }

    #[test]
    fn longest_stall_is_the_cause() {
        let stalls = Stalls { timeout: 200 * MS, probe: 2 * MS, delayed_ack: 40 * MS, behind: 10 * MS, ..Stalls::default() };
        let c = MessageTime { took: 300 * MS, stalls, ideal: 8 * MS, empty_rtt: MS, rtt: Some(4 * MS), ..MessageTime::default() };
        let parts = c.parts();
        assert_eq!(parts.waited(PORT, false), Some(LongestWait { cause: Cause::Timeout, time_ps: 200 * MS, longest: PORT }));
        // 40 ms are left: 3 ms in the queue once, of the other 37 three quarters behind others and one on the empty path.
        assert_eq!((parts.once, parts.share), (3 * MS, 37 * MS * 3 / 4));
    }

    #[test]
    fn overlapping_stalls_are_bounded() {
        let stalls = Stalls { timeout: 200 * MS, delayed_ack: 400 * MS, ..Stalls::default() };
        let parts = MessageTime { took: 210 * MS, stalls, ideal: 5 * MS, ..MessageTime::default() }.parts();
        assert_eq!(parts, TimeParts { once: 0, share: 0, largest: (Cause::Timeout, 200 * MS) });
    }

    #[test]
    fn reordering_timer_is_loss_recovery() {
        // The last segments of 32 KB are lost on an idle path of 65 us, and the sender is silent until the reordering timer expires.
        let stalls = Stalls { reordering: 4 * MS, ..Stalls::default() };
        let c = MessageTime {
            took: 4 * MS + MS / 5,
            stalls,
            ideal: MS / 30,
            empty_rtt: MS / 15,
            rtt: Some(4 * MS / 15),
            repaired: Some(0),
            ..MessageTime::default()
        };
        let waited = c.parts().waited(PORT, false).expect("it was late");
        assert_eq!(waited.cause, Cause::Recovery);
        assert!(waited.time_ps >= 4 * MS);
        assert_eq!(waited.port(), None, "no link is to blame");
    }

    #[test]
    fn overlap_is_no_delay() {
        let of = |took: u64| {
            let stalls = Stalls { behind: 71 * MS, ..Stalls::default() };
            MessageTime { took: took * MS, stalls, ideal: 81 * MS, at_once: true, ..MessageTime::default() }.parts()
        };
        assert_eq!(of(81).waited(PORT, false), None, "it took its ideal time");
        let late = of(100).waited(PORT, false).unwrap();
        assert_eq!((late.cause, late.time_ps), (Cause::HeadOfLine, 19 * MS));
    }

    #[test]
    fn empty_path_waits_for_window() {
        let c = MessageTime { took: 5 * MS, ideal: 5 * MS, empty_rtt: MS, rtt: Some(MS), ..MessageTime::default() };
        assert_eq!(c.parts().waited(PORT, false), None);
        let queued = MessageTime { took: 9 * MS, at_once: true, ..c };
        assert_eq!(
            queued.parts().waited(PORT, false),
            Some(LongestWait { cause: Cause::SwitchQueue, time_ps: 4 * MS, longest: PORT })
        );
        let slow = MessageTime { took: 9 * MS, ..c };
        assert_eq!(slow.parts().waited(PORT, false), Some(LongestWait { cause: Cause::Window, time_ps: 4 * MS, longest: PORT }));
    }

    #[test]
    fn interrupts_are_no_queue() {
        // A handshake and data sent at once to an idle host, whose interrupts hold each packet for 1 ms.
        let c = MessageTime {
            took: 7 * MS,
            ideal: 4 * MS,
            empty_rtt: MS,
            at_once: true,
            interrupts: 3 * MS,
            ..MessageTime::default()
        };
        let cause = |c: MessageTime| c.parts().waited(PORT, true).map(|w| (w.cause, w.time_ps / MS));
        assert_eq!(cause(c), Some((Cause::Interrupts, 3)));
        assert_eq!(cause(MessageTime { took: 12 * MS, ..c }), Some((Cause::HostQueue, 5)));
        // Round trips of 4 ms on an empty path of 1 ms, of which the interrupts of both hosts take 2 ms.
        let rounds = MessageTime { took: 44 * MS, at_once: false, rtt: Some(4 * MS), interrupts: 2 * MS, ..c };
        assert_eq!(rounds.parts().once, MS);
        assert_eq!(cause(rounds), Some((Cause::Interrupts, 2 + 37 / 2)));
        assert_eq!(cause(MessageTime { interrupts: 0, ..rounds }), Some((Cause::HostQueue, 3 + 37 * 3 / 4)));
        // A full link of a switch has no time to give, however short the round trips are.
        let switch = |c: MessageTime| c.parts().waited(PORT, false).map(|w| (w.cause, w.time_ps / MS));
        assert_eq!(switch(rounds), Some((Cause::Interrupts, 2 + 37 / 2)));
        assert_eq!(switch(MessageTime { full: true, ..rounds }), Some((Cause::Share, 37 * 3 / 4)));
    }

    #[test]
    fn losses_on_idle_link_are_recovery() {
        // One window filled the queue, and its losses took nearly all of the time.
        let c = MessageTime { took: 40 * MS, ideal: 4 * MS, empty_rtt: MS, rtt: Some(3 * MS), ..MessageTime::default() };
        let cause = |c: MessageTime| c.parts().waited(PORT, false).map(|w| (w.cause, w.time_ps / MS));
        assert_eq!(cause(c), Some((Cause::Share, 22)), "of 34 ms beyond one round trip");
        let repaired = MessageTime { busy: Some(MS), repaired: Some(0), ..c };
        assert_eq!(cause(repaired), Some((Cause::Recovery, 33)));
        assert_eq!(
            cause(MessageTime { repaired: Some(30 * MS), ..repaired }),
            Some((Cause::Window, 30)),
            "the receiver limits it"
        );
        assert_eq!(cause(MessageTime { repaired: None, ..repaired }), Some((Cause::Window, 33)));
    }

    #[test]
    fn own_interface_counts_as_host_queue() {
        let c = MessageTime { took: 50 * MS, ideal: MS, empty_rtt: MS, rtt: Some(30 * MS), ..MessageTime::default() };
        let parts = c.parts();
        let w = |own| parts.waited(PORT, own).unwrap();
        assert_eq!((w(true).cause, w(true).time_ps), (Cause::HostQueue, parts.once + parts.share));
        assert_eq!((w(false).cause, w(false).port()), (Cause::SwitchQueue, Some(PORT)));
    }
}
