//! Records that follow from the arguments of calls: synchronisations, records of events,
//! allocations of memory, streams and pools.

use cuda_abi::DriverEvent;
use cuda_abi::host::get;

use crate::devices;
use crate::listener::Call;
use crate::records::*;
use crate::state::{State, with};

/// What a function does. The numbers are those of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// It waits: the type of the synchronisation, and the arguments with a stream and an event.
    Synchronize(u32, Option<usize>, Option<usize>),
    /// It records an event, the first argument, on a stream, the second.
    Record,
    /// It allocates memory of a kind: the first argument is where the address goes, the second the
    /// bytes. The number is that of the stream, if it is done in order of one.
    Allocate(u32, Option<usize>),
    /// It frees memory, the first argument. The number is that of the stream.
    Free(Option<usize>),
    /// It creates a stream, to which the first argument points: with flags, with a priority.
    Stream(bool, bool),
    /// It creates, destroys or trims a pool: the type of the operation.
    Pool(u32),
}

/// The functions by name.
const OPERATIONS: &[(&[&str], Operation)] = {
    use Operation::*;
    &[
        (
            &["cuCtxSynchronize", "cudaDeviceSynchronize", "cudaThreadSynchronize"],
            Synchronize(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, None, None),
        ),
        (
            &["cuStreamSynchronize", "cudaStreamSynchronize"],
            Synchronize(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, Some(0), None),
        ),
        (
            &["cuEventSynchronize", "cudaEventSynchronize"],
            Synchronize(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, None, Some(0)),
        ),
        (
            &["cuStreamWaitEvent", "cudaStreamWaitEvent"],
            Synchronize(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, Some(0), Some(1)),
        ),
        (
            &[
                "cuEventRecord",
                "cuEventRecordWithFlags",
                "cudaEventRecord",
                "cudaEventRecordWithFlags",
            ],
            Record,
        ),
        (&["cuMemAlloc", "cudaMalloc"], Allocate(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, None)),
        (
            &["cuMemAllocManaged", "cudaMallocManaged"],
            Allocate(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, None),
        ),
        (
            &["cuMemAllocHost", "cuMemHostAlloc", "cudaMallocHost", "cudaHostAlloc"],
            Allocate(CUPTI_ACTIVITY_MEMORY_KIND_PINNED, None),
        ),
        (
            &["cuMemAllocAsync", "cudaMallocAsync"],
            Allocate(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, Some(2)),
        ),
        (
            &["cuMemAllocFromPoolAsync", "cudaMallocFromPoolAsync"],
            Allocate(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, Some(3)),
        ),
        (&["cuMemFree", "cuMemFreeHost", "cudaFree", "cudaFreeHost"], Free(None)),
        (&["cuMemFreeAsync", "cudaFreeAsync"], Free(Some(1))),
        (&["cudaStreamCreate"], Stream(false, false)),
        (&["cuStreamCreate", "cudaStreamCreateWithFlags"], Stream(true, false)),
        (&["cuStreamCreateWithPriority", "cudaStreamCreateWithPriority"], Stream(true, true)),
        (
            &["cuMemPoolCreate", "cudaMemPoolCreate"],
            Pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED),
        ),
        (
            &["cuMemPoolDestroy", "cudaMemPoolDestroy"],
            Pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED),
        ),
        (
            &["cuMemPoolTrimTo", "cudaMemPoolTrimTo"],
            Pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED),
        ),
    ]
};

fn operation(name: &str) -> Option<Operation> {
    let plain = ["_ptsz", "_ptds"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let plain = plain.strip_suffix("_v2").unwrap_or(plain);
    OPERATIONS.iter().find(|(names, _)| names.contains(&plain)).map(|(_, operation)| *operation)
}

/// Records what a call that ends has done.
pub(crate) fn record(call: &Call, event: &DriverEvent, (start, end): (u64, u64)) {
    let wanted = [
        CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        CUPTI_ACTIVITY_KIND_CUDA_EVENT,
        CUPTI_ACTIVITY_KIND_MEMORY2,
        CUPTI_ACTIVITY_KIND_CONTEXT,
        CUPTI_ACTIVITY_KIND_DEVICE,
        CUPTI_ACTIVITY_KIND_STREAM,
        CUPTI_ACTIVITY_KIND_MEMORY_POOL,
    ];
    if !with(|state| wanted.iter().any(|kind| state.kinds.contains(kind))) {
        return;
    }
    devices::record();
    let Some(operation) = operation(&call.name) else {
        return with(|state| context(state, event));
    };
    let done = Done { call, event, start, end };
    if let Operation::Pool(operation) = operation {
        done.pool(operation);
    }
    with(|state| {
        context(state, event);
        match operation {
            Operation::Stream(flags, priority) => done.stream(state, flags, priority),
            Operation::Pool(_) => {}
            Operation::Synchronize(kind, stream, of) => done.synchronize(state, kind, stream, of),
            Operation::Record => done.event(state),
            Operation::Allocate(kind, stream) => done.allocate(state, kind, stream),
            Operation::Free(stream) => done.free(state, stream),
        }
    });
}

/// Records a context at the first call with it.
fn context(state: &mut State, event: &DriverEvent) {
    let (kind, handle) = (CUPTI_ACTIVITY_KIND_CONTEXT, event.context);
    if handle == 0 || !state.kinds.contains(&kind) || !state.recorded_contexts.insert(handle) {
        return;
    }
    let record = Context {
        kind,
        contextId: state.context(handle),
        deviceId: event.device.cast_unsigned(),
        computeApiKind: CUPTI_ACTIVITY_COMPUTE_API_CUDA as u16,
        nullStreamId: state.stream(0) as u16,
        processId: std::process::id().into(),
        ..Context::default()
    };
    state.push(record.to_bytes());
}

/// A call that has ended.
struct Done<'a> {
    call: &'a Call,
    event: &'a DriverEvent,
    start: u64,
    end: u64,
}

