//! Commands for real hosts, and their output.

mod guard;

use crate::interrupt;
use crate::terminal::failure::Failure;
use crate::terminal::output::{print, print_data, warn};
use crate::verbs::check::TextFormat;
use crate::verbs::{attach, detach, record, status, tune, watch};
use forebay_hosts::catalog::PROGRAMS;
use forebay_hosts::condition::Condition;
pub(crate) use forebay_hosts::doctor::PART;
use forebay_hosts::status::Status;
use forebay_hosts::watch::{Second, Watch};
use forebay_hosts::{
    Error, Health, attach as attaching, detach as detaching, helper as timers, privileges, prometheus, record as recorder,
    status as state, tune as parameters,
};
use serde_json::json;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Duration of the measurement of throughput, RTT and retransmissions before attaching with conditions.
const MEASURED: Duration = Duration::from_secs(5);

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Machine(e.to_string())
    }
}

pub(crate) fn attach(args: &attach::Args) -> Result<(), Failure> {
    if args.program == "list" {
        return list();
    }
    if args.daemon {
        return daemon(&args.program);
    }
    let conditions = conditions(&args.rollback_on)?;
    let request = attaching::Request {
        program: args.program.clone(),
        name: args.name.clone(),
        prefixes: args.dst.iter().map(|d| d.parse()).collect::<Result<Vec<_>, Error>>()?,
        cgroup: args.cgroup.clone(),
        default: args.default,
        live: args.live,
        devices: args.dev.clone(),
        params: args.param.clone(),
        measure: (!conditions.is_empty()).then_some(MEASURED),
        conditions: conditions.clone(),
    };
    if args.dry_run {
        return print(&lines(&attaching::dry_run(&request)?));
    }
    if !conditions.is_empty() {
        return guard::attach(request, args);
    }
    privileges::keep_needed()?;
    let attached = attaching::attach(&request)?;
    print(&lines(&attached.done))?;
    print(&format!("`forebay status` shows it, `forebay detach {}` removes it\n", attached.name))
}

fn conditions(texts: &[String]) -> Result<Vec<Condition>, Failure> {
    Ok(texts.iter().map(|t| t.parse()).collect::<Result<Vec<_>, Error>>()?)
}

fn lines(all: &[String]) -> String {
    all.iter().map(|l| format!("{l}\n")).collect()
}

/// The programs and their parameters.
fn list() -> Result<(), Failure> {
    let mut out = String::new();
    for p in PROGRAMS {
        let _ = writeln!(out, "{:<12} {}", p.name, p.summary);
        for q in p.params {
            let _ = writeln!(out, "    {:<20} {} to {}, default {}: {}", q.name, q.min, q.max, q.default, q.doc);
        }
    }
    print(&out)
}

pub(crate) fn detach(args: &detach::Args) -> Result<(), Failure> {
    privileges::keep_needed()?;
    let done = match &args.name {
        Some(name) => detaching::detach(name)?,
        None => detaching::detach_all()?,
    };
    print(&if done.is_empty() { "nothing was attached\n".into() } else { lines(&done) })
}

pub(crate) fn tune(args: &tune::Args) -> Result<(), Failure> {
    // A process that lacks some of them may still be allowed to tune.
    let _ = privileges::keep_needed();
    let now = parameters::tune(&args.name, &args.values)?;
    print(&now.iter().map(|(n, v)| format!("{n} = {v}\n")).collect::<String>())
}

pub(crate) fn status(args: &status::Args) -> Result<(), Failure> {
    // Callers without access to the lease do not see ended guards.
    match detaching::expired() {
        Ok(done) => done.iter().for_each(|line| warn(line)),
        Err(e) => warn(&format!("attachments whose guards have ended cannot be found or rolled back: {e}")),
    }
    let all = state::status()?;
    if let Some(path) = &args.prometheus {
        return Ok(prometheus::write(path, &all, None)?);
    }
    if args.format == TextFormat::Json {
        return print_data(&format!("{:#}\n", serde_json::Value::from(all.iter().map(as_json).collect::<Vec<_>>())));
    }
    let unaccounted = state::unaccounted()?;
    let mut out =
        if all.is_empty() { "nothing is attached\n".into() } else { all.iter().map(as_text).collect::<Vec<_>>().join("\n") };
    for (name, link) in unaccounted {
        let _ = writeln!(
            out,
            "{name} is registered by a program of forebay, but has no state file here (BPF link {link}): a container may have attached it, or its pins \
             were moved; `bpftool link detach id {link}` detaches it"
        );
    }
    print(&out)
}

