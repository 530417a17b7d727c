//! Sets the hash of all sources that results depend on, as a part of their keys. A change of any source gives all results new keys.

#[path = "build/sources.rs"]
mod sources;

use std::path::Path;

fn main() -> std::io::Result<()> {
    // The layout equals that of the repository, also in a packed source tree.
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is")).join("../..");
    // The worlds are dependencies of the program, not of this crate; the sources of all of them count.
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
