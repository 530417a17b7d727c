//! Skipped tests. A test that needs something that a machine may lack calls [`skip`] and returns. `FOREBAY_REQUIRE=kernel,netns` names what must
//! not be missing: there the test fails instead.

use std::io::Write;

/// Variable of the environment: names from [`NAMES`], separated by commas.
const VARIABLE: &str = "FOREBAY_REQUIRE";

/// Names for [`skip`], with their meaning.
pub const NAMES: [(&str, &str); 11] = [
    ("kernel", "a kernel for guests, of the release that the recorded results are of"),
    ("netns", "network namespaces, and the programs `ip` and `nsenter`"),
    ("bpf", "BPF programs in the running kernel: root, type information, struct_ops"),
    ("browser", "Chromium"),
    ("valgrind", "valgrind"),
    ("tshark", "tshark, which reads captures of packets"),
    ("mpi", "an MPI with its compiler and `mpirun`"),
    ("root", "root"),
    ("fuse", "/dev/fuse"),
    ("userfaultfd", "the system call userfaultfd"),
    ("shm", "a tmpfs at /dev/shm whose free space differs from that of the temporary folder"),
];

/// Reports on standard error that a test is skipped because `name` is missing. The harness shows that line also for tests that pass.
///
/// # Panics
/// If `FOREBAY_REQUIRE` contains `name`, or a name that is not in [`NAMES`].
pub fn skip(name: &str, why: &str) {
    let required = std::env::var(VARIABLE).unwrap_or_default();
    if let Err(failure) = judge(&required, name, why) {
        panic!("{failure}");
    }
    let _ = writeln!(std::io::stderr(), "skipped ({name}): {why}");
}

/// An error where the list of requirements contains the name.
fn judge(required: &str, name: &str, why: &str) -> Result<(), String> {
    let known = |word: &str| NAMES.iter().any(|(name, _)| *name == word);
    assert!(known(name), "`{name}` is not in the list of names");
    let words = || required.split(',').map(str::trim).filter(|word| !word.is_empty());
    if let Some(unknown) = words().find(|word| !known(word)) {
        let all = NAMES.map(|(name, _)| name).join(", ");
        return Err(format!("{VARIABLE} contains `{unknown}`; the names are {all}"));
    }
    if words().any(|word| word == name) {
        return Err(format!("{VARIABLE} contains `{name}`, which this machine lacks: {why}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn required_things_fail_when_missing() {
        assert_eq!(judge("", "kernel", "none"), Ok(()));
        assert_eq!(judge("netns, bpf", "kernel", "none"), Ok(()));
        let failure = judge("netns, kernel", "kernel", "none").unwrap_err();
        assert!(failure.contains("contains `kernel`") && failure.ends_with("lacks: none"), "{failure}");
    }

    #[test]
    fn unknown_names_fail() {
        assert!(judge("kernle", "kernel", "none").unwrap_err().contains("contains `kernle`; the names are kernel, "));
    }
}
