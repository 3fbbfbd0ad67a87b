//! A comparison as one HTML file that opens without a network.
//!
//! The page holds the same JSON that `compare --json` writes (`<script id="comparison">`), what is drawn beside it
//! (`<script id="views">`), and a small script of its own. Tables, bars, listings and graphs are written here, so that they can be
//! read and printed without the script; the script fills in what depends on the run that the reader chooses. Nothing is told by
//! colour alone. What always holds:
//!
//! - text of others (names, program text, source lines) reaches the page only through the module `escape`;
//! - nothing is loaded: a content policy forbids it;
//! - the page's size is bounded, and what is left out is said where it is left out.

mod bars;
mod escape;
mod graph;
mod listing;
mod material;
mod page;
mod remarks;
mod table;
mod views;

pub use material::{Material, Text};
pub use page::to_html;

/// Issues of all warps of all rows that a page may hold.
const STEPS: usize = 96_000;
/// Warps of a row.
pub(crate) const WARPS: usize = 4;
/// Issues of a warp, at most and at least.
const STEPS_OF_WARP: (usize, usize) = (1_500, 50);

/// How many issues of each warp a report of so many rows holds.
#[must_use]
pub fn steps_of_warp(rows: usize) -> usize {
    let (most, least) = STEPS_OF_WARP;
    (STEPS / (WARPS * rows.max(1))).clamp(least, most)
}
