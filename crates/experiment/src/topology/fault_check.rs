//! Validation of the faults of a network.

use super::{TwoTier, reverse};
use crate::balance::Balance;
use crate::faults::{BIT_ERRORS, Failure, LATEST, MIN_LOSS};
use crate::network::{Network, PortConfig};
use forebay_types::{LossModel, Rate, Time};

/// Checks the faults. The error is the field and the reason.
pub(crate) fn check(network: &Network) -> Result<(), (String, String)> {
    let mistake = |field: String, reason: String| Err((field, reason));
    let ports = network.ports.len();
    for (i, f) in network.faults.failures.iter().enumerate() {
        let field = |key: &str| format!("network.faults.failures[{i}].{key}");
        if !network.ports.contains(f.port) {
            return mistake(field("port"), format!("there is no port {}; the network has {ports}", f.port));
        }
        if f.down > LATEST || f.reroute > LATEST || f.up.get().is_some_and(|up| up > LATEST) {
            return mistake(field("down"), "legal: at most 200 days".into());
        }
        if f.up.is_due(f.down) {
            return mistake(field("up"), "legal: after `down`".into());
        }
        let link = |f: &Failure| [Some(f.port), reverse(network, f.port)];
        let overlaps = |g: &Failure| link(g).contains(&Some(f.port)) && !g.up.is_due(f.down) && !f.up.is_due(g.down);
        if network.faults.failures[..i].iter().any(overlaps) {
            return mistake(field("down"), "the link is down already, by an earlier failure".into());
        }
    }
    for (i, c) in network.faults.corruption.iter().enumerate() {
        let field = |key: &str| format!("network.faults.corruption[{i}].{key}");
        if !network.ports.contains(c.port) {
            return mistake(field("port"), format!("there is no port {}; the network has {ports}", c.port));
        }
        if !(BIT_ERRORS.0..=BIT_ERRORS.1).contains(&c.bit_errors) {
            return mistake(field("bit_errors"), format!("legal: {} to {}", BIT_ERRORS.0, BIT_ERRORS.1));
        }
        if network.faults.corruption[..i].iter().any(|d| d.port == c.port) {
            return mistake(field("port"), "the port is in the list already".into());
        }
    }
    for (i, l) in network.faults.loss.iter().enumerate() {
        let field = |key: &str| format!("network.faults.loss[{i}].{key}");
        if !network.ports.contains(l.port) {
            return mistake(field("port"), format!("there is no port {}; the network has {ports}", l.port));
        }
        if let Err(reason) = check_model(&l.loss.model) {
            return mistake(field("loss.model"), reason);
        }
        if l.loss.until.is_due(l.loss.from) {
            return mistake(field("loss.until"), "legal: behind `from`".into());
        }
        if network.faults.loss[..i].iter().any(|m| m.port == l.port) {
            return mistake(field("port"), "the port is in the list already".into());
        }
    }
    let holding = network.faults.reordering.iter().enumerate().map(|(i, r)| ("reordering", i, r.port, r.by, r.p));
    let holding = holding.chain(network.faults.batching.iter().enumerate().map(|(i, b)| ("batching", i, b.port, b.every, 1.0)));
    for (list, i, port, time, p) in holding {
        let field = |key: &str| format!("network.faults.{list}[{i}].{key}");
        let Some(to) = network.ports.get(port).map(|p| p.to) else {
            return mistake(field("port"), format!("there is no port {port}; the network has {ports}"));
        };
        if network.nodes[to].host {
            return mistake(field("port"), "legal: ports of links that lead to a switch".into());
        }
        if time == Time::ZERO || time > PortConfig::MAX_DELAY {
            return mistake(field("time"), format!("legal: above 0, at most {}", PortConfig::MAX_DELAY));
        }
        if !(MIN_LOSS..=1.0).contains(&p) {
            return mistake(field("p"), format!("legal: {MIN_LOSS} to 1"));
        }
    }
    for (i, c) in network.faults.changes.iter().enumerate() {
        let field = |key: &str| format!("network.faults.changes[{i}].{key}");
        let Some(port) = network.ports.get(c.port) else {
            return mistake(field("port"), format!("there is no port {}; the network has {ports}", c.port));
        };
        if network.nodes[port.from].host {
            return mistake(field("port"), "legal: ports of switches".into());
        }
        if c.at > LATEST {
            return mistake(field("at"), "legal: at most 200 days".into());
        }
        if c.rate.is_some_and(|r| r < Rate::MIN || r > Rate::MAX) {
            return mistake(field("rate"), format!("legal: {} to {}", Rate::MIN, Rate::MAX));
        }
        if c.delay.is_some_and(|d| d == Time::ZERO || d > PortConfig::MAX_DELAY) {
            return mistake(field("delay"), format!("legal: above 0, at most {}", PortConfig::MAX_DELAY));
        }
        if c.loss.is_some_and(|p| !(0.0..=1.0).contains(&p)) {
            return mistake(field("loss"), "legal: 0 to 1".into());
        }
    }
    if let Balance::Flowlet { gap: Time::ZERO } | Balance::Conga { gap: Time::ZERO } = network.faults.balance {
        return mistake("network.faults.balance".into(), "legal: a gap above 0".into());
    }
    if let Balance::Conga { .. } = network.faults.balance
        && let Err(reason) = TwoTier::of(network)
    {
        return mistake("network.faults.balance".into(), format!("{reason}; legal: leaves, each linked once to each spine"));
    }
    Ok(())
}

