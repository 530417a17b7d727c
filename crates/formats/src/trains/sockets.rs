//! Snapshots of sockets, as `ss -tinmHO` of iproute2 prints them: one line per socket, or two without `-O`.
//!
//! A snapshot has no times of messages. It gives the data and the RTT of each connection, and what limits its sender. Of several snapshots of a connection,
//! the one with the most data counts.

use crate::trains::Error;
use crate::trains::packet::Endpoint;
use crate::trains::records::{Line, Lines, MAX_COUNT};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::IpAddr;

/// First words of the lines about TCP sockets.
const STATES: [&str; 12] = [
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "UNCONN",
    "State",
];
/// States of sockets without a peer that sends data.
const WITHOUT_PEER: [&str; 3] = ["LISTEN", "UNCONN", "State"];
/// Words that are no congestion control.
const FLAGS: [&str; 8] = ["ts", "sack", "ecn", "ecnseen", "fastopen", "app_limited", "busy", "send"];
/// Keys whose value follows after a blank.
const SPACED: [&str; 3] = ["send", "pacing_rate", "delivery_rate"];

/// Own end of a socket, and its peer.
type Ends = (Endpoint, Endpoint);

/// A socket.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Socket {
    /// Congestion control; empty if it is not printed.
    pub cc: String,
    /// Bytes that the peer has acknowledged. The kernel counts the SYN, which is subtracted.
    pub acked: u64,
    /// Bytes received in order.
    pub received: u64,
    /// Segments with data that were sent, retransmissions included.
    pub data_segments: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Smoothed RTT, ns.
    pub rtt_ns: Option<u64>,
    /// Smallest RTT, ns.
    pub min_rtt_ns: Option<u64>,
    /// Time in which the receive window of the peer limited the sender, ms.
    pub rwnd_limited_ms: u64,
    /// Time in which the send buffer limited the sender, ms.
    pub sndbuf_limited_ms: u64,
    /// The sender waits for the application.
    pub app_limited: bool,
    /// The connection uses ECN.
    pub ecn: bool,
}

/// A file of snapshots.
#[derive(Debug)]
pub struct Sockets {
    name: String,
    lines: Lines,
}

impl Sockets {
    /// The snapshots in `source`, if `begin`, its first bytes, are those of one.
    pub(crate) fn recognise(name: &str, begin: &[u8], source: Box<dyn Read>) -> Result<Sockets, Box<dyn Read>> {
        let text = String::from_utf8_lossy(begin);
        let first = text.split_whitespace().next().unwrap_or_default();
        if !STATES.contains(&first) {
            return Err(source);
        }
        Ok(Sockets { name: name.to_owned(), lines: Lines::new(source) })
    }

    /// Reads all sockets, by their own end and their peer, into `all`.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not about a socket.
    pub(crate) fn read(&mut self, all: &mut BTreeMap<Ends, Socket>) -> Result<(), Error> {
        let mut open: Option<(Ends, Socket)> = None;
        loop {
            let line = self.lines.next().map_err(|e| self.error(e))?;
            let Some(Line { text, is_complete }) = line else { break };
            if text.starts_with(char::is_whitespace) {
                // The second line of a socket.
                if let Some((_, socket)) = &mut open {
                    socket.fill(text.split_whitespace());
                }
                continue;
            }
            open.take().into_iter().for_each(|found| add(all, found));
            let words: Vec<&str> = text.split_whitespace().collect();
            match first_line(&words) {
                Ok(found) => open = found,
                Err(_) if !is_complete => break,
                Err(damage) => return Err(self.error(damage)),
            }
        }
        open.into_iter().for_each(|found| add(all, found));
        Ok(())
    }

    fn error(&self, message: String) -> Error {
        Error::line(&self.name, self.lines.number(), message)
    }

    /// Bytes read.
    pub fn offset(&self) -> u64 {
        self.lines.offset()
    }
}

/// Keeps the snapshot of a connection with the most data.
fn add(all: &mut BTreeMap<Ends, Socket>, (ends, socket): (Ends, Socket)) {
    let kept = all.entry(ends).or_default();
    if socket.acked + socket.received >= kept.acked + kept.received {
        *kept = socket;
    }
}

/// The endpoints of the socket of a line, and its fields in that line; `None` for a socket without a peer.
fn first_line(words: &[&str]) -> Result<Option<(Ends, Socket)>, String> {
    let Some((state, rest)) = words.split_first() else { return Ok(None) };
    if !STATES.contains(state) {
        return Err(format!("begins with `{}`; legal: the state of a TCP socket, as `ss -tinmHO` prints it", short(state)));
    }
    if WITHOUT_PEER.contains(state) {
        return Ok(None);
    }
    let [_, _, own, peer, rest @ ..] = rest else {
        return Err("ends before the address of the peer; legal: the output of `ss -tinmHO`".into());
    };
    let mut socket = Socket::default();
    socket.fill(rest.iter().copied());
    Ok(Some(((endpoint(own)?, endpoint(peer)?), socket)))
}

/// The first characters of a word, for messages.
fn short(word: &str) -> String {
    word.chars().take(40).collect()
}

/// An address and a port: `10.0.0.1:80`, `[2001:db8::1]:80`, with `%eth0` behind an address that is bound to an interface.
fn endpoint(word: &str) -> Result<Endpoint, String> {
    let wrong = || format!("the address is `{}`; legal: numeric addresses and ports, as `ss -n` prints them", short(word));
    let (address, port) = word.rsplit_once(':').ok_or_else(wrong)?;
    let address = address.trim_start_matches('[').trim_end_matches(']');
    let address = address.split('%').next().unwrap_or(address).trim_end_matches(']');
    let ip: IpAddr = address.parse().map_err(|_| wrong())?;
    Ok(Endpoint::from((ip, port.parse().map_err(|_| wrong())?)))
}

