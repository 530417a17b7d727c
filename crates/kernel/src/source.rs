//! Where the sources of a kernel come from: a distribution's package, an archive, or a folder.

use crate::error::{At, Error};
use crate::selection::wanted;
use crate::version::Version;
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Folder of source packages.
const PACKAGES: &str = "/usr/src";
/// Endings of archives, and the program that unpacks each to its standard output.
const ARCHIVES: [(&str, &str); 4] = [(".tar.xz", "xz"), (".tar.gz", "gzip"), (".tar.bz2", "bzip2"), (".tar.zst", "zstd")];

/// Sources of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An archive, and the program that unpacks it.
    Archive(PathBuf, &'static str),
    /// A folder with the unpacked sources.
    Folder(PathBuf),
}

impl Source {
    /// The named source, or the distribution's package: 6.12 if installed, otherwise the newest.
    ///
    /// # Errors
    /// If there is none, with what to install.
    pub fn find(named: Option<&Path>) -> Result<Source, Error> {
        match named {
            Some(path) => Source::of(path),
            None => Source::installed(Path::new(PACKAGES)),
        }
    }

    /// The archive or folder at `path`.
    fn of(path: &Path) -> Result<Source, Error> {
        if path.is_dir() {
            if !path.join("arch/um/Kconfig").exists() {
                return Err(Error::new(format!("{}: this folder has no sources of Linux (no arch/um/Kconfig)", path.display())));
            }
            return Ok(Source::Folder(path.to_owned()));
        }
        if let Err(e) = fs::metadata(path) {
            let text = format!("{}: {e}; --source takes the archive or the folder of the sources of Linux", path.display());
            return Err(Error::new(text));
        }
        let name = path.to_string_lossy();
        match ARCHIVES.iter().find(|a| name.ends_with(a.0)) {
            Some((_, program)) => Ok(Source::Archive(path.to_owned(), program)),
            None => {
                let endings: Vec<&str> = ARCHIVES.iter().map(|a| a.0).collect();
                Err(Error::new(format!(
                    "{}: not a folder with sources of Linux, and not an archive that ends in {}",
                    path.display(),
                    endings.join(", ")
                )))
            }
        }
    }

    /// The best of the packages in `folder`.
    fn installed(folder: &Path) -> Result<Source, Error> {
        let mut found: Vec<(Version, Source)> = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(rest) = name.strip_prefix("linux-source-") else { continue };
            let bare = ARCHIVES.iter().find_map(|a| rest.strip_suffix(a.0)).unwrap_or(rest);
            let Ok(version) = bare.parse::<Version>() else { continue };
            // Ubuntu has a folder of that name with the archive in it.
            let inside = ARCHIVES.iter().map(|a| entry.path().join(format!("{name}{}", a.0))).find(|p| p.is_file());
            if let Ok(source) = Source::of(&inside.unwrap_or(entry.path())) {
                found.push((version, source));
            }
        }
        found.retain(|f| f.0 >= Version::OLDEST);
        // An archive comes before an unpacked folder, which may have been changed.
        found.sort_by_key(|f| Reverse((f.0.same_series(Version::DEFAULT), f.0, matches!(f.1, Source::Archive(..)))));
        found.into_iter().next().map(|f| f.1).ok_or_else(|| {
            Error::new(format!(
                "no sources of Linux in {}. Install them (Debian 12: apt install linux-source-{series}, from its backports or updates; Ubuntu: \
                 apt install linux-source), or name an archive of kernel.org, {} or newer: forebay kernel build --source linux-{series}.tar.xz",
                folder.display(),
                Version::OLDEST.series(),
                series = Version::DEFAULT.series(),
            ))
        })
    }

    /// Path of the sources.
    pub fn path(&self) -> &Path {
        match self {
            Source::Archive(path, _) | Source::Folder(path) => path,
        }
    }

    /// SHA-256 of the archive, or of the names and contents of all files of the folder that are used, in hexadecimal digits.
    ///
    /// # Errors
    /// If something cannot be read.
    pub fn digest(&self) -> Result<String, Error> {
        let mut hash = Sha256::new();
        match self {
            Source::Archive(path, _) => {
                let mut file = File::open(path).at(path)?;
                let mut part = vec![0; 1 << 20];
                loop {
                    match file.read(&mut part) {
                        Ok(0) => break,
                        Ok(n) => hash.update(&part[..n]),
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(e) => return Err(Error::file(path, &e)),
                    }
                }
            }
            Source::Folder(root) => {
                for name in files(root)? {
                    let text = content(&root.join(&name))?;
                    hash.update((name.len() as u64).to_le_bytes());
                    hash.update(&name);
                    hash.update((text.len() as u64).to_le_bytes());
                    hash.update(&text);
                }
            }
        }
        Ok(hex(&hash.finalize()))
    }
}

