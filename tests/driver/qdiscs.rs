//! PIE, CoDel, FQ-CoDel, fq, RED, CHOKe and DWRR of the crate `queues` against the qdiscs of Linux. The packet path functions of `net/sched` are taken from
//! the kernel's sources and compiled with stubs of the functions that they call (`qdiscs/kernel.h`). They get the same packets as the disciplines, which
//! are linked to each program with access to their state (`qdiscs/inspect.rs`); the answers of fq are compared with the output of a program. Each C file in `qdiscs/` states the differences that it allows for.
//!
//! Where no sources of Linux 6.12 are installed these tests are skipped, and say so. `FOREBAY_SEQUENCES=1000000` takes so many sequences of each.

use forebay_kernel::Source;
use forebay_queues::{Arrival, DropReason, Effects, Handle, PortState, Queue, QueueState, Queued};
use forebay_types::param::{Value, Values};
use forebay_types::{Bytes, Rng, Time};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{env, fs, process};

/// The release whose differences are stated.
const RELEASE: &str = "6.12";

/// Headers that are taken as they are.
const HEADERS: &[&str] = &["net/pie.h", "net/codel.h", "net/codel_impl.h", "net/codel_qdisc.h", "net/red.h"];

/// Files, and the definitions that are taken from each.
const SLICES: &[(&str, &[&str])] = &[
    (
        "sch_pie",
        &[
            "struct pie_sched_data",
            "pie_drop_early",
            "pie_qdisc_enqueue",
            "pie_process_dequeue",
            "pie_calculate_probability",
            "pie_qdisc_dequeue",
        ],
    ),
    (
        "sch_codel",
        &[
            "struct codel_sched_data",
            "dequeue_func",
            "drop_func",
            "__codel_qdisc_dequeue",
            "codel_dequeue_drop",
            "codel_qdisc_dequeue",
            "codel_qdisc_enqueue",
        ],
    ),
    (
        "sch_fq_codel",
        &[
            "struct fq_codel_flow",
            "struct fq_codel_sched_data",
            "fq_codel_hash",
            "dequeue_head",
            "flow_queue_add",
            "fq_codel_drop",
            "fq_codel_enqueue",
            "dequeue_func",
            "drop_func",
            "__fq_codel_dequeue",
            "fq_codel_dequeue_drop",
            "fq_codel_dequeue",
        ],
    ),
    (
        "sch_choke",
        &[
            "struct choke_sched_data",
            "choke_len",
            "use_ecn",
            "use_harddrop",
            "choke_zap_head_holes",
            "choke_zap_tail_holes",
            "choke_drop_by_idx",
            "choke_peek_random",
            "choke_match_random",
            "choke_enqueue",
            "choke_dequeue",
        ],
    ),
    (
        "sch_fq",
        &[
            "struct fq_flow",
            "struct fq_flow_head",
            "struct fq_perband_flows",
            "struct fq_sched_data",
            "fq_skb_cb",
            "fq_flow_set_detached",
            "fq_flow_is_detached",
            "fq_flow_add_tail",
            "fq_fastpath_check",
            "fq_peek",
            "fq_erase_head",
            "fq_dequeue_skb",
            "flow_queue_add",
            "fq_packet_beyond_horizon",
            "fq_enqueue",
            "fq_check_throttled",
            "fq_pband_head_select",
            "fq_dequeue",
        ],
    ),
    ("sch_drr", &["struct drr_class", "struct drr_sched", "cl_is_active", "drr_enqueue", "drr_dequeue"]),
    ("sch_red", &["struct red_sched_data", "red_use_ecn", "red_use_harddrop", "red_use_nodrop", "red_enqueue", "red_dequeue"]),
];

/// The definition of a struct or function in a file of the kernel's style: from the line that names it to the first line that begins with `}`.
fn definition<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let opens = if name.starts_with("struct ") { format!("{name} {{") } else { format!("{name}(") };
    let mut at = 0;
    while let Some(found) = text[at..].find(&opens).map(|i| at + i) {
        let start = text[..found].rfind('\n').map_or(0, |i| i + 1);
        let end = found + text[found..].find("\n}")? + 2;
        let whole = &text[start..end + text[end..].find('\n')?];
        // A comment that names the function may stand in a definition without a brace behind it.
        let head = whole.split('{').next().filter(|head| head.len() < whole.len()).unwrap_or(";");
        let named = text[start..found].chars().all(|c| c.is_ascii_lowercase() || c == ' ' || c == '_' || c == '*');
        let outside = text[start..].starts_with(|c: char| c.is_ascii_lowercase());
        // Do not match longer names with the same ending, or prototypes, which have no brace.
        if named && outside && !head.contains(';') && !text[start..found].ends_with('_') {
            return Some(whole);
        }
        at = found + opens.len();
    }
    None
}

