//! File formats.

use crate::generator::*;

fn frames() -> Vec<Captured> {
    cut(&conversation(CLIENT, SERVER), 96, |t| t.frame(&[]))
}

#[test]
fn pcap_in_both_orders_and_units() {
    for big in [false, true] {
        for nanoseconds in [false, true] {
            let form = Form { big, nanoseconds, ..FORM };
            assert_eq!(sizes(&flows_in(&form.pcap(&frames()))), SIZES, "{form:?}");
        }
    }
}

#[test]
fn pcapng_in_both_orders_and_units() {
    for big in [false, true] {
        for nanoseconds in [false, true] {
            let form = Form { big, nanoseconds, ..FORM };
            assert_eq!(sizes(&flows_in(&form.pcapng(&frames()))), SIZES, "{form:?}");
        }
    }
}

#[test]
fn nanoseconds_are_exact() {
    let mut all = frames();
    all.iter_mut().for_each(|f| f.0 += 123);
    for bytes in [FORM.pcap(&all), FORM.pcapng(&all)] {
        assert_eq!(flows_in(&bytes)[0].start_ns, EPOCH + 123);
    }
}

#[test]
fn sections_with_other_orders_and_resolutions() {
    let all = frames();
    let second = |ns: u64| ns - EPOCH;
    // Powers of two, with an offset of the epoch in the option 14.
    let epoch_s = (EPOCH / 1_000_000_000) as i64;
    let big = Form { big: true, ..FORM };
    let mut bytes = FORM.pcapng(&all[..4]);
    bytes.extend(big.section(0, &[(9, vec![0x80 | 30]), (14, epoch_s.to_be_bytes().to_vec())]));
    for f in &all[4..6] {
        bytes.extend(big.packet((u128::from(second(f.0)) << 30).div_ceil(1_000_000_000) as u64, f));
    }
    bytes.extend(big.block(0xbad, &[1, 2, 3, 4, 5, 6, 7, 8]));
    bytes.extend(FORM.section(0, &[(2, b"eth0".to_vec()), (9, vec![12]), (14, epoch_s.to_le_bytes().to_vec())]));
    all[6..].iter().for_each(|f| bytes.extend(FORM.packet(second(f.0) * 1_000, f)));
    assert_eq!(sizes(&flows_in(&bytes)), SIZES);
}

#[test]
fn simple_packets_have_the_last_time() {
    let all = frames();
    let mut bytes = FORM.section(60, &[(9, vec![9])]);
    bytes.extend(FORM.packet(EPOCH, &all[0]));
    for (_, data, wire) in &all[1..] {
        let mut body = FORM.u32(*wire).to_vec();
        body.extend(&data[..data.len().min(60).min(*wire as usize)]);
        bytes.extend(FORM.block(3, &body));
    }
    assert_eq!(sizes(&flows_in(&bytes)), [(10_000, 0), (500, 0)]);
}

#[test]
fn packet_blocks_of_old_files() {
    for big in [false, true] {
        let form = Form { big, ..FORM };
        let mut bytes = form.section(96, &[(9, vec![9])]);
        for (time, data, wire) in frames() {
            // The interface, and a count of drops.
            let mut body = [form.u16(0), form.u16(7)].concat();
            [(time >> 32) as u32, time as u32, data.len() as u32, wire].iter().for_each(|v| body.extend(form.u32(*v)));
            body.extend(&data);
            bytes.extend(form.block(2, &body));
        }
        assert_eq!(sizes(&flows_in(&bytes)), SIZES);
    }
}

#[test]
fn other_files_are_refused() {
    for (bytes, expected) in [
        (&b""[..], "is empty"),
        (b"\x1f\x8b\x08\x00abcd", "zcat"),
        (b"\x28\xb5\x2f\xfd", "zstdcat"),
        (b"GIF89a", "is not a capture"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "ends after 6 bytes of the file header"),
    ] {
        let message = open(bytes).unwrap_err().to_string();
        assert!(message.starts_with("`test.pcap`: ") && message.contains(expected), "{message}");
    }
}

#[test]
fn damage_names_record_and_byte() {
    let mut bytes = FORM.pcap(&frames());
    // The captured length of the second record.
    bytes[24 + 16 + 58 + 8 + 3] = 0x7f;
    let message = forebay_formats::trains::flows(&mut open(&bytes).unwrap(), &Default::default()).unwrap_err().to_string();
    assert!(message.starts_with("`test.pcap`, record 2 at byte 98: the frame claims "), "{message}");

    let mut bytes = FORM.pcapng(&frames());
    let at = FORM.pcapng(&frames()[..1]).len();
    bytes[at + 8] = 9;
    let message = forebay_formats::trains::flows(&mut open(&bytes).unwrap(), &Default::default()).unwrap_err().to_string();
    assert!(message.starts_with(&format!("`test.pcap`, record 4 at byte {at}: the packet is from interface 9")), "{message}");
}

#[test]
fn truncated_last_packet_is_a_note() {
    for bytes in [FORM.pcap(&frames()), FORM.pcapng(&frames())] {
        let (summary, ()) = analyze(&bytes[..bytes.len() - 7], Default::default(), ());
        assert_eq!((summary.frames, summary.bytes), (9, 10_500));
        assert!(summary.notes[0].contains("ends within record"), "{:?}", summary.notes);
    }
}
