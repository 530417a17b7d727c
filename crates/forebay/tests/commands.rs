//! The built binary from outside: exit codes, messages, files.

use crate::scratch::{SMALL, Scratch, command, forebay, text};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

#[test]
fn errors_have_line_and_key() {
    let scratch = Scratch::new("bad");
    scratch.file("bad.toml", &SMALL.replace("senders = 4", "sendres = 4"));
    for verb in ["check", "run", "compare"] {
        let out = forebay(&scratch.0, &[verb, "bad.toml"]);
        let err = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{err}");
        assert!(err.contains("bad.toml:7") && err.contains("sendres") && err.contains("senders"), "{err}");
        assert!(!err.contains('\x1b'), "colors in a pipe: {err}");
    }
    assert_eq!(scratch.entries(""), ["bad.toml"]);
    assert_eq!(forebay(&scratch.0, &["check", "missing.toml"]).status.code(), Some(2));
    assert_eq!(forebay(&scratch.0, &["run", "bad.toml", "--threads", "0"]).status.code(), Some(2));
}

#[test]
fn kernel_comparison_refuses_bad_arguments() {
    let scratch = Scratch::new("compare-kernels");
    scratch.file("s.toml", SMALL);
    scratch.file("no.patch", "int a;\n");
    for (args, code, says) in [
        (&["compare"][..], 2, "FILE"),
        (&["compare", "--kernel", "a"], 2, "expected one scenario file, got 0"),
        (&["compare", "s.toml", "s.toml"], 2, "expected one scenario file, got 2"),
        (&["compare", "--kernel", "./a", "--kernel", "./b", "--runs", "3"], 2, "--runs is not for the comparison of two kernels"),
        (&["compare", "--kernel", "./a", "--kernel", "./b", "--seed", "3"], 2, "--seed is not for"),
        (&["compare", "--kernel", "./nowhere", "--kernel", "./b"], 2, "--kernel: there is no file `./nowhere`"),
        (&["kernel", "build", "--reverse"], 2, "--patch"),
        (&["kernel", "build", "--name", "6.12"], 2, "begins with a letter"),
    ] {
        let out = forebay(&scratch.0, args);
        let err = text(&out.stderr);
        assert!(out.status.code() == Some(code) && err.contains(says), "{args:?}: {:?} {err}", out.status.code());
    }
}

