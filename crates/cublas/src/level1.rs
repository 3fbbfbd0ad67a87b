//! Vectors. Elements of narrow types are computed with in `f32`.

use culibs::dtype::{Param, Place};
use culibs::{Outcome, Ptr};
use linalg::{Real, Scalar};
use num_traits::{Float, One, Zero};

use crate::handle::Handle;
use operands::{Blas, Vector};

/// Euclidean norm.
pub(crate) fn nrm2<T: Blas>(h: &Handle, x: Vector, out: Place) -> Outcome
where
    T::Real: Blas,
{
    h.submit(move || {
        let x: Vec<T> = x.read()?;
        let big = x.iter().fold(T::Real::zero(), |m, v| {
            let v = v.abs1();
            if v > m || v.is_nan() { v } else { m }
        });
        if big == T::Real::zero() || !big.is_finite() {
            return out.put(big);
        }
        // Scaled by a power of two, so that squares neither overflow nor vanish.
        let scale = power_below(big);
        let part = |v: T::Real| {
            let v = v / scale;
            v * v
        };
        let sum: T::Real = pairwise(x.len(), &|i| part(x[i].re()) + part(x[i].im()));
        out.put(scale * sum.sqrt())
    })
}

/// Returns the largest power of two that is not above a number.
fn power_below<R: Real>(x: R) -> R {
    let (_, exponent, _) = x.integer_decode();
    let bits = R::epsilon().recip().log2().to_i32().unwrap_or(0);
    let two = R::one() + R::one();
    two.powi((i32::from(exponent) + bits).max(-126))
}

/// Returns a sum, of halves where it is long: its error grows with the logarithm of its length.
pub(crate) fn pairwise<T: Zero + Copy>(len: usize, term: &dyn Fn(usize) -> T) -> T {
    fn part<T: Zero + Copy>(from: usize, to: usize, term: &dyn Fn(usize) -> T) -> T {
        if to - from <= 64 {
            return (from..to).fold(T::zero(), |sum, i| sum + term(i));
        }
        let middle = from + (to - from) / 2;
        part(from, middle, term) + part(middle, to, term)
    }
    part(0, len, term)
}

/// Sum of absolute values of parts.
pub(crate) fn asum<T: Blas>(h: &Handle, x: Vector, out: Place) -> Outcome
where
    T::Real: Blas,
{
    h.submit(move || {
        let x: Vec<T> = x.read()?;
        out.put(pairwise::<T::Real>(x.len(), &|i| x[i].abs1()))
    })
}

/// Dot product, of conjugated `x` if `conj`.
pub(crate) fn dot<T: Blas>(h: &Handle, x: Vector, y: Vector, conj: bool, out: Place) -> Outcome {
    h.submit(move || {
        let (x, y): (Vec<T>, Vec<T>) = (x.read()?, y.read()?);
        let term = |i: usize| if conj { x[i].conj() * y[i] } else { x[i] * y[i] };
        out.put(pairwise::<T>(x.len(), &term))
    })
}

/// The place, from 1, of the first element that no other exceeds in the sense of `better`; 0 for no
/// elements.
pub(crate) fn extreme<T: Blas>(
    h: &Handle,
    x: Vector,
    largest: bool,
    out: Ptr,
    wide: bool,
) -> Outcome {
    let place = Place::take(out, h.on_device, culibs::DataType::I32)?;
    let h = *h;
    h.submit(move || {
        let x: Vec<T> = x.read()?;
        let mut best = 0;
        for i in 1..x.len() {
            let (new, old) = (x[i].abs1(), x[best].abs1());
            if if largest { new > old } else { new < old } {
                best = i;
            }
        }
        let number = if x.is_empty() { 0 } else { best as i64 + 1 };
        match (wide, h.on_device) {
            (true, true) => culibs::device::write(out as u64, &[number]),
            (true, false) => culibs::device::put_host(out, number),
            (false, _) => place.put(number as i32),
        }
    })
}

