//! Single connections whose peer and path are drawn, with the simulator's endpoint and with a kernel's.
//!
//! The seed determines a path that loses, delays, duplicates and marks, and the behavior of a peer ([`drawn`]). The connection runs with the
//! simulator's endpoint ([`mod@grow`]) and is written as a packet script ([`mod@script`]). That script is then the input of the simulator's stack
//! `linux` and of a Linux kernel in virtual time. Both get the same calls and packets at the same times, and must act at the same nanoseconds and
//! have the same state after each packet.

mod echo;
mod kind;
mod path;
mod peer;
mod peer_loop;
mod random_connection;
mod receiver;
mod script;
mod window;

use super::unwritten;
use crate::{Stack, difference};
use kind::Kind;
use peer_loop::{grow, watch};
use random_connection::RandomConnection;
use std::io::Write;
use std::path::PathBuf;

/// Arguments.
struct Arguments {
    kind: Kind,
    seed: u64,
    count: u64,
    /// Folder for the scripts that differ.
    keep: Option<PathBuf>,
}

impl Arguments {
    /// `KIND SEED COUNT [--keep FOLDER]`
    fn parse(args: &[String]) -> Result<Arguments, String> {
        const FORM: &str = "--connections: expected KIND SEED COUNT [--keep FOLDER]";
        let [kind, seed, count, rest @ ..] = args else { return Err(FORM.into()) };
        let number = |text: &str| text.parse().map_err(|_| format!("{FORM}: `{text}` is not a number"));
        let keep = match rest {
            [] => None,
            [flag, folder] if flag == "--keep" => Some(folder.into()),
            _ => return Err(FORM.into()),
        };
        Ok(Arguments { kind: Kind::parse(kind)?, seed: number(seed)?, count: number(count)?, keep })
    }
}

/// First difference between the simulator's endpoint and the kernel's, as a line, and the script; `None` without a difference.
fn first_difference(d: &RandomConnection) -> Result<Option<(String, String)>, String> {
    let grown = grow(d)?;
    let theirs = watch(&grown.text, Stack::Linux)?;
    let Some((one, other)) = difference(&grown.seen, &theirs) else { return Ok(None) };
    let alike = grown.seen.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let shown = |seen: Option<&crate::Observation>| seen.map_or_else(|| "nothing more".into(), ToString::to_string);
    let line = format!("{alike} of {} alike; simulator: {}; kernel: {}", grown.seen.len(), shown(one), shown(other));
    Ok(Some((line, grown.text)))
}

/// Draws `COUNT` connections with the seeds from `SEED` on, and prints those that differ.
pub(super) fn execute(args: &[String], print: &mut dyn Write) -> Result<(), String> {
    let arguments = Arguments::parse(args)?;
    crate::kernel()?;
    if let Some(folder) = &arguments.keep {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let (mut alike, mut broken) = (0, 0);
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.count) {
        match first_difference(&RandomConnection::new(arguments.kind, seed)) {
            Ok(None) => alike += 1,
            Ok(Some((line, text))) => {
                writeln!(print, "{seed}: {line}").map_err(unwritten)?;
                if let Some(folder) = &arguments.keep {
                    let file = folder.join(format!("{}-{seed}.pkt", arguments.kind.to_string().replace(',', "-")));
                    std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
                }
            }
            Err(why) => {
                broken += 1;
                writeln!(print, "{seed}: did not run: {why}").map_err(unwritten)?;
            }
        }
    }
    writeln!(print, "{alike} of {} connections alike", arguments.count).map_err(unwritten)?;
    if broken > 0 { Err(format!("{broken} connections did not run")) } else { Ok(()) }
}
