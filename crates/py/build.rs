//! Copies the example scenarios and the papers beside the native module. `pyproject.toml` packs them into the wheel, as `forebay/share`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is")).join("../..");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("share");
    match fs::remove_dir_all(&out) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    for folder in ["scenarios", "papers"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        copy(&root.join(folder), &out.join(folder))?;
    }
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

/// Copies a folder without the temporary files of Python and editors.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", from.display())))? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if text.starts_with('.') || text.ends_with('~') || text == "__pycache__" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to.join(&name))?;
        } else {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}
