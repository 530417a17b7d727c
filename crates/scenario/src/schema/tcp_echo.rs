//! Echo of a resolved TCP configuration in the keys of scenarios, with all defaults.

use forebay_experiment::kernel::Kernel;
use forebay_experiment::plb;
use forebay_experiment::transport::{Ecn, Growth, Idle, Metrics, RtoRule, Stack};
use forebay_types::{Bytes, Time};
use serde_json::{Map, Value as Json};

/// Writes every key of `profile::PARAMS`; `tso` only if on, `isn` only if fixed, sizes of buffers only if given or limited.
pub(crate) fn tcp_echo(c: &Stack, echo: &mut Map<String, Json>) {
    let rto_rule = match c.rto_rule {
        RtoRule::Rfc6298 => "rfc6298",
        RtoRule::Linux => "linux",
        RtoRule::Fixed => "fixed",
    };
    let ecn = match c.ecn {
        Ecn::Off => "off",
        Ecn::Classic => "classic",
        Ecn::Dctcp => "dctcp",
        Ecn::Accurate => "accurate",
        Ecn::L4s => "l4s",
    };
    let echo_mode = if c.latched_echo { "latched" } else { "exact" };
    let growth = match c.growth {
        Growth::PerAck => "per-ack",
        Growth::PerSegment { limit: 1 } => "rfc5681",
        Growth::PerSegment { limit: 2 } => "abc",
        Growth::PerSegment { .. } => "unlimited",
    };
    let idle = match c.idle {
        Idle::Keep => "off",
        Idle::Restart => "rfc5681",
        Idle::RestartAfterRtt => "rtt",
        Idle::Halve => "linux",
    };
    let metrics = match c.metrics {
        Metrics::Off => "off",
        Metrics::Rtt => "rtt",
        Metrics::All => "all",
    };
    let values: Vec<(&str, Json)> = vec![
        ("host", c.host.name().into()),
        ("mss", c.mss.into()),
        ("header", c.header.into()),
        ("ack-size", c.ack_size.into()),
        ("init-cwnd", c.init_cwnd.into()),
        ("rcv-wnd", Bytes(c.rcv_wnd).to_string().into()),
        ("rcv-autotune", c.rcv_autotune.into()),
        ("quickack", c.quickack.into()),
        ("ack-every", c.ack_every.into()),
        ("ack-delay", c.ack_delay.to_string().into()),
        ("quickack-count", c.quickack_count.into()),
        ("recovery", c.recovery.name().into()),
        ("limited-transmit", c.limited_transmit.into()),
        ("prr", c.prr.into()),
        ("dup-thresh", c.dup_thresh.into()),
        ("rto-rule", rto_rule.into()),
        ("rto-min", c.rto_min.to_string().into()),
        ("rto-max", c.rto_max.to_string().into()),
        ("rto-initial", c.rto_initial.to_string().into()),
        ("rto-granularity", c.rto_granularity.to_string().into()),
        ("probe-after", c.probe_after.into()),
        ("timestamps", c.timestamps.into()),
        ("timestamp-clock", c.timestamp_clock.to_string().into()),
        ("frto", c.frto.into()),
        ("eifel", c.eifel.into()),
        ("ecn", ecn.into()),
        ("ecn-echo", echo_mode.into()),
        ("growth", growth.into()),
        ("slow-start", c.slow_start.name().into()),
        ("slow-start-after-idle", idle.into()),
        ("cwnd-validation", c.cwnd_validation.into()),
        ("nagle", c.nagle.into()),
        ("tsq", c.tsq.into()),
        ("byte-queue-limits", c.byte_queue_limits.into()),
        ("tcp-metrics", metrics.into()),
        ("gro", c.gro.unwrap_or(Time::ZERO).to_string().into()),
        ("handshake", c.handshake.into()),
        ("fin", c.fin.into()),
        ("send-jitter", c.send_jitter.to_string().into()),
        ("host-phase", c.host_phase.to_string().into()),
        ("host-jitter", c.host_jitter.to_string().into()),
    ];
    if c.host_clock > 0 {
        echo.insert("host-clock".to_owned(), c.host_clock.into());
    }
    echo.extend(values.into_iter().map(|(k, v)| (k.to_owned(), v)));
    if let Some(tso) = c.tso {
        echo.insert("tso".into(), Bytes(tso.into()).to_string().into());
    }
    for (key, bytes) in [("snd-buf", c.snd_buf), ("snd-buf-max", c.wmem_max), ("rcv-buf", c.rcv_buf), ("rcv-buf-max", c.rmem_max)]
    {
        if let Some(bytes) = bytes {
            echo.insert(key.into(), Bytes(bytes).to_string().into());
        }
    }
    if c.kernel != Kernel::default() {
        echo.insert("kernel".into(), c.kernel.name().into());
    }
    if c.txrehash {
        echo.insert("txrehash".into(), true.into());
    }
    if let Some(plb) = c.plb {
        echo.insert(plb::ENABLED.into(), true.into());
        echo.extend(plb.settings().map(|(key, value)| (key.to_owned(), value.into())));
    }
    if let Some(rate) = c.max_pacing_rate {
        echo.insert("max-pacing-rate".into(), rate.to_string().into());
    }
    if let Some(isn) = c.isn {
        echo.insert("isn".into(), isn.into());
    }
}
