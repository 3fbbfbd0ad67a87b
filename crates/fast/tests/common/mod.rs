//! What comparisons of engines share: random kernels, their launches, how the exact engine ends them.

pub(crate) mod calls;
pub(crate) mod kernels;
pub(crate) mod launches;
pub(crate) mod observed;
pub(crate) mod resumed;
