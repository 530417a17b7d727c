//! Queue disciplines and shared memories as the driver's set-up frames have them.

use forebay_queues::{Queue, SharedBuffer, SharedPolicy};

/// Most numbers of a discipline (`FB_PARAMS` in `driver/protocol_frames.h`).
pub const PARAMS: usize = 24;

/// The C cores in the order of `enum fb_discipline` in `driver/protocol_setup.h`.
const CORES: [&str; 13] = [
    "drop-tail",
    "dctcp-step",
    "red",
    "lossy",
    "protect",
    "strict-priority",
    "dwrr",
    "wfq",
    "choke",
    "pushout",
    "codel",
    "fq-codel",
    "pie",
];

/// `discipline` and `param` of `struct fb_port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discipline {
    /// The number of its C core.
    pub number: u32,
    /// Its parameters in the order that is named at the core.
    pub param: [u64; PARAMS],
}

impl Discipline {
    /// The first.
    pub const DROP_TAIL: Discipline = Discipline { number: 0, param: [0; PARAMS] };

    /// The numbers of a queue that has been fitted to its network; `None`: the driver does not have it.
    pub fn of(queue: &Queue) -> Option<Discipline> {
        let plain = queue.raw_params()?;
        let number = CORES.iter().position(|name| *name == plain.core)? as u32;
        let mut param = [0; PARAMS];
        param.get_mut(..plain.numbers.len())?.copy_from_slice(&plain.numbers);
        Some(Discipline { number, param })
    }
}

/// `param` of `struct fb_switch`, in the order of `driver/shared.h`.
pub fn shared(buffer: &SharedBuffer) -> [u64; 6] {
    let (policy, number) = match buffer.policy {
        SharedPolicy::Static { per_port } => (0, per_port),
        SharedPolicy::Dynamic { alpha } => (1, alpha.to_bits()),
    };
    [buffer.total, policy, number, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::CORES;
    use crate::embedded::SOURCES;

    #[test]
    fn cores_use_the_protocols_numbers() {
        let protocol = SOURCES.iter().find(|s| s.path == "driver/protocol_setup.h").expect("it is embedded");
        let text = std::str::from_utf8(protocol.text).expect("it is text");
        let list = text.split("enum fb_discipline {").nth(1).and_then(|rest| rest.split('}').next()).expect("the list is there");
        let names = list.split(',').map(|n| n.trim().trim_start_matches("FB_").replace('_', "-").to_lowercase());
        let names: Vec<String> = names.filter(|n| !n.is_empty() && n != "disciplines").collect();
        assert_eq!(names, CORES);
    }
}
