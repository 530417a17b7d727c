//! Scenarios of the comparison.
//!
//! Rates and sizes are such that every packet without SACK blocks takes a whole number of nanoseconds on every link: a kernel's clock counts
//! nanoseconds, the simulator's picoseconds. Access links are faster than the bottleneck, so that a flow does not queue in its own host.

use forebay_types::Time;
use std::fmt::Write;

/// One scenario.
#[derive(Debug)]
pub(crate) struct Case {
    /// Its name in the table.
    pub name: String,
    /// The scenario file.
    pub text: String,
    /// Cause of the difference between the backends, as found in their packets.
    pub cause: &'static str,
    /// Time by which equal packets may differ.
    pub within: Time,
}

impl Case {
    /// A scenario whose packets must be equal to the nanosecond, without a known cause of differences.
    pub(crate) fn of(name: String, text: String) -> Case {
        Case { name, text, cause: "", within: Time::ZERO }
    }
}

/// A rate of the bottleneck with matching parameters.
#[derive(Debug, Clone, Copy)]
struct Speed {
    bottleneck: &'static str,
    access: &'static str,
    delay: &'static str,
    duration: &'static str,
    step: &'static str,
}

const M100: Speed = Speed {
    bottleneck: "100Mbps",
    access: "1Gbps",
    delay: "50us",
    duration: "600ms",
    step: "{ kind = \"dctcp-step\", k = \"10pkt\" }",
};
const G1: Speed = Speed {
    bottleneck: "1Gbps",
    access: "4Gbps",
    delay: "20us",
    duration: "100ms",
    step: "{ kind = \"dctcp-step\", k = \"20pkt\" }",
};
const G10: Speed = Speed {
    bottleneck: "10Gbps",
    access: "100Gbps",
    delay: "10us",
    duration: "20ms",
    step: "{ kind = \"dctcp-step\", k = \"65pkt\" }",
};
const G100: Speed = Speed {
    bottleneck: "100Gbps",
    access: "400Gbps",
    delay: "5us",
    duration: "4ms",
    step: "{ kind = \"dctcp-step\", k = \"100pkt\" }",
};

const DROP_TAIL: &str = "\"drop-tail\"";
const RED: &str = "{ kind = \"red\", min = \"15pkt\", max = \"45pkt\", p-max = 0.1 }";
const LONG: &str = "kind = \"long\"\nstagger = \"100us\"";
const RENO: &str = "cc = \"newreno\"";
const CUBIC: &str = "cc = \"cubic\"";
const DCTCP: &str = "cc = \"dctcp\"";

/// A star of `senders` with the buffer `buffer` and the discipline `queue` at its bottleneck.
fn star(head: &str, speed: Speed, senders: usize, buffer: &str, queue: &str, transport: &str, workload: &str) -> String {
    let Speed { bottleneck, access, delay, .. } = speed;
    format!(
        "{head}\n[topology]\nkind = \"many-to-one\"\nsenders = {senders}\naccess = {{ rate = \"{access}\", delay = \"{delay}\" }}\n\
         bottleneck = {{ rate = \"{bottleneck}\", delay = \"{delay}\", buffer = \"{buffer}\", queue = {queue} }}\n\
         [transport]\nstack = \"linux\"\nhost = \"bare\"\nack-size = 100\n{transport}\n[[workload]]\n{workload}\n"
    )
}

/// A flow between two Linux servers over a path of `rtt_us`, with 0.2 % lost if `lossy`.
fn servers(cc: &str, (access, rate, mbps): (&str, &str, u64), rtt_us: u64, lossy: bool) -> String {
    let packets = (mbps * rtt_us / 8 / 1_500 * 7 / 10).clamp(40, 2_000);
    let queue = match (lossy, cc) {
        (true, _) => "{ kind = \"lossy\", p = 0.002 }".to_owned(),
        (false, "dctcp") => format!("{{ kind = \"dctcp-step\", k = \"{}pkt\" }}", (packets / 4).max(10)),
        (false, _) => DROP_TAIL.to_owned(),
    };
    let (delay, duration) = (rtt_us / 4, (36_000_000 / mbps).max(rtt_us * 14));
    format!(
        "seed = 5\nduration = \"{duration}us\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\n\
         access = {{ rate = \"{access}\", delay = \"{delay}us\" }}\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"{delay}us\", buffer = \"{packets}pkt\", queue = {queue} }}\n\
         [transport]\nstack = \"linux\"\nhost = \"linux-server\"\ncc = \"{cc}\"\n[[workload]]\nkind = \"long\"\n"
    )
}

