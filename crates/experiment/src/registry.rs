//! Registry entries of congestion controls and shims. The entries themselves are in the backends, one file each.

use crate::topology::BuildError;
use crate::transport::{Ecn, Recovery, Transport};
use forebay_types::param::{Entry, Values};

/// Congestion control in a registry. `C` is the configuration that a backend builds from it.
#[derive(Debug, Clone, Copy)]
pub struct CcEntry<C> {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// True if the congestion control needs packets to be marked; a scenario without a marking queue is refused.
    pub needs_marks: bool,
    /// True if the congestion control needs a stack with SACK, as those that record segments do; others are refused.
    pub needs_sack: bool,
    /// True if the congestion control sets the pacing rate of its sender: its hosts ship with a fair queue (Linux sch_fq).
    pub paces: bool,
    /// True if the congestion control measures the share of marked segments in each round trip, which protective load balancing needs.
    pub plb: bool,
    /// Default ECN mode of the congestion control.
    pub ecn: Ecn,
    /// Recovery that the congestion control sets for a stack without SACK; `None`: the stack's own.
    pub recovery: Option<Recovery>,
    /// Other properties that the congestion control sets; keys of the scenario have precedence.
    pub adjust: Option<fn(&mut Transport)>,
    /// Builds the configuration from checked parameters.
    pub build: fn(&Values) -> C,
}

impl<C> CcEntry<C> {
    /// Entry without its builder.
    pub fn without_builder(&self) -> CcEntry<()> {
        let CcEntry { entry, needs_marks, needs_sack, paces, plb, ecn, recovery, adjust, build: _ } = *self;
        CcEntry { entry, needs_marks, needs_sack, paces, plb, ecn, recovery, adjust, build: |_| () }
    }
}

/// Position of a shim. A transport has at most one at each position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the sender: tags data packets with class and rank.
    Tag,
    /// Below TCP at both ends: sees and may rewrite every packet.
    Endpoint,
    /// At the receiver: sets the advertised window.
    Window,
}

impl Place {
    /// Phrase for messages.
    pub fn describe(self) -> &'static str {
        match self {
            Place::Tag => "tags packets at the sender",
            Place::Endpoint => "sits below TCP",
            Place::Window => "sets the receive window",
        }
    }
}

/// Shim in a registry. `C` is the configuration that a backend builds from it.
#[derive(Debug, Clone, Copy)]
pub struct ShimEntry<C> {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Position.
    pub place: Place,
    /// True if the shim acts on SYN and SYN-ACK; a transport without handshake is refused.
    pub needs_handshake: bool,
    /// True if the shim detects congestion by marks; a scenario without marking ports gets a note.
    pub wants_marks: bool,
    /// Parameters that act on the third duplicate ACK of a stack without scoreboard (RFC 6582); other stacks refuse them.
    pub duplicates_only: &'static [&'static str],
    /// Builds the configuration from checked parameters; the error names the parameter.
    pub build: fn(&Values) -> Result<C, BuildError>,
}

impl<C> ShimEntry<C> {
    /// Entry without its builder.
    pub fn without_builder(&self) -> ShimEntry<()> {
        self.with_builder(|_| Ok(()))
    }

    /// Same entry with another builder.
    pub const fn with_builder<D>(&self, build: fn(&Values) -> Result<D, BuildError>) -> ShimEntry<D> {
        let ShimEntry { entry, place, needs_handshake, wants_marks, duplicates_only, build: _ } = *self;
        ShimEntry { entry, place, needs_handshake, wants_marks, duplicates_only, build }
    }
}