/// `y += alpha x`.
pub(crate) fn axpy<T: Blas>(h: &Handle, alpha: Param<T>, x: Vector, y: Vector) -> Outcome {
    h.submit(move || {
        let alpha = alpha.get()?;
        if alpha == T::zero() {
            return Ok(());
        }
        let (x, mut sum): (Vec<T>, Vec<T>) = (x.read()?, y.read()?);
        for (y, x) in sum.iter_mut().zip(x) {
            *y += alpha * x;
        }
        y.write(sum)
    })
}

/// `x *= alpha`.
pub(crate) fn scal<T: Blas>(h: &Handle, alpha: Param<T>, x: Vector) -> Outcome {
    h.submit(move || {
        let alpha = alpha.get()?;
        let real = alpha.im() == T::Real::zero();
        let mut data: Vec<T> = x.read()?;
        for x in &mut data {
            *x = if real { x.scale(alpha.re()) } else { *x * alpha };
        }
        x.write(data)
    })
}

pub(crate) fn copy<T: Blas>(h: &Handle, x: Vector, y: Vector) -> Outcome {
    h.submit(move || y.write(x.read::<T>()?))
}

pub(crate) fn swap<T: Blas>(h: &Handle, x: Vector, y: Vector) -> Outcome {
    h.submit(move || {
        let (a, b) = (x.read::<T>()?, y.read::<T>()?);
        x.write(b)?;
        y.write(a)
    })
}

/// Rotates vectors in the plane: `x = c x + s y`, `y = c y - conj(s) x`.
pub(crate) fn rot<T: Blas>(h: &Handle, x: Vector, y: Vector, c: Param<T>, s: Param<T>) -> Outcome {
    h.submit(move || {
        let (c, s) = (c.get()?, s.get()?);
        let (mut a, mut b): (Vec<T>, Vec<T>) = (x.read()?, y.read()?);
        for (x, y) in a.iter_mut().zip(&mut b) {
            let old = *x;
            *x = c * old + s * *y;
            *y = c * *y - s.conj() * old;
        }
        x.write(a)?;
        y.write(b)
    })
}

/// Makes a rotation that maps `(a, b)` to `(r, 0)`; `a` becomes `r`, and `b` of real numbers the
/// reconstruction value.
pub(crate) fn rotg<T: Blas>(h: &Handle, a: Ptr, b: Ptr, c: Ptr, s: Ptr) -> Outcome
where
    T::Real: Blas,
{
    let (a, b, s) = (h.place::<T>(a)?, h.place::<T>(b)?, h.place::<T>(s)?);
    let c = h.place::<T::Real>(c)?;
    h.submit(move || {
        let (f, g): (T, T) = (a.get()?, b.get()?);
        let (zero, one) = (T::Real::zero(), T::Real::one());
        if T::COMPLEX {
            let norm = f.re().hypot(f.im()).hypot(g.re().hypot(g.im()));
            if f.modulus() == zero {
                c.put(zero)?;
                s.put(T::one())?;
                return a.put(g);
            }
            let phase = T::from_parts(f.re() / f.modulus(), f.im() / f.modulus());
            c.put(f.modulus() / norm)?;
            s.put((phase * g.conj()).scale(norm.recip()))?;
            return a.put(phase.scale(norm));
        }
        let (f, g) = (f.re(), g.re());
        let roe = if f.abs() > g.abs() { f } else { g };
        if f == zero && g == zero {
            c.put(one)?;
            s.put(T::zero())?;
            a.put(T::zero())?;
            return b.put(T::zero());
        }
        let r = f.hypot(g).copysign(roe);
        let (cos, sin) = (f / r, g / r);
        let z = if f.abs() > g.abs() {
            sin
        } else if cos == zero {
            one
        } else {
            one / cos
        };
        c.put(cos)?;
        s.put(T::from_real(sin))?;
        a.put(T::from_real(r))?;
        b.put(T::from_real(z))
    })
}

/// The matrix of a modified rotation, from the flag and the four elements of its parameter.
fn modified<T: Scalar>(p: [T; 5]) -> Option<[T; 4]> {
    let [flag, h11, h21, h12, h22] = p;
    let one = T::one();
    if flag == -(one + one) {
        None
    } else if flag == -one {
        Some([h11, h21, h12, h22])
    } else if flag == T::zero() {
        Some([one, h21, h12, one])
    } else {
        Some([h11, -one, one, h22])
    }
}

