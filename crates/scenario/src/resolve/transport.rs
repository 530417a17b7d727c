//! `[transport]`: stack, congestion control, and all properties of TCP; several congestion controls to compare, or several groups side by side.

use crate::resolve::members::{Member, Rule, member, rule};
use crate::resolve::shim::{self, Shim};
use crate::schema::choice::{self, choice_with};
use crate::schema::context::{Cx, DEFAULTS};
use crate::schema::describe::DEFAULT_CC;
use crate::schema::fields::{Fields, word};
use crate::schema::tcp_echo::tcp_echo;
use crate::text::doc::{Node, Raw, TomlTable};
use crate::text::message_text::short;
use crate::text::source::At;
use forebay_experiment::kernel::Kernel;
use forebay_experiment::plb;
use forebay_experiment::profile::{self, PARAMS, PROFILES};
use forebay_experiment::registry::CcEntry;
use forebay_experiment::transport::Profile;
use forebay_experiment::transport::{Group, Recovery, Transport};
use forebay_types::param::{Entry, Value, Values};
use forebay_types::{GroupId, IndexVec, Time};
use serde_json::{Map, Value as Json};

/// Maximum number of congestion controls to compare, and of groups.
const MAX_CONGESTION_CONTROLS: usize = 64;

/// Maximum number of groups in the name of a variant.
const MAX_NAMED: usize = 3;

/// Configured congestion control, with its position.
#[derive(Clone)]
struct CongestionControl {
    entry: &'static CcEntry<()>,
    params: Values,
    json: Json,
    /// Keys of `[transport]` for this congestion control only, with their positions.
    own: Values,
    own_json: Map<String, Json>,
    places: Vec<(String, At)>,
    shims: Option<Vec<Shim>>,
    at: At,
}

/// Group as written; its congestion control is open if the file compares several.
struct Draft {
    name: Option<String>,
    stack: Profile,
    cc: Option<CongestionControl>,
    values: Values,
    shims: Option<Vec<Shim>>,
    member: Member,
    /// Positions of the keys of the group and of `[transport]`.
    places: Vec<(String, At)>,
    at: At,
}

