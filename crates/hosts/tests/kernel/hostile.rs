//! Files that other users create before forebay does: the lock, the folder of state, pins. Each case is a separate process whose mount
//! namespace has its own `/run/forebay` and BPF file system.

use crate::check::check;
use crate::lab::{self, Lab};
use crate::snapshot;
use forebay_hosts::attach::{Request, attach};
use forebay_hosts::detach::{detach, detach_all};
use forebay_hosts::privileges;
use forebay_hosts::status::{status, unaccounted};
use nix::mount::MsFlags;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;
use std::fs::{self, File, Permissions};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// The first argument of such a process.
pub(crate) const WORD: &str = "among-others";
/// A user without rights.
const OTHER: u32 = 65534;
const NAME: &str = "fbt_hostile";
const STATE: &str = "/run/forebay/fbt_hostile.json";
const PINS: &str = "/sys/fs/bpf/forebay";

/// Cases, by name.
const CASES: &[(&str, fn())] = &[
    ("lock", lock),
    ("umask", umask),
    ("folder", folder),
    ("forged", forged),
    ("beside", beside),
    ("socket", socket),
    ("pins", pins),
    ("moved", moved),
    ("moved-cgroup", moved_cgroup),
    ("lost", lost),
    ("wide", wide),
];

/// Runs all cases and checks that they leave nothing behind.
pub(crate) fn users() {
    for (case, _) in CASES {
        let lab = Lab::new();
        let before = snapshot::take(&[&lab]);
        let this = std::env::current_exe().expect("this program");
        let out = Command::new(this).args([WORD, case, &lab.left.name]).output().expect("this program starts again");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        check(out.status.success(), &format!("other users: {case}{}", if out.status.success() { "" } else { &said }));
        snapshot::unchanged(&before, &[&lab], &format!("other users: {case}"));
    }
}

/// `CASE NAMESPACE`
pub(crate) fn run(args: &[String]) -> ExitCode {
    let [case, namespace] = args else { return ExitCode::from(2) };
    let Some((_, case)) = CASES.iter().find(|c| c.0 == case) else { return ExitCode::from(2) };
    lab::enter(namespace);
    fs::create_dir_all("/run/forebay").expect("a place to mount something at");
    unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace");
    mount("/", "none", MsFlags::MS_REC | MsFlags::MS_PRIVATE, "");
    mount("/run/forebay", "tmpfs", MsFlags::empty(), "mode=0755");
    // As mount(8) creates it without options: every user may create folders there. It is mounted over another one, as in a container.
    for _ in 0..2 {
        mount("/sys/fs/bpf", "bpf", MsFlags::empty(), "mode=1777");
    }
    case();
    ExitCode::SUCCESS
}

fn mount(place: &str, kind: &str, flags: MsFlags, data: &str) {
    nix::mount::mount(Some(kind), place, Some(kind), flags, Some(data))
        .unwrap_or_else(|e| panic!("mounting {kind} at {place}: {e}"));
}

fn request() -> Request {
    Request { program: "rns".into(), name: Some(NAME.into()), default: true, ..Request::default() }
}

fn attached() {
    attach(&request()).unwrap_or_else(|e| panic!("{e}"));
}

fn detached() -> Vec<String> {
    let done = detach(NAME).unwrap_or_else(|e| panic!("{e}"));
    assert!(!registered(), "the kernel has no `{NAME}` after: {done:?}");
    assert!(!Path::new(STATE).exists());
    done
}

fn registered() -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("names");
    names.split_whitespace().any(|n| n == NAME)
}

fn mode(path: &str) -> u32 {
    fs::metadata(path).unwrap_or_else(|e| panic!("{path}: {e}")).permissions().mode() & 0o7777
}

/// A command of the other user; whether it succeeded.
fn other(line: &str) -> bool {
    let done = Command::new("/bin/sh").args(["-c", line]).uid(OTHER).gid(OTHER).current_dir("/").output();
    done.expect("a shell").status.success()
}

/// Each of these must be refused with these words, and without the advice to run as root.
fn all_refused(words: &[&str]) {
    let tries: [(&str, Result<(), forebay_hosts::Error>); 4] = [
        ("attach", attach(&request()).map(|_| ())),
        ("detach", detach(NAME).map(|_| ())),
        ("detach --all", detach_all().map(|_| ())),
        ("status", status().map(|_| ())),
    ];
    for (what, result) in tries {
        let said = result.expect_err(what).to_string();
        assert!(words.iter().all(|w| said.contains(w)) && !said.contains("run it as root"), "{what}: {said}");
    }
}

