//! `[sweep]`: points in their order, their contents, and errors.

use crate::common::VALID;
use forebay_scenario::{AxisSource, Errors, Scenario, Sweep};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::path::Path;

fn scenario(text: &str, sets: &[&str]) -> Result<Scenario, Errors> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    Scenario::from_text(forebay_backends::all(), text, "test.toml", Path::new(env!("CARGO_MANIFEST_DIR")), &sets, None)
}

/// The sweep of the valid scenario with a section appended.
fn sweep(section: &str) -> Result<Sweep, Errors> {
    scenario(&format!("{VALID}{section}"), &[])?.sweep().map(Option::unwrap)
}

fn labels(section: &str) -> Vec<String> {
    sweep(section).unwrap_or_else(|e| panic!("{}", e.render())).points().map(|p| p.label).collect()
}

#[test]
fn no_section_no_sweep() {
    assert!(scenario(VALID, &[]).unwrap().sweep().unwrap().is_none());
}

#[test]
fn the_first_axis_changes_slowest() {
    let section = r#"
[sweep]
"topology.senders" = [2, 4]
"transport.rto-min" = ["10ms", "200ms"]
seeds = 2
[sweep.zip]
"topology.bottleneck.rate" = ["1Gbps", "10Gbps"]
"topology.bottleneck.delay" = ["20us", "2us"]
[[sweep.list]]
"workload.0.rounds" = 5
[[sweep.list]]
"workload.0.rounds" = 6
"workload.0.block" = "16KB"
"#;
    let s = sweep(section).unwrap();
    assert_eq!((s.len(), s.axes().len()), (16, 6));
    let all = labels(section);
    assert_eq!(all[0], "senders=2 rto-min=10ms rate=1Gbps delay=20us rounds=5");
    assert_eq!(all[1], "senders=2 rto-min=10ms rate=1Gbps delay=20us rounds=6 block=16KB");
    assert_eq!(all[2], "senders=2 rto-min=10ms rate=10Gbps delay=2us rounds=5");
    assert_eq!(all[4], "senders=2 rto-min=200ms rate=1Gbps delay=20us rounds=5");
    assert_eq!(all[15], "senders=4 rto-min=200ms rate=10Gbps delay=2us rounds=6 block=16KB");
    assert_eq!((s.point(15).unwrap().label.as_str(), s.point(16).is_none()), (all[15].as_str(), true));
    assert_eq!(s.point(0).unwrap().values, [Some(0), Some(0), Some(0), Some(0), Some(0), None]);
    let sources: Vec<AxisSource> = s.axes().iter().map(|a| a.source).collect();
    assert_eq!(sources[1..5], [AxisSource::Grid, AxisSource::Zip, AxisSource::Zip, AxisSource::List]);
    assert_eq!((s.axes()[2].unit, s.axes()[2].values[1].number), ("bps", Some(1e10)));
    assert!(s.axes()[0].is_int() && !s.axes()[1].is_int());
}

#[test]
fn nested_tables_are_paths() {
    let forms = [
        "[sweep]\n\"topology.senders\" = [2, 4]\n\"transport.cc\" = [\"newreno\", \"reno\"]\n",
        "[sweep]\ntopology.senders = [2, 4]\ntransport.cc = [\"newreno\", \"reno\"]\n",
        "[sweep.topology]\nsenders = [2, 4]\n[sweep.transport]\ncc = [\"newreno\", \"reno\"]\n",
        "[sweep.grid]\ntopology.senders = [2, 4]\n\"transport.cc\" = [\"newreno\", \"reno\"]\n",
        "[sweep]\ntopology = { senders = [2, 4] }\ngrid = { transport = { cc = [\"newreno\", \"reno\"] } }\n",
    ];
    for form in forms {
        assert_eq!(
            labels(form),
            ["senders=2 cc=newreno", "senders=2 cc=reno", "senders=4 cc=newreno", "senders=4 cc=reno"],
            "{form}"
        );
    }
    // Within a list a table in braces is a value, whether its key is quoted or not.
    for key in ["\"transport.cc\"", "transport.cc"] {
        let s = sweep(&format!("[[sweep.list]]\n{key} = {{ kind = \"newreno\", rto-min = \"5ms\" }}\n")).unwrap();
        let p = s.point(0).unwrap();
        assert_eq!((p.settings.len(), p.settings[0].key()), (1, "transport.cc"));
        assert_eq!(p.settings[0].value(), json!({"kind": "newreno", "rto-min": "5ms"}));
        assert_eq!(p.label, "cc=newreno rto-min=5ms");
    }
    let s = sweep("[[sweep.list]]\ntransport.cc.kind = \"newreno\"\ntransport.cc.rto-min = \"5ms\"\n").unwrap();
    assert_eq!(s.point(0).unwrap().label, "kind=newreno rto-min=5ms");
}

