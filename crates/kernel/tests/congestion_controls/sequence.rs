//! A random sequence of events, run through a congestion control of the simulator and written down for its core.

use forebay_experiment::profile::{PARAMS, resolve};
use forebay_experiment::topology::Route;
use forebay_experiment::transport::{Chosen, Profile, Transport};
use forebay_kernel::congestion_controls::guest_cc;
use forebay_sim::cc::{self, Ack, Cc, Event, Opportunity, Path, Reduction, Threshold, Trigger, Window};
use forebay_sim::shim::tag::MessageStart;
use forebay_sim::shim::tag_shims::Tagger;
use forebay_sim::shim::{self, Shims};
use forebay_types::param::{Kind, Param, Value, Values};
use forebay_types::{Bytes, QueueLen, Rate, Rng, Time, TimeOrNever};

/// TCP_INFINITE_SSTHRESH.
const NO_THRESHOLD: u32 = 0x7fff_ffff;
const NONE: u32 = u32::MAX;

/// State that is compared after an event: `struct outcome` of the harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    cwnd: u32,
    ssthresh: u32,
    /// When the congestion control's timer runs out, us.
    due: u64,
    /// Alpha in 1/1024, or segments that may leave.
    more: u32,
    /// TRIM's threshold, us.
    k: u32,
}

impl Outcome {
    pub(crate) fn read(b: &[u8]) -> Outcome {
        let word = |at: usize| u32::from_le_bytes(b[at..at + 4].try_into().unwrap());
        let due = u64::from_le_bytes(b[8..16].try_into().unwrap());
        Outcome { cwnd: word(0), ssthresh: word(4), due, more: word(16), k: word(20) }
    }
}

/// A sequence: what the core reads, and what came of it in the simulator.
pub(crate) struct Sequence {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) outcomes: Vec<Outcome>,
    /// Its events, for failures.
    pub(crate) notes: Vec<Note>,
}

/// Kinds of events, as `enum kind`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EventKind {
    Ack,
    Loss,
    Recovered,
    Timeout,
    Message,
    Send,
    Stack,
    Established,
}

const ADVANCES: u32 = 1;
const CUTS: u32 = 2;
const RECOVERING: u32 = 4;

/// `struct event`.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "shown in failures")]
pub(crate) struct Note {
    what: EventKind,
    flags: u32,
    now: u64,
    una: u32,
    nxt: u32,
    acked: u32,
    delivered: u32,
    delivered_ce: u32,
    rtt: u32,
    srtt: u32,
    mss: u32,
    ece: u32,
    from: u32,
    to: u32,
    time: u64,
    flight: u32,
    unsent: u32,
}

impl Note {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend([self.what as u32, self.flags].iter().flat_map(|w| w.to_le_bytes()));
        out.extend(self.now.to_le_bytes());
        let facts =
            [self.una, self.nxt, self.acked, self.delivered, self.delivered_ce, self.rtt, self.srtt, self.mss, self.ece, 0];
        out.extend(facts.iter().flat_map(|w| w.to_le_bytes()));
        out.extend([self.from, self.to].iter().flat_map(|w| w.to_le_bytes()));
        out.extend(self.time.to_le_bytes());
        out.extend([self.flight, self.unsent].iter().flat_map(|w| w.to_le_bytes()));
    }
}

/// 2^x with x uniform between those of the bounds.
fn spread(rng: &mut Rng, low: f64, high: f64) -> f64 {
    (low.log2() + (high.log2() - low.log2()) * rng.unit()).exp2()
}

fn pick<T: Copy>(rng: &mut Rng, list: &[T]) -> T {
    list[rng.below(list.len() as u64) as usize]
}

