//! Embeds what goes into a kernel: the C files of `driver`, `init` and `bpf`, the data of `um`, and the queue disciplines and shims, compiled from Rust. A file
//! that is added there is in; nothing needs a line elsewhere.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Folders whose files are embedded.
const FOLDERS: [&str; 4] = ["bpf", "driver", "init", "um"];

/// Name of the compiled Rust in a kernel's tree, where the build takes objects from files with this ending as they are.
const OBJECT: &str = "guest/guest.o_shipped";

/// Readmes, licenses, tests and what BPF programs alone are made of stay outside: a kernel is known by the hash of all that goes into it.
fn wanted(name: &str) -> bool {
    let c = (name.ends_with(".c") || name.ends_with(".h")) && !name.contains(".bpf.") && !name.contains("_test.");
    c || name.ends_with(".toml") || name == "config"
}

/// The wanted files below `folder`, in order of their names.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, found)?;
        } else if path.file_name().and_then(|n| n.to_str()).is_some_and(wanted) {
            found.push(path);
        }
    }
    Ok(())
}

/// A variable that cargo sets.
fn variable(key: &str) -> io::Result<String> {
    env::var(key).map_err(|e| io::Error::other(format!("{key}: {e}")))
}

/// Compiles the crate `guest` and those below it for a kernel, into one object.
///
/// Cargo cannot do this on a stable release: a binary dependency (artifact dependency) is not stable. The options are the same for every profile, and
/// no path of this machine is in the object, so that every build of one source has the same guest kernel.
fn compile(crates: &Path, out: &Path) -> io::Result<Vec<u8>> {
    let folder = out.join("guest");
    fs::create_dir_all(&folder)?;
    let remap = format!("--remap-path-prefix={}=crates", crates.display());
    let rustc = |name: &str, kind: &str, root: &str, before: &[&str]| -> io::Result<()> {
        let mut rustc = Command::new(variable("RUSTC")?);
        rustc.current_dir(crates).args(["--edition=2024", "--cap-lints=allow", &remap, "--target", &variable("TARGET")?]);
        // A guest kernel is a static process below 2 GB. As in other kernels, no code relies on memory below its stack.
        for option in
            ["opt-level=2", "codegen-units=1", "panic=abort", "relocation-model=static", "no-redzone=yes", "debuginfo=0"]
        {
            rustc.args(["-C", option]);
        }
        rustc.args(["--crate-name", name, "--crate-type", kind]).arg("--out-dir").arg(&folder).arg("-L").arg(&folder);
        for name in before {
            rustc.arg("--extern").arg(format!("{name}={}", folder.join(format!("lib{name}.rlib")).display()));
        }
        if kind == "staticlib" {
            rustc.args(["-C", "lto=fat"]);
        }
        let done = rustc.arg(root).output()?;
        if done.status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("{root} does not compile for guest kernels:\n{}", String::from_utf8_lossy(&done.stderr))))
    };
    for part in ["types/src", "queues/src", "shims/src", "guest"] {
        println!("cargo::rerun-if-changed={}", crates.join(part).display());
    }
    rustc("forebay_types", "rlib", "types/src/lib.rs", &[])?;
    rustc("forebay_queues", "rlib", "queues/src/lib.rs", &["forebay_types"])?;
    rustc("forebay_shims", "rlib", "shims/src/lib.rs", &["forebay_types", "forebay_queues"])?;
    rustc("forebay_guest", "rlib", "guest/src/lib.rs", &["forebay_types", "forebay_queues", "forebay_shims"])?;
    rustc("forebay_guest_kernel", "staticlib", "guest/kernel.rs", &["forebay_guest"])?;
    object(&fs::read(folder.join("libforebay_guest_kernel.a"))?)
}

/// The member of an archive that defines our functions. All of Rust that they call is in it too; the others are functions of the C library.
fn object(archive: &[u8]) -> io::Result<Vec<u8>> {
    const SYMBOL: &[u8] = b"fb_queue_new\0";
    let wrong = || io::Error::other("the static library has no object with our functions");
    let mut rest = archive.strip_prefix(b"!<arch>\n").ok_or_else(wrong)?;
    while let Some((header, after)) = rest.split_at_checked(60) {
        let size = std::str::from_utf8(&header[48..58]).ok().and_then(|n| n.trim().parse::<usize>().ok()).ok_or_else(wrong)?;
        let member = after.get(..size).ok_or_else(wrong)?;
        if member.starts_with(b"\x7fELF") && member.windows(SYMBOL.len()).any(|w| w == SYMBOL) {
            return Ok(member.to_owned());
        }
        // Members begin at even places.
        rest = after.get(size.next_multiple_of(2)..).unwrap_or_default();
    }
    Err(wrong())
}

fn main() -> io::Result<()> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let mut found = Vec::new();
    for folder in FOLDERS {
        walk(&root.join(folder), &mut found)?;
    }
    let name = |path: &Path| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    let mut files: Vec<(String, PathBuf)> = found.into_iter().map(|path| (name(&path), path)).collect();
    // User-mode Linux exists for this architecture only.
    if variable("CARGO_CFG_TARGET_ARCH")? == "x86_64" {
        let crates = root.parent().ok_or_else(|| io::Error::other("no folder of crates"))?;
        let object = compile(crates, &out)?;
        let path = out.join("guest.o");
        fs::write(&path, object)?;
        files.push((OBJECT.to_owned(), path));
    }
    files.sort();
    let mut list = String::from("&[\n");
    for (name, path) in &files {
        if path.starts_with(&root) && !path.starts_with(&out) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        // Without folders of this machine, so that builds in different folders are equal.
        let (variable, file) = match path.strip_prefix(&out) {
            Ok(file) => ("OUT_DIR", file),
            Err(_) => ("CARGO_MANIFEST_DIR", path.strip_prefix(&root).unwrap_or(path)),
        };
        let file = format!("/{}", file.display());
        let _ = writeln!(list, "    Source {{ path: {name:?}, text: include_bytes!(concat!(env!({variable:?}), {file:?})) }},");
    }
    list.push_str("]\n");
    println!("cargo::rerun-if-changed=build.rs");
    fs::write(out.join("embedded.rs"), list)
}
