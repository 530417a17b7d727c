//! Advice as JSON.

use crate::rank::{Assessment, Change, ClassEffect, Entry};
use crate::search::Advice;
use crate::words::recommendation;
use serde_json::{Value as Json, json};

/// Formats an advice as one document: times in seconds, rates in bit/s; `null` for values that were not measured.
pub fn json(a: &Advice) -> Json {
    json!({
        "scenario": a.name,
        "objective": a.objective.to_string(),
        "stack": a.stack,
        "answer": recommendation(a).0,
        // Number of an option, counted from 1 as in the table.
        "recommended": a.recommended.map(|i| i + 1),
        "today": entry(&a.today),
        "options": a.entries.iter().map(entry).collect::<Vec<_>>(),
        "not_simulated": a.dropped.iter().map(|(name, why)| json!({"name": name, "why": why})).collect::<Vec<_>>(),
        "results": a.dir.display().to_string(),
    })
}

fn entry(e: &Entry) -> Json {
    let verdict = match e.assessment {
        Assessment::Sound => "sound",
        Assessment::Starves => "starves",
        Assessment::Unknown => "unknown",
    };
    json!({
        "name": e.name,
        "sets": e.sets,
        "install": e.install,
        "verdict": verdict,
        "objective": e.objective.as_ref().map(change),
        "others": e.others.iter().map(others).collect::<Vec<_>>(),
        "done": e.done.0,
        "started": e.done.1,
        "seeds": e.seeds,
    })
}

fn others(o: &ClassEffect) -> Json {
    json!({"class": o.class, "number": o.goal.to_string(), "starved": o.starved, "change": o.change.as_ref().map(change)})
}

fn change(c: &Change) -> Json {
    let interval = c.interval().map(|(low, high)| [low, high]);
    json!({"before": c.before, "after": c.after, "factor": c.factor(), "interval_95": interval, "noise": c.is_noise()})
}
