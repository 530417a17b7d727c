//! Our congestion controls in a guest kernel (`bpf/`): the transports that use them, their names in the kernel, and their parameters in frames.
//!
//! A congestion control that the kernel has, with the parameters of the kernel, is not listed: the kernel's own is used.

use forebay_experiment::topology::Route;
use forebay_experiment::transport::{Chosen, Transport};
use forebay_types::QueueLen;
use forebay_types::param::{Value, Values};

/// Most numbers of a congestion control (`FB_PARAMS` in `driver/protocol_frames.h`).
pub const PARAMS: usize = 24;

/// A congestion control that the guest kernel has beside its own, with its parameters: `law` and `param` of `struct fb_group`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuestCc {
    /// Name of the congestion control in the kernel.
    pub name: &'static str,
    /// Its numbers. The first is 1, the second whether only a window in use grows; then those that `read` of the congestion control's `_builtin.c` takes, in
    /// its order.
    pub param: [u64; PARAMS],
}

/// Names of the congestion controls in the kernel, and of the congestion control or shim of a scenario that each carries out.
pub const GUEST_CCS: [(&str, &str); 6] = [
    ("forebay_rns", "reno"),
    ("forebay_dctcp", "dctcp"),
    ("forebay_l2dct", "l2dct"),
    ("forebay_d2tcp", "d2tcp"),
    ("forebay_trim", "trim"),
    ("forebay_prin", "prin"),
];

/// A number in fixed point with 16 bits behind the point.
fn fixed(x: f64) -> u64 {
    (x * 65_536.0).round() as u64
}

/// The numbers of a congestion control, one after the other.
struct Numbers {
    param: [u64; PARAMS],
    count: usize,
}

impl Numbers {
    fn new(validate: bool) -> Numbers {
        Numbers { param: [0; PARAMS], count: 0 }.and(1).and(u64::from(validate))
    }

    fn and(mut self, number: u64) -> Numbers {
        self.param[self.count] = number;
        self.count += 1;
        self
    }

    /// Parameters of DCTCP's estimate: shift of g, alpha in 1/1024, floor, no growth on ECE.
    fn marks(self, v: &Values, no_growth_on_ece: bool) -> Result<Numbers, String> {
        let g = v.float("g");
        let shift = (0..=10u64).find(|s| g == 1.0 / (1 << s) as f64);
        let shift = shift.ok_or_else(|| format!("`g = {g}`: the kernel has 1, 1/2, 1/4 and so on to 1/1024"))?;
        let floor = v.float("min-cwnd").floor() as u64;
        Ok(self.and(shift).and((v.float("alpha") * 1024.0).floor() as u64).and(floor).and(u64::from(no_growth_on_ece)))
    }

    fn cc(self, name: &'static str) -> GuestCc {
        GuestCc { name, param: self.param }
    }
}

/// Our congestion control for `t` in the guest; `None`: the kernel's own is used, or the guest has none of that name. `route` is that of any
/// connection, for congestion controls that depend on the path: TRIM computes K from it.
///
/// # Errors
/// A congestion control that cannot be used with the parameters of the scenario: the reason, and the legal values.
pub fn guest_cc(t: &Transport, route: Option<&Route>) -> Result<Option<GuestCc>, String> {
    let start = Numbers::new(t.cwnd_validation);
    let v = &t.cc.values;
    let prin = t.shims.iter().find(|s| s.name == "prin");
    let cc = match t.cc.name {
        "reno" | "newreno" => match prin {
            Some(shim) => return prin_cc(start, shim, t).map(Some),
            None if t.cwnd_validation => return Ok(None),
            None => start.cc("forebay_rns"),
        },
        name if prin.is_some() => {
            return Err(format!(
                "`prin` in the kernel is a congestion control of its own that grows as `reno`; not beside `{name}`"
            ));
        }
        "dctcp" if t.cwnd_validation && is_kernel_dctcp(v) => return Ok(None),
        "dctcp" => start.marks(v, v.bool("no-growth-on-ece"))?.cc("forebay_dctcp"),
        "l2dct" if v.bool("no-growth-on-ece") => {
            return Err("`no-growth-on-ece` of `l2dct` is not implemented in the kernel; legal: false".to_owned());
        }
        "l2dct" => {
            let numbers = start.marks(v, false)?.and(fixed(v.float("w-max"))).and(fixed(v.float("w-min")));
            let (light, light_segments) = length(v.queue_len("light"));
            let (heavy, heavy_segments) = length(v.queue_len("heavy"));
            numbers.and(light).and(heavy).and(light_segments).and(heavy_segments).cc("forebay_l2dct")
        }
        "d2tcp" => {
            let missed = if v.text("missed") == "near" { v.float("d-max") } else { 1.0 };
            let numbers = start.marks(v, false)?;
            numbers.and(fixed(v.float("d-min"))).and(fixed(v.float("d-max"))).and(fixed(missed)).cc("forebay_d2tcp")
        }
        "trim" => trim(start, v, route).cc("forebay_trim"),
        _ => return Ok(None),
    };
    Ok(Some(cc))
}

