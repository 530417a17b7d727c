//! Settings of a script, and the configuration of its endpoint: options of the script, parameters of the kernel.

use crate::script::Options;
use forebay_experiment::transport::Profile;
use forebay_experiment::transport::{Ecn, Idle, Recovery, Transport};
use forebay_sim::cc::{self, CcEntry};
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::profile::{PARAMS, PROFILES, resolve};
use forebay_types::param::{Kind, Param, Value, Values, nearest};
use std::ops::RangeInclusive;

/// Result of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Support {
    /// The endpoint follows it, or cannot differ.
    Yes,
    /// Missing feature of the simulator.
    No(String),
}

/// Settings for the endpoint of a script.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// `linux`, `rfc` or `ns2`.
    pub(crate) stack: String,
    /// Congestion control by the simulator's name.
    pub(crate) cc: String,
    /// Keys of `[transport]`, as in a scenario.
    transport: Vec<(String, String)>,
    /// SACK is offered and accepted.
    pub(crate) sack: bool,
    /// Timestamps are offered and accepted.
    pub(crate) timestamps: bool,
    /// Window scaling is offered and accepted.
    pub(crate) scaling: bool,
    /// ECN: 0 off, 1 requested and accepted, 2 accepted, 3 Accurate ECN requested and accepted (`tcp_ecn` of Linux since 6.18).
    pub(crate) ecn: u8,
    /// Explicit time-based recovery (`tcp_recovery`).
    rack: bool,
    idle_restart: Option<bool>,
    dup_thresh: Option<u32>,
    rcv_wnd: Option<u64>,
    /// MSS of the interface: its MTU without headers.
    pub(crate) mss: u16,
    /// Bound that the application has set with `TCP_MAXSEG`.
    user_mss: Option<u16>,
    /// The application has set `TCP_NODELAY`.
    pub(crate) nodelay: bool,
    /// Least MSS of a Linux sender, options included (`tcp_min_snd_mss`).
    min_snd_mss: u16,
    /// A tick of the timestamps, ns.
    pub(crate) tick: i64,
    /// Tolerance for the time of a packet, ns.
    pub(crate) tolerance: i64,
    /// Every packet that is sent must be in the script.
    pub(crate) strict: bool,
}

/// MSS to a peer that announces none (RFC 9293 section 3.7.1; `TCP_MSS_DEFAULT` of Linux).
const DEFAULT_MSS: u16 = 536;
/// Bytes of the timestamp option with its padding (`TCPOLEN_TSTAMP_ALIGNED` of Linux).
const TIMESTAMP_OPTION: u16 = 12;
/// Default and range of `tcp_min_snd_mss` (`TCP_MIN_SND_MSS`, include/net/tcp.h:71, and net/ipv4/sysctl_net_ipv4.c of Linux 6.12).
const MIN_SND_MSS: u16 = 48;
/// Values of `TCP_MAXSEG` (`TCP_MIN_MSS`, `MAX_TCP_WINDOW`).
const USER_MSS: RangeInclusive<i64> = 88..=32_767;
/// Least MTU of an IPv4 interface (`ETH_MIN_MTU`, RFC 791).
const MIN_MTU: i64 = 68;
/// Largest IPv4 packet.
const MAX_MTU: i64 = 65_535;
/// Bytes of IPv4 and TCP headers without options.
const HEADERS: i64 = 40;

/// Accurate ECN in `tcp_ecn`.
const ACCURATE: u8 = 3;
/// Default of packetdrill.
const TOLERANCE: i64 = 4_000_000;

impl Settings {
    /// Settings before those of the script: defaults of a Linux kernel, or of the RFCs.
    pub(crate) fn new(stack: &str) -> Settings {
        let linux = stack == "linux";
        let plain = resolve_with(stack, "newreno", &[])
            .unwrap_or_else(|_| unreachable!("the default congestion control of a known stack"));
        Settings {
            stack: stack.into(),
            cc: if linux { "cubic".into() } else { "newreno".into() },
            transport: Vec::new(),
            sack: matches!(plain.recovery, Recovery::Sack | Recovery::Rack),
            timestamps: plain.timestamps,
            scaling: true,
            ecn: if linux { 2 } else { 0 },
            rack: true,
            idle_restart: None,
            dup_thresh: None,
            rcv_wnd: None,
            mss: 1460,
            user_mss: None,
            nodelay: false,
            min_snd_mss: MIN_SND_MSS,
            tick: 1_000_000,
            tolerance: TOLERANCE,
            strict: false,
        }
    }

