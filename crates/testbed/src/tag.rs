//! Classes of service of a sender's packets, by the rules that the guest kernel's driver has for the same numbers (`driver/tag.h`).

use forebay_kernel::tags::{PIAS, PRIN, SERVICE, TAGS};

/// The most urgent class.
const URGENT: u8 = 7;

/// A data segment about to leave, and the message that its first byte belongs to; all in bytes from the start of the stream.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Offset of its first byte.
    pub offset: u64,
    /// Highest sent so far, without it.
    pub high: u64,
    /// Begin of the message.
    pub begin: u64,
    /// End of the message.
    pub end: u64,
    /// Payload of a full segment.
    pub mss: u64,
    /// It is a retransmission.
    pub again: bool,
}

/// Class of a data segment.
pub fn data(tag: &[u64; TAGS], s: &Segment) -> u8 {
    match tag[0] {
        SERVICE => tag[1] as u8,
        // 1: counted for each message, 0: for the connection; then seven sizes.
        PIAS => {
            let (from, to) = if tag[1] == 1 { (s.begin, s.end) } else { (0, u64::MAX) };
            let bytes = s.high.min(to).saturating_sub(from);
            URGENT - tag[2..].iter().filter(|size| bytes >= **size).count() as u8
        }
        // Class of a message's last three segments, counted in full ones from its first byte; 1: of retransmissions too.
        PRIN => {
            let length = s.end - s.begin;
            let last = if length.is_multiple_of(s.mss) { s.mss } else { length % s.mss };
            let tail = last + 2 * s.mss;
            let tail = if length > tail { s.end - tail } else { s.begin };
            let of_tail = (tail..s.end).contains(&s.offset);
            if of_tail || (s.again && tag[2] == 1) { tag[1] as u8 } else { 0 }
        }
        _ => 0,
    }
}

/// Class of a sender's packets without data.
pub fn control(tag: &[u64; TAGS]) -> u8 {
    match tag[0] {
        PIAS => URGENT,
        SERVICE => tag[1] as u8,
        _ => 0,
    }
}

/// Class of what the other end sends.
pub fn answers(tag: &[u64; TAGS]) -> u8 {
    if tag[0] == PIAS { URGENT } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;

    /// The driver's rules, of which the simulator's are the original, on random segments of random messages.
    #[test]
    fn classes_are_the_drivers() {
        let sizes = [1_000, 4_000, 20_000, 50_000, 100_000, u64::MAX, u64::MAX];
        let pias = |per_message| {
            let mut tag = [PIAS, per_message, 0, 0, 0, 0, 0, 0, 0];
            tag[2..].copy_from_slice(&sizes);
            tag
        };
        let of = |kind, class, again| [kind, class, again, 0, 0, 0, 0, 0, 0];
        let mut rng = Rng::stream(5, &[]);
        for tag in [pias(0), pias(1), of(PRIN, 4, 0), of(PRIN, 5, 1), of(SERVICE, 6, 0)] {
            let mut seen = [0; 8];
            for _ in 0..200_000 {
                let begin = rng.below(1 << 20);
                let magnitude = 1 + rng.below(18);
                let end = begin + 1 + rng.below(1 << magnitude);
                let mss = [536, 1_460, 8_960][rng.below(3) as usize];
                let offset = begin + rng.below(end - begin + 1);
                let again = rng.below(4) == 0;
                let high = if again { offset + 1 + rng.below(4 * mss) } else { offset };
                let s = Segment { offset, high, begin, end, mss, again };
                let theirs = forebay_tests::driver::Segment { offset, high, begin, end, mss: mss as u32, again: again.into() };
                let class = data(&tag, &s);
                assert_eq!(u32::from(class), forebay_tests::driver::class(&tag, &theirs), "{tag:?}, {s:?}");
                seen[usize::from(class)] += 1;
            }
            assert!(seen.iter().filter(|n| **n > 1_000).count() >= if tag[0] == SERVICE { 1 } else { 2 }, "{tag:?}: {seen:?}");
        }
    }
}