#[test]
fn points_resolve() {
    let text =
        format!("{VALID}[sweep]\ntopology.senders = [4, 6]\ntransport.cc = [\"newreno\", {{ kind = \"reno\", mss = 500 }}]\n");
    let s = scenario(&text, &["transport.rto-min=5ms"]).unwrap();
    let sweep = s.sweep().unwrap().unwrap();
    let resolved: Vec<_> = sweep.points().map(|p| s.at(&p).unwrap().resolve().unwrap()).collect();
    assert_eq!(resolved.len(), 4);
    assert_eq!(resolved[3].variants[0].echo["topology"]["senders"], 6);
    assert_eq!(resolved[3].variants[0].echo["transport"]["mss"], 500);
    assert!(resolved.iter().all(|r| r.variants.len() == 1 && r.variants[0].echo["transport"]["rto-min"] == "5ms"));
    // A scenario with a sweep cannot be resolved itself.
    let whole = s.resolve().unwrap_err().render();
    assert!(whole.contains("a sweep over many") && whole.contains("test.toml:32"), "{whole}");
}

#[test]
fn tables_are_set_before_their_keys() {
    let section = "[sweep]\ntopology.bottleneck.queue.k = [\"5pkt\", \"7pkt\"]\n\
                   topology.bottleneck.buffer = [\"90pkt\"]\n\"topology.bottleneck.queue\" = [{ kind = \"dctcp-step\", k = \"9pkt\" }]\n";
    let s = scenario(&format!("{VALID}{section}"), &[]).unwrap();
    let point = s.sweep().unwrap().unwrap().point(1).unwrap();
    assert_eq!(point.settings[1].key(), "topology.bottleneck.queue");
    let echo = s.at(&point).unwrap().resolve().unwrap().variants.remove(0).echo;
    assert_eq!(
        echo["topology"]["bottleneck"]["queue"],
        json!({"kind": "dctcp-step", "k": "7pkt", "drop-non-ect-above-k": false})
    );
}

#[test]
fn seeds() {
    let seeds = |section: &str| sweep(&format!("[sweep]\ntopology.senders = [1]\n{section}")).unwrap().seeds(7, 2);
    assert_eq!(seeds(""), [7, 8]);
    assert_eq!(seeds("seeds = 3"), [7, 8, 9]);
    assert_eq!(seeds("seeds = [5, 1]"), [5, 1]);
}

#[test]
fn axes_from_elsewhere() {
    let mut s = scenario(&format!("{VALID}[sweep]\ntopology.senders = [2, 4]\n"), &[]).unwrap();
    s.add_axis("topology.senders=[8]").unwrap();
    s.add_axis("transport.cc=[newreno, reno]").unwrap();
    s.add_axis("workload.0.block = ['16KB', \"32KB\"]").unwrap();
    let all: Vec<String> = s.sweep().unwrap().unwrap().points().map(|p| p.label).collect();
    assert_eq!(all[..2], ["senders=8 cc=newreno block=16KB", "senders=8 cc=newreno block=32KB"]);
    assert_eq!(all.len(), 4);
    let mut plain = scenario(VALID, &[]).unwrap();
    plain.add_axis("topology.senders=[8, 9]").unwrap();
    assert_eq!(plain.sweep().unwrap().unwrap().len(), 2);
    for (text, shown) in [
        ("topology.senders", "has no `=`"),
        ("topology.senders=8", "is not a list"),
        ("topology.senders=[]", "is not a list"),
        ("topology.senders=[8", "is not a list"),
        ("seed=[1, 2]", "cannot be swept"),
        ("a..b=[1]", "not a path"),
    ] {
        let err = plain.add_axis(text).unwrap_err().render();
        assert!(err.contains(shown) && err.contains("--sweep:1:"), "{text}: {err}");
    }
    let mut wrong = scenario(VALID, &[]).unwrap();
    wrong.add_axis("topology.senders=[0]").unwrap();
    let p = wrong.sweep().unwrap().unwrap().point(0).unwrap();
    let err = wrong.at(&p).unwrap().resolve().unwrap_err().render();
    assert!(
        err.contains("--sweep:1:19") && err.contains("`senders` is 0") && err.contains("in point 0 of the sweep: senders=0"),
        "{err}"
    );
}