fn as_json(s: &Status) -> serde_json::Value {
    let numbers = |r: &Result<Vec<(String, u64)>, Error>| match r {
        Ok(all) => all.iter().map(|(n, v)| (n.clone(), json!(v))).collect::<serde_json::Map<_, _>>().into(),
        Err(_) => serde_json::Value::Null,
    };
    let sockets = s.sockets.iter().map(|k| {
        json!({
            "local": k.local.to_string(), "remote": k.remote.to_string(), "cwnd": k.info.cwnd, "rtt_us": k.info.rtt_us,
            "retransmissions": k.info.retransmissions, "delivered": k.info.delivered, "delivered_ce": k.info.delivered_ce, "ecn": k.info.ecn,
        })
    });
    let guard =
        s.guard.map(|g| json!({ "process": g.process, "renewed_s": g.renewed.map(|r| r.as_secs_f64()), "ended": g.ended }));
    json!({
        "guard": guard, "name": s.name, "program": s.program, "complete": s.complete, "registered": s.registered, "default": s.default,
        "cgroup": s.cgroup,
        "prefixes": s.prefixes.iter().map(ToString::to_string).collect::<Vec<_>>(), "sockets": sockets.collect::<Vec<_>>(),
        "parameters": numbers(&s.params), "counters": numbers(&s.counters),
    })
}

fn as_text(s: &Status) -> String {
    let mut out = String::new();
    let mut users: Vec<String> = s.prefixes.iter().map(|p| format!("connections to {p}")).collect();
    users.extend(s.cgroup.as_ref().map(|c| format!("processes in {}", c.display())));
    users.extend(s.default.then(|| "all new connections".to_owned()));
    let state = match (s.complete, s.registered) {
        (false, _) => " (interrupted: the next attach or detach cleans it up)",
        (true, false) => " (not registered in this kernel any more: `forebay detach` removes the rest)",
        (true, true) => "",
    };
    let _ = writeln!(out, "{} ({}), for {}{state}", s.name, s.program, users.join(", "));
    if let Some(guard) = s.guard {
        let renewed = guard.renewed.map_or(String::new(), |r| format!(", lease renewed {:.1} s ago", r.as_secs_f64()));
        let ended =
            if guard.ended { ": it has ended; the next `forebay attach`, `detach` or `status` as root rolls back" } else { "" };
        let _ = writeln!(out, "  guarded by process {}{renewed}{ended}", guard.process);
    }
    let _ = writeln!(out, "  connections using it: {}", s.sockets.len());
    if !s.sockets.is_empty() {
        let _ = writeln!(out, "  windows: {}", distribution(s.sockets.iter().map(|k| k.info.cwnd)));
    }
    for (what, numbers) in [("parameters", &s.params), ("counters", &s.counters)] {
        match numbers {
            Ok(all) if all.is_empty() => {}
            Ok(all) => {
                let all: Vec<String> = all.iter().map(|(n, v)| format!("{n} {v}")).collect();
                let _ = writeln!(out, "  {what}: {}", all.join(", "));
            }
            Err(e) => {
                let _ = writeln!(out, "  {what}: {}", e.to_string().replace('\n', " "));
            }
        }
    }
    if let Ok(counters) = &s.counters {
        let of = |name: &str| counters.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
        if let (Some(sum), Some(windows @ 1..)) = (of("alpha_sum"), of("windows")) {
            let _ = writeln!(out, "  mean alpha: {:.3}", sum as f64 / windows as f64 / 1024.0);
        }
        if let (Some(sum), Some(acks @ 1..)) = (of("k_sum"), of("k_known")) {
            let _ = writeln!(out, "  mean K: {:.0} us", sum as f64 / acks as f64);
        }
    }
    out
}

/// Distribution of the windows, in powers of two.
fn distribution(windows: impl Iterator<Item = u32>) -> String {
    let mut bins = [0_usize; 33];
    windows.for_each(|w| bins[(32 - w.leading_zeros()) as usize] += 1);
    let name = |i: usize| match i {
        0 => "0".into(),
        1 => "1".into(),
        i => format!("{}-{}", 1_u64 << (i - 1), (1_u64 << i) - 1),
    };
    let full = bins.iter().enumerate().filter(|(_, n)| **n > 0);
    full.map(|(i, n)| format!("{n} of {} segments", name(i))).collect::<Vec<_>>().join(", ")
}

