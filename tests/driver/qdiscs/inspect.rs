//! The disciplines of the crate `queues` for programs in C that compare them with the qdiscs of Linux: parameters by name, and their state.

use forebay_guest::Port;
use forebay_queues::{BufferedDiscipline, CONFIG_WORDS, FifoDiscipline, PortState, Queue, QueueState, REGISTRY};
use forebay_types::param::Kind;
use forebay_types::{Bytes, Time};
use std::ffi::{CStr, c_char};

/// `struct setting` of lockstep.h.
#[repr(C)]
pub struct Setting {
    key: *const c_char,
    number: u64,
}

fn text<'a>(text: *const c_char) -> &'a str {
    // SAFETY: callers pass literals of C.
    unsafe { CStr::from_ptr(text) }.to_str().expect("ASCII")
}

/// The number of a default.
fn default(kind: &Kind, text: &str) -> u64 {
    match kind {
        Kind::Int(..) => text.parse::<i64>().expect("an integer") as u64,
        Kind::Float(..) => text.parse::<f64>().expect("a number").to_bits(),
        Kind::Bool => u64::from(text == "true"),
        Kind::Bytes => text.parse::<Bytes>().expect("a size").0,
        Kind::Time => text.parse::<Time>().expect("a time").0,
        Kind::Choice(words) => words.iter().position(|w| *w == text).expect("a word") as u64,
        _ => panic!("{kind:?} has no default"),
    }
}

/// Numbers of a configuration (`QueueConfig::words`): the settings, and defaults for other parameters. A key that occurs several times makes a list.
#[unsafe(no_mangle)]
pub extern "C" fn queue_config(kind: *const c_char, settings: *const Setting, count: usize, words: &mut [u64; CONFIG_WORDS]) {
    let place = REGISTRY.iter().position(|e| e.entry.name == text(kind)).expect("a discipline");
    // SAFETY: the caller passes an array of so many settings.
    let settings = unsafe { std::slice::from_raw_parts(settings, count) };
    let mut all = vec![place as u64 + 1, 0, 0, 0];
    for param in REGISTRY[place].entry.params {
        let mut numbers: Vec<u64> = settings.iter().filter(|s| text(s.key) == param.key).map(|s| s.number).collect();
        if numbers.is_empty() && param.default.is_some_and(|d| !d.is_empty()) {
            numbers = vec![default(&param.kind, param.default.expect("a default"))];
        }
        all.push(if numbers.is_empty() { 0 } else { numbers.len() as u64 + 1 });
        all.extend(numbers);
    }
    for s in settings {
        assert!(REGISTRY[place].entry.params.iter().any(|p| p.key == text(s.key)), "no parameter {}", text(s.key));
    }
    *words = std::array::from_fn(|i| all.get(i).copied().unwrap_or(0));
}

fn buffered(port: &mut Port) -> &mut BufferedDiscipline {
    match port.queue() {
        Queue::Buffered(d) => d,
        Queue::Fifo(_) => panic!("it is buffered"),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn pie_state(port: &mut Port, state: &mut [*mut u64; 8]) {
    let BufferedDiscipline::Pie(pie) = buffered(port) else { panic!("it is PIE") };
    *state = pie.state();
}

#[unsafe(no_mangle)]
pub extern "C" fn pie_update(port: &mut Port, now: u64) {
    let BufferedDiscipline::Pie(pie) = buffered(port) else { panic!("it is PIE") };
    pie.update(Time(now));
}

#[unsafe(no_mangle)]
pub extern "C" fn red_state(port: &mut Port, state: &mut [*mut u64; 3]) {
    let addresses = match port.queue() {
        Queue::Fifo(FifoDiscipline::Red(red)) => red.state(),
        Queue::Buffered(BufferedDiscipline::Choke(choke)) => choke.state(),
        _ => panic!("it is RED or CHOKe"),
    };
    *state = addresses;
}

/// Decays the average for the idle time.
#[unsafe(no_mangle)]
pub extern "C" fn red_age(port: &mut Port) {
    match port.queue() {
        Queue::Fifo(FifoDiscipline::Red(red)) => red.decay(),
        Queue::Buffered(BufferedDiscipline::Choke(choke)) => choke.decay(),
        _ => panic!("it is RED or CHOKe"),
    }
}

/// True if RED marks an ECN-capable packet at the present average.
#[unsafe(no_mangle)]
pub extern "C" fn red_marks(port: &mut Port) -> bool {
    let Queue::Fifo(FifoDiscipline::Red(red)) = port.queue() else { panic!("it is RED") };
    let state = PortState {
        now: Time(0),
        queue: QueueState::default(),
        limit: QueueState::UNLIMITED,
        memory: None,
        serving: 1,
        idle_since: Time(0),
    };
    red.marks_capable(&state)
}

/// The packet that CHOKe would draw now; null: none.
#[unsafe(no_mangle)]
pub extern "C" fn choke_sample(port: &mut Port) -> *mut forebay_guest::Packet {
    let BufferedDiscipline::Choke(choke) = buffered(port) else { panic!("it is CHOKe") };
    match choke.next_sample() {
        Some(handle) => port.packet(handle),
        None => std::ptr::null_mut(),
    }
}

/// State of CoDel, of queue `flow` with FQ-CoDel: `struct codel_state` of codel_steps.h.
#[unsafe(no_mangle)]
pub extern "C" fn codel_state(port: &mut Port, flow: usize, state: &mut [u64; 5]) {
    let numbers = match buffered(port) {
        BufferedDiscipline::Codel(codel) => codel.state(),
        BufferedDiscipline::FqCodel(fq) => fq.state(flow),
        _ => panic!("it is CoDel"),
    };
    *state = numbers;
}

/// Sets the time of the next drop.
#[unsafe(no_mangle)]
pub extern "C" fn codel_set_drop_next(port: &mut Port, flow: usize, time: u64) {
    match buffered(port) {
        BufferedDiscipline::Codel(codel) => codel.set_drop_next(Time(time)),
        BufferedDiscipline::FqCodel(fq) => fq.set_drop_next(flow, Time(time)),
        _ => panic!("it is CoDel"),
    }
}

/// Packets, bytes and seed of FQ-CoDel.
#[unsafe(no_mangle)]
pub extern "C" fn fq_codel_totals(port: &mut Port, totals: &mut [u64; 3]) {
    let BufferedDiscipline::FqCodel(fq) = buffered(port) else { panic!("it is FQ-CoDel") };
    let (total, seed) = fq.totals();
    *totals = [total.packets.into(), total.bytes, seed];
}

/// Packets of a buffered discipline.
#[unsafe(no_mangle)]
pub extern "C" fn queue_packets(port: &mut Port) -> usize {
    buffered(port).len()
}
