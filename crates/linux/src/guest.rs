//! A guest: a kernel that runs as a child process in its own process group, with its own folder for files. Both are removed when the guest is dropped,
//! also after a panic.

use crate::link::Link;
use forebay_platform::files::{TempDir, remove_stale};
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Descriptors of the guest's input and output: `FB_FD_IN` and `FB_FD_OUT`.
const GUEST_READS: i32 = 3;
const GUEST_WRITES: i32 = 4;

/// The clock of every guest begins here, ns: a date, so that nothing in it is younger than its own start. Our choice: 2023-11-14.
const START_NS: u64 = 1_700_000_000_000_000_000;

/// Lines of the guest's console that errors quote.
const QUOTED: usize = 8;

/// Time that a killed process has to end.
const ENDING: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };

/// Prefix of the names of guests' folders.
const FOLDER: &str = "forebay-guest";

/// Options of a guest's start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Memory that it may use at most, MiB. It takes what it touches.
    pub memory_mib: u64,
    /// Seed of its kernel's random numbers.
    pub seed: u64,
}

/// A running guest.
#[derive(Debug)]
pub(crate) struct Guest {
    child: Child,
    folder: TempDir,
    /// The most that its memory may take, bytes.
    memory: u64,
    /// The conversation with it.
    pub(crate) link: Link,
}

impl Guest {
    /// Starts `kernel`.
    pub(crate) fn start(kernel: &Path, options: Options) -> io::Result<Guest> {
        let memory = options.memory_mib << 20;
        let private = private_folder(memory)?;
        let folder = private.path();
        let (guest_reads, to_guest) = io::pipe()?;
        let (from_guest, guest_writes) = io::pipe()?;
        let (reads, writes) = (above(guest_reads.into())?, above(guest_writes.into())?);
        let mut command = Command::new(kernel);
        command
            .arg(format!("mem={}M", options.memory_mib))
            .args(["time-travel=inf-cpu", &format!("time-travel-start={START_NS}")])
            .arg(format!("rng-seed={}", options.seed))
            .args(["con=null", "con0=null,fd:2", "panic=-1", "norandmaps", "quiet"])
            .arg(format!("uml_dir={}/", folder.display()));
        command
            .env_clear()
            // Else the stub process of the guest dies at once: the host writes into the area that glibc has registered (rseq(2)) and the guest
            // has unmapped.
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .env("TMPDIR", folder)
            .env("HOME", folder)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(folder.join("console"))?)
            .process_group(0);
        let (reads_fd, writes_fd) = (reads.as_raw_fd(), writes.as_raw_fd());
        // SAFETY: between fork and exec this only makes system calls, on descriptors that are open until `spawn` returns.
        unsafe {
            command.pre_exec(move || {
                place(reads_fd, GUEST_READS)?;
                place(writes_fd, GUEST_WRITES)?;
                // A killed program leaves nothing behind.
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                Ok(())
            });
        }
        let child = command.spawn()?;
        Ok(Guest { child, folder: private, memory, link: Link::new(to_guest, from_guest) })
    }

    /// The last lines of its console, for messages.
    pub(crate) fn console(&self) -> String {
        let text = fs::read(self.folder.path().join("console")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim_end)
            .filter(|l| !l.is_empty() && !l.contains("unable to open an initial console"))
            .collect();
        lines[lines.len().saturating_sub(QUOTED)..].join("\n")
    }

    /// Message with a fix if the file system of its folder has less free space than its memory may need. A guest that gets no memory ends without a
    /// message (SIGBUS), and its memory is then free again.
    pub(crate) fn lacks_space(&self) -> Option<String> {
        let (folder, left) = (self.folder.path(), free_space(self.folder.path()));
        (left < self.memory).then(|| {
            format!(
                "`{}`, where guests keep their memory, has {} MB left, and a guest may take {}: free or enlarge it (docker run --shm-size), set TMPDIR to \
                 a folder with more, or use fewer --threads",
                folder.parent().unwrap_or(folder).display(),
                left >> 20,
                self.memory >> 20
            )
        })
    }

    /// Waits at most `limit` for its end, which it has announced. Returns its exit status.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let begin = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(None) if begin.elapsed() < limit => std::thread::sleep(Duration::from_millis(1)),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }

    /// Message with a fix if a limit of the size of files has ended it, without a message of its own. The memory of the guest is a file, which is
    /// longer than the memory by an address that the kernel of the host draws.
    pub(crate) fn exceeds_file_size(status: Option<ExitStatus>) -> Option<&'static str> {
        let ended = status.and_then(|s| s.signal()) == Some(Signal::XFSZ.as_raw());
        ended.then_some("its memory, a file of up to 2 GiB, exceeds the limit of file sizes: raise it (ulimit -f unlimited)")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The whole group: a guest's own processes are processes of the host.
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A copy of `fd` that is not in the way when descriptors get the numbers that the guest expects.
fn above(fd: OwnedFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(&fd, 10)?)
}

