//! The [`Exchange`] of the processes of one run over MPI, as `mpirun` started them.

use forebay_sim::exchange::Exchange;
use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading};
use mpi::request::scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Equivalence, Source};

/// Most bytes of a message: MPI counts in 31 bits. Longer data go in several messages, of which all but the last have this length.
const MOST: usize = 1 << 30;

/// The processes that were started together.
#[derive(Debug)]
pub(crate) struct Mpi(());

/// Membership of this process; dropping it waits for the others to leave.
pub(crate) struct Joined {
    _universe: Universe,
}

/// Joins the processes that were started together: call it once, from the main thread, and drop the result beside them at the end.
///
/// # Errors
/// An MPI without support for several threads: the thread that runs a simulation is not the one that joined.
pub(crate) fn join() -> Result<(Joined, Mpi), String> {
    let (universe, threading) = initialize_with_threading(Threading::Serialized).ok_or("MPI is already initialized")?;
    if threading < Threading::Serialized {
        return Err("this MPI does not support MPI_THREAD_SERIALIZED; use one that was built for threads".into());
    }
    Ok((Joined { _universe: universe }, Mpi(())))
}

fn world() -> SimpleCommunicator {
    SimpleCommunicator::world()
}

impl Exchange for Mpi {
    fn rank(&self) -> usize {
        world().rank() as usize
    }

    fn ranks(&self) -> usize {
        world().size() as usize
    }

    fn swap(&self, out: &mut [Vec<u8>], come: &mut [Vec<u8>]) {
        let world = world();
        let own = world.rank() as usize;
        scope(|scope| {
            let mut sends = Vec::with_capacity(out.len());
            for (rank, bytes) in out.iter().enumerate().filter(|(rank, _)| *rank != own) {
                let to = world.process_at_rank(rank as i32);
                let mut rest = bytes.as_slice();
                loop {
                    let (first, behind) = rest.split_at(rest.len().min(MOST));
                    sends.push(to.immediate_send(scope, first));
                    if first.len() < MOST {
                        break;
                    }
                    rest = behind;
                }
            }
            for (rank, bytes) in come.iter_mut().enumerate().filter(|(rank, _)| *rank != own) {
                let from = world.process_at_rank(rank as i32);
                bytes.clear();
                loop {
                    let (message, status) = from.matched_probe();
                    let (before, more) = (bytes.len(), status.count(u8::equivalent_datatype()) as usize);
                    bytes.resize(before + more, 0);
                    message.matched_receive_into(&mut bytes[before..]);
                    if more < MOST {
                        break;
                    }
                }
            }
            for send in sends {
                send.wait();
            }
        });
    }

    fn end_all(&self, code: u8) -> ! {
        world().abort(i32::from(code))
    }
}
