//! Random arrivals at ports with buffered disciplines, compared with a slow model: departures, their times and order, and drops are the same.

use forebay_experiment::network::PortConfig;
use forebay_queues::{QueueState, build, find};
use forebay_sim::net::packet::{Codepoint, Extra, Meta, Packet, SackBlocks, flag, service};
use forebay_sim::net::port::Port;
use forebay_types::param::{Kind, QueueValue, Value, Values};
use forebay_types::{ConnSlot, NodeId, QueueLen, Rate, Rng, Time};

/// A queue with some parameters set and the others at their defaults.
fn value(kind: &'static str, sets: &[(&str, Value)]) -> QueueValue {
    let entry = find(kind).unwrap().entry;
    let param = |p: &forebay_types::param::Param| {
        let text = p.default.unwrap_or("");
        let default = match p.kind {
            _ if text.is_empty() => Value::Unset,
            Kind::Int(..) => Value::Int(text.parse().unwrap()),
            Kind::Float(..) => Value::Float(text.parse().unwrap()),
            Kind::Bool => Value::Bool(text.parse().unwrap()),
            Kind::Bytes => Value::Bytes(text.parse().unwrap()),
            Kind::Time => Value::Time(text.parse().unwrap()),
            _ => Value::Text(text.into()),
        };
        (p.key, sets.iter().find(|s| s.0 == p.key).map_or(default, |s| s.1.clone()))
    };
    QueueValue { kind, params: Values(entry.params.iter().map(param).collect()) }
}

/// Rule of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    /// By queue, then by arrival; the newest of the lowest queue makes room.
    Strict { queues: u8, evict: bool },
    /// By arrival; the newest packet of a class below 4 makes room for classes from 4 on.
    Pushout,
    /// The first packet of the flow with the smallest rank; the newest packet of the largest rank makes room for smaller ones.
    Pfabric,
    /// By arrival; drops are not modeled.
    Fifo,
}

/// A model of the port.
struct Model {
    rule: Rule,
    limit: QueueState,
    waiting: Vec<Packet>,
    /// Packet in service, or served last, and the end of its service.
    serving: Option<Packet>,
    free_at: u64,
    left: Vec<(u64, u32)>,
    dropped: Vec<u32>,
    /// Packets dropped by the port instead of being sent: they are not served at their turn.
    not_served: Vec<u32>,
    /// Arrivals by sequence number, ps.
    arrived: Vec<u64>,
    /// Stay of each queued packet: start and end, ps.
    stays: Vec<(u64, u64)>,
    most: u32,
}

fn flow(p: &Packet) -> (ConnSlot, bool) {
    (p.conn, p.has(flag::ACK))
}

impl Model {
    fn queue(&self, p: &Packet) -> u8 {
        match self.rule {
            Rule::Strict { queues, .. } => ((7 - u32::from(p.class())) * u32::from(queues) / 8) as u8,
            _ => 0,
        }
    }

    fn start(&mut self, at: u64, rate: Rate) {
        while self.waiting.first().is_some_and(|p| self.not_served.contains(&p.seq)) {
            let p = self.waiting.remove(0);
            self.stays.push((self.arrived[p.seq as usize], at));
            self.dropped.push(p.seq);
        }
        if self.waiting.is_empty() {
            return;
        }
        let all = 0..self.waiting.len();
        let best = match self.rule {
            Rule::Strict { .. } => all.min_by_key(|&i| (self.queue(&self.waiting[i]), i)).unwrap(),
            Rule::Pushout | Rule::Fifo => 0,
            Rule::Pfabric => {
                let urgent = all.clone().min_by_key(|&i| (self.waiting[i].rank(), i)).unwrap();
                all.clone().find(|&i| flow(&self.waiting[i]) == flow(&self.waiting[urgent])).unwrap()
            }
        };
        let p = self.waiting.remove(best);
        self.free_at = at + rate.tx_time(u64::from(p.wire)).0;
        self.left.push((self.free_at, p.seq));
        self.stays.push((self.arrived[p.seq as usize], self.free_at));
        self.serving = Some(p);
    }

    /// Serves everything that starts before `until`.
    fn run(&mut self, until: u64, rate: Rate) {
        while !self.waiting.is_empty() && self.free_at < until {
            self.start(self.free_at, rate);
        }
    }

    fn held(&self, now: u64) -> (u32, u64) {
        let service = self.serving.iter().filter(|_| self.free_at >= now);
        let all: Vec<&Packet> = self.waiting.iter().chain(service).collect();
        (all.len() as u32, all.iter().map(|p| u64::from(p.wire)).sum())
    }

    fn fits(&self, now: u64, wire: u16, freed: &[usize]) -> bool {
        let (n, bytes) = self.held(now);
        let less: u64 = freed.iter().map(|&i| u64::from(self.waiting[i].wire)).sum();
        n - (freed.len() as u32) < self.limit.packets && bytes - less + u64::from(wire) <= self.limit.bytes
    }

