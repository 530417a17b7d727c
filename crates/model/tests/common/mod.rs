//! The base configuration of the incast publication, and comparison.

use forebay_model::incast::{Incast, Params};
use forebay_types::{Rate, Time};

/// 1 Gbit/s, packets of 1000 bytes, D = 100 us, B = 64, blocks of 256 KB, T_0 = 0.2 s.
pub(crate) fn base() -> Params {
    Params {
        rate: Rate(1_000_000_000),
        packet: 1000,
        payload: 1000,
        rtt: Time::from_us(100),
        buffer: 64,
        block: 256_000,
        rto: Time::from_ms(200),
    }
}

/// The model of parameters that are right.
pub(crate) fn model(p: Params) -> Incast {
    Incast::new(&p).unwrap()
}

/// `got` is `expected` to within `digits`.
#[track_caller]
pub(crate) fn close(got: f64, expected: f64, digits: f64) {
    assert!((got - expected).abs() <= digits, "{got}, expected {expected} +- {digits}");
}
