//! Memory of a connection, with both endpoints, its application, its timers and its row in the results.

use forebay_tests::{execute, resolve};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Bytes that a connection allocates on each stack, as measured: the same number in every run. On `rfc` the last segment of a train waits
/// for a delayed ACK, so that no connection has become idle.
const MEASURED: [(&str, u64); 3] = [("ns2", 866), ("linux", 1_539), ("rfc", 1_271)];

/// Growth that fails, in percent. The count has no noise; the margin is for other versions of the standard library.
const MARGIN: u64 = 5;

/// The system's allocator, which counts allocated bytes in the process that measures.
struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
/// Bytes that are allocated now, and the most there were. Both wrap around zero where memory from before the count is released.
static ALLOCATED: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

impl Counting {
    fn count(&self, more: usize, less: usize) {
        if COUNTS.load(Relaxed) {
            let change = (more as u64).wrapping_sub(less as u64);
            let now = ALLOCATED.fetch_add(change, Relaxed).wrapping_add(change);
            PEAK.fetch_max(now, Relaxed);
        }
    }
}

// SAFETY: every call goes to the system's allocator with its arguments unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.count(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count(size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Peak resident memory of this process, bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb * 1024)
}

/// The stack that a child process is to measure, and how many times a hundred thousand connections.
const STACK: &str = "FOREBAY_MEMORY_STACK";
const TIMES: &str = "FOREBAY_MEMORY_TIMES";

/// Peak memory is a property of a process: each stack is measured in one of its own, this program again.
fn measure(stack: &str, times: u64) {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", "memory::one_process", "--ignored", "--nocapture"];
    let mut child = std::process::Command::new(program);
    let child = child.args(arguments).env(STACK, stack).env(TIMES, times.to_string()).output().unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    let measured = output.lines().find(|l| l.contains("peak")).unwrap_or("no measurement");
    let _ = writeln!(std::io::stdout(), "{stack}: {measured}");
    assert!(child.status.success(), "{stack}: {output}");
}

#[test]
fn a_hundred_thousand_connections() {
    assert!(
        MEASURED.iter().map(|b| b.0).eq(["ns2", "linux", "rfc"]) && forebay_sim::tcp::profile::PROFILES.len() == MEASURED.len()
    );
    MEASURED.iter().for_each(|(stack, _)| measure(stack, 1));
}

#[test]
#[ignore = "takes a gigabyte: docs/internals/memory.md has its results"]
fn a_million_connections() {
    measure("linux", 10);
}

/// Persistent connections between 100 hosts of a leaf-spine, each of which writes one small train; all are there from the start, and open in the
/// first twentieth of the time.
#[test]
#[ignore = "run by those above"]
fn one_process() {
    let (Ok(stack), Ok(times)) = (std::env::var(STACK), std::env::var(TIMES)) else { return };
    let times: u64 = times.parse().unwrap();
    let text = r#"
duration = "DURATIONms"
[topology]
kind = "leaf-spine"
leaves = 10
spines = 4
hosts-per-leaf = 10
host = { rate = "10Gbps", delay = "1us", buffer = "100pkt" }
[transport]
stack = "STACK"
[[workload]]
kind = "on-off"
from = "all"
to = "all"
pattern = "permutation"
per-pair = PER_PAIR
sizes = "3KB"
gaps = { uniform = ["1us", "GAPms"] }
jitter = "JITTERms"
trains = 1
[observe]
occupancy = "none"
"#;
    let numbers = [("DURATION", 20), ("PER_PAIR", 1000), ("GAP", 18), ("JITTER", 1)];
    let text = numbers.iter().fold(text.replace("STACK", &stack), |text, (name, n)| text.replace(name, &(n * times).to_string()));
    let variant = resolve(&text, &[], None).remove(0);
    let before = peak();
    // Far above the memory from before the count that is released.
    let base = 1 << 32;
    ALLOCATED.store(base, Relaxed);
    PEAK.store(base, Relaxed);
    COUNTS.store(true, Relaxed);
    let r = execute(&variant.config);
    COUNTS.store(false, Relaxed);
    let connections = 100_000 * times;
    assert_eq!((r.peak_connections, r.flows.iter().filter(|f| !f.end.is_never()).count() as u64), (connections, connections));
    let allocated = PEAK.load(Relaxed) - base;
    let each = allocated / connections;
    // Resident memory is printed for docs/internals/memory.md, without the pages of this program itself. It has no bound: it depends on the system's
    // allocator and on huge pages.
    let resident = peak().zip(before).map_or(0, |(after, before)| after - before);
    println!("peak {allocated} B allocated, {each} B a connection; {} B resident", resident / connections);
    let bound = MEASURED.iter().find(|b| b.0 == stack).map_or(0, |b| b.1 * (100 + MARGIN) / 100);
    assert!(each <= bound, "{each} B a connection, at most {bound}: {allocated} B allocated");
}
