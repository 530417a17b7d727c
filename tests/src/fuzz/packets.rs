//! Captures, packet scripts, and frames of the guest kernel.

use crate::fuzz::text;
use forebay_formats::trains::capture::Capture;
use forebay_formats::trains::{Analysis, Options, flows};
use forebay_linux::link::{Incoming, Link};
use forebay_linux::protocol::{self, LOG, Record};
use forebay_validate::{RunOptions, run_text};
use std::io::{Cursor, Write, pipe};
use std::ops::ControlFlow;
use std::time::Duration;

/// A capture, pcap or pcapng: its trains and its flows.
pub(crate) fn capture(bytes: &[u8]) {
    let open = || Capture::new("fuzz.pcap", Box::new(Cursor::new(bytes.to_vec())), Some(bytes.len() as u64));
    if let Ok(mut capture) = open() {
        let mut analysis = Analysis::new(Options::default(), ());
        let _ = analysis.read(&mut capture, |_| ControlFlow::Continue(()));
        let (summary, ()) = analysis.finish();
        // A record has a header of 16 bytes.
        assert!(summary.frames <= bytes.len() as u64 / 16, "{} frames in {} bytes", summary.frames, bytes.len());
    }
    if let Ok(mut capture) = open() {
        let _ = flows(&mut capture, &Options::default());
    }
}

/// A packet script, run against the simulator.
pub(crate) fn script(bytes: &[u8]) {
    if let Some(text) = text(bytes) {
        run_text(text, &RunOptions::default());
    }
}

/// Bytes that a pipe holds without a reader.
const PIPE: usize = 1 << 15;

/// Bytes that a guest kernel sends.
pub(crate) fn guest_protocol(bytes: &[u8]) {
    let (from_guest, mut guest) = pipe().expect("a pipe");
    let (_unread, to_guest) = pipe().expect("a pipe");
    guest.write_all(&bytes[..bytes.len().min(PIPE)]).expect("room in the pipe");
    drop(guest);
    let mut link = Link::new(to_guest, from_guest);
    while let Ok(Incoming::Frame(frame)) = link.next(Duration::ZERO) {
        macro_rules! read {
            ($($record:ident)*) => {
                match frame.kind() {
                    LOG => drop(frame.text()),
                    $(protocol::$record::KIND => frame.records::<protocol::$record>().for_each(drop),)*
                    _ => {}
                }
            };
        }
        read!(Hello Packet Leave Tcp Timer Event Ask Final Done Inject Result Sent ShimRow HostDrops);
    }
}
