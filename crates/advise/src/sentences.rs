//! Advice in words: the recommendation with its cost, what it rests on, and the installation.

use crate::decide::Reason;
use crate::evidence::MATERIAL;
use crate::format::{factor, in_words, quantity, times};
use crate::rank::{Assessment, BeforeAfter, Change, Entry};
use crate::robustness::{Outcome, Robust};
use crate::search::{Advice, TooShort};
use forebay_scenario::Goal;
use std::fmt::Write as _;

/// Recommendation, one sentence per line: the answer, its effect, the worst case, the cost for other traffic, and when another change is better.
pub fn recommendation(a: &Advice) -> Vec<String> {
    let Some(best) = a.recommended.and_then(|i| a.entries.get(i)) else { return nothing(a) };
    let lead = match a.too_short {
        Some(_) => "These runs cannot decide. Most promising change that was never worse than today in the networks tried",
        None => "Do this",
    };
    let mut out = vec![format!("{lead}: {}{}.", best.name, exceptions(a, best))];
    out.extend(a.too_short.as_ref().map(lower_bounds));
    out.extend(a.at_once.and_then(|i| first_step(a, &a.entries[i])));
    let goal = a.objective.goal;
    if let Some(c) = best.objective {
        out.push(format!("The {} {}.", a.objective, change(&c, goal)));
    }
    out.extend(reason(a, best));
    out.extend(own_class_text(a, best));
    out.extend(worst_case(a, best));
    for (i, price) in best.prices.iter().enumerate().filter(|(i, _)| *i != a.own) {
        out.push(format!("Effect on {}: {}.", price.class, other_class_text(price, best, i - usize::from(i > a.own))));
    }
    out.extend(alternatives(a, best));
    out.extend(a.sensitive.iter().map(|(equal, name)| {
        let percent = 100.0 * (equal - 1.0);
        format!("If values within {percent} % counted as equal instead of 25 %: {}.", name.as_deref().unwrap_or("change nothing"))
    }));
    out
}

/// Networks in which the change is worse than the present network, or unknown.
fn exceptions(a: &Advice, best: &Entry) -> String {
    let Some(robust) = &best.robust else { return String::new() };
    let names = |list: &[usize]| list.iter().map(|i| format!("`{}`", a.variations[*i])).collect::<Vec<_>>().join(", ");
    let mut out = String::new();
    let worse = robust.worse_in(a.objective.goal);
    if !worse.is_empty() {
        let _ = write!(out, "; it is worse than today with {}", names(&worse));
    }
    let unknown: Vec<usize> = robust.unknown().map(|(i, _)| i).collect();
    if !unknown.is_empty() {
        let _ = write!(out, "; its effect is unknown with {}", names(&unknown));
    }
    out
}

/// Caveat for runs that are too short: the times of stalled messages are cut off.
fn lower_bounds(short: &TooShort) -> String {
    match short {
        TooShort::Timeout { duration, least } => format!(
            "The runs of {duration} end before a retransmission timeout ({least} or more), so that the times of stalled messages are lower bounds. \
             Longer runs may recommend another change."
        ),
        TooShort::Limit { limit } => format!(
            "Fewer than half of the messages start {limit} or more before the end of their runs, and some do not complete, so that the runs cannot show \
             that {limit} is kept. Longer runs may recommend another change."
        ),
    }
}

/// Change with less effort that holds in all networks.
fn first_step(a: &Advice, e: &Entry) -> Option<String> {
    let robust = e.robust.as_ref()?;
    let (goal, (worst, _)) = (a.objective.goal, robust.extremes(a.objective.goal)?);
    let o = robust.outcome(worst)?;
    Some(format!(
        "First step, with less effort: {}. It is never worse than today in the networks tried: at worst {} with `{}` (as it is {}).",
        e.name,
        in_words(o.value, goal, o.at_least),
        a.variations[worst],
        quantity(o.today, goal)
    ))
}

