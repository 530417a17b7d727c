//! Identifiers of the elements of a simulation. Each kind has its own type, so that they cannot be confused.

use core::fmt;
use core::num::NonZeroU64;

/// Type whose values number the elements of one list: the key of an [`IndexVec`](crate::units::IndexVec).
pub trait Id: Copy + Ord + fmt::Debug {
    /// Identifier of the element at `index`. Panics if the type cannot represent `index`.
    fn from_index(index: usize) -> Self;

    /// Index in the list.
    fn index(self) -> usize;
}

/// Index in a list whose elements have no identifier of their own, such as the words of a bitmap.
impl Id for u32 {
    #[inline]
    fn from_index(index: usize) -> u32 {
        u32::try_from(index).unwrap_or_else(|_| panic!("{index} is beyond the largest position"))
    }

    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

/// Defines an identifier: a wrapped integer that prints as a number.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name($int);

        impl $name {
            /// The identifier with this number.
            #[inline(always)]
            pub const fn new(number: $int) -> $name {
                $name(number)
            }

            /// The number.
            #[inline(always)]
            pub const fn get(self) -> $int {
                self.0
            }

            /// Identifier of the element at `index`. Panics if the type cannot represent `index`.
            #[inline]
            pub fn from_index(index: usize) -> $name {
                match <$int>::try_from(index) {
                    Ok(number) => $name(number),
                    Err(_) => panic!("{index} is beyond the largest {}", stringify!($name)),
                }
            }

            /// The number as a position in a list.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Id for $name {
            #[inline]
            fn from_index(index: usize) -> $name {
                $name::from_index(index)
            }

            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

id! {
    /// A host or a switch: index into the nodes of a network.
    NodeId(u32)
}
id! {
    /// An egress port, one direction of a link: index into the ports of a network.
    PortId(u32)
}
id! {
    /// Slot of a connection in the engine. Slots are reused after a connection has ended.
    ConnSlot(u32)
}
id! {
    /// A transport: index into the transports of an experiment.
    GroupId(u32)
}
id! {
    /// An application of the engine, which writes to connections for one workload.
    AppId(u32)
}
id! {
    /// A workload: index into the workloads of an experiment.
    WorkloadId(u32)
}
id! {
    /// A sum of payload delivered over time, of a workload and transport over a port.
    SumId(u32)
}
/// Query: one barrier round or one exchange of request and response. Unique among all workloads of a run. An `Option` of it has the same size,
/// because large runs store one per message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct QueryId(NonZeroU64);

impl QueryId {
    /// Identifier with this number. The largest 64-bit number, which no query has, becomes the one before it, which no query has either.
    #[inline(always)]
    pub const fn new(number: u64) -> QueryId {
        QueryId(NonZeroU64::MIN.saturating_add(number))
    }

    /// The number.
    #[inline(always)]
    pub const fn get(self) -> u64 {
        self.0.get() - 1
    }

    /// The identifier of the element at `index`.
    #[inline]
    pub const fn from_index(index: usize) -> QueryId {
        QueryId::new(index as u64)
    }

    /// The number as a position in a list.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.get() as usize
    }
}

impl Id for QueryId {
    #[inline]
    fn from_index(index: usize) -> QueryId {
        QueryId::from_index(index)
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.index()
    }
}

impl fmt::Display for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}

impl fmt::Debug for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryId({})", self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_the_plain_number() {
        assert_eq!(format!("{} {:>3} {:?}", GroupId::new(7), AppId::new(7), ConnSlot::new(7)), "7   7 ConnSlot(7)");
    }

    #[test]
    fn option_of_id_has_same_size() {
        assert_eq!((size_of::<ConnSlot>(), size_of::<Option<QueryId>>()), (4, 8));
    }

    #[test]
    fn queries_keep_their_numbers_and_order() {
        let ids = [0, 1, 7, u64::MAX - 1].map(QueryId::new);
        assert_eq!(ids.map(QueryId::get), [0, 1, 7, u64::MAX - 1]);
        assert_eq!(QueryId::new(u64::MAX), ids[3]);
        assert!(ids.is_sorted() && format!("{} {:?}", ids[2], ids[0]) == "7 QueryId(0)");
    }

    #[test]
    #[should_panic(expected = "beyond the largest GroupId")]
    fn refuses_too_large_index() {
        let _ = GroupId::from_index(1 << 32);
    }
}