/// The valid scenario has 31 lines.
#[test]
fn section_errors() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("[sweep]\n", &["varies nothing", "no axis"], "32:2"),
        ("[sweep]\nseeds = 3\n", &["varies nothing"], "32:2"),
        ("[sweep]\ntopology.senders = 3\n", &["`topology.senders` must be a list of values, not 3"], "33:20"),
        ("[sweep]\ntopology.senders = []\n", &["`topology.senders` has no values"], "33:20"),
        ("[sweep]\ntopology.senders = [3, 4, 3]\n", &["lists 3 twice"], "33:27"),
        ("[sweep]\nseed = [1, 2]\n", &["`seed` cannot be swept", "seeds = [1, 2, 3]"], "33:1"),
        ("[sweep]\nsees = 3\n", &["`sees` must be a list", "did you mean `seeds`"], "33:8"),
        ("[sweep]\n\"a..b\" = [3]\n", &["not a path of keys"], "33:1"),
        ("[sweep]\nseeds = 0\ntopology.senders = [1]\n", &["`seeds` is 0", "1 to 10000"], "33:9"),
        ("[sweep]\nseeds = [1, 1]\ntopology.senders = [1]\n", &["`seeds` lists 1 twice"], "33:13"),
        ("[sweep]\nseeds = [1, -1]\ntopology.senders = [1]\n", &["a seed is -1", "at least 0"], "33:13"),
        ("[sweep]\nseeds = []\ntopology.senders = [1]\n", &["`seeds` is a list of 0"], "33:9"),
        ("[sweep]\nkeep = [\"flow\"]\ntopology.senders = [1]\n", &["did you mean `flows`"], "33:9"),
        ("[sweep]\nkeep = \"flows\"\ntopology.senders = [1]\n", &["`keep` must be a list"], "33:8"),
        ("[sweep]\nzip = [1]\n", &["write [sweep.zip]"], "33:7"),
        ("[sweep]\nlist = { a = 1 }\n", &["two brackets"], "33:8"),
        ("[sweep]\nlist = []\n", &["`list` has no points"], "33:8"),
        ("[sweep.zip]\ntopology.senders = [1, 2]\ntransport.mss = [500]\n", &["has 1 values and `topology.senders` 2"], "34:17"),
        (
            "[sweep.zip]\ntopology.senders = [1, 1]\ntransport.mss = [500, 500]\n",
            &["the same point twice: numbers 0 and 1"],
            "33:24",
        ),
        ("[[sweep.list]]\ntransport.mss = 500\n[[sweep.list]]\ntransport.mss = 500\n", &["the same point twice"], "35:17"),
        ("[sweep]\ntopology.senders = [1]\n\"topology.senders\" = [2]\n", &["the sweep varies `topology.senders` twice"], "34:1"),
        ("[sweep]\ntransport.mss = [500]\n[[sweep.list]]\ntransport.mss = 600\n", &["varies `transport.mss` twice"], "35:11"),
    ];
    for (section, parts, place) in cases {
        let err = sweep(section).map(|_| ()).expect_err(section).render();
        assert!(
            parts.iter().all(|p| err.contains(p)) && err.contains(&format!("test.toml:{place}")),
            "{section}{parts:?}\n{err}"
        );
    }
    let many = format!("[sweep]\ntopology.senders = [{}]\n", (1..=1001).map(|i| i.to_string()).collect::<Vec<_>>().join(", "));
    let err =
        sweep(&format!("{many}\"workload.0.rounds\" = {}", many.split_once("= ").unwrap().1)).map(|_| ()).unwrap_err().render();
    assert!(err.contains("1002001 points: 1001 x 1001") && err.contains("at most 1000000") && err.contains(":32:"), "{err}");
}