    /// An option line of the script. An error for an illegal one.
    pub(crate) fn option(&mut self, name: &str, value: &str) -> Result<Support, String> {
        let whole = |what: &str| value.parse::<i64>().map_err(|_| format!("--{name}={value}: expected {what}"));
        match name {
            "tolerance_usecs" | "tolerance" => self.tolerance = whole("microseconds")? * 1000,
            "tcp_ts_tick_usecs" => self.tick = whole("microseconds")?.max(1) * 1000,
            "mtu" => {
                let mtu = Some(whole("bytes")?).filter(|mtu| (MIN_MTU..=MAX_MTU).contains(mtu));
                let mtu = mtu.ok_or_else(|| format!("--mtu={value} is out of range; legal: {MIN_MTU} to {MAX_MTU} bytes"))?;
                self.mss = (mtu - HEADERS) as u16;
            }
            "strict" => self.strict = true,
            "stack" if PROFILES.contains(&value) => {
                let (tolerance, strict) = (self.tolerance, self.strict);
                *self = Settings { tolerance, strict, ..Settings::new(value) };
            }
            "stack" => return Err(format!("--stack={value}: expected one of {}", PROFILES.join(", "))),
            "set" => {
                let (key, text) = value.split_once('=').ok_or("--set: expected KEY=VALUE of [transport]")?;
                self.set(key.trim(), text.trim())?;
            }
            "ip_version" if value != "ipv6" => {}
            "ip_version" => return Ok(Support::No("IPv6".into())),
            "bind_port" | "local_ip" | "remote_ip" | "connect_port" | "gateway_ip" | "netmask_ip" | "verbose" | "dry_run" => {}
            _ => return Ok(Support::No(format!("the option --{name}"))),
        }
        Ok(Support::Yes)
    }

