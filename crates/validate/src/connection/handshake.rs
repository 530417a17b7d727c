//! Handshake from either side: negotiates options, and creates the endpoints for the result.

use super::{Connection, OURS, Stage, Trace, clock, codepoint, field, handshake_encoding};
use crate::script::{Options, Segment, flag};
use forebay_experiment::transport::Ecn;
use forebay_sim::net::packet::{self, Meta, Packet};
use forebay_sim::tcp::receiver::Receiver;
use forebay_sim::tcp::sender::Sender;
use forebay_sim::tcp::{Address, offered_shift};
use forebay_types::Time;

/// Flags that feed back marks.
const ECN_FLAGS: u16 = flag::ECE | flag::CWR | flag::AE;
/// ACE field before any mark (RFC 9768 section 3.2.1).
const INITIAL_ACE: u8 = 5;

impl Connection {
    pub(super) fn accept_syn(&mut self, now: u64, segment: &Segment, options: Options) -> Result<(), String> {
        let both = flag::ECE | flag::CWR;
        let requested = segment.flags & both == both || self.settings.wants_accurate_ecn();
        let ecn = requested && self.settings.wants_ecn(false);
        self.c = self.settings.config(&options, ecn)?;
        self.receiver = Some(Receiver::new(&self.c, Address { isn: segment.seq, ..OURS }));
        let mut sender = Sender::new(&self.c, OURS, None);
        // The SYN-ACK has the timer that the sender sets for its SYN.
        sender.open(&self.c, Time(now), &mut Trace::default());
        self.sender = Some(sender);
        self.syns = vec![now];
        self.stage = Stage::SynReceived;
        self.echo = options.ts.map(|t| t.0);
        self.theirs = options;
        self.syn = segment.clone();
        self.answer_syn(now);
        Ok(())
    }

    /// Sends the SYN-ACK, by the receiver.
    pub(super) fn answer_syn(&mut self, now: u64) {
        let ts = self.echo.map_or(0, |value| self.own_stamp(now, value));
        let meta = Meta::default().with_ecn(codepoint(self.syn.ecn));
        let mut p = Packet { seq: self.syn.seq, flags: packet::flag::SYN, ts, meta, ..Packet::default() };
        p.flags |= if self.syn.flags & flag::ECE != 0 { packet::flag::ECE } else { 0 };
        p.flags |= if self.syn.flags & flag::CWR != 0 { packet::flag::CWR } else { 0 };
        // A packet of the simulator has the three flags in one field, unless they are those of RFC 3168.
        match flag::ace(self.syn.flags) {
            0b000 | 0b011 => {}
            ace => p.set_ace(ace),
        }
        let mut tape = Trace::default();
        if let Some(r) = &mut self.receiver {
            r.on_packet(&self.c, Time(now), &p, &mut tape);
        }
        for (p, _) in tape.packets {
            let echo = if p.has(packet::flag::ECE) { flag::ECE } else { flag::of_ace(p.ace()) };
            let flags = flag::SYN | flag::ACK | echo;
            self.answer = echo;
            let options = self.handshake_options(now, true);
            let ack = p.seq;
            self.acked = ack;
            self.push(now, Segment { ecn: field(&p), flags, seq: 0, len: 0, ack, win: Some(p.win), options: Some(options) });
        }
    }

    /// The scale of the windows that the receiver writes into its packets (RFC 7323 section 2.2).
    pub(super) fn shift(&self) -> u8 {
        offered_shift(&self.c)
    }

    /// Options of this endpoint's SYN or SYN-ACK.
    pub(super) fn handshake_options(&self, now: u64, answer: bool) -> Options {
        let s = &self.settings;
        Options {
            mss: Some(s.advertised_mss()),
            wscale: (s.scaling && (!answer || self.theirs.wscale.is_some())).then_some(self.shift()),
            sack_ok: s.sack && (!answer || self.theirs.sack_ok),
            ts: (s.timestamps && (!answer || self.theirs.ts.is_some())).then(|| (clock(now), self.echo.unwrap_or(0))),
            ..Options::default()
        }
    }

