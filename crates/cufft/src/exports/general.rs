//! Plans and transforms.

use culibs::device::put_host;
use culibs::{Error, Outcome, Ptr};

use crate::layout::Types;
use crate::plan::{self, Many, dense};

/// The version: major, minor, patch.
fn parts() -> [i32; 3] {
    match culibs::driver::own_version() {
        Some(12) => [12, 0, 0],
        _ => [11, 4, 1],
    }
}

fn version(out: Ptr) -> Outcome {
    let [major, minor, patch] = parts();
    put_host(out, major * 1000 + minor * 100 + patch)
}

fn property(kind: i32, out: Ptr) -> Outcome {
    let part = usize::try_from(kind).ok().and_then(|kind| parts().get(kind).copied());
    put_host(out, part.ok_or(Error::InvalidValue)?)
}

culibs::family! {
    enter;
    [(): cufftCreate](plan: Ptr) => plan::create(plan);
    [(): cufftDestroy](plan: i32) => plan::destroy(plan);
    [(): cufftGetVersion](out: Ptr) => version(out);
    [(): cufftGetProperty](kind: i32, out: Ptr) => property(kind, out);
    [(): cufftSetStream](plan: i32, stream: u64) => plan::set_stream(plan, stream);
    [(): cufftSetWorkArea](plan: i32, _area: u64) => plan::known(plan);
    [(): cufftXtSetWorkArea](plan: i32, _areas: Ptr) => plan::known(plan);
    [(): cufftSetAutoAllocation](plan: i32, _automatic: i32) => plan::known(plan);
    [(): cufftXtSetWorkAreaPolicy](plan: i32, _policy: i32, _size: Ptr) => plan::known(plan);
    [(): cufftXtSetGPUs](plan: i32, count: i32, list: Ptr) => plan::set_devices(plan, count, list);

    [(): cufftPlan1d](plan: Ptr, nx: i32, kind: i32, batch: i32)
        => plan::create_and_make(plan, dense(&[nx], kind, batch));
    [(): cufftPlan2d](plan: Ptr, nx: i32, ny: i32, kind: i32)
        => plan::create_and_make(plan, dense(&[nx, ny], kind, 1));
    [(): cufftPlan3d](plan: Ptr, nx: i32, ny: i32, nz: i32, kind: i32)
        => plan::create_and_make(plan, dense(&[nx, ny, nz], kind, 1));
    [(): cufftPlanMany]
        (plan: Ptr, rank: i32, n: Ptr, inembed: Ptr, istride: i32, idist: i32, onembed: Ptr,
         ostride: i32, odist: i32, kind: i32, batch: i32)
        => plan::create_and_make(plan, narrow(rank, n, [inembed, onembed], [istride, idist],
            [ostride, odist], batch).layout(Types::of(kind)?));

    [(): cufftMakePlan1d](plan: i32, nx: i32, kind: i32, batch: i32, size: Ptr)
        => plan::make(plan, dense(&[nx], kind, batch), size);
    [(): cufftMakePlan2d](plan: i32, nx: i32, ny: i32, kind: i32, size: Ptr)
        => plan::make(plan, dense(&[nx, ny], kind, 1), size);
    [(): cufftMakePlan3d](plan: i32, nx: i32, ny: i32, nz: i32, kind: i32, size: Ptr)
        => plan::make(plan, dense(&[nx, ny, nz], kind, 1), size);
    [(): cufftMakePlanMany]
        (plan: i32, rank: i32, n: Ptr, inembed: Ptr, istride: i32, idist: i32, onembed: Ptr,
         ostride: i32, odist: i32, kind: i32, batch: i32, size: Ptr)
        => plan::make(plan, narrow(rank, n, [inembed, onembed], [istride, idist],
            [ostride, odist], batch).layout(Types::of(kind)?), size);
    [(): cufftMakePlanMany64]
        (plan: i32, rank: i32, n: Ptr, inembed: Ptr, istride: i64, idist: i64, onembed: Ptr,
         ostride: i64, odist: i64, kind: i32, batch: i64, size: Ptr)
        => plan::make(plan, wide(rank, n, [inembed, onembed], [istride, idist],
            [ostride, odist], batch).layout(Types::of(kind)?), size);
    [(): cufftXtMakePlanMany]
        (plan: i32, rank: i32, n: Ptr, inembed: Ptr, istride: i64, idist: i64, itype: i32,
         onembed: Ptr, ostride: i64, odist: i64, otype: i32, batch: i64, size: Ptr, execution: i32)
        => plan::make(plan, wide(rank, n, [inembed, onembed], [istride, idist],
            [ostride, odist], batch).layout(Types::of_elements(itype, otype, execution)?), size);

    [(): cufftEstimate1d](nx: i32, kind: i32, batch: i32, size: Ptr)
        => plan::size_of(dense(&[nx], kind, batch), size);
    [(): cufftEstimate2d](nx: i32, ny: i32, kind: i32, size: Ptr)
        => plan::size_of(dense(&[nx, ny], kind, 1), size);
    [(): cufftEstimate3d](nx: i32, ny: i32, nz: i32, kind: i32, size: Ptr)
        => plan::size_of(dense(&[nx, ny, nz], kind, 1), size);
    [(): cufftEstimateMany]
        (rank: i32, n: Ptr, inembed: Ptr, istride: i32, idist: i32, onembed: Ptr,
         ostride: i32, odist: i32, kind: i32, batch: i32, size: Ptr)
        => plan::size_of(narrow(rank, n, [inembed, onembed], [istride, idist],
            [ostride, odist], batch).layout(Types::of(kind)?), size);
    [(): cufftGetSize1d](plan: i32, nx: i32, kind: i32, batch: i32, size: Ptr)
        => plan::size_of_plan(plan, dense(&[nx], kind, batch), size);
    [(): cufftGetSize2d](plan: i32, nx: i32, ny: i32, kind: i32, size: Ptr)
        => plan::size_of_plan(plan, dense(&[nx, ny], kind, 1), size);
    [(): cufftGetSize3d](plan: i32, nx: i32, ny: i32, nz: i32, kind: i32, size: Ptr)
        => plan::size_of_plan(plan, dense(&[nx, ny, nz], kind, 1), size);
    [(): cufftGetSizeMany]
        (plan: i32, rank: i32, n: Ptr, inembed: Ptr, istride: i32, idist: i32, onembed: Ptr,
         ostride: i32, odist: i32, kind: i32, batch: i32, size: Ptr)
        => plan::size_of_plan(plan, narrow(rank, n, [inembed, onembed], [istride, idist],
            [ostride, odist], batch).layout(Types::of(kind)?), size);
    [(): cufftGetSizeMany64]
        (plan: i32, rank: i32, n: Ptr, inembed: Ptr, istride: i64, idist: i64, onembed: Ptr,
         ostride: i64, odist: i64, kind: i32, batch: i64, size: Ptr)
        => plan::size_of_plan(plan, wide(rank, n, [inembed, onembed], [istride, idist],
            [ostride, odist], batch).layout(Types::of(kind)?), size);
    [(): cufftXtGetSizeMany]
        (plan: i32, rank: i32, n: Ptr, inembed: Ptr, istride: i64, idist: i64, itype: i32,
         onembed: Ptr, ostride: i64, odist: i64, otype: i32, batch: i64, size: Ptr, execution: i32)
        => plan::size_of_plan(plan, wide(rank, n, [inembed, onembed], [istride, idist],
            [ostride, odist], batch).layout(Types::of_elements(itype, otype, execution)?), size);
    [(): cufftGetSize](plan: i32, size: Ptr) => plan::size_of_made(plan, size);

    [(): cufftExecC2C](plan: i32, from: u64, to: u64, direction: i32)
        => plan::execute(plan, Some(0x29), from, to, direction);
    [(): cufftExecR2C](plan: i32, from: u64, to: u64)
        => plan::execute(plan, Some(0x2a), from, to, -1);
    [(): cufftExecC2R](plan: i32, from: u64, to: u64)
        => plan::execute(plan, Some(0x2c), from, to, 1);
    [(): cufftExecZ2Z](plan: i32, from: u64, to: u64, direction: i32)
        => plan::execute(plan, Some(0x69), from, to, direction);
    [(): cufftExecD2Z](plan: i32, from: u64, to: u64)
        => plan::execute(plan, Some(0x6a), from, to, -1);
    [(): cufftExecZ2D](plan: i32, from: u64, to: u64)
        => plan::execute(plan, Some(0x6c), from, to, 1);
    [(): cufftXtExec](plan: i32, from: u64, to: u64, direction: i32)
        => plan::execute(plan, None, from, to, direction);
}

fn narrow(
    rank: i32,
    sizes: Ptr,
    [inembed, onembed]: [Ptr; 2],
    [istride, idist]: [i32; 2],
    [ostride, odist]: [i32; 2],
    batch: i32,
) -> Many {
    let input = (inembed, istride.into(), idist.into());
    let output = (onembed, ostride.into(), odist.into());
    Many { rank, sizes, input, output, batch: batch.into(), wide: false }
}

fn wide(
    rank: i32,
    sizes: Ptr,
    [inembed, onembed]: [Ptr; 2],
    [istride, idist]: [i64; 2],
    [ostride, odist]: [i64; 2],
    batch: i64,
) -> Many {
    let (input, output) = ((inembed, istride, idist), (onembed, ostride, odist));
    Many { rank, sizes, input, output, batch, wide: true }
}