impl Done<'_> {
    /// An argument of 8 bytes, as all are of these functions before their flags.
    fn argument(&self, index: usize) -> u64 {
        match self.event.arguments {
            0 => 0,
            block => get(block + 8 * index).unwrap_or(0),
        }
    }

    /// A number of 4 bytes among the arguments, by its place.
    fn word(&self, offset: usize) -> u32 {
        match self.event.arguments {
            0 => 0,
            block => get(block + offset).unwrap_or(0),
        }
    }

    fn stream(&self, state: &mut State, flags: bool, priority: bool) {
        let kind = CUPTI_ACTIVITY_KIND_STREAM;
        let handle = get::<u64>(self.argument(0) as usize);
        if self.event.status != 0 || !state.kinds.contains(&kind) {
            return;
        }
        let Ok(handle) = handle else { return };
        let flag = match flags && self.word(8) != 0 {
            true => CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING,
            false => CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT,
        };
        let priority = if priority { self.word(12).cast_signed().clamp(-5, 0) } else { 0 };
        let record = Stream {
            kind,
            contextId: state.context(self.event.context),
            streamId: state.stream(handle),
            priority: priority.cast_unsigned(),
            flag,
            correlationId: self.call.correlation,
        };
        state.push(record.to_bytes());
    }

    /// Records what was done with a pool, of which the driver is asked: the state is not locked.
    fn pool(&self, operation: u32) {
        let kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
        if self.event.status != 0 || !with(|state| state.kinds.contains(&kind)) {
            return;
        }
        let pool = match operation {
            CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED => {
                get::<u64>(self.argument(0) as usize).unwrap_or(0)
            }
            _ => self.argument(0),
        };
        let is_trimmed = operation == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED;
        let [threshold, size, used] = devices::pool(pool);
        let record = MemoryPool {
            kind,
            memoryPoolOperationType: operation,
            memoryPoolType: CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL,
            correlationId: self.call.correlation,
            processId: std::process::id(),
            deviceId: self.event.device.cast_unsigned(),
            minBytesToKeep: if is_trimmed { self.argument(1) } else { 0 },
            address: pool,
            size,
            releaseThreshold: threshold,
            timestamp: self.end,
            utilizedSize: used,
            ..MemoryPool::default()
        };
        with(|state| state.push(record.to_bytes()));
    }

    fn synchronize(
        &self,
        state: &mut State,
        r#type: u32,
        stream: Option<usize>,
        event: Option<usize>,
    ) {
        let kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
        if !state.kinds.contains(&kind) {
            return;
        }
        let none = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
        let stream = stream.map(|index| state.stream(self.argument(index)));
        let event = event.map(|index| state.event(self.argument(index)));
        let record = Synchronization {
            kind,
            r#type,
            start: self.start,
            end: self.end,
            correlationId: self.call.correlation,
            contextId: state.context(self.event.context),
            streamId: stream.unwrap_or(none),
            cudaEventId: event.map_or(none, |(number, _)| number),
            cudaEventSyncId: event.map_or(0, |(_, records)| records),
            returnValue: self.event.status.cast_unsigned(),
            pad: 0,
        };
        state.push(record.to_bytes());
    }

    fn event(&self, state: &mut State) {
        let kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
        if self.event.status != 0 {
            return;
        }
        // The records of an event are counted, so that one knows which is waited for.
        let (number, records) = state.event_recorded(self.argument(0));
        if !state.kinds.contains(&kind) {
            return;
        }
        let record = CudaEvent {
            kind,
            correlationId: self.call.correlation,
            contextId: state.context(self.event.context),
            streamId: state.stream(self.argument(1)),
            eventId: number,
            deviceId: self.event.device.cast_unsigned(),
            cudaEventSyncId: records,
            ..CudaEvent::default()
        };
        state.push(record.to_bytes());
    }

    fn allocate(&self, state: &mut State, memory: u32, stream: Option<usize>) {
        if self.event.status == 0
            && let Ok(address) = get::<u64>(self.argument(0) as usize)
        {
            let bytes = self.argument(1);
            state.allocations.insert(address, (memory, bytes));
            self.memory(
                state,
                (CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, memory),
                stream,
                address,
                bytes,
            );
        }
    }

    fn free(&self, state: &mut State, stream: Option<usize>) {
        let address = self.argument(0);
        if self.event.status == 0 && address != 0 {
            let (memory, bytes) = state.allocations.remove(&address).unwrap_or((0, 0));
            self.memory(
                state,
                (CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, memory),
                stream,
                address,
                bytes,
            );
        }
    }

    fn memory(
        &self,
        state: &mut State,
        (operation, memory): (u32, u32),
        stream: Option<usize>,
        address: u64,
        bytes: u64,
    ) {
        let kind = CUPTI_ACTIVITY_KIND_MEMORY2;
        if !state.kinds.contains(&kind) {
            return;
        }
        let record = Memory {
            kind,
            memoryOperationType: operation,
            memoryKind: memory,
            correlationId: self.call.correlation,
            address,
            bytes,
            timestamp: self.end,
            processId: std::process::id(),
            deviceId: self.event.device.cast_unsigned(),
            contextId: state.context(self.event.context),
            streamId: stream.map_or(0, |index| state.stream(self.argument(index))),
            isAsync: stream.is_some().into(),
            ..Memory::default()
        };
        state.push(record.to_bytes());
    }
}
