//! Functions of the public interface that are not implemented. cuRAND has no status for that: they
//! return `CURAND_STATUS_ARCH_MISMATCH`, as for a feature that the device lacks, and are recorded
//! in the event log.

/// The status of a function that is not implemented.
macro_rules! refuse {
    ($name:ident) => {
        culibs::unsupported::<crate::Curand>(cuda_abi::c_str!(stringify!($name)))
    };
}

culibs::missing! {
    refuse;
    curandCreatePoissonDistribution curandDestroyDistribution curandGeneratePoissonMethod
    curandGenerateBinomial curandGenerateBinomialMethod curandGetScrambleConstants32
    curandGetScrambleConstants64
}