/// Sentence for a reason that is not the objective.
fn reason(a: &Advice, best: &Entry) -> Option<String> {
    let limit = a.objective.limit.as_ref().map_or("", |(_, text)| text.as_str());
    match a.reason {
        Reason::OthersGain => {
            let gain = best.side_gain().map(|(i, f)| format!("{} becomes {} times better", best.others[i].class, times(f)));
            let stalls = (0..best.prices.len()).find(|c| best.ends_stalls(*c)).map(|c| {
                let p = &best.prices[c];
                format!("{} of {} {} stall instead of {} of {}", p.stalled.1, p.started.1, p.class, p.stalled.0, p.started.0)
            });
            let overall = best.robust.as_ref().filter(|r| stalls.is_none() && r.ends_stalls()).map(|r| {
                let ((was, n), (is, m)) = r.stalled();
                format!("over all networks {is} of {m} {} stall instead of {was} of {n}", a.objective.class)
            });
            let stalls = stalls.or(overall);
            let all: Vec<String> = stalls.into_iter().chain(gain).collect();
            Some(format!("The {} is never worse in the networks tried, and {}.", a.objective, all.join("; ")))
        }
        Reason::MeetsLimit => Some(format!("It is the least effort that keeps {limit} in every network tried.")),
        Reason::NearestToLimit => {
            let (value, _) = a.objective.limit.as_ref()?;
            let missed = best.robust.as_ref()?.misses(a.objective.goal, *value);
            let names: Vec<&str> = missed.iter().filter_map(|i| a.variations.get(*i)).map(String::as_str).collect();
            let kept = if a.too_short.is_some() { "is shown to keep" } else { "keeps" };
            Some(format!("No change {kept} {limit} in every network tried; this one does not with: {}.", names.join(", ")))
        }
        _ => None,
    }
}

/// Stalls, unfinished work and median of the class to improve.
fn own_class_text(a: &Advice, best: &Entry) -> Option<String> {
    let p = best.prices.get(a.own)?;
    if p.started.0 + p.started.1 == 0 {
        return None;
    }
    let mut parts = Vec::new();
    if p.stalled.0 + p.stalled.1 > 0 {
        parts.push(format!(
            "{} of {} stalled: a retransmission timeout, or unfinished after ten times the median (as it is {} of {})",
            p.stalled.1, p.started.1, p.stalled.0, p.started.0
        ));
    }
    if p.unfinished.0 + p.unfinished.1 > 0 {
        parts.push(format!("{} were cut off by the end of the runs (as it is {})", p.unfinished.1, p.unfinished.0));
    }
    if let Some((before, after)) = p.p50 {
        parts.push(format!("the median goes from {} to {}", quantity(before, Goal::P50), quantity(after, Goal::P50)));
    }
    Some(format!("Of {}, {}.", p.class, parts.join("; ")))
}

/// Worst and best network of the recommended change, against the present one.
fn worst_case(a: &Advice, best: &Entry) -> Option<String> {
    let (goal, robust) = (a.objective.goal, best.robust.as_ref()?);
    let (worst, good) = robust.extremes(goal)?;
    let at = |i: usize| -> Option<String> {
        let o = robust.outcome(i)?;
        let name = &a.variations[i];
        Some(format!("{} with `{name}` (as it is {})", in_words(o.value, goal, o.at_least), quantity(o.today, goal)))
    };
    let (known, worse) = (robust.outcomes().count(), robust.worse_in(goal).len());
    let holds = match worse {
        0 => format!("It is never worse than today in the {known} networks tried"),
        n => format!("It is worse than today in {n} of {known} networks tried"),
    };
    let overall = robust.overall().and_then(|e| {
        let half = e.half_width?;
        let (low, high) = ((-e.mean - half).exp(), (-e.mean + half).exp());
        Some(format!(
            " Over all of them it is {} times better (95 % interval {} to {}).",
            times((-e.mean).exp()),
            times(low),
            times(high)
        ))
    });
    Some(format!("{holds}: the worst has {}, the best {}.{}", at(worst)?, at(good)?, overall.unwrap_or_default()))
}

