//! Recognition of files that are given as flow lists and are something else.

/// Name of the format of a file that begins with the line `first`, if it is a known one.
pub(super) fn of_text(first: &str) -> Option<&'static str> {
    let words: Vec<&str> = first.split_ascii_whitespace().collect();
    let numbers = words.iter().all(|w| w.parse::<f64>().is_ok());
    let is_word = |word: &str| words.first().is_some_and(|w| w.eq_ignore_ascii_case(word));
    Some(match words.len() {
        _ if first.starts_with(['{', '[']) => "JSON",
        _ if first.starts_with("<?xml") || first.starts_with("<FlowMonitor") => "XML, such as of ns-3's FlowMonitor",
        2 if is_word("connections") || is_word("nodes") && words[1].parse::<u64>().is_ok() => {
            "a connection matrix of htsim (.cm)"
        }
        2 if is_word("num_ranks") => "a GOAL schedule",
        2 if is_word("tiers") || is_word("podsize") => "a topology of htsim (.topo)",
        3 | 4 if numbers => "an HPCC topology (`nodes switches links`)",
        6 if words[..5].iter().all(|w| w.parse::<u64>().is_ok()) && !numbers => "a SimAI topology",
        _ => return None,
    })
}

/// The same for its first bytes, of files that are no text.
pub(super) fn of_bytes(begin: &[u8]) -> Option<&'static str> {
    // The magic numbers of pcap (microseconds and nanoseconds, both byte orders), pcapng, gzip, and Parquet.
    Some(match begin {
        [0xd4, 0xc3, 0xb2, 0xa1, ..]
        | [0xa1, 0xb2, 0xc3, 0xd4, ..]
        | [0x4d, 0x3c, 0xb2, 0xa1, ..]
        | [0xa1, 0xb2, 0x3c, 0x4d, ..] => "a packet capture (pcap)",
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => "a packet capture (pcapng)",
        [0x1f, 0x8b, ..] => "compressed with gzip: unpack it",
        [b'P', b'A', b'R', b'1', ..] => "Parquet: export it as CSV",
        _ => return None,
    })
}
