//! The first lines of results and the explanation of single messages agree, on every scenario of the suite, of the papers and of `answers/`.
//!
//! A sentence names a cause for a workload. The explanation of its most delayed message with that cause names it too, with the same time, and the
//! timeline of the message shows it.

use crate::scratch::{Scratch, forebay, text};
use forebay_experiment::waits::Cause;
use forebay_store::RunDir;
use forebay_store::rows::Rows;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Duration of scenarios that run longer, and of those that have none: shortened copies keep the test fast.
const SHORT: &str = "60ms";
/// Packet transmissions of a run beyond which it is not repeated: an explanation repeats it with samples of all queues on the path.
const MOST_HOPS: u64 = 250_000;
/// Scenarios of each folder that must have been compared, so that the test cannot become empty.
const LEAST_COMPARED: usize = 45;

/// A time such as `6.52 ms`, in seconds.
fn seconds(words: &str) -> Option<f64> {
    let (value, unit) = words.trim().split_once(' ')?;
    let scale = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)].iter().find(|u| u.0 == unit)?.1;
    Some(value.parse::<f64>().ok()? * scale)
}

/// Text between two others, the first of each.
fn between<'a>(whole: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &whole[whole.find(before)? + before.len()..];
    Some(&rest[..rest.find(after)?])
}

/// A message or query of the tables.
struct Item {
    variant: String,
    transport: String,
    class: String,
    /// `--flow` or `--query`, and its number.
    option: &'static str,
    id: i64,
    cause: Cause,
    /// Time of that cause, s.
    delay: f64,
    port: String,
}

impl Item {
    /// Names under which a sentence can speak of it.
    fn names(&self) -> [String; 5] {
        let of = |whose: &str| format!("{whose}, {}", self.class);
        [self.variant.clone(), self.transport.clone(), self.class.clone(), of(&self.variant), of(&self.transport)]
    }
}

/// The delayed queries of a result, and its delayed messages outside queries, longest delay first.
fn delayed(dir: &Path) -> Vec<Item> {
    let Ok(dir) = RunDir::open(dir) else { return Vec::new() };
    let mut all = Vec::new();
    for (table, option, id) in [("queries", "--query", "query_id"), ("flows", "--flow", "flow_id")] {
        for batch in dir.table(table).unwrap_or_default() {
            let rows = Rows::new(&batch);
            let [variant, class, cause, port] =
                ["variant", "class", "delay_cause", "delay_port"].map(|c| rows.text(c, str::to_owned));
            let transport = rows.text("transport", str::to_owned);
            let [id, delay, query] = [id, "delay_ns", "query_id"].map(|c| rows.int(c));
            for row in 0..rows.len() {
                let Some(cause) = cause.get(row).and_then(|c| Cause::of(c)) else { continue };
                if table == "flows" && query.get(row).is_some() {
                    continue;
                }
                let text = |of: &forebay_store::rows::Texts<String>| of.get(row).cloned().unwrap_or_default();
                let (variant, transport, class, port) = (text(&variant), text(&transport), text(&class), text(&port));
                let (id, delay) = (id.get(row).unwrap(), delay.get(row).unwrap() as f64 * 1e-9);
                all.push(Item { variant, transport, class, option, id, cause, delay, port });
            }
        }
    }
    all.sort_by(|a, b| b.delay.total_cmp(&a.delay));
    all
}

/// The cause that a text of a sentence begins with, and the port that it names.
fn named_cause(words: &str) -> Option<(Cause, &str)> {
    let port = |rest: &'_ str| -> usize { rest.find(" and ").or(rest.find(" (")).unwrap_or(rest.len()) };
    for (begin, cause) in [
        ("queue of the sending host", Cause::HostQueue),
        ("bandwidth share of ", Cause::Share),
        ("queue of ", Cause::SwitchQueue),
    ] {
        if let Some(rest) = words.strip_prefix(begin) {
            return Some((cause, if cause == Cause::HostQueue { "" } else { &rest[..port(rest)] }));
        }
    }
    Cause::ALL.into_iter().find(|c| words.starts_with(c.text())).map(|c| (c, ""))
}

