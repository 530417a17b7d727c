//! Features of scripts that the simulator lacks. They follow from the text alone, before anything runs, so that no result can make a script
//! inapplicable.

use crate::code;
use crate::command::{Effect, effects};
use crate::info::NAMES;
use crate::lexer::{Token, tokens};
use crate::script::{Action, Arg, Call, Script, Segment, flag};
use crate::settings::{Settings, Support};
use crate::socket::{CALLS, SOCKET_OPTIONS};

/// Words of the language and of the socket interface for missing features.
const WORDS: &[(&[&str], &str)] = &[
    (
        &["FO", "FOEXP", "MSG_FASTOPEN", "TCP_FASTOPEN", "TCP_FASTOPEN_CONNECT", "TCP_FASTOPEN_KEY", "TCP_FASTOPEN_NO_COOKIE"],
        "TCP Fast Open",
    ),
    (&["SO_ZEROCOPY", "MSG_ZEROCOPY", "splice", "sendfile", "TCP_ZEROCOPY_RECEIVE"], "zero-copy calls"),
    (&["MSG_EOR"], "MSG_EOR"),
    (&["poll", "epoll_create", "epoll_ctl", "epoll_wait", "select"], "readiness (poll, epoll)"),
    (&["ioctl", "open", "pipe", "inq", "TCP_INQ", "TCP_CM_INQ"], "ioctl, files, pipes, TCP_INQ"),
    (&["sendmsg", "recvmsg", "writev", "readv", "msg_iov"], "message headers and vectors"),
    (&["SO_TIMESTAMPING", "SOF_TIMESTAMPING_SOFTWARE", "scm_timestamping", "SCM_TIMESTAMPING"], "timestamps for the application"),
    (&["icmp"], "ICMP"),
    (&["udp", "gre", "GREv0", "mpls", "psp", "PSP", "encap", "raw"], "protocols other than TCP"),
    (&["ipv6", "AF_INET6", "PF_INET6"], "IPv6"),
    (&["md5", "TCP_MD5SIG"], "TCP MD5 signatures"),
    (&["tos", "flowlabel", "ttl", "IP_TOS", "IPV6_TCLASS"], "traffic class, flow label, time to live"),
    (&["TCP_CORK", "MSG_MORE"], "corking"),
    (&["urg", "MSG_OOB"], "urgent data"),
];

/// The reasons why the script `text` is not applicable; empty if it is. `script` is its parsed form, if it has no error.
pub fn missing(text: &str, script: Option<&Script>, stack: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |what: String| {
        if !all.contains(&what) {
            all.push(what);
        }
    };
    let tokens = tokens(text).unwrap_or_default();
    let mut remark = false;
    for (i, (_, token)) in tokens.iter().enumerate() {
        // A remark behind an error, `EPIPE (Broken pipe)`, is no word of the language.
        let error = i > 0 && matches!(&tokens[i - 1].1, Token::Word(w) if w.starts_with('E') && w.len() > 3);
        remark = (remark || (error && *token == Token::Mark('('))) && *token != Token::Mark(')');
        let Token::Word(word) = token else { continue };
        if remark {
            continue;
        }
        for (words, what) in WORDS {
            if words.contains(&word.as_str()) {
                add((*what).into());
            }
        }
    }
    if let Some(script) = script {
        of_script(script, stack, &mut add);
    }
    all
}

fn of_script(script: &Script, stack: &str, add: &mut impl FnMut(String)) {
    let mut settings = Settings::new(stack);
    for s in &script.settings {
        if let Ok(Support::No(what)) = settings.option(&s.name, &s.value) {
            add(what);
        }
    }
    let mut sockets = Sockets::default();
    let mut defined = Vec::new();
    for event in &script.events {
        match &event.action {
            Action::In(segment) => of_arrival(segment, &mut sockets, add),
            Action::Out(segment) => of_segment(segment, add),
            Action::Call(call) => of_call(call, &mut sockets, add),
            Action::Code(text) => {
                match code::used(text) {
                    Err(code::Fault::Syntax(what)) => add(format!("Python beyond the subset: {what}")),
                    Err(_) => {}
                    Ok(names) => {
                        names.iter().filter(|n| !known(n) && !defined.contains(*n)).for_each(|n| add(format!("the value {n}")))
                    }
                }
                defined.extend(code::assigned(text));
            }
            Action::Command(text) => {
                for effect in effects(text) {
                    match effect {
                        Effect::None => {}
                        Effect::Set(..) if sockets.connected => {
                            add("kernel parameters changed while a connection is open".into())
                        }
                        Effect::Set(name, value) => {
                            if let Support::No(what) = settings.parameter(&name, &value) {
                                add(format!("the kernel parameter {what}"));
                            }
                        }
                        Effect::Other(command) => add(format!("the command `{command}`")),
                    }
                }
            }
        }
    }
}