    /// Evicts the waiting packets in `gone`.
    fn evict(&mut self, now: u64, gone: &[u32]) {
        let (out, stay) = self.waiting.iter().copied().partition(|w| gone.contains(&w.seq));
        self.waiting = stay;
        let out: Vec<Packet> = out;
        self.stays.extend(out.iter().map(|w| (self.arrived[w.seq as usize], now)));
        self.dropped.extend(gone);
    }

    fn arrive(&mut self, now: u64, p: &Packet, rate: Rate, lost: &[u32]) {
        // Packets that can make room, in order of eviction.
        let mut order: Vec<usize> = (0..self.waiting.len()).collect();
        let w = &self.waiting;
        match self.rule {
            Rule::Strict { evict, .. } => {
                order.retain(|&i| evict && self.queue(&w[i]) > self.queue(p));
                order.sort_by_key(|&i| std::cmp::Reverse((self.queue(&w[i]), i)));
            }
            Rule::Pushout => {
                order.retain(|&i| p.class() >= 4 && w[i].class() < 4);
                order.reverse();
            }
            Rule::Pfabric => {
                order.retain(|&i| w[i].rank() > p.rank());
                order.sort_by_key(|&i| std::cmp::Reverse((w[i].rank(), i)));
            }
            Rule::Fifo => {
                self.evict(now, lost);
                if !lost.contains(&p.seq) {
                    self.take(now, p, rate);
                }
                return;
            }
        }
        let Some(needed) = (0..=order.len()).find(|&n| self.fits(now, p.wire, &order[..n])) else {
            self.dropped.push(p.seq);
            return;
        };
        let gone: Vec<u32> = order[..needed].iter().map(|&i| w[i].seq).collect();
        self.evict(now, &gone);
        self.take(now, p, rate);
    }

    fn take(&mut self, now: u64, p: &Packet, rate: Rate) {
        self.most = self.most.max(self.held(now).0 + 1);
        self.waiting.push(*p);
        if self.free_at < now {
            self.start(now, rate);
        }
    }
}

fn arrival(rng: &mut Rng, seq: u32) -> (Packet, Option<Extra>) {
    let ack = rng.below(4) == 0;
    let extra = (ack && rng.below(2) == 0).then(|| Extra::Sack(SackBlocks::of([(seq, seq + 9)]).expect("a block")));
    let packet = Packet {
        seq,
        conn: ConnSlot::new(rng.below(6) as u32),
        wire: if ack { 40 } else { 200 + rng.below(1300) as u16 },
        win: service(rng.below(8) as u8, rng.below(40) as u16),
        flags: if ack { flag::ACK } else { 0 } | if extra.is_some() { flag::EXT } else { 0 },
        meta: Meta::default().with_ecn(if rng.below(3) > 0 { Codepoint::Ect0 } else { Codepoint::NotEct }),
        ..Packet::default()
    };
    (packet, extra)
}

