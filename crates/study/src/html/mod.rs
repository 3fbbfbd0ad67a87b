//! Comparisons as a single HTML file that works without a network.
//!
//! The page contains the JSON that `compare --json` writes (`<script id="comparison">`), the data
//! of its views (`<script id="views">`), and a small script. Tables, bars, listings and graphs are
//! static HTML, so they can be read and printed without the script, which fills in what depends on
//! the selected run. Colour never carries information alone. Invariants:
//!
//! - untrusted text (names, program text, source lines) reaches the page only through the module
//!   `escape`;
//! - the page loads nothing: its content security policy forbids it;
//! - the page's size is bounded, and every omission is stated in its place.

mod bars;
pub(crate) mod escape;
pub(crate) mod frame;
mod graph;
mod listing;
mod page;
mod page_data;
mod remarks;
mod table;
mod views;

pub use page::to_html;
pub use page_data::{PageData, Text};
