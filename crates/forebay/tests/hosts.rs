//! The commands for real hosts on the running kernel: `attach`, `status`, `tune`, `watch`, `detach`, `record`. One program, because attachments
//! affect the whole machine. Skips with the reason on machines that lack the requirements of the tests of `crates/hosts`.

#![allow(clippy::print_stdout)]
#![allow(dead_code, reason = "the laboratory of crates/hosts has more than this needs")]

#[path = "../../hosts/tests/kernel/check.rs"]
mod check;
#[path = "hosts/guard.rs"]
mod guard;
#[path = "../../hosts/tests/kernel/lab.rs"]
mod lab;
#[path = "hosts/rollback.rs"]
mod rollback;
#[path = "../../hosts/tests/kernel/traffic.rs"]
mod traffic;

use check::{check, equal, wait_until};
use lab::{Lab, command};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use traffic::Transfer;

/// Outcome of a command.
struct Printed {
    code: i32,
    out: String,
    err: String,
}

fn prepare(args: &str) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_forebay"));
    c.args(args.split_whitespace()).stdin(Stdio::null());
    c
}

fn finish(c: Command, lab: &Lab) -> Printed {
    lab.left.run(move || say(c))
}

fn say(mut c: Command) -> Printed {
    let done = c.output().expect("the binary starts");
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    Printed { code: done.status.code().unwrap_or(-1), out: text(&done.stdout), err: text(&done.stderr) }
}

/// Runs `forebay` on the left host.
fn forebay(lab: &Lab, args: &str) -> Printed {
    finish(prepare(args), lab)
}

/// The same, for success.
fn works(lab: &Lab, args: &str) -> String {
    let printed = forebay(lab, args);
    check(
        printed.code == 0,
        &format!("forebay {args}{}", if printed.code == 0 { String::new() } else { format!(": {}", printed.err) }),
    );
    printed.out
}

/// The same, for failure with this text.
fn fails(lab: &Lab, args: &str, words: &[&str]) {
    lab.left.run(|| fails_here(args, words));
}

/// In the namespace of the calling thread.
fn fails_here(args: &str, words: &[&str]) {
    let printed = say(prepare(args));
    let missing: Vec<&&str> = words.iter().filter(|w| !printed.err.contains(**w)).collect();
    check(
        printed.code != 0 && missing.is_empty(),
        &format!("forebay {args} is refused (lacks {missing:?} in `{}`)", printed.err.trim()),
    );
}

/// Traces of attachments: registered names, routes, programs at interfaces, files and pins, the default.
fn traces(lab: &Lab) -> Vec<String> {
    let mut all = vec![lab.left.read_sysctl("net.ipv4.tcp_available_congestion_control")];
    all.push(lab.left.read_sysctl("net.ipv4.tcp_congestion_control"));
    // A link that was just made has no carrier yet.
    all.push(command("ip", &format!("-n {} route show", lab.left.name)).replace(" linkdown", ""));
    all.push(command("tc", &format!("-n {} qdisc show dev eth0", lab.left.name)));
    for folder in ["/run/forebay", "/sys/fs/bpf", "/run/forebay/bpf/forebay"] {
        let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path().display().to_string());
        all.extend(names.filter(|n| n != "/run/forebay/lock" && n != "/run/forebay/bpf"));
    }
    all.sort();
    all
}

fn nothing_left(lab: &Lab, before: &[String], what: &str) {
    // The kernel frees congestion controls a little later.
    wait_until(|| traces(lab) == before);
    equal(traces(lab).as_slice(), before, &format!("nothing is left behind by {what}"));
}

