//! The file of metrics is replaced atomically, and no other files are.
#![cfg(all(target_os = "linux", feature = "bpf"))]

use forebay_hosts::prometheus::write;
use forebay_platform::files::TempDir;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn metrics_replace_only_metrics() {
    let place = TempDir::create(&std::env::temp_dir(), "forebay-test-metrics").unwrap();
    let path = place.path().join("x.prom");
    // A link has a fixed temporary name, which must not be used.
    let victim = place.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    symlink(&victim, place.path().join("x.forebay-new")).unwrap();
    for _ in 0..2 {
        write(&path, &[], None).unwrap();
        assert!(fs::read_to_string(&path).unwrap().starts_with("# HELP forebay_sockets"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o644, "collectors of other users read it");
    }
    let said = write(&victim, &[], None).unwrap_err().to_string();
    assert!(said.contains("victim") && said.contains("not replaced") && said.contains("another file"), "{said}");
    let link = place.path().join("link.prom");
    symlink(&path, &link).unwrap();
    assert!(write(&link, &[], None).is_err(), "not by way of a link either");
    let empty = place.path().join("empty.prom");
    fs::write(&empty, "").unwrap();
    write(&empty, &[], None).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 5, "no temporary file stays");
}
