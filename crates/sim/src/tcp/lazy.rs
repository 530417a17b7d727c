//! State that most connections never need, and of a hundred thousand connections each should cost little.

use std::ops::{Deref, DerefMut};

/// A state and what it is before anything has happened.
pub trait Fresh: Default + 'static {
    /// As [`Default`] makes it.
    const FRESH: &'static Self;
}

/// A state that is made when it is first changed, and kept from then on. Until then it reads as fresh.
#[derive(Debug, Clone)]
pub struct Lazy<T>(Option<Box<T>>);

impl<T> Default for Lazy<T> {
    fn default() -> Lazy<T> {
        Lazy(None)
    }
}

impl<T> Lazy<T> {
    /// The state, if it has been made.
    #[inline]
    pub fn made(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: Fresh> Deref for Lazy<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::FRESH)
    }
}

impl<T: Fresh> DerefMut for Lazy<T> {
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