/// From a dry run to detaching, under a stream.
fn one_attachment(folder: &Path) {
    let lab = Lab::new();
    let before = traces(&lab);
    equal(works(&lab, "status").as_str(), "nothing is attached\n", "at first nothing is attached");
    check(works(&lab, "attach list").contains("shift_g"), "the list has parameters");
    let dry = works(&lab, "attach dctcp --name fbt_cli --dst 10.77.0.0/24 --dry-run");
    check(
        ["ip route prepend 10.77.0.0/24", "dev eth0", "congctl fbt_cli"].iter().all(|w| dry.contains(w)),
        "a dry run shows the route",
    );
    nothing_left(&lab, &before, "a dry run");

    let stream = Transfer::start(&lab, u64::MAX);
    let done = works(&lab, "attach dctcp --name fbt_cli --dst 10.77.0.0/24 --live --param shift_g=3");
    check(done.contains("registered fbt_cli") && done.contains("1 open sockets use it now"), "attach says what it did");
    let status = works(&lab, "status");
    for words in ["fbt_cli (dctcp), for connections to 10.77.0.0/24", "connections using it: 1", "shift_g 3", "acks "] {
        check(status.contains(words), &format!("status says `{words}`"));
    }
    let json = works(&lab, "status --format json");
    for words in ["\"name\": \"fbt_cli\"", "\"complete\": true", "\"shift_g\": 3", "\"remote\": \"10.77.0.2:"] {
        check(json.contains(words), &format!("and as JSON `{words}`"));
    }
    check(works(&lab, "tune fbt_cli shift_g=5").contains("shift_g = 5"), "tune says what it is then");
    check(works(&lab, "status").contains("shift_g 5"), "and so does status");
    fails(&lab, "tune fbt_cli shift_g=99", &["0 to 10"]);
    fails(&lab, "tune absent shift_g=4", &["absent", "not attached", "fbt_cli"]);
    fails(&lab, "attach dctcp --name fbt_cli --dst 10.77.0.0/24", &["fbt_cli is attached already", "tune", "--name"]);
    fails(&lab, "attach rns --name fbt_two --dst 10.77.0.0/24", &["10.77.0.0/24 already has a route"]);
    fails(&lab, "detach absent", &["`absent` is not attached", "fbt_cli"]);

    let metrics = folder.join("forebay.prom");
    let lines = works(&lab, &format!("watch fbt_cli --seconds 2 --prometheus {}", metrics.display()));
    check(lines.lines().any(|l| l.trim_start().starts_with("2 s") && l.contains("Mbit/s")), "watch prints one line per second");
    check(lines.contains("fbt_cli stays attached"), "and that it stays attached");
    let text = std::fs::read_to_string(&metrics).unwrap_or_default();
    for words in [
        "# TYPE forebay_sockets gauge",
        "forebay_sockets{name=\"fbt_cli\",program=\"dctcp\"} 1",
        "event=\"acks\"",
        "parameter=\"shift_g\"} 5",
    ] {
        check(text.contains(words), &format!("the metrics have `{words}`"));
    }
    at_a_port(&lab);
    works(&lab, &format!("status --prometheus {}", metrics.display()));
    check(metrics.exists(), "status writes them, too");
    check(works(&lab, "detach fbt_cli").contains("detached fbt_cli"), "detach says so");
    let outcome = stream.finish();
    check(outcome.intact && outcome.bytes > 0, &format!("{} bytes arrived as they were sent", outcome.bytes));
    nothing_left(&lab, &before, "attaching and detaching");
    equal(works(&lab, "detach --all").as_str(), "nothing was attached\n", "a second time there is nothing to detach");
}

/// The same metrics at a port of the loopback interface.
fn at_a_port(lab: &Lab) {
    let mut c = prepare("watch fbt_cli --seconds 600 --prometheus-port 9464");
    c.stdout(Stdio::null());
    lab.left.run(|| {
        let mut watch = c.spawn().expect("the binary starts");
        let ask = || -> io::Result<String> {
            let mut socket = TcpStream::connect("127.0.0.1:9464")?;
            socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
            let mut text = String::new();
            socket.read_to_string(&mut text)?;
            Ok(text)
        };
        let mut got = String::new();
        wait_until(|| {
            got = ask().unwrap_or_default();
            !got.is_empty()
        });
        check(
            got.starts_with("HTTP/1.0 200 OK\r\n") && got.contains("forebay_sockets{name=\"fbt_cli\",program=\"dctcp\"} 1"),
            "watch answers Prometheus at a port of 127.0.0.1",
        );
        check(TcpStream::connect((lab.left.address, 9464)).is_err(), "and at no other address");
        fails_here("watch fbt_cli --seconds 1 --prometheus-port 9464", &["127.0.0.1:9464", "in use", "port"]);
        watch.kill().and_then(|()| watch.wait()).expect("it ends");
    });
}

/// Without its file an attachment is found in the kernel.
fn lost_file() {
    let lab = Lab::new();
    let before = traces(&lab);
    for attach in ["attach prin --name fbt_cli --default", "attach pias --name fbt_cli --dst 10.77.0.0/24"] {
        works(&lab, attach);
        std::fs::remove_file("/run/forebay/fbt_cli.json").expect("the file of the attachment");
        check(works(&lab, "detach --all").contains("without a state file"), "detach --all says what it found");
        // The previous value of the sysctl is lost with the file.
        lab.left.sysctl("net.ipv4.tcp_congestion_control", "reno");
        nothing_left(&lab, &before, attach);
    }
}

