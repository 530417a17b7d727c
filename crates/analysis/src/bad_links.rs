//! Cost of links that lose packets for messages: completion times with and without retransmissions.

use crate::data::{Data, Flow};
use crate::dimension::Dimension;
use crate::format::{bold, number, quantity};
use forebay_experiment::waits::Cause;
use forebay_store::stats::quantile;
use std::collections::BTreeMap;

/// Minimum number of messages with retransmissions: below it a median says little. Our choice.
const ENOUGH: usize = 5;
/// Maximum ratio of the ideal times of messages whose times are compared. Our choice.
const ALIKE: f64 = 1.5;
/// Messages of which a median is taken: each of so many is compared with so many others, whatever the number in the run. Our choice.
const MOST: usize = 1000;
/// Ratio of times below which they count as equal, as small differences everywhere. Our choice.
const ALMOST: f64 = 1.05;
/// Maximum number of workloads in the sentence.
const MAX_NAMED: usize = 3;

/// Messages of a workload of a subject.
#[derive(Default)]
struct Messages {
    /// Time and ideal time, so far for unfinished ones: of those with retransmissions, and of the others.
    hit: Vec<(f64, f64)>,
    others: Vec<(f64, f64)>,
    /// Longest time of a message or request that retransmits, or whose main delay is a stall: one that waits for an ACK that was lost retransmits nothing.
    longest: f64,
}

impl Messages {
    fn note(&mut self, data: &Data, f: &Flow) {
        let took = f.fct.unwrap_or_else(|| (data.runs[f.run].end_ns - f.start_ns) as f64 * 1e-9);
        let stalled = matches!(f.waited, Some(Cause::Timeout | Cause::Probe | Cause::Recovery));
        if f.retransmitted > 0 || stalled {
            self.longest = self.longest.max(took);
        }
        if !f.request {
            let of = if f.retransmitted > 0 { &mut self.hit } else { &mut self.others };
            of.push((took, f.ideal_s));
        }
    }

    /// `104 of 4489 messages (2.32 %) retransmit, and take 3.2 ms (median; up to 207 ms) instead of 59 µs`.
    fn words(&self, whose: &str) -> String {
        let all = self.hit.len() + self.others.len();
        let part = quantity(self.hit.len() as f64 / all as f64, Dimension::Fraction);
        let ideals = self.hit.iter().chain(&self.others).map(|(_, ideal)| *ideal);
        let (low, high) = ideals.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (v.min(low), v.max(high)));
        let cost = if high <= ALIKE * low {
            let times = |of: &[(f64, f64)]| median(of.iter().map(|(took, _)| *took).collect()).unwrap_or(0.0);
            let time = |s: f64| quantity(s, Dimension::Seconds);
            let (hit, others) = (bold(&time(times(&self.hit))), time(times(&self.others)));
            format!(", and take {hit} (median; up to {}) instead of {others}", time(self.longest))
        } else {
            let ratio = self.ratio().map(|ratio| (ratio, number(ratio)));
            ratio.map_or_else(String::new, |(ratio, text)| {
                let unlike = if ratio < ALMOST { "as long as".to_owned() } else { format!("{} times as long as", bold(&text)) };
                format!(", and take {unlike} others of their size (median)")
            })
        };
        format!("{} of {all} messages{whose} ({part}) retransmit{cost}", self.hit.len())
    }

    /// Median ratio of the times of messages with retransmissions to the median of others of their size. Larger messages have more packets, so that more
    /// of them lose one: without regard to the size the comparison would be one of large and small messages.
    fn ratio(&self) -> Option<f64> {
        let mut others = self.others.clone();
        others.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
        let one = |(took, ideal): &(f64, f64)| {
            let from = others.partition_point(|o| o.1 * ALIKE < *ideal);
            let to = others.partition_point(|o| o.1 <= ALIKE * ideal);
            let alike = &others[from..to];
            let usual = median(evenly(alike).map(|o| o.0 / o.1).collect()).filter(|_| alike.len() >= ENOUGH)?;
            Some(took / ideal / usual)
        };
        let ratios: Vec<f64> = evenly(&self.hit).filter_map(one).collect();
        if ratios.len() < ENOUGH { None } else { median(ratios) }
    }
}

/// At most [`MOST`] elements, evenly spaced.
fn evenly<T>(all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(MOST).max(1))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// Sentence about the messages that retransmit packets where most packets are lost on links and not in queues.
pub(crate) fn sentence(data: &Data) -> Option<String> {
    let lost: u64 = data.losing_links.iter().map(|(_, n)| n).sum();
    let dropped: f64 = data.ports.iter().map(|p| p.drops * f64::from(p.seeds)).sum();
    if lost == 0 || lost as f64 <= dropped {
        return None;
    }
    let mut of: BTreeMap<(usize, Option<u32>), Messages> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| f.size > 0 && f.ideal_s > 0.0) {
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
        // One that waits for a lost ACK retransmits nothing.
        d.flows[0] = Flow { waited: Some(Cause::Probe), request: true, ..message(0.2, 0) };
        assert!(
            sentence(&d).unwrap().contains("10 of 99 messages (10.1 %) retransmit, and take **3 ms** (median; up to 200 ms)")
        );
        // Unfinished ones count with their time so far.
        d.flows.iter_mut().filter(|f| f.retransmitted > 0).for_each(|f| f.fct = None);
        assert!(sentence(&d).unwrap().contains("take **1 s** (median"), "{:?}", sentence(&d));
        d.ports.push(Port { drops: 30.0, seeds: 1, ..Port::default() });
        assert_eq!(sentence(&d), None, "most retransmissions follow drops of queues");
    }

    /// Large messages lose packets more often, and their slowdowns are smaller in any case.
    #[test]
    fn sizes_are_compared_with_their_own() {
        let mut d = networks(&[("cubic", &[])]);
        d.runs.push(Run { end_ns: 1_000_000_000, ..Run::default() });
        d.losing_links = vec![("a->b".into(), 20)];
        let message = |ideal_s: f64, slow: f64, retransmitted| Flow {
            size: 1_000,
            fct: Some(slow * ideal_s),
            ideal_s,
            retransmitted,
            ..Flow::default()
        };
        d.flows = vec![message(1e-4, 10.0, 0); 80];
        d.flows.extend(vec![message(1e-2, 2.0, 0); 10]);
        d.flows.extend(vec![message(1e-2, 3.0, 1); 10]);
        let expected = "10 of 100 messages (10 %) retransmit, and take **1.5** times as long as others of their size (median).";
        assert!(sentence(&d).unwrap().ends_with(expected), "{:?}", sentence(&d));
        // Without others of their size there is nothing to compare.
        d.flows.retain(|f| f.retransmitted > 0 || f.ideal_s < 1e-3);
        assert!(sentence(&d).unwrap().ends_with("10 of 90 messages (11.1 %) retransmit."), "{:?}", sentence(&d));
    }
}
