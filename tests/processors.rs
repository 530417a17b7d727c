//! The fingerprints by themselves, for emulated processors (`tools/processors.sh`): the program of all tests takes minutes to compile for each of them.

#[path = "scenarios/fingerprints.rs"]
mod fingerprints;