fn chance(rng: &mut Rng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// `usual` in so many of a hundred cases.
fn mostly<T>(rng: &mut Rng, percent: u64, usual: T, rare: T) -> T {
    if chance(rng, percent) { usual } else { rare }
}

/// The default of a parameter.
fn default(p: &Param) -> Value {
    let text = p.default.expect("congestion controls have defaults");
    match p.kind {
        _ if text.is_empty() => Value::Unset,
        Kind::Float(..) => Value::Float(text.parse().unwrap()),
        Kind::Bool => Value::Bool(text == "true"),
        Kind::Int(..) => Value::Int(text.parse().unwrap()),
        Kind::QueueLen => Value::QueueLen(text.parse().unwrap()),
        Kind::Time => Value::Time(text.parse().unwrap()),
        Kind::Rate => Value::Rate(text.parse().unwrap()),
        Kind::Bytes => Value::Bytes(Bytes(text.parse().unwrap())),
        _ => Value::Text(text.to_owned()),
    }
}

/// A random legal value of a parameter, if it is one of those that the test changes.
fn random(rng: &mut Rng, cc: &str, key: &str) -> Option<Value> {
    let word = |w: &str| Value::Text(w.to_owned());
    Some(match key {
        "arithmetic" => word("linux"),
        "g" => Value::Float(0.5f64.powi(rng.below(11) as i32)),
        "alpha" if cc == "trim" => Value::Float(pick(rng, &[0.25, 0.125, 1.0, 0.3])),
        "alpha" => Value::Float(rng.unit()),
        "min-cwnd" => Value::Float(pick(rng, &[1.0, 2.0, 2.5, 4.0])),
        // The kernel's L2DCT has no such parameter.
        "no-growth-on-ece" if cc == "l2dct" => return None,
        "no-growth-on-ece" | "additive-only" | "at-start" | "halve" => Value::Bool(chance(rng, 50)),
        "w-max" | "w-min" => Value::Float(spread(rng, 0.01, 20.0)),
        "light" | "heavy" => Value::QueueLen(if chance(rng, 50) {
            QueueLen::Bytes(spread(rng, 1e3, 1e8) as u64)
        } else {
            QueueLen::Packets(spread(rng, 1.0, 1e5) as u64)
        }),
        "d-min" => Value::Float(spread(rng, 0.01, 1.0)),
        "d-max" => Value::Float(spread(rng, 1.0, 100.0)),
        "missed" => word(pick(rng, &["near", "neutral"])),
        "rate" if chance(rng, 30) => Value::Rate(Rate(spread(rng, 1e6, 4e11) as u64)),
        "buffer" if chance(rng, 30) => Value::QueueLen(QueueLen::Packets(spread(rng, 1.0, 5e3) as u64)),
        "k" if chance(rng, 30) => Value::Time(Time(spread(rng, 1e6, 1e12) as u64)),
        "k-policy" => word(pick(rng, &["lower", "mid", "upper"])),
        "k-guard" => Value::Float(pick(rng, &[0.0, 3.0, 12.3])),
        "reduction-mode" => word(pick(rng, &["per-ack", "per-rtt", "per-ack-capped"])),
        "gap-scope" => word(pick(rng, &["any", "idle"])),
        "ssthresh-on-trim" => word(pick(rng, &["all", "late", "cut", "none"])),
        "min-rtt-seed" => word(pick(rng, &["idle-data", "handshake", "handshake-raw", "first-sample"])),
        "at" => word(pick(rng, &["off", "on", "ad", "as"])),
        "priority" => Value::Bool(false),
        "floor" if chance(rng, 50) => Value::Int(1 + rng.below(4) as i64),
        "ssthresh" => word(pick(rng, &["keep", "cap"])),
        _ => return None,
    })
}

fn values(rng: &mut Rng, cc: &str, params: &[Param]) -> Values {
    Values(params.iter().map(|p| (p.key, random(rng, cc, p.key).unwrap_or_else(|| default(p)))).collect())
}

/// A transport of the congestion control `name`, or of Reno with the shim PRIN.
fn transport(rng: &mut Rng, name: &'static str) -> Transport {
    let entry = cc::find(if name == "prin" { "newreno" } else { name }).expect("the congestion control exists");
    let cc = values(rng, name, entry.entry.params);
    let unset = Values(PARAMS.iter().map(|p| (p.key, Value::Unset)).collect());
    let mut t = resolve(Profile::Linux, entry, cc, &unset);
    // Whatever the kernel has itself.
    t.stack.cwnd_validation = false;
    if name == "prin" {
        let entry = shim::find("prin").expect("the shim exists");
        t.shims.push(Chosen { name: "prin", values: values(rng, name, entry.entry.params) });
    }
    t
}

/// A sender, as far as congestion controls see one.
struct Sender<'a> {
    rng: &'a mut Rng,
    cc: Cc,
    tagger: Option<Box<Tagger>>,
    w: Window,
    now: Time,
    /// Offset of sequence number 0.
    isn: u32,
    una: u64,
    nxt: u64,
    written: u64,
    mss: u32,
    last_tx: Option<Time>,
    recovering: bool,
    base_rtt: Time,
    delivered: u32,
    delivered_ce: u32,
    is_trim: bool,
    bytes: Vec<u8>,
    outcomes: Vec<Outcome>,
    notes: Vec<Note>,
    srtt: TimeOrNever,
}

