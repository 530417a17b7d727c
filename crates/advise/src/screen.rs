//! Exclusion of changes by the closed forms, before simulation.

use crate::options::Choice;
use forebay_model::backend::{Applicability, ModelValue, applicability};
use forebay_scenario::Resolved;

/// Reason of the closed forms to exclude a change, if any.
pub(crate) fn exclusion_reason(choice: &Choice, resolved: &Resolved) -> Option<String> {
    let config = &resolved.variants.first()?.config;
    let k = f64::from(choice.k?);
    for verdict in applicability(config) {
        let Applicability::Applies(section) = verdict else { continue };
        if section.model != "dctcp" {
            continue;
        }
        for line in section.lines.iter().filter(|l| l.name.starts_with("smallest K")) {
            if let ModelValue::Scenario(least) = line.model
                && k <= least
            {
                return Some(format!(
                    "K = {k} is not above C RTT / 7 = {least:.0} packets: the link would be idle at times (DCTCP, SIGCOMM 2010, equation 13)"
                ));
            }
        }
    }
    None
}