/// Returns true if all parameters that are set equal the constants of tcp_dctcp.c.
fn is_kernel_dctcp(v: &Values) -> bool {
    let own = [
        ("g", Value::Float(0.0625)),
        ("alpha", Value::Float(1.0)),
        ("min-cwnd", Value::Float(2.0)),
        ("no-growth-on-ece", Value::Bool(false)),
    ];
    own.iter().all(|(key, own)| v.0.iter().all(|(k, value)| k != key || value == own))
}

/// A number of bytes or segments, and whether it is one of segments.
fn length(q: QueueLen) -> (u64, u64) {
    match q {
        QueueLen::Bytes(n) => (n, 0),
        QueueLen::Packets(n) => (n, 1),
    }
}

fn prin_cc(start: Numbers, shim: &Chosen, t: &Transport) -> Result<GuestCc, String> {
    let v = &shim.values;
    if let Some(wait) = v.opt_time("tail-reorder-wait") {
        return Err(format!("`tail-reorder-wait = {wait}`: the kernel's fast retransmit does not wait"));
    }
    let floor = v.opt_int("floor").unwrap_or(1 + i64::from(t.ack_every > 1));
    let cap = v.text("ssthresh") == "cap";
    Ok(start.and(u64::from(v.bool("halve"))).and(floor as u64).and(u64::from(cap)).cc("forebay_prin"))
}

/// The place of a word in the order of an `enum` of `bpf/trim/trim_core.h`.
fn place(words: &[&str], word: &str) -> u64 {
    words.iter().position(|w| *w == word).map_or(0, |i| i as u64)
}

fn trim(start: Numbers, v: &Values, route: Option<&Route>) -> Numbers {
    let none = u64::from(u32::MAX);
    // Without a path there is no K but an explicit one.
    let rate = v.opt_rate("rate").zip(route).map(|(rate, r)| rate.0 as f64 / (8.0 * r.packet));
    let packet = rate.or(route.map(|r| r.packets_per_s)).map(|per_s| 1e12 / per_s);
    let buffer = match (v.opt_queue_len("buffer"), route) {
        (Some(QueueLen::Packets(n)), _) => n as f64,
        (Some(QueueLen::Bytes(b)), Some(r)) => (b as f64 / r.packet).floor(),
        (None, Some(r)) => r.buffer,
        (Some(QueueLen::Bytes(_)) | None, None) => f64::INFINITY,
    };
    let us = |packets: f64| packet.filter(|_| packets.is_finite()).map_or(none, |p| ((packets * p / 1e6) as u64).min(none));
    let guard = packet.map_or(0, |p| (v.float("k-guard") * p / 1e6).ceil() as u64);
    let (policy, k) = match v.opt_time("k") {
        Some(k) => (3, k.as_us()),
        None => (place(&["lower", "mid", "upper"], v.text("k-policy").as_str()), 0),
    };
    let seed = v.text("min-rtt-seed");
    let idle = route.filter(|_| seed == "idle-data").map_or(0, |r| r.idle_rtt.as_us());
    let handshake = match seed.as_str() {
        "handshake" => route.map_or(0, |r| r.handshake_deficit.as_us()),
        "handshake-raw" => 0,
        _ => none,
    };
    let waits = v.text("at");
    start
        .and(packet.map_or(0, |p| p as u64))
        .and(fixed(v.float("alpha")))
        .and(v.float("min-cwnd").floor() as u64)
        .and(us(buffer))
        .and(policy)
        .and(k)
        .and(guard)
        .and(place(&["per-ack", "per-rtt", "per-ack-capped"], v.text("reduction-mode").as_str()))
        .and(u64::from(v.text("gap-scope") == "any"))
        .and(place(&["none", "cut", "late", "all"], v.text("ssthresh-on-trim").as_str()))
        .and(u64::from(v.bool("additive-only")))
        .and(idle)
        .and(handshake)
        .and(u64::from(waits == "on" || waits == "ad"))
        .and(u64::from(waits == "on" || waits == "as"))
        .and(u64::from(v.bool("at-start")))
}