/// The process that started the command has ended before the check: a daemon, or a closed terminal.
fn alone(folder: &Path) {
    let lab = Lab::new();
    let before = traces(&lab);
    let (printed, ended) = (folder.join("alone.txt"), folder.join("alone.ended"));
    let mut shell = Command::new("sh");
    let forebay = env!("CARGO_BIN_EXE_forebay");
    // If the shell ends later than that, its child still has a parent, and must attach too.
    let line = format!("(sleep 0.2; {forebay} attach dctcp --name fbt_cli --default > $0 2>&1; echo $? > $1) &");
    shell.args(["-c", &line]).args([&printed, &ended]);
    finish(shell, &lab);
    let code = || std::fs::read_to_string(&ended).ok().filter(|t| t.ends_with('\n'));
    wait_until(|| code().is_some());
    let text = std::fs::read_to_string(&printed).unwrap_or_default();
    check(code().as_deref() == Some("0\n"), &format!("it attaches whose parent has ended: {text}"));
    works(&lab, "detach fbt_cli");
    nothing_left(&lab, &before, "a command whose parent has ended");
}

/// The capabilities that any thread of a process has now.
fn capabilities(process: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let of = |thread: std::fs::DirEntry| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
        line.and_then(|l| u64::from_str_radix(l.trim(), 16).ok()).unwrap_or(u64::MAX)
    };
    threads.map(of).reduce(|all, more| all | more).unwrap_or(u64::MAX)
}

/// The claims of SECURITY.md: commands that stay keep five capabilities, a recording two, and none needs a program of the machine.
fn little_is_needed(folder: &Path) {
    let lab = Lab::new();
    let before = traces(&lab);
    let alone = |args: &str| {
        let mut c = prepare(args);
        c.env_clear();
        finish(c, &lab)
    };
    let attached = alone("attach proboscis --name fbt_cli --dst 10.77.0.0/24");
    check(
        attached.code == 0,
        &format!("attaches without an environment, and so without a path to any program: {}", attached.err),
    );
    // CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF (include/uapi/linux/capability.h).
    let set = |all: &[u32]| all.iter().map(|c| 1_u64 << c).sum::<u64>();
    let (needed, observing) = (set(&[12, 19, 21, 38, 39]), set(&[38, 39]));
    let keeps = |args: &str, needed: u64| {
        let mut c = prepare(args);
        c.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = lab.left.run(move || c.spawn()).expect("the binary starts");
        guard::until(&format!("forebay {args} has dropped all other capabilities"), || capabilities(child.id()) == needed);
        child.kill().and_then(|()| child.wait()).expect("it ends");
    };
    keeps("attach --daemon fbt_cli", needed);
    keeps(&format!("record {} --seconds 120", folder.join("few.toml").display()), observing);
    check(alone("detach fbt_cli").code == 0, "detaches without an environment");
    nothing_left(&lab, &before, "a daemon with few capabilities that was killed");
    works(&lab, "attach proboscis --name fbt_cli --dst 10.77.0.0/24");
    keeps("watch fbt_cli --rollback-on retransmissions>900 --seconds 120", needed);
    guard::until("a killed watch has rolled back", || !guard::attached());
    nothing_left(&lab, &before, "a guard with few capabilities whose foreground process was killed");
}

