//! Advice as JSON.

use crate::install::Step;
use crate::rank::{Assessment, BeforeAfter, Change, ClassEffect, Entry};
use crate::robustness::{ChangeResult, Robust};
use crate::search::Advice;
use crate::sentences::recommendation;
use serde_json::{Value as Json, json};

/// Formats the advice as one document: times in seconds, rates in bit/s; `null` for values that were not measured.
pub fn json(a: &Advice) -> Json {
    let why = |(name, why): &(String, String)| json!({"name": name, "why": why});
    json!({
        "scenario": a.name,
        "objective": a.objective.to_string(),
        "limit": a.objective.limit.as_ref().map(|(value, _)| value),
        "stack": a.stack,
        "answer": recommendation(a),
        // Number of an option, counted from 1 as in the table.
        "recommended": a.recommended.map(|i| i + 1),
        "at_once": a.at_once.map(|i| i + 1),
        // Recommendations if other ratios counted as equal.
        "sensitive": a.sensitive,
        "networks": a.variations,
        "not_varied": a.fixed.iter().map(why).collect::<Vec<_>>(),
        "today": entry(a, &a.today),
        "options": a.entries.iter().map(|e| entry(a, e)).collect::<Vec<_>>(),
        "not_simulated": a.dropped.iter().map(why).collect::<Vec<_>>(),
        // Runs that ended when the ratio of a change to the present network was known.
        "ended_early": a.ended_early,
        "results": a.dir.display().to_string(),
    })
}

fn entry(a: &Advice, e: &Entry) -> Json {
    let verdict = match e.assessment {
        Assessment::Sound => "sound",
        Assessment::Starves => "starves",
        Assessment::Unknown => "unknown",
    };
    json!({
        "name": e.name,
        "sets": e.sets,
        "install": e.install.iter().map(Step::line).collect::<Vec<_>>(),
        "steps": e.install.iter().map(step).collect::<Vec<_>>(),
        "effort": e.effort,
        "verdict": verdict,
        "objective": e.objective.as_ref().map(change),
        "others": e.others.iter().map(others).collect::<Vec<_>>(),
        "prices": e.prices.iter().map(price).collect::<Vec<_>>(),
        "done": e.done.0,
        "started": e.done.1,
        "seeds": e.seeds,
        "variations": e.robust.as_ref().map(|r| robust(a, r)),
    })
}

fn step(s: &Step) -> Json {
    json!({"where": s.place, "run": s.run, "undo": s.undo, "after_reboot": s.keep, "open_connections": s.open})
}

fn robust(a: &Advice, r: &Robust) -> Json {
    let one = |(name, tried): (&String, &ChangeResult)| match tried {
        ChangeResult::Behind => None,
        ChangeResult::Unknown(why) => Some(json!({"network": name, "unknown": why})),
        ChangeResult::Measured(o) => Some(json!({
            "network": name,
            "value": o.value,
            "at_least": o.at_least,
            "today": o.today,
            "gain": o.gain(a.objective.goal),
            "worse": o.is_worse(a.objective.goal),
            "completed": o.completed,
            "stalled": o.stalled.1.0,
            "seeds": o.values.len(),
            "objection": o.objection,
        })),
    };
    json!({
        "loss": r.regret,
        "loss_in": a.variations.get(r.regret_in),
        "results": a.variations.iter().zip(&r.tried).filter_map(one).collect::<Vec<_>>(),
    })
}

fn price(p: &BeforeAfter) -> Json {
    json!({
        "class": p.class,
        "p50": p.p50,
        "p99": p.p99,
        "goodput": p.goodput,
        "stalled": p.stalled,
        "unfinished": p.unfinished,
        "started": p.started,
    })
}

fn others(o: &ClassEffect) -> Json {
    json!({"class": o.class, "number": o.goal.to_string(), "starved": o.starved, "change": o.change.as_ref().map(change)})
}

fn change(c: &Change) -> Json {
    let interval = c.interval().map(|(low, high)| [low, high]);
    json!({"before": c.before, "after": c.after, "factor": c.factor(), "interval_95": interval, "noise": c.is_noise()})
}