/// Makes `fd` the descriptor `number`, which lives through exec.
fn place(fd: i32, number: i32) -> io::Result<()> {
    // SAFETY: `fd` is open, and `number` is unused in this process, which is about to become another one; it is not closed here.
    unsafe {
        let from = std::os::fd::BorrowedFd::borrow_raw(fd);
        let mut to = std::mem::ManuallyDrop::new(<OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(number));
        rustix::io::dup2(from, &mut to)?;
    }
    Ok(())
}

/// A new folder that no other user can enter, where files may be executed: the guest's memory, `bytes` at most, is one. Guests of killed runs end first.
fn private_folder(bytes: u64) -> io::Result<TempDir> {
    // In memory if possible: the guest's memory is a file. A container has 64 MB there, which is enough for one guest.
    private_folder_in(&[PathBuf::from("/dev/shm"), std::env::temp_dir()], bytes)
}

/// Free space of the file system at `path`, bytes.
fn free_space(path: &Path) -> u64 {
    statvfs(path).map_or(0, |s| s.f_bavail.saturating_mul(s.f_frsize))
}

/// The same in the first of these places that has the space, or else in the first that can have one.
fn private_folder_in(parents: &[PathBuf], bytes: u64) -> io::Result<TempDir> {
    parents.iter().for_each(|p| remove_stale(p, FOLDER, end_processes_in));
    let executable = |p: &&PathBuf| statvfs(p.as_path()).is_ok_and(|s| !s.f_flag.contains(StatVfsMountFlags::NOEXEC));
    let (ample, scarce): (Vec<_>, Vec<_>) = parents.iter().filter(executable).partition(|p| free_space(p) >= bytes);
    let mut last = io::Error::other("no folder for temporary files in which files may be executed: set TMPDIR to one");
    for parent in ample.into_iter().chain(scarce) {
        match TempDir::create(parent, FOLDER) {
            Ok(folder) => return Ok(folder),
            Err(e) => last = io::Error::new(e.kind(), format!("`{}`: {e}", parent.display())),
        }
    }
    Err(last)
}

