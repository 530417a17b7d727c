//! The first lines of results and the explanation of single messages agree, on every scenario of the suite, of the papers and of `answers/`.
//!
//! A sentence names a cause for a workload. The explanation of its most delayed message with that cause names it too, with the same time, and the
//! timeline of the message shows it. Values that are lower bounds in a sentence are lower bounds in the table of the run. A sentence names a bottleneck or a limit of long flows: it is on their path, and the explanation has the same limit.

use crate::bounds_in_words;
use crate::scratch::{Scratch, forebay, text};
use forebay_experiment::waits::Cause;
use forebay_store::RunDir;
use forebay_store::rows::Rows;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Duration of scenarios that run longer, and of those that have none: shortened copies keep the test fast.
const SHORT: &str = "60ms";
/// Packet transmissions of a run beyond which it is not repeated: an explanation repeats it with samples of all queues on the path.
const MOST_HOPS: u64 = 250_000;
/// Durations of copies of the suite's scenarios. They grow while the run has few packets: traffic may start late.
const STEPS: [&str; 6] = ["4ms", "15ms", "60ms", "250ms", "1s", "4s"];
/// Packet transmissions from which on a run has enough traffic for an explanation.
const FEW_HOPS: u64 = 20_000;
/// Scenarios of each folder that must have been compared, so that the test cannot become empty.
const LEAST_COMPARED: usize = 45;

