//! The slow start threshold.

use std::cmp::Ordering;

/// The slow start threshold in segments, with fractions; unlimited until it is set (RFC 5681 section 3.1: "arbitrarily high").
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Threshold(f64);

impl Threshold {
    /// Not set.
    pub const UNLIMITED: Threshold = Threshold(f64::INFINITY);

    /// A threshold of `segments`.
    #[inline]
    pub const fn at(segments: f64) -> Threshold {
        Threshold(segments)
    }

    /// The threshold, if it is set.
    #[inline]
    pub fn get(self) -> Option<f64> {
        self.0.is_finite().then_some(self.0)
    }

    /// The threshold; infinite if it is not set.
    #[inline(always)]
    pub const fn or_infinite(self) -> f64 {
        self.0
    }

    /// Returns true if it is not set.
    #[inline]
    pub fn is_unlimited(self) -> bool {
        self.0.is_infinite()
    }

    /// The smaller of `window` and the threshold.
    #[inline(always)]
    pub fn cap(self, window: f64) -> f64 {
        self.0.min(window)
    }

    /// The threshold, lowered to `segments` if it is above.
    #[inline]
    pub fn lowered_to(self, segments: f64) -> Threshold {
        Threshold(self.0.min(segments))
    }

    /// The threshold, raised to `segments` if it is below.
    #[inline]
    pub fn raised_to(self, segments: f64) -> Threshold {
        Threshold(self.0.max(segments))
    }

    /// The threshold in bytes, for segments of `mss`; the largest number if it is not set.
    #[inline]
    pub fn bytes(self, mss: u32) -> u64 {
        (self.0 * f64::from(mss)) as u64
    }
}

impl From<f64> for Threshold {
    #[inline(always)]
    fn from(segments: f64) -> Threshold {
        Threshold(segments)
    }
}

impl PartialEq<f64> for Threshold {
    fn eq(&self, segments: &f64) -> bool {
        self.0 == *segments
    }
}

impl PartialOrd<f64> for Threshold {
    fn partial_cmp(&self, segments: &f64) -> Option<Ordering> {
        self.0.partial_cmp(segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlimited_is_above_every_window() {
        let (some, none) = (Threshold::at(8.0), Threshold::UNLIMITED);
        assert_eq!((some.get(), none.get()), (Some(8.0), None));
        assert!(some < none && some < 9.0 && none > 1e300 && none.is_unlimited());
        assert_eq!((some.cap(10.0), none.cap(10.0)), (8.0, 10.0));
        assert_eq!((none.lowered_to(4.0), some.raised_to(9.0)), (Threshold::at(4.0), Threshold::at(9.0)));
        assert_eq!((some.bytes(1000), none.bytes(1000)), (8000, u64::MAX));
    }
}
