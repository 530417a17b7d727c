//! RED: its average, the gaps between signals and the three regions (Floyd and Jacobson 1993).

use super::*;
use crate::testing::busy;
use forebay_types::Time;

/// min 30, max 100, p-max 0.02, weight 0.002 at 1 Gb/s.
pub(crate) fn example() -> RedControl {
    let mut control = RedControl {
        min: 30.0,
        max: 100.0,
        bytes: false,
        p_max: 0.02,
        weight: 0.002,
        decay: 0.998,
        log_decay: log(0.998),
        gentle: false,
        drop_above: false,
        count_rule: Count::On,
        in_service: false,
        mean_packet: 1500,
        avg: 0.0,
        idle: Time::ZERO,
        counted: Time::ZERO,
        count: -1,
        service: 1.0,
        rng: Rng::stream(0, &[]),
    };
    control.start(Rate(1_000_000_000), Rng::stream(3, &[1]));
    control
}

fn queue(packets: u32) -> PortState {
    busy(QueueState { packets, bytes: u64::from(packets) * 1500 }, 250)
}

#[test]
fn average_after_idle() {
    let mut control = example();
    control.avg = 50.0;
    // 1.2 ms are 100 packets of 12 us: 0.998^100 = 0.8186.
    control.update(&PortState { now: Time(5_200_000_000), idle_since: Time(4_000_000_000), ..queue(0) });
    control.age();
    assert!((control.avg - 50.0 * 0.998f64.powi(100)).abs() < 1e-9 && (control.avg - 40.93).abs() < 0.005, "{}", control.avg);
    control.update(&PortState { now: Time(u64::MAX / 2), ..queue(0) });
    control.age();
    assert_eq!(control.avg, 0.0);
}

/// A drop leaves the port idle: at the next packet the average has aged for the whole idle time, and for its first part only once.
#[test]
fn idle_time_counts_once_after_drops() {
    let mut control = example();
    control.avg = 150.0;
    let at = |us| PortState { now: Time::from_us(us), idle_since: Time::ZERO, ..queue(0) };
    // 1.2 ms are 100 packets.
    for us in [1200, 1800, 2400] {
        control.update(&at(us));
        assert_eq!(control.decide(&at(us), Codepoint::NotEct), Verdict::Drop(DropReason::Early));
    }
    assert!((control.avg - 150.0 * 0.998f64.powi(200)).abs() < 1e-9, "{}", control.avg);
    // Packets that do not fit are dropped too.
    control.update(&at(3000));
    control.on_overflow(&at(3000));
    control.update(&at(3600));
    control.age();
    assert!((control.avg - 150.0 * 0.998f64.powi(300)).abs() < 1e-9, "{}", control.avg);
}

#[test]
fn average_while_busy() {
    let mut control = example();
    control.avg = 50.0;
    control.update(&queue(11));
    assert!((control.avg - (0.998 * 50.0 + 0.002 * 10.0)).abs() < 1e-12, "the packet in service is not counted: {}", control.avg);
    control.in_service = true;
    control.avg = 50.0;
    control.update(&queue(11));
    assert!((control.avg - (0.998 * 50.0 + 0.002 * 11.0)).abs() < 1e-12);
    // A busy port without waiting packets: a sample of zero, not idle time.
    control.in_service = false;
    control.avg = 50.0;
    control.update(&queue(1));
    assert!((control.avg - 49.9).abs() < 1e-12);
    control.bytes = true;
    control.avg = 50_000.0;
    control.update(&queue(11));
    assert!((control.avg - (0.998 * 50_000.0 + 0.002 * 15_000.0)).abs() < 1e-9);
}

#[test]
fn weight_one_is_the_instantaneous_queue() {
    let mut control = example();
    (control.weight, control.decay, control.log_decay) = (1.0, 0.0, log(0.0));
    control.update(&queue(41));
    assert_eq!(control.avg, 40.0);
    control.update(&PortState { now: Time(1), ..queue(0) });
    control.age();
    assert_eq!(control.avg, 0.0);
}

/// Gaps between signals at a constant average, whose probability is `p_b`.
fn gaps(control: &mut RedControl, n: usize) -> Vec<i64> {
    let (mut list, mut gap) = (Vec::new(), 0);
    while list.len() < n {
        gap += 1;
        if control.decide(&queue(11), Codepoint::Ect0) == Verdict::Mark {
            list.push(gap);
            gap = 0;
        }
    }
    list.remove(0);
    list
}

#[test]
fn gaps_are_uniform() {
    let mut control = example();
    control.avg = 65.0;
    // p_b = 0.01. The published pseudo-code counts the packet itself, so the longest gap is 1 / p_b - 1.
    let n = 99_001;
    let list = gaps(&mut control, n);
    let mut bins = [0u32; 99];
    list.iter().for_each(|&g| bins[g as usize - 1] += 1);
    let chi2: f64 = bins.iter().map(|&b| (f64::from(b) - 1000.0).powi(2) / 1000.0).sum();
    // 98 degrees of freedom: 150 has probability 0.0006.
    assert!(chi2 < 150.0, "{chi2}");
}

#[test]
fn gaps_without_count_are_geometric() {
    let mut control = example();
    control.avg = 65.0;
    control.count_rule = Count::Off;
    let list = gaps(&mut control, 50_000);
    let mean = list.iter().sum::<i64>() as f64 / list.len() as f64;
    assert!((mean - 100.0).abs() < 2.0, "{mean}");
    assert!(*list.iter().max().unwrap() > 500);
    control.count_rule = Count::Wait;
    let list = gaps(&mut control, 20_000);
    let (least, most) = (*list.iter().min().unwrap(), *list.iter().max().unwrap());
    assert!((100..=102).contains(&least) && (198..=200).contains(&most), "{least} {most}");
}

#[test]
fn the_three_regions() {
    let mut control = example();
    control.avg = 29.9;
    assert_eq!((control.decide(&queue(11), Codepoint::Ect0), control.count), (Verdict::Accept, -1));
    control.avg = 100.0;
    assert_eq!(control.decide(&queue(11), Codepoint::Ect0), Verdict::Mark);
    assert_eq!(control.decide(&queue(11), Codepoint::NotEct), Verdict::Drop(DropReason::Early));
    control.drop_above = true;
    assert_eq!(control.decide(&queue(11), Codepoint::Ect0), Verdict::Drop(DropReason::Early));
    control.gentle = true;
    control.count_rule = Count::Off;
    control.avg = 150.0;
    let marks = (0..100_000).filter(|_| control.decide(&queue(11), Codepoint::Ect0) == Verdict::Mark).count();
    assert!((marks as f64 / 1e5 - 0.51).abs() < 0.005, "{marks}");
    control.avg = 200.0;
    assert_eq!(control.decide(&queue(11), Codepoint::Ect0), Verdict::Drop(DropReason::Early));
}

#[test]
fn full_queue_updates_the_average() {
    let mut red = Red(example());
    red.0.avg = 65.0;
    red.0.count = 50;
    let packet = Arrival { wire: 1500, ecn: Codepoint::Ect0, ..Arrival::default() };
    assert_eq!(red.on_arrival(&queue(250), &packet), Verdict::Drop(DropReason::Overflow));
    assert!(red.0.avg > 65.3 && red.0.count == 0);
}
