//! A script as data: options, commands, and events with their times.

/// A TCP flag of a script's packet.
pub mod flag {
    /// `F`
    pub const FIN: u8 = 1;
    /// `S`
    pub const SYN: u8 = 2;
    /// `R`
    pub const RST: u8 = 4;
    /// `P`; the simulator has no push flag, so it is not compared.
    pub const PSH: u8 = 8;
    /// `.`
    pub const ACK: u8 = 16;
    /// `U`
    pub const URG: u8 = 32;
    /// `E`
    pub const ECE: u8 = 64;
    /// `W`
    pub const CWR: u8 = 128;

    /// The letters of `flags` as a script writes them.
    pub fn letters(flags: u8) -> String {
        let all = [(SYN, 'S'), (FIN, 'F'), (RST, 'R'), (PSH, 'P'), (URG, 'U'), (ECE, 'E'), (CWR, 'W'), (ACK, '.')];
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
}

/// A TCP segment of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// ECN field, if the script specifies one.
    pub ecn: Option<EcnField>,
    /// See [`flag`].
    pub flags: u8,
    /// First sequence number, relative to the initial one of our endpoint.
    pub seq: u32,
    /// Payload bytes.
    pub len: u32,
    /// Acknowledgement number.
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
