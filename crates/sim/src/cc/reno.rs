//! Reno: NewReno's window rule; without SACK, its recovery ends with the first new ACK (RFC 5681 section 3.2).

use super::{CcEntry, fixed_point, newreno};
use forebay_experiment::transport::Ecn;
use forebay_experiment::transport::Recovery;
use forebay_types::param::Entry;

pub(super) const ENTRY: CcEntry = CcEntry {
    entry: Entry {
        name: "reno",
        summary: "AIMD with Reno recovery (RFC 5681): one loss per window repaired",
        params: &[fixed_point::ARITHMETIC],
    },
    needs_marks: false,
    needs_sack: false,
    paces: false,
    plb: false,
    ecn: Ecn::Off,
    recovery: Some(Recovery::Reno),
    adjust: Some(fixed_point::by_stack),
    build: newreno::build,
};
