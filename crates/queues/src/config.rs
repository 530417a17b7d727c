//! Configuration of a queue as numbers, from which a guest kernel builds the same queue.

use crate::{Queue, QueueError, REGISTRY, build, drop_tail, find};
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_types::param::{Kind, QueueValue, Value, Values};
use forebay_types::{Bytes, QueueLen, Rate, Time};

/// Numbers of a configuration. The longest is that of `strict-priority` with three lists of eight.
pub const CONFIG_WORDS: usize = 64;

/// Set in lengths that count packets; others count bytes.
const IN_PACKETS: u64 = 1 << 63;

/// A discipline as a scenario names it, with the facts of its network from which its defaults follow.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueConfig {
    /// The discipline; `None`: drop-tail, named or not, so that both compare equal. Shared by the ports of a network.
    value: Option<Arc<QueueValue>>,
    /// Arguments of [`Queue::set_defaults`], once it has been called.
    defaults: Option<(u64, u64)>,
}

impl QueueConfig {
    /// Configuration of the discipline `value`, which the registry has.
    pub fn new(value: Option<&QueueValue>) -> QueueConfig {
        QueueConfig { value: unless_drop_tail(value).cloned().map(Arc::new), defaults: None }
    }

    /// The discipline; `None`: drop-tail.
    pub fn value(&self) -> Option<&QueueValue> {
        self.value.as_deref()
    }

    /// Returns true if it is that of the discipline `value`.
    pub fn is_of(&self, value: Option<&QueueValue>) -> bool {
        self.value.as_deref() == unless_drop_tail(value)
    }

    /// Notes the defaults that depend on the network, as [`Queue::set_defaults`].
    pub fn set_defaults(&mut self, senders: u64, packet: u64) {
        self.defaults = Some((senders, packet));
    }

    /// Builds the queue of a port with this buffer.
    ///
    /// # Errors
    /// If the parameters contradict each other or the buffer.
    pub fn build(&self, buffer: Option<QueueLen>) -> Result<Queue, QueueError> {
        let mut queue = build(self.value.as_deref(), buffer)?;
        if let Some((senders, packet)) = self.defaults {
            queue.set_defaults(senders, packet);
        }
        Ok(queue)
    }

    /// The configuration as numbers. The first four: place in the registry from 1 (0: drop-tail), 1 if defaults are set, and the two defaults. For
    /// each parameter of the entry follow a count from 1 (0: unset), and the numbers.
    ///
    /// # Panics
    /// If the registry has a parameter of a kind without numbers, or parameters that need more than [`CONFIG_WORDS`].
    pub fn words(&self) -> [u64; CONFIG_WORDS] {
        let place = |v: &QueueValue| REGISTRY.iter().position(|e| e.entry.name == v.kind).map_or(0, |i| i as u64 + 1);
        let (senders, packet) = self.defaults.unwrap_or_default();
        let mut words = vec![self.value.as_deref().map_or(0, place), u64::from(self.defaults.is_some()), senders, packet];
        if let Some(value) = self.value.as_deref()
            && let Some(entry) = find(value.kind)
        {
            for param in entry.entry.params {
                let numbers = numbers(&param.kind, value.params.get(param.key));
                words.push(numbers.as_ref().map_or(0, |n| n.len() as u64 + 1));
                words.extend(numbers.unwrap_or_default());
            }
        }
        assert!(words.len() <= CONFIG_WORDS, "{} numbers", words.len());
        core::array::from_fn(|i| words.get(i).copied().unwrap_or(0))
    }

    /// The configuration of these numbers; `None` if they are not from [`QueueConfig::words`].
    pub fn from_words(words: &[u64; CONFIG_WORDS]) -> Option<QueueConfig> {
        let defaults = (words[1] != 0).then_some((words[2], words[3]));
        let Some(place) = words[0].checked_sub(1) else { return Some(QueueConfig { value: None, defaults }) };
        let entry = &REGISTRY.get(usize::try_from(place).ok()?)?.entry;
        let mut rest = &words[4..];
        let mut values = Vec::new();
        for param in entry.params {
            let (&count, after) = rest.split_first()?;
            let Some(count) = count.checked_sub(1) else {
                values.push((param.key, Value::Unset));
                rest = after;
                continue;
            };
            let (numbers, after) = after.split_at_checked(usize::try_from(count).ok()?)?;
            values.push((param.key, value(&param.kind, numbers)?));
            rest = after;
        }
        let value = QueueValue { kind: entry.name, params: Values(values) };
        Some(QueueConfig { defaults, ..QueueConfig::new(Some(&value)) })
    }
}

/// The discipline; `None` for drop-tail, which has no parameters and is the discipline of a port that names none.
fn unless_drop_tail(value: Option<&QueueValue>) -> Option<&QueueValue> {
    value.filter(|v| v.kind != drop_tail::ENTRY.entry.name)
}

