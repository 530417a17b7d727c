//! The structs and numbers here against those of the header, as the C compiler has them.

use super::*;
use forebay_kernel::{shims, tags};
use std::fmt::Write as _;
use std::process::Command;

/// Names with the sums of the sizes before each.
pub(super) const fn places<const N: usize>(names: &[&'static str], sizes: &[usize]) -> [(&'static str, usize); N] {
    let mut all = [("", 0); N];
    let (mut i, mut at) = (0, 0);
    while i < N {
        all[i] = (names[i], at);
        at += sizes[i];
        i += 1;
    }
    all
}

/// Compiles a program that prints what C makes of the header, and compares line for line.
#[test]
fn layouts_match_the_c_compiler() {
    let mut program = String::from("#include <stdio.h>\n#include <stddef.h>\n#include \"protocol.h\"\nint main(void) {\n");
    let mut expected = String::new();
    for (kind, size, (name, fields)) in LAYOUTS {
        let _ = writeln!(program, "printf(\"{name} %zu\\n\", sizeof(struct {name}));");
        let _ = writeln!(program, "printf(\"{name} %d\\n\", FB_{});", name[3..].to_uppercase());
        let _ = writeln!(expected, "{name} {size}\n{name} {kind}");
        for (field, place) in *fields {
            let _ = writeln!(program, "printf(\"{name}.{field} %zu\\n\", offsetof(struct {name}, {field}));");
            let _ = writeln!(expected, "{name}.{field} {place}");
        }
    }
    let numbers: &[(&str, u64)] = &[
        ("FB_PROTOCOL", PROTOCOL.into()),
        ("FB_NEVER", NEVER),
        ("FB_NONE", NONE.into()),
        ("FB_HOPS", HOPS as u64),
        ("FB_PATHS", PATHS as u64),
        ("FB_PARAMS", PARAMS as u64),
        ("FB_QUEUE", QUEUE as u64),
        ("FB_TAGS", TAGS as u64),
        ("FB_SHIM", SHIM as u64),
        ("FB_OPTIONS", OPTIONS as u64),
        ("FB_HEADER_BYTES", HEADER as u64),
        ("FB_SHIM_PROBOSCIS", shims::PROBOSCIS),
        ("FB_SHIM_MISBEHAVING", shims::MISBEHAVING),
        ("FB_TAG_SERVICE", tags::SERVICE),
        ("FB_TAG_PIAS", tags::PIAS),
        ("FB_TAG_PRIN", tags::PRIN),
        ("FB_SETUP_END", SETUP_END.into()),
        ("FB_RECORD_SIZES", RECORD_SIZES.into()),
        ("FB_LOG", LOG.into()),
        ("FB_RECORD_PACKETS", number::RECORD_PACKETS),
        ("FB_RECORD_TCP", number::RECORD_TCP),
        ("FB_RECORD_HEADERS", number::RECORD_HEADERS),
        ("FB_RECORD_STATES", number::RECORD_STATES),
        ("FB_STATE_TIMEOUT", number::STATE_TIMEOUT.into()),
        ("FB_STATE_VALUES", STATE_VALUES as u64),
        ("FB_STATE_PRIVATE", STATE_PRIVATE as u64),
        ("FB_SCRIPT", number::SCRIPT),
        ("FB_CALL_SOCKET", call::SOCKET.into()),
        ("FB_CALL_LISTEN", call::LISTEN.into()),
        ("FB_CALL_CONNECT", call::CONNECT.into()),
        ("FB_CALL_ACCEPT", call::ACCEPT.into()),
        ("FB_CALL_SEND", call::SEND.into()),
        ("FB_CALL_RECEIVE", call::RECEIVE.into()),
        ("FB_CALL_SHUTDOWN", call::SHUTDOWN.into()),
        ("FB_CALL_CLOSE", call::CLOSE.into()),
        ("FB_CALL_SET", call::SET.into()),
        ("FB_CALL_GET", call::GET.into()),
        ("FB_QDISC_BQL", number::QDISC_BQL.into()),
        ("FB_GROUP_ECN", number::GROUP_ECN.into()),
        ("FB_GROUP_FIN", number::GROUP_FIN.into()),
        ("FB_GROUP_NODELAY", number::GROUP_NODELAY.into()),
        ("FB_RETUNE_RATE", number::RETUNE_RATE.into()),
        ("FB_RETUNE_DELAY", number::RETUNE_DELAY.into()),
        ("FB_RETUNE_LOSS", number::RETUNE_LOSS.into()),
        ("FB_OPEN_DATAGRAMS", number::OPEN_DATAGRAMS.into()),
        ("FB_OPEN_REVERSE", number::OPEN_REVERSE.into()),
        ("FB_WRITE_LAST", number::WRITE_LAST.into()),
        ("FB_ARRIVED", what::ARRIVED.into()),
        ("FB_MARKED", what::MARKED.into()),
        ("FB_DROPPED", what::DROPPED.into()),
        ("FB_DELIVERED_PACKET", what::DELIVERED.into()),
        ("FB_MARKED_LATER", what::MARKED_LATER.into()),
        ("FB_OVERFLOW", reason::OVERFLOW.into()),
        ("FB_SHARED", reason::SHARED.into()),
        ("FB_EARLY", reason::EARLY.into()),
        ("FB_DEAD", reason::DEAD.into()),
        ("FB_CUT", reason::CUT.into()),
        ("FB_LOST", reason::LOST.into()),
        ("FB_DAMAGED", reason::DAMAGED.into()),
        ("FB_LOSS_RANDOM", number::LOSS_RANDOM.into()),
        ("FB_LOSS_GOOD", number::LOSS_GOOD.into()),
        ("FB_LOSS_BAD", number::LOSS_BAD.into()),
        ("FB_LOSS_LISTED", number::LOSS_LISTED.into()),
        ("FB_TIMER_RTO", timer::RTO.into()),
        ("FB_TIMER_PROBE", timer::PROBE.into()),
        ("FB_TIMER_SYN", timer::SYN.into()),
        ("FB_TIMER_PERSIST", timer::PERSIST.into()),
        ("FB_TIMER_REORDERING", timer::REORDERING.into()),
        ("FB_WAKE", event::WAKE.into()),
        ("FB_ESTABLISHED", event::ESTABLISHED.into()),
        ("FB_DELIVERED", event::DELIVERED.into()),
        ("FB_ACKED", event::ACKED.into()),
        ("FB_FAILED", event::FAILED.into()),
        ("FB_DATAGRAM_IN", event::DATAGRAM_IN.into()),
        ("FB_CLOSED", event::CLOSED.into()),
        ("FB_SENDER_CLOSED", event::SENDER_CLOSED.into()),
    ];
    for (name, value) in numbers {
        let _ = writeln!(program, "printf(\"{name} %llu\\n\", (unsigned long long){name});");
        let _ = writeln!(expected, "{name} {value}");
    }
    program.push_str("return 0;\n}\n");

    let folder = std::env::temp_dir().join(format!("forebay-protocol-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join("layout.c"), folder.join("layout"));
    std::fs::write(&source, program).unwrap();
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernel/driver");
    let built = Command::new("cc").args(["-std=gnu11", "-I", header, "-o"]).arg(&binary).arg(&source).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let printed = Command::new(&binary).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), expected);
}

#[test]
fn record_roundtrip() {
    let open = Open {
        conn: 7,
        group: 1,
        src: 2,
        dst: 3,
        forth_len: 2,
        back_len: 1,
        forth: std::array::from_fn(|i| i as u32),
        back: [9; HOPS],
        ties_forth: 1 << 40,
        ties_back: 5,
        class_of_service: 6,
        flags: number::OPEN_DATAGRAMS,
        rss_forth: 3,
        rss_back: 4,
        deadline: NEVER,
        reverse_of: 8,
        number: 9,
    };
    let mut bytes = Vec::new();
    open.put(&mut bytes);
    assert_eq!(bytes.len(), Open::SIZE);
    assert_eq!(Open::take(&bytes), open);
    assert_eq!(text_in(&text::<16>("reno")), "reno");
}
