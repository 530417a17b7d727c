//! Native module of the Python package `forebay`, not meant for users.
//!
//! It is a thin layer over the crates that the command line uses. Errors are raised as the classes of `forebay._errors`. Types of arguments and
//! results are generated into `python/forebay/_native.pyi`.

mod buffer;
mod concat;
mod control;
mod detach;
mod engine;
mod errors;
mod files;
mod listener;
mod model;
mod registry;
mod remote_units;
mod report;
mod results;
mod run;
mod scenario;
mod session;
mod sweep;
mod table;

/// The native module of the package; use `forebay` instead.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::buffer::Buffer;
    #[pymodule_export]
    use crate::control::{Ack, Controls, Event, Reduction, Window};
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::files::write_file;
    #[pymodule_export]
    use crate::model::{
        model_ceilings, model_dctcp, model_first_round, model_incast, model_nstar, model_random_marks, model_remaining,
        model_shares, model_trim, model_trim_flows, model_trim_queue, model_trim_wait, model_weight,
    };
    #[pymodule_export]
    use crate::registry::registry;
    #[pymodule_export]
    use crate::remote_units::{BegunSweep, run_batch, run_once};
    #[pymodule_export]
    use crate::report::{answer, explain, report};
    #[pymodule_export]
    use crate::results::{Results, open_run, table_names};
    #[pymodule_export]
    use crate::run::{cli, run_all};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::session::{Runs, Session};
    #[pymodule_export]
    use crate::sweep::{Sweep, open_sweep, run_sweep};
    #[pymodule_export]
    use crate::table::ArrowTable;
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "beside the version")]
    const __sources__: &str = forebay_runner::sweep::key::SOURCES;
}
