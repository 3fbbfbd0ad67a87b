//! Sampling against a model in whole numbers, formats against their definitions, cubes against
//! geometry.

mod cube;
mod formats;
mod model;
mod objects;
mod random;
mod surfaces;
