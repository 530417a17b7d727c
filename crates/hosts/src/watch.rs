//! `forebay watch`: how connections are doing, a line a second; and whether that is so much worse than before that the attachment goes.

use crate::condition::Condition;
use crate::sample::{Health, Look, Of};
use crate::state::Attachment;
use crate::tune::named;
use crate::{Error, detach};

/// How many seconds in a row a bound has to be crossed: one bad second happens to everybody.
const IN_A_ROW: u32 = 3;
/// What `watch` calls an alarm: this many times what was before.
const ALARM: [&str; 2] = ["retransmissions>2", "rtt-p99>2"];

/// Watches one attachment.
#[derive(Debug)]
pub struct Watch {
    name: String,
    of: Of,
    before: Health,
    last: Look,
    conditions: Vec<(Condition, u32)>,
    alarms: Vec<Condition>,
}

/// A second.
#[derive(Debug)]
pub struct Second {
    /// How connections did.
    pub health: Health,
    /// What is much worse than before.
    pub alarms: Vec<String>,
    /// Why the attachment was taken off, if it was.
    pub rolled_back: Option<String>,
}

impl Watch {
    /// Of the attachment of that name; with conditions, to take it off when one of them holds for three seconds.
    pub fn new(name: &str, conditions: &[Condition]) -> Result<Watch, Error> {
        let attachment: Attachment = named(name)?;
        let of = Of::new(&attachment);
        let last = Look::take(&of)?;
        let alarms = ALARM.iter().map(|a| a.parse()).collect::<Result<Vec<_>, Error>>()?;
        let conditions = conditions.iter().map(|c| (*c, 0)).collect();
        Ok(Watch { name: attachment.name, of, before: attachment.before, last, conditions, alarms })
    }

    /// How connections did before attaching.
    pub fn before(&self) -> &Health {
        &self.before
    }

    /// What has happened since the last call, which the caller makes once a second.
    pub fn second(&mut self) -> Result<Second, Error> {
        let look = Look::take(&self.of)?;
        let health = look.since(&self.last);
        self.last = look;
        let alarms = self.alarms.iter().filter_map(|a| a.crossed(&self.before, &health)).collect();
        let mut reason = None;
        for (condition, times) in &mut self.conditions {
            // Without connections there is nothing to judge.
            let crossed = condition.crossed(&self.before, &health).filter(|_| health.sockets > 0);
            *times = if crossed.is_some() { *times + 1 } else { 0 };
            if *times >= IN_A_ROW {
                reason = reason.or(crossed.map(|c| format!("{condition} for {IN_A_ROW} s: {c}")));
            }
        }
        if reason.is_some() {
            detach::detach(&self.name)?;
        }
        Ok(Second { health, alarms, rolled_back: reason })
    }
}
