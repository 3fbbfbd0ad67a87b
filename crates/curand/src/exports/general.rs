//! Generators and numbers.

use culibs::device::put_host;
use culibs::{Error, Outcome, Ptr};

use crate::engine::sobol;
use crate::generator::{self, SCRAMBLED};
use crate::status::CURAND_STATUS_OUT_OF_RANGE;

/// The version: major, minor, patch.
const VERSION: [i32; 3] = [10, 3, 10];

fn property(kind: i32, out: Ptr) -> Outcome {
    let part = usize::try_from(kind).ok().and_then(|kind| VERSION.get(kind).copied());
    put_host(out, part.ok_or(Error::Status(CURAND_STATUS_OUT_OF_RANGE))?)
}

fn version(out: Ptr) -> Outcome {
    let [major, minor, patch] = VERSION;
    put_host(out, major * 1000 + minor * 100 + patch)
}

/// Sets of direction vectors.
const JOE_KUO_32: i32 = 101;
const SCRAMBLED_32: i32 = 102;
const JOE_KUO_64: i32 = 103;
const SCRAMBLED_64: i32 = 104;

/// Returns the address of a table of direction vectors, which stays.
fn vectors<T>(
    out: Ptr,
    set: i32,
    [plain, scrambled]: [i32; 2],
    table: fn() -> *const T,
) -> Outcome {
    match set {
        _ if set == plain => put_host(out, table().expose_provenance()),
        _ if set == scrambled => Err(SCRAMBLED),
        _ => Err(Error::Status(CURAND_STATUS_OUT_OF_RANGE)),
    }
}

culibs::family! {
    enter;
    [(): curandCreateGenerator](out: Ptr, kind: i32) => generator::create(out, kind, false);
    [(): curandCreateGeneratorHost](out: Ptr, kind: i32) => generator::create(out, kind, true);
    [(): curandDestroyGenerator](generator: u64) => generator::destroy(generator);
    [(): curandGetVersion](out: Ptr) => version(out);
    [(): curandGetProperty](kind: i32, out: Ptr) => property(kind, out);
    [(): curandSetStream](generator: u64, stream: u64) => generator::set_stream(generator, stream);
    [(): curandSetPseudoRandomGeneratorSeed](generator: u64, seed: u64)
        => generator::set_seed(generator, seed);
    [(): curandSetGeneratorOffset](generator: u64, offset: u64)
        => generator::set_offset(generator, offset);
    [(): curandSetGeneratorOrdering](generator: u64, order: i32)
        => generator::set_ordering(generator, order);
    [(): curandSetQuasiRandomGeneratorDimensions](generator: u64, dimensions: u32)
        => generator::set_dimensions(generator, dimensions);
    [(): curandGenerateSeeds](generator: u64) => generator::make_states(generator);
    [(): curandGenerate](generator: u64, out: Ptr, count: usize)
        => generator::bits(generator, out, count);
    [(): curandGenerateLongLong](generator: u64, out: Ptr, count: usize)
        => generator::long_bits(generator, out, count);
    [(): curandGenerateUniform](generator: u64, out: Ptr, count: usize)
        => generator::uniform(generator, out, count);
    [(): curandGenerateUniformDouble](generator: u64, out: Ptr, count: usize)
        => generator::uniform_double(generator, out, count);
    [(): curandGenerateNormal](generator: u64, out: Ptr, count: usize, mean: f32, deviation: f32)
        => generator::normal(generator, out, count, [mean, deviation], false);
    [(): curandGenerateLogNormal](generator: u64, out: Ptr, count: usize, mean: f32, deviation: f32)
        => generator::normal(generator, out, count, [mean, deviation], true);
    [(): curandGenerateNormalDouble]
        (generator: u64, out: Ptr, count: usize, mean: f64, deviation: f64)
        => generator::normal_double(generator, out, count, [mean, deviation], false);
    [(): curandGenerateLogNormalDouble]
        (generator: u64, out: Ptr, count: usize, mean: f64, deviation: f64)
        => generator::normal_double(generator, out, count, [mean, deviation], true);
    [(): curandGeneratePoisson](generator: u64, out: Ptr, count: usize, mean: f64)
        => generator::poisson_numbers(generator, out, count, mean);
    [(): curandGetDirectionVectors32](out: Ptr, set: i32)
        => vectors(out, set, [JOE_KUO_32, SCRAMBLED_32], || sobol::directions_32().as_ptr());
    [(): curandGetDirectionVectors64](out: Ptr, set: i32)
        => vectors(out, set, [JOE_KUO_64, SCRAMBLED_64], || sobol::directions().as_ptr());
}