/// A long flow of BBR and short flows of one host.
const BESIDE_SHORT: &str = "duration = \"12ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\n\
    access = { rate = \"1Gbps\", delay = \"10us\" }\n\
    bottleneck = { rate = \"1Gbps\", delay = \"10us\", buffer = \"1000pkt\" }\n\
    [transport]\nstack = \"linux\"\nrecovery = \"sack\"\nack-every = 1\ncc = \"bbr\"\n\
    [[workload]]\nkind = \"long\"\nfrom = \"s0\"\nto = \"recv\"\n\
    [[workload]]\nkind = \"on-off\"\nfrom = \"s0\"\nto = \"recv\"\n\
    sizes = \"4KB\"\ngaps = \"300us\"\ntrains = 50\nconnections = \"per-train\"\n";

/// All scenarios in the order of the table.
pub(crate) fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    let mut add = |name: String, text: String| {
        let cause = CAUSES.iter().find(|(of, _)| *of == name).map_or("", |c| c.1);
        all.push(Case { cause, ..Case::of(name, text) });
    };
    let for_ever = |speed: Speed| format!("duration = \"{}\"", speed.duration);
    let long = |speed: Speed, flows: usize, buffer: &str, queue: &str, transport: &str| {
        star(&for_ever(speed), speed, flows, buffer, queue, transport, LONG)
    };

    // Long flows of the kernel's congestion controls.
    for kind in ["newreno", "cubic"] {
        let cc = format!("cc = \"{kind}\"");
        for flows in [1, 2, 4, 8] {
            add(format!("{kind} {flows} flows 1G"), long(G1, flows, "100pkt", DROP_TAIL, &cc));
        }
        for (name, speed, buffer) in [("100M", M100, "50pkt"), ("10G", G10, "500pkt"), ("100G", G100, "1000pkt")] {
            add(format!("{kind} 1 flows {name}"), long(speed, 1, buffer, DROP_TAIL, &cc));
        }
        add(format!("{kind} 4 flows 10G"), long(G10, 4, "500pkt", DROP_TAIL, &cc));
        for flows in [1, 4] {
            add(format!("{kind} {flows} flows RED"), long(G1, flows, "100pkt", RED, &cc));
            add(
                format!("{kind} {flows} flows RED with ECN"),
                long(G1, flows, "100pkt", RED, &format!("{cc}\necn = \"classic\"")),
            );
        }
        add(format!("{kind} without SACK"), long(G1, 1, "100pkt", DROP_TAIL, &format!("{cc}\nrecovery = \"newreno\"")));
        add(format!("{kind} every segment acknowledged"), long(G1, 1, "100pkt", DROP_TAIL, &format!("{cc}\nack-every = 1")));
        add(format!("{kind} window of 64 KB"), long(G1, 2, "100pkt", DROP_TAIL, &format!("{cc}\nrcv-wnd = \"64KB\"")));
    }
    for (name, speed) in [("100M", M100), ("1G", G1), ("10G", G10), ("100G", G100)] {
        for flows in [1, 2, 4, 8] {
            add(format!("dctcp {flows} flows {name}"), long(speed, flows, "500pkt", speed.step, DCTCP));
        }
    }
    for (flows, name, speed, buffer) in [
        (1, "100M", M100, "50pkt"),
        (1, "1G", G1, "100pkt"),
        (4, "1G", G1, "100pkt"),
        (1, "10G", G10, "500pkt"),
        (1, "100G", G100, "1000pkt"),
    ] {
        add(format!("bbr {flows} flows {name}"), long(speed, flows, buffer, DROP_TAIL, "cc = \"bbr\""));
    }

    // Congestion controls of this project.
    for kind in ["l2dct", "d2tcp", "trim"] {
        let queue = if kind == "trim" { DROP_TAIL } else { G1.step };
        for flows in [1, 4] {
            let cc = format!("cc = \"{kind}\"");
            add(format!("{kind} {flows} flows 1G"), long(G1, flows, "100pkt", queue, &cc));
        }
    }

    // Incast.
    for senders in [1, 2, 4, 8, 16, 32, 64] {
        let incast = "kind = \"incast\"\nblock = \"64KB\"\nrounds = 5";
        add(format!("incast {senders} newreno"), star("", G1, senders, "64pkt", DROP_TAIL, RENO, incast));
        let classic = star("", G1, senders, "64pkt", DROP_TAIL, RENO, incast)
            .replace("stack = \"linux\"", "stack = \"ns2\"\nmss = 1440\nheader = 60");
        add(format!("incast {senders} stack ns2"), classic);
        if [8, 16, 32].contains(&senders) {
            add(format!("incast {senders} dctcp"), star("", G1, senders, "64pkt", G1.step, DCTCP, incast));
        }
    }

    // Traffic with pauses, ends, or short flows.
    for kind in ["newreno", "cubic", "dctcp"] {
        let cc = format!("cc = \"{kind}\"");
        let queue = if kind == "dctcp" { G1.step } else { DROP_TAIL };
        let trains = "kind = \"on-off\"\nsizes = \"100KB\"\ngaps = \"500us\"\ntrains = 20";
        add(format!("{kind} trains"), star("", G1, 4, "100pkt", queue, &cc, trains));
        let idle = "kind = \"on-off\"\nsizes = \"300KB\"\ngaps = \"700ms\"\ntrains = 5";
        add(format!("{kind} idle restarts"), star("", G1, 1, "100pkt", queue, &cc, idle));
    }
    for bytes in [1, 1448, 1449, 14_480, 14_481, 30_000, 200_000] {
        let flow = format!("kind = \"long\"\nsize = \"{bytes}B\"\nstagger = \"1ms\"");
        add(format!("transfer of {bytes} B"), star("", G1, 4, "100pkt", DROP_TAIL, RENO, &flow));
    }
    let requests = "kind = \"requests\"\nresponse = \"20KB\"\nthink = \"300us\"\ncount = 40";
    add("requests".into(), star("", G1, 4, "100pkt", DROP_TAIL, CUBIC, requests));
    // Overlapping answers.
    let queries =
        "kind = \"queries\"\nrequest = \"1600B\"\nresponse = { uniform = [\"2KB\", \"40KB\"] }\nrate = 300.0\ncount = 12";
    add("queries".into(), star("duration = \"300ms\"", G1, 4, "100pkt", DROP_TAIL, CUBIC, queries));
    let out_of_band = "kind = \"incast\"\nblock = \"64KB\"\nrounds = 5\nrequest = \"0B\"";
    add("incast 8 requests out of band".into(), star("", G1, 8, "64pkt", DROP_TAIL, RENO, out_of_band));

    // Requests and answers on one connection.
    let two_way = |workload: &str| format!("{workload}\ntwo-way = true");
    let blocks = two_way("kind = \"incast\"\nblock = \"65536B\"\nrounds = 20");
    for senders in [4, 8, 16] {
        add(format!("two-way incast {senders}"), star("", G1, senders, "64pkt", DROP_TAIL, CUBIC, &blocks));
    }
    add("two-way incast 8 dctcp".into(), star("", G1, 8, "64pkt", G1.step, DCTCP, &blocks));
    add("two-way queries".into(), star("duration = \"300ms\"", G1, 4, "100pkt", DROP_TAIL, CUBIC, &two_way(queries)));
    let large = "kind = \"requests\"\nrequest = { uniform = [\"100B\", \"30KB\"] }\n\
                 response = { uniform = [\"100B\", \"60KB\"] }\nthink = \"100us\"\ncount = 40";
    add("two-way requests".into(), star("", G1, 4, "100pkt", DROP_TAIL, CUBIC, &two_way(requests)));
    for (name, buffer, queue, transport) in [
        ("two-way large requests", "60pkt", DROP_TAIL, CUBIC),
        ("two-way large requests lost", "12pkt", DROP_TAIL, CUBIC),
        ("two-way large requests without SACK", "12pkt", DROP_TAIL, "cc = \"newreno\"\nrecovery = \"newreno\""),
        ("two-way large requests RED with ECN", "60pkt", RED, "cc = \"cubic\"\necn = \"classic\""),
        ("two-way large requests dctcp", "60pkt", G1.step, DCTCP),
    ] {
        add(name.into(), star("", G1, 4, buffer, queue, transport, &two_way(large)));
    }
    let lossy = "{ kind = \"lossy\", p = 0.02 }";
    add("two-way requests 2 % lost".into(), star("", G1, 4, "100pkt", lossy, CUBIC, &two_way(large)));

    // Losses.
    for (p, name) in [("0.001", "0.1 %"), ("0.01", "1 %")] {
        let lossy = format!("{{ kind = \"lossy\", p = {p} }}");
        for kind in ["newreno", "cubic"] {
            add(format!("{kind} {name} lost"), long(G1, 1, "1000pkt", &lossy, &format!("cc = \"{kind}\"")));
        }
        let plain = format!("{RENO}\nrecovery = \"newreno\"");
        add(format!("newreno without SACK {name} lost"), long(G1, 1, "1000pkt", &lossy, &plain));
    }
    let lossy = "{ kind = \"lossy\", p = 0.03 }";
    let short = "kind = \"on-off\"\nsizes = \"30KB\"\ngaps = \"1ms\"\ntrains = 40\nconnections = \"per-train\"";
    add("short flows 3 % lost".into(), star("", G1, 2, "1000pkt", lossy, RENO, short));
    for kind in ["newreno", "cubic"] {
        add(format!("{kind} buffer of 10"), long(G1, 1, "10pkt", DROP_TAIL, &format!("cc = \"{kind}\"")));
    }

    // Timeouts without a loss: for 30 ms the link carries only more urgent traffic.
    let bursts = "kind = \"long\"\nfrom = [\"s0\", \"s1\"]\n[[workload]]\nkind = \"udp\"\nfrom = [\"s2\", \"s3\"]\nrate = \"1Gbps\"\n\
                  on = \"15ms\"\noff = \"120ms\"\nservice = 7\nstart = \"100ms\"";
    let priority = "{ kind = \"strict-priority\", queues = 2, k = \"20pkt\" }";
    for (name, more) in [
        ("spurious timeouts", "rcv-wnd = \"40KB\""),
        ("spurious timeouts found by echoes", "rcv-wnd = \"40KB\"\nfrto = false"),
        ("spurious timeouts with marks", "ecn = \"classic\""),
    ] {
        let transport = format!("{CUBIC}\nrto-min = \"10ms\"\n{more}");
        add(name.into(), star("duration = \"600ms\"", G1, 4, "100000pkt", priority, &transport, bursts));
    }

    // Several transports.
    let both = |groups: &[&str]| {
        groups.iter().enumerate().fold(String::new(), |mut text, (i, cc)| {
            let _ = write!(text, "\n[[transport.group]]\nname = \"g{i}\"\n{cc}\nshare = {}", 1.0 / groups.len() as f64);
            text
        })
    };
    add("newreno beside cubic".into(), long(G1, 4, "100pkt", DROP_TAIL, &both(&[RENO, CUBIC])));
    add("dctcp beside newreno".into(), long(G1, 4, "100pkt", G1.step, &both(&[DCTCP, RENO])));
    add(
        "dctcp beside cubic with ECN".into(),
        long(G1, 4, "100pkt", G1.step, &both(&[DCTCP, &format!("{CUBIC}\necn = \"classic\"")])),
    );

    // Hosts with segmentation offload, a queue and byte queue limits.
    for cc in ["newreno", "cubic", "dctcp", "bbr"] {
        for rate in [("1Gbps", "100Mbps", 100), ("8Gbps", "1Gbps", 1_000)] {
            for rtt_us in [1_000, 10_000] {
                for (lossy, losses) in [(false, ""), (true, " 0.2 % lost")] {
                    let name = format!("server {cc} {} {} ms{losses}", rate.1, rtt_us / 1_000);
                    add(name, servers(cc, rate, rtt_us, lossy));
                }
            }
        }
    }
    // A long flow whose packets the queue of the host holds, beside short ones of the same host.
    add("server bbr 1G beside short flows".to_owned(), BESIDE_SHORT.to_owned());
    all
}

