//! Round-trip times of flows that get less than others: most congestion controls grow their window once per round trip, so that flows over a longer
//! path get less.

use crate::data::{Data, Flow};
use crate::dimension::Dimension;
use crate::format::quantity;
use forebay_store::stats::quantile;

/// Minimum ratio of the median RTTs to be named. Our choice.
const LONGER: f64 = 2.0;

/// `: their minimum RTT is 40.1 ms, that of the others 41.3 µs`, if the RTTs of endless flows of `own` clearly exceed those of `others`; otherwise
/// empty. `whose` is `their` or `its`.
pub(crate) fn longer(data: &Data, whose: &str, own: impl Fn(&Flow) -> bool, others: impl Fn(&Flow) -> bool) -> String {
    let median = |of: &dyn Fn(&Flow) -> bool| {
        let mut all: Vec<f64> = data.flows.iter().filter(|f| f.greedy && of(f)).filter_map(|f| f.rtt_min_s).collect();
        all.sort_unstable_by(f64::total_cmp);
        quantile(&all, 0.5)
    };
    let Some((own, others)) = median(&own).zip(median(&others)).filter(|(own, others)| *own > LONGER * others) else {
        return String::new();
    };
    let time = |s: f64| quantity(s, Dimension::Seconds);
    format!(": {whose} minimum RTT is {}, that of the others {}", time(own), time(others))
}
