//! Errors name the line and the legal values.

use crate::common::{VALID, marking_cc, resolve, resolve_with};
use forebay_scenario::Errors;

/// The queue of the valid scenario.
const STEP: &str = "{ kind = \"dctcp-step\", k = \"20pkt\" }";

/// Line of the error whose rendering contains all of `parts`.
fn line_of(errors: &Errors, parts: &[&str]) -> Option<usize> {
    let found = errors.list().iter().find(|e| parts.iter().all(|p| e.render().contains(p)))?;
    Some(found.line_column().map_or(0, |p| p.0))
}

#[test]
fn one_change_one_error() {
    // (text to replace, replacement, what the error says, its line)
    let cases: &[(&str, &str, &[&str], usize)] = &[
        ("\"base\"", "\"a/b\"", &["`name` is \"a/b\"", "path separators"], 1),
        ("\"base\"", "\"..\"", &["`name`"], 1),
        ("\"base\"", "3", &["`name` must be a text"], 1),
        ("seed = 7", "seed = -7", &["`seed` is -7", "at least 0"], 2),
        ("seed = 7", "seed = 99999999999999999999", &["`seed` is 99999999999999999999"], 2),
        ("seed = 7", "sed = 7", &["unknown key `sed`", "did you mean `seed`"], 2),
        (
            "seed = 7",
            "skip = true",
            &["`skip` of the scenario no longer exists", "remove this key", "the results are the same"],
            2,
        ),
        ("runs = 2", "runs = 0", &["`runs` is 0", "1 to 10000"], 3),
        ("runs = 2", "runs = 10001", &["1 to 10000"], 3),
        ("runs = 2", "runs = \"2\"", &["write 2 without quotes"], 3),
        ("runs = 2", "runs = 2.5", &["must be an integer"], 3),
        ("\"2s\"", "\"0s\"", &["`duration` is zero"], 4),
        ("\"2s\"", "\"5000h\"", &["at most 200 days"], 4),
        ("\"2s\"", "2", &["quantities carry units: write \"2s\""], 4),
        ("\"2s\"", "0.001", &["`duration` is 0.001 without a unit", "write \"1ms\""], 4),
        ("\"2s\"", "\"-2s\"", &["must not be negative"], 4),
        ("\"2s\"", "\"2 weeks\"", &["unknown unit `weeks`"], 4),
        ("\"2s\"", "\"1e3s\"", &["`duration`"], 4),
        ("\"100pkt\"", "\"100 packets\"", &["write \"100pkt\""], 9),
        ("\"100pkt\"", "\"1M\"", &["write \"1MB\""], 9),
        ("rate = \"1Gbps\"", "rate = \"1G\"", &["write \"1Gbps\""], 8),
        ("rate = \"1Gbps\"", "rate = 1e9", &["write \"1Gbps\" if it means bits per second"], 8),
        (STEP, "\"bfifo\"", &["queue `bfifo` does not exist", "nearest: \"drop-tail\""], 9),
        ("cc = \"newreno\"", "cc = \"bbr1\"", &["congestion control `bbr1` does not exist", "nearest: \"bbr\""], 12),
        ("kind = \"incast\"", "kind = \"rpc\"", &["workload `rpc` does not exist", "nearest: \"requests\""], 17),
        ("mss = 1460", "max-pacing-rate = 5", &["without a unit"], 13),
        ("mss = 1460", "max-pacing-rate = \"0bps\"", &["outside the legal range of rates"], 13),
        ("mss = 1460", "backlog = 128", &["unknown key `backlog`", "accept queue"], 13),
        ("kind = \"incast\"", "kind = \"incast\"\nbandwidth = 1", &["`max-pacing-rate` of [transport]"], 18),
        ("kind = \"incast\"", "kind = \"incast\"\nwrites = 0", &["`writes` is 0", "1 to 1000"], 18),
        (
            "kind = \"incast\"",
            "kind = \"incast\"\nwrites = 2",
            &["`writes` needs a send buffer, which the transport `newreno` does not model", "stack = \"linux\""],
            18,
        ),
        (
            "kind = \"incast\"",
            "kind = \"incast\"\nlisten-backlog = 128",
            &["`listen-backlog` and `accept-time` belong together", "accept-time = \"50us\""],
            18,
        ),
        (
            "kind = \"incast\"",
            "kind = \"incast\"\nlisten-backlog = 0\naccept-time = \"50us\"",
            &["`listen-backlog` is 0", "1 to 65535"],
            18,
        ),
        (
            "kind = \"incast\"",
            "kind = \"incast\"\nlisten-backlog = 128\naccept-time = \"0s\"",
            &["`accept-time` is 0", "above 0"],
            19,
        ),
        (
            "kind = \"incast\"",
            "kind = \"incast\"\nlisten-backlog = 128\naccept-time = \"50us\"",
            &["cannot have a `listen-backlog`", "legal kinds: long, on-off, poisson, replay, requests"],
            18,
        ),
        ("mss = 1460", "tcp-nodelay = true", &["`nagle = false`"], 13),
        ("kind = \"incast\"", "kind = \"incast\"\nwrite-size = \"4KB\"", &["`writes` of a workload"], 18),
        ("mss = 1460", "mss = 1460\nwrites = 2", &["unknown key `writes`"], 14),
        ("kind = \"incast\"", "kind = \"incast\"\nafter = \"b\"", &["with the columns `id` and `after`"], 18),
        ("mss = 1460", "reduce = \"flight\"", &["unknown key `reduce`", "this key is now `ssthresh-from`"], 13),
        ("mss = 1460", "cwr-on-any = true", &["this key is now `cwr-on-retransmit`"], 13),
        ("senders = 8", "senders = 8\nfar = \"s0: 1ms\"", &["this key is now `extra-delay`"], 8),
        ("k = \"20pkt\"", "k = \"20pkt\", far = 1", &["unknown key `far`", "unknown key"], 9),
        ("mss = 1460", "kernel = \"5.15\"", &["`kernel` `5.15` does not exist", "legal: `6.1` or `6.12`"], 13),
        ("mss = 1460", "kernel = 6.1", &["a word in quotes"], 13),
        ("mss = 1460", "kernel = \"6.1\"", &["`kernel` is \"6.1\", and `stack` is \"ns2\"", "stack \"linux\" only"], 13),
        ("mss = 1460", "frto = true", &["`frto` needs `recovery`", "no effect"], 13),
        (
            "stack = \"ns2\"",
            "stack = \"linux\"\nrecovery = \"newreno\"\nlimited-transmit = false",
            &["`limited-transmit` is false", "counts each duplicate ACK as a SACK", "legal: true"],
            13,
        ),
        (
            "stack = \"ns2\"",
            "stack = \"linux\"\nrecovery = \"newreno\"\nshim = { kind = \"prin\", tail-reorder-wait = \"300us\" }",
            &["`tail-reorder-wait` of `prin`", "counts each duplicate ACK as a SACK", "of other stacks"],
            13,
        ),
        ("mss = 1460", "eifel = true", &["`eifel` needs `recovery`", "and `timestamps`"], 13),
        ("mss = 1460", "shim = \"pias\"", &["one of `demotion-thresholds` and `table` must be given"], 13),
        (
            "mss = 1460",
            "shim = { kind = \"pias\", table = \"websearch\", demotion-thresholds = [\"1KB\"] }",
            &["remove one of them"],
            13,
        ),
        (
            "mss = 1460",
            "shim = { kind = \"pias\", demotion-thresholds = [\"1KB\"], load = 0.5 }",
            &["has no effect without `table`"],
            13,
        ),
        ("mss = 1460", "shim = [\"pias\", \"prin\"]", &["one of `demotion-thresholds`"], 13),
        ("mss = 1460", "shim = [\"srpt\", \"prin\"]", &["exclude each other", "tags packets at the sender"], 13),
        ("[topology]", "[topologie]", &["unknown key `topologie`", "did you mean `topology`"], 5),
        ("[topology]", "[[topology]]", &["`topology` must be a table"], 5),
        ("\"many-to-one\"", "\"many-to-on\"", &["did you mean `many-to-one`"], 6),
        ("\"many-to-one\"", "7", &["a name in quotes"], 6),
        ("senders = 8", "senders = 0", &["`senders` is 0"], 7),
        ("senders = 8", "senders = -3", &["`senders` is -3"], 7),
        ("senders = 8", "sendrs = 8", &["unknown key `sendrs`", "did you mean `senders`"], 7),
        ("senders = 8", "sendrs = 8", &["needs the key `senders`"], 6),
        ("access     = { rate = \"1Gbps\", delay = \"25us\" }", "access = 3", &["must be a link"], 8),
        ("access     = { rate = \"1Gbps\",", "access = {", &["needs the key `rate`"], 8),
        ("access     = { rate = \"1Gbps\"", "access = { rate = \"1bps\"", &["legal range of rates"], 8),
        ("access     = { rate = \"1Gbps\"", "access = { rate = 40", &["write \"40Gbps\""], 8),
        ("access     = { rate", "access = { colour = 1, rate", &["unknown key `colour`"], 8),
        ("\"100pkt\"", "100", &["quantities carry units: write \"100pkt\""], 9),
        ("\"100pkt\"", "\"0pkt\"", &["at least one packet"], 9),
        ("\"100pkt\"", "\"10pkt\"", &["`k` = 20pkt is above the buffer", "at most 10pkt"], 9),
        ("\"100pkt\"", "\"1400B\"", &["smaller than one packet", "at least 1500B"], 9),
        ("\"100pkt\"", "\"many\"", &["not a queue length"], 9),
        ("\"dctcp-step\"", "\"dctp-step\"", &["did you mean `dctcp-step`"], 9),
        ("{ kind = \"dctcp-step\", k = \"20pkt\" }", "\"dctcp-step\"", &["needs the key `k`", "marking threshold"], 9),
        ("k = \"20pkt\"", "k = \"20pkt\", z = 1", &["unknown key `z` in the queue `dctcp-step`"], 9),
        (STEP, "{ kind = \"red\", min = \"30pkt\", max = \"20pkt\" }", &["`max` 20pkt must be above `min` = 30pkt"], 9),
        (STEP, "{ kind = \"red\", min = \"30pkt\", max = \"60KB\" }", &["both be packets or both bytes"], 9),
        (STEP, "{ kind = \"red\", min = \"30pkt\", max = \"101pkt\" }", &["`max` = 101pkt is above the buffer"], 9),
        (STEP, "{ kind = \"choke-multi\", min = \"30pkt\", max = \"60pkt\", m = 100 }", &["`m` 100 samples", "below 100"], 9),
        (
            STEP,
            "{ kind = \"policer\", rate = \"1Gbps\", burst = \"1KB\" }",
            &["`burst` is 1KB, which is smaller than one packet", "at least 1500B"],
            9,
        ),
        (STEP, "{ kind = \"strict-priority\", limits = [\"1KB\"] }", &["`limits` is 1KB, which is smaller than one packet"], 9),
        (STEP, "{ kind = \"strict-priority\", queues = 9 }", &["`queues` is 9", "2 to 8"], 9),
        (STEP, "{ kind = \"strict-priority\", map = [0, 1] }", &["`map` has 2 entries", "classes 0 to 7"], 9),
        (STEP, "{ kind = \"strict-priority\", map = [0, 1, 2, 3, 4, 5, 6, 9] }", &["is 9", "0 to 7"], 9),
        (STEP, "{ kind = \"strict-priority\", queues = 2, map = [0, 0, 0, 0, 0, 0, 1, 2] }", &["names queue 2"], 9),
        (STEP, "{ kind = \"strict-priority\", map = 3 }", &["must be a list"], 9),
        (
            STEP,
            "{ kind = \"strict-priority\", limits = [\"200pkt\"] }",
            &["`limits` 200pkt is never reached", "at most 100pkt"],
            9,
        ),
        (
            STEP,
            "{ kind = \"strict-priority\", queues = 2, ks = [\"1pkt\", \"2pkt\", \"3pkt\"] }",
            &["`ks` has 3 entries for 2 queues"],
            9,
        ),
        (
            "senders = 8",
            "senders = 8\nbalance = \"packets\"",
            &["`balance` `packets` does not exist", "did you mean `packet`"],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nbalance = \"conga\"",
            &["switches with hosts: 1, without: 0", "`kind = \"leaf-spine\"`"],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nbalance = { kind = \"flowlet\", gap = \"0s\" }",
            &["`gap` of `balance` is 0s", "legal: above 0"],
            8,
        ),
        ("senders = 8", "senders = 8\nhost-queue = \"fair\"", &["queue `fair` does not exist", "fq-codel"], 8),
        ("senders = 8", "senders = 8\nfailures = []", &["unknown key `failures`", "did you mean `failure`"], 8),
        ("senders = 8", "senders = 8\nfailure = { down = \"1ms\" }", &["[[topology.failure]] needs the key `link`"], 8),
        ("senders = 8", "senders = 8\nfailure = { link = \"bottleneck\" }", &["needs the key `down`", "write down = \"5ms\""], 8),
        ("senders = 8", "senders = 8\nchange = { port = \"bottleneck\", rate = \"1Gbps\" }", &["needs the key `at`"], 8),
        (
            "senders = 8",
            "senders = 8\nchange = { port = \"bottleneck\", at = \"1ms\" }",
            &["changes nothing", "loss = \"1%\""],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nchange = { port = \"s0->sw\", at = \"1ms\", rate = \"1Gbps\" }",
            &["the interface of a host", "port of a switch"],
            8,
        ),
        ("senders = 8", "senders = 8\nchange = { port = \"bottleneck\", at = \"1ms\", delay = \"0s\" }", &["`delay` is zero"], 8),
        (
            "senders = 8",
            "senders = 8\nchange = { port = \"bottleneck\", at = \"1ms\", loss = \"200%\" }",
            &["`loss` is", "up to \"100%\""],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nfailure = { link = \"sw->rec\", down = \"1ms\" }",
            &["there is no port `sw->rec`", "did you mean `sw->recv`"],
            8,
        ),
        // One direction of one link: names of sets of ports are refused, and examples of links are given.
        (
            "senders = 8",
            "senders = 8\ncorruption = { port = \"all\", bit-errors = 1e-8 }",
            &[
                "there is no port `all`",
                "unknown port",
                "legal: `bottleneck`, or any link as \"from->to\", such as `sw->recv` or `sw->s7`",
            ],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nfailure = { link = \"s1->sw\", down = \"2ms\", up = \"2ms\" }",
            &["comes up before it goes down", "after `down`, 2ms"],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nfailure = [{ link = \"s1->sw\", down = \"2ms\", up = \"4ms\" }, { link = \"sw->s1\", down = \"3ms\" }]",
            &["the link is down already at 3ms"],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\ncorruption = { port = \"s1->sw\", bit-errors = 0.5 }",
            &["`bit-errors` is 0.5", "0.0001"],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\ncorruption = [{ port = \"s1->sw\", bit-errors = 1e-7 }, { port = \"s1->sw\", bit-errors = 1e-8 }]",
            &["names a port more than once"],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nreorder = { port = \"bottleneck\", p = 0.1, by = \"1ms\" }",
            &["[[topology.reorder]] names a link that leads to a host", "leads to a switch"],
            8,
        ),
        ("senders = 8", "senders = 8\nreorder = { port = \"s1->sw\", p = 2.0, by = \"1ms\" }", &["`p` is 2", "legal", "to 1"], 8),
        ("senders = 8", "senders = 8\nbatch = { port = \"s1->sw\", every = \"0s\" }", &["`every` is zero", "legal: above 0"], 8),
        (
            "senders = 8",
            "senders = 8\nbatch = [{ port = \"s1->sw\", every = \"1ms\" }, { port = \"s1->sw\", every = \"2ms\" }]",
            &["`batch` names a port more than once"],
            8,
        ),
        ("senders = 8", "senders = 8\nloss = { port = \"s1->sw\" }", &["does not say which packets are lost", "p = 0.001"], 8),
        ("senders = 8", "senders = 8\nloss = { port = \"s1->sw\", p = 1.5 }", &["`p` is 1.5", "legal", "to 1"], 8),
        ("senders = 8", "senders = 8\nloss = { port = \"s1->sw\", p = \"150%\" }", &["`p` is", "up to \"100%\""], 8),
        (
            "senders = 8",
            "senders = 8\nloss = { port = \"s1->sw\", p = 0.5, from = \"2ms\", until = \"1ms\" }",
            &["`until` is 1ms", "legal: after `from`, 2ms"],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nloss = { port = \"s1->sw\", p = 0.5, to-bad = 0.1 }",
            &["[[topology.loss]] mixes", "one kind of loss"],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nloss = { port = \"s1->sw\", p = 0.9, burst = 2 }",
            &["has longer bursts", "legal: at least 9.000"],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nloss = { port = \"s1->sw\", drop = { connection = 3, packets = [0] } }",
            &["a number of `packets` is 0", "legal: "],
            8,
        ),
        (
            "senders = 8",
            "senders = 8\nloss = [{ port = \"s1->sw\", p = 0.1 }, { port = \"s1->sw\", p = 0.2 }]",
            &["this port has a loss already"],
            8,
        ),
        (STEP, "\"drop-tail\", loss = 0.1, loss-rate = 2", &["unknown key `loss-rate`"], 9),
        (STEP, "\"drop-tail\", loss = \"lots\"", &["`loss` is", "\"0.1%\""], 9),
        (STEP, "\"drop-tail\", loss = { q = 1 }", &["does not say which packets are lost"], 9),
        (STEP, "{ kind = \"strict-priority\", limits = [\"0pkt\"] }", &["limit of zero"], 9),
        (STEP, "{ kind = \"strict-priority\", k-scope = \"queue\" }", &["requires `k`"], 9),
        (STEP, "{ kind = \"strict-priority\", k = \"101pkt\" }", &["`k` = 101pkt is above the buffer"], 9),
        (STEP, "{ kind = \"protect\", reserve = \"30KB\" }", &["`reserve` 30KB and the buffer of 100pkt", "same unit"], 9),
        ("\"ns2\"", "\"ns3\"", &["`stack` `ns3` does not exist", "did you mean `ns2`"], 11),
        ("cc = \"newreno\"", "cc = \"dcqcn\"", &["`dcqcn` does not exist", "not simulated", "forebay simulates TCP"], 12),
        ("cc = \"newreno\"", "cc = \"bbr2\"", &["`bbr2` does not exist", "not simulated", "successor `bbr3`"], 12),
        ("cc = \"newreno\"", "cc = \"BBRv2\"", &["`BBRv2` does not exist", "not simulated", "successor `bbr3`"], 12),
        ("cc = \"newreno\"", "cc = \"westwood\"", &["`westwood` does not exist", "not simulated", "`cubic`"], 12),
        (STEP, "\"cake\"", &["queue `cake` does not exist", "not simulated", "`fq-codel`"], 9),
        (STEP, "\"fq_pie\"", &["queue `fq_pie` does not exist", "not simulated", "`fq-codel`"], 9),
        (STEP, "\"PFC\"", &["queue `PFC` does not exist", "not simulated", "switches drop packets"], 9),
        ("senders = 8", "senders = 8\npfc = true", &["unknown key `pfc`", "priority flow control"], 8),
        ("senders = 8", "senders = 8\nsample = 4", &["unknown key `sample`", "all hosts and links", "--within 5%"], 8),
        (STEP, "{ kind = \"policer\", rate = \"10Kbps\", burst = \"10MB\" }", &["`burst` is ", "legal: at most 3600s"], 9),
        ("cc = \"newreno\"", "cc = \"newren\"", &["did you mean `newreno`"], 12),
        ("cc = \"newreno\"", "cc = []", &["lists 0 congestion controls"], 12),
        ("cc = \"newreno\"", "cc = [\"newreno\", \"newreno\"]", &["twice"], 12),
        ("cc = \"newreno\"", "cc = [[\"newreno\"]]", &["a name in quotes"], 12),
        ("cc = \"newreno\"", "cc = { kind = \"newreno\", zz = 1 }", &["unknown key `zz`"], 12),
        ("cc = \"newreno\"", "cc = { }", &["needs the key `kind`"], 12),
        ("cc = \"newreno\"", "cc = { kind = \"cubic\", rules = \"linx\" }", &["did you mean `linux`"], 12),
        ("cc = \"newreno\"", "cc = \"cubic\"\nslow-start = \"hystart+\"", &["did you mean `hystart`"], 13),
        ("cc = \"newreno\"", "cc = \"pfabric\"\nslow-start = \"hystart\"", &["its own slow start", "\"standard\""], 13),
        ("mss = 1460", "mss = 0", &["`mss` is 0", "64 to 65000"], 13),
        ("mss = 1460", "mss = 65000\nheader = 500", &["not valid TOML"], 15),
        ("mss = 1460", "mss = nan", &["must be an integer"], 13),
        ("\"200ms\"", "\"100s\"", &["`rto-min` (100s) is above `rto-max` (60s)"], 15),
        ("\"200ms\"", "\"0s\"", &["`rto-min` is zero"], 15),
        ("rto-min", "rto_min", &["did you mean `rto-min`"], 15),
        ("kind = \"incast\"", "", &["[[workload]] needs the key `kind`"], 16),
        ("kind = \"incast\"", "kind = \"incst\"", &["did you mean `incast`"], 17),
        ("kind = \"incast\"", "kind = \"incast\"\ntransport = \"x\"", &["no [[transport.group]]"], 18),
        ("\"64KB\"", "\"0B\"", &["`block` is 0B"], 18),
        ("\"64KB\"", "\"-64KB\"", &["must not be negative"], 18),
        ("\"64KB\"", "64", &["write \"64B\""], 18),
        ("rounds = 50", "rounds = 0", &["`rounds` is 0"], 19),
        ("rounds = 50", "request-latency = \"0ps\"", &["`request-latency`", "is 0; legal: above zero", "Leave the key out"], 19),
        ("class = \"web\"", "class = \"\"", &["`class` is empty"], 22),
        (
            "class = \"web\"",
            "class = \"incast\"",
            &["[[workload]] 1 and [[workload]] 2 both have the class `incast`", "set `class` of one of them"],
            22,
        ),
        ("{ cdf = \"websearch\" }", "{ cdf = \"websarch\" }", &["did you mean `websearch`", "built-in tables"], 23),
        ("{ cdf = \"websearch\" }", "\"websearch\"", &["write { cdf = \"websearch\" }"], 23),
        ("{ cdf = \"websearch\" }", "{ cdf = \"tests/data/broken.cdf\" }", &["tests/data/broken.cdf:3:", "must not fall"], 23),
        ("{ cdf = \"websearch\" }", "{ cdf = \"tests\" }", &["is a directory"], 23),
        ("{ cdf = \"websearch\" }", "{ uniform = [\"2KB\", \"1KB\"] }", &["above the largest"], 23),
        ("{ cdf = \"websearch\" }", "{ uniform = \"2KB\" }", &["expected a list of two"], 23),
        ("{ cdf = \"websearch\" }", "{ normal = \"2KB\" }", &["no distribution `normal`"], 23),
        ("{ cdf = \"websearch\" }", "{ }", &["has 0 keys", "exactly one"], 23),
        ("{ cdf = \"websearch\" }", "\"trim-http\"", &["write { mixture = \"trim-http\" }"], 23),
        ("{ cdf = \"websearch\" }", "{ cdf = \"trim-http\" }", &["write { mixture = \"trim-http\" }"], 23),
        ("{ cdf = \"websearch\" }", "{ mixture = \"trim-htp\" }", &["did you mean `trim-http`", "list of parts"], 23),
        ("{ cdf = \"websearch\" }", "{ mixture = [] }", &["1 to 1000 parts, not 0"], 23),
        ("{ cdf = \"websearch\" }", "{ mixture = [\"2KB\"] }", &["must be a table, not the text \"2KB\"", "{ share = 18"], 23),
        ("{ cdf = \"websearch\" }", "{ mixture = [{ value = \"2KB\" }] }", &["needs the key `share`"], 23),
        ("{ cdf = \"websearch\" }", "{ mixture = [{ share = 0, value = \"2KB\" }] }", &["`share` is 0"], 23),
        ("{ cdf = \"websearch\" }", "{ mixture = [{ share = 1, value = \"2KB\", cdf = \"websearch\" }] }", &["has 2 keys"], 23),
        ("load = 0.25", "load = nan", &["`load` is NaN"], 24),
        ("load = 0.25", "load = inf", &["`load` is inf"], 24),
        ("load = 0.25", "load = -1", &["`load` is -1"], 24),
        ("load = 0.25", "load = \"25%\"", &["must be a number"], 24),
        ("\"s0..s3\"", "\"s0..s9\"", &["no host or group `s8`"], 25),
        ("\"s0..s3\"", "\"s3..s0\"", &["not a range"], 25),
        ("\"s0..s3\"", "\"s0..s2, s3\"", &["write a list: [\"s0..s2\", \"s3\"]"], 25),
        ("\"s0..s3\"", "\"s0,s3\"", &["no host or group `s0,s3`", "write a list: [\"s0\", \"s3\"]"], 25),
        (
            "buffer = \"100pkt\"",
            "policer = { rate = \"1Gbps\" }",
            &["`policer` is a kind of queue: `queue = { kind = \"policer\""],
            9,
        ),
        ("buffer = \"100pkt\"", "tbf = \"1Gbps\"", &["`policer` is a kind of queue"], 9),
        ("\"s0..s3\"", "\"sw\"", &["`sw` is a switch"], 25),
        ("\"s0..s3\"", "[]", &["must name hosts"], 25),
        ("\"s0..s3\"", "[\"s0\", 3]", &["must name hosts, not 3"], 25),
        ("\"s0..s3\"", "\"recv\"", &["recv"], 26),
        ("\"recv\"", "\"reciever\"", &["did you mean `receiver`"], 26),
        ("port = \"bottleneck\"", "port = \"botleneck\"", &["did you mean `bottleneck`"], 28),
        ("every = \"1ms\"", "every = \"0s\"", &["at least 1ns"], 28),
        ("every = \"1ms\"", "every = \"1ns\"", &["2000000000 samples"], 28),
        ("port = \"bottleneck\", every = \"1ms\"", "port = \"bottleneck\"", &["needs the key `every`"], 28),
        ("flows = [0, 4]", "flows = [0, -4]", &["a flow number is -4"], 29),
        ("flows = [0, 4]", "flows = \"all\"", &["must be a list of flow numbers"], 29),
        ("every = \"ack\"", "every = \"acks\"", &["not a time"], 29),
        ("\"switches\"", "\"switch\"", &["did you mean `switches`"], 30),
        ("\"100ms\"", "\"2s\"", &["leaves nothing to measure"], 31),
        ("warmup = ", "warmpu = ", &["did you mean `warmup`"], 31),
        ("[observe]", "[sweep]\na = [1]\n[observe]", &["a sweep over many"], 27),
        ("warmup = \"100ms\"", "warmup = \"100ms", &["not valid TOML"], 31),
        ("[observe]", "[topology]\n[observe]", &["not valid TOML"], 27),
    ];
    for (old, new, parts, line) in cases {
        assert!(VALID.contains(old), "{old} is not in the base");
        let errors = resolve(&VALID.replacen(old, new, 1)).expect_err(new);
        let got = line_of(&errors, parts);
        assert_eq!(got, Some(*line), "{old} -> {new}: wanted {parts:?}, got\n{}", errors.render());
    }
}

/// Traffic without a transport.
#[test]
fn datagrams_refuse_transport() {
    let head = &VALID[..VALID.find("[[workload]]").unwrap()];
    let udp = "[[workload]]\nkind = \"udp\"\nrate = \"10Mbps\"\n";
    let groups = "[[transport.group]]\nname = \"a\"\n[[transport.group]]\nname = \"b\"\n";
    let cases = [
        (format!("{head}{udp}transport = \"newreno\"\n"), vec!["`udp` uses no transport"], 19),
        (format!("{head}{}{udp}", groups.replace("\"b\"", "\"udp\"")), vec!["a transport group is called `udp`"], 21),
        (format!("{head}{udp}").replace("duration = \"2s\"\n", ""), vec!["never ends", "set `duration`"], 16),
        (format!("{head}{udp}").replace("\"10Mbps\"", "\"2Gbps\""), vec!["more than the interface of host `s0` carries"], 18),
        (
            format!("{head}{udp}packet = \"9KB\"\n").replace("\"100pkt\"", "\"64KB\"").replace("9KB", "65KB"),
            vec!["more than a buffer"],
            17,
        ),
    ];
    for (text, parts, line) in cases {
        let errors = resolve(&text).expect_err(&text);
        assert_eq!(line_of(&errors, &parts), Some(line), "{text}: wanted {parts:?}, got\n{}", errors.render());
    }
    // Beside groups without a rule for workloads that name none.
    assert!(resolve(&format!("{head}{groups}{udp}")).is_ok());
}

/// A shim that acts on the handshake needs one; errors in its parameters name their key.
#[test]
fn shims_below_tcp() {
    let refused = |sets: &[&str]| resolve_with(VALID, sets).unwrap_err().render();
    let text = refused(&["transport.shim=proboscis", "transport.handshake=false"]);
    assert!(text.contains("`proboscis` acts on SYN and SYN-ACK"), "{text}");
    let text = refused(&["transport.shim={ kind = \"proboscis\", gamma = 64 }"]);
    assert!(text.contains("probe-retry-cap") && text.contains("255"), "{text}");
    assert!(resolve_with(VALID, &["transport.shim=proboscis"]).is_ok());
}

#[test]
fn reports_all_errors_in_order() {
    let text = VALID.replace("runs = 2", "runs = 0").replace("senders = 8", "senders = 0").replace("load = 0.25", "load = nan");
    let errors = resolve(&text).unwrap_err();
    let lines: Vec<usize> = errors.list().iter().filter_map(|e| e.line_column()).map(|p| p.0).collect();
    assert_eq!(lines, [3, 7, 24], "{}", errors.render());
}

#[test]
fn missing_parts() {
    let errors = resolve("").unwrap_err();
    let all = errors.render();
    assert!(all.contains("has no [topology]") && all.contains("has no [[workload]]"), "{all}");
    let half = &VALID[..VALID.find("[[workload]]").unwrap()];
    assert!(resolve(half).unwrap_err().render().contains("has no [[workload]]"));
    assert!(resolve("workload = 3").unwrap_err().render().contains("write [[workload]], with two brackets"));
}

#[test]
fn endless_traffic_needs_a_duration() {
    let text = VALID.replace("duration = \"2s\"\n", "");
    let errors = resolve(&text).unwrap_err();
    assert_eq!(line_of(&errors, &["duration"]), Some(20), "{}", errors.render());
}

#[test]
fn packets_and_buffers_fit() {
    let errors = resolve_with(VALID, &["transport.mss=65000", "transport.header=500", "transport.rcv-wnd=1MB"]).map(|_| ());
    assert!(errors.is_ok(), "65500 is legal");
    let errors = resolve_with(VALID, &["transport.mss=65000", "transport.header=500", "transport.rcv-wnd=1KB"]).unwrap_err();
    assert!(errors.render().contains("`rcv-wnd` is 1KB"), "{}", errors.render());
    let errors = resolve_with(VALID, &["topology.shared-buffer={total=\"1KB\", alpha=1.0}"]).unwrap_err();
    assert!(errors.render().contains("smaller than one packet"), "{}", errors.render());
    for (shared, says) in [
        ("{alpha=1.0}", "needs the key `total`"),
        ("{total=\"1MB\", alpha=1.0, per-port=\"5KB\"}", "exclude each other"),
        ("{total=\"1MB\", beta=1.0}", "unknown key `beta`"),
    ] {
        let errors = resolve_with(VALID, &[&format!("topology.shared-buffer={shared}")]).unwrap_err();
        assert!(errors.render().contains(says), "{}", errors.render());
    }
}

#[test]
fn dctcp_needs_a_marking_queue() {
    let Some(cc) = marking_cc() else { return };
    let set = format!("transport.cc={cc}");
    assert!(resolve_with(VALID, &[&set]).is_ok());
    // An explicit drop-tail is intended.
    let chosen = resolve_with(VALID, &[&set, "topology.bottleneck.queue=drop-tail"]).unwrap();
    assert!(chosen.notes.iter().any(|n| n.contains("without marks")), "{:?}", chosen.notes);
    let silent = VALID.replace(", queue = { kind = \"dctcp-step\", k = \"20pkt\" }", "");
    let errors = resolve_with(&silent, &[&set]).unwrap_err();
    assert!(errors.render().contains(&format!("`{cc}` needs marked packets")), "{}", errors.render());
    assert!(resolve_with(VALID, &[&set, "transport.ecn=off"]).unwrap_err().render().contains("`ecn` is \"off\""));
    // Marks on an access link come from the switch port towards the sender, which is enough to run.
    assert!(
        resolve_with(
            VALID,
            &[&set, "topology.bottleneck.queue=drop-tail", "topology.access.queue={kind=\"dctcp-step\",k=\"20pkt\"}"]
        )
        .is_ok()
    );
}

#[test]
fn groups_are_checked() {
    let groups = |a: &str, b: &str| {
        VALID
            .replace("cc = \"newreno\"\n", "")
            .replace("[[workload]]\nkind = \"incast\"", &format!("{a}\n{b}\n[[workload]]\nkind = \"incast\""))
    };
    let a = "[[transport.group]]\nname = \"a\"\ncc = \"newreno\"";
    let b = "[[transport.group]]\nname = \"b\"\nstack = \"linux\"";
    let with = |x: &str, y: &str| groups(&format!("{a}\n{x}"), &format!("{b}\ncc = \"cubic\"\n{y}"));
    for (text, says) in [
        (groups(a, b), "needs the key `transport`"),
        (groups(a, b), "or give the groups `hosts` or a `share`"),
        (with("hosts = \"s0..s3\"", "share = 0.5"), "`share` beside the `hosts` of the group `a`"),
        (with("hosts = \"s0..s3\"", "share = 0.5"), "use one of the two"),
        (with("hosts = \"s0..s3\"", "hosts = [\"s5\", \"s3\"]"), "host `s3` is in the transport groups `a` and `b`"),
        (
            with("hosts = \"s0..s3\"", "hosts = \"s4..s6\""),
            "the workload `incast` sends from host `s7`, which is in no transport group",
        ),
        (with("hosts = \"s0..s3\"", ""), "add it to the `hosts` of `a` or `b`"),
        (with("hosts = \"s0..s9\"", "hosts = \"s4\""), "no host or group `s8`"),
        (with("hosts = \"s0\"", "hosts = []"), "`hosts` must name hosts"),
        (with("share = 0.5", "share = 0.4"), "the shares of the transport groups add up to 0.9"),
        (with("share = 0.5", ""), "add up to 0.5"),
        (with("share = 0", "share = 1"), "`share` is 0"),
        (with("share = 1.5", "share = 0.5"), "`share` is 1.5"),
        (with("share = \"half\"", "share = 0.5"), "`share` must be a number"),
        (with("shere = 0.5", "share = 0.5"), "did you mean `share`"),
        (groups(a, a), "two transport groups are called `a`"),
        (groups(a, "[[transport.group]]"), "needs the key `name`"),
        (groups(a, &b.replace("linux", "linus")), "did you mean `linux`"),
        (groups(a, &format!("{b}\ncc = [\"newreno\"]")), "one congestion control, not a list"),
        (groups(a, &format!("{b}\nrto-max = \"1ms\"")), "is above `rto-max`"),
        (groups(a, b).replace("\"incast\"", "\"incast\"\ntransport = \"c\""), "no transport group `c`"),
        (
            groups(a, b)
                .replace("stack = \"ns2\"", "stack = \"ns2\"\ncc = \"newreno\"")
                .replace("stack = \"linux\"", "cc = \"newreno\""),
            "not used",
        ),
    ] {
        let errors = resolve(&text).expect_err(says);
        assert!(errors.render().contains(says), "wanted {says}, got\n{}", errors.render());
    }
}

#[test]
fn suggested_threshold_scales_with_rate() {
    let queue = format!(", queue = {STEP}");
    for (rate, k) in [("100Mbps", "20pkt"), ("1Gbps", "20pkt"), ("10Gbps", "65pkt"), ("100Gbps", "650pkt")] {
        let text = VALID.replace(&queue, "").replace("rate = \"1Gbps\"", &format!("rate = \"{rate}\""));
        let shown = resolve_with(&text, &["transport.cc=dctcp"]).unwrap_err().render();
        assert!(shown.contains(&format!("k = \"{k}\" }}, common at {rate}")), "{rate}: {shown}");
    }
}

/// Files of other programs that are given as scenarios.
#[test]
fn other_files_are_named() {
    for (text, kind) in [
        ("Nodes 16\nConnections 2\n", "a connection matrix of htsim (.cm)"),
        ("4 1 3\n3\n", "an HPCC topology"),
        ("# flows\n2\n0 1 3 100 5 0\n", "a list of flows (HPCC)"),
        ("src,dst,bytes\n", "a CSV file"),
        ("100 0.5\n200 1\n", "a table of sizes"),
        ("{\"name\": 1}\n", "JSON"),
    ] {
        let errors = resolve(text).expect_err("no scenario");
        let said: Vec<String> = errors.list().iter().map(|e| e.render()).collect();
        assert!(said.len() == 1 && said[0].contains(&format!("this file looks like {kind}")), "{said:?}");
    }
    let errors = resolve("[topology\nkind = 1\n").expect_err("no scenario");
    assert!(errors.list()[0].render().contains("not valid TOML"));
}

/// Percentages of hosts in transport groups.
#[test]
fn percentages_of_hosts() {
    let with = |a: &str, b: &str| {
        let text = VALID.replacen(
            "[[workload]]",
            &format!("[[transport.group]]\nname = \"a\"\nhosts = \"{a}\"\n[[transport.group]]\nname = \"b\"\nhosts = \"{b}\"\n[[workload]]"),
            1,
        );
        resolve(&text).err().map_or(String::new(), |e| e.list().iter().map(|e| e.render()).collect())
    };
    for (a, b, part) in [
        ("25% of senders", "rest", ""),
        ("0%", "100%", ""),
        ("125%", "rest", "legal: 0% to 100%"),
        ("x%", "rest", "not a percentage of hosts"),
        ("25% off senders", "rest", "not a percentage of hosts"),
        ("25% of sender", "rest", "did you mean `senders`"),
        ("1%", "rest", "less than half a host"),
        ("60%", "60%", "the percentages exceed 100%"),
        ("rest", "rest", "both have the rest of the hosts"),
        ("25%", "20%", "no transport for this host"),
    ] {
        let said = with(a, b);
        assert!(said.contains(part) && said.is_empty() == part.is_empty(), "{a}, {b}: {said}");
    }
}