    /// A key of `[transport]`.
    fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        if key == "cc" {
            self.cc = text.into();
        } else {
            self.transport.push((key.into(), text.into()));
        }
        let c = resolve_with(&self.stack, &self.cc, &self.transport)?;
        match key {
            "recovery" => self.sack = matches!(c.recovery, Recovery::Sack | Recovery::Rack),
            "timestamps" => self.timestamps = c.timestamps,
            "mss" => self.mss = u16::try_from(c.mss).unwrap_or(u16::MAX),
            "ecn" | "cc" if c.ecn.is_accurate() => self.ecn = ACCURATE,
            "ecn" | "cc" => self.ecn = u8::from(c.ecn != Ecn::Off),
            _ => {}
        }
        Ok(())
    }

    /// The transport of the script, before its connection opens.
    pub(crate) fn transport(&self) -> Result<Transport, String> {
        transport_of(&self.stack, &self.cc, &self.transport)
    }

    /// The congestion control by a kernel's name.
    pub(crate) fn cc(&self) -> &'static str {
        cc::find(&self.cc).map_or("reno", |e| if e.entry.name == "newreno" { "reno" } else { e.entry.name })
    }

    /// Settings of the script beyond the transport, as parameters of a Linux kernel.
    pub(crate) fn parameters(&self) -> Vec<(String, String)> {
        let number = |name: &str, value: u8| (name.to_owned(), value.to_string());
        let mut all = vec![
            number("tcp_sack", self.sack.into()),
            number("tcp_timestamps", self.timestamps.into()),
            number("tcp_window_scaling", self.scaling.into()),
            number("tcp_ecn", self.ecn),
        ];
        if !self.rack {
            all.push(number("tcp_recovery", 0));
        }
        all
    }

    /// A parameter of the kernel.
    pub(crate) fn parameter(&mut self, name: &str, value: &str) -> Support {
        let missing = || Support::No(format!("{name}={value}"));
        let (mut bool_of, numbers) = (None, value.split_whitespace().filter_map(|w| w.parse::<u64>().ok()).collect::<Vec<_>>());
        let first = numbers.first().copied();
        if let Some(v) = first {
            bool_of = Some(v != 0);
        }
        match (name, first) {
            ("tcp_congestion_control", _) => match value {
                "reno" => self.cc = "newreno".into(),
                "cubic" | "dctcp" => self.cc = value.into(),
                _ => return missing(),
            },
            ("tcp_sack", Some(_)) => self.sack = bool_of == Some(true),
            ("tcp_timestamps", Some(_)) => self.timestamps = bool_of == Some(true),
            ("tcp_window_scaling", Some(_)) => self.scaling = bool_of == Some(true),
            ("tcp_ecn", Some(mode @ 0..=3)) => self.ecn = mode as u8,
            ("tcp_slow_start_after_idle", Some(_)) => self.idle_restart = bool_of,
            ("tcp_reordering", Some(n)) => self.dup_thresh = Some(n as u32),
            ("tcp_recovery", Some(mode @ 0..=1)) => self.rack = mode == 1,
            ("tcp_min_snd_mss", Some(mss @ 48..=65_535)) => self.min_snd_mss = mss as u16,
            ("tcp_rmem", Some(_)) if numbers.len() == 3 => self.rcv_wnd = Some(numbers[2]),
            // Same as the simulated stack.
            ("tcp_early_retrans", Some(3 | 4)) | ("tcp_dsack", Some(1)) | ("tcp_frto", Some(1 | 2)) => {}
            ("tcp_cubic.parameters.hystart_detect", Some(3)) | ("tcp_cubic.parameters.hystart", Some(1)) => {}
            ("tcp_mtu_probing", Some(0)) | ("tcp_notsent_lowat", Some(4_294_967_295)) => {}
            ("tcp_wmem", Some(_)) if numbers.get(1).is_some_and(|&b| b >= 200_000) => {}
            // Segments leave one by one and unpaced, for any value.
            (
                "tcp_min_tso_segs" | "tcp_tso_win_divisor" | "tcp_tso_rtt_log" | "tcp_pacing_ss_ratio" | "tcp_pacing_ca_ratio",
                _,
            ) => {}
            // Features that a script does not use without calls of their own.
            ("tcp_fastopen" | "tcp_fastopen_key" | "tcp_fastopen_blackhole_timeout_sec" | "tcp_ecn_option", _) => {}
            ("tcp_syn_retries" | "tcp_synack_retries" | "tcp_syncookies" | "tcp_no_metrics_save" | "tcp_base_mss", _) => {}
            ("tcp_invalid_ratelimit" | "tcp_autocorking" | "tcp_moderate_rcvbuf" | "tcp_rto_min_us", _) if first == Some(0) => {}
            _ => return missing(),
        }
        Support::Yes
    }

    /// The option of a call: another congestion control for this connection.
    pub(crate) fn congestion_control(&mut self, name: &str) -> bool {
        self.parameter("tcp_congestion_control", name) == Support::Yes
    }

    /// The endpoint's configuration after it and its peer have exchanged `theirs`, when ECN is on or off.
    pub(crate) fn config(&self, theirs: &Options, ecn: bool) -> Result<TcpConfig, String> {
        let mut c = resolve_with(&self.stack, &self.cc, &self.transport)?;
        let set = |key: &str| self.transport.iter().any(|(k, _)| k == key);
        c.timestamps = self.timestamps && theirs.ts.is_some();
        c.mss = self.sending_mss(theirs.mss, c.timestamps);
        if !(self.sack && theirs.sack_ok) && matches!(c.recovery, Recovery::Sack | Recovery::Rack) {
            c.recovery = Recovery::NewReno;
        }
        if !self.rack && c.recovery == Recovery::Rack {
            c.recovery = Recovery::Sack;
        }
        c.ecn = match ecn {
            false => Ecn::Off,
            true if self.wants_accurate_ecn() && !c.ecn.is_accurate() => Ecn::Accurate,
            true if c.ecn == Ecn::Off => Ecn::Classic,
            true => c.ecn,
        };
        if let (Some(restart), false) = (self.idle_restart, set("slow-start-after-idle")) {
            c.idle = if restart { Idle::Halve } else { Idle::Keep };
        }
        if let Some(n) = self.dup_thresh {
            c.dup_thresh = n;
        }
        if let (Some(bytes), false) = (self.rcv_wnd, set("rcv-wnd")) {
            // `tcp_rmem[2]` bounds the buffer; with autotuning, `rcv-wnd` is the half of it that a window can have at first.
            c.rcv_wnd = if c.rcv_autotune { bytes / 2 } else { bytes };
        }
        c.nagle &= !self.nodelay;
        c.isn = Some(0);
        Ok(c)
    }

    /// True if the endpoint has Nagle's algorithm.
    pub(crate) fn nagle(&self) -> Result<bool, String> {
        Ok(!self.nodelay && resolve_with(&self.stack, &self.cc, &self.transport)?.nagle)
    }

    /// The MSS option of a SYN of this endpoint.
    pub(crate) fn advertised_mss(&self) -> u16 {
        self.user_mss.map_or(self.mss, |mss| mss.min(self.mss))
    }

    /// Sets `TCP_MAXSEG`; 0 removes it. False for a value that Linux refuses (net/ipv4/tcp.c:3838 of Linux 6.12).
    pub(crate) fn set_user_mss(&mut self, mss: i64) -> bool {
        let legal = mss == 0 || USER_MSS.contains(&mss);
        if legal {
            self.user_mss = (mss > 0).then_some(mss as u16);
        }
        legal
    }

    /// Payload of a full segment to a peer whose SYN has the MSS option `theirs`; at least one byte.
    ///
    /// RFC 9293 section 3.7.1: 536 without the option. RFC 6691: the timestamp option is subtracted. Linux ignores an MSS of zero
    /// (tcp_parse_options, net/ipv4/tcp_input.c:4276 of Linux 6.12), and raises a smaller one to `tcp_min_snd_mss` before it subtracts
    /// (__tcp_mtu_to_mss and tcp_mtu_to_mss, net/ipv4/tcp_output.c:1776 and 1785).
    fn sending_mss(&self, theirs: Option<u16>, timestamps: bool) -> u32 {
        let agreed = self.advertised_mss().min(theirs.filter(|mss| *mss > 0).unwrap_or(DEFAULT_MSS));
        let least = if self.stack == "linux" { self.min_snd_mss } else { 0 };
        let options = if timestamps { TIMESTAMP_OPTION } else { 0 };
        u32::from(agreed.max(least).saturating_sub(options).max(1))
    }

    /// True if the endpoint requests and accepts Accurate ECN. The endpoint decides about the answer of its peer.
    pub(crate) fn wants_accurate_ecn(&self) -> bool {
        self.ecn == ACCURATE
    }

    /// True if the connection may use ECN: the congestion control may require it.
    pub(crate) fn wants_ecn(&self, active: bool) -> bool {
        let insists = cc::find(&self.cc).is_some_and(|e| e.ecn == Ecn::Dctcp);
        insists || self.ecn == 1 || self.wants_accurate_ecn() || (self.ecn == 2 && !active)
    }
}