/// With given receive windows.
const GIVEN_WINDOW: &str = "a window that is given is exact in the simulator; a kernel opens that of a buffer of twice the size from 62 640 bytes to \
                            80 480 and acknowledges every segment meanwhile (tcp_grow_window)";
/// With many receivers at one host.
const TICK: &str =
    "of delayed ACKs that the receiver owes in the same tick another goes first; from then on full queues drop other packets";
/// With the profile of another simulator.
const NS2: &str = "a kernel with the settings of ns-2 has its own recovery without SACK (tcp_add_reno_sack)";

/// Cause of the difference between the backends in a scenario, as found in the packets at the first one.
const CAUSES: &[(&str, &str)] = &[
    ("newreno window of 64 KB", GIVEN_WINDOW),
    ("cubic window of 64 KB", GIVEN_WINDOW),
    ("incast 2 stack ns2", NS2),
    ("incast 4 stack ns2", NS2),
    ("incast 8 stack ns2", NS2),
    ("incast 16 stack ns2", NS2),
    ("incast 32 stack ns2", NS2),
    ("incast 64 stack ns2", NS2),
    ("incast 64 newreno", TICK),
    ("spurious timeouts", GIVEN_WINDOW),
    ("spurious timeouts found by echoes", GIVEN_WINDOW),
];