impl Sender<'_> {
    fn seq(&self, offset: u64) -> u32 {
        (offset as u32).wrapping_add(self.isn)
    }

    fn note(&self, what: EventKind) -> Note {
        Note {
            what,
            flags: if self.recovering { RECOVERING } else { 0 },
            now: self.now.as_us(),
            una: self.seq(self.una),
            nxt: self.seq(self.nxt),
            acked: 0,
            delivered: self.delivered,
            delivered_ce: self.delivered_ce,
            rtt: NONE,
            srtt: self.srtt.get().map_or(0, |t| t.as_us() as u32),
            mss: self.mss,
            ece: 0,
            from: 0,
            to: 0,
            time: 0,
            flight: 0,
            unsent: 0,
        }
    }

    /// The event has happened.
    fn happened(&mut self, note: &Note, more: u32) {
        note.write(&mut self.bytes);
        let (mut due, mut k) = (0, 0);
        if let Cc::Trim(trim) = &self.cc {
            due = self.cc.due().get().map_or(u64::MAX, Time::as_us);
            k = if trim.k().is_finite() { Time(trim.k() as u64).as_us() as u32 } else { NONE };
        }
        let alpha = self.cc.alpha().map(|a| (a * 1024.0) as u32);
        assert!(self.w.cwnd >= 1.0 && self.w.cwnd.fract() == 0.0, "{:?} after {note:?}", self.w);
        let ssthresh = self.w.ssthresh.get().map_or(NO_THRESHOLD, |t| t as u32);
        self.outcomes.push(Outcome { cwnd: self.w.cwnd as u32, ssthresh, due, more: alpha.unwrap_or(more), k });
        self.notes.push(*note);
    }

    /// A random RTT sample, or none.
    fn sample(&mut self) -> Option<Time> {
        if chance(self.rng, 8) {
            return None;
        }
        let factor =
            if chance(self.rng, 4) { spread(self.rng, 0.01, 1e4) } else { 1.0 + 3.0 * self.rng.unit() * self.rng.unit() };
        Some(Time((self.base_rtt.0 as f64 * factor) as u64))
    }

    fn ack(&mut self) {
        let most = self.nxt - self.una;
        let stretch = mostly(self.rng, 90, 3, 60);
        let segments = if most == 0 || chance(self.rng, 20) { 0 } else { 1 + self.rng.below(stretch) };
        let acked = if chance(self.rng, 5) { most } else { most.min(segments * u64::from(self.mss)) };
        self.una += acked;
        let grow = acked.div_ceil(u64::from(self.mss)) as f64;
        // Kernels count segments, of which any may be short.
        let short = if acked > 0 && chance(self.rng, 10) { self.rng.below(3) as u32 } else { 0 };
        let extra = if chance(self.rng, 10) { self.rng.below(70) as u32 } else { 0 };
        let (ece, rtt) = (chance(self.rng, 30), self.sample().filter(|_| acked > 0));
        if let Some(rtt) = rtt {
            self.srtt = self.srtt.get().map_or(rtt, |s| s - s / 8 + rtt / 8).into();
        }
        let (delivered, segments) = (acked + u64::from(extra * self.mss), grow as u32 + short + extra);
        self.delivered = self.delivered.wrapping_add(segments);
        if ece {
            self.delivered_ce = self.delivered_ce.wrapping_add(segments);
        }
        let facts = Ack {
            now: self.now,
            snd_una: self.una,
            snd_nxt: self.nxt,
            acked,
            delivered,
            segments,
            lost: 0,
            absent: 0,
            ce: 0,
            window_limited: Some(true),
            ece,
            grow,
            rtt,
            newest_rtt: rtt,
            srtt: self.srtt,
            min_rtt: TimeOrNever::NEVER,
            mss: self.mss,
        };
        let cuts = ece && !self.recovering && chance(self.rng, 40);
        let mut note = self.note(EventKind::Ack);
        note.flags |= if acked > 0 { ADVANCES } else { 0 } | if cuts { CUTS } else { 0 };
        note.acked = grow as u32;
        note.ece = u32::from(ece);
        note.rtt = rtt.map_or(NONE, |t| t.as_us().min(u64::from(NONE - 1)) as u32);
        self.cc.in_ack_event(&mut self.w, &facts);
        if cuts {
            self.w.ssthresh = self.threshold(Trigger::Ecn);
            self.w.cwnd = self.w.ssthresh.cap(self.w.cwnd);
            self.cc.cwnd_event(&mut self.w, Event::Complete);
        } else if acked > 0 {
            self.cc.pkts_acked(&mut self.w, &facts);
            if !self.recovering {
                self.cc.cong_avoid(&mut self.w, &facts);
            }
        }
        self.happened(&note, 0);
    }

    fn threshold(&mut self, trigger: Trigger) -> Threshold {
        let reduction = Reduction { trigger, from: self.w.cwnd, in_flight: self.nxt - self.una };
        self.cc.ssthresh(&self.w, reduction)
    }

    fn loss(&mut self) {
        self.cc.cwnd_event(&mut self.w, Event::Recovery);
        self.w.ssthresh = self.threshold(Trigger::Loss);
        self.w.fall();
        self.recovering = true;
        let note = self.note(EventKind::Loss);
        self.happened(&note, 0);
    }

    fn recovered(&mut self) {
        self.recovering = false;
        self.cc.cwnd_event(&mut self.w, Event::Complete);
        let note = self.note(EventKind::Recovered);
        self.happened(&note, 0);
    }

    fn timeout(&mut self) {
        self.w.ssthresh = self.threshold(Trigger::Timeout);
        self.w.cwnd = 1.0;
        self.cc.cwnd_event(&mut self.w, Event::Timeout { snd_max: self.nxt });
        // Both are over when the next event comes.
        self.recovering = false;
        let note = self.note(EventKind::Timeout);
        self.happened(&note, 0);
    }

    /// The application writes a message.
    fn message(&mut self) {
        let begin = self.written;
        let largest = mostly(self.rng, 95, 1e6, 5e8);
        self.written += spread(self.rng, 1.0, largest) as u64;
        let deadline = chance(self.rng, 70).then(|| Time(self.now.0 + spread(self.rng, 1e6, 1e13) as u64));
        let mut note = self.note(EventKind::Message);
        (note.from, note.to) = (self.seq(begin), self.seq(self.written));
        note.time = deadline.map_or(u64::MAX, Time::as_us);
        self.cc.cwnd_event(&mut self.w, Event::Write { begin, end: self.written, deadline });
        if let Some(t) = &mut self.tagger {
            t.write(begin, self.written, self.una);
        }
        self.happened(&note, 0);
    }

    /// Data may leave, and mostly does.
    fn send(&mut self) {
        let unsent = self.written - self.nxt;
        let mut note = self.note(EventKind::Send);
        if let Some(t) = &mut self.tagger {
            if unsent == 0 {
                return;
            }
            // `flight` says that nothing has been sent.
            let initial = self.nxt == 0 && self.w.cwnd == 10.0;
            note.flight = u32::from(initial);
            if let Some(restart) = t.message_start(&MessageStart { offset: self.nxt, cwnd: self.w.cwnd, initial }) {
                self.w.cwnd = restart.cwnd;
                if let Some(limit) = restart.ssthresh_limit {
                    self.w.ssthresh = self.w.ssthresh.lowered_to(limit);
                }
                self.cc.cwnd_event(&mut self.w, Event::Restart);
            }
            // The next block begins at the next opportunity.
            let next = t.cut(self.nxt, u64::from(self.mss)).min(u64::from(self.mss)).min(unsent);
            self.nxt += next;
            return self.happened(&note, NONE);
        }
        let at = Opportunity {
            now: self.now,
            last_tx: self.last_tx,
            flight: self.nxt - self.una,
            in_flight: self.nxt - self.una,
            unsent,
            recovering: self.recovering,
            mss: self.mss,
        };
        note.time = self.last_tx.map_or(u64::MAX, Time::as_us);
        (note.flight, note.unsent) = ((at.flight) as u32, unsent.min(u64::from(NONE)) as u32);
        let burst = mostly(self.rng, 90, 6, 1000);
        let wanted = unsent.min(u64::from(self.mss) * self.rng.below(burst));
        (note.from, note.to) = (self.seq(self.nxt), self.seq(self.nxt + wanted));
        let allowed = self.cc.may_send(&mut self.w, &at);
        let leaves = wanted.min(allowed.saturating_mul(u64::from(self.mss)));
        if leaves > 0 {
            self.cc.sent(self.nxt, self.nxt + leaves, &at);
            self.nxt += leaves;
            self.last_tx = Some(self.now);
        }
        self.happened(&note, allowed.min(u64::from(NONE)) as u32);
    }

    /// The stack sets the window: a restart, a reduction in progress.
    fn stack(&mut self) {
        let most = mostly(self.rng, 95, 100, 1 << 24);
        self.w.cwnd = 1.0 + self.rng.below(most) as f64;
        let mut note = self.note(EventKind::Stack);
        note.from = self.w.cwnd as u32;
        self.happened(&note, 0);
    }

    fn established(&mut self) {
        let rtt = self.sample();
        self.cc.cwnd_event(&mut self.w, Event::Established { rtt });
        let mut note = self.note(EventKind::Established);
        note.rtt = rtt.map_or(NONE, |t| t.as_us().min(u64::from(NONE - 1)) as u32);
        self.happened(&note, 0);
    }

    /// Something happens.
    fn step(&mut self) {
        let pause = if chance(self.rng, 5) { spread(self.rng, 1.0, 1e4) } else { self.rng.unit() * 0.3 };
        self.now += Time((self.base_rtt.0 as f64 * pause) as u64);
        match self.rng.below(100) {
            0..50 => self.ack(),
            50..85 => self.send(),
            85..90 => self.message(),
            90..93 if !self.recovering => self.loss(),
            90..97 if self.recovering => self.recovered(),
            97 => self.timeout(),
            98 => self.stack(),
            _ => self.ack(),
        }
        // Congestion controls without a gate do not say when they send.
        if !self.is_trim && self.tagger.is_none() && self.nxt < self.written {
            let more = self.written - self.nxt;
            self.nxt += more.min(u64::from(self.mss) * self.rng.below(20)).min(1 << 30);
        }
    }
}

