//! A script as data: options, commands, and events with their times.

/// A TCP flag of a script's packet.
pub mod flag {
    /// `F`
    pub const FIN: u16 = 1;
    /// `S`
    pub const SYN: u16 = 2;
    /// `R`
    pub const RST: u16 = 4;
    /// `P`; the simulator has no push flag, so it is not compared.
    pub const PSH: u16 = 8;
    /// `.`
    pub const ACK: u16 = 16;
    /// `U`
    pub const URG: u16 = 32;
    /// `E`
    pub const ECE: u16 = 64;
    /// `W`
    pub const CWR: u16 = 128;
    /// `A`, the accurate ECN flag (RFC 9768 section 3.1.1).
    pub const AE: u16 = 256;

    /// The flags AE, CWR and ECE as a number, as in the ACE field (RFC 9768 section 3.2.2).
    pub fn ace(flags: u16) -> u8 {
        (flags >> 6 & 7) as u8
    }

    /// The flags of which an ACE field is made.
    pub fn of_ace(ace: u8) -> u16 {
        u16::from(ace) << 6
    }

    /// The letters of `flags` as a script writes them.
    pub fn letters(flags: u16) -> String {
        let all = [(SYN, 'S'), (FIN, 'F'), (RST, 'R'), (PSH, 'P'), (URG, 'U'), (ECE, 'E'), (CWR, 'W'), (AE, 'A'), (ACK, '.')];
        let text: String = all.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, letter)| *letter).collect();
        if text.is_empty() { "-".into() } else { text }
    }
}

/// Time of an event, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Since the start of the script, in this range.
    Absolute(i64, i64),
    /// Since the event before, in this range.
    Relative(i64, i64),
    /// `*`: at any time.
    Any,
}

/// ECN field of a packet, as a script writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnField {
    /// `[noecn]`
    NotEct,
    /// `[ect0]`
    Ect0,
    /// `[ect1]`
    Ect1,
    /// `[ect01]`: ECT(0) or ECT(1).
    Ect,
    /// `[ce]`
    Ce,
}

/// TCP options of a packet; padding is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `mss`
    pub mss: Option<u16>,
    /// `wscale`
    pub wscale: Option<u8>,
    /// `sackOK`
    pub sack_ok: bool,
    /// `TS val a ecr b`
    pub ts: Option<(u32, u32)>,
    /// `sack a:b c:d`
    pub sack: Vec<(u32, u32)>,
    /// `ECN e0b n ceb n e1b n` (AccECN0), or in the opposite order (AccECN1).
    pub accecn: Vec<(Counter, u32)>,
}

/// Byte counter of an AccECN option (RFC 9768 section 3.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// `e0b`
    E0b,
    /// `ceb`
    Ceb,
    /// `e1b`
    E1b,
}

impl Counter {
    /// All counters, in the order of AccECN0.
    pub const ALL: [Counter; 3] = [Counter::E0b, Counter::Ceb, Counter::E1b];

    /// Its name in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Counter::E0b => "e0b",
            Counter::Ceb => "ceb",
            Counter::E1b => "e1b",
        }
    }
}

/// A TCP segment of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// ECN field, if the script specifies one.
    pub ecn: Option<EcnField>,
    /// See [`flag`].
    pub flags: u16,
    /// First sequence number, relative to the initial one of our endpoint.
    pub seq: u32,
    /// Payload bytes.
    pub len: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Window field, if the script specifies one.
    pub win: Option<u16>,
    /// Options; `None` (`<...>`) is any.
    pub options: Option<Options>,
}

/// An argument or result of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// `...`: any.
    Any,
    /// A number.
    Int(i64),
    /// A name, or names joined by `|`.
    Word(String),
    /// A quoted text.
    Text(String),
    /// `[..]`
    List(Vec<Arg>),
    /// `{..}`, only in unsupported calls.
    Struct,
}

/// A call of the socket interface.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// End of a blocking call; `None`: it returns at once.
    pub until: Option<When>,
    /// `write`, ...
    pub name: String,
    /// Arguments.
    pub args: Vec<Arg>,
    /// Result.
    pub result: Arg,
    /// `EAGAIN`, ... when it returns -1.
    pub errno: Option<String>,
}

/// Action of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A packet arrives at our endpoint.
    In(Segment),
    /// Our endpoint sends a packet.
    Out(Segment),
    /// Our application makes a call.
    Call(Call),
    /// Assertions.
    Code(String),
    /// A command for a shell.
    Command(String),
}

/// One line of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// In the file, from 1.
    pub line: usize,
    /// Time.
    pub when: When,
    /// Action.
    pub action: Action,
}

/// An option line, `--name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// In the file, from 1.
    pub line: usize,
    /// Without the dashes.
    pub name: String,
    /// Empty if there is none.
    pub value: String,
}

/// A whole script.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// Option lines.
    pub settings: Vec<Setting>,
    /// Events, those before the first time at time 0.
    pub events: Vec<Event>,
}

/// Error in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// In the file, from 1.
    pub line: usize,
    /// Message.
    pub message: String,
}

impl Problem {
    /// An error at `line`.
    pub fn new(line: usize, message: impl Into<String>) -> Problem {
        Problem { line, message: message.into() }
    }
}
