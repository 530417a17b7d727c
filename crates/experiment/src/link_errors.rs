//! Packets that a link damages, loses or delivers late.

use crate::bit_errors::BitErrors;
use crate::faults::Faults;
use crate::streams::RngStream;
use forebay_types::{GilbertElliott, LossModel, PortId, Rng, Time, TimeOrNever, TimedLoss};

/// Start and end of a loss of the whole run.
const ALWAYS: (Time, TimeOrNever) = (Time::ZERO, TimeOrNever::NEVER);

/// A packet on a link.
#[derive(Debug, Clone, Copy)]
pub struct OnLink {
    /// Time at which it joins the FIFO of the port, or at which its transmission begins behind another discipline.
    pub at: Time,
    /// Bytes on the wire.
    pub wire: u64,
    /// Key of its connection, as in [`LinkErrors::open`], if the packet carries data.
    pub data_of: Option<u64>,
}

/// Effect of a link on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    lost: bool,
    damaged: bool,
}

impl Effect {
    /// Returns true if the packet does not reach the end of the link.
    pub fn takes(self) -> bool {
        self.lost || self.damaged
    }
}

/// Selects the packets that one direction of a link damages or loses. They take their time on the link and do not reach the node at its end.
#[derive(Debug, Clone)]
pub struct LinkErrors {
    bits: Option<BitErrors>,
    loss: Option<Loss>,
    /// Start and end of the loss.
    acts: (Time, TimeOrNever),
    lost: u64,
    /// Random numbers of a loss that begins during the run.
    changed: Rng,
    /// Probability of late packets, and its random numbers.
    late: Option<(f64, Rng)>,
}

#[derive(Debug, Clone)]
enum Loss {
    Random { p: f64, rng: Rng },
    Bursts { model: GilbertElliott, bad: bool, rng: Rng },
    Listed(Vec<Connection>),
}

/// Packets of a connection that are lost.
#[derive(Debug, Clone)]
struct Connection {
    number: u64,
    /// Key of its packets while it is open.
    key: Option<u64>,
    /// Data packets so far.
    seen: u64,
    /// Numbers of the packets to lose, the next one last.
    packets: Vec<u64>,
}

impl LinkErrors {
    /// The errors of `port` under `seed`; `None` on a link without errors.
    pub fn of(faults: &Faults, port: PortId, seed: u64) -> Option<LinkErrors> {
        let stream = |which: RngStream| which.stream(seed, &[port.index() as u64]);
        let bits = faults.corruption.iter().find(|c| c.port == port);
        let loss = faults.loss.iter().find(|l| l.port == port);
        let changes = faults.changes.iter().any(|c| c.port == port);
        let late = faults.reordering.iter().find(|r| r.port == port);
        (bits.is_some() || loss.is_some() || changes || late.is_some()).then(|| LinkErrors {
            bits: bits.map(|c| BitErrors::new(c.bit_errors, stream(RngStream::BitErrors))),
            loss: loss.map(|l| Loss::new(&l.loss, stream(RngStream::LinkLoss))),
            acts: loss.map_or(ALWAYS, |l| (l.loss.from, l.loss.until)),
            lost: 0,
            changed: RngStream::LinkLoss.stream(seed, &[port.index() as u64, 1]),
            late: late.map(|r| (r.p, stream(RngStream::Reordering))),
        })
    }

    /// Connection `number` opens; from now on its data packets have this key.
    pub fn open(&mut self, number: u64, key: u64) {
        let Some(Loss::Listed(list)) = &mut self.loss else { return };
        for c in list.iter_mut() {
            if c.number == number {
                c.key = Some(key);
            } else if c.key == Some(key) {
                c.key = None;
            }
        }
    }

    /// Loses each packet with probability `p` from now on, independently of all others. It replaces the loss so far.
    pub fn set_loss(&mut self, p: f64) {
        let rng = match self.loss.take() {
            Some(Loss::Random { rng, .. } | Loss::Bursts { rng, .. }) => rng,
            Some(Loss::Listed(_)) | None => self.changed.clone(),
        };
        (self.loss, self.acts) = (Some(Loss::Random { p, rng }), ALWAYS);
    }

