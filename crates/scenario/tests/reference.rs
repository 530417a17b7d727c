//! The generated part of docs/reference/scenario.md is what the registries say. `FOREBAY_UPDATE=1 cargo test` writes it.

use std::path::Path;

const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->\n";

#[test]
fn reference_has_not_drifted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenario.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(BEGIN).expect("the begin marker");
    let (_, tail) = rest.split_once(END).expect("the end marker");
    let wanted = format!("{head}{BEGIN}{}{END}{tail}", forebay_scenario::docs(forebay_backends::all()));
    if std::env::var_os("FOREBAY_UPDATE").is_some() {
        std::fs::write(&path, wanted).unwrap();
    } else {
        assert!(
            text == wanted,
            "docs/reference/scenario.md is out of date: run `FOREBAY_UPDATE=1 cargo test -p forebay-scenario`"
        );
    }
}

#[test]
fn every_choice_is_described() {
    for section in forebay_scenario::describe(forebay_backends::all()) {
        for item in section.items {
            assert!(!item.summary.is_empty(), "{} {}", section.title, item.name);
            assert!(item.params.iter().all(|p| !p.doc.is_empty() && !p.legal.is_empty()), "{}", item.name);
        }
    }
}

/// The scenarios that the reference shows are valid. Parts of scenarios are checked with the examples of all pages (tools/examples.py).
#[test]
fn examples_in_the_reference_resolve() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenario.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut seen = 0;
    let blocks = text.split("```toml\n").skip(1).filter_map(|b| b.split("```").next());
    for block in blocks.filter(|b| b.contains("topology") && b.contains("workload = [") || b.contains("[observe]")) {
        let r = forebay_scenario::Scenario::from_text(forebay_backends::all(), block, "docs.toml", Path::new("."), &[], None)
            .and_then(|s| s.example()?.resolve());
        if let Err(e) = r {
            panic!("{}", e.render());
        }
        seen += 1;
    }
    assert!(seen > 0);
}
