//! Checked parameter values.

use crate::{Bytes, NodeId, QueueLen, Rate, Time, TimedLoss};
#[cfg(feature = "std")]
use crate::{SizeDist, TimeDist};
use alloc::string::String;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use std::path::PathBuf;

/// Value of one parameter, of the type of its `Kind`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An optional parameter that was left out.
    Unset,
    /// A duration.
    Time(Time),
    /// A link rate.
    Rate(Rate),
    /// A byte count.
    Bytes(Bytes),
    /// Packets or bytes.
    QueueLen(QueueLen),
    /// An integer.
    Int(i64),
    /// Integers.
    Ints(Vec<i64>),
    /// Queue lengths.
    QueueLens(Vec<QueueLen>),
    /// A number.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A word of a `Choice`, or any `Text`.
    Text(String),
    /// A file, resolved against the scenario's folder.
    #[cfg(feature = "std")]
    Path(PathBuf),
    /// Hosts of the built topology.
    Hosts(Vec<NodeId>),
    /// A link.
    Link(LinkValue),
    /// A distribution of sizes.
    #[cfg(feature = "std")]
    SizeDist(SizeDist),
    /// A distribution of durations.
    #[cfg(feature = "std")]
    TimeDist(TimeDist),
    /// Node names.
    Names(Vec<String>),
    /// Links of a custom topology.
    Links(Vec<CustomLink>),
}

/// Rate, delay and queue of a link, as written in the scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkValue {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay of one direction.
    pub delay: Time,
    /// Buffer of the switch ports on this link; `None`: unlimited.
    pub buffer: Option<QueueLen>,
    /// Queue discipline of the switch ports on this link; `None`: drop-tail.
    pub queue: Option<QueueValue>,
    /// Loss in each direction, whatever the queue.
    pub loss: Option<TimedLoss>,
}

/// A queue discipline by registry name, with its checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueValue {
    /// Name in the queue registry.
    pub kind: &'static str,
    /// Its parameters.
    pub params: Values,
}

/// One link of a custom topology.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomLink {
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// True if the reverse direction exists too, with the same properties.
    pub both: bool,
    /// Its properties.
    pub link: LinkValue,
}

/// The checked parameters of one registry choice: every key of its entry, defaults filled in, in the order of the entry.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values(pub Vec<(&'static str, Value)>);

macro_rules! getters {
    ($(#[doc = $doc:literal] $(#[$cfg:meta])? $name:ident, $opt:ident, $variant:ident, $ty:ty;)*) => { $(
        #[doc = $doc]
        ///
        /// # Panics
        /// If the key is not in the entry or has another kind: a defect of the registry, not of the input.
        $(#[$cfg])?
        pub fn $name(&self, key: &str) -> $ty {
            self.$opt(key).unwrap_or_else(|| panic!("registry: parameter `{key}` is required but unset"))
        }
        $(#[$cfg])?
        /// As above, `None` when the optional parameter was left out.
        pub fn $opt(&self, key: &str) -> Option<$ty> {
            match self.get(key) {
                Value::$variant(v) => Some(v.clone()),
                Value::Unset => None,
                other => panic!("registry: parameter `{key}` has kind {other:?}"),
            }
        }
    )* };
}

impl Values {
    /// The value of `key`.
    ///
    /// # Panics
    /// If the key is not in the entry: a defect of the registry.
    pub fn get(&self, key: &str) -> &Value {
        match self.0.iter().find(|(k, _)| *k == key) {
            Some((_, v)) => v,
            None => panic!("registry: no parameter `{key}`"),
        }
    }

    /// Value of the word of `key` in `list`, from which [`choices`](crate::param::choices) makes the parameter's choices.
    ///
    /// # Panics
    /// If the key is not in the entry, or its word not in the list: a defect of the registry, not of the input.
    pub fn choice<T: Copy>(&self, key: &str, list: &[(&str, T)]) -> T {
        self.opt_choice(key, list).unwrap_or_else(|| panic!("registry: parameter `{key}` is required but unset"))
    }

    /// As above, `None` when the optional parameter was left out.
    pub fn opt_choice<T: Copy>(&self, key: &str, list: &[(&str, T)]) -> Option<T> {
        let word = self.opt_text(key)?;
        match list.iter().find(|v| v.0 == word) {
            Some(v) => Some(v.1),
            None => panic!("registry: parameter `{key}` may be `{word}`, which has no value"),
        }
    }

    getters! {
        /// A duration.
        time, opt_time, Time, Time;
        /// A rate.
        rate, opt_rate, Rate, Rate;
        /// A byte count.
        bytes, opt_bytes, Bytes, Bytes;
        /// Packets or bytes.
        queue_len, opt_queue_len, QueueLen, QueueLen;
        /// An integer.
        int, opt_int, Int, i64;
        /// Integers.
        ints, opt_ints, Ints, Vec<i64>;
        /// Queue lengths.
        queue_lens, opt_queue_lens, QueueLens, Vec<QueueLen>;
        /// A number.
        float, opt_float, Float, f64;
        /// A boolean.
        bool, opt_bool, Bool, bool;
        /// A word.
        text, opt_text, Text, String;
        /// A file.
        #[cfg(feature = "std")]
        path, opt_path, Path, PathBuf;
        /// Hosts.
        hosts, opt_hosts, Hosts, Vec<NodeId>;
        /// A link.
        link, opt_link, Link, LinkValue;
        /// A distribution of sizes.
        #[cfg(feature = "std")]
        size_dist, opt_size_dist, SizeDist, SizeDist;
        /// A distribution of durations.
        #[cfg(feature = "std")]
        time_dist, opt_time_dist, TimeDist, TimeDist;
        /// Node names.
        names, opt_names, Names, Vec<String>;
        /// Links.
        links, opt_links, Links, Vec<CustomLink>;
    }
}
