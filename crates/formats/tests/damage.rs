//! Damaged captures: any prefix, any changed byte, and random bytes end with a result or an error that names its place.

use crate::generator::*;
use forebay_formats::trains::{Analysis, Options};
use proptest::prelude::*;
use std::ops::ControlFlow;

/// Reads the bytes as a capture. Errors name the file.
fn read(bytes: &[u8]) {
    let done = open(bytes).and_then(|mut capture| {
        let mut analysis = Analysis::new(Options::default(), ());
        let done = analysis.read(&mut capture, |_| ControlFlow::Continue(()));
        let (summary, ()) = analysis.finish();
        // At least 16 bytes of a file make a frame.
        assert!(summary.frames <= bytes.len() as u64 / 16);
        done
    });
    if let Err(e) = done {
        assert!(e.to_string().starts_with("`test.pcap`"), "{e}");
    }
}

/// A capture of each format, with tags, tunnels, options and both address families.
fn samples() -> Vec<Vec<u8>> {
    let mut frames = cut(&conversation(CLIENT, SERVER), 96, |t| t.frame(&[0x8100]));
    let mut options = conversation(CLIENT6, SERVER6);
    options.iter_mut().for_each(|(_, t)| (t.timestamps, t.sack) = (Some((1, 2)), vec![(3, 9), (20, 30)]));
    frames.extend(cut(&options, 140, |t| t.frame(&[])));
    frames.extend(cut(&conversation(CLIENT, SERVER)[..4], 120, |t| t.tunnel(Tunnel::Vxlan)));
    frames.extend(cut(&conversation(CLIENT6, SERVER6)[..4], 160, |t| t.tunnel(Tunnel::GreEthernet)));
    let cooked = cut(&conversation(CLIENT, SERVER), 96, Tcp::cooked2);
    let big = Form { big: true, ..FORM };
    vec![FORM.pcap(&frames), big.pcapng(&frames), Form { link: 276, nanoseconds: false, ..FORM }.pcapng(&cooked)]
}

#[test]
fn truncated_at_every_byte() {
    for sample in samples() {
        (0..sample.len()).for_each(|len| read(&sample[..len]));
    }
}

#[test]
fn every_byte_changed() {
    for mut sample in samples() {
        for i in 0..sample.len() {
            for flip in [0x01, 0x80, 0xff] {
                sample[i] ^= flip;
                read(&sample);
                sample[i] ^= flip;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn several_bytes_changed(which in 0..3_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut sample = samples().swap_remove(which);
        for (at, value) in changes {
            let at = at.index(sample.len());
            sample[at] = value;
        }
        read(&sample);
    }

    #[test]
    fn random_frames(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..160), 1..20), link in prop::sample::select(vec![0_u16, 1, 12, 101, 108, 113, 228, 229, 276, 999])) {
        let frames: Vec<Captured> = frames.into_iter().enumerate().map(|(i, f)| (i as u64, f.clone(), 2 * f.len() as u32)).collect();
        read(&Form { link, ..FORM }.pcapng(&frames));
    }

    #[test]
    fn random_segments(segments in prop::collection::vec((any::<bool>(), any::<u32>(), any::<u32>(), any::<u8>(), 0..3_000_u32, any::<u64>()), 1..60)) {
        let packets: Vec<(u64, Tcp)> = segments.into_iter().map(|(up, seq, ack, flags, payload, time)| {
            let (src, dst) = if up { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
            (time >> 20, Tcp { seq, ack, flags, payload, sack: vec![(ack, seq)], ..Tcp::new(src, dst) })
        }).collect();
        read(&FORM.pcapng(&cut(&packets, 100, |t| t.frame(&[]))));
    }
}
