//! Memory of rings: a large network has tens of thousands, of which every packet touches two. In pieces from the system's allocator, each on a
//! page of its own neighbourhood, they cost a miss of the address cache (TLB) beside that of the data cache. So they are cut out of large
//! blocks, and for large ones huge pages are asked.
//!
//! Blocks stay with the process: the rings of the next run lie in them. Rings are made and grow rarely, so that one lock serves all threads.

use super::huge_pages;
use std::alloc::{Layout, alloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// Bytes of the first block. The others are as large as all before them together, so that small networks take little.
const FIRST: usize = 64 << 10;
/// Bytes from which on a block has huge pages: of the last one, which is not used up, no more than an eighth is taken in vain.
const HUGE: usize = 8 * huge_pages::PAGE;
/// Rings hold two to the power of less than this slots.
const CLASSES: usize = 32;

struct Pool {
    /// What rings gave back, by the power of two.
    free: [Vec<usize>; CLASSES],
    /// Addresses of what is left of the last block.
    next: usize,
    end: usize,
    /// Bytes of all blocks.
    total: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { free: [const { Vec::new() }; CLASSES], next: 0, end: 0, total: 0 });

/// A piece for 2^`class` slots of this layout, and another one; whatever is in it.
pub(super) fn take(class: u32, slot: Layout) -> NonNull<u8> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let address = pool.free[class as usize].pop().unwrap_or_else(|| pool.cut(((1 << class) + 1) * slot.size(), slot.align()));
    let address = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: addresses in a block are not zero.
    unsafe { NonNull::new_unchecked(address) }
}

/// Gives back what [`take`] gave for `class`.
pub(super) fn give_back(class: u32, piece: NonNull<u8>) {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    pool.free[class as usize].push(piece.as_ptr().expose_provenance());
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

/// The address of a new block.
fn block(bytes: usize) -> usize {
    let align = if bytes >= HUGE { huge_pages::PAGE } else { 64 };
    let layout = Layout::from_size_align(bytes, align).unwrap_or_else(|_| panic!("rings of {bytes} bytes"));
    // SAFETY: the size is not zero.
    let block = NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
    if bytes >= HUGE {
        // SAFETY: the whole block, to which nobody has written.
        huge_pages::advise(unsafe { std::slice::from_raw_parts_mut(block.as_ptr().cast::<MaybeUninit<u8>>(), bytes) });
    }
    block.as_ptr().expose_provenance()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn pieces_do_not_overlap_and_are_used_again() {
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
                give_back(class, NonNull::new(at as *mut u8).unwrap());
            }
        }
        held.into_iter().for_each(|(at, (_, class))| give_back(class, NonNull::new(at as *mut u8).unwrap()));
    }
}
