//! Which crates may know which: an experiment knows nothing of what runs it, and nobody but the list of worlds names a world.

use forebay_tests::sources;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

/// Crates of the workspace that `name` depends on, tests not counted.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).expect("a manifest");
    let section = manifest.split("\n[dependencies]\n").nth(1).expect("dependencies").split("\n[").next().unwrap_or("");
    let names = section.lines().filter_map(|l| l.strip_prefix("forebay-")?.split(['.', ' ']).next());
    names.map(str::to_owned).collect()
}

/// Crates of the workspace that are built before `name` can be, tests not counted.
fn built_before(name: &str) -> BTreeSet<String> {
    let (mut found, mut left) = (BTreeSet::new(), dependencies(name));
    while let Some(name) = left.pop() {
        if found.insert(name.clone()) {
            left.extend(dependencies(&name));
        }
    }
    found
}

#[test]
fn an_experiment_depends_on_values_alone() {
    let mut found = dependencies("experiment");
    found.sort();
    assert_eq!(found, ["queues", "types"]);
}

#[test]
fn apps_depend_on_experiments_alone_and_the_simulator_on_apps() {
    let mut found = dependencies("apps");
    found.sort();
    assert_eq!(found, ["experiment", "types"]);
    assert!(dependencies("sim").contains(&"apps".to_owned()));
}

/// They are given their worlds by the program, so that they are built without any.
#[test]
fn scenarios_stores_and_executors_are_built_without_a_world() {
    for name in ["scenario", "store", "runner", "analysis", "report"] {
        let known = built_before(name);
        assert!(known.contains("experiment"), "{known:?}");
        for world in ["sim", "model", "backends"] {
            assert!(!known.contains(world), "{name} depends on {world}, by way of one of {known:?}");
        }
        let mut files = Vec::new();
        sources(&crates().join(name).join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file");
            // What stands in tests is not built with the crate.
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
            for word in ["forebay_sim", "forebay_model", "forebay_backends", "\"sim\""] {
                assert!(!text.contains(word), "{} names a world: {word}", file.display());
            }
        }
    }
}

/// The floors of the scenario crate, the lowest first.
const FLOORS: [&str; 3] = ["text", "schema", "resolve"];

/// The modules that `text` names with `prefix::`, alone or in braces.
fn named<'a>(text: &'a str, prefix: &str) -> Vec<&'a str> {
    let word = |s: &'a str| s.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
    let mut list = Vec::new();
    for (i, _) in text.match_indices(prefix) {
        let rest = &text[i + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(inside) => list.extend(inside.split('}').next().unwrap_or("").split(',').map(|s| word(s.trim()))),
            None => list.push(word(rest)),
        }
    }
    list
}

/// A source file without its tests, which may look at anything.
fn without_tests(mut text: String) -> String {
    text.truncate(text.find("#[cfg(test)]\nmod ").unwrap_or(text.len()));
    text
}

/// Name and text of every file of one folder, and of those folders in it that are modules, each folder as one.
fn modules(folder: &Path) -> Vec<(String, String)> {
    let mut list = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let mut files = Vec::new();
        if path.is_dir() {
            sources(&path, &mut files)
        } else {
            files.push(path.clone())
        }
        files.retain(|f| !f.to_string_lossy().ends_with("tests.rs"));
        let text = files.iter().map(|f| without_tests(fs::read_to_string(f).expect("a source file"))).collect();
        list.push((path.file_stem().expect("a name").to_string_lossy().into_owned(), text));
    }
    list.retain(|m| m.0 != "mod");
    list
}

/// The modules that depend on each other in a circle: those that are left when modules without a dependency are taken away.
fn circle(modules: &[(String, String)], prefixes: &[String]) -> Vec<String> {
    let mut left: Vec<&(String, String)> = modules.iter().collect();
    loop {
        let names: Vec<&str> = left.iter().map(|m| m.0.as_str()).collect();
        let before = left.len();
        left.retain(|(name, text)| prefixes.iter().flat_map(|p| named(text, p)).any(|n| n != name && names.contains(&n)));
        if left.len() == before {
            return left.iter().map(|m| m.0.clone()).collect();
        }
    }
}

#[test]
fn floors_of_the_scenario_crate_know_those_below() {
    let src = crates().join("scenario/src");
    for (i, floor) in FLOORS.iter().enumerate() {
        let mut files = Vec::new();
        sources(&src.join(floor), &mut files);
        assert!(!files.is_empty(), "no files in {floor}");
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file");
            let known = named(&text, "crate::");
            for above in &FLOORS[i + 1..] {
                assert!(
                    !known.contains(above),
                    "{} is of the floor `{floor}` and imports from `{above}` above it",
                    file.display()
                );
            }
        }
    }
}

