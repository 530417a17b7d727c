//! One end of a two-way connection, made of the simulator's endpoints, between which data flow one way: a [`Sender`] for its own data and a
//! [`Receiver`] for the peer's.
//!
//! This file adds what the packets of a simulation do not need. It negotiates options, and writes the ACE field of the handshake's ACK. It puts a due
//! ACK on data, and removes the FIN that the simulator's receiver sets on its last ACK.

mod acceptance;
mod handshake;

use crate::script::{Counter, EcnField, Options, Segment, flag};
use crate::settings::Settings;
use acceptance::Acceptance;
use forebay_sim::net::accecn_option::AccEcnOption;
use forebay_sim::net::generation::Generation;
use forebay_sim::net::packet::{self, CarriedAck, Codepoint, Extra, Meta, Packet, SackBlocks, Wire};
use forebay_sim::tcp::Address;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::receiver::Receiver;
use forebay_sim::tcp::sender::{Phase, Sender};
use forebay_types::{ConnSlot, Time};
use std::collections::BTreeSet;

/// A packet of this endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    /// ps.
    pub time: u64,
    /// In the form of a script; the second timestamp is the peer's, the first that of the simulator: ns, 32 bits.
    pub segment: Segment,
}

/// The wire between the endpoints and this file.
#[derive(Default)]
struct Trace {
    packets: Vec<(Packet, Option<Extra>)>,
    alarms: BTreeSet<Time>,
}

impl Wire for Trace {
    fn emit(&mut self, packet: Packet, extra: Option<&Extra>) {
        self.packets.push((packet, extra.copied()));
    }

    fn alarm(&mut self, _conn: ConnSlot, _generation: Generation, time: Time) {
        self.alarms.insert(time);
    }
}

/// State of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waits for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN-ACK sent.
    SynReceived,
    /// Open.
    Open,
}

/// One end of a connection.
pub(crate) struct Connection {
    /// Settings of the script; they may change until the connection opens.
    pub(crate) settings: Settings,
    /// Configuration of the endpoints.
    pub(crate) c: TcpConfig,
    /// State of the connection.
    pub(crate) stage: Stage,
    pub(crate) sender: Option<Sender>,
    receiver: Option<Receiver>,
    theirs: Options,
    alarms: BTreeSet<u64>,
    /// Times at which the SYN left and its timer fired, ps: an endpoint with other options than expected starts again with them.
    syns: Vec<u64>,
    syn: Segment,
    /// The peer's timestamps, each with the corresponding timestamp of the simulator's clock.
    stamps: Vec<(u32, u32)>,
    /// Latest timestamp of the peer, if it came without data, which would give it to the receiver.
    echo: Option<u32>,
    /// The last acknowledgment number that was sent.
    acked: u32,
    /// The largest window that the peer has announced, bytes.
    largest_window: u64,
    /// Time at which the ACK of the peer's FIN is due, ps, while it waits for data to travel on.
    fin_ack: Option<u64>,
    /// Packets that the script has not taken yet.
    pub(crate) sent: std::collections::VecDeque<Sent>,
    /// The application will write no more data.
    pub(crate) closed: bool,
    /// Flags of the SYN-ACK that feed back the ECN field of the SYN.
    answer: u16,
    /// ACE field of the ACK of a SYN-ACK that has arrived.
    third_ack: Option<u8>,
}

const OURS: Address = Address { conn: ConnSlot::new(0), isn: 0, dst: 1, hash: 17, generation: Generation::new(5) };

impl Connection {
    /// A closed one.
    pub(crate) fn new(settings: Settings) -> Result<Connection, String> {
        let offer = Options { mss: Some(settings.advertised_mss()), sack_ok: true, ts: Some((0, 0)), ..Options::default() };
        let c = settings.config(&offer, settings.wants_ecn(true))?;
        let syn = Segment { ecn: None, flags: 0, seq: 0, len: 0, ack: 0, win: None, options: None };
        Ok(Connection {
            settings,
            c,
            stage: Stage::Listen,
            sender: None,
            receiver: None,
            theirs: Options::default(),
            alarms: BTreeSet::new(),
            syns: Vec::new(),
            syn,
            stamps: Vec::new(),
            echo: None,
            acked: 0,
            largest_window: 0,
            fin_ack: None,
            sent: Default::default(),
            closed: false,
            answer: 0,
            third_ack: None,
        })
    }

    /// Sends a SYN.
    pub(crate) fn connect(&mut self, now: u64) {
        self.stage = Stage::SynSent;
        let mut sender = Sender::new(&self.c, OURS, None);
        let mut tape = Trace::default();
        sender.open(&self.c, Time(now), &mut tape);
        self.sender = Some(sender);
        self.syns.push(now);
        self.take(now, tape);
    }

