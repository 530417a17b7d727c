//! Cost of links that lose packets for messages: completion times with and without retransmissions.

use crate::data::{Data, Flow};
use crate::dimension::Dimension;
use crate::format::{bold, number, quantity};
use forebay_store::stats::quantile;
use std::collections::BTreeMap;

/// Minimum number of messages with retransmissions: below it a median says little. Our choice.
const ENOUGH: usize = 5;
/// Maximum ratio of the largest to the smallest ideal time of messages whose times are compared; beyond it their slowdowns are. Our choice.
const ALIKE: f64 = 1.5;
/// Maximum number of workloads in the sentence.
const MAX_NAMED: usize = 3;

/// Messages of a workload of a subject.
#[derive(Default)]
struct Messages {
    /// Time and slowdown, so far for unfinished ones: of those with retransmissions, and of the others.
    hit: Vec<(f64, f64)>,
    others: Vec<(f64, f64)>,
    /// Smallest and largest ideal time.
    ideal: Option<(f64, f64)>,
}

impl Messages {
    fn note(&mut self, data: &Data, f: &Flow) {
        let took = f.fct.unwrap_or_else(|| (data.runs[f.run].end_ns - f.start_ns) as f64 * 1e-9);
        let of = if f.retransmitted > 0 { &mut self.hit } else { &mut self.others };
        of.push((took, took / f.ideal_s));
        let (low, high) = self.ideal.unwrap_or((f.ideal_s, f.ideal_s));
        self.ideal = Some((low.min(f.ideal_s), high.max(f.ideal_s)));
    }

    /// `104 of 4489 messages (2.32 %) retransmit, and take 3.2 ms (median; up to 207 ms) instead of 59 µs`.
    fn words(&self, whose: &str) -> String {
        let all = self.hit.len() + self.others.len();
        let part = quantity(self.hit.len() as f64 / all as f64, Dimension::Fraction);
        let alike = self.ideal.is_some_and(|(low, high)| high <= ALIKE * low);
        let median = |of: &[(f64, f64)]| {
            let mut values: Vec<f64> = of.iter().map(|(took, slow)| if alike { *took } else { *slow }).collect();
            values.sort_unstable_by(f64::total_cmp);
            quantile(&values, 0.5).unwrap_or(0.0)
        };
        let (hit, others) = (median(&self.hit), median(&self.others));
        let cost = if alike {
            let time = |s: f64| quantity(s, Dimension::Seconds);
            let longest = self.hit.iter().map(|(took, _)| *took).fold(0.0, f64::max);
            format!("take {} (median; up to {}) instead of {}", bold(&time(hit)), time(longest), time(others))
        } else {
            format!(
                "take {} times as long as on an unloaded network (median) instead of {} times",
                bold(&number(hit)),
                number(others)
            )
        };
        format!("{} of {all} messages{whose} ({part}) retransmit, and {cost}", self.hit.len())
    }
}

/// Sentence about the messages that retransmit packets where most packets are lost on links and not in queues.
pub(crate) fn sentence(data: &Data) -> Option<String> {
    let lost: u64 = data.losing_links.iter().map(|(_, n)| n).sum();
    let dropped: f64 = data.ports.iter().map(|p| p.drops * f64::from(p.seeds)).sum();
    if lost == 0 || lost as f64 <= dropped {
        return None;
    }
    let mut of: BTreeMap<(usize, Option<u32>), Messages> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| f.size > 0 && !f.request && f.ideal_s > 0.0) {
        of.entry((f.subject, f.class)).or_default().note(data, f);
    }
    let several = |s: usize| of.keys().filter(|key| key.0 == s).count() > 1;
    let whose = |(subject, class): &(usize, Option<u32>)| {
        let class = data.class(*class).filter(|_| several(*subject));
        let name = (data.subjects.len() > 1).then(|| data.subjects[*subject].name.as_str());
        match (name, class) {
            (Some(name), Some(class)) => format!(" of {name}, {class}"),
            (Some(name), None) | (None, Some(name)) => format!(" of {name}"),
            (None, None) => String::new(),
        }
    };
    let hurt = |m: &&Messages| m.hit.len() >= ENOUGH && m.others.len() >= m.hit.len();
    let each: Vec<String> = of.iter().filter(|(_, m)| hurt(m)).take(MAX_NAMED).map(|(key, m)| m.words(&whose(key))).collect();
    (!each.is_empty()).then(|| format!("Cost of the losses: {}.", each.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::data as networks;
    use crate::data::{Port, Run};

    #[test]
    fn messages_over_bad_link_are_compared() {
        let mut d = networks(&[("cubic", &[])]);
        d.runs.push(Run { end_ns: 1_000_000_000, ..Run::default() });
        d.losing_links = vec![("a->b".into(), 20)];
        let message = |fct, retransmitted| Flow { size: 1_000, fct: Some(fct), ideal_s: 1e-4, retransmitted, ..Flow::default() };
        d.flows = vec![message(1e-4, 0); 90];
        d.flows.extend(vec![message(3e-3, 1); 10]);
        let expected =
            "Cost of the losses: 10 of 100 messages (10 %) retransmit, and take **3 ms** (median; up to 3 ms) instead of 100 µs.";
        assert_eq!(sentence(&d).unwrap(), expected);
        // Messages of different sizes.
        d.flows[0].ideal_s = 1e-3;
        let expected = "take **30** times as long as on an unloaded network (median) instead of 1 times.";
        assert!(sentence(&d).unwrap().ends_with(expected), "{:?}", sentence(&d));
        // Unfinished ones count with their time so far.
        d.flows.iter_mut().filter(|f| f.retransmitted > 0).for_each(|f| f.fct = None);
        assert!(sentence(&d).unwrap().contains("take **10000** times"), "{:?}", sentence(&d));
        d.ports.push(Port { drops: 30.0, seeds: 1, ..Port::default() });
        assert_eq!(sentence(&d), None, "most retransmissions follow drops of queues");
    }
}
