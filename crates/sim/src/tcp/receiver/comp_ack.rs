//! Compression of duplicate ACKs (`tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`): after three of them, further ones are withheld and replaced by a
//! single ACK.

use forebay_types::Time;

/// Duplicate ACKs that are sent before they are compressed (TCP_FASTRETRANS_THRESH).
const DUP_ACK_THRESH: u8 = 3;
/// Maximum number of compressed ACKs (`tcp_comp_sack_nr`).
const MAX_HELD: u8 = 44;
/// Maximum delay of a compressed ACK (`tcp_comp_sack_delay_ns`).
const MAX_DELAY: Time = Time::from_ms(1);

/// State of one receiver.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CompressedAcks {
    /// Left edge that the duplicate ACKs acknowledge, the low 32 bits (`compressed_ack_rcv_nxt`).
    rcv_nxt: u32,
    /// Duplicate ACKs sent for it (`dup_ack_counter`).
    dup_acks: u8,
    /// Number of withheld duplicate ACKs (`compressed_ack`).
    held: u8,
    /// True if the withheld ACKs were sent because the segment being processed belongs to other SACK blocks.
    flushed: bool,
}

impl CompressedAcks {
    /// Returns true if ACKs are withheld.
    #[inline(always)]
    pub(super) fn is_holding(&self) -> bool {
        self.held > 0
    }

    /// Withholds a duplicate ACK of `rcv_nxt`. Returns false if it has to be sent.
    pub(super) fn hold(&mut self, rcv_nxt: u64) -> bool {
        let rcv_nxt = rcv_nxt as u32;
        if self.rcv_nxt != rcv_nxt {
            (self.rcv_nxt, self.dup_acks) = (rcv_nxt, 0);
        }
        if self.dup_acks < DUP_ACK_THRESH || self.held >= MAX_HELD {
            self.dup_acks = (self.dup_acks + 1).min(DUP_ACK_THRESH);
            return false;
        }
        self.held += 1;
        true
    }

    /// Delay of the timer after an ACK has been withheld: a twentieth of the RTT, `rtt_us8` in eighths of a microsecond. None if it is running.
    pub(super) fn delay(&self, rtt_us8: u32) -> Option<Time> {
        (self.held == 1).then(|| Time::from_ns(u64::from(rtt_us8) * 125 / 20).min(MAX_DELAY))
    }

    /// Notes that an ACK leaves, which covers the withheld ones.
    #[inline(always)]
    pub(super) fn on_ack_sent(&mut self) {
        self.held = 0;
    }

    /// Notes that the withheld ACKs were sent for the segment being processed, for which no further ACK is scheduled.
    pub(super) fn set_flushed(&mut self) {
        self.flushed = true;
    }

    /// Returns true once after each [`CompressedAcks::set_flushed`].
    pub(super) fn take_flushed(&mut self) -> bool {
        std::mem::take(&mut self.flushed)
    }
}
