//! The first line of the output: one scenario each in `answers/`, with the expected text.

use crate::scratch::{Scratch, forebay, text};

/// The lines that a run of a scenario ends with.
fn answer(test: &str, name: &str, more: &[&str]) -> Vec<String> {
    let scratch = Scratch::new(&format!("answer-{test}"));
    let file = format!("{}/tests/answers/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let out = forebay(&scratch.0, &[&["run", &file, "--out", "out", "--all"], more].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    text(&out.stdout).lines().map(str::to_owned).collect()
}

/// Comments at the top of each scenario in `answers/first/` give its arguments (`# with:`) and the expected output. `# says:` is the first line, in
/// which `*` stands for any text; `# also:` must occur in the output, and `# never:` must not.
#[test]
fn scenarios_get_their_stated_answers() {
    let folder = format!("{}/tests/answers/first", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .filter_map(|e| e.unwrap().file_name().into_string().ok()?.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() >= 160, "{}", names.len());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap();
                    let of = |key: &str| {
                        let lines = text.lines().filter_map(|l| l.strip_prefix(&format!("# {key}: ")).map(str::to_owned));
                        lines.collect::<Vec<_>>()
                    };
                    let with = of("with").join(" ");
                    let more: Vec<&str> = with.split_whitespace().chain(["--no-report"]).collect();
                    let said = answer(name, &format!("first/{name}"), &more);
                    let all = said.join("\n");
                    let first = of("says");
                    let right = first.len() == 1
                        && fits(&said[0], &first[0])
                        && of("also").iter().all(|part| all.contains(part))
                        && !of("never").iter().any(|part| all.contains(part))
                        && crate::bounds_in_words::compare(&all).2.is_empty();
                    if !right {
                        wrong.lock().unwrap().push(format!("{name}: {said:#?}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Returns true if `text` matches `pattern`, in which `*` stands for any text.
fn fits(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|begin| text.strip_prefix(begin)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(end) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(end)
}

#[test]
fn unfinished_workload_beside_others_starved() {
    let said = answer("unfinished", "starved", &[]);
    let first = &said[0];
    assert!(first.starts_with("dctcp: storage finished 0 of 1 queries; starved by other traffic at bottleneck ("), "{said:#?}");
    // Its times are not missing: they are longer than the run.
    assert!(said.iter().any(|l| l.starts_with("query completion p99") && l.contains("≥ 1.00")), "{said:#?}");
    assert!(said.iter().any(|l| l.starts_with("≥ at least")), "{said:#?}");
    assert!(said.iter().any(|l| l == "world: sim, stack: linux"), "{said:#?}");
}

#[test]
fn starvation_stays_in_comparison() {
    let scratch = Scratch::new("answer-compared");
    let file = format!("{}/tests/answers/starved.toml", env!("CARGO_MANIFEST_DIR"));
    for (dir, cc) in [("a", "dctcp"), ("b", "cubic")] {
        let cc = format!("transport.group.0.cc={cc}");
        let out = forebay(&scratch.0, &["run", &file, "--out", dir, "--set", &cc, "--quiet", "--no-report"]);
        assert!(out.status.success(), "{}", text(&out.stderr));
    }
    let out = forebay(&scratch.0, &["report", "a", "b"]);
    let said = text(&out.stdout);
    assert!(said.starts_with("a/dctcp: storage finished 0 of 1 queries; starved by other traffic at bottleneck ("), "{said}");
    // It is behind in the times of queries too, instead of being left out.
    assert!(said.contains("at least 1 s"), "{said}");
}

#[test]
fn predictions_have_no_interval() {
    let said = answer("predicted", "model", &["--world", "model"]);
    assert!(said.iter().any(|l| l.starts_with("A query takes 237 ms (median)")), "{said:#?}");
    assert!(!said.iter().any(|l| l.contains('±')), "{said:#?}");
    assert!(said.iter().any(|l| l == "world: model, stack: ns2"), "{said:#?}");
}

#[test]
fn one_seed_is_called_so() {
    let said = answer("one-seed", "starved", &[]);
    assert!(said.iter().any(|l| l == "Only one seed was run: differences may be due to chance."), "{said:#?}");
}

/// Checks the texts in the first line of a scenario's output, and the texts in any of its lines.
fn says(name: &str, first: &[&str], anywhere: &[&str]) {
    let said = answer(name, name, &["--no-report"]);
    first.iter().for_each(|part| assert!(said[0].contains(part), "{name}: `{part}` is not in the first line: {said:#?}"));
    let all = said.join("\n");
    anywhere.iter().for_each(|part| assert!(all.contains(part), "{name}: `{part}` is nowhere: {said:#?}"));
}

#[test]
fn healthy_network_has_no_problem() {
    says(
        "fine",
        &["A query takes", "compared with 19.7 µs for the slowest response on an unloaded network"],
        &["None of 40 queries is late", "no packet is dropped"],
    );
}

#[test]
fn unfinished_traffic_is_not_starved() {
    says("cut", &["backup finished 0 of 1 queries before the run ended"], &["≥ 100"]);
    assert!(!answer("cut-alone", "cut", &[]).join(" ").contains("starved"), "it had the whole link");
}

#[test]
fn run_without_traffic_has_one_answer() {
    says("idle", &["Nothing was measured: no message started before the runs ended."], &[]);
}

#[test]
fn missed_deadlines_come_first() {
    says("deadlines", &["% of the messages with a deadline are late"], &["bandwidth share of bottleneck"]);
}

#[test]
fn timeout_tail_names_the_timer() {
    let first = ["timeouts per query", "compared with 3.07 ms on an unloaded link", "A timeout costs 200 ms (median)"];
    says("tail-rto", &first, &["Main cause: retransmission timeout (100 %)"]);
}

#[test]
fn lost_syns_differ_from_lost_segments() {
    says("syn-loss", &["cubic: Messages up to 100 KB take"], &["SYN retransmission timeout"]);
}

#[test]
fn delayed_acks_differ_from_queues() {
    says("delayed-ack", &["A query takes"], &["delayed ACK", "no packet is dropped"]);
}

#[test]
fn host_queues_are_named() {
    says(
        "own-elephant",
        &["newreno: answers finished ", " messages before the run ended; main cause of delay: queue of the sending host"],
        &["Messages up to 100 KB take at least", "Main cause: queue of the sending host (100 %)"],
    );
}

#[test]
fn datagrams_that_starve_tcp_are_named() {
    says("datagrams", &["cubic: upload finished 0 of 1 queries; starved by other traffic at bottleneck ("], &["video     udp"]);
}

#[test]
fn upstream_link_is_the_bottleneck() {
    let first = ["dctcp: storage finished 0 of 1 queries; starved by other traffic at bottleneck ("];
    says("upstream", &first, &["storage   dctcp      0 of 1 queries"]);
    // No workload has more of a port than the port can carry.
    let said = answer("upstream-shares", "upstream", &["--no-report"]);
    let share = |class: &str| {
        let line = said.iter().find(|l| l.starts_with(class)).unwrap_or_else(|| panic!("no {class}: {said:#?}"));
        let before = line.split(" %").next().and_then(|l| l.split_whitespace().last());
        before.and_then(|n| n.parse::<f64>().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    let (storage, tenants) = (share("storage"), share("tenants"));
    assert!(storage < 5.0 && tenants > 90.0 && storage + tenants <= 100.0, "{storage} {tenants}");
}

#[test]
fn ranking_has_margin_and_cause() {
    let first = ["dctcp has the lowest 99th percentile of query completion times", "times less than newreno (201 ms)"];
    let why = ["Cause: timeouts per query", "newreno: 21 of 30 queries are late", "retransmission timeout"];
    says("better", &first, &why);
}

#[test]
fn equal_results_have_no_winner() {
    says(
        "ties",
        &["No difference of 20 % or more in the 99th percentile of query completion times between cubic and newreno"],
        &[],
    );
}

#[test]
fn worst_of_several_bottlenecks_is_named() {
    says(
        "fabric",
        &["timeouts per query: a query of big takes ", "; one of small "],
        &["The queue at leaf0->h0 holds", "big       cubic", "leaf0->h1"],
    );
}

#[test]
fn partial_results_are_announced_first() {
    let more = ["--no-report", "--max-time", "5s", "--set", "duration=10h"];
    let said = answer("partial", "datagrams", &more);
    assert!(said[0].starts_with("partial results: "), "{said:#?}");
}

#[test]
fn a_prediction_is_called_one_first() {
    let said = answer("prediction", "model", &["--world", "model", "--no-report"]);
    assert_eq!(said[0], "These numbers are a prediction of closed forms (backend model): nothing was simulated.");
    assert!(!said.iter().any(|l| l.starts_with("a prediction, not a simulation: ")), "remarks go to standard error: {said:#?}");
}

#[test]
fn sweep_names_best_choice_and_cost() {
    let scratch = Scratch::new("answer-sweep");
    let file = format!("{}/tests/answers/starved.toml", env!("CARGO_MANIFEST_DIR"));
    let sweep = ["--sweep", "transport.group.0.cc=[\"dctcp\", \"cubic\"]", "--sweep", "workload.0.block=[\"10KB\", \"1MB\"]"];
    let out = forebay(&scratch.0, &[&["run", &file, "--out", "out"], &sweep[..]].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    let said = text(&out.stdout);
    // A result without finished work is named, and is not the best although it has no time.
    assert!(said.starts_with("Nothing finished at 1 of 8 results: "), "{said}");
    assert!(
        said.lines().nth(2).is_some_and(|l| l.starts_with("Largest difference at block ") && l.contains("; at least 1 s with ")),
        "{said}"
    );
    assert!(said.contains("world: sim, stack: linux"), "{said}");
}

#[test]
fn link_directions_are_not_added() {
    says("both-ways", &["Long flows have different bottlenecks: download gets ", " at bottleneck, ", "; upload gets "], &[]);
    assert!(!answer("both-ways-sum", "both-ways", &["--no-report"])[0].contains("1.89 Gbit/s"), "twice what a direction carries");
}

#[test]
fn unfinished_on_two_full_links_first() {
    says("two-links", &["backup finished 0 of 2 queries; starved by other traffic at link"], &["Mbit/s at link2, 90."]);
}

#[test]
fn median_of_unfinished_messages_not_ranked() {
    let said = answer("half-running", "half-running", &["--no-report"]);
    assert!(
        said[0].contains(": search finished ") && said[0].contains(" queries before the run ended; main cause of delay: "),
        "{said:#?}"
    );
    assert!(said.iter().any(|l| l.starts_with("query completion p50") && l.contains('≥')), "{said:#?}");
}

#[test]
fn workload_that_never_began_first() {
    says("late-start", &["backup never started: no packet was sent before the runs ended."], &["A query takes"]);
}

#[test]
fn equal_goodputs_are_a_tie() {
    let first = ["A long flow gets the same goodput in ", "within the accuracy of 40 seeds"];
    says("twins", &first, &[]);
}

#[test]
fn one_slow_host_is_named() {
    let first = [
        "A query takes",
        "compared with ",
        "for the slowest response on an unloaded network: server7->sw carries only 100 Mbit/s.",
    ];
    says("slow-server", &first, &[]);
}

#[test]
fn trickle_of_datagrams_starves_no_flow() {
    let said = answer("light-udp", "light-udp", &["--no-report"]);
    assert!(said[0].starts_with("cubic: A query takes"), "{said:#?}");
    assert!(!said.join(" ").contains("starved"), "{said:#?}");
}

#[test]
fn missed_deadlines_come_before_times() {
    says("all-late", &[" % of the messages with a deadline are late."], &["queue of bottleneck"]);
}

#[test]
fn few_lost_syns_show_in_tail() {
    says("one-syn", &["Messages up to 100 KB take ", " s at the 99th percentile"], &["SYN retransmission timeout"]);
}

#[test]
fn warm_up_longer_than_traffic_reported() {
    says(
        "warm",
        &["A query takes"],
        &["All traffic ended within the warm-up of 400ms: goodput, queue and drops describe the idle time after it."],
    );
}

#[test]
fn sweep_over_loads_ranks_each_load() {
    let said = answer("loads", "loads", &[]);
    assert!(said.iter().any(|l| l.starts_with("Load by load (senders and block: 6 loads)")), "{said:#?}");
}

#[test]
fn accept_queues_need_the_simulator() {
    let scratch = Scratch::new("answer-accept");
    let file = format!("{}/tests/answers/first/accept-queue.toml", env!("CARGO_MANIFEST_DIR"));
    for (world, reason) in [("model", "no model has accept queues"), ("linux", "accept every connection of `report` at once")] {
        let out = forebay(&scratch.0, &["check", &file, "--world", world]);
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{world}: {error}");
        assert!(error.contains(reason) && error.contains("listen-backlog = 128"), "{world}: {error}");
    }
}