#[test]
fn compare_fails_without_requested_results() {
    let scratch = Scratch::new("compare-none");
    scratch.file("s.toml", SMALL);
    fs::create_dir(scratch.0.join("folder")).unwrap();
    for (args, says) in [
        (&["--kernel", "nix", "--worlds", "linux"][..], "no kernel is called `nix`"),
        (&["--kernel", "nix"], "no kernel is called `nix`"),
        (&["--kernel", "nix", "--worlds", "sim"], "add it to --worlds"),
        (&["--kernel", "/dev/null", "--worlds", "linux"], "`/dev/null` is a pipe, a socket or a device, not the program"),
        (&["--kernel", "./folder", "--worlds", "linux"], "`./folder` is a directory, not the program"),
        (&["--kernel", "./nowhere", "--worlds", "linux"], "there is no file `./nowhere`"),
    ] {
        let out = forebay(&scratch.0, &[&["compare", "s.toml"], args].concat());
        let err = text(&out.stderr);
        assert!(out.status.code() == Some(2) && err.contains(says), "{args:?}: {:?} {err}", out.status.code());
    }
    let linux = |worlds: &[&str]| {
        let mut c = scratch.command(&[&["compare", "s.toml"], worlds].concat());
        let out = c.env("FOREBAY_KERNEL", "/nowhere").output().unwrap();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    for worlds in [&["--worlds", "sim,linux"][..], &["--worlds", "linux", "--format", "json"]] {
        let (code, out, err) = linux(worlds);
        assert!(code == Some(1) && err.contains("no results of linux: the notes"), "{code:?} {err}");
        assert!(out.contains("there is no file `/nowhere`"), "{out}");
    }
    // The backends that run by default may be missing.
    assert_eq!(linux(&[]).0, Some(0));
}

#[test]
fn removed_commands_name_their_replacement() {
    let scratch = Scratch::new("removed");
    for (removed, replacement) in
        [("model", "forebay run FILE --world model"), ("sweep", "forebay run FILE"), ("helper", "forebay attach --daemon NAME")]
    {
        let out = forebay(&scratch.0, &[removed, "s.toml"]);
        assert_eq!(out.status.code(), Some(2));
        assert!(text(&out.stderr).contains(&format!("use `{replacement}`")), "{}", text(&out.stderr));
    }
}

#[test]
fn lists_come_from_the_registries() {
    let scratch = Scratch::new("list");
    let out = text(&forebay(&scratch.0, &["list"]).stdout);
    for name in ["newreno", "dctcp-step", "many-to-one", "incast", "linux"] {
        assert!(out.lines().any(|l| l.split_whitespace().next() == Some(name)), "{name}: {out}");
    }
    let one = text(&forebay(&scratch.0, &["list", "queues"]).stdout);
    assert_eq!(forebay(&scratch.0, &["list", "fruit"]).status.code(), Some(2));
    assert_eq!(one.lines().count(), forebay_queues::REGISTRY.len(), "{one}");
    // The reproductions of papers identify their results by the second line.
    let version = text(&forebay(&scratch.0, &["--version"]).stdout);
    let commit = version.strip_prefix(&format!("forebay {}\ncommit ", forebay_runner::sweep::key::VERSION)).unwrap().trim_end();
    let (hash, date) = commit.split_once(", ").unwrap_or((commit, ""));
    assert!(hash == "unknown" || (hash.len() == 12 && date.len() == 10 && date.starts_with("20")), "{version}");
    assert!(text(&forebay(&scratch.0, &["completions", "bash"]).stdout).contains("_forebay"));
}

#[test]
fn explain_names_and_keys() {
    let scratch = Scratch::new("explain");
    let printed = |args: &[&str]| {
        let out = forebay(&scratch.0, args);
        assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
        text(&out.stdout)
    };
    let dctcp = printed(&["list", "dctcp"]);
    assert!(
        dctcp.starts_with("dctcp  [transport] cc") && dctcp.contains("RFC 8257") && dctcp.contains("default 0.0625"),
        "{dctcp}"
    );
    // The same name as a congestion control and as a queue.
    assert_eq!(printed(&["list", "pfabric"]).lines().filter(|l| l.starts_with("pfabric")).count(), 2);
    let json: serde_json::Value = serde_json::from_str(&printed(&["list", "--format", "json"])).unwrap();
    assert!(json.as_array().unwrap().iter().any(|s| s["kind"] == "queues" && s["items"][0]["name"] == "drop-tail"), "{json}");
    let rto = printed(&["explain", "transport.rto-min"]);
    assert!(rto.contains("smallest retransmission timeout") && rto.contains("200ms (ns2)") && rto.contains("1s (rfc)"), "{rto}");
    assert!(printed(&["explain", "dctcp-step.k"]).lines().filter(|l| l.starts_with("k  ")).count() == 1, "one of many keys `k`");
    assert!(printed(&["explain", "k"]).lines().filter(|l| l.starts_with("k  ")).count() > 3);
    assert!(printed(&["explain", "duration"]).contains("end of simulated time"));
    assert!(
        printed(&["explain", "topology.kind"]).contains("leaf-spine")
            && !printed(&["explain", "topology.kind"]).contains("poisson")
    );
    let cc = printed(&["explain", "transport.cc"]);
    assert!(cc.starts_with("cc  [transport]") && cc.contains("l2dct") && cc.contains("a list compares"), "{cc}");
    assert!(printed(&["explain", "workload.0.class"]).starts_with("class  [[workload]]"), "not the shims' `class`");
    assert_eq!(printed(&["explain", "dctcp"]), dctcp, "a name instead of a key");
    let observe = printed(&["explain", "observe"]);
    assert!(observe.contains("warmup  [observe]") && observe.contains("occupancy"), "all of a table: {observe}");
    let json: serde_json::Value = serde_json::from_str(&printed(&["explain", "workload.0.rounds", "--format", "json"])).unwrap();
    assert_eq!(json[0]["key"], "rounds");
    for (args, says) in [
        (["explain", "rto-mni"], "did you mean `rto-min`?"),
        (["explain", ""], "has a key"),
        (["explain", "out/nosuch"], "there is no directory `out/nosuch`, and no scenario has such a key"),
        (["list", "dctpc"], "did you mean `dctcp`?"),
    ] {
        let out = forebay(&scratch.0, &args);
        assert!(out.status.code() == Some(2) && text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
    }
    let pages = printed(&["man", "pages"]);
    let entries = scratch.entries("pages");
    assert!(
        pages.starts_with(&format!("{} manual pages", entries.len())) && entries.contains(&"forebay-run.1".to_owned()),
        "{pages}"
    );
    assert!(fs::read_to_string(scratch.0.join("pages/forebay.1")).unwrap().contains(".TH forebay 1"));
    // Existing pages are replaced with --force only, and links never.
    let page = scratch.0.join("pages/forebay-run.1");
    fs::write(&page, "mine").unwrap();
    let out = forebay(&scratch.0, &["man", "pages"]);
    assert!(out.status.code() == Some(2) && text(&out.stderr).contains("exists already"), "{}", text(&out.stderr));
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
    printed(&["man", "pages", "--force"]);
    assert_ne!(fs::read_to_string(&page).unwrap(), "mine");
    #[cfg(unix)]
    {
        let mine = scratch.0.join("mine");
        fs::rename(&page, &mine).unwrap();
        std::os::unix::fs::symlink(&mine, &page).unwrap();
        let before = fs::read(&mine).unwrap();
        assert_eq!(forebay(&scratch.0, &["man", "pages", "--force"]).status.code(), Some(2));
        assert_eq!(fs::read(&mine).unwrap(), before);
    }
}

#[test]
fn documents_are_json() {
    let scratch = Scratch::new("documents");
    scratch.file("small.toml", SMALL);
    let json = |args: &[&str]| -> serde_json::Value {
        let out = forebay(&scratch.0, args);
        assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
        serde_json::from_str(&text(&out.stdout)).unwrap()
    };
    let check = json(&["check", "small.toml", "--format", "json"]);
    assert_eq!((&check["name"], &check["variants"][0]["resolved"]["topology"]["senders"]), (&"small".into(), &4.into()));
    assert!(check["forecast"]["packet_transmissions"].as_f64().unwrap() > 1_000.0, "{check}");
    let run = json(&["run", "small.toml", "--format", "json", "--runs", "2", "--out", "r"]);
    assert_eq!((&run["dir"], run["variants"][0]["runs"].as_array().unwrap().len()), (&"r".into(), 2));
    let group = &run["variants"][0]["runs"][0]["groups"][0];
    assert!(group["transport"] == "newreno" && group["numbers"]["goodput_bps"].as_f64().unwrap() > 1e8, "{run}");
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scratch.0.join("r/manifest.json")).unwrap()).unwrap();
    assert!(manifest["built"].as_str().is_some_and(|b| !b.is_empty()), "{manifest}");
    assert_eq!(check["forecast"]["runs"], 1);
}

