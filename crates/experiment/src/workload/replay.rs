//! Workload `replay`: a list of flows, such as a trace, the input of another simulator, or an earlier result.

use super::flow_list::{Format, MAX_FLOWS, read};
use super::{BuildError, Context, WorkloadEntry};
use crate::traffic::WorkloadKind;
use forebay_types::param::{Entry, Kind, Values, choices, optional, required};
use std::fs::File;
use std::io::BufReader;

const FORMAT: &[(&str, Format)] = &[("auto", Format::Auto), ("hpcc", Format::Hpcc), ("csv", Format::Csv)];

pub(crate) const ENTRY: WorkloadEntry = WorkloadEntry {
    entry: Entry {
        name: "replay",
        summary: "replays a list of flows: HPCC `flow.txt`, or CSV with columns src, dst, bytes and start_s (or _ms, _us, _ns, _ps), \
                  optionally deadline_s (or _ms, ...) after the start",
        params: &[
            required(
                "file",
                Kind::Path,
                "the list; hosts are given by index from 0 in the order of the topology, in CSV also by name",
            ),
            optional(
                "format",
                Kind::Choice(&choices::<3, _>(FORMAT)),
                "auto",
                "hpcc: a line with the number of flows, then `src dst priority dport bytes start`, start in seconds; csv: a header and \
                 any order of columns; auto: hpcc if the first line is a single number",
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
    let flows = read(BufReader::with_capacity(1 << 16, file), format, context.network, MAX_FLOWS)
        .map_err(|e| BuildError::new("file", format!("{shown}:{e}")))?;
    Ok(WorkloadKind::Replay { flows })
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;
    use forebay_types::param::Value;
    use std::path::Path;

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
            WorkloadKind::Replay { flows } => assert_eq!((flows.len(), flows[0].start.0), (1, 1_500_000_000_000)),
            other => panic!("{other:?}"),
        }
        assert!(error.message.starts_with(&format!("{}:2: size `0`", path.display())), "{}", error.message);
        assert!(replay(&path).unwrap_err().message.starts_with(&format!("{}: ", path.display())));
        assert!(replay(&std::env::temp_dir()).is_err());
    }
}
