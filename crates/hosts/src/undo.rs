//! Undoing an attachment: its steps in reverse order, the links that the kernel still has, and the state file.
//!
//! Pins are removed last, because they keep the congestion control registered and store the previous one of each open connection. If open
//! connections could not leave the congestion control, the pins stay. Without them the next attempt would find nothing to undo, and report
//! success while connections still use the program.

use crate::run_dir::FOLDER;
use crate::state::{Attachment, Lock, all};
use crate::step::Step;
use crate::{Error, NetNs, leftovers, pins};
use std::path::Path;

/// The kernel and the state files, as far as undoing an attachment reads and changes them.
pub(crate) trait Machine: Sync {
    /// Checks that a folder of pins, if it is there, is in a BPF file system, and returns the numbers of the links in it.
    fn links(&self, folder: &Path) -> Result<Vec<u32>, Error>;
    /// Runs the work in the network namespace; `None` if the namespace has ended.
    fn inside(&self, namespace: NetNs, work: &(dyn Fn() -> Undone + Sync)) -> Result<Option<Undone>, Error>;
    /// Undoes a step; returns a message for the user, if there is one.
    fn undo(&self, step: &Step) -> Result<Option<String>, Error>;
    /// Ends what the kernel still has after the pins were removed; returns messages for the user.
    fn end(&self, cc: Option<&str>, links: &[u32]) -> Result<Vec<String>, Error>;
    /// Writes the state file.
    fn save(&self, attachment: &Attachment) -> Result<(), Error>;
    /// Removes the state file.
    fn forget(&self, attachment: &Attachment) -> Result<(), Error>;
}

/// The running kernel.
pub(crate) struct Host;

impl Machine for Host {
    fn links(&self, folder: &Path) -> Result<Vec<u32>, Error> {
        pins::check(folder)?;
        Ok(pins::links(folder))
    }

    fn inside(&self, namespace: NetNs, work: &(dyn Fn() -> Undone + Sync)) -> Result<Option<Undone>, Error> {
        namespace.run(|| Ok(work()))
    }

    fn undo(&self, step: &Step) -> Result<Option<String>, Error> {
        step.undo()
    }

    fn end(&self, cc: Option<&str>, links: &[u32]) -> Result<Vec<String>, Error> {
        leftovers::end(cc, links)
    }

    fn save(&self, attachment: &Attachment) -> Result<(), Error> {
        attachment.save()
    }

    fn forget(&self, attachment: &Attachment) -> Result<(), Error> {
        attachment.forget()
    }
}

/// Result of undoing steps.
#[derive(Debug)]
pub(crate) struct Undone {
    /// The first error.
    result: Result<(), Error>,
    /// Messages for the user, a line each.
    notes: Vec<String>,
    /// Connections may still use the congestion control, so the pins were not removed.
    pins_stay: bool,
}

/// Undoes steps in this order, and continues after an error.
fn undo_steps<'a>(steps: impl Iterator<Item = &'a Step>, machine: &dyn Machine) -> Undone {
    let mut undone = Undone { result: Ok(()), notes: Vec::new(), pins_stay: false };
    for step in steps {
        if undone.pins_stay && matches!(step, Step::Pins { .. }) {
            continue;
        }
        match machine.undo(step) {
            Ok(note) => undone.notes.extend(note),
            Err(e) => {
                undone.pins_stay |= matches!(step, Step::Sockets { .. });
                undone.result = undone.result.and(Err(e));
            }
        }
    }
    undone
}

/// Undoes all steps in reverse order, checks that the kernel has freed the links, and removes the state file. Continues after an error and
/// returns the first. Returns messages for the user, a line each.
pub(crate) fn undo(attachment: &Attachment, machine: &dyn Machine) -> Result<Vec<String>, Error> {
    let mut links = attachment.links.clone();
    if let Some(folder) = attachment.pins() {
        links.extend(machine.links(folder)?.into_iter().filter(|l| !attachment.links.contains(l)));
    }
    // The name is that of this attachment only if it was registered.
    let cc = attachment.cc().filter(|_| attachment.complete || !links.is_empty());
    let steps = || attachment.steps.iter().rev();
    let undone = match machine.inside(attachment.namespace, &|| undo_steps(steps(), machine)) {
        Ok(Some(undone)) => undone,
        // The namespace has ended, and its connections, routes, settings and filters with it; what is left belongs to the machine.
        Ok(None) => undo_steps(steps().filter(|s| s.outlives_namespace()), machine),
        Err(e) => Undone { result: Err(e), notes: Vec::new(), pins_stay: true },
    };
    if undone.pins_stay {
        // The links are not ended either: a pinned link that is detached by its number no longer registers the congestion control.
        undone.result.map_err(|e| unfinished(attachment, links, machine, e))?;
        return Ok(undone.notes);
    }
    let mut notes = undone.notes;
    notes.extend(machine.end(cc, &links)?);
    undone.result?;
    machine.forget(attachment)?;
    Ok(notes)
}