/// Other users cannot open the lock, and a lock that they already hold is replaced.
fn lock() {
    fs::write("/run/forebay/lock", "").expect("a lock");
    fs::set_permissions("/run/forebay/lock", Permissions::from_mode(0o644)).expect("a lock that others can open");
    let held = File::open("/run/forebay/lock").expect("open to readers");
    held.try_lock().expect("the lock");
    let begin = Instant::now();
    attached();
    assert!(begin.elapsed() < Duration::from_secs(8), "nothing is waited for");
    assert_eq!(mode("/run/forebay/lock"), 0o600);
    assert!(!other("exec 9</run/forebay/lock") && !other("exec 9>>/run/forebay/lock"), "others cannot open it");
    assert!(other("cat /run/forebay/fbt_hostile.json"), "but see what is attached");
    detached();
}

/// Modes do not depend on the umask.
fn umask() {
    nix::sys::stat::umask(Mode::empty());
    attached();
    let modes = ["/run/forebay", "/run/forebay/lock", STATE, PINS, "/sys/fs/bpf/forebay/fbt_hostile"].map(mode);
    assert_eq!(modes, [0o755, 0o600, 0o644, 0o700, 0o700]);
    for line in [
        "echo {} > /run/forebay/fbt_hostile.json",
        "rm -f /run/forebay/fbt_hostile.json",
        "touch /run/forebay/x.json",
        "ls /sys/fs/bpf/forebay",
    ] {
        assert!(!other(line), "{line}");
    }
    detached();
}

/// A folder of state that others may write to, or own, is refused; so is a file.
fn folder() {
    fs::set_permissions("/run/forebay", Permissions::from_mode(0o777)).expect("a mode");
    all_refused(&["/run/forebay is writable by other users (mode 0777)", "fix:"]);
    fs::set_permissions("/run/forebay", Permissions::from_mode(0o755)).expect("a mode");
    chown("/run/forebay", Some(OTHER), None).expect("an owner");
    all_refused(&["/run/forebay belongs to user 65534", "fix:"]);
    chown("/run/forebay", Some(0), None).expect("an owner");
    attached();
    for (owner, bits, words) in [(OTHER, 0o644, "belongs to user 65534"), (0, 0o666, "writable by other users (mode 0666)")] {
        chown(STATE, Some(owner), None).expect("an owner");
        fs::set_permissions(STATE, Permissions::from_mode(bits)).expect("a mode");
        let said = detach(NAME).expect_err("a file of others").to_string();
        assert!(said.contains(STATE) && said.contains(words), "{said}");
        assert!(registered());
    }
    fs::set_permissions(STATE, Permissions::from_mode(0o644)).expect("a mode");
    detached();
}

/// An attachment that cannot be removed does not block the removal of others.
fn beside() {
    const OTHER_STATE: &str = "/run/forebay/fbt_other.json";
    attached();
    fs::write(OTHER_STATE, "damaged").expect("a file");
    assert!(detached().iter().any(|l| l.contains("fbt_other.json")), "it is named");
    fs::remove_file(OTHER_STATE).expect("the file");
    // Looks right, but its folder of pins is none.
    attached();
    let place = std::env::temp_dir().join(format!("forebay-test-beside-{}", std::process::id()));
    fs::create_dir_all(place.join("forebay/fbt_other")).expect("a folder");
    let text = fs::read_to_string(STATE).expect("the state").replace("/sys/fs/bpf", &place.display().to_string());
    let text = text.replace(NAME, "fbt_other").replace("\"complete\": true", "\"complete\": false");
    fs::write(OTHER_STATE, &text).expect("a file");
    assert!(detached().iter().any(|l| l.contains("not in a BPF file system")), "it is named");
    // Without a file, so that its pins are all that is found of it.
    for lost in [false, true] {
        fs::remove_file(OTHER_STATE).expect("the file");
        attached();
        if lost {
            fs::remove_file(STATE).expect("the state");
        }
        fs::write(OTHER_STATE, &text).expect("a file");
        let said = detach_all().expect_err("one stays").to_string();
        assert!(said.contains("not in a BPF file system") && !registered(), "{said}");
        assert!(!Path::new(STATE).exists() && Path::new(OTHER_STATE).exists());
    }
    fs::remove_file(OTHER_STATE).expect("the file");
    fs::remove_dir_all(&place).expect("the folder of this test");
}

