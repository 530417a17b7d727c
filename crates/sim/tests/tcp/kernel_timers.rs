//! When the timers of stack linux expire: in whole ticks, and in the slots of a kernel's timer wheel.

use crate::scripted::config;
use crate::scripted::sender::Script;
use forebay_experiment::transport::Recovery;
use forebay_sim::tcp::config::TcpConfig;
use forebay_sim::tcp::rtt::{Rtt, Sent};
use forebay_sim::tcp::sender::Timer;
use forebay_types::Time;

fn linux(window: u32) -> TcpConfig {
    let mut c = config("linux", "newreno");
    c.init_cwnd = window;
    c
}

/// tcp_schedule_loss_probe: two round trips of 500 1/8 us are a millisecond, to which two ticks come.
#[test]
fn probes_count_whole_microseconds() {
    let c = linux(10);
    let mut t = Script::new(c.clone(), 0);
    let mut rtt = Rtt::new(&c);
    rtt.sample(&c, Time::from_us(500), Sent::default());
    rtt.sample(&c, Time::from_us(501), Sent::default());
    *t.s.rtt_mut() = rtt;
    t.write(2);
    assert_eq!(t.left(Timer::Probe), Some(3_000));
}

/// __run_timers has advanced the clock of the wheel when it calls a timer's function. A timeout of 504 ticks that is set there is 503 ticks away, in
/// a slot of eight ticks and not of 64 (calc_wheel_index).
#[test]
fn timers_set_by_timers_expire_earlier() {
    let mut c = linux(10);
    (c.recovery, c.rto_min) = (Recovery::NewReno, Time::from_ms(251));
    let mut t = Script::new(c, 0);
    t.at(20_000).write(1);
    assert_eq!(t.timer(), 260_000);
    assert_eq!(t.timer(), 512_000);
}

/// __mod_timer keeps the slot of a timer that is set to the tick at which it expires anyway. The timeout of the first segment is in a slot of eight
/// ticks, and stays there when more data is sent just before it expires.
#[test]
fn timer_with_same_tick_keeps_slot() {
    let mut t = Script::new(linux(10), 1);
    t.at(199_200).write(3);
    assert_eq!(t.timer(), 8_800);
}
