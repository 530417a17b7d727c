//! Feedback of marks at a sender: ECE of classic ECN (RFC 3168) and of DCTCP, or the counter of Accurate ECN (RFC 9768). The receiver's counter is in
//! its ACKs ([`Packet::ace`](crate::net::packet::Packet::ace)).
//!
//! ACKs without SACK blocks have an AccECN option, of which the sender reads the counter of marked bytes. Not modeled: the tests for mangled fields
//! (sections 3.2.2.3, 3.2.2.4 and 3.2.3.2), and the handshake encoding of the field in the ACK of a SYN-ACK (section 3.2.2.1).

use crate::net::packet::{Codepoint, Packet, flag};
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::Ecn;

/// RFC 9768 section 3.2.1: initial value of the CE packet counter at both ends.
pub(in crate::tcp) const INITIAL_CEP: u8 = 5;
/// Values of the ACE field (DIVACE).
const DIVACE: u64 = 8;
/// Part of an MSS that marked segments must have on average (SAFETY_FACTOR of RFC 9768 appendix A.2.2).
const SAFETY_FACTOR: u64 = 2;
/// The flags AE, CWR and ECE of a SYN that requests Accurate ECN (RFC 9768 section 3.1.1).
pub(in crate::tcp) const REQUEST: u8 = 0b111;

/// Feedback that a sender gets: none, ECE, or the lowest three bits of a counter. One byte, because every connection has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EcnFeedback(u8);

impl EcnFeedback {
    /// ECN is not in use.
    pub(crate) const NONE: EcnFeedback = EcnFeedback(0);
    /// ACKs carry ECE.
    pub(crate) const ECE: EcnFeedback = EcnFeedback(1);
    /// ACKs carry the lowest bits of a counter, which has its initial value.
    pub(crate) const ACCURATE: EcnFeedback = EcnFeedback(EcnFeedback::COUNTER | INITIAL_CEP);
    /// Bit above the counter.
    const COUNTER: u8 = DIVACE as u8;

    /// Feedback of a connection before or without a handshake.
    pub(in crate::tcp) fn configured(c: &TcpConfig) -> EcnFeedback {
        match c.ecn {
            Ecn::Off => EcnFeedback::NONE,
            ecn if ecn.is_accurate() && !c.latched_echo => EcnFeedback::ACCURATE,
            _ => EcnFeedback::ECE,
        }
    }

    /// Feedback to which `syn_ack` agrees (RFC 9768 table 2), after a SYN that requested the mode of `c`.
    pub(crate) fn negotiated(c: &TcpConfig, syn_ack: &Packet) -> EcnFeedback {
        if c.ecn.is_accurate() {
            match syn_ack.ace() {
                // The IP-ECN field of the SYN, and a combination reserved for later versions (section 3.1.3).
                0b010..=0b110 => return EcnFeedback::ACCURATE,
                // A peer that reflects the flags of the SYN.
                REQUEST => return EcnFeedback::NONE,
                _ => {}
            }
        }
        // RFC 3168 section 6.1.1: ECE alone agrees to ECN; with CWR the peer reflects unknown flags.
        let agrees = c.ecn != Ecn::Off && syn_ack.has(flag::ECE) && !syn_ack.has(flag::CWR);
        if agrees { EcnFeedback::ECE } else { EcnFeedback::NONE }
    }

    /// ECN field of new data.
    pub(in crate::tcp) fn data_codepoint(self, c: &TcpConfig) -> Codepoint {
        match self {
            EcnFeedback::NONE => Codepoint::NotEct,
            // RFC 9331 section 4.2: ECT(1) only with Accurate ECN feedback.
            f if f.is_accurate() && c.ecn == Ecn::L4s => Codepoint::Ect1,
            _ => Codepoint::Ect0,
        }
    }

    /// Returns true if ECN is in use.
    #[inline(always)]
    pub(in crate::tcp) fn is_on(self) -> bool {
        self.0 != 0
    }

    /// Returns true if ACKs carry the counter.
    #[inline(always)]
    pub(in crate::tcp) fn is_accurate(self) -> bool {
        self.0 & EcnFeedback::COUNTER != 0
    }

    /// Returns true if reductions are reported by CWR (RFC 3168 section 6.1.2), which Accurate ECN must not do (RFC 9768 section 3.1.5).
    #[inline(always)]
    pub(in crate::tcp) fn sends_cwr(self) -> bool {
        self == EcnFeedback::ECE
    }

    /// Returns true if the ACK `p` reports a mark.
    #[inline(always)]
    pub(in crate::tcp) fn reports_mark(self, p: &Packet) -> bool {
        match self.is_accurate() {
            true => self.minimum(p) > 0,
            false => self.is_on() && p.has(flag::ECE),
        }
    }

    /// Smallest number of marks that `p` can report: the increment of the counter modulo 8.
    fn minimum(self, p: &Packet) -> u64 {
        u64::from(p.ace().wrapping_sub(self.0) & (DIVACE as u8 - 1))
    }

