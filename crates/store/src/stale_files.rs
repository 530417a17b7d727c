//! Cleanup of the half-written result directories of killed processes, `NAME.tmp-PID` with an optional suffix.
//!
//! The process that writes such a file or directory holds a lock on it, which is visible in other containers. On a shared disk nothing is removed:
//! a lock on a directory may hold on one machine only, and other machines do not know the process id.

use crate::manifest::Manifest;
use crate::run_table::RunTable;
use forebay_platform::files::{Lock, TEMPORARY as MARK, claim, is_own, is_shared};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Temporary name of this process for the final name `name`.
pub(crate) fn temporary_name(name: &OsStr) -> OsString {
    let mut name = name.to_owned();
    name.push(format!("{MARK}{}", std::process::id()));
    name
}

/// A lock on a file or a directory while the value lives; `None` where the file system has no locks.
pub(crate) fn lock(path: &Path) -> Option<File> {
    match forebay_platform::files::lock(path) {
        Lock::Held(file) => Some(file),
        Lock::Busy | Lock::Unsupported | Lock::Unknown => None,
    }
}

/// Removes from `folder` the half-written result directories of ended processes. Complete results stay under any name, and so does everything that
/// forebay did not write.
pub(crate) fn remove_directories(folder: &Path) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if is_shared(folder) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((last, pid)) = name.to_str().and_then(parts) else { continue };
        let path = entry.path();
        let own = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir() && is_own(&found));
        if !own {
            continue;
        }
        let Some(_claimed) = claim(&path, pid) else { continue };
        if has_only_own_files(&path) && (!is_complete(&path) || folder.join(last).exists()) {
            // These files are never read, so a failure to remove them is ignored.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Directories in `folder` with complete results for `name` under temporary names of ended processes, sorted by name.
pub(crate) fn complete(folder: &Path, name: &OsStr) -> Vec<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let own = entry.file_name();
        let of = own.to_str().filter(|own| own.rsplit_once(MARK).is_some_and(|(stem, _)| OsStr::new(stem) == name));
        let Some((last, pid)) = of.and_then(parts) else { continue };
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let replaced = folder.join(last).exists();
        if is_dir && !replaced && is_complete(&path) && claim(&path, pid).is_some() {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// True for a directory of complete results: its manifest, which is written last, is valid.
pub(crate) fn is_complete(path: &Path) -> bool {
    let text = forebay_platform::files::read_plain(&path.join(Manifest::FILE)).unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|m| m["kind"] == Manifest::KIND)
}

/// True if a directory holds only result files, all of them plain.
fn has_only_own_files(path: &Path) -> bool {
    first_foreign(path).is_ok_and(|foreign| foreign.is_none())
}

/// The first entry of a directory, in the order of names, that is no plain result file and no unfinished one.
///
/// # Errors
/// The directory cannot be read.
pub(crate) fn first_foreign(path: &Path) -> io::Result<Option<PathBuf>> {
    let known = |name: &str| is_result(name.rsplit_once(MARK).map_or(name, |(last, _)| last));
    let result = |e: &fs::DirEntry| e.file_type().is_ok_and(|kind| kind.is_file()) && e.file_name().to_str().is_some_and(known);
    let mut first: Option<OsString> = None;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !result(&entry) && first.as_ref().is_none_or(|first| entry.file_name() < *first) {
            first = Some(entry.file_name());
        }
    }
    Ok(first.map(|name| path.join(name)))
}

