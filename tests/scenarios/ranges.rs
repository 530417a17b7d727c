//! Every numeric key runs at its smallest and largest legal value, with each pair of the other choices and flags, or is refused by an error
//! that names it. The lists come from the registries, so that new keys are covered automatically.
//!
//! The runs check debug assertions, arithmetic overflow, termination, and the balances of [`bench::judge`].

#![expect(
    clippy::print_stdout,
    reason = "how many runs there were, for `--nocapture`; with FOREBAY_SHOW which of them, and every refusal"
)]

mod bench;
mod draft;
mod modes;

use self::bench::{Bench, variants};
use self::draft::{Draft, OBSERVE, Place, Table, USUAL};
use self::modes::{modes, pairwise};
use crate::matrix::{ends as hosts_of, topology_text, workload_text};
use forebay_experiment::profile::PARAMS;
use forebay_experiment::{topology, workload};
use forebay_scenario::bounds;
use forebay_sim::{cc, shim};
use forebay_tests::one;
use forebay_types::param::{Entry, Kind};
use std::panic::catch_unwind;

/// The tests below depend on overflow checks and debug assertions.
#[test]
fn builds_with_overflow_checks() {
    assert!(std::hint::black_box(cfg!(debug_assertions)), "debug assertions are off in this build");
    let most = std::hint::black_box(u64::MAX);
    assert!(catch_unwind(|| std::hint::black_box(most + 1)).is_err(), "arithmetic wraps in this build");
}

#[test]
fn congestion_controls_at_both_ends() {
    let mut bench = Bench::default();
    for entry in cc::REGISTRY {
        let Entry { name, params, .. } = entry.entry;
        let mut draft = Draft::new();
        draft.cc = Table::of(&format!("\"{name}\""));
        let modes = modes(&draft, Place::CongestionControl, params);
        bench.params(name, Place::CongestionControl, params, modes);
    }
    bench.finish("congestion controls");
}

#[test]
fn shims_at_both_ends() {
    let mut bench = Bench::default();
    for entry in shim::REGISTRY {
        let Entry { name, params, .. } = entry.entry;
        let mut draft = Draft::new();
        draft.shim = Some(Table::of(&match name {
            "pias" => "{ kind = \"pias\", table = \"websearch\" }".to_owned(),
            _ => format!("\"{name}\""),
        }));
        let modes = modes(&draft, Place::Shim, params);
        bench.params(name, Place::Shim, params, modes);
    }
    bench.finish("shims");
}

#[test]
fn queues_at_both_ends() {
    let mut bench = Bench::default();
    for queue in forebay_queues::REGISTRY {
        let Entry { name, params, .. } = queue.entry;
        let mut draft = Draft::new();
        draft.queue = Table::of(queue.example);
        draft.cc = Table::of("\"cubic\"");
        draft.transport = draft.transport.with("ecn", "\"classic\"");
        let mut modes = modes(&draft, Place::Queue, params);
        let mut unlimited = draft.clone();
        unlimited.topology = Table::of(&draft.topology.lines().replace("buffer = \"20pkt\", ", ""));
        modes.push((", no buffer".to_owned(), unlimited.clone()));
        unlimited.topology = unlimited.topology.with("host-queue", "QUEUE");
        modes.push((", host-queue".to_owned(), unlimited));
        bench.params(name, Place::Queue, params, modes);
    }
    bench.finish("queues");
}

#[test]
fn transport_keys_at_both_ends() {
    let mut bench = Bench::default();
    let draft = Draft::new();
    let modes = modes(&draft, Place::Transport, PARAMS);
    bench.params("transport", Place::Transport, PARAMS, modes);
    bench.finish("transport");
}

#[test]
fn workloads_at_both_ends() {
    let mut bench = Bench::default();
    let (first, second, last) = hosts_of("many-to-one");
    for w in workload::REGISTRY {
        let Entry { name, params, .. } = w.entry;
        // Between two hosts: the most connections of a pair are enough.
        let text =
            workload_text(name).replacen("\"all\"\n", "\"FIRST\"\n", 1).replacen("\"all\"\npattern", "\"LAST\"\npattern", 1);
        let text = text.replace("pattern = \"permutation\"\n", "").replace("pattern = \"permutation\"", "");
        let text = text.replace("FIRST", first).replace("SECOND", second).replace("LAST", last);
        let mut draft = Draft::new();
        draft.topology = Table::of(topology_text("many-to-one", "QUEUE").trim_start_matches("[topology]\n"));
        draft.workload = Table::of(&format!("kind = \"{name}\"\n{text}"));
        let modes = modes(&draft, Place::Workload, params);
        bench.params(name, Place::Workload, params, modes);
    }
    bench.finish("workloads");
}

