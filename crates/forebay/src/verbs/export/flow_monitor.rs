//! Flows as the XML file of ns-3's FlowMonitor.

use super::{Args, Written};
use crate::terminal::failure::Failure;
use forebay_runner::flow_monitor;
use forebay_store::RunDir;

/// The file, with the flows of the repeated run.
pub(super) fn export(run: &RunDir, args: &Args) -> Result<Written, Failure> {
    let (variant, monitor) = flow_monitor(forebay_backends::all(), run, args.variant.as_ref(), args.run)?;
    let contents = format!(
        "{} flows of {variant}, run {}, two for each connection; {} packets were on their way at the end",
        monitor.flows(),
        args.run,
        monitor.in_flight()
    );
    Ok(Written { contents, write: Box::new(move |out| monitor.write(out)) })
}
