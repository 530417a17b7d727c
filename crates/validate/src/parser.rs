//! Grammar of the script language (packetdrill's, by its manual), limited to TCP segments and socket calls.

use crate::lexer::{Token, tokens};
use crate::script::{Action, Arg, Call, Counter, EcnField, Event, Options, Problem, Script, Segment, Setting, When, flag};

/// The script that `text` is.
pub(crate) fn parse(text: &str) -> Result<Script, Problem> {
    let tokens = tokens(text)?;
    let mut p = Parser { tokens: &tokens, at: 0, total: 0 };
    let mut script = Script::default();
    while let Some((line, token)) = p.tokens.get(p.at) {
        match token {
            Token::Option(name, value) => {
                script.settings.push(Setting { line: *line, name: name.clone(), value: value.clone() });
                p.at += 1;
            }
            Token::Command(text) => {
                let action = Action::Command(text.clone());
                script.events.push(Event { line: *line, when: When::Relative(0, 0), action });
                p.at += 1;
            }
            _ => script.events.push(p.event()?),
        }
    }
    // Commands set parameters. Without other events nothing is checked, and every endpoint would pass.
    if script.events.iter().all(|event| matches!(event.action, Action::Command(_))) {
        let line = text.lines().count().max(1);
        return Err(Problem::new(
            line,
            "the script has no packet, call or code, so that it checks nothing; add one, such as a call",
        ));
    }
    Ok(script)
}

/// Largest sum of the times of a script, ns: 64 bits of picoseconds hold it.
const LONGEST: i64 = 10_000_000 * 1_000_000_000;

