//! Classes of service of segments: the rules of `driver/tag.h`.

use forebay_kernel::tags::TAGS;

/// `struct fb_segment`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Segment {
    /// Of its first byte, from the start of the stream, as all places.
    pub offset: u64,
    /// Highest sent so far, without it.
    pub high: u64,
    /// Of its message.
    pub begin: u64,
    /// Of its message.
    pub end: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// 1: it is a retransmission.
    pub again: u32,
}

unsafe extern "C" {
    safe fn fb_test_tag(tag: &[u64; TAGS], segment: &Segment) -> u32;
}

/// Class of a data segment by `tag`, as frames have it.
pub fn class(tag: &[u64; TAGS], segment: &Segment) -> u32 {
    fb_test_tag(tag, segment)
}
