//! A sender against a scripted peer. Its output reads like `"4 5 0r"`: the index of each segment, from 0, followed by
//!
//! * `r`: retransmission, `w`: CWR, `e`: ECT(0), `l`: ECT(1), `F`: with FIN (alone: a FIN without data),
//! * `(n)`: n bytes, if not a full segment, `^n`: class of service n, `#n`: rank n.
//!
//! `P` is a probe.

use super::{Capture, US, addresses};
use forebay_experiment::transport::Ecn;
use forebay_sim::net::accecn_option::AccEcnOption;
use forebay_sim::net::packet::{CarriedAck, Codepoint, Extra, Packet, SackBlocks, flag};
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::sender::{Sender, Timer};
use forebay_types::Time;

/// The peer's first sequence number plus one, far from 0 and near the wrap.
const ISN: u32 = u32::MAX - 3000;
/// Default RTT of the script: every ACK echoes a packet of this age.
pub(crate) const RTT: u64 = 100;

pub(crate) struct Script {
    pub(crate) c: TcpConfig,
    pub(crate) s: Sender,
    /// us.
    pub(crate) now: u64,
    /// us.
    pub(crate) rtt: u64,
    /// Window the peer advertises, bytes.
    pub(crate) window: u64,
    capture: Capture,
    /// (time in us, token) of everything sent.
    pub(crate) log: Vec<(u64, String)>,
    /// Segments that carried PSH.
    pub(crate) pushed: Vec<u64>,
    /// ACE field of ACKs.
    pub(crate) ace: u8,
    /// Flags of the last SYN except the first.
    pub(crate) repeated_syn: u8,
}

impl Script {
    /// Established after an exchange that took [`RTT`], at time [`RTT`]; writes `data` segments and sends those that the window allows.
    pub(crate) fn new(c: TcpConfig, data: u64) -> Script {
        let mut t = Script::closed(c);
        t.syn_ack();
        t.write(data);
        t
    }

    /// Sends the SYN at time 0; the time is now [`RTT`] us.
    pub(crate) fn closed(c: TcpConfig) -> Script {
        let (forward, _) = addresses(ISN);
        let mut s = Sender::new(&c, forward, None);
        if c.cc.hooks().path() {
            s.set_path(super::path());
        }
        let (capture, log, pushed) = (Capture::default(), Vec::new(), Vec::new());
        let mut t = Script { window: c.rcv_wnd, c, s, now: 0, rtt: RTT, capture, log, pushed, ace: 0, repeated_syn: 0 };
        t.s.open(&t.c, Time::ZERO, &mut t.capture);
        assert!(t.capture.0[0].0.has(flag::SYN));
        t.capture.0.clear();
        t.now = RTT;
        t
    }

    /// Delivers a SYN-ACK that agrees to everything.
    pub(crate) fn syn_ack(&mut self) {
        self.syn_ack_with(flag::ECE);
    }

    pub(crate) fn syn_ack_with(&mut self, flags: u8) {
        self.syn_ack_with_ace(flags, 0);
    }

    /// Delivers a SYN-ACK with the flags AE, CWR and ECE of Accurate ECN.
    pub(crate) fn syn_ack_with_ace(&mut self, flags: u8, ace: u8) {
        let mut p = self.packet(0);
        p.seq = ISN.wrapping_add(1);
        p.flags = flag::SYN | flag::ACK | flags;
        p.win = self.window.min(65_535) as u16;
        p.len = u16::from(self.shift());
        p.set_ace(ace);
        self.s.on_packet(&self.c, Time(self.now * US), &p, None, &mut self.capture);
        self.note();
        // The answer is the ACK of the handshake, before any data.
        let ack = if self.c.ecn == Ecn::Dctcp && flags == flag::ECE { "ACKe" } else { "ACK" };
        assert_eq!(self.log.pop().map(|l| l.1), Some(ack.into()));
    }

    pub(crate) fn write(&mut self, segments: u64) {
        self.write_bytes(segments * u64::from(self.c.mss), false);
    }

    /// Writes a message of `segments` with a deadline at time `deadline` us.
    pub(crate) fn write_until(&mut self, segments: u64, deadline: u64) {
        let bytes = segments * u64::from(self.c.mss);
        self.s.write(&self.c, Time(self.now * US), bytes, Some(Time(deadline * US)), false, &mut self.capture);
        self.note();
    }

    pub(crate) fn write_bytes(&mut self, bytes: u64, last: bool) {
        self.s.write(&self.c, Time(self.now * US), bytes, None, last, &mut self.capture);
        self.note();
    }

    /// Advances to time `us`, with timers.
    pub(crate) fn at(&mut self, us: u64) -> &mut Script {
        let end = Time(us * US);
        while self.next() <= end {
            self.fire();
        }
        self.now = us;
        self
    }

    /// Advances to the next timer and runs it; returns the time that passed, us.
    pub(crate) fn timer(&mut self) -> u64 {
        assert_ne!(self.next(), Time::NEVER, "no timer");
        let before = self.now;
        self.fire();
        while self.s.waits_for_wheel_slot() {
            self.fire();
        }
        self.now - before
    }

    /// Time of the next timer or alarm.
    fn next(&self) -> Time {
        self.s.timer_due().or_never().min(self.capture.1.first().copied().unwrap_or(Time::NEVER))
    }

    fn fire(&mut self) {
        let now = self.next();
        self.now = now.as_us();
        if self.capture.1.remove(&now) {
            self.s.on_alarm(&self.c, now, &mut self.capture);
        } else {
            self.s.on_timer(&self.c, now, &mut self.capture);
        }
        self.note();
        self.s.audit();
    }