/// Rotates vectors by a modified rotation.
pub(crate) fn rotm<T: Blas>(h: &Handle, x: Vector, y: Vector, param: Ptr) -> Outcome {
    let size = size_of::<T>();
    let mut parts = [None; 5];
    for (i, part) in parts.iter_mut().enumerate() {
        *part = Some(h.param::<T>(if param == 0 { 0 } else { param + i * size })?);
    }
    h.submit(move || {
        let mut p = [T::zero(); 5];
        for (p, part) in p.iter_mut().zip(parts.into_iter().flatten()) {
            *p = part.get()?;
        }
        let Some([h11, h21, h12, h22]) = modified(p) else { return Ok(()) };
        let (mut a, mut b): (Vec<T>, Vec<T>) = (x.read()?, y.read()?);
        for (x, y) in a.iter_mut().zip(&mut b) {
            (*x, *y) = (h11 * *x + h12 * *y, h21 * *x + h22 * *y);
        }
        x.write(a)?;
        y.write(b)
    })
}

/// A modified rotation that was made.
pub(crate) struct ModifiedRotation<T> {
    /// The new factors and the new first coordinate.
    pub(crate) changed: [T; 3],
    /// The flag and the elements that it says are used.
    pub(crate) param: [Option<T>; 5],
}

/// Makes a modified rotation as BLAS's `rotmg` (Lawson, Hanson, Kincaid and Krogh, 1979) from
/// factors `d1`, `d2` and coordinates `x1`, `y1`.
pub(crate) fn modified_rotation<T: Real>(
    [mut d1, mut d2, mut x1, y1]: [T; 4],
) -> ModifiedRotation<T> {
    let (zero, one) = (T::zero(), T::one());
    let two = one + one;
    let gamma = two.powi(12);
    let (limit, inverse) = (gamma * gamma, (gamma * gamma).recip());
    let none = |flag: T, changed| ModifiedRotation {
        changed,
        param: [Some(flag), None, None, None, None],
    };
    let all_zero = ModifiedRotation {
        changed: [zero; 3],
        param: [Some(-one), Some(zero), Some(zero), Some(zero), Some(zero)],
    };
    if d1 < zero {
        return all_zero;
    }
    let p2 = d2 * y1;
    if p2 == zero {
        return none(-two, [d1, d2, x1]);
    }
    let (p1, q2) = (d1 * x1, p2 * y1);
    let q1 = p1 * x1;
    // The elements of the matrix, and whether those that the flag implies are stored.
    let mut flag;
    let mut h = [one, -one, one, one];
    if q1.abs() > q2.abs() {
        h = [one, -y1 / x1, p2 / p1, one];
        let u = one - h[2] * h[1];
        if u <= zero {
            return all_zero;
        }
        flag = zero;
        d1 /= u;
        d2 /= u;
        x1 *= u;
    } else {
        if q2 < zero {
            return all_zero;
        }
        flag = one;
        h[0] = p1 / p2;
        h[3] = x1 / y1;
        let u = one + h[0] * h[3];
        (d1, d2) = (d2 / u, d1 / u);
        x1 = y1 * u;
    }
    while d1 != zero && (d1 <= inverse || d1 >= limit) {
        flag = -one;
        let by = if d1 <= inverse { gamma } else { gamma.recip() };
        d1 = d1 * by * by;
        x1 /= by;
        h[0] /= by;
        h[2] /= by;
    }
    while d2 != zero && (d2.abs() <= inverse || d2.abs() >= limit) {
        flag = -one;
        let by = if d2.abs() <= inverse { gamma } else { gamma.recip() };
        d2 = d2 * by * by;
        h[1] /= by;
        h[3] /= by;
    }
    let [h11, h21, h12, h22] = h.map(Some);
    let param = if flag == -one {
        [Some(flag), h11, h21, h12, h22]
    } else if flag == zero {
        [Some(flag), None, h21, h12, None]
    } else {
        [Some(flag), h11, None, None, h22]
    };
    ModifiedRotation { changed: [d1, d2, x1], param }
}
