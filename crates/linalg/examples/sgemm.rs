//! What `matrixmultiply` gives for a product in `f32` on this machine: `sgemm [ORDER]` prints
//! seconds, the least of several runs. `clients/libraries/speed.py` compares cuBLAS with it.

#![allow(clippy::print_stdout, reason = "what it measures")]

use std::time::Instant;

use linalg::{Matrix, Op, product};

/// Runs, of which the fastest counts.
const RUNS: usize = 7;

fn main() {
    let order = std::env::args().nth(1).and_then(|order| order.parse().ok()).unwrap_or(1024);
    let values = |shift: usize| {
        Matrix::from_fn(order, order, |i, j| ((i * 7 + j * 3 + shift) % 17) as f32 - 8.0)
    };
    let (a, b, mut c) = (values(1), values(2), Matrix::zeros(order, order));
    let seconds = (0..RUNS).map(|_| {
        let begun = Instant::now();
        product(1.0, (&a, Op::None), (&b, Op::None), 0.0, &mut c);
        begun.elapsed().as_secs_f64()
    });
    println!("{}", seconds.fold(f64::INFINITY, f64::min));
    // Otherwise nothing would need the product.
    assert!(c.data.iter().all(|x| x.is_finite()));
}
