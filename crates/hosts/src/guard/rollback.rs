//! The two ends of an attachment that is guarded: rolled back, or kept. Both processes of a guard use them; doing so twice is safe.

use crate::state::{self, Attachment, Guard, Lock};
use crate::{Error, lease};
use std::path::Path;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It was there, and this guard's. Now it is done.
    Ours,
    /// Nothing of that name is attached any more, or something else is.
    Gone,
    /// It is attached, without a guard: kept before.
    Kept,
}

/// Whether its file is gone although it was not detached, which removes the pins first.
pub(super) fn is_lost(attachment: &Attachment) -> bool {
    // A new attachment of that name has a file before it has pins.
    attachment.pins().is_some_and(Path::exists) && matches!(state::load(&attachment.name), Ok(None))
}

/// The attachment as it is written down, if it is this guard's. A file that cannot be read is no reason to leave it attached: the
/// copy in memory is used then.
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

/// Waits for the lock of the folder. A process that keeps it does not keep a guard from its work: every change is made so that
/// it can be made twice.
fn lock(note: &mut dyn FnMut(String)) -> Option<Lock> {
    Lock::take().map_err(|e| note(format!("going on without the lock: {}", e.what()))).ok()
}

/// Takes it off.
pub(super) fn roll_back(
    name: &str,
    guard: Guard,
    copy: Option<&Attachment>,
    note: &mut dyn FnMut(String),
) -> Result<Found, Error> {
    // Nothing to do is found without waiting.
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