/// A process holds the lock of one of its sockets, as one that sends data from a FUSE file system can: here, from memory whose page faults
/// nothing handles (userfaultfd). Detaching removes what it can.
fn socket() {
    const SIZE: usize = 1 << 16;
    const UFFDIO_API: libc::Ioctl = 0xc018_aa3f_u32 as libc::Ioctl;
    const UFFDIO_REGISTER: libc::Ioctl = 0xc020_aa00_u32 as libc::Ioctl;
    attached();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let sender = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    // SAFETY: plain system calls; structures and memory live until the process ends or the last call is over.
    let (faults, memory) = unsafe {
        let faults = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK);
        if faults < 0 {
            forebay_platform::doctor::requirements::skip("userfaultfd", &std::io::Error::last_os_error().to_string());
            detached();
            return;
        }
        let faults = libc::c_int::try_from(faults).expect("a descriptor");
        let mut api = [0xaa_u64, 0, 0];
        assert_eq!(libc::ioctl(faults, UFFDIO_API, api.as_mut_ptr()), 0, "{}", std::io::Error::last_os_error());
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let memory = libc::mmap(std::ptr::null_mut(), SIZE, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        assert_ne!(memory, libc::MAP_FAILED);
        let mut register = [memory as u64, SIZE as u64, 1, 0];
        assert_eq!(libc::ioctl(faults, UFFDIO_REGISTER, register.as_mut_ptr()), 0, "{}", std::io::Error::last_os_error());
        (OwnedFd::from_raw_fd(faults), memory as usize)
    };
    let descriptor = sender.as_raw_fd();
    // SAFETY: the memory is mapped and the socket open until this thread has ended.
    let sending = std::thread::spawn(move || unsafe { libc::send(descriptor, memory as *const libc::c_void, SIZE, 0) });
    let mut pending = [PollFd::new(faults.as_fd(), PollFlags::POLLIN)];
    assert_eq!(poll(&mut pending, 60_000_u16), Ok(1), "the sender waits for its data");
    let begin = Instant::now();
    let done = detached();
    let took = begin.elapsed();
    assert!(done.iter().any(|l| l.contains("holds the lock of a socket")), "{done:?}");
    assert!(took < Duration::from_secs(60), "{took:?}");
    // The kernel handles faults again from here on.
    drop(faults);
    assert_eq!(sending.join().expect("it ends"), SIZE as isize);
}

/// A file of root that names other things than `attach` does: nothing of them is touched.
fn forged() {
    fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno").expect("a default");
    attached();
    let text = fs::read_to_string(STATE).expect("the state");
    let victim = std::env::temp_dir().join(format!("forebay-test-hostile-{}", std::process::id()));
    let inside = victim.join("forebay/fbt_hostile");
    fs::create_dir_all(&inside).expect("a folder");
    fs::write(inside.join("link"), "precious").expect("a file");
    let inside_text = inside.display().to_string();
    let elsewhere = text.replace("/sys/fs/bpf/forebay/fbt_hostile", &inside_text);
    for (forged, words) in [
        (text.replace("\"/sys/fs/bpf/forebay/fbt_hostile\"", &format!("\"{}\"", victim.display())), "folder"),
        (text.replace("net.ipv4.tcp_congestion_control", "kernel.core_pattern"), "kernel.core_pattern"),
        (text.replace("\"before\": \"reno\"", "\"before\": \"|/bin/x\""), "|/bin/x"),
    ] {
        assert_ne!(forged, text, "{words}");
        fs::write(STATE, forged).expect("the state");
        let said = detach(NAME).expect_err("forged").to_string();
        assert!(said.contains(words) && said.contains(STATE), "{said}");
        assert!(registered() && inside.join("link").exists());
    }
    // This one looks right, but the folder is not in a BPF file system.
    fs::write(STATE, elsewhere).expect("the state");
    let said = detach(NAME).expect_err("forged").to_string();
    assert!(said.contains("not in a BPF file system") && registered(), "{said}");
    assert_eq!(fs::read_to_string(inside.join("link")).expect("it is there"), "precious");
    fs::remove_dir_all(&victim).expect("the folder of this test");
    fs::write(STATE, text).expect("the state");
    detached();
}

/// Folders of pins that others have created are refused, whatever their mode.
fn pins() {
    for (make, words) in [
        ("mkdir -m 0777 /sys/fs/bpf/forebay", "belongs to user 65534"),
        ("mkdir -m 0755 /sys/fs/bpf/forebay", "belongs to user 65534"),
        ("ln -s /sys/fs/bpf/x /sys/fs/bpf/forebay", "links are not followed"),
    ] {
        assert!(other(make), "{make}");
        let said = attach(&request()).expect_err(make).to_string();
        assert!(said.contains(PINS) && said.contains(words) && said.contains("mode=0700"), "{said}");
        assert!(!said.contains("run it as root"), "{said}");
        assert!(!registered());
        assert!(other("rm -rf /sys/fs/bpf/forebay"));
    }
    fs::create_dir(PINS).expect("a folder");
    fs::set_permissions(PINS, Permissions::from_mode(0o777)).expect("a mode");
    let said = attach(&request()).expect_err("writable by others").to_string();
    assert!(said.contains("writable by other users"), "{said}");
    fs::set_permissions(PINS, Permissions::from_mode(0o700)).expect("a mode");
    attached();
    detached();
    // With the capabilities that `attach` keeps, root cannot read this folder.
    assert!(other("mkdir -m 0700 /sys/fs/bpf/forebay"));
    privileges::keep_needed().unwrap_or_else(|e| panic!("{e}"));
    let said = attach(&request()).expect_err("closed by others").to_string();
    assert!(said.contains("belongs to user 65534") && !said.contains("run it as root"), "{said}");
}

