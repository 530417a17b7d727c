//! The `forebay` program as one of several processes that `mpirun` started.

#[cfg(unix)]
mod file_size_limit;
mod mpi_exchange;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod out_of_memory;

use std::process::ExitCode;
use std::sync::Arc;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: out_of_memory::OrEnd = out_of_memory::OrEnd;

fn main() -> ExitCode {
    #[cfg(unix)]
    file_size_limit::ignore_signal();
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
