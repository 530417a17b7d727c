//! Max-min fair shares: the rates at which no flow can get more without taking from one that has no more.
//!
//! Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): the rates of all flows grow together; a flow stops at its own limit, or
//! when a port on its path is full.

/// Flows with the same path and limit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flows {
    /// Number of flows, which may be a mean over time.
    pub count: f64,
    /// Ports that they pass, as indices into the capacities.
    pub ports: Vec<usize>,
    /// Most that each of them can use, bit/s.
    pub limit: f64,
}

/// Fair rate of each flow, bit/s; `capacity` is that of each port.
pub(crate) fn shares(flows: &[Flows], capacity: &[f64]) -> Vec<f64> {
    let mut left = capacity.to_vec();
    let mut growing = vec![0.0; capacity.len()];
    for f in flows {
        f.ports.iter().for_each(|p| growing[*p] += f.count);
    }
    let mut open: Vec<usize> = (0..flows.len()).filter(|i| flows[*i].count > 0.0).collect();
    let (mut rates, mut level) = (vec![0.0; flows.len()], 0.0);
    while !open.is_empty() {
        let full = |p: &usize| if growing[*p] > 0.0 { left[*p].max(0.0) / growing[*p] } else { f64::INFINITY };
        let ports = open.iter().flat_map(|i| &flows[*i].ports).map(full).fold(f64::INFINITY, f64::min);
        let limits = open.iter().map(|i| flows[*i].limit - level).fold(f64::INFINITY, f64::min);
        let step = ports.min(limits).max(0.0);
        if !step.is_finite() {
            open.iter().for_each(|i| rates[*i] = f64::INFINITY);
            break;
        }
        level += step;
        (0..left.len()).for_each(|p| left[p] -= step * growing[p]);
        let ends = |i: &usize| {
            let f = &flows[*i];
            f.limit <= level * (1.0 + 1e-12) || f.ports.iter().any(|p| left[*p] <= capacity[*p] * 1e-12)
        };
        let (done, rest): (Vec<usize>, Vec<usize>) = open.iter().partition(|i| ends(i));
        if done.is_empty() {
            break;
        }
        for i in done {
            rates[i] = level;
            flows[i].ports.iter().for_each(|p| growing[*p] -= flows[i].count);
        }
        open = rest;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flows: &[(f64, &[usize], f64)], capacity: &[f64]) -> Vec<f64> {
        let flows: Vec<Flows> =
            flows.iter().map(|(count, ports, limit)| Flows { count: *count, ports: ports.to_vec(), limit: *limit }).collect();
        shares(&flows, capacity).iter().map(|rate| rate.round()).collect()
    }

    #[test]
    fn second_bottleneck_limits_first() {
        // The multi-hop network of the DCTCP paper: 10 S1 over both links, 20 S2 over the first, 10 S3 over the second.
        let inf = f64::INFINITY;
        assert_eq!(of(&[(10.0, &[0, 1], inf), (20.0, &[0], inf), (10.0, &[1], inf)], &[10_000.0, 1_000.0]), [50.0, 475.0, 50.0]);
    }

    #[test]
    fn limited_flows_leave_rest() {
        let inf = f64::INFINITY;
        assert_eq!(of(&[(1.0, &[0], 100.0), (3.0, &[0], inf)], &[1_000.0]), [100.0, 300.0]);
        assert_eq!(of(&[(2.0, &[0], inf)], &[1_000.0]), [500.0]);
        assert_eq!(of(&[(0.0, &[0], inf), (1.0, &[], 7.0)], &[1_000.0]), [0.0, 7.0]);
    }
}
