//! Test helpers for disciplines.

use crate::{
    Arrival, BufferedDiscipline, Codepoint, DropReason, Effects, Handle, PortState, Queue, QueueEntry, QueueError, QueueState,
    Queued, Verdict,
};
use forebay_types::param::{Kind, Param, QueueValue, Value, Values};
use forebay_types::{Bytes, QueueLen, Time};

/// A queue with some parameters set and the others at their defaults, for a port without limit.
pub(crate) fn build_with(entry: &QueueEntry, sets: &[(&'static str, Value)]) -> Queue {
    build_for(entry, sets, None)
}

/// As [`build_with`], for a port with this buffer.
pub(crate) fn build_for(entry: &QueueEntry, sets: &[(&'static str, Value)], buffer: Option<QueueLen>) -> Queue {
    (entry.build)(&values(entry, sets), buffer).unwrap()
}

/// The discipline `name` with parameters as text, such as `k=8pkt ks=1pkt,2pkt`.
pub(crate) fn value_from(name: &str, params: &str) -> QueueValue {
    let entry = crate::find(name).unwrap_or_else(|| panic!("{name}"));
    let set = |pair: &str| {
        let (key, text) = pair.split_once('=').unwrap_or_else(|| panic!("{pair}"));
        let p = entry.entry.params.iter().find(|p| p.key == key).unwrap_or_else(|| panic!("{name}: no parameter {key}"));
        (p.key, parse(p, text))
    };
    let sets: Vec<_> = params.split_whitespace().map(set).collect();
    QueueValue { kind: entry.entry.name, params: values(entry, &sets) }
}

/// The queue of [`value_from`], for a port with this buffer.
pub(crate) fn build_from(name: &str, params: &str, buffer: Option<QueueLen>) -> Result<Queue, QueueError> {
    crate::build(Some(&value_from(name, params)), buffer)
}

fn parse(p: &Param, text: &str) -> Value {
    match p.kind {
        Kind::Int(..) => Value::Int(text.parse().unwrap()),
        Kind::Ints(..) => Value::Ints(text.split(',').map(|n| n.parse().unwrap()).collect()),
        Kind::QueueLen => Value::QueueLen(text.parse().unwrap()),
        Kind::QueueLens => Value::QueueLens(text.split(',').map(|n| n.parse().unwrap()).collect()),
        Kind::Float(..) => Value::Float(text.parse().unwrap()),
        Kind::Bool => Value::Bool(text.parse().unwrap()),
        Kind::Bytes | Kind::BytesOrZero => Value::Bytes(text.parse().unwrap()),
        Kind::Time => Value::Time(text.parse().unwrap()),
        Kind::Rate => Value::Rate(text.parse().unwrap()),
        _ => Value::Text(text.to_owned()),
    }
}

/// All parameters of a discipline, at their defaults or as in `sets`.
fn values(entry: &QueueEntry, sets: &[(&'static str, Value)]) -> Values {
    let value = |p: &Param| {
        let text = p.default.unwrap_or("");
        let default = match p.kind {
            _ if text.is_empty() => Value::Unset,
            Kind::Int(..) => Value::Int(text.parse().unwrap()),
            Kind::Float(..) => Value::Float(text.parse().unwrap()),
            Kind::Bool => Value::Bool(text.parse().unwrap()),
            Kind::Bytes => Value::Bytes(text.parse::<Bytes>().unwrap()),
            Kind::Time => Value::Time(text.parse().unwrap()),
            _ => Value::Text(text.into()),
        };
        (p.key, sets.iter().find(|s| s.0 == p.key).map_or(default, |s| s.1.clone()))
    };
    assert!(sets.iter().all(|s| entry.entry.params.iter().any(|p| p.key == s.0)), "{sets:?}");
    Values(entry.entry.params.iter().map(value).collect())
}

/// A busy port with this queue of 1500-byte packets and a buffer in packets.
pub(crate) fn busy(queue: QueueState, buffer: u32) -> PortState {
    let limit = QueueState { packets: buffer, bytes: u64::MAX };
    let (now, idle_since) = (Time(0), Time(0));
    PortState { now, queue, limit, memory: None, serving: 1500 * u32::from(queue.packets > 0), idle_since }
}

/// A recorded call of [`Effects`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Mark(Handle),
    Drop(Handle, DropReason),
}

impl Effects for Vec<Effect> {
    fn mark(&mut self, packet: Handle) {
        self.push(Effect::Mark(packet));
    }

    fn drop(&mut self, packet: Handle, reason: DropReason) {
        self.push(Effect::Drop(packet, reason));
    }
}

/// A port with a buffered discipline that transmits only on [`Port::serve`].
pub(crate) struct Port {
    pub(crate) discipline: BufferedDiscipline,
    pub(crate) buffer: QueueState,
    /// Time of the next event.
    pub(crate) now: Time,
    /// Packets that the discipline should hold.
    pub(crate) backlog: Vec<Queued>,
    pub(crate) serving: Option<Queued>,
    next: u32,
    /// Effects of the last arrival or transmission on other packets.
    pub(crate) effects: Vec<Effect>,
    /// ECN field of the packets of `run_at_overload` by their number.
    pub(crate) ecn: fn(u32) -> Codepoint,
}

impl Port {
    pub(crate) fn new(discipline: BufferedDiscipline, buffer: QueueState) -> Port {
        let (backlog, effects) = (Vec::new(), Vec::new());
        Port { discipline, buffer, now: Time(0), backlog, serving: None, next: 0, effects, ecn: |_| Codepoint::Ect0 }
    }

    pub(crate) fn state(&self) -> PortState {
        let mut queue = QueueState::default();
        self.backlog.iter().chain(&self.serving).for_each(|q| queue.add(q.packet.wire));
        let serving = self.serving.map_or(0, |q| q.packet.wire);
        PortState { now: self.now, queue, limit: self.buffer, memory: None, serving, idle_since: Time(0) }
    }

    /// A packet arrives; its handle is the number of the arrival. Returns the decision about it.
    pub(crate) fn arrive(&mut self, packet: Arrival) -> Verdict {
        let handle = Handle(self.next);
        self.next += 1;
        self.effects.clear();
        let (state, queued) = (self.state(), Queued { handle, since: self.now, packet });
        self.backlog.push(queued);
        self.discipline.push(&state, queued, &mut self.effects);
        self.forget_dropped();
        let mut verdict = Verdict::Accept;
        self.effects.retain(|e| match *e {
            Effect::Mark(h) if h == handle => {
                verdict = Verdict::Mark;
                false
            }
            Effect::Drop(h, reason) if h == handle => {
                verdict = Verdict::Drop(reason);
                false
            }
            _ => true,
        });
        verdict
    }

    fn forget_dropped(&mut self) {
        for e in &self.effects {
            if let Effect::Drop(handle, _) = e {
                let place = self.backlog.iter().position(|q| q.handle == *handle).expect("a packet of the backlog is dropped");
                self.backlog.remove(place);
            }
        }
        assert_eq!(self.discipline.len(), self.backlog.len());
    }

    /// Packets of 1500 bytes of one flow arrive every `gap` and take `tx` each to transmit. `seen` receives the time and the effects.
    pub(crate) fn run_at_overload(&mut self, tx: Time, gap: Time, until: Time, mut seen: impl FnMut(Time, &[Effect])) {
        let (mut arrival, mut free) = (Time(0), Time(0));
        while arrival < until {
            if free < arrival && !self.backlog.is_empty() {
                self.now = free;
                self.serve();
                free += tx;
            } else {
                self.now = arrival;
                let ecn = (self.ecn)(self.next);
                let handle = Handle(self.next);
                match self.arrive(Arrival { ecn, ..packet(1500, 0, 0, 0) }) {
                    Verdict::Accept => {}
                    Verdict::Mark => self.effects.push(Effect::Mark(handle)),
                    Verdict::Drop(reason) => self.effects.push(Effect::Drop(handle, reason)),
                }
                free = free.max(arrival);
                arrival += gap;
            }
            seen(self.now, &self.effects);
        }
    }

    /// The transmitter takes the next packet.
    pub(crate) fn serve(&mut self) -> Option<u32> {
        self.effects.clear();
        let next = self.discipline.pop(self.now, &mut self.effects);
        self.serving = next.and_then(|h| self.backlog.iter().find(|q| q.handle == h).copied());
        if let Some(q) = self.serving {
            self.backlog.retain(|w| w.handle != q.handle);
        }
        self.forget_dropped();
        self.serving.map(|q| q.handle.0)
    }
}

/// An ECN-capable packet.
pub(crate) fn packet(wire: u32, class: u8, rank: u16, flow: u64) -> Arrival {
    Arrival { wire, ecn: Codepoint::Ect0, class, rank, flow }
}

/// Calls `f` with every word of `length` letters, each below `letters`: a small model in full.
pub(crate) fn each_sequence(letters: u8, length: usize, mut f: impl FnMut(&[u8])) {
    let mut word = vec![0; length];
    loop {
        f(&word);
        let Some(at) = word.iter().rposition(|l| *l + 1 < letters) else { return };
        word[at] += 1;
        word[at + 1..].fill(0);
    }
}
