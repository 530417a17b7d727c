//! What an ACK tells of the segments that it newly acknowledges or SACKs: to the law, to RACK, and how old they are.

use crate::cc::{Arrival, Cc};
use crate::tcp::common::rack::Rack;
use crate::tcp::common::scoreboard::{EVER_RETX, Scoreboard, Seg};
use crate::tcp::common::undo::older;
use forebay_units::Time;

/// How long ago segments that were sent once had left: the first and the last one that the ACK tells of.
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

/// Takes segments as the scoreboard hands them out.
pub(in crate::tcp) struct AckedSegments<'a> {
    /// The law that hears of every segment.
    pub law: Option<&'a mut Cc>,
    pub rack: &'a mut Rack,
    /// The clock of the scoreboard.
    pub now: Time,
    /// Smallest RTT before this ACK.
    pub min_rtt: Option<Time>,
    /// By the kernel's rules.
    pub linux: bool,
    /// What the ACK echoes, where an echo tells an original from its repetition, and the tick of its clock.
    pub echo: Option<(Time, Time)>,
    /// The episode ends here.
    pub recover: u64,
    /// The lowest of them that was sent once and arrived after data behind it.
    pub late: Option<u64>,
    /// When the last one of them left.
    pub newest: Option<Time>,
    /// Data from before that, sent once, is among them (Linux FLAG_ORIG_SACK_ACKED).
    pub original: bool,
    /// The cumulative ACK covers news that was sent more than once.
    pub repeated: bool,
    /// Of what the cumulative ACK covers, and of what is SACKed.
    pub acked: Ages,
    pub sacked: Ages,
}

impl AckedSegments<'_> {
    /// One segment; `beyond`: data up to there had been delivered before it, which makes it late.
    /// `sacked`: not by the cumulative ACK.
    fn take(&mut self, number: u64, seg: &Seg, beyond: u64, sacked: bool) {
        let again = seg.is(EVER_RETX);
        if let Some(law) = &mut self.law {
            law.segment_arrived(number, &Arrival { now: self.now, left: seg.sent(), end: seg.end(), bytes: seg.len, again });
        }
        self.newest = self.newest.max(Some(seg.sent()));
        self.original |= !again && seg.end() <= self.recover;
        if !again && seg.end() < beyond {
            self.late = Some(self.late.map_or(seg.start, |late| late.min(seg.start)));
        }
        // RFC 8985 section 6.2 step 2: where the echo is older than the retransmission, the original arrived. Of what is SACKed a kernel
        // (tcp_sacktag_one, tcp_rack_advance) has only the test by the smallest RTT.
        let earlier =
            again && !(sacked && self.linux) && self.echo.is_some_and(|(echo, tick)| older(Some(echo), Some(seg.sent()), tick));
        self.rack.on_delivered(seg, self.now, self.min_rtt.filter(|_| !earlier), beyond);
    }

    /// Everything below `snd_una` is acknowledged. True if some of it had been sent more than once.
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

    /// What is in `blocks` is SACKed. True if there is news.
    pub(in crate::tcp) fn sack(&mut self, board: &mut Scoreboard, blocks: &[(u64, u64)]) -> bool {
        let mut news = false;
        for &(start, end) in blocks {
            news |= board.sack(start, end, |number, seg| {
                if !seg.is(EVER_RETX) {
                    self.sacked.note(self.now - seg.sent());
                }
                let beyond = self.rack.highest();
                self.take(number, seg, beyond, true);
            }) > 0;
        }
        news
    }
}
