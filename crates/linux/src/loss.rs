//! Loss of links in numbers for the guest, which draws as the simulator does (`crates/experiment/src/link_errors.rs`).

use crate::protocol::{ListedLoss, NONE, number};
use forebay_experiment::faults::Faults;
use forebay_experiment::streams::RngStream;
use forebay_types::{LossModel, PortId};

/// Loss of one direction of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// `FB_LOSS_*`.
    pub kind: u32,
    /// Bounds of a random number of 53 bits: for a loss in the good and in the bad state, and for a change to the bad and to the good one.
    pub below: [u64; 4],
    /// State of the random stream.
    pub random: [u64; 4],
    /// Start and end of the loss, ps.
    pub acts: (u64, u64),
}

/// Bound of a random number of 53 bits, below which it is with probability `p`: `Rng::unit` is below `p` for exactly these numbers.
pub(crate) fn bound(p: f64) -> u64 {
    (p * (1_u64 << 53) as f64).ceil() as u64
}

/// Loss of `port` with `seed`.
pub(crate) fn numbers(faults: &Faults, port: PortId, seed: u64) -> Numbers {
    let Some(loss) = faults.loss.iter().find(|l| l.port == port) else { return Numbers::default() };
    let mut rng = RngStream::LinkLoss.stream(seed, &[port.index() as u64]);
    let acts = (loss.loss.from.0, loss.loss.until.or_never().0);
    match &loss.loss.model {
        LossModel::Random(p) => Numbers { kind: number::LOSS_RANDOM, below: [bound(*p), 0, 0, 0], random: rng.state(), acts },
        LossModel::Bursts(m) => {
            let bad = rng.unit() < m.to_bad / (m.to_bad + m.to_good);
            let kind = if bad { number::LOSS_BAD } else { number::LOSS_GOOD };
            Numbers { kind, below: [m.loss_good, m.loss_bad, m.to_bad, m.to_good].map(bound), random: rng.state(), acts }
        }
        // The stream of a loss that begins after a change is in the record of the change.
        LossModel::Listed(_) => Numbers { kind: number::LOSS_LISTED, acts, ..Numbers::default() },
    }
}

/// Listed packets of all ports, those of a connection in ascending order.
pub(crate) fn listed(faults: &Faults) -> impl Iterator<Item = ListedLoss> {
    let packets = |port: PortId, l: &forebay_types::ListedLoss| {
        let number = u32::try_from(l.connection).unwrap_or(NONE);
        l.packets.iter().map(move |&packet| ListedLoss { port: port.get(), number, packet }).collect::<Vec<_>>()
    };
    faults.loss.iter().flat_map(move |l| match &l.loss.model {
        LossModel::Listed(list) => list.iter().flat_map(|c| packets(l.port, c)).collect(),
        LossModel::Random(_) | LossModel::Bursts(_) => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;

    #[test]
    fn bounds_decide_as_unit_does() {
        let mut rng = Rng::stream(1, &[]);
        for p in [0.0, 1e-12, 0.001, 0.25, 1.0 / 3.0, 0.999, 1.0] {
            for _ in 0..10_000 {
                let mut same = rng.clone();
                assert_eq!(rng.next_u64() >> 11 < bound(p), same.unit() < p, "{p}");
            }
            // The numbers beside the bound.
            for n in [bound(p).saturating_sub(1), bound(p)].into_iter().filter(|n| *n < 1 << 53) {
                assert_eq!(n < bound(p), (n as f64) / ((1_u64 << 53) as f64) < p, "{p} {n}");
            }
        }
    }
}
