//! The bundled launches: what a machine stores is what the engine stores, bit by bit.
//!
//! Each launch of a launch file runs on the engine and, from the same memory, on a machine.

#![allow(clippy::print_stderr, reason = "`LIST` tells how far they are")]

use inputs::argspec::{ArgSpec, ArgValue, BuildContext};
use inputs::array::Array;
use inputs::bind::bind;
use inputs::kernel::{KernelInfo, ParamInfo, ParamKind};
use inputs::launch::{LaunchEntry, LaunchFile};
use inputs::limits::Limits;
use ir::module::Signature;
use ir::{FuncId, VerifiedModule};
use lower::legal::Launch;
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use vm::{Engine, Program, catalogued, load_variables};

/// Where the first buffer lies; addresses of all have 32 bits.
const FIRST: u64 = 0x2000_0000;

/// Most blocks of a launch in x, y, z: the same on the engine and the machine.
const MOST: [u32; 3] = [2, 2, 1];

/// A buffer: its name, address and contents.
pub(crate) type Buffers = Vec<(String, u64, Vec<u8>)>;

/// One launch.
pub(crate) struct Run<'a> {
    pub(crate) module: &'a VerifiedModule,
    pub(crate) kernel: FuncId,
    pub(crate) launch: Launch,
    /// The parameter block.
    pub(crate) params: Vec<u8>,
    /// Memory before.
    pub(crate) before: Buffers,
}

/// The folder of bundled kernels.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

/// Files below a folder whose names end with `.end`, in order.
pub(crate) fn files_below(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut entries: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    entries.sort();
    let mut out = Vec::new();
    for path in entries {
        if path.is_dir() {
            out.extend(files_below(&path, end));
        } else if path.extension().is_some_and(|e| e == end) {
            out.push(path);
        }
    }
    out
}

/// Launch files of PTX programs.
pub(crate) fn files() -> Vec<PathBuf> {
    let mut out = files_below(&root(), "toml");
    out.retain(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.contains("machine = \"ptx\"") && text.contains("[[launch]]")
    });
    out
}

/// The module of a PTX file; `None` if it is not lowered to the IR.
pub(crate) fn lowered(path: &Path) -> Option<VerifiedModule> {
    let text = std::fs::read_to_string(path).unwrap();
    let (tree, errors) = ptx::parse(isa::FileId::default(), &text);
    assert!(!errors.has_errors(), "{}", path.display());
    let (module, _) = ptx::lower(&tree, ptx::Select::All);
    module.map(|module| VerifiedModule::new(module).unwrap())
}

/// The module of a PTX file that is lowered to the IR.
pub(crate) fn module(path: &Path) -> VerifiedModule {
    lowered(path).unwrap()
}

/// The kernels of a module.
pub(crate) fn kernels(module: &VerifiedModule) -> impl Iterator<Item = FuncId> + '_ {
    let ids = (0..module.functions.len()).filter(|&i| module.functions[i].is_kernel());
    ids.map(|index| FuncId(index as u32))
}

fn info(function: &ir::Function) -> KernelInfo {
    let param = |p: &ir::module::Param| ParamInfo {
        name: p.name.clone(),
        spelling: p.ty.name().to_owned(),
        offset: p.offset.into(),
        size: p.size.into(),
        kind: match p.ty {
            _ if p.size != p.ty.bytes() => ParamKind::Aggregate,
            ty if ty.is_float() => ParamKind::Float,
            ir::Ty::B8 | ir::Ty::B16 | ir::Ty::B32 | ir::Ty::B64 => ParamKind::Bits,
            _ => ParamKind::Integer,
        },
    };
    let params = function.params().iter().map(param).collect();
    KernelInfo { name: function.name.clone(), params, ..KernelInfo::default() }
}

/// The launches of a launch file: the program's path, the kernel's name if it is given.
pub(crate) fn launches(file: &Path) -> (PathBuf, Vec<(Option<String>, Launch)>) {
    let text = std::fs::read_to_string(file).unwrap();
    let parsed = LaunchFile::parse(&text, isa::FileId::default()).unwrap();
    let module = file.parent().unwrap().join(&parsed.module.value);
    let named =
        |entry: &LaunchEntry| (entry.kernel.as_ref().map(|k| k.value.clone()), dimensions(entry));
    (module, parsed.launches.iter().map(named).collect())
}

