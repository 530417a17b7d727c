//! Recording what a host's connections carry.

use crate::check::{PATIENCE, check, equal, wait_until};
use crate::lab::Lab;
use crate::traffic::connect;
use forebay_hosts::record::{Request, record};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// When a recording ends: some looks after the traffic, however late the looks are.
#[derive(Default)]
struct End {
    looks: AtomicU32,
    traffic_is_over: AtomicBool,
    looks_after: AtomicU32,
}

impl End {
    /// Asked before each look.
    fn asked(&self) -> bool {
        self.looks.fetch_add(1, Relaxed);
        self.traffic_is_over.load(Relaxed) && self.looks_after.fetch_add(1, Relaxed) >= 3
    }

    /// Waits until the recorder has looked.
    fn wait_for_begin(&self) {
        assert!(wait_until(|| self.looks.load(Relaxed) >= 2), "the recorder looks");
    }
}

/// Three messages on one connection, both ways, with silences between them: all bytes are there, in the right direction.
pub(crate) fn messages() {
    let lab = Lab::new();
    lab.bottleneck(100, 500);
    let request = Request {
        duration: 2 * PATIENCE,
        every: Duration::from_millis(10),
        prefixes: vec!["10.77.0.0/24".parse().expect("a prefix")],
        anonymous: true,
        rate: "100Mbps".into(),
    };
    let sizes = [(true, 400_000_usize), (false, 150_000), (true, 700_000)];
    let end = End::default();
    let recording = std::thread::scope(|scope| {
        let recording = scope.spawn(|| lab.left.run(|| record(&request, || end.asked())));
        end.wait_for_begin();
        // A silence that the times of the messages show, as those between messages do.
        std::thread::sleep(Duration::from_millis(300));
        let (mut near, mut far) = connect(&lab);
        for (outgoing, size) in sizes {
            let (from, to) = if outgoing { (&mut near, &mut far) } else { (&mut far, &mut near) };
            let (bytes, mut got) = (vec![7; size], vec![0; size]);
            let sent = scope.spawn({
                let mut from = from.try_clone().expect("a second handle");
                move || from.write_all(&bytes)
            });
            to.read_exact(&mut got).expect("the message arrives");
            sent.join().expect("the sender ends").expect("the message leaves");
            std::thread::sleep(Duration::from_millis(300));
        }
        end.traffic_is_over.store(true, Relaxed);
        recording.join().expect("the recorder ends").unwrap_or_else(|e| panic!("{e}"))
    });
    let csv = recording.csv();
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let sum = |from: &str| rows.iter().filter(|r| r[0] == from).map(|r| r[2].parse::<usize>().unwrap_or(0)).sum::<usize>();
    equal(sum("this"), 1_100_000, "all bytes that were sent are recorded");
    equal(sum("peer0"), 150_000, "and all that were received");
    check((3..=30).contains(&rows.len()), &format!("silences part them: {} messages", rows.len()));
    let starts: Vec<u64> = rows.iter().map(|r| r[3].parse().unwrap_or(0)).collect();
    check(
        starts.is_sorted() && starts.first().is_some_and(|s| *s > 200_000),
        "times are in order and from the beginning of the recording",
    );
    let text = recording.scenario(&request, "list.csv");
    check(!text.contains("10.77.0.2"), "no address is in an anonymous scenario");
    check(
        recording.scenario(&Request { anonymous: false, ..request }, "list.csv").contains("peer0 is 10.77.0.2"),
        "it is in the other",
    );
    check(
        recording.lines().iter().any(|l| l.contains("2 connections were opened") || l.contains("1 connections were opened")),
        "opened connections are counted",
    );
}

/// Connections that open and close between two samples: each is in the recording, to the byte, at both ends.
pub(crate) fn short_connections() {
    const CONNECTIONS: usize = 200;
    let lab = Lab::new();
    let request = Request {
        duration: 2 * PATIENCE,
        every: Duration::from_millis(100),
        prefixes: vec!["10.77.0.0/24".parse().expect("a prefix")],
        anonymous: true,
        rate: "10Gbps".into(),
    };
    let ends = [End::default(), End::default()];
    let recordings = std::thread::scope(|scope| {
        let request = &request;
        let [left, right] = &ends;
        let both = [(&lab.left, left), (&lab.right, right)]
            .map(|(host, end)| scope.spawn(move || host.run(|| record(request, || end.asked()))));
        ends.iter().for_each(End::wait_for_begin);
        for i in 0..CONNECTIONS {
            let (mut near, mut far) = connect(&lab);
            let (asked, answer) = (vec![7; 300 + i], vec![7; 3000]);
            near.write_all(&asked).and_then(|()| far.read_exact(&mut vec![0; 300 + i])).expect("a question");
            far.write_all(&answer).and_then(|()| near.read_exact(&mut vec![0; 3000])).expect("an answer");
            // One end closes first, and then the other.
            if i % 2 == 0 { drop((near, far)) } else { drop((far, near)) }
        }
        ends.iter().for_each(|end| end.traffic_is_over.store(true, Relaxed));
        both.map(|r| r.join().expect("the recorder ends").unwrap_or_else(|e| panic!("{e}")))
    });
    let questions = CONNECTIONS * 300 + CONNECTIONS * (CONNECTIONS - 1) / 2;
    for (recording, who, [sent, got]) in recordings
        .iter()
        .zip(["opens", "accepts"])
        .zip([[questions, CONNECTIONS * 3000], [CONNECTIONS * 3000, questions]])
        .map(|((r, w), n)| (r, w, n))
    {
        let csv = recording.csv();
        let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
        let of = |from: &str| -> Vec<usize> { rows.iter().filter(|r| r[0] == from).map(|r| r[2].parse().unwrap_or(0)).collect() };
        equal(
            (of("this").len(), of("peer0").len()),
            (CONNECTIONS, CONNECTIONS),
            &format!("who {who}: a message each way of every connection"),
        );
        equal((of("this").iter().sum(), of("peer0").iter().sum()), (sent, got), "to the byte");
        let lines = recording.lines();
        check(lines.iter().all(|l| !l.contains("not recorded")), &format!("none is missing: {lines:?}"));
    }
}
