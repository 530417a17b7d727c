//! A random value of each kind of parameter, over its whole legal range: mostly of an ordinary size, sometimes an end of the range.

use crate::draw::{by_chance, log_uniform, log_uniform_float, one};
use forebay_scenario::bounds;
use forebay_types::param::{Entry, Kind, Param};
use forebay_types::{Bytes, QueueLen, Rate, Rng, Time};
use serde_json::{Map, Value as Json, json};

const US: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000_000;

/// Percentage of values at an end of their range.
const ENDS: u64 = 4;
/// Largest count of something that makes work, such as rounds, hosts or connections. A case must end.
const MOST: u64 = 20;

/// Properties that the values of one scenario share, and the source of its random numbers.
pub(super) struct Dice {
    pub(super) rng: Rng,
    /// Range of most link rates, bit/s. Links of one scenario differ by a few orders of magnitude at the most.
    rates: (u64, u64),
    /// Lengths of queues are in bytes.
    in_bytes: bool,
    /// Names of the hosts, of the groups of hosts and of the ports, once the topology is known.
    pub(super) hosts: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) ports: Vec<String>,
    /// Ports of switches, and ports whose links lead to switches.
    pub(super) switch_ports: Vec<String>,
    pub(super) ports_to_switches: Vec<String>,
}

impl Dice {
    pub(super) fn new(mut rng: Rng) -> Dice {
        let rates = one(
            &mut rng,
            &[
                (10_000, 100_000_000),
                (1_000_000, 10_000_000_000),
                (100_000_000, 100_000_000_000),
                (1_000_000_000, 10_000_000_000_000),
            ],
        );
        let in_bytes = by_chance(&mut rng, 30);
        let (hosts, groups, ports, switch_ports, ports_to_switches) = Default::default();
        Dice { rng, rates, in_bytes, hosts, groups, ports, switch_ports, ports_to_switches }
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        by_chance(&mut self.rng, percent)
    }

