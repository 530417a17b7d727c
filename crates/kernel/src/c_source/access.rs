//! Accesses of a function to members of structures.

use super::tokens::Token;
use std::collections::BTreeSet;

/// Operators that assign.
const ASSIGNMENTS: [&str; 11] = ["=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "<<=", ">>=", "%="];

/// Use of a member by a function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Access {
    pub reads: bool,
    pub writes: bool,
}

impl Access {
    pub(super) fn any(self) -> bool {
        self.reads || self.writes
    }

    pub(super) fn join(&mut self, other: Access) {
        self.reads |= other.reads;
        self.writes |= other.writes;
    }
}

/// Words of a function that point to the memory of its congestion control: `struct bictcp *ca = inet_csk_ca(sk)`.
pub(super) fn private_pointers<'a>(body: &[Token<'a>]) -> BTreeSet<&'a str> {
    let mut found: BTreeSet<&str> =
        body.windows(3).filter(|w| w[0].is_word() && w[1].text == "=" && w[2].text == "inet_csk_ca").map(|w| w[0].text).collect();
    // Functions that get the pointer as an argument call it as the others do.
    found.extend(["ca", "bbr", "w", "vegas", "plb"]);
    found
}

/// Use of the member `name` in `body`; it may be one of a nested structure: `rack.rtt_us`. `through`: with true, only accesses whose pointer is in
/// `pointers` count; with false, only the others.
pub(super) fn access(body: &[Token<'_>], name: &str, pointers: &BTreeSet<&str>, through: bool) -> Access {
    let parts: Vec<&str> = name.split('.').collect();
    let mut found = Access::default();
    for at in 1..body.len() {
        if body[at].text != parts[parts.len() - 1] || !is_member(body, at) {
            continue;
        }
        // A pointer may lead to the outer structure: `rack->rtt_us`.
        if parts.len() > 1 && (at < 2 || body[at - 2].text != parts[parts.len() - 2]) {
            continue;
        }
        let begin = begin_of(body, at);
        if pointers.contains(body[begin].text) != through {
            continue;
        }
        let mut end = at + 1;
        if body.get(end).is_some_and(|t| t.text == "[") {
            end = closing(body, end) + 1;
        }
        let after = body.get(end).map_or("", |t| t.text);
        let before = |n: usize| begin.checked_sub(n).map_or("", |i| body[i].text);
        let assigned = ASSIGNMENTS.contains(&after);
        let steps = ["++", "--"].contains(&after) || ["++", "--"].contains(&before(1));
        let word_before = |text: &str| text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') || text == ")";
        let address = before(1) == "&" && !word_before(before(2));
        let stored = before(1) == "(" && before(2) == "WRITE_ONCE";
        found.writes |= assigned || steps || address || stored;
        found.reads |= !(after == "=" || stored) || steps || address;
    }
    found
}

fn is_member(body: &[Token<'_>], at: usize) -> bool {
    at > 0 && ["->", "."].contains(&body[at - 1].text)
}

/// Index of the first token of the expression with the member at `at`: a word, or the call in front of its members.
fn begin_of(body: &[Token<'_>], mut at: usize) -> usize {
    while is_member(body, at) && at >= 2 {
        at -= 2;
        while at > 0 && [")", "]"].contains(&body[at].text) {
            at = opening(body, at);
            if at > 0 && body[at - 1].is_word() {
                at -= 1;
            }
        }
    }
    at
}

fn opening(body: &[Token<'_>], close: usize) -> usize {
    let mut depth = 0usize;
    for i in (0..=close).rev() {
        match body[i].text {
            ")" | "]" => depth += 1,
            "(" | "[" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    0
}

fn closing(body: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (i, token) in body.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    body.len() - 1
}

#[cfg(test)]
mod tests {
    use super::{access, private_pointers};
    use crate::c_source::tokens::tokens;

    fn of(body: &str, name: &str, through: bool) -> (bool, bool) {
        let all = tokens(body);
        let found = access(&all, name, &private_pointers(&all), through);
        (found.reads, found.writes)
    }

    #[test]
    fn reads_and_writes() {
        for (body, expected) in [
            ("x = tp->lost;", (true, false)),
            ("tp->lost = 3;", (false, true)),
            ("tp->lost += n;", (true, true)),
            ("if (tp->lost == 3)", (true, false)),
            ("tp->lost++;", (true, true)),
            ("WRITE_ONCE(tp->lost, 2);", (false, true)),
            ("f(&tcp_sk(sk)->lost);", (true, true)),
            ("x & tp->lost", (true, false)),
            ("tcp_sk(sk)->lost = max(a, b);", (false, true)),
            ("lost = 4; tp->lost_out = 2;", (false, false)),
        ] {
            assert_eq!(of(body, "lost", false), expected, "{body}");
        }
    }

    #[test]
    fn nested_and_private_members() {
        assert_eq!(of("tp->rack.rtt_us = 1;", "rack.rtt_us", false), (false, true));
        assert_eq!(of("tp->rcv_rtt_est.rtt_us = 1;", "rack.rtt_us", false), (false, false));
        let body = "struct bbr *b = inet_csk_ca(sk); b->prior_cwnd = tp->prior_cwnd;";
        assert_eq!(of(body, "prior_cwnd", false), (true, false));
        assert_eq!(of(body, "prior_cwnd", true), (false, true));
    }
}
