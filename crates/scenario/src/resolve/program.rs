//! The workload of a program that sends messages while the simulation runs.

use crate::resolve::members::Rule;
use crate::resolve::transport::Transports;
use crate::schema::context::Cx;
use crate::text::message_text::alternatives;
use crate::text::source::At;
use forebay_experiment::assign::Assign;
use forebay_experiment::network::Network;
use forebay_experiment::traffic::{Workload, WorkloadKind};
use forebay_experiment::writes::Writes;
use forebay_types::GroupId;

/// A list without flows: the program adds them. Its connections get their transports as those of a workload that names no group.
pub(crate) fn of_program(cx: &mut Cx, network: &Network, transports: &Transports) -> Option<Workload> {
    let transport = match &transports.rule {
        Rule::ByName if transports.groups.len() == 1 => Assign::One(GroupId::new(0)),
        Rule::ByName => {
            let names = alternatives(transports.groups.iter().map(|g| g.name.as_str()));
            let message = format!("a program cannot choose one of several transport groups: {names}");
            let help = Some("give the groups `hosts` or a `share`, or leave one".to_owned());
            cx.sink.error(At::default(), message, "several groups", help);
            return None;
        }
        rule => rule.assign(network)?,
    };
    let kind = WorkloadKind::Replay { flows: Vec::new(), after: Vec::new() };
    Some(Workload { class: "program".into(), transport, writes: Writes::ONE, listen: None, kind })
}
