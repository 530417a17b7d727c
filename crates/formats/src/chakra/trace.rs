//! The protocol buffers of a trace: a `GlobalMetadata`, then a `Node` after the other, each with its length before it (`et_def.proto` of Chakra).

use prost::Message;

pub(super) const METADATA: i32 = 1;
pub(super) const MEM_LOAD: i32 = 2;
pub(super) const MEM_STORE: i32 = 3;
pub(super) const COMP: i32 = 4;
pub(super) const COMM_SEND: i32 = 5;
pub(super) const COMM_RECV: i32 = 6;
pub(super) const COMM_COLL: i32 = 7;

#[derive(Clone, PartialEq, Message)]
pub(super) struct GlobalMetadata {
    #[prost(string, tag = "1")]
    pub version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    /// Type of the node, one of the constants.
    #[prost(int32, tag = "3")]
    pub kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    pub duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    pub attr: Vec<Attribute>,
}

/// A named value, in the field of its type.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int32, optional, tag = "7")]
    pub int32: Option<i32>,
    #[prost(int64, optional, tag = "9")]
    pub int64: Option<i64>,
    #[prost(uint32, optional, tag = "11")]
    pub uint32: Option<u32>,
    #[prost(uint64, optional, tag = "13")]
    pub uint64: Option<u64>,
    #[prost(message, optional, tag = "28")]
    pub bools: Option<Bools>,
    #[prost(string, optional, tag = "29")]
    pub text: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Bools {
    #[prost(bool, repeated, tag = "1")]
    pub values: Vec<bool>,
}

impl Node {
    fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attr.iter().find(|a| a.name == name)
    }

    /// An attribute with an integer, from 0 on.
    pub(super) fn integer(&self, name: &str) -> Option<u64> {
        let a = self.attribute(name)?;
        let signed = a.int64.or(a.int32.map(i64::from)).and_then(|v| u64::try_from(v).ok());
        a.uint64.or(a.uint32.map(u64::from)).or(signed)
    }

    /// An attribute with a text that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.attribute(name)?.text.as_deref().filter(|t| !t.is_empty())
    }

    /// True for a collective of a part of the ranks.
    pub(super) fn is_partial(&self) -> bool {
        let dimensions = self.attribute("involved_dim").and_then(|a| a.bools.as_ref());
        dimensions.is_some_and(|d| d.values.contains(&false))
    }

    /// Nodes that end first.
    pub(super) fn waits_for(&self) -> impl Iterator<Item = u64> {
        let mut all: Vec<u64> = self.ctrl_deps.iter().chain(&self.data_deps).copied().collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter()
    }
}

/// The nodes of a rank.
#[derive(Debug)]
pub(super) struct Trace {
    pub nodes: Vec<Node>,
}

impl Trace {
    pub(super) fn decode(mut bytes: &[u8]) -> Result<Trace, String> {
        let damaged = |what: &str, e: &dyn std::fmt::Display| format!("this is not a Chakra trace: {what}: {e}");
        GlobalMetadata::decode_length_delimited(&mut bytes).map_err(|e| damaged("its metadata", &e))?;
        let mut nodes = Vec::new();
        while !bytes.is_empty() {
            let node = Node::decode_length_delimited(&mut bytes);
            nodes.push(node.map_err(|e| damaged(&format!("node number {} of the file", nodes.len() + 1), &e))?);
        }
        // Collectives are matched in the order of their numbers.
        nodes.sort_by_key(|n| n.id);
        Ok(Trace { nodes })
    }
}
