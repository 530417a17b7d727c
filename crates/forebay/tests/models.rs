//! Closed forms from outside: as a world, and beside a simulation.

use crate::scratch::{SMALL, Scratch, forebay, text};
use std::fs;

/// The same command on another backend: predictions of its models, and a refusal with keys and reasons for uncovered scenarios.
#[test]
fn world_model_predicts_or_refuses() {
    let scratch = Scratch::new("world");
    let marked =
        SMALL.replace("buffer = \"100pkt\" }", "buffer = \"100pkt\", queue = { kind = \"dctcp-step\", k = \"20pkt\" } }");
    scratch.file("dctcp.toml", &marked.replace("\"newreno\"", "\"dctcp\""));
    let manifest = |dir: &str| fs::read_to_string(scratch.0.join(dir).join("manifest.json")).unwrap();
    let summary = |dir: &str| {
        let text = fs::read_to_string(scratch.0.join(dir).join("summary.csv")).unwrap();
        let rows: Vec<Vec<String>> = text.lines().map(|l| l.split(',').map(str::to_owned).collect()).collect();
        let column = |name: &str| rows[0].iter().position(|c| c == name).unwrap();
        ["queue_max_pkts", "drops", "port"].map(|name| rows[1][column(name)].clone())
    };
    for world in ["sim", "model"] {
        let out = forebay(&scratch.0, &["run", "dctcp.toml", "--world", world, "--format", "csv", "--out", world]);
        assert!(out.status.success(), "{world}: {}", text(&out.stderr));
        assert!(text(&out.stdout).contains(&format!("world: {world}, stack: ")), "{}", text(&out.stdout));
        assert!(manifest(world).contains(&format!("\"world\": \"{world}\"")), "{}", manifest(world));
    }
    // One run, for any number of seeds: an exact number has no interval.
    let out = forebay(&scratch.0, &["run", "dctcp.toml", "--world", "model", "--runs", "3", "--out", "once"]);
    let printed = text(&out.stdout);
    assert!(printed.contains("queue max") && !printed.contains('±'), "{printed}");
    assert!(manifest("once").contains("one run stands for all 3"), "{}", manifest("once"));
    // K + N, and no counters.
    assert_eq!(summary("model"), ["24", "", "bottleneck"]);
    assert_ne!(summary("sim")[1], "");
    scratch.file("small.toml", SMALL);
    let out = forebay(&scratch.0, &["check", "small.toml", "--world", "model"]);
    let err = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{err}");
    for part in ["small.toml:13", "no transport runs dctcp", "no incast workload", "`transport.cc`", "`workload`"] {
        assert!(err.contains(part), "no {part} in: {err}");
    }
    // The refused variants are named.
    scratch.file("both.toml", &marked.replace("\"newreno\"", "[\"newreno\", \"dctcp\"]"));
    let err = text(&forebay(&scratch.0, &["check", "both.toml", "--world", "model"]).stderr);
    assert!(err.contains("`model` does not run the variant `newreno`: ") && !err.contains("the variant `dctcp`"), "{err}");
    // Two transport groups of the only variant are refused for the same reason, which is printed once.
    let groups = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/coexistence/fig06.toml");
    let err = text(&forebay(&scratch.0, &["check", groups, "--world", "linux"]).stderr);
    assert!(err.contains("`linux` does not run this: the kernel opens every connection with a handshake"), "{err}");
    let out = forebay(&scratch.0, &["run", "small.toml", "--world", "moon"]);
    assert!(text(&out.stderr).contains("sim") && text(&out.stderr).contains("model"), "{}", text(&out.stderr));
}

