//! Releases of Linux whose TCP stacks differ in rules that the simulator has.
//!
//! The stack `linux` follows 6.12. Each method is a rule that has changed since 6.1, with the kernel's function.

/// Release that the stack `linux` follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kernel {
    /// Linux 6.1.
    V6_1,
    /// Linux 6.12.
    #[default]
    V6_12,
}

impl Kernel {
    /// All of them, with their names in scenarios.
    pub const NAMED: &[(&str, Kernel)] = &[("6.1", Kernel::V6_1), ("6.12", Kernel::V6_12)];

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        Kernel::NAMED.iter().find(|n| n.1 == self).map_or("", |n| n.0)
    }

    /// The release of a version such as `Linux 6.1.192`; `None`: another one.
    pub fn of_version(text: &str) -> Option<Kernel> {
        let is_in = |name: &str| text.split_whitespace().any(|w| w.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
        Kernel::NAMED.iter().find(|(name, _)| is_in(name)).map(|n| n.1)
    }

    #[inline(always)]
    const fn is_newer_than_6_1(self) -> bool {
        !matches!(self, Kernel::V6_1)
    }

    /// `net.ipv4.tcp_syn_linear_timeouts`, since 6.5: number of SYN timeouts without back-off (tcp_retransmit_timer).
    pub const fn linear_syns(self) -> u32 {
        if self.is_newer_than_6_1() { 4 } else { 0 }
    }

    /// The window follows from the measured ratio of payload to memory (`scaling_ratio` of tcp_measure_rcv_mss, which replaced
    /// `net.ipv4.tcp_adv_win_scale` in 6.6), and not from half of the memory.
    #[inline(always)]
    pub const fn measures_window_scale(self) -> bool {
        self.is_newer_than_6_1()
    }

    /// Data that the application has not read is not counted as read (tcp_rcv_space_adjust).
    #[inline(always)]
    pub const fn subtracts_unread(self) -> bool {
        self.is_newer_than_6_1()
    }

    /// Data that arrives behind a hole updates the estimate of the segment size (tcp_data_queue_ofo calls tcp_measure_rcv_mss).
    #[inline(always)]
    pub const fn measures_mss_behind_holes(self) -> bool {
        self.is_newer_than_6_1()
    }

    /// Segments that echo the current tick of the timestamp clock give no RTT sample (tcp_rcv_rtt_measure_ts). In 6.1 their sample is a tick.
    pub const fn drops_rtts_below_tick(self) -> bool {
        self.is_newer_than_6_1()
    }

    /// The interval of delayed ACKs is at most 200 ms (TCP_DELACK_MAX in tcp_event_data_recv and tcp_delack_timer_handler). In 6.1 only the RTO
    /// limits it.
    pub const fn limits_ack_interval(self) -> bool {
        self.is_newer_than_6_1()
    }

    /// A delayed ACK leaves before the minimum RTO has passed (tcp_delack_max).
    pub const fn delays_acks_below_min_rto(self) -> bool {
        self.is_newer_than_6_1()
    }

    /// An ACK that acknowledges nothing can close the window (tcp_may_update_window).
    pub const fn closes_window_without_new_ack(self) -> bool {
        self.is_newer_than_6_1()
    }

    /// The first buffer that has not been sent takes data of the second one, up to the size of a burst (tcp_grow_skb).
    #[inline(always)]
    pub const fn grows_first_buffer(self) -> bool {
        self.is_newer_than_6_1()
    }

    /// The last segment, with the FIN, obeys the congestion window (tcp_cwnd_test).
    #[inline(always)]
    pub const fn tests_cwnd_of_fin(self) -> bool {
        self.is_newer_than_6_1()
    }

    /// Memory of a buffer that a sender writes beside its payload (SKB_TRUESIZE of the head that tcp_stream_alloc_skb allocates). Since 6.3 small
    /// heads have a cache of their own, of larger objects (SKB_SMALL_HEAD_CACHE_SIZE).
    #[inline(always)]
    pub const fn sent_head(self) -> u64 {
        if self.is_newer_than_6_1() { 832 } else { 768 }
    }

    /// Protective load balancing, since 6.2 (tcp_plb.c).
    pub const fn has_plb(self) -> bool {
        self.is_newer_than_6_1()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_their_release() {
        let of = Kernel::of_version;
        assert_eq!(
            (of("Linux 6.1.192 (c32f9fd2e265)"), of("6.12.117"), of("Linux 6.18.2")),
            (Some(Kernel::V6_1), Some(Kernel::V6_12), None)
        );
        assert_eq!(Kernel::V6_1.name(), "6.1");
    }
}
