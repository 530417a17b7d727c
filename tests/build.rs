//! Compiles the parts of the kernel's driver, and of the shim for real hosts, that know no kernel.

use std::{fs, io};

const DRIVER: &str = "../crates/kernel/driver";
const SHIM: &str = "../crates/kernel/bpf/proboscis/window_test.c";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={DRIVER}");
    println!("cargo::rerun-if-changed={SHIM}");
    println!("cargo::rerun-if-changed=../crates/kernel/bpf/proboscis/window_core.bpf.h");
    println!("cargo::rerun-if-changed=../crates/kernel/bpf/cc.h");
    let mut build = cc::Build::new();
    // The kernel's dialect. Contraction would join a product and a sum in one rounding, which Rust never does.
    build
        .std("gnu11")
        .flag("-ffp-contract=off")
        .flag_if_supported("-Wno-unused-parameter")
        .flag_if_supported("-Wno-sign-compare");
    build.opt_level(2).include(DRIVER);
    for entry in fs::read_dir(DRIVER)? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        if name.ends_with(".c") && (name == "paths.c" || name == "links.c" || name == "network_test.c" || name == "tag_test.c") {
            build.file(format!("{DRIVER}/{name}"));
        }
    }
    build.file(SHIM);
    build.compile("forebay_driver");
    Ok(())
}