/// Names and causes in the sentences about late work: the name is empty where the only subject has none.
fn sentences(first: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for line in first.lines() {
        if let Some(each) = line.strip_prefix("Main cause of late ").and_then(|l| l.split_once(": ")) {
            out.extend(each.1.split("; ").filter_map(|one| one.split_once(": ")).map(|(n, c)| (n.to_owned(), c.to_owned())));
        } else if let Some((before, causes)) =
            line.split_once("unloaded completion time. Main cause").filter(|l| l.0.contains("late: "))
        {
            let name = before.split_once(": ").filter(|n| !n.0.contains(" late")).map_or("", |n| n.0);
            out.extend(causes.split_once(": ").map(|c| (name.to_owned(), c.1.to_owned())));
        }
        // Of a tail, of the longest query, and of unfinished work.
        let tails = line.split("(main cause: ").skip(1).chain(line.split("main cause of delay: ").skip(1));
        out.extend(tails.map(|cause| (String::new(), cause.trim_end_matches(['.', ')']).to_owned())));
    }
    out
}

/// Contradictions between the sentence and the explanation of a message that it counts.
fn contradictions(message: &str, item: &Item) -> Vec<String> {
    let mut wrong = Vec::new();
    let Some(main) = message.lines().find_map(|l| l.trim_start().strip_prefix("main cause of delay: ")) else {
        return vec!["no main cause".to_owned()];
    };
    if !main.starts_with(item.cause.text()) {
        wrong.push(format!("{} against {main}", item.cause.text()));
    }
    let time = main.rsplit_once(", ").and_then(|m| seconds(m.1.split(" of ").next()?));
    if time.is_none_or(|t| (t - item.delay).abs() > 0.006 * item.delay) {
        wrong.push(format!("{} s against {main}", item.delay));
    }
    // The events show the cause, unless the run ended while it lasted.
    let shows: &[&str] = match item.cause {
        Cause::Timeout => &["retransmission timeout after", "not delivered"],
        Cause::Probe => &["tail loss probe\n", "not delivered"],
        Cause::Syn => &["SYN retransmitted after", "not delivered"],
        Cause::Recovery => &["retransmitted", "not delivered"],
        _ => &[""],
    };
    if !shows.iter().any(|s| message.contains(s)) {
        wrong.push(format!("no event of the {}", item.cause.text()));
    }
    let at = message.lines().find(|l| l.trim_start().starts_with(&format!("hop {} ", item.port)));
    let in_order = at.is_none_or(|hop| !hop.ends_with("the delay depends on the order of service"));
    if item.cause == Cause::SwitchQueue && in_order {
        // At most once for the handshake and once for the data.
        let hop = |line: &str| between(line, "at most (", ")").and_then(seconds).unwrap_or(0.0);
        let longest: f64 = message.lines().filter(|l| l.trim_start().starts_with("hop ")).map(hop).sum();
        if item.delay > 2.1 * longest + 1e-6 {
            wrong.push(format!("{} s in queues of {longest} s", item.delay));
        }
    }
    if matches!(item.cause, Cause::SwitchQueue | Cause::Share) && at.is_some_and(|hop| hop.ends_with("queue empty")) {
        wrong.push(format!("an empty queue at {}", item.port));
    }
    wrong.into_iter().map(|w| format!("{w}\n{message}")).collect()
}

/// A copy without a sweep, with at most the duration of the test.
fn shortened(file: &Path) -> Option<String> {
    let whole = std::fs::read_to_string(file).ok()?;
    let mut out = format!("runs = 1\nduration = \"{SHORT}\"\n");
    let (mut table, mut own) = (String::new(), None);
    for line in whole.lines() {
        if line.starts_with('[') {
            table = line.to_owned();
        }
        let top = table.is_empty();
        if top && line.starts_with("duration") {
            own = Some(line.to_owned());
        }
        let dropped =
            table == "[sweep]" || top && (line.starts_with("runs") || line.starts_with("duration") || line.starts_with("stop"));
        if !dropped {
            // Lists lie beside the scenario.
            let beside = format!("file = \"{}/", file.parent().unwrap().display());
            out += &line.replace("file = \"", &beside);
            out += "\n";
        }
    }
    // A short duration of its own stays.
    let short = own.filter(|own| {
        between(own, "\"", "\"").and_then(|d| d.strip_suffix("ms")?.parse::<f64>().ok()).is_some_and(|ms| ms <= 400.0)
    });
    Some(short.map_or(out.clone(), |own| out.replace(&format!("duration = \"{SHORT}\"\n"), &format!("{own}\n"))))
}

