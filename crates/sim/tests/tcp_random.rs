//! Whole connections over a pipe that loses, marks, delays and duplicates at random. The bytes must arrive in order and the connection must close;
//! the pipe checks counters and timers after each step.

use crate::scripted::pipe::{Fate, PASS, Pipe, PipePacket};
use crate::scripted::{US, combinations, config_with, shim_lists};
use forebay_types::param::Value;
use proptest::prelude::*;

/// Rates of the impairments, in 1/256.
#[derive(Debug, Clone)]
struct Impairments {
    lose_data: u8,
    lose_acks: u8,
    mark: u8,
    late: u8,
    twice: u8,
    /// Longest extra delay, us.
    most: u64,
    /// Packets after which the impairments end: a connection must finish.
    packets: usize,
    seed: u64,
}

fn impairments() -> impl Strategy<Value = Impairments> {
    let chance = || prop_oneof![3 => Just(0u8), 3 => 0..20u8, 2 => 20..128u8];
    (chance(), chance(), prop_oneof![Just(0u8), any::<u8>()], chance(), chance(), 1..400u64, 20..2000usize, any::<u64>())
        .prop_map(|(lose_data, lose_acks, mark, late, twice, most, packets, seed)| Impairments {
            lose_data,
            lose_acks,
            mark,
            late,
            twice,
            most,
            packets,
            seed,
        })
}

