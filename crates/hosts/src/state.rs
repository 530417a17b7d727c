//! State of attachments: one file each in `/run/forebay`, written before anything is changed. One process at a time changes
//! anything (a lock), so that an attachment that is incomplete while the lock is free was left by a process that was killed.
//!
//! The files are undone with root's rights. Only root can write them ([`forebay_platform::files::Dir`]), and every field that undoing acts on is checked
//! nevertheless ([`Attachment::check`]).

use crate::catalog::Program;
use crate::run_dir::{FOLDER, distrust, folder, folder_or_new};
use crate::step::Step;
use crate::{Error, Health, NetNs, Prefix, lease, loader};
use forebay_platform::files::Dir;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Permission bits of the files: `forebay status` needs no privileges. The lock is 0600.
const FILE_MODE: u32 = 0o644;
/// Longest wait of a command for another one.
const PATIENCE: Duration = Duration::from_secs(10);

/// One attachment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Attachment {
    /// The name under which a congestion control is registered, or a shim is known; unique on the machine.
    pub(crate) name: String,
    /// The program, of the catalog.
    pub(crate) program: String,
    /// The network namespace whose routes, settings and interfaces are concerned.
    pub(crate) namespace: NetNs,
    pub(crate) prefixes: Vec<Prefix>,
    pub(crate) cgroup: Option<PathBuf>,
    pub(crate) default: bool,
    /// Health of its connections before attaching.
    pub(crate) before: Health,
    /// All steps, done or planned, in order.
    pub(crate) steps: Vec<Step>,
    /// Numbers of the kernel's BPF links, known once they are pinned.
    #[serde(default)]
    pub(crate) links: Vec<u32>,
    /// All steps were done.
    pub(crate) complete: bool,
    /// Undoing has begun, and open connections could not leave the congestion control: its pins stay until a later attempt succeeds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) undoing: bool,
    /// The guard, which undoes the attachment when it ends, unless its user decides otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) guard: Option<Guard>,
}

/// A guard (`guard.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Guard {
    /// Number of its process.
    pub(crate) process: u32,
    /// Time at which it was started, on the clock of `clock.rs`: numbers of processes are used again.
    pub(crate) since: u64,
}

impl Attachment {
    fn file_name(&self) -> OsString {
        format!("{}.json", self.name).into()
    }

    /// Writes its file atomically; the caller has the lock.
    pub(crate) fn save(&self) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).map_err(|e| Error::new(format!("{FOLDER}/{}.json: {e}", self.name)))?;
        folder_or_new()?.write(&self.file_name(), (text + "\n").as_bytes(), FILE_MODE).map_err(distrust)
    }

    /// File of the lease of its guard.
    pub(crate) fn lease(&self) -> PathBuf {
        Path::new(FOLDER).join(format!("{}.lease", self.name))
    }

    /// Returns true if it has a guard, and the guard has ended, hangs or is stopped.
    pub(crate) fn guard_has_ended(&self) -> bool {
        self.guard.is_some() && lease::has_ended(&self.lease())
    }

    /// Removes its file.
    pub(crate) fn forget(&self) -> Result<(), Error> {
        lease::remove(&self.lease())?;
        match folder()? {
            Some(folder) => folder.remove_file(&self.file_name()).map_err(distrust),
            None => Ok(()),
        }
    }

    /// Folder of its pinned links and maps.
    pub(crate) fn pins(&self) -> Option<&Path> {
        self.steps.iter().find_map(|s| match s {
            Step::Pins { folder } => Some(folder.as_path()),
            _ => None,
        })
    }

    /// The name under which it registers a congestion control, if it is one.
    pub(crate) fn cc(&self) -> Option<&str> {
        self.steps.iter().find_map(|s| match s {
            Step::Sockets { cc, .. } => Some(cc.as_str()),
            _ => None,
        })
    }

    /// Checks all fields that `undo` acts on: they must be as `attach` writes them for the file of this name.
    fn check(&self, file: &str) -> Result<(), String> {
        if !loader::is_name(&self.name) || self.name != file {
            return Err(format!("name `{}`: not the name of the file", self.name));
        }
        Program::named(&self.program).map_err(|e| e.what().to_owned())?;
        let pins = self.pins().ok_or("no step `pins`")?.to_owned();
        let last = |p: &Path, n: usize| p.iter().rev().nth(n).map(OsStr::to_owned);
        let plain = pins.is_absolute() && pins.components().all(|c| !matches!(c, std::path::Component::ParentDir));
        if !plain || last(&pins, 0) != Some(self.name.clone().into()) || last(&pins, 1) != Some("forebay".into()) {
            return Err(format!("folder `{}`: not .../forebay/{} in a BPF file system", pins.display(), self.name));
        }
        self.steps.iter().try_for_each(|s| s.check(&self.name, &self.program, &pins))
    }
}

