//! The core of the simulator knows no law, shim, queue discipline or workload by name: what one of them needs is a hook that any other could
//! have. This test reads the code of the core and looks for the names of the registries.

use forebay_checks::repository;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which registry a name comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Law,
    Shim,
    Queue,
    Workload,
}

use Kind::{Law, Queue, Shim, Workload};

/// Names that are also ordinary words. They are looked for as a part of a type's or a variant's name and as a text, not in other names.
const ORDINARY_WORDS: &[&str] = &["long", "protect", "queries", "red", "replay", "requests", "service", "trim"];

/// A name that a part of the core may contain, and why.
struct Exception {
    /// Path below `crates`: a folder or a file.
    path: &'static str,
    name: &'static str,
    why: &'static str,
}

const fn may(path: &'static str, name: &'static str, why: &'static str) -> Exception {
    Exception { path, name, why }
}

const FEEDBACK: &str = "an ECN mode: the feedback of RFC 8257 section 3.2, with any law";
const RECOVERY: &str = "a recovery: that of RFC 6582 or the one before it, with any law";

const EXCEPTIONS: &[Exception] = &[
    may("sim/src/tcp/receiver/ecn_echo.rs", "dctcp", FEEDBACK),
    may("sim/src/tcp/negotiated.rs", "dctcp", FEEDBACK),
    may("sim/src/tcp/sender/cumulative.rs", "reno", RECOVERY),
];

/// What is read, as paths below `crates`, and which names must not be in it.
const CORE: &[(&str, &[Kind])] = &[
    ("sim/src/engine", &[Law, Shim, Queue, Workload]),
    ("sim/src/tcp", &[Law, Shim, Queue, Workload]),
    ("sim/src/net", &[Law, Shim, Queue, Workload]),
];

fn registries() -> Vec<(Kind, &'static str)> {
    let laws = forebay_sim::cc::REGISTRY.iter().map(|e| (Law, e.entry.name));
    let shims = forebay_sim::shim::REGISTRY.iter().map(|e| (Shim, e.entry.name));
    let queues = forebay_queues::REGISTRY.iter().map(|e| (Queue, e.entry.name));
    let workloads = forebay_experiment::workload::REGISTRY.iter().map(|e| (Workload, e.entry.name));
    laws.chain(shims).chain(queues).chain(workloads).collect()
}

/// The source files below `folder` but for those of tests, in order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut list = Vec::new();
    forebay_checks::sources(folder, &mut list);
    list.retain(|path| !path.to_string_lossy().ends_with("tests.rs"));
    list.sort();
    list
}