/// Rates, delays, segments and windows at their ends, in pairs, with every congestion control: all bytes arrive.
#[test]
fn networks_at_both_ends() {
    let mut bench = Bench::default();
    let own = |values: [&str; 2]| values.map(str::to_owned).to_vec();
    let keys = [
        ("rate", own(["10Kbps", "10Tbps"])),
        ("delay", ["0s", "1ps", "10s"].map(str::to_owned).to_vec()),
        ("mss", own(["64", "65000"])),
        ("init-cwnd", own(["1", "10000"])),
        ("rcv-wnd", own(["\"65000B\"", "\"1GiB\""])),
        ("handshake", own(["false", "true"])),
        ("bottleneck", own(["10Kbps", "10Tbps"])),
    ];
    for entry in cc::REGISTRY {
        for row in pairwise(&keys) {
            let value: Vec<&str> = row.iter().zip(&keys).map(|(&v, k)| k.1[v].as_str()).collect();
            let [rate, mut delay, mss, first, window, handshake, bottleneck] = value[..] else { unreachable!() };
            // A link that sends a byte in less than a picosecond needs a delay.
            if delay == "0s" && (rate == "10Tbps" || bottleneck == "10Tbps") {
                delay = "1ps";
            }
            let text = format!(
                "duration = \"48h\"\n[topology]\nkind = \"many-to-one\"\nsenders = 2\n\
                 access = {{ rate = \"{rate}\", delay = \"{delay}\" }}\n\
                 bottleneck = {{ rate = \"{bottleneck}\", delay = \"{delay}\", buffer = \"30pkt\", \
                 queue = {{ kind = \"dctcp-step\", k = \"5pkt\" }} }}\n\
                 [transport]\ncc = \"{}\"\nmss = {mss}\ninit-cwnd = {first}\nrcv-wnd = {window}\nhandshake = {handshake}\n\
                 rto-min = \"100s\"\nrto-initial = \"500s\"\nrto-max = \"1h\"\n\
                 [[workload]]\nkind = \"long\"\nsize = \"{}B\"\n",
                entry.entry.name,
                40 * mss.parse::<u64>().unwrap_or(1)
            );
            bench.whole(&format!("{}, {}", entry.entry.name, value.join(" ")), &text);
        }
    }
    bench.finish("networks");
}

/// Errors of a scenario that must be refused.
fn refusal(text: &str) -> String {
    match variants(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => errors,
    }
}

/// Three flows of CUBIC with the rules of Linux, whose `bic_scale` is a whole number of 10/1024.
fn small_c(cc: &str) -> String {
    format!(
        "duration = \"300ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 3\naccess = {{ rate = \"1Gbps\", delay = \"50us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"50us\", buffer = \"60pkt\" }}\n[transport]\nstack = \"linux\"\ncc = {cc}\n\
         [[workload]]\nkind = \"long\"\n"
    )
}

#[test]
fn cubic_refuses_scale_of_zero() {
    for arithmetic in ["linux", "paper"] {
        for c in ["0.001", "0.00488", "0.005", "0.00976"] {
            let cc = format!("{{ kind = \"cubic\", rules = \"linux\", arithmetic = \"{arithmetic}\", c = {c} }}");
            let errors = refusal(&small_c(&cc));
            for part in ["`c` is", "legal with `rules = \"linux\"`: 0.009765625 to 100", "ranges.toml:9:", "rfc9438"] {
                assert!(errors.contains(part), "{part}: {errors}");
            }
        }
        // The least scale, and a small one of the other rules.
        for cc in ["rules = \"linux\", c = 0.009765625", "rules = \"rfc9438\", c = 0.001"] {
            let o = one(&small_c(&format!("{{ kind = \"cubic\", arithmetic = \"{arithmetic}\", {cc} }}")), &[]);
            // 300 ms of 1 Gbps carry 37.5 MB, 3 % of which are headers.
            let acked: u64 = o.report.acked.iter().sum();
            assert!((32_000_000..37_000_000).contains(&acked), "{arithmetic} {cc}: {acked} bytes");
        }
    }
    // The default of the stack `linux`.
    assert!(refusal(&small_c("{ kind = \"cubic\", c = 0.001 }")).contains("`c` is 0.001"));
}

/// Goodput of one flow over a path of `rate`, bps.
fn goodput(cc: &str, rate: &str, extra: &str) -> f64 {
    let text = format!(
        "duration = \"2ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"{rate}\", delay = \"300ns\" }}\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"300ns\", buffer = \"2000pkt\" }}\n[transport]\nhost = \"bare\"\ncc = \"{cc}\"\nmss = 9000\n\
         rcv-wnd = \"100MB\"\n{extra}[[workload]]\nkind = \"long\"\n"
    );
    let o = one(&text, &[]);
    o.report.acked.iter().sum::<u64>() as f64 * 8.0 / o.report.end.as_secs_f64()
}

