//! Rules of Linux 6.1 beside those of 6.12 (`kernel` of `[transport]`).

use crate::scripted::receiver::Script as Receiver;
use crate::scripted::sender::Script;
use crate::scripted::{config, config_with};
use forebay_experiment::kernel::Kernel;
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::param::Value;

fn linux(kernel: Kernel) -> TcpConfig {
    let mut c = config_with("linux", "newreno", &[("kernel", Value::Text(kernel.name().into()))], &[]);
    assert_eq!(c.kernel, kernel);
    c.init_cwnd = 10;
    c
}

/// Both of them, with what is expected of each.
fn each<T>(old: T, new: T) -> [(Kernel, T); 2] {
    [(Kernel::V6_1, old), (Kernel::V6_12, new)]
}

#[test]
fn default_is_6_12() {
    assert_eq!(config("linux", "cubic").kernel, Kernel::V6_12);
}

/// tcp_retransmit_timer: SYNs after 1, 2, 4 s in 6.1, and four times after 1 s in 6.12 (`net.ipv4.tcp_syn_linear_timeouts`).
#[test]
fn syn_timeouts_double_in_6_1() {
    for (kernel, seconds) in each([1, 2, 4], [1, 1, 1]) {
        let mut t = Script::closed(linux(kernel));
        let sent = seconds.map(|_| t.timer() / 1_000_000);
        assert_eq!(sent, seconds, "{kernel:?}");
    }
}

/// tcp_cwnd_test: the last segment with the FIN leaves in 6.1 though the congestion window is full.
#[test]
fn final_fin_exceeds_window() {
    for (kernel, sent) in each("0 1(500)F", "0") {
        let mut c = linux(kernel);
        c.init_cwnd = 1;
        let mut t = Script::new(c, 0);
        t.write_bytes(1_500, true);
        assert_eq!(t.sent(), sent, "{kernel:?}");
        let mut c = linux(kernel);
        c.init_cwnd = 1;
        let mut t = Script::new(c, 0);
        t.write_bytes(2_500, true);
        assert_eq!(t.sent(), "0", "{kernel:?}: a full segment without the FIN obeys the window");
    }
}

/// tcp_may_update_window: an ACK that acknowledges nothing and closes the window is a duplicate in 6.1.
#[test]
fn closed_window_is_duplicate() {
    for (kernel, sacked) in each(3, 0) {
        let mut c = linux(kernel);
        c.recovery = forebay_experiment::transport::Recovery::NewReno;
        (c.eifel, c.frto, c.timestamps) = (false, false, false);
        let mut t = Script::closed(c);
        t.window = 20_000;
        t.syn_ack();
        t.write(10);
        t.at(200).ack(4);
        t.window = 0;
        t.dup(4, 3);
        assert_eq!(t.s.counts(&t.c).sacked, sacked, "{kernel:?}");
    }
}

/// tcp_select_initial_window: the 16 bits of the SYN-ACK limit the first window in 6.1 also for a large SO_RCVBUF.
#[test]
fn first_window_has_16_bits() {
    for (kernel, window) in each(65_535, 1_000_000) {
        let mut c = linux(kernel);
        c.rcv_buf = Some(1_000_000);
        let shift = (2_000_000u32 / 2).ilog2() - 15;
        let mut r = Receiver::new(c);
        r.data(0).data(1);
        let shown = u32::from(r.packets()[0].win) << shift;
        // A segment may have opened it.
        assert!(shown.abs_diff(window) <= 8_000, "{kernel:?}: {shown}");
    }
}
