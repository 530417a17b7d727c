//! Decision between the changes that were compared in all networks.

use crate::evidence::MATERIAL;
use crate::rank::{Assessment, Entry};
use crate::robustness::Robust;
use forebay_scenario::{Goal, Objective};

/// Reason for the recommendation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The smallest worst loss over all variations.
    BestWorstCase,
    /// The objective is not worse, and stalls end or another class gains.
    OthersGain,
    /// The least effort that keeps the limit in every variation.
    MeetsLimit,
    /// Nothing keeps the limit in every variation; this fails in the fewest.
    NearestToLimit,
    /// The present network keeps the limit, or no change is better.
    ChangeNothing,
    /// The runs are too short, and no change is better without being worse somewhere.
    TooShort,
    /// The objective has no value.
    Unknown,
}

/// Number of the recommended entry among those with results in all networks, and the reason. Ratios below `equal` count as equal. If the runs are
/// `too_short`, values are lower bounds, and a ratio of two of them is no evidence for a change that is worse than today in some network.
pub(crate) fn decide(
    objective: &Objective,
    (own, equal, too_short): (usize, f64, bool),
    today: &Entry,
    entries: &[Entry],
) -> (Option<usize>, Reason) {
    if today.assessment == Assessment::Unknown {
        return (None, Reason::Unknown);
    }
    let Some(now) = &today.robust else { return (None, Reason::ChangeNothing) };
    // Established changes that are known in all networks first; then those that some network does not allow; those with a caveat if no other helps.
    let mut groups: [Vec<Compared>; 3] = Default::default();
    let holds = |(_, e, r): &Compared| !too_short || r.holds(objective.goal) && is_significant(objective.goal, own, e, r);
    for one in sound(entries).into_iter().filter(holds) {
        groups[if one.1.caveat.is_some() { 2 } else { usize::from(one.2.unknown().next().is_some()) }].push(one);
    }
    let choose = |from: &[Compared]| match &objective.limit {
        Some((limit, _)) => meets(objective, *limit, now, from),
        None => best(objective, own, equal, now, from),
    };
    let decided = groups.iter().map(|group| choose(group)).find(|(_, reason)| *reason != Reason::ChangeNothing);
    decided.unwrap_or((None, if too_short { Reason::TooShort } else { Reason::ChangeNothing }))
}

/// The change with the least effort, less than that of the recommended one, that is better than the present network in the worst case and worse in no
/// network: it can be made at once.
pub(crate) fn at_once(goal: Goal, own: usize, today: &Entry, entries: &[Entry], recommended: usize) -> Option<usize> {
    let now = today.robust.as_ref()?;
    let effort = entries[recommended].effort;
    let holds = sound(entries)
        .into_iter()
        .filter(|(_, e, r)| e.effort < effort && e.caveat.is_none() && !e.harms_others() && r.holds(goal));
    let better = holds.filter(|(_, e, r)| r.regret * MATERIAL < now.regret && is_significant(goal, own, e, r));
    better.min_by(|(_, a, r), (_, b, s)| a.effort.cmp(&b.effort).then(r.regret.total_cmp(&s.regret))).map(|(i, ..)| i)
}

/// Entries without an objection in any network.
fn sound(entries: &[Entry]) -> Vec<Compared<'_>> {
    let all = entries.iter().enumerate().filter_map(|(i, e)| Some((i, e, e.robust.as_ref()?)));
    all.filter(|(_, e, r)| e.assessment == Assessment::Sound && r.objection().is_none()).collect()
}

/// Returns true if a gain is beyond chance: in the file's network, over all networks together, or by the number of stalls.
fn is_significant(goal: Goal, own: usize, e: &Entry, r: &Robust) -> bool {
    let significant = e.objective.is_some_and(|c| !c.is_noise() && e.gain(goal) > 1.0);
    let overall = r.overall().is_some_and(|o| o.half_width.is_some_and(|h| o.mean + h < 0.0));
    significant || overall || e.ends_stalls(own) || r.ends_stalls()
}