/// Transports of one variant.
pub(crate) struct Transports {
    /// Name of the variant: its congestion control.
    pub label: String,
    pub groups: IndexVec<GroupId, Group>,
    /// For each group: true if it needs marks, its congestion control, and the position of that choice.
    pub needs_marks: Vec<(bool, &'static str, At)>,
    /// Echo of `[transport]`.
    pub echo: Json,
    /// True if the file has `[[transport.group]]`.
    pub named: bool,
    /// Rule that assigns workloads without a group to the groups.
    pub rule: Rule,
}

/// Reads `[transport]`; one result per congestion control to compare.
pub(crate) fn transports(cx: &mut Cx, section: Option<(At, &TomlTable)>) -> Option<Vec<Transports>> {
    let empty = TomlTable::default();
    let (at, table) = section.unwrap_or((At::default(), &empty));
    let mut fields = Fields::new("[transport]", at, table);
    let stack = stack(cx, &mut fields, profile::DEFAULT);
    let cc = fields.get("cc");
    let congestion_controls = match cc {
        None => default_cc(cx, at).map(|l| vec![l]),
        Some(item) => congestion_controls(cx, &item.node),
    };
    let base = choice::params(cx, &mut fields, PARAMS, "[transport]", at).map(|c| c.0);
    let shims = shim::shims(cx, &mut fields);
    let places = places(table);
    let base = stack.zip(base).zip(shims).map(|((stack, values), shims)| Draft {
        name: None,
        stack,
        cc: None,
        values,
        shims,
        member: Member::default(),
        places,
        at,
    });
    let drafts = match fields.get("group") {
        None => base.map(|b| vec![b]),
        Some(item) => groups(cx, &item.node, base),
    };
    fields.finish(&mut cx.sink);
    let (congestion_controls, drafts) = (congestion_controls?, drafts?);
    if let (Some(item), true) = (cc, drafts.iter().all(|d| d.cc.is_some())) {
        let help = Some("remove it, or leave `cc` out of the groups that it is meant for".to_owned());
        cx.sink.error(item.key_at, "`cc` of [transport] is not used: every group has its own", "has no effect", help);
        return None;
    }
    let rule = rule(cx, drafts.iter().map(|d| (d.name.as_deref().unwrap_or(""), &d.member)))?;
    // If every group has its own congestion control there is nothing to compare.
    let (congestion_controls, labels) = if drafts.iter().all(|d| d.cc.is_some()) {
        (vec![drafts[0].cc.clone()?], vec![group_label(&drafts)])
    } else {
        let labels = labels(&congestion_controls);
        (congestion_controls, labels)
    };
    let variants: Vec<Transports> =
        congestion_controls.iter().zip(labels).map(|(cc, label)| variant(cx, &drafts, cc, label, &rule)).collect();
    Some(variants)
}

fn places(table: &TomlTable) -> Vec<(String, At)> {
    table.items.iter().map(|i| (i.key.clone(), i.node.at)).collect()
}

fn stack(cx: &mut Cx, fields: &mut Fields<'_>, default: Profile) -> Option<Profile> {
    match fields.get("stack") {
        None => Some(default),
        Some(item) => {
            let name = word(&item.node, "`stack`", PROFILES, &mut cx.sink)?;
            Profile::of(name)
        }
    }
}

fn default_cc(cx: &mut Cx, at: At) -> Option<CongestionControl> {
    let node = Node { at: At { source: DEFAULTS, ..At::default() }, raw: Raw::Text(DEFAULT_CC.into()) };
    cc(cx, &node).map(|l| CongestionControl { at, ..l })
}

/// One congestion control, or a list of congestion controls to compare.
fn congestion_controls(cx: &mut Cx, node: &Node) -> Option<Vec<CongestionControl>> {
    let Raw::Array(nodes) = &node.raw else { return cc(cx, node).map(|l| vec![l]) };
    if nodes.is_empty() || nodes.len() > MAX_CONGESTION_CONTROLS {
        cx.sink.error(
            node.at,
            format!("`cc` lists {} congestion controls", nodes.len()),
            format!("legal: 1 to {MAX_CONGESTION_CONTROLS}"),
            None,
        );
        return None;
    }
    let mut list: Vec<CongestionControl> = Vec::new();
    for n in nodes {
        let Some(l) = cc(cx, n) else { continue };
        if list.iter().any(|o| o.same_as(&l)) {
            cx.sink.error(n.at, format!("`cc` lists {} twice", l.entry.entry.name), "listed before", None);
        }
        list.push(l);
    }
    (list.len() == nodes.len()).then_some(list)
}

fn cc(cx: &mut Cx, node: &Node) -> Option<CongestionControl> {
    let entries: Vec<&'static Entry> = cx.worlds.congestion_controls().iter().map(|e| &e.entry).collect();
    let (entry, params, json, (own, shims)) = choice_with(cx, "congestion control", node, &entries, |cx, fields| {
        let own = choice::params(cx, fields, PARAMS, "the congestion control", node.at);
        own.zip(shim::shims(cx, fields))
    })?;
    let places = if let Raw::Table(t) = &node.raw { places(t) } else { Vec::new() };
    Some(CongestionControl {
        entry: cx.worlds.cc(entry.name)?,
        params,
        json,
        own: own.0,
        own_json: own.1,
        places,
        shims,
        at: node.at,
    })
}

/// `[[transport.group]]`: transports side by side, each with the settings of `[transport]` unless it has its own.
fn groups(cx: &mut Cx, node: &Node, base: Option<Draft>) -> Option<Vec<Draft>> {
    let Raw::Array(nodes) = &node.raw else {
        cx.sink.error(node.at, "`group` must be a list of tables", "write [[transport.group]]", None);
        return None;
    };
    if nodes.is_empty() || nodes.len() > MAX_CONGESTION_CONTROLS {
        cx.sink.error(
            node.at,
            format!("[transport] has {} groups", nodes.len()),
            format!("legal: 1 to {MAX_CONGESTION_CONTROLS}"),
            None,
        );
        return None;
    }
    let mut list: Vec<Draft> = Vec::new();
    for n in nodes {
        let Some(mut fields) = Fields::of_node("[[transport.group]]", n, &mut cx.sink) else { continue };
        let name_item = fields.get("name");
        if name_item.is_none() {
            let help = Some("workloads choose a group by its name: transport = \"...\"".to_owned());
            cx.sink.error(n.at, "[[transport.group]] needs the key `name`", "`name` is missing", help);
        }
        let name = name_item.and_then(|i| crate::schema::names::label(cx, "`name`", &i.node));
        if let (Some(i), Some(name)) = (name_item, &name)
            && list.iter().any(|d| d.name.as_ref() == Some(name))
        {
            cx.sink.error(i.node.at, format!("two transport groups are called `{}`", short(name)), "used before", None);
        }
        let stack = stack(cx, &mut fields, base.as_ref().map_or(profile::DEFAULT, |b| b.stack));
        let cc = match fields.get("cc") {
            None => Some(None),
            Some(i) if matches!(i.node.raw, Raw::Array(_)) => {
                let help = Some(
                    "to compare congestion controls, list them in `cc` of [transport] and leave `cc` out of this group"
                        .to_owned(),
                );
                cx.sink.error(
                    i.node.at,
                    "a transport group has one congestion control, not a list",
                    "expected one congestion control",
                    help,
                );
                None
            }
            Some(i) => cc(cx, &i.node).map(Some),
        };
        let own = choice::params(cx, &mut fields, PARAMS, "[[transport.group]]", n.at).map(|c| c.0);
        let member = member(cx, &mut fields);
        let shims = shim::shims(cx, &mut fields);
        fields.finish(&mut cx.sink);
        if let (Some(name), Some(stack), Some(cc), Some(own), Some(member), Some(shims), Some(base)) =
            (name, stack, cc, own, member, shims, base.as_ref())
        {
            let mut places = if let Raw::Table(t) = &n.raw { places(t) } else { Vec::new() };
            places.extend_from_slice(&base.places);
            let (values, shims) = (merged(&base.values, own), shims.or_else(|| base.shims.clone()));
            list.push(Draft { name: Some(name), stack, cc, values, shims, member, places, at: n.at });
        }
    }
    (list.len() == nodes.len()).then_some(list)
}

/// Values of the group, with those of `[transport]` as defaults.
fn merged(base: &Values, own: Values) -> Values {
    let pairs = own.0.into_iter().zip(&base.0);
    Values(pairs.map(|((k, v), (_, b))| (k, if v == Value::Unset { b.clone() } else { v })).collect())
}

fn variant(cx: &mut Cx, drafts: &[Draft], open: &CongestionControl, label: String, rule: &Rule) -> Transports {
    let mut groups = IndexVec::new();
    let mut needs_marks = Vec::new();
    let mut echoes = Vec::new();
    for d in drafts {
        let cc = d.cc.as_ref().unwrap_or(open);
        let mut tcp = profile::resolve(d.stack, cc.entry, cc.params.clone(), &merged(&d.values, cc.own.clone()));
        let shims = cc.shims.as_ref().or(d.shims.as_ref());
        if let Some(list) = shims {
            tcp.shims = list.iter().map(|s| s.chosen()).collect();
        }
        check(cx, cc.entry, &tcp, &[&cc.places, &d.places].map(|p| p.as_slice()).concat(), d.at);
        let mut echo = Map::new();
        if let Some(name) = &d.name {
            echo.insert("name".into(), name.as_str().into());
        }
        d.member.echo(&mut echo);
        echo.insert("stack".into(), d.stack.name().into());
        echo.insert("cc".into(), cc.json.clone());
        tcp_echo(&tcp, &mut echo);
        if let Some(list) = shims {
            echo.insert("shim".into(), shim::echo(list));
        } else if let [brought] = tcp.shims.as_slice() {
            // The congestion control adds this shim, with its defaults.
            echo.insert("shim".into(), brought.name.into());
        }
        echoes.push(echo);
        needs_marks.push((cc.entry.needs_marks, cc.entry.entry.name, cc.at));
        groups.push(Group { name: d.name.clone().unwrap_or_else(|| label.clone()), tcp });
    }
    let named = drafts.iter().any(|d| d.name.is_some());
    let echo = match named {
        false => echoes.into_iter().next().map(Json::Object).unwrap_or_default(),
        true => {
            let list = Json::Array(echoes.into_iter().map(Json::Object).collect());
            Json::Object([("group".to_owned(), list)].into_iter().collect())
        }
    };
    Transports { label, groups, needs_marks, echo, named, rule: rule.clone() }
}

/// Checks relations between several keys.
fn check(cx: &mut Cx, entry: &CcEntry<()>, tcp: &Transport, places: &[(String, At)], at: At) {
    if tcp.handshake && u64::from(tcp.init_cwnd) * u64::from(tcp.mss) > 65_535 {
        let first = 65_535 / tcp.mss;
        cx.note(format!(
            "`init-cwnd` = {}: the window of a SYN-ACK is not scaled (RFC 7323 section 2.2), so the first flight is at most {first} \
             segments; `handshake = false` lifts that",
            tcp.init_cwnd
        ));
    }
    let has_sack = matches!(tcp.recovery, Recovery::Sack | Recovery::Rack);
    if has_sack && !tcp.limited_transmit && places.iter().any(|p| p.0 == "limited-transmit") {
        cx.note("`limited-transmit` = false has no effect with SACK, whose pipe allows the same segments (RFC 6675 section 5, step 3)".to_owned());
    }
    // The position is that of the first of the keys in the file; a profile's default has none.
    let mut error = |keys: &[&str], message: String, label: &str| {
        let place = keys.iter().find_map(|k| places.iter().find(|p| p.0 == *k));
        cx.sink.error(place.map_or(at, |p| p.1), message, label, None);
    };
    if tcp.mss + tcp.header > 65_535 {
        let message = format!("`mss` + `header` is {} B", tcp.mss + tcp.header);
        error(&["mss", "header"], message, "legal: at most 65535 B, the largest packet");
    }
    for (key, t) in [("rto-min", tcp.rto_min), ("rto-initial", tcp.rto_initial)] {
        if t > tcp.rto_max {
            let message = format!("`{key}` ({t}) is above `rto-max` ({})", tcp.rto_max);
            error(&[key, "rto-max"], message, "must not exceed rto-max");
        }
    }
    let clocks = [("rto-granularity", tcp.rto_granularity), ("timestamp-clock", tcp.timestamp_clock)];
    for (key, t) in [("rto-min", tcp.rto_min), ("rto-initial", tcp.rto_initial)].into_iter().chain(clocks) {
        if t == Time::ZERO {
            error(&[key], format!("`{key}` is zero"), "legal: above zero");
        }
    }
    let sack = has_sack || tcp.counts_duplicates();
    let set = |key: &str| places.iter().any(|p| p.0 == key);
    for (key, on, needs) in [("frto", tcp.frto, sack), ("eifel", tcp.eifel, sack && tcp.timestamps)] {
        if on && set(key) && !needs {
            let also = if key == "eifel" { " and `timestamps`" } else { "" };
            error(
                &[key],
                format!("`{key}` needs `recovery` \"sack\" or \"rack\"{also}, or `newreno` of the stack `linux`"),
                "has no effect here",
            );
        }
    }
    // A scoreboard sends the segments of limited transmit because its pipe gets smaller (RFC 6675 section 5, step 3; Linux tcp_add_reno_sack).
    let scoreboard = if tcp.counts_duplicates() {
        format!("the stack \"{}\" counts each duplicate ACK as a SACK", tcp.profile.name())
    } else {
        format!("`recovery` is \"{}\"", tcp.recovery.name())
    };
    if tcp.counts_duplicates() && set("limited-transmit") && !tcp.limited_transmit {
        let message = format!("`limited-transmit` is false, but {scoreboard}, with which limited transmit is always on");
        error(&["limited-transmit"], message, "has no effect here; legal: true, or another stack");
    }
    for shim in &tcp.shims {
        let keys = shim::entry(cx.worlds, shim).map_or(&[] as &[_], |e| e.duplicates_only);
        for key in keys.iter().filter(|key| sack && *shim.values.get(key) != Value::Unset) {
            let message = format!("`{key}` of `{}` delays the reaction to the third duplicate ACK, but {scoreboard}", shim.name);
            error(&["shim", "cc"], message, "has no effect here; legal with `recovery` \"reno\" or \"newreno\" of other stacks");
        }
    }
    if tcp.plb.is_some() && !(entry.plb && tcp.is_linux()) {
        let having: Vec<&str> = cx.worlds.congestion_controls().iter().filter(|e| e.plb).map(|e| e.entry.name).collect();
        let message = format!(
            "`{}`: `cc` is \"{}\" and `stack` is \"{}\", without protective load balancing",
            plb::ENABLED,
            entry.entry.name,
            tcp.profile.name()
        );
        error(&[plb::ENABLED], message, &format!("legal with stack \"linux\" and cc \"{}\"", having.join("\", \"")));
    }
    if tcp.kernel != Kernel::default() && !tcp.is_linux() {
        let message = format!("`kernel` is \"{}\", and `stack` is \"{}\"", tcp.kernel.name(), tcp.profile.name());
        error(&["kernel"], message, "has an effect with stack \"linux\" only");
    }
    if tcp.plb.is_some() && !tcp.kernel.has_plb() {
        let message = format!("`{}` needs Linux 6.2, and `kernel` is \"{}\"", plb::ENABLED, tcp.kernel.name());
        error(&["kernel", plb::ENABLED], message, "legal: kernel = \"6.12\"");
    }
    if tcp.plb.is_some() && !tcp.txrehash {
        let message = format!("`txrehash` is false, and `{}` draws a new hash", plb::ENABLED);
        error(&["txrehash", plb::ENABLED], message, "legal: true with protective load balancing");
    }
    let on_syn = tcp.shims.iter().find(|s| shim::entry(cx.worlds, s).is_some_and(|e| e.needs_handshake));
    if let (Some(shim), false) = (on_syn, tcp.handshake) {
        let message = format!("`{}` acts on SYN and SYN-ACK, and `handshake` is false", shim.name);
        error(&["handshake", "shim"], message, "must be true with this shim");
    }
    // SOCK_MIN_SNDBUF and SOCK_MIN_RCVBUF are more than twice 2 KiB. The least of the limits are the sizes with which a connection begins.
    for (key, size, least) in [
        ("snd-buf", tcp.snd_buf, 2 << 10),
        ("rcv-buf", tcp.rcv_buf, 2 << 10),
        ("snd-buf-max", tcp.wmem_max, 16 << 10),
        ("rcv-buf-max", tcp.rmem_max, 128 << 10),
    ] {
        if let Some(bytes) = size.filter(|bytes| !(least..=1 << 30).contains(bytes)) {
            let message = format!("`{key}` is {}", forebay_types::Bytes(bytes));
            error(&[key], message, &format!("legal: {} to 1 GiB", forebay_types::Bytes(least)));
        }
    }
    // RFC 7323 2.3: windows stay below 2^30.
    if tcp.rcv_wnd < u64::from(tcp.mss) || tcp.rcv_wnd > 1 << 30 {
        let message = format!("`rcv-wnd` is {}", forebay_types::Bytes(tcp.rcv_wnd));
        error(&["rcv-wnd", "mss"], message, "legal: one segment (`mss`) to 1 GiB, the limit of window scaling");
    }
}

impl CongestionControl {
    /// Returns true if both are configured the same.
    fn same_as(&self, other: &CongestionControl) -> bool {
        self.json == other.json && self.own == other.own && self.shim_names() == other.shim_names()
    }