/// Names of the headers that a text includes.
fn included(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("#include <")?.strip_suffix('>'))
}

/// The files that are taken.
fn files() -> impl Iterator<Item = String> {
    HEADERS.iter().map(|h| format!("include/{h}")).chain(SLICES.iter().map(|s| format!("net/sched/{}.c", s.0)))
}

/// Extracts the files from the sources. In an archive they are in a folder of unknown name.
fn take(source: &Source, into: &Path) {
    match source {
        Source::Archive(archive, program) => {
            let done = Command::new("tar")
                .arg(format!("--use-compress-program={program}"))
                .arg("-xf")
                .arg(archive)
                .arg("-C")
                .arg(into)
                .args(["--strip-components=1", "--occurrence=1", "--wildcards", "--no-wildcards-match-slash"])
                .args(files().map(|f| format!("*/{f}")))
                .output()
                .expect("tar starts");
            assert!(done.status.success(), "{}: {}", archive.display(), String::from_utf8_lossy(&done.stderr));
        }
        Source::Folder(root) => {
            for file in files() {
                let to = into.join(&file);
                fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
                fs::copy(root.join(&file), to).expect("a file of the sources");
            }
        }
    }
}

/// Fills a folder for `-I`: the slices, and stand-ins in the place of all headers that are not taken.
fn prepare(sources: &Path, include: &Path) {
    let mut others = BTreeSet::new();
    for header in HEADERS {
        let text = fs::read_to_string(sources.join("include").join(header)).expect("a header of the sources");
        others.extend(included(&text).filter(|h| !HEADERS.contains(h)).map(str::to_owned));
    }
    for header in others {
        let path = include.join(header);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, "#include \"kernel.h\"\n").expect("a header can be written");
    }
    for (file, names) in SLICES {
        let text = fs::read_to_string(sources.join(format!("net/sched/{file}.c"))).expect("a file of the sources");
        let slices: Vec<&str> =
            names.iter().map(|name| definition(&text, name).unwrap_or_else(|| panic!("{file}.c has no {name}"))).collect();
        fs::write(include.join(format!("{file}.slices.h")), slices.join("\n\n") + "\n").expect("a header can be written");
    }
}

fn skip(why: &str) -> Option<[PathBuf; 2]> {
    forebay_platform::doctor::requirements::skip("kernel", &format!("qdiscs are not compared with those of Linux: {why}"));
    None
}

/// Folders for `-I`: our own headers for the kernel's files, and the kernel's headers. The files are unpacked once for all runs.
fn kernel() -> Option<&'static [PathBuf; 2]> {
    static FOLDERS: OnceLock<Option<[PathBuf; 2]>> = OnceLock::new();
    let folders = FOLDERS.get_or_init(|| {
        let source = match Source::find(None) {
            Ok(source) if source.path().to_string_lossy().contains(&format!("linux-source-{RELEASE}")) => source,
            Ok(source) => return skip(&format!("{} is not Linux {RELEASE}", source.path().display())),
            Err(e) => return skip(&e.to_string()),
        };
        let about = fs::metadata(source.path()).expect("the sources");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let sources = target.join(format!("qdiscs-{}-{}", about.len(), about.mtime()));
        if !files().all(|file| sources.join(file).exists()) {
            // Rename the complete folder, so that an interrupted test leaves no incomplete one.
            let new = sources.with_extension(process::id().to_string());
            fs::create_dir_all(&new).expect("a folder");
            take(&source, &new);
            if sources.exists() {
                fs::remove_dir_all(&sources).expect("a folder of an older test");
            }
            fs::rename(&new, &sources).expect("a folder of our own");
        }
        let include = target.join("qdiscs-include");
        prepare(&sources, &include);
        Some([include, sources.join("include")])
    });
    folders.as_ref()
}

