//! Binary encoding of messages between processes: field by field, little-endian, without padding. A record lists all of its fields, so that a field
//! that is missing here does not compile.

use crate::net::accecn_option::AccEcnOption;
use crate::net::generation::Generation;
use crate::net::packet::{CarriedAck, Extra, Meta, Packet, SackBlocks};
use forebay_apps::{InitialData, Job, OpenSpec, QueryStart, RemoteTimer};
use forebay_types::{AppId, ConnSlot, GroupId, NodeId, PortId, QueryId, SumId, Time, TimeOrNever, WorkloadId};

/// Types that can be encoded and decoded.
pub(super) trait Encode: Sized {
    /// Appends the encoding.
    fn put(&self, to: &mut Vec<u8>);

    /// Decodes the output of [`Encode::put`].
    fn get(from: &mut Bytes<'_>) -> Self;
}

/// Received bytes that have not been decoded yet.
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// Wraps a received message.
    pub(super) fn new(all: &'a [u8]) -> Bytes<'a> {
        Bytes(all)
    }

    /// Returns true if everything has been decoded.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => panic!("a message from another process is too short: all processes must run the same program"),
        }
    }
}

macro_rules! number {
    ($($int:ty),*) => {$(
        impl Encode for $int {
            #[inline]
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn get(from: &mut Bytes<'_>) -> $int {
                <$int>::from_le_bytes(from.take())
            }
        }
    )*};
}
number!(u8, u16, u32, u64, u128, i64, f64);

macro_rules! identifier {
    ($($id:ident),*) => {$(
        impl Encode for $id {
            #[inline]
            fn put(&self, to: &mut Vec<u8>) {
                self.get().put(to);
            }
            #[inline]
            fn get(from: &mut Bytes<'_>) -> $id {
                $id::new(Encode::get(from))
            }
        }
    )*};
}
identifier!(AppId, ConnSlot, GroupId, NodeId, PortId, QueryId, SumId, WorkloadId);

/// Encodes all fields of a record in order, except those that are filled in later.
macro_rules! record {
    ($type:ident { $($field:ident),* $(,)? } $(later { $($later:ident),* })?) => {
        impl $crate::engine::encoding::Encode for $type {
            #[inline]
            fn put(&self, to: &mut Vec<u8>) {
                let $type { $($field,)* $($($later: _),*)? } = self;
                $($field.put(to);)*
            }
            #[inline]
            fn get(from: &mut $crate::engine::encoding::Bytes<'_>) -> $type {
                $(let $field = $crate::engine::encoding::Encode::get(from);)*
                $type { $($field,)* $($($later: Default::default()),*)? }
            }
        }
    };
}
pub(super) use record;

impl Encode for bool {
    fn put(&self, to: &mut Vec<u8>) {
        u8::from(*self).put(to);
    }
    fn get(from: &mut Bytes<'_>) -> bool {
        u8::get(from) != 0
    }
}

impl Encode for Time {
    #[inline]
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }
    #[inline]
    fn get(from: &mut Bytes<'_>) -> Time {
        Time(u64::get(from))
    }
}

impl Encode for TimeOrNever {
    fn put(&self, to: &mut Vec<u8>) {
        self.or_never().put(to);
    }
    fn get(from: &mut Bytes<'_>) -> TimeOrNever {
        TimeOrNever::at(Time::get(from))
    }
}

impl<T: Encode> Encode for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        if let Some(it) = self {
            it.put(to);
        }
    }
    fn get(from: &mut Bytes<'_>) -> Option<T> {
        bool::get(from).then(|| T::get(from))
    }
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }
    fn get(from: &mut Bytes<'_>) -> (A, B) {
        let first = A::get(from);
        (first, B::get(from))
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u64).put(to);
        self.iter().for_each(|it| it.put(to));
    }
    fn get(from: &mut Bytes<'_>) -> Vec<T> {
        (0..u64::get(from)).map(|_| T::get(from)).collect()
    }
}

impl<T: Encode, const N: usize> Encode for [T; N] {
    fn put(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|it| it.put(to));
    }
    fn get(from: &mut Bytes<'_>) -> [T; N] {
        std::array::from_fn(|_| T::get(from))
    }
}

impl Encode for Meta {
    fn put(&self, to: &mut Vec<u8>) {
        self.bits().put(to);
    }
    fn get(from: &mut Bytes<'_>) -> Meta {
        Meta::from_bits(u8::get(from))
    }
}