/// Values are checked at their positions, and errors name the point.
#[test]
fn value_errors() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("topology.senders = [4, -1]", &["`senders` is -1", "in point 1 of the sweep: senders=-1"], "33:24"),
        ("topology.sendrs = [4]", &["unknown key `sendrs`", "did you mean `senders`", "in point 0 of the sweep"], "33:10"),
        ("topolgy.senders = [4]", &["unknown key `topolgy`", "did you mean `topology`"], "33:9"),
        ("workload.7.block = [\"1KB\"]", &["`7` is not the number of an entry of `workload`", "0 to 1", "in point 0"], "33:12"),
        ("topology.senders.x = [1]", &["`senders` holds 8, so it has no `x`"], "33:18"),
        ("transport.cc = [\"newreno\", \"newren\"]", &["did you mean `newreno`", "in point 1 of the sweep: cc=newren"], "33:28"),
        // The value is legal by itself, but conflicts with another; the point is named.
        (
            "topology.bottleneck.buffer = [\"100pkt\", \"10pkt\"]",
            &["`k` = 20pkt is above the buffer", "in point 1", "buffer=10pkt"],
            "9:",
        ),
    ];
    for (line, parts, place) in cases {
        let s = scenario(&format!("{VALID}[sweep]\n{line}\n"), &[]).unwrap();
        let sweep = s.sweep().unwrap_or_else(|e| panic!("{line}: {}", e.render())).unwrap();
        let all: Vec<Errors> = sweep.points().filter_map(|p| s.at(&p).and_then(|s| s.resolve()).err()).collect();
        let err = Errors::merged(all).render();
        assert!(parts.iter().all(|p| err.contains(p)) && err.contains(&format!("test.toml:{place}")), "{line} {parts:?}\n{err}");
    }
    // An error of the base is reported once, not for every point.
    let s = scenario(
        &VALID.replace("mss = 1460", "mss = 1").replace("[observe]", "[sweep]\ntopology.senders = [5, 6, 7]\n[observe]"),
        &[],
    );
    let s = s.unwrap();
    let sweep = s.sweep().unwrap().unwrap();
    let errors = Errors::merged(sweep.points().filter_map(|p| s.at(&p).and_then(|s| s.resolve()).err()));
    assert_eq!(errors.list().len(), 1, "{}", errors.render());
    assert!(errors.render().contains("in point 0 of the sweep: senders=5"));
}

#[test]
fn explained() {
    let s = sweep("[sweep]\ntopology.senders = [1, 2, 3, 4, 5, 6, 7]\n[sweep.zip]\ntransport.mss = [500, 600]\n").unwrap();
    let text = s.explain(2, 3);
    for part in [
        "14 points x 2 transports x 3 seeds = 84 runs",
        "topology.senders: 1, 2, 3",
        "mss (zip): 500, 600",
        "point 1: senders=1 mss=600",
        "up to point 13",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A value as written in a file.
fn toml(v: &Json) -> String {
    match v {
        Json::Object(t) => {
            format!("{{ {} }}", t.iter().map(|(k, v)| format!("{k} = {}", toml(v))).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A point equals its settings applied with `--set`.
    #[test]
    fn points_are_overrides(
        senders in prop::collection::btree_set(4..40i64, 1..4),
        blocks in prop::collection::btree_set(1..500u32, 1..4),
        rtos in prop::collection::btree_set(1..300u32, 1..3),
        pick in any::<prop::sample::Index>(),
    ) {
        let list = |items: Vec<String>| items.join(", ");
        let senders = list(senders.iter().map(i64::to_string).collect());
        let blocks = list(blocks.iter().map(|b| format!("\"{b}KB\"")).collect());
        let rtos = list(rtos.iter().map(|r| format!("\"newreno\", {{ kind = \"newreno\", rto-min = \"{r}ms\" }}")).take(1).collect());
        let text = format!("{VALID}[sweep]\ntopology.senders = [{senders}]\n\"workload.0.block\" = [{blocks}]\ntransport.cc = [{rtos}]\n");
        let s = scenario(&text, &[]).unwrap();
        let sweep = s.sweep().unwrap().unwrap();
        let point = sweep.point(pick.index(sweep.len())).unwrap();
        let here = s.at(&point).unwrap().resolve().unwrap();
        let sets: Vec<String> = point.settings.iter().map(|s| format!("{}={}", s.key(), toml(&s.value()))).collect();
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let there = scenario(VALID, &sets).unwrap().resolve().unwrap();
        prop_assert_eq!(&here.variants[0].echo, &there.variants[0].echo);
        prop_assert_eq!(format!("{:?}", here.variants[0].config), format!("{:?}", there.variants[0].config));
        prop_assert_eq!(&here.variants[0].label, &there.variants[0].label);
        prop_assert_eq!(here.files, there.files);
    }
}
