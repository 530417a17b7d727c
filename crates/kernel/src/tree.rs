//! A folder in which kernels are built: sources with our changes, our files, and what was compiled. It stays for the next build, which then
//! compiles only what is new.

use crate::edits;
use crate::error::{At, Error};
use crate::recipe::{OBJECT, Recipe};
use crate::selection::READY;
use crate::source::{Source, files};
use crate::unpack::unpack;
use crate::version::Version;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Our folder in the kernel's sources.
const OURS: &str = "arch/um/kernel/forebay";
/// The root file system of the guest: an empty one but for init.
const ROOT: &str = "dir /dev 0755 0 0\nnod /dev/console 0600 0 0 c 5 1\ndir /proc 0755 0 0\nfile /init arch/um/kernel/forebay/init.bin 0755 0 0\n";

/// Sources with our changes.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) version: Version,
}

impl Tree {
    /// The tree in `root` if an earlier build has left it whole.
    pub(crate) fn left(root: &Path) -> Option<Tree> {
        let version = fs::read_to_string(root.join(READY)).ok()?.trim().parse().ok()?;
        Some(Tree { root: root.to_owned(), version })
    }

    /// Unpacks the sources into `root` and changes them.
    pub(crate) fn unpack(root: &Path, source: &Source, recipe: Recipe) -> Result<Tree, Error> {
        if root.exists() {
            fs::remove_dir_all(root).at(root)?;
        }
        fs::create_dir_all(root).at(root)?;
        // Rejected sources are useless, and may fill the disk.
        let version = Tree::fill(root, source, recipe).inspect_err(|_| {
            let _ = fs::remove_dir_all(root);
        })?;
        Ok(Tree { root: root.to_owned(), version })
    }

    /// Unpacks the sources, changes them and returns their version.
    fn fill(root: &Path, source: &Source, recipe: Recipe) -> Result<Version, Error> {
        unpack(source, root)?;
        let makefile = root.join("Makefile");
        let version = Version::of_makefile(&fs::read_to_string(&makefile).at(&makefile)?);
        let version = version.ok_or_else(|| Error::new(format!("{}: its Makefile names no version", source.path().display())))?;
        if version < Version::OLDEST {
            return Err(Error::new(format!(
                "{}: Linux {version} is too old; {} or newer is needed",
                source.path().display(),
                Version::OLDEST.series()
            )));
        }
        edits::apply(&edits::parse(recipe.text("um/edits.toml")?)?, root, version)?;
        fs::write(root.join(READY), format!("{version}\n")).at(root)?;
        Ok(version)
    }

    /// Copies the tree, with what was compiled in it, to `root`. Times of files stay, so that make compiles only what changes there.
    pub(crate) fn copy_to(&self, root: &Path) -> Result<Tree, Error> {
        let mut cp = Command::new("cp");
        let out = cp.args(["-a", "--reflink=auto", "--"]).arg(&self.root).arg(root).output();
        let out = out.map_err(|e| Error::new(format!("cp: {e}")))?;
        if !out.status.success() {
            return Err(Error::new(format!("{}: {}", root.display(), String::from_utf8_lossy(&out.stderr).trim_end())));
        }
        Ok(Tree { root: root.to_owned(), version: self.version })
    }

    /// Brings our files up to date: a file whose text is the same is not touched, so that it is not compiled again.
    pub(crate) fn bring(&self, recipe: Recipe) -> Result<(), Error> {
        let ours = self.root.join(OURS);
        let mut wanted = BTreeSet::new();
        for file in recipe.code() {
            write(&ours.join(file.path), file.text)?;
            wanted.insert(file.path);
        }
        write(&ours.join("Makefile"), makefile(&wanted).as_bytes())?;
        write(&ours.join("initramfs"), ROOT.as_bytes())?;
        // Removes files that an older program added and this one does not have.
        for name in files(&ours)?.iter().filter(|n| [".c", ".h", OBJECT].iter().any(|ending| n.ends_with(ending))) {
            if !wanted.contains(name.as_str()) {
                let path = ours.join(name);
                fs::remove_file(&path).at(&path)?;
            }
        }
        self.compile_init(&ours)
    }

    /// Init needs no library: the guest has no files but it.
    fn compile_init(&self, ours: &Path) -> Result<(), Error> {
        let (from, to, new) = (ours.join("init/init.c"), ours.join("init.bin"), ours.join("init.new"));
        let mut gcc = Command::new("gcc");
        gcc.args([
            "-static",
            "-nostdlib",
            "-ffreestanding",
            "-fno-stack-protector",
            "-fno-pie",
            "-no-pie",
            "-O2",
            "-Wall",
            "-Werror",
        ]);
        gcc.args(["-Wl,--build-id=none", "-Wl,-z,noexecstack", "-s", "-I"])
            .arg(ours.join("driver"))
            .arg("-o")
            .arg(&new)
            .arg(&from);
        let out = gcc.output().map_err(|e| Error::new(format!("gcc: {e}; `forebay doctor` has the command that installs it")))?;
        if !out.status.success() {
            return Err(Error::new(format!("gcc cannot compile init:\n{}", String::from_utf8_lossy(&out.stderr).trim_end())));
        }
        write(&to, &fs::read(&new).at(&new)?)?;
        fs::remove_file(&new).at(&new)
    }
}