impl Encode for Generation {
    fn put(&self, to: &mut Vec<u8>) {
        self.bits().put(to);
    }
    fn get(from: &mut Bytes<'_>) -> Generation {
        Generation::from_bits(u8::get(from))
    }
}

record!(Packet { arrival, conn, seq, ts, dst, hash, wire, len, win, flags, meta });

impl Encode for Extra {
    fn put(&self, to: &mut Vec<u8>) {
        match self {
            Extra::Sack(blocks) => blocks.iter().collect::<Vec<_>>().put(to),
            // No SACK blocks.
            Extra::Carried(ack) => {
                0_u64.put(to);
                ack.put(to);
            }
        }
    }
    fn get(from: &mut Bytes<'_>) -> Extra {
        match SackBlocks::of(Vec::get(from)) {
            Some(blocks) => Extra::Sack(blocks),
            None => Extra::Carried(CarriedAck::get(from)),
        }
    }
}

impl Encode for AccEcnOption {
    fn put(&self, to: &mut Vec<u8>) {
        self.bytes().put(to);
    }
    fn get(from: &mut Bytes<'_>) -> AccEcnOption {
        AccEcnOption::from_bytes(<[[u8; 3]; 3]>::get(from))
    }
}

record!(CarriedAck { number, echo, window, tsval, ece, accecn });
record!(Job { bytes, query, deadline });
record!(RemoteTimer { tag, job });
record!(OpenSpec { src, dst, group, app, tag, first, reverse_of, window });
record!(QueryStart { query, start, app, parts, client });

impl Encode for InitialData {
    fn put(&self, to: &mut Vec<u8>) {
        match self {
            InitialData::Nothing => 0_u8.put(to),
            InitialData::Endless => 1_u8.put(to),
            InitialData::Only(job) => {
                2_u8.put(to);
                job.put(to);
            }
            InitialData::First(job) => {
                3_u8.put(to);
                job.put(to);
            }
        }
    }
    fn get(from: &mut Bytes<'_>) -> InitialData {
        match u8::get(from) {
            0 => InitialData::Nothing,
            1 => InitialData::Endless,
            2 => InitialData::Only(Job::get(from)),
            _ => InitialData::First(Job::get(from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::Codepoint;
    use std::fmt::Debug;

    fn comes_back<T: Encode + PartialEq + Debug>(it: T, size: usize) {
        let mut bytes = Vec::new();
        it.put(&mut bytes);
        assert_eq!(bytes.len(), size, "{it:?}");
        let mut from = Bytes::new(&bytes);
        assert_eq!(T::get(&mut from), it);
        assert!(from.is_empty());
    }

    #[test]
    fn encoding_roundtrip() {
        let packet = Packet {
            arrival: Time(1 << 60),
            conn: ConnSlot::new(0xAB_CDEF),
            seq: u32::MAX,
            ts: 7,
            dst: 513,
            hash: 65_535,
            wire: 1_500,
            len: 1_460,
            win: 0x1234,
            flags: 0xFF,
            meta: Meta::new(Generation::new(63), Codepoint::Ce),
        };
        comes_back(packet, 32);
        for count in 1..=4 {
            let blocks = SackBlocks::of((0..count).map(|i| (u32::MAX - 5 * i, 30 - 5 * i)));
            comes_back(blocks.map(Extra::Sack), 9 + 8 * count as usize);
        }
        let job = Job { bytes: Some(5), query: Some(QueryId::new(1 << 40)), deadline: Time::NEVER };
        comes_back(RemoteTimer { tag: u64::MAX, job: Some((ConnSlot::new(3), job)) }, 8 + 1 + 4 + 9 + 9 + 8);
        let endless = Job { bytes: None, query: None, ..job };
        for first in [InitialData::Nothing, InitialData::Endless, InitialData::Only(endless), InitialData::First(endless)] {
            let size = if matches!(first, InitialData::Only(_) | InitialData::First(_)) { 11 } else { 1 };
            let (src, dst, group, app) = (NodeId::new(1), NodeId::new(2), GroupId::new(3), AppId::new(4));
            comes_back(
                (Time(9), OpenSpec { src, dst, group, app, tag: 5, first, reverse_of: None, window: None }),
                8 + 4 * 4 + 8 + size + 2,
            );
        }
        comes_back((-1_i64, (0.1_f64, vec![Some(u128::MAX), None])), 8 + 8 + 8 + 17 + 1);
    }

    #[test]
    #[should_panic(expected = "is too short")]
    fn truncated_message_panics() {
        u32::get(&mut Bytes::new(&[1, 2]));
    }
}