impl Attachment {
    /// Undoes it on this machine. Returns messages for the user, a line each.
    pub(crate) fn undo(&self) -> Result<Vec<String>, Error> {
        undo(self, &Host)
    }
}

impl Lock {
    /// Undoes incomplete attachments of killed processes, attachments whose guard has ended, and those that were undone in part; returns a line
    /// for each.
    pub(crate) fn tidy(&self) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        for left in all()? {
            let line = if !left.complete {
                format!("undid an interrupted attach of {}", left.name)
            } else if left.undoing {
                format!("finished undoing {}, which had failed before", left.name)
            } else if left.guard_has_ended() {
                format!("rolled back {}: its guard has ended", left.name)
            } else {
                continue;
            };
            let notes = left.undo()?;
            lines.push(line);
            lines.extend(notes);
        }
        Ok(lines)
    }
}

/// Records in the state file that undoing has begun, so that the next command continues; returns the error for the user.
fn unfinished(attachment: &Attachment, links: Vec<u32>, machine: &dyn Machine, e: Error) -> Error {
    let Attachment { name, .. } = attachment;
    // Pins of some links are gone: the numbers are needed to end them.
    let saved = machine.save(&Attachment { undoing: true, links, ..attachment.clone() });
    let recorded = match saved {
        Ok(()) => format!("{FOLDER}/{name}.json records that"),
        Err(e) => format!("that cannot be recorded: {}", e.what()),
    };
    e.and_also(&format!("open connections may still use {name}, so its pins stay ({recorded})"))
        .or_fix(format!("run `forebay detach {name}` again; it continues"))
}

#[cfg(test)]
mod tests {
    use super::{Machine, Undone, undo};
    use crate::state::Attachment;
    use crate::step::Step;
    use crate::{Error, NetNs};
    use serde_json::json;
    use std::path::Path;
    use std::sync::Mutex;

    const LINK: u32 = 7;
    const OPTION: u32 = 8;

    /// State of a machine with one attachment, and the faults of the next attempt.
    #[derive(Default, Clone, Debug)]
    struct Kernel {
        connections_use_it: bool,
        pinned: bool,
        /// The last state file; `None` if it was removed.
        file: Option<Attachment>,
        /// Names of the steps that were undone, in order.
        undone: Vec<&'static str>,
        sockets_fail: bool,
        namespace_fails: bool,
        namespace_ended: bool,
        disk_full: bool,
        /// Links that were ended after the pins were removed.
        ended: Vec<u32>,
    }

    struct Fake(Mutex<Kernel>);

    impl Fake {
        fn new(change: impl FnOnce(&mut Kernel)) -> Fake {
            let mut kernel = Kernel { connections_use_it: true, pinned: true, file: Some(attachment()), ..Kernel::default() };
            change(&mut kernel);
            Fake(Mutex::new(kernel))
        }

        fn change(&self, change: impl FnOnce(&mut Kernel)) {
            change(&mut self.0.lock().unwrap());
        }

        fn now(&self) -> Kernel {
            self.0.lock().unwrap().clone()
        }

        /// Undoes the attachment of the state file.
        fn undo(&self) -> Result<Vec<String>, Error> {
            let file = self.now().file.expect("a state file");
            undo(&file, self)
        }
    }

    impl Machine for Fake {
        fn links(&self, _: &Path) -> Result<Vec<u32>, Error> {
            // The pin of the other link was removed first.
            Ok(if self.now().pinned { vec![LINK] } else { Vec::new() })
        }

        fn inside(&self, _: NetNs, work: &(dyn Fn() -> Undone + Sync)) -> Result<Option<Undone>, Error> {
            match self.now() {
                Kernel { namespace_fails: true, .. } => Err(Error::new("no thread")),
                Kernel { namespace_ended: true, .. } => Ok(None),
                _ => Ok(Some(work())),
            }
        }