/// Writes a file unless it has this content.
fn write(path: &Path, text: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).at(folder)?;
    }
    fs::write(path, text).at(path)
}

/// Lists our files that are compiled into the kernel: the whole driver, the built-in variants of the congestion controls, files that changes of
/// arch/um refer to, and compiled Rust.
fn makefile(files: &BTreeSet<&str>) -> String {
    let mut text = String::from("# Made by forebay.\nccflags-y := -I$(srctree)/arch/um/kernel/forebay/driver\n");
    let built = |f: &&&str| {
        let folder = f.split('/').next().unwrap_or("");
        f.ends_with(".c") && (folder == "driver" || folder == "um" || (folder == "bpf" && f.ends_with("builtin.c")))
    };
    for file in files.iter().filter(built) {
        let _ = writeln!(text, "obj-y += {}o", file.trim_end_matches('c'));
    }
    for file in files.iter().filter_map(|f| f.strip_suffix(OBJECT)) {
        let _ = writeln!(text, "obj-y += {file}.o");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{OURS, Tree, makefile};
    use crate::embedded_files::Source;
    use crate::recipe::Recipe;
    use crate::scratch::Scratch;
    use crate::version::Version;
    use std::collections::BTreeSet;
    use std::fs;

    const INIT: &[u8] = b"void _start(void) { for (;;); }\n";

    #[test]
    fn makefile_excludes_headers_and_tests() {
        let files = [
            "bpf/builtin.c",
            "bpf/rns/rns_builtin.c",
            "bpf/rns/rns_core.h",
            "driver/a.c",
            "driver/a.h",
            "guest/b.o_shipped",
            "init/init.c",
            "um/seed.c",
        ];
        let text = makefile(&BTreeSet::from(files));
        let objects: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("obj-y += ")).collect();
        assert_eq!(objects, ["bpf/builtin.o", "bpf/rns/rns_builtin.o", "driver/a.o", "um/seed.o", "guest/b.o"]);
    }

    #[test]
    fn update_leaves_unchanged_files_untouched() {
        static OLD: [Source; 3] = [
            Source { path: "driver/a.c", text: b"int a;" },
            Source { path: "driver/gone.c", text: b"" },
            Source { path: "init/init.c", text: INIT },
        ];
        static NEW: [Source; 3] = [
            Source { path: "driver/a.c", text: b"int a;" },
            Source { path: "driver/b.c", text: b"int b;" },
            Source { path: "init/init.c", text: INIT },
        ];
        let place = Scratch::new();
        let tree = Tree { root: place.path().to_owned(), version: Version::DEFAULT };
        let (ours, time) =
            (place.path().join(OURS), |file: &str| fs::metadata(place.path().join(OURS).join(file)).unwrap().modified().unwrap());
        tree.bring(Recipe::new(&OLD)).unwrap();
        let before = ["driver/a.c", "init.bin"].map(time);
        tree.bring(Recipe::new(&NEW)).unwrap();
        assert_eq!(["driver/a.c", "init.bin"].map(time), before);
        assert!(ours.join("driver/b.c").exists() && !ours.join("driver/gone.c").exists());
        assert!(fs::read_to_string(ours.join("Makefile")).unwrap().contains("driver/b.o"));
    }

    #[test]
    fn nothing_stays_of_refused_sources() {
        let place = Scratch::new();
        let sources = place.path().join("sources");
        fs::create_dir_all(sources.join("arch/um")).unwrap();
        fs::write(sources.join("arch/um/Kconfig"), "").unwrap();
        fs::write(sources.join("Makefile"), "no version\n").unwrap();
        let source = crate::source::Source::find(Some(&sources)).unwrap();
        let root = place.path().join("tree");
        let said = Tree::unpack(&root, &source, Recipe::new(&[])).unwrap_err().to_string();
        assert!(said.contains("names no version") && !root.exists(), "{said}");
    }

    #[test]
    fn unfinished_tree_is_ignored() {
        let place = Scratch::new();
        assert!(Tree::left(place.path()).is_none());
        fs::write(place.path().join(super::READY), "6.12.117\n").unwrap();
        assert_eq!(Tree::left(place.path()).unwrap().version.to_string(), "6.12.117");
    }
}
