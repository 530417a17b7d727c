//! `forebay status`: attachments, their places, the connections that use them, and their counters.

use crate::catalog::Program;
use crate::inet_diag::{self, Socket};
use crate::{Error, Prefix, counters, lease, leftovers, loader, state};
use libbpf_rs::MapHandle;
use std::path::PathBuf;
use std::time::Duration;

/// State of an attachment.
#[derive(Debug)]
pub struct Status {
    /// The name under which it is registered.
    pub name: String,
    /// The program.
    pub program: String,
    /// `attach` was completed, and no attempt to undo it has failed.
    pub complete: bool,
    /// The kernel still has the congestion control; true for shims.
    pub registered: bool,
    /// Its prefixes.
    pub prefixes: Vec<Prefix>,
    /// Its cgroup.
    pub cgroup: Option<PathBuf>,
    /// It is the default for new connections.
    pub default: bool,
    /// The guard that rolls it back.
    pub guard: Option<Guard>,
    /// The connections that use it now.
    pub sockets: Vec<Socket>,
    /// The parameters, or why they cannot be read.
    pub params: Result<Vec<(String, u64)>, Error>,
    /// The counters, or why they cannot be read.
    pub counters: Result<Vec<(String, u64)>, Error>,
}

/// The guard of an attachment.
#[derive(Debug, Clone, Copy)]
pub struct Guard {
    /// Number of its process.
    pub process: u32,
    /// Time since it renewed its lease; `None` for callers that may not read it.
    pub renewed: Option<Duration>,
    /// Its lease has ended; the next command with privileges then rolls back.
    pub ended: bool,
}

/// All attachments. Callers that may not read the maps get the other fields.
pub fn status() -> Result<Vec<Status>, Error> {
    let mut found = Vec::new();
    let congestion_controls = loader::registered()?;
    for a in state::all()? {
        let sockets = a.namespace.run(inet_diag::sockets).ok().flatten().unwrap_or_default();
        let sockets = sockets.into_iter().filter(|s| s.cc == a.name).collect();
        let program = Program::named(&a.program);
        let map = |name: &str| {
            let path = a.pins().map(|p| p.join(name)).unwrap_or_default();
            MapHandle::from_pinned_path(&path).map_err(|e| crate::Error::bpf(path.display(), &e))
        };
        let params = match &program {
            Ok(p) if p.params.is_empty() => Ok(Vec::new()),
            Ok(p) => map("params").and_then(|m| counters::params(p, &m)),
            Err(e) => Err(crate::Error::new(e.to_string())),
        };
        let counters = match &program {
            Ok(p) => map("counters").and_then(|m| counters::counters(p, &m)),
            Err(e) => Err(crate::Error::new(e.to_string())),
        };
        let guard = a.guard.map(|g| Guard { process: g.process, renewed: lease::age(&a.lease()), ended: a.guard_has_ended() });
        found.push(Status {
            registered: a.cc().is_none_or(|cc| congestion_controls.iter().any(|l| l == cc)),
            guard,
            name: a.name,
            program: a.program,
            complete: a.complete && !a.undoing,
            prefixes: a.prefixes,
            cgroup: a.cgroup,
            default: a.default,
            sockets,
            params,
            counters,
        });
    }
    Ok(found)
}

/// Congestion controls of forebay that the kernel has and no attachment accounts for, with the numbers of their BPF links: their files or
/// pins were removed or moved, or a container has them. Empty without the privileges to list them.
///
/// # Errors
/// The state cannot be read.
pub fn unaccounted() -> Result<Vec<(String, u32)>, Error> {
    let all = state::all()?;
    let known: Vec<&str> = all.iter().map(|a| a.name.as_str()).collect();
    Ok(leftovers::others(&known))
}
