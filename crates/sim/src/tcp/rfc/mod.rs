//! Behaviour by the RFCs where Linux differs.

mod newreno;
mod sack;