/// The disciplines as a library for programs in C, compiled once for all runs.
fn disciplines() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("qdiscs-rust");
        fs::create_dir_all(&folder).expect("a folder");
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let rustc = |name: &str, kind: &str, root: &str| {
            let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()));
            rustc.current_dir(&crates).args([
                "--edition=2024",
                "--cap-lints=allow",
                "--cfg=inspect",
                "-Copt-level=2",
                "-Cpanic=abort",
            ]);
            rustc.args(["--crate-name", name, "--crate-type", kind]).arg("--out-dir").arg(&folder).arg("-L").arg(&folder);
            for name in
                ["forebay_types", "forebay_queues", "forebay_shims", "forebay_guest"].into_iter().take_while(|n| *n != name)
            {
                rustc.arg("--extern").arg(format!("{name}={}", folder.join(format!("lib{name}.rlib")).display()));
            }
            let done = rustc.arg(root).output().expect("the Rust compiler starts");
            assert!(done.status.success(), "{root}: {}", String::from_utf8_lossy(&done.stderr));
        };
        rustc("forebay_types", "rlib", "types/src/lib.rs");
        rustc("forebay_queues", "rlib", "queues/src/lib.rs");
        rustc("forebay_shims", "rlib", "shims/src/lib.rs");
        rustc("forebay_guest", "rlib", "guest/src/lib.rs");
        rustc("inspect", "staticlib", "../tests/driver/qdiscs/inspect.rs");
        folder.join("libinspect.a")
    })
}