/// The attachment of exactly that name.
pub(crate) fn load(name: &str) -> Result<Option<Attachment>, Error> {
    folder()?.map_or(Ok(None), |folder| read(&folder, name))
}

/// Reads the file of this attachment; `None` where it is gone.
fn read(folder: &Dir, name: &str) -> Result<Option<Attachment>, Error> {
    let Some(text) = folder.read(OsStr::new(&format!("{name}.json"))).map_err(distrust)? else { return Ok(None) };
    let damaged = |e: String| {
        Error::new(format!("{FOLDER}/{name}.json: {e}"))
            .fix("remove the file; `forebay detach --all` finds what was attached without it")
    };
    parse(name, &text).map(Some).map_err(damaged)
}

fn parse(name: &str, text: &[u8]) -> Result<Attachment, String> {
    let attachment: Attachment = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    attachment.check(name)?;
    Ok(attachment)
}

/// Checks the text of the state file of the attachment `name`, as each command does before it acts on the file.
///
/// # Errors
/// The field that `forebay attach` would not have written so.
pub fn check_state_file(name: &str, text: &[u8]) -> Result<(), String> {
    parse(name, text).map(drop)
}

/// All attachments, by name; the error names a file that cannot be used.
pub(crate) fn all() -> Result<Vec<Attachment>, Error> {
    each()?.into_iter().map(|(_, attachment)| attachment).collect()
}

/// A file by name, with the attachment that it describes.
type StateFile = (OsString, Result<Attachment, Error>);

/// Each state file with its attachment.
pub(crate) fn each() -> Result<Vec<StateFile>, Error> {
    let Some(folder) = folder()? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for name in folder.names().map_err(distrust)? {
        let Some(stem) = name.to_str().and_then(|n| n.strip_suffix(".json")) else { continue };
        // The attachment of a missing file was detached in between.
        if let Some(attachment) = read(&folder, stem).transpose() {
            found.push((name, attachment));
        }
    }
    Ok(found)
}

