//! Comparison of the simulator's stack `linux` with the TCP of a Linux kernel, packet by packet: scenarios, and single connections.

mod connections;
mod measure;
mod random;
mod scenarios;
mod table;

use forebay_types::Time;
use scenarios::{Case, cases};
use std::io::{self, Write};

/// Arguments of [`execute`].
pub const USAGE: &str = "\
  forebay-bench linux [--out FILE] [--around N] [--within NS] [--kernel NAME] [WORD | FILE | --random SEED COUNT]
                                                the simulator's stack `linux` and a Linux kernel, packet by packet: scenarios whose name has the
                                                WORD, one in a FILE, or random ones; with N packets around the first difference;
                                                equal packets of a FILE may differ by NS nanoseconds. The simulator follows the release of the kernel
  forebay-bench linux --connections KIND SEED COUNT [--keep FOLDER]
                                                single connections over bad paths, drawn with the seeds from SEED on: the first difference between the
                                                simulator's endpoint and a kernel's. KIND: sack, nosack, timestamps, ecn, dctcp, windows, active, or
                                                several of them with commas between. The scripts that differ go to FOLDER: `forebay conform --compare
                                                FILE` shows more";

/// Runs all scenarios, those whose name contains the word, the one in the file of that name, or drawn ones, on both backends; prints the table and
/// writes it.
///
/// # Errors
/// Other arguments than those of [`USAGE`], failing runs, and output that cannot be written.
pub fn execute(args: &[String], print: &mut dyn Write) -> Result<(), String> {
    if let Some((flag, rest)) = args.split_first()
        && flag == "--connections"
    {
        return connections::execute(rest, print);
    }
    let (mut out, mut word, mut around, mut drawn, mut within) = (None, None, None, None, Time::ZERO);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--out" => out = Some(args.next().ok_or("--out: expected a file")?.clone()),
            "--kernel" => forebay_backends::choose_kernel(Some(args.next().ok_or("--kernel: expected a name")?.clone())),
            "--show" => around = Some(4),
            "--around" => {
                around = Some(args.next().and_then(|n| n.parse().ok()).ok_or("--around: expected a number of packets")?)
            }
            "--within" => {
                let ns = args.next().and_then(|n| n.parse().ok()).ok_or("--within: expected a number of nanoseconds")?;
                within = Time::from_ns(ns);
            }
            "--random" => {
                let mut number =
                    || args.next().and_then(|n| n.parse().ok()).ok_or("--random: expected a seed and a number of scenarios");
                drawn = Some((number()?, number()?));
            }
            flag if flag.starts_with("--") => return Err(format!("{flag}: no such flag\n{USAGE}")),
            _ => word = Some(arg.clone()),
        }
    }
    let all = || drawn.map_or_else(cases, |(seed, count)| random::cases(seed, count));
    let chosen: Vec<Case> = match word {
        Some(file) if file.ends_with(".toml") => {
            let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
            vec![Case { within, ..Case::of(file, text) }]
        }
        word => {
            let found: Vec<_> = all().into_iter().filter(|c| word.as_ref().is_none_or(|w| c.name.contains(w.as_str()))).collect();
            if let Some(word) = word.filter(|_| found.is_empty()) {
                return Err(format!("{word}: no scenario has this in its name, and it is no .toml file"));
            }
            found
        }
    };
    let mut rows = Vec::new();
    for case in &chosen {
        if around.is_some() {
            writeln!(print, "{}", case.text).map_err(unwritten)?;
        }
        match measure::both(case, around, print) {
            Ok(row) => {
                writeln!(print, "{}", table::line(case, &row)).map_err(unwritten)?;
                rows.push((case, row));
            }
            Err(why) => writeln!(print, "{}: {why}", case.name).map_err(unwritten)?,
        }
    }
    writeln!(print, "{}", table::summary(&rows)).map_err(unwritten)?;
    if let Some(out) = out {
        std::fs::write(&out, table::csv(&rows)).map_err(|e| format!("{out}: {e}"))?;
    }
    if rows.len() < chosen.len() { Err(format!("{} scenarios did not run", chosen.len() - rows.len())) } else { Ok(()) }
}