    /// Returns true if the next packet on the link does not reach its end.
    pub fn takes(&mut self, packet: OnLink) -> bool {
        self.draw(packet).takes()
    }

    /// Draws and counts the effect of the link on its next packet.
    pub fn draw(&mut self, packet: OnLink) -> Effect {
        // At other times packets are neither counted nor drawn for.
        let acts = self.acts.0 <= packet.at && !self.acts.1.is_due(packet.at);
        let lost = acts && self.loss.as_mut().is_some_and(|loss| loss.takes(packet));
        self.lost += u64::from(lost);
        // A lost packet passes the bit errors too: they are those of the link without the loss.
        let damaged = self.bits.as_mut().is_some_and(|bits| bits.damage(packet.wire));
        Effect { lost, damaged }
    }

    /// Removes a packet from the counts that had this effect, because a failure took it before the end of the link.
    pub fn uncount(&mut self, effect: Effect) {
        self.lost -= u64::from(effect.lost);
        if let Some(bits) = self.bits.as_mut().filter(|_| effect.damaged) {
            bits.uncount();
        }
    }

    /// Returns true if the next packet, which reaches the end of the link, is late.
    pub fn delays(&mut self) -> bool {
        self.late.as_mut().is_some_and(|(p, rng)| rng.unit() < *p)
    }

    /// Packets damaged since the start; `None` on a link without bit errors.
    pub fn damaged(&self) -> Option<u64> {
        self.bits.as_ref().map(BitErrors::damaged)
    }

    /// Packets lost since the start, without those that bit errors alone damaged; `None` on a link without loss.
    pub fn lost(&self) -> Option<u64> {
        self.loss.as_ref().map(|_| self.lost)
    }
}

impl Loss {
    fn new(loss: &TimedLoss, mut rng: Rng) -> Loss {
        match &loss.model {
            LossModel::Random(p) => Loss::Random { p: *p, rng },
            LossModel::Bursts(model) => {
                // The state at the start has the distribution of the long run.
                let bad = rng.unit() < model.to_bad / (model.to_bad + model.to_good);
                Loss::Bursts { model: *model, bad, rng }
            }
            LossModel::Listed(list) => {
                let last_first = |packets: &[u64]| packets.iter().rev().copied().collect();
                let connection = |l: &forebay_types::ListedLoss| Connection {
                    number: l.connection,
                    key: None,
                    seen: 0,
                    packets: last_first(&l.packets),
                };
                Loss::Listed(list.iter().map(connection).collect())
            }
        }
    }