    /// The third packet of a handshake: for the sender it is the answer to a SYN of its own.
    pub(super) fn accept_ack(&mut self, now: u64, segment: &Segment, options: &Options) -> Result<(), String> {
        if segment.flags & flag::ACK == 0 || segment.ack != 1 {
            return Err("a segment that does not end the handshake".into());
        }
        let answer = if self.settings.wants_accurate_ecn() { self.answer } else { flag::ECE };
        self.open_sender(now, segment, options, if self.c.ecn == Ecn::Off { 0 } else { answer });
        // Its ACE field is no counter (RFC 9768 section 3.2.2.1).
        let counted = Segment { flags: segment.flags & !ECN_FLAGS | flag::of_ace(INITIAL_ACE), ..segment.clone() };
        self.stage = Stage::Open;
        self.deliver(now, if self.is_accurate() { &counted } else { segment }, options);
        Ok(())
    }

    pub(super) fn accept_syn_ack(&mut self, now: u64, segment: &Segment, options: Options) -> Result<(), String> {
        let classic = segment.flags & flag::ECE != 0 && segment.flags & flag::CWR == 0;
        let agreed = (classic || self.settings.wants_accurate_ecn()) && self.settings.wants_ecn(true);
        self.c = self.settings.config(&options, agreed)?;
        let written = self.sender.as_ref().map_or(0, |s| s.written());
        let mut sender = Sender::new(&self.c, OURS, None);
        let mut scratch = Trace::default();
        for (i, &time) in self.syns.iter().enumerate() {
            if i == 0 {
                sender.open(&self.c, Time(time), &mut scratch);
            } else {
                sender.on_timer(&self.c, sender.timer_due().or_never(), &mut scratch);
            }
        }
        sender.write(&self.c, Time(now), written, None, self.closed, &mut scratch);
        self.sender = Some(sender);
        self.echo = options.ts.map(|t| t.0);
        self.theirs = options.clone();
        self.stage = Stage::Open;
        let tape = self.open_sender(now, segment, &options, if agreed { segment.flags & ECN_FLAGS } else { 0 });
        // The sender has decided about the feedback of this host, too.
        let (used, accurate) = self.sender.as_ref().map_or((false, false), |s| s.ecn_in_use());
        self.third_ack = accurate.then(|| handshake_encoding(segment.ecn));
        let ecn = match (used, accurate) {
            (false, _) => Ecn::Off,
            (true, false) if self.c.ecn.is_accurate() => Ecn::Classic,
            _ => self.c.ecn,
        };
        let mut c = self.c.clone();
        c.ecn = ecn;
        self.receiver = Some(Receiver::new(&c, Address { isn: segment.seq, ..OURS }));
        self.take(now, tape);
        Ok(())
    }

    /// Acknowledges the SYN of the sender, by a SYN-ACK with the flags `ecn`. Returns the packets that it sends then.
    fn open_sender(&mut self, now: u64, segment: &Segment, options: &Options, ecn: u16) -> Trace {
        let scaled = self.settings.scaling && self.theirs.wscale.is_some();
        let shift = if scaled { self.theirs.wscale.unwrap_or(0).min(14) } else { 0 };
        self.largest_window = u64::from(segment.win.unwrap_or(u16::MAX));
        let mut p = Packet {
            seq: 1,
            ts: options.ts.map_or(0, |t| t.1),
            win: segment.win.unwrap_or(u16::MAX),
            len: u16::from(shift),
            flags: packet::flag::SYN | packet::flag::ACK | if ecn == flag::ECE { packet::flag::ECE } else { 0 },
            ..Packet::default()
        };
        if ecn != flag::ECE {
            p.set_ace(flag::ace(ecn));
        }
        let mut tape = Trace::default();
        if let Some(s) = &mut self.sender {
            s.on_packet(&self.c, Time(now), &p, None, &mut tape);
        }
        tape
    }
}