    /// Packets that `p` reports as marked, if it delivers `newly_acked` packets of up to `mss` bytes; the counter advances. `bytes`: newly marked
    /// bytes, if it has an AccECN option.
    ///
    /// RFC 9768 section 3.2.2.5.2: the counter may have cycled, so the safest likely case counts, which is that of appendix A.2.1. More marks than
    /// packets are correct, because control packets may be marked.
    pub(in crate::tcp) fn take_marks(&mut self, p: &Packet, newly_acked: u64, bytes: Option<u64>, mss: u64) -> u32 {
        let minimum = self.minimum(p);
        self.0 = EcnFeedback::COUNTER | p.ace();
        if minimum > newly_acked {
            return minimum as u32;
        }
        let safer = newly_acked - (newly_acked - minimum) % DIVACE;
        // Appendix A.2.2: the option shows that the counter has not cycled, if marked segments would be smaller than half an MSS then.
        let suffices = bytes.is_some_and(|bytes| bytes <= mss * minimum && bytes * SAFETY_FACTOR < mss * safer);
        let marks = if safer > minimum && suffices { minimum } else { safer };
        u32::try_from(marks).unwrap_or(u32::MAX)
    }
}

/// Flags AE, CWR and ECE of a SYN-ACK that agrees to Accurate ECN: the IP-ECN field of the SYN (RFC 9768 table 2).
pub(in crate::tcp) fn handshake_encoding(syn: Codepoint) -> u8 {
    match syn {
        Codepoint::NotEct => 0b010,
        Codepoint::Ect1 => 0b011,
        Codepoint::Ect0 => 0b100,
        Codepoint::Ce => 0b110,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::profile::tests::config;

    fn packet(flags: u8, ace: u8) -> Packet {
        let mut p = Packet { flags: flag::ACK | flags, ..Packet::default() };
        p.set_ace(ace);
        p
    }

    /// RFC 9768 table 2 and section 3.1.3.
    #[test]
    fn syn_ack_selects_the_feedback() {
        let mut c = config("rfc", "newreno");
        c.ecn = Ecn::Accurate;
        for ace in 0..8 {
            let expected = match ace {
                0b010..=0b110 => EcnFeedback::ACCURATE,
                _ => EcnFeedback::NONE,
            };
            assert_eq!(EcnFeedback::negotiated(&c, &packet(flag::SYN, ace)), expected, "{ace:03b}");
        }
        assert_eq!(EcnFeedback::negotiated(&c, &packet(flag::SYN | flag::ECE, 0)), EcnFeedback::ECE, "a peer with classic ECN");
        // A sender that requests classic ECN takes no counter.
        c.ecn = Ecn::Classic;
        assert_eq!(EcnFeedback::negotiated(&c, &packet(flag::SYN, 0b010)), EcnFeedback::NONE);
        assert_eq!(EcnFeedback::negotiated(&c, &packet(flag::SYN | flag::ECE | flag::CWR, 0)), EcnFeedback::NONE);
    }

    #[test]
    fn counter_advances_modulo_eight() {
        let mut f = EcnFeedback::ACCURATE;
        let marks: Vec<u32> = [5, 6, 7, 1, 1, 0].iter().map(|ace| f.take_marks(&packet(0, *ace), 7, None, 1000)).collect();
        assert_eq!(marks, [0, 1, 1, 2, 0, 7]);
        assert!(f.is_accurate() && f.is_on() && !f.sends_cwr());
    }

    #[test]
    fn news_depends_on_the_feedback() {
        assert!(EcnFeedback::ECE.reports_mark(&packet(flag::ECE, 0)) && !EcnFeedback::ECE.reports_mark(&packet(0, 0)));
        assert!(!EcnFeedback::NONE.reports_mark(&packet(flag::ECE, 0)));
        // The counter of a sender with Accurate ECN uses the bits of ECE and CWR.
        assert!(
            EcnFeedback::ACCURATE.reports_mark(&packet(0, INITIAL_CEP + 1))
                && !EcnFeedback::ACCURATE.reports_mark(&packet(0, INITIAL_CEP))
        );
    }

    /// The examples of appendix A.2.1: nine packets and an increment of two are two marks, ten packets are ten.
    #[test]
    fn long_gaps_take_the_safest_case() {
        let marks = |newly_acked, by: u8| {
            let mut f = EcnFeedback::ACCURATE;
            f.take_marks(&packet(0, (INITIAL_CEP + by) & 7), newly_acked, None, 1460)
        };
        assert_eq!((marks(9, 2), marks(10, 2), marks(7, 0)), (2, 10, 0));
        // Marked control packets: the counter is right, not the number of segments.
        assert_eq!((marks(0, 3), marks(2, 3)), (3, 3));
    }

    /// The examples of appendix A.2.2, and what a receive event has merged: all of it is marked, or nothing.
    #[test]
    fn option_shows_whether_the_counter_cycled() {
        let marks = |newly_acked, by: u8, bytes| {
            let mut f = EcnFeedback::ACCURATE;
            f.take_marks(&packet(0, (INITIAL_CEP + by) & 7), newly_acked, Some(bytes), 1460)
        };
        assert_eq!((marks(8, 0, 1460), marks(10, 2, 1460), marks(15, 7, 10_200)), (8, 2, 7));
        assert_eq!((marks(44, 4, 44 * 1460), marks(44, 0, 0)), (44, 0));
    }

    #[test]
    fn syn_ack_reflects_ecn_of_syn() {
        let all = [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce];
        assert_eq!(all.map(handshake_encoding), [0b010, 0b011, 0b100, 0b110]);
    }
}
