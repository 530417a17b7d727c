//! Cost of an exchange at the end of a window: `mpirun -n 2 target/release/examples/exchange`. In each round every process sends the same number of
//! bytes to every other process. Process 0 prints the median, the tenth and the ninetieth percentile of the time of a round, in microseconds.

#[path = "../src/mpi_exchange.rs"]
mod mpi_exchange;

use forebay_sim::exchange::Exchange;
use std::process::ExitCode;
use std::time::Instant;

/// Bytes for each other process. A window in which nothing crosses over takes some 50; a packet 36.
const SIZES: [usize; 6] = [50, 400, 4_000, 40_000, 400_000, 4_000_000];

/// Approximate bytes sent in a series of rounds, and the minimum and maximum number of rounds.
const VOLUME: usize = 400_000_000;
const ROUNDS: (usize, usize) = (100, 20_000);

fn main() -> ExitCode {
    let (joined, mpi) = match mpi_exchange::join() {
        Ok(joined) => joined,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(1);
        }
    };
    let ranks = mpi.ranks();
    for size in SIZES {
        let mut out = vec![vec![7; size]; ranks];
        let mut come = vec![Vec::new(); ranks];
        let rounds = (VOLUME / size).clamp(ROUNDS.0, ROUNDS.1);
        let mut taken: Vec<f64> = (0..rounds)
            .map(|_| {
                let clock = Instant::now();
                mpi.swap(&mut out, &mut come);
                clock.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        assert!((0..ranks).all(|rank| rank == mpi.rank() || come[rank].len() == size));
        taken.sort_unstable_by(f64::total_cmp);
        let at = |part: usize| taken[taken.len() * part / 100];
        if mpi.rank() == 0 {
            let line = format!("{ranks} processes, {size:>7} B: {:8.1} us (10 %: {:.1}, 90 %: {:.1})", at(50), at(10), at(90));
            eprintln!("{line}");
        }
    }
    drop(joined);
    ExitCode::SUCCESS
}
