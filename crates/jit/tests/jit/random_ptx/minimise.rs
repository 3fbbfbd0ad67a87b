//! Minimisation of kernels that differ.

use super::kernel::{Kernel, Shape};

/// Deletes statements and threads from a kernel for as long as `differs` holds.
pub(crate) fn minimise(kernel: Kernel, differs: &mut dyn FnMut(&Kernel) -> bool) -> Kernel {
    let mut kernel = kernel;
    loop {
        let before = kernel.clone();
        delete(&mut kernel, differs);
        unwrap(&mut kernel, differs);
        delete_lines(&mut kernel, differs);
        fewer_functions(&mut kernel, differs);
        fewer_threads(&mut kernel, differs);
        if kernel == before {
            return kernel;
        }
    }
}

/// Replaces the kernel by a candidate if that still differs.
fn accept(
    kernel: &mut Kernel,
    candidate: Kernel,
    differs: &mut dyn FnMut(&Kernel) -> bool,
) -> bool {
    let taken = candidate != *kernel && differs(&candidate);
    if taken {
        *kernel = candidate;
    }
    taken
}

/// Deletes runs of statements, long ones first.
fn delete(kernel: &mut Kernel, differs: &mut dyn FnMut(&Kernel) -> bool) {
    let mut run = kernel.count().max(1);
    while run > 0 {
        // From the end, so that the numbers of earlier statements do not change.
        let mut end = kernel.count();
        while end > 0 {
            let from = end.saturating_sub(run);
            accept(kernel, kernel.without(&|n| (from..end).contains(&n)), differs);
            end = from.min(kernel.count());
        }
        run /= 2;
    }
}

/// Replaces statements by their contents.
fn unwrap(kernel: &mut Kernel, differs: &mut dyn FnMut(&Kernel) -> bool) {
    for number in (0..kernel.count()).rev() {
        accept(kernel, kernel.unwrapped(number), differs);
    }
}

/// Deletes single lines of statements of several lines.
fn delete_lines(kernel: &mut Kernel, differs: &mut dyn FnMut(&Kernel) -> bool) {
    for (number, lines) in kernel.lines() {
        for line in (0..lines).rev() {
            if lines > 1 {
                accept(kernel, kernel.without_line(number, line), differs);
            }
        }
    }
}

/// Deletes functions. The front end refuses a kernel that calls a deleted one, so it cannot be
/// launched.
fn fewer_functions(kernel: &mut Kernel, differs: &mut dyn FnMut(&Kernel) -> bool) {
    for number in (0..kernel.functions.len().saturating_sub(1)).rev() {
        let mut candidate = kernel.clone();
        candidate.functions.remove(number);
        accept(kernel, candidate, differs);
    }
}

fn fewer_threads(kernel: &mut Kernel, differs: &mut dyn FnMut(&Kernel) -> bool) {
    let Shape { grid, block } = kernel.shape;
    let threads = block.iter().product::<u32>();
    let shapes = [1, 2, 16, 17, 31, 32, 33, 64].map(|n| Shape { grid, block: [n, 1, 1] });
    for shape in shapes.into_iter().filter(|s| s.block[0] < threads) {
        if accept(kernel, Kernel { shape, ..kernel.clone() }, differs) {
            break;
        }
    }
    for grid in 1..grid {
        let shape = Shape { grid, ..kernel.shape };
        if accept(kernel, Kernel { shape, ..kernel.clone() }, differs) {
            break;
        }
    }
}
