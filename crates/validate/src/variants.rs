//! Variants of a script: the option line `--variants=plain,cubic,nosack,ts,nosack-ts` runs the same exchange with other TCP options.

use crate::script::Problem;
use std::borrow::Cow;

/// Start of the option.
const OPTION: &str = " --variants=";
/// Timestamp clocks at the start of a script, ms: the peer's, and the endpoint's.
const CLOCKS: (i64, i64) = (1000, 100);
/// Bytes of the timestamp option with its padding: the peer's segments become no smaller.
const TIMESTAMP_OPTION: u16 = 12;

/// The script's variants, each with its name and its text; without the option only `plain`, the text itself.
pub(crate) fn variants(text: &str) -> Result<Vec<(String, String)>, Problem> {
    let found = text.lines().enumerate().find_map(|(i, line)| Some((i + 1, line.split_once(OPTION)?.1)));
    let Some((line, names)) = found else { return Ok(vec![("plain".into(), text.to_owned())]) };
    let plain = text.replacen(&format!("{OPTION}{names}"), "", 1);
    let variant = |name: &str| {
        let apply = |text: String, part: &str| match part {
            "plain" => Ok(text),
            "cubic" => Ok(text.replace("congestion_control=reno", "congestion_control=cubic")),
            "nosack" => Ok(per_line(&text, |line| without_sack(line).into())),
            "ts" => Ok(with_timestamps(&text)),
            _ => Err(Problem::new(line, format!("--variants: `{part}` is none of plain, cubic, nosack, ts"))),
        };
        Ok((name.to_owned(), name.split('-').try_fold(plain.clone(), apply)?))
    };
    names.split(',').map(|name| variant(name.trim())).collect()
}

fn per_line<'a>(text: &'a str, change: impl FnMut(&'a str) -> Cow<'a, str>) -> String {
    text.split_inclusive('\n').map(change).collect()
}

/// The line with neither the SACK-permitted option nor SACK blocks.
fn without_sack(line: &str) -> String {
    let line = line.replace("sackOK,", "");
    match line.split_once(" <sack ") {
        Some((before, blocks)) => before.to_owned() + blocks.split_once('>').map_or("", |(_, after)| after),
        None => line,
    }
}

/// The script with timestamps in the packets of the peer and in both SYNs. The peer echoes the endpoint's clock at its own time of sending.
fn with_timestamps(text: &str) -> String {
    let mut now = 0;
    per_line(text, |line| {
        let (packet, end) = line.strip_suffix('\n').map_or((line, ""), |packet| (packet, "\n"));
        stamped(packet, &mut now).map_or(line.into(), |packet| (packet + end).into())
    })
}

/// The packet with its timestamps; `None` for other lines, and for packets with unchanged options. Sets the time of its event in ms.
fn stamped(line: &str, now: &mut i64) -> Option<String> {
    let mut words = line.split_whitespace().filter(|word| !word.starts_with('['));
    let time = words.next()?;
    let seconds: f64 = time.trim_start_matches('+').parse().ok()?;
    *now = if time.starts_with('+') { *now } else { 0 } + (seconds * 1e3).round() as i64;
    let inbound = match words.next()? {
        "<" => true,
        ">" => false,
        _ => return None,
    };
    let (peer, own) = (CLOCKS.0 + *now, CLOCKS.1);
    let flags = words.next()?;
    let (value, echo) = match (inbound, flags.contains('S'), flags.contains('.')) {
        (true, true, false) => (peer, 0),
        (true, true, true) => (peer, own),
        (true, false, _) => (peer, *now),
        (false, true, false) => (own, 0),
        (false, true, true) => (own, CLOCKS.0),
        (false, false, _) => return None,
    };
    let stamp = format!("TS val {value} ecr {echo}");
    Some(if flags.contains('S') {
        let (mss, rest) = line.split_once("mss ")?.1.split_once(',')?;
        let larger = if inbound { mss.parse::<u16>().ok()? + TIMESTAMP_OPTION } else { mss.parse().ok()? };
        let (sack, rest) = rest.strip_prefix("sackOK,").map_or(("", rest), |rest| ("sackOK,", rest));
        format!("{}mss {larger},{sack}{stamp},{rest}", line.split_once("mss ")?.0)
    } else if line.ends_with('>') {
        // The first `<` is the direction.
        let (packet, options) = line.rsplit_once('<')?;
        format!("{packet}<nop,nop,{stamp},{options}")
    } else {
        format!("{line} <nop,nop,{stamp}>")
    })
}

#[cfg(test)]
mod tests {
    use super::variants;

    const SCRIPT: &str = "// SYN --variants\n--stack=linux --variants=plain,cubic,nosack-ts,ts\n\
        `sysctl -q net.ipv4.tcp_congestion_control=reno`\n+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,wscale 7>\n\
        +0 > S. 0:0(0) ack 1 <mss 1460,sackOK,nop,wscale 7>\n+.1 < . 1:1(0) ack 1 win 30000\n\
        1.001000 < [ce] . 1:1(0) ack 1 win 30000 <sack 1001:2001,nop,nop>\n";

    #[test]
    fn options_of_variants() {
        let all = variants(SCRIPT).unwrap();
        let names: Vec<&str> = all.iter().map(|v| v.0.as_str()).collect();
        assert_eq!(names, ["plain", "cubic", "nosack-ts", "ts"]);
        let plain = SCRIPT.replace(" --variants=plain,cubic,nosack-ts,ts", "");
        assert_eq!(all[0].1, plain);
        assert_eq!(all[1].1, plain.replace("=reno", "=cubic"));
        let lines: Vec<&str> = all[2].1.lines().skip(3).collect();
        assert_eq!(
            lines,
            [
                "+0 < S 0:0(0) win 65535 <mss 1012,TS val 1000 ecr 0,nop,wscale 7>",
                "+0 > S. 0:0(0) ack 1 <mss 1460,TS val 100 ecr 1000,nop,wscale 7>",
                "+.1 < . 1:1(0) ack 1 win 30000 <nop,nop,TS val 1100 ecr 100>",
                "1.001000 < [ce] . 1:1(0) ack 1 win 30000 <nop,nop,TS val 2001 ecr 1001>",
            ]
        );
        assert!(all[3].1.ends_with("<nop,nop,TS val 2001 ecr 1001,sack 1001:2001,nop,nop>\n"), "{}", all[3].1);
        assert!(all[3].1.contains("mss 1460,sackOK,TS val 100 ecr 1000,nop"), "{}", all[3].1);
        assert_eq!(variants("+0 < . 1:1(0)").unwrap(), [("plain".to_owned(), "+0 < . 1:1(0)".to_owned())]);
        let problem = variants("--stack=linux --variants=plain,fast").unwrap_err();
        assert!(problem.line == 1 && problem.message.contains("`fast`"));
    }
}