/// Networks in which another change is clearly better: they would have to be certain to prefer it.
fn alternatives(a: &Advice, best: &Entry) -> Vec<String> {
    let goal = a.objective.goal;
    let Some(own) = &best.robust else { return Vec::new() };
    let mut found: Vec<(f64, usize, &Entry)> = Vec::new();
    for e in a.entries.iter().filter(|e| e.name != best.name) {
        let Some(robust) = &e.robust else { continue };
        let advantage = |i: usize| {
            let (mine, theirs) = (own.outcome(i)?, robust.outcome(i)?);
            let ratio = if goal.more_is_better() { theirs.value / mine.value } else { mine.value / theirs.value };
            (theirs.objection.is_none() && ratio > MATERIAL).then_some((ratio, i))
        };
        let largest = (0..robust.tried.len()).filter_map(advantage).max_by(|x, y| x.0.total_cmp(&y.0));
        found.extend(largest.map(|(ratio, i)| (ratio, i, e)));
    }
    found.sort_by(|x, y| y.0.total_cmp(&x.0));
    let value = |r: &Robust, i: usize| r.outcome(i).map_or(String::new(), |o| in_words(o.value, goal, o.at_least));
    let against = |e: &Entry| -> String {
        let Some(r) = &e.robust else { return String::new() };
        if let Some((i, text)) = r.objection() {
            return format!("; with `{}` it {text}", a.variations[i]);
        }
        let (worst, name) = (value(r, r.regret_in), &a.variations[r.regret_in]);
        format!("; with `{name}` it has {worst} instead of {}", value(own, r.regret_in))
    };
    if found.is_empty() && a.entries.iter().any(|e| e.name != best.name && e.robust.is_some()) {
        return vec!["No other change is clearly better than this one in any network tried.".into()];
    }
    let one = |(_, i, e): &(f64, usize, &Entry)| {
        let Some(r) = &e.robust else { return String::new() };
        let name = e.caveat.map_or_else(|| e.name.clone(), |caveat| format!("{} ({})", e.name, caveat.words()));
        format!(
            "Prefer {name} only if `{}` is certain: {} instead of {}{}.",
            a.variations[*i],
            value(r, *i),
            value(own, *i),
            against(e)
        )
    };
    found.iter().take(2).map(one).collect()
}

/// Sentences without a recommendation.
fn nothing(a: &Advice) -> Vec<String> {
    if a.reason == Reason::Unknown {
        return vec![format!("The {} has no value in these runs, so no change can be compared.", a.objective)];
    }
    let tried = a.entries.len();
    let worst = a.today.robust.as_ref().and_then(|r| {
        let (worst, _) = r.extremes(a.objective.goal)?;
        let outcome = r.outcome(worst)?;
        let value = in_words(outcome.value, a.objective.goal, outcome.at_least);
        Some((value, a.variations[worst].as_str()))
    });
    let mut out = Vec::new();
    if let (Reason::TooShort, Some(short)) = (a.reason, &a.too_short) {
        let text = "These runs cannot decide: every change is either not significantly better than today, or worse in some network tried.";
        return vec![text.to_owned(), lower_bounds(short)];
    }
    if let Some((limit, text)) = &a.objective.limit {
        let met = a.today.robust.as_ref().is_some_and(|r| r.misses(a.objective.goal, *limit).is_empty());
        let worst = worst.map_or(String::new(), |(v, w)| format!(" (worst {v}, with `{w}`)"));
        return vec![if met {
            format!("Change nothing: the present network keeps {text} for the {} in every network tried{worst}.", a.objective)
        } else {
            format!("None of {tried} changes brings the {} nearer to {text} than the present network{worst}.", a.objective)
        }];
    }
    let median = median_instead(a).map_or_else(String::new, |text| format!("; {text}"));
    out.push(format!("Change nothing: none of {tried} changes has a better worst case for the {}{median}.", a.objective));
    let best = a.entries.iter().filter_map(|e| Some((e, e.robust.as_ref()?))).min_by(|x, y| x.1.regret.total_cmp(&y.1.regret));
    if let Some((e, r)) = best {
        let (goal, now) = (a.objective.goal, a.today.robust.as_ref());
        let known = |o: Option<&Outcome>| o.map_or_else(|| "unknown".into(), |o| in_words(o.value, goal, o.at_least));
        let i = r.regret_in;
        let now = known(now.and_then(|n| n.outcome(i)));
        let reason = match r.objection() {
            Some((i, text)) => format!("with `{}` it {text}", a.variations[i]),
            None => format!("with `{}` it has {}, as it is {now}", a.variations[i], known(r.outcome(i))),
        };
        out.push(format!("The nearest is {}: {reason}.", e.name));
    }
    out
}

