//! Packets and times in the form of scripts.

use crate::script::{EcnField, Segment, flag};

/// Seconds of a time in ns.
pub(crate) fn seconds(ns: i64) -> String {
    let text = format!("{:.9}", ns as f64 / 1e9);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// True if the packet's ECN field is the expected one.
pub(crate) fn agrees(expected: EcnField, got: Option<EcnField>) -> bool {
    match expected {
        EcnField::Ect => matches!(got, Some(EcnField::Ect0 | EcnField::Ect1 | EcnField::Ect)),
        other => got == Some(other),
    }
}

/// The segment as a line of a script.
pub(crate) fn show(s: &Segment) -> String {
    let mut text = match s.ecn {
        None => String::new(),
        Some(EcnField::NotEct) => "[noecn] ".into(),
        Some(EcnField::Ect0) => "[ect0] ".into(),
        Some(EcnField::Ect1) => "[ect1] ".into(),
        Some(EcnField::Ect) => "[ect01] ".into(),
        Some(EcnField::Ce) => "[ce] ".into(),
    };
    text += &format!("{} {}:{}({})", flag::letters(s.flags), s.seq, s.seq.wrapping_add(s.len), s.len);
    if s.flags & flag::ACK != 0 {
        text += &format!(" ack {}", s.ack);
    }
    if let Some(win) = s.win {
        text += &format!(" win {win}");
    }
    let Some(o) = &s.options else { return text + " <...>" };
    let mut words = Vec::new();
    words.extend(o.mss.map(|m| format!("mss {m}")));
    words.extend(o.sack_ok.then(|| "sackOK".to_owned()));
    words.extend(o.ts.map(|(val, ecr)| format!("TS val {val} ecr {ecr}")));
    words.extend(o.wscale.map(|w| format!("wscale {w}")));
    if !o.sack.is_empty() {
        let blocks: Vec<String> = o.sack.iter().map(|(a, b)| format!("{a}:{b}")).collect();
        words.push(format!("sack {}", blocks.join(" ")));
    }
    if !o.accecn.is_empty() {
        let fields: Vec<String> = o.accecn.iter().map(|(counter, n)| format!("{} {n}", counter.name())).collect();
        words.push(format!("ECN {}", fields.join(" ")));
    }
    if words.is_empty() { text } else { format!("{text} <{}>", words.join(",")) }
}
