//! A receiver against a scripted peer. Its output reads like `"3 3[5-7,9-10] 4E 5a6+1000"`: acknowledged segments, SACK blocks, ECE, ACE field and marked
//! bytes of an AccECN option.

use super::{Capture, US, addresses};
use forebay_sim::net::packet::{CarriedAck, Codepoint, Extra, Meta, Packet, flag};
use forebay_sim::net::tick::Tick;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::gro::{Gro, SuperSegment};
use forebay_sim::tcp::receiver::Receiver;
use forebay_types::Time;

const ISN: u32 = u32::MAX - 3000;

pub(crate) struct Script {
    pub(crate) c: TcpConfig,
    pub(crate) r: Receiver,
    /// us.
    pub(crate) now: u64,
    capture: Capture,
    /// Segments that the host merges.
    gro: Option<Gro>,
}

impl Script {
    /// Established, with the ECN mode of the configuration.
    pub(crate) fn new(c: TcpConfig) -> Script {
        let asks = c.ecn != forebay_experiment::transport::Ecn::Off;
        let mut t = Script::closed(c);
        t.syn(if asks { flag::ECE | flag::CWR } else { 0 });
        t
    }

    pub(crate) fn closed(c: TcpConfig) -> Script {
        let (_, back) = addresses(ISN);
        Script { r: Receiver::new(&c, back), c, now: 0, capture: Capture::default(), gro: None }
    }

    /// Established, at a host that merges the segments of an interrupt.
    pub(crate) fn merging(c: TcpConfig) -> Script {
        let mut t = Script::new(c);
        t.gro = Some(Gro::default());
        t
    }

    /// Merges the segments of an interrupt from now on.
    pub(crate) fn merge(&mut self) {
        self.gro = Some(Gro::default());
    }

    /// Ends an interrupt.
    pub(crate) fn flush(&mut self) -> &mut Script {
        while let Some(segments) = self.gro.as_mut().and_then(Gro::flush) {
            self.pass(&segments);
        }
        self
    }

    fn pass(&mut self, segments: &SuperSegment) {
        self.r.on_segments(&self.c, Time(self.now * US), segments, &mut self.capture);
    }

    /// Delivers a SYN with `flags`; returns the answer.
    pub(crate) fn syn(&mut self, flags: u8) -> Packet {
        self.syn_with(flags, 0, Codepoint::NotEct)
    }

    /// As [`Script::syn`], with the flags AE, CWR and ECE of Accurate ECN, and an ECN field.
    pub(crate) fn syn_with(&mut self, flags: u8, ace: u8, ecn: Codepoint) -> Packet {
        let mut p = Packet { seq: ISN, ts: (self.now * 1000) as u32, flags: flag::SYN | flags, ..Packet::default() };
        p.meta.set_ecn(ecn);
        p.set_ace(ace);
        self.r.on_packet(&self.c, Time(self.now * US), &p, &mut self.capture);
        assert_eq!(self.capture.0.len(), 1);
        self.capture.0.pop().unwrap().0
    }

    /// Advances to time `us`; runs the delayed-ACK timer on the way.
    pub(crate) fn at(&mut self, us: u64) -> &mut Script {
        while self.r.timer_due().is_due(Time(us * US)) {
            let now = self.r.timer_due().or_never();
            self.r.on_timer(&self.c, now, &mut self.capture);
        }
        self.now = us;
        self
    }

    /// Delivers segment `n`.
    pub(crate) fn data(&mut self, n: u64) -> &mut Script {
        self.segment(n, 0, false)
    }

    /// Delivers segment `n` with CE.
    pub(crate) fn ce(&mut self, n: u64) -> &mut Script {
        self.segment(n, 0, true)
    }

    pub(crate) fn segment(&mut self, n: u64, flags: u8, ce: bool) -> &mut Script {
        let mss = u64::from(self.c.mss);
        self.bytes(n * mss, mss, flags, ce)
    }

    /// Delivers segment `n` as it left at time `us`.
    pub(crate) fn late(&mut self, n: u64, us: u64) -> &mut Script {
        let mss = u64::from(self.c.mss);
        self.stamped(n * mss, mss, (us, Tick::NONE), 0, false)
    }

    /// Delivers segment `n`, which echoes the tick `tsecr` of the receiver's clock.
    pub(crate) fn echoing(&mut self, n: u64, tsecr: u64) -> &mut Script {
        let mss = u64::from(self.c.mss);
        self.stamped(n * mss, mss, (self.now, Tick::new(tsecr)), 0, false)
    }

    pub(crate) fn bytes(&mut self, offset: u64, len: u64, flags: u8, ce: bool) -> &mut Script {
        self.stamped(offset, len, (self.now, Tick::NONE), flags, ce)
    }

    fn stamped(&mut self, offset: u64, len: u64, (us, tsecr): (u64, Tick), flags: u8, ce: bool) -> &mut Script {
        let p = Packet {
            seq: ISN.wrapping_add(1).wrapping_add(offset as u32),
            len: len as u16,
            ts: (us * 1000) as u32,
            win: tsecr.bits(),
            flags,
            meta: Meta::default().with_ecn(if ce { Codepoint::Ce } else { Codepoint::Ect0 }),
            ..Packet::default()
        };
        let pushed = self.r.ends_write(&self.c, &p);
        let Some(gro) = &mut self.gro else {
            self.r.on_packet(&self.c, Time(self.now * US), &p, &mut self.capture);
            return self;
        };
        let merged = gro.receive(0, &self.c, (&p, None), pushed);
        let alone = merged.passes.then(|| SuperSegment::of(&p, None));
        merged.complete.iter().chain(&alone).for_each(|segments| self.pass(segments));
        self
    }

    /// The ACKs since the last call, as text.
    pub(crate) fn acks(&mut self) -> String {
        let mss = i64::from(self.c.mss);
        let segment = |seq: u32| {
            let offset = i64::from(seq.wrapping_sub(ISN).wrapping_sub(1) as i32);
            if offset % mss == 0 { format!("{}", offset / mss) } else { format!("@{offset}") }
        };
        let tokens: Vec<String> = self
            .capture
            .0
            .drain(..)
            .map(|(p, extra)| {
                let mut token = segment(p.seq);
                if let Some(Extra::Sack(sack)) = extra {
                    let blocks: Vec<String> = sack.iter().map(|(a, b)| format!("{}-{}", segment(a), segment(b))).collect();
                    token += &format!("[{}]", blocks.join(","));
                }
                if p.ace() > 0 {
                    token += &format!("a{}", p.ace());
                }
                if let Some(bytes) = CarriedAck::of(extra.as_ref()).and_then(|ack| ack.accecn).map(|option| option.ceb()) {
                    token += &format!("+{bytes}");
                }
                for (flag, letter) in [(flag::ECE, 'E'), (flag::FIN, 'F')] {
                    if p.has(flag) {
                        token.push(letter);
                    }
                }
                token
            })
            .collect();
        tokens.join(" ")
    }

    /// The ACKs since the last call.
    pub(crate) fn packets(&mut self) -> Vec<Packet> {
        self.capture.0.drain(..).map(|(p, _)| p).collect()
    }
}
