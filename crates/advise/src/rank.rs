//! Ranking of changes: by gain, with effects on other classes, and starvation last.

use crate::evidence::{MATERIAL, far_fewer, starves};
use crate::install::Step;
use crate::measure::ClassNumbers;
use crate::options::Caveat;
use crate::reference::{Compared, scaled};
use crate::robustness::Robust;
use forebay_scenario::{Goal, Objective};
use forebay_types::{Estimate, estimate};

/// Number of seeds from which on an interval is shown, as in the tables of runs.
const FEW_SEEDS: usize = 5;

/// Change of a number of a class relative to the present network, paired by seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Mean of the present values.
    pub before: f64,
    /// Mean of the values with the change.
    pub after: f64,
    /// Mean of the logarithms of the ratios: below 0 the number decreased.
    pub log: Estimate,
    /// Smallest and largest ratio over the seeds.
    pub range: (f64, f64),
}

impl Change {
    /// Change from pairs of values, before and after, of the same seeds. `None` without pairs, or if a value is not above 0.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Change> {
        if pairs.iter().any(|(a, b)| *a <= 0.0 || *b <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = pairs.iter().map(|(before, after)| (after / before).ln()).collect();
        let mean = |part: fn(&(f64, f64)) -> f64| pairs.iter().map(part).sum::<f64>() / pairs.len() as f64;
        let (low, high) = logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), l| (l.min(low), l.max(high)));
        Some(Change { before: mean(|p| p.0), after: mean(|p| p.1), log: estimate(&logs)?, range: (low.exp(), high.exp()) })
    }

    /// Ratio of after to before.
    pub fn factor(&self) -> f64 {
        self.log.mean.exp()
    }

    /// Confidence interval of the factor; `None` with a single seed.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.log.half_width.map(|h| ((self.log.mean - h).exp(), (self.log.mean + h).exp()))
    }

    /// Ends of the factor that are shown: the interval, and below five seeds their range, as in the tables of runs, because an interval of so few says
    /// little. `None` with a single seed.
    pub fn shown(&self) -> Option<(f64, f64)> {
        let interval = self.interval()?;
        Some(if self.log.n < FEW_SEEDS { self.range } else { interval })
    }

    /// Returns true if both ends of the interval are within the ratio that counts as equal.
    pub(crate) fn is_equal(&self) -> bool {
        self.interval().is_some_and(|(low, high)| low * MATERIAL > 1.0 && high < MATERIAL)
    }

    /// Smallest and largest ratio over several seeds, if all seeds changed in the same direction by more than the ratio that counts as equal.
    pub(crate) fn common_direction(&self) -> Option<(f64, f64)> {
        let (low, high) = self.range;
        (self.log.n > 1 && (low > MATERIAL || high * MATERIAL < 1.0)).then_some((low, high))
    }

    /// Returns true if the change is not significant: the interval includes 1, or there is one seed only.
    pub fn is_noise(&self) -> bool {
        self.interval().is_none_or(|(low, high)| low <= 1.0 && high >= 1.0)
    }
}

/// Effect of a change on a class other than that of the objective.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassEffect {
    /// Name of the class.
    pub class: String,
    /// Number that was compared: the 99th percentile of completion times, or the goodput of endless flows.
    pub goal: Goal,
    /// Change; `None` if there is nothing to compare, see `starved`.
    pub change: Option<Change>,
    /// True if the class had work and completed none in a run.
    pub starved: bool,
}

/// Assessment of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assessment {
    /// All classes make progress.
    Sound,
    /// The class to improve, or another, completed nothing, or has less than a tenth of its present goodput.
    Starves,
    /// There is no measurement.
    Unknown,
}

/// Numbers of one class before and after a change, over all seeds together.
#[derive(Debug, Clone, PartialEq)]
pub struct BeforeAfter {
    /// Name of the class.
    pub class: String,
    /// Median completion time.
    pub p50: Option<(f64, f64)>,
    /// 99th percentile of completion times.
    pub p99: Option<(f64, f64)>,
    /// Delivered payload, bits per second.
    pub goodput: (f64, f64),
    /// Messages that waited for a retransmission timeout, or were unfinished after more than ten times the median.
    pub stalled: (usize, usize),
    /// Messages that did not complete.
    pub unfinished: (usize, usize),
    /// Messages that started.
    pub started: (usize, usize),
}

