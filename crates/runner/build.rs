//! Tells the keys of results which program made them: a hash of the sources of all that stands between a scenario and its numbers. So a
//! change of any of them names every result anew, whether or not a test notices it.

#[path = "build/sources.rs"]
mod sources;

use std::path::Path;

fn main() -> std::io::Result<()> {
    // Everything is where it is in the repository, in a packed source tree too.
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is")).join("../..");
    // This crate is given its worlds by the program; the sources of all of them count.
    let sources = sources::Sources::of(&root, &["runner", "backends"])?;
    let places = sources.roots.iter().map(|r| &r.1).chain(&sources.manifests);
    for place in places {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/sources.rs");
    println!("cargo::rustc-env=FOREBAY_SOURCES={}", sources.digest()?);
    println!("cargo::rustc-env=FOREBAY_TABLE_SOURCES={}", sources.table_digests()?);
    Ok(())
}
