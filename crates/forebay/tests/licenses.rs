//! `forebay licenses`: notices of the software that the program contains.

use crate::scratch::{forebay, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

fn notices() -> String {
    let out = forebay(Path::new("."), &["licenses"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    text(&out.stdout)
}

/// Packages that the delivered programs link on Linux, with all features: normal dependencies, without procedural macros.
fn linked() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"])
        .args(["--features", "forebay/bpf,forebay/mpi,forebay-hosts/bpf"])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    let graph: Value = serde_json::from_slice(&out.stdout).unwrap();
    let by_id = |list: &Value| -> BTreeMap<String, Value> {
        let items = list.as_array().unwrap();
        items.iter().map(|item| (item["id"].as_str().unwrap().to_owned(), item.clone())).collect()
    };
    let (packages, nodes) = (by_id(&graph["packages"]), by_id(&graph["resolve"]["nodes"]));
    let delivered = |p: &Value| p["source"].is_null() && (p["name"] == "forebay" || p["name"] == "forebay-py");
    let mut todo: Vec<&str> = packages.iter().filter(|(_, p)| delivered(p)).map(|(id, _)| id.as_str()).collect();
    assert_eq!(todo.len(), 2);
    let mut seen = BTreeSet::new();
    while let Some(id) = todo.pop() {
        let targets = packages[id]["targets"].as_array().unwrap();
        let is_macro = targets.iter().any(|t| t["kind"].as_array().unwrap().iter().any(|k| k == "proc-macro"));
        if is_macro || !seen.insert(id) {
            continue;
        }
        let normal = |d: &&Value| d["dep_kinds"].as_array().unwrap().iter().any(|k| k["kind"].is_null());
        todo.extend(nodes[id]["deps"].as_array().unwrap().iter().filter(normal).map(|d| d["pkg"].as_str().unwrap()));
    }
    let others = seen.into_iter().map(|id| &packages[id]).filter(|p| !p["source"].is_null());
    others.map(|p| format!("{} {}", p["name"].as_str().unwrap(), p["version"].as_str().unwrap())).collect()
}

/// The list has exactly the linked packages.
#[test]
fn notices_name_every_linked_package() {
    let printed = notices();
    let listed: BTreeSet<&str> = printed.lines().filter_map(|l| l.strip_prefix("* ")).collect();
    let linked = linked();
    assert!(linked.len() > 100, "{linked:?}");
    let missing: Vec<_> = linked.iter().filter(|p| !listed.contains(p.as_str())).collect();
    assert!(missing.is_empty(), "run tools/notices.py: {missing:?} are not in THIRD-PARTY-NOTICES");
    let versioned = |l: &&&str| l.split_once(' ').is_some_and(|(_, v)| v.starts_with(|c: char| c.is_ascii_digit()));
    let gone: Vec<_> = listed.iter().filter(versioned).filter(|l| !linked.contains(**l)).collect();
    assert!(gone.is_empty(), "run tools/notices.py: {gone:?} are no longer linked");
    for other in ["Rust standard library", "uPlot (in the report)", "libbpf (C library, in builds with `bpf`)"] {
        assert!(listed.contains(other), "{other}");
    }
}

/// The bill of materials has exactly the linked packages, with checksums.
#[test]
fn sbom_names_every_linked_package() {
    let out = forebay(Path::new("."), &["licenses", "--sbom"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let bill: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((bill["bomFormat"].as_str(), bill["specVersion"].as_str()), (Some("CycloneDX"), Some("1.5")));
    let components = bill["components"].as_array().unwrap();
    let crates = components.iter().filter(|c| c["purl"].as_str().is_some_and(|p| p.starts_with("pkg:cargo/")));
    let name = |c: &Value| format!("{} {}", c["name"].as_str().unwrap(), c["version"].as_str().unwrap());
    let listed: BTreeSet<String> = crates
        .map(|c| {
            assert_eq!(c["hashes"][0]["content"].as_str().map(str::len), Some(64), "{c}");
            name(c)
        })
        .collect();
    assert!(listed == linked(), "run tools/sbom.py: {:?}", listed.symmetric_difference(&linked()));
    // Every component is used by another one, and every reference names a component.
    let known: BTreeSet<&str> = components.iter().map(|c| c["bom-ref"].as_str().unwrap()).collect();
    let used = bill["dependencies"].as_array().unwrap().iter().filter_map(|d| d["dependsOn"].as_array()).flatten();
    assert_eq!(used.map(|d| d.as_str().unwrap()).collect::<BTreeSet<_>>(), known);
}

/// Each license comes with its text, and no text names a machine.
#[test]
fn notices_have_the_licence_texts() {
    let printed = notices();
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "Permission is hereby granted, free of charge, to any person obtaining a copy of this software",
        "UNICODE LICENSE V3",
        "Copyright 2011, The Snappy-Rust Authors. All rights reserved.",
        "Neither the name of the copyright holder nor the names of its contributors",
        "Permission to use, copy, modify, and/or distribute this software for any purpose",
        "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION",
        "This product includes software developed at The Apache Software Foundation",
        "Copyright (c) 2022 Leon Sorokin",
    ] {
        assert!(words.contains(text), "{text}");
    }
    assert!(!printed.contains("/.cargo/") && !printed.contains("registry"), "no paths and no hosts of this machine");
}