/// The numbers of a value; `None` for an unset one.
fn numbers(kind: &Kind, value: &Value) -> Option<Vec<u64>> {
    let length = |l: &QueueLen| match *l {
        QueueLen::Packets(n) => IN_PACKETS | n,
        QueueLen::Bytes(n) => n,
    };
    Some(match value {
        Value::Unset => return None,
        Value::Time(t) => vec![t.0],
        Value::Rate(r) => vec![r.0],
        Value::Bytes(b) => vec![b.0],
        Value::QueueLen(l) => vec![length(l)],
        Value::Int(n) => vec![*n as u64],
        Value::Ints(list) => list.iter().map(|n| *n as u64).collect(),
        Value::QueueLens(list) => list.iter().map(length).collect(),
        Value::Float(x) => vec![x.to_bits()],
        Value::Bool(b) => vec![u64::from(*b)],
        Value::Text(word) => match kind {
            Kind::Choice(words) => vec![words.iter().position(|w| w == word)? as u64],
            _ => panic!("registry: a queue has a text"),
        },
        other => panic!("registry: a queue has {other:?}"),
    })
}

/// The value of these numbers.
fn value(kind: &Kind, numbers: &[u64]) -> Option<Value> {
    let length = |n: u64| if n & IN_PACKETS != 0 { QueueLen::Packets(n & !IN_PACKETS) } else { QueueLen::Bytes(n) };
    match kind {
        Kind::Ints(..) => return Some(Value::Ints(numbers.iter().map(|n| *n as i64).collect())),
        Kind::QueueLens => return Some(Value::QueueLens(numbers.iter().map(|n| length(*n)).collect())),
        _ => {}
    }
    let &[number] = numbers else { return None };
    Some(match kind {
        Kind::Time => Value::Time(Time(number)),
        Kind::Rate => Value::Rate(Rate(number)),
        Kind::Bytes => Value::Bytes(Bytes(number)),
        Kind::QueueLen => Value::QueueLen(length(number)),
        Kind::Int(..) => Value::Int(number as i64),
        Kind::Float(..) => Value::Float(f64::from_bits(number)),
        Kind::Bool => Value::Bool(number != 0),
        Kind::Choice(words) => Value::Text(words.get(usize::try_from(number).ok()?)?.to_string()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest value of a parameter.
    fn longest(kind: &Kind) -> Value {
        match *kind {
            Kind::Time => Value::Time(Time(123_456)),
            Kind::Rate => Value::Rate(Rate(7)),
            Kind::Bytes => Value::Bytes(Bytes(1500)),
            Kind::QueueLen => Value::QueueLen(QueueLen::Packets(20)),
            Kind::QueueLens => {
                Value::QueueLens((1..9).map(|n| if n % 2 == 0 { QueueLen::Bytes(n) } else { QueueLen::Packets(n) }).collect())
            }
            Kind::Int(_, high) => Value::Int(high),
            Kind::Ints(low, high) => Value::Ints((0..8).map(|i| if i % 2 == 0 { low } else { high }).collect()),
            Kind::Float(low, _) => Value::Float(low),
            Kind::Bool => Value::Bool(true),
            Kind::Choice(words) => Value::Text(words[words.len() - 1].to_string()),
            _ => panic!("{kind:?} has no numbers"),
        }
    }

    /// A discipline whose parameters have no numbers would be refused by a guest.
    #[test]
    fn every_discipline_survives_as_numbers() {
        assert_eq!(QueueConfig::from_words(&QueueConfig::new(None).words()), Some(QueueConfig::new(None)));
        for entry in REGISTRY {
            for unset in [false, true] {
                let values = entry.entry.params.iter().map(|p| {
                    let leave = unset && p.default == Some("");
                    (p.key, if leave { Value::Unset } else { longest(&p.kind) })
                });
                let value = QueueValue { kind: entry.entry.name, params: Values(values.collect()) };
                let mut config = QueueConfig::new(Some(&value));
                config.set_defaults(7, 1500);
                assert_eq!(QueueConfig::from_words(&config.words()), Some(config), "{}", entry.entry.name);
            }
        }
    }

    /// The echo of a scenario names the discipline of every port.
    #[test]
    fn named_drop_tail_equals_no_discipline() {
        let named = QueueValue { kind: "drop-tail", params: Values(Vec::new()) };
        assert_eq!(QueueConfig::new(Some(&named)), QueueConfig::new(None));
        assert!(QueueConfig::new(None).is_of(Some(&named)) && QueueConfig::new(Some(&named)).is_of(None));
        let other = QueueValue { kind: "fq-codel", params: Values(Vec::new()) };
        assert!(!QueueConfig::new(Some(&other)).is_of(Some(&named)) && !QueueConfig::new(None).is_of(Some(&other)));
    }

    #[test]
    fn foreign_numbers_are_refused() {
        let mut words = [0; CONFIG_WORDS];
        words[0] = REGISTRY.len() as u64 + 1;
        assert_eq!(QueueConfig::from_words(&words), None);
        // A list that ends behind the numbers.
        words[0] = 2;
        words[4] = 100;
        assert_eq!(QueueConfig::from_words(&words), None);
    }
}