/// A process without privileges: prints the missing capabilities, and `status` works.
fn without_privileges() {
    let lab = Lab::new();
    let before = traces(&lab);
    let bare = |args: &str| {
        let mut c = prepare(args);
        // SAFETY: only system calls, on nothing of the parent's.
        unsafe {
            c.pre_exec(|| {
                for capability in 0..64 {
                    // Capabilities that the kernel does not have are refused.
                    libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
                }
                if libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
        finish(c, &lab)
    };
    for args in ["attach dctcp --name fbt_cli --default", "detach --all"] {
        let printed = bare(args);
        check(
            printed.code != 0 && printed.err.contains("CAP_BPF") && printed.err.contains("root"),
            &format!("without privileges: forebay {args}: {}", printed.err.trim()),
        );
    }
    nothing_left(&lab, &before, "a process without privileges");
    works(&lab, "attach dctcp --name fbt_cli --default");
    let printed = bare("status");
    check(printed.code == 0 && printed.out.contains("fbt_cli (dctcp)"), "status says who is attached without privileges");
    works(&lab, "detach dctcp");
    nothing_left(&lab, &before, "detaching by the name of the program");
}

/// A recording is a scenario for `check` and `run`.
fn recording(folder: &Path) {
    let lab = Lab::new();
    lab.bottleneck(100, 500);
    let nowhere = folder.join("missing/live.toml");
    fails(&lab, &format!("record {} --seconds 60", nowhere.display()), &["missing/live.toml", "a folder that exists"]);
    // Without its other capabilities root cannot write there; that is noticed before the recording.
    let foreign = folder.join("foreign");
    std::fs::create_dir_all(&foreign).expect("an empty folder");
    std::os::unix::fs::chown(&foreign, Some(1000), Some(1000)).expect("root changes owners");
    fails(&lab, &format!("record {} --seconds 60", foreign.join("live.toml").display()), &["live.toml", "that you may write to"]);
    let file = folder.join("live.toml");
    for (rate, words) in [("1Gbps\"}]#", "rate"), ("fast", "rate"), ("100Tbps", "legal range")] {
        fails(&lab, &format!("record {} --seconds 60 --rate {rate}", file.display()), &[words]);
    }
    check(!file.exists() && !folder.join("live.csv").exists(), "nothing is written for it");
    for name in ["live.toml", "live.csv"] {
        std::fs::write(folder.join(name), "mine").expect("a file of the user");
        fails(&lab, &format!("record {} --seconds 60", file.display()), &[name, "not replaced", "--force"]);
        equal(std::fs::read_to_string(folder.join(name)).ok().as_deref(), Some("mine"), "a file of the user stays");
        std::fs::remove_file(folder.join(name)).expect("it is there");
    }
    std::thread::scope(|scope| {
        let recorder = scope.spawn(|| works(&lab, &format!("record {} --seconds 3 --anonymous --rate 100Mbps", file.display())));
        // With silences between them, until it ends, whenever it began.
        while !recorder.is_finished() {
            check(Transfer::start(&lab, 500_000).wait().intact, "bytes arrive while they are recorded");
            std::thread::sleep(Duration::from_millis(200));
        }
        check(recorder.join().expect("it ends").contains("forebay run"), "record says what to do with it");
    });
    for name in ["live.toml", "live.csv"] {
        let mode =
            std::fs::metadata(folder.join(name)).map(|m| std::os::unix::fs::PermissionsExt::mode(&m.permissions()) & 0o7777);
        equal(mode.ok(), Some(0o600), &format!("only their user reads {name}"));
    }
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    check(!text.contains("10.77.0."), "an anonymous recording has no addresses");
    works(&lab, &format!("check {}", file.display()));
    let out = folder.join("result");
    works(&lab, &format!("run {} --quiet --out {}", file.display(), out.display()));
    check(out.join("report.html").exists() || out.read_dir().is_ok_and(|d| d.count() > 0), "and run runs it");
}

/// Detaches leftovers of a failed attempt.
fn clean() {
    let _ = prepare("detach --all").output();
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|a| a == "--list") {
        println!("{}: test", check::full_name("verbs-of-real-hosts"));
        return ExitCode::SUCCESS;
    }
    // Children inherit ignored signals: SIGHUP below nohup, SIGINT and SIGQUIT in the background of a script. The topics of guards send them.
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: a plain system call before any thread starts.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hosts");
    let topics: [(&str, &dyn Fn()); 20] = [
        ("one attachment", &|| one_attachment(&folder)),
        ("lost file", &lost_file),
        ("alone", &|| alone(&folder)),
        ("roll back", &rollback::at_once),
        ("roll back later", &rollback::later),
        ("guard endings", &guard::endings),
        ("guard endings of attach", &guard::endings_of_attach),
        ("guard kept", &guard::kept),
        ("guard lease", &guard::lease),
        ("guard output", &guard::output),
        ("guard terminal", &guard::terminal),
        ("guard held lock", &guard::held_lock),
        ("guard flood", &guard::flood),
        ("guard metrics file", &|| guard::metrics_file(&folder)),
        ("guard read error", &guard::read_error),
        ("unreachable conditions", &guard::unreachable),
        ("loopback", &guard::loopback),
        ("little is needed", &|| little_is_needed(&folder)),
        ("without privileges", &without_privileges),
        ("recording", &|| recording(&folder)),
    ];
    let mut chosen = topics.iter().filter(|(name, _)| check::selects(&args, name)).peekable();
    if chosen.peek().is_none() {
        return ExitCode::SUCCESS;
    }
    if let Some(reason) = lab::lacks() {
        forebay_platform::doctor::requirements::skip("bpf", &reason);
        return ExitCode::SUCCESS;
    }
    let _alone = lab::alone();
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for this test");
    let repeated: Vec<&str> =
        chosen.filter(|(name, topic)| check::attempts(name, *topic, &clean)).map(|(name, _)| *name).collect();
    check::result(&repeated)
}
