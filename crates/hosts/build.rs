//! Compiles the BPF programs of `crates/kernel/bpf` with clang and lists the objects for `catalog.rs`, which embeds them.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_BPF").is_none() || env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // As cargo says it now: a build folder that was copied with the program in it would name the sources of another clone.
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let sources = own.join("../kernel/bpf");
    println!("cargo:rerun-if-changed={}", sources.display());
    let mut list = String::from("&[\n");
    for source in programs(&sources) {
        let name =
            source.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".bpf.c")).expect("found by its ending");
        let object = out.join(format!("{name}.bpf.o"));
        compile(&source, &object);
        // Without folders of this machine, so that builds in different folders are equal.
        let file = format!("/{name}.bpf.o");
        let _ = writeln!(list, "    ({name:?}, &Aligned(*include_bytes!(concat!(env!(\"OUT_DIR\"), {file:?})))),");
    }
    list.push_str("]\n");
    // For the tests: a link that marks and loses packets by a script, a program that the verifier refuses, and a look at each ACK.
    for name in ["link", "refused", "probe"] {
        let source = own.join(format!("tests/kernel/{name}.bpf.c"));
        let object = out.join(format!("{name}.bpf.o"));
        println!("cargo:rerun-if-changed={}", source.display());
        compile(&source, &object);
        println!("cargo:rustc-env=FOREBAY_TEST_{}={}", name.to_uppercase(), object.display());
    }
    fs::write(out.join("objects.rs"), list).unwrap_or_else(|e| panic!("{}: {e}", out.display()));
}

/// `*/*.bpf.c` below the folder, in order.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let entries = |dir: &Path| -> Vec<PathBuf> {
        fs::read_dir(dir).map(|all| all.flatten().map(|e| e.path()).collect()).unwrap_or_default()
    };
    let mut found: Vec<PathBuf> = entries(folder).iter().flat_map(|d| entries(d)).collect();
    found.retain(|f| f.to_string_lossy().ends_with(".bpf.c"));
    found.sort();
    found
}

fn compile(source: &Path, object: &Path) {
    // The kernel's name of the architecture, for the macros that read arguments of traced functions.
    let arch = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => "arm64",
        Ok("x86_64") => "x86",
        Ok(other) => panic!("the BPF programs know x86_64 and aarch64, not {other}: build without the feature `bpf`"),
        Err(e) => panic!("cargo sets CARGO_CFG_TARGET_ARCH: {e}"),
    };
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    println!("cargo:rerun-if-env-changed=CLANG");
    let status = Command::new(&clang)
        .args(["-g", "-O2", "-Wall", "-Werror", "-mcpu=v3", "-target", "bpf"])
        .arg(format!("-D__TARGET_ARCH_{arch}"))
        .arg(format!("-I{headers}"))
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(object)
        .status();
    match status {
        Ok(s) if s.success() => {}
        Ok(s) => panic!("{clang} refused {} ({s})", source.display()),
        Err(e) => {
            panic!("the feature `bpf` needs clang ({clang}: {e}): apt install clang libelf-dev zlib1g-dev, or build without it")
        }
    }
}