/// A program of `qdiscs/`, compiled for one test; `None` where there are no sources.
fn compiled(name: &str, mode: &str) -> Option<PathBuf> {
    let folders = kernel()?;
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let own = crates.join("../tests/driver/qdiscs");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("qdisc-{name}-{mode}"));
    // Undefined behavior ends the program. The kernel's code has warnings of its own.
    let done = Command::new("cc")
        .args(["-std=gnu11", "-O2", "-w", "-ffp-contract=off", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"])
        .arg("-I")
        .arg(&own)
        .arg("-I")
        .arg(crates.join("kernel/driver"))
        .args(folders.iter().flat_map(|folder| [Path::new("-I"), folder]))
        .arg("-o")
        .arg(&program)
        .arg(own.join(format!("{name}.c")))
        .arg(disciplines())
        .args(["-lpthread", "-ldl", "-lm"])
        .output()
        .expect("the C compiler starts");
    assert!(done.status.success(), "{name}.c: {}", String::from_utf8_lossy(&done.stderr));
    Some(program)
}

/// Sequences of each discipline.
fn sequences() -> u64 {
    match env::var("FOREBAY_SEQUENCES") {
        Ok(text) => text.parse().expect("FOREBAY_SEQUENCES is a number"),
        Err(_) => 1000,
    }
}

fn run(program: &Path, mode: &str) -> Output {
    Command::new(program).args(["0", &sequences().to_string(), mode]).output().expect("the program starts")
}

/// Runs a program of `qdiscs/`, which fails at the first difference. `signals`: packets are marked, and dropped, in it.
fn hold(name: &str, mode: &str, signals: [bool; 2]) {
    let Some(program) = compiled(name, mode) else { return };
    let done = run(&program, mode);
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{name}, {}: {said}", done.status);
    // At least one packet was sent.
    let counts: Vec<u64> = said.lines().next().unwrap_or_default().split(' ').filter_map(|word| word.parse().ok()).collect();
    let [packets, marks, drops] = counts[..] else { panic!("{name}: {said}") };
    assert!(packets > 1000 * sequences(), "{name}: {said}");
    assert_eq!([marks > sequences() / 10, drops > 10 * sequences()], signals, "{name}: {said}");
}

/// Each update of the probability, each decision and each delay; and the averages under overload, where both run independently.
#[test]
fn pie_steps_as_sch_pie() {
    hold("pie", "free", [true, true]);
}

#[test]
fn codel_decides_as_sch_codel() {
    hold("codel", "", [true, true]);
}

#[test]
fn fq_codel_matches_sch_fq_codel() {
    hold("fq_codel", "", [true, true]);
}

/// The average, its regions, and how often packets are marked between the thresholds.
#[test]
fn red_averages_as_sch_red() {
    hold("red", "gaps", [true, true]);
}

/// The samples, the packets that meet their flow, and RED's average in packets.
#[test]
fn choke_decides_as_sch_choke() {
    hold("choke", "", [false, true]);
}

#[test]
fn dwrr_serves_as_sch_drr() {
    hold("drr", "", [false, false]);
}

/// Notes whether a packet is dropped.
struct Drops(bool);

impl Effects for Drops {
    fn mark(&mut self, _packet: Handle) {}

    fn drop(&mut self, _packet: Handle, _reason: DropReason) {
        self.0 = true;
    }
}

/// Adds a sequence of events at a fair queue, in the language of `fq.c`, and the answers of the discipline.
fn fair_queue(seed: u64, events: &mut String, answers: &mut String) {
    let mut rng = Rng::stream(seed, &[34]);
    let [limit, flow_limit, quantum] = [(1, 400), (1, 60), (256, 6000)].map(|(from, to)| from + rng.below(to - from));
    let initial = quantum * (1 + rng.below(8));
    let number = |n: u64| Value::Int(n.cast_signed());
    let params = vec![
        ("limit", number(limit)),
        ("flow-limit", number(flow_limit)),
        ("quantum", Value::Bytes(Bytes(quantum))),
        ("initial-quantum", Value::Bytes(Bytes(initial))),
    ];
    let entry = forebay_queues::find("fq").expect("the fair queue");
    let Ok(Queue::Buffered(mut discipline)) = (entry.build)(&Values(params), None) else { panic!("legal parameters") };
    events.push_str(&format!("s {limit} {flow_limit} {quantum} {initial}\n"));
    let (flows, largest) = (1 + rng.below(12), [1500, 9000, 65_000][rng.below(3) as usize]);
    let (mut now, mut packets) = (2, 0);
    // Out of 100 events, this many are arrivals.
    let mut arrivals = 50;
    for _ in 0..1500 {
        now += match rng.below(150) {
            0 => 2 * rng.below(30_000_000),
            _ => 2 * rng.below(500),
        };
        if rng.below(40) == 0 {
            arrivals = 20 + rng.below(70);
        }
        let at = Time::from_ns(now);
        if rng.below(100) < arrivals {
            let (flow, wire) = (rng.below(flows), 64 + rng.below(largest));
            let (queue, limit) = (QueueState::default(), QueueState::UNLIMITED);
            let port = PortState { now: at, queue, limit, memory: None, serving: 0, idle_since: Time::ZERO };
            let packet = Arrival { wire: wire as u32, flow, ..Arrival::default() };
            let mut drops = Drops(false);
            discipline.push(&port, Queued { handle: Handle(packets), since: at, packet }, &mut drops);
            packets += 1;
            events.push_str(&format!("a {now} {flow} {wire}\n"));
            answers.push_str(if drops.0 { "0\n" } else { "1\n" });
        } else {
            let next = discipline.pop(at, &mut Drops(false)).map_or(-1, |h| i64::from(h.0));
            events.push_str(&format!("p {now}\n"));
            answers.push_str(&format!("{next}\n"));
        }
    }
}

/// Limits, the short path, turns, bands and the credit after a pause.
#[test]
fn fq_serves_as_sch_fq() {
    let Some(program) = compiled("fq", "") else { return };
    for first in (0..sequences()).step_by(100) {
        let (mut events, mut expected) = (String::new(), String::new());
        (first..first + 100).for_each(|seed| fair_queue(seed, &mut events, &mut expected));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fq-events");
        fs::write(&path, &events).expect("a file can be written");
        let file = fs::File::open(&path).expect("the file");
        let done = Command::new(&program).stdin(file).output().expect("the program starts");
        assert!(done.status.success(), "{done:?}");
        let got = String::from_utf8_lossy(&done.stdout);
        for (i, (kernel, ours)) in got.lines().zip(expected.lines()).enumerate() {
            assert_eq!(ours, kernel, "event {i} of the sequences from {first} on, {} in a sequence", i % 1500);
        }
        assert_eq!(got.lines().count(), expected.lines().count());
        assert!(expected.contains("\n0\n0\n") && expected.matches("\n-1\n").count() > 10, "drops and empty queues");
    }
}
