//! What `matrixmultiply` gives for a product in `f32` on this machine: `sgemm [ORDER]` multiplies
//! once for each line of its input, and prints the seconds. `clients/libraries/speed.py` compares
//! cuBLAS with it.

#![allow(clippy::print_stdout, reason = "what it measures")]

use std::time::Instant;

use linalg::{Matrix, Op, product};

fn main() {
    let order = std::env::args().nth(1).and_then(|order| order.parse().ok()).unwrap_or(1024);
    let values = |shift: usize| {
        Matrix::from_fn(order, order, |i, j| ((i * 7 + j * 3 + shift) % 17) as f32 - 8.0)
    };
    let (a, b, mut c) = (values(1), values(2), Matrix::zeros(order, order));
    for _ in std::io::stdin().lines() {
        let begun = Instant::now();
        product(1.0, (&a, Op::None), (&b, Op::None), 0.0, &mut c);
        println!("{}", begun.elapsed().as_secs_f64());
    }
    // Otherwise nothing would need the product.
    assert!(c.data.iter().all(|x| x.is_finite()));
}