    /// Time of the next timer, ps; `u64::MAX` for none.
    pub(crate) fn next_timer(&self) -> u64 {
        let sender = self.sender.as_ref().map_or(u64::MAX, |s| s.timer_due().or_never().0);
        let receiver = self.receiver.as_ref().map_or(u64::MAX, |r| r.timer_due().or_never().0);
        let alarm = self.alarms.first().copied().unwrap_or(u64::MAX);
        sender.min(receiver).min(alarm).min(self.fin_ack.unwrap_or(u64::MAX))
    }

    /// Lets the next timer fire.
    pub(crate) fn fire(&mut self) {
        let now = self.next_timer();
        let mut tape = Trace::default();
        if self.fin_ack == Some(now) {
            return self.challenge(now);
        } else if self.alarms.remove(&now) {
            if let Some(s) = &mut self.sender {
                s.on_alarm(&self.c, Time(now), &mut tape);
            }
        } else if let Some(s) = self.sender.as_mut().filter(|s| s.timer_due() == Time(now).into()) {
            if s.phase() == Phase::SynSent {
                self.syns.push(now);
            }
            s.on_timer(&self.c, Time(now), &mut tape);
            if self.stage == Stage::SynReceived {
                return self.answer_syn(now);
            }
        } else if let Some(r) = &mut self.receiver {
            r.on_timer(&self.c, Time(now), &mut tape);
        }
        self.take(now, tape);
    }

    /// The application writes.
    pub(crate) fn write(&mut self, now: u64, bytes: u64, last: bool) {
        let mut tape = Trace::default();
        self.closed |= last;
        if let Some(s) = &mut self.sender {
            s.write(&self.c, Time(now), bytes, None, last, &mut tape);
        }
        self.take(now, tape);
    }

    /// Bytes that the peer has delivered in order, and true if it has closed its direction.
    pub(crate) fn delivered(&self) -> (u64, bool) {
        self.receiver.as_ref().map_or((0, false), |r| (r.delivered(), r.finished()))
    }

    /// A segment arrives. An error for one that no endpoint of the simulator could answer.
    pub(crate) fn arrive(&mut self, now: u64, segment: &Segment) -> Result<(), String> {
        let options = segment.options.clone().unwrap_or_default();
        let syn = segment.flags & flag::SYN != 0;
        match self.stage {
            Stage::Listen if syn && segment.flags & flag::ACK == 0 => self.accept_syn(now, segment, options),
            Stage::Listen => Err("a segment that belongs to no connection".into()),
            Stage::SynSent if syn && segment.flags & flag::ACK != 0 && segment.ack == 1 => {
                self.accept_syn_ack(now, segment, options)
            }
            Stage::SynSent => Err("an answer to a SYN that is no SYN-ACK for it".into()),
            Stage::SynReceived if syn => {
                if self.settings.wants_accurate_ecn() {
                    // RFC 9768 section 3.1.4.2: the answer feeds back the latest SYN.
                    self.syn = segment.clone();
                }
                self.answer_syn(now);
                Ok(())
            }
            Stage::SynReceived => self.accept_ack(now, segment, &options),
            Stage::Open => {
                self.deliver(now, segment, &options);
                Ok(())
            }
        }
    }