    /// Shims; `None` if not given: then those that it adds, or those of [transport].
    fn shim_names(&self) -> Option<Vec<Json>> {
        self.shims.as_ref().map(|list| list.iter().map(|s| s.json.clone()).collect())
    }

    /// Name, shims, and the keys of `[transport]` that it sets.
    fn label(&self) -> String {
        let mut out = self.entry.entry.name.to_owned();
        self.shims.iter().flatten().for_each(|s| out.push_str(&format!("+{}", s.entry.entry.name)));
        if self.shims.as_ref().is_some_and(Vec::is_empty) {
            out.push_str(" shim=none");
        }
        self.own_json.iter().for_each(|(k, v)| out.push_str(&setting(k, v)));
        out
    }
}

fn setting(key: &str, value: &Json) -> String {
    format!(" {key}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// Name of the only variant of a file in which every group has its own congestion control: the groups, if there are few.
fn group_label(drafts: &[Draft]) -> String {
    let names: Vec<&str> = drafts.iter().filter_map(|d| d.name.as_deref()).collect();
    if names.len() > MAX_NAMED { format!("{} groups", names.len()) } else { names.join(" + ") }
}

/// Names of the variants: the congestion controls, with the parameters that distinguish those with equal names.
fn labels(congestion_controls: &[CongestionControl]) -> Vec<String> {
    let label = |l: &CongestionControl| {
        let alike: Vec<&CongestionControl> = congestion_controls.iter().filter(|o| o.label() == l.label()).collect();
        let value = |l: &CongestionControl, key: &str| l.json.get(key).cloned();
        let differs = |key: &str| alike.iter().any(|o| value(o, key) != value(l, key));
        let params = l.json.as_object().into_iter().flatten().filter(|(k, _)| *k != "kind" && differs(k));
        let out = params.fold(l.label(), |out, (k, v)| out + &setting(k, v));
        let of_shim =
            |l: &CongestionControl, i: usize, key: &str| l.shims.iter().flatten().nth(i).and_then(|s| s.json.get(key).cloned());
        let mut shims = Vec::new();
        for (i, s) in l.shims.iter().flatten().enumerate() {
            let set = s.json.as_object().into_iter().flatten();
            shims.extend(set.filter(|(k, _)| alike.iter().any(|o| of_shim(o, i, k) != of_shim(l, i, k))));
        }
        shims.into_iter().fold(out, |out, (k, v)| out + &setting(k, v))
    };
    congestion_controls.iter().map(label).collect()
}
