//! Inputs of a kernel, and the hashes that name it: equal inputs give equal names, different inputs different ones.

use crate::embedded_files::Source as Embedded;
use crate::error::Error;
use crate::source::hex;
use sha2::{Digest, Sha256};
use std::process::Command;

/// Version of the build procedure. Change it when the build changes and its inputs do not.
const METHOD: &str = "forebay kernel 1";

/// Ending of files that the kernel's build takes as objects.
pub(crate) const OBJECT: &str = ".o_shipped";

/// All that goes into a kernel beside its sources and the compiler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    files: &'static [Embedded],
}

impl Recipe {
    /// Of the files that this program carries.
    pub(crate) fn new(files: &'static [Embedded]) -> Recipe {
        Recipe { files }
    }

    /// The text of one of them.
    pub(crate) fn text(self, path: &str) -> Result<&'static str, Error> {
        let file = self.files.iter().find(|f| f.path == path);
        let text = file.and_then(|f| std::str::from_utf8(f.text).ok());
        text.ok_or_else(|| Error::new(format!("this program was built without {path}")))
    }

    /// C files, headers and compiled Rust, for the folder in the kernel's tree.
    pub(crate) fn code(self) -> impl Iterator<Item = &'static Embedded> {
        self.files.iter().filter(|f| [".c", ".h", OBJECT].iter().any(|ending| f.path.ends_with(ending)))
    }

    /// The name of everything in it.
    pub(crate) fn name(self) -> String {
        short(hash(&[METHOD], self.files.iter()))
    }

    /// The name of a kernel from it.
    pub(crate) fn kernel(self, source: &str, compiler: &str) -> String {
        short(hash(&[METHOD, source, compiler], self.files.iter()))
    }

    /// The name of a kernel from it with a patch.
    pub(crate) fn patched(self, source: &str, compiler: &str, patch: &str) -> String {
        short(hash(&[METHOD, source, compiler, patch], self.files.iter()))
    }

    /// Name of the build tree. When drivers, congestion controls or configuration change, make recompiles the affected files in the same tree.
    pub(crate) fn tree(self, source: &str, compiler: &str) -> String {
        short(hash(&[METHOD, source, compiler], self.files.iter().filter(|f| f.path == "um/edits.toml")))
    }
}

fn hash<'a>(words: &[&str], files: impl Iterator<Item = &'a Embedded>) -> Sha256 {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    words.iter().for_each(|w| add(w.as_bytes()));
    for file in files {
        add(file.path.as_bytes());
        add(file.text);
    }
    hash
}

/// Twelve hexadecimal digits: enough for all kernels of a user.
fn short(hash: Sha256) -> String {
    hex(&hash.finalize()[..6])
}

/// First lines of the version output of compiler and linker.
pub(crate) fn compiler() -> Result<String, Error> {
    let first_line = |program: &str| {
        let out = Command::new(program).env("LC_ALL", "C").arg("--version").output();
        let out =
            out.map_err(|e| Error::new(format!("{program}: {e}; `forebay doctor` lists missing tools and how to install them")))?;
        let text = String::from_utf8_lossy(&out.stdout).lines().next().unwrap_or("").trim().to_owned();
        if text.is_empty() { Err(Error::new(format!("`{program} --version` prints nothing"))) } else { Ok(text) }
    };
    Ok(format!("{}, {}", first_line("gcc")?, first_line("ld")?))
}

#[cfg(test)]
mod tests {
    use super::Recipe;
    use crate::embedded_files::Source;

    const fn file(path: &'static str, text: &'static [u8]) -> Source {
        Source { path, text }
    }

    static FILES: [Source; 3] = [file("driver/wire.c", b"int a;"), file("um/config", b"A=y"), file("um/edits.toml", b"[[edit]]")];

    #[test]
    fn any_other_input_gives_another_name() {
        static DRIVER: [Source; 3] =
            [file("driver/wire.c", b"int b;"), file("um/config", b"A=y"), file("um/edits.toml", b"[[edit]]")];
        static RENAMED: [Source; 3] =
            [file("driver/link.c", b"int a;"), file("um/config", b"A=y"), file("um/edits.toml", b"[[edit]]")];
        static CONFIG: [Source; 3] =
            [file("driver/wire.c", b"int a;"), file("um/config", b"A=n"), file("um/edits.toml", b"[[edit]]")];
        static EDITS: [Source; 3] = [file("driver/wire.c", b"int a;"), file("um/config", b"A=y"), file("um/edits.toml", b"")];
        static MORE: [Source; 4] = [file("bpf/x.c", b""), FILES[0], FILES[1], FILES[2]];
        let mut names: Vec<String> =
            [&FILES[..], &DRIVER, &RENAMED, &CONFIG, &EDITS, &MORE].map(|f| Recipe::new(f).kernel("source", "gcc")).into();
        names.push(Recipe::new(&FILES).kernel("source 2", "gcc"));
        names.push(Recipe::new(&FILES).kernel("source", "gcc 2"));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(Recipe::new(&FILES).kernel("source", "gcc"), Recipe::new(&FILES).kernel("source", "gcc"));

        let tree = |files: &'static [Source]| Recipe::new(files).tree("source", "gcc");
        assert!(tree(&FILES) == tree(&DRIVER) && tree(&FILES) == tree(&MORE), "a new driver is compiled in the old tree");
        assert!(tree(&FILES) == tree(&CONFIG) && tree(&FILES) != tree(&EDITS));
    }
}
