//! Callbacks and activities.

use cuda_abi::host::{Ptr, put, put_u64};

use crate::records::{CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME};
use crate::status::{Outcome, Status};
use crate::{activity, callbacks};

/// The version of the interface: that of the header of CUDA 13.2, or of 12.8.
fn version(out: Ptr) -> Outcome {
    let version: u32 = if culibs::driver::own_version() == Some(12) { 26 } else { 130_202 };
    Ok(put(out, &version)?)
}

/// Writes the name of a status.
fn result_string(status: i32, out: Ptr) -> Outcome {
    let name = Status(status).name().ok_or(Status::INVALID_PARAMETER)?;
    Ok(put_u64(out, name.as_ptr().expose_provenance() as u64)?)
}

cuda_abi::exports! {
    enter;
    cuptiGetVersion(out: Ptr) => version(out);
    cuptiGetResultString(status: i32, out: Ptr) => result_string(status, out);
    cuptiGetTimestamp(out: Ptr) => activity::timestamp(out);
    cuptiFinalize() => activity::finalize();
    cuptiGetContextId(context: u64, out: Ptr) => activity::context_number(context, out);
    cuptiGetStreamId(_context: u64, stream: u64, out: Ptr) => activity::stream_number(stream, out);
    cuptiGetStreamIdEx(_context: u64, stream: u64, _per_thread: u8, out: Ptr)
        => activity::stream_number(stream, out);

    // Callbacks.
    cuptiSupportedDomains(count: Ptr, table: Ptr) => callbacks::domains(count, table);
    cuptiSubscribe(out: Ptr, function: Ptr, data: Ptr) => callbacks::subscribe(out, function, data);
    cuptiUnsubscribe(subscriber: u64) => callbacks::unsubscribe(subscriber);
    cuptiEnableCallback(enable: u32, subscriber: u64, domain: u32, number: u32)
        => callbacks::enable(enable, subscriber, domain, number);
    cuptiEnableDomain(enable: u32, subscriber: u64, domain: u32)
        => callbacks::enable_domain(enable, subscriber, domain);
    cuptiEnableAllDomains(enable: u32, subscriber: u64)
        => callbacks::enable_all(enable, subscriber);
    cuptiGetCallbackState(out: Ptr, subscriber: u64, domain: u32, number: u32)
        => callbacks::is_enabled(out, subscriber, domain, number);
    cuptiGetCallbackName(domain: u32, number: u32, out: Ptr)
        => callbacks::name(domain, number, out);

    // Activities.
    cuptiActivityEnable(kind: u32) => activity::enable(kind);
    cuptiActivityDisable(kind: u32) => activity::disable(kind);
    cuptiActivityEnableContext(_context: u64, kind: u32) => activity::enable(kind);
    cuptiActivityDisableContext(_context: u64, kind: u32) => activity::disable(kind);
    cuptiActivityEnableDriverApi(number: u32, enable: u8)
        => activity::enable_function(CUPTI_ACTIVITY_KIND_DRIVER, number, enable);
    cuptiActivityEnableRuntimeApi(number: u32, enable: u8)
        => activity::enable_function(CUPTI_ACTIVITY_KIND_RUNTIME, number, enable);
    cuptiActivityRegisterCallbacks(request: Ptr, complete: Ptr)
        => activity::register(request, complete);
    cuptiActivityRegisterTimestampCallback(function: Ptr) => activity::set_clock(function);
    cuptiActivityFlushAll(_flags: u32) => activity::flush();
    cuptiActivityFlush(_context: u64, _stream: u32, _flags: u32) => activity::flush();
    cuptiActivityGetNumDroppedRecords(_context: u64, _stream: u32, out: Ptr)
        => activity::dropped(out);
    cuptiActivityGetNextRecord(buffer: Ptr, used: usize, record: Ptr)
        => activity::next_record(buffer, used, record);
    cuptiActivityGetStructSize(kind: u32, _version: u32, out: Ptr)
        => activity::record_size(kind, out);
    cuptiActivitySetAttribute(attribute: i32, len: Ptr, value: Ptr)
        => activity::set_attribute(attribute, len, value);
    cuptiActivityGetAttribute(attribute: i32, len: Ptr, value: Ptr)
        => activity::attribute(attribute, len, value);
    cuptiActivityPushExternalCorrelationId(kind: u32, id: u64) => activity::push_external(kind, id);
    cuptiActivityPopExternalCorrelationId(kind: u32, out: Ptr) => activity::pop_external(kind, out);
}
