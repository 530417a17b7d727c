//! Temporary files that processes left when they were killed.

use crate::files::file_use::{claim, is_own, is_shared};
use crate::files::write::TEMPORARY;
use std::fs;
use std::path::Path;

/// Removes from `folder` the temporary files of [`create_beside`](super::create_beside) whose final names `is_ours` accepts and whose process has
/// ended. Links, pipes, directories and files of other users stay.
///
/// In a directory that [other machines](is_shared) may use as well all of them stay. Failures are not reported, because these files are never read.
pub fn remove_unfinished(folder: &Path, is_ours: impl Fn(&str) -> bool) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if is_shared(folder) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((last, pid)) = name.to_str().and_then(parts) else { continue };
        let path = entry.path();
        let plain = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && is_own(&found));
        if plain
            && is_ours(last)
            && let Some(_claimed) = claim(&path, pid)
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// The final name of a `NAME.tmp-PID` or `NAME.tmp-PID-RANDOM`, and the process ID.
fn parts(name: &str) -> Option<(&str, u32)> {
    let (last, rest) = name.rsplit_once(TEMPORARY)?;
    let (pid, random) = rest.split_once('-').unwrap_or((rest, "0"));
    let number = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    let pid = pid.parse().ok().filter(|_| number(pid) && number(random) && !last.is_empty())?;
    Some((last, pid))
}

#[cfg(all(test, unix))]
mod tests {
    use super::{parts, remove_unfinished};
    use crate::files::{TempDir, create_beside};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    /// Never the ID of a process.
    const DEAD: u32 = u32::MAX;

    #[test]
    fn files_of_dead_processes_go() {
        let place = TempDir::create(&std::env::temp_dir(), "forebay-test-unfinished").unwrap();
        let path = |name: &str| place.path().join(name);
        let names = [format!("x.tmp-{DEAD}-17"), format!("x.tmp-{DEAD}"), format!("y.tmp-{DEAD}-17"), "x.tmp-notes".to_owned()];
        for name in &names {
            fs::write(path(name), "half").unwrap();
        }
        fs::write(path("target"), "whole").unwrap();
        symlink(path("target"), path(&format!("x.tmp-{DEAD}-1"))).unwrap();
        fs::create_dir(path(&format!("x.tmp-{DEAD}-2"))).unwrap();
        // Opening it would block.
        assert!(Command::new("mkfifo").arg(path(&format!("x.tmp-{DEAD}-3"))).status().unwrap().success());
        // The number of a running process, which is not the one that wrote it.
        let reused = path("x.tmp-1-17");
        fs::write(&reused, "half").unwrap();
        let (_held, alive) = create_beside(&path("x"), None).unwrap();
        let before = fs::read_dir(place.path()).unwrap().count();
        remove_unfinished(place.path(), |name| name == "x");
        assert_eq!(names.map(|name| path(&name).exists()), [false, false, true, true]);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), before - 3, "links, directories and pipes stay");
        assert!(alive.exists() && !reused.exists() && fs::read(path("target")).unwrap() == b"whole");
    }

    #[test]
    fn names_have_a_process_id() {
        assert_eq!(parts("a.tmp-12"), Some(("a", 12)));
        assert_eq!(parts("a.tmp-12-3"), Some(("a", 12)));
        for other in ["a.tmp", "a.tmp-", "a.tmp-x", ".tmp-12", "a.tmp-12x", "a.tmp-12-x", "a.tmp-12-", "a.tmp-+12", "tmp-12"] {
            assert_eq!(parts(other), None, "{other}");
        }
    }
}
