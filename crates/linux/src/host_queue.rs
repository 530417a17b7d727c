//! Queue disciplines at the interfaces of hosts: the kernel's own, unmodified, with the scenario's parameters.

use crate::protocol::{self, OPTIONS, number, text};
use forebay_queues::{FifoDiscipline, Queue, RawParams};
use forebay_types::Time;

/// Queues that `host-queue` may name.
pub(crate) const LEGAL: &str = "fq-codel, fq, drop-tail";

/// Attributes of `TCA_OPTIONS` (`linux/pkt_sched.h`).
mod tca {
    pub(super) const FQ_CODEL_TARGET: u32 = 1;
    pub(super) const FQ_CODEL_LIMIT: u32 = 2;
    pub(super) const FQ_CODEL_INTERVAL: u32 = 3;
    pub(super) const FQ_CODEL_ECN: u32 = 4;
    pub(super) const FQ_CODEL_FLOWS: u32 = 5;
    pub(super) const FQ_CODEL_QUANTUM: u32 = 6;
    pub(super) const FQ_CODEL_CE_THRESHOLD: u32 = 7;
    pub(super) const FQ_CODEL_DROP_BATCH: u32 = 8;
    pub(super) const FQ_PLIMIT: u32 = 1;
    pub(super) const FQ_FLOW_PLIMIT: u32 = 2;
    pub(super) const FQ_QUANTUM: u32 = 3;
    pub(super) const FQ_INITIAL_QUANTUM: u32 = 4;
    pub(super) const FQ_TIMER_SLACK: u32 = 13;
}

/// Quantum of FQ-CoDel for an Ethernet device. The guest's packets have no Ethernet header, so that the kernel's own default is the same number of
/// packets.
const ETHERNET_QUANTUM: u64 = 1_514;

/// Sizes of a full packet at an interface.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FullPacket {
    /// In the guest: of IP.
    pub mtu: u32,
    /// In the scenario: on the wire, with the framing of the link.
    pub wire: u32,
}

impl FullPacket {
    /// The same number of full packets, in the guest's bytes.
    fn in_guest(self, bytes: u32) -> u32 {
        let scaled = u64::from(bytes) * u64::from(self.mtu) / u64::from(self.wire.max(1));
        u32::try_from(scaled).unwrap_or(u32::MAX)
    }
}

/// A queue discipline of the kernel and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostQueue {
    name: &'static str,
    options: Vec<(u32, u32)>,
}

impl HostQueue {
    /// The queue discipline for the queue of a host's port.
    ///
    /// A FIFO without limit is no queue of the kernel (noqueue): packets go to the link at once. Then the result is `Ok(None)`. An error is the name
    /// of a queue that the guest does not have.
    pub(crate) fn of(queue: &Queue) -> Result<Option<HostQueue>, String> {
        if *queue == Queue::Fifo(FifoDiscipline::default()) {
            return Ok(None);
        }
        let Some(RawParams { core, numbers }) = queue.raw_params() else { return Err("this queue".into()) };
        let options = match core {
            "fq-codel" => fq_codel(&numbers),
            "fq" => fq(&numbers),
            other => return Err(format!("`{other}`")),
        };
        Ok(Some(HostQueue { name: if core == "fq" { "fq" } else { "fq_codel" }, options }))
    }

    /// The record that gives it to `interface`, with byte queue limits or a transmit ring of one packet. Quanta are converted by `packet`.
    pub(crate) fn record(&self, interface: u32, byte_queue_limits: bool, packet: FullPacket) -> protocol::Qdisc {
        let quanta: &[u32] =
            if self.name == "fq" { &[tca::FQ_QUANTUM, tca::FQ_INITIAL_QUANTUM] } else { &[tca::FQ_CODEL_QUANTUM] };
        let (mut option, mut value) = ([0; OPTIONS], [0; OPTIONS]);
        for (i, pair) in self.options.iter().enumerate().take(OPTIONS) {
            (option[i], value[i]) = *pair;
            if quanta.contains(&pair.0) {
                value[i] = packet.in_guest(pair.1);
            }
        }
        let flags = if byte_queue_limits { number::QDISC_BQL } else { 0 };
        protocol::Qdisc { interface, flags, options: self.options.len() as u32, pad: 0, name: text(self.name), option, value }
    }
}

/// Options of `fq`, from limit, limit of a flow, quantum and initial quantum, in the order of `RawParams`; quanta of 0 are left to the kernel.
fn fq(numbers: &[u64]) -> Vec<(u32, u32)> {
    let number = |i: usize| numbers.get(i).map_or(0, |&n| u32::try_from(n).unwrap_or(u32::MAX));
    let all = [(tca::FQ_PLIMIT, 0), (tca::FQ_FLOW_PLIMIT, 1), (tca::FQ_QUANTUM, 2), (tca::FQ_INITIAL_QUANTUM, 3)];
    let mut options: Vec<_> = all.iter().map(|&(key, i)| (key, number(i))).filter(|o| o.1 > 0).collect();
    // A timer of the kernel may be late by 10 us where another interrupt of the host comes soon. All hosts of a guest share their interrupts.
    options.push((tca::FQ_TIMER_SLACK, 0));
    options
}