/// True for the name of a file in a directory of results: manifest, report, table, captured packets (`capture-VARIANT-RUN`), or trace of a flow
/// (`trace-VARIANT-RUN-flow-FLOW`).
pub(crate) fn is_result(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let numbered =
        |stem: &str| stem.rsplit_once('-').is_some_and(|(_, n)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let capture = || stem.starts_with("capture-") && numbered(stem);
    let trace = || stem.starts_with("trace-") && stem.contains("-flow-") && numbered(stem);
    match extension {
        "parquet" => RunTable::of(stem).is_some(),
        "csv" => RunTable::of(stem).is_some() || capture(),
        "pcapng" => capture() || trace(),
        "html" => name == "report.html" || trace(),
        "qlog" | "sqlog" => trace(),
        _ => name == Manifest::FILE,
    }
}

/// The final name of a complete `NAME.tmp-12` or `NAME.tmp-12-3` (none, except for the replaced `NAME.tmp-12-old`), and the process id.
fn parts(name: &str) -> Option<(&str, u32)> {
    let (stem, rest) = name.rsplit_once(MARK)?;
    let (pid, more) = rest.split_once('-').unwrap_or((rest, ""));
    let old = more == "old" || more.ends_with("-old");
    let plain = more.is_empty() || old || more.bytes().all(|b| b.is_ascii_digit());
    let pid = pid.parse().ok().filter(|_| plain && !stem.is_empty())?;
    // No file name contains a zero byte.
    Some((if old { stem } else { "\0" }, pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn pipes_are_not_opened() {
        let place = forebay_platform::files::TempDir::create(&std::env::temp_dir(), "forebay-test-stale_files").unwrap();
        // A process id that is never in use.
        let pipe = place.path().join(format!("x.tmp-{}", u32::MAX));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // A directory with a pipe in place of the manifest.
        let results = place.path().join(format!("x.tmp-{}-1", u32::MAX));
        fs::create_dir(&results).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(results.join(Manifest::FILE)).status().unwrap().success());
        remove_directories(place.path());
        assert!(complete(place.path(), OsStr::new("x")).is_empty() && pipe.exists() && results.exists());
    }

    #[test]
    fn complete_results_without_name_are_found() {
        let place = forebay_platform::files::TempDir::create(&std::env::temp_dir(), "forebay-test-stale_files").unwrap();
        // The number of a running process, which is not the one that wrote the directory.
        let (reused, complete) = (place.path().join("x.tmp-1"), place.path().join(format!("x.tmp-{}", u32::MAX)));
        let used = place.path().join(format!("x.tmp-{}", std::process::id()));
        for dir in [reused.clone(), complete.clone(), place.path().join(format!("y.tmp-{}", u32::MAX)), used.clone()] {
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join(Manifest::FILE), format!(r#"{{"kind": "{}"}}"#, Manifest::KIND)).unwrap();
        }
        // Incomplete.
        fs::create_dir(place.path().join(format!("x.tmp-{}-3", u32::MAX))).unwrap();
        let held = lock(&used);
        assert_eq!(super::complete(place.path(), OsStr::new("x")), [reused, complete]);
        drop(held);
    }

    #[test]
    fn half_written_results_go() {
        let place = forebay_platform::files::TempDir::create(&std::env::temp_dir(), "forebay-test-stale_files").unwrap();
        let results = |number: u32, file: &str| {
            let dir = place.path().join(format!("x.tmp-{}-{number}", u32::MAX));
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("flows.parquet"), "half").unwrap();
            fs::write(dir.join(file), "half").unwrap();
            dir
        };
        // The last one was killed while it wrote the manifest.
        let ours = [results(1, "capture-newreno-0.pcapng"), results(2, "manifest.json.tmp-7-12"), results(5, Manifest::FILE)];
        let other = results(3, "capture.pcapng");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&other, place.path().join(format!("x.tmp-{}-4", u32::MAX))).unwrap();
        remove_directories(place.path());
        assert!(ours.iter().all(|dir| !dir.exists()) && other.join("flows.parquet").exists());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), if cfg!(unix) { 2 } else { 1 });
    }

    #[test]
    fn results_recognized_by_file_names() {
        for name in
            ["summary.parquet", "flows.csv", "manifest.json", "report.html", "capture-a-b-3.csv", "trace-a-0-flow-12.sqlog"]
        {
            assert!(is_result(name), "{name}");
        }
        for name in
            ["notes.csv", "manifest.csv", "capture-a.pcapng", "trace-0.html", "trace-a-0-flow-x.qlog", "page.html", "flows"]
        {
            assert!(!is_result(name), "{name}");
        }
    }

    #[test]
    fn first_foreign_file_is_named() {
        let place = forebay_platform::files::TempDir::create(&std::env::temp_dir(), "forebay-test-stale_files").unwrap();
        for own in ["manifest.json", "flows.parquet", "report.html", "report.html.tmp-7-12", "trace-a-0-flow-1.qlog"] {
            fs::write(place.path().join(own), "x").unwrap();
        }
        assert_eq!(first_foreign(place.path()).unwrap(), None);
        for foreign in ["notes.txt", "a.csv"] {
            fs::write(place.path().join(foreign), "x").unwrap();
            assert_eq!(first_foreign(place.path()).unwrap(), Some(place.path().join(foreign)));
        }
    }

    #[test]
    fn other_temporary_names_stay() {
        assert_eq!(parts("a.tmp-12"), Some(("\0", 12)));
        assert_eq!(parts("a.tmp-12-3"), Some(("\0", 12)));
        assert_eq!(parts("a.tmp-12-old"), Some(("a", 12)));
        assert_eq!(parts("a.tmp-12-3-old"), Some(("a", 12)));
        for other in ["a.tmp", "a.tmp-", "a.tmp-x", ".tmp-12", "a.tmp-12x", "a.tmp-12-x", "tmp-12"] {
            assert_eq!(parts(other), None, "{other}");
        }
    }
}
