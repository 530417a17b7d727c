//! The process that keeps ProBoSCIS's timers: probes, SYNs and SYN-ACKs that are lost or wait, and its end at any moment.

use crate::capture::{ACK, Capture, SYN, Script, script};
use crate::check::{check, equal, wait_until};
use crate::lab::{Host, Lab, enter};
use crate::shims::{counter, on, request};
use crate::snapshot;
use crate::traffic::{Transfer, connect_from, connect_to};
use forebay_hosts::attach::Request;
use forebay_hosts::detach::detach_all;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The first argument of this program as a helper.
pub(crate) const WORD: &str = "as-a-helper";

/// `NAMESPACE NAME`
pub(crate) fn run(args: &[String]) -> ExitCode {
    let [namespace, name] = args else { return ExitCode::from(2) };
    enter(namespace);
    // A helper that is 50 ms late is taken for dead: ahead of what else a busy machine does. Where that is not allowed, a late one fails its topic.
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: a structure that lives through the call; it concerns this process alone.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first) };
    match forebay_hosts::helper::open(name).and_then(|h| h.run(|| false, || println!("ready"))) {
        Ok(_) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// A helper in a process of its own, killed with the value.
pub(crate) struct Helper(Child);

impl Helper {
    pub(crate) fn start(host: &Host, name: &str) -> Helper {
        let program = std::env::current_exe().expect("this program");
        let mut process = Command::new(program)
            .args([WORD, &host.name, name])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("this program starts again");
        let mut line = String::new();
        let out = process.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("it says that it is ready");
        check(line.trim() == "ready", &format!("a helper of {name} is ready"));
        Helper(process)
    }

    pub(crate) fn kill(mut self) {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it ends");
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Lost packets, and the hosts with a helper.
#[derive(Debug, Clone, Copy, Default)]
struct Case {
    lose_probes: u32,
    lose_syns: u32,
    near: bool,
    far: bool,
    everywhere: bool,
    lost_as_marked: bool,
}

/// Result of a case.
struct Outcome {
    lab: Lab,
    /// Time to establish the connection.
    took: Duration,
    /// Window of the SYN-ACK.
    window: u32,
    _helpers: Vec<Helper>,
}

impl Drop for Outcome {
    fn drop(&mut self) {
        if let Err(e) = self.lab.left.run(detach_all) {
            eprintln!("{e}");
        }
    }
}

fn connection(case: Case) -> Outcome {
    let lab = Lab::new();
    let everywhere = format!("everywhere={}", u32::from(case.everywhere));
    let lost = format!("lost_as_marked={}", u32::from(case.lost_as_marked));
    on(&lab.left, &request("proboscis", "fbt_near", &[&everywhere, &lost]));
    on(&lab.right, &request("proboscis", "fbt_far", &[&everywhere, &lost]));
    script(&lab.left, Script { lose_probes: case.lose_probes, lose_syns: case.lose_syns, ..Script::default() });
    let helpers = [(case.near, &lab.left, "fbt_near"), (case.far, &lab.right, "fbt_far")];
    let helpers = helpers.into_iter().filter(|h| h.0).map(|(_, host, name)| Helper::start(host, name)).collect();
    let capture = Capture::start(&lab.left);
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    let address = listener.local_addr().expect("it has an address");
    let (near, took) = lab.left.run(|| {
        let begin = Instant::now();
        let near = TcpStream::connect(address).expect("the connection comes about");
        (near, begin.elapsed())
    });
    let (far, _) = listener.accept().expect("right accepts");
    for s in [&near, &far] {
        let patience = Some(Duration::from_secs(120));
        s.set_read_timeout(patience).and_then(|()| s.set_write_timeout(patience)).expect("timeouts");
    }
    check(Transfer::over(near, far, 300_000).wait().intact, &format!("{case:?}: bytes arrive as they were sent"));
    let packets = capture.finish();
    let syn_ack = packets.iter().find(|p| !p.outgoing && p.protocol == 6 && p.flags & (SYN | ACK) == SYN | ACK);
    let window = syn_ack.map_or(0, |p| u32::from(p.window));
    Outcome { lab, took, window, _helpers: helpers }
}

const SEGMENT: u32 = 1448;

/// A SYN that is lost: after 16 ms with the helper, after a second without.
pub(crate) fn timers() {
    let plain = connection(Case { lose_syns: 1, ..Case::default() });
    check(plain.took >= Duration::from_millis(900), &format!("a lost SYN without a helper: {:?}", plain.took));
    equal(counter(&plain.lab.left, "fbt_near", "trains_again"), 0, "trains sent again without a helper");
    drop(plain);
    let helped = connection(Case { lose_syns: 1, near: true, ..Case::default() });
    let took = helped.took;
    check(took >= Duration::from_millis(15), &format!("a lost SYN with one: {took:?}, of which its timer is 16 ms"));
    let of = |what| counter(&helped.lab.left, "fbt_near", what);
    check(of("syns_again") >= 1, "the SYN was sent again by the helper, before the second of the kernel's own timer");
    check(of("trains_again") >= 2, &format!("and {} trains of probes with and before it", of("trains_again")));
    check(of("probes_sent") > 8, &format!("{} probes left", of("probes_sent")));
    // The newest train is the one that counts: all of it arrived.
    equal(helped.window, 10 * SEGMENT, "the SYN-ACK after trains of which all probes arrived allows");
    equal(of("syn_acks_held"), 0, "SYN-ACKs that the opener held");
    let begin = of("trains_again");
    // Some timers' time, in which nothing may happen; more is as good.
    std::thread::sleep(Duration::from_millis(100));
    equal(of("trains_again"), begin, "trains sent again once the SYN is answered");
}

/// A guest behind a bridge, with shim and helper at the bridge's uplink: the guest has no part in it.
pub(crate) fn guest() {
    let lab = Lab::new();
    let guest = lab.guest();
    let uplink = Request { devices: vec!["eth0".into()], ..request("proboscis", "fbt_near", &[]) };
    on(&lab.left, &uplink);
    on(&lab.right, &request("proboscis", "fbt_far", &[]));
    script(&lab.left, Script { lose_syns: 1, ..Script::default() });
    let helper = Helper::start(&lab.left, "fbt_near");
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    let (near, far) = connect_from(&guest.0, &listener);
    check(counter(&lab.left, "fbt_near", "syns_again") >= 1, "it was sent again at the uplink");
    check(Transfer::over(near, far, 300_000).wait().intact, "bytes arrive as they were sent");
    equal(guest.0.snmp("TcpExt", "TCPSynRetrans"), 0, "SYNs that the guest itself sent again");
    helper.kill();
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
}

/// A SYN-ACK waits for probes; not for a peer that sends none.
pub(crate) fn holds() {
    // Two of eight probes arrive.
    let few = Case { lose_probes: 6, far: true, ..Case::default() };
    let outcome = connection(few);
    check(
        outcome.took >= Duration::from_millis(8),
        &format!("six of eight probes lost: {:?}, of which the SYN-ACK waits 8 ms", outcome.took),
    );
    equal(outcome.window, 2 * SEGMENT, "then it allows the least");
    for what in ["syn_acks_held", "syn_acks_released"] {
        equal(counter(&outcome.lab.right, "fbt_far", what), 1, what);
    }
    drop(outcome);
    // The opener's helper sends another train, which arrives.
    let outcome = connection(Case { near: true, ..few });
    equal(counter(&outcome.lab.right, "fbt_far", "syn_acks_held"), 1, "with a helper at the opener: SYN-ACKs held");
    equal(outcome.window, 10 * SEGMENT, "the train that was sent again lets it go with");
    drop(outcome);
    let outcome = connection(Case { lose_probes: 4, far: true, ..Case::default() });
    equal(counter(&outcome.lab.right, "fbt_far", "syn_acks_held"), 0, "half of the probes is sufficient: SYN-ACKs held");
    equal(outcome.window, 10 * SEGMENT, "half of the probes, none of them marked, allows");
    drop(outcome);
    let outcome = connection(Case { lose_probes: 4, far: true, lost_as_marked: true, ..Case::default() });
    equal(outcome.window, 5 * SEGMENT, "half of the probes, where lost ones count as marked, allows");
    drop(outcome);
    let outcome = connection(Case { lose_probes: 6, ..Case::default() });
    equal(outcome.window, 2 * SEGMENT, "two of eight probes, and no helper that could hold the SYN-ACK, allow the least");
    drop(outcome);
    let outcome = connection(Case { lose_probes: 8, far: true, ..Case::default() });
    equal(
        counter(&outcome.lab.right, "fbt_far", "syn_acks_held"),
        0,
        "no probe at all, as from a peer without the shim: SYN-ACKs held",
    );
    check(outcome.window > 10 * SEGMENT, "such a SYN-ACK passes as it is");
    drop(outcome);
    let outcome = connection(Case { lose_probes: 8, far: true, everywhere: true, ..Case::default() });
    equal(counter(&outcome.lab.right, "fbt_far", "syn_acks_held"), 1, "no probe, where every peer has the shim: SYN-ACKs held");
    equal(outcome.window, 2 * SEGMENT, "it leaves with the least");
}

/// It ends at any moment: connections come about and go on; what the shim holds nothing of passes.
pub(crate) fn killed() {
    let lab = Lab::new();
    let before = snapshot::take(&[&lab]);
    let all = ["everywhere=1", "probes=0"];
    on(&lab.left, &request("proboscis", "fbt_near", &all));
    on(&lab.right, &request("proboscis", "fbt_far", &all));
    let connect = || {
        let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
        connect_to(&lab, &listener)
    };
    for i in 0..10 {
        let transfer = Transfer::start(&lab, u64::MAX);
        let helper = Helper::start(&lab.right, "fbt_far");
        // Without probes every SYN-ACK is held for 8 ms; the process ends before, while or after that.
        let (near, far) = std::thread::scope(|scope| {
            let connection = scope.spawn(connect);
            // A delay of this thread makes it later.
            std::thread::sleep(Duration::from_millis(i));
            helper.kill();
            connection.join().expect("the connection comes about")
        });
        let intact = Transfer::over(near, far, 100_000).wait().intact;
        check(intact, &format!("killed after {i} ms: the connection comes about, and its bytes arrive as they were sent"));
        check(transfer.finish().intact, "and those of one that was open");
    }
    // It is taken for dead after 50 ms.
    std::thread::sleep(Duration::from_millis(60));
    let held = counter(&lab.right, "fbt_far", "syn_acks_held");
    check(held > 0, &format!("{held} SYN-ACKs were held"));
    drop(connect());
    equal(counter(&lab.right, "fbt_far", "syn_acks_held"), held, "SYN-ACKs held 60 ms after its end");
    let mut helper = Helper::start(&lab.right, "fbt_far");
    let second = lab.right.run(|| forebay_hosts::helper::open("fbt_far").and_then(|h| h.run(|| true, || ())));
    check(second.is_err_and(|e| e.to_string().contains("another daemon")), "a second daemon is refused");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    let mut ended = None;
    wait_until(|| {
        ended = helper.0.try_wait().expect("it can be asked");
        ended.is_some()
    });
    check(ended.is_some_and(|s| s.success()), "taken off, the shim ends its helper");
    let capture = Capture::start(&lab.left);
    let (near, far) = connect();
    check(Transfer::over(near, far, 1000).wait().intact, "and connections are plain");
    check(capture.finish().iter().all(|p| p.protocol == 6), "without probes");
    snapshot::unchanged(&before, &[&lab], "the shim, ten helpers and `detach --all`");
}
