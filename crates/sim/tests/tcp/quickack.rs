//! ACKs and window tuning of the Linux receiver (kernel functions at each test).

use crate::scripted::config;
use crate::scripted::receiver::Script;
use forebay_experiment::transport::Ecn;
use forebay_sim::net::packet::flag;
use forebay_sim::tcp::config::TcpConfig;
use forebay_types::Time;

/// Without quick mode, which hides everything else in the first 16 segments.
fn slow() -> TcpConfig {
    let mut c = config("linux", "newreno");
    c.quickack_count = 0;
    c
}

/// With quick mode, and a window that does not grow: where it does, each segment is acknowledged at once (tcp_grow_window).
fn quick() -> TcpConfig {
    let mut c = config("linux", "newreno");
    c.rcv_autotune = false;
    c
}

/// Segments `from..to`, each acknowledged at once or not.
fn at_once(r: &mut Script, from: u64, to: u64) -> usize {
    (from..to)
        .filter(|&n| {
            r.acks();
            r.data(n);
            !r.acks().is_empty()
        })
        .count()
}

/// tcp_event_data_recv: after a pause longer than the retransmission timeout, 200 ms and a bit here, the sender may have started over, and
/// 16 segments are acknowledged at once again. Before, quick mode came once in the life of a connection.
#[test]
fn quick_mode_returns_after_pause() {
    let mut r = Script::new(quick());
    assert_eq!(at_once(&mut r, 0, 40), 16 + 12);
    r.at(150_000);
    assert_eq!(at_once(&mut r, 40, 60), 10, "not long enough");
    r.at(400_000);
    assert_eq!(at_once(&mut r, 60, 80), 16 + 2);
    // A stack without it.
    let mut c = quick();
    c.quickack = false;
    let mut r = Script::new(c);
    assert_eq!(at_once(&mut r, 0, 40), 16 + 12);
    r.at(400_000);
    assert_eq!(at_once(&mut r, 40, 60), 10);
}

/// The pause is measured against the receiver's own timeout, which the handshake tells.
#[test]
fn long_rtt_needs_longer_pause() {
    let mut r = Script::new(quick());
    // RTT 300 ms: the timeout is 300 + max(200, 600) ms.
    r.at(300_000);
    assert_eq!(at_once(&mut r, 0, 40), 16 + 12);
    r.at(1_100_000);
    assert_eq!(at_once(&mut r, 40, 60), 10);
    r.at(2_100_000);
    assert_eq!(at_once(&mut r, 60, 80), 16 + 2);
}

/// __tcp_ack_snd_check: at once when *more than* a full segment waits, by bytes; the size of a full segment is learned from what comes
/// (tcp_measure_rcv_mss).
#[test]
fn bytes_count_not_segments() {
    let mut r = Script::new(slow());
    r.data(0).data(1);
    assert_eq!(r.acks(), "2");
    // A short one is taken for the end of a write (tcp_cleanup_rbuf: the application has read it), the second of the same size is not,
    // and makes 700 bytes a full segment.
    r.bytes(2000, 700, 0, false);
    assert_eq!(r.acks(), "@2700");
    r.bytes(2700, 700, 0, false);
    assert_eq!(r.acks(), "");
    r.bytes(3400, 1, 0, false);
    assert_eq!(r.acks(), "@3401");
    // Tiny ones are acknowledged one by one.
    for n in 0..5 {
        r.bytes(3401 + 100 * n, 100, 0, false);
        assert_eq!(r.acks(), format!("@{}", 3501 + 100 * n));
    }
    // A stack that counts segments.
    let mut c = slow();
    c.quickack = false;
    let mut r = Script::new(c);
    r.bytes(0, 100, 0, false);
    assert_eq!(r.acks(), "");
    r.bytes(100, 100, 0, false);
    assert_eq!(r.acks(), "@200");
}

/// tcp_cleanup_rbuf: the last segment of a write carries PSH; the application reads it, and the ACK does not wait, whatever its size.
#[test]
fn end_of_write_acknowledged_at_once() {
    let mut r = Script::new(slow());
    r.data(0).data(1);
    assert_eq!(r.acks(), "2");
    r.bytes(2000, 1000, flag::PUSH, false);
    assert_eq!(r.acks(), "3");
    // Here a message ends inside a full segment, which carries no PSH.
    r.r.notify_at(3500);
    r.data(3);
    assert_eq!(r.acks(), "");
}

/// tcp_send_delayed_ack: 40 ticks, except that the timer must beat a smaller minimum RTO (tcp_delack_max), and follows the RTT above 40 ms. It
/// expires at the end of its slot: of one tick below 63 ticks, of eight above (calc_wheel_index).
#[test]
fn delay_of_the_timer() {
    let expires = |mut c: TcpConfig, rto_min, rtt_us| {
        c.rto_min = Time::from_ms(rto_min);
        let mut r = Script::new(c);
        r.at(rtt_us).data(0);
        r.r.timer_due().or_never().as_us()
    };
    assert_eq!(expires(slow(), 200, 100), 41_000);
    assert_eq!(expires(slow(), 41, 100), 41_000);
    assert_eq!(expires(slow(), 10, 100), 10_000);
    assert_eq!(expires(slow(), 1, 100), 2_000);
    // It waited in vain: the next one waits twice as long, but no longer than the RTT (tcp_delack_timer_handler).
    let mut r = Script::new(slow());
    r.at(70_000).data(0).at(110_999);
    assert_eq!(r.acks(), "");
    r.at(111_000);
    assert_eq!(r.acks(), "1");
    r.data(1);
    assert_eq!(r.r.timer_due().or_never().as_us(), 184_000, "80 ms, cut to the RTT of 70 ms: the slot of tick 181");
    let mut r = Script::new(slow());
    r.at(100).data(0).at(41_000);
    assert_eq!(r.acks(), "1");
    r.data(1);
    assert_eq!(r.r.timer_due().or_never().as_us(), 82_000, "80 ms, cut to 40 ms");
}

