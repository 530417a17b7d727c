//! What the closed forms rule out, before anything is simulated.

use crate::options::Choice;
use forebay_predict::{Applicability, ModelValue, applicability};
use forebay_scenario::Resolved;

/// Why a change need not be simulated, by the models; `None`: they have nothing against it.
pub(crate) fn objection(choice: &Choice, resolved: &Resolved) -> Option<String> {
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
                    "K = {k} is not above C RTT / 7 = {least:.0} packets: the link would run empty (DCTCP, SIGCOMM 2010, equation 13)"
                ));
            }
        }
    }
    None
}
