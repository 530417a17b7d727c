//! `forebay detach`: takes off what was attached. With the files of `/run/forebay` lost it goes by what is in the kernel: our folder in
//! BPF file systems, routes with our protocol number.

use crate::state::{self, Lock};
use crate::step::DEFAULT_LAW;
use crate::tune::named;
use crate::{Error, pins, privileges, registered, route, sysctl, tc};
use std::{fs, thread};

/// Takes one attachment off; returns what was done.
///
/// # Errors
/// It is not attached, or part of it is still in the kernel. Its file stays then, so that the command can be repeated.
pub fn detach(name: &str) -> Result<Vec<String>, Error> {
    let lock = Lock::take()?;
    // If its guard has ended, `tidy` may undo it.
    let attachment = named(name);
    lock.tidy()?;
    let attachment = attachment?;
    let mut done = attachment.undo()?;
    done.push(format!("detached {}", attachment.name));
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
    thread::scope(|s| s.spawn(work).join()).unwrap_or_else(|_| Err(Error::new("rolling back panicked")))
}

/// Takes everything off, also what no file remembers.
///
/// # Errors
/// At least one attachment could not be undone completely; the others were.
pub fn detach_all() -> Result<Vec<String>, Error> {
    let lock = Lock::take()?;
    let mut done = Vec::new();
    // A damaged file is no reason to leave something behind: what it stood for is found below.
    for (file, attachment) in state::each()? {
        match attachment {
            Ok(attachment) => {
                done.extend(attachment.undo()?);
                done.push(format!("detached {}", attachment.name));
            }
            Err(e) => done.push(format!("ignored {}: {}", file.display(), e.what())),
        }
    }
    for route in route::ours()? {
        route.remove()?;
        done.push(format!("removed the route to {} that no file remembers", route.prefix));
    }
    for filter in tc::ours()? {
        filter.remove()?;
        done.push(format!("removed the filter at {} that no file remembers", filter.device));
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
        left.sort();
        for dir in left {
            let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(line) = leave_default(&name)? {
                done.push(line);
            }
            let links = pins::links(&dir);
            pins::remove(&dir)?;
            done.extend(registered::end(Some(&name).filter(|_| !links.is_empty()).map(String::as_str), &links)?);
            done.push(format!("removed {} that no file remembers", dir.display()));
        }
    }
    lock.clear()?;
    for (name, link) in registered::others(&[]) {
        done.push(format!(
            "{name} is still registered by a program of forebay, but has no state file here (BPF link {link}); if no container on this machine uses \
             it, run `bpftool link detach id {link}`"
        ));
    }
    Ok(done)
}

/// Changes a default whose predecessor no file remembers: to the first that everybody may use, cubic before others. Reno always is.
fn leave_default(name: &str) -> Result<Option<String>, Error> {
    let key = DEFAULT_LAW;
    if sysctl::get(key)? != name {
        return Ok(None);
    }
    let allowed = sysctl::get("net.ipv4.tcp_allowed_congestion_control")?;
    let others: Vec<&str> = allowed.split_whitespace().filter(|n| *n != name).collect();
    let next = others.iter().find(|n| **n == "cubic").or(others.first()).unwrap_or(&"reno");
    sysctl::set(key, next)?;
    Ok(Some(format!("{key} = {next}: what it was before {name} is not known any more")))
}