/// The incast of the publication: packets of 1000 bytes, 1 Gbit/s, D = 100 us, B = 64, blocks of 256 KB. With timestamps, because the model
/// has one RTO a block, and without them back-offs outlive blocks.
const INCAST: &str = r#"
name = "incast"
runs = 2
[topology]
kind = "many-to-one"
senders = 16
access = { rate = "1Gbps", delay = "21us" }
bottleneck = { rate = "1Gbps", delay = "21us", buffer = "64pkt" }
[transport]
stack = "ns2"
cc = ["newreno", "dctcp"]
mss = 1000
header = 0
ack-size = 1
limited-transmit = false
timestamps = true
[[workload]]
kind = "incast"
request = "0B"
block = "256KB"
rounds = 60
jitter = "100us"
"#;

/// One value of a model of a variant in the JSON output.
fn value<'a>(out: &'a serde_json::Value, model: &str, name: &str) -> &'a serde_json::Value {
    let models = out[0]["models"].as_array().unwrap();
    let model = models.iter().find(|m| m["model"] == model).unwrap_or_else(|| panic!("{model}: {out:#}"));
    let found = model["values"].as_array().unwrap().iter().find(|v| v["name"].as_str().unwrap().starts_with(name));
    found.unwrap_or_else(|| panic!("{name}: {out:#}"))
}

