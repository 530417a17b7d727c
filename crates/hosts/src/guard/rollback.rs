//! Rolls back or keeps an attachment that is guarded. Both processes of a guard do this; doing it twice is safe.

use crate::state::{self, Attachment, Guard, Lock};
use crate::{Error, lease};
use std::path::Path;

/// State of the attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It belonged to this guard, and the change is made.
    Ours,
    /// It is no longer attached; its name is free or belongs to another attachment.
    Gone,
    /// It is attached without a guard, because it was kept earlier.
    Kept,
}

/// Returns true if its state file was removed without detaching, which removes the pins first.
pub(super) fn is_lost(attachment: &Attachment) -> bool {
    // A new attachment of that name has a file before it has pins.
    attachment.pins().is_some_and(Path::exists) && matches!(state::load(&attachment.name), Ok(None))
}

/// The attachment in the state file, if it belongs to this guard. If the file cannot be read, the copy in memory is used.
fn find(name: &str, guard: Guard, copy: Option<&Attachment>) -> Result<Result<Attachment, Found>, Error> {
    match (state::load(name), copy) {
        (Ok(Some(a)), _) if a.guard == Some(guard) => Ok(Ok(a)),
        (Ok(Some(a)), _) if a.guard.is_none() => Ok(Err(Found::Kept)),
        (Ok(None), Some(copy)) if is_lost(copy) => Ok(Ok(copy.clone())),
        (Ok(_), _) => Ok(Err(Found::Gone)),
        (Err(_), Some(copy)) => Ok(Ok(copy.clone())),
        (Err(e), None) => Err(e),
    }
}

/// Waits for the lock of the folder. If another process does not release it, the guard continues without it, because every change can
/// be made twice.
fn lock(note: &mut dyn FnMut(String)) -> Option<Lock> {
    Lock::take().map_err(|e| note(format!("continuing without the lock: {}", e.what()))).ok()
}

/// Undoes the attachment.
pub(super) fn roll_back(
    name: &str,
    guard: Guard,
    copy: Option<&Attachment>,
    note: &mut dyn FnMut(String),
) -> Result<Found, Error> {
    // Without an attachment, do not wait for the lock.
    if let Err(found) = find(name, guard, copy)? {
        return Ok(found);
    }
    let _lock = lock(note);
    match find(name, guard, copy)? {
        Ok(attachment) => {
            attachment.undo()?.into_iter().for_each(note);
            Ok(Found::Ours)
        }
        Err(found) => Ok(found),
    }
}

/// Leaves it attached, without a guard.
pub(super) fn keep(name: &str, guard: Guard, copy: Option<&Attachment>, note: &mut dyn FnMut(String)) -> Result<Found, Error> {
    let _lock = lock(note);
    match find(name, guard, copy)? {
        Ok(mut attachment) => {
            attachment.guard = None;
            attachment.save()?;
            lease::remove(&attachment.lease())?;
            Ok(Found::Ours)
        }
        Err(found) => Ok(found),
    }
}
