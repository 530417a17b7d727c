//! Scenarios drawn at random, as users write them, for both backends.

use super::scenarios::Case;
use forebay_torture::typical_scenario;
use forebay_types::{Rng, Time};

/// Time by which equal packets may differ. A kernel's clock counts nanoseconds, the simulator's picoseconds: where a byte does not take whole
/// nanoseconds, each turn at a kernel's host is up to a nanosecond late. A thousand turns one after the other sum up to this.
const ROUNDING: Time = Time::from_us(1);

/// `count` scenarios of this seed; each depends on its own number alone.
pub(crate) fn cases(seed: u64, count: u64) -> Vec<Case> {
    let text = |number| typical_scenario::scenario(&mut Rng::stream(seed, &[number]));
    (0..count).map(|i| Case { within: ROUNDING, ..Case::of(format!("random {seed}/{i}"), text(i)) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_scenario::Scenario;

    /// Every drawn scenario is legal on both backends.
    #[test]
    fn drawn_scenarios_resolve_in_both_worlds() {
        for case in cases(3, 200) {
            for world in ["sim", "linux"] {
                let sets = [format!("world={world}")];
                let scenario = Scenario::from_text(forebay_backends::all(), &case.text, &case.name, "".as_ref(), &sets, None);
                if let Err(e) = scenario.and_then(|s| s.resolve()) {
                    panic!("{}: {}\n{}", case.name, e.render(), case.text);
                }
            }
        }
    }
}
