//! qlog of a row: its first scenario runs again, with the packets of the first connection captured at the sender.

use crate::referee::bench::{RefereeError, Request, name_of};
use forebay_experiment::report::{EarlyEnd, RunError};
use forebay_experiment::rows::TcpRow;
use forebay_runner::{Job, capture_flow, simulate};
use forebay_store::capture::qlog::{Dialect, Log};
use serde_json::json;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Connection of the first sender, which is of the judged congestion control.
const FIRST: u64 = 0;

/// The qlog of the first connection of a scenario of a [`Report`](crate::referee::Report), as a JSON text sequence. `None`: the connection has sent nothing.
///
/// # Errors
/// A backend that refuses the capture, a run that fails, or an interruption by `stop`.
pub fn qlog(request: &Request, text: &str, stop: &AtomicBool) -> Result<Option<Vec<u8>>, RefereeError> {
    let name = name_of(text);
    let failed = |e: &dyn std::fmt::Display| RefereeError::Run(name.to_owned(), e.to_string());
    let run_error = |e: RunError| match e {
        RunError::Interrupted => RefereeError::Interrupted,
        other => failed(&other),
    };
    let resolved = request.resolve(text).map_err(|e| RefereeError::Scenario(name.to_owned(), e))?;
    let Some(variant) = resolved.variants.first() else { return Err(failed(&"has no variant")) };
    let watch = || if stop.load(Relaxed) { ControlFlow::Break(EarlyEnd::Discard) } else { ControlFlow::Continue(()) };
    let job = || Job::new(0, 0, variant.config.seed);
    let first = simulate(resolved.world, &variant.label, 0, &variant.config, &job(), None, &watch).map_err(run_error)?;
    let Some(flow) = first.report.flows.iter().find(|f| f.conn_id == FIRST) else { return Ok(None) };
    let trace = capture_flow(resolved.world, &variant.label, &variant.config, (flow, first.report.end), &job(), &watch);
    let trace = trace.map_err(run_error)?;
    if trace.again.report.fingerprint != first.report.fingerprint {
        return Err(failed(&"the repeated run has another fingerprint"));
    }
    let states: Vec<TcpRow> = trace.again.report.tcp.to_vec();
    let fingerprint = format!("{:016x}", trace.again.report.fingerprint);
    let log = Log {
        title: format!("{name}, connection {FIRST}"),
        details: json!({"scenario": name, "variant": trace.variant, "seed": trace.seed, "fingerprint": fingerprint}),
        flow: &trace.packets,
        states: &states,
        mss: trace.config.groups[trace.flow.group].tcp.mss,
        interfaces: &trace.interfaces,
    };
    let mut out = Vec::new();
    log.write(Dialect::Sequential, &mut out).map_err(|e| failed(&e))?;
    Ok(Some(out))
}
