//! Gaps of a measurement: workloads that never started, and warm-ups longer than all traffic.

use crate::data::Data;
use crate::format::{bold, list};

/// A sentence about workloads that sent nothing in any run.
pub(crate) fn began(data: &Data) -> Option<String> {
    let sent: Vec<bool> = {
        let mut sent = vec![false; data.classes.len()];
        let seen = data.flows.iter().filter_map(|f| f.class).chain(data.queries.iter().filter_map(|q| q.class));
        let moved = data.goodput.iter().filter(|g| g.bps.iter().any(|b| *b > 0.0)).map(|g| g.class);
        seen.chain(moved).filter_map(|c| usize::try_from(c).ok()).for_each(|c| {
            if let Some(sent) = sent.get_mut(c) {
                *sent = true;
            }
        });
        sent
    };
    let known = |c: usize| data.goodput.iter().any(|g| g.class as usize == c);
    let never: Vec<String> = (0..sent.len()).filter(|&c| !sent[c] && known(c)).map(|c| bold(&data.classes[c])).collect();
    (!never.is_empty() && sent.contains(&true)).then(|| {
        format!(
            "{} never started: no packet was sent before the runs ended. All other results are without this traffic.",
            list(&never)
        )
    })
}

/// Note on runs whose traffic ended within the warm-up: with a duration, the idle time after it is measured, otherwise the whole run.
pub(crate) fn warm(data: &Data) -> Option<String> {
    let network = |run: &crate::data::Run| &data.networks[run.network];
    let outlasted = |run: &&crate::data::Run| run.measured_from_ns == 0 && !network(run).warmup.is_empty();
    let outlasted = data.runs.iter().find(outlasted);
    let silent = silent(data);
    if let Some(first) = silent.first() {
        if outlasted.is_none() && silent.len() == data.networks.len() {
            return Some(format!(
                "All traffic ended within the warm-up of {}: goodput, queue and drops describe the idle time after it. Use a shorter \
                 `warmup` or longer traffic.",
                data.networks[*first].warmup
            ));
        }
        let names: Vec<String> = silent.iter().map(|n| bold(&data.networks[*n].name)).collect();
        let (of, others) = match outlasted {
            Some(_) => (String::new(), ", those of the others the whole run,"),
            None => (format!(" of {}", list(&names)), ""),
        };
        return Some(format!(
            "All traffic{of} ended within the warm-up of {}: goodput, queue and drops of {} describe the idle time after it{others} and are not \
             comparable. Use a shorter `warmup` or longer traffic.",
            data.networks[*first].warmup,
            list(&names)
        ));
    }
    let run = outlasted?;
    Some(format!("All traffic ended within the warm-up of {}: the numbers describe the whole run.", network(run).warmup))
}

/// Networks whose traffic ended within the warm-up.
pub(crate) fn silent(data: &Data) -> Vec<usize> {
    let of = |n: usize| data.flows.iter().filter(move |f| data.runs[f.run].network == n);
    let over = |n: &usize| {
        let warm = data.runs.iter().filter(|r| r.network == *n).all(|r| r.measured_from_ns > 0);
        warm && of(*n).any(|f| f.acked > 0) && of(*n).all(|f| f.measured == 0)
    };
    (0..data.networks.len()).filter(over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::GoodputSeries;
    use crate::incomplete_workloads::tests::beside_tenants;

    #[test]
    fn unstarted_workload_is_named() {
        let mut d = beside_tenants(5_000_000_000, 4_000_000_000, true);
        assert_eq!(began(&d), None, "older results do not know");
        d.classes.push("backup".into());
        let series = |class, bps: f64| GoodputSeries { class, bps: vec![bps], ..GoodputSeries::default() };
        d.goodput = vec![series(0, 5e9), series(1, 4e9), series(2, 0.0)];
        assert!(began(&d).unwrap().starts_with("**backup** never started"));
        d.goodput[2].bps[0] = 1.0;
        assert_eq!(began(&d), None);
    }

    #[test]
    fn long_warmup_is_noted() {
        let mut d = beside_tenants(5_000_000_000, 4_000_000_000, true);
        assert_eq!(warm(&d), None);
        d.networks[0].warmup = "400ms".into();
        assert!(warm(&d).unwrap().contains("400ms"));
        d.runs[0].measured_from_ns = 400_000_000;
        assert_eq!(warm(&d), None);
    }

    #[test]
    fn idle_measurement_is_not_compared() {
        let mut d = beside_tenants(5_000_000_000, 4_000_000_000, true);
        assert_eq!(silent(&d), [0; 0]);
        d.runs[0].measured_from_ns = 400_000_000;
        d.flows.iter_mut().for_each(|f| (f.measured, f.acked) = (0, 1_000));
        assert_eq!(silent(&d), [0]);
        d.networks[0].warmup = "400ms".into();
        assert!(
            warm(&d)
                .unwrap()
                .starts_with("All traffic ended within the warm-up of 400ms: goodput, queue and drops describe the idle time")
        );
    }
}
