//! Links and their queues.

use crate::schema::choice;
use crate::schema::context::{BufferSite, Cx};
use crate::schema::fields::Fields;
use crate::schema::limits::MAX_NAMES;
use crate::schema::loss;
use crate::schema::quantity;
use crate::schema::ranges::expand;
use crate::text::doc::{Item, Node, Raw};
use crate::text::message_text::short;
use forebay_types::param::{CustomLink, Entry, LinkValue, QueueValue, Value};
use forebay_types::{QueueLen, Time};
use serde_json::{Map, Value as Json};

/// Maximum propagation delay. Our choice: far above that of any data center link.
const MAX_DELAY: Time = Time::from_secs(60);
/// Maximum number of links of a list.
const MAX_LINKS: usize = 1_000_000;

/// Reads `{ rate, delay, buffer, queue, loss }`.
pub(crate) fn link(cx: &mut Cx, what: &str, node: &Node) -> Option<(LinkValue, Json)> {
    let mut fields = link_fields(cx, what, node)?;
    let checked = properties(cx, what, &mut fields);
    fields.finish(&mut cx.sink);
    checked.map(|(l, echo)| (l, Json::Object(echo)))
}

fn link_fields<'a>(cx: &mut Cx, what: &str, node: &'a Node) -> Option<Fields<'a>> {
    match &node.raw {
        Raw::Table(t) => Some(Fields::new(format!("the link {what}"), node.at, t)),
        _ => {
            let help = "write { rate = \"10Gbps\", delay = \"1us\", buffer = \"100pkt\", queue = \"drop-tail\" }".to_owned();
            cx.sink.error(node.at, format!("{what} must be a link, not {}", node.describe()), "expected a table", Some(help));
            None
        }
    }
}

/// Reads the properties that links of all topologies have.
fn properties(cx: &mut Cx, what: &str, fields: &mut Fields<'_>) -> Option<(LinkValue, Map<String, Json>)> {
    let mut echo = Map::new();
    let rate = required(cx, what, fields, "rate", "10Gbps").and_then(|i| quantity::rate(cx, "`rate`", &i.node));
    let delay = required(cx, what, fields, "delay", "1us").and_then(|i| quantity::time(cx, "`delay`", &i.node, MAX_DELAY));
    let buffer_item = fields.get("buffer");
    let buffer = match buffer_item {
        None => Some(None),
        Some(i) if i.node.text() == Some("unlimited") => Some(None),
        Some(i) => buffer(cx, i).map(Some),
    };
    let queue = match fields.get("queue") {
        None => Some((None, Json::from("drop-tail"))),
        Some(i) => queue(cx, &i.node, buffer.flatten()).map(|(q, j)| (Some(q), j)),
    };
    let loss_item = fields.get("loss");
    let loss = loss_item.map(|i| loss::loss(cx, &i.node));
    let (rate, delay, buffer, (queue, queue_json)) = (rate?, delay?, buffer?, queue?);
    echo.insert("rate".into(), rate.to_string().into());
    echo.insert("delay".into(), delay.to_string().into());
    echo.insert("buffer".into(), buffer.map_or("unlimited".into(), |b| b.to_string()).into());
    echo.insert("queue".into(), queue_json);
    if let Some(item) = loss_item {
        echo.insert("loss".into(), item.node.json());
    }
    let loss = match loss {
        None => None,
        Some(read) => Some(read?),
    };
    Some((LinkValue { rate, delay, buffer, queue, loss }, echo))
}

fn required<'a>(cx: &mut Cx, what: &str, fields: &mut Fields<'a>, key: &str, example: &str) -> Option<&'a Item> {
    let item = fields.get(key);
    if item.is_none() {
        let advice = format!("write {key} = \"{example}\"");
        cx.sink.error(fields.at, format!("the link {what} needs the key `{key}`"), format!("`{key}` is missing"), Some(advice));
    }
    item
}

fn buffer(cx: &mut Cx, item: &Item) -> Option<QueueLen> {
    let len = quantity::queue_len(cx, "`buffer`", &item.node)?;
    if len.amount() == 0 {
        let help = Some("leave `buffer` out, or write \"unlimited\", for a queue without limit".to_owned());
        cx.sink.error(item.node.at, format!("`buffer` is {len}"), "must hold at least one packet", help);
        return None;
    }
    cx.buffers.push(BufferSite { key: "buffer", len, at: item.node.at });
    Some(len)
}

/// Keys of queue disciplines whose bytes limit what passes: with less than a packet, every packet is dropped, and TCP tries for ever.
const MUST_HOLD_A_PACKET: &[&str] = &["burst", "limits"];

