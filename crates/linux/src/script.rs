//! A guest for packet scripts: one host. The program that runs the script is its application and its network, and advances the time.

use crate::guest::{Guest, Options};
use crate::kernel;
use crate::link::{Frames, Incoming};
use crate::protocol::{
    self, Ask, Call, HEAD, Hello, Inject, LOG, NEVER, Next, Record, Result as Answer, Sent, call, number, text,
};
use crate::stack::{self, settings};
use forebay_experiment::transport::{Group, Transport};
use std::time::{Duration, Instant};

/// Below `/proc/sys`.
const IPV4: &str = "net/ipv4/";
/// Address of the host.
pub const HOST: u32 = 0x0A00_0001;
/// Address of the other end.
pub const PEER: u32 = 0x0A00_0002;
/// Memory of the guest, MiB.
const MEMORY_MIB: u64 = 256;
/// Longest silence of the guest. Our choice: a thousand times its normal response time.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(100);

/// Configuration of the host.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// Parameters below `/proc/sys/net/ipv4`, with their values.
    pub parameters: Vec<(String, String)>,
    /// Initial window of its routes, segments; 0: the kernel's.
    pub init_cwnd: u32,
    /// Smallest retransmission timeout of its routes, ms; 0: the kernel's.
    pub rto_min_ms: u32,
    /// Its routes have the `quickack` metric.
    pub quickack: bool,
    /// Largest packet, bytes.
    pub mtu: u32,
}

impl Host {
    /// Kernel settings of a transport.
    pub fn of(transport: &Transport) -> Host {
        let s = settings(transport);
        let below = |key: &str| key.strip_prefix(IPV4).unwrap_or(key).to_owned();
        Host {
            parameters: s.sysctls.iter().map(|(key, value)| (below(key), value.clone())).collect(),
            init_cwnd: s.init_cwnd,
            rto_min_ms: s.rto_min_ms,
            quickack: s.quickack,
            mtu: s.mtu,
        }
    }
}

/// Settings of a transport that no kernel supports, as messages.
pub fn refused(transport: &Transport) -> Vec<String> {
    let group = Group { name: String::new(), tcp: transport.clone() };
    stack::refused(&group).into_iter().map(|u| format!("`{}` ({})", u.key, u.reason)).collect()
}

/// A packet as the guest sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Time, ps.
    pub time: u64,
    /// Bytes from the IP header on.
    pub length: u32,
    /// The first of them.
    pub head: Vec<u8>,
}

/// A guest that runs a script.
#[derive(Debug)]
pub struct Session {
    guest: Guest,
    frames: Frames,
    now: u64,
    sent: Vec<Packet>,
    answers: Vec<Answer>,
    said: String,
}

impl Session {
    /// Starts the kernel.
    ///
    /// # Errors
    /// There is no kernel, or it does not start.
    pub fn start(host: &Host) -> Result<Session, String> {
        let kernel = kernel::find()?;
        let start = Guest::start(&kernel.program, Options { memory_mib: MEMORY_MIB, seed: 1 });
        let guest = start.map_err(|e| format!("`{}` does not start: {e}", kernel.program.display()))?;
        let mut session =
            Session { guest, frames: Frames::default(), now: 0, sent: Vec::new(), answers: Vec::new(), said: String::new() };
        session.set_up(host);
        session.until_asked()?;
        Ok(session)
    }

    fn set_up(&mut self, host: &Host) {
        let f = &mut self.frames;
        f.put(protocol::World {
            protocol: protocol::PROTOCOL,
            nodes: 1,
            ports: 0,
            interfaces: 1,
            groups: 1,
            profiles: 1,
            ties: 0,
            ties_shift: 0,
            records: number::SCRIPT,
            seed: 0,
            flowlet_gap: NEVER,
            flowlet_random: [0; 4],
        });
        f.put(protocol::Profile {
            init_cwnd: host.init_cwnd,
            init_rwnd: 0,
            rto_min_ms: host.rto_min_ms,
            quickack: host.quickack.into(),
            burst: 0,
            hold_ns: 0,
        });
        for (key, value) in &host.parameters {
            f.put(protocol::Sysctl { profile: 0, key: text(&format!("{IPV4}{key}")), value: text(value) });
        }
        // No connection of a scenario is opened; the guest expects one transport at least.
        f.put(protocol::Group {
            cc: text("reno"),
            profile: 0,
            flags: 0,
            rcvbuf: 0,
            sndbuf: 0,
            max_pacing_rate: 0,
            header: 0,
            ack_size: 0,
            send_jitter: 0,
            param: [0; protocol::PARAMS],
            tag: [0; protocol::TAGS],
            shim: [0; protocol::SHIM],
        });
        f.put(protocol::Interface { node: 0, profile: 0, address: HOST, mtu: host.mtu });
        f.put_bare(protocol::SETUP_END);
    }