    /// Rest of the timer of kind `timer`, us; the timer wheel may delay it.
    pub(crate) fn left(&self, timer: Timer) -> Option<u64> {
        self.s.timer_due().get().filter(|_| self.s.timer() == timer).map(|due| due.as_us() - self.now)
    }

    /// Acknowledges everything before segment `next`.
    pub(crate) fn ack(&mut self, next: u64) -> &mut Script {
        self.reply(next, &[], 0)
    }

    /// As [`Script::ack`], with ECE.
    pub(crate) fn ece(&mut self, next: u64) -> &mut Script {
        self.reply(next, &[], flag::ECE)
    }

    /// As [`Script::ack`], with an ACE field, and the counter of marked bytes in an AccECN option if there is one.
    pub(crate) fn counted(&mut self, next: u64, ace: u8, ce_bytes: Option<u32>) -> &mut Script {
        let mut p = self.packet(next * u64::from(self.c.mss));
        p.set_ace(ace);
        let option = ce_bytes.map(|n| Extra::Carried(CarriedAck::option(AccEcnOption::new(1, n, 1))));
        self.s.on_packet(&self.c, Time(self.now * US), &p, option.as_ref(), &mut self.capture);
        self.note();
        self.s.audit();
        self
    }

    /// ACE field of the SYN.
    pub(crate) fn syn_ace(c: &TcpConfig) -> u8 {
        let (forward, _) = addresses(ISN);
        let mut capture = Capture::default();
        Sender::new(c, forward, None).open(c, Time::ZERO, &mut capture);
        capture.0[0].0.ace()
    }

    /// As [`Script::ack`], with SACK blocks, in segments, end exclusive.
    pub(crate) fn sack(&mut self, next: u64, blocks: &[(u64, u64)]) -> &mut Script {
        self.reply(next, blocks, 0)
    }

    /// Delivers `n` duplicates.
    pub(crate) fn dup(&mut self, next: u64, n: u32) -> &mut Script {
        for _ in 0..n {
            self.ack(next);
        }
        self
    }

    pub(crate) fn reply(&mut self, next: u64, blocks: &[(u64, u64)], flags: u8) -> &mut Script {
        let mss = u64::from(self.c.mss);
        let bytes: Vec<_> = blocks.iter().map(|b| (b.0 * mss, b.1 * mss)).collect();
        self.reply_bytes(next * mss, &bytes, flags)
    }

    pub(crate) fn reply_bytes(&mut self, next: u64, blocks: &[(u64, u64)], flags: u8) -> &mut Script {
        let mut p = self.packet(next);
        p.flags |= flags;
        p.set_ace(self.ace);
        let wire = |offset: u64| ISN.wrapping_add(1).wrapping_add(offset as u32);
        let extra = SackBlocks::of(blocks.iter().map(|&(a, b)| (wire(a), wire(b)))).map(Extra::Sack);
        self.s.on_packet(&self.c, Time(self.now * US), &p, extra.as_ref(), &mut self.capture);
        self.note();
        self.s.audit();
        self
    }

    /// Packets sent since the last call.
    pub(crate) fn sent(&mut self) -> String {
        let tokens: Vec<String> = self.log.drain(..).map(|l| l.1).collect();
        tokens.join(" ")
    }

    /// Acknowledges every outstanding segment at once.
    pub(crate) fn settle(&mut self) -> &mut Script {
        let high = self.s.snd_max();
        self.reply_bytes(high, &[], 0)
    }

    pub(crate) fn cwnd(&self) -> f64 {
        self.s.window().cwnd
    }

    pub(crate) fn ssthresh(&self) -> f64 {
        self.s.window().ssthresh.or_infinite()
    }

    /// Outstanding segments.
    pub(crate) fn flight(&self) -> u64 {
        self.s.flight() / u64::from(self.c.mss)
    }

    fn shift(&self) -> u8 {
        (0..15).find(|s| self.window >> s <= 65_535).unwrap()
    }

    fn packet(&self, next: u64) -> Packet {
        Packet {
            seq: ISN.wrapping_add(1).wrapping_add(next as u32),
            ts: (self.now.saturating_sub(self.rtt) * 1000) as u32,
            win: (self.window >> self.shift()) as u16,
            flags: flag::ACK,
            ..Packet::default()
        }
    }

    fn note(&mut self) {
        let mss = i64::from(self.c.mss);
        for (p, _) in self.capture.0.drain(..) {
            let offset = i64::from(p.seq.wrapping_sub(ISN).wrapping_sub(1) as i32);
            let fin = p.has(flag::FIN);
            if p.has(flag::SYN) {
                self.repeated_syn = p.flags;
            }
            if p.len > 0 && p.has(flag::PUSH) && !p.has(flag::SYN) {
                self.pushed.push((offset / mss) as u64);
            }
            let mut token = match (p.len, fin) {
                _ if p.has(flag::SYN) => "SYN".into(),
                (0, false) if p.has(flag::PROBE) => "P".into(),
                (0, false) => "ACK".into(),
                (0, true) => "F".into(),
                _ if offset % mss == 0 => format!("{}", offset / mss),
                _ => format!("@{offset}"),
            };
            if p.len > 0 && i64::from(p.len) != mss {
                token += &format!("({})", p.len);
            }
            for (on, letter) in [
                (p.len > 0 && fin, 'F'),
                (p.has(flag::RETX), 'r'),
                (p.has(flag::CWR) && !p.has(flag::SYN), 'w'),
                (p.ecn() == Codepoint::Ect0, 'e'),
                (p.ecn() == Codepoint::Ect1, 'l'),
            ] {
                if on {
                    token.push(letter);
                }
            }
            if p.len > 0 && p.class() > 0 {
                token += &format!("^{}", p.class());
            }
            if p.len > 0 && p.rank() > 0 {
                token += &format!("#{}", p.rank());
            }
            self.log.push((self.now, token));
        }
    }
}