/// Uses of the sockets of a script.
#[derive(Default)]
struct Sockets {
    connected: bool,
    actives: usize,
    accepted: Vec<i64>,
    syns: Vec<u32>,
}

/// Constants that assertions may use.
pub(crate) const CONSTANTS: &[(&str, f64)] = &[
    ("TCP_CA_Open", 0.0),
    ("TCP_CA_Disorder", 1.0),
    ("TCP_CA_CWR", 2.0),
    ("TCP_CA_Recovery", 3.0),
    ("TCP_CA_Loss", 4.0),
    ("TCP_INFINITE_SSTHRESH", 2_147_483_647.0),
    ("TCP_ESTABLISHED", 1.0),
    ("TCP_SYN_SENT", 2.0),
    ("TCP_SYN_RECV", 3.0),
    ("TCP_FIN_WAIT1", 4.0),
    ("TCP_FIN_WAIT2", 5.0),
    ("TCP_TIME_WAIT", 6.0),
    ("TCP_CLOSE", 7.0),
    ("TCP_CLOSE_WAIT", 8.0),
    ("TCP_LAST_ACK", 9.0),
    ("TCP_LISTEN", 10.0),
    ("TCP_CLOSING", 11.0),
    ("True", 1.0),
    ("False", 0.0),
];

fn known(name: &str) -> bool {
    NAMES.contains(&name) || CONSTANTS.iter().any(|(n, _)| *n == name)
}

fn of_segment(segment: &Segment, add: &mut impl FnMut(String)) {
    if segment.flags & flag::RST != 0 {
        add("resets".into());
    }
    if segment.flags & flag::URG != 0 {
        add("urgent data".into());
    }
    if segment.flags & flag::SYN != 0 && segment.len > 0 {
        add("data on a SYN".into());
    }
}

fn of_arrival(segment: &Segment, sockets: &mut Sockets, add: &mut impl FnMut(String)) {
    of_segment(segment, add);
    let has = |mask| segment.flags & mask != 0;
    if !has(flag::ACK | flag::SYN) {
        add("segments without ACK".into());
    }
    if has(flag::SYN) && !has(flag::ACK) {
        if sockets.actives > 0 {
            add("simultaneous open".into());
        }
        if !sockets.syns.contains(&segment.seq) {
            sockets.syns.push(segment.seq);
        }
        if sockets.syns.len() > 1 {
            add("more than one connection".into());
        }
    }
    sockets.connected |= has(flag::SYN);
}

fn of_call(call: &Call, sockets: &mut Sockets, add: &mut impl FnMut(String)) {
    if !CALLS.contains(&call.name.as_str()) {
        return add(format!("the call {}", call.name));
    }
    if let Some(error) = call.errno.as_deref().filter(|e| !["EINPROGRESS", "EAGAIN"].contains(e)) {
        add(format!("calls that fail with {error}"));
    }
    let name = |index: usize| match call.args.get(index) {
        Some(Arg::Word(w)) => w.as_str(),
        _ => "",
    };
    match call.name.as_str() {
        "setsockopt" | "getsockopt" => {
            let plenty = name(2) == "SO_SNDBUF"
                && matches!(&call.args[3..], [Arg::List(v), ..] if matches!(v[..], [Arg::Int(n)] if n >= 200_000));
            if !SOCKET_OPTIONS.contains(&name(2)) && !plenty {
                add(format!("the socket option {}", name(2)));
            }
            let late = matches!(call.args.first(), Some(Arg::Int(fd)) if sockets.accepted.contains(fd)) || sockets.connected;
            if call.name == "setsockopt" && ["TCP_CONGESTION", "TCP_MAXSEG"].contains(&name(2)) && late {
                add(format!("{} of an open connection", name(2)));
            }
        }
        "accept" => {
            if let Arg::Int(fd) = call.result
                && fd >= 0
            {
                sockets.accepted.push(fd);
            }
            if sockets.accepted.len() > 1 {
                add("more than one connection".into());
            }
        }
        "connect" => {
            let again = call.result == Arg::Int(0) && call.until.is_none();
            sockets.actives += usize::from(!again);
            sockets.connected = true;
            if sockets.actives > 1 {
                add("more than one connection".into());
            }
        }
        "socket" if !matches!(name(1), "SOCK_STREAM" | "") => add(format!("sockets of kind {}", name(1))),
        "write" | "send" | "sendto" => {
            if let (Some(Arg::Int(requested)), Arg::Int(done)) = (call.args.get(2), &call.result)
                && done < requested
                && call.errno.is_none()
            {
                add("a send buffer that fills".into());
            }
            if call.errno.as_deref() == Some("EAGAIN") || call.until.is_some() {
                add("a send buffer that fills".into());
            }
        }
        "read" | "recv" | "recvfrom" if call.args.get(3).is_some_and(|f| *f != Arg::Int(0)) => {
            add(format!("{} with flags", call.name));
        }
        _ => {}
    }
}
