//! How the processes that run one simulation together reach each other.

/// The processes of a run, as one of them sees the others. Each has a number, its rank, from 0 on, and all do the same in the same order; what they
/// say to each other goes by [`Exchange::swap`] alone.
pub trait Exchange: Send + Sync {
    /// The number of this process.
    fn rank(&self) -> usize;

    /// How many there are.
    fn ranks(&self) -> usize;

    /// Gives `out[r]` to each other process `r`, and puts what it gives to this one into `come[r]`, in place of what is there. Returns when all of it
    /// has come. The contents of `out` are taken or left, as it suits the carrier; entries of the process itself are not looked at.
    /// When another process is gone, this one ends too.
    fn swap(&self, out: &mut [Vec<u8>], come: &mut [Vec<u8>]);

    /// Ends all processes at once with this exit code: this one cannot go on, and has said why.
    fn end_all(&self, code: u8) -> !;
}
