//! Functions of the public interface that are not implemented: callbacks, and arrays on several
//! devices. They return `CUFFT_NOT_SUPPORTED` and are recorded in the event log.

/// The status of a function that is not implemented.
macro_rules! refuse {
    ($name:ident) => {
        culibs::unsupported::<crate::Cufft>(cuda_abi::c_str!(stringify!($name)))
    };
}

culibs::missing! {
    refuse;
    cufftSetPlanPropertyInt64 cufftGetPlanPropertyInt64 cufftResetPlanProperty cufftXtMalloc
    cufftXtMemcpy cufftXtFree cufftXtExecDescriptorC2C cufftXtExecDescriptorR2C
    cufftXtExecDescriptorC2R cufftXtExecDescriptorZ2Z cufftXtExecDescriptorD2Z
    cufftXtExecDescriptorZ2D cufftXtExecDescriptor cufftXtQueryPlan cufftXtSetCallback
    cufftXtClearCallback cufftXtSetCallbackSharedSize cufftXtSetJITCallback
}