/// Milliseconds with a fraction, in ns.
fn milliseconds(text: &str) -> Option<u64> {
    let ms: f64 = text.parse().ok()?;
    (0.0..1e9).contains(&ms).then(|| (ms * 1e6).round() as u64)
}

/// The number at the start of a text, such as that of `120ms(4.5%)`; 0 for a number that no socket can have.
fn leading(text: &str) -> u64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|n| *n <= MAX_COUNT).unwrap_or(0)
}

impl Socket {
    /// Takes the fields of the second half of a line.
    fn fill<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        let mut is_value = false;
        for word in words {
            if std::mem::replace(&mut is_value, SPACED.contains(&word)) {
                continue;
            }
            match word.split_once(':') {
                Some((key, value)) => self.field(key, value),
                None if word == "ecn" => self.ecn = true,
                None if word == "app_limited" => self.app_limited = true,
                // The first bare word that is no flag.
                None if self.cc.is_empty() && !FLAGS.contains(&word) && !SPACED.contains(&word) => self.cc = word.to_owned(),
                None => {}
            }
        }
    }

    fn field(&mut self, key: &str, value: &str) {
        match key {
            "bytes_acked" => self.acked = leading(value).saturating_sub(1),
            "bytes_received" => self.received = leading(value),
            "data_segs_out" => self.data_segments = leading(value),
            // Segments in flight, and all of them.
            "retrans" => self.retransmitted = leading(value.rsplit('/').next().unwrap_or("")),
            "rtt" => self.rtt_ns = milliseconds(value.split('/').next().unwrap_or("")),
            "minrtt" => self.min_rtt_ns = milliseconds(value),
            "rwnd_limited" => self.rwnd_limited_ms = leading(value),
            "sndbuf_limited" => self.sndbuf_limited_ms = leading(value),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const SNAPSHOT: &str = "\
ESTAB 0 0 10.0.0.1:5000 10.0.0.2:80 users:((\"curl\",pid=7,fd=3)) skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0) ts sack ecn ecnseen cubic wscale:7,7 rto:204 rtt:0.025/0.009 ato:40 mss:1448 cwnd:10 ssthresh:7 bytes_sent:102896 bytes_retrans:2896 bytes_acked:100001 bytes_received:500 segs_out:80 segs_in:60 data_segs_out:72 data_segs_in:1 send 4633600000bps lastsnd:20 pacing_rate 9267200000bps delivery_rate 1157466664bps busy:120ms rwnd_limited:40ms(33.3%) retrans:0/2 minrtt:0.019
LISTEN 0 128 0.0.0.0:22 0.0.0.0:*
ESTAB 0 0 [2001:db8::1%eth0]:443 [2001:db8::2]:40000 ts sack bbr wscale:7,7 rtt:1.5/0.2 bbr:(bw:1bps,mrtt:1) bytes_acked:1 bytes_received:9000 app_limited
";

    fn read(bytes: &[u8]) -> Result<BTreeMap<Ends, Socket>, String> {
        let source = Box::new(Cursor::new(bytes.to_vec()));
        let Ok(mut file) = Sockets::recognise("test", bytes, source) else { return Err("another form".into()) };
        let mut all = BTreeMap::new();
        file.read(&mut all).map_err(|e| e.to_string())?;
        Ok(all)
    }

    #[test]
    fn fields_by_their_grammar() {
        let all = read(SNAPSHOT.as_bytes()).expect("sockets");
        assert_eq!(all.len(), 2);
        let find = |port| all.iter().find(|(ends, _)| ends.0.port() == port).map(|(_, socket)| socket).expect("a socket");
        let expected = Socket {
            cc: "cubic".into(),
            acked: 100_000,
            received: 500,
            data_segments: 72,
            retransmitted: 2,
            rtt_ns: Some(25_000),
            min_rtt_ns: Some(19_000),
            rwnd_limited_ms: 40,
            ecn: true,
            ..Socket::default()
        };
        assert_eq!(find(5_000), &expected);
        let other = find(443);
        assert_eq!((other.cc.as_str(), other.acked, other.received, other.app_limited), ("bbr", 0, 9_000, true));
    }

    #[test]
    fn two_lines_equal_one() {
        let two = SNAPSHOT.replace(" users:", "\n\t users:").replace(" ts sack bbr", "\n\t ts sack bbr");
        assert_eq!(read(two.as_bytes()), read(SNAPSHOT.as_bytes()));
    }

    #[test]
    fn latest_snapshot_counts() {
        let later = SNAPSHOT.replace("bytes_acked:100001", "bytes_acked:200001");
        let all = read(format!("{SNAPSHOT}{later}{SNAPSHOT}").as_bytes()).expect("sockets");
        assert_eq!(all.values().map(|s| s.acked).max(), Some(200_000));
    }

    #[test]
    fn damage_has_no_panic() {
        for len in 0..SNAPSHOT.len() {
            let _ = read(&SNAPSHOT.as_bytes()[..len]);
        }
        for at in 0..SNAPSHOT.len() {
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut bad = SNAPSHOT.as_bytes().to_vec();
                bad[at] ^= flip;
                let _ = read(&bad);
            }
        }
        let wrong = SNAPSHOT.replace("10.0.0.2:80", "server:http");
        assert!(read(wrong.as_bytes()).unwrap_err().starts_with("`test`, line 1: the address is `server:http`"));
    }
}
