//! Maps the stack of a scenario to a kernel: settings of its namespace, routes and sockets. Also lists settings
//! of the scenario that the kernel treats differently, and those that are refused because they would be another experiment.

use crate::congestion_controls::{cc, is_ours};
use crate::protocol::number::{GROUP_ECN, GROUP_FIN, GROUP_NODELAY};
use forebay_experiment::topology::Route;
use forebay_experiment::transport::{Ecn, Group, Idle, Metrics, Recovery, RtoRule, SlowStart, SsthreshFrom, Transport};
use forebay_experiment::world::Unsupported;
use forebay_kernel::congestion_controls::PARAMS;
use forebay_kernel::shims::{SHIM, shim};
use forebay_kernel::tags::{TAGS, tag};
use forebay_types::Time;

/// Bytes of the headers that the kernel counts in an interface's MTU: IPv4 and TCP without options.
const IP_AND_TCP: u32 = 40;
/// Length of the timestamps option with its padding (RFC 7323 section 3.2).
const TIMESTAMPS: u32 = 12;
/// IPv4 and UDP.
const IP_AND_UDP: u32 = 28;
/// A tick of the kernel's clock (HZ is 1000): retransmission timeouts are whole ticks.
const TICK: Time = Time::from_ms(1);
/// `TCP_TIMEOUT_INIT`.
const RTO_INITIAL: Time = Time::from_secs(1);
/// Longest text of a setting's name and value.
type Setting = (&'static str, String);

/// The settings of a namespace and its interface. Transports with equal ones share namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Initial window of its routes, segments.
    pub init_cwnd: u32,
    /// Smallest retransmission timeout of its routes, ms.
    pub rto_min_ms: u32,
    /// Its routes have the `quickack` metric.
    pub quickack: bool,
    /// MTU of the interface.
    pub mtu: u32,
    /// Longest packet that the interface cuts into segments, bytes; 0: it cuts none.
    pub burst: u32,
    /// Below `/proc/sys`.
    pub sysctls: Vec<Setting>,
}

/// Settings of the sockets of a transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sockets {
    /// Congestion control; empty for datagrams.
    pub cc: &'static str,
    /// Its parameters, if it is our congestion control.
    pub param: [u64; PARAMS],
    /// Classifier of their packets, with its numbers.
    pub tag: [u64; TAGS],
    /// Shim between TCP and the interfaces, with its numbers.
    pub shim: [u64; SHIM],
    /// `FB_GROUP_*`.
    pub flags: u32,
    /// `SO_RCVBUF`; 0 for a buffer that the kernel tunes.
    pub rcvbuf: u64,
    /// `SO_SNDBUF`; 0 for a buffer that the kernel tunes.
    pub sndbuf: u64,
    /// `SO_MAX_PACING_RATE`, bytes per second; 0 without a limit.
    pub max_pacing_rate: u64,
}

/// The settings of namespaces for a TCP transport.
pub(crate) fn settings(t: &Transport) -> Settings {
    let sack = matches!(t.recovery, Recovery::Sack | Recovery::Rack);
    let rack = t.recovery == Recovery::Rack;
    let on = |b: bool| u32::from(b).to_string();
    let mut sysctls: Vec<Setting> = vec![
        ("net/ipv4/tcp_sack", on(sack)),
        ("net/ipv4/tcp_dsack", on(sack)),
        // TCP_RACK_LOSS_DETECTION alone; without it recovery counts duplicate ACKs.
        ("net/ipv4/tcp_recovery", on(rack)),
        // 3: tail loss probes.
        ("net/ipv4/tcp_early_retrans", if rack { "3" } else { "0" }.into()),
        ("net/ipv4/tcp_frto", if t.frto { "2" } else { "0" }.into()),
        ("net/ipv4/tcp_timestamps", on(t.timestamps)),
        ("net/ipv4/tcp_window_scaling", "1".into()),
        ("net/ipv4/tcp_slow_start_after_idle", on(t.idle != Idle::Keep)),
        ("net/ipv4/tcp_no_metrics_save", on(t.metrics == Metrics::Off)),
        ("net/ipv4/tcp_no_ssthresh_metrics_save", on(t.metrics != Metrics::All)),
        // A congestion control that needs ECN asks for it by itself, at both ends.
        ("net/ipv4/tcp_ecn", on(t.ecn == Ecn::Classic)),
        ("net/ipv4/tcp_reordering", t.dup_thresh.to_string()),
        ("net/ipv4/tcp_moderate_rcvbuf", on(t.rcv_autotune)),
        // The first is the least; the second what a connection begins with; half of the third is the largest window (tcp_win_from_space).
        ("net/ipv4/tcp_rmem", format!("4096 131072 {}", t.rmem_max.unwrap_or(2 * t.rcv_wnd).clamp(131_072, i32::MAX as u64))),
        // The default is the kernel's on a machine with memory enough, so that the guest's memory changes nothing.
        ("net/ipv4/tcp_wmem", format!("4096 16384 {}", t.wmem_max.unwrap_or(4 << 20).clamp(16_384, i32::MAX as u64))),
        // ACKs that are held back leave when their time is over, not with whatever else happens in the guest within 0.1 ms of that.
        ("net/ipv4/tcp_comp_sack_slack_ns", "0".into()),
    ];
    if t.txrehash {
        sysctls.push(("net/core/txrehash", on(true)));
    }
    if let Some(plb) = &t.plb {
        sysctls.push(("net/ipv4/tcp_plb_enabled", on(true)));
        sysctls.extend([
            ("net/ipv4/tcp_plb_idle_rehash_rounds", plb.idle_rehash_rounds.to_string()),
            ("net/ipv4/tcp_plb_rehash_rounds", plb.rehash_rounds.to_string()),
            ("net/ipv4/tcp_plb_suspend_rto_sec", plb.suspend_rto_sec.to_string()),
            ("net/ipv4/tcp_plb_cong_thresh", plb.cong_thresh.to_string()),
        ]);
    }
    sysctls.extend(common());
    Settings {
        init_cwnd: t.init_cwnd,
        rto_min_ms: u32::try_from(t.rto_min.as_ms()).unwrap_or(u32::MAX),
        quickack: t.ack_every == 1,
        mtu: t.mss + IP_AND_TCP + if t.timestamps { TIMESTAMPS } else { 0 },
        burst: t.tso.unwrap_or(0),
        sysctls,
    }
}

