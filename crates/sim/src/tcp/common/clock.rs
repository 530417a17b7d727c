//! Clocks of Linux: microseconds for send times and RTTs, ticks of the timestamp clock for echoes.

use crate::tcp::config::TcpConfig;
use forebay_types::Time;

/// Time that passed until `now`, by a clock that counts microseconds (`tcp_mstamp`); at least one.
pub(in crate::tcp) fn microseconds(now: Time, time: Time) -> Time {
    Time::from_us((now.as_us() - now.saturating_sub(time).as_us()).max(1))
}

/// Age of an echo by the timestamp clock, at least one tick (tcp_rtt_tsopt_us).
pub(in crate::tcp) fn whole_ticks(c: &TcpConfig, now: Time, echo: Time) -> Time {
    let tick = c.timestamp_clock.max(Time::from_us(1));
    tick * (now / tick - echo / tick).max(1)
}
