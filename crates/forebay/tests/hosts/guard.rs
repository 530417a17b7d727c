//! A guard rolls back however it ends, except by its user's decision, and other users of the machine cannot prevent that.

use crate::check::{check, equal, wait_until};
use crate::lab::Lab;
use crate::traffic::{Transfer, connect};
use crate::{fails, forebay, nothing_left, prepare, traces, works};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A condition that is never met here: nine of ten segments retransmitted.
const NEVER: &str = "retransmissions>900";

/// Waits until something holds, and checks that it did.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) -> bool {
    check(wait_until(holds), what)
}

fn state() -> serde_json::Value {
    let text = std::fs::read_to_string("/run/forebay/fbt_cli.json").unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Process of the guard, once it judges.
fn guard() -> Option<i32> {
    let state = state();
    let process = state["guard"]["process"].as_i64().filter(|_| state["complete"] == true)?;
    Path::new("/run/forebay/fbt_cli.lease").exists().then(|| i32::try_from(process).expect("a process"))
}

pub(crate) fn attached() -> bool {
    Path::new("/run/forebay/fbt_cli.json").exists()
}

fn signal(process: i32, signal: i32) {
    let number = Signal::try_from(signal).expect("a signal");
    kill(Pid::from_raw(process), number).unwrap_or_else(|e| panic!("{number} to {process}: {e}"));
}

/// A `forebay` process with a guard.
struct Guarded {
    child: Child,
    guard: i32,
}

impl Guarded {
    fn start(lab: &Lab, mut command: Command) -> Guarded {
        let child = lab.left.run(move || command.spawn()).expect("the binary starts");
        until("the attachment is guarded", || guard().is_some());
        Guarded { child, guard: guard().expect("it is guarded") }
    }

    /// With its output in pipes.
    fn piped(lab: &Lab, args: &str) -> Guarded {
        let mut command = prepare(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Guarded::start(lab, command)
    }

    fn foreground(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Waits for its end. The guard holds none of its pipes.
    fn end(self) -> Output {
        let output = self.child.wait_with_output().expect("it ends");
        until("the guard has ended", || !Path::new(&format!("/proc/{}", self.guard)).exists());
        output
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Each signal to each of the two processes, and the message of the foreground process.
pub(crate) fn endings() {
    let lab = Lab::new();
    let before = traces(&lab);
    for (to, number, name, code, words) in [
        ("foreground", libc::SIGHUP, "SIGHUP", Some(1), "SIGHUP"),
        ("foreground", libc::SIGTERM, "SIGTERM", Some(1), "SIGTERM"),
        ("foreground", libc::SIGINT, "SIGINT", Some(130), "Ctrl-C"),
        ("foreground", libc::SIGQUIT, "SIGQUIT", None, ""),
        ("foreground", libc::SIGKILL, "SIGKILL", None, ""),
        ("guard", libc::SIGHUP, "SIGHUP", Some(1), "SIGHUP"),
        ("guard", libc::SIGTERM, "SIGTERM", Some(1), "SIGTERM"),
        ("guard", libc::SIGABRT, "SIGABRT", Some(1), "the guard has ended"),
        ("guard", libc::SIGKILL, "SIGKILL", Some(1), "the guard has ended"),
        ("guard", libc::SIGSTOP, "SIGSTOP", Some(1), "not renewed its lease"),
    ] {
        let what = format!("{name} to the {to} process");
        println!("    {what}");
        works(&lab, "attach rns --name fbt_cli --default");
        let guarded = Guarded::piped(&lab, &format!("watch fbt_cli --rollback-on {NEVER}"));
        signal(if to == "guard" { guarded.guard } else { guarded.foreground() }, number);
        until(&format!("{what} rolls back"), || !attached());
        let output = guarded.end();
        equal(output.status.code(), code, &format!("exit code after {what}"));
        let printed = text(&output.stderr);
        check(
            printed.contains(words) && (code.is_none() || printed.contains("rolled back fbt_cli")),
            &format!("{what}: {}", printed.trim()),
        );
        nothing_left(&lab, &before, &what);
    }
}

/// The same of `attach`, which measures first.
pub(crate) fn endings_of_attach() {
    let lab = Lab::new();
    let before = traces(&lab);
    let attach = format!("attach rns --name fbt_cli --default --rollback-on {NEVER}");
    let guarded = Guarded::piped(&lab, &attach);
    let printed = works(&lab, "status");
    check(printed.contains(&format!("guarded by process {}, lease renewed", guarded.guard)), "status shows the guard");
    fails(&lab, &format!("watch fbt_cli --rollback-on {NEVER}"), &["already guarded", &guarded.guard.to_string()]);
    signal(guarded.foreground(), libc::SIGKILL);
    until("SIGKILL to attach rolls back", || !attached());
    guarded.end();
    nothing_left(&lab, &before, "SIGKILL to attach");

    // In the five seconds of measuring, nothing is attached yet.
    let cancelled = "Ctrl-C (SIGINT): nothing was attached";
    for (option, number, code, words) in [
        ("", libc::SIGINT, Some(130), cancelled),
        (" --keep-on-interrupt", libc::SIGINT, Some(130), cancelled),
        ("", libc::SIGKILL, None, ""),
    ] {
        let mut command = prepare(&format!("{attach}{option}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = lab.left.run(move || command.spawn()).expect("the binary starts");
        let mut first = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        out.read_line(&mut first).expect("a line");
        check(first.contains("measuring"), &format!("says that it measures: {first}"));
        signal(child.id().cast_signed(), number);
        let output = child.wait_with_output().expect("it ends");
        equal(output.status.code(), code, "exit code");
        check(text(&output.stderr).contains(words), &format!("says `{words}`: {}", text(&output.stderr)));
        // The lock is free when the guard has ended.
        works(&lab, "detach --all");
        check(!attached(), "nothing is attached");
        nothing_left(&lab, &before, &format!("signal {number} while attach measures"));
    }
}

/// By the user's decision the attachment stays.
pub(crate) fn kept() {
    let lab = Lab::new();
    let before = traces(&lab);
    let stays = |output: Output, what: &str| {
        equal(output.status.code(), Some(0), &format!("exit code {what}"));
        check(text(&output.stdout).contains("fbt_cli stays attached"), &format!("{what} says so"));
        check(attached() && state()["guard"].is_null(), &format!("it stays, without a guard, {what}"));
        check(!Path::new("/run/forebay/fbt_cli.lease").exists(), "and without a lease");
        works(&lab, "detach fbt_cli");
        nothing_left(&lab, &before, what);
    };
    works(&lab, "attach rns --name fbt_cli --default");
    let guarded = Guarded::piped(&lab, &format!("watch fbt_cli --rollback-on {NEVER} --keep-on-interrupt"));
    signal(guarded.foreground(), libc::SIGINT);
    stays(guarded.end(), "after Ctrl-C with --keep-on-interrupt");

    let mut command = prepare(&format!("attach rns --name fbt_cli --default --rollback-on {NEVER} --watch-for 2"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let guarded = Guarded::start(&lab, command);
    stays(guarded.end(), "after --watch-for");

    works(&lab, "attach rns --name fbt_cli --default");
    let guarded = Guarded::piped(&lab, &format!("watch fbt_cli --rollback-on {NEVER}"));
    works(&lab, "detach fbt_cli");
    let output = guarded.end();
    equal(output.status.code(), Some(0), "exit code after another command has detached it");
    check(text(&output.stdout).contains("fbt_cli was detached by another command"), "and it says so");
    nothing_left(&lab, &before, "a detach beside a guard");
}

/// If both processes are killed at once, the next command rolls back; so does a guard whose state file is removed.
pub(crate) fn lease() {
    let lab = Lab::new();
    let before = traces(&lab);
    for command in ["status", "detach fbt_cli", "attach dctcp --name fbt_two --dst 10.77.0.0/24"] {
        works(&lab, "attach rns --name fbt_cli --default");
        let guarded = Guarded::piped(&lab, &format!("watch fbt_cli --rollback-on {NEVER}"));
        let both = [guarded.foreground(), guarded.guard];
        both.iter().for_each(|p| signal(*p, libc::SIGSTOP));
        both.iter().for_each(|p| signal(*p, libc::SIGKILL));
        guarded.end();
        check(attached(), "with both processes killed at once it stays");
        let printed = forebay(&lab, command);
        equal(printed.code, 0, &format!("forebay {command} works: {}", printed.err));
        let output = format!("{}{}", printed.out, printed.err);
        check(
            output.contains("rolled back fbt_cli: its guard has ended") || output.contains("detached fbt_cli"),
            &format!("forebay {command} says so: {output}"),
        );
        check(!attached(), &format!("until forebay {command} rolls back"));
        if command.contains("fbt_two") {
            works(&lab, "detach fbt_two");
        }
        nothing_left(&lab, &before, command);
    }
    works(&lab, "attach rns --name fbt_cli --default");
    let guarded = Guarded::piped(&lab, &format!("watch fbt_cli --rollback-on {NEVER}"));
    std::fs::remove_file("/run/forebay/fbt_cli.json").expect("the file of the attachment");
    let output = guarded.end();
    check(text(&output.stderr).contains("was removed"), "a file that was removed by hand is a reason to roll back");
    nothing_left(&lab, &before, "a removed file");
}

/// A connection whose RTT can be made five times as long.
struct Scene {
    lab: Lab,
    before: Vec<String>,
    stream: Transfer,
}

impl Scene {
    fn new() -> Scene {
        let lab = Lab::new();
        // The receive window fits into the queue, so no packet is lost.
        lab.right.sysctl("net.ipv4.tcp_rmem", "4096 131072 262144");
        lab.bottleneck(100, 400);
        let before = traces(&lab);
        let stream = Transfer::start(&lab, u64::MAX);
        until("the queue is full", || stream.socket(&lab).is_some_and(|s| s.info.rtt_us > 3_000));
        works(&lab, "attach rns --name fbt_cli --default --live");
        Scene { lab, before, stream }
    }

    fn guard(&self, more: &str) -> Guarded {
        Guarded::piped(&self.lab, &format!("watch fbt_cli --rollback-on rtt-p99>2 {more}"))
    }

    /// Makes the connection bad, and checks that this rolls back.
    fn worsen(&self, what: &str) {
        self.lab.bottleneck(20, 400);
        until(&format!("a bad connection causes a rollback {what}"), || !attached());
    }

    fn end(self, what: &str) {
        self.lab.bottleneck(100, 400);
        check(self.stream.finish().intact, "the stream is intact");
        // A qdisc that was replaced has another handle.
        let rest = |t: Vec<String>| t.into_iter().filter(|l| !l.contains("qdisc")).collect::<Vec<_>>();
        let was = rest(self.before);
        until(&format!("nothing is left behind {what}"), || rest(traces(&self.lab)) == was);
    }
}

/// Closed output, full output and a stopped foreground process do not end a guard.
pub(crate) fn output() {
    let scene = Scene::new();
    let mut guarded = scene.guard("");
    let mut first = String::new();
    BufReader::new(guarded.child.stdout.take().expect("a pipe")).read_line(&mut first).expect("a line");
    drop(guarded.child.stderr.take());
    check(!first.is_empty(), "a line, and then the output is closed");
    scene.worsen("with the output closed");
    equal(guarded.end().status.code(), Some(1), "exit code with the output closed");
    scene.end("with the output closed");

    let scene = Scene::new();
    let full = full_pipe();
    let mut command = prepare("watch fbt_cli --rollback-on rtt-p99>2");
    command.stdout(full.1.try_clone().expect("a descriptor")).stderr(full.1.try_clone().expect("a descriptor"));
    let guarded = Guarded::start(&scene.lab, command);
    scene.worsen("with the output full");
    equal(guarded.end().status.code(), Some(1), "exit code with the output full");
    scene.end("with the output full");

    let scene = Scene::new();
    let guarded = scene.guard("");
    signal(guarded.foreground(), libc::SIGSTOP);
    scene.worsen("with the foreground process stopped (Ctrl-Z)");
    signal(guarded.foreground(), libc::SIGCONT);
    let output = guarded.end();
    check(text(&output.stderr).contains("rtt-p99>2 for 3 s"), "it says why when it goes on");
    scene.end("with the foreground process stopped");
}

/// A pipe into which nothing more fits: the end that is read, and the one that is written.
fn full_pipe() -> (OwnedFd, OwnedFd) {
    let (read, mut write) = io::pipe().expect("a pipe");
    let blocks = |on: bool| FcntlArg::F_SETFL(if on { OFlag::empty() } else { OFlag::O_NONBLOCK });
    fcntl(&write, blocks(false)).expect("the flags");
    while write.write(&[0; 4096]).is_ok() {}
    fcntl(&write, blocks(true)).expect("the flags");
    (read.into(), write.into())
}

/// A terminal that is closed: the kernel sends SIGHUP, which `nohup` ignores.
pub(crate) fn terminal() {
    for nohup in [false, true] {
        let scene = Scene::new();
        let (mut master, mut slave) = (0, 0);
        // SAFETY: room for two descriptors; no name, settings or size are asked for. They have no other owner afterwards.
        let (master, slave) = unsafe {
            let null = std::ptr::null_mut();
            assert_eq!(libc::openpty(&raw mut master, &raw mut slave, null, std::ptr::null(), std::ptr::null()), 0);
            libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
            libc::fcntl(slave, libc::F_SETFD, libc::FD_CLOEXEC);
            (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
        };
        let mut command = prepare("watch fbt_cli --rollback-on rtt-p99>2");
        let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: only system calls, on nothing of the parent's.
        unsafe {
            command.pre_exec(move || {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
                if nohup {
                    libc::signal(libc::SIGHUP, libc::SIG_IGN);
                }
                Ok(())
            });
        }
        let guarded = Guarded::start(&scene.lab, command);
        drop(slave);
        let mut got = [0; 16];
        check(
            File::from(master.try_clone().expect("a descriptor")).read(&mut got).is_ok_and(|n| n > 0),
            "it writes to a terminal",
        );
        drop(master);
        if nohup {
            scene.worsen("with the terminal closed and SIGHUP ignored");
        } else {
            until("a closed terminal rolls back", || !attached());
        }
        equal(guarded.end().status.code(), Some(1), "exit code after the terminal was closed");
        scene.end("after a closed terminal");
    }
}

/// Makes the calling thread one of a user without rights. The system call of the C library would concern all threads.
fn drop_to_unprivileged_user() {
    // SAFETY: plain system calls; they change this thread only.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()), 0);
        assert_eq!(libc::syscall(libc::SYS_setresgid, 65534, 65534, 65534), 0);
        assert_eq!(libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534), 0);
    }
}

/// Another process holds the lock, as another user if that user can open it.
pub(crate) fn held_lock() {
    let path = "/run/forebay/lock";
    for who in ["a user without rights", "root"] {
        let scene = Scene::new();
        let guarded = scene.guard("");
        let take = || -> io::Result<File> {
            if who != "root" {
                drop_to_unprivileged_user();
            }
            let file = File::open(path)?;
            file.lock()?;
            Ok(file)
        };
        let held = std::thread::scope(|s| s.spawn(take).join().expect("a thread"));
        match &held {
            Ok(_) => check(true, &format!("{who} holds the lock")),
            Err(e) => check(e.kind() == io::ErrorKind::PermissionDenied, &format!("{who} cannot hold the lock: {e}")),
        };
        scene.worsen("while the lock is held");
        let output = guarded.end();
        equal(output.status.code(), Some(1), "exit code");
        let printed = text(&output.stderr);
        check(held.is_err() || printed.contains("continuing without the lock"), &format!("says so: {printed}"));
        drop(held);
        scene.end("while the lock is held");
    }
}

/// Silent connections of another user to the port of metrics.
pub(crate) fn flood() {
    let scene = Scene::new();
    let guarded = scene.guard("--prometheus-port 9465");
    let (stop, made) = (AtomicBool::new(false), AtomicUsize::new(0));
    let silent = || {
        drop_to_unprivileged_user();
        let mut kept = std::collections::VecDeque::new();
        while !stop.load(Ordering::Relaxed) {
            if let Ok(socket) = TcpStream::connect("127.0.0.1:9465") {
                kept.push_back(socket);
                made.fetch_add(1, Ordering::Relaxed);
            }
            if kept.len() > 200 {
                kept.pop_front();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let scrape = || -> io::Result<String> {
        let mut socket = TcpStream::connect("127.0.0.1:9465")?;
        socket.set_read_timeout(Some(Duration::from_secs(10)))?;
        socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut got = String::new();
        socket.read_to_string(&mut got)?;
        Ok(got)
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| scene.lab.left.run(silent));
        }
        until("the port is flooded", || made.load(Ordering::Relaxed) > 1000);
        let answered = || scene.lab.left.run(|| scrape().is_ok_and(|t| t.contains("forebay_sockets{name=\"fbt_cli\"")));
        until("a scraper is answered in the flood", answered);
        scene.worsen("in the flood");
        stop.store(true, Ordering::Relaxed);
    });
    equal(guarded.end().status.code(), Some(1), "exit code");
    scene.end("in the flood");
}

/// A file system that never answers, mounted on a folder until dropped.
struct Hung {
    folder: PathBuf,
    _device: File,
}

impl Hung {
    fn over(folder: &Path) -> Hung {
        let device = File::options().read(true).write(true).open("/dev/fuse").expect("the device of FUSE");
        let data = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
        mount(Some("none"), folder, Some("fuse"), MsFlags::empty(), Some(data.as_str())).expect("a file system is mounted");
        Hung { folder: folder.to_owned(), _device: device }
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        // The namespace ends with the test.
        let _ = umount2(&self.folder, MntFlags::MNT_DETACH);
    }
}

/// A metrics file on a file system that hangs, and files that can never be written, or only with capabilities that a guard drops.
pub(crate) fn metrics_file(folder: &Path) {
    let scene = Scene::new();
    let nowhere = folder.join("missing/forebay.prom");
    fails(
        &scene.lab,
        &format!("watch fbt_cli --rollback-on rtt-p99>2 --prometheus {}", nowhere.display()),
        &["missing/forebay.prom"],
    );
    check(attached() && state()["guard"].is_null(), "a watch that is refused changes nothing");
    let foreign = folder.join("foreign");
    std::fs::create_dir_all(&foreign).expect("a folder");
    chown(&foreign, Some(65534), Some(65534)).expect("an owner");
    let file = foreign.join("forebay.prom");
    fails(
        &scene.lab,
        &format!("watch fbt_cli --rollback-on rtt-p99>2 --prometheus {}", file.display()),
        &["foreign/forebay.prom", "fix:", "folder"],
    );
    check(!file.exists() && attached() && state()["guard"].is_null(), "no file that becomes stale, and no guard");
    if !Path::new("/dev/fuse").exists() {
        forebay_platform::doctor::requirements::skip("fuse", "no /dev/fuse");
        works(&scene.lab, "detach fbt_cli");
        return scene.end("after a refused watch");
    }
    let place = folder.join("hung");
    std::fs::create_dir_all(&place).expect("a folder");
    let guarded = scene.guard(&format!("--prometheus {}", place.join("forebay.prom").display()));
    check(place.join("forebay.prom").exists(), "the file is written");
    let hung = Hung::over(&place);
    scene.worsen("while the file system of the metrics hangs");
    equal(guarded.end().status.code(), Some(1), "exit code");
    drop(hung);
    scene.end("after a file system that hung");
}

/// A guard that can neither read connections nor roll back: the foreground process rolls back.
pub(crate) fn read_error() {
    let lab = Lab::new();
    let before = traces(&lab);
    works(&lab, "attach rns --name fbt_cli --default");
    let guarded = Guarded::piped(&lab, &format!("watch fbt_cli --rollback-on {NEVER}"));
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit lives through the call; the old one is not asked for.
    let done = unsafe { libc::prlimit(guarded.guard, libc::RLIMIT_NOFILE, &raw const none, std::ptr::null_mut()) };
    equal(done, 0, "the guard may open no more files");
    until("connections that cannot be read roll back", || !attached());
    let output = guarded.end();
    equal(output.status.code(), Some(1), "exit code");
    let printed = text(&output.stderr);
    check(printed.contains("the connections could not be read for 3 s"), &format!("says why: {printed}"));
    nothing_left(&lab, &before, "a guard that cannot read");
}

/// Conditions that can never be met.
pub(crate) fn unreachable() {
    let lab = Lab::new();
    let before = traces(&lab);
    let attach = "attach rns --name fbt_cli --default --rollback-on";
    fails(&lab, &format!("{attach} throughput<0.9"), &["throughput<0.9", "never", "0 connections, 0.0 Mbit/s", "traffic"]);
    fails(&lab, &format!("{attach} rtt-p99>2"), &["rtt-p99>2", "never", "no RTT"]);
    fails(&lab, &format!("{attach} retransmissions>1e9"), &["retransmissions>1000000000", "never", "100 %"]);
    nothing_left(&lab, &before, "conditions that can never be met");
    works(&lab, "attach rns --name fbt_cli --default");
    for condition in ["throughput<0.9", "rtt-p99>2", "retransmissions>1e9"] {
        fails(&lab, &format!("watch fbt_cli --rollback-on {condition}"), &["never"]);
    }
    check(attached() && state()["guard"].is_null(), "a watch that is refused changes nothing");
    works(&lab, "detach fbt_cli");
    nothing_left(&lab, &before, "a watch that was refused");
}

/// A connection of the host with itself has two ends here.
pub(crate) fn loopback() {
    let lab = Lab::new();
    let before = traces(&lab);
    let pair = lab.left.run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let near = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        (near, listener.accept().expect("its other end").0)
    });
    works(&lab, "attach rns --name fbt_cli --default --live");
    check(works(&lab, "status").contains("connections using it: 2"), "status counts both ends");
    let printed = works(&lab, "watch fbt_cli --seconds 1");
    let line = printed.lines().find(|l| l.trim_start().starts_with("1 s")).unwrap_or_default();
    check(line.contains(" 2 connections"), &format!("and so does watch: {line}"));
    let (near, far) = connect(&lab);
    let printed = works(&lab, "watch fbt_cli --seconds 1");
    check(printed.contains(" 3 connections"), "beside one to another host");
    works(&lab, "detach fbt_cli");
    drop((pair, near, far));
    nothing_left(&lab, &before, "watching the loopback interface");
}
