//! libFuzzer over the target that the environment variable `FOREBAY_FUZZ` names.

#![no_main]

use forebay_tests::fuzz::{Target, target};
use libfuzzer_sys::fuzz_target;
use std::hash::{DefaultHasher, Hasher};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FOREBAY_FUZZ").unwrap_or_default();
    target(&name).unwrap_or_else(|| panic!("FOREBAY_FUZZ=`{name}`: no such target; tests/fuzz/targets.txt lists them"))
});

/// Set by `FOREBAY_FUZZ_BLIND` in a build without coverage counters.
static BLIND: LazyLock<bool> = LazyLock::new(|| std::env::var_os("FOREBAY_FUZZ_BLIND").is_some());

/// Counters that libFuzzer reads beside those of coverage. libFuzzer mutates inputs that count something new. Without coverage that is each input with
/// another hash: a thousand descendants of the corpus.
// SAFETY: libFuzzer reads this section as bytes, which these are.
#[cfg_attr(target_os = "linux", unsafe(link_section = "__libfuzzer_extra_counters"))]
static COUNTERS: [AtomicU8; 1024] = [const { AtomicU8::new(0) }; 1024];

fuzz_target!(init: LazyLock::force(&TARGET), |data: &[u8]| {
    if *BLIND {
        let mut hash = DefaultHasher::new();
        hash.write(data);
        COUNTERS[hash.finish() as usize % COUNTERS.len()].store(1, Relaxed);
    }
    (TARGET.run)(data);
});
