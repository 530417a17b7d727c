//! Segments that an ACK newly acknowledges or SACKs: notifications of the congestion control, evidence for RACK, and RTT samples (tcp_rate.c).

use crate::cc::{Arrival, Cc};
use crate::tcp::common::rack::Rack;
use crate::tcp::common::scoreboard::{EVER_RETX, LOST, RETX, Scoreboard, Seg};
use crate::tcp::common::undo_state::older;
use crate::tcp::common::write_queue::WriteQueue;
use forebay_types::Time;

/// Ages of segments that were sent once: of the first and the last one that the ACK covers.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tcp) struct Ages {
    pub first: Option<Time>,
    pub last: Option<Time>,
}

impl Ages {
    fn note(&mut self, age: Time) {
        self.first.get_or_insert(age);
        self.last = Some(age);
    }
}

/// Visitor of the newly acknowledged segments of a scoreboard.
pub(in crate::tcp) struct AckedSegments<'a> {
    /// Congestion control that is notified of each segment.
    pub cc: Option<&'a mut Cc>,
    pub rack: &'a mut Rack,
    /// Buffers of the sender, with segmentation offload.
    pub buffers: Option<&'a mut WriteQueue>,
    /// Time by the clock of the scoreboard.
    pub now: Time,
    /// Smallest RTT before this ACK.
    pub min_rtt: Option<Time>,
    /// True in Linux.
    pub linux: bool,
    /// Echoed timestamp, where it distinguishes an original from its retransmission, and the tick of its clock.
    pub echo: Option<(Time, Time)>,
    /// End of the episode.
    pub recover: u64,
    /// Lowest segment that was sent once and arrived after data behind it.
    pub late: Option<u64>,
    /// Send time of the latest of the segments.
    pub newest: Option<Time>,
    /// True if data from before the end of the episode, sent once, is among them (Linux FLAG_ORIG_SACK_ACKED).
    pub original: bool,
    /// True if the cumulative ACK newly covers data that was sent more than once.
    pub repeated: bool,
    /// Ages of the segments that the ACK acknowledges, and of those that it SACKs.
    pub acked: Ages,
    pub sacked: Ages,
}

impl AckedSegments<'_> {
    /// Takes one segment. Data up to `beyond` had been delivered before it; a segment below is late. `sacked`: it is not covered by the cumulative
    /// ACK.
    fn take(&mut self, number: u64, seg: &Seg, beyond: u64, sacked: bool) {
        let again = seg.is(EVER_RETX);
        if let Some(cc) = &mut self.cc {
            cc.segment_arrived(number, &Arrival { now: self.now, left: seg.sent(), end: seg.end(), bytes: seg.len, again });
        }
        self.newest = self.newest.max(Some(seg.sent()));
        self.original |= !again && seg.end() <= self.recover;
        if !again && seg.end() < beyond {
            self.late = Some(self.late.map_or(seg.start, |late| late.min(seg.start)));
        }
        // RFC 8985 section 6.2 step 2: where the echo is older than the retransmission, the original arrived. For SACKed segments, a kernel
        // (tcp_sacktag_one, tcp_rack_advance) only tests against the smallest RTT.
        let earlier =
            again && !(sacked && self.linux) && self.echo.is_some_and(|(echo, tick)| older(Some(echo), Some(seg.sent()), tick));
        self.rack.on_delivered(seg, self.now, self.min_rtt.filter(|_| !earlier), beyond);
    }

    /// Takes the cumulative ACK up to `snd_una`. Returns true if some of the data had been sent more than once.
    pub(in crate::tcp) fn acknowledge(&mut self, board: &mut Scoreboard, snd_una: u64, beyond: Option<u64>) -> bool {
        board.acknowledge(snd_una, |number, seg| {
            if seg.is(EVER_RETX) {
                self.repeated = true;
            } else {
                self.acked.note(self.now - seg.sent());
            }
            let beyond = beyond.unwrap_or(self.rack.highest());
            self.take(number, seg, beyond, false);
        })
    }

    /// Takes SACK blocks. Returns true if they report something new.
    pub(in crate::tcp) fn sack(&mut self, board: &mut Scoreboard, blocks: &[(u64, u64)]) -> bool {
        let mut news = false;
        for &(start, end) in blocks {
            news |= board.sack(start, end, |number, seg| {
                if !seg.is(EVER_RETX) {
                    self.sacked.note(self.now - seg.sent());
                }
                let beyond = self.rack.highest();
                self.take(number, seg, beyond, true);
                if let Some(q) = &mut self.buffers {
                    q.sack((seg.start, seg.end()), seg.is(RETX) && !seg.is(LOST));
                }
            }) > 0;
        }
        news
    }
}