/// The change that lowers the median most, where no change lowers the tail: significantly, materially, and without harm for others.
fn median_instead(a: &Advice) -> Option<String> {
    let gain = |e: &Entry| e.median.filter(|m| !m.is_noise() && m.factor() * MATERIAL < 1.0).map(|m| m.factor());
    let sound = a.entries.iter().filter(|e| e.assessment == Assessment::Sound && e.caveat.is_none() && !e.harms_others());
    let best = sound.filter_map(|e| Some((gain(e)?, e))).min_by(|x, y| x.0.total_cmp(&y.0))?.1;
    let median = change(&best.median?, Goal::P50);
    Some(format!("but in the present network the median of {} {median} with {}", a.objective.class, best.name))
}

/// `falls from 208 ms to 4.1 ms: 50 times (95 % interval 40 to 63)`.
fn change(c: &Change, goal: Goal) -> String {
    let (verb, ratio) = if c.factor() < 1.0 { ("falls", 1.0 / c.factor()) } else { ("rises", c.factor()) };
    let interval = match c.interval() {
        Some(_) if c.is_noise() => format!("{} seeds do not prove it", c.log.n),
        // The decision rests on the interval, which says little of its own with so few seeds.
        Some(interval) if c.shown() != Some(interval) => format!("beyond chance, by {} seeds", c.log.n),
        Some((low, high)) if c.factor() < 1.0 => format!("95 % interval {} to {}", times(1.0 / high), times(1.0 / low)),
        Some((low, high)) => format!("95 % interval {} to {}", times(low), times(high)),
        None => "one seed: no interval".to_owned(),
    };
    format!("{verb} from {} to {}, {} times ({interval})", quantity(c.before, goal), quantity(c.after, goal), times(ratio))
}

/// Median, tail, goodput and unfinished work of another class.
fn other_class_text(p: &BeforeAfter, e: &Entry, other: usize) -> String {
    if e.others.get(other).is_some_and(|o| o.starved) {
        return "it starves".into();
    }
    let mut parts = Vec::new();
    let pair = |name: &str, values: Option<(f64, f64)>, goal: Goal| {
        values.map(|(before, after)| format!("{name} {} to {}", quantity(before, goal), quantity(after, goal)))
    };
    parts.extend(pair("median", p.p50, Goal::P50));
    parts.extend(pair("p99", p.p99, Goal::P99));
    if let Some(o) = e.others.get(other).and_then(|o| o.change) {
        let goal = e.others[other].goal;
        let ratio = factor(o.factor());
        let text = match (o.is_equal(), o.is_noise()) {
            (true, _) => format!("{goal} hardly changes"),
            (_, true) => match o.common_direction() {
                Some((low, high)) => format!("{goal} {} to {} by seed", factor(low), factor(high)),
                None => format!("{goal} {ratio}, which may be chance"),
            },
            _ => format!("{goal} {ratio}"),
        };
        let values = pair("", Some(p.goodput), Goal::Goodput).filter(|_| goal == Goal::Goodput);
        parts.insert(0, text + &values.map_or_else(String::new, |v| format!(" ({})", v.trim_start())));
    }
    if e.others.get(other).is_none_or(|o| o.change.is_none() || o.goal != Goal::Goodput) {
        parts.extend(pair("goodput", Some(p.goodput), Goal::Goodput));
    }
    if p.unfinished.0 + p.unfinished.1 > 0 {
        parts.push(format!("unfinished {} to {}", p.unfinished.0, p.unfinished.1));
    }
    parts.join(", ")
}

/// Installation of the recommendation, line by line: commands, reversal, reboot and open connections of each step.
pub fn installation(a: &Advice) -> Vec<String> {
    let Some(best) = a.recommended.and_then(|i| a.entries.get(i)) else { return Vec::new() };
    let mut out = Vec::new();
    for step in &best.install {
        out.push(step.line());
        if !step.undo.is_empty() {
            out.push(format!("  undo: {}", step.undo.join("; ")));
        }
        if !step.keep.is_empty() {
            out.push(format!("  after a reboot: {}", step.keep));
        }
        if !step.open.is_empty() {
            out.push(format!("  open connections {}", step.open));
        }
    }
    out
}
