//! Plans: their units, and the inputs of unit keys.

use forebay_runner::sweep::{Done, Plan, Status, SweepError, UnitRecord, UnitStore, Watcher, run_units};
use forebay_scenario::{KEEPABLE, Scenario};
use forebay_store::RunTable;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const BASE: &str = r#"
name = "base"
duration = "1ms"
[topology]
kind = "many-to-one"
senders = 2
access = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "1Gbps", delay = "10us", buffer = "100pkt" }
[transport]
stack = "ns2"
cc = "newreno"
[[workload]]
kind = "poisson"
sizes = { cdf = "sizes.cdf" }
load = 0.2
from = "senders"
to = "receiver"
"#;

/// A directory with a size table, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("forebay-plan-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("sizes.cdf"), "1000 0\n2000 1\n").unwrap();
        Scratch(path)
    }

    fn plan_of(&self, text: &str, threads: usize) -> Result<Plan, SweepError> {
        let scenario = Scenario::from_text(forebay_backends::all(), text, "s.toml", &self.0, &[], None)?;
        let sweep = scenario.sweep()?.unwrap();
        Plan::new(&scenario, sweep, threads, &AtomicBool::new(false), &mut |_| {})
    }

    fn keys(&self, text: &str) -> Vec<String> {
        let plan = self.plan_of(text, 2).unwrap_or_else(|e| panic!("{e}: {e:?}"));
        plan.units().iter().map(|u| u.key().to_string()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn all_tables_can_be_kept() {
    let tables: Vec<&str> = RunTable::ALL.into_iter().filter(|t| *t != RunTable::Summary).map(RunTable::name).collect();
    assert_eq!(KEEPABLE, tables);
}

#[test]
fn unit_order_independent_of_threads() {
    let s = Scratch::new("order");
    let text = format!(
        "{}[sweep]\ntopology.senders = [{}]\nseeds = 2\n",
        BASE.replace("\"newreno\"", "[\"newreno\", \"reno\"]"),
        (1..=700).map(|i| i.to_string()).collect::<Vec<_>>().join(",")
    );
    let plan = s.plan_of(&text, 3).unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(plan.units().len(), 2800);
    let u = &plan.units()[5];
    assert_eq!((u.point(), u.variant(), u.run(), u.seed(), plan.names(u).variant.as_str()), (1, 0, 1, 2, "newreno"));
    assert_eq!(plan.label(&plan.units()[7]), "point 1 (senders=2), reno, seed 2");
    let keys = |p: &Plan| p.units().iter().map(|u| *u.key()).collect::<Vec<_>>();
    assert_eq!(keys(&plan), keys(&s.plan_of(&text, 1).unwrap_or_else(|e| panic!("{e:?}"))));
    let mut distinct = keys(&plan);
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 2800);
}

#[test]
fn equal_points_run_once() {
    let s = Scratch::new("same");
    let plan = s.plan_of(&format!("{BASE}[sweep]\ntopology.bottleneck.rate = [\"1Gbps\", \"2Gbps\", \"1000Mbps\"]\n"), 1);
    let plan = plan.unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(plan.units().iter().map(|u| u.same_as()).collect::<Vec<_>>(), [None, None, Some(0)]);
    assert_eq!(plan.distinct(), [0, 1]);
}

#[test]
fn inputs_of_keys() {
    let s = Scratch::new("keys");
    let text = format!("{BASE}[sweep]\ntopology.senders = [2, 3]\n");
    let base = s.keys(&text);
    let same = |what: &str, text: &str| assert_eq!(s.keys(text), base, "{what}");
    let other = |what: &str, text: &str| {
        let keys = s.keys(text);
        assert!(keys.iter().all(|k| !base.contains(k)), "{what}");
    };
    same("a name", &text.replace("\"base\"", "\"other\""));
    same("a comment", &format!("# so it is\n{text}"));
    same("a default written out", &text.replace("cc =", "rto-min = \"200ms\"\ncc ="));
    same("more seeds than runs", &text.replace("[sweep]\n", "[sweep]\nseeds = [1]\n"));
    other("what is kept", &text.replace("[sweep]\n", "[sweep]\nkeep = [\"flows\"]\n"));
    other("a value", &text.replace("load = 0.2", "load = 0.25"));
    other("a default", &text.replace("cc =", "rto-min = \"100ms\"\ncc ="));
    other("a seed", &text.replace("[sweep]\n", "[sweep]\nseeds = [2]\n"));
    other("what is observed", &format!("{text}[observe]\nwarmup = \"100us\"\n"));
    fs::write(s.0.join("sizes.cdf"), "1000 0\n2001 1\n").unwrap();
    other("a file", &text);
}

#[test]
fn errors_are_reported_once() {
    let s = Scratch::new("wrong");
    let list = (0..2000).map(|i| if i % 2 == 0 { i.to_string() } else { format!("-{i}") }).collect::<Vec<_>>().join(",");
    let text = format!("{BASE}[sweep]\ntopology.senders = [{}]\n", list.trim_start_matches("0,"));
    let Err(SweepError::Scenario(errors)) = s.plan_of(&text, 2) else { panic!("no mistakes") };
    // Only of the first invalid points.
    assert_eq!(errors.list().len(), 3, "{}", errors.render());
    assert!(errors.render().contains("`senders` is -1") && errors.render().contains("in point 0 of the sweep: senders=-1"));
    let Err(SweepError::Scenario(errors)) = s.plan_of(&text.replace("load = 0.2", "laod = 0.2").replace('-', ""), 2) else {
        panic!("no mistakes")
    };
    assert_eq!(errors.list().iter().filter(|e| e.message().contains("laod")).count(), 1, "{}", errors.render());
    assert!(!Path::new("out").exists());
}

/// Ends by a limit or by request.
struct Looks(Option<String>);

impl Watcher for Looks {
    fn tick(&mut self, _: &Status) {}
    fn done(&mut self, _: &Plan, _: usize, _: &UnitRecord, _: Done) {}
    fn limit(&self) -> Option<String> {
        self.0.clone()
    }
}

#[test]
fn early_end_reports_cached_runs() {
    let s = Scratch::new("looks");
    let text = format!("{BASE}[sweep]\ntopology.senders = [2, 3, 4]\nseeds = 2\n");
    let scenario =
        Scenario::from_text(forebay_backends::all(), &text, "s.toml", &s.0, &[], None).unwrap_or_else(|e| panic!("{e:?}"));
    let plan = s.plan_of(&text, 1).unwrap_or_else(|e| panic!("{e:?}"));
    let (store, todo) = (UnitStore::open(&s.0.join("units")), plan.distinct());
    let run = |todo: &[u32], stop: bool, limit: Option<&str>| {
        let mut watcher = Looks(limit.map(str::to_owned));
        run_units(&scenario, &plan, todo, &store, 1, &AtomicBool::new(stop), &mut watcher).unwrap_or_else(|e| panic!("{e:?}"))
    };
    assert!(run(&todo[..4], false, None).complete().is_ok());
    let asked = run(&todo, true, None);
    assert!(matches!(asked.complete(), Err(SweepError::Interrupted { done: 4, total: 6 })), "{:?}", asked.complete());
    // A limit writes tables of the finished units.
    let limited = run(&todo, true, Some("--max-time"));
    assert_eq!((limited.done(), limited.get(&plan, 3).is_some(), limited.get(&plan, 4).is_some()), (4, true, false));
    assert!(matches!(limited.complete(), Err(SweepError::Interrupted { done: 4, total: 6 })));
}