fn dimensions(entry: &LaunchEntry) -> Launch {
    let size = |value: &Option<inputs::launch::Located<[u64; 3]>>| {
        value.as_ref().map_or([1; 3], |v| v.value.map(|n| n as u32))
    };
    Launch {
        grid: size(&entry.grid),
        block: size(&entry.block),
        shared: entry.shared.as_ref().map_or(0, |s| s.value as u32),
    }
}

/// The folder of a file, below [`root`].
pub(crate) fn folder_of(file: &Path) -> String {
    let name = file.strip_prefix(root()).unwrap_or(file);
    name.parent().map_or_else(String::new, |folder| folder.display().to_string())
}

/// Returns how many launches have the outcome that they should have: the instructions of their
/// programs. Left out are folders with these names, and those that are not asked for; `ONLY` names
/// some, `LIST` prints all.
pub(crate) fn count_equal(
    left_out: &[&str],
    asked: impl Fn(&str) -> bool,
    mut outcome: impl FnMut(&Run<'_>, Option<&Buffers>) -> Result<usize, String>,
) -> usize {
    let only = std::env::var("ONLY").unwrap_or_default();
    let (mut wrong, mut same) = (Vec::new(), 0);
    for file in &files() {
        let name = folder_of(file);
        let open = left_out.iter().any(|open| name.contains(open));
        if open || !asked(&name) || !name.contains(&only) {
            continue;
        }
        let began = std::time::Instant::now();
        for (kernel, outcome) in each_launch(file, &mut outcome) {
            if std::env::var_os("LIST").is_some() {
                eprintln!("{name} {kernel}: {outcome:?} in {:?}", began.elapsed());
            }
            match outcome {
                Ok(_) => same += 1,
                Err(why) if why.starts_with("WRONG") || why.starts_with("FAULT") => {
                    wrong.push(format!("{name} {kernel}: {why}"));
                }
                Err(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    same
}

/// Runs a launch file on the engine, each launch on `machine` too; returns what that said of each
/// launch, with the name of its kernel.
pub(crate) fn each_launch<T>(
    file: &Path,
    mut machine: impl FnMut(&Run<'_>, Option<&Buffers>) -> T,
) -> Vec<(String, T)> {
    let folder = file.parent().unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let mut launches = LaunchFile::parse(&text, isa::FileId::default()).unwrap();
    let module = module(&folder.join(&launches.module.value));
    let context = BuildContext { directory: folder, run_seed: 1, limits: Limits::default() };
    let mut at = FIRST;
    let mut buffers: Buffers = Vec::new();
    for buffer in &launches.buffers {
        let name = buffer.name.value.clone();
        let array = buffer.spec.build(&name, context).unwrap();
        make_tensor_maps(&mut launches.launches, &name, &array);
        buffers.push((name, at, array.data().to_vec()));
        at += (array.data().len() as u64 + 4096).next_multiple_of(4096);
    }
    let mut out = Vec::new();
    for entry in &launches.launches {
        let kernel = kernel(&module, entry);
        let params = params(&module, kernel, &entry.args, &mut buffers, context, &mut at);
        let launch = first_blocks(&module.functions[kernel.index()], dimensions(entry));
        let run = Run { module: &module, kernel, launch, params, before: buffers.clone() };
        let after = on_engine(&run);
        let name = module.functions[kernel.index()].name.clone();
        out.push((name, machine(&run, after.as_ref())));
        match after {
            Some(after) => buffers = after,
            None => break,
        }
    }
    out
}

/// Makes the maps of a buffer among the arguments.
fn make_tensor_maps(launches: &mut [LaunchEntry], name: &str, array: &Array) {
    for arg in launches.iter_mut().flat_map(|launch| &mut launch.args) {
        if let ArgValue::Tensor(spec) = &mut arg.value
            && spec.buffer.name == name
        {
            spec.make(array.ty(), array.shape(), arg.span).unwrap();
        }
    }
}

/// The launch with its first blocks, which are as good as all: whole clusters of them.
fn first_blocks(function: &ir::Function, whole: Launch) -> Launch {
    if std::env::var_os("WHOLE").is_some() {
        return whole;
    }
    let cluster = match &function.signature {
        Signature::Kernel { bounds, .. } => bounds.cluster.unwrap_or([1; 3]),
        Signature::Device { .. } => [1; 3],
    };
    let first = |i: usize| whole.grid[i].min(MOST[i]).next_multiple_of(cluster[i]);
    Launch { grid: [0, 1, 2].map(first), ..whole }
}

fn kernel(module: &VerifiedModule, entry: &LaunchEntry) -> FuncId {
    let named = |f: &ir::Function| entry.kernel.as_ref().is_none_or(|k| k.value == f.name);
    let found = module.functions.iter().position(|f| f.is_kernel() && named(f));
    FuncId(found.unwrap() as u32)
}

fn params(
    module: &VerifiedModule,
    kernel: FuncId,
    args: &[ArgSpec],
    buffers: &mut Buffers,
    context: BuildContext<'_>,
    at: &mut u64,
) -> Vec<u8> {
    let mut args = args.to_vec();
    for (index, arg) in args.iter_mut().enumerate() {
        if let ArgValue::Buffer(spec) = &arg.value {
            let name = format!("argument {index} of {}", buffers.len());
            let array = spec.build(&name, context).unwrap();
            buffers.push((name.clone(), *at, array.data().to_vec()));
            *at += (array.data().len() as u64 + 4096).next_multiple_of(4096);
            arg.value = ArgValue::Reference(inputs::argspec::BufferRef { name, offset: 0 });
        }
    }
    let known: BTreeMap<&str, u64> =
        buffers.iter().map(|(name, at, _)| (name.as_str(), *at)).collect();
    let info = info(&module.functions[kernel.index()]);
    bind(&info, &args, None, &mut |reference, _| Ok(known[reference.name.as_str()])).unwrap()
}

/// Maps buffers with their contents.
pub(crate) fn map(memory: &mut MemoryMap, buffers: &Buffers) {
    for (name, at, content) in buffers {
        let bytes = (content.len() as u64).max(1);
        memory.map_at(name, Addr(*at), bytes, Permission::ReadWrite).unwrap();
        memory.host_write(Addr(*at), content).unwrap();
    }
}

/// What buffers hold now.
pub(crate) fn read(memory: &MemoryMap, buffers: &Buffers) -> Buffers {
    let content = |(name, at, before): &(String, u64, Vec<u8>)| {
        let mut now = vec![0; before.len()];
        memory.read_bytes(Addr(*at), &mut now).unwrap();
        (name.clone(), *at, now)
    };
    buffers.iter().map(content).collect()
}

/// Memory after a launch on the engine; `None` if it does not end.
fn on_engine(run: &Run<'_>) -> Option<Buffers> {
    let program = Program::link((**run.module).clone()).unwrap();
    let mechanism = converge::Entry::find("ipdom").unwrap();
    let mut launch = vm::Launch::<1>::new(run.kernel, catalogued(mechanism));
    map(&mut launch.memory, &run.before);
    launch.variables = load_variables(&program, &mut launch.memory).unwrap();
    launch.params = run.params.clone();
    (launch.grid, launch.block) = (run.launch.grid, run.launch.block);
    launch.dynamic_shared = run.launch.shared.into();
    let mut state = Engine::<1>.launch(&program, launch).unwrap();
    let end = Engine::<1>.run_unobserved(&program, &mut state, 50_000_000);
    (end == Step::Done).then(|| read(state.memory(), &run.before))
}

/// The first difference of two memories.
pub(crate) fn difference(expected: &Buffers, found: &Buffers) -> Option<String> {
    for ((name, _, a), (_, _, b)) in expected.iter().zip(found) {
        if let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) {
            let word = at / 4 * 4;
            let show = |x: &[u8]| format!("{:02x?}", &x[word..x.len().min(word + 8)]);
            return Some(format!("{name}+{word:#x}: {} is not {}", show(b), show(a)));
        }
    }
    None
}