impl Sequence {
    /// Sequence `number` of the congestion control.
    pub(crate) fn run(name: &'static str, rng: &mut Rng, number: u64) -> Sequence {
        let t = transport(rng, name);
        let packet = pick(rng, &[1538.0, 1500.0, 9038.0, 576.0]);
        let rate = spread(rng, 1e6, 4e11);
        let route = Route {
            idle_rtt: Time(spread(rng, 1e6, 1e12) as u64),
            handshake_deficit: Time(spread(rng, 1.0, 1e9) as u64),
            packet,
            packets_per_s: rate / (8.0 * packet),
            buffer: if chance(rng, 10) { f64::INFINITY } else { spread(rng, 1.0, 1e4).floor() },
        };
        let guest = guest_cc(&t, Some(&route)).expect("it is legal").expect("it is our congestion control");
        let config = cc::build(&t.cc).expect("the congestion control exists");
        let mut cc = config.start();
        let path = Path {
            idle_rtt: route.idle_rtt,
            handshake_deficit: route.handshake_deficit,
            packet: route.packet,
            packets_per_s: route.packets_per_s,
            buffer: route.buffer,
            rng: Rng::stream(number, &[0]),
        };
        cc.path(path);
        let shims: Shims = t.shims.iter().map(|s| shim::build(s).expect("the shim exists")).collect();
        let tagger = Tagger::new(shims.tag.as_ref(), t.ack_every > 1);
        // Near the end of the sequence numbers often, so that they wrap.
        let isn = if chance(rng, 50) { (rng.below(1 << 20) as u32).wrapping_neg() } else { rng.next_u64() as u32 };
        let is_trim = name == "trim";
        let mut s = Sender {
            base_rtt: if chance(rng, 80) { route.idle_rtt } else { Time(spread(rng, 1e5, 1e13) as u64) },
            mss: pick(rng, &[1460, 1448, 536, 8960]),
            now: Time(rng.below(1 << 50)),
            rng,
            cc,
            tagger,
            w: Window { cwnd: 10.0, ssthresh: Threshold::UNLIMITED },
            isn,
            una: 0,
            nxt: 0,
            written: 0,
            last_tx: None,
            recovering: false,
            delivered: 0,
            delivered_ce: 0,
            is_trim,
            bytes: Vec::new(),
            outcomes: Vec::new(),
            notes: Vec::new(),
            srtt: TimeOrNever::NEVER,
        };
        s.established();
        s.message();
        for _ in 0..30 + s.rng.below(40) {
            s.step();
        }
        let cc = ["forebay_rns", "forebay_dctcp", "forebay_l2dct", "forebay_d2tcp", "forebay_trim", "forebay_prin"];
        let cc = cc.iter().position(|l| *l == guest.name).expect("its number") as u32;
        let mut bytes = Vec::new();
        bytes.extend([cc, s.outcomes.len() as u32].iter().flat_map(|w| w.to_le_bytes()));
        bytes.extend(number.to_le_bytes());
        bytes.extend([s.isn, 0].iter().flat_map(|w| w.to_le_bytes()));
        bytes.extend(guest.param.iter().flat_map(|w| w.to_le_bytes()));
        bytes.extend(&s.bytes);
        let title = format!("{name} {:?} {:?} {route:?} mss {}", t.cc.values, t.shims, s.mss);
        Sequence { number, title, bytes, outcomes: s.outcomes, notes: s.notes }
    }
}
