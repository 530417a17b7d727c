//! Renamed keys. A file with a former key is refused with an error that names the present one.

/// Former and present names.
const FORMER: &[(&str, &str)] = &[
    ("adaptive-acks", "quickack"),
    ("buffer-of", "buffer-scope"),
    ("cut-mode", "reduction-mode"),
    ("cwr-on-any", "cwr-on-retransmit"),
    ("deadline-up-to", "deadline-max-size"),
    ("demote", "demotion-thresholds"),
    ("echo", "ecn-echo"),
    ("ect-on-any", "ect-on-retransmit"),
    ("far", "extra-delay"),
    ("k-of", "k-scope"),
    ("last-rest-of", "last-total"),
    ("least", "min-size"),
    ("mark-up-to", "mark-ecnth"),
    ("quick-acks", "quickack-count"),
    ("reduce", "ssthresh-from"),
];

/// Returns the present name of a key that was called `key`.
pub(crate) fn successor(key: &str) -> Option<&'static str> {
    FORMER.iter().find(|(former, _)| *former == key).map(|(_, present)| *present)
}
