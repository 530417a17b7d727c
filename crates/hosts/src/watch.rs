//! `forebay watch`: the state of the connections that an attachment is for, once a second, compared with the one before attaching.

use crate::Error;
use crate::condition::Condition;
use crate::sample::{Health, Snapshot, SocketFilter};
use crate::state::Attachment;
use crate::tune::named;

/// Consecutive seconds in which a bound must be crossed; a single bad second is normal.
const IN_A_ROW: u32 = 3;
/// Bounds that raise an alarm, as factors of the state before.
const ALARM: [&str; 2] = ["retransmissions>2", "rtt-p99>2"];

/// Watches one attachment.
#[derive(Debug)]
pub struct Watch {
    of: SocketFilter,
    before: Health,
    last: Snapshot,
    conditions: Vec<(Condition, u32)>,
    alarms: Vec<Condition>,
}

/// Values of one second.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Second {
    /// State of the connections.
    pub health: Health,
    /// Alarms: bounds that were crossed.
    pub alarms: Vec<String>,
    /// The condition that has held for three seconds, with the numbers.
    pub crossed: Option<String>,
}

impl Watch {
    /// Watches the attachment of that name, without conditions.
    ///
    /// # Errors
    /// Nothing of that name is attached, or connections cannot be listed.
    pub fn new(name: &str) -> Result<Watch, Error> {
        Watch::of(&named(name)?, &[])
    }

    /// Watches an attachment; the conditions must be reachable.
    pub(crate) fn of(attachment: &Attachment, conditions: &[Condition]) -> Result<Watch, Error> {
        conditions.iter().try_for_each(|c| c.check_reachable(&attachment.before))?;
        let of = SocketFilter::new(attachment);
        let last = Snapshot::take(&of)?;
        let alarms = ALARM.iter().map(|a| a.parse()).collect::<Result<Vec<_>, Error>>()?;
        let conditions = conditions.iter().map(|c| (*c, 0)).collect();
        Ok(Watch { of, before: attachment.before, last, conditions, alarms })
    }

    /// State before attaching.
    pub fn before(&self) -> &Health {
        &self.before
    }

    /// State of the connections since the last call; to be called once a second.
    ///
    /// # Errors
    /// Connections cannot be listed. The seconds that were counted before stay counted.
    pub fn second(&mut self) -> Result<Second, Error> {
        let snapshot = Snapshot::take(&self.of)?;
        let health = snapshot.since(&self.last);
        self.last = snapshot;
        Ok(self.judge(health))
    }

    fn judge(&mut self, health: Health) -> Second {
        let alarms = self.alarms.iter().filter_map(|a| a.crossed(&self.before, &health)).collect();
        let mut reason = None;
        for (condition, times) in &mut self.conditions {
            let judged = health.sockets > 0 || condition.holds_without_connections();
            let crossed = condition.crossed(&self.before, &health).filter(|_| judged);
            *times = if crossed.is_some() { *times + 1 } else { 0 };
            if *times >= IN_A_ROW {
                reason = reason.or(crossed.map(|c| format!("{condition} for {IN_A_ROW} s: {c}")));
            }
        }
        Second { health, alarms, crossed: reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NetNs;

    fn watch(conditions: &[&str], before: Health) -> Watch {
        let attachment = Attachment {
            name: "fbt".into(),
            program: "dctcp".into(),
            namespace: NetNs::current().unwrap(),
            prefixes: Vec::new(),
            cgroup: None,
            default: true,
            before,
            steps: Vec::new(),
            links: Vec::new(),
            complete: true,
            undoing: false,
            guard: None,
        };
        let conditions: Vec<Condition> = conditions.iter().map(|c| c.parse().unwrap()).collect();
        Watch::of(&attachment, &conditions).unwrap()
    }

    const BEFORE: Health =
        Health { sockets: 2, mbit: 100.0, retransmitted: 0.01, rtt_p50_us: 100, rtt_p99_us: 200, cwnd_p50: 10 };

    #[test]
    fn condition_fires_after_three_seconds() {
        let mut w = watch(&["rtt-p99>2"], BEFORE);
        let worse = Health { rtt_p99_us: 500, ..BEFORE };
        let fired: Vec<bool> =
            [worse, worse, BEFORE, worse, worse, worse].into_iter().map(|h| w.judge(h).crossed.is_some()).collect();
        assert_eq!(fired, [false, false, false, false, false, true]);
    }

    #[test]
    fn throughput_judged_without_connections() {
        let none = Health::default();
        let mut w = watch(&["throughput<0.5", "retransmissions>2", "rtt-p99>2"], BEFORE);
        let crossed = (0..3).map(|_| w.judge(none).crossed).collect::<Vec<_>>().pop().unwrap();
        assert!(crossed.as_ref().is_some_and(|c| c.starts_with("throughput<0.5")), "{crossed:?}");
        let mut w = watch(&["retransmissions>2", "rtt-p99>2"], BEFORE);
        assert!((0..9).all(|_| w.judge(none).crossed.is_none()));
    }
}