/// Contents of a file, or the target of a link.
fn content(path: &Path) -> Result<Vec<u8>, Error> {
    if path.is_symlink() {
        return Ok(fs::read_link(path).at(path)?.into_os_string().into_encoded_bytes());
    }
    fs::read(path).at(path)
}

/// The wanted files and links below a folder, in order, with `/` between the parts of their names.
pub(crate) fn files(root: &Path) -> Result<Vec<String>, Error> {
    let (mut found, mut left) = (Vec::new(), vec![String::new()]);
    while let Some(folder) = left.pop() {
        let at = root.join(&folder);
        for entry in fs::read_dir(&at).at(&at)? {
            let entry = entry.at(&at)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let kind = entry.file_type().at(&at)?;
            if kind.is_dir() {
                left.push(name);
            } else if wanted(&name) {
                // Reading a pipe or a device may never end.
                if !(kind.is_file() || kind.is_symlink()) {
                    return Err(Error::new(format!(
                        "{}: neither a file nor a link, and not part of Linux",
                        entry.path().display()
                    )));
                }
                found.push(name);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::Source;
    use crate::scratch::Scratch;
    use std::fs;
    use std::path::Path;

    #[test]
    fn default_series_first_then_newest() {
        let packages = Scratch::new();
        let add = |name: &str| fs::write(packages.path().join(name), "").unwrap();
        let best = || Source::installed(packages.path()).unwrap().path().file_name().unwrap().to_string_lossy().into_owned();
        for name in ["linux-source-4.19.tar.xz", "linux-headers-6.1", "linux-source-6.12.patch"] {
            add(name);
        }
        let message = Source::installed(packages.path()).unwrap_err().to_string();
        assert!(message.contains("apt install linux-source-6.12") && message.contains("--source"), "{message}");
        add("linux-source-6.1.tar.xz");
        assert_eq!(best(), "linux-source-6.1.tar.xz");
        add("linux-source-6.16.tar.bz2");
        assert_eq!(best(), "linux-source-6.16.tar.bz2");
        add("linux-source-6.12.tar.xz");
        assert_eq!(best(), "linux-source-6.12.tar.xz");
    }

    #[test]
    fn folders_without_sources_are_refused() {
        let empty = Scratch::new();
        assert!(Source::find(Some(empty.path())).unwrap_err().to_string().contains("no arch/um/Kconfig"));
        let zip = empty.path().join("linux.zip");
        fs::write(&zip, "").unwrap();
        assert!(Source::find(Some(&zip)).unwrap_err().to_string().contains(".tar.xz"));
        assert!(
            Source::find(Some(Path::new("/nowhere/linux.tar.xz"))).unwrap_err().to_string().contains("/nowhere/linux.tar.xz")
        );
    }

    #[test]
    fn pipes_in_a_folder_are_refused() {
        let tree = Scratch::new();
        fs::create_dir_all(tree.path().join("arch/um")).unwrap();
        fs::write(tree.path().join("arch/um/Kconfig"), "a").unwrap();
        let pipe = tree.path().join("arch/um/pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let said = Source::find(Some(tree.path())).unwrap().digest().unwrap_err().to_string();
        assert!(said.contains("arch/um/pipe: neither a file nor a link"), "{said}");
    }

    #[test]
    fn folder_hash_covers_used_files() {
        let tree = Scratch::new();
        fs::create_dir_all(tree.path().join("arch/um")).unwrap();
        fs::write(tree.path().join("arch/um/Kconfig"), "a").unwrap();
        let source = Source::find(Some(tree.path())).unwrap();
        let first = source.digest().unwrap();
        fs::write(tree.path().join("arch/um/left.o"), "object").unwrap();
        assert_eq!(source.digest().unwrap(), first, "what a build has left there does not count");
        fs::write(tree.path().join("arch/um/Kconfig"), "b").unwrap();
        assert_ne!(source.digest().unwrap(), first);
    }
}