pub(crate) fn watch(args: &watch::Args) -> Result<(), Failure> {
    let conditions = conditions(&args.rollback_on)?;
    // With all capabilities: ports below 1024 need one that a guard drops.
    let port = args.prometheus_port.map(prometheus::Port::open).transpose()?;
    if conditions.is_empty() { follow(args, port) } else { guard::watch(args, conditions, port) }
}

/// Writes the file of metrics for the first time, so that a file that cannot be written is refused before anything begins. The caller has the
/// capabilities with which the file is written later.
fn first_metrics(args: &watch::Args) -> Result<(), Error> {
    args.prometheus.as_deref().map_or(Ok(()), |path| prometheus::write(path, &state::status()?, None))
}

/// Prints one line per second, until the time is over or Ctrl-C. Changes nothing.
fn follow(args: &watch::Args, port: Option<prometheus::Port>) -> Result<(), Failure> {
    interrupt::listen()?;
    let mut watch = Watch::new(&args.name)?;
    first_metrics(args)?;
    let warn_of = |e: &Error| warn(&e.to_string());
    port.map(prometheus::Port::serve).transpose()?;
    args.prometheus.clone().map(|path| prometheus::keep_writing(path, warn_of)).transpose()?;
    print(&format!("before   {}\n", line(watch.before())))?;
    let begin = Instant::now();
    for second in 1.. {
        let until = begin + Duration::from_secs(second);
        while let Some(rest) = until.checked_duration_since(Instant::now()) {
            if interrupt::requested() {
                return print(&format!("{} stays attached\n", args.name));
            }
            std::thread::sleep(rest.min(Duration::from_millis(50)));
        }
        print(&report(second, &watch.second()?))?;
        if args.seconds.is_some_and(|s| second >= s) {
            break;
        }
    }
    print(&format!("{} stays attached\n", args.name))
}

/// Line for one second.
fn report(second: u64, now: &Second) -> String {
    let alarms: String = now.alarms.iter().map(|a| format!("  ALARM {a}")).collect();
    let none = if now.health.sockets == 0 { "  no connection: RTT and retransmissions are not judged" } else { "" };
    format!("{second:>4} s   {}{none}{alarms}\n", line(&now.health))
}

fn line(h: &Health) -> String {
    format!(
        "{:>5} connections  {:>8.1} Mbit/s  {:>6.2} % retransmitted  RTT {:>6} us, p99 {:>6} us  cwnd {:>4}",
        h.sockets,
        h.mbit,
        h.retransmitted * 100.0,
        h.rtt_p50_us,
        h.rtt_p99_us,
        h.cwnd_p50
    )
}

/// Keeps the timers of an attached shim.
fn daemon(name: &str) -> Result<(), Failure> {
    let helper = timers::open(name)?;
    // Starts a thread, which must not keep capabilities that were dropped.
    interrupt::listen()?;
    let ready = || {
        // The daemon needs no reader of its output.
        let _ = print(&format!("keeping the timers of {name}\n"));
    };
    let done = helper.run(interrupt::requested, ready)?;
    let failed = if done.failed > 0 { format!("; {} frames could not leave", done.failed) } else { String::new() };
    print(&format!(
        "{} trains of probes and {} SYNs retransmitted, {} SYN-ACKs held and released{failed}\n",
        done.trains, done.syns, done.released
    ))
}

pub(crate) fn record(args: &record::Args) -> Result<(), Failure> {
    let request = recorder::Request {
        duration: Duration::from_secs(args.seconds),
        every: Duration::from_millis(args.every),
        prefixes: args.dst.iter().map(|d| d.parse()).collect::<Result<Vec<_>, Error>>()?,
        anonymous: args.anonymous,
        rate: args.rate.to_string(),
    };
    // Without these privileges it records what is visible without. Threads that exist already would keep theirs.
    privileges::keep_for_record()?;
    // Before the time that recording takes, and with the rights that write the files then: root has dropped those to folders of others.
    let output = recorder::Output::new(&args.out, args.force)?;
    interrupt::listen()?;
    let recording = recorder::record(&request, interrupt::requested)?;
    let written = recording.write(&request, &output)?;
    print(&lines(&recording.lines()))?;
    if written != args.out {
        warn(&format!("another process created `{}` or its list during the recording; it was not replaced", args.out.display()));
    }
    print(&format!("`forebay run {}` runs it\n", written.display()))
}
