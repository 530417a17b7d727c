//! Message exchange among the processes of one simulation.

/// Connection of a process to the other processes of a run. Each has a number, its rank, from 0 on. All processes call [`Exchange::swap`] in the same
/// order.
pub trait Exchange: Send + Sync {
    /// The number of this process.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn ranks(&self) -> usize;

    /// Sends `out[r]` to each other process `r`, and replaces `come[r]` by the message from it. Returns when all messages have arrived. The carrier
    /// may take the contents of `out` or leave them; the entries of the process itself are ignored. When another process has ended, this one ends
    /// too.
    fn swap(&self, out: &mut [Vec<u8>], come: &mut [Vec<u8>]);

    /// Ends all processes with this exit code: this one cannot continue, and has reported why.
    fn end_all(&self, code: u8) -> !;
}
