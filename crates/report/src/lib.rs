//! The report: one HTML file without a server, a network or a second file.
//!
//! Results become a [`page::Page`], which is plain data: words, numbers and charts. The page becomes HTML. Neither half knows the other.

pub mod chapters;
mod html;
pub mod page;

pub use html::render;
