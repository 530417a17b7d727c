//! Transfers that do nothing but send and receive, and what they took.

use crate::lab::Lab;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpCongestion;
use nix::time::{ClockId, clock_gettime};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Cost of a transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) mbit: f64,
    /// Processor time of both ends per KB, in ns: of this process, in which the kernel's work for a virtual link is done, too.
    pub(crate) cpu_ns_per_kb: f64,
    /// Of segments that left one was sent again.
    pub(crate) again: f64,
}

/// Processor time of this process so far.
fn cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("the processor time of this process").into()
}

/// Gives a socket a congestion control of the kernel.
fn choose(socket: &TcpStream, cc: &str) {
    setsockopt(socket, TcpCongestion, &cc.into()).unwrap_or_else(|e| panic!("{cc}: {e}"));
}

/// So many connections send for so long, left to right, with this congestion control unless they have another one by themselves.
pub(crate) fn transfer(lab: &Lab, cc: Option<&str>, flows: usize, time: Duration) -> Load {
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    let address = listener.local_addr().expect("the listener has an address");
    let pairs: Vec<(TcpStream, TcpStream)> = lab.left.run(|| {
        let pair = |_| (TcpStream::connect(address).expect("left reaches right"), listener.accept().expect("right accepts").0);
        (0..flows).map(pair).collect()
    });
    if let Some(cc) = cc {
        pairs.iter().for_each(|(near, far)| [near, far].into_iter().for_each(|s| choose(s, cc)));
    }
    let (stop, sent) = (AtomicBool::new(false), |counter| lab.left.snmp("Tcp", counter));
    let (out, again) = (sent("OutSegs"), sent("RetransSegs"));
    let (began, cpu_before) = (Instant::now(), cpu());
    let bytes: u64 = std::thread::scope(|scope| {
        let mut receivers = Vec::new();
        for (mut near, mut far) in pairs {
            let stop = &stop;
            scope.spawn(move || {
                let buffer = vec![7; 65_536];
                while !stop.load(Ordering::Relaxed) {
                    near.write_all(&buffer).expect("bytes leave");
                }
            });
            receivers.push(scope.spawn(move || {
                let (mut buffer, mut got) = (vec![0; 65_536], 0);
                loop {
                    match far.read(&mut buffer).expect("bytes arrive") {
                        0 => return got,
                        n => got += n as u64,
                    }
                }
            }));
        }
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        receivers.into_iter().map(|r| r.join().expect("the receiver ends")).sum()
    });
    let (seconds, used) = (began.elapsed().as_secs_f64(), cpu().saturating_sub(cpu_before));
    Load {
        mbit: bytes as f64 * 8.0 / seconds / 1e6,
        cpu_ns_per_kb: used.as_nanos() as f64 / (bytes as f64 / 1e3),
        again: (sent("RetransSegs") - again) as f64 / (sent("OutSegs") - out).max(1) as f64,
    }
}

/// Processor time of both ends for opening and closing a connection, in us.
pub(crate) fn connections(lab: &Lab, count: u32) -> f64 {
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    let address = listener.local_addr().expect("the listener has an address");
    lab.left.run(|| {
        let begin = cpu();
        for _ in 0..count {
            let near = TcpStream::connect(address).expect("left reaches right");
            let (far, _) = listener.accept().expect("right accepts");
            drop((near, far));
        }
        cpu().saturating_sub(begin).as_secs_f64() * 1e6 / f64::from(count)
    })
}