/// The configuration of `stack` with `cc` and keys of `[transport]`.
fn resolve_with(stack: &str, cc: &str, transport: &[(String, String)]) -> Result<TcpConfig, String> {
    TcpConfig::of(&transport_of(stack, cc, transport)?).map_err(|e| e.message)
}

/// The same with the scenario's types.
fn transport_of(stack: &str, cc: &str, transport: &[(String, String)]) -> Result<Transport, String> {
    let entry: &CcEntry = cc::find(cc).ok_or_else(|| format!("no congestion control `{cc}`"))?;
    let name = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let keys: Vec<&str> = PARAMS.iter().chain(entry.entry.params).map(|p| p.key).collect();
    for (key, _) in transport {
        if !keys.contains(&name(key).as_str()) {
            let like = nearest(key, keys.iter().copied()).map_or_else(String::new, |k| format!("; do you mean {k}?"));
            return Err(format!("[transport] has no key {key}{like}"));
        }
    }
    let given = |key: &str| transport.iter().rev().find(|(k, _)| name(k) == key).map(|(_, v)| v.as_str());
    let mut of_cc = Vec::new();
    for p in entry.entry.params {
        of_cc.push((p.key, value(p, given(p.key).or(p.default).unwrap_or_default())?));
    }
    let mut of_stack = Vec::new();
    for p in PARAMS {
        // A script exchanges single segments with TCP: no interface cuts bursts or coalesces segments.
        let bare = (p.key == "host" && stack == "linux").then_some("bare");
        of_stack.push((p.key, value(p, given(p.key).or(bare).or(p.default).unwrap_or_default())?));
    }
    let profile = Profile::of(stack).ok_or_else(|| format!("no stack {stack}: expected one of {}", PROFILES.join(", ")))?;
    Ok(resolve(profile, entry, Values(of_cc), &Values(of_stack)))
}

/// A parameter's value from text.
fn value(p: &Param, text: &str) -> Result<Value, String> {
    if text.is_empty() {
        return Ok(Value::Unset);
    }
    let wrong = |range: String| format!("{}: `{text}` is not {range}", p.key);
    Ok(match p.kind {
        Kind::Float(a, b) => {
            let v: f64 = text.parse().map_err(|_| wrong("a number".into()))?;
            if !(a..=b).contains(&v) {
                return Err(wrong(format!("within {a} to {b}")));
            }
            Value::Float(v)
        }
        Kind::Int(a, b) => {
            let v: i64 = text.parse().map_err(|_| wrong("an integer".into()))?;
            if !(a..=b).contains(&v) {
                return Err(wrong(format!("within {a} to {b}")));
            }
            Value::Int(v)
        }
        Kind::Bool if text == "true" || text == "false" => Value::Bool(text == "true"),
        Kind::Bool => return Err(wrong("true or false".into())),
        Kind::Choice(words) if !words.contains(&text) => return Err(wrong(format!("one of {}", words.join(", ")))),
        Kind::QueueLen => Value::QueueLen(text.parse().map_err(|_| wrong("a queue length".into()))?),
        Kind::Time => Value::Time(text.parse().map_err(|_| wrong("a time".into()))?),
        Kind::Rate => Value::Rate(text.parse().map_err(|_| wrong("a rate".into()))?),
        Kind::Bytes => Value::Bytes(text.parse().map_err(|_| wrong("a size".into()))?),
        _ => Value::Text(text.to_owned()),
    })
}
