//! Mount points of this mount namespace.

use std::path::PathBuf;
use std::{fs, io};

/// The table of mounts (proc(5)).
pub const TABLE: &str = "/proc/self/mounts";

/// Mount points of file systems of type `kind`, in the order in which they were mounted.
///
/// # Errors
/// Errors of reading [`TABLE`].
pub fn mount_points(kind: &str) -> io::Result<Vec<PathBuf>> {
    Ok(parse(&fs::read_to_string(TABLE)?, kind))
}

fn parse(table: &str, kind: &str) -> Vec<PathBuf> {
    let point = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let (place, found) = (fields.next()?, fields.next()?);
        // Spaces are written in octal (getmntent(3)).
        (found == kind).then(|| PathBuf::from(place.replace("\\040", " ")))
    };
    table.lines().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::{mount_points, parse};
    use std::path::PathBuf;

    #[test]
    fn mount_points_are_selected_by_type() {
        let table = "bpf /sys/fs/bpf bpf rw 0 0\nnone /a\\040b cgroup2 rw 0 0\nbpf /run/bpf bpf rw 0 0\n";
        assert_eq!(parse(table, "bpf"), ["/sys/fs/bpf", "/run/bpf"].map(PathBuf::from));
        assert_eq!(parse(table, "cgroup2"), [PathBuf::from("/a b")]);
        assert!(!mount_points("proc").unwrap().is_empty());
    }
}
