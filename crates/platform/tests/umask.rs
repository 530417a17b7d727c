//! Modes under every umask. A program of its own: the umask belongs to the process.
#![cfg(target_os = "linux")]

use forebay_platform::files::{Dir, Options, TempDir, replace, write_new};
use rustix::fs::Mode;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn modes_are_exact_under_any_umask() {
    for umask in [0o000, 0o022, 0o077] {
        rustix::process::umask(Mode::from_raw_mode(umask));
        let place = TempDir::create(&std::env::temp_dir(), "forebay-test-umask").unwrap();
        let dir = Dir::open(place.path()).unwrap().unwrap();
        let below = dir.create_subdir(OsStr::new("state"), 0o755).unwrap();
        below.write(OsStr::new("x.json"), b"{}", 0o644).unwrap();
        let lock = below.try_lock(OsStr::new("lock")).unwrap();
        assert!(lock.is_some());
        let user = place.path().join("list.csv");
        write_new(&user, b"", Some(0o600)).unwrap();
        let metrics = place.path().join("metrics.prom");
        replace(&metrics, b"", Options { mode: Some(0o644), sync: false }).unwrap();
        let modes =
            [place.path(), below.path(), &below.path().join("x.json"), &below.path().join("lock"), &user, &metrics].map(mode);
        assert_eq!(modes, [0o700, 0o755, 0o644, 0o600, 0o600, 0o644], "umask {umask:04o}");
    }
}
