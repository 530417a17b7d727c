//! No input causes a panic, and every refusal has a message.

use crate::common::VALID;
use forebay_scenario::Scenario;
use miette::Diagnostic;
use proptest::prelude::*;
use std::path::Path;

/// Reads, resolves and renders, and ignores the result.
fn read(text: &str, sets: &[String]) {
    match Scenario::from_text(forebay_backends::all(), text, "hostile.toml", Path::new("."), sets, None).and_then(|s| s.resolve())
    {
        Ok(r) => assert!(!r.explain().is_empty() && !r.variants.iter().any(|v| v.toml().is_empty())),
        Err(e) => {
            assert!(!e.list().is_empty() && e.render().contains("error: "));
            for one in e.list() {
                let labels = one.labels().into_iter().flatten();
                labels.for_each(|l| assert!(one.source_code().unwrap().read_span(l.inner(), 1, 1).is_ok()));
            }
        }
    }
}

/// Inputs that are known to break readers.
const POISON: &[&str] = &[
    "",
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    "=",
    ".",
    "..",
    "\n",
    "#",
    "\\",
    "\u{0}",
    "é",
    "nan",
    "-inf",
    "1e400",
    "-0",
    "0x",
    "1979-05-27",
    "true",
    "[[transport.group]]",
    "[workload]",
    "9223372036854775808",
    "\"18446744073709551615h\"",
    "\"999999999GB\"",
    "\"0us\"",
    "\"h0..h999999\"",
    "{ cdf = \"/\" }",
    "{ cdf = \"\" }",
    "{ exponential = \"1PB\" }",
    "[\"all\", \"all\"]",
    "\"\\u0000\"",
    "{ kind = \"dctcp-step\" }",
];

fn position(text: &str, at: usize) -> usize {
    let mut i = at % (text.len() + 1);
    while !text.is_char_boundary(i) {
        i -= 1;
    }
    i
}

#[test]
fn every_truncation() {
    for end in (0..VALID.len()).filter(|e| VALID.is_char_boundary(*e)) {
        read(&VALID[..end], &[]);
    }
}

#[test]
fn every_value_replaced_by_poison() {
    for (n, line) in VALID.lines().enumerate() {
        let Some((key, _)) = line.split_once('=') else { continue };
        for poison in POISON {
            let text: Vec<String> =
                VALID.lines().enumerate().map(|(i, l)| if i == n { format!("{key}= {poison}") } else { l.to_owned() }).collect();
            read(&text.join("\n"), &[]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_edits(edits in prop::collection::vec((any::<usize>(), 0usize..30, 0..POISON.len()), 1..5)) {
        let mut text = VALID.to_owned();
        for (at, cut, poison) in edits {
            let from = position(&text, at);
            let to = position(&text, (from + cut).min(text.len()));
            text.replace_range(from..to.max(from), POISON[poison]);
        }
        read(&text, &[]);
    }

    #[test]
    fn random_text(text in "[a-z=\\[\\]{}\".,0-9 \n#-]{0,200}") {
        read(&text, &[]);
        read(VALID, &[text]);
    }

    #[test]
    fn random_overrides(path in "(topology|transport|workload|observe|runs)(\\.(senders|0|1|cc|kind|bottleneck|queue|block)){0,3}", value in 0..POISON.len()) {
        read(VALID, &[format!("{path}={}", POISON[value])]);
    }
}
