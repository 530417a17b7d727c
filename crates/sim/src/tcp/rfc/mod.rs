//! Behavior by the RFCs where Linux differs.

mod newreno;
mod sack;
pub(in crate::tcp) mod tlp_rack;
