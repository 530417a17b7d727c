//! Legal values of a [`Kind`], in words.

use forebay_types::param::Kind;

/// Legal values of a kind, as a phrase for help texts and documentation.
pub(crate) fn kind_text(kind: Kind) -> String {
    match kind {
        Kind::Time => "a time such as \"25us\"".into(),
        Kind::Rate => "a rate such as \"10Gbps\"".into(),
        Kind::Bytes => "a size such as \"256KB\"".into(),
        Kind::BytesOrZero => "a size such as \"256KB\", or \"0B\"".into(),
        Kind::QueueLen => "packets or bytes, \"100pkt\" or \"150KB\"".into(),
        Kind::Int(lo, hi) => format!("an integer, {}", range(lo, hi)),
        Kind::Ints(lo, hi) => format!("a list of integers, {}", range(lo, hi)),
        Kind::QueueLens => "a list of packets or bytes, [\"100pkt\", \"64pkt\"]".into(),
        Kind::Float(lo, hi) if hi > 1e15 => format!("a number, at least {lo}"),
        Kind::Float(lo, hi) => format!("a number, {lo} to {hi}"),
        Kind::Bool => "true or false".into(),
        Kind::Choice(words) => words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", "),
        Kind::Text => "a text".into(),
        Kind::Path => "a file, relative to the scenario".into(),
        Kind::Hosts => "hosts: \"all\", a group, a host, \"h0..h7\" or a list".into(),
        Kind::Link => "a link { rate, delay, buffer, queue }".into(),
        Kind::SizeDist => "a size, or a distribution of sizes such as { cdf = \"websearch\" }".into(),
        Kind::TimeDist => "a time, or a distribution of times such as { exponential = \"1ms\" }".into(),
        Kind::Names => "a list of names".into(),
        Kind::Links => "a list of links { from, to, rate, delay, buffer, queue, both }".into(),
    }
}

/// Range of integers, as a phrase.
pub(crate) fn range(lo: i64, hi: i64) -> String {
    match (lo, hi) {
        (i64::MIN, i64::MAX) => "any".into(),
        (lo, i64::MAX) => format!("at least {lo}"),
        (i64::MIN, hi) => format!("at most {hi}"),
        (lo, hi) => format!("{lo} to {hi}"),
    }
}