    /// The time, ps since the start.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Packets that have left since the last time.
    pub fn sent(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.sent)
    }

    /// Lets time pass until something happens, and at most until `until`, ps.
    ///
    /// # Errors
    /// The guest fails; in words.
    pub fn pass(&mut self, until: u64) -> Result<(), String> {
        self.frames.put(Next { wake: until, quit: 0, pad: 0 });
        self.until_asked()
    }

    /// A packet with these first bytes, `length` in all, arrives now.
    ///
    /// # Errors
    /// The guest fails; in words.
    ///
    /// # Panics
    /// Panics if there are more first bytes than the conversation carries.
    pub fn inject(&mut self, head: &[u8], length: u32) -> Result<(), String> {
        let mut bytes = [0; HEAD];
        bytes[..head.len()].copy_from_slice(head);
        self.frames.put(Inject { length, head: head.len() as u32, bytes });
        self.settle()
    }

    /// Makes a call, and returns what it returned (or the negative error number), and what it gave.
    ///
    /// # Errors
    /// The guest fails; in words.
    pub fn call(&mut self, made: &Called<'_>) -> Result<(i64, Vec<u8>), String> {
        let (kind, socket, number, word) = match *made {
            Called::Socket(s) => (call::SOCKET, s, [0; 3], ""),
            Called::Listen(s, port) => (call::LISTEN, s, [port.into(), 0, 0], ""),
            Called::Connect(s, port) => (call::CONNECT, s, [PEER.into(), port.into(), 0], ""),
            Called::Accept(s, new) => (call::ACCEPT, s, [new.into(), 0, 0], ""),
            Called::Send(s, bytes) => (call::SEND, s, [bytes, 0, 0], ""),
            Called::Receive(s, bytes) => (call::RECEIVE, s, [bytes, 0, 0], ""),
            Called::Shutdown(s, how) => (call::SHUTDOWN, s, [how.into(), 0, 0], ""),
            Called::Close(s) => (call::CLOSE, s, [0; 3], ""),
            Called::Set(s, level, name, value) => (call::SET, s, [level.into(), name.into(), value.cast_unsigned()], ""),
            Called::SetText(s, level, name, value) => (call::SET, s, [level.into(), name.into(), 0], value),
            Called::Get(s, level, name, size) => (call::GET, s, [level.into(), name.into(), size.into()], ""),
        };
        if word.len() >= 32 {
            return Err(format!("`{word}` is longer than a name can be"));
        }
        self.frames.put(Call { call: kind, socket, number, text: text(word) });
        self.settle()?;
        let answer = self.answers.pop().ok_or("the guest did not answer a call")?;
        Ok((answer.value.cast_signed(), answer.bytes.to_vec()))
    }

    /// Makes the guest execute the commands that were sent, at the current instant.
    fn settle(&mut self) -> Result<(), String> {
        self.pass(NEVER)
    }

    /// Sends the pending frames and reads until the next request of the guest.
    fn until_asked(&mut self) -> Result<(), String> {
        let broken = |e: std::io::Error| format!("lost the connection to the guest: {e}");
        self.guest.link.send(&mut self.frames).map_err(broken)?;
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            match self.guest.link.next(LOOK).map_err(broken)? {
                Incoming::Silence => {}
                Incoming::End => {
                    let console = self.guest.console();
                    return Err(format!("the guest ended; its log: {}{console}", self.said));
                }
                Incoming::Frame(frame) => match frame.kind() {
                    LOG => self.said.push_str(&frame.text()),
                    Hello::KIND => {
                        let known = frame
                            .only::<Hello>()
                            .is_some_and(|h| (h.protocol, h.record_sizes) == (protocol::PROTOCOL, protocol::RECORD_SIZES));
                        if !known {
                            return Err("the kernel was built by another version of this program: build it again".into());
                        }
                    }
                    Sent::KIND => {
                        let packet =
                            |s: Sent| Packet { time: s.time, length: s.length, head: s.bytes[..s.head as usize].to_vec() };
                        self.sent.extend(frame.records().map(packet));
                    }
                    Answer::KIND => self.answers.extend(frame.records::<Answer>()),
                    Ask::KIND => {
                        self.now = frame.only::<Ask>().map_or(self.now, |a| a.now);
                        return Ok(());
                    }
                    _ => {}
                },
            }
        }
        Err(format!("no message from the guest for {} s", PATIENCE.as_secs()))
    }
}

/// A call of the application, on sockets by number.
#[derive(Debug, Clone, Copy)]
pub enum Called<'a> {
    /// Makes a TCP socket.
    Socket(u32),
    /// Binds to a port and listens.
    Listen(u32, u16),
    /// Connects to a port of [`PEER`].
    Connect(u32, u16),
    /// Accepts; the second is the new socket's number.
    Accept(u32, u32),
    /// Sends so many bytes.
    Send(u32, u64),
    /// Receives at most so many.
    Receive(u32, u64),
    /// `SHUT_RD` 0, `SHUT_WR` 1, `SHUT_RDWR` 2.
    Shutdown(u32, u32),
    /// Closes.
    Close(u32),
    /// Sets an option of a level to a number.
    Set(u32, u32, u32, i64),
    /// A text value.
    SetText(u32, u32, u32, &'a str),
    /// Gets an option of a level, of at most so many bytes.
    Get(u32, u32, u32, u32),
}
