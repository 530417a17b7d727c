//! The ECE flag of the peer's ACKs.

/// Rule of the flag, with its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Echo {
    /// No ECN.
    Never,
    /// RFC 3168 section 6.1.3: set by a mark, and kept until CWR comes.
    UntilCwr(bool),
    /// RFC 8257 section 3.2: true if the last packet was marked.
    EachMark(bool),
}

impl Echo {
    /// The flag of the next ACK.
    pub(super) fn ece(self) -> bool {
        match self {
            Echo::Never => false,
            Echo::UntilCwr(ece) | Echo::EachMark(ece) => ece,
        }
    }

    /// True if a delayed ACK must leave before the segment is processed, with the flag as it was (RFC 8257 section 3.2: where DCTCP.CE changes).
    pub(super) fn changes(self, marked: bool) -> bool {
        matches!(self, Echo::EachMark(ce) if ce != marked)
    }

    /// A segment arrives.
    pub(super) fn note(&mut self, marked: bool, cwr: bool) {
        match self {
            Echo::Never => {}
            // A mark on the segment with CWR counts: it follows the reduction.
            Echo::UntilCwr(ece) => *ece = marked || (*ece && !cwr),
            Echo::EachMark(ce) => *ce = marked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_echoed_by_both_rules() {
        let flags = |mut echo: Echo| {
            [(false, false), (true, false), (false, false), (false, true), (true, true), (false, true)].map(|(marked, cwr)| {
                let before = echo.changes(marked);
                echo.note(marked, cwr);
                (before, echo.ece())
            })
        };
        assert_eq!(flags(Echo::UntilCwr(false)).map(|f| f.1), [false, true, true, false, true, false]);
        assert_eq!(flags(Echo::UntilCwr(false)).map(|f| f.0), [false; 6]);
        assert_eq!(flags(Echo::EachMark(false)).map(|f| f.1), [false, true, false, false, true, false]);
        assert_eq!(flags(Echo::EachMark(false)).map(|f| f.0), [false, true, true, false, true, true]);
        assert_eq!(flags(Echo::Never), [(false, false); 6]);
    }
}
