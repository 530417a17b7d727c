//! Handshake from either side: negotiates options, and creates the endpoints for the result.

use super::{Connection, OURS, Stage, Trace, clock, field};
use crate::script::{Options, Segment, flag};
use forebay_experiment::transport::Ecn;
use forebay_sim::net::packet::{self, Packet};
use forebay_sim::tcp::receiver::Receiver;
use forebay_sim::tcp::sender::Sender;
use forebay_sim::tcp::{Address, offered_shift};
use forebay_types::Time;

impl Connection {
    pub(super) fn accept_syn(&mut self, now: u64, segment: &Segment, options: Options) -> Result<(), String> {
        let both = flag::ECE | flag::CWR;
        let ecn = segment.flags & both == both && self.settings.wants_ecn(false);
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
        let mut p = Packet { seq: self.syn.seq, flags: packet::flag::SYN, ts, ..Packet::default() };
        p.flags |= if self.syn.flags & flag::ECE != 0 { packet::flag::ECE } else { 0 };
        p.flags |= if self.syn.flags & flag::CWR != 0 { packet::flag::CWR } else { 0 };
        let mut tape = Trace::default();
        if let Some(r) = &mut self.receiver {
            r.on_packet(&self.c, Time(now), &p, &mut tape);
        }
        for (p, _) in tape.packets {
            let mut flags = flag::SYN | flag::ACK;
            flags |= if p.has(packet::flag::ECE) { flag::ECE } else { 0 };
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
            sack: Vec::new(),
        }
    }

    /// The third packet of a handshake: for the sender it is the answer to a SYN of its own.
    pub(super) fn accept_ack(&mut self, now: u64, segment: &Segment, options: &Options) -> Result<(), String> {
        if segment.flags & flag::ACK == 0 || segment.ack != 1 {
            return Err("a segment that does not end the handshake".into());
        }
        self.stage = Stage::Open;
        self.open_sender(now, segment, options, self.c.ecn != Ecn::Off);
        self.deliver(now, segment, options);
        Ok(())
    }

    pub(super) fn accept_syn_ack(&mut self, now: u64, segment: &Segment, options: Options) -> Result<(), String> {
        let agreed = segment.flags & flag::ECE != 0 && segment.flags & flag::CWR == 0 && self.settings.wants_ecn(true);
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
        self.receiver = Some(Receiver::new(&self.c, Address { isn: segment.seq, ..OURS }));
        self.echo = options.ts.map(|t| t.0);
        self.theirs = options.clone();
        self.stage = Stage::Open;
        let tape = self.open_sender(now, segment, &options, agreed);
        self.take(now, tape);
        Ok(())
    }

    /// Acknowledges the SYN of the sender. Returns the packets that it sends then.
    fn open_sender(&mut self, now: u64, segment: &Segment, options: &Options, ecn: bool) -> Trace {
        let scaled = self.settings.scaling && self.theirs.wscale.is_some();
        let shift = if scaled { self.theirs.wscale.unwrap_or(0).min(14) } else { 0 };
        self.largest_window = u64::from(segment.win.unwrap_or(u16::MAX));
        let p = Packet {
            seq: 1,
            ts: options.ts.map_or(0, |t| t.1),
            win: segment.win.unwrap_or(u16::MAX),
            len: u16::from(shift),
            flags: packet::flag::SYN | packet::flag::ACK | if ecn { packet::flag::ECE } else { 0 },
            ..Packet::default()
        };
        let mut tape = Trace::default();
        if let Some(s) = &mut self.sender {
            s.on_packet(&self.c, Time(now), &p, None, &mut tape);
        }
        tape
    }
}