        fn undo(&self, step: &Step) -> Result<Option<String>, Error> {
            let mut kernel = self.0.lock().unwrap();
            match step {
                Step::Sockets { .. } if kernel.sockets_fail => return Err(Error::new("no memory")),
                // As `leave`: without pins nothing is known of the connections.
                Step::Sockets { .. } => {
                    kernel.connections_use_it &= !kernel.pinned;
                    kernel.undone.push("sockets");
                }
                Step::Pins { .. } => {
                    kernel.pinned = false;
                    kernel.undone.push("pins");
                }
                _ => kernel.undone.push("option"),
            }
            Ok(None)
        }

        fn end(&self, _: Option<&str>, links: &[u32]) -> Result<Vec<String>, Error> {
            self.change(|k| k.ended = links.to_vec());
            Ok(Vec::new())
        }

        fn save(&self, attachment: &Attachment) -> Result<(), Error> {
            if self.now().disk_full {
                return Err(Error::new("no space"));
            }
            self.change(|k| k.file = Some(attachment.clone()));
            Ok(())
        }

        fn forget(&self, _: &Attachment) -> Result<(), Error> {
            self.change(|k| k.file = None);
            Ok(())
        }
    }

    fn attachment() -> Attachment {
        let pins = "/sys/fs/bpf/forebay/fb_dctcp";
        let value = json!({
            "name": "fb_dctcp", "program": "dctcp", "namespace": 1, "prefixes": [], "cgroup": null, "default": false,
            "before": serde_json::to_value(crate::Health::default()).unwrap(),
            "steps": [
                {"pins": {"folder": pins}},
                {"sockets": {"cc": "fb_dctcp", "memory": format!("{pins}/earlier")}},
                {"option": {"cgroup": "/sys/fs/cgroup/x", "link": format!("{pins}/option")}},
            ],
            "links": [OPTION], "complete": true,
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn steps_undone_in_reverse_order() {
        let machine = Fake::new(|_| {});
        machine.undo().unwrap();
        let now = machine.now();
        assert_eq!(now.undone, ["option", "sockets", "pins"]);
        assert_eq!(now.ended, [OPTION, LINK]);
        assert!(!now.connections_use_it && now.file.is_none(), "{now:?}");
    }

    #[test]
    fn failed_sockets_keep_pins_until_retry() {
        let machine = Fake::new(|k| k.sockets_fail = true);
        for _ in 0..2 {
            let said = machine.undo().unwrap_err().to_string();
            assert!(said.contains("no memory") && said.contains("/run/forebay/fb_dctcp.json"), "{said}");
            assert!(said.contains("`forebay detach fb_dctcp`"), "{said}");
            let now = machine.now();
            assert!(now.pinned && now.ended.is_empty() && !now.undone.contains(&"pins"), "{now:?}");
            assert!(now.file.as_ref().is_some_and(|f| f.undoing && f.links == [OPTION, LINK]), "{now:?}");
        }
        machine.change(|k| k.sockets_fail = false);
        machine.undo().unwrap();
        let now = machine.now();
        assert!(!now.connections_use_it && !now.pinned && now.file.is_none(), "{now:?}");
        assert_eq!(now.ended, [OPTION, LINK]);
    }

    #[test]
    fn unreachable_namespace_keeps_pins() {
        let machine = Fake::new(|k| k.namespace_fails = true);
        assert!(machine.undo().unwrap_err().to_string().contains("no thread"));
        let now = machine.now();
        assert!(now.pinned && now.ended.is_empty() && now.file.is_some_and(|f| f.undoing));
        machine.change(|k| k.namespace_fails = false);
        machine.undo().unwrap();
        assert!(!machine.now().connections_use_it);
    }

    #[test]
    fn ended_namespace_leaves_pins_to_remove() {
        let machine = Fake::new(|k| k.namespace_ended = true);
        machine.undo().unwrap();
        assert_eq!(machine.now().undone, ["pins"]);
    }

    #[test]
    fn unwritable_state_file_is_reported() {
        let machine = Fake::new(|k| (k.sockets_fail, k.disk_full) = (true, true));
        let said = machine.undo().unwrap_err().to_string();
        assert!(said.contains("no memory") && said.contains("no space"), "{said}");
        let now = machine.now();
        assert!(now.pinned && now.file.is_some_and(|f| !f.undoing), "the file stays as it was");
    }
}
