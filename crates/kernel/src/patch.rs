//! A change of a kernel's sources by its user: a unified diff that is applied, or reversed, before the kernel is compiled.

use crate::error::{At, Error};
use crate::source::hex;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Largest patch, bytes. Our choice: the patch between two releases of a stable series has less.
const MOST: u64 = 64 << 20;

/// A patch, and its direction.
#[derive(Debug, Clone)]
pub struct Patch {
    file: PathBuf,
    text: Vec<u8>,
    reverse: bool,
}

impl Patch {
    /// Reads the patch in `file`; `reverse` removes the change that it describes.
    ///
    /// # Errors
    /// The file cannot be read, or is no unified diff.
    pub fn read(file: &Path, reverse: bool) -> Result<Patch, Error> {
        let size = fs::metadata(file).at(file)?.len();
        if size > MOST {
            return Err(Error::new(format!("{}: has {size} bytes; a patch has at most {MOST}", file.display())));
        }
        let text = fs::read(file).at(file)?;
        let is_hunk = |line: &[u8]| line.starts_with(b"@@ -");
        if !text.split(|b| *b == b'\n').any(is_hunk) {
            return Err(Error::new(format!(
                "{}: no unified diff (no line begins with `@@ -`); `git diff` and `diff -u` make one",
                file.display()
            )));
        }
        Ok(Patch { file: file.to_owned(), text, reverse })
    }

    /// The file that it was read from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// True if the change is removed.
    pub fn reverse(&self) -> bool {
        self.reverse
    }

    /// SHA-256 of the patch and its direction, in hexadecimal digits.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update([u8::from(self.reverse)]);
        hash.update(&self.text);
        hex(&hash.finalize())
    }

    /// Changes the sources below `root`. Names of files in the patch have one leading part, as `a/net/ipv4/tcp.c`.
    pub(crate) fn apply(&self, root: &Path) -> Result<(), Error> {
        let mut patch = Command::new("patch");
        patch.env("LC_ALL", "C").args(["--strip=1", "--force", "--no-backup-if-mismatch", "--reject-file=-"]);
        if self.reverse {
            patch.arg("--reverse");
        }
        patch.arg("--directory").arg(root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let missing = |e| Error::new(format!("patch: {e}; install it: apt install patch"));
        let mut child = patch.spawn().map_err(missing)?;
        if let Some(mut input) = child.stdin.take() {
            // A program that rejects the patch may end before it has read all of it; its status and output tell.
            let _ = input.write_all(&self.text);
        }
        let out = child.wait_with_output().at(&self.file)?;
        if out.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&out.stdout);
        let reasons = ["FAILED", "can't find", "No file", "malformed", "Reversed", "garbage", "saving rejects"];
        let lines: Vec<&str> =
            said.lines().filter(|l| l.starts_with("patching file") || reasons.iter().any(|r| l.contains(r))).take(8).collect();
        Err(Error::new(format!(
            "{} cannot be {} these sources; nothing was built. {}:\n{}",
            self.file.display(),
            if self.reverse { "reversed in" } else { "applied to" },
            if self.reverse { "Without --reverse it is applied" } else { "With --reverse it is removed" },
            if lines.is_empty() { String::from_utf8_lossy(&out.stderr).trim_end().to_owned() } else { lines.join("\n") }
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::Patch;
    use crate::scratch::Scratch;
    use std::fs;

    const PATCH: &str = "a comment\n--- a/net/x.c\n+++ b/net/x.c\n@@ -1,3 +1,3 @@\n int a;\n-int b;\n+int c;\n int d;\n";

    #[test]
    fn patch_applied_and_reversed() {
        let place = Scratch::new();
        let (file, source) = (place.path().join("x.patch"), place.path().join("net/x.c"));
        fs::create_dir(place.path().join("net")).unwrap();
        fs::write(&file, PATCH).unwrap();
        fs::write(&source, "int a;\nint b;\nint d;\n").unwrap();
        let (forth, back) = (Patch::read(&file, false).unwrap(), Patch::read(&file, true).unwrap());
        assert_ne!(forth.digest(), back.digest());
        forth.apply(place.path()).unwrap();
        assert_eq!(fs::read_to_string(&source).unwrap(), "int a;\nint c;\nint d;\n");
        let twice = forth.apply(place.path()).unwrap_err().to_string();
        assert!(twice.contains("--reverse") && twice.contains("net/x.c"), "{twice}");
        back.apply(place.path()).unwrap();
        assert_eq!(fs::read_to_string(&source).unwrap(), "int a;\nint b;\nint d;\n");
    }

    #[test]
    fn other_files_are_no_patches() {
        let place = Scratch::new();
        let file = place.path().join("x.patch");
        fs::write(&file, "int a;\n").unwrap();
        assert!(Patch::read(&file, false).unwrap_err().to_string().contains("no unified diff"));
        assert!(Patch::read(&place.path().join("none"), false).is_err());
    }
}
