//! Reports: one self-contained HTML file.
//!
//! Results become a [`page::Page`], which is plain data: texts, numbers and charts. The page becomes HTML. The two steps are independent.

pub mod chapters;
mod html;
pub mod page;
pub mod time_sequence;

pub use html::render;
