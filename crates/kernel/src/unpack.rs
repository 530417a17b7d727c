//! Unpacks what is needed of a kernel's sources into a folder of our own.

use crate::error::{At, Error};
use crate::selection::wanted;
use crate::source::{Source, files};
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use tar::Archive;

/// Fills `tree` with the wanted files; the source itself is only read.
pub(crate) fn unpack(source: &Source, tree: &Path) -> Result<(), Error> {
    match source {
        Source::Archive(path, program) => {
            let mut child = Command::new(program)
                .args(["-dc", "--"])
                .arg(path)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|e| Error::new(format!("{program}, which unpacks {}: {e}", path.display())))?;
            let Some(mut out) = child.stdout.take() else { return Err(Error::new(format!("{program} has no output"))) };
            let read = extract(&mut out, tree, LIMITS).map_err(|e| Error::new(format!("unpacking {}: {e}", path.display())));
            // Reads the rest behind the end of the archive, without which the program would fail. Reading stops at a limit.
            let rest = if read.is_ok() { io::copy(&mut (&mut out).take(LIMITS.entry), &mut io::sink()) } else { Ok(0) };
            drop(out);
            let status = child.wait().at(path)?;
            read?;
            rest.at(path)?;
            if !status.success() {
                return Err(Error::new(format!("{program} could not unpack {} ({status}): is the file whole?", path.display())));
            }
        }
        Source::Folder(root) => {
            for name in files(root)? {
                let (from, to) = (root.join(&name), tree.join(&name));
                if let Some(folder) = to.parent() {
                    fs::create_dir_all(folder).at(folder)?;
                }
                if from.is_symlink() {
                    // Trees that were built have links to absolute paths, which a build does not need.
                    let target = fs::read_link(&from).at(&from)?;
                    if stays_inside(&name, &target) {
                        std::os::unix::fs::symlink(target, &to).at(&to)?;
                    }
                } else {
                    fs::copy(&from, &to).at(&from)?;
                }
            }
        }
    }
    if tree.join("arch/um/Kconfig").exists() {
        Ok(())
    } else {
        Err(Error::new(format!("{}: no sources of Linux are in it (no arch/um/Kconfig)", source.path().display())))
    }
}

/// Returns true if a link at `name` leads to a path inside the tree, whatever other links the tree has. Its target begins with `..` components, at
/// most up to the top, and has none after them. Links are created in real directories, so that each `..` is the parent in the path.
fn stays_inside(name: &str, target: &Path) -> bool {
    let depth = name.split('/').count() - 1;
    let climbs = target.components().take_while(|c| *c == Component::ParentDir).count();
    let mut rest = target.components().skip(climbs);
    climbs <= depth && rest.all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
}

/// Limits of the bytes that are read of an archive.
#[derive(Debug, Clone, Copy)]
pub struct ArchiveLimits {
    /// Bytes of the whole archive.
    pub total: u64,
    /// Bytes of an entry, with the long names and extended headers before it, which are kept in memory.
    pub entry: u64,
}

/// Linux 6.18 has 1.7 GB; its longest file has 25 MB.
const LIMITS: ArchiveLimits = ArchiveLimits { total: 8 << 30, entry: 256 << 20 };

/// A reader that fails beyond the limits.
struct Limited<'a, R> {
    inner: R,
    total: u64,
    entry: &'a Cell<u64>,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = self.total.min(self.entry.get());
        if left == 0 {
            return Err(io::Error::other("it is larger than sources of Linux; no files of it are used"));
        }
        let most = to.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let n = self.inner.read(&mut to[..most])?;
        self.total -= n as u64;
        self.entry.set(self.entry.get() - n as u64);
        Ok(n)
    }
}

