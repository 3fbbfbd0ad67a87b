//! Functions that are not implemented: events and metrics of hardware, samples of program counters,
//! replays. They access no argument and return `CUPTI_ERROR_NOT_SUPPORTED`.

use crate::status::Status;

macro_rules! missing {
    ($($name:ident)+) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> i32 {
                Status::NOT_SUPPORTED.0
            }
        )+

        /// Returns the names.
        pub(super) fn names() -> Vec<&'static str> {
            vec![$(stringify!($name)),+]
        }
    };
}

missing! {
    cuptiActivityConfigurePCSampling cuptiActivityConfigureUnifiedMemoryCounter
    cuptiActivityDisable_v2 cuptiActivityEnableAllSyncRecords
    cuptiActivityEnableAllocationSource cuptiActivityEnableAndDump cuptiActivityEnableAndDump_v2
    cuptiActivityEnableCudaEventDeviceTimestamps cuptiActivityEnableDeviceGraph
    cuptiActivityEnableHWTrace cuptiActivityEnableLatencyTimestamps
    cuptiActivityEnableLaunchAttributes cuptiActivityEnable_v2 cuptiActivityFlushPeriod
    cuptiActivityGetAttribute_v2 cuptiActivityGetEnabledKinds cuptiActivityRegisterCallbacks_v2
    cuptiActivitySetAttribute_v2 cuptiComputeCapabilitySupported cuptiDeviceEnumEventDomains
    cuptiDeviceEnumMetrics cuptiDeviceGetAttribute cuptiDeviceGetChipName
    cuptiDeviceGetEventDomainAttribute cuptiDeviceGetNumEventDomains cuptiDeviceGetNumMetrics
    cuptiDeviceSupported cuptiDeviceVirtualizationMode cuptiDisableKernelReplayMode
    cuptiEnableKernelReplayMode cuptiEnumEventDomains cuptiEnumMetrics
    cuptiEventDomainEnumEvents cuptiEventDomainGetAttribute cuptiEventDomainGetNumEvents
    cuptiEventGetAttribute cuptiEventGetIdFromName cuptiEventGroupAddEvent cuptiEventGroupCreate
    cuptiEventGroupDestroy cuptiEventGroupDisable cuptiEventGroupEnable
    cuptiEventGroupGetAttribute cuptiEventGroupReadAllEvents cuptiEventGroupReadEvent
    cuptiEventGroupRemoveAllEvents cuptiEventGroupRemoveEvent cuptiEventGroupResetAllEvents
    cuptiEventGroupSetAttribute cuptiEventGroupSetDisable cuptiEventGroupSetEnable
    cuptiEventGroupSetsCreate cuptiEventGroupSetsDestroy cuptiGetAutoBoostState cuptiGetCubinCrc
    cuptiGetDeviceId cuptiGetEnabledCallbacks cuptiGetErrorMessage cuptiGetGraphExecId
    cuptiGetGraphId cuptiGetGraphNodeId cuptiGetLastError cuptiGetNumEventDomains
    cuptiGetNumMetrics cuptiGetSassToSourceCorrelation cuptiGetThreadIdType
    cuptiIsTracingSessionRunning cuptiKernelReplaySubscribeUpdate
    cuptiMetricCreateEventGroupSets cuptiMetricEnumEvents cuptiMetricEnumProperties
    cuptiMetricGetAttribute cuptiMetricGetIdFromName cuptiMetricGetNumEvents
    cuptiMetricGetNumProperties cuptiMetricGetRequiredEventGroupSets cuptiMetricGetValue
    cuptiMetricGetValue2 cuptiPCSamplingDisable cuptiPCSamplingEnable
    cuptiPCSamplingGetConfigurationAttribute cuptiPCSamplingGetData
    cuptiPCSamplingGetNumStallReasons cuptiPCSamplingGetStallReasons
    cuptiPCSamplingSetConfigurationAttribute cuptiPCSamplingStart cuptiPCSamplingStop
    cuptiPmSamplingCounterDataGetSampleInfo cuptiPmSamplingCounterDataImageInitialize
    cuptiPmSamplingDecodeData cuptiPmSamplingDisable cuptiPmSamplingEnable
    cuptiPmSamplingGetCounterAvailability cuptiPmSamplingGetCounterDataInfo
    cuptiPmSamplingGetCounterDataSize cuptiPmSamplingSetConfig cuptiPmSamplingStart
    cuptiPmSamplingStop cuptiProfilerBeginPass cuptiProfilerBeginSession
    cuptiProfilerCounterDataImageCalculateScratchBufferSize
    cuptiProfilerCounterDataImageCalculateSize cuptiProfilerCounterDataImageInitialize
    cuptiProfilerCounterDataImageInitializeScratchBuffer cuptiProfilerDeInitialize
    cuptiProfilerDeviceSupported cuptiProfilerDisableProfiling cuptiProfilerEnableProfiling
    cuptiProfilerEndPass cuptiProfilerEndSession cuptiProfilerFlushCounterData
    cuptiProfilerGetCounterAvailability cuptiProfilerHostConfigAddMetrics
    cuptiProfilerHostDeinitialize cuptiProfilerHostEvaluateToGpuValues
    cuptiProfilerHostGetBaseMetrics cuptiProfilerHostGetConfigImage
    cuptiProfilerHostGetConfigImageSize cuptiProfilerHostGetMaxNumHardwareMetricsPerPass
    cuptiProfilerHostGetMetricProperties cuptiProfilerHostGetMetricsInSinglePassSet
    cuptiProfilerHostGetNumOfPasses cuptiProfilerHostGetRangeName
    cuptiProfilerHostGetSinglePassSets cuptiProfilerHostGetSubMetrics
    cuptiProfilerHostGetSupportedChips cuptiProfilerHostInitialize cuptiProfilerInitialize
    cuptiProfilerIsPassCollected cuptiProfilerPopRange cuptiProfilerPushRange
    cuptiProfilerSetConfig cuptiProfilerUnsetConfig cuptiRangeProfilerCounterDataGetRangeInfo
    cuptiRangeProfilerCounterDataImageInitialize cuptiRangeProfilerDecodeData
    cuptiRangeProfilerDisable cuptiRangeProfilerEnable cuptiRangeProfilerGetCounterDataInfo
    cuptiRangeProfilerGetCounterDataSize cuptiRangeProfilerPopRange cuptiRangeProfilerPushRange
    cuptiRangeProfilerSetConfig cuptiRangeProfilerStart cuptiRangeProfilerStop
    cuptiRegisterComputeCrcCallback cuptiSassMetricsDisable cuptiSassMetricsEnable
    cuptiSassMetricsFlushData cuptiSassMetricsGetDataProperties cuptiSassMetricsGetMetrics
    cuptiSassMetricsGetNumOfMetrics cuptiSassMetricsGetProperties cuptiSassMetricsSetConfig
    cuptiSassMetricsUnsetConfig cuptiSetEventCollectionMode cuptiSetThreadIdType
    cuptiSubscribe_v2
}
