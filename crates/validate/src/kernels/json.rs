//! Result of a comparison of two kernels for programs.

use super::{Cause, Comparison, InputResult, ScenarioResult, Variable, text::headline};
use forebay_experiment::rows::PacketRow;
use forebay_kernel::c_source::{ItemKind, Place};
use forebay_types::Time;
use serde_json::{Value, json};

/// The whole document.
pub fn document(c: &Comparison) -> Value {
    let kernels: Vec<Value> = c.kernels.iter().map(|(name, identity)| json!({"name": name, "identity": identity})).collect();
    let changes: Option<Vec<Value>> = c.changes.as_ref().map(|all| {
        let kind = |k| if k == ItemKind::Function { "function" } else { "definition" };
        all.iter().map(|(k, p)| json!({"kind": kind(*k), "place": place(p)})).collect()
    });
    let results: Vec<Value> = c.results.iter().map(|(name, result)| entry(name, result)).collect();
    json!({
        "summary": headline(c), "kernels": kernels, "same_program": c.same_program, "changes": changes, "results": results,
    })
}

fn entry(name: &str, result: &InputResult) -> Value {
    let differs = result.differs();
    match result {
        InputResult::Scenario(s) => {
            let mut all = scenario(s);
            all["name"] = name.into();
            all["kind"] = "scenario".into();
            all["differs"] = differs.into();
            all
        }
        InputResult::Script(events, difference) => {
            let event = |e: &Option<crate::Observation>| e.as_ref().map(ToString::to_string);
            let first = difference
                .as_ref()
                .map(|d| json!({"before": event(&d.before), "events": [event(&d.events[0]), event(&d.events[1])]}));
            json!({"name": name, "kind": "script", "differs": differs, "events": events, "first": first})
        }
        InputResult::Skipped(why) => json!({"name": name, "kind": "skipped", "differs": false, "reason": why}),
    }
}

fn scenario(s: &ScenarioResult) -> Value {
    let connections: Vec<Value> = s
        .connections
        .iter()
        .map(|c| {
            let first = c.first.as_ref().map(|d| {
                let packets: Vec<Value> = d.packet.iter().map(|p| p.as_ref().map_or(Value::Null, packet)).collect();
                json!({"back": d.back, "place": d.place, "packets": packets})
            });
            json!({"conn_id": c.conn_id, "packets": c.packets, "equal_packets": c.alike, "first": first})
        })
        .collect();
    let seconds = |t: &Option<Time>| t.map(Time::as_secs_f64);
    let states: Vec<Value> = s
        .states
        .iter()
        .map(|d| {
            json!({
                "conn_id": d.conn_id, "end": if d.receiver { "receiver" } else { "sender" }, "after": if d.timeout { "timeout" } else { "packet" },
                "place": d.place, "times_s": [seconds(&d.times[0]), seconds(&d.times[1])], "cc": d.cc,
                "variables": d.variables.iter().map(variable).collect::<Vec<_>>(),
            })
        })
        .collect();
    let effects: Vec<Value> = s
        .effects
        .iter()
        .map(|e| json!({"transport": e.group, "figure": e.label, "unit": e.unit.name(), "values": e.values}))
        .collect();
    json!({
        "packets": s.packets, "connections": connections, "states": states, "causes": s.causes.iter().map(cause).collect::<Vec<_>>(),
        "state_at_first_packet": s.at_packet.iter().map(variable).collect::<Vec<_>>(), "effects": effects,
    })
}

fn cause(c: &Cause) -> Value {
    let users = c.users.iter().map(|u| json!({"place": place(&u.place), "reads": u.reads, "writes": u.writes}));
    json!({"variable": variable(&c.variable), "functions": users.collect::<Vec<_>>(), "calls": c.chain})
}

/// Values above 2^63 are texts.
fn variable(v: &Variable) -> Value {
    let value = |v: i128| i64::try_from(v).map_or_else(|_| v.to_string().into(), Value::from);
    json!({"name": v.name, "structure": v.structure, "values": v.values.map(value)})
}

fn place(p: &Place) -> Value {
    json!({"name": p.name, "file": p.file, "line": p.line})
}

fn packet(p: &PacketRow) -> Value {
    json!({
        "time_s": Time(p.time_ps).as_secs_f64(), "number": p.number, "payload": p.payload, "syn": p.syn, "fin": p.fin, "ece": p.ece,
        "cwr": p.cwr, "ce": p.ce,
    })
}