/// Checks the numbers of a loss model. The error is the reason.
fn check_model(model: &LossModel) -> Result<(), String> {
    let legal = |p: f64, least: f64| (least..=1.0).contains(&p);
    let ok = match model {
        LossModel::Random(p) => legal(*p, MIN_LOSS),
        LossModel::Bursts(g) => {
            legal(g.to_bad, MIN_LOSS) && legal(g.to_good, MIN_LOSS) && legal(g.loss_bad, 0.0) && legal(g.loss_good, 0.0)
        }
        LossModel::Listed(_) => true,
    };
    if !ok {
        return Err(format!("legal: probabilities of {MIN_LOSS} to 1"));
    }
    if let LossModel::Listed(list) = model
        && !list.iter().all(|l| l.packets.first().is_some_and(|p| *p > 0) && l.packets.windows(2).all(|w| w[0] < w[1]))
    {
        return Err("legal: numbers of packets from 1, in ascending order".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Corruption;
    use crate::topology::find_port;
    use crate::topology::testing::build;
    use forebay_types::param::Value;
    use forebay_types::{PortId, Time, TimeOrNever};

    #[test]
    fn invalid_faults_are_refused() {
        let mut n = build("many-to-one", &[("senders", Value::Int(2))]).unwrap();
        let port = |name| find_port(&n, name).unwrap();
        let (there, back, other) = (port("s0->sw"), port("sw->s0"), port("s1->sw"));
        let at = |port, down, up: Option<u64>| Failure {
            port,
            down: Time::from_ms(down),
            up: up.map_or(TimeOrNever::NEVER, |t| Time::from_ms(t).into()),
            reroute: Time::ZERO,
        };
        let mut checked = |failures: &[Failure], corruption: &[(PortId, f64)]| {
            n.faults.failures = failures.to_vec();
            n.faults.corruption = corruption.iter().map(|&(port, bit_errors)| Corruption { port, bit_errors }).collect();
            check(&n).map_err(|(field, _)| field.rsplit("faults.").next().unwrap_or("").to_owned())
        };
        let field = |text: &str| Err(text.to_owned());
        // Consecutive failures, adjacent failures, and failures of two links at once.
        assert_eq!(
            checked(&[at(there, 1, Some(2)), at(back, 2, None), at(other, 1, None)], &[(there, 1e-6), (back, 1e-6)]),
            Ok(())
        );
        assert_eq!(checked(&[at(there, 1, Some(3)), at(back, 2, Some(5))], &[]), field("failures[1].down"));
        assert_eq!(checked(&[at(there, 5, None), at(there, 2, Some(6))], &[]), field("failures[1].down"));
        assert_eq!(checked(&[at(there, 5, Some(5))], &[]), field("failures[0].up"));
        assert_eq!(checked(&[at(PortId::new(99), 5, None)], &[]), field("failures[0].port"));
        assert_eq!(checked(&[], &[(there, 0.5)]), field("corruption[0].bit_errors"));
        assert_eq!(checked(&[], &[(there, 1e-6), (there, 1e-6)]), field("corruption[1].port"));
    }
}