#[test]
fn bbr_fills_links_of_terabits() {
    for rate in ["2Tbps", "3Tbps", "5Tbps", "10Tbps"] {
        let [cubic, bbr, bbr3] = ["cubic", "bbr", "bbr3"].map(|cc| goodput(cc, rate, "") / 1e9);
        println!("{rate}: cubic {cubic:.0}, bbr {bbr:.0}, bbr3 {bbr3:.0} Gbps");
        assert!(bbr > 0.95 * cubic && bbr3 > 0.95 * cubic, "{rate}: cubic {cubic:.0}, bbr {bbr:.0}, bbr3 {bbr3:.0} Gbps");
    }
}

#[test]
fn bbr_starts_from_largest_window() {
    for cc in ["bbr", "bbr3"] {
        let goodput = goodput(cc, "1Tbps", "init-cwnd = 10000\nhandshake = false\n") / 1e9;
        assert!((900.0..1000.0).contains(&goodput), "{cc}: {goodput} Gbps");
    }
}

/// An incast through ProBoSCIS with this period of its timer.
fn with_tick(tick: &str) -> String {
    format!(
        "duration = \"60ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 4\naccess = {{ rate = \"1Gbps\", delay = \"20us\" }}\n\
         bottleneck = {{ rate = \"1Gbps\", delay = \"20us\", buffer = \"40pkt\", queue = {{ kind = \"dctcp-step\", k = \"10pkt\" }} }}\n\
         [transport]\nhost = \"bare\"\ncc = \"dctcp\"\nshim = {{ kind = \"proboscis\", tick = \"{tick}\" }}\n[[workload]]\nkind = \"incast\"\n\
         block = \"30KB\"\nrounds = 3\n"
    )
}

#[test]
fn proboscis_refuses_tick_below_microsecond() {
    for tick in ["0s", "1ps", "999999ps"] {
        let errors = refusal(&with_tick(tick));
        assert!(
            errors.contains("`tick` is") && errors.contains("legal: 1us or longer") && errors.contains("ranges.toml:10:"),
            "{errors}"
        );
    }
    // The same answer as with the default, which is longer than the run needs.
    for tick in ["1us", "1ms"] {
        let o = one(&with_tick(tick), &[]);
        assert!(
            // A request and a block of each of four senders in three rounds.
            o.report.flows.len() == 24 && o.report.flows.iter().all(|f| f.bytes_acked == f.size_bytes),
            "{tick}: {:?}",
            o.report.flows
        );
    }
}

#[test]
fn fixed_timeouts_outlast_a_packet() {
    let text = |rto: &str| {
        format!(
            "{USUAL}\n[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = {{ rate = \"1Gbps\", delay = \"5us\" }}\n\
                 bottleneck = {{ rate = \"1Gbps\", delay = \"5us\" }}\n[transport]\nack-size = 50\nrto-rule = \"fixed\"\n\
                 rto-min = \"{rto}\"\n[[workload]]\nkind = \"long\"\n"
        )
    };
    for rto in ["1ps", "399ns"] {
        let errors = refusal(&text(rto));
        assert!(
            errors.contains("`rto-min` is") && errors.contains("400ns or longer") && errors.contains("ranges.toml:10:"),
            "{errors}"
        );
    }
    assert!(variants(&text("400ns")).is_ok());
}

#[test]
fn clocks_of_zero_are_refused() {
    for key in ["rto-granularity", "timestamp-clock", "rto-min", "rto-initial"] {
        let draft = Draft::new().with(Place::Transport, key, "\"0s\"");
        let errors = refusal(&draft.text());
        assert!(errors.contains(&format!("`{key}` is zero")) && errors.contains("legal: above zero"), "{errors}");
    }
}

/// The required keys of a topology; its links are `LINK` until a test fills them in.
fn topology_table(kind: &str) -> Table {
    let text = topology_text(kind, "QUEUE");
    Table::of(text.trim_start_matches("[topology]\n"))
}

/// The ends of a link's own keys, each with ordinary values of the others.
fn link_ends() -> Vec<(&'static str, String)> {
    let usual = Table::of("rate = \"500Mbps\"\ndelay = \"5us\"\nbuffer = \"30pkt\"");
    let ends_of = |key: &'static str, kind: Kind| bounds(kind).into_iter().map(move |value| (key, value));
    let delays = ["\"0s\"", "\"1ps\"", "\"10s\"", "\"60s\""].map(|d| ("delay", d.to_owned()));
    let all = ends_of("rate", Kind::Rate).chain(ends_of("buffer", Kind::QueueLen)).chain(delays);
    all.map(|(key, value)| (key, usual.with(key, &value).inline())).collect()
}

