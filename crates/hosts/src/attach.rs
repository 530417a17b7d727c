//! `forebay attach`: plans the steps of an attachment, and then makes them.

use crate::catalog::{Kind, Program, assignment};
use crate::condition::Condition;
use crate::lease::Lease;
use crate::route::Plan;
use crate::sample::{Snapshot, SocketFilter};
use crate::sockets::Target;
use crate::state::{self, Attachment, Guard, Lock};
use crate::step::{DEFAULT_CC, Step};
use crate::tc::Filter;
use crate::{Error, Health, NetNs, Prefix, cgroup, loader, pins, route, sockets, sysctl, tc};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Request to attach a program.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The name of a congestion control or shim of the catalog.
    pub program: String,
    /// The name under which it is registered; `fb_` and the program's unless given.
    pub name: Option<String>,
    /// Connections to these prefixes.
    pub prefixes: Vec<Prefix>,
    /// Connections of the processes of this cgroup (version 2).
    pub cgroup: Option<PathBuf>,
    /// All new connections of this network namespace.
    pub default: bool,
    /// Also connections that are open already.
    pub live: bool,
    /// Interfaces of a shim; by default those of the routes to the prefixes.
    pub devices: Vec<String>,
    /// Parameters, as `name=value`.
    pub params: Vec<String>,
    /// Duration of the measurement before attaching; without it the counters since each connection was opened are used.
    pub measure: Option<Duration>,
    /// Conditions under which a guard will roll it back. A condition is refused if the measurement shows that it can never be met.
    pub conditions: Vec<Condition>,
}

impl Request {
    /// The name under which it is registered.
    pub(crate) fn registered_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("fb_{}", self.program))
    }
}

/// Result of `attach`.
#[derive(Debug)]
pub struct Attached {
    /// The name under which it is registered.
    pub name: String,
    /// Actions, one per line.
    pub done: Vec<String>,
}

