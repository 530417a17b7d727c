//! Unpacks what is needed of a kernel's sources into a folder of our own.

use crate::error::{At, Error};
use crate::selection::wanted;
use crate::source::{Source, files};
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path};
use std::process::{Command, Stdio};
use tar::Archive;

/// Fills `tree` with the wanted files; the source itself is only read.
pub(crate) fn unpack(source: &Source, tree: &Path) -> Result<(), Error> {
    match source {
        Source::Archive(path, program) => {
            let mut child = Command::new(program)
                .arg("-dc")
                .arg(path)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|e| Error::new(format!("{program}, which unpacks {}: {e}", path.display())))?;
            let Some(mut out) = child.stdout.take() else { return Err(Error::new(format!("{program} has no output"))) };
            let read = extract(&mut out, tree).map_err(|e| Error::new(format!("unpacking {}: {e}", path.display())));
            // What stands behind the end of the archive; the program would fail if it were not read.
            let rest = io::copy(&mut out, &mut io::sink());
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
                    let target = fs::read_link(&from).at(&from)?;
                    std::os::unix::fs::symlink(target, &to).at(&to)?;
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

/// Whether a link that stands in the folder of `name` stays inside the tree.
fn stays_inside(name: &str, target: &Path) -> bool {
    let mut depth = name.split('/').count() - 1;
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => return false,
        }
    }
    true
}

/// Reads an archive whose names all begin with one folder, and writes the wanted files below `tree` without it.
fn extract(archive: &mut impl Read, tree: &Path) -> io::Result<()> {
    let mut archive = Archive::new(archive);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let plain = path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        let Some(name) = path.to_str().filter(|_| plain).map(|n| n.trim_start_matches("./")) else { continue };
        let Some((_, name)) = name.split_once('/') else { continue };
        let kind = entry.header().entry_type();
        if !(kind.is_file() || kind.is_symlink()) || name.is_empty() || !wanted(name) {
            continue;
        }
        if kind.is_symlink() && !entry.link_name()?.is_some_and(|t| stays_inside(name, &t)) {
            continue;
        }
        let to = tree.join(name);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        entry.set_preserve_mtime(false);
        entry.unpack(&to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{extract, stays_inside, unpack};
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
    fn wanted_files_of_an_archive_lie_in_the_folder() {
        let tree = Scratch::new();
        let bytes = archive(&[
            ("linux-6.12/net/ipv4/tcp.c", "tcp"),
            ("linux-6.12/sound/core/pcm.c", "pcm"),
            ("linux-6.12/Makefile", "m"),
        ]);
        extract(&mut &bytes[..], tree.path()).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("net/ipv4/tcp.c")).unwrap(), "tcp");
        assert!(tree.path().join("Makefile").exists() && !tree.path().join("sound").exists());
    }

    #[test]
    fn an_archive_without_a_kernel_is_refused() {
        let place = Scratch::new();
        let file = place.path().join("linux.tar.gz");
        fs::write(&file, "no archive").unwrap();
        let message = unpack(&Source::find(Some(&file)).unwrap(), &place.path().join("tree")).unwrap_err().to_string();
        assert!(message.contains("linux.tar.gz"), "{message}");
    }

    #[test]
    fn links_out_of_the_tree_are_left_out() {
        assert!(stays_inside("a/b", Path::new("../c")) && stays_inside("a/b", Path::new("c/d")));
        assert!(!stays_inside("a/b", Path::new("../../c")) && !stays_inside("a", Path::new("/etc/passwd")));
    }
}