/// A message from the first host to the last, or between all hosts.
fn messages(topology: &str, all: bool) -> Table {
    let (first, _, last) = hosts_of(topology);
    let (from, to, pattern) = if all { ("all", "all", "permutation") } else { (first, last, "pairwise") };
    Table::of(&format!("kind = \"long\"\nfrom = \"{from}\"\nto = \"{to}\"\npattern = \"{pattern}\"\nsize = \"40KB\""))
}

#[test]
fn topologies_at_both_ends() {
    let mut bench = Bench::default();
    for t in topology::REGISTRY {
        let Entry { name, params, .. } = t.entry;
        let mut draft = Draft::new();
        draft.topology = topology_table(name);
        draft.more = "";
        draft.workload = messages(name, true);
        let mut others = Vec::new();
        for p in params {
            let number = |value: &str| format!("{name} {} = {value}", p.key);
            match p.kind {
                Kind::Int(least, _) => {
                    let value = least.to_string();
                    bench.number(&number(&value), p.key, &draft.with(Place::Topology, p.key, &value).text());
                }
                // Its errors name the key of the link, or the link.
                Kind::Link => link_ends().iter().for_each(|(key, link)| {
                    let text = draft.with(Place::Topology, p.key, link).text();
                    bench.named(&number(link), &[p.key, key], &text);
                }),
                _ => others.push(*p),
            }
        }
        let shared = draft.with(Place::Topology, "shared-buffer", "\"90KB\"");
        let mut modes = modes(&draft, Place::Topology, params);
        modes.push((", shared".to_owned(), shared));
        bench.params(name, Place::Topology, &others, modes);
    }
    bench.finish("topologies");
}

/// Times and numbers outside the registries: of the run, failures, bit errors and observation.
#[test]
fn other_keys_at_both_ends() {
    let mut bench = Bench::default();
    let (least, most) = (forebay_experiment::faults::BIT_ERRORS.0, forebay_experiment::faults::BIT_ERRORS.1);
    let bits: Vec<String> = [least, most].iter().map(|b| format!("{b:e}")).collect();
    // A key, its values, and the line that contains it.
    let cases: [(&str, &[&str], &str); 10] = [
        ("duration", &["1ps", "1us", "4800h"], "duration = \"VALUE\""),
        ("warmup", &["0s", "1ps", "39999999999ps", "4800h"], "[observe]\nwarmup = \"VALUE\""),
        ("every", &["1ps", "1ns", "1us", "48h"], "[observe]\nqueue = { port = \"all\", every = \"VALUE\" }"),
        ("every", &["1ps", "1ns", "48h"], "[observe]\ntcp = { flows = [0, 1], every = \"VALUE\" }"),
        ("down", &["0s", "1ps", "39999999999ps", "4800h"], "[[topology.failure]]\nlink = \"bottleneck\"\ndown = \"VALUE\""),
        ("up", &["0s", "1000001ps", "4800h"], "[[topology.failure]]\nlink = \"bottleneck\"\ndown = \"1us\"\nup = \"VALUE\""),
        (
            "reroute",
            &["0s", "1ps", "48h"],
            "[[topology.failure]]\nlink = \"bottleneck\"\ndown = \"1ms\"\nup = \"9ms\"\nreroute = \"VALUE\"",
        ),
        ("bit-errors", &[&bits[0], &bits[1]], "[[topology.corruption]]\nport = \"bottleneck\"\nbit-errors = VALUE"),
        ("extra-delay", &["0s", "1ps", "9s", "60s", "5124h"], "topology.extra-delay = \"s0: VALUE\""),
        ("seed", &["0", "9223372036854775807"], "seed = VALUE"),
    ];
    let mut draft = Draft::new();
    draft.workload = Table::of("kind = \"long\"\nsize = \"60KB\"");
    let plain = draft.text().replace("deadline = \"4ms\"", "rounds = 2").replace(OBSERVE, "");
    for (key, values, line) in cases {
        for value in values {
            let line = line.replace("VALUE", value);
            let text = match key {
                "duration" => plain.replacen(USUAL, &line, 1),
                "extra-delay" => {
                    plain.replacen("senders = 2\n", &format!("senders = 2\n{}\n", line.trim_start_matches("topology.")), 1)
                }
                "seed" => format!("{line}\n{plain}"),
                _ => format!("{plain}{line}\n"),
            };
            bench.number(&format!("{key} = {value}"), key, &text);
        }
    }
    bench.finish("other keys");
}