/// Change with its results.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Overrides of the scenario.
    pub sets: Vec<String>,
    /// Installation.
    pub install: Vec<Step>,
    /// Effort of the installation, the sum over its parts.
    pub effort: u32,
    /// Reason to prefer another change: with one it is recommended only if no other change helps.
    pub caveat: Option<Caveat>,
    /// Assessment.
    pub assessment: Assessment,
    /// Change of the objective.
    pub objective: Option<Change>,
    /// True if the value of the objective is a lower bound.
    pub at_least: bool,
    /// Change of the median of the class to improve, if the objective is another figure of its times.
    pub median: Option<Change>,
    /// Effects on other classes.
    pub others: Vec<ClassEffect>,
    /// Numbers of every class.
    pub prices: Vec<BeforeAfter>,
    /// Completed and started messages or queries of the class to improve, over all seeds.
    pub done: (usize, usize),
    /// Number of compared seeds.
    pub seeds: usize,
    /// Results under the variations; `None` if it was not among the best.
    pub robust: Option<Robust>,
}

impl Entry {
    /// Improvement of the objective, as a factor: above 1 is better.
    pub fn gain(&self, goal: Goal) -> f64 {
        self.objective.map_or(0.0, |c| if goal.more_is_better() { c.factor() } else { 1.0 / c.factor() })
    }

    /// Gain at the unfavorable end of the confidence interval. With a single seed the gain itself.
    pub fn lower_bound(&self, goal: Goal) -> f64 {
        match self.objective.and_then(|c| c.interval()) {
            Some((low, _)) if goal.more_is_better() => low,
            Some((_, high)) => 1.0 / high,
            None => self.gain(goal),
        }
    }

    /// Returns true if the interval of the objective is the only obstacle: the gain is large and not significant.
    pub(crate) fn needs_seeds(&self, goal: Goal) -> bool {
        self.assessment == Assessment::Sound && self.gain(goal) > MATERIAL && self.objective.is_some_and(|c| c.is_noise())
    }

    /// Returns true if far fewer messages of the class stall, beyond chance.
    pub(crate) fn ends_stalls(&self, class: usize) -> bool {
        self.prices.get(class).is_some_and(|p| far_fewer((p.stalled.0, p.started.0), (p.stalled.1, p.started.1), 4.0))
    }

