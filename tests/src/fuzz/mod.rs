//! Fuzz targets: functions that pass arbitrary bytes to a reader of forebay.
//!
//! A reader must return a result or an error for any input, within the limits of time and memory of `tools/fuzz.sh`. A target panics where an accepted
//! input contradicts itself. The inputs to start from are listed in `tests/fuzz/targets.txt`.

mod archive;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod hosts;
mod imports;
mod packets;
mod scenario;
mod store;

/// A reader.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name in `tests/fuzz/targets.txt`.
    pub name: &'static str,
    /// Reads the bytes.
    pub run: fn(&[u8]),
}

/// All targets of this build.
pub const TARGETS: &[Target] = &[
    Target { name: "archive", run: archive::kernel_sources },
    Target { name: "capture", run: packets::capture },
    Target { name: "chakra", run: imports::chakra },
    Target { name: "flent", run: imports::flent_file },
    Target { name: "flow-list", run: scenario::flow_list },
    Target { name: "guest-protocol", run: packets::guest_protocol },
    #[cfg(all(feature = "bpf", target_os = "linux"))]
    Target { name: "guard-message", run: hosts::guard_message },
    Target { name: "import", run: imports::simulator_file },
    Target { name: "manifest", run: store::manifest },
    Target { name: "node-ids", run: scenario::node_ids },
    Target { name: "packet-script", run: packets::script },
    Target { name: "records", run: imports::records },
    Target { name: "scenario", run: scenario::scenario },
    Target { name: "set", run: scenario::set },
    Target { name: "size-table", run: scenario::size_table },
    #[cfg(all(feature = "bpf", target_os = "linux"))]
    Target { name: "state-file", run: hosts::state_file },
    Target { name: "sweep-manifest", run: store::sweep_manifest },
    Target { name: "table", run: store::table },
    Target { name: "topology", run: scenario::topology },
    Target { name: "unit", run: store::unit },
];

/// The target of this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|t| t.name == name).copied()
}

/// Bytes as text; `None` if they are not UTF-8, which the callers of these readers refuse.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// A new folder, which is removed when dropped.
fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("forebay-fuzz-").tempdir().expect("a folder for temporary files")
}