/// The settings of namespaces for datagrams of at most `payload` bytes.
pub(crate) fn datagram_settings(payload: u32) -> Settings {
    let mtu = (payload + IP_AND_UDP).max(576);
    Settings { init_cwnd: 0, rto_min_ms: 0, quickack: false, mtu, burst: 0, sysctls: common().into() }
}

/// Settings of every namespace.
fn common() -> [Setting; 6] {
    [
        // The number of a connection is the mark of its packets, in both directions.
        ("net/ipv4/fwmark_reflect", "1".into()),
        ("net/ipv4/tcp_fwmark_accept", "1".into()),
        // Connections that open together are not taken for an attack.
        ("net/ipv4/tcp_syncookies", "0".into()),
        ("net/ipv4/tcp_max_syn_backlog", "65536".into()),
        // A connection is not given up while the run lasts.
        ("net/ipv4/tcp_retries2", "255".into()),
        ("net/ipv4/tcp_syn_retries", "127".into()),
    ]
}

/// Settings of the sockets of a TCP transport; its congestion control is one of the guest's. `route` is that of any of its connections.
pub(crate) fn sockets(t: &Transport, route: Option<&Route>) -> Sockets {
    let (cc, param) = cc(t, route).unwrap_or(("", [0; PARAMS]));
    Sockets {
        cc,
        param,
        tag: tag(&t.shims).unwrap_or([0; TAGS]),
        shim: shim(t).unwrap_or([0; SHIM]),
        flags: if t.ecn == Ecn::Off { 0 } else { GROUP_ECN }
            | if t.fin { GROUP_FIN } else { 0 }
            | if t.nagle { 0 } else { GROUP_NODELAY },
        // The kernel doubles it, and gives half of that to the window at first.
        rcvbuf: t.rcv_buf.unwrap_or(if t.rcv_autotune { 0 } else { t.rcv_wnd }),
        sndbuf: t.snd_buf.unwrap_or(0),
        max_pacing_rate: t.max_pacing_rate.map_or(0, |r| r.0 / 8),
    }
}

