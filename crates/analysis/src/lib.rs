//! Analysis of results as sentences and a few numbers: unfinished work, starvation, and the ranking of transports.
//!
//! The input is the tables and the manifest of run directories ([`read`]), as plain data ([`Data`]), so that the terminal, the page, comparisons
//! and Python show the same. The analysis is independent of the set of transports: names come from the tables.

mod active_use;
mod application_limits;
mod bad_links;
mod cells;
mod censored_quantiles;
mod comparison;
mod data;
mod deadlines;
mod differences;
mod dimension;
mod expectations;
mod format;
mod grid;
mod head_of_line;
mod headline;
mod headline_metrics;
mod hops;
mod ideal_query_time;
mod incomplete_workloads;
mod jobs;
mod known_figures;
mod late_messages;
mod loads;
mod long_flow_limits;
mod long_flow_starvation;
mod max_min;
mod measurement_gaps;
mod missing_marks;
mod names;
mod overload;
mod paths;
mod ranking;
mod read;
mod retransmissions;
mod round_trips;
mod row_context;
mod single_transport;
mod tail;
mod time_series;
mod workload_shares;
mod workload_times;

pub use cells::{Cell, FEW as FEW_SEEDS, cell, cell_of, cells};
pub use data::{
    Data, FULLEST_PORT, Flow, GoodputSeries, Limits, Metric, Network, Port, Query, QueueSeries, Run, SenderSeries, Subject,
    Timeout, metrics,
};
pub use differences::{Change, Differences, Quantity, differences};
pub use dimension::{Dimension, by_name};
pub use expectations::{Judged, Verdict, check_expectations, judge_expectations};
pub use format::{bold, count, factor, list, number, quantity};
pub use grid::{Grid, GridCell, ports, workloads};
pub use headline::{Headline, HeadlineChart, headline};
pub use headline_metrics::headline_metrics;
pub use known_figures::sentences as known_sentences;
pub use names::directories;
pub use read::read;
pub use row_context::limit_memory;
pub use tail::FAR;
pub use workload_shares::{Count, WorkloadShare, workload_shares};
