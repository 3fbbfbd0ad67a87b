//! Functions of the public interface that are not implemented: callbacks, and arrays on several
//! devices. They return `CUFFT_NOT_SUPPORTED` and are recorded in the event log.

culibs::missing! {
    crate::Cufft;
    cufftSetPlanPropertyInt64 cufftGetPlanPropertyInt64 cufftResetPlanProperty cufftXtMalloc
    cufftXtMemcpy cufftXtFree cufftXtExecDescriptorC2C cufftXtExecDescriptorR2C
    cufftXtExecDescriptorC2R cufftXtExecDescriptorZ2Z cufftXtExecDescriptorD2Z
    cufftXtExecDescriptorZ2D cufftXtExecDescriptor cufftXtQueryPlan cufftXtSetCallback
    cufftXtClearCallback cufftXtSetCallbackSharedSize cufftXtSetJITCallback
}
