//! Transports with DCTCP's response to marks in networks that mark no packet.

use crate::data::Data;
use crate::format::{bold, list};

/// Sentence about the transports whose congestion control needs marks and gets none: DCTCP reduces its window by losses only then (RFC 8257 section
/// 3.5), as NewReno does.
pub(crate) fn sentence(data: &Data) -> Option<String> {
    let unmarked = |s: &usize| {
        let network = data.subjects[*s].network;
        let ports = || data.ports.iter().filter(|p| p.network == network);
        let sends = data.flows.iter().any(|f| f.subject == *s && f.acked > 0);
        // Below a threshold that no queue reached, there is no loss either.
        data.subjects[*s].dctcp_ecn && sends && ports().any(|p| p.drops > 0.0) && ports().all(|p| p.marks == 0.0)
    };
    let names: Vec<String> = (0..data.subjects.len()).filter(unmarked).map(|s| bold(&data.subjects[s].name)).collect();
    let (verb, reacts) = if names.len() == 1 { ("gets", "reacts") } else { ("get", "react") };
    (!names.is_empty())
        .then(|| format!("{} {verb} no ECN marks, because no port marks a packet, and {reacts} to losses only.", list(&names)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::data as networks;
    use crate::data::{Flow, Port};

    #[test]
    fn dctcp_without_marks_is_named() {
        let mut d = networks(&[("dctcp", &[])]);
        d.flows = vec![Flow { acked: 1, ..Flow::default() }];
        d.ports = vec![Port { drops: 1.0, ..Port::default() }];
        assert_eq!(sentence(&d), None, "its congestion control needs no marks");
        d.subjects[0].dctcp_ecn = true;
        assert_eq!(
            sentence(&d).unwrap(),
            "**dctcp** gets no ECN marks, because no port marks a packet, and reacts to losses only."
        );
        d.ports[0].drops = 0.0;
        assert_eq!(sentence(&d), None, "no queue reaches its threshold");
        d.ports[0] = Port { drops: 1.0, marks: 1.0, ..Port::default() };
        assert_eq!(sentence(&d), None);
    }
}
