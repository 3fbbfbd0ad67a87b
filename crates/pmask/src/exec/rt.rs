//! `RT.BBOX`: a ray against a box, scalar, behind an option of its own.
//!
//! The documents leave the records open; this is the smallest reading. At `rs1` lie, as binary32:
//! the ray's origin (3), direction (3), tmin, tmax, then the box's least corner (3) and greatest
//! corner (3): 56 bytes. P0 becomes 1 on a hit, as the result for lane 0. Unless PRED_ONLY
//! (immediate bit 1), `rd` gets tnear in its low and tfar in its high half. T_CLAMP (bit 0) clamps
//! both into the ray's range; the other flags have no effect. No floating-point flag is raised.

use crate::decode::Inst;
use crate::exec::mem;
use crate::state::State;
use crate::trap::Trap;
use simt::memory::Width;

const T_CLAMP: i64 = 1;
const PRED_ONLY: i64 = 2;

pub(super) fn bbox(state: &mut State, inst: &Inst) -> Result<(), Trap> {
    let base = state.x[usize::from(inst.rs1)];
    let mut record = [0f32; 14];
    for (i, value) in record.iter_mut().enumerate() {
        let bits = mem::load(state, base.wrapping_add(4 * i as u64), Width::B4)?;
        *value = f32::from_bits(bits as u32);
    }
    let [ox, oy, oz, dx, dy, dz, tmin, tmax, lx, ly, lz, hx, hy, hz] = record;
    let slabs = [(ox, dx, lx, hx), (oy, dy, ly, hy), (oz, dz, lz, hz)];
    let (mut near, mut far) = (f32::NEG_INFINITY, f32::INFINITY);
    for (origin, direction, low, high) in slabs {
        let (a, b) = ((low - origin) / direction, (high - origin) / direction);
        // Parallel to the slab and on its face: 0/0. Such a slab bounds nothing.
        near = near.max(a.min(b));
        far = far.min(a.max(b));
    }
    state.masks.p0 = near <= far && near <= tmax && far >= tmin;
    if inst.imm & T_CLAMP != 0 {
        (near, far) = (near.max(tmin).min(tmax), far.max(tmin).min(tmax));
    }
    if inst.imm & PRED_ONLY == 0 {
        let value = u64::from(near.to_bits()) | u64::from(far.to_bits()) << 32;
        state.set_x(inst.rd, value);
    }
    Ok(())
}