/// Lower bounds in first lines that must have been compared with the table.
const LEAST_BOUNDS: usize = 10;
/// Compared lower bounds.
static BOUNDS: AtomicUsize = AtomicUsize::new(0);

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

    fn explanation(&self, dir: &Path) -> String {
        text(&forebay(dir, &["explain", "out", self.option, &self.id.to_string(), "--variant", &self.variant]).stdout)
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
    if words.starts_with(Cause::RECEIVE_WINDOW) {
        return Some((Cause::Window, ""));
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
    let receiver = item.cause == Cause::Window && main.starts_with(Cause::RECEIVE_WINDOW);
    if !main.starts_with(item.cause.text()) && !receiver {
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
        Cause::Recovery => &["retransmitted", "loss detected", "not delivered"],
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

/// A copy without a sweep, for `duration` without a warm-up, or with at most the duration of the test.
fn shortened(file: &Path, duration: Option<&str>) -> Option<String> {
    let whole = std::fs::read_to_string(file).ok()?;
    let mut out = format!("runs = 1\nduration = \"{}\"\n", duration.unwrap_or(SHORT));
    let (mut table, mut own) = (String::new(), None);
    for line in whole.lines() {
        if line.starts_with('[') {
            table = line.to_owned();
        }
        let top = table.is_empty();
        if top && line.starts_with("duration") {
            own = Some(line.to_owned());
        }
        let dropped = duration.is_some() && line.starts_with("warmup")
            || table == "[sweep]"
            // Its ranges are those of the whole duration.
            || table == "[[expect]]"
            || top && (line.starts_with("runs") || line.starts_with("duration") || line.starts_with("stop"));
        if !dropped {
            // Lists lie beside the scenario.
            let beside = format!("file = \"{}/", file.parent().unwrap().display());
            out += &line.replace("file = \"", &beside);
            out += "\n";
        }
    }
    // A short duration of its own stays.
    let short = own.filter(|_| duration.is_none()).filter(|own| {
        between(own, "\"", "\"").and_then(|d| d.strip_suffix("ms")?.parse::<f64>().ok()).is_some_and(|ms| ms <= 400.0)
    });
    Some(short.map_or(out.clone(), |own| out.replace(&format!("duration = \"{SHORT}\"\n"), &format!("{own}\n"))))
}

/// Packet transmissions of a run of the scenario in a folder, and its first lines; `None` for a failed run.
fn run(dir: &Path) -> Option<(u64, String)> {
    let run = forebay(dir, &["run", "scenario.toml", "--out", "out", "--no-report", "--all"]);
    let manifest = std::fs::read_to_string(dir.join("out/manifest.json")).unwrap_or_default();
    let hops = manifest.split("\"packet_hops\": ").skip(1).filter_map(|m| m.split(',').next()?.trim().parse::<u64>().ok()).sum();
    run.status.success().then(|| (hops, text(&run.stdout)))
}

/// Contradictions of one scenario, and the number of sentences that were compared.
fn of_scenario(file: &Path) -> (usize, Vec<String>) {
    let name = file.file_stem().unwrap().to_string_lossy();
    let scratch = Scratch::new(&format!("explained-{name}"));
    let Some(short) = shortened(file, None) else { return (0, Vec::new()) };
    let place = scratch.0.join("scenario.toml");
    std::fs::write(&place, short).unwrap();
    let Some((hops, first)) = run(&scratch.0) else { return (0, Vec::new()) };
    let (_, bounds, wrong) = bounds_in_words::compare(&first);
    BOUNDS.fetch_add(bounds, Relaxed);
    if !wrong.is_empty() {
        return (0, wrong);
    }
    let named = sentences(&first);
    if hops <= MOST_HOPS
        && let Some(wrong) = limit_of_long_flow(&first, &scratch.0)
    {
        return (0, vec![wrong]);
    }
    if hops > MOST_HOPS {
        return (0, Vec::new());
    }
    let (held, of_nagle) = nagle(&first, &scratch.0);
    let (compared, wrong) = causes(named, &scratch.0);
    (held + compared, [wrong, of_nagle].concat())
}

/// The sentence about Nagle's algorithm, and the explanation of the most delayed message for which it can hold.
fn nagle(first: &str, dir: &Path) -> (usize, Vec<String>) {
    const NAMED: &str = "Nagle's algorithm h";
    let causes = [Cause::DelayedAck, Cause::Interrupts, Cause::Window];
    let items = delayed(&dir.join("out"));
    let Some(item) = items.iter().find(|i| causes.contains(&i.cause)).filter(|_| first.contains(NAMED)) else {
        return (0, Vec::new());
    };
    let explained = item.explanation(dir);
    (
        1,
        if explained.contains(NAMED) {
            Vec::new()
        } else {
            vec![format!("Nagle's algorithm only in the first lines\n{explained}")]
        },
    )
}

/// Contradictions of the sentences about late work, and the number of them.
fn causes(named: Vec<(String, String)>, dir: &Path) -> (usize, Vec<String>) {
    let items = delayed(&dir.join("out"));
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
        let explained = forebay(dir, &["explain", "out", item.option, &id, "--variant", &item.variant]);
        if !explained.status.success() {
            wrong.push(text(&explained.stderr));
            continue;
        }
        compared += 1;
        wrong.extend(contradictions(&text(&explained.stdout), item).into_iter().map(|w| format!("{} {id}: {w}", item.option)));
    }
    (compared, wrong)
}

/// An endless flow.
struct Endless {
    id: i64,
    variant: String,
    transport: String,
    class: String,
}

/// The endless flows of a result.
fn endless_flows(dir: &Path) -> Vec<Endless> {
    const COLUMNS: [&str; 5] = ["flow_id", "size_bytes", "variant", "transport", "class"];
    let Some(batches) = RunDir::open(dir).ok().and_then(|dir| dir.columns("flows", &COLUMNS).ok()) else { return Vec::new() };
    let mut all = Vec::new();
    for batch in &batches {
        let rows = Rows::new(batch);
        let (id, size) = (rows.int("flow_id"), rows.int("size_bytes"));
        let [variant, transport, class] = ["variant", "transport", "class"].map(|c| rows.text(c, str::to_owned));
        for row in (0..rows.len()).filter(|&row| size.get(row).is_none()) {
            let [variant, transport, class] = [&variant, &transport, &class].map(|t| t.get(row).cloned().unwrap_or_default());
            all.push(Endless { id: id.get(row).unwrap(), variant, transport, class });
        }
    }
    all
}

impl Endless {
    fn explanation(&self, dir: &Path) -> String {
        text(&forebay(dir, &["explain", "out", "--flow", &self.id.to_string(), "--variant", &self.variant]).stdout)
    }
}

/// The part of its time in which the receive window or the send buffer limits the only long flow, in the first lines and in its explanation, %.
fn limit_of_long_flow(first: &str, dir: &Path) -> Option<String> {
    let line = first.lines().find(|l| l.contains("1 long flow has a goodput"))?;
    for what in ["receive window", "send buffer"] {
        let percent = |text: &str, before: String| between(text, &before, " %")?.trim().parse::<f64>().ok();
        let Some(first) = percent(line, format!("the {what} limits it for ")) else { continue };
        let explained = endless_flows(&dir.join("out")).first()?.explanation(dir);
        let own = percent(&explained, format!("by the {what} "));
        if own.is_none_or(|own| (own - first).abs() > 1.0) {
            return Some(format!("{what}: {first} % against {own:?} %\n{explained}"));
        }
    }
    None
}

/// Contradictions of the sentences about the bottlenecks and limits of long flows, and the number of comparisons.
fn long_flows(first: &str, dir: &Path) -> (usize, Vec<String>) {
    let flows = endless_flows(&dir.join("out"));
    let (mut compared, mut wrong) = (0, Vec::new());
    // `A gets 4 Gbit/s at P, 40 % of it`, and `limited by P (100 % utilized)` of all flows.
    let apart = first.lines().find_map(|l| l.split_once("Long flows have different bottlenecks: "));
    let each = apart.iter().flat_map(|l| l.1.trim_end_matches('.').split("; ")).filter_map(|one| {
        let (class, rest) = one.split_once(" gets ")?;
        Some((class.to_owned(), rest.split_once(" at ")?.1.split(',').next()?.to_owned()))
    });
    let link = ["; limited by the link of the sending host, ", "; limited by "].iter().find_map(|b| between(first, b, " ("));
    let whole = link.filter(|l| !l.contains(' ')).map(|port| (String::new(), port.to_owned()));
    for (class, port) in each.chain(whole) {
        let of_class: Vec<&Endless> = flows.iter().filter(|f| class.is_empty() || f.class == class).collect();
        let Some(first) = of_class.first() else {
            wrong.push(format!("no long flow of `{class}`"));
            continue;
        };
        compared += 1;
        let own = [Some(first), of_class.last()];
        if !own.iter().flatten().any(|f| f.explanation(dir).contains(&format!("hop {port} "))) {
            wrong.push(format!("{port} is not on the path:\n{}", first.explanation(dir)));
        }
    }
    // `NAME: the send buffer limits it for 54.6 % of the time`, with the mean over all flows of a name.
    for line in first.lines().filter(|l| l.contains(" long flow") || l.starts_with("Limits of long flows: ")) {
        for one in line.trim_start_matches("Limits of long flows: ").split("; ") {
            for limit in ["receive window", "send buffer"] {
                let Some(mean) = between(one, &format!("the {limit} limits "), " %") else { continue };
                let mean: f64 = mean.rsplit(' ').next().unwrap().parse().unwrap();
                let name = one.split_once(": ").map_or("", |n| n.0).to_owned();
                let named =
                    |f: &&Endless| name.is_empty() || name.ends_with("long flow") || [&f.variant, &f.transport].contains(&&name);
                let own: Vec<&Endless> = flows.iter().filter(named).collect();
                if own.is_empty() || own.len() > 8 {
                    continue;
                }
                let part =
                    |f: &&Endless| between(&f.explanation(dir), &format!("by the {limit} "), " %")?.trim().parse::<f64>().ok();
                let parts: Vec<f64> = own.iter().filter_map(part).collect();
                compared += 1;
                let (low, high) = parts.iter().fold((100.0_f64, 0.0_f64), |(low, high), p| (low.min(*p), high.max(*p)));
                if !(low - 1.0..=high + 1.0).contains(&mean) {
                    wrong.push(format!("{limit} of {name}: {mean} % against {parts:?} %"));
                }
            }
        }
    }
    (compared, wrong)
}

/// The connection of a workload with most messages other than requests: its variant, and the number of its last message.
fn busiest_connection(dir: &Path, class: &str) -> Option<(String, i64)> {
    const COLUMNS: [&str; 6] = ["flow_id", "conn_id", "size_bytes", "variant", "class", "request"];
    let mut all: BTreeMap<(String, i64), (usize, i64)> = BTreeMap::new();
    for batch in &RunDir::open(&dir.join("out")).ok()?.columns("flows", &COLUMNS).ok()? {
        let rows = Rows::new(batch);
        let ([id, conn, size], request) = (["flow_id", "conn_id", "size_bytes"].map(|c| rows.int(c)), rows.bool("request"));
        let [variant, of] = ["variant", "class"].map(|c| rows.text(c, str::to_owned));
        let counts = |row: &usize| {
            size.get(*row).is_some()
                && request.get(*row) != Some(true)
                && (class.is_empty() || of.get(*row).is_some_and(|c| c == class))
        };
        for row in (0..rows.len()).filter(counts) {
            let of_conn = all.entry((variant.get(row)?.clone(), conn.get(row)?)).or_default();
            *of_conn = (of_conn.0 + 1, id.get(row)?);
        }
    }
    all.into_iter().max_by_key(|(_, (messages, _))| *messages).map(|((variant, _), (_, id))| (variant, id))
}

/// The sentence about connections without work, and the explanation of a message of each workload that it names.
fn idle_ends(first: &str, dir: &Path) -> (usize, Vec<String>) {
    let (mut compared, mut wrong) = (0, Vec::new());
    for one in first.lines().filter(|l| l.contains(" limits the connections")).flat_map(|l| l.split("; ")) {
        let class = between(one, "connections of ", " for ").unwrap_or_default();
        let Some((variant, id)) = busiest_connection(dir, class) else { continue };
        let explained = text(&forebay(dir, &["explain", "out", "--flow", &id.to_string(), "--variant", &variant]).stdout);
        let why = if one.contains("peer limits") { "its peer sent no request" } else { "its application wrote nothing" };
        compared += 1;
        if !explained.contains(why) {
            wrong.push(format!("{one}\n{explained}"));
        }
    }
    (compared, wrong)
}

/// Contradictions of a scenario of the suite, and the number of comparisons: of each sentence with a cause or a limit, and of the most delayed message
/// or a long flow where there is none.
fn of_suite(file: &Path) -> (usize, Vec<String>) {
    let scratch = Scratch::new(&format!("explained-suite-{}", file.file_stem().unwrap().to_string_lossy()));
    let dir = &scratch.0;
    let copy = |duration: &str| {
        let short = shortened(file, Some(duration)).unwrap();
        std::fs::write(dir.join("scenario.toml"), short).unwrap();
        // Results of the step before.
        let _ = std::fs::remove_dir_all(dir.join("out"));
        run(dir).unwrap_or_else(|| panic!("{} for {duration} fails", file.display()))
    };
    let (mut hops, mut first) = copy(STEPS[0]);
    for pair in STEPS.windows(2) {
        if hops >= FEW_HOPS {
            break;
        }
        (hops, first) = copy(pair[1]);
    }
    let mut all = causes(sentences(&first), dir);
    all.1.extend(bounds_in_words::compare(&first).2);
    for more in [long_flows(&first, dir), idle_ends(&first, dir)] {
        all.0 += more.0;
        all.1.extend(more.1);
    }
    if all.0 > 0 {
        return all;
    }
    if let Some(item) = delayed(&dir.join("out")).first() {
        return (1, contradictions(&item.explanation(dir), item));
    }
    let flow = endless_flows(&dir.join("out")).into_iter().next();
    let explained = flow.map_or_else(String::new, |f| f.explanation(dir));
    (1, if explained.contains("endless\n") { Vec::new() } else { vec![format!("{first}\n{explained}")] })
}

/// Scenario files of a folder.
fn scenarios(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<PathBuf> = all.filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
    all.sort();
    all
}

/// Compares all files with two threads. Returns the number of comparisons.
fn compare(files: &[PathBuf], one: fn(&Path) -> (usize, Vec<String>)) -> usize {
    let (next, wrong, compared) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Relaxed)) {
                    let (n, found) = one(file);
                    compared.fetch_add(n, Relaxed);
                    wrong.lock().unwrap().extend(found.into_iter().map(|w| format!("{}: {w}", file.display())));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    compared.into_inner()
}

#[test]
fn explanations_agree_with_first_lines() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let papers = ["coexistence", "dctcp", "incast-prin", "proboscis", "trim"].map(|p| own.join("../../papers").join(p));
    let folders = [own.join("tests/answers"), own.join("tests/answers/first")].into_iter().chain(papers);
    let files: Vec<PathBuf> = folders.flat_map(|f| scenarios(&f)).collect();
    let compared = compare(&files, of_scenario);
    assert!(compared >= LEAST_COMPARED, "{compared} sentences compared");
    let bounds = BOUNDS.load(Relaxed);
    assert!(bounds >= LEAST_BOUNDS, "{bounds} lower bounds compared");
}

#[test]
fn explanations_agree_on_the_suite() {
    let files = scenarios(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"));
    let compared = compare(&files, of_suite);
    assert!(compared >= files.len(), "{compared} comparisons of {} scenarios", files.len());
}
