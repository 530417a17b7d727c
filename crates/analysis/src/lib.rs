//! What results say, in words and a few numbers: what did not finish, who starved beside whom, who is ahead and by how much.
//!
//! Everything comes from the tables and the manifest of run directories ([`read`]), as plain data ([`Data`]), so the terminal, the page, a
//! comparison and Python say the same. Which transports there are is not known here: names come from the tables.

mod behind;
mod by_class;
mod cells;
mod classes;
mod contest;
mod data;
mod deadlines;
mod describe;
mod dimension;
mod endless;
mod grid;
mod headline;
mod hops;
mod late;
mod loads;
mod names;
mod needs;
mod never;
mod paths;
mod place;
mod read;
mod series;
mod settled;
mod standing;
mod telling;
mod unfinished;
mod words;

pub use cells::{Cell, cell, cell_of, cells};
pub use classes::{Class, Count, classes};
pub use data::{
    Data, Flow, GoodputSeries, Limits, Metric, Network, Port, Query, QueueSeries, Run, SenderSeries, Subject, Timeout, metrics,
};
pub use dimension::{Dimension, by_name};
pub use grid::{Grid, GridCell, ports, workloads};
pub use headline::{Headline, HeadlineChart, headline};
pub use names::directories;
pub use place::limit_memory;
pub use read::read;
pub use telling::judged;
pub use words::{bold, count, factor, list, number, quantity};
