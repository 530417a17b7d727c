//! Applications with a minimal host without network, where every message arrives after ten microseconds. Their actions are compared with a script.

use forebay_apps::{App, Host, InitialData, Job, Notice, OpenSpec, QueryIds, QueryStart, Wake};
use forebay_experiment::Experiment;
use forebay_experiment::assign::Assign;
use forebay_experiment::network::Network;
use forebay_experiment::observe::Observe;
use forebay_experiment::pattern::Pairs;
use forebay_experiment::traffic::{
    Arrival, Datagram, Deadline, LastTrain, ReplayFlow, Request, ResponseSize, Workload, WorkloadKind,
};
use forebay_experiment::writes::Writes;
use forebay_types::{ConnSlot, GroupId, IndexVec, NodeId, QueryId, Rate, SizeDist, Time, TimeDist, WorkloadId};
use std::collections::BTreeMap;

/// From one host to any other.
const LATENCY: Time = Time::from_us(10);

enum Event {
    Wake { tag: u64 },
    Open { conn: ConnSlot },
    Notice(Notice),
}

/// A host without network.
#[derive(Default)]
struct Fake {
    connections: Vec<OpenSpec>,
    events: BTreeMap<(Time, usize), Event>,
    set: usize,
    now: Time,
    script: Vec<String>,
}

impl Fake {
    fn at(&mut self, time: Time, event: Event) {
        assert!(time >= self.now, "{time} is over");
        self.set += 1;
        self.events.insert((time, self.set), event);
    }

    fn log(&mut self, now: Time, line: &str) {
        self.script.push(format!("{now} {line}"));
    }

    fn name(&self, conn: ConnSlot) -> String {
        let OpenSpec { src, dst, .. } = self.connections[conn.index()];
        format!("{src}>{dst}#{conn}")
    }

    fn query(query: Option<QueryId>) -> String {
        query.map_or_else(String::new, |q| format!(" of query {:x}", q.get()))
    }

    fn deliver(&mut self, conn: ConnSlot, now: Time, query: Option<QueryId>) {
        let tag = self.connections[conn.index()].tag;
        self.at(now + LATENCY, Event::Notice(Notice::Delivered { tag, query }));
        self.at(now + LATENCY + LATENCY, Event::Notice(Notice::Acked { tag, conn }));
    }

    /// Runs a workload until it has finished, or to `end`.
    fn run(kind: WorkloadKind, end: Time) -> Vec<String> {
        let workload =
            Workload { class: "test".into(), transport: Assign::One(GroupId::new(0)), writes: Writes::ONE, listen: None, kind };
        let experiment = Experiment {
            seed: 1,
            duration: None,
            network: Network::default(),
            groups: IndexVec::new(),
            workloads: vec![workload].into(),
            observe: Observe::default(),
        };
        let mut fake = Fake::default();
        let mut app = App::new(&experiment, 1, WorkloadId::new(0), &mut QueryIds::default());
        app.start(&mut fake);
        loop {
            let due = fake.events.keys().next().map(|k| k.0);
            let Some(now) = due.into_iter().chain(app.next_arrival()).min().filter(|&now| now < end) else { break };
            fake.now = now;
            // Flows that arrive at this time are opened before other events at it.
            app.inject(&mut fake, now + Time(1));
            let Some(first) = fake.events.first_entry().filter(|e| e.key().0 == now) else { continue };
            match first.remove() {
                Event::Wake { tag } => app.on_wake(&mut fake, now, tag),
                Event::Notice(notice) => app.on_notice(&mut fake, now, notice),
                Event::Open { conn } => match fake.connections[conn.index()].first {
                    InitialData::Nothing => {}
                    InitialData::Only(job) | InitialData::First(job) => fake.write(conn, now, job),
                    InitialData::Endless => fake.write(conn, now, Job::ENDLESS),
                },
            }
        }
        assert_eq!(app.finished(), end == Time::NEVER, "finished exactly if no work remains");
        fake.script
    }
}

impl Host for Fake {
    fn open(&mut self, time: Time, spec: OpenSpec) -> ConnSlot {
        let conn = ConnSlot::from_index(self.connections.len());
        self.connections.push(spec);
        let shared = spec.reverse_of.map_or_else(String::new, |other| format!(" on the connection of {}", self.name(other)));
        self.log(time, &format!("open {}{shared}", self.name(conn)));
        self.at(time, Event::Open { conn });
        conn
    }