/// A request that was checked, and what it takes.
struct Ready {
    program: &'static Program,
    params: Vec<(&'static str, u64)>,
    routes: Vec<Plan>,
    attachment: Attachment,
}

fn ready(request: &Request) -> Result<Ready, Error> {
    let program = Program::named(&request.program)?;
    let params = request.params.iter().map(|text| {
        let (name, value) = assignment(text)?;
        program.param(name, value).map(|(p, v)| (p.name, v))
    });
    let params = params.collect::<Result<Vec<_>, Error>>()?;
    let name = request.registered_name();
    if !loader::is_name(&name) {
        return Err(Error::new(format!("`{name}` is not a valid congestion control name"))
            .fix(format!("use 1 to {} letters, digits, `_` and `-`", loader::NAME_MAX)));
    }
    let shim = program.kind == Kind::Shim;
    if shim && (request.cgroup.is_some() || request.live) {
        return Err(Error::new(format!("`{}` is a shim: it sees packets, not processes and sockets", program.name))
            .fix("leave out --cgroup and --live; select the connections with --dst or --default"));
    }
    if program.sides.is_empty() && !request.devices.is_empty() {
        return Err(Error::new(format!("`{}` is a congestion control: it belongs to sockets, not to interfaces", program.name))
            .fix("leave out --dev"));
    }
    if request.prefixes.is_empty() && request.cgroup.is_none() && !request.default {
        return Err(Error::new(format!("no target for `{}`", program.name))
            .fix("name the connections: --dst PREFIX for those to a prefix, --cgroup PATH for those of processes, or --default for all"));
    }
    if request.default && !(request.prefixes.is_empty() && request.cgroup.is_none()) {
        return Err(Error::new("--default means all connections; --dst and --cgroup mean some").fix("leave one of them out"));
    }
    let request = &Request { prefixes: Prefix::union(&request.prefixes), ..request.clone() };
    let cgroup = request.cgroup.as_deref().map(cgroup::folder).transpose()?;
    if !request.default {
        within_the_data_centre(&request.prefixes, cgroup.as_deref())?;
    }
    if let Some(other) = state::all()?.iter().find(|a| a.name == name && a.complete) {
        return Err(Error::new(format!("{name} is attached already ({})", other.program)).fix(
            "`forebay tune` changes its parameters, `forebay detach` takes it off, and --name attaches a second one beside it",
        ));
    }
    if loader::registered()?.contains(&name) {
        return Err(loader::taken(&name));
    }
    let folder = pins::folder()?.join(&name);
    let mut steps = vec![Step::Pins { folder: folder.clone() }];
    if shim {
        let target = if request.default { vec!["0.0.0.0/0".parse()?] } else { request.prefixes.clone() };
        steps.extend(filters(program, &request.devices, &target)?.into_iter().map(Step::Filter));
        let attachment = Attachment { prefixes: target, ..attachment(request, program, name, steps)? };
        return Ok(Ready { program, params, routes: Vec::new(), attachment });
    }
    steps.push(Step::Sockets { cc: name.clone(), memory: folder.join("earlier") });
    if let Some(cgroup) = &cgroup {
        steps.push(Step::Cgroup { cgroup: cgroup.clone(), link: folder.join("cgroup") });
    }
    if program.messages {
        let from = cgroup.clone().map_or_else(cgroup::mount, Ok).map_err(|e| {
            Error::new(format!("`{}` takes messages by a socket option, for which it needs a cgroup: {e}", program.name))
        })?;
        steps.push(Step::Option { cgroup: from, link: folder.join("option") });
    }
    if !program.sides.is_empty() {
        let to = if request.prefixes.is_empty() { vec!["0.0.0.0/0".parse()?] } else { request.prefixes.clone() };
        steps.extend(filters(program, &request.devices, &to)?.into_iter().map(Step::Filter));
    }
    // With a cgroup the prefixes restrict its processes; routes would affect all processes.
    let routed = if cgroup.is_some() { &[] } else { request.prefixes.as_slice() };
    let routes = routed.iter().map(|p| Plan::all(*p, &name)).collect::<Result<Vec<_>, Error>>()?;
    let routes: Vec<Plan> = routes.into_iter().flatten().collect();
    steps.extend(routes.iter().map(|r| Step::Route(r.route.clone())));
    if request.default {
        steps.push(Step::Sysctl { key: DEFAULT_CC.into(), before: sysctl::get(DEFAULT_CC)?, after: name.clone() });
    }
    let attachment = Attachment { cgroup, ..attachment(request, program, name, steps)? };
    Ok(Ready { program, params, routes, attachment })
}

/// Refuses an attachment to (nearly) all connections without `--default`, because it includes connections that leave the data center.
fn within_the_data_centre(prefixes: &[Prefix], cgroup: Option<&Path>) -> Result<(), Error> {
    let all_processes = cgroup.map_or(Ok(true), cgroup::is_root)?;
    let wide = Prefix::widest(prefixes);
    let what = match (all_processes, prefixes.is_empty(), wide) {
        (true, true, _) => "every process of the machine is in this cgroup".to_owned(),
        (true, false, Some(share)) => {
            let named: Vec<String> = prefixes.iter().map(Prefix::to_string).collect();
            format!("{} cover {share}", named.join(", "))
        }
        _ => return Ok(()),
    };
    Err(Error::new(format!("{what}: the attachment would include connections that leave the data center"))
        .fix("name prefixes inside the data center (--dst) or another cgroup (--cgroup); use --default for all connections"))
}

fn attachment(request: &Request, program: &Program, name: String, steps: Vec<Step>) -> Result<Attachment, Error> {
    Ok(Attachment {
        name,
        program: program.name.into(),
        namespace: NetNs::current()?,
        prefixes: request.prefixes.clone(),
        cgroup: None,
        default: request.default,
        before: Health::default(),
        steps,
        links: Vec::new(),
        complete: false,
        undoing: false,
        guard: None,
    })
}

/// Both sides of the interfaces of a shim, as far as it has programs for them.
fn filters(program: &Program, devices: &[String], prefixes: &[Prefix]) -> Result<Vec<Filter>, Error> {
    let mut devices = devices.to_vec();
    if devices.is_empty() {
        for prefix in prefixes {
            devices.extend(route::devices(*prefix)?);
        }
    }
    devices.sort();
    devices.dedup();
    let attached = state::all()?;
    let of_others: Vec<&Filter> =
        attached.iter().flat_map(|a| &a.steps).filter_map(|s| if let Step::Filter(f) = s { Some(f) } else { None }).collect();
    let mut all = Vec::new();
    for device in &devices {
        // A qdisc that an earlier attachment created is also ours: the last one removes it.
        let ours = !tc::has_clsact(device)? || of_others.iter().any(|f| f.ours && f.device == *device);
        for egress in [true, false] {
            if program.sides.contains(&egress) {
                all.push(Filter::new(program.name, device, egress, ours)?);
            }
        }
    }
    Ok(all)
}

/// The commands that do the same by hand, as far as there are any.
pub fn dry_run(request: &Request) -> Result<Vec<String>, Error> {
    let ready = ready(request)?;
    let mut lines = Vec::new();
    let name = &ready.attachment.name;
    for step in &ready.attachment.steps {
        match step {
            Step::Filter(f) => {
                let side = if f.egress { "egress" } else { "ingress" };
                let qdisc = format!("tc qdisc add dev {} clsact", f.device);
                // One for both sides of an interface.
                if f.ours && !lines.contains(&qdisc) {
                    lines.push(qdisc);
                }
                lines.push(format!(
                    "tc filter add dev {} {side} bpf direct-action object {}.bpf.o program {side}",
                    f.device, ready.program.name
                ));
            }
            Step::Pins { folder } if ready.program.kind == Kind::Shim => {
                lines.push(format!("# the maps of `{}` are pinned in {}", ready.program.name, folder.display()));
                let target: Vec<String> = ready.attachment.prefixes.iter().map(Prefix::to_string).collect();
                lines.push(format!("# its map `prefixes` gets {}", target.join(", ")));
            }
            Step::Pins { folder } => {
                lines.extend(pins::missing_mount(folder)?.map(|m| format!("mount -t bpf -o mode=0700 bpf {}", m.display())));
                lines.push(format!("# the object of `{}` is inside forebay; with a file of it:", ready.program.name));
                lines.push(format!(
                    "bpftool struct_ops register {}.bpf.o {}   # as {name}",
                    ready.program.name,
                    folder.display()
                ));
            }
            Step::Sockets { .. } if request.live => {
                lines.push(format!("# sockets that are open are given {name} by a BPF iterator; no command of `ip` or `ss` does"))
            }
            Step::Sockets { .. } => {}
            Step::Cgroup { cgroup, link } => {
                lines.push(format!(
                    "bpftool cgroup attach {} cgroup_sock_ops pinned {}   # sets TCP_CONGESTION to {name}",
                    cgroup.display(),
                    link.display()
                ));
            }
            Step::Option { cgroup, link } => {
                lines.push(format!(
                    "bpftool cgroup attach {} cgroup_setsockopt pinned {}   # takes messages that applications announce",
                    cgroup.display(),
                    link.display()
                ));
            }
            Step::Route(route) => lines.extend(ready.routes.iter().find(|r| r.route == *route).map(|r| r.command(name))),
            Step::Sysctl { key, after, .. } => lines.push(format!("sysctl -w {key}={after}")),
        }
    }
    Ok(lines)
}

/// Does it, or leaves everything as it was.
pub fn attach(request: &Request) -> Result<Attached, Error> {
    attach_with(request, None, &|| Ok(())).map(|(_, _, attached)| attached)
}

/// As [`attach`], for a guard, which takes its lease before any change. After the measurement, `wanted` can still stop it.
pub(crate) fn attach_guarded(
    request: &Request,
    guard: Guard,
    wanted: &dyn Fn() -> Result<(), Error>,
) -> Result<(Attachment, Lease, Attached), Error> {
    let (attachment, lease, attached) = attach_with(request, Some(guard), wanted)?;
    let lease = lease.ok_or_else(|| Error::new("an attachment without the lease of its guard"))?;
    Ok((attachment, lease, attached))
}

fn attach_with(
    request: &Request,
    guard: Option<Guard>,
    wanted: &dyn Fn() -> Result<(), Error>,
) -> Result<(Attachment, Option<Lease>, Attached), Error> {
    let lock = Lock::take()?;
    let mut done = lock.tidy()?;
    let Ready { program, params, routes, mut attachment } = ready(request)?;
    attachment.before = before(&attachment, request.measure)?;
    request.conditions.iter().try_for_each(|c| c.check_reachable(&attachment.before))?;
    wanted()?;
    attachment.guard = guard;
    let lease = guard.map(|_| Lease::take(attachment.lease())).transpose()?;
    let worked = attachment
        .save()
        .and_then(|()| carry_out(program, &params, routes, &attachment, request.live, &mut done))
        .and_then(|()| {
            attachment.links = attachment.pins().map(pins::links).unwrap_or_default();
            attachment.complete = true;
            attachment.save()
        });
    if let Err(e) = worked {
        // The first error is the cause; an error of the rollback would hide it.
        let _ = attachment.undo();
        return Err(e);
    }
    let attached = Attached { name: attachment.name.clone(), done };
    Ok((attachment, lease, attached))
}

/// Health of the connections before attaching.
fn before(attachment: &Attachment, measure: Option<Duration>) -> Result<Health, Error> {
    let of = SocketFilter::new(attachment);
    let first = Snapshot::take(&of)?;
    let Some(time) = measure else { return Ok(first.so_far()) };
    std::thread::sleep(time);
    Ok(Snapshot::take(&of)?.since(&first))
}

fn carry_out(
    program: &Program,
    params: &[(&str, u64)],
    routes: Vec<Plan>,
    attachment: &Attachment,
    live: bool,
    done: &mut Vec<String>,
) -> Result<(), Error> {
    let name = &attachment.name;
    let mut object = loader::load(program, name, attachment.default, params)?;
    let mut routes = routes.into_iter();
    let target = Target {
        cc: name,
        needs_ecn: program.needs_ecn,
        prefixes: &attachment.prefixes,
        cgroup: attachment.cgroup.as_deref(),
        ..Target::default()
    };
    for step in &attachment.steps {
        match step {
            Step::Pins { folder } => {
                if let Some(place) = pins::missing_mount(folder)? {
                    pins::mount(&place)?;
                    done.push(format!("mounted a BPF file system at {}", place.display()));
                }
                loader::pin_maps(&mut object, folder)?;
                if program.kind == Kind::Shim {
                    loader::set_prefixes(&object, &attachment.prefixes)?;
                    done.push(format!("loaded {name}, maps pinned in {}", folder.display()));
                } else {
                    loader::register(&mut object, name, folder)?;
                    done.push(format!("registered {name}, pinned in {}", folder.display()));
                }
            }
            // At the end, when new connections use it already.
            Step::Sockets { .. } => {}
            Step::Cgroup { cgroup, link } => {
                sockets::choose(&target, cgroup, link)?;
                done.push(format!("new connections of processes in {} use it", cgroup.display()));
            }
            Step::Option { cgroup, link } => {
                loader::take_option(&object, cgroup, link)?;
                done.push(format!("processes in {} announce messages to it (socket option)", cgroup.display()));
            }
            Step::Filter(filter) => {
                loader::attach_filter(&object, filter)?;
                done.push(format!("{} {} passes through it", filter.device, if filter.egress { "egress" } else { "ingress" }));
            }
            Step::Route(route) => {
                if let Some(plan) = routes.next() {
                    plan.add()?;
                }
                done.push(format!("new connections to {} use it", route.prefix));
            }
            Step::Sysctl { key, before, after } => {
                sysctl::set(key, after)?;
                done.push(format!("{key} = {after} (was {before}): all new connections use it"));
            }
        }
    }
    if let Some(Step::Sockets { memory, .. }) = attachment.steps.iter().find(|s| live && matches!(s, Step::Sockets { .. })) {
        let begin = Instant::now();
        let swapped = sockets::swap(&target, memory)?;
        done.push(format!("{} open sockets use it now ({} ms)", swapped.sockets, begin.elapsed().as_millis()));
        if swapped.refused > 0 {
            done.push(format!("{} open sockets kept what they had: the kernel refused", swapped.refused));
        }
    }
    Ok(())
}