#[test]
fn conform_prints_outcomes() {
    let scratch = Scratch::new("conform");
    let open = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
                +0 < S 0:0(0) win 9000 <mss 1000>\n";
    scratch.file("good.pkt", &format!("{open}+0 > S. 0:0(0) ack 1 <...>\n"));
    scratch.file("bad.pkt", &format!("{open}+0 > S. 0:0(0) ack 2 <...>\n"));
    scratch.file("other.pkt", "+0 epoll_create(1) = 3\n");
    scratch.file("none.pkt", "+0 > what\n");
    let run = |files: &[&str]| forebay(&scratch.0, &[&["conform"], files].concat());
    assert_eq!(run(&["good.pkt", "other.pkt"]).status.code(), Some(0));
    assert_eq!(run(&["other.pkt"]).status.code(), Some(2));
    assert_eq!(run(&["good.pkt", "none.pkt"]).status.code(), Some(2));
    let all = run(&["."]);
    assert_eq!(all.status.code(), Some(1));
    let printed = text(&all.stdout);
    assert!(
        printed.contains("bad.pkt:5\n    expected S. 0:0(0) ack 2 <...> at 0 s\n    got      at 0 s: [noecn] S. 0:0(0) ack 1"),
        "{printed}"
    );
    assert!(printed.contains("other.pkt: uses readiness") && printed.contains("NOT A SCRIPT    ./none.pkt:1: "), "{printed}");
    assert!(printed.ends_with("1 passed, 1 failed, 1 not applicable, 1 not a script\n"), "{printed}");
}

#[test]
fn conform_refuses_scripts_without_events() {
    let scratch = Scratch::new("conform-empty");
    for (name, script, line) in
        [("empty.pkt", "", ":1: the script has no packet"), ("comment.pkt", "// a\n/* b\n */\n", ":3: the script has no packet")]
    {
        scratch.file(name, script);
        let out = forebay(&scratch.0, &["conform", name]);
        let printed = text(&out.stdout);
        assert_eq!(out.status.code(), Some(2), "{printed}");
        assert!(printed.contains(&format!("NOT A SCRIPT    {name}{line}")), "{printed}");
        assert!(printed.ends_with("0 passed, 0 failed, 0 not applicable, 1 not a script\n"), "{printed}");
    }
}

#[test]
#[cfg(unix)]
fn conform_runs_linked_scripts_once() {
    let scratch = Scratch::new("conform-links");
    fs::create_dir(scratch.0.join("a")).unwrap();
    scratch.file("a/x.pkt", "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n");
    for (target, link) in [("..", "a/up"), ("a", "b"), ("a/x.pkt", "y.pkt")] {
        std::os::unix::fs::symlink(target, scratch.0.join(link)).unwrap();
    }
    let printed = scratch.ok(&["conform", "."]);
    assert_eq!(printed, "passed          ./a/x.pkt\n1 passed, 0 failed, 0 not applicable\n");
}

