//! The classes of service that the guest's driver gives to segments (`driver/tag.h`) against those of the simulator's shims, on random messages
//! and places in them.

use forebay_experiment::transport::Chosen;
use forebay_kernel::tags::tag;
use forebay_sim::shim::tag::{Message, Segment};
use forebay_sim::shim::{pias, prin, tag::TagShim};
use forebay_tests::driver::class;
use forebay_types::Rng;
use forebay_types::param::{Value, Values};

const ROUNDS: u64 = 1_000_000;

/// A segment somewhere in a message, and how far its connection has come.
fn draw(rng: &mut Rng) -> (Message, Segment) {
    let begin = rng.below(1 << 20);
    let magnitude = 1 + rng.below(18);
    let length = 1 + rng.below(1 << magnitude);
    let mss = [536, 1_460, 8_960][rng.below(3) as usize];
    let offset = begin + rng.below(length + 1);
    let again = rng.below(4) == 0;
    let high = if again { offset + 1 + rng.below(4 * mss) } else { offset };
    (Message { begin, end: begin + length }, Segment { offset, una: begin.min(offset), sacked: 0, high, mss, again })
}

/// The class bits of the field that a tagger of the simulator fills.
fn bits(win: u16) -> u32 {
    u32::from(win >> 13)
}

/// Holds the guest's class of many segments against the simulator's; returns how many had each class.
fn hold(chosen: Chosen, seed: u64, simulator: impl Fn(&Message, &Segment) -> u16) -> [u64; 8] {
    let numbers = tag(std::slice::from_ref(&chosen)).unwrap();
    let mut rng = Rng::stream(seed, &[1]);
    let mut seen = [0; 8];
    for round in 0..ROUNDS {
        let (m, s) = draw(&mut rng);
        let own = forebay_tests::driver::Segment {
            offset: s.offset,
            high: s.high,
            begin: m.begin,
            end: m.end,
            mss: s.mss as u32,
            again: s.again.into(),
        };
        let (ours, theirs) = (class(&numbers, &own), bits(simulator(&m, &s)));
        assert_eq!(ours, theirs, "{} in round {round}: {m:?}, {s:?}", chosen.name);
        seen[ours as usize] += 1;
    }
    seen
}

fn pias_of(per: &str, demote: &[(&str, u64)]) -> (Chosen, pias::Config) {
    let names = demote.iter().map(|d| d.0.to_owned()).collect();
    let values = vec![("demotion-thresholds", Value::Names(names)), ("per", Value::Text(per.into()))];
    let config = pias::Config { demote: demote.iter().map(|d| d.1).collect(), per_message: per == "message" };
    (Chosen { name: "pias", values: Values(values) }, config)
}

#[test]
fn pias_demotes_as_the_simulator_does() {
    let sizes = [("1KB", 1_000), ("4KB", 4_000), ("20KB", 20_000), ("50KB", 50_000), ("100KB", 100_000)];
    for (per, seed) in [("message", 1), ("connection", 2)] {
        let (chosen, config) = pias_of(per, &sizes);
        let shim = pias::Pias::new(&config, false);
        let seen = hold(chosen, seed, |m, s| shim.tag(m, s));
        assert!(seen[2..].iter().all(|&n| n > 0) && seen[..2] == [0, 0], "all classes but the lowest two: {seen:?}");
    }
}

#[test]
fn prin_marking_matches_the_simulator() {
    for prio_retransmit in [false, true] {
        let config = prin::Config {
            halve: true,
            priority: true,
            floor: None,
            cap: false,
            split_short: false,
            fragments: false,
            class: 5,
            prio_retransmit,
            tail_reorder_wait: None,
        };
        let values =
            vec![("priority", Value::Bool(true)), ("class", Value::Int(5)), ("prio-retransmit", Value::Bool(prio_retransmit))];
        let shim = prin::Prin::new(&config, false);
        let seen = hold(Chosen { name: "prin", values: Values(values) }, 3, |m, s| shim.tag(m, s));
        assert!(seen[0] > ROUNDS / 20 && seen[5] > ROUNDS / 20, "{seen:?}");
    }
}

#[test]
fn a_service_is_one_class() {
    let chosen = Chosen { name: "service", values: Values(vec![("class", Value::Int(6))]) };
    assert_eq!(hold(chosen, 4, |_, _| forebay_sim::net::packet::service(6, 0))[6], ROUNDS);
}

#[test]
fn simulator_only_sizes_are_refused() {
    let shim = |name| Chosen { name, values: Values(vec![("demotion-thresholds", Value::Unset)]) };
    assert!(tag(&[shim("pias")]).unwrap_err().contains("legal: `demotion-thresholds`"));
    assert_eq!(tag(&[]), Ok([0; forebay_kernel::tags::TAGS]));
}
