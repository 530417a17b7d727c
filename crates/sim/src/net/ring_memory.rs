//! Memory of rings. A large network has tens of thousands of rings, and every packet touches two of them. Separate allocations would cost a TLB miss
//! in addition to the cache miss. So rings are cut out of large blocks, with huge pages for large blocks.
//!
//! Blocks stay with the process and are reused by the next run. Rings are made and grow rarely, so that one lock serves all threads.

use super::huge_pages;
use std::alloc::{Layout, alloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// Bytes of the first block. Each further block is as large as all before it together, so that small networks take little.
const FIRST: usize = 64 << 10;
/// Bytes from which on a block has huge pages: at most an eighth of the last block is wasted.
const HUGE: usize = 8 * huge_pages::PAGE;
/// Rings hold fewer than two to the power of this many slots.
const CLASSES: usize = 32;

struct Pool {
    /// Freed pieces, by the power of two.
    freed: [Vec<usize>; CLASSES],
    /// Addresses of the rest of the last block.
    next: usize,
    end: usize,
    /// Bytes of all blocks.
    total: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { freed: [const { Vec::new() }; CLASSES], next: 0, end: 0, total: 0 });

/// Allocates 2^`class` slots of this layout, and one more; the contents are arbitrary.
pub(super) fn take(class: u32, slot: Layout) -> NonNull<u8> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let address = pool.freed[class as usize].pop().unwrap_or_else(|| pool.cut(((1 << class) + 1) * slot.size(), slot.align()));
    let address = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: addresses in a block are not zero.
    unsafe { NonNull::new_unchecked(address) }
}

/// Frees the output of [`take`] for `class`.
pub(super) fn free(class: u32, piece: NonNull<u8>) {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    pool.freed[class as usize].push(piece.as_ptr().expose_provenance());
}

impl Pool {
    fn cut(&mut self, bytes: usize, align: usize) -> usize {
        let fits = |next: usize, end: usize| next.checked_next_multiple_of(align).filter(|at| at + bytes <= end);
        let at = fits(self.next, self.end).unwrap_or_else(|| {
            let size = self.total.max(FIRST).max(bytes).next_multiple_of(FIRST);
            self.next = block(size.max(align));
            (self.end, self.total) = (self.next + size, self.total + size);
            self.next
        });
        self.next = at + bytes;
        at
    }
}

/// Allocates a block and returns its address.
fn block(bytes: usize) -> usize {
    let align = if bytes >= HUGE { huge_pages::PAGE } else { 64 };
    let layout = Layout::from_size_align(bytes, align).unwrap_or_else(|_| panic!("rings of {bytes} bytes"));
    // SAFETY: the size is not zero.
    let block = NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
    if bytes >= HUGE {
        // SAFETY: the whole block, which has not been written to.
        huge_pages::advise(unsafe { std::slice::from_raw_parts_mut(block.as_ptr().cast::<MaybeUninit<u8>>(), bytes) });
    }
    block.as_ptr().expose_provenance()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn pieces_are_disjoint_and_reused() {
        let slot = Layout::from_size_align(32, 32).unwrap();
        let mut held: BTreeMap<usize, (usize, u32)> = BTreeMap::new();
        for i in 0..40_000u32 {
            let class = i.wrapping_mul(2_654_435_761) >> 29;
            let piece = take(class, slot);
            let (at, bytes) = (piece.as_ptr() as usize, ((1 << class) + 1) * 32);
            assert_eq!(at % 32, 0);
            assert!(held.range(..at + bytes).next_back().is_none_or(|(other, (bytes, _))| other + bytes <= at));
            held.insert(at, (bytes, class));
            if i % 3 == 0 {
                let (at, (_, class)) = held.pop_first().unwrap();
                free(class, NonNull::new(at as *mut u8).unwrap());
            }
        }
        held.into_iter().for_each(|(at, (_, class))| free(class, NonNull::new(at as *mut u8).unwrap()));
    }
}