/// Number of an entry, the entry, and its results under the variations.
type Compared<'a> = (usize, &'a Entry, &'a Robust);

/// The best worst case; without one, a gain for others that costs the objective nothing.
fn best(objective: &Objective, own: usize, equal: f64, now: &Robust, sound: &[Compared]) -> (Option<usize>, Reason) {
    let goal = objective.goal;
    let better: Vec<_> =
        sound.iter().filter(|(_, e, r)| r.regret * equal < now.regret && is_significant(goal, own, e, r)).collect();
    if let Some(least) = better.iter().map(|(_, _, r)| r.regret).reduce(f64::min) {
        let near: Vec<_> = better.into_iter().filter(|(_, _, r)| r.regret <= equal * least).collect();
        let mean = near.iter().map(|(_, _, r)| r.mean_loss).fold(f64::INFINITY, f64::min);
        let near = near.into_iter().filter(|(_, _, r)| r.mean_loss <= equal * mean);
        // A sure gain of another class is worth effort.
        let best = near.min_by(|(_, a, r), (_, b, s)| {
            a.harms_others()
                .cmp(&b.harms_others())
                .then(b.side_gain().is_some().cmp(&a.side_gain().is_some()))
                .then(a.effort.cmp(&b.effort))
                .then(r.regret.total_cmp(&s.regret))
        });
        return (best.map(|b| b.0), Reason::BestWorstCase);
    }
    let gains = |e: &Entry, r: &Robust| {
        let stalls = r.ends_stalls() || (0..e.prices.len()).any(|c| e.ends_stalls(c));
        let factor = e.side_gain().map_or(1.0, |(_, f)| f);
        (stalls || factor > 1.0).then_some(factor)
    };
    let aside = sound.iter().filter(|(_, e, r)| {
        let not_worse = r.overall().is_none_or(|o| o.mean < equal.ln());
        not_worse && r.worse_in(goal).is_empty() && !e.harms_others() && gains(e, r).is_some()
    });
    // An end of stalls decides before the factor of another class.
    let gain = |e: &Entry, r: &Robust| gains(e, r).unwrap_or(0.0);
    let best = aside.max_by(|(_, a, r), (_, b, s)| {
        r.ends_stalls().cmp(&s.ends_stalls()).then(gain(a, r).total_cmp(&gain(b, s))).then(b.effort.cmp(&a.effort))
    });
    match best {
        Some((i, ..)) => (Some(*i), Reason::OthersGain),
        None => (None, Reason::ChangeNothing),
    }
}