fn check(rule: Rule, queue: &QueueValue, buffer: QueueLen, seed: u64) {
    let rate = Rate(1_000_000_000);
    let delay = 5_000_000;
    let config = PortConfig {
        from: NodeId::new(0),
        to: NodeId::new(1),
        rate,
        delay: Time(delay),
        buffer: Some(buffer),
        queue: build(Some(queue), Some(buffer)).unwrap(),
        queue_config: Default::default(),
    };
    let mut port = Port::new(&config, false, 0, Rng::stream(seed, &[0]));
    let mut rng = Rng::stream(seed, &[1]);
    let limit = QueueState::limit(buffer);
    let mut model = Model {
        rule,
        limit,
        waiting: Vec::new(),
        serving: None,
        free_at: 0,
        left: Vec::new(),
        dropped: Vec::new(),
        not_served: Vec::new(),
        arrived: Vec::new(),
        stays: Vec::new(),
        most: 0,
    };
    let (mut now, mut window, mut marked, mut measured_from, mut lost_before) = (1_000, 0, 0, 0, 0);
    let mut out: Vec<(u64, u32)> = Vec::new();
    let mut lost: Vec<u32> = Vec::new();
    for seq in 0..4_000 {
        // Bursts and pauses; times that coincide with departures and with each other.
        now += match rng.below(40) {
            0 => 200_000_000,
            1..=9 => 0,
            10..=19 => rate.tx_time(40).0,
            _ => rng.below(13_000_000),
        };
        while window + delay <= now {
            window += delay;
            port.serve(Time(window), |p| model.not_served.push(p.seq));
            model.run(window, rate);
            // The far end takes the arrivals of the window.
            while !port.ring().is_empty() && port.ring().packet(port.ring().head()).arrival.0 < window {
                let p = *port.ring().packet(port.ring().head());
                let blocks = port.ring().extra(port.ring().head()).and_then(|extra| match extra {
                    Extra::Sack(s) => s.iter().next(),
                    Extra::Carried(_) => None,
                });
                assert_eq!(blocks, p.has(flag::EXT).then_some((p.seq, p.seq + 9)));
                marked += u64::from(measured_from > 0 && p.ecn() == Codepoint::Ce);
                out.push((p.arrival.0 - delay, p.seq));
                let next = port.ring().next(port.ring().head());
                port.ring_mut().advance(next);
            }
            port.audit();
            if measured_from == 0 && seq > 700 && port.backlog().is_some_and(|r| !r.is_empty()) {
                // The end of the warm-up, while packets wait: some of them are evicted later.
                measured_from = window;
                lost_before = lost.len() + model.not_served.len();
                port.restart_stats(Time(window));
                model.most = model.held(window).0;
            }
        }
        let (packet, extra) = arrival(&mut rng, seq);
        port.serve(Time(now), |p| model.not_served.push(p.seq));
        model.run(now, rate);
        let before = lost.len();
        port.admit(Time(now), &packet, extra.as_ref(), None, |p| lost.push(p.seq));
        model.arrived.push(now);
        model.arrive(now, &packet, rate, &lost[before..]);
        assert!(model.held(now).0 <= limit.packets && model.held(now).1 <= limit.bytes);
    }
    port.serve(Time(u64::MAX / 4), |p| model.not_served.push(p.seq));
    model.run(u64::MAX / 4, rate);
    let mut position = port.ring().head();
    while position != port.ring().tail() {
        let p = port.ring().packet(position);
        marked += u64::from(p.ecn() == Codepoint::Ce);
        out.push((p.arrival.0 - delay, p.seq));
        position = port.ring().next(position);
    }
    lost.extend(&model.not_served);
    lost.sort_unstable();
    model.dropped.sort_unstable();
    assert_eq!(lost, model.dropped, "{queue:?}");
    assert_eq!(out, model.left, "{queue:?}");
    assert_eq!(out.len() + lost.len(), 4_000);
    // Marked packets may have waited at the end of the warm-up, or have been evicted.
    assert!(
        port.events().marked + 60 >= marked && (rule == Rule::Pfabric || marked > 100),
        "{marked}, {:?}: {queue:?}",
        port.events()
    );
    let since = |&(from, to): &(u64, u64)| u128::from(to.saturating_sub(from.max(measured_from)));
    let sojourn: u128 = model.stays.iter().map(since).sum();
    assert!(measured_from > 0);
    assert_eq!((port.stats().sojourn, port.events().max_pkts), (sojourn, model.most), "{queue:?}");
    assert_eq!(port.total_sent(), out.len() as u64);
    assert_eq!(port.events().dropped.iter().sum::<u64>(), (lost.len() - lost_before) as u64);
    assert!(lost.len() > 100 && out.len() > 1_000, "{} lost, {} sent: {queue:?}", lost.len(), out.len());
}

/// Drops and marks when a transmission starts, and probabilities.
#[test]
fn fifos_with_sojourn_match_model() {
    let us = |n| Value::Time(Time::from_us(n));
    for seed in 0..6 {
        for buffer in [QueueLen::Packets(12), QueueLen::Bytes(9_000)] {
            let ecn = ("ecn", Value::Bool(true));
            check(Rule::Fifo, &value("codel", &[("target", us(5)), ("interval", us(40)), ecn.clone()]), buffer, seed);
            let pie = [
                ("target", us(5)),
                ("update", us(5)),
                ("burst", us(10)),
                ("alpha", Value::Float(500.0)),
                ("beta", Value::Float(5_000.0)),
            ];
            check(Rule::Fifo, &value("pie", &[&pie[..], &[ecn, ("mark-ecnth", Value::Float(1.0))]].concat()), buffer, seed);
        }
    }
}

fn packets(n: u64) -> Value {
    Value::QueueLen(QueueLen::Packets(n))
}

#[test]
fn buffered_disciplines_match_model() {
    for seed in 0..6 {
        for buffer in [QueueLen::Packets(12), QueueLen::Bytes(9_000)] {
            for (queues, evict) in [(2, true), (3, true), (8, true), (8, false)] {
                let overflow = Value::Text(if evict { "lowest" } else { "tail" }.into());
                let sets = [("queues", Value::Int(i64::from(queues))), ("overflow", overflow), ("k", packets(5))];
                check(Rule::Strict { queues, evict }, &value("strict-priority", &sets), buffer, seed);
            }
            check(Rule::Pushout, &value("pushout", &[("k", packets(4))]), buffer, seed);
            check(Rule::Pfabric, &value("pfabric", &[]), buffer, seed);
            let red = [("min", packets(2)), ("max", packets(8)), ("weight", Value::Float(0.1))];
            check(Rule::Fifo, &value("choke", &red), buffer, seed);
            for rule in ["all", "majority", "any"] {
                let sets = [&red[..], &[("m", Value::Int(3)), ("match", Value::Text(rule.into()))]].concat();
                check(Rule::Fifo, &value("choke-multi", &sets), buffer, seed);
            }
        }
    }
}
