//! `nvPTXCompiler.h`. NVIDIA's library is a static one; `crates/culibs/link.sh` makes an archive of
//! its name, whose functions find these.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_abi::host::{Ptr, get, put, put_bytes, put_i32, put_u64};
use culibs::handles::Handles;

use super::jit_link::own_version;
use super::{enter, input, words};
use crate::CompileResult;
use crate::ptx_compiler::{Compiler, FlowCallback, Outcome, Part, architectures, versions};

/// Compilers by handle.
static COMPILERS: Handles<Arc<Mutex<Compiler>>> = Handles::new(0x7074_7800_0000);

/// The most options that are read.
const MOST_OPTIONS: i32 = 1024;

/// Exports functions, and declares `compiler_functions`.
macro_rules! functions {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) => $body:expr;)+) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($arg: $ty),*) -> i32 {
                enter(CompileResult::ERROR_INTERNAL.0, || {
                    let end: Outcome = $body;
                    end.map_err(|status| status.0)
                })
            }
        )+

        /// Returns the names of the functions.
        #[must_use]
        pub fn compiler_functions() -> Vec<&'static str> {
            vec![$(stringify!($name)),+]
        }
    };
}

functions! {
    nvPTXCompilerGetVersion(major: Ptr, minor: Ptr) => version(major, minor);
    nvPTXCompilerGetNumSupportedVersions(out: Ptr) => count(out, versions().len());
    nvPTXCompilerGetSupportedVersions(out: Ptr) => list(out, versions().as_flattened());
    nvPTXCompilerGetNumSupportedArchs(out: Ptr) => count(out, architectures().len());
    nvPTXCompilerGetSupportedArchs(out: Ptr) => list(out, &architectures());
    nvPTXCompilerCreate(out: Ptr, len: usize, text: Ptr) => create(out, len, text);
    nvPTXCompilerDestroy(compiler: Ptr) => destroy(compiler);
    nvPTXCompilerCompile(compiler: u64, count: i32, options: Ptr)
        => compile(compiler, count, options);
    nvPTXCompilerGetCompiledProgramSize(compiler: u64, out: Ptr)
        => size(compiler, Part::Program, out);
    nvPTXCompilerGetCompiledProgram(compiler: u64, out: Ptr) => copy(compiler, Part::Program, out);
    nvPTXCompilerGetErrorLogSize(compiler: u64, out: Ptr) => size(compiler, Part::Errors, out);
    nvPTXCompilerGetErrorLog(compiler: u64, out: Ptr) => copy(compiler, Part::Errors, out);
    nvPTXCompilerGetInfoLogSize(compiler: u64, out: Ptr) => size(compiler, Part::Info, out);
    nvPTXCompilerGetInfoLog(compiler: u64, out: Ptr) => copy(compiler, Part::Info, out);
    nvPTXCompilerSetFlowCallback(
        compiler: u64,
        callback: Option<extern "C" fn(usize, usize) -> i32>,
        payload: usize,
    ) => set_callback(compiler, callback, payload);
}

/// The status of an access to the client's memory that is not possible, also at null.
fn invalid(_: cuda_abi::Status) -> CompileResult {
    CompileResult::ERROR_INVALID_INPUT
}

fn with<R>(handle: u64, body: impl FnOnce(&mut Compiler) -> Outcome<R>) -> Outcome<R> {
    let known = COMPILERS.get(handle);
    let compiler = known.map_err(|_| CompileResult::ERROR_INVALID_COMPILER_HANDLE)?;
    let mut compiler: MutexGuard<'_, Compiler> =
        compiler.lock().unwrap_or_else(PoisonError::into_inner);
    body(&mut compiler)
}

fn version(major: Ptr, minor: Ptr) -> Outcome {
    let (number, last) = own_version();
    put(major, &number).map_err(invalid)?;
    put(minor, &last).map_err(invalid)
}

fn count(out: Ptr, number: usize) -> Outcome {
    put_i32(out, number as i32).map_err(invalid)
}

fn list(out: Ptr, numbers: &[i32]) -> Outcome {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    put_bytes(out, &bytes).map_err(invalid)
}

fn create(out: Ptr, len: usize, text: Ptr) -> Outcome {
    let text = input(text, len).map_err(invalid)?;
    let handle = COMPILERS.add(Arc::new(Mutex::new(Compiler::new(text))));
    put_u64(out, handle).map_err(|status| {
        // It has just been added.
        let _ = COMPILERS.remove(handle);
        invalid(status)
    })
}

fn destroy(at: Ptr) -> Outcome {
    let unknown = CompileResult::ERROR_INVALID_COMPILER_HANDLE;
    let handle: u64 = get(at).map_err(|_| unknown)?;
    COMPILERS.remove(handle).map_err(|_| unknown)?;
    put_u64(at, 0).map_err(invalid)
}

fn compile(handle: u64, count: i32, options: Ptr) -> Outcome {
    let callback = with(handle, |compiler| Ok(compiler.callback))?;
    if !(0..=MOST_OPTIONS).contains(&count) {
        return Err(CompileResult::ERROR_INVALID_INPUT);
    }
    let words = words(count as usize, options).map_err(invalid)?;
    flow(callback)?;
    let end = with(handle, |compiler| compiler.compile(&words));
    // What was cancelled has no program, even if that has just been made.
    flow(callback).inspect_err(|_| {
        let _ = with(handle, |compiler| {
            compiler.forget();
            Ok(())
        });
    })?;
    end
}

/// Asks the client whether to go on. The compiler is not locked meanwhile.
fn flow(callback: Option<FlowCallback>) -> Outcome {
    match callback {
        Some(callback) if (callback.function)(callback.payload, 0) == 1 => {
            Err(CompileResult::ERROR_CANCELLED)
        }
        _ => Ok(()),
    }
}

fn size(handle: u64, part: Part, out: Ptr) -> Outcome {
    let bytes = with(handle, |compiler| compiler.part(part))?;
    put_u64(out, bytes.len() as u64).map_err(invalid)
}

fn copy(handle: u64, part: Part, out: Ptr) -> Outcome {
    let bytes = with(handle, |compiler| compiler.part(part))?;
    if bytes.is_empty() {
        return Ok(());
    }
    put_bytes(out, &bytes).map_err(invalid)
}

fn set_callback(
    handle: u64,
    function: Option<extern "C" fn(usize, usize) -> i32>,
    payload: usize,
) -> Outcome {
    with(handle, |compiler| {
        let function = function.ok_or(CompileResult::ERROR_INVALID_INPUT)?;
        compiler.callback = Some(FlowCallback { function, payload });
        Ok(())
    })
}