    /// A segment of an open connection: the receiver gets its data, the sender its acknowledgment.
    fn deliver(&mut self, now: u64, segment: &Segment, options: &Options) {
        match self.acceptance(segment) {
            Acceptance::Accepted => {}
            Acceptance::Answered => return self.challenge(now),
            Acceptance::Ignored => return,
        }
        let scale = if self.settings.scaling { self.theirs.wscale.unwrap_or(0).min(14) } else { 0 };
        self.largest_window = self.largest_window.max(u64::from(segment.win.unwrap_or(0)) << scale);
        let fin = segment.flags & flag::FIN != 0;
        let data = segment.len > 0 || fin;
        let has = |mask: u16, bit: u8| if segment.flags & mask != 0 { bit } else { 0 };
        let mut answer = Trace::default();
        let ts = options.ts.map_or(0, |t| self.own_stamp(now, t.0));
        if let Some(r) = self.receiver.as_mut().filter(|_| data) {
            let p = Packet {
                seq: segment.seq,
                ts,
                len: segment.len as u16,
                flags: has(flag::FIN, packet::flag::FIN) | has(flag::CWR, packet::flag::CWR) | has(flag::PSH, packet::flag::PUSH),
                meta: Meta::default().with_ecn(codepoint(segment.ecn)),
                ..Packet::default()
            };
            let before = r.finished();
            r.on_packet(&self.c, Time(now), &p, &mut answer);
            // RFC 7323 section 4.3: only of segments that begin where the last ACK ended, or before.
            if segment.seq.wrapping_sub(self.acked) as i32 <= 0 {
                self.echo = None;
            }
            // In a simulation the receiver closes at once, with a FIN of its own. An application that has not closed is expected to answer: data that
            // was not acknowledged before that FIN waits for the answer (Linux tcp_fin enters pingpong mode).
            if r.finished() && !before && self.c.quickack {
                r.end();
                let closing = answer.packets.pop();
                let acknowledged = answer.packets.last().zip(closing).is_some_and(|(a, b)| a.0.seq == b.0.seq);
                match closing.filter(|_| !acknowledged) {
                    Some(ack) if self.closed => answer.packets.push(ack),
                    Some(_) => self.fin_ack = Some(now + self.c.ack_delay.0),
                    None => {}
                }
            }
        } else if let Some((value, _)) = options.ts {
            self.echo = Some(value);
        }
        let mut tape = Trace::default();
        if let Some(s) = &mut self.sender
            && segment.flags & flag::ACK != 0
        {
            // A segment with data is no duplicate ACK (RFC 5681 section 2): without new acknowledgment, it does not reach the sender.
            let news = !data || i64::from(segment.ack.wrapping_sub(1) as i32) > s.snd_una() as i64 || !options.sack.is_empty();
            if news {
                let accurate = s.ecn_in_use().1;
                let mut p = Packet {
                    seq: segment.ack,
                    ts: options.ts.map_or(0, |t| t.1),
                    win: segment.win.unwrap_or(u16::MAX),
                    flags: packet::flag::ACK | if accurate { 0 } else { has(flag::ECE, packet::flag::ECE) },
                    ..Packet::default()
                };
                if accurate {
                    p.set_ace(flag::ace(segment.flags));
                }
                let blocks = SackBlocks::of(options.sack.iter().copied()).map(Extra::Sack);
                let extra = blocks.or_else(|| option_of(&options.accecn).map(|o| Extra::Carried(CarriedAck::option(o))));
                s.on_packet(&self.c, Time(now), &p, extra.as_ref(), &mut tape);
            }
        }
        // An acknowledgment travels on data that leave at the same time; earlier ones (a change of CE) travel alone.
        let carried = tape.packets.iter().any(|(p, _)| p.len > 0 || p.has(packet::flag::FIN));
        let last = if carried { answer.packets.pop() } else { None };
        self.take(now, answer);
        self.take_with(now, tape, last);
    }

    fn take(&mut self, now: u64, tape: Trace) {
        self.take_with(now, tape, None);
    }

    /// Records what the endpoints sent; the first segment with data carries `ack`, if there is one.
    fn take_with(&mut self, now: u64, tape: Trace, mut ack: Option<(Packet, Option<Extra>)>) {
        self.alarms.extend(tape.alarms.iter().map(|time| time.0));
        for (p, extra) in tape.packets {
            if p.has(packet::flag::SYN) && self.stage == Stage::SynSent {
                let mut flags = flag::SYN;
                flags |= if p.has(packet::flag::ECE) { flag::ECE } else { 0 };
                flags |= if p.has(packet::flag::CWR) { flag::CWR } else { 0 };
                flags |= flag::of_ace(p.ace());
                let options = Some(self.handshake_options(now, false));
                self.push(now, Segment { ecn: field(&p), flags, seq: 0, len: 0, ack: 0, win: None, options });
            } else if p.has(packet::flag::ACK) {
                let seq = self.sender.as_ref().map_or(1, |s| (s.snd_max() as u32).wrapping_add(1));
                self.push_acking(now, (flag::ACK, seq, 0), &p, (&p, extra));
            } else {
                let (info, extra) = ack.take().unwrap_or_else(|| self.due_ack());
                let fin = if p.has(packet::flag::FIN) { flag::FIN } else { 0 };
                let cwr = if p.has(packet::flag::CWR) { flag::CWR } else { 0 };
                let seq = if p.has(packet::flag::PROBE) {
                    // With an acknowledged sequence number (tcp_xmit_probe_skb), so that the peer answers.
                    p.seq.wrapping_sub(1)
                } else if p.len == 0 && fin == 0 {
                    self.sender.as_ref().map_or(1, |s| (s.snd_max() as u32).wrapping_add(1))
                } else {
                    p.seq
                };
                self.push_acking(now, (flag::ACK | fin | cwr, seq, u32::from(p.len)), &p, (&info, extra));
            }
        }
    }

    /// Contents of an ACK now.
    fn due_ack(&mut self) -> (Packet, Option<Extra>) {
        let mut tape = Trace::default();
        if let Some(r) = &mut self.receiver {
            r.flush(&mut tape);
        }
        tape.packets.pop().unwrap_or_default()
    }

