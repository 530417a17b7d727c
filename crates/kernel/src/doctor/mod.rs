//! Machine requirements of the backend `linux`. To add a check: a function in a file here, and a line in the list.

mod guest;
mod sources;
mod space;
mod tools;

use forebay_platform::doctor::{Check, Part};

/// Building kernels, and running them.
pub static PART: Part = Part {
    name: "linux",
    title: "The backend linux: the kernel's TCP in virtual time",
    checks: &[
        Check { title: "processor", look: guest::processor },
        Check { title: "gcc", look: tools::gcc },
        Check { title: "C library", look: tools::libc },
        Check { title: "linker", look: tools::binutils },
        Check { title: "make", look: tools::make },
        Check { title: "flex", look: tools::flex },
        Check { title: "bison", look: tools::bison },
        Check { title: "bc", look: tools::bc },
        Check { title: "xz", look: tools::xz },
        Check { title: "sources", look: sources::sources },
        Check { title: "disk", look: space::disk },
        Check { title: "memory", look: space::memory },
        Check { title: "guests", look: guest::guests },
        Check { title: "kernel", look: sources::kernel },
    ],
};
