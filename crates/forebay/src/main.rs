//! The `forebay` program. If `mpirun` started several processes, it becomes `forebay-mpi`, which a build with MPI leaves beside it.

#[cfg(unix)]
mod file_size_limit;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod out_of_memory;

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: out_of_memory::OrEnd = out_of_memory::OrEnd;

fn main() -> ExitCode {
    #[cfg(unix)]
    if let Some(code) = mpirun::become_mpi_process() {
        return code;
    }
    #[cfg(unix)]
    file_size_limit::ignore_signal();
    ExitCode::from(forebay_cli::run(std::env::args_os()))
}

#[cfg(unix)]
mod mpirun {
    use std::env;
    use std::io::ErrorKind;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitCode};

    /// Environment variables of launchers with the number of processes and the own number: those of Open MPI, and of PMI (MPICH, Intel MPI, Slurm).
    const LAUNCHERS: [(&str, &str); 2] = [("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK")];

    /// Returns only if this process is alone, or cannot become one of several: with the exit code then.
    pub(crate) fn become_mpi_process() -> Option<ExitCode> {
        let number = |name| env::var(name).ok()?.parse::<u32>().ok();
        let (count, rank) = LAUNCHERS.iter().find_map(|(size, rank)| Some((number(size)?, number(rank)?)))?;
        if count < 2 {
            return None;
        }
        let other = env::current_exe().map(|own| own.with_file_name("forebay-mpi"));
        let why =
            other.map(|other| Command::new(other).arg0("forebay").args(env::args_os().skip(1)).exec()).unwrap_or_else(|e| e);
        if rank == 0 {
            let missing = why.kind() == ErrorKind::NotFound;
            let help = if missing {
                "this forebay was built without MPI (docs/how-to/run-on-a-cluster.md has the steps to build it)".into()
            } else {
                why.to_string()
            };
            eprintln!(
                "error: mpirun has started {count} processes, and forebay-mpi, which divides a run among them, cannot be started: {help}"
            );
        }
        Some(ExitCode::from(2))
    }
}