/// tcp_data_queue and __tcp_ecn_check_ce enter quick mode: on data that is there already, 16 segments; on a mark, two.
#[test]
fn duplicates_and_marks_enter_quick_mode() {
    let mut r = Script::new(quick());
    assert_eq!(at_once(&mut r, 0, 40), 16 + 12);
    r.data(3);
    // Data before the last offered window brings nothing to acknowledge, so its ACK is no quick ACK (tcp_dec_quickack_mode).
    assert_eq!(at_once(&mut r, 40, 60), 16 + 2);
    r.data(59);
    assert_eq!(at_once(&mut r, 60, 80), 15 + 2, "what ends where that window began is");
    let mut c = quick();
    c.ecn = Ecn::Classic;
    let mut r = Script::new(c);
    assert_eq!(at_once(&mut r, 0, 40), 16 + 12);
    r.ce(40);
    assert_eq!(r.acks(), "41E");
    assert_eq!(at_once(&mut r, 41, 44), 2);
}

/// Data at `per` segments an RTT of 1 ms for `rtts`; the window of the last ACK, bytes.
fn window_after(c: TcpConfig, per: u64, rtts: u64) -> Vec<u64> {
    // That of the largest buffer, twice the window, with 16 bits and a window of which a bit is kept free (tcp_select_initial_window).
    let tuned = (2 * c.rcv_wnd).max(131_072).ilog2() - 15;
    let shift = if c.rcv_autotune { tuned } else { (0..15).find(|s| c.rcv_wnd >> s <= 65_535).unwrap() };
    let mut r = Script::new(c);
    let mut windows = Vec::new();
    for n in 0..per * rtts {
        r.at(1000 + n * 1000 / per).data(n);
        let last = r.packets().last().map(|p| u64::from(p.win) << shift);
        if n % per == per - 1 {
            windows.push(last.unwrap_or(0));
        }
    }
    windows
}

/// tcp_measure_rcv_mss, tcp_rcv_space_adjust, tcp_grow_window, __tcp_select_window: a segment of 1000 bytes occupies 2304 bytes of buffer, so that
/// 111 in 256 of a buffer are window. The buffer follows twice the bytes read in an RTT, up to the limit.
#[test]
fn window_follows_arriving_data() {
    let mut c = config("linux", "newreno");
    assert!(c.rcv_autotune && c.rcv_wnd == 3 << 20);
    c.ack_every = 1;
    let windows = window_after(c.clone(), 60, 40);
    // The first buffer of 128 KB but for the segment that is not read yet, in units of the scale.
    assert_eq!(windows[0], ((131_072 - 2_304) * 111 / 256u64).next_multiple_of(128));
    assert!(windows.is_sorted(), "{windows:?}");
    assert!(windows.iter().all(|&w| w <= 3 << 20) && *windows.last().unwrap() >= 300_000, "{windows:?}");
    // A source of 5 segments an RTT gets no larger window.
    assert!(window_after(c.clone(), 5, 40).iter().all(|w| (55_000..=65_000).contains(w)));
    // The limit: the share of a buffer of twice that, but for a segment.
    let mut small = c.clone();
    small.rcv_wnd = 150_000;
    assert_eq!(*window_after(small, 60, 40).last().unwrap(), ((300_000 - 2_304) * 111 / 256u64).next_multiple_of(8));
    // A fixed window is all there from the beginning.
    c.rcv_autotune = false;
    assert!(window_after(c, 60, 3).iter().all(|&w| w == 3 << 20 >> 6 << 6));
}

/// SO_RCVBUF of 100 000: the kernel allots 200 000 bytes and does not tune them. The window begins at half, in full segments (tcp_select_initial_window).
/// Its right edge stays until the share of payload (111 in 256) of the free memory beside the unread segment is larger (tcp_select_window). Its unit is that of the window: ilog2(100 000) - 15 = 1.
#[test]
fn fixed_buffer_opens_to_its_share() {
    let mut c = config("linux", "newreno");
    (c.ack_every, c.rcv_autotune, c.rcv_buf) = (1, false, Some(100_000));
    let mut r = Script::new(c);
    let mut windows = Vec::new();
    for n in 0..600 {
        r.at(1000 + n * 20).data(n);
        windows.extend(r.packets().last().map(|p| u64::from(p.win) << 1));
    }
    let edges: Vec<u64> = windows.iter().zip(1..).map(|(window, n)| n * 1_000 + window).collect();
    assert!(windows[0] == 99_000 && edges.is_sorted(), "{windows:?}");
    assert_eq!(*windows.last().unwrap(), ((200_000 - 2_304) * 111 / 256u64).next_multiple_of(2));
}
