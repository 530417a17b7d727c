//! Workload `replay`: a list of flows, such as a trace, the input of another simulator, or an earlier result.

use super::flow_list::{Format, List, MAX_FLOWS, read};
use super::node_ids::NodeIds;
use super::{BuildError, Context, WorkloadEntry};
use crate::traffic::WorkloadKind;
use forebay_types::Time;
use forebay_types::param::{Entry, Kind, Values, choices, optional, required};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

const FORMAT: &[(&str, Format)] = &[("auto", Format::Auto), ("hpcc", Format::Hpcc), ("csv", Format::Csv)];

const ORIGIN: &[(&str, Origin)] = &[("auto", Origin::Auto), ("first", Origin::First), ("listed", Origin::Listed)];

/// Time zero of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Auto,
    First,
    Listed,
}

/// Maximum size of a topology file.
const MAX_TOPOLOGY: u64 = 100_000_000;

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "replay",
        summary: "replays a list of flows: HPCC `flow.txt`, or CSV with columns src, dst, bytes and start_s (or _ms, _us, _ns, _ps). \
                  Optional columns: deadline_s (or _ms, ...) after the start; id and after, the flows that a flow waits for",
        params: &[
            required(
                "file",
                Kind::Path,
                "the list; hosts are given by index from 0 in the order of the topology, in CSV also by name. With the columns `id` and `after` a flow \
                 waits for the flows whose ids `after` lists, separated by blanks: its source has received them, or has all their data acknowledged. Its \
                 start is a pause after that. `ID@5us` is a pause after one of them, and `@5us` a time after the start of the run",
            ),
            optional(
                "format",
                Kind::Choice(&choices::<3, _>(FORMAT)),
                "auto",
                "hpcc: a line with the number of flows, then `src dst priority dport bytes start`, start in seconds; csv: a header and \
                 any order of columns; auto: hpcc if the first line is a single number",
            ),
            optional(
                "origin",
                Kind::Choice(&choices::<3, _>(ORIGIN)),
                "auto",
                "start of the list in simulated time; first: the first flow starts at 0; listed: times are those of the list; auto: first for \
                 hpcc, whose lists begin after idle seconds, listed for csv",
            ),
            optional(
                "nodes",
                Kind::Path,
                "",
                "the HPCC `topology.txt` of an HPCC list, whose hosts are node ids then, which number switches too; hosts are taken in the \
                 order of their ids",
            ),
        ],
    },
    transport: true,
    build,
};

fn build(values: &Values, context: &Context<'_>) -> Result<WorkloadKind, BuildError> {
    let path = values.path("file");
    let shown = path.display();
    let format = values.choice("format", FORMAT);
    // Reading a pipe could block without end, and its content is gone at the second reading.
    if std::fs::metadata(&path).is_ok_and(|m| !m.is_file()) {
        return Err(BuildError::new(
            "file",
            format!("{shown} is a directory, a pipe or a device, not a list: copy it to a file"),
        ));
    }
    let file = File::open(&path).map_err(|e| BuildError::new("file", format!("{shown}: {e}")))?;
    let ids = values.opt_path("nodes").map(|path| node_ids(&path)).transpose()?;
    let mapped = ids.is_some();
    let List { mut flows, after, format: found } =
        read(BufReader::with_capacity(1 << 16, file), format, (context.network, ids), MAX_FLOWS)
            .map_err(|e| BuildError::new("file", format!("{shown}:{e}")))?;
    if mapped && found != Format::Hpcc {
        return Err(BuildError::new("nodes", "belongs to an HPCC list; the hosts of a CSV are those of the scenario"));
    }
    let origin = values.choice("origin", ORIGIN);
    if origin == Origin::First && !after.is_empty() {
        return Err(BuildError::new("origin", "has no meaning for a list whose flows wait for others; legal: auto, listed"));
    }
    if origin == Origin::First || (origin == Origin::Auto && found == Format::Hpcc) {
        let first = flows.first().map_or(Time::ZERO, |f| f.start);
        for f in &mut flows {
            f.start = f.start - first;
            if f.deadline != Time::NEVER {
                f.deadline = f.deadline - first;
            }
        }
    }
    Ok(WorkloadKind::Replay { flows, after })
}

/// Reads the ids of an HPCC topology.
fn node_ids(path: &Path) -> Result<NodeIds, BuildError> {
    let error = |e: String| BuildError::new("nodes", format!("{}: {e}", path.display()));
    match std::fs::metadata(path) {
        Ok(m) if !m.is_file() || m.len() > MAX_TOPOLOGY => {
            return Err(error(format!("not a file of at most {MAX_TOPOLOGY} bytes")));
        }
        Ok(_) => {}
        Err(e) => return Err(error(e.to_string())),
    }
    let text = std::fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
    NodeIds::parse(&text).map_err(error)
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_types::param::Value;

    fn replay(path: &Path) -> Result<WorkloadKind, BuildError> {
        World::many_to_one(3).build("replay", &[("file", Value::Path(path.to_owned()))])
    }

    #[test]
    fn errors_name_the_file() {
        let path = std::env::temp_dir().join(format!("forebay-replay-{}.txt", std::process::id()));
        std::fs::write(&path, "1\n0 3 3 100 5000 1.5\n").unwrap();
        let built = replay(&path);
        std::fs::write(&path, "1\n0 3 3 100 0 1.5\n").unwrap();
        let error = replay(&path).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        match built.unwrap() {
            WorkloadKind::Replay { flows, .. } => assert_eq!((flows.len(), flows[0].start.0), (1, 0)),
            other => panic!("{other:?}"),
        }
        assert!(error.message.starts_with(&format!("{}:2: size `0`", path.display())), "{}", error.message);
        assert!(replay(&path).unwrap_err().message.starts_with(&format!("{}: ", path.display())));
        assert!(replay(&std::env::temp_dir()).is_err());
    }
}