    fn push_acking(&mut self, now: u64, (flags, seq, len): (u16, u32, u32), p: &Packet, (ack, extra): (&Packet, Option<Extra>)) {
        self.acked = ack.seq;
        self.fin_ack = None;
        let echo = match self.third_ack.take() {
            Some(handshake) if len == 0 => flag::of_ace(handshake),
            _ if ack.has(packet::flag::ECE) => flag::ECE,
            _ => flag::of_ace(ack.ace()),
        };
        let scaled = self.settings.scaling && self.theirs.wscale.is_some();
        // The simulator's receiver always scales.
        let win = if scaled { ack.win } else { (u64::from(ack.win) << self.shift()).min(65_535) as u16 };
        let echoed = || self.stamps.iter().rev().find(|s| s.1 == ack.ts).map_or(ack.ts, |s| s.0);
        let options = Options {
            ts: self.c.timestamps.then(|| (clock(now), self.echo.unwrap_or_else(echoed))),
            sack: match extra {
                Some(Extra::Sack(s)) => s.iter().collect(),
                Some(Extra::Carried(_)) | None => Vec::new(),
            },
            accecn: CarriedAck::of(extra.as_ref()).and_then(|ack| ack.accecn).map_or(Vec::new(), fields_of),
            ..Options::default()
        };
        let segment =
            Segment { ecn: field(p), flags: flags | echo, seq, len, ack: ack.seq, win: Some(win), options: Some(options) };
        self.push(now, segment);
    }

    /// The simulator's value for timestamp `value` of the peer: the first one left a second before it arrives, as a script's clock may run ahead of
    /// its times.
    pub(super) fn own_stamp(&mut self, now: u64, value: u32) -> u32 {
        let first = *self.stamps.first().unwrap_or(&(value, clock(now).wrapping_sub(1_000_000_000)));
        let ns = i64::from(value.wrapping_sub(first.0) as i32) * self.settings.tick;
        let own = first.1.wrapping_add(ns as u32);
        if !self.stamps.contains(&(value, own)) {
            self.stamps.push((value, own));
        }
        own
    }

    /// True if the peer's feedback is that of Accurate ECN.
    fn is_accurate(&self) -> bool {
        self.sender.as_ref().is_some_and(|s| s.ecn_in_use().1)
    }

    fn push(&mut self, time: u64, segment: Segment) {
        self.sent.push_back(Sent { time, segment });
    }
}

/// The simulator's timestamp clock: ns, 32 bits.
fn clock(now: u64) -> u32 {
    (now / 1000) as u32
}

/// The codepoint of an ECN field.
fn codepoint(field: Option<EcnField>) -> Codepoint {
    match field {
        Some(EcnField::Ce) => Codepoint::Ce,
        Some(EcnField::Ect0 | EcnField::Ect) => Codepoint::Ect0,
        Some(EcnField::Ect1) => Codepoint::Ect1,
        Some(EcnField::NotEct) | None => Codepoint::NotEct,
    }
}

/// ACE field of the ACK of a SYN-ACK with this ECN field (RFC 9768 table 3).
fn handshake_encoding(syn_ack: Option<EcnField>) -> u8 {
    match codepoint(syn_ack) {
        Codepoint::NotEct => 0b010,
        Codepoint::Ect1 => 0b011,
        Codepoint::Ect0 => 0b100,
        Codepoint::Ce => 0b110,
    }
}

/// The option of a packet with these fields. Missing ones have their initial values (RFC 9768 section 3.2.1).
fn option_of(fields: &[(Counter, u32)]) -> Option<AccEcnOption> {
    let of = |counter| fields.iter().find(|f| f.0 == counter).map(|f| f.1);
    let (e0b, ceb, e1b) = (of(Counter::E0b), of(Counter::Ceb), of(Counter::E1b));
    (!fields.is_empty()).then(|| AccEcnOption::new(e0b.unwrap_or(1), ceb.unwrap_or(0), e1b.unwrap_or(1)))
}

/// The fields of an option. The simulator has no order: that of AccECN0 is shown.
fn fields_of(option: AccEcnOption) -> Vec<(Counter, u32)> {
    vec![(Counter::E0b, option.e0b()), (Counter::Ceb, option.ceb()), (Counter::E1b, option.e1b())]
}

fn field(p: &Packet) -> Option<EcnField> {
    Some(match p.ecn() {
        Codepoint::NotEct => EcnField::NotEct,
        Codepoint::Ect0 => EcnField::Ect0,
        Codepoint::Ect1 => EcnField::Ect1,
        Codepoint::Ce => EcnField::Ce,
    })
}