/// The code of a file without its comments, line by line, up to the tests at its end.
fn code(text: &str) -> Vec<&str> {
    let tests = ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\npub(crate) mod tests {"];
    let end = tests.iter().find_map(|t| text.find(t)).unwrap_or(text.len());
    text[..end].lines().map(without_comment).collect()
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let bytes = line.as_bytes();
    for i in 0..bytes.len() {
        match bytes[i] {
            b'"' if i == 0 || bytes[i - 1] != b'\\' => quoted = !quoted,
            b'/' if !quoted && bytes.get(i + 1) == Some(&b'/') => return &line[..i],
            _ => {}
        }
    }
    line
}

/// The words that an identifier is made of, in lower case: at underscores and capitals.
fn words(identifier: &str) -> Vec<String> {
    let mut list = vec![String::new()];
    let mut lower = false;
    for c in identifier.chars() {
        if c == '_' || (c.is_ascii_uppercase() && lower) {
            list.push(String::new());
        }
        lower = !c.is_ascii_uppercase();
        if c != '_' {
            list.last_mut().unwrap().push(c.to_ascii_lowercase());
        }
    }
    list.retain(|w| !w.is_empty());
    list
}

/// Whether a line of code contains `name` as words of an identifier or of a text.
fn contains(line: &str, name: &str) -> bool {
    let joined = name.replace('-', "");
    let named = |identifier: &str| {
        let words = words(identifier);
        (0..words.len()).any(|from| (from..words.len()).any(|to| words[from..=to].concat() == joined))
    };
    let ordinary = ORDINARY_WORDS.contains(&name);
    let identifiers = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let type_like = |i: &&str| i.starts_with(|c: char| c.is_ascii_uppercase());
    identifiers.filter(|i| !ordinary || type_like(i)).any(named) || line.contains(&format!("\"{name}\""))
}

#[test]
fn the_core_names_no_law_shim_queue_or_workload() {
    let crates = repository().join("crates");
    let names = registries();
    let (mut found, mut used) = (Vec::new(), BTreeSet::new());
    for (folder, kinds) in CORE {
        for path in sources(&crates.join(folder)) {
            let text = std::fs::read_to_string(&path).unwrap();
            let below = path.strip_prefix(&crates).unwrap().to_str().unwrap().replace('\\', "/");
            for (number, line) in code(&text).iter().enumerate() {
                for (kind, name) in names.iter().filter(|(kind, name)| kinds.contains(kind) && contains(line, name)) {
                    match EXCEPTIONS.iter().position(|e| below.starts_with(e.path) && e.name == *name) {
                        Some(exception) => _ = used.insert(exception),
                        None => found.push(format!("crates/{below}:{}: {kind:?} `{name}`: {}", number + 1, line.trim())),
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "the core names what it must not know; make it a hook:\n{}", found.join("\n"));
    let unused = EXCEPTIONS.iter().enumerate().filter(|(i, _)| !used.contains(i));
    let unused: Vec<String> = unused.map(|(_, e)| format!("{}: `{}` ({})", e.path, e.name, e.why)).collect();
    assert!(unused.is_empty(), "exceptions that nothing needs any more; remove them:\n{}", unused.join("\n"));
}

/// What CONTRIBUTING promises: a shim is one file (or folder), and three lines elsewhere: its module, its entry in the registry, and its name in
/// the list of its place.
#[test]
fn a_shim_takes_three_lines_elsewhere() {
    let crates = repository().join("crates");
    let folders = ["experiment/src", "sim/src", "scenario/src", "store/src", "exec/src"];
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| sources(&crates.join(folder))).collect();
    for shim in forebay_sim::shim::REGISTRY {
        let name = shim.entry.name;
        let own = [format!("sim/src/shim/{name}.rs"), format!("sim/src/shim/{name}/")];
        let mut lines = Vec::new();
        for path in &files {
            let below = path.strip_prefix(&crates).unwrap().to_str().unwrap().replace('\\', "/");
            // The law of the same publication brings this shim along.
            let brought = (name, below.as_str()) == ("srpt", "sim/src/cc/pfabric.rs");
            if brought || own.iter().any(|o| below.starts_with(o)) {
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            let named = code(&text).into_iter().filter(|line| contains(line, name));
            lines.extend(named.map(|line| format!("crates/{below}: {}", line.trim())));
        }
        assert!((1..=3).contains(&lines.len()), "`{name}` takes {} lines elsewhere:\n{}", lines.len(), lines.join("\n"));
    }
}

#[test]
fn names_are_found_in_code_only() {
    for line in ["fn begin_prin() {", "Scheme::Prin(p)", "use crate::shim::prin;", "c.name == \"prin\"", "let prin_floor = 1;"] {
        assert!(contains(without_comment(line), "prin"), "{line}");
    }
    for line in ["let principal = print(x); // PRIN", "sprint_prints()", "/// PRIN 3.4", "\"http://x/prin\".len() // no"] {
        let found = contains(without_comment(line), "prin");
        assert_eq!(found, line.contains("http"), "{line}");
    }
    assert!(contains("FifoDiscipline::DropTail(_)", "drop-tail") && contains("drop_tail()", "drop-tail"));
    assert!(contains("Recovery::NewReno", "reno") && contains("Recovery::NewReno", "newreno"));
    // Ordinary words only where they are a name.
    assert!(!contains("text.trim()", "trim") && contains("Law::Trim(t)", "trim") && contains("if law == \"trim\"", "trim"));
    assert!(!contains("let queries = 1;", "queries") && contains("WorkloadKind::Queries { .. }", "queries"));
}
