//! Queue disciplines at the interfaces of hosts: those of the kernel, unmodified, with the parameters of the scenario.

use crate::protocol::{self, OPTIONS, number, text};
use forebay_types::Time;
use forebay_types::param::{QueueValue, Values};

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

/// A queue discipline of the kernel and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostQueue {
    name: &'static str,
    options: Vec<(u32, u32)>,
}

impl HostQueue {
    /// The queue discipline for the queue of a host's port. `None` if the kernel has none (noqueue): packets go to the port at once, and its queue is
    /// that of the guest's network.
    pub(crate) fn of(value: Option<&QueueValue>) -> Option<HostQueue> {
        let QueueValue { kind, params } = value?;
        let (name, options) = match *kind {
            "fq-codel" => ("fq_codel", fq_codel(params)),
            "fq" => ("fq", fq(params)),
            _ => return None,
        };
        Some(HostQueue { name, options })
    }

    /// The record that gives it to `interface`, with byte queue limits or a transmit ring of one packet.
    pub(crate) fn record(&self, interface: u32, byte_queue_limits: bool) -> protocol::Qdisc {
        let (mut option, mut value) = ([0; OPTIONS], [0; OPTIONS]);
        for (i, pair) in self.options.iter().enumerate().take(OPTIONS) {
            (option[i], value[i]) = *pair;
        }
        let flags = if byte_queue_limits { number::QDISC_BQL } else { 0 };
        protocol::Qdisc { interface, flags, options: self.options.len() as u32, pad: 0, name: text(self.name), option, value }
    }
}

/// A number for the kernel.
fn int(v: &Values, key: &'static str) -> u32 {
    u32::try_from(v.int(key)).unwrap_or(u32::MAX)
}

/// A time for the kernel, in microseconds.
fn us(time: Time) -> u32 {
    u32::try_from(time.as_us()).unwrap_or(u32::MAX)
}

/// Options of `fq`; quanta that are not given are left to the kernel.
fn fq(v: &Values) -> Vec<(u32, u32)> {
    let mut options = vec![(tca::FQ_PLIMIT, int(v, "limit")), (tca::FQ_FLOW_PLIMIT, int(v, "flow-limit"))];
    for (option, key) in [(tca::FQ_QUANTUM, "quantum"), (tca::FQ_INITIAL_QUANTUM, "initial-quantum")] {
        options.extend(v.opt_bytes(key).map(|b| (option, u32::try_from(b.0).unwrap_or(u32::MAX))));
    }
    // A timer of the kernel may be late by 10 us where another interrupt of the host comes soon. All hosts of a guest share their interrupts.
    options.push((tca::FQ_TIMER_SLACK, 0));
    options
}

/// Options of `fq_codel`.
fn fq_codel(v: &Values) -> Vec<(u32, u32)> {
    let mut options = vec![
        (tca::FQ_CODEL_TARGET, us(v.time("target"))),
        (tca::FQ_CODEL_INTERVAL, us(v.time("interval"))),
        (tca::FQ_CODEL_ECN, u32::from(v.bool("ecn"))),
        (tca::FQ_CODEL_LIMIT, int(v, "limit")),
        (tca::FQ_CODEL_DROP_BATCH, int(v, "drop-batch")),
        (tca::FQ_CODEL_FLOWS, int(v, "flows")),
    ];
    options.extend(v.opt_time("ce-threshold").map(|t| (tca::FQ_CODEL_CE_THRESHOLD, us(t))));
    let quantum = v.opt_bytes("quantum").map_or(ETHERNET_QUANTUM, |b| b.0);
    if quantum != ETHERNET_QUANTUM {
        options.push((tca::FQ_CODEL_QUANTUM, u32::try_from(quantum).unwrap_or(u32::MAX)));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Bytes;
    use forebay_types::param::Value;

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
        HostQueue::of(Some(&QueueValue { kind: "fq-codel", params: values })).unwrap()
    }

    /// The numbers are those of `tc qdisc add ... fq_codel limit 10240 flows 1024 target 5ms interval 100ms ecn drop_batch 64`.
    #[test]
    fn fq_codel_defaults_are_the_kernels() {
        let queue = fq_codel(Time::from_ms(5), 1_514, Value::Unset);
        assert_eq!(queue.name, "fq_codel");
        assert_eq!(queue.options, [(1, 5_000), (3, 100_000), (4, 1), (2, 10_240), (8, 64), (5, 1_024)]);
        let record = queue.record(7, true);
        assert_eq!((record.interface, record.flags, record.options), (7, number::QDISC_BQL, 6));
        assert_eq!((&record.name[..9], record.option[0], record.value[0]), (&b"fq_codel\0"[..], 1, 5_000));
    }

    #[test]
    fn optional_parameters_reach_the_kernel() {
        let queue = fq_codel(Time::from_us(50), 300, Value::Time(Time::from_us(120)));
        assert!(queue.options.starts_with(&[(1, 50)]), "{queue:?}");
        assert!(queue.options.ends_with(&[(7, 120), (6, 300)]), "{queue:?}");
    }

    fn fq_values() -> Values {
        Values(vec![
            ("limit", Value::Int(10_000)),
            ("flow-limit", Value::Int(100)),
            ("quantum", Value::Bytes(Bytes(3_076))),
            ("initial-quantum", Value::Bytes(Bytes(15_380))),
        ])
    }

    #[test]
    fn quanta_reach_the_kernel() {
        let record = fq_codel(Time::from_ms(5), 1_500, Value::Unset).record(0, true);
        let place = record.option.iter().position(|&o| o == tca::FQ_CODEL_QUANTUM).unwrap();
        assert_eq!(record.value[place], 1_500);
        let queue = HostQueue { name: "fq", options: fq(&fq_values()) };
        assert_eq!(&queue.record(0, true).value[..5], [10_000, 100, 3_076, 15_380, 0]);
    }

    #[test]
    fn unlimited_fifo_is_no_queue() {
        assert_eq!(HostQueue::of(None), None);
    }

    #[test]
    fn other_queues_are_not_the_kernels() {
        let values = Values(vec![
            ("k", Value::QueueLen(forebay_types::QueueLen::Packets(20))),
            ("drop-non-ect-above-k", Value::Bool(false)),
        ]);
        assert_eq!(HostQueue::of(Some(&QueueValue { kind: "dctcp-step", params: values })), None);
    }
}
