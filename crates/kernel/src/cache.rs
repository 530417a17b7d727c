//! Kernels on disk, in the user's cache: `kernels/NAME/linux` with a small manifest and its sum beside it, and `kernel-trees/NAME`, where they are built.

use crate::error::{At, Error};
use crate::program_sum;
use crate::version::Version;
use forebay_platform::files::TempDir;
use serde::{Deserialize, Serialize};
use std::env;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Prefix of the folders in which kernels are written and removed. A name that begins with a dot is that of no kernel.
const TEMPORARY: &str = ".new";

/// File with the name that the user gave to a kernel.
const LABEL: &str = "label";
/// Folder beside a kernel with its sources of TCP.
const TCP_SOURCES: &str = "sources";

/// Description that is stored beside a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Of Linux, such as `6.12.117`.
    pub version: String,
    /// Names the drivers, congestion controls, configuration and changes that are in it.
    pub recipe: String,
    /// Location of its sources.
    pub source: String,
    /// SHA-256 of the sources.
    pub sha256: String,
    /// Patch of the sources by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Patched>,
    /// Compiler and linker.
    pub compiler: String,
    /// When, in seconds since 1970.
    pub built: u64,
}

/// Patch that a kernel was built with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patched {
    /// File that it was read from.
    pub file: String,
    /// SHA-256 of the patch and its direction.
    pub sha256: String,
    /// True if the change was removed instead of made.
    pub reverse: bool,
}

/// A kernel that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    name: String,
    folder: PathBuf,
    version: Version,
    manifest: Manifest,
    label: Option<String>,
}

impl Kernel {
    /// The kernel in `folder`, if it is complete and has its final name.
    fn read(folder: &Path) -> Option<Kernel> {
        let name = folder.file_name()?.to_str().filter(|name| !name.starts_with('.'))?.to_owned();
        let manifest: Manifest = serde_json::from_slice(&fs::read(folder.join("manifest.json")).ok()?).ok()?;
        let version = manifest.version.parse().ok()?;
        let label = fs::read_to_string(folder.join(LABEL)).ok().map(|text| text.trim().to_owned());
        folder.join("linux").is_file().then(|| Kernel { name, folder: folder.to_owned(), version, manifest, label })
    }

    /// Name that its user gave to it.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Folder of its sources of TCP, as they were compiled.
    pub fn sources(&self) -> PathBuf {
        self.folder.join(TCP_SOURCES)
    }

    /// Its name: a hash of all that went into it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Of Linux.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Its stored description.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The program.
    pub fn program(&self) -> PathBuf {
        self.folder.join("linux")
    }

    /// Size of the program, bytes.
    pub fn bytes(&self) -> u64 {
        fs::metadata(self.program()).map_or(0, |m| m.len())
    }
}