/// The right to change what is attached; given back when dropped.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for it for some seconds.
    pub(crate) fn take() -> Result<Lock, Error> {
        let folder = folder_or_new()?;
        let begin = Instant::now();
        loop {
            match folder.try_lock(OsStr::new("lock")).map_err(distrust)? {
                Some(file) => return Ok(Lock { _file: file }),
                None if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
                None => {
                    return Err(Error::new(format!(
                        "another forebay process has been attaching or detaching for {} s",
                        PATIENCE.as_secs()
                    ))
                    .fix(format!("wait for it; `fuser {FOLDER}/lock` names it")));
                }
            }
        }
    }

    /// Removes all files of attachments.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        let Some(folder) = folder()? else { return Ok(()) };
        for name in folder.names().map_err(distrust)? {
            if Path::new(&name).extension().is_some_and(|e| ["json", "new", "lease"].iter().any(|x| e == *x)) {
                folder.remove_file(&name).map_err(distrust)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Attachment;
    use serde_json::{Value, json};

    /// A state file as `attach` writes it.
    fn written() -> Value {
        json!({
            "name": "fb_dctcp", "program": "dctcp", "namespace": 4026531840_u64, "prefixes": ["10.0.0.0/8"], "cgroup": null,
            "default": false,
            "before": serde_json::to_value(crate::Health::default()).unwrap(),
            "steps": [
                {"pins": {"folder": "/sys/fs/bpf/forebay/fb_dctcp"}},
                {"sockets": {"cc": "fb_dctcp", "memory": "/sys/fs/bpf/forebay/fb_dctcp/earlier"}},
                {"cgroup": {"cgroup": "/sys/fs/cgroup/x", "link": "/sys/fs/bpf/forebay/fb_dctcp/cgroup"}},
                {"option": {"cgroup": "/sys/fs/cgroup/x", "link": "/sys/fs/bpf/forebay/fb_dctcp/option"}},
                {"route": {"prefix": "10.0.0.0/8", "table": 254, "priority": 0}},
                {"filter": {"interface": 2, "device": "eth0", "egress": true, "priority": 0xfb00, "ours": true}},
                {"sysctl": {"key": "net.ipv4.tcp_congestion_control", "before": "cubic", "after": "fb_dctcp"}},
            ],
            "complete": true,
        })
    }

    /// Versions that do not know the field read and write the other files unchanged.
    #[test]
    fn unfinished_undo_roundtrips() {
        let mut attachment: Attachment = serde_json::from_value(written()).unwrap();
        assert!(!attachment.undoing && serde_json::to_value(&attachment).unwrap().get("undoing").is_none());
        attachment.undoing = true;
        let again: Attachment = serde_json::from_value(serde_json::to_value(&attachment).unwrap()).unwrap();
        assert!(again.undoing);
    }

    fn check(value: Value) -> Result<(), String> {
        serde_json::from_value::<Attachment>(value).map_err(|e| e.to_string())?.check("fb_dctcp")
    }

    #[test]
    fn written_state_passes_its_check() {
        check(written()).unwrap();
        let text = written().to_string();
        super::check_state_file("fb_dctcp", text.as_bytes()).unwrap();
        assert!(super::check_state_file("fb_other", text.as_bytes()).is_err(), "the name of another file");
        let mut elsewhere = written();
        elsewhere["steps"][5]["filter"]["device"] = json!("büro0");
        check(elsewhere).unwrap();
    }

    #[test]
    fn forged_fields_are_refused() {
        let own = "/sys/fs/bpf/forebay/fb_dctcp";
        for (place, values) in [
            ("/name", vec![json!("other"), json!("../x"), json!("")]),
            ("/program", vec![json!("nothing"), json!("")]),
            (
                "/steps/0/pins/folder",
                vec![
                    json!("/root"),
                    json!("/sys/fs/bpf/forebay"),
                    json!("/sys/fs/bpf/forebay/../../../../srv/forebay/fb_dctcp"),
                    json!("forebay/fb_dctcp"),
                    json!("/sys/fs/bpf/forebay/other"),
                ],
            ),
            ("/steps/1/sockets/cc", vec![json!("cubic"), json!("reno")]),
            ("/steps/1/sockets/memory", vec![json!("/etc/passwd"), json!(format!("{own}/../x"))]),
            ("/steps/2/cgroup/link", vec![json!("/etc/passwd"), json!(format!("{own}/link"))]),
            ("/steps/3/option/link", vec![json!("/etc/passwd")]),
            ("/steps/4/route/prefix", vec![json!("x"), json!("10.0.0.1/8")]),
            ("/steps/4/route/table", vec![json!(255), json!(1)]),
            ("/steps/5/filter/device", vec![json!("../x"), json!(""), json!("a very long name of one")]),
            ("/steps/5/filter/priority", vec![json!(1), json!(0xfaff), json!(0xfc00)]),
            (
                "/steps/6/sysctl/key",
                vec![
                    json!("kernel.core_pattern"),
                    json!("net.ipv4.tcp_ecn"),
                    json!("net/ipv4/../../kernel/core_pattern"),
                    json!("net.ipv4.tcp_congestion_control.x"),
                ],
            ),
            ("/steps/6/sysctl/after", vec![json!("cubic")]),
            ("/steps/6/sysctl/before", vec![json!("two words"), json!(""), json!("|/tmp/x"), json!("a\nb")]),
        ] {
            for value in values {
                let mut forged = written();
                *forged.pointer_mut(place).unwrap() = value.clone();
                assert!(check(forged).is_err(), "{place} = {value}");
            }
        }
        let mut without_pins = written();
        without_pins["steps"].as_array_mut().unwrap().remove(0);
        assert!(check(without_pins).is_err());
    }
}