    fn earliest_open(&self) -> Time {
        self.now
    }

    fn open_later(&mut self, time: Time, spec: OpenSpec) {
        self.open(time, spec);
    }

    fn open_datagrams(&mut self, spec: OpenSpec, _datagram: Datagram) -> ConnSlot {
        let conn = ConnSlot::from_index(self.connections.len());
        self.connections.push(spec);
        conn
    }

    fn write(&mut self, conn: ConnSlot, now: Time, job: Job) {
        assert_eq!(now, self.now, "written now");
        let bytes = job.bytes.map_or_else(|| "without end".into(), |b| format!("{b} bytes"));
        let deadline = if job.deadline == Time::NEVER { String::new() } else { format!(" by {}", job.deadline) };
        self.log(now, &format!("write {} {bytes}{}{deadline}", self.name(conn), Fake::query(job.query)));
        if job.bytes.is_some() {
            self.deliver(conn, now, job.query);
        }
    }

    fn stop(&mut self, conn: ConnSlot, now: Time) {
        self.log(now, &format!("stop {}", self.name(conn)));
    }

    fn send_datagram(&mut self, conn: ConnSlot, now: Time) {
        self.log(now, &format!("datagram {}", self.name(conn)));
    }

    fn wake(&mut self, wake: Wake) {
        self.at(wake.time, Event::Wake { tag: wake.tag });
    }

    fn begin_query(&mut self, start: QueryStart) {
        self.log(start.start, &format!("query {:x} in {} parts", start.query.get(), start.parts));
    }

    fn request_latency(&self, _from: NodeId, _to: NodeId, _group: GroupId) -> Time {
        LATENCY
    }
}

fn nodes<const N: usize>(numbers: [u32; N]) -> Vec<NodeId> {
    numbers.map(NodeId::new).to_vec()
}

fn pairs<const N: usize>(numbers: [(u32, u32); N]) -> Pairs {
    numbers.map(|(a, b)| (NodeId::new(a), NodeId::new(b))).to_vec().into()
}

#[test]
fn incast_round_starts_after_all_arrived() {
    let kind = WorkloadKind::Incast {
        senders: nodes([1, 2]),
        receiver: NodeId::new(0),
        block: 1_000,
        rounds: Some(2),
        start: Time::from_us(100),
        gap: Time::from_us(5),
        request: Request::OutOfBand(None),
        jitter: Time::ZERO,
        deadline: Some(Deadline { after: Time::from_us(50), max_size: 1_000 }),
    };
    let script = [
        "0ps open 1>0#0",
        "0ps open 2>0#1",
        "100us query 0 in 2 parts",
        "110us write 1>0#0 1000 bytes of query 0 by 150us",
        "110us write 2>0#1 1000 bytes of query 0 by 150us",
        "125us query 1 in 2 parts",
        "135us write 1>0#0 1000 bytes of query 1 by 175us",
        "135us write 2>0#1 1000 bytes of query 1 by 175us",
    ];
    assert_eq!(Fake::run(kind, Time::NEVER), script);
}

fn trains(after_completion: bool, fresh: bool, last: Option<(Time, LastTrain)>) -> WorkloadKind {
    WorkloadKind::OnOff {
        pairs: pairs([(1, 0)]),
        sizes: SizeDist::Const(500),
        gaps: TimeDist::Const(Time::from_us(30)),
        after_completion,
        trains: Some(2),
        start: Time::ZERO,
        last,
        total: None,
        fresh,
        jitter: Time::ZERO,
        deadline: None,
    }
}

#[test]
fn trains_pause_then_end_with_last() {
    // Pauses from the start of a train, and from its last ACK.
    let open = ["0ps open 1>0#0", "30us write 1>0#0 500 bytes", "60us write 1>0#0 500 bytes"];
    assert_eq!(Fake::run(trains(false, false, None), Time::NEVER), open);
    let closed = ["0ps open 1>0#0", "30us write 1>0#0 500 bytes", "80us write 1>0#0 500 bytes"];
    assert_eq!(Fake::run(trains(true, false, None), Time::NEVER), closed);
    // The last train replaces those that have not begun.
    let last = Some((Time::from_us(45), LastTrain::UpToTotal(2_000)));
    let ended = ["0ps open 1>0#0", "30us write 1>0#0 500 bytes", "45us write 1>0#0 1500 bytes"];
    assert_eq!(Fake::run(trains(false, false, last), Time::NEVER), ended);
}

