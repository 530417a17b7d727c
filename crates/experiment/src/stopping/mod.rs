//! When a figure of a run is known: the statistics of the scenario table `[stop]`.
//!
//! A run is a sequence of messages and queries, with a start and a duration each. The figure, such as a 99th percentile, is that of all messages after
//! a warm-up. Consecutive messages meet the same queues, so they are not independent: the accuracy follows from batches of messages by their start
//! time. Everything here is a pure function of messages and simulated times.
//!
//! * [`figure`]: the figures that can be requested, and their text.
//! * [`interval`]: confidence intervals from batches.
//! * [`warmup`]: the end of the initial transient.
//! * [`measure`]: from the messages of a run to its batches.
//! * [`rule`]: the table `[stop]`, and the noise floor.
//! * [`ratio`]: the ratio of a figure between two runs with the same arrivals.
//! * [`comparison`]: the rule for runs of several variants, which end together.
//! * [`reference_run`]: the rule for a run that is compared with a finished one.
//! * [`steady_state`]: the experiments without a steady state.

pub mod comparison;
pub mod figure;
pub mod interval;
pub mod measure;
pub mod ratio;
pub mod reference_run;
pub mod rule;
pub mod sampling;
pub mod steady_state;
pub mod warmup;
