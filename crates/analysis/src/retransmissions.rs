//! Cost of the highest goodput in retransmissions, which load the links that others use, too.

use crate::data::Data;
use crate::dimension::Dimension;
use crate::format::{bold, quantity};
use crate::ranking::Ranking;

/// Minimum retransmitted fraction of the segments to be named. Our choice: TCP rarely exceeds it without a fault of a link.
const MUCH: f64 = 0.01;
/// Minimum ratio to the fraction of the runner-up. Our choice: on a lossy link all subjects retransmit alike.
const MORE: f64 = 3.0;

/// `; it retransmits 4.1 % of its segments, cubic 0.2 %`, if the subject with the highest goodput retransmits far more than the next one.
pub(crate) fn cost(data: &Data, ranking: &Ranking) -> Option<String> {
    let next = *ranking.tied.iter().chain(&ranking.worse).next()?;
    let (best, other) = (fraction(data, ranking.best)?, fraction(data, next)?);
    (best > MUCH && best > MORE * other).then(|| {
        let percent = |v: f64| quantity(v, Dimension::Fraction);
        format!("; it retransmits {} of its segments, {} {}", bold(&percent(best)), data.subjects[next].name, percent(other))
    })
}

/// Retransmitted fraction of the data segments of a subject, over all seeds; `None` without segments.
fn fraction(data: &Data, subject: usize) -> Option<f64> {
    let own = data.flows.iter().filter(|f| f.subject == subject);
    let (again, all) = own.fold((0, 0), |(again, all), f| (again + f.retransmitted, all + f.segments));
    (all > 0).then(|| again as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::{Given, data as networks};
    use crate::data::Flow;

    #[test]
    fn retransmissions_of_the_winner_named() {
        let given: [(&str, Given); 2] = [("bbr", &[]), ("cubic", &[])];
        let mut d = networks(&given);
        let ranking = Ranking { best: 0, tied: vec![], worse: vec![1], undecided: vec![], has_intervals: false };
        let mut with = |bbr: u64, cubic: u64| {
            let flow = |subject, retransmitted| Flow { subject, segments: 1_000, retransmitted, ..Flow::default() };
            d.flows = vec![flow(0, bbr), flow(1, cubic)];
            cost(&d, &ranking)
        };
        assert_eq!(with(41, 2).unwrap(), "; it retransmits **4.1 %** of its segments, cubic 0.2 %");
        assert_eq!((with(10, 0), with(41, 14), with(2, 41)), (None, None, None));
        assert!(with(11, 0).unwrap().ends_with("cubic 0 %"));
    }
}