/// The least effort that keeps the limit in the most variations.
fn meets(objective: &Objective, limit: f64, now: &Robust, sound: &[Compared]) -> (Option<usize>, Reason) {
    let goal = objective.goal;
    let failures = |r: &Robust| r.misses(goal, limit).len();
    if failures(now) == 0 {
        return (None, Reason::ChangeNothing);
    }
    let best = sound.iter().min_by(|(_, a, r), (_, b, s)| {
        failures(r).cmp(&failures(s)).then(a.effort.cmp(&b.effort)).then(r.regret.total_cmp(&s.regret))
    });
    match best {
        Some((i, _, r)) if failures(r) == 0 => (Some(*i), Reason::MeetsLimit),
        Some((i, _, r)) if failures(r) < failures(now) => (Some(*i), Reason::NearestToLimit),
        _ => (None, Reason::ChangeNothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::ClassNumbers;
    use crate::rank::{About, compare};
    use crate::reference::Compared;
    use crate::robustness::{ChangeResult, Outcome, set_regrets};

    const TODAY: [f64; 3] = [0.2, 0.2, 0.002];

    fn tried(value: f64, today: f64) -> ChangeResult {
        ChangeResult::Measured(Outcome {
            value,
            today,
            was_completed: 100,
            completed: 100,
            stalled: ((0, 100), (0, 100)),
            objection: None,
            at_least: false,
            open: false,
            values: vec![value],
            logs: vec![(value / today).ln(), (value / today).ln() - 0.01],
        })
    }

    /// An entry with these values in three networks; `None` where the network does not allow the change.
    fn entry(name: &str, effort: u32, values: [Option<f64>; 3]) -> Entry {
        let runs = |v: f64| vec![vec![ClassNumbers::finished(&[v], 1e9)]; 2];
        let about = About { name: name.to_owned(), effort, ..About::default() };
        let objective = Objective { goal: Goal::P99, class: "a".into(), limit: None };
        let first = values[0].unwrap_or(TODAY[0]);
        let mut entry = compare(&objective, &["a".to_owned()], &Compared::new(runs(TODAY[0]), runs(first)), about);
        let one =
            |(v, today): (Option<f64>, f64)| v.map_or_else(|| ChangeResult::Unknown("not here".into()), |v| tried(v, today));
        entry.robust = Some(Robust { tried: values.into_iter().zip(TODAY).map(one).collect(), ..Robust::default() });
        entry
    }

    fn decided(entries: Vec<Entry>) -> (Option<String>, Option<String>) {
        decided_by(entries, false)
    }

    fn decided_by(mut entries: Vec<Entry>, too_short: bool) -> (Option<String>, Option<String>) {
        let mut today = entry("as it is", 0, TODAY.map(Some));
        let mut all: Vec<Robust> = std::iter::once(&today).chain(&entries).filter_map(|e| e.robust.clone()).collect();
        set_regrets(&mut all, Goal::P99);
        today.robust = Some(all.remove(0));
        entries.iter_mut().zip(all).for_each(|(e, r)| e.robust = Some(r));
        let objective = Objective { goal: Goal::P99, class: "a".into(), limit: None };
        let (best, _) = decide(&objective, (0, MATERIAL, too_short), &today, &entries);
        let first = best.and_then(|i| at_once(Goal::P99, 0, &today, &entries, i));
        let name = |i: usize| entries[i].name.clone();
        (best.map(name), first.map(name))
    }

    #[test]
    fn unknown_network_is_not_harmless() {
        let holds = entry("holds", 5, [Some(0.02), Some(0.02), Some(0.002)]);
        let unknown = entry("unknown", 1, [Some(0.002), None, Some(0.002)]);
        assert_eq!(decided(vec![unknown.clone(), holds]), (Some("holds".into()), None));
        // Nothing else helps: it is recommended, and the first line names the network.
        assert_eq!(decided(vec![unknown]).0, Some("unknown".into()));
    }

    /// Where stalls are cut off, a large gain of one lower bound over another does not outweigh a loss.
    #[test]
    fn short_runs_recommend_what_holds() {
        let gamble = entry("gamble", 3, [Some(0.002), Some(0.002), Some(0.0035)]);
        let holds = entry("holds", 3, [Some(0.01), Some(0.01), Some(0.002)]);
        assert_eq!(decided(vec![gamble.clone(), holds.clone()]).0, Some("gamble".into()));
        assert_eq!(decided_by(vec![gamble.clone(), holds], true).0, Some("holds".into()));
        assert_eq!(decided_by(vec![gamble], true).0, None);
    }

    #[test]
    fn first_step_is_worse_nowhere() {
        let best = || entry("best", 5, [Some(0.004), Some(0.004), Some(0.004)]);
        let cheap = entry("cheap", 1, [Some(0.02), Some(0.02), Some(0.002)]);
        assert_eq!(decided(vec![best(), cheap]), (Some("best".into()), Some("cheap".into())));
        let harmful = entry("harmful", 1, [Some(0.02), Some(0.02), Some(0.004)]);
        assert_eq!(decided(vec![best(), harmful]), (Some("best".into()), None));
    }
}
