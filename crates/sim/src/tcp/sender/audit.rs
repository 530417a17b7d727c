//! A recount of what the sender keeps in counters, for tests.

use super::Sender;

impl Sender {
    /// Counts the scoreboard anew.
    ///
    /// # Panics
    /// When a counter is wrong, or the scoreboard does not cover exactly what is outstanding.
    pub fn audit(&self) {
        let Some(s) = &self.loss.sack else {
            assert!(
                !self.loss.uses_scoreboard() || self.stream.snd_una() == self.stream.snd_nxt(),
                "what is outstanding is in no scoreboard"
            );
            return;
        };
        let mut next = self.stream.snd_una();
        for seg in s.board.iter() {
            assert_eq!(seg.start, next, "the scoreboard has a gap or an overlap");
            next = seg.end();
        }
        assert_eq!(next, self.stream.snd_nxt(), "the scoreboard ends elsewhere than the data sent");
        s.board.audit(s.reordering > 0);
    }
}