/// Transport settings that no kernel supports, if the kernel's behavior would be another experiment.
pub(crate) fn refused(group: &Group) -> Vec<Unsupported> {
    let t = &group.tcp;
    let mut all = Vec::new();
    let mut refuse = |key: &'static str, holds: bool, reason: String| {
        if holds {
            all.push(Unsupported { key, reason });
        }
    };
    if let Err(why) = cc(t, None) {
        refuse("transport.cc", true, why);
    }
    for why in [tag(&t.shims).err(), shim(t).err()].into_iter().flatten() {
        refuse("transport.shim", true, why);
    }
    let dctcp = matches!(t.cc.name, "dctcp" | "l2dct" | "d2tcp");
    refuse("transport.handshake", !t.handshake, "the kernel opens every connection with a handshake; legal: true".into());
    refuse("transport.isn", t.isn.is_some(), "the kernel draws initial sequence numbers; leave it out".into());
    refuse(
        "transport.recovery",
        t.recovery == Recovery::Reno,
        "Linux without SACK recovers on partial ACKs (tcp_newreno_mark_lost); legal: newreno, sack, rack".into(),
    );
    refuse("transport.dup-thresh", !(1..=127).contains(&t.dup_thresh), "legal: 1 to 127 (tcp_reordering)".into());
    refuse(
        "transport.limited-transmit",
        !t.limited_transmit,
        "Linux always does limited transmit (RFC 3042); legal: true".into(),
    );
    refuse("transport.probe-after", t.probe_after > 0, "Linux retransmits at every timeout; legal: 0".into());
    refuse("transport.rto-rule", t.rto_rule == RtoRule::Fixed, "Linux measures its timeout; legal: rfc6298, linux".into());
    let whole = t.rto_min >= TICK && t.rto_min.0.is_multiple_of(TICK.0) && t.rto_min <= Time::from_secs(120);
    refuse("transport.rto-min", !whole, "timeouts are whole ticks of 1 ms; legal: 1ms to 120s".into());
    refuse("transport.rto-initial", t.rto_initial != RTO_INITIAL, "legal: 1s (TCP_TIMEOUT_INIT)".into());
    refuse("transport.ack-every", t.ack_every > 2, "Linux acknowledges every segment or delays ACKs; legal: 1, 2".into());
    refuse("transport.mss", t.mss < 88, "legal: 88 to 65000 (TCP_MIN_MSS)".into());
    let no_accurate = "this kernel has no Accurate ECN (RFC 9768), only the receiver's echo of marks; legal: off, classic";
    refuse("transport.ecn", t.ecn.is_accurate(), no_accurate.into());
    let ecn_differs = !t.ecn.is_accurate() && (t.ecn == Ecn::Dctcp) != dctcp;
    refuse(
        "transport.ecn",
        ecn_differs,
        "in Linux the exact echo of marks and the congestion control `dctcp` go together; leave it out".into(),
    );
    refuse("transport.ecn-echo", t.latched_echo, "Linux echoes each mark as it is with `dctcp`; legal: exact".into());
    let own_start = match t.slow_start {
        SlowStart::Standard => false,
        SlowStart::Hystart => t.cc.name != "cubic",
        SlowStart::HystartPlusPlus => true,
    };
    refuse("transport.slow-start", own_start, "Linux has HyStart, with cubic; legal: standard, with cubic hystart".into());
    all
}

