//! Segments as bytes on the wire, and back: IPv4 (RFC 791) and TCP (RFC 9293) headers with the options of the script language.

use crate::script::{EcnField, Options, Segment, flag};

/// Bytes of an IPv4 header without options.
const IP: usize = 20;
/// Bytes of a TCP header without options.
const TCP: usize = 20;
const PROTOCOL_TCP: u8 = 6;

/// Kinds of TCP options (RFC 9293 section 3.1, RFC 7323, RFC 2018).
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const SCALE: u8 = 3;
    pub(super) const SACK_OK: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const STAMPS: u8 = 8;
}

/// Route of a segment: addresses and ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) from: (u32, u16),
    pub(super) to: (u32, u16),
}

/// The headers of `s`, and the length of the whole packet.
pub(super) fn bytes(s: &Segment, route: Route) -> (Vec<u8>, u32) {
    let options = option_bytes(&s.options.clone().unwrap_or_default());
    let headers = IP + TCP + options.len();
    let length = headers as u32 + s.len;
    let mut b = vec![0; IP];
    b[0] = 0x45;
    b[1] = match s.ecn {
        None | Some(EcnField::NotEct) => 0,
        Some(EcnField::Ect1) => 1,
        Some(EcnField::Ect0 | EcnField::Ect) => 2,
        Some(EcnField::Ce) => 3,
    };
    b[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    b[8] = 64;
    b[9] = PROTOCOL_TCP;
    b[12..16].copy_from_slice(&route.from.0.to_be_bytes());
    b[16..20].copy_from_slice(&route.to.0.to_be_bytes());
    b.extend(route.from.1.to_be_bytes());
    b.extend(route.to.1.to_be_bytes());
    b.extend(s.seq.to_be_bytes());
    b.extend(s.ack.to_be_bytes());
    b.push(((TCP + options.len()) as u8 / 4) << 4 | (s.flags >> 8) as u8);
    b.push(s.flags as u8);
    b.extend(s.win.unwrap_or(0).to_be_bytes());
    // The checksum is not verified; there is no urgent data.
    b.extend([0; 4]);
    b.extend(options);
    (b, length)
}

fn option_bytes(o: &Options) -> Vec<u8> {
    let mut b = Vec::new();
    if let Some(mss) = o.mss {
        b.extend([kind::MSS, 4]);
        b.extend(mss.to_be_bytes());
    }
    if o.sack_ok {
        b.extend([kind::SACK_OK, 2]);
    }
    if let Some((value, echo)) = o.ts {
        b.extend([kind::STAMPS, 10]);
        b.extend(value.to_be_bytes());
        b.extend(echo.to_be_bytes());
    }
    if let Some(shift) = o.wscale {
        b.extend([kind::SCALE, 3, shift]);
    }
    if !o.sack.is_empty() {
        b.extend([kind::SACK, 2 + 8 * o.sack.len() as u8]);
        for (begin, end) in &o.sack {
            b.extend(begin.to_be_bytes());
            b.extend(end.to_be_bytes());
        }
    }
    b.resize(b.len().next_multiple_of(4), kind::NOP);
    b
}

/// The segment that begins with `head` and is `length` bytes long, and its route. `None` for anything but a whole TCP header.
pub(super) fn segment(head: &[u8], length: u32) -> Option<(Segment, Route)> {
    let be16 = |at: usize| head.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let be32 = |at: usize| head.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    let ip = usize::from(head.first()? & 15) * 4;
    if *head.get(9)? != PROTOCOL_TCP {
        return None;
    }
    let tcp = usize::from(head.get(ip + 12)? >> 4) * 4;
    let ecn = match head.get(1)? & 3 {
        0 => EcnField::NotEct,
        1 => EcnField::Ect1,
        2 => EcnField::Ect0,
        _ => EcnField::Ce,
    };
    let flags = be16(ip + 12)? & (flag::AE | 255);
    let route = Route { from: (be32(12)?, be16(ip)?), to: (be32(16)?, be16(ip + 2)?) };
    let segment = Segment {
        ecn: Some(ecn),
        flags,
        seq: be32(ip + 4)?,
        len: length.checked_sub((ip + tcp) as u32)?,
        ack: if flags & flag::ACK != 0 { be32(ip + 8)? } else { 0 },
        win: Some(be16(ip + 14)?),
        options: Some(options_of(head.get(ip + TCP..ip + tcp)?)?),
    };
    Some((segment, route))
}

fn options_of(mut b: &[u8]) -> Option<Options> {
    let mut o = Options::default();
    let be32 = |b: &[u8]| u32::from_be_bytes([b[0], b[1], b[2], b[3]]);
    while let Some(&found) = b.first() {
        match found {
            kind::END => break,
            kind::NOP => {
                b = &b[1..];
                continue;
            }
            _ => {}
        }
        let size = usize::from(*b.get(1)?).max(2);
        let value = b.get(2..size)?;
        match (found, value.len()) {
            (kind::MSS, 2) => o.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (kind::SCALE, 1) => o.wscale = Some(value[0]),
            (kind::SACK_OK, 0) => o.sack_ok = true,
            (kind::STAMPS, 8) => o.ts = Some((be32(value), be32(&value[4..]))),
            (kind::SACK, _) => o.sack = value.chunks_exact(8).map(|c| (be32(c), be32(&c[4..]))).collect(),
            _ => {}
        }
        b = &b[size..];
    }
    Some(o)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_roundtrip() {
        let route = Route { from: (1, 2), to: (3, 4) };
        let options = Options {
            mss: Some(1460),
            wscale: Some(7),
            sack_ok: true,
            ts: Some((5, 6)),
            sack: vec![(7, 8), (9, 10)],
            ..Options::default()
        };
        let flags = flag::ACK | flag::ECE | flag::AE;
        let s = Segment { ecn: Some(EcnField::Ce), flags, seq: 11, len: 1000, ack: 12, win: Some(13), options: Some(options) };
        let (head, length) = bytes(&s, route);
        assert_eq!(length as usize, head.len() + 1000);
        assert_eq!(segment(&head, length), Some((s, route)));
        assert_eq!(segment(&head[..30], length), None);
    }
}