fn json(scratch: &Scratch, first: &[&str], args: &[&str]) -> serde_json::Value {
    let out = forebay(&scratch.0, &[first, args].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    serde_json::from_str(&text(&out.stdout)).unwrap()
}

/// The closed forms of `s.toml` in a run of the backend `model`, by variant.
fn predicted(scratch: &Scratch, args: &[&str]) -> serde_json::Value {
    json(scratch, &["run", "s.toml", "--world", "model", "--no-report", "--format", "json"], args)["variants"].take()
}

/// The same without a run: only the backend `model`.
fn evaluated(scratch: &Scratch, args: &[&str]) -> serde_json::Value {
    json(scratch, &["compare", "s.toml", "--worlds", "model", "--models", "--format", "json"], args)["closed_forms"].take()
}

/// The closed forms of `s.toml` beside its simulation, on the stack that it names, by variant.
fn beside_simulation(scratch: &Scratch, args: &[&str]) -> serde_json::Value {
    let mut all = json(scratch, &["compare", "s.toml", "--worlds", "sim", "--models", "--format", "json"], args);
    let columns = all["columns"].as_array_mut().unwrap();
    columns.iter_mut().find(|c| c["stack"].is_null() || c["stack"] == "ns2").unwrap()["variants"].take()
}

#[test]
fn closed_forms_beside_simulation() {
    let scratch = Scratch::new("model");
    scratch.file("s.toml", &INCAST.replace(r#"["newreno", "dctcp"]"#, r#""newreno""#));
    let out = beside_simulation(&scratch, &[]);
    assert_eq!(out[0]["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(value(&out, "incast", "N*, collapse")["model"], 13.0);
    assert_eq!(value(&out, "incast", "N*, first of three")["model"], 15.0);
    let goodput = value(&out, "incast", "goodput");
    assert_eq!(goodput["unit"], "bit/s");
    assert!((goodput["model"].as_f64().unwrap() / 0.1577e9 - 1.0).abs() < 1e-3, "{goodput}");
    let (sim, model) = (goodput["sim"]["mean"].as_f64().unwrap(), goodput["model"].as_f64().unwrap());
    assert_eq!(goodput["sim"]["runs"], 2);
    assert_eq!(goodput["difference"].as_f64().unwrap(), sim / model - 1.0);
    assert!((sim / model - 1.0).abs() < 0.12, "{goodput}");
    // Nothing is written.
    assert_eq!(scratch.entries(""), ["s.toml"]);

    let table = text(&forebay(&scratch.0, &["compare", "s.toml", "--worlds", "sim", "--models"]).stdout);
    let row = table.lines().find(|l| l.starts_with("  goodput ") && l.ends_with('%')).unwrap();
    assert!(row.contains("Gbps") && row.contains("0.158") && row.contains('±') && row.ends_with('%'), "{table}");
    assert!(table.contains("D: 100.016us") && table.contains("S_b: 256KB = 256 packets") && !table.contains('\x1b'), "{table}");
}

#[test]
fn closed_forms_give_reasons() {
    let scratch = Scratch::new("why");
    let step = r#"buffer = "64pkt", queue = { kind = "dctcp-step", k = "20pkt" }"#;
    scratch.file("s.toml", &INCAST.replace(r#"buffer = "64pkt""#, step));
    let evaluate = |args: &[&str]| {
        let out = forebay(&scratch.0, &[&["compare", "s.toml", "--worlds", "model", "--models"], args].concat());
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    let printed = evaluate(&[]);
    assert!(!printed.contains("simulation"), "{printed}");
    let (newreno, dctcp) = printed.split_once("\ndctcp\n").unwrap();
    // A step that marks no packet is drop-tail to NewReno.
    assert!(newreno.contains("N*, collapse from") && newreno.contains("dctcp: no transport runs dctcp"), "{printed}");
    assert!(dctcp.contains("incast: the model describes NewReno's sawtooth") && dctcp.contains("smallest K"), "{printed}");
    assert!(dctcp.contains("trim: no transport runs trim") && dctcp.contains("share: requires endless flows"), "{printed}");
    for (set, why) in [
        ("topology.senders=65", "65 senders exceed the buffer of 64 packets"),
        ("transport.stack=linux", "RACK-TLP repairs"),
        ("transport.dup-thresh=4", "`dup-thresh` = 3, but it is 4"),
        ("transport.slow-start-after-idle=rfc5681", "windows do not survive"),
        ("transport.shim=srpt", "the model excludes the shim"),
    ] {
        let printed = evaluate(&["--set", set]);
        assert!(printed.contains(why), "{set}: {printed}");
    }
    scratch.file("s.toml", &INCAST.replace(r#"buffer = "64pkt""#, step).replace(r#"["newreno", "dctcp"]"#, r#""newreno""#));
    let out = forebay(&scratch.0, &["run", "s.toml", "--world", "model", "--no-report"]);
    assert!(
        text(&out.stdout).contains("N*, collapse from") && text(&out.stdout).contains("share: requires endless flows"),
        "{out:?}"
    );
    let json = predicted(&scratch, &[]);
    assert_eq!(value(&json, "incast", "goodput")["sim"], serde_json::Value::Null);
    let prin = evaluated(&scratch, &["--set", "transport.shim=prin"]);
    assert_eq!(value(&prin, "incast", "N*, collapse")["model"], 53.0);
    assert!(prin.to_string().contains("has no reserve for the last packets"), "{prin}");
    // With a queue that does: no timeouts up to N*, so that more arrives than under NewReno.
    let kept = ["--set", "transport.shim=prin", "--set", "topology.bottleneck.queue=protect"];
    let prin = evaluated(&scratch, &kept);
    let goodput = |json: &serde_json::Value| value(json, "incast", "goodput")["model"].as_f64().unwrap();
    assert!(goodput(&prin) > goodput(&json), "{} under PRIN, {} without", goodput(&prin), goodput(&json));
    assert_eq!(value(&prin, "incast", "timeouts per block")["model"], 0.0);
}

/// The model's value of the AIMD model.
fn of_share(out: &serde_json::Value, name: &str) -> f64 {
    let v = &value(out, "share", name)["model"];
    v["mean"].as_f64().or(v.as_f64()).unwrap_or_else(|| panic!("{name}: {v}"))
}

/// Long flows: DCTCP's queue, TRIM's queue, shares with the alpha of the run, and the capacity of the link.
#[test]
fn closed_forms_of_long_flows() {
    let scratch = Scratch::new("long-models");
    let step = r#"buffer = "100pkt", queue = { kind = "dctcp-step", k = "20pkt" }"#;
    let observed = "\n[observe]\nwarmup = \"50ms\"\ntcp = { flows = [0, 1], every = \"1ms\" }\n";
    let long = SMALL.replace("20ms", "300ms").replace("senders = 4", "senders = 2").replace(r#"buffer = "100pkt""#, step);
    let near = |v: &serde_json::Value, part: f64| assert!(v["difference"].as_f64().unwrap().abs() < part, "{v}");

    scratch.file("s.toml", &(long.replace(r#"cc = "newreno""#, r#"cc = "dctcp""#) + observed));
    let out = beside_simulation(&scratch, &[]);
    near(value(&out, "dctcp", "largest queue"), 0.25);
    near(value(&out, "dctcp", "middle of the sawtooth"), 0.15);
    near(value(&out, "ceilings", "goodput of the endless flows"), 0.02);

    scratch.file("s.toml", &(long.replace(r#"cc = "newreno""#, r#"cc = "trim""#) + observed));
    let out = beside_simulation(&scratch, &[]);
    assert_eq!(value(&out, "trim", "K, upper")["unit"], "s");
    // At 40 us the queue at K is three packets, and the one more of each flow that is cut only then (TRIM Eq. 8) two thirds of that: the
    // mean is between the two.
    let of = |name: &str, who: &str| {
        let v = &value(&out, "trim", name)[who];
        v["mean"].as_f64().or(v.as_f64()).unwrap_or_else(|| panic!("{name}, {who}: {v}"))
    };
    let between = of("queue at K", "model")..of("largest queue", "model");
    assert!(between.contains(&of("queue at K", "sim")), "{between:?}: {out:#}");
    // At 200 us, as in its publication, packets are small against it.
    let far = ["--set", "topology.access.delay=50us", "--set", "topology.bottleneck.delay=50us"];
    near(value(&beside_simulation(&scratch, &far), "trim", "queue at K"), 0.25);

    let groups = "stack = \"ns2\"\n[[transport.group]]\nname = \"a\"\ncc = \"newreno\"\necn = \"classic\"\n\
                  [[transport.group]]\nname = \"b\"\ncc = \"dctcp\"\n";
    let pair = "from = \"s0\"\nto = \"receiver\"\ntransport = \"a\"\n\
                [[workload]]\nkind = \"long\"\nclass = \"second\"\nfrom = \"s1\"\nto = \"receiver\"\ntransport = \"b\"\n";
    let two =
        long.replace("stack = \"ns2\"\ncc = \"newreno\"\n", groups).replace("from = \"senders\"\nto = \"receiver\"\n", pair);
    scratch.file("s.toml", &(two.clone() + observed));
    let out = beside_simulation(&scratch, &[]);
    // Alpha is at most 1, so the model sees DCTCP ahead, and so does the run.
    let ratio = value(&out, "share", "throughput of a `b` flow over a `a` flow");
    assert!(ratio["model"].as_f64().unwrap() > 1.0 && ratio["sim"]["mean"].as_f64().unwrap() > 1.0, "{ratio}");
    assert_eq!(value(&evaluated(&scratch, &[]), "share", "throughput")["model"], serde_json::Value::Null);

    // Eq. 3 for three flows: two of TCP have the weight 2 each, that of DCTCP 2 / alpha.
    let group = "[[transport.group]]\nname = \"c\"\ncc = \"reno\"\necn = \"classic\"\n[[workload]]\n";
    let third = "[[workload]]\nkind = \"long\"\nclass = \"third\"\nfrom = \"s2\"\nto = \"receiver\"\ntransport = \"c\"\n";
    let three = two.replace("senders = 2", "senders = 3").replacen("[[workload]]\n", group, 1) + third;
    scratch.file("s.toml", &(three + observed));
    let out = beside_simulation(&scratch, &[]);
    let share = |group: &str| of_share(&out, &format!("share of a `{group}` flow"));
    let ratio = of_share(&out, "throughput of a `b` flow over a `c` flow");
    let expected = [(1.0 / (2.0 + ratio), "a"), (ratio / (2.0 + ratio), "b"), (1.0 / (2.0 + ratio), "c")];
    for (expected, group) in expected {
        assert!((share(group) - expected).abs() < 1e-3, "{group}: {} instead of {expected}", share(group));
    }
}