    /// Promise of other effects, for the selection of changes by few seeds: fewer stalls, and the mean improvement of other classes.
    pub(crate) fn promise(&self) -> f64 {
        let stalls = self.prices.iter().any(|p| far_fewer((p.stalled.0, p.started.0), (p.stalled.1, p.started.1), 1.5));
        let sign = |o: &ClassEffect| if o.goal.more_is_better() { 1.0 } else { -1.0 };
        let logs: Vec<f64> = self.others.iter().filter_map(|o| Some(sign(o) * o.change?.log.mean)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
        // An end of stalls counts as much as a gain of two thirds, the gain of others a quarter of the own (our choice).
        mean.clamp(-2.0, 2.0) / 4.0 + if stalls { 0.5 } else { 0.0 }
    }

    /// Largest significant and material improvement of another class as a factor, with its index in `others`.
    pub(crate) fn side_gain(&self) -> Option<(usize, f64)> {
        let one = |o: &ClassEffect| {
            let change = o.change.filter(|c| !c.is_noise())?.factor();
            let gain = if o.goal.more_is_better() { change } else { 1.0 / change };
            (gain > MATERIAL).then_some(gain)
        };
        let all = self.others.iter().enumerate().filter_map(|(i, o)| Some((i, one(o)?)));
        all.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Returns true if another class starves, or is significantly and materially worse.
    pub(crate) fn harms_others(&self) -> bool {
        self.others.iter().any(|o| {
            o.starved
                || o.change.is_some_and(|c| {
                    let factor = if o.goal.more_is_better() { 1.0 / c.factor() } else { c.factor() };
                    factor > MATERIAL && !c.is_noise()
                })
        })
    }
}

/// Goal by which other classes are compared.
fn secondary_goal(runs: &[Vec<ClassNumbers>], class: usize) -> Goal {
    if runs.iter().any(|r| r[class].started > 0) { Goal::P99 } else { Goal::Goodput }
}

/// Description of a change beside its results.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) sets: Vec<String>,
    pub(crate) install: Vec<Step>,
    pub(crate) effort: u32,
    pub(crate) caveat: Option<Caveat>,
}

/// Compares a change with the present network, by runs with the same seeds. A value is that of the whole run of the present network, times the ratio over
/// the time that both runs have.
pub(crate) fn compare(objective: &Objective, classes: &[String], runs: &Compared, about: About) -> Entry {
    let Compared { whole, before, after } = runs;
    let pairs = |class: usize, goal: Goal| -> Vec<(f64, f64)> {
        let one = |((w, b), a): ((&Vec<ClassNumbers>, &Vec<ClassNumbers>), &Vec<ClassNumbers>)| {
            scaled(goal, &w[class], &b[class], &a[class])
        };
        whole.iter().zip(before).zip(after).filter_map(one).collect()
    };
    let own = classes.iter().position(|c| *c == objective.class).unwrap_or(0);
    let others: Vec<ClassEffect> = (0..classes.len())
        .filter(|c| *c != own)
        .map(|c| {
            let goal = secondary_goal(before, c);
            let starved = starves(before, after, c);
            ClassEffect { class: classes[c].clone(), goal, change: Change::of(&pairs(c, goal)), starved }
        })
        .collect();
    let change = Change::of(&pairs(own, objective.goal));
    let never = after.iter().all(|r| r[own].starved());
    let assessment = match change {
        _ if never || starves(before, after, own) || others.iter().any(|o| o.starved) => Assessment::Starves,
        None => Assessment::Unknown,
        Some(_) => Assessment::Sound,
    };
    let seeds = before.len().min(after.len());
    let price = |c: usize| {
        let (b, a) = (ClassNumbers::pool(&before[..seeds], c), ClassNumbers::pool(&after[..seeds], c));
        let both = |goal: Goal| Some((b.value(goal)?, a.value(goal)?));
        BeforeAfter {
            class: classes[c].clone(),
            p50: both(Goal::P50),
            p99: both(Goal::P99),
            goodput: (b.goodput_bps, a.goodput_bps),
            stalled: (b.stalled, a.stalled),
            unfinished: (b.unfinished(), a.unfinished()),
            started: (b.started, a.started),
        }
    };
    let count = |part: fn(&ClassNumbers) -> usize| after.iter().map(|r| part(&r[own])).sum();
    Entry {
        name: about.name,
        sets: about.sets,
        install: about.install,
        effort: about.effort,
        caveat: about.caveat,
        assessment,
        objective: change,
        at_least: ClassNumbers::pool(&after[..seeds], own).is_at_least(objective.goal),
        median: Some(Goal::P50)
            .filter(|_| matches!(objective.goal, Goal::P99 | Goal::P999))
            .and_then(|g| Change::of(&pairs(own, g))),
        others,
        prices: (0..classes.len()).map(price).collect(),
        done: (count(|c| c.completed), count(|c| c.started)),
        seeds,
        robust: None,
    }
}

/// Sorts the best first: sound before starving, then by the lower bound of the gain.
pub(crate) fn sort(entries: &mut [Entry], goal: Goal) {
    entries.sort_by(|a, b| {
        a.assessment.cmp(&b.assessment).then(b.lower_bound(goal).total_cmp(&a.lower_bound(goal))).then(a.name.cmp(&b.name))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objective() -> Objective {
        Objective { goal: Goal::P99, class: "a".into(), limit: None }
    }

    fn classes() -> Vec<String> {
        vec!["a".into(), "b".into()]
    }

    fn run(a_ms: f64, b_bps: f64) -> Vec<ClassNumbers> {
        vec![ClassNumbers::finished(&[a_ms * 1e-3], 1e9), ClassNumbers::finished(&[], b_bps)]
    }

    fn entry(name: &str, after: &[Vec<ClassNumbers>]) -> Entry {
        let before = vec![run(200.0, 5e9), run(210.0, 5e9), run(190.0, 5e9)];
        compare(
            &objective(),
            &classes(),
            &Compared::new(before, after.to_vec()),
            About { name: name.to_owned(), ..About::default() },
        )
    }

    #[test]
    fn differences_are_taken_seed_by_seed() {
        let half = entry("half", &[run(100.0, 4e9), run(105.0, 4e9), run(95.0, 4e9)]);
        assert_eq!(half.assessment, Assessment::Sound);
        let c = half.objective.unwrap();
        // Every seed halves, so the interval is narrow although the seeds differ.
        assert!((c.factor() - 0.5).abs() < 1e-12 && !c.is_noise());
        let price = half.others[0].change.unwrap();
        assert!((price.factor() - 0.8).abs() < 1e-12 && half.others[0].goal == Goal::Goodput);
        let noise = entry("noise", &[run(180.0, 5e9), run(230.0, 5e9), run(190.0, 5e9)]);
        assert!(noise.objective.unwrap().is_noise());
        // Three seeds show their range, and five the interval.
        let range = noise.objective.unwrap().shown().unwrap();
        assert!((range.0 - 0.9).abs() < 1e-9 && (range.1 - 230.0 / 210.0).abs() < 1e-9, "{range:?}");
        let five = Change::of(&[(1.0, 0.5), (1.0, 0.6), (1.0, 0.5), (1.0, 0.6), (1.0, 0.5)]).unwrap();
        assert_eq!(five.shown(), five.interval());
    }

    #[test]
    fn median_is_kept_beside_a_tail() {
        let after = vec![vec![ClassNumbers::finished(&[0.01, 0.2], 1e9), ClassNumbers::finished(&[], 5e9)]; 3];
        let before = vec![vec![ClassNumbers::finished(&[0.1, 0.2], 1e9), ClassNumbers::finished(&[], 5e9)]; 3];
        let of = |goal: Goal| {
            let objective = Objective { goal, ..objective() };
            compare(&objective, &classes(), &Compared::new(before.clone(), after.clone()), About::default())
        };
        let tail = of(Goal::P99);
        assert!((tail.median.unwrap().factor() - 0.1).abs() < 1e-12 && (tail.objective.unwrap().factor() - 1.0).abs() < 1e-12);
        assert_eq!(of(Goal::P50).median, None);
    }

    /// A change with a large gain in one seed only ranks below one with a gain in all seeds.
    #[test]
    fn ranks_by_lower_bound_of_gain() {
        let mut all = [
            entry("lucky", &[run(2.0, 5e9), run(2.0, 5e9), run(150.0, 5e9)]),
            entry("steady", &[run(50.0, 5e9), run(52.0, 5e9), run(48.0, 5e9)]),
        ];
        assert!(all[0].gain(Goal::P99) > all[1].gain(Goal::P99));
        sort(&mut all, Goal::P99);
        assert_eq!(all[0].name, "steady");
    }

    #[test]
    fn starving_changes_rank_last() {
        let mut all = [
            entry("starves b", &[run(10.0, 0.0), run(10.0, 0.0), run(10.0, 0.0)]),
            entry("half", &[run(100.0, 4e9), run(105.0, 4e9), run(95.0, 4e9)]),
            entry("crumbs for b", &[run(20.0, 1e8), run(20.0, 1e8), run(20.0, 1e8)]),
            entry("third", &[run(66.0, 4e9), run(70.0, 4e9), run(63.0, 4e9)]),
        ];
        sort(&mut all, Goal::P99);
        let names: Vec<&str> = all.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["third", "half", "starves b", "crumbs for b"]);
        assert_eq!(all[2].assessment, Assessment::Starves);
    }
}