#[test]
fn fresh_trains_have_a_connection_each() {
    let script = ["30us open 1>0#0", "30us write 1>0#0 500 bytes", "60us open 1>0#1", "60us write 1>0#1 500 bytes"];
    assert_eq!(Fake::run(trains(false, true, None), Time::NEVER), script);
}

#[test]
fn queries_wait_for_all_responses() {
    let kind = WorkloadKind::Queries {
        aggregators: nodes([0]),
        workers: nodes([0, 1, 2]),
        fan_out: 2,
        response: ResponseSize::Shared(3_001),
        arrival: Arrival::Gap(TimeDist::Const(Time::from_us(7))),
        count: Some(2),
        start: Time::from_us(1),
        stop: None,
        request: Request::OutOfBand(Some(Time::from_us(2))),
        jitter: Time::ZERO,
        deadline: None,
    };
    let script = [
        "0ps open 1>0#0",
        "0ps open 2>0#1",
        "1us query 0 in 2 parts",
        "3us write 1>0#0 1501 bytes of query 0",
        "3us write 2>0#1 1501 bytes of query 0",
        "20us query 1 in 2 parts",
        "22us write 1>0#0 1501 bytes of query 1",
        "22us write 2>0#1 1501 bytes of query 1",
    ];
    assert_eq!(Fake::run(kind, Time::NEVER), script);
}

/// A message takes 10 us in this host. The deadline counts from the request, and the processing time comes before the answer.
#[test]
fn incast_requests_are_messages() {
    let kind = WorkloadKind::Incast {
        senders: nodes([1, 2]),
        receiver: NodeId::new(0),
        block: 1_000,
        rounds: Some(2),
        start: Time::from_us(100),
        gap: Time::from_us(5),
        request: Request::Packets { bytes: 40, two_way: false },
        jitter: Time::ZERO,
        deadline: Some(Deadline { after: Time::from_us(50), max_size: 1_000 }),
    };
    let script = [
        "0ps open 1>0#0",
        "0ps open 2>0#1",
        "0ps open 0>1#2",
        "0ps open 0>2#3",
        "100us query 0 in 4 parts",
        "100us write 0>1#2 40 bytes of query 0",
        "100us write 0>2#3 40 bytes of query 0",
        "110us write 1>0#0 1000 bytes of query 0 by 150us",
        "110us write 2>0#1 1000 bytes of query 0 by 150us",
        "125us query 1 in 4 parts",
        "125us write 0>1#2 40 bytes of query 1",
        "125us write 0>2#3 40 bytes of query 1",
        "135us write 1>0#0 1000 bytes of query 1 by 175us",
        "135us write 2>0#1 1000 bytes of query 1 by 175us",
    ];
    assert_eq!(Fake::run(kind, Time::NEVER), script);
}

/// Two aggregators, each of which is a worker of the other.
#[test]
fn query_requests_are_messages() {
    let kind = WorkloadKind::Queries {
        aggregators: nodes([0, 1]),
        workers: nodes([0, 1]),
        fan_out: 1,
        response: ResponseSize::Shared(3_001),
        arrival: Arrival::Gap(TimeDist::Const(Time::from_us(7))),
        count: Some(1),
        start: Time::from_us(1),
        stop: None,
        request: Request::Packets { bytes: 40, two_way: false },
        jitter: Time::ZERO,
        deadline: Some(Deadline { after: Time::from_us(50), max_size: u64::MAX }),
    };
    let script = [
        "0ps open 1>0#0",
        "0ps open 0>1#1",
        "0ps open 0>1#2",
        "0ps open 1>0#3",
        "1us query 0 in 2 parts",
        "1us write 0>1#2 40 bytes of query 0",
        "1us query 100000000 in 2 parts",
        "1us write 1>0#3 40 bytes of query 100000000",
        "11us write 1>0#0 3001 bytes of query 0 by 51us",
        "11us write 0>1#1 3001 bytes of query 100000000 by 51us",
    ];
    assert_eq!(Fake::run(kind, Time::NEVER), script);
}

