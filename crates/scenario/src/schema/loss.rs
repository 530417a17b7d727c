//! Loss of packets on a link: `loss = { p = 0.001 }`, a percentage, bursts, or a list of packets.

use crate::schema::context::Cx;
use crate::schema::fields::Fields;
use crate::schema::quantity;
use crate::text::doc::{Node, Raw};
use forebay_experiment::faults::{LATEST, MIN_LOSS};
use forebay_types::{GilbertElliott, ListedLoss, LossModel, Time, TimeOrNever, TimedLoss};

/// Longest mean of a burst of losses, in packets.
const MAX_BURST: f64 = 1e6;
/// Maximum number of packets in a list.
const MAX_LISTED: usize = 100_000;

/// Reads the value of the key `loss` of a link.
pub(crate) fn loss(cx: &mut Cx, node: &Node) -> Option<TimedLoss> {
    match &node.raw {
        Raw::Table(t) => {
            let mut fields = Fields::new("`loss`", node.at, t);
            let model = timed(cx, &mut fields);
            fields.finish(&mut cx.sink);
            model
        }
        Raw::Text(_) | Raw::Float(_) | Raw::Int(_) => {
            probability(cx, "`loss`", node, MIN_LOSS).map(|p| LossModel::Random(p).into())
        }
        _ => {
            let message = format!("`loss` must be a table or a percentage, not {}", node.describe());
            cx.sink.error(node.at, message, "write { p = 0.001 } or \"0.1%\"", None);
            None
        }
    }
}

/// Reads the keys of a loss from a table that may have other keys.
pub(crate) fn timed(cx: &mut Cx, fields: &mut Fields<'_>) -> Option<TimedLoss> {
    let model = model(cx, fields);
    let [from, until] = ["from", "until"].map(|key| fields.get(key));
    let mut read = |item: Option<&crate::text::doc::Item>, key: &str, default: Time| match item {
        Some(item) => quantity::time(cx, &format!("`{key}`"), &item.node, LATEST),
        None => Some(default),
    };
    let (start, end) = (read(from, "from", Time::ZERO)?, TimeOrNever::at(read(until, "until", Time::NEVER)?));
    if let (Some(item), Some(time)) = (until, end.get().filter(|_| end.is_due(start))) {
        let (time, start) = (quantity::time_text(time), quantity::time_text(start));
        let message = format!("`until` is {time}: the loss ends before it begins, at {start}");
        cx.sink.error(item.node.at, message, format!("legal: after `from`, {start}"), None);
        return None;
    }
    Some(TimedLoss { model: model?, from: start, until: end })
}

/// Reads the keys of a loss model.
fn model(cx: &mut Cx, fields: &mut Fields<'_>) -> Option<LossModel> {
    let [p, burst, to_bad, to_good, loss_bad, loss_good, drop] =
        ["p", "burst", "to-bad", "to-good", "loss-bad", "loss-good", "drop"].map(|key| fields.get(key));
    let states = [to_bad, to_good, loss_bad, loss_good];
    let chain = states.iter().any(Option::is_some);
    let kinds = [p.is_some() || burst.is_some(), chain, drop.is_some()];
    let help = "write one of: p = 0.001; p = 0.001, burst = 5; to-bad = 0.0002, to-good = 0.2; \
                drop = { connection = 3, packets = [5] }";
    if kinds.iter().filter(|k| **k).count() != 1 {
        let message = match kinds {
            [false, false, false] => format!("{} does not say which packets are lost", fields.what),
            _ => format!("{} mixes `p`, the states of a burst model (`to-bad`), or `drop`", fields.what),
        };
        cx.sink.error(fields.at, message, "one kind of loss", Some(help.to_owned()));
        return None;
    }
    if let Some(item) = drop {
        return listed(cx, &item.node).map(LossModel::Listed);
    }
    let mut read = |item: Option<&crate::text::doc::Item>, key: &str, least: f64, default: Option<f64>| match (item, default) {
        (Some(item), _) => probability(cx, &format!("`{key}`"), &item.node, least),
        (None, Some(default)) => Some(default),
        (None, None) => {
            cx.sink.error(
                fields.at,
                format!("{} needs the key `{key}`", fields.what),
                format!("`{key}` is missing"),
                Some(help.into()),
            );
            None
        }
    };
    if chain {
        let to_bad = read(to_bad, "to-bad", MIN_LOSS, None);
        let to_good = read(to_good, "to-good", MIN_LOSS, None);
        let loss_bad = read(loss_bad, "loss-bad", 0.0, Some(1.0));
        let loss_good = read(loss_good, "loss-good", 0.0, Some(0.0));
        let (to_bad, to_good, loss_bad, loss_good) = (to_bad?, to_good?, loss_bad?, loss_good?);
        return Some(LossModel::Bursts(GilbertElliott { to_bad, to_good, loss_bad, loss_good }));
    }
    let mean = read(p, "p", MIN_LOSS, None);
    let Some(burst) = burst else { return mean.map(LossModel::Random) };
    let length = quantity::float(cx, "`burst`", &burst.node, 1.0, MAX_BURST);
    let (mean, length) = (mean?, length?);
    let model = GilbertElliott::of_bursts(mean, length);
    // The chain leaves the good state with at most certainty: mean loss p needs bursts of at least p / (1 - p) packets.
    if mean >= 1.0 || model.to_bad > 1.0 {
        let label =
            if mean >= 1.0 { "legal: `p` below 1".to_owned() } else { format!("legal: at least {:.3}", mean / (1.0 - mean)) };
        let message = format!("`burst` = {length}: a link that loses {mean} of all packets has longer bursts");
        cx.sink.error(burst.node.at, message, label, None);
        return None;
    }
    Some(LossModel::Bursts(model))
}