/// Differences between the kernel and the transport's settings, one line each.
pub(crate) fn differences(group: &Group) -> Vec<String> {
    let t = &group.tcp;
    let mut all = Vec::new();
    let mut say = |differs: bool, text: &str| {
        if differs {
            all.push(format!("`{}`: {text}", group.name));
        }
    };
    say(t.ssthresh_from != SsthreshFrom::Cwnd, "`ssthresh-from`: Linux reduces its window, once per episode");
    say(!t.prr, "`prr`: Linux reduces in proportion to what arrives (RFC 6937), with SACK and without");
    say(t.rto_rule != RtoRule::Linux, "`rto-rule`: Linux takes SRTT + max(minimum, 4 RTTVAR)");
    say(t.rto_max != Time::from_secs(120), "`rto-max`: 120 s in Linux (TCP_RTO_MAX)");
    say(t.rto_granularity != TICK, "`rto-granularity`: 1 ms in Linux (HZ is 1000)");
    say(
        t.cwr_on_retransmit || t.ect_on_retransmit,
        "`cwr-on-retransmit`, `ect-on-retransmit`: Linux sets CWR and ECT on new data only (RFC 3168)",
    );
    let linux_growth = t.growth == forebay_experiment::transport::Growth::PerSegment { limit: u32::MAX };
    say(!linux_growth, "`growth`: Linux grows by the segments that an ACK acknowledges, of whatever size and number");
    say(
        matches!(t.idle, Idle::Restart | Idle::RestartAfterRtt),
        "`slow-start-after-idle`: Linux halves the window for every idle timeout",
    );
    say(!t.cwnd_validation && !is_ours(t), "`cwnd-validation`: Linux does not grow a window that the application does not use");
    say(!t.tsq, "`tsq`: Linux limits what a connection has waiting in its host's interface");
    say(
        t.ack_every == 2 && !t.quickack,
        "`ack-delay`, `quickack-count`: Linux delays ACKs by 40 ms at least, and not at the start",
    );
    say(
        !t.rcv_autotune,
        "`rcv-wnd`: fixed as by SO_RCVBUF; Linux opens it from 64 KB on as segments come, up to what it reckons the buffer can hold",
    );
    say(t.timestamps && !t.eifel, "`eifel`: Linux takes reductions back by timestamps where it has them");
    let prin = t.shims.iter().find(|s| s.name == "prin" && s.values.bool("priority"));
    say(
        prin.is_some_and(|s| s.values.bool("split-short")),
        "`split-short` of `prin`: Linux cuts messages into full segments, and may put the next message into the last one",
    );
    say(t.cc.name == "cubic" && t.slow_start == SlowStart::Standard, "`slow-start`: cubic in Linux leaves slow start by HyStart");
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_experiment::profile::{PARAMS, defaults};
    use forebay_experiment::transport::{Chosen, Profile};
    use forebay_types::param::Values;

    fn group(profile: Profile, cc: &'static str) -> Group {
        let tcp = Transport { stack: defaults(profile), cc: Chosen { name: cc, values: Values(Vec::new()) }, shims: Vec::new() };
        Group { name: "t".into(), tcp }
    }

    #[test]
    fn all_profiles_run() {
        for profile in [Profile::Ns2, Profile::Linux, Profile::Rfc] {
            assert_eq!(refused(&group(profile, "newreno")), [], "{profile:?}");
        }
        assert_eq!(differences(&group(Profile::Linux, "newreno")), [] as [String; 0]);
        assert!(differences(&group(Profile::Ns2, "newreno")).iter().any(|l| l.contains("`prr`")));
    }

    /// Sizes of buffers are options of sockets, their limits settings of the namespace.
    #[test]
    fn buffer_sizes_reach_the_kernel() {
        let mut g = group(Profile::Linux, "newreno");
        let sysctl = |g: &Group, name| settings(&g.tcp).sysctls.into_iter().find(|s| s.0 == name).map(|s| s.1).unwrap();
        assert_eq!(sysctl(&g, "net/ipv4/tcp_wmem"), "4096 16384 4194304");
        assert_eq!(sysctl(&g, "net/ipv4/tcp_rmem"), "4096 131072 6291456");
        assert_eq!((sockets(&g.tcp, None).sndbuf, sockets(&g.tcp, None).rcvbuf), (0, 0));
        (g.tcp.wmem_max, g.tcp.rmem_max, g.tcp.snd_buf, g.tcp.rcv_buf) =
            (Some(1 << 20), Some(2 << 20), Some(50_000), Some(60_000));
        assert_eq!(sysctl(&g, "net/ipv4/tcp_wmem"), "4096 16384 1048576");
        assert_eq!(sysctl(&g, "net/ipv4/tcp_rmem"), "4096 131072 2097152");
        assert_eq!((sockets(&g.tcp, None).sndbuf, sockets(&g.tcp, None).rcvbuf), (50_000, 60_000));
    }

    #[test]
    fn refusals_name_a_transport_key() {
        let mut g = group(Profile::Ns2, "pfabric");
        let t = &mut g.tcp;
        (t.handshake, t.isn, t.dup_thresh, t.probe_after, t.rto_rule) = (false, Some(1), 0, 5, RtoRule::Fixed);
        (t.rto_min, t.ack_every, t.ecn, t.latched_echo) = (Time::from_us(250), 4, Ecn::Dctcp, true);
        (t.slow_start, t.limited_transmit, t.recovery, t.rto_initial) =
            (SlowStart::Hystart, false, Recovery::Reno, Time::from_secs(3));
        let all = refused(&g);
        assert_eq!(all.len(), 14, "{all:#?}");
        for u in all {
            let key = u.key.strip_prefix("transport.").unwrap();
            assert!(key == "cc" || PARAMS.iter().any(|p| p.key == key), "{key}");
        }
    }

    #[test]
    fn interface_mtu_fits_a_full_segment() {
        let (ns2, linux) = (settings(&group(Profile::Ns2, "reno").tcp), settings(&group(Profile::Linux, "reno").tcp));
        assert_eq!((ns2.mtu, linux.mtu), (1500, 1500));
        let value = |s: &Settings, key: &str| s.sysctls.iter().find(|k| k.0.ends_with(key)).unwrap().1.clone();
        assert_eq!((value(&ns2, "tcp_sack"), value(&linux, "tcp_sack")), ("0".into(), "1".into()));
        // The largest window of the profile, 3 MiB, is half of the buffer of 6 MiB that the kernel allows.
        assert_eq!(value(&linux, "tcp_rmem"), "4096 131072 6291456");
        assert_eq!((ns2.quickack, linux.quickack, ns2.init_cwnd, linux.rto_min_ms), (true, false, 2, 200));
    }

    #[test]
    fn names_and_values_fit_records() {
        for s in [settings(&group(Profile::Linux, "dctcp").tcp), datagram_settings(1_000)] {
            assert!(s.sysctls.iter().all(|(key, value)| key.len() < 60 && value.len() < 64));
        }
    }
}
