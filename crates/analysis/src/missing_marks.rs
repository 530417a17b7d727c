//! Transports with DCTCP's response to marks in networks that mark no packet.

use crate::data::{Data, Port};
use crate::format::{bold, list, number};

/// Minimum part of all drops of a network at the port that is named. Our choice: most losses.
const MOST: f64 = 0.5;

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
    let nowhere =
        || format!("{} {verb} no ECN marks, because no port marks a packet, and {reacts} to losses only.", list(&names));
    if names.is_empty() { unmarked_bottleneck(data) } else { Some(nowhere()) }
}

/// Sentence about such a transport whose losses occur at a port without a marking threshold, while other ports mark.
fn unmarked_bottleneck(data: &Data) -> Option<String> {
    let sends = |s: &usize| data.subjects[*s].dctcp_ecn && data.flows.iter().any(|f| f.subject == *s && f.acked > 0);
    let lossy = |s: usize| -> Option<(usize, &Port)> {
        let ports = || data.ports.iter().filter(|p| p.network == data.subjects[s].network);
        let most = ports()
            .max_by(|a, b| a.drops.total_cmp(&b.drops))
            .filter(|p| p.drops > MOST * ports().map(|p| p.drops).sum::<f64>())?;
        let marks = most.marks > 0.0 || most.limits.mark.is_some() || !most.thresholds.is_empty();
        (!marks && ports().any(|p| p.marks > 0.0)).then_some((s, most))
    };
    let (subject, port) = (0..data.subjects.len()).filter(sends).find_map(lossy)?;
    let name = bold(&data.subjects[subject].name);
    let drops = number(port.drops);
    Some(format!(
        "{name} gets no ECN marks from {}, which drops {drops} packets per run and marks none: there it reacts to losses only.",
        port.name
    ))
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
        // Another port drops and marks nothing.
        d.ports.push(Port { name: "a->b".into(), drops: 90.0, ..Port::default() });
        assert_eq!(
            sentence(&d).unwrap(),
            "**dctcp** gets no ECN marks from a->b, which drops 90 packets per run and marks none: there it reacts to losses only."
        );
        d.ports[1].limits.mark = Some(65.0);
        assert_eq!(sentence(&d), None, "it marks, but this traffic is not ECN-capable");
    }
}
