//! ECN echo: latched from CE until CWR (RFC 3168 section 6.1.3), or the CE value of the current run of packets (RFC 8257 section 3.2). For Accurate ECN
//! only the decision which packets are acknowledged immediately: the counter is in the template of ACKs.

use crate::net::packet::{Codepoint, Packet, flag};
use crate::tcp::config::TcpConfig;
use forebay_experiment::transport::Ecn;

/// The echo is latched from CE to CWR.
const CLASSIC: u8 = 1;
/// The echo is the CE value of the packets being acknowledged (`DCTCP.CE`).
const PER_RUN: u8 = 2;
/// ACKs carry ECE.
const ECE: u8 = 4;
/// An ECN-capable segment has arrived (TCP_ECN_SEEN).
const SEEN: u8 = 8;
/// The echo had been latched when the last segment was processed (TCP_ECN_DEMAND_CWR).
const DEMAND_CWR: u8 = 16;
/// Marks are counted (RFC 9768).
const ACCURATE: u8 = 32;
/// With `ACCURATE`: the last packet was marked.
const LAST_MARKED: u8 = 64;
/// With `ACCURATE`: a mark did not cause an ACK.
const UNREPORTED: u8 = 128;

/// State of the echo of one receiver: a set of flags, because every connection has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EcnEcho(u8);

impl EcnEcho {
    pub(super) fn new(c: &TcpConfig) -> EcnEcho {
        EcnEcho(match c.ecn {
            Ecn::Off => 0,
            Ecn::Classic => CLASSIC,
            Ecn::Dctcp if c.latched_echo => CLASSIC,
            Ecn::Dctcp => PER_RUN,
            Ecn::Accurate | Ecn::L4s if c.latched_echo => CLASSIC,
            Ecn::Accurate | Ecn::L4s => ACCURATE,
        })
    }

    /// Returns true if ECN is negotiated, or still may be.
    pub(super) fn is_on(self) -> bool {
        self.0 & (CLASSIC | PER_RUN | ACCURATE) != 0
    }

    /// Returns true if marks are counted.
    #[inline(always)]
    pub(super) fn is_accurate(self) -> bool {
        self.0 & ACCURATE != 0
    }

    /// Notes that the peer has classic ECN only.
    pub(super) fn fall_back(&mut self) {
        self.0 = CLASSIC;
    }

    /// Notes `count` packets with CE or without. Returns true if they must be acknowledged immediately (RFC 9768 section 3.2.2.5.1): the first marked
    /// packet after others, and every second mark. Our choice for marks that another ACK has reported: they count too.
    pub(super) fn on_counted(&mut self, marked: bool, count: u32) -> bool {
        let change = marked && self.0 & LAST_MARKED == 0;
        let due = change || marked && (count >= 2 || self.0 & UNREPORTED != 0);
        self.0 &= !(LAST_MARKED | UNREPORTED);
        if marked {
            self.0 |= LAST_MARKED | if due { 0 } else { UNREPORTED };
        }
        due
    }

    /// Notes that the peer did not negotiate ECN.
    pub(super) fn disable(&mut self) {
        self.0 = 0;
    }

    /// Returns true if ACKs carry ECE.
    #[inline(always)]
    pub(super) fn is_echoing(self) -> bool {
        self.0 & ECE != 0
    }

    /// Returns true if a packet with CE or without (`ce`) leaves DCTCP's echo as it is.
    #[inline(always)]
    pub(super) fn continues_run(self, ce: bool) -> bool {
        self.0 & PER_RUN == 0 || self.is_echoing() == ce
    }

    /// The CE value to assume of a packet whose ECN field does not count: the one that leaves the echo as it is.
    pub(super) fn unchanged(self) -> bool {
        self.0 & PER_RUN != 0 && self.is_echoing()
    }

    /// Updates the echo for `p`, whose CE value is `ce`; DCTCP's changes in [`EcnEcho::start_run`]. True when a DCTCP run of equal CE values ends.
    #[inline]
    pub(super) fn on_segment(&mut self, p: &Packet, ce: bool) -> bool {
        if self.0 & CLASSIC != 0 {
            //= https://www.rfc-editor.org/rfc/rfc3168#section-6.1.3
            //# After the receipt of the CWR packet, acknowledgments for subsequent non-CE data packets do not have the ECN-Echo
            //# flag set.
            // RFC 3168 section 6.1.3: CWR ends the echo, a CE on the same packet starts another.
            let latched = (self.is_echoing() && !p.has(flag::CWR)) || ce;
            self.set_ece(latched);
        }
        !self.continues_run(ce)
    }

    /// Notes that further packets have the CE value `ce`.
    #[inline]
    pub(super) fn start_run(&mut self, ce: bool) {
        if self.0 & PER_RUN != 0 {
            self.set_ece(ce);
        }
    }

    #[inline(always)]
    fn set_ece(&mut self, ece: bool) {
        self.0 = self.0 & !ECE | if ece { ECE } else { 0 };
    }

    /// Returns true if a segment with this ECN field changes nothing: neither the echo nor the assumption that the sender's segments are ECN-capable,
    /// which retransmissions of classic ECN are not (__tcp_ecn_check_ce).
    #[inline(always)]
    pub(super) fn expects(self, ecn: Codepoint) -> bool {
        let ce = ecn == Codepoint::Ce;
        let capable = ecn != Codepoint::NotEct || self.0 & SEEN == 0;
        match self.0 & (CLASSIC | PER_RUN) {
            0 => true,
            CLASSIC => !self.is_echoing() && !ce && capable,
            _ => self.is_echoing() == ce && capable,
        }
    }

    /// Notes the ECN field of a segment that [`EcnEcho::expects`].
    #[inline(always)]
    pub(super) fn on_expected(&mut self, ecn: Codepoint) {
        self.note_capable(ecn);
        self.0 &= !DEMAND_CWR;
    }

    #[inline(always)]
    fn note_capable(&mut self, ecn: Codepoint) {
        self.0 |= if ecn == Codepoint::NotEct { 0 } else { SEEN };
    }

    /// Returns true if `p`, for which the echo has been updated, makes Linux acknowledge immediately (__tcp_ecn_check_ce): an echo begins, or the
    /// sender retransmits, in classic ECN with segments that are not ECN-capable.
    pub(super) fn demands_quickack(&mut self, p: &Packet) -> bool {
        let latched = self.0 & CLASSIC != 0 && self.is_echoing();
        // A segment with CWR ends one echo (tcp_ecn_accept_cwr), and begins another if it is marked.
        let restarted = p.has(flag::CWR) && p.ecn() == Codepoint::Ce;
        let demands = (latched && (self.0 & DEMAND_CWR == 0 || restarted))
            || (self.0 & SEEN != 0 && p.ecn() == Codepoint::NotEct && self.is_on());
        self.note_capable(p.ecn());
        self.0 = self.0 & !DEMAND_CWR | if latched { DEMAND_CWR } else { 0 };
        demands
    }
}
