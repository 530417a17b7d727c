//! Every file in `scenarios/` is valid, runs, and shows the effect that its comment describes.

use forebay_tests::{execute, repository};
use forebay_types::Time;

#[test]
fn every_example_runs() {
    let mut seen = 0;
    for entry in std::fs::read_dir(repository().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let resolved = forebay_scenario::load(forebay_backends::all(), &path, &[], None)
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

/// Every registry entry appears in an example.
#[test]
fn every_registry_entry_has_example() {
    let mut texts = String::new();
    for entry in std::fs::read_dir(repository().join("scenarios")).unwrap() {
        texts.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    for section in forebay_scenario::describe(forebay_backends::all()) {
        let wanted =
            ["congestion controls", "shims", "queues", "topologies", "workloads"].iter().any(|w| section.title.ends_with(w));
        for item in section.items.iter().filter(|_| wanted) {
            let named = format!("\"{}\"", item.name);
            // Exceptions: Reno is NewReno without its recovery, the shim of pFabric comes with its congestion control, and a replay needs a list.
            assert!(
                texts.contains(&named) || ["reno", "srpt", "replay"].contains(&item.name),
                "no file in scenarios/ has {named} ({})",
                section.title
            );
        }
    }
}

/// `scenarios/tenants.toml`: responses cross the link on which the bulk transfers are, and give way to them.
#[test]
fn tenants_share_a_link() {
    let resolved = forebay_scenario::load(forebay_backends::all(), &repository().join("scenarios/tenants.toml"), &[], None)
        .unwrap()
        .resolve()
        .unwrap();
    let r = execute(&resolved.variants[0].config);
    let bytes = |group: usize| r.flows.iter().filter(|f| f.group.index() == group).map(|f| f.bytes_acked).sum::<u64>();
    let (services, bulk) = (bytes(0), bytes(1));
    assert!(services * 4 < bulk, "DCTCP {services} B beside CUBIC's {bulk} B");
}