/// Contradictions of one scenario, and the number of sentences that were compared.
fn of_scenario(file: &Path) -> (usize, Vec<String>) {
    let name = file.file_stem().unwrap().to_string_lossy();
    let scratch = Scratch::new(&format!("explained-{name}"));
    let Some(short) = shortened(file) else { return (0, Vec::new()) };
    let place = scratch.0.join("scenario.toml");
    std::fs::write(&place, short).unwrap();
    let run = forebay(&scratch.0, &["run", "scenario.toml", "--out", "out", "--no-report", "--all"]);
    let manifest = std::fs::read_to_string(scratch.0.join("out/manifest.json")).unwrap_or_default();
    let hops: u64 =
        manifest.split("\"packet_hops\": ").skip(1).filter_map(|m| m.split(',').next()?.trim().parse::<u64>().ok()).sum();
    let first = text(&run.stdout);
    let named = sentences(&first);
    if run.status.success()
        && hops <= MOST_HOPS
        && let Some(wrong) = limit_of_long_flow(&first, &scratch.0)
    {
        return (0, vec![wrong]);
    }
    if !run.status.success() || named.is_empty() || hops > MOST_HOPS {
        return (0, Vec::new());
    }
    let items = delayed(&scratch.0.join("out"));
    let (mut compared, mut wrong) = (0, Vec::new());
    for (name, cause) in named {
        let Some((cause, port)) = named_cause(&cause) else {
            wrong.push(format!("unknown cause {cause}"));
            continue;
        };
        let of =
            |i: &&Item| i.cause == cause && (name.is_empty() || i.names().contains(&name)) && (port.is_empty() || i.port == port);
        let Some(item) = items.iter().find(of) else {
            wrong.push(format!("no message of {name} has the cause {cause:?} at {port}"));
            continue;
        };
        let id = item.id.to_string();
        let explained = forebay(&scratch.0, &["explain", "out", item.option, &id, "--variant", &item.variant]);
        if !explained.status.success() {
            wrong.push(text(&explained.stderr));
            continue;
        }
        compared += 1;
        wrong.extend(contradictions(&text(&explained.stdout), item).into_iter().map(|w| format!("{} {id}: {w}", item.option)));
    }
    (compared, wrong)
}

/// Number of the first endless flow.
fn endless_flow(dir: &Path) -> Option<i64> {
    let batches = RunDir::open(dir).ok()?.columns("flows", &["flow_id", "size_bytes"]).ok()?;
    batches.iter().find_map(|batch| {
        let rows = Rows::new(batch);
        let (id, size) = (rows.int("flow_id"), rows.int("size_bytes"));
        (0..rows.len()).find(|&row| size.get(row).is_none()).and_then(|row| id.get(row))
    })
}

/// The part of its time in which the receive window or the send buffer limits the only long flow, in the first lines and in its explanation, %.
fn limit_of_long_flow(first: &str, dir: &Path) -> Option<String> {
    let line = first.lines().find(|l| l.contains("1 long flow has a goodput"))?;
    for what in ["receive window", "send buffer"] {
        let percent = |text: &str, before: String| between(text, &before, " %")?.trim().parse::<f64>().ok();
        let Some(first) = percent(line, format!("the {what} limits it for ")) else { continue };
        let flow = endless_flow(&dir.join("out")).unwrap_or_default().to_string();
        let explained = text(&forebay(dir, &["explain", "out", "--flow", &flow]).stdout);
        let own = percent(&explained, format!("by the {what} "));
        if own.is_none_or(|own| (own - first).abs() > 1.0) {
            return Some(format!("{what}: {first} % against {own:?} %\n{explained}"));
        }
    }
    None
}

/// Every scenario file of the suite, the papers and the answers.
fn files() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.join("../..");
    let papers = ["coexistence", "dctcp", "incast-prin", "proboscis", "trim"].map(|p| root.join("papers").join(p));
    let folders = [root.join("scenarios"), own.join("tests/answers"), own.join("tests/answers/first")].into_iter().chain(papers);
    let mut all: Vec<PathBuf> = folders
        .flat_map(|f| std::fs::read_dir(f).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>())
        .filter(|f| f.extension().is_some_and(|e| e == "toml"))
        .collect();
    all.sort();
    all
}

#[test]
fn explanations_agree_with_first_lines() {
    let files = files();
    let (next, wrong, compared) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Relaxed)) {
                    let (n, found) = of_scenario(file);
                    compared.fetch_add(n, Relaxed);
                    wrong.lock().unwrap().extend(found.into_iter().map(|w| format!("{}: {w}", file.display())));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let compared = compared.into_inner();
    assert!(compared >= LEAST_COMPARED, "{compared} sentences compared");
}
