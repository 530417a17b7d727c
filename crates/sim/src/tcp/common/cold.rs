//! State that most connections never need, and of a hundred thousand connections each should cost little.

use std::ops::{Deref, DerefMut};

/// A state and what it is before anything has happened.
pub trait Initial: Default + 'static {
    /// As [`Default`] makes it.
    const INITIAL: &'static Self;
}

/// A state that is made when it is first changed, and kept from then on. Until then it reads as fresh.
#[derive(Debug, Clone)]
pub struct Cold<T>(Option<Box<T>>);

impl<T> Default for Cold<T> {
    fn default() -> Cold<T> {
        Cold(None)
    }
}

impl<T> Cold<T> {
    /// The state, if it has been made.
    #[inline]
    pub fn made(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: Initial> Deref for Cold<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::INITIAL)
    }
}

impl<T: Initial> DerefMut for Cold<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(make)
    }
}

#[cold]
#[inline(never)]
fn make<T: Default>() -> Box<T> {
    Box::default()
}