/// Reads an archive whose names all begin with one folder, and writes the wanted files below `tree` without it. Nothing is written through a
/// link, and no link leads out of the tree.
///
/// # Errors
/// An archive that cannot be read, is larger than `limits`, or has an entry that is no file, folder or link inside of the tree.
pub fn extract(archive: &mut impl Read, tree: &Path, limits: ArchiveLimits) -> io::Result<()> {
    let left = Cell::new(limits.entry);
    let mut archive = Archive::new(Limited { inner: archive, total: limits.total, entry: &left });
    for entry in archive.entries()? {
        left.set(limits.entry);
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let refused = |why: &str| io::Error::other(format!("it contains `{}`, {why}; no files of it are used", path.display()));
        if !path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir)) {
            return Err(refused("a name that leads out of the archive"));
        }
        // Without the first folder, and without parts that go nowhere (`a//b`, `a/./b`): they would count as folders in `stays_inside`.
        let parts = path.components().filter(|c| matches!(c, Component::Normal(_))).skip(1);
        let parts: Option<Vec<&str>> = parts.map(|c| c.as_os_str().to_str()).collect();
        let Some(name) = parts.map(|p| p.join("/")) else { continue };
        let name = name.as_str();
        let kind = entry.header().entry_type();
        if kind.is_dir() || name.is_empty() || !wanted(name) {
            continue;
        }
        let to = make_folders(tree, name).map_err(|e| refused(&e.to_string()))?;
        if kind.is_symlink() {
            let target = entry.link_name()?.filter(|t| stays_inside(name, t));
            let target = target.ok_or_else(|| refused("a link that leads out of the tree"))?;
            std::os::unix::fs::symlink(target, &to)?;
        } else if kind.is_file() {
            let executable = entry.header().mode().is_ok_and(|m| m & 0o100 != 0);
            let mut file = File::options().write(true).create_new(true).open(&to)?;
            if executable {
                file.set_permissions(fs::Permissions::from_mode(0o755))?;
            }
            io::copy(&mut entry, &mut file)?;
        } else if kind.is_hard_link() {
            return Err(refused("a hard link"));
        } else if !kind.is_pax_global_extensions() {
            return Err(refused("a device, a pipe or something else that is not a file"));
        }
    }
    Ok(())
}

