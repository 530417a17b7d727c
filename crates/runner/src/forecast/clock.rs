//! Processor and wall time of a pilot run: the first is the cost of the run, the second shows the load of the machine.

use std::fs;
use std::time::{Duration, Instant};

/// Processor time and wall time of this thread.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CpuTime {
    pub(super) busy: Duration,
    pub(super) wall: Duration,
}

impl CpuTime {
    /// The fraction of the wall time of `whole` that had passed.
    pub(super) fn part_of(self, whole: CpuTime) -> f64 {
        (self.wall.as_secs_f64() / whole.wall.as_secs_f64().max(1e-9)).min(1.0)
    }

    /// Both together.
    pub(super) fn and(self, other: CpuTime) -> CpuTime {
        CpuTime { busy: self.busy + other.busy, wall: self.wall + other.wall }
    }
}

/// Measures from its start.
pub(super) struct Stopwatch {
    busy: Option<Duration>,
    children: Duration,
    wall: Instant,
}

impl Stopwatch {
    pub(super) fn start() -> Stopwatch {
        Stopwatch { busy: busy(), children: children(), wall: Instant::now() }
    }

    /// Time since the start. If the system does not report the processor time of this thread, the wall time replaces it.
    pub(super) fn spent(&self) -> CpuTime {
        let wall = self.wall.elapsed();
        let busy = busy().zip(self.busy).map_or(wall, |(now, then)| now.saturating_sub(then));
        CpuTime { busy: busy.min(wall), wall }
    }

    /// Time since the start, including the processor time of ended child processes, such as guest kernels.
    pub(super) fn spent_with_children(&self) -> CpuTime {
        let CpuTime { busy, wall } = self.spent();
        CpuTime { busy: busy + children().saturating_sub(self.children), wall }
    }
}

/// Processor time of this thread (`schedstat`, Linux, Documentation/scheduler/sched-stats.rst).
fn busy() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Processor time of all ended and reaped child processes (proc_pid_stat(5), `cutime` and `cstime`); zero if unknown.
fn children() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program name, in parentheses, may contain any character.
    let after = text.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks: u64 = after.split_whitespace().skip(13).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND)
}

/// Unit of the times in `/proc` (USER_HZ), on every architecture that this program runs on.
const TICKS_PER_SECOND: u64 = 100;

/// Fraction of a processor that each of `threads` threads gets, where one thread got the share `seen`, on a machine with `cpus` fairly shared
/// processors.
pub(super) fn share(seen: CpuTime, cpus: usize, threads: usize) -> f64 {
    let (cpus, threads) = (cpus.max(1) as f64, threads.max(1) as f64);
    let one = (seen.busy.as_secs_f64() / seen.wall.as_secs_f64().max(1e-9)).clamp(0.01, 1.0);
    // One of r + 1 runnable threads gets cpus / (r + 1). If it got a whole processor, r is unknown and assumed to be zero.
    let others = if one < ALONE { (cpus / one - 1.0).max(0.0) } else { 0.0 };
    (cpus / (others + threads)).min(1.0)
}

/// A thread with this share of the time is not delayed by others: interrupts and page faults take the rest. Our choice.
const ALONE: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_share_of_fair_machine() {
        let of = |busy: u64, wall: u64| CpuTime { busy: Duration::from_millis(busy), wall: Duration::from_millis(wall) };
        // Alone on two processors; a third and a fourth thread share them.
        assert_eq!((share(of(100, 100), 2, 2), share(of(95, 100), 2, 4)), (1.0, 0.5));
        // A fifth of a processor: nine other threads are runnable. Our two are two of eleven.
        assert!((share(of(20, 100), 2, 1) - 0.2).abs() < 1e-9 && (share(of(20, 100), 2, 2) - 2.0 / 11.0).abs() < 1e-9);
        assert!(share(of(0, 100), 2, 1) > 0.0 && share(of(100, 100), 0, 0) == 1.0);
    }

    #[test]
    fn sleeping_thread_uses_no_cpu() {
        let watch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(30));
        let seen = watch.spent();
        assert!(seen.wall >= Duration::from_millis(30) && seen.busy <= seen.wall, "{seen:?}");
        if busy().is_some() {
            assert!(seen.busy < Duration::from_millis(25), "{seen:?}");
        }
    }
}
