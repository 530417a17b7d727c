//! What the registries of a world hold about its congestion controls and its shims. The entries themselves belong to the world: one file each.

use crate::topology::BuildError;
use crate::transport::{Ecn, Recovery, Transport};
use forebay_types::param::{Entry, Values};

/// A congestion control in a registry. `C` is what the world builds of it.
#[derive(Debug, Clone, Copy)]
pub struct CcEntry<C> {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// True if the congestion control needs packets to be marked; a scenario without a marking queue is refused.
    pub needs_marks: bool,
    /// True if the congestion control needs a stack with SACK, as those that record segments do; others are refused.
    pub needs_sack: bool,
    /// ECN mode the congestion control runs with unless the scenario says otherwise.
    pub ecn: Ecn,
    /// Recovery the congestion control brings to a stack without SACK; `None`: the stack's own.
    pub recovery: Option<Recovery>,
    /// Other properties of the transport that belong to the congestion control; the scenario's own keys still win.
    pub adjust: Option<fn(&mut Transport)>,
    /// Builds the configuration from checked parameters.
    pub build: fn(&Values) -> C,
}

impl<C> CcEntry<C> {
    /// The entry without what the world builds of it.
    pub fn facts(&self) -> CcEntry<()> {
        let CcEntry { entry, needs_marks, needs_sack, ecn, recovery, adjust, build: _ } = *self;
        CcEntry { entry, needs_marks, needs_sack, ecn, recovery, adjust, build: |_| () }
    }
}

/// Where a shim works. A transport has at most one in each place.
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
    /// What it is called in messages.
    pub fn describe(self) -> &'static str {
        match self {
            Place::Tag => "tags packets at the sender",
            Place::Endpoint => "sits below TCP",
            Place::Window => "sets the receive window",
        }
    }
}

/// A shim in a registry. `C` is what the world builds of it.
#[derive(Debug, Clone, Copy)]
pub struct ShimEntry<C> {
    /// Name, summary, parameters.
    pub entry: Entry,
    /// Where it works.
    pub place: Place,
    /// True if it acts on SYN and SYN-ACK; a transport without handshake is refused.
    pub needs_handshake: bool,
    /// True if it learns of congestion from marks; a scenario in which no port marks gets a note.
    pub wants_marks: bool,
    /// Builds the configuration from checked parameters, or says which parameter is wrong and why.
    pub build: fn(&Values) -> Result<C, BuildError>,
}

impl<C> ShimEntry<C> {
    /// The entry without what the world builds of it.
    pub fn facts(&self) -> ShimEntry<()> {
        self.building(|_| Ok(()))
    }

    /// The same entry of a shim that is built in another way.
    pub const fn building<D>(&self, build: fn(&Values) -> Result<D, BuildError>) -> ShimEntry<D> {
        let ShimEntry { entry, place, needs_handshake, wants_marks, build: _ } = *self;
        ShimEntry { entry, place, needs_handshake, wants_marks, build }
    }
}
