//! DCTCP on a real connection, window by window: alpha, threshold and window after every ACK, held against the rules of RFC 8257.

use crate::capture::{Script, script};
use crate::check::{check, undisturbed};
use crate::lab::Lab;
use crate::traffic::{Transfer, connect_to};
use forebay_hosts::attach::{Request, attach};
use forebay_hosts::detach::detach_all;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder};
use std::net::TcpListener;

/// The sending socket before an ACK (`struct seen` of probe.bpf.c).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    una: u32,
    nxt: u32,
    cwnd: u32,
    ssthresh: u32,
    delivered: u32,
    delivered_ce: u32,
    /// `enum tcp_ca_state`.
    state: u32,
}

const OPEN: u32 = 0;
const CWR: u32 = 2;

/// The tracepoint of one connection, by the port of its other end.
struct Probe {
    object: Object,
    _link: Link,
}

impl Probe {
    fn start(port: u16) -> Probe {
        let bytes = std::fs::read(env!("FOREBAY_TEST_PROBE")).expect("the object of the probe");
        let object = ObjectBuilder::default().open_memory(&bytes).expect("an object").load().expect("the kernel takes it");
        let which = object.maps().find(|m| m.name() == "which").expect("its map");
        let port = u32::from(port.to_be()).to_ne_bytes();
        which.update(&0_u32.to_ne_bytes(), &port, MapFlags::ANY).expect("the port is set");
        let link =
            object.progs_mut().find(|p| p.name() == "probe").expect("its program").attach().expect("the tracepoint tcp_probe");
        Probe { object, _link: link }
    }

    fn finish(self) -> Vec<Seen> {
        let map = |name: &str| self.object.maps().find(|m| m.name() == name).expect("its map");
        let value = |name: &str, at: u32| -> Vec<u32> {
            let bytes = map(name).lookup(&at.to_ne_bytes(), MapFlags::ANY).expect("a lookup").unwrap_or_default();
            bytes.chunks_exact(4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect()
        };
        let number = value("which", 1)[0].min(1 << 16);
        let seen = |at| match value("acks", at)[..] {
            [una, nxt, cwnd, ssthresh, delivered, delivered_ce, state, _] => {
                Seen { una, nxt, cwnd, ssthresh, delivered, delivered_ce, state }
            }
            _ => panic!("`struct seen` has eight numbers"),
        };
        (0..number).map(seen).collect()
    }
}

/// Section 3.3 of RFC 8257 in 1/1024, as tcp_dctcp.c has it.
struct Alpha {
    value: u32,
    shift: u32,
    end: u32,
    delivered: u32,
    delivered_ce: u32,
    windows: u32,
}

impl Alpha {
    /// An ACK that made `now` of `before`.
    fn ack(&mut self, before: &Seen, now: &Seen) {
        if (now.una.wrapping_sub(self.end) as i32) < 0 {
            return;
        }
        let (acked, marked) = (now.delivered - self.delivered, now.delivered_ce - self.delivered_ce);
        let decay = if self.value >> self.shift == 0 { self.value } else { self.value >> self.shift };
        let gain = (u64::from(marked) << (10 - self.shift)) / u64::from(acked.max(1));
        self.value = (u64::from(self.value - decay) + gain).min(1024) as u32;
        (self.end, self.delivered, self.delivered_ce) = (before.nxt, now.delivered, now.delivered_ce);
        self.windows += 1;
    }
}

/// Errors in the windows of a connection, and the numbers of reductions and windows.
fn judge(acks: &[Seen], shift: u32) -> (Vec<String>, u32, u32) {
    let (mut wrong, mut cuts, first) = (Vec::new(), 0, acks[0]);
    // The congestion control began when the handshake was over.
    let mut alpha =
        Alpha { value: 1024, shift, end: first.una, delivered: first.delivered, delivered_ce: first.delivered_ce, windows: 0 };
    for pair in acks.windows(2) {
        let (before, now) = (&pair[0], &pair[1]);
        alpha.ack(before, now);
        let mut must = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{what}: alpha {}/1024, {before:?}, then {now:?}", alpha.value));
            }
        };
        must(now.cwnd >= 2, "a window below two segments");
        let acked = now.delivered - before.delivered;
        if now.ssthresh != before.ssthresh {
            cuts += 1;
            // Step 9. A reduction that ends with the ACK has brought the window to its threshold (tcp_end_cwnd_reduction).
            let base = if before.state == CWR { before.ssthresh } else { before.cwnd };
            let cut = (base - ((base * alpha.value) >> 11)).max(2);
            must(now.ssthresh == cut && now.state == CWR, "a cut that is not alpha's");
        } else if before.state == CWR && now.state == OPEN {
            must((now.ssthresh..=now.ssthresh + acked).contains(&now.cwnd), "a reduction that does not end at its threshold");
        } else if now.state == OPEN {
            // Slow start: a segment for each one acknowledged; otherwise one for a window of them (RFC 5681, section 3.1).
            let most = if before.cwnd < before.ssthresh { acked } else { acked.div_ceil(before.cwnd) };
            must((before.cwnd..=before.cwnd + most).contains(&now.cwnd), "growth that is not Reno's");
        } else {
            must(now.cwnd <= before.cwnd.max(now.ssthresh + acked), "a window that grows in a reduction");
        }
    }
    (wrong, cuts, alpha.windows)
}