#[test]
fn check_explains() {
    let scratch = Scratch::new("check");
    scratch.file("small.toml", SMALL);
    let out = forebay(&scratch.0, &["check", "small.toml", "--set", "topology.senders=9"]);
    let printed = text(&out.stdout);
    assert!(
        out.status.success() && printed.contains("10 hosts") && printed.contains("newreno"),
        "{printed}{}",
        text(&out.stderr)
    );
    let defaults = text(&forebay(&scratch.0, &["check", "small.toml", "--resolved"]).stdout);
    assert!(defaults.contains("name = \"small\"") && defaults.contains("rto-min = \"200ms\""), "{defaults}");
}

#[test]
fn a_run_leaves_a_complete_directory() {
    let scratch = Scratch::new("run");
    scratch.file("small.toml", SMALL);
    let out = forebay(&scratch.0, &["run", "small.toml", "--runs", "2", "--format", "csv"]);
    let printed = text(&out.stdout);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(
        printed.contains("results: out/small-1") && printed.contains("fingerprint: ") && printed.contains("goodput"),
        "{printed}"
    );
    assert!(out.stderr.is_empty() && !printed.contains('\x1b'), "{printed}{}", text(&out.stderr));
    let files = [
        "events.csv",
        "flows.csv",
        "goodput.csv",
        "manifest.json",
        "ports.csv",
        "queries.csv",
        "queue.csv",
        "report.html",
        "summary.csv",
        "tcp.csv",
        "timeouts.csv",
    ];
    assert_eq!(scratch.entries("out/small-1"), files);
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scratch.0.join("out/small-1/manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["runs"].as_array().unwrap().len(), 2);
    assert_eq!(manifest["scenario"]["variants"][0]["resolved"]["runs"], 2);
    assert_eq!(manifest["scenario"]["text"], SMALL);

    forebay(&scratch.0, &["run", "small.toml", "--quiet"]);
    assert_eq!(scratch.entries("out"), ["small-1", "small-2"]);
}

#[test]
fn threads_change_nothing() {
    let scratch = Scratch::new("threads");
    scratch.file("small.toml", SMALL);
    for (threads, dir) in [("1", "a"), ("7", "b")] {
        let out = forebay(&scratch.0, &["run", "small.toml", "--runs", "5", "--threads", threads, "--out", dir]);
        assert!(out.status.success(), "{}", text(&out.stderr));
    }
    for table in ["flows", "ports", "queue", "tcp", "queries", "timeouts", "goodput", "events", "summary"] {
        let read = |dir: &str| fs::read(scratch.0.join(dir).join(format!("{table}.parquet"))).unwrap();
        assert!(read("a") == read("b"), "{table}");
    }
}

#[test]
fn results_are_not_overwritten() {
    let scratch = Scratch::new("force");
    scratch.file("small.toml", SMALL);
    let run = |more: &[&str]| forebay(&scratch.0, &[&["run", "small.toml", "--quiet", "--out", "r"], more].concat());
    assert_eq!(text(&run(&[]).stdout), "results: r\n");
    let again = run(&[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("`r`") && text(&again.stderr).contains("--force"), "{}", text(&again.stderr));
    assert!(run(&["--force"]).status.success());
    assert_eq!(scratch.entries(""), ["r", "small.toml"]);
}

#[test]
fn progress_events_are_json() {
    let scratch = Scratch::new("json");
    scratch.file("small.toml", SMALL);
    let out = forebay(&scratch.0, &["run", "small.toml", "--progress", "json", "--out", "r"]);
    let err = text(&out.stderr);
    let events: Vec<String> = err
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["event"].as_str().unwrap().to_owned())
        .collect();
    assert!(events.first().is_some_and(|e| e == "start") && events.last().is_some_and(|e| e == "done"), "{err}");
    assert!(events.iter().any(|e| e == "run_done"), "{err}");
    let again = forebay(&scratch.0, &["run", "small.toml", "--progress", "json", "--out", "r"]);
    let event: serde_json::Value = serde_json::from_str(&text(&again.stderr)).unwrap();
    assert!(event["event"] == "error" && again.status.code() == Some(2), "{event}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing() {
    let scratch = Scratch::new("interrupt");
    // Hours of work without an interrupt.
    scratch.file("long.toml", &SMALL.replace("20ms", "1h"));
    let mut child = command(&scratch.0, &["run", "long.toml", "--progress", "json", "--quiet", "--out", "r"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    events.read_line(&mut first).unwrap();
    assert!(first.contains("\"start\""), "{first}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{rest}");
    assert!(rest.contains("\"interrupted\""), "{rest}");
    assert_eq!(scratch.entries(""), ["long.toml"]);
}
