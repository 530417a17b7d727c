//! Number of `send` calls with which an application writes a message.

use std::num::NonZeroU32;

/// Number of `send` calls for a message. They follow each other at one instant, and each but the last has the same number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes(NonZeroU32);

impl Writes {
    /// One call for the whole message.
    pub const ONE: Writes = Writes(NonZeroU32::MIN);

    /// `calls` for each message, at least one.
    pub fn new(calls: u32) -> Writes {
        Writes(NonZeroU32::new(calls).unwrap_or(NonZeroU32::MIN))
    }

    /// Number of calls for a message of sufficient size.
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Bytes of each call but the last for a message of `bytes`: a message of fewer bytes than calls is written byte by byte.
    pub fn part(self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.0.get())).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_message() {
        for (calls, bytes, part) in [(1, 500, 500), (2, 501, 251), (4, 100, 25), (3, 2, 1)] {
            let writes = Writes::new(calls);
            assert_eq!(writes.part(bytes), part);
            assert!(bytes.div_ceil(part) <= u64::from(calls));
        }
    }
}
