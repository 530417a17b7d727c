//! A set of nodes with numbers in one word of a bitmap.

use forebay_types::NodeId;

/// Nodes whose bits are set in one word of a bitmap of nodes, in order of their numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeSet {
    word: u32,
    bits: u64,
}

impl NodeSet {
    /// The nodes of `bits` in word number `word`.
    #[inline(always)]
    pub(super) fn new(word: usize, bits: u64) -> NodeSet {
        NodeSet { word: word as u32, bits }
    }

    /// Returns true if the set is empty.
    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// A set of one node.
    #[cfg(debug_assertions)]
    pub(super) fn one(node: NodeId) -> NodeSet {
        NodeSet { word: node.get() >> 6, bits: 1 << (node.get() & 63) }
    }
}

impl Iterator for NodeSet {
    type Item = NodeId;

    #[inline(always)]
    fn next(&mut self) -> Option<NodeId> {
        if self.bits == 0 {
            return None;
        }
        let bit = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some(NodeId::new(self.word << 6 | bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All sets of 16 adjacent nodes, at both ends of a word: each node once, in order.
    #[test]
    fn exhaustive_sets_are_listed_in_order() {
        for (word, shift) in [(0, 0), (3, 24), (7, 48)] {
            for bits in 0..1_u64 << 16 {
                let expected = (0..16).filter(|i| bits >> i & 1 == 1).map(|i| NodeId::new(64 * word + shift + i));
                assert!(NodeSet::new(word as usize, bits << shift).eq(expected), "{bits:b}");
                assert_eq!(NodeSet::new(word as usize, bits << shift).is_empty(), bits == 0);
            }
        }
    }
}
