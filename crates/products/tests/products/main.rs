//! Products by vector instructions against the scalar definition.

mod group;
mod numbers;
mod warp;

use products::Level;

/// The levels that this host has.
fn levels() -> impl Iterator<Item = Level> {
    let all = [Level::Portable, Level::Avx2, Level::Avx512];
    all.into_iter().filter(|level| level.is_available())
}
