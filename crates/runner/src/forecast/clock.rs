//! Time that a look at a run takes: of the processor, which says what the run costs, and on the clock, which says what else the machine does.

use std::fs;
use std::time::{Duration, Instant};

/// What counting costs: time of this thread on a processor, and on the clock.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spent {
    pub(super) busy: Duration,
    pub(super) wall: Duration,
}

impl Spent {
    /// The fraction of the wall-clock time of `whole` that had passed by now.
    pub(super) fn part_of(self, whole: Spent) -> f64 {
        (self.wall.as_secs_f64() / whole.wall.as_secs_f64().max(1e-9)).min(1.0)
    }

    /// Both together.
    pub(super) fn and(self, other: Spent) -> Spent {
        Spent { busy: self.busy + other.busy, wall: self.wall + other.wall }
    }
}

/// Counts from its start.
pub(super) struct Stopwatch {
    busy: Option<Duration>,
    children: Duration,
    wall: Instant,
}

impl Stopwatch {
    pub(super) fn start() -> Stopwatch {
        Stopwatch { busy: busy(), children: children(), wall: Instant::now() }
    }

    /// What has gone by. Where the system does not say how long this thread has run, it is taken to have run all the time.
    pub(super) fn spent(&self) -> Spent {
        let wall = self.wall.elapsed();
        let busy = busy().zip(self.busy).map_or(wall, |(now, then)| now.saturating_sub(then));
        Spent { busy: busy.min(wall), wall }
    }

    /// The same, with the processor time of child processes that have ended since the start, such as guest kernels.
    pub(super) fn spent_with_children(&self) -> Spent {
        let Spent { busy, wall } = self.spent();
        Spent { busy: busy + children().saturating_sub(self.children), wall }
    }
}

/// How long this thread has run on a processor (`schedstat`, Linux, Documentation/scheduler/sched-stats.rst).
fn busy() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Processor time of all child processes that have ended and been waited for (proc_pid_stat(5), `cutime` and `cstime`); zero where the system
/// does not say.
fn children() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may hold anything.
    let after = text.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks: u64 = after.split_whitespace().skip(13).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND)
}

/// Unit of the times in `/proc` (USER_HZ), on every architecture that this program runs on.
const TICKS_PER_SECOND: u64 = 100;

/// Part of a processor that each of `threads` threads gets, where one thread has got what `seen` says, on a machine of `cpus` processors that
/// are shared fairly.
pub(super) fn share(seen: Spent, cpus: usize, threads: usize) -> f64 {
    let (cpus, threads) = (cpus.max(1) as f64, threads.max(1) as f64);
    let one = (seen.busy.as_secs_f64() / seen.wall.as_secs_f64().max(1e-9)).clamp(0.01, 1.0);
    // One of r + 1 threads that want to run gets cpus / (r + 1); where it has got all of one, r is not known, and taken to be none.
    let others = if one < ALONE { (cpus / one - 1.0).max(0.0) } else { 0.0 };
    (cpus / (others + threads)).min(1.0)
}

/// A thread that runs for this part of the time is not kept waiting by others: interrupts and page faults take the rest. Our choice.
const ALONE: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_share_of_fair_machine() {
        let of = |busy: u64, wall: u64| Spent { busy: Duration::from_millis(busy), wall: Duration::from_millis(wall) };
        // Alone on two processors; a third and a fourth thread have to share.
        assert_eq!((share(of(100, 100), 2, 2), share(of(95, 100), 2, 4)), (1.0, 0.5));
        // A fifth of a processor: nine others want to run. Two of us are two of eleven.
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
