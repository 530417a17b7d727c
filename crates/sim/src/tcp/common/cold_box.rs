//! State that most connections never need. It takes eight bytes until it is first changed.

use std::ops::{Deref, DerefMut};

/// State with a constant initial value.
pub trait Initial: Default + 'static {
    /// Initial value, equal to that of [`Default`].
    const INITIAL: &'static Self;
}

/// State that is allocated at its first change, and never freed. Before, it reads as its initial value.
#[derive(Debug, Clone)]
pub struct Cold<T>(Option<Box<T>>);

impl<T> Default for Cold<T> {
    fn default() -> Cold<T> {
        Cold(None)
    }
}

impl<T> Cold<T> {
    /// Returns the state if it exists.
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
