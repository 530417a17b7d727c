//! `forebay detach`: removes attachments. Without state files in `/run/forebay` it finds them in the kernel, by our folder in BPF file systems and by
//! routes with our protocol number.

use crate::state::{self, Lock};
use crate::step::DEFAULT_CC;
use crate::tune::named;
use crate::{Error, leftovers, loader, pins, privileges, route, sysctl, tc};
use std::path::Path;
use std::{fs, thread};

/// Removes one attachment and returns the actions, one per line.
///
/// # Errors
/// It is not attached, or part of it is still in the kernel. Its file stays then, so that the command can be repeated.
pub fn detach(name: &str) -> Result<Vec<String>, Error> {
    let lock = Lock::take()?;
    // Tidying up may remove it, if its guard has ended.
    // By its own file first: a damaged file of another attachment does not prevent the removal of this one.
    let own = if loader::is_name(name) { state::load(name) } else { Ok(None) };
    let attachment = own.and_then(|own| own.map_or_else(|| named(name), Ok));
    let tidied = lock.tidy();
    let attachment = attachment?;
    let mut done = attachment.undo()?;
    done.push(format!("detached {}", attachment.name));
    done.extend(tidied.err().map(|e| format!("another attachment could not be rolled back: {}", e.what())));
    Ok(done)
}

/// Undoes attachments whose guard has ended without a decision of its user; returns a line for each. Without such attachments it
/// needs no privileges.
pub fn expired() -> Result<Vec<String>, Error> {
    if !state::all()?.iter().any(|a| a.guard_has_ended()) {
        return Ok(Vec::new());
    }
    // Dropping capabilities concerns one thread: the caller keeps its own.
    let work = || privileges::keep_needed().and_then(|()| Lock::take()?.tidy());
    thread::scope(|s| match thread::Builder::new().spawn_scoped(s, work) {
        Ok(thread) => thread.join().unwrap_or_else(|_| Err(Error::new("rolling back panicked"))),
        Err(e) => Err(Error::io("a thread for rolling back", &e)),
    })
}

/// Removes everything, including changes without a state file.
///
/// # Errors
/// At least one attachment could not be undone completely; the others were.
pub fn detach_all() -> Result<Vec<String>, Error> {
    let lock = Lock::take()?;
    let (mut done, mut first, mut kept) = (Vec::new(), Ok(()), Vec::new());
    // A damaged file is no reason to leave something behind: what it stood for is found below.
    for (file, attachment) in state::each()? {
        match attachment {
            Ok(attachment) => match attachment.undo() {
                Ok(notes) => {
                    done.extend(notes);
                    done.push(format!("detached {}", attachment.name));
                }
                Err(e) => {
                    kept.extend(attachment.pins().map(Path::to_owned));
                    first = first.and(Err(e));
                }
            },
            Err(e) => done.push(format!("did not use {}: {}", file.display(), e.what())),
        }
    }
    for route in route::own_routes()? {
        match route.remove() {
            Ok(()) => done.push(format!("removed the route to {} without a state file", route.prefix)),
            Err(e) => first = first.and(Err(e)),
        }
    }
    for filter in tc::own_filters()? {
        match filter.remove() {
            Ok(()) => done.push(format!("removed the filter at {} without a state file", filter.device)),
            Err(e) => first = first.and(Err(e)),
        }
    }
    for folder in pins::folders()? {
        let folder = match folder {
            Ok(folder) => folder,
            Err(e) => {
                done.push(format!("skipped: {}", e.what()));
                continue;
            }
        };
        let mut left: Vec<_> =
            fs::read_dir(&folder).map_err(|e| Error::io(folder.display(), &e))?.flatten().map(|e| e.path()).collect();
        // The next attempt needs the pins of an attachment that connections could not leave.
        left.retain(|dir| !kept.contains(dir));
        left.sort();
        for dir in left {
            match remove_pins(&dir) {
                Ok(lines) => done.extend(lines),
                Err(e) => first = first.and(Err(e)),
            }
        }
    }
    // The files of attachments that could not be removed are needed again.
    first?;
    lock.clear()?;
    for (name, link) in leftovers::others(&[]) {
        done.push(format!(
            "{name} is still registered by a program of forebay, but has no state file here (BPF link {link}); if no container on this machine uses \
             it, run `bpftool link detach id {link}`"
        ));
    }
    Ok(done)
}

/// Removes a folder of pins without a state file, and ends the pinned links.
fn remove_pins(dir: &Path) -> Result<Vec<String>, Error> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut done: Vec<String> = leave_default(&name)?.into_iter().collect();
    let links = pins::links(dir);
    pins::remove(dir)?;
    done.extend(leftovers::end(Some(name.as_str()).filter(|_| !links.is_empty()), &links)?);
    done.push(format!("removed {} without a state file", dir.display()));
    Ok(done)
}

/// Changes a default whose predecessor is in no state file: to the first one that unprivileged users may use, cubic before others. Reno always is
/// one.
fn leave_default(name: &str) -> Result<Option<String>, Error> {
    let key = DEFAULT_CC;
    if sysctl::get(key)? != name {
        return Ok(None);
    }
    let allowed = sysctl::get("net.ipv4.tcp_allowed_congestion_control")?;
    let others: Vec<&str> = allowed.split_whitespace().filter(|n| *n != name).collect();
    let next = others.iter().find(|n| **n == "cubic").or(others.first()).unwrap_or(&"reno");
    sysctl::set(key, next)?;
    Ok(Some(format!("{key} = {next}: what it was before {name} is not known any more")))
}
