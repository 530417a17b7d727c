//! The `forebay` program as one of several processes that `mpirun` started.

mod mpi_exchange;

use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    match mpi_exchange::join() {
        Ok((joined, mpi)) => {
            let code = forebay_cli::run_among(std::env::args_os(), Arc::new(mpi));
            drop(joined);
            ExitCode::from(code)
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(1)
        }
    }
}
