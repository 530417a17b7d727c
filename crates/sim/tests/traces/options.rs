//! Connections with each option of the transport, and each parameter of a congestion control, at a value that is not its default.

use super::connections::{PATHS, trace};
use super::{Hash, compare};
use crate::scripted::config_of_text;

/// Stack, congestion control, keys of the transport, parameters of the congestion control.
const OPTIONS: &[(&str, &str, &str, &str)] = &[
    // Recovery.
    ("ns2", "newreno", "recovery=reno", ""),
    ("ns2", "newreno", "recovery=sack", ""),
    ("ns2", "newreno", "recovery=rack", ""),
    ("rfc", "newreno", "recovery=newreno limited-transmit=false", ""),
    ("rfc", "newreno", "recovery=newreno ssthresh-from=window dup-thresh=5", ""),
    ("rfc", "newreno", "recovery=sack prr=true", ""),
    ("rfc", "newreno", "recovery=rack prr=true frto=true timestamps=true", ""),
    ("rfc", "cubic", "recovery=rack eifel=true timestamps=true", ""),
    ("linux", "newreno", "recovery=newreno", ""),
    ("linux", "cubic", "recovery=newreno timestamps=false", ""),
    ("linux", "newreno", "recovery=sack", ""),
    ("linux", "dctcp", "recovery=sack prr=false", ""),
    ("linux", "cubic", "prr=false", ""),
    ("linux", "cubic", "frto=false", ""),
    ("linux", "cubic", "eifel=false", ""),
    ("linux", "newreno", "timestamps=false", ""),
    ("linux", "cubic", "timestamps=false quickack=false", ""),
    ("linux", "newreno", "ssthresh-from=flight", ""),
    ("linux", "newreno", "kernel=6.1", ""),
    ("linux", "bbr", "kernel=6.1", ""),
    ("linux", "cubic", "kernel=6.1 ecn=classic", ""),
    // Timeouts.
    ("rfc", "newreno", "rto-min=10ms rto-initial=50ms", ""),
    ("linux", "cubic", "rto-min=5ms rto-max=1s", ""),
    ("ns2", "newreno", "rto-granularity=10ms rto-min=20ms", ""),
    ("ns2", "newreno", "rto-rule=linux", ""),
    ("ns2", "newreno", "rto-rule=fixed rto-initial=30ms", ""),
    ("linux", "newreno", "rto-rule=rfc6298 rto-granularity=100us", ""),
    ("ns2", "newreno", "probe-after=1 rto-min=2ms", ""),
    // ECN.
    ("linux", "cubic", "ecn=classic", ""),
    ("rfc", "newreno", "ecn=classic ecn-echo=latched", ""),
    ("ns2", "newreno", "ecn=classic cwr-on-retransmit=true ect-on-retransmit=true", ""),
    ("linux", "dctcp", "ecn=accurate", ""),
    ("rfc", "dctcp", "ecn=accurate ack-every=3", ""),
    ("linux", "cubic", "ecn=l4s", ""),
    ("linux", "dctcp", "ecn-echo=latched ack-every=4", ""),
    // Growth, idle time.
    ("ns2", "newreno", "growth=rfc5681 ack-every=2", ""),
    ("ns2", "newreno", "growth=abc ack-every=2 ack-delay=1ms", ""),
    ("ns2", "newreno", "growth=unlimited", ""),
    ("rfc", "newreno", "growth=per-ack cwnd-validation=true", ""),
    ("linux", "newreno", "cwnd-validation=false", ""),
    ("linux", "cubic", "slow-start=hystart", ""),
    ("linux", "cubic", "slow-start=hystart++", ""),
    ("rfc", "newreno", "slow-start=hystart", ""),
    ("rfc", "cubic", "slow-start=hystart++", ""),
    ("ns2", "newreno", "slow-start-after-idle=rfc5681", ""),
    ("ns2", "newreno", "slow-start-after-idle=rtt", ""),
    ("rfc", "cubic", "slow-start-after-idle=linux", ""),
    ("linux", "cubic", "slow-start-after-idle=off", ""),
    ("linux", "cubic", "init-cwnd=40", ""),
    ("ns2", "newreno", "init-cwnd=1", ""),
    // Receivers and buffers.
    ("linux", "cubic", "rcv-wnd=20KB rcv-autotune=false", ""),
    ("linux", "cubic", "rcv-buf=40KB", ""),
    ("linux", "cubic", "snd-buf=20KB", ""),
    ("linux", "bbr", "snd-buf-max=50KB", ""),
    ("linux", "cubic", "quickack-count=2 ack-delay=10ms", ""),
    ("rfc", "cubic", "ack-every=1", ""),
    ("rfc", "cubic", "ack-every=5 ack-delay=3ms", ""),
    ("linux", "cubic", "nagle=false", ""),
    ("linux", "cubic", "max-pacing-rate=50Mbps", ""),
    ("linux", "bbr", "max-pacing-rate=80Mbps", ""),
    ("linux", "dctcp", "txrehash=true tcp-plb-enabled=true tcp-plb-rehash-rounds=2 tcp-plb-cong-thresh=64", ""),
    ("linux", "cubic", "timestamp-clock=10ms", ""),
    ("rfc", "newreno", "handshake=false fin=false", ""),
    // Parameters of congestion controls.
    ("rfc", "cubic", "", "rules=linux"),
    ("linux", "cubic", "", "rules=rfc9438"),
    ("linux", "cubic", "", "arithmetic=paper hz=250"),
    ("linux", "cubic", "", "c=2.0 beta=0.5 fast-convergence=false"),
    ("rfc", "cubic", "", "c=2.0 beta=0.5 fast-convergence=false reno-friendly=false"),
    ("linux", "cubic", "", "reno-friendly=false"),
    ("ns2", "dctcp", "", "arithmetic=linux"),
    ("ns2", "dctcp", "", "arithmetic=linux whole-windows=true"),
    ("linux", "dctcp", "", "arithmetic=paper"),
    ("linux", "dctcp", "", "g=0.25 alpha=0 min-cwnd=4"),
    ("ns2", "dctcp", "", "g=0.25 alpha=0.3 min-cwnd=1 no-growth-on-ece=true"),
    ("ns2", "l2dct", "", "arithmetic=linux"),
    ("linux", "l2dct", "", "arithmetic=paper"),
    ("ns2", "l2dct", "", "w-max=4.0 w-min=0.5 light=30pkt heavy=300pkt no-growth-on-ece=true"),
    ("linux", "l2dct", "", "w-max=4.0 w-min=0.5 light=30pkt heavy=300pkt"),
    ("ns2", "d2tcp", "", "arithmetic=linux"),
    ("linux", "d2tcp", "", "arithmetic=paper d-min=0.8 d-max=4.0"),
    ("ns2", "trim", "", "arithmetic=linux"),
    ("linux", "trim", "", "arithmetic=paper"),
    ("ns2", "trim", "", "k-policy=mid reduction-mode=per-rtt gap-scope=idle"),
    ("ns2", "trim", "", "k-policy=upper reduction-mode=per-ack-capped ssthresh-on-trim=late"),
    ("ns2", "trim", "", "k=400us ssthresh-on-trim=cut min-rtt-seed=handshake alpha=0.5"),
    ("ns2", "trim", "", "at=on min-rtt-seed=first-sample additive-only=true"),
    ("ns2", "trim", "", "at=ad at-start=false min-rtt-seed=handshake-raw ssthresh-on-trim=none"),
    ("linux", "trim", "", "at=as k-policy=mid reduction-mode=per-ack-capped min-cwnd=4"),
    ("linux", "trim", "", "at=on k-policy=upper reduction-mode=per-rtt alpha=0.1 k-guard=1"),
    ("linux", "prague", "", "rtt-virt=0s"),
    ("linux", "prague", "", "rtt-virt=10ms transition=3 alpha=0.1 min-cwnd=4"),
    ("rfc", "prague", "", "rtt-virt=5ms transition=0 g=0.5"),
    ("ns2", "pfabric", "", "after-timeout=threshold"),
    ("linux", "fixed-rate", "", "rate=30Mbps"),
];

#[test]
fn options_are_as_recorded() {
    let line = |&(stack, cc, transport, params): &(&str, &str, &str, &str)| {
        let c = config_of_text(stack, cc, transport, params);
        let mut hash = Hash::default();
        for path in PATHS.iter().filter(|path| path.name != "long") {
            hash.add_text(&trace(&c, path));
        }
        format!("{stack},{cc},{transport},{params},{:016x}", hash.0)
    };
    let lines: Vec<String> = OPTIONS.iter().map(line).collect();
    compare("options", "stack,cc,transport,parameters,hash", &lines);
}