#[test]
fn requests_are_data_and_get_answers() {
    let kind = WorkloadKind::Requests {
        pairs: pairs([(1, 0)]),
        request: SizeDist::Const(100),
        response: SizeDist::Const(9_000),
        think: TimeDist::Const(Time::from_us(3)),
        count: Some(2),
        start: Time::ZERO,
        deadline: Some(Deadline { after: Time::from_us(40), max_size: u64::MAX }),
        two_way: false,
    };
    let script = [
        "0ps open 1>0#0",
        "0ps open 0>1#1",
        "0ps query 0 in 2 parts",
        "0ps write 1>0#0 100 bytes of query 0",
        "10us write 0>1#1 9000 bytes of query 0 by 40us",
        "23us query 1 in 2 parts",
        "23us write 1>0#0 100 bytes of query 1",
        "33us write 0>1#1 9000 bytes of query 1 by 63us",
    ];
    assert_eq!(Fake::run(kind, Time::NEVER), script);
}

#[test]
fn replayed_flows_have_own_connections() {
    let flow = |us, src, bytes| ReplayFlow {
        start: Time::from_us(us),
        src: NodeId::new(src),
        dst: NodeId::new(0),
        bytes,
        deadline: Time::NEVER,
    };
    let kind = WorkloadKind::Replay { flows: vec![flow(3, 1, 10), flow(3, 2, 20), flow(50, 1, 30)], after: Vec::new() };
    let script = [
        "3us open 1>0#0",
        "3us open 2>0#1",
        "3us write 1>0#0 10 bytes",
        "3us write 2>0#1 20 bytes",
        "50us open 1>0#2",
        "50us write 1>0#2 30 bytes",
    ];
    assert_eq!(Fake::run(kind, Time::NEVER), script);
}

#[test]
fn long_flows_are_staggered_and_stop() {
    let kind = |size| WorkloadKind::Long {
        pairs: pairs([(1, 0), (2, 0)]),
        size,
        start: Time::from_us(1),
        stagger: Time::from_us(4),
        jitter: Time::ZERO,
        stop_after: Some(Time::from_us(9)),
    };
    let endless = [
        "1us open 1>0#0",
        "5us open 2>0#1",
        "1us write 1>0#0 without end",
        "5us write 2>0#1 without end",
        "10us stop 1>0#0",
        "14us stop 2>0#1",
    ];
    assert_eq!(Fake::run(kind(None), Time::NEVER), endless);
}

#[test]
fn datagrams_stay_on_their_rate_grid() {
    let kind = WorkloadKind::Udp {
        pairs: pairs([(1, 0)]),
        // 1250 bytes at 1 Gbps: one every 10 us.
        datagram: Datagram { wire: 1_250, payload: 1_208, class: 0, ect: false },
        rate: Rate(1_000_000_000),
        packet_jitter: Time::ZERO,
        periods: Some((TimeDist::Const(Time::from_us(20)), TimeDist::Const(Time::from_us(100)))),
        start: Time::ZERO,
        jitter: Time::ZERO,
        stop: Some(Time::from_us(135)),
    };
    let sent = ["0ps", "10us", "120us", "130us"].map(|t| format!("{t} datagram 1>0#0"));
    assert_eq!(Fake::run(kind, Time::NEVER), sent);
}

/// The rest of the time between packets passes in the next sending period, or in several where periods are shorter than that time.
#[test]
fn pauses_interrupt_the_time_between_datagrams() {
    let sent = |on, off, stop| {
        let kind = WorkloadKind::Udp {
            pairs: pairs([(1, 0)]),
            datagram: Datagram { wire: 1_250, payload: 1_208, class: 0, ect: false },
            rate: Rate(1_000_000_000),
            packet_jitter: Time::ZERO,
            periods: Some((TimeDist::Const(Time::from_us(on)), TimeDist::Const(Time::from_us(off)))),
            start: Time::ZERO,
            jitter: Time::ZERO,
            stop: Some(Time::from_us(stop)),
        };
        Fake::run(kind, Time::NEVER)
    };
    let at = |times: &[&str]| times.iter().map(|t| format!("{t} datagram 1>0#0")).collect::<Vec<_>>();
    assert_eq!(sent(25, 75, 215), at(&["0ps", "10us", "20us", "105us", "115us", "200us", "210us"]));
    assert_eq!(sent(4, 6, 80), at(&["0ps", "22us", "50us", "72us"]));
}

