//! Through all that a scoreboard knows (`forebay_units::Walk`). Numbers of segments count from the oldest one, and stay as they are; of
//! those below it nothing is asked.

use super::hints::SearchHints;
use super::order::{Order, Sent};
use super::{SACKED, Scoreboard, Seg};
use forebay_units::{Time, Walk};
use std::cmp::Reverse;
use std::collections::VecDeque;

impl Scoreboard {
    pub(in crate::tcp) fn walk(&mut self, v: &mut dyn Walk) {
        #[rustfmt::skip]
        let Scoreboard { segs, base, sacked, sacked_segs, retx_segs, lost_segs, waiting, flagged: _, lost, retx, marked, losses, search } = self;
        let base = *base;
        v.same(segs.len() as u64);
        for Seg { start, sent_or_number, len, flags } in segs {
            v.offset(start);
            if *flags & SACKED != 0 {
                v.same(*sent_or_number - base);
            } else {
                let mut sent = Time(*sent_or_number);
                v.time(&mut sent);
                *sent_or_number = sent.0;
            }
            v.same(u64::from(*len) << 8 | u64::from(*flags));
        }
        [*sacked, *lost, *retx].into_iter().for_each(|n| v.same(n));
        [*sacked_segs, *retx_segs, *lost_segs, *waiting].into_iter().for_each(|n| v.same(u64::from(n)));
        v.count32(marked);
        if losses.is_some() {
            v.never("a law follows every segment");
        }
        let made = search.made();
        v.flag(made.is_some());
        if let Some(search) = made {
            search.walk(base, v);
        }
    }
}

impl SearchHints {
    fn walk(&mut self, base: u64, v: &mut dyn Walk) {
        let SearchHints { blocks, oldest_block, top_sacked, lost_hint, below_hint, hole_hint, marked_below, above, order } = self;
        for (start, number) in blocks {
            v.mark(start);
            v.same(number.saturating_sub(base));
        }
        v.same(*oldest_block as u64);
        [*top_sacked, *lost_hint, *hole_hint, *marked_below].into_iter().for_each(|number| v.same(number.saturating_sub(base)));
        let mut below: Vec<u64> = below_hint.iter().map(|Reverse(number)| *number).filter(|number| *number >= base).collect();
        below.sort_unstable();
        v.same(below.len() as u64);
        below.into_iter().for_each(|number| v.same(number - base));
        v.same(u64::from(above.0));
        v.same(above.1);
        let Order { first, again, passed } = order;
        v.same(first.saturating_sub(base));
        walk_sent(again, base, v);
        walk_sent(passed, base, v);
    }
}

fn walk_sent(list: &mut VecDeque<Sent>, base: u64, v: &mut dyn Walk) {
    // Those of segments that have gone are forgotten when somebody looks.
    let there = list.iter().filter(|s| s.number >= base).count();
    v.same(there as u64);
    for Sent { time, number } in list.iter_mut().filter(|s| s.number >= base) {
        v.time(time);
        v.same(*number - base);
    }
}
