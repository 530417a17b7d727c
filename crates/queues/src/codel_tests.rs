//! CoDel: start and end of dropping (RFC 8289).

use super::*;
use crate::testing::{Effect, Port, packet};
use crate::{Codepoint, Handle, QueueState};

const MS: u64 = 1_000_000_000;

fn params(ecn: bool) -> Params {
    Params { target: Time(5 * MS), interval: Time(100 * MS), ecn, ce_threshold: Time::NEVER, mtu: Some(1500) }
}

fn codel(ecn: bool) -> Codel {
    Codel { params: params(ecn), control: CodelControl::default(), backlog: Backlog::default() }
}

fn port(codel: Codel) -> Port {
    Port::new(BufferedDiscipline::Codel(codel), QueueState::UNLIMITED)
}

/// A flow that never slows down: a packet of 100 us every 80 us. When packets are dropped or marked, ms.
fn signals_under_overload(ecn: bool, until: u64) -> Vec<f64> {
    let mut p = port(codel(ecn));
    let mut signals = Vec::new();
    p.run_at_overload(Time(MS / 10), Time(8 * MS / 100), Time(until * MS), |now, effects| {
        signals.extend(effects.iter().map(|_| now.0 as f64 / MS as f64));
    });
    signals
}

/// The waiting time of packet n is n * 20 us: 5 ms at 25 ms, and the first drop an interval later. Further ones are due after
/// 100 ms / sqrt(n) each, and happen at the next start of a transmission, every 100 us.
#[test]
fn drops_follow_the_control_law() {
    let got = signals_under_overload(false, 3_000);
    let mut due = 125.0;
    for (i, &t) in got.iter().enumerate() {
        let expected = (due * 10.0_f64).round();
        let start = if (due * 10.0 - expected).abs() < 1e-9 { expected } else { (due * 10.0).ceil() } / 10.0;
        assert!((t - start).abs() < 1e-6, "drop {i} at {t} ms, due at {due} ms");
        due += 100.0 / ((i + 1) as f64).sqrt();
    }
    // The sum of 100 / sqrt(k) up to n is near 200 sqrt(n) - 146, and 2875 ms are left: n = 228.
    assert!((227..=229).contains(&got.len()), "{}", got.len());
}

#[test]
fn marks_keep_the_times_of_drops() {
    let (drops, marks) = (signals_under_overload(false, 1_000), signals_under_overload(true, 1_000));
    // A marked packet stays in the queue, but while the sojourn time is above the target only the control law's clock matters.
    assert_eq!(drops, marks);
}

#[test]
fn non_ect_packets_are_dropped() {
    let mut p = port(codel(true));
    let mut kinds = [0, 0];
    p.ecn = |n| if n % 2 == 0 { Codepoint::Ect1 } else { Codepoint::NotEct };
    p.run_at_overload(Time(MS / 10), Time(8 * MS / 100), Time(3_000 * MS), |_, effects| {
        for e in effects {
            kinds[usize::from(matches!(e, Effect::Drop(_, DropReason::Early)))] += 1;
        }
    });
    assert!(kinds[0] > 50 && kinds[1] > 50, "{kinds:?}");
}

/// Two packets that wait since the start of time, or none.
struct Old(u32);

impl Packets for Old {
    fn take(&mut self) -> Option<Queued> {
        self.0 = self.0.checked_sub(1)?;
        Some(Queued { handle: Handle(self.0), since: Time(0), packet: packet(1500, 0, 0, 0) })
    }
    fn bytes(&self) -> u64 {
        3_000
    }
}

/// RFC 8289 section 5.5: back above the target within 16 intervals of the last due drop, dropping resumes at the count that it had added.
#[test]
fn count_resumes_after_a_short_pause() {
    let enter = |count, last_count, ago: u64| {
        let now = Time(10_000 * MS);
        let drop_next = Time(now.0 - ago * MS);
        let mut control = CodelControl { first_above: Some(now), dropping: false, drop_next, count, last_count };
        let mut effects = Vec::new();
        assert!(control.pop(&params(false), now, &mut Old(2), &mut effects).is_some());
        assert_eq!(effects, [Effect::Drop(Handle(1), DropReason::Early)]);
        assert!(control.dropping && control.last_count == control.count);
        (control.count, (control.drop_next - now).0)
    };
    assert_eq!(enter(10, 4, 1_599), (6, 40_824_829_046));
    assert_eq!(enter(10, 4, 1_600), (1, 100 * MS), "16 intervals are too long");
    assert_eq!(enter(10, 9, 100), (1, 100 * MS), "a single drop does not count");
    assert_eq!(enter(12, 10, 0), (2, 70_710_678_118));
}

#[test]
fn short_sojourn_or_queue_ends_dropping() {
    let mut p = port(codel(false));
    p.arrive(packet(1500, 0, 0, 0));
    p.arrive(packet(1500, 0, 0, 0));
    p.now = Time(5 * MS - 1);
    p.arrive(packet(1500, 0, 0, 0));
    let control = |p: &Port| if let BufferedDiscipline::Codel(c) = &p.discipline { c.control } else { unreachable!() };
    assert_eq!((p.serve(), control(&p).first_above), (Some(0), None), "below the target");
    p.now = Time(5 * MS);
    p.arrive(packet(1500, 0, 0, 0));
    assert_eq!((p.serve(), control(&p).first_above), (Some(1), Some(Time(105 * MS))));
    p.now = Time(105 * MS);
    assert_eq!((p.serve(), control(&p).first_above), (Some(2), None), "one full packet is left");
    assert_eq!((p.serve(), p.serve()), (Some(3), None));
}

#[test]
fn packets_above_ce_threshold_are_marked() {
    let mut c = codel(false);
    c.params.ce_threshold = Time(MS);
    let mut p = port(c);
    for _ in 0..3 {
        p.arrive(packet(1500, 0, 0, 0));
    }
    p.now = Time(MS);
    assert_eq!((p.serve(), p.effects.len()), (Some(0), 0));
    p.now = Time(MS + 1);
    assert_eq!((p.serve(), p.effects[..].to_vec()), (Some(1), vec![Effect::Mark(Handle(1))]));
}