#[test]
fn poisson_arrivals_depend_only_on_seed() {
    let kind = WorkloadKind::Poisson {
        from: nodes([1, 2]),
        to: nodes([0]),
        sizes: SizeDist::Uniform(1, 9_000),
        flows_per_sec: 100_000.0,
        start: Time::ZERO,
        stop: None,
        flows: Some(50),
        per_source: None,
        racks: None,
        sigma: None,
        matrix: None,
        persistent: false,
        deadline: None,
        warm: None,
    };
    let script = Fake::run(kind.clone(), Time::NEVER);
    assert_eq!(script.len(), 100, "fifty flows, opened and written");
    assert_eq!(script, Fake::run(kind, Time::NEVER));
    // Fifty gaps of 10 us on average: the sum of exponential times has a standard deviation of 71 us.
    let last: Time = script[99].split(' ').next().unwrap_or_default().parse().expect("a time");
    assert!((Time::from_us(250)..Time::from_us(750)).contains(&last), "{last}");
}

/// Latency of the fake network is 10 us each way: a flow takes the connection that became free last, and opens one where none is free.
#[test]
fn persistent_connections_are_reused_when_free() {
    let kind = |persistent| WorkloadKind::Poisson {
        from: nodes([1]),
        to: nodes([0]),
        sizes: SizeDist::Const(1_000),
        flows_per_sec: 20_000.0,
        start: Time::ZERO,
        stop: None,
        flows: Some(40),
        per_source: None,
        racks: None,
        sigma: None,
        matrix: None,
        persistent,
        deadline: None,
        warm: None,
    };
    let (own, shared) = (Fake::run(kind(false), Time::NEVER), Fake::run(kind(true), Time::NEVER));
    let lines = |script: &[String], word: &str| script.iter().filter(|l| l.contains(word)).cloned().collect::<Vec<_>>();
    assert_eq!((lines(&own, " open ").len(), lines(&own, " write ").len()), (40, 40));
    let opened = lines(&shared, " open ").len();
    assert!((2..20).contains(&opened), "{shared:#?}");
    // The same flows at the same times. No connection has a second message within the latency of the ACK.
    let written = lines(&shared, " write ");
    let time = |line: &String| line.split(' ').next().and_then(|t| t.parse::<Time>().ok()).expect("a time");
    assert_eq!(written.iter().map(time).collect::<Vec<_>>(), lines(&own, " write ").iter().map(time).collect::<Vec<_>>());
    for conn in 0..opened {
        let name = format!(" 1>0#{conn} ");
        let times: Vec<Time> = written.iter().filter(|l| l.contains(&name)).map(time).collect();
        assert!(times.windows(2).all(|w| w[1] - w[0] >= LATENCY + LATENCY), "{name} {times:?}");
    }
}

/// The client opens the connection, whose other direction has been requested before.
#[test]
fn two_way_requests_share_connections() {
    let incast = WorkloadKind::Incast {
        senders: nodes([1, 2]),
        receiver: NodeId::new(0),
        block: 1_000,
        rounds: Some(1),
        start: Time::ZERO,
        gap: Time::ZERO,
        request: Request::Packets { bytes: 40, two_way: true },
        jitter: Time::ZERO,
        deadline: None,
    };
    let requests = WorkloadKind::Requests {
        pairs: pairs([(1, 0)]),
        request: SizeDist::Const(100),
        response: SizeDist::Const(9_000),
        think: TimeDist::Const(Time::ZERO),
        count: Some(1),
        start: Time::ZERO,
        deadline: None,
        two_way: true,
    };
    for (kind, opens) in [
        (
            incast,
            vec![
                "0ps open 1>0#0",
                "0ps open 2>0#1",
                "0ps open 0>1#2 on the connection of 1>0#0",
                "0ps open 0>2#3 on the connection of 2>0#1",
            ],
        ),
        (requests, vec!["0ps open 0>1#0", "0ps open 1>0#1 on the connection of 0>1#0"]),
    ] {
        let script = Fake::run(kind, Time::NEVER);
        assert_eq!(script.iter().filter(|l| l.contains("open")).collect::<Vec<_>>(), opens);
    }
}