/// Kills the processes whose working directory is a guest's folder: a guest whose run was killed, and the processes that it traces. All processes of
/// a guest, and no others, have this working directory.
fn end_processes_in(folder: &Path) {
    let works_there = |pid: Pid| fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero())).is_ok_and(|cwd| cwd == folder);
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|e| e.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    let mut ending = Vec::new();
    for pid in numbers.filter(|p| works_there(*p)) {
        // The process number may be reused. The descriptor refers to one process, which the second check tests.
        if let Ok(process) = pidfd_open(pid, PidfdFlags::empty())
            && works_there(pid)
            && pidfd_send_signal(&process, Signal::KILL).is_ok()
        {
            ending.push(process);
        }
    }
    // They write into the folder until they have ended.
    for process in ending {
        let mut ended = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
        let _ = rustix::event::poll(&mut ended, Some(&ENDING));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Incoming;
    use crate::protocol::{Ask, Record};
    use std::os::unix::fs::PermissionsExt;

    /// A script in the place of a kernel.
    fn script(text: &str) -> (TempDir, PathBuf) {
        let folder = private_folder(0).unwrap();
        let path = folder.path().join("kernel");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        (folder, path)
    }

    /// Longest wait for a process, also on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    const OPTIONS: Options = Options { memory_mib: 64, seed: 1 };

    #[test]
    fn guest_talks_and_console_is_stored() {
        // The 8 bytes of the header and those of the record come back as they went.
        let (folder, kernel) = script("echo \"$1\" >&2; head -c 16 <&3 >&4; read nothing <&3");
        let mut guest = Guest::start(&kernel, OPTIONS).unwrap();
        let mut frames = crate::link::Frames::default();
        frames.put(Ask { now: 77 });
        guest.link.send(&mut frames).unwrap();
        let Incoming::Frame(frame) = guest.link.next(PATIENCE).unwrap() else { panic!("it answers") };
        assert_eq!((frame.kind, frame.only::<Ask>()), (Ask::KIND, Some(Ask { now: 77 })));
        assert_eq!(guest.console(), "mem=64M");
        drop(guest);
        drop(folder);
    }

    #[test]
    fn hanging_guest_is_killed_with_children() {
        let (folder, kernel) = script("sleep 1000 & echo $! >child; echo here >&2; wait");
        let guest = Guest::start(&kernel, OPTIONS).unwrap();
        let (own, begin) = (guest.folder.path().to_owned(), Instant::now());
        while guest.console() != "here" && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let child = fs::read_to_string(own.join("child")).unwrap().trim().to_owned();
        let runs = || fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(|s| !s.contains(") Z "));
        assert!(runs());
        drop(guest);
        while runs() && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!runs() && !own.exists());
        drop(folder);
    }

    #[test]
    fn failed_start_leaves_no_folder() {
        let left = || {
            let places = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
            let entries = places.iter().flat_map(fs::read_dir).flatten().flatten().map(|e| e.path());
            let own = format!("{FOLDER}-{}-", std::process::id());
            entries.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&own))).collect::<Vec<_>>()
        };
        let before = left();
        assert!(Guest::start(Path::new("/nowhere/linux"), OPTIONS).is_err());
        // Other tests remove their own folders.
        let begin = Instant::now();
        while left().iter().any(|p| !before.contains(p)) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", left());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn lack_of_space_is_named() {
        let (folder, kernel) = script("exit 1");
        let mut guest = Guest::start(&kernel, OPTIONS).unwrap();
        guest.memory = 0;
        assert_eq!(guest.lacks_space(), None);
        guest.memory = u64::MAX;
        let said = guest.lacks_space().unwrap();
        assert!(said.contains("MB left") && said.contains("TMPDIR"), "{said}");
        drop(folder);
    }

    #[test]
    fn limit_of_file_sizes_is_named() {
        let (folder, kernel) = script("kill -XFSZ $$");
        let mut guest = Guest::start(&kernel, OPTIONS).unwrap();
        let said = Guest::exceeds_file_size(guest.wait(PATIENCE)).unwrap();
        assert!(said.contains("ulimit -f"), "{said}");
        let (other, kernel) = script("exit 1");
        let mut guest = Guest::start(&kernel, OPTIONS).unwrap();
        assert_eq!(Guest::exceeds_file_size(guest.wait(PATIENCE)), None);
        drop((folder, other));
    }

    #[test]
    fn folders_without_space_come_last() {
        let parents = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
        let space = parents.each_ref().map(|p| free_space(p));
        let (least, most) = (space[0].min(space[1]), space[0].max(space[1]));
        if most - least < 64 << 20 {
            return forebay_platform::doctor::requirements::skip("shm", "both folders have the same free space");
        }
        let place = |bytes| private_folder_in(&parents, bytes).unwrap().path().parent().map(Path::to_owned);
        assert_eq!(
            place(least + (most - least) / 2),
            parents.iter().find(|p| free_space(p) > least + (most - least) / 2).cloned()
        );
        assert_eq!(place(0).as_ref(), parents.first());
        assert_eq!(place(u64::MAX).as_ref(), parents.first(), "where none has it, the first is taken");
    }

    /// State after `kill -9` of a run: the folder exists, its lock is not held, and a traced process still runs.
    #[test]
    fn next_guest_ends_leftover_guests() {
        // A separate parent folder, because guests of other tests would clean up a common one.
        let place = TempDir::create(&std::env::temp_dir(), "forebay-test-guest").unwrap();
        let stale = place.path().join(format!("{FOLDER}-{}-00000000000000aa", u32::MAX));
        fs::create_dir(&stale).unwrap();
        let sleep = |folder: &Path| {
            let mut command = Command::new("sleep");
            command.arg("1000").current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap()
        };
        let (mut child, mut other) = (sleep(&stale), sleep(place.path()));
        let folder = private_folder_in(&[place.path().to_owned()], 0);
        let goes_on = other.try_wait().unwrap().is_none();
        other.kill().unwrap();
        other.wait().unwrap();
        let left = stale.exists();
        if left {
            child.kill().unwrap();
        }
        let ended = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
        assert!(!left && folder.unwrap().path().exists());
        assert!(goes_on, "a process elsewhere goes on");
    }
}
