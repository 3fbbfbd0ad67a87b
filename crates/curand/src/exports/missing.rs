//! Functions of the public interface that are not implemented. cuRAND has no status for that: they
//! return `CURAND_STATUS_ARCH_MISMATCH`, as for a feature that the device lacks, and are recorded
//! in the event log.

culibs::missing! {
    crate::Curand;
    curandCreatePoissonDistribution curandDestroyDistribution curandGeneratePoissonMethod
    curandGenerateBinomial curandGenerateBinomialMethod curandGetScrambleConstants32
    curandGetScrambleConstants64
}