/// How modules of `folder` name each other: by the whole path, and below the root of a crate by that of the folder above.
fn prefixes(folder: &str) -> Vec<String> {
    let below = folder.split_once("/src").expect("a folder of sources").1.replace('/', "::");
    let whole = format!("crate{below}::");
    if below.is_empty() { vec![whole] } else { vec![whole, "super::".to_owned()] }
}

/// All folders below `folder`, itself included, as paths below `crates`.
fn folders(folder: &str, list: &mut Vec<String>) {
    list.push(folder.to_owned());
    for entry in fs::read_dir(crates().join(folder)).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            folders(&format!("{folder}/{}", path.file_name().expect("a name").to_string_lossy()), list);
        }
    }
}

/// In every folder of every crate, modules depend on each other in one direction only.
#[test]
fn modules_form_no_circle() {
    let mut list = Vec::new();
    for entry in fs::read_dir(crates()).expect("crates") {
        let name = entry.expect("an entry").file_name();
        folders(&format!("{}/src", name.to_string_lossy()), &mut list);
    }
    assert!(list.len() > 60, "sources are looked for in the wrong place: {list:?}");
    let mut found = Vec::new();
    for folder in &list {
        let mut files = modules(&crates().join(folder));
        files.retain(|(name, _)| name != "lib" && name != "main");
        let left = circle(&files, &prefixes(folder));
        if !left.is_empty() {
            found.push(format!("{folder}: {left:?}"));
        }
    }
    assert!(found.is_empty(), "modules that are in a circle, or depend on one:\n{}", found.join("\n"));
}

/// The function that a line of C begins to define for other files.
fn offered(line: &str) -> Option<&str> {
    let defines = line.starts_with(|c: char| c.is_alphabetic()) && !line.starts_with("static") && !line.contains("__weak");
    let head = line.split_once('(').filter(|_| defines && !line.ends_with(';'))?.0;
    head.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| name.starts_with("fb_"))
}

/// C files as modules: each begins with the files whose functions it names, as paths.
fn c_modules(files: &[(String, String)]) -> Vec<(String, String)> {
    let homes: Vec<(&str, &str)> =
        files.iter().flat_map(|(file, text)| text.lines().filter_map(offered).map(move |name| (name, file.as_str()))).collect();
    let word = |c: char| !c.is_alphanumeric() && c != '_';
    // A struct may have the name of a function.
    let uses = |text: &str| -> String {
        let text = text.replace("struct ", "struct_");
        let names = text.split(word).filter_map(|w| homes.iter().find(|h| h.0 == w));
        names.map(|h| format!("crate::{} ", h.1)).collect()
    };
    files.iter().map(|(file, text)| (file.clone(), uses(text))).collect()
}

/// In the guest kernel's driver, too, calls go down only; what is above is given to those below as pointers to functions.
#[test]
fn files_of_the_driver_form_no_circle() {
    let mut files = Vec::new();
    for entry in fs::read_dir(crates().join("kernel/driver")).expect("the driver") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".c").filter(|name| !name.ends_with("_test")) {
            files.push((name.to_owned(), fs::read_to_string(&path).expect("a source file")));
        }
    }
    let files = c_modules(&files);
    assert!(
        files.iter().any(|(name, uses)| name == "run" && uses.contains("crate::wire ")),
        "the driver is looked for in vain: {files:?}"
    );
    let left = circle(&files, &["crate::".to_owned()]);
    assert!(left.is_empty(), "files that are in a circle of calls, or depend on one: {left:?}");
}

#[test]
fn a_circle_of_calls_is_found() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let list =
        [file("a", "int fb_a(void)\n{\n\treturn fb_b();\n}\n"), file("b", "int fb_b(void)\n{\n\tfb_a();\n}\nvoid fb_c(void);\n")];
    assert_eq!(circle(&c_modules(&list), &["crate::".to_owned()]), ["a", "b"]);
    assert!(circle(&c_modules(&list[1..]), &["crate::".to_owned()]).is_empty());
}

#[test]
fn a_circle_is_found() {
    let module = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let list =
        [module("a", "use crate::x::b::B;"), module("b", "use super::{c, d};"), module("c", "crate::x::a::f()"), module("d", "")];
    assert_eq!(circle(&list, &prefixes("some/src/x")), ["a", "b", "c"]);
    assert!(circle(&list[1..], &prefixes("some/src/x")).is_empty());
}
