//! Changes of a kernel's sources, as data: a file, a short text that stands in it exactly once, and what to put in its place or beside it. So no
//! kernel source is kept here, and a kernel whose text is another one is refused instead of built wrongly.

use crate::error::{At, Error};
use crate::version::Version;
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// One change. Its anchor must stand in the file exactly once; of the last three there is one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// The file, from the top of the sources.
    file: String,
    /// Purpose.
    why: String,
    /// The anchor.
    find: String,
    /// Text that replaces the anchor.
    replace: Option<String>,
    /// Text to insert before the anchor.
    before: Option<String>,
    /// Text to insert after the anchor.
    after: Option<String>,
}

/// A file of changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edits {
    edit: Vec<Edit>,
}

/// Reads a file of changes.
pub(crate) fn parse(text: &str) -> Result<Vec<Edit>, Error> {
    let edits: Edits = toml::from_str(text).map_err(|e| Error::new(format!("um/edits.toml: {e}")))?;
    match edits.edit.iter().find(|e| [&e.replace, &e.before, &e.after].into_iter().flatten().count() != 1) {
        Some(e) => Err(Error::new(format!("um/edits.toml: the change \"{}\" needs one of replace, before and after", e.why))),
        None => Ok(edits.edit),
    }
}

impl Edit {
    /// The text after the change.
    fn apply(&self, text: &str, version: Version) -> Result<String, Error> {
        let found = text.matches(&self.find).count();
        if found != 1 {
            let times = if found == 0 { "nowhere".to_owned() } else { format!("{found} times") };
            return Err(Error::new(format!(
                "Linux {version} cannot be used: the change \"{}\" looks for {:?} in {}, which must stand there once and stands there {times}. \
                 Linux {} is known to work.",
                self.why,
                self.find,
                self.file,
                Version::DEFAULT.series(),
            )));
        }
        let anchor = self.replace.as_ref().unwrap_or(&self.find);
        let (before, after) = (self.before.as_deref().unwrap_or(""), self.after.as_deref().unwrap_or(""));
        Ok(text.replacen(&self.find, &format!("{before}{anchor}{after}"), 1))
    }
}

/// Makes the changes in the sources below `root`, all of them or, when one cannot be made, none.
pub(crate) fn apply(edits: &[Edit], root: &Path, version: Version) -> Result<(), Error> {
    let mut files: Vec<(&str, String)> = Vec::new();
    for edit in edits {
        let at = match files.iter().position(|f| f.0 == edit.file) {
            Some(at) => at,
            None => {
                let path = root.join(&edit.file);
                files.push((&edit.file, fs::read_to_string(&path).at(&path)?));
                files.len() - 1
            }
        };
        files[at].1 = edit.apply(&files[at].1, version)?;
    }
    for (file, text) in files {
        let path = root.join(file);
        fs::write(&path, text).at(&path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{apply, parse};
    use crate::scratch::Scratch;
    use crate::version::Version;
    use std::fs;

    const EDITS: &str = r##"
        [[edit]]
        file = "a/time.c"
        why = "a finer clock"
        find = "#define STEP 256"
        replace = "#define STEP 1"

        [[edit]]
        file = "a/time.c"
        why = "a variable"
        find = "int read(void)"
        before = "int cost = 1;\n"

        [[edit]]
        file = "Makefile"
        why = "our folder"
        find = "obj-y = a.o\n"
        after = "obj-y += forebay/\n"
    "##;

    fn tree(time: &str) -> Scratch {
        let tree = Scratch::new();
        fs::create_dir(tree.path().join("a")).unwrap();
        fs::write(tree.path().join("a/time.c"), time).unwrap();
        fs::write(tree.path().join("Makefile"), "obj-y = a.o\n").unwrap();
        tree
    }

    #[test]
    fn changes_stand_where_their_anchors_are() {
        let tree = tree("#define STEP 256\nint read(void) { return STEP; }\n");
        apply(&parse(EDITS).unwrap(), tree.path(), Version::DEFAULT).unwrap();
        let time = fs::read_to_string(tree.path().join("a/time.c")).unwrap();
        assert_eq!(time, "#define STEP 1\nint cost = 1;\nint read(void) { return STEP; }\n");
        assert_eq!(fs::read_to_string(tree.path().join("Makefile")).unwrap(), "obj-y = a.o\nobj-y += forebay/\n");
    }

    #[test]
    fn missing_or_ambiguous_anchor_changes_nothing() {
        for (text, said) in [("int read(void)\n", "nowhere"), ("#define STEP 256\n#define STEP 256\nint read(void)\n", "2 times")]
        {
            let tree = tree(text);
            let message = apply(&parse(EDITS).unwrap(), tree.path(), "6.99.1".parse().unwrap()).unwrap_err().to_string();
            for part in ["Linux 6.99.1", "a finer clock", "#define STEP 256", "a/time.c", said] {
                assert!(message.contains(part), "{part:?} in {message}");
            }
            assert_eq!(fs::read_to_string(tree.path().join("a/time.c")).unwrap(), text);
            assert_eq!(fs::read_to_string(tree.path().join("Makefile")).unwrap(), "obj-y = a.o\n");
        }
    }

    #[test]
    fn missing_file_is_named() {
        let empty = Scratch::new();
        let message = apply(&parse(EDITS).unwrap(), empty.path(), Version::DEFAULT).unwrap_err().to_string();
        assert!(message.contains("a/time.c"), "{message}");
    }

    #[test]
    fn invalid_edits_are_refused() {
        assert!(parse("[[edit]]\nfile = \"a\"\nwhy = \"b\"\nfind = \"c\"\n").is_err(), "nothing to do at the anchor");
        assert!(parse("[[edit]]\nfile = \"a\"\nfind = \"c\"\nreplace = \"d\"\n").is_err(), "no reason");
    }
}
