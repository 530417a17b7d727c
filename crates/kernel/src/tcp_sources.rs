//! Sources of TCP that are kept beside a kernel, as they were compiled: a comparison of two kernels looks up the functions in them.

use crate::error::{At, Error};
use std::fs;
use std::path::Path;

/// Folders whose C files and headers are kept.
const FOLDERS: [&str; 1] = ["net/ipv4"];
/// More files, where they exist.
const FILES: [&str; 14] = [
    "include/linux/tcp.h",
    "include/linux/win_minmax.h",
    "include/net/inet_connection_sock.h",
    "include/net/inet_ecn.h",
    "include/net/sock.h",
    "include/net/tcp.h",
    "lib/win_minmax.c",
    "net/core/dev.c",
    "net/core/gro.c",
    "net/core/sock.c",
    "net/core/stream.c",
    "net/sched/sch_fq.c",
    "net/sched/sch_fq_codel.c",
    "net/sched/sch_generic.c",
];

/// Relative names and texts of the files below `root`, in order.
pub(crate) fn collect(root: &Path) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut names: Vec<String> = FILES.iter().filter(|name| root.join(name).is_file()).map(|name| (*name).to_owned()).collect();
    for folder in FOLDERS {
        let path = root.join(folder);
        for entry in fs::read_dir(&path).at(&path)? {
            let Ok(name) = entry.at(&path)?.file_name().into_string() else { continue };
            if name.ends_with(".c") || name.ends_with(".h") {
                names.push(format!("{folder}/{name}"));
            }
        }
    }
    names.sort_unstable();
    names.into_iter().map(|name| Ok((name.clone(), fs::read(root.join(&name)).at(&root.join(&name))?))).collect()
}

#[cfg(test)]
mod tests {
    use super::collect;
    use crate::scratch::Scratch;
    use std::fs;

    #[test]
    fn c_files_and_headers_are_kept() {
        let place = Scratch::new();
        for (file, text) in [("net/ipv4/tcp.c", "a"), ("net/ipv4/tcp.o", "b"), ("net/ipv4/x.h", "c"), ("include/net/tcp.h", "d")]
        {
            let path = place.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let kept = collect(place.path()).unwrap();
        let kept: Vec<(&str, &[u8])> = kept.iter().map(|f| (f.0.as_str(), f.1.as_slice())).collect();
        assert_eq!(kept, [("include/net/tcp.h", &b"d"[..]), ("net/ipv4/tcp.c", b"a"), ("net/ipv4/x.h", b"c")]);
    }
}