/// Creates the folders of `name` below `tree`, which must be real ones, and removes a file or link of an earlier entry with that name.
fn make_folders(tree: &Path, name: &str) -> io::Result<PathBuf> {
    let mut at = tree.to_owned();
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let found = fs::symlink_metadata(&at);
        match (parts.peek().is_some(), found) {
            (_, Err(e)) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            (true, Err(_)) => fs::create_dir(&at)?,
            (true, Ok(f)) if f.is_dir() => {}
            (true, Ok(_)) => return Err(io::Error::other("a file below a link or a file")),
            (false, Ok(f)) if f.is_dir() => return Err(io::Error::other("a file in the place of a folder")),
            (false, Ok(_)) => fs::remove_file(&at)?,
            (false, Err(_)) => {}
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::{ArchiveLimits, LIMITS, extract, stays_inside, unpack};
    use crate::scratch::Scratch;
    use crate::source::Source;
    use std::fs;
    use std::path::Path;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn archive_extracts_wanted_files() {
        let tree = Scratch::new();
        let bytes = archive(&[
            ("linux-6.12/net/ipv4/tcp.c", "tcp"),
            ("linux-6.12/sound/core/pcm.c", "pcm"),
            ("linux-6.12/Makefile", "m"),
        ]);
        extract(&mut &bytes[..], tree.path(), LIMITS).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("net/ipv4/tcp.c")).unwrap(), "tcp");
        assert!(tree.path().join("Makefile").exists() && !tree.path().join("sound").exists());
    }

    #[test]
    fn archive_without_kernel_is_refused() {
        let place = Scratch::new();
        let file = place.path().join("linux.tar.gz");
        fs::write(&file, "no archive").unwrap();
        let message = unpack(&Source::find(Some(&file)).unwrap(), &place.path().join("tree")).unwrap_err().to_string();
        assert!(message.contains("linux.tar.gz"), "{message}");
    }

    #[test]
    fn links_stay_inside_the_tree() {
        for (name, target) in [("a/b", "../c"), ("a/b", "c/d"), ("a/b", "."), ("a/b/c", "../../d/e"), ("a", "b")] {
            assert!(stays_inside(name, Path::new(target)), "{name} -> {target}");
        }
        // The last three stay inside as text, and leave once `a` or `x` is a link to a folder further up.
        let out =
            [("a/b", "../../c"), ("a", "/etc/passwd"), ("a", ".."), ("net/b", "a/../../.."), ("net/b", "a/.."), ("b", "x/../y")];
        for (name, target) in out {
            assert!(!stays_inside(name, Path::new(target)), "{name} -> {target}");
        }
    }

    /// An entry of an archive, with names that archivers do not write.
    enum Entry {
        File(&'static str),
        Link(&'static str, &'static str),
        Other(&'static str, tar::EntryType),
    }

    fn hostile(entries: &[Entry]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut add = |name: &str, kind: tar::EntryType, target: Option<&str>, text: &[u8]| {
            let mut header = tar::Header::new_gnu();
            // Written directly, because the library refuses these names.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            if let Some(target) = target {
                header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
            }
            header.set_entry_type(kind);
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, text).unwrap();
        };
        for entry in entries {
            match entry {
                Entry::File(name) => add(name, tar::EntryType::Regular, None, b"outside\n"),
                Entry::Link(name, to) => add(name, tar::EntryType::Symlink, Some(to), b""),
                Entry::Other(name, kind) => add(name, *kind, Some("l/net/x"), b""),
            }
        }
        builder.into_inner().unwrap()
    }

    /// No archive writes outside the tree or leaves a link that leads out of it.
    #[test]
    fn hostile_archives_write_nothing_outside() {
        use Entry::{File, Link, Other};
        let archives: [(&str, &[Entry]); 15] = [
            (
                "a link in a folder that is a link",
                &[Link("l/net/a", "."), Link("l/net/a/a/a/b", "../../../../escaped"), File("l/net/b/x.c")],
            ),
            ("a file through a link", &[Link("l/net/a", ".."), File("l/net/a/x.c")]),
            ("a file through a link to a folder", &[File("l/net/x/y.c"), Link("l/net/a", "x"), File("l/net/a/z.c")]),
            ("a link that leaves at once", &[Link("l/net/b", "../../escaped")]),
            ("a link that leaves, behind an empty part", &[Link("l/net//b", "../../escaped")]),
            ("a link that leaves, behind a dot", &[Link("l/net/./b", "../../escaped")]),
            ("a link that leaves, behind an empty first part", &[Link("l//net/b", "../../escaped")]),
            ("an absolute link", &[Link("l/net/b", "/tmp")]),
            ("a link that leaves by way of another", &[Link("l/net/a", "."), Link("l/net/b", "a/../../escaped")]),
            ("a name with ..", &[File("l/../escaped/x.c")]),
            ("a name from the root", &[File("/escaped/x.c")]),
            ("a hard link", &[File("l/net/x"), Other("l/net/y", tar::EntryType::Link)]),
            ("a device", &[Other("l/net/null", tar::EntryType::Char)]),
            ("a block device", &[Other("l/net/disk", tar::EntryType::Block)]),
            ("a pipe", &[Other("l/net/pipe", tar::EntryType::Fifo)]),
        ];
        for (what, entries) in archives {
            let place = Scratch::new();
            let (tree, escaped) = (place.path().join("a/b/tree"), place.path().join("a/b/escaped"));
            fs::create_dir_all(&tree).unwrap();
            fs::create_dir_all(escaped.join("b")).unwrap();
            fs::write(escaped.join("x.c"), "untouched").unwrap();
            let message = extract(&mut &hostile(entries)[..], &tree, LIMITS).expect_err(what).to_string();
            assert!(message.contains("no files of it are used"), "{what}: {message}");
            assert_eq!(fs::read_to_string(escaped.join("x.c")).unwrap(), "untouched", "{what}");
            assert_eq!(fs::read_dir(place.path().join("a/b")).unwrap().count(), 2, "{what}");
        }
    }

    #[test]
    fn archives_without_end_are_given_up() {
        let long = "x".repeat(40_000);
        let whole = archive(&[("l/net/a.c", long.as_str()), ("l/net/b.c", long.as_str())]);
        // A long name is kept in memory.
        let mut name = tar::Header::new_gnu();
        name.set_entry_type(tar::EntryType::GNULongName);
        name.set_size(40_000);
        name.set_cksum();
        let mut named = tar::Builder::new(Vec::new());
        named.append(&name, long.as_bytes()).unwrap();
        let named = named.into_inner().unwrap();
        let (enough, files) = (ArchiveLimits { total: 100_000, entry: 50_000 }, ArchiveLimits { total: 60_000, entry: 50_000 });
        extract(&mut &whole[..], Scratch::new().path(), enough).unwrap();
        for (archive, limits) in [
            (&whole, files),
            (&whole, ArchiveLimits { entry: 30_000, ..enough }),
            (&named, ArchiveLimits { entry: 30_000, ..enough }),
        ] {
            let said = extract(&mut &archive[..], Scratch::new().path(), limits).unwrap_err().to_string();
            assert!(said.contains("larger than sources of Linux"), "{said}");
        }
    }

    #[test]
    fn links_and_repeated_files_are_unpacked() {
        use Entry::{File, Link};
        let tree = Scratch::new();
        let entries = [
            File("l/arch/x86/a.h"),
            Link("l/scripts/dtc/include", "../../arch/x86"),
            File("l/arch/x86/a.h"),
            Link("l/net/loop", "a.c"),
            File("l/net/loop"),
        ];
        extract(&mut &hostile(&entries)[..], tree.path(), LIMITS).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("scripts/dtc/include/a.h")).unwrap(), "outside\n");
        assert!(fs::symlink_metadata(tree.path().join("net/loop")).unwrap().is_file(), "a later file replaces a link");
    }
}