/// Options of `fq_codel`, from the numbers of the queue in the order of `RawParams`.
fn fq_codel(numbers: &[u64]) -> Vec<(u32, u32)> {
    let number = |i: usize| u32::try_from(numbers[i]).unwrap_or(u32::MAX);
    let us = |i: usize| u32::try_from(Time(numbers[i]).as_us()).unwrap_or(u32::MAX);
    let mut options = vec![
        (tca::FQ_CODEL_TARGET, us(0)),
        (tca::FQ_CODEL_INTERVAL, us(1)),
        (tca::FQ_CODEL_ECN, number(2)),
        (tca::FQ_CODEL_LIMIT, number(5)),
        (tca::FQ_CODEL_DROP_BATCH, number(7)),
        (tca::FQ_CODEL_FLOWS, number(8)),
    ];
    if numbers[3] != Time::NEVER.0 {
        options.push((tca::FQ_CODEL_CE_THRESHOLD, us(3)));
    }
    if numbers[6] != ETHERNET_QUANTUM {
        options.push((tca::FQ_CODEL_QUANTUM, number(6)));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_queues::DropTail;
    use forebay_types::Bytes;
    use forebay_types::param::{Value, Values};

    fn fq_codel(target: Time, quantum: u64, ce_threshold: Value) -> HostQueue {
        let values = Values(vec![
            ("target", Value::Time(target)),
            ("interval", Value::Time(Time::from_ms(100))),
            ("ecn", Value::Bool(true)),
            ("ce-threshold", ce_threshold),
            ("mtu", Value::Unset),
            ("flows", Value::Int(1_024)),
            ("quantum", Value::Bytes(Bytes(quantum))),
            ("limit", Value::Int(10_240)),
            ("drop-batch", Value::Int(64)),
        ]);
        let queue =
            (forebay_queues::find("fq-codel").unwrap().build)(&values, None).unwrap_or_else(|_| panic!("it can be built"));
        HostQueue::of(&queue).unwrap().unwrap()
    }

    /// The numbers are those of `tc qdisc add ... fq_codel limit 10240 flows 1024 target 5ms interval 100ms ecn drop_batch 64`.
    #[test]
    fn fq_codel_defaults_are_the_kernels() {
        let queue = fq_codel(Time::from_ms(5), 1_514, Value::Unset);
        assert_eq!(queue.name, "fq_codel");
        assert_eq!(queue.options, [(1, 5_000), (3, 100_000), (4, 1), (2, 10_240), (8, 64), (5, 1_024)]);
        let record = queue.record(7, true, FullPacket { mtu: 1_500, wire: 1_500 });
        assert_eq!((record.interface, record.flags, record.options), (7, number::QDISC_BQL, 6));
        assert_eq!((&record.name[..9], record.option[0], record.value[0]), (&b"fq_codel\0"[..], 1, 5_000));
    }

    #[test]
    fn optional_parameters_reach_the_kernel() {
        let queue = fq_codel(Time::from_us(50), 300, Value::Time(Time::from_us(120)));
        assert!(queue.options.starts_with(&[(1, 50)]), "{queue:?}");
        assert!(queue.options.ends_with(&[(7, 120), (6, 300)]), "{queue:?}");
    }

    /// Packets of the guest have 1500 B where those of the scenario have 1538 B on Ethernet.
    #[test]
    fn quantum_counts_full_packets() {
        let ethernet = FullPacket { mtu: 1_500, wire: 1_538 };
        let record = fq_codel(Time::from_ms(5), 1_538, Value::Unset).record(0, true, ethernet);
        let place = record.option.iter().position(|&o| o == tca::FQ_CODEL_QUANTUM).unwrap();
        assert_eq!(record.value[place], 1_500);
        let queue = HostQueue { name: "fq", options: fq(&[10_000, 100, 3_076, 15_380]) };
        assert_eq!(&queue.record(0, true, ethernet).value[..5], [10_000, 100, 3_000, 15_000, 0]);
    }

    #[test]
    fn unlimited_fifo_is_no_queue() {
        assert_eq!(HostQueue::of(&Queue::Fifo(FifoDiscipline::DropTail(DropTail))), Ok(None));
    }

    #[test]
    fn other_queues_are_refused_by_name() {
        let values = Values(vec![
            ("k", Value::QueueLen(forebay_types::QueueLen::Packets(20))),
            ("drop-non-ect-above-k", Value::Bool(false)),
        ]);
        let Ok(step) = (forebay_queues::find("dctcp-step").unwrap().build)(&values, None) else { panic!("it can be built") };
        assert_eq!(HostQueue::of(&step), Err("`dctcp-step`".into()));
    }
}