/// A pin was moved: `detach` finds the link by its number.
fn moved() {
    attached();
    fs::rename("/sys/fs/bpf/forebay/fbt_hostile", "/sys/fs/bpf/elsewhere").expect("a folder can be moved");
    let done = detached();
    assert!(done.iter().any(|l| l.contains("detached BPF link") && l.contains("moved")), "{done:?}");
    assert!(done.iter().any(|l| l == "detached fbt_hostile"), "{done:?}");
    assert!(!Path::new(PINS).exists());
    fs::remove_dir_all("/sys/fs/bpf/elsewhere").expect("pins");
}

/// The same of a program at a cgroup.
fn moved_cgroup() {
    let Ok(mounts) = fs::read_to_string("/proc/self/mounts") else { return };
    let Some(place) = mounts.lines().find(|l| l.contains(" cgroup2 ")).and_then(|l| l.split(' ').nth(1)) else { return };
    let cgroup = Path::new(place).join(format!("forebay-test-{}", std::process::id()));
    fs::create_dir(&cgroup).expect("a cgroup");
    let request = Request { default: false, cgroup: Some(cgroup.clone()), ..request() };
    let done = attach(&request).and_then(|_| {
        fs::rename("/sys/fs/bpf/forebay/fbt_hostile", "/sys/fs/bpf/elsewhere").expect("a folder can be moved");
        detach(NAME)
    });
    let removed = fs::remove_dir(&cgroup);
    let done = done.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(done.iter().filter(|l| l.contains("detached BPF link")).count(), 2, "{done:?}");
    removed.expect("the cgroup");
    fs::remove_dir_all("/sys/fs/bpf/elsewhere").expect("pins");
}

/// The state file is removed and the pins are moved: `status` and `detach --all` report that the kernel still has the program.
fn lost() {
    attached();
    fs::remove_file(STATE).expect("the state");
    fs::rename("/sys/fs/bpf/forebay/fbt_hostile", "/sys/fs/bpf/elsewhere").expect("a folder can be moved");
    fs::remove_dir(PINS).expect("an empty folder");
    let found = unaccounted().unwrap_or_else(|e| panic!("{e}"));
    assert!(status().unwrap_or_else(|e| panic!("{e}")).is_empty() && found.iter().any(|(n, _)| n == NAME), "{found:?}");
    let done = detach_all().unwrap_or_else(|e| panic!("{e}"));
    assert!(
        done.iter().any(|l| l.contains(NAME) && l.contains("still registered") && l.contains("bpftool link detach")),
        "{done:?}"
    );
    assert!(!done.iter().any(|l| l.contains(&format!("detached {NAME}"))), "{done:?}");
    // The fix that the message names.
    fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno").expect("another default");
    fs::remove_dir_all("/sys/fs/bpf/elsewhere").expect("pins");
}

/// Only `--default` attaches to all connections, and a prefix that is given twice counts once.
fn wide() {
    let narrow = |prefixes: &[&str]| {
        let prefixes = prefixes.iter().map(|p| p.parse().expect("a prefix")).collect();
        Request { default: false, prefixes, ..request() }
    };
    for prefixes in [&["0.0.0.0/0"][..], &["::/0"], &["0.0.0.0/1", "128.0.0.0/1"], &["10.77.0.0/24", "128.0.0.0/2"]] {
        let said = attach(&narrow(prefixes)).expect_err("all of the Internet").to_string();
        assert!(said.contains("--default") && said.contains("data center"), "{said}");
    }
    for cgroup in ["/", "", ".", "//"] {
        let whole = Request { default: false, cgroup: Some(cgroup.into()), ..request() };
        match attach(&whole) {
            Err(e) if e.to_string().contains("no cgroup file system") => {}
            Err(e) => assert!(e.to_string().contains("--default"), "{e}"),
            Ok(_) => panic!("`{cgroup}` is every process"),
        }
    }
    attach(&narrow(&["10.77.0.0/24", "10.77.0.0/24", "10.77.0.0/25"])).unwrap_or_else(|e| panic!("{e}"));
    let all = status().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(all[0].prefixes.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.77.0.0/24"]);
    detached();
}
