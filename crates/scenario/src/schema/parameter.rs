//! Values of any [`Kind`], links included.

use crate::schema::context::Cx;
use crate::schema::{link, value};
use crate::text::doc::Node;
use forebay_types::param::{Kind, Value};
use serde_json::Value as Json;

/// Reads a value of `kind`; `what` names it in messages. The second part is its echo.
pub(crate) fn read(cx: &mut Cx, kind: Kind, what: &str, node: &Node) -> Option<(Value, Json)> {
    match kind {
        Kind::Link => link::link(cx, what, node).map(|(l, j)| (Value::Link(l), j)),
        Kind::Links => link::links(cx, what, node).map(|(l, j)| (Value::Links(l), j)),
        _ => value::read(cx, kind, what, node),
    }
}
