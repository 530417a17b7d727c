//! Decision between the changes that were compared under all variations.

use crate::rank::{Assessment, Entry};
use crate::robust::Robust;
use forebay_scenario::Objective;

/// Ratio up to which two worst cases count as equal (our choice): then the smaller effort decides.
const NEAR: f64 = 1.25;

/// Ratio of mean losses above which an equal worst case does not excuse the smaller effort (our choice).
const MUCH: f64 = 1.5;

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
    /// The objective has no value.
    Unknown,
}

/// Number of the recommended entry among those with results under the variations, and the reason.
pub(crate) fn decide(objective: &Objective, own: usize, today: &Entry, entries: &[Entry]) -> (Option<usize>, Reason) {
    if today.assessment == Assessment::Unknown {
        return (None, Reason::Unknown);
    }
    let Some(now) = &today.robust else { return (None, Reason::ChangeNothing) };
    let sound: Vec<Compared> = entries
        .iter()
        .enumerate()
        .filter_map(|(i, e)| Some((i, e, e.robust.as_ref()?)))
        .filter(|(_, e, r)| e.assessment == Assessment::Sound && r.objection().is_none())
        .collect();
    // Established changes first; those of research if no other helps.
    let (established, experimental): (Vec<Compared>, Vec<Compared>) = sound.into_iter().partition(|(_, e, _)| !e.experimental);
    let choose = |from: &[Compared]| match &objective.limit {
        Some((limit, _)) => meets(objective, *limit, now, from),
        None => best(objective, own, now, from),
    };
    match choose(&established) {
        (None, Reason::ChangeNothing) => choose(&experimental),
        decided => decided,
    }
}

/// Number of an entry, the entry, and its results under the variations.
type Compared<'a> = (usize, &'a Entry, &'a Robust);

/// The best worst case; without one, a gain for others that costs the objective nothing.
fn best(objective: &Objective, own: usize, now: &Robust, sound: &[Compared]) -> (Option<usize>, Reason) {
    let goal = objective.goal;
    // Better in the worst case, and beyond chance: in the file's network, over all variations together, or by the number of stalls.
    let sure = |e: &Entry, r: &Robust| {
        let significant = e.objective.is_some_and(|c| !c.is_noise() && e.gain(goal) > 1.0);
        let overall = r.overall().is_some_and(|o| o.half_width.is_some_and(|h| o.mean + h < 0.0));
        significant || overall || e.ends_stalls(own) || r.ends_stalls()
    };
    let better: Vec<_> = sound.iter().filter(|(_, e, r)| r.regret * NEAR < now.regret && sure(e, r)).collect();
    if let Some(least) = better.iter().map(|(_, _, r)| r.regret).reduce(f64::min) {
        let near: Vec<_> = better.into_iter().filter(|(_, _, r)| r.regret <= NEAR * least).collect();
        let mean = near.iter().map(|(_, _, r)| r.mean_loss).fold(f64::INFINITY, f64::min);
        let near = near.into_iter().filter(|(_, _, r)| r.mean_loss <= MUCH * mean);
        // A sure gain of another class is worth effort.
        let aside = |e: &Entry| e.side_gain().is_some_and(|(_, factor)| factor > 1.5);
        let best = near.min_by(|(_, a, r), (_, b, s)| {
            a.harms_others()
                .cmp(&b.harms_others())
                .then(aside(b).cmp(&aside(a)))
                .then(a.effort.cmp(&b.effort))
                .then(r.regret.total_cmp(&s.regret))
        });
        return (best.map(|b| b.0), Reason::BestWorstCase);
    }
    let gains = |e: &Entry, r: &Robust| {
        let stalls = r.ends_stalls() || (0..e.prices.len()).any(|c| e.ends_stalls(c));
        let factor = e.side_gain().map_or(1.0, |(_, f)| f);
        (stalls || factor > 1.5).then_some(factor)
    };
    let aside = sound.iter().filter(|(_, e, r)| {
        let not_worse = r.overall().is_none_or(|o| o.mean < 0.1);
        not_worse && r.reversed_in(goal).is_empty() && !e.harms_others() && gains(e, r).is_some()
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