/// The folder with all kernels and trees.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The user's: `forebay` in `$XDG_CACHE_HOME`, or in `~/.cache`.
    ///
    /// # Errors
    /// If neither variable is set.
    pub fn of_user() -> Result<Cache, Error> {
        // XDG Base Directory Specification: a path that is not absolute is to be ignored.
        let absolute = |key: &str| env::var_os(key).map(PathBuf::from).filter(|p| p.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|h| h.join(".cache")));
        let base = base.ok_or_else(|| Error::new("no place for kernels: neither XDG_CACHE_HOME nor HOME names a folder"))?;
        Ok(Cache { root: base.join("forebay") })
    }

    /// Another folder.
    pub fn at(root: impl Into<PathBuf>) -> Cache {
        Cache { root: root.into() }
    }

    /// Folder of the kernels.
    pub fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    /// Folder of the build trees.
    pub fn trees(&self) -> PathBuf {
        self.root.join("kernel-trees")
    }

    /// All kernels, the newest version first, and of equal ones the one that was built last.
    pub fn list(&self) -> Vec<Kernel> {
        let mut found: Vec<Kernel> =
            fs::read_dir(self.kernels()).into_iter().flatten().flatten().filter_map(|e| Kernel::read(&e.path())).collect();
        found.sort_by(|a, b| (b.version, b.manifest.built, &b.name).cmp(&(a.version, a.manifest.built, &a.name)));
        found
    }

    /// The kernel of that name.
    pub fn get(&self, name: &str) -> Option<Kernel> {
        Kernel::read(&self.kernels().join(name))
    }

    /// Stores the program at `file` under that name atomically. The caller holds the build lock.
    /// `sources`: relative names and texts of the sources to keep beside it.
    pub(crate) fn put(
        &self,
        name: &str,
        file: &Path,
        manifest: &Manifest,
        sources: &[(String, Vec<u8>)],
    ) -> Result<Kernel, Error> {
        let place = self.temporary()?;
        // The kernel's own folder has the usual mode; only this user can enter the temporary one.
        let (folder, new) = (self.kernels().join(name), place.path().join(name));
        fs::create_dir(&new).at(&new)?;
        let program = new.join("linux");
        fs::copy(file, &program).at(file)?;
        program_sum::record(&program)?;
        let text = serde_json::to_string_pretty(manifest).map_err(|e| Error::new(e.to_string()))?;
        fs::write(new.join("manifest.json"), text + "\n").at(&new)?;
        for (name, text) in sources {
            let path = new.join(TCP_SOURCES).join(name);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).at(folder)?;
            }
            fs::write(&path, text).at(&path)?;
        }
        // A power cut must not leave an empty program under the final name.
        File::open(&program).and_then(|f| f.sync_all()).at(&program)?;
        if folder.exists() {
            fs::rename(&folder, place.path().join("replaced")).at(&folder)?;
        }
        fs::rename(&new, &folder).at(&folder)?;
        self.get(name).ok_or_else(|| Error::new(format!("{}: what was just written there cannot be read", folder.display())))
    }

    /// Creates a temporary folder for a write or removal. Folders of killed processes are removed first.
    fn temporary(&self) -> Result<TempDir, Error> {
        fs::create_dir_all(self.kernels()).at(&self.kernels())?;
        TempDir::create(&self.kernels(), TEMPORARY).at(&self.kernels())
    }

    /// Gives a kernel the name `label`, which no other kernel keeps.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn set_label(&self, kernel: &Kernel, label: &str) -> Result<(), Error> {
        for other in self.list().iter().filter(|k| k.label() == Some(label) && k.name != kernel.name) {
            let path = other.folder.join(LABEL);
            fs::remove_file(&path).at(&path)?;
        }
        let (path, new) = (kernel.folder.join(LABEL), kernel.folder.join(".label"));
        fs::write(&new, format!("{label}\n")).at(&new)?;
        fs::rename(&new, &path).at(&path)
    }

    /// Removes a kernel.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, kernel: &Kernel) -> Result<(), Error> {
        // Under another name first, so that no half-removed one is started.
        let place = self.temporary()?;
        let away = place.path().join(&kernel.name);
        fs::rename(&kernel.folder, &away).at(&kernel.folder)?;
        fs::remove_dir_all(&away).at(&away)
    }

    /// Size of the trees, bytes; 0 if there are none.
    pub fn tree_bytes(&self) -> u64 {
        size(&self.trees())
    }

    /// Removes the trees. The next build begins from the sources.
    ///
    /// # Errors
    /// If a build is under way, or the machine refuses.
    pub fn remove_trees(&self) -> Result<(), Error> {
        if !self.trees().exists() {
            return Ok(());
        }
        let Some(_lock) = self.try_lock()? else {
            return Err(Error::new("a kernel is being built just now: the trees stay until it is done"));
        };
        fs::remove_dir_all(self.trees()).at(&self.trees())
    }

    /// One build at a time: the lock, or `None` if another process has it.
    pub(crate) fn try_lock(&self) -> Result<Option<File>, Error> {
        let file = self.lock_file()?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(Error::file(&self.root, &e)),
        }
    }

    /// The lock, once the process that has it is done.
    pub(crate) fn lock(&self) -> Result<File, Error> {
        let file = self.lock_file()?;
        file.lock().at(&self.root)?;
        Ok(file)
    }

    fn lock_file(&self) -> Result<File, Error> {
        fs::create_dir_all(&self.root).at(&self.root)?;
        let path = self.root.join("kernels.lock");
        // A user who can open the file can hold the lock. Lock files that others can read may exist and are replaced.
        if fs::symlink_metadata(&path).is_ok_and(|found| found.mode() & 0o077 != 0) {
            fs::remove_file(&path).at(&path)?;
        }
        File::options().create(true).truncate(false).write(true).mode(0o600).open(&path).at(&path)
    }
}

