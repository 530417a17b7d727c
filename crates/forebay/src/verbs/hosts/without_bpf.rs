//! A build without BPF.

use crate::terminal::failure::Failure;
use crate::verbs::{attach, detach, record, status, tune, watch};
use forebay_platform::doctor::{Check, Finding, Part};

/// The reason, and the remedy.
const WHY: &str = "this build of forebay has no BPF programs";
const FIX: &str = if cfg!(target_os = "linux") {
    "apt install clang libelf-dev zlib1g-dev pkg-config, then cargo build --release -p forebay --features bpf"
} else {
    "attaching needs Linux"
};

/// Check of `forebay doctor` for real hosts.
pub(crate) static PART: Part = Part {
    name: "hosts",
    title: "Real hosts: transports as BPF programs in this kernel",
    checks: &[Check { title: "build", look: build }],
};

fn build() -> Finding {
    Finding::fails(WHY, FIX)
}

fn lacks(verb: &str) -> Result<(), Failure> {
    Err(Failure::Machine(format!("{WHY}, which `forebay {verb}` needs: {FIX}")))
}

pub(crate) fn attach(_: &attach::Args) -> Result<(), Failure> {
    lacks("attach")
}

pub(crate) fn detach(_: &detach::Args) -> Result<(), Failure> {
    lacks("detach")
}

pub(crate) fn status(_: &status::Args) -> Result<(), Failure> {
    lacks("status")
}

pub(crate) fn tune(_: &tune::Args) -> Result<(), Failure> {
    lacks("tune")
}

pub(crate) fn watch(_: &watch::Args) -> Result<(), Failure> {
    lacks("watch")
}

pub(crate) fn record(_: &record::Args) -> Result<(), Failure> {
    lacks("record")
}
