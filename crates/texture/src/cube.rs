//! Cubes: the face of a direction, and the elements behind its edges.
//!
//! Source: CUDA C++ Programming Guide, "Cubemap Textures": the component of the greatest magnitude
//! picks the face, the others divided by it are the coordinates in it.

/// A direction's components along a face: right, down, out.
fn along(face: u32, [x, y, z]: [f64; 3]) -> [f64; 3] {
    match face {
        0 => [-z, -y, x],
        1 => [z, -y, -x],
        2 => [x, z, y],
        3 => [x, -z, -y],
        4 => [x, -y, z],
        _ => [-x, -y, -z],
    }
}

/// The inverse of [`along`], of whole numbers.
fn direction(face: u32, [s, t, m]: [i64; 3]) -> [i64; 3] {
    match face {
        0 => [m, -t, -s],
        1 => [-m, -t, s],
        2 => [s, m, t],
        3 => [s, -m, -t],
        4 => [s, -t, m],
        _ => [-s, -t, -m],
    }
}

/// The face of a direction; of equal magnitudes x before y before z.
fn face_of([x, y, z]: [f64; 3]) -> u32 {
    let [a, b, c] = [x, y, z].map(f64::abs);
    let (axis, value) = if a >= b && a >= c {
        (0, x)
    } else if b >= c {
        (2, y)
    } else {
        (4, z)
    };
    axis + u32::from(value < 0.0)
}

/// The face of a direction, its coordinates in it from 0 to 1, and those of derivatives.
pub(crate) fn project(
    direction: [f64; 3],
    derivatives: &[[f64; 3]],
) -> (u32, [f64; 2], Vec<[f64; 2]>) {
    let face = face_of(direction);
    let [s, t, m] = along(face, direction);
    let at = [s, t].map(|a| (a / m + 1.0) / 2.0);
    let slope = |d: &[f64; 3]| {
        let [ds, dt, dm] = along(face, *d);
        [(ds * m - s * dm) / (2.0 * m * m), (dt * m - t * dm) / (2.0 * m * m)]
    };
    (face, at, derivatives.iter().map(slope).collect())
}

/// The element of a face at indices of which one is one outside: that of the face behind the edge.
/// `None` behind a corner, where three faces meet.
pub(crate) fn across(face: u32, [i, j]: [i64; 2], size: u32) -> Option<(u32, [u32; 2])> {
    let count = i64::from(size);
    let inside = |index: i64| (0..count).contains(&index);
    if inside(i) && inside(j) {
        return Some((face, [i as u32, j as u32]));
    }
    if !inside(i) && !inside(j) {
        return None;
    }
    // Centres in halves of elements from the middle of the face, which is `size` of them away.
    let mut at = [2 * i + 1 - count, 2 * j + 1 - count, count];
    let out = if inside(i) { 1 } else { 0 };
    // Behind the edge, what was beyond it is the depth below.
    at[2] = 2 * count - at[out].abs();
    at[out] = at[out].signum() * count;
    let at = direction(face, at).map(|a| a as f64);
    let face = face_of(at);
    let [s, t, _] = along(face, at);
    let index = |a: f64| ((a as i64 + count - 1) / 2) as u32;
    Some((face, [index(s), index(t)]))
}