/// SplitMix64 of the packet's number: the fate of a packet does not depend on the others, so that cases shrink well.
fn dice(seed: u64, p: &PipePacket) -> u64 {
    let mut x = seed ^ (p.number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(p.data) << 63;
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn judge(w: Impairments) -> impl FnMut(&PipePacket) -> Fate {
    move |p| {
        if p.number >= w.packets {
            return PASS;
        }
        let roll = dice(w.seed, p).to_le_bytes();
        let lose = if p.data { w.lose_data } else { w.lose_acks };
        let late = if roll[3] < w.late { u64::from(roll[5]) * w.most * US / 256 } else { 0 };
        Fate { lost: roll[0] < lose, marked: roll[1] < w.mark, twice: roll[2] < w.twice, late, ..PASS }
    }
}

/// Found at random: of two segments so many packets are lost that an echo is hours old.
#[test]
fn echoes_of_hours_ago() {
    let w = Impairments {
        lose_data: 128,
        lose_acks: 128,
        mark: 64,
        late: 0,
        twice: 0,
        most: 1,
        packets: usize::MAX,
        seed: 8_048_172_091_343_151_751,
    };
    let c = config_with("linux", "reno", &[], &[]);
    let limit = 20_000 * c.rto_max.0;
    Pipe::new(c, judge(w)).transfer(1_570, limit);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_connection_ends(
        which in 0..combinations().len(),
        impairments in impairments(),
        size in prop_oneof![1..5000u64, 5000..200_000u64],
        isn in prop_oneof![Just(1u32), any::<u32>(), (0..100_000u32).prop_map(|d| u32::MAX - d)],
        ecn in 0..3usize,
        window in prop_oneof![3 => Just(0u64), 1 => 1000..30_000u64],
        ack_every in 1..4i64,
        shims in 0..shim_lists().len(),
    ) {
        let (stack, cc) = combinations()[which];
        let ecn = ["off", "classic", "dctcp"][ecn].to_owned();
        let mut c = config_with(stack, cc, &[("ecn", Value::Text(ecn)), ("ack-every", Value::Int(ack_every))], &[]);
        c.isn = Some(isn);
        c.shims = shim_lists().swap_remove(shims);
        if window > 0 {
            c.rcv_wnd = window;
        }
        // The timeout doubles up to its maximum at most once per packet.
        let limit = 20_000 * c.rto_max.0;
        Pipe::new(c, judge(impairments)).transfer(size, limit);
    }

    /// Options in all combinations, including those of no profile.
    #[test]
    fn every_combination_of_options_ends(
        which in 0..combinations().len(),
        impairments in impairments(),
        size in prop_oneof![1..5000u64, 5000..100_000u64],
        modes in (
            prop::sample::select(vec!["reno", "newreno", "sack", "rack"]),
            prop::sample::select(vec!["window", "flight", "cwnd"]),
            prop::sample::select(vec!["rfc6298", "linux"]),
            prop::sample::select(vec!["per-ack", "rfc5681", "abc", "unlimited"]),
            prop::sample::select(vec!["off", "classic", "dctcp"]),
            prop::sample::select(vec!["off", "rfc5681", "rtt", "linux"]),
        ),
        flags in prop::collection::vec(any::<bool>(), 12),
        mss in prop::sample::select(vec![64u32, 536, 999, 1000, 1461, 8960]),
        window in prop_oneof![2 => Just(0u64), 1 => 10_000..100_000u64],
        first in 1..30u32,
    ) {
        let (stack, cc) = combinations()[which];
        let follows = forebay_sim::cc::find(cc).is_some_and(|l| l.needs_sack);
        let recovery = if follows && modes.0.ends_with("reno") { "sack" } else { modes.0 };
        let rule = if cc == "pfabric" { "rfc6298" } else { modes.2 };
        let text = [("recovery", recovery), ("ssthresh-from", modes.1), ("rto-rule", rule), ("growth", modes.3), ("ecn", modes.4)];
        let mut set: Vec<_> = text.into_iter().map(|(k, v)| (k, Value::Text(v.to_owned()))).collect();
        set.push(("slow-start-after-idle", Value::Text(modes.5.to_owned())));
        let names = [
            "limited-transmit", "prr", "timestamps", "frto", "eifel", "cwr-on-retransmit", "ect-on-retransmit", "cwnd-validation", "handshake", "fin",
            "quickack", "rcv-autotune",
        ];
        set.extend(names.into_iter().zip(flags).map(|(k, v)| (k, Value::Bool(v))));
        let mut c = config_with(stack, cc, &set, &[]);
        (c.mss, c.init_cwnd) = (mss, first);
        if window > 0 {
            c.rcv_wnd = window;
        }
        let limit = 20_000 * c.rto_max.0;
        let fin = c.fin;
        let mut pipe = Pipe::new(c, judge(impairments));
        pipe.open();
        pipe.write(size, true);
        pipe.run(limit);
        prop_assert!(pipe.sender.all_acked() && pipe.receiver.delivered() == size, "{:?}", pipe.sender);
        prop_assert!(!fin || pipe.receiver.finished());
    }

    /// Every other packet of either direction is lost until the end.
    #[test]
    fn half_of_everything_lost(which in 0..combinations().len(), seed in any::<u64>(), size in 1..20_000u64, shims in 0..shim_lists().len()) {
        let (stack, cc) = combinations()[which];
        let mut c = config_with(stack, cc, &[], &[]);
        c.shims = shim_lists().swap_remove(shims);
        let w = Impairments { lose_data: 128, lose_acks: 128, mark: 64, late: 0, twice: 0, most: 1, packets: usize::MAX, seed };
        let limit = 20_000 * c.rto_max.0;
        Pipe::new(c, judge(w)).transfer(size, limit);
    }

    /// Messages on a persistent connection: each is delivered, regardless of the earlier ones.
    #[test]
    fn messages_follow_each_other(
        which in 0..combinations().len(),
        impairments in impairments(),
        sizes in prop::collection::vec(1..20_000u64, 1..12),
        pause in prop_oneof![Just(0u64), 1..2_000_000u64],
        shims in 0..shim_lists().len(),
    ) {
        let (stack, cc) = combinations()[which];
        let mut c = config_with(stack, cc, &[], &[]);
        c.shims = shim_lists().swap_remove(shims);
        let mut pipe = Pipe::new(c, judge(impairments));
        pipe.open();
        let (mut total, n) = (0, sizes.len());
        for (i, size) in sizes.into_iter().enumerate() {
            total += size;
            pipe.write(size, i + 1 == n);
            let pause = pipe.now + pause * US;
            pipe.run(pause);
        }
        pipe.run(u64::MAX);
        prop_assert!(pipe.receiver.finished() && pipe.receiver.delivered() == total && pipe.sender.all_acked());
    }
}