/// Reads a queue discipline: a name, or a table with `kind` and its parameters. A threshold cannot exceed the buffer.
pub(crate) fn queue(cx: &mut Cx, node: &Node, buffer: Option<QueueLen>) -> Option<(QueueValue, Json)> {
    let entries: Vec<&'static Entry> = forebay_queues::REGISTRY.iter().map(|e| &e.entry).collect();
    let (entry, params, json) = choice::choice(cx, "queue", node, &entries)?;
    let place = |key: &str| if let Raw::Table(t) = &node.raw { t.get(key).map_or(node.at, |i| i.node.at) } else { node.at };
    let thresholds = forebay_queues::find(entry.name).map_or(&[][..], |e| e.thresholds);
    for (key, v) in params.0.iter().filter(|(key, _)| thresholds.contains(key)) {
        let (Value::QueueLen(k), Some(b)) = (v, buffer) else { continue };
        let comparable = std::mem::discriminant(k) == std::mem::discriminant(&b);
        if comparable && k.amount() > b.amount() {
            let help = Some(format!("the buffer holds {b}, so the queue never reaches {k}: lower `{key}` or raise `buffer`"));
            cx.sink.error(place(key), format!("`{key}` = {k} is above the buffer"), format!("legal: at most {b}"), help);
        } else if comparable && k.amount() == b.amount() && *key == "k" {
            cx.note(format!(
                "queue {}: `{key}` equals the buffer ({b}), so a packet that arrives at that length is dropped, not marked",
                entry.name
            ));
        }
    }
    for (key, v) in params.0.iter().filter(|(key, _)| MUST_HOLD_A_PACKET.contains(key)) {
        let lens = match v {
            Value::Bytes(b) => vec![QueueLen::Bytes(b.0)],
            Value::QueueLens(lens) => lens.clone(),
            _ => Vec::new(),
        };
        cx.buffers.extend(lens.into_iter().map(|len| BufferSite { key, len, at: place(key) }));
    }
    let value = QueueValue { kind: entry.name, params };
    if let Err(e) = forebay_queues::build(Some(&value), buffer) {
        let message = format!("the queue `{}`: `{}` {}", entry.name, e.key, e.message);
        cx.sink.error(place(e.key), message, "does not fit the rest", None);
        return None;
    }
    Some((value, json))
}

/// Reads a list of links with their ends.
pub(crate) fn links(cx: &mut Cx, what: &str, node: &Node) -> Option<(Vec<CustomLink>, Json)> {
    let Raw::Array(nodes) = &node.raw else {
        let help = "write [{ from = \"a\", to = \"b\", rate = \"10Gbps\", delay = \"1us\" }]".to_owned();
        cx.sink.error(node.at, format!("{what} must be a list of links, not {}", node.describe()), "expected a list", Some(help));
        return None;
    };
    if nodes.len() > MAX_LINKS {
        cx.sink.error(node.at, format!("{what} has {} links", nodes.len()), format!("legal: at most {MAX_LINKS}"), None);
        return None;
    }
    let mut list = Vec::with_capacity(nodes.len());
    let mut echo = Vec::with_capacity(nodes.len());
    let mut ok = true;
    for (i, n) in nodes.iter().enumerate() {
        let Some((l, j)) = custom_link(cx, &format!("{} of {what}", i + 1), n) else {
            ok = false;
            continue;
        };
        echo.push(Json::Object(j));
        match of_ranges(l) {
            Ok(links) => list.extend(links),
            Err((message, label)) => {
                cx.sink.error(n.at, message, label, None);
                ok = false;
            }
        }
    }
    if list.len() > MAX_LINKS {
        cx.sink.error(node.at, format!("{what} has {} links", list.len()), format!("legal: at most {MAX_LINKS}"), None);
        return None;
    }
    ok.then_some((list, Json::Array(echo)))
}

/// The links of one whose ends may be ranges of names: one range joins each of its nodes to the other end, two of equal length join them pairwise. The
/// error is a message and its label.
fn of_ranges(link: CustomLink) -> Result<Vec<CustomLink>, (String, String)> {
    let names = |text: &str| match text.contains("..") {
        false => Ok(None),
        true => expand(text).map(Some).ok_or_else(|| {
            let message = format!("`{}` is not a range of names", short(text));
            (message, format!("write \"h0..h7\"; legal: up to {MAX_NAMES} names"))
        }),
    };
    let to = |from: &str, to: &str| CustomLink { from: from.to_owned(), to: to.to_owned(), ..link.clone() };
    Ok(match (names(&link.from)?, names(&link.to)?) {
        (None, None) => vec![link],
        (Some(many), None) => many.iter().map(|from| to(from, &link.to)).collect(),
        (None, Some(many)) => many.iter().map(|name| to(&link.from, name)).collect(),
        (Some(a), Some(b)) if a.len() == b.len() => a.iter().zip(&b).map(|(from, name)| to(from, name)).collect(),
        (Some(a), Some(b)) => {
            let message = format!("the ranges `{}` and `{}` have {} and {} names", link.from, link.to, a.len(), b.len());
            return Err((message, "legal: two of equal length, joined pairwise, or one range".to_owned()));
        }
    })
}

fn custom_link(cx: &mut Cx, what: &str, node: &Node) -> Option<(CustomLink, Map<String, Json>)> {
    let mut fields = link_fields(cx, what, node)?;
    let from = required(cx, what, &mut fields, "from", "a").and_then(|i| quantity::text(cx, "`from`", &i.node));
    let to = required(cx, what, &mut fields, "to", "b").and_then(|i| quantity::text(cx, "`to`", &i.node));
    let both = match fields.get("both") {
        None => Some(true),
        Some(i) => quantity::boolean(cx, "`both`", &i.node),
    };
    let link = properties(cx, what, &mut fields);
    fields.finish(&mut cx.sink);
    let (from, to, both, (link, properties)) = (from?, to?, both?, link?);
    let mut echo = Map::new();
    echo.insert("from".into(), from.into());
    echo.insert("to".into(), to.into());
    echo.insert("both".into(), both.into());
    echo.extend(properties);
    Some((CustomLink { from: from.to_owned(), to: to.to_owned(), both, link }, echo))
}