struct Parser<'a> {
    tokens: &'a [(usize, Token)],
    at: usize,
    /// Sum of the times so far, ns.
    total: i64,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.1)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.0)
    }

    fn is_mark(&self, mark: char) -> bool {
        self.peek() == Some(&Token::Mark(mark))
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(w)) if w == word)
    }

    fn take_mark(&mut self, mark: char) -> bool {
        let found = self.is_mark(mark);
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect_mark(&mut self, mark: char) -> Result<(), Problem> {
        if self.take_mark(mark) { Ok(()) } else { Err(self.wrong(&format!("`{mark}`"))) }
    }

    fn wrong(&self, expected: &str) -> Problem {
        let found = match self.peek() {
            None => "the end of the file".into(),
            Some(Token::Word(w)) => format!("`{w}`"),
            Some(Token::Int(i)) => format!("`{i}`"),
            Some(Token::Mark(m)) => format!("`{m}`"),
            Some(other) => format!("{other:?}"),
        };
        Problem::new(self.line(), format!("expected {expected}, found {found}"))
    }

    fn int(&mut self, what: &str) -> Result<i64, Problem> {
        match self.peek() {
            Some(&Token::Int(value)) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.wrong(what)),
        }
    }

    fn number<T: TryFrom<i64>>(&mut self, what: &str) -> Result<T, Problem> {
        let line = self.line();
        let value = self.int(what)?;
        T::try_from(value).map_err(|_| Problem::new(line, format!("{what} of {value} is out of range")))
    }

    fn event(&mut self) -> Result<Event, Problem> {
        let when = self.when()?;
        let line = self.line();
        let action = match self.peek() {
            Some(Token::Mark(m @ ('<' | '>'))) => {
                let inbound = *m == '<';
                self.at += 1;
                let segment = self.segment()?;
                if inbound { Action::In(segment) } else { Action::Out(segment) }
            }
            Some(Token::Code(text)) => {
                let text = text.clone();
                self.at += 1;
                Action::Code(text)
            }
            Some(Token::Command(text)) => {
                let text = text.clone();
                self.at += 1;
                Action::Command(text)
            }
            Some(Token::Word(_) | Token::Ellipsis) => Action::Call(self.call()?),
            _ => return Err(self.wrong("a packet, a call, code or a command")),
        };
        Ok(Event { line, when, action })
    }

    /// The time before an event; none is the time of the event before.
    fn when(&mut self) -> Result<When, Problem> {
        if self.take_mark('*') {
            return Ok(When::Any);
        }
        let relative = self.take_mark('+');
        let from = match self.peek() {
            Some(Token::Int(_) | Token::Decimal(_)) => self.seconds()?,
            _ if relative => return Err(self.wrong("a time")),
            _ => return Ok(When::Relative(0, 0)),
        };
        let to = if self.take_mark('~') {
            self.take_mark('+');
            self.seconds()?
        } else {
            from
        };
        Ok(if relative { When::Relative(from, to) } else { When::Absolute(from, to) })
    }

    fn seconds(&mut self) -> Result<i64, Problem> {
        let value = match self.peek() {
            Some(&Token::Int(s)) => s.checked_mul(1_000_000_000),
            Some(&Token::Decimal(ns)) => Some(ns),
            _ => return Err(self.wrong("a time in seconds")),
        };
        let total = value.and_then(i64::checked_abs).and_then(|ns| self.total.checked_add(ns)).filter(|ns| *ns <= LONGEST);
        let (Some(value), Some(total)) = (value, total) else {
            return Err(Problem::new(self.line(), "the times of the script add up to more than 10000000 s"));
        };
        self.total = total;
        self.at += 1;
        Ok(value)
    }

    fn segment(&mut self) -> Result<Segment, Problem> {
        let ecn = self.ecn_field()?;
        let flags = self.flags()?;
        let line = self.line();
        let seq = self.number("a sequence number")?;
        self.expect_mark(':')?;
        let end: u32 = self.number("a sequence number")?;
        self.expect_mark('(')?;
        let len: u32 = self.number("a payload length")?;
        self.expect_mark(')')?;
        if u32::wrapping_add(seq, len) != end {
            return Err(Problem::new(line, format!("{seq}:{end} is not {len} bytes")));
        }
        let ack = if self.take_word("ack") { self.number("an acknowledgment number")? } else { 0 };
        let win = if self.take_word("win") { Some(self.number("a window")?) } else { None };
        let options = if self.is_mark('<') { self.options()? } else { Some(Options::default()) };
        Ok(Segment { ecn, flags, seq, len, ack, win, options })
    }

    fn ecn_field(&mut self) -> Result<Option<EcnField>, Problem> {
        let close = match self.peek() {
            Some(Token::Mark('[')) => ']',
            Some(Token::Mark('(')) => ')',
            _ => return Ok(None),
        };
        self.at += 1;
        let field = match self.peek() {
            Some(Token::Word(w)) => match w.as_str() {
                "noecn" => EcnField::NotEct,
                "ect0" => EcnField::Ect0,
                "ect1" => EcnField::Ect1,
                "ect01" => EcnField::Ect,
                "ce" => EcnField::Ce,
                _ => return Err(self.wrong("noecn, ect0, ect1, ect01 or ce")),
            },
            _ => return Err(self.wrong("noecn, ect0, ect1, ect01 or ce")),
        };
        self.at += 1;
        self.expect_mark(close)?;
        Ok(Some(field))
    }

    fn flags(&mut self) -> Result<u16, Problem> {
        let mut flags = 0;
        if self.take_mark('-') {
            return Ok(0);
        }
        if let Some(Token::Word(w)) = self.peek() {
            for c in w.chars() {
                flags |= match c {
                    'F' => flag::FIN,
                    'S' => flag::SYN,
                    'R' => flag::RST,
                    'P' => flag::PSH,
                    'U' => flag::URG,
                    'E' => flag::ECE,
                    'W' => flag::CWR,
                    'A' => flag::AE,
                    _ => return Err(self.wrong("TCP flags out of F S R P . U E W A")),
                };
            }
            self.at += 1;
        }
        if self.take_mark('.') {
            flags |= flag::ACK;
        }
        if flags == 0 { Err(self.wrong("TCP flags")) } else { Ok(flags) }
    }

    fn options(&mut self) -> Result<Option<Options>, Problem> {
        self.expect_mark('<')?;
        if self.peek() == Some(&Token::Ellipsis) {
            self.at += 1;
            self.expect_mark('>')?;
            return Ok(None);
        }
        let mut o = Options::default();
        loop {
            if self.take_word("mss") {
                o.mss = Some(self.number("an MSS")?);
            } else if self.take_word("wscale") {
                o.wscale = Some(self.number("a window scale")?);
            } else if self.take_word("sackOK") {
                o.sack_ok = true;
            } else if self.take_word("TS") {
                let val = if self.take_word("val") { self.number("a timestamp")? } else { return Err(self.wrong("`val`")) };
                let ecr = if self.take_word("ecr") { self.number("a timestamp")? } else { return Err(self.wrong("`ecr`")) };
                o.ts = Some((val, ecr));
            } else if self.take_word("sack") {
                while let Some(Token::Int(_)) = self.peek() {
                    let start = self.number("a sequence number")?;
                    self.expect_mark(':')?;
                    o.sack.push((start, self.number("a sequence number")?));
                }
            } else if self.take_word("ECN") {
                o.accecn = self.accecn_fields()?;
            } else if !self.take_word("nop") && !self.take_word("eol") {
                return Err(self.wrong("an option: mss, wscale, sackOK, sack, TS, ECN, nop or eol"));
            }
            if !self.take_mark(',') {
                break;
            }
        }
        self.expect_mark('>')?;
        Ok(Some(o))
    }

    /// Fields of an AccECN option, in one of its two orders. Fields may be missing at the end (RFC 9768 section 3.2.3).
    fn accecn_fields(&mut self) -> Result<Vec<(Counter, u32)>, Problem> {
        let mut fields = Vec::new();
        while let Some(counter) = Counter::ALL.into_iter().find(|counter| self.take_word(counter.name())) {
            fields.push((counter, self.number("a byte counter")?));
        }
        let order: Vec<Counter> = fields.iter().map(|f| f.0).collect();
        let backwards = Counter::ALL.iter().rev().copied();
        if Counter::ALL.starts_with(&order) || backwards.take(order.len()).eq(order) {
            Ok(fields)
        } else {
            Err(self.wrong("counters in the order e0b ceb e1b, or e1b ceb e0b"))
        }
    }

    fn call(&mut self) -> Result<Call, Problem> {
        let until = if self.peek() == Some(&Token::Ellipsis) {
            self.at += 1;
            Some(self.when()?)
        } else {
            None
        };
        let Some(Token::Word(name)) = self.peek() else { return Err(self.wrong("the name of a call")) };
        let name = name.clone();
        self.at += 1;
        self.expect_mark('(')?;
        let args = self.arguments(')')?;
        self.expect_mark('=')?;
        let result = self.argument()?;
        let mut errno = None;
        if result == Arg::Int(-1)
            && let Some(Token::Word(w)) = self.peek()
        {
            errno = Some(w.clone());
            self.at += 1;
        }
        // A remark in parentheses, which may contain anything.
        if self.take_mark('(') {
            while !self.take_mark(')') {
                if self.peek().is_none() {
                    return Err(self.wrong("`)`"));
                }
                self.at += 1;
            }
        }
        Ok(Call { until, name, args, result, errno })
    }

    fn arguments(&mut self, close: char) -> Result<Vec<Arg>, Problem> {
        let mut args = Vec::new();
        if self.take_mark(close) {
            return Ok(args);
        }
        loop {
            args.push(self.argument()?);
            if !self.take_mark(',') {
                break;
            }
        }
        self.expect_mark(close)?;
        Ok(args)
    }

    fn argument(&mut self) -> Result<Arg, Problem> {
        let arg = match self.peek() {
            Some(Token::Ellipsis) => Arg::Any,
            Some(&Token::Int(i)) => Arg::Int(i),
            Some(Token::Text(t)) => Arg::Text(t.clone()),
            Some(Token::Word(w)) => Arg::Word(w.clone()),
            Some(Token::Mark('[')) => {
                self.at += 1;
                return Ok(Arg::List(self.arguments(']')?));
            }
            Some(Token::Mark('{')) => {
                while !self.take_mark('}') {
                    if self.peek().is_none() {
                        return Err(self.wrong("`}`"));
                    }
                    self.at += 1;
                }
                return Ok(Arg::Struct);
            }
            _ => return Err(self.wrong("an argument")),
        };
        self.at += 1;
        let mut joined = arg;
        while self.take_mark('|') {
            let Some(Token::Word(next)) = self.peek() else { return Err(self.wrong("a name")) };
            if let Arg::Word(w) = &mut joined {
                *w += &format!("|{next}");
            }
            self.at += 1;
        }
        Ok(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_short_script() {
        let script = parse(
            "--tolerance_usecs=500\n`true`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
             +.1 < [ce] SEW 0:0(0) win 100 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n* > S. 0:0(0) ack 1 <...>\n\
             +0~+.2 > . 1:11(10) ack 1 <nop,nop,TS val 5 ecr 6,nop,nop,sack 1:2 3:4>\n+0...0.5 read(3, ..., 10) = -1 EAGAIN (no data)\n\
             %{ assert 1 }%",
        )
        .unwrap();
        assert_eq!(script.settings[0].value, "500");
        assert_eq!(script.events.len(), 7);
        let Action::In(syn) = &script.events[2].action else { panic!() };
        assert_eq!((syn.ecn, syn.flags, syn.win), (Some(EcnField::Ce), flag::SYN | flag::ECE | flag::CWR, Some(100)));
        assert_eq!(syn.options.as_ref().unwrap().wscale, Some(7));
        assert_eq!(script.events[3].when, When::Any);
        let Action::Out(data) = &script.events[4].action else { panic!() };
        assert_eq!(data.options.as_ref().unwrap().sack, [(1, 2), (3, 4)]);
        assert_eq!(script.events[4].when, When::Relative(0, 200_000_000));
        let Action::Call(read) = &script.events[5].action else { panic!() };
        assert_eq!((read.until, read.errno.as_deref()), (Some(When::Absolute(500_000_000, 500_000_000)), Some("EAGAIN")));
    }

    #[test]
    fn errors_have_lines() {
        assert_eq!(parse("\n+0 > . 1:5(3) ack 1").unwrap_err(), Problem::new(2, "1:5 is not 3 bytes"));
        assert_eq!(parse("+0 > X 1:1(0)").unwrap_err().line, 1);
    }

    #[test]
    fn scripts_without_events_are_refused() {
        for (text, line) in [("", 1), ("// a\n\n/* b */\n", 3), ("--tolerance_usecs=500\n", 1), ("`true`\n// end\n", 2)] {
            let problem = parse(text).unwrap_err();
            assert!(problem.line == line && problem.message.contains("has no packet, call or code"), "{text:?}: {problem:?}");
        }
    }

    /// Simulated time has 64 bits of picoseconds.
    #[test]
    fn times_are_limited() {
        let long = "the times of the script add up to more than 10000000 s";
        for time in ["+333333333333330", "9223372036854775807", "+0~+99999999999", "-10000001", "10000000.000000001"] {
            let script = format!("+1 close(3) = 0\n{time} close(3) = 0");
            assert_eq!(parse(&script).unwrap_err(), Problem::new(2, long), "{time}");
        }
        assert_eq!(parse("+9300000000.5 close(3) = 0").unwrap_err(), Problem::new(1, "`9300000000` is not a number"));
        assert!(parse("9999999 close(3) = 0\n+1 close(4) = 0").is_ok());
        assert_eq!(parse("9999999 close(3) = 0\n+.5 close(3) = 0\n+.500000001 close(4) = 0").unwrap_err().line, 3);
    }

    #[test]
    fn parses_accurate_ecn() {
        let script = parse("+0 < SEWA 0:0(0) win 1\n+0 > WA. 1:1(0) ack 1 <ECN e1b 1 ceb 20,nop>").unwrap();
        let Action::In(syn) = &script.events[0].action else { panic!() };
        assert_eq!((flag::ace(syn.flags), flag::letters(syn.flags)), (0b111, "SEWA".into()));
        let Action::Out(ack) = &script.events[1].action else { panic!() };
        assert_eq!((flag::ace(ack.flags), flag::of_ace(0b110)), (0b110, ack.flags & !flag::ACK));
        assert_eq!(ack.options.as_ref().unwrap().accecn, [(Counter::E1b, 1), (Counter::Ceb, 20)]);
        assert!(parse("+0 > . 1:1(0) ack 1 <ECN ceb 1 e0b 2>").is_err());
    }
}
