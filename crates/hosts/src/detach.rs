//! `forebay detach`: takes off what was attached. With the files of `/run/forebay` lost it goes by what is in the kernel: our folder in
//! BPF file systems, routes with our protocol number.

use crate::state::{self, Lock};
use crate::tune::named;
use crate::{Error, pins, route, sysctl, tc};
use std::fs;

/// Takes one attachment off; returns what was done.
pub fn detach(name: &str) -> Result<Vec<String>, Error> {
    let lock = Lock::take()?;
    lock.tidy()?;
    let attachment = named(name)?;
    attachment.undo()?;
    Ok(vec![format!("detached {}", attachment.name)])
}

/// Takes everything off, also what no file remembers.
pub fn detach_all() -> Result<Vec<String>, Error> {
    let _lock = Lock::take()?;
    let mut done = Vec::new();
    // A damaged file is no reason to leave something behind: what it stood for is found below.
    for attachment in state::all().unwrap_or_default() {
        attachment.undo()?;
        done.push(format!("detached {}", attachment.name));
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
        let mut left: Vec<_> =
            fs::read_dir(&folder).map_err(|e| Error::io(folder.display(), &e))?.flatten().map(|e| e.path()).collect();
        left.sort();
        for dir in left {
            let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(line) = leave_default(&name)? {
                done.push(line);
            }
            pins::remove(&dir)?;
            done.push(format!("removed {} that no file remembers", dir.display()));
        }
    }
    for entry in fs::read_dir(state::FOLDER).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "json" || e == "new") {
            fs::remove_file(&path).map_err(|e| Error::io(path.display(), &e))?;
        }
    }
    Ok(done)
}

/// Changes a default whose predecessor no file remembers: to the first that everybody may use, cubic before others. Reno always is.
fn leave_default(name: &str) -> Result<Option<String>, Error> {
    let key = "net.ipv4.tcp_congestion_control";
    if sysctl::get(key)? != name {
        return Ok(None);
    }
    let allowed = sysctl::get("net.ipv4.tcp_allowed_congestion_control")?;
    let others: Vec<&str> = allowed.split_whitespace().filter(|n| *n != name).collect();
    let next = others.iter().find(|n| **n == "cubic").or(others.first()).unwrap_or(&"reno");
    sysctl::set(key, next)?;
    Ok(Some(format!("{key} = {next}: what it was before {name} is not known any more")))
}
