//! `forebay compare --packets`: the first different packet of each connection, with the state of both senders.

use super::{Args, Configuration, Within, configurations, reasons};
use crate::interrupt;
use crate::terminal::failure::Failure;
use crate::terminal::output::{NumberFormat, print, print_data};
use crate::terminal::style::{self, BOLD, DIM, NAME, paint};
use forebay_experiment::report::{EarlyEnd, Report};
use forebay_experiment::rows::{PacketRow, TcpRow};
use forebay_runner::trace_diff::{Alignment, Divergence, align, time_of};
use forebay_scenario::Resolved;
use forebay_types::Time;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::ControlFlow;

/// Connections with printed packets.
const SHOWN: usize = 12;

/// Compares the packets of the simulator with those of each other configuration of the same stack.
pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let colour = style::stdout();
    let within = match args.within {
        Some(Within::Time(time)) => time,
        _ => Time::ZERO,
    };
    let all = configurations(args);
    let (mut out, mut compared, mut values) = (String::new(), false, Vec::new());
    for one in all.iter().filter(|w| w.world == "sim") {
        for other in all.iter().filter(|w| w.stack == one.stack && !["sim", "model"].contains(&w.world.as_str())) {
            let scenarios = [one, other].map(|w| w.scenario(args));
            let [Ok(a), Ok(b)] = scenarios else {
                let why = scenarios.into_iter().find_map(Result::err).map_or_else(String::new, |e| reasons(&e, &other.world));
                let _ = writeln!(out, "{}: {why}", other.heads().join(" ").trim());
                continue;
            };
            for v in 0..a.variants.len().min(b.variants.len()) {
                let found = align(&recorded(one, &a, v)?, &recorded(other, &b, v)?, within);
                compared = true;
                let names = [one, other].map(|w| w.heads()[0].clone());
                let title = format!(
                    "{}: {} and {} on the same stack {}",
                    a.variants[v].label,
                    names[0],
                    names[1],
                    one.stack.unwrap_or("")
                );
                let _ = writeln!(out, "{}", paint(colour, NAME, title.trim()));
                text(&mut out, &found, &names, (within, colour));
                values.push(json!({"variant": a.variants[v].label, "stack": one.stack, "worlds": names, "connections": found.iter().map(value).collect::<Vec<_>>()}));
            }
        }
    }
    if !compared {
        return Err(match out.trim() {
            "" => Failure::Usage("--packets needs the backend `sim` and another one that has packets".into()),
            why => Failure::Engine(format!("no packets were compared: {why}")),
        });
    }
    if args.format == NumberFormat::Json { print_data(&format!("{:#}\n", Value::from(values))) } else { print(&out) }
}

/// The report of the first run of variant `v`, with its packets and all states of its senders.
fn recorded(configuration: &Configuration, resolved: &Resolved, v: usize) -> Result<Report, Failure> {
    forebay_backends::choose_kernel(configuration.kernel.clone());
    let mut config = resolved.variants[v].config.clone();
    config.set_seed(resolved.run_seed(0));
    config.observe.packets = true;
    // Connections have numbers from 0; those beyond the last are not there.
    config.observe.tcp_series = (0..1_000).map(|conn| (conn, Time::ZERO)).collect();
    let checked = config.check().map_err(|e| Failure::Engine(e.to_string()))?;
    let watch = &mut |_| if interrupt::requested() { ControlFlow::Break(EarlyEnd::Discard) } else { ControlFlow::Continue(()) };
    Ok(resolved.world.run(checked, config.seed, watch)?)
}

fn text(out: &mut String, all: &[Alignment], names: &[String; 2], (within, colour): (Time, bool)) {
    let alike = all.iter().filter(|a| a.first.is_none()).count();
    let how = if within == Time::ZERO { "to the nanosecond".to_owned() } else { format!("within {within}") };
    let _ = writeln!(out, "{alike} of {} connections are the same {how}", all.len());
    let mut differ: Vec<(&Alignment, &Divergence)> = all.iter().filter_map(|a| Some((a, a.first.as_ref()?))).collect();
    // The first difference may cause the others.
    differ.sort_by_key(|(_, first)| time_of(first));
    for (a, first) in differ.into_iter().take(SHOWN) {
        let total = a.packets[0].max(a.packets[1]);
        let _ = writeln!(out, "connection {}: {} of {total} packets are the same", a.conn_id, a.alike);
        divergence(out, first, names, colour);
    }
    let more = all.len() - alike;
    if more > SHOWN {
        let _ = writeln!(out, "and {} more connections", more - SHOWN);
    }
}

fn divergence(out: &mut String, d: &Divergence, names: &[String; 2], colour: bool) {
    let kind = if d.back { "ACK" } else { "data packet" };
    let _ = writeln!(out, "  then {kind} {}:", d.place);
    let wide = names.iter().map(String::len).max().unwrap_or(0);
    for (i, name) in names.iter().enumerate() {
        let packet = d.packet[i].map_or_else(|| "missing".into(), |p| packet(&p));
        let _ = writeln!(out, "    {}  {packet}", paint(colour, BOLD, &format!("{name:wide$}")));
        if let Some(state) = &d.state[i] {
            let _ = writeln!(out, "    {:wide$}  {}", "", paint(colour, DIM, &sender(state)));
        }
    }
}

fn packet(p: &PacketRow) -> String {
    let flags = [(p.syn, " SYN"), (p.fin, " FIN"), (p.ece, " ECE"), (p.cwr, " CWR"), (p.ce, " CE")];
    let flags: String = flags.iter().filter(|f| f.0).map(|f| f.1).collect();
    let number = if p.back { format!("ack {}", p.number) } else { format!("seq {} length {}", p.number, p.payload) };
    format!("{:.9} s  {number}{flags}", Time(p.time_ps).as_secs_f64())
}

fn sender(s: &TcpRow) -> String {
    let states = ["open", "disorder", "cwr", "recovery", "loss"];
    let state = states.get(usize::from(s.ca_state)).unwrap_or(&"?");
    let ssthresh = s.ssthresh.map_or_else(|| "none".into(), |threshold| format!("{threshold:.2}"));
    let alpha = s.alpha.map_or_else(String::new, |alpha| format!(", alpha {alpha:.3}"));
    let srtt = s.srtt_ps.map_or_else(|| "not known".into(), |ps| format!("{} us", ps / 1_000_000));
    format!(
        "sender before ({:.9} s): cwnd {:.2}, ssthresh {ssthresh}, {state}, {} B outstanding, srtt {srtt}, rto {} us{alpha}",
        Time(s.time_ps).as_secs_f64(),
        s.cwnd,
        s.unacked_bytes,
        s.rto_ps / 1_000_000,
    )
}

fn value(a: &Alignment) -> Value {
    let row = |p: &PacketRow| {
        json!({
            "time_s": Time(p.time_ps).as_secs_f64(), "number": p.number, "payload": p.payload, "syn": p.syn, "fin": p.fin, "ece": p.ece,
            "cwr": p.cwr, "ce": p.ce,
        })
    };
    let first = a.first.as_ref().map(|d| {
        let packets: Vec<Value> = d.packet.iter().map(|p| p.as_ref().map_or(Value::Null, row)).collect();
        json!({"back": d.back, "place": d.place, "packets": packets})
    });
    json!({"conn_id": a.conn_id, "alike": a.alike, "packets": a.packets, "first": first})
}