/// Reads a probability of at least `least`, as a number or a percentage.
pub(crate) fn probability(cx: &mut Cx, what: &str, node: &Node, least: f64) -> Option<f64> {
    let Raw::Text(text) = &node.raw else { return quantity::float(cx, what, node, least, 1.0) };
    let percent = text.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok()).map(|n| n / 100.0);
    if percent.is_none_or(|p| !(least..=1.0).contains(&p)) {
        let message = format!("{what} is {}", node.describe());
        let label = format!("legal: a percentage such as \"0.1%\", up to \"100%\", or a number, {least} to 1");
        cx.sink.error(node.at, message, label, None);
        return None;
    }
    percent
}

/// Reads `{ connection = 3, packets = [5] }` or a list of such tables.
fn listed(cx: &mut Cx, node: &Node) -> Option<Vec<ListedLoss>> {
    let single = std::slice::from_ref(node);
    let nodes = if let Raw::Array(list) = &node.raw { list.as_slice() } else { single };
    let list: Vec<ListedLoss> = nodes.iter().filter_map(|n| drops(cx, n)).collect();
    if list.len() < nodes.len() {
        return None;
    }
    for (i, l) in list.iter().enumerate() {
        if list[..i].iter().any(|m| m.connection == l.connection) {
            let message = format!("`drop` names connection {} more than once", l.connection);
            cx.sink.error(nodes[i].at, message, "one list for a connection", None);
            return None;
        }
    }
    if list.is_empty() {
        cx.sink.error(node.at, "`drop` is empty", "write { connection = 3, packets = [5] }", None);
        return None;
    }
    Some(list)
}

fn drops(cx: &mut Cx, node: &Node) -> Option<ListedLoss> {
    let mut fields = Fields::of_node("`drop`", node, &mut cx.sink)?;
    let (connection, packets) = (fields.get("connection"), fields.get("packets"));
    fields.finish(&mut cx.sink);
    let (Some(connection), Some(packets)) = (connection, packets) else {
        let help = Some(
            "write { connection = 3, packets = [5] }: the number of the connection, `conn_id` of the results, and \
                         the numbers of its data packets on this link, from 1"
                .to_owned(),
        );
        cx.sink.error(node.at, "`drop` needs the keys `connection` and `packets`", "a key is missing", help);
        return None;
    };
    let connection = quantity::int(cx, "`connection`", &connection.node, 0, i64::MAX);
    let Raw::Array(nodes) = &packets.node.raw else {
        let message = format!("`packets` must be a list of integers, not {}", packets.node.describe());
        cx.sink.error(packets.node.at, message, "write [5]", None);
        return None;
    };
    if nodes.is_empty() || nodes.len() > MAX_LISTED {
        let message = format!("`packets` has {} entries", nodes.len());
        cx.sink.error(packets.node.at, message, format!("legal: 1 to {MAX_LISTED}"), None);
        return None;
    }
    let mut numbers: Vec<u64> = Vec::with_capacity(nodes.len());
    for n in nodes {
        numbers.push(quantity::int(cx, "a number of `packets`", n, 1, i64::MAX)?.cast_unsigned());
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(ListedLoss { connection: connection?.cast_unsigned(), packets: numbers })
}