/// Seconds since 1970.
pub(crate) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// Bytes of all files below a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let one = |e: fs::DirEntry| match e.file_type() {
        Ok(kind) if kind.is_dir() => size(&e.path()),
        Ok(kind) if kind.is_file() => e.metadata().map_or(0, |m| m.len()),
        _ => 0,
    };
    entries.map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::{Cache, Manifest, TEMPORARY};
    use crate::scratch::Scratch;
    use std::fs;

    fn manifest(version: &str, built: u64) -> Manifest {
        let word = |w: &str| w.to_owned();
        let (recipe, source, sha256, compiler) = (word("r"), word("s"), word("h"), word("gcc"));
        Manifest { version: word(version), recipe, source, sha256, patch: None, compiler, built }
    }

    #[test]
    fn kernels_are_kept_listed_and_removed() {
        let place = Scratch::new();
        let cache = Cache::at(place.path().join("forebay"));
        assert!(cache.list().is_empty() && cache.tree_bytes() == 0, "an empty cache is no error");
        let program = place.path().join("program");
        fs::write(&program, "ELF").unwrap();
        for (name, version, built) in [("aaa", "6.1.192", 30), ("bbb", "6.12.117", 10), ("ccc", "6.12.117", 20)] {
            let kernel = cache.put(name, &program, &manifest(version, built), &[]).unwrap();
            assert_eq!((kernel.name(), kernel.bytes()), (name, 3));
        }
        // A build that was killed between its manifest and the final name leaves a complete folder, at worst in the place of a kernel.
        let stale = cache.kernels().join(format!("{TEMPORARY}-{}-00000000000000aa", u32::MAX));
        for place in [stale.clone(), stale.join("ddd")] {
            fs::create_dir(&place).unwrap();
            for file in ["linux", "manifest.json"] {
                fs::copy(cache.kernels().join("aaa").join(file), place.join(file)).unwrap();
            }
        }
        fs::create_dir_all(cache.kernels().join("ddd")).unwrap();
        let names = || cache.list().iter().map(|k| k.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(), ["ccc", "bbb", "aaa"]);
        cache.remove(&cache.get("ccc").unwrap()).unwrap();
        assert!(!stale.exists(), "a removal cleans up as well");
        assert_eq!(names(), ["bbb", "aaa"]);
        assert!(cache.get("ccc").is_none() && !cache.kernels().join("ccc").exists());
    }

    #[test]
    fn label_belongs_to_one_kernel() {
        let place = Scratch::new();
        let cache = Cache::at(place.path().join("forebay"));
        let program = place.path().join("program");
        fs::write(&program, "ELF").unwrap();
        let sources = [("net/ipv4/tcp.c".to_owned(), b"int a;\n".to_vec())];
        let [a, b] = ["aaa", "bbb"].map(|name| cache.put(name, &program, &manifest("6.12.1", 1), &sources).unwrap());
        assert_eq!(fs::read_to_string(a.sources().join("net/ipv4/tcp.c")).unwrap(), "int a;\n");
        let labels = || ["aaa", "bbb"].map(|name| cache.get(name).unwrap().label().map(str::to_owned));
        cache.set_label(&a, "mine").unwrap();
        assert_eq!(labels(), [Some("mine".to_owned()), None]);
        cache.set_label(&b, "mine").unwrap();
        assert_eq!(labels(), [None, Some("mine".to_owned())]);
    }

    #[test]
    fn leftovers_of_killed_builds_are_removed() {
        let place = Scratch::new();
        let cache = Cache::at(place.path());
        let used = cache.temporary().unwrap();
        let stale = cache.kernels().join(format!("{TEMPORARY}-{}-00000000000000aa", std::process::id()));
        fs::create_dir_all(stale.join("aaa")).unwrap();
        let program = place.path().join("program");
        fs::write(&program, "ELF").unwrap();
        cache.put("ccc", &program, &manifest("6.12.1", 1), &[]).unwrap();
        assert!(!stale.exists(), "its lock is free, whatever process has its number now");
        assert!(used.path().exists(), "another process fills it");
        assert_eq!(fs::read_dir(cache.kernels()).unwrap().count(), 2);
    }

    #[test]
    fn existing_kernel_is_replaced() {
        let place = Scratch::new();
        let cache = Cache::at(place.path());
        let program = place.path().join("program");
        for (text, built) in [("one", 1), ("three", 2)] {
            fs::write(&program, text).unwrap();
            cache.put("aaa", &program, &manifest("6.12.1", built), &[]).unwrap();
        }
        assert_eq!(fs::read_to_string(cache.get("aaa").unwrap().program()).unwrap(), "three");
        assert_eq!(cache.list().len(), 1);
    }

    #[test]
    fn readers_lock_does_not_block() {
        use std::os::unix::fs::PermissionsExt;
        let place = Scratch::new();
        let cache = Cache::at(place.path());
        let path = place.path().join("kernels.lock");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let reader = fs::File::open(&path).unwrap();
        reader.try_lock().unwrap();
        let lock = cache.try_lock().unwrap();
        assert!(lock.is_some() && cache.try_lock().unwrap().is_none());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    }

    #[test]
    fn builds_are_serialized_and_keep_tree() {
        let place = Scratch::new();
        let cache = Cache::at(place.path());
        fs::create_dir_all(cache.trees().join("t")).unwrap();
        fs::write(cache.trees().join("t/a.o"), "12345").unwrap();
        assert_eq!(cache.tree_bytes(), 5);
        let lock = cache.try_lock().unwrap();
        assert!(lock.is_some() && cache.try_lock().unwrap().is_none());
        assert!(cache.remove_trees().unwrap_err().to_string().contains("being built"));
        drop(lock);
        cache.remove_trees().unwrap();
        assert_eq!(cache.tree_bytes(), 0);
        cache.remove_trees().unwrap();
    }
}