    fn takes(&mut self, packet: OnLink) -> bool {
        match self {
            Loss::Random { p, rng } => rng.unit() < *p,
            Loss::Bursts { model, bad, rng } => {
                let (loss, change) = if *bad { (model.loss_bad, model.to_good) } else { (model.loss_good, model.to_bad) };
                let lost = rng.unit() < loss;
                *bad ^= rng.unit() < change;
                lost
            }
            Loss::Listed(list) => {
                let Some(key) = packet.data_of else { return false };
                let Some(c) = list.iter_mut().find(|c| c.key == Some(key)) else { return false };
                c.seen += 1;
                let lost = c.packets.last() == Some(&c.seen);
                if lost {
                    c.packets.pop();
                }
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Corruption, LinkLoss};
    use forebay_types::ListedLoss;

    fn errors(model: LossModel) -> LinkErrors {
        let port = PortId::new(3);
        let faults = Faults { loss: vec![LinkLoss { port, loss: model.into() }], ..Faults::default() };
        assert!(LinkErrors::of(&faults, PortId::new(2), 1).is_none());
        LinkErrors::of(&faults, port, 1).unwrap()
    }

    const PLAIN: OnLink = OnLink { at: Time::ZERO, wire: 1500, data_of: None };

    #[test]
    fn random_loss_has_its_probability() {
        let mut e = errors(LossModel::Random(0.01));
        let lost = (0..100_000).filter(|_| e.takes(PLAIN)).count();
        // Four standard deviations of a binomial distribution.
        assert!(lost.abs_diff(1000) < 126, "{lost}");
        assert_eq!((e.lost(), e.damaged()), (Some(lost as u64), None));
    }

    #[test]
    fn bursts_have_mean_and_length() {
        let model = GilbertElliott::of_bursts(0.02, 5.0);
        assert!((model.mean() - 0.02).abs() < 1e-12);
        let mut e = errors(LossModel::Bursts(model));
        let lost: Vec<bool> = (0..1_000_000).map(|_| e.takes(PLAIN)).collect();
        let all = lost.iter().filter(|l| **l).count() as f64;
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        // About 4000 bursts of geometric length: three standard deviations are 5 % of either number.
        assert!((all / 1e6 - 0.02).abs() < 0.002, "{all}");
        assert!((all / bursts - 5.0).abs() < 0.3, "{all} in {bursts}");
    }

    #[test]
    fn listed_packets_of_a_connection() {
        let list = vec![ListedLoss { connection: 7, packets: vec![2, 3, 5] }];
        let mut e = errors(LossModel::Listed(list));
        let data = |key| OnLink { data_of: Some(key), ..PLAIN };
        assert!(!e.takes(data(40)), "connection 7 is not open");
        e.open(7, 40);
        e.open(8, 41);
        let lost: Vec<bool> = (0..6).map(|_| [e.takes(PLAIN), e.takes(data(41)), e.takes(data(40))][2]).collect();
        assert_eq!(lost, [false, true, true, false, true, false]);
        assert_eq!(e.lost(), Some(3));
    }

    #[test]
    fn losses_act_in_their_time() {
        let port = PortId::new(3);
        let lost = |model: LossModel| {
            let loss = TimedLoss { model, from: Time::from_us(10), until: Time::from_us(20).into() };
            let mut e = LinkErrors::of(&Faults { loss: vec![LinkLoss { port, loss }], ..Faults::default() }, port, 1).unwrap();
            e.open(7, 40);
            let at = |us| OnLink { at: Time::from_us(us), wire: 1500, data_of: Some(40) };
            let lost: Vec<u64> = (0..30).filter(|us| e.takes(at(*us))).collect();
            e.set_loss(1.0);
            assert!(e.takes(at(30)), "a change of the loss has no end");
            lost
        };
        assert_eq!(lost(LossModel::Random(1.0)), (10..20).collect::<Vec<u64>>());
        let list = vec![ListedLoss { connection: 7, packets: vec![2, 5] }];
        assert_eq!(lost(LossModel::Listed(list)), [11, 14], "packets are counted in the time of the loss");
    }

    #[test]
    fn late_packets_have_their_probability() {
        let port = PortId::new(2);
        let reordering = vec![crate::faults::Reordering { port, p: 0.1, by: forebay_types::Time::from_ms(1) }];
        let mut e = LinkErrors::of(&Faults { reordering, ..Faults::default() }, port, 5).unwrap();
        let late = (0..100_000).filter(|_| !e.takes(PLAIN) && e.delays()).count();
        // Four standard deviations of a binomial distribution.
        assert!(late.abs_diff(10_000) < 380, "{late}");
        assert_eq!((e.lost(), e.damaged()), (None, None));
    }

    #[test]
    fn loss_keeps_bit_errors() {
        let port = PortId::new(0);
        let corruption = vec![Corruption { port, bit_errors: 1e-5 }];
        let loss = vec![LinkLoss { port, loss: LossModel::Random(0.1).into() }];
        let count = |loss| {
            let mut e = LinkErrors::of(&Faults { corruption: corruption.clone(), loss, ..Faults::default() }, port, 9).unwrap();
            (0..10_000).filter(|_| e.takes(PLAIN)).count();
            e.damaged()
        };
        assert_eq!(count(Vec::new()), count(loss));
    }
}
