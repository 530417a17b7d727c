//! Messages that a program sends while the run continues, each on a connection of its own.

use crate::application::Application;
use crate::{Host, Notice};
use forebay_experiment::assign::Assign;
use forebay_experiment::traffic::Workload;
use forebay_types::{AppId, GroupId, NodeId, Time};

/// Runtime of a workload whose messages a program sends. Its connections are opened by the program, and their tags are the numbers of its messages.
pub(crate) struct ProgramMessages {
    transport: Assign,
    /// Messages that have been delivered since they were last taken, with their times.
    delivered: Vec<(Time, u64)>,
}

impl ProgramMessages {
    pub(crate) fn new(w: &Workload) -> ProgramMessages {
        ProgramMessages { transport: w.transport.clone(), delivered: Vec::new() }
    }

    /// Transport of the next message, which `src` sends; `None`: the host has no transport.
    pub(crate) fn pick(&mut self, src: NodeId) -> Option<GroupId> {
        self.transport.covers(src).then(|| self.transport.pick(src))
    }

    /// Moves the delivered messages to `to`.
    pub(crate) fn take_delivered(&mut self, to: &mut Vec<(Time, u64)>) {
        to.append(&mut self.delivered);
    }
}

impl Application for ProgramMessages {
    fn on_notice(&mut self, _host: &mut impl Host, _id: AppId, now: Time, notice: Notice) {
        if let Notice::Delivered { tag, .. } = notice {
            self.delivered.push((now, tag));
        }
    }

    /// The program decides about the end of the run.
    fn remaining(&self) -> u64 {
        0
    }

    fn expected(&self) -> u64 {
        0
    }
}