/// A known pattern of marks; every threshold and window of the sender.
pub(crate) fn dctcp() {
    for (shift, every) in [(4, 1), (4, 3), (4, 20), (2, 5)] {
        let acks = undisturbed("a segment was sent again", || {
            let (acks, again) = connection(shift, every);
            (again == 0).then_some(acks)
        });
        let (wrong, cuts, windows) = judge(&acks, shift);
        check(
            wrong.is_empty() && windows > 10 && cuts >= 3,
            &format!(
                "threshold and window after each of {} ACKs are the congestion control's to the segment: {cuts} cuts, {windows} windows{}",
                acks.len(),
                wrong.first().map_or(String::new(), |w| format!("; {} are not, first {w}", wrong.len()))
            ),
        );
        // With all or many packets marked, windows are so small that alpha hardly matters.
        let other = judge(&acks, shift + 1).0.len();
        check(every < 5 || other > 0, &format!("{other} of them would not be with another weight of the newest window"));
    }
}

/// The ACKs of a connection, and how many segments it sent again.
fn connection(shift: u32, every: u32) -> (Vec<Seen>, u64) {
    let lab = Lab::new();
    for (host, name) in [(&lab.left, "fbt_left"), (&lab.right, "fbt_right")] {
        host.ip("link set eth0 gso_max_segs 1");
        let request = Request {
            program: "dctcp".into(),
            name: Some(name.into()),
            default: true,
            params: vec![format!("shift_g={shift}")],
            ..Request::default()
        };
        host.run(|| attach(&request)).unwrap_or_else(|e| panic!("{e}"));
    }
    lab.patient();
    lab.right.sysctl("net.ipv4.tcp_rmem", "4096 131072 262144");
    script(&lab.left, Script { mark_every: every, ..Script::default() });
    let listener = lab.right.run(|| TcpListener::bind((lab.right.address, 0)).expect("a port to listen on"));
    let probe = Probe::start(listener.local_addr().expect("it has an address").port());
    let (near, far) = connect_to(&lab, &listener);
    check(
        Transfer::over(near, far, 3_000_000).wait().intact,
        &format!("shift_g {shift}, every {every}. packet marked: bytes arrive as they were sent"),
    );
    let acks = probe.finish();
    let again = lab.left.snmp("Tcp", "RetransSegs");
    lab.left.run(detach_all).unwrap_or_else(|e| panic!("{e}"));
    (acks, again)
}
