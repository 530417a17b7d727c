//! Files of other programs: networks, flow lists and traces of simulators, flow records, snapshots of sockets, and series of Flent.

use crate::fuzz::text;
use forebay_formats::flent;
use forebay_formats::trains::{Analysis, InputFile, Options};
use forebay_formats::{FileKind, ImportOptions, Source, import};
use std::io::Cursor;
use std::ops::ControlFlow;

/// Topologies for files that need one.
const HPCC: &str = include_str!("../../../docs/imports/hpcc/topology.txt");
const HTSIM: &str = include_str!("../../../docs/imports/htsim/leaf-spine.topo");

/// Imports files. An accepted list is a text with lines, and an accepted scenario has a topology.
fn import_all(files: &[(&str, &[u8])]) {
    let sources: Vec<Source> =
        files.iter().map(|(file, bytes)| Source { file: (*file).to_owned(), bytes: bytes.to_vec() }).collect();
    let options = ImportOptions { name: "fuzz".to_owned(), ..ImportOptions::default() };
    match import(&sources, &options) {
        Ok(import) => {
            assert!(import.scenario.contains("[topology]"), "{}", import.scenario);
            assert!(import.lists.iter().all(|(name, text)| !name.is_empty() && text.ends_with('\n')), "{:?}", import.lists);
        }
        Err(e) => assert!(!e.to_string().is_empty()),
    }
}

/// A file of HPCC, SimAI or htsim, or a GOAL schedule, with a topology if it has none.
pub(crate) fn simulator_file(bytes: &[u8]) {
    let topology = match text(bytes).and_then(FileKind::of) {
        Some(FileKind::HpccTopology | FileKind::HtsimTopology) | None => None,
        Some(FileKind::HpccConfig | FileKind::HpccFlows | FileKind::Goal) => Some(("topology.txt", HPCC)),
        Some(FileKind::HtsimMatrix) => Some(("leaf-spine.topo", HTSIM)),
    };
    let files: Vec<(&str, &[u8])> =
        [("fuzz.txt", bytes)].into_iter().chain(topology.map(|(name, text)| (name, text.as_bytes()))).collect();
    import_all(&files);
}

/// A Chakra trace, which both ranks have.
pub(crate) fn chakra(bytes: &[u8]) {
    import_all(&[("fuzz.0.et", bytes), ("fuzz.1.et", bytes), ("topology.txt", HPCC.as_bytes())]);
}

/// Series of Flent, compressed or not. All series have a value for each time.
pub(crate) fn flent_file(bytes: &[u8]) {
    if let Ok(file) = flent::read("fuzz.flent", bytes) {
        assert!(file.series.iter().all(|s| s.values.len() == file.times.len()), "series of other lengths");
    }
}

/// Flow records of nfdump, or of IPFIX in JSON, or sockets as `ss` lists them. The reader recognizes each by its first bytes.
pub(crate) fn records(bytes: &[u8]) {
    let Ok(mut file) = InputFile::new("fuzz", Box::new(Cursor::new(bytes.to_vec())), Some(bytes.len() as u64)) else { return };
    // The target `capture` reads packets.
    if matches!(file, InputFile::Capture(_)) {
        return;
    }
    let mut analysis = Analysis::new(Options::default(), ());
    let read = analysis.read_file(&mut file, |_| ControlFlow::Continue(()));
    assert!(read.is_err() || file.offset() <= bytes.len() as u64, "{} of {} bytes", file.offset(), bytes.len());
    let _ = analysis.finish();
}