    pub(super) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        one(&mut self.rng, of)
    }

    /// A number between both, each order of magnitude equally probable.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        log_uniform(&mut self.rng, least, most)
    }

    /// A time that packets notice; sometimes nothing, the shortest one, or hours.
    pub(super) fn time(&mut self) -> Json {
        let ps = match self.rng.below(20) {
            0 => self.one(&[0, 1, 999, 1000]),
            1 => self.between(SECOND, 10_000 * SECOND),
            2..=5 => self.between(1, US),
            _ => self.between(US / 10, 100_000 * US),
        };
        // Whole microseconds read better.
        let ps = if ps > 10 * US && self.chance(80) { ps / US * US } else { ps };
        Time(ps).to_string().into()
    }

    pub(super) fn rate(&mut self) -> Json {
        let (least, most) = self.rates;
        let rate = if self.chance(70) {
            // Rates of hardware.
            let known = [
                1_000_000,
                10_000_000,
                100_000_000,
                1_000_000_000,
                2_500_000_000,
                10_000_000_000,
                40_000_000_000,
                400_000_000_000,
            ];
            let within: Vec<u64> = known.into_iter().filter(|r| (least..=most).contains(r)).collect();
            self.one(&within)
        } else {
            self.between(least, most)
        };
        Rate(rate).to_string().into()
    }

    pub(super) fn bytes(&mut self, most: u64) -> u64 {
        if self.chance(15) { self.one(&[1, 63, 1447, 1448, 1449, 1460, 2896, 65_536]) } else { self.between(1, most) }
    }

    /// Length of a queue, in the unit of this scenario.
    pub(super) fn queue_len(&mut self) -> Json {
        let packets = if self.chance(15) { 1 } else { self.between(1, 400) };
        let len = if self.in_bytes { QueueLen::Bytes(packets * 1600 + self.rng.below(1600)) } else { QueueLen::Packets(packets) };
        len.to_string().into()
    }

    fn int(&mut self, key: &str, least: i64, most: i64) -> Json {
        // Seeds and sequence numbers make no work, whatever their value. The last ones before zero wrap while data flow.
        if key == "isn" {
            return if self.chance(50) {
                (most - self.between(0, 200_000) as i64).into()
            } else {
                self.rng.below(most as u64 + 1).into()
            };
        }
        let large =
            ["hash-seed", "pattern-seed", "mss", "header", "ack-size", "init-cwnd", "service", "class", "high"].contains(&key);
        let most = if large || most <= 1_000 { most } else { most.min(least.saturating_add(MOST as i64)) };
        if key == "mss" && self.chance(70) {
            return self.one(&[536, 1000, 1448, 1448, 1460, 8948]).into();
        }
        if least < 0 {
            return self.one(&[least, 0, most]).into();
        }
        self.between(least.unsigned_abs(), most.unsigned_abs()).into()
    }

    fn float(&mut self, least: f64, most: f64) -> Json {
        let drawn = match self.rng.below(10) {
            0 => self.one(&[least, most.min(1e6)]),
            1..=5 if least > 0.0 => log_uniform_float(&mut self.rng, least, most.min(1e6)),
            _ => least + self.rng.unit() * (most.min(least + 10.0) - least),
        };
        // Six digits read better, and can be at neither end.
        let rounded: f64 = format!("{drawn:.5e}").parse().unwrap_or(drawn);
        json!(rounded.clamp(least, most))
    }

    /// Names of hosts: all, a group, or some of them.
    pub(super) fn hosts(&mut self) -> Json {
        match self.rng.below(4) {
            0 => "all".into(),
            1 if !self.groups.is_empty() => self.groups[self.rng.below(self.groups.len() as u64) as usize].clone().into(),
            2 => self.host(),
            _ => {
                let mut names = self.hosts.clone();
                self.rng.shuffle(&mut names);
                names.truncate(1 + self.rng.below(names.len().max(1) as u64) as usize);
                json!(names)
            }
        }
    }

    pub(super) fn host(&mut self) -> Json {
        let at = self.rng.below(self.hosts.len().max(1) as u64) as usize;
        self.hosts.get(at).cloned().unwrap_or_default().into()
    }

    pub(super) fn port(&mut self) -> Json {
        name(&mut self.rng, &self.ports)
    }

    /// A port whose link can change.
    pub(super) fn switch_port(&mut self) -> Json {
        name(&mut self.rng, &self.switch_ports)
    }

    /// A port whose link can deliver packets late.
    pub(super) fn port_to_switch(&mut self) -> Json {
        name(&mut self.rng, &self.ports_to_switches)
    }

    fn sizes(&mut self) -> Json {
        let size = |dice: &mut Dice| Json::from(Bytes(dice.bytes(100_000)).to_string());
        self.distribution(&size, &["uniform", "log-uniform", "exponential"])
    }

    fn times(&mut self) -> Json {
        self.distribution(&Dice::time, &["uniform", "log-uniform", "exponential"])
    }

    /// A constant, or a distribution of one of these shapes.
    fn distribution(&mut self, value: &dyn Fn(&mut Dice) -> Json, shapes: &[&str]) -> Json {
        if self.chance(40) {
            return value(self);
        }
        let shape = self.one(shapes);
        let (a, b) = (value(self), value(self));
        if shape == "exponential" {
            return json!({ shape: a });
        }
        // A range of which the first is larger is refused, and the repair takes it away.
        json!({ shape: [a, b] })
    }

    /// A value of `param`; `None` for files, and for kinds that the topology draws itself.
    pub(super) fn value(&mut self, param: &Param) -> Option<Json> {
        let ends = bounds(param.kind);
        if !ends.is_empty() && !matches!(param.kind, Kind::Int(..)) && self.chance(ENDS) {
            let at = self.rng.below(ends.len() as u64) as usize;
            return literal(&ends[at]);
        }
        Some(match param.kind {
            Kind::Time => self.time(),
            Kind::Rate => self.rate(),
            Kind::Bytes | Kind::BytesOrZero
                if param.key.starts_with("shared") || param.key.contains("buf") || param.key.ends_with("wnd") =>
            {
                Bytes(self.between(3_000, 4_000_000)).to_string().into()
            }
            Kind::Bytes | Kind::BytesOrZero => Bytes(self.bytes(300_000)).to_string().into(),
            Kind::QueueLen => self.queue_len(),
            Kind::Int(least, most) => self.int(param.key, least, most),
            Kind::Ints(least, most) => {
                let n = 1 + self.rng.below(8);
                let list: Vec<Json> = (0..n).map(|_| self.int(param.key, least, most)).collect();
                json!(list)
            }
            Kind::QueueLens => {
                let n = 1 + self.rng.below(8);
                let list: Vec<Json> = (0..n).map(|_| self.queue_len()).collect();
                json!(list)
            }
            Kind::Float(least, most) => self.float(least, most),
            Kind::Bool => self.chance(50).into(),
            Kind::Choice(words) => self.one(words).into(),
            Kind::SizeDist => self.sizes(),
            Kind::TimeDist => self.times(),
            Kind::Hosts => self.hosts(),
            // The thresholds of a shim.
            Kind::Names => {
                let mut sizes: Vec<u64> = (0..1 + self.rng.below(7)).map(|_| self.bytes(200_000)).collect();
                sizes.sort_unstable();
                sizes.dedup();
                json!(sizes.iter().map(|b| Bytes(*b).to_string()).collect::<Vec<_>>())
            }
            Kind::Text | Kind::Path | Kind::Link | Kind::Links => return None,
        })
    }

    /// Adds the required parameters, and each of the others by chance.
    pub(super) fn fill(&mut self, table: &mut Map<String, Json>, params: &[Param], percent: u64) {
        for p in params {
            let wanted = p.default.is_none() || self.chance(percent);
            if let Some(value) = wanted.then(|| self.value(p)).flatten() {
                table.insert(p.key.to_owned(), value);
            }
        }
    }

    /// An entry of a registry: its name, or a table with parameters.
    pub(super) fn entry(&mut self, entry: &Entry, percent: u64) -> Json {
        let mut table = Map::from_iter([("kind".to_owned(), Json::from(entry.name))]);
        self.fill(&mut table, entry.params, percent);
        if table.len() == 1 { entry.name.into() } else { Json::Object(table) }
    }
}

/// One of these names; empty without any.
fn name(rng: &mut Rng, names: &[String]) -> Json {
    let at = rng.below(names.len().max(1) as u64) as usize;
    names.get(at).cloned().unwrap_or_default().into()
}

/// The value of a TOML literal that [`bounds`] returns.
fn literal(text: &str) -> Option<Json> {
    serde_json::from_str(text).ok()
}