/// Output that cannot be written.
fn unwritten(e: io::Error) -> String {
    format!("cannot print: {e}")
}

/// The scenario with this name in the table.
pub(crate) fn scenario(name: &str) -> Option<String> {
    cases().into_iter().find(|c| c.name == name).map(|c| c.text)
}

/// Names and texts of `count` scenarios that are drawn with this seed.
pub(crate) fn drawn(seed: u64, count: u64) -> Vec<(String, String)> {
    random::cases(seed, count).into_iter().map(|c| (c.name, c.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::has_kernel;
    use forebay_types::Time;

    /// Connections from the SYN to the last ACK are identical where the table requires it.
    #[test]
    fn identical_rows_are_identical() {
        if !has_kernel() {
            return;
        }
        let table = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/linux-agreement.csv")).unwrap();
        let whole: Vec<&str> =
            table.lines().filter(|l| l.split(',').nth(3) == Some("all")).filter_map(|l| l.split(',').next()).collect();
        assert!(whole.len() >= 10, "{whole:?}");
        for case in cases().iter().filter(|c| whole.contains(&c.name.as_str())) {
            let row = measure::both(case, None, &mut io::sink()).unwrap();
            assert_eq!((row.common, row.identical), (None, row.connections), "{}", case.name);
        }
    }

    /// A flow between servers has the same first 1000 packets: their bursts, their pacing in the fair queue and the repair of whole buffers. BBR over
    /// the shortest path at 100 Mbps does not, where the receive window decides (tcp_rcv_space_adjust).
    #[test]
    fn server_flows_are_identical() {
        if !has_kernel() {
            return;
        }
        let rows =
            cases().into_iter().filter(|c| c.name.starts_with("server ") && !c.name.starts_with("server bbr 100Mbps 1 ms"));
        for case in rows {
            let row = measure::both(&case, None, &mut io::sink()).unwrap();
            assert!(row.thousand(), "{}: {:?}", case.name, row.common);
        }
    }

    /// Servers with requests and answers on one connection: bursts, merged segments that carry ACKs, marks and losses.
    #[test]
    fn two_way_servers_are_identical() {
        if !has_kernel() {
            return;
        }
        let sizes =
            "request = { uniform = [\"100B\", \"30KB\"] }\nresponse = { uniform = [\"100B\", \"60KB\"] }\nthink = \"100us\"";
        let requests = format!("kind = \"requests\"\ncount = 60\n{sizes}");
        let queries =
            "kind = \"queries\"\nrequest = \"1600B\"\nresponse = { uniform = [\"2KB\", \"40KB\"] }\nrate = 300.0\ncount = 12";
        let blocks = "kind = \"incast\"\nblock = \"65536B\"\nrounds = 20";
        let step = "{ kind = \"dctcp-step\", k = \"20pkt\" }";
        for (name, senders, buffer, queue, cc, workload) in [
            ("requests", 1, "60pkt", "\"drop-tail\"", "cubic", requests.as_str()),
            ("requests lost", 1, "12pkt", "\"drop-tail\"", "cubic", &requests),
            ("requests dctcp", 1, "60pkt", step, "dctcp", &requests),
            ("queries", 4, "100pkt", "\"drop-tail\"", "cubic", queries),
            ("incast dctcp", 8, "64pkt", step, "dctcp", blocks),
        ] {
            let text = format!(
                "duration = \"300ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = {senders}\naccess = {{ rate = \"2Gbps\", delay = \"20us\" }}\n\
                 bottleneck = {{ rate = \"1Gbps\", delay = \"20us\", buffer = \"{buffer}\", queue = {queue} }}\n[transport]\n\
                 stack = \"linux\"\nhost = \"linux-server\"\nack-size = 100\ncc = \"{cc}\"\n[[workload]]\n{workload}\ntwo-way = true\n"
            );
            let row = measure::both(&Case::of(name.into(), text), None, &mut io::sink()).unwrap();
            assert_eq!((row.common, row.identical), (None, row.connections), "{name}");
        }
    }

    /// The timer of a delayed ACK stays in the timer wheel when its ACK has left. When it expires it sends duplicate ACKs that are withheld
    /// (tcp_delack_timer_handler), here 40 ms after the last segment in order.
    #[test]
    fn delayed_ack_timer_sends_withheld_acks() {
        if !has_kernel() {
            return;
        }
        let text = "duration = \"4s\"\n[topology]\nkind = \"dumbbell\"\nleft = 1\naccess = { rate = \"10Gbps\", delay = \"1ms\" }\n\
                    bottleneck = { rate = \"1Gbps\", delay = \"98ms\", buffer = \"25MB\", queue = { kind = \"lossy\", p = 0.002 } }\n\
                    [transport]\nstack = \"linux\"\ncc = \"bbr\"\n[[workload]]\nkind = \"long\"\n";
        let row = measure::both(&Case::of("bbr 0.2 % lost 200 ms".into(), text.into()), None, &mut io::sink()).unwrap();
        assert!(row.common.is_none_or(|packets| packets > 8_289), "{:?}", row.common);
    }

    /// Messages that overlap are identical to the last packet, with Nagle's algorithm and without it. The last one fills the send buffer: the application
    /// has written more than the windows allow, and messages end in the middle of the queue.
    #[test]
    fn overlapping_messages_are_identical() {
        if !has_kernel() {
            return;
        }
        let traffic = [
            "sizes = \"2000B\"\ngaps = \"150us\"\ntrains = 40",
            "sizes = \"200B\"\ngaps = \"20us\"\ntrains = 200",
            "sizes = { uniform = [\"100B\", \"6KB\"] }\ngaps = { exponential = \"200us\" }\ntrains = 100",
            "sizes = { uniform = [\"1KB\", \"60KB\"] }\ngaps = { exponential = \"300us\" }\ntrains = 50",
        ];
        for (traffic, nagle) in traffic.iter().flat_map(|traffic| [(traffic, true), (traffic, false)]) {
            let text = format!(
                "seed = 3\n[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = {{ rate = \"2Gbps\", delay = \"50us\" }}\n\
                 bottleneck = {{ rate = \"1Gbps\", delay = \"50us\", buffer = \"60pkt\" }}\n[transport]\nstack = \"linux\"\nhost = \"bare\"\nnagle = {nagle}\n\
                 cc = {{ kind = \"cubic\", arithmetic = \"linux\" }}\n[[workload]]\nkind = \"on-off\"\ngap-from = \"start\"\n{traffic}\n"
            );
            let row = measure::both(&Case::of("overlap".into(), text.clone()), None, &mut io::sink()).unwrap();
            assert_eq!((row.common, row.identical), (None, row.connections), "{text}");
        }
    }

    /// Requests and answers on one connection are identical to the last packet, with losses and marks in both directions.
    #[test]
    fn two_way_connections_are_identical() {
        if !has_kernel() {
            return;
        }
        let all: Vec<Case> = cases().into_iter().filter(|c| c.name.starts_with("two-way")).collect();
        assert_eq!(all.len(), 12);
        // In that one the short end of an answer waits for the interface in the simulator (tcp_should_autocork), and not in the kernel. The cause is
        // unknown.
        for case in all.iter().filter(|c| c.name != "two-way requests 2 % lost") {
            let row = measure::both(case, None, &mut io::sink()).unwrap();
            assert_eq!((row.common, row.identical), (None, row.connections), "{}", case.name);
        }
    }

    /// Connections of Linux servers are identical to the last packet: interrupts, receive offload and queues of hosts.
    #[test]
    fn servers_are_identical() {
        if !has_kernel() {
            return;
        }
        let long = "duration = \"40ms\"\n[[workload]]\nkind = \"long\"\nstagger = \"50us\"\n";
        let incast = "[[workload]]\nkind = \"incast\"\nblock = \"64KB\"\nrounds = 4\n";
        let step = "{ kind = \"dctcp-step\", k = \"40pkt\" }";
        for (senders, cc, queue, buffer, workload) in [
            (2, "cubic", "\"drop-tail\"", 200, long),
            (8, "cubic", "\"drop-tail\"", 100, incast),
            (20, "cubic", "\"drop-tail\"", 100, incast),
            (20, "newreno", "\"drop-tail\"", 100, incast),
            (3, "dctcp", step, 100, incast),
        ] {
            let (head, workload) = workload.split_at(workload.find("[[").unwrap_or(0));
            let text = format!(
                "{head}[topology]\nkind = \"many-to-one\"\nsenders = {senders}\naccess = {{ rate = \"4Gbps\", delay = \"5us\" }}\n\
                 bottleneck = {{ rate = \"1Gbps\", delay = \"5us\", buffer = \"{buffer}pkt\", queue = {queue} }}\n\
                 [transport]\nstack = \"linux\"\nhost = \"linux-server\"\ncc = \"{cc}\"\n{workload}"
            );
            let case = Case { within: Time::from_us(1), ..Case::of("server".into(), text.clone()) };
            let row = measure::both(&case, None, &mut io::sink()).unwrap();
            assert_eq!((row.common, row.identical), (None, row.connections), "{text}");
        }
    }

    /// Connections of a host share its queue, its byte queue limits and its interrupts. The queue discipline runs before a connection that waited
    /// for the interface sends more. The run ends inside an interrupt.
    #[test]
    fn connections_of_server_are_identical() {
        if !has_kernel() {
            return;
        }
        let long = "[[workload]]\nkind = \"long\"\n";
        let on_off = |size: &str, gap: &str, more: &str| {
            format!("[[workload]]\nkind = \"on-off\"\nfrom = \"s0\"\nsizes = \"{size}\"\ngaps = \"{gap}\"\ntrains = 10\n{more}")
        };
        let requests = "[[workload]]\nkind = \"requests\"\nclients = \"recv\"\nservers = \"s0\"\nresponse = \"60KB\"\nthink = \"200us\"\ncount = 10\n";
        for (ms, access, bottleneck, delay, workloads) in [
            (3, "10Gbps", "10Gbps", "10us", long.to_owned()),
            (20, "1Gbps", "4Gbps", "5us", format!("{long}{}", on_off("100KB", "1ms", ""))),
            (3, "40Gbps", "10Gbps", "10us", format!("{long}{}", on_off("20KB", "100us", ""))),
            (6, "1Gbps", "1Gbps", "3us", format!("{requests}{}", on_off("100KB", "300us", "gap-from = \"start\"\n"))),
        ] {
            let text = format!(
                "duration = \"{ms}ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"{access}\", delay = \"{delay}\" }}\n\
                 bottleneck = {{ rate = \"{bottleneck}\", delay = \"{delay}\", buffer = \"500pkt\" }}\n[transport]\ncc = \"cubic\"\n{workloads}"
            );
            let case = Case { within: Time::from_us(1), ..Case::of("server".into(), text.clone()) };
            let row = measure::both(&case, None, &mut io::sink()).unwrap();
            assert_eq!((row.common, row.identical), (None, row.connections), "{text}");
        }
    }

    /// Probes after a link has lost the first flight (tcp_send_loss_probe), and the receive window of jumbo frames, whose buffers are as large as the
    /// segment needs (tcp_grow_window): identical to the last packet.
    #[test]
    fn probes_and_jumbo_frames_are_identical() {
        if !has_kernel() {
            return;
        }
        let lost = "[[topology.failure]]\nlink = \"bottleneck\"\ndown = \"2300us\"\nup = \"4ms\"\n";
        let long = |size: &str| format!("[[workload]]\nkind = \"long\"\nsize = \"{size}\"\n");
        let requests = "[[workload]]\nkind = \"requests\"\nresponse = \"20KB\"\nthink = \"300us\"\ncount = 40\n";
        for (failure, keys, workload) in [
            (lost, "cc = \"cubic\"\n", long("100KB")),
            (lost, "cc = \"bbr\"\n", long("60KB")),
            (lost, "cc = \"cubic\"\n", long("1135B")),
            ("", "cc = \"newreno\"\nmss = 8948\ntimestamps = false\n", requests.to_owned()),
        ] {
            let text = format!(
                "[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"2Gbps\", delay = \"500us\" }}\n\
                 bottleneck = {{ rate = \"1Gbps\", delay = \"500us\", buffer = \"100pkt\" }}\n{failure}[transport]\n{keys}{workload}"
            );
            let row = measure::both(&Case::of("probe".into(), text.clone()), None, &mut io::sink()).unwrap();
            assert_eq!((row.common, row.identical), (None, row.connections), "{text}");
        }
    }

    /// A retransmission takes the segments behind it along, if all of them fit (tcp_retrans_try_collapse): the last data and the FIN after a timeout.
    #[test]
    fn collapsed_retransmissions_are_identical() {
        if !has_kernel() {
            return;
        }
        for (recovery, host, size) in
            [("sack", "linux-server", "1135B"), ("newreno", "linux-server", "1135B"), ("sack", "bare", "1135B")]
        {
            let text = format!(
                "[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = {{ rate = \"2Gbps\", delay = \"500us\" }}\n\
                 bottleneck = {{ rate = \"1Gbps\", delay = \"500us\", buffer = \"100pkt\" }}\n[[topology.failure]]\nlink = \"bottleneck\"\n\
                 down = \"2300us\"\nup = \"100ms\"\n[transport]\nhost = \"{host}\"\nrecovery = \"{recovery}\"\ncc = \"cubic\"\n\
                 [[workload]]\nkind = \"long\"\nsize = \"{size}\"\n"
            );
            let row = measure::both(&Case::of("collapsed".into(), text.clone()), None, &mut io::sink()).unwrap();
            assert!(row.figures[0].retransmitted > 0 && row.repairs(), "{text}");
            assert_eq!((row.common, row.identical), (None, row.connections), "{text}");
        }
    }

    /// Without RACK, Linux retransmits only what counts as lost (tcp_xmit_retransmit_queue), and repairs a lost tail by a timeout: as many
    /// retransmissions and timeouts, and the same goodput.
    #[test]
    fn recovery_without_rack_repairs_as_linux() {
        if !has_kernel() {
            return;
        }
        let text = "[topology]\nkind = \"many-to-one\"\nsenders = 2\naccess = { rate = \"8Gbps\", delay = \"3us\" }\n\
                    bottleneck = { rate = \"2Gbps\", delay = \"3us\", buffer = \"40pkt\" }\n[transport]\nrecovery = \"sack\"\ninit-cwnd = 20\n\
                    cc = \"cubic\"\n[[workload]]\nkind = \"incast\"\nblock = \"60KB\"\nrounds = 10\n";
        let row = measure::both(&Case::of("sack".into(), text.into()), None, &mut io::sink()).unwrap();
        assert!(row.figures[1].timeouts > 0 && row.repairs() && (row.goodput() - 1.0).abs() < 0.01, "{row:?}");
    }

    /// Drawn scenarios of Linux servers: identical to the last packet. Bursts wait for the ACK of the oldest buffer, by the nanosecond
    /// (tcp_tso_should_defer), jumbo frames wait out of order, each with its own memory (tcp_data_queue_ofo), and windows without a scale are whole
    /// segments (__tcp_select_window). Withheld ACKs report an older SACK block that has grown (tcp_sack_new_ofo_skb). A marked FIN without data changes
    /// no ECN state (tcp_data_queue). Connections take the slots of closed ones. Probe timers of one host that expire together are in the order in which
    /// they entered their slot of the timer wheel (__mod_timer, enqueue_timer). SACKed data needs fewer buffers, so that the application writes earlier
    /// (tcp_shift_skb_data). Connections of BBR that open in another order than they are created in draw their own phases (bbr_reset_probe_bw_mode).
    /// A FIN that waits for the window is a probe (tcp_send_loss_probe), and a write to a full buffer ends no wait for the interface (tcp_wfree).
    /// A window without unsent data is not validated (tcp_push_pending_frames). A short retransmission takes the segments behind it along, also segments
    /// that have left the host while an earlier retransmission is there (tcp_retrans_try_collapse, tcp_can_collapse). Connections that open in one window
    /// of the simulator are numbered by their time. The pacing rate is that of the last ACK, before it lets data leave (tcp_cong_control), and
    /// the size of bursts after an idle time that before the congestion control notices the start (tcp_event_data_sent). A host whose link comes back
    /// has an empty fair queue (dev_activate). BBR counts segments in the network, and those that a D-SACK reports (tcp_packets_in_flight,
    /// tcp_dsack_seen). A retransmission may wait for the interface with twice the data (tcp_xmit_retransmit_queue). Short buffers behind a filled hole
    /// are copied (skb_try_coalesce), and withheld ACKs that are due together leave in their order (timerqueue_add). A lost beginning of a
    /// burst is sent again after all of the burst has left the host (skb_still_in_host_queue), and only a packet that leaves ends the wait for the
    /// interface (tcp_wfree). A retransmission counts in quick-ACK mode before the withheld ACKs that it releases (tcp_data_queue_ofo). Pacing starts
    /// after ten segments with data (`data_segs_out`).
    ///
    /// Bare hosts, too, count whole nanoseconds (`ktime_t`). A burst counts with one header where it leaves the queue of its host
    /// (try_bulk_dequeue_skb), and a requeued packet enters the idle wire at a whole nanosecond (net_tx_action).
    #[test]
    fn drawn_scenarios_are_identical() {
        if !has_kernel() {
            return;
        }
        let one = [
            2, 9, 16, 17, 25, 31, 34, 35, 36, 37, 38, 39, 41, 42, 45, 50, 52, 55, 58, 60, 61, 63, 64, 69, 71, 76, 81, 84, 89, 93,
            97,
        ];
        let cases = [(1, one.as_slice()), (1000, &[4, 14, 19, 24, 25, 28, 38]), (4000, &[3, 5, 14, 20, 21, 44, 49])];
        let drawn = cases.map(|(seed, numbers)| (random::cases(seed, 100), numbers));
        for case in drawn.iter().flat_map(|(drawn, numbers)| numbers.iter().map(|&number| &drawn[number])) {
            let row = measure::both(case, None, &mut io::sink()).unwrap();
            assert_eq!((row.common, row.identical), (None, row.connections), "{}:\n{}", case.name, case.text);
        }
    }

    /// Flows without RACK, which count SACKed segments (tcp_update_scoreboard), are identical to the last packet: losses in bursts and single ones.
    #[test]
    fn losses_by_count_are_identical() {
        if !has_kernel() {
            return;
        }
        for (senders, queue, cc) in [
            (2, "buffer = \"30pkt\"", "cubic"),
            (3, "buffer = \"64pkt\"", "newreno"),
            (1, "buffer = \"100pkt\", queue = { kind = \"lossy\", p = 0.01 }", "cubic"),
        ] {
            let text = format!(
                "duration = \"40ms\"\n[topology]\nkind = \"many-to-one\"\nsenders = {senders}\naccess = {{ rate = \"10Gbps\", delay = \"5us\" }}\n\
                 bottleneck = {{ rate = \"1Gbps\", delay = \"50us\", {queue} }}\n[transport]\nstack = \"linux\"\nrecovery = \"sack\"\n\
                 cc = \"{cc}\"\n[[workload]]\nkind = \"long\"\nstagger = \"100us\"\n"
            );
            let row = measure::both(&Case::of("counted".into(), text.clone()), None, &mut io::sink()).unwrap();
            assert!(row.figures[0].retransmitted > 0, "{text}");
            assert_eq!((row.common, row.identical), (None, row.connections), "{text}");
        }
    }

    /// Losses in slow start: HyStart finds its end in the recovery and lowers the threshold there, before the second reduction.
    #[test]
    fn hystart_in_recovery_is_identical() {
        if !has_kernel() {
            return;
        }
        let text = "[topology]\nkind = \"many-to-one\"\nsenders = 1\naccess = { rate = \"8Gbps\", delay = \"2us\" }\n\
                    bottleneck = { rate = \"4Gbps\", delay = \"2us\", buffer = \"16pkt\" }\n[transport]\nstack = \"linux\"\nhost = \"bare\"\nack-size = 100\n\
                    cc = { kind = \"cubic\", arithmetic = \"linux\" }\nack-every = 1\nrto-min = \"50ms\"\n\
                    [[workload]]\nkind = \"long\"\nsize = \"200KB\"\n";
        let row = measure::both(&Case::of("hystart".into(), text.into()), None, &mut io::sink()).unwrap();
        assert_eq!((row.common, row.identical), (None, 1));
    }
}
