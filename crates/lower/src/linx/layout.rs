//! Memory of a lowered kernel: variables, shared and local memory, the frame; and what the launch
//! makes constant.

use crate::Missing;
use crate::legal::Launch;
use crate::variables::needed;
use ir::mods::Space;
use ir::module::VarId;
use ir::{Function, LocId, Module, Op, Sreg, Symbol};

/// Where the data section begins.
pub(super) const DATA: u64 = 0x10_0000;
/// Where it must end: the stack begins there.
const END: u64 = 0x0f00_0000;
/// Most arguments: a register each.
pub(super) const ARGUMENTS: usize = 8;
/// Imports of a body.
pub(super) const IMPORTS: usize = 12;

/// Places in memory.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) launch: Launch,
    /// Addresses of variables; of shared ones, from the start of shared memory.
    variables: Vec<u64>,
    locals: Vec<u64>,
    /// Their contents, from the start of the data section.
    pub(super) data: Vec<u8>,
    pub(super) shared: u64,
    pub(super) local: u64,
    /// Bytes of local memory of a thread.
    pub(super) local_bytes: u64,
    pub(super) frame: u64,
    /// Whether the one argument is the address of the parameter block: there are more parameters
    /// than registers, or larger ones.
    pub(super) block: bool,
    /// Imports that are arguments: the first ones.
    pub(super) arguments: usize,
    /// Imports.
    pub(super) shared_import: Option<usize>,
    pub(super) frame_import: usize,
    pub(super) zero_import: usize,
    /// If the kernel has barriers: the import that says behind which of them a body begins, and
    /// those that are the CTA in x, y, z.
    pub(super) phase_import: Option<usize>,
    /// Whether warps have barriers of their own.
    pub(super) warps: bool,
    cta_imports: [Option<usize>; 3],
    /// The first import that is free.
    pub(super) free_import: usize,
}

fn aligned(at: u64, align: u64) -> u64 {
    at.next_multiple_of(align.max(1))
}

impl Layout {
    pub(super) fn new(
        module: &Module,
        function: &Function,
        launch: Launch,
    ) -> Result<Self, Missing> {
        let missing = |what: String| Missing { what, loc: function.loc };
        let params = function.params();
        let block = params.len() > ARGUMENTS || params.iter().any(|param| param.size > 8);
        let arguments = if block { 1 } else { params.len() };
        let mut variables = Vec::new();
        let mut data = Vec::new();
        let mut shared = 0;
        let needed = needed(module, function);
        for (index, var) in module.vars.iter().enumerate() {
            if !needed.contains(&VarId(index as u32)) {
                variables.push(0);
                continue;
            }
            let align = u64::from(var.align).max(16);
            if var.space == Space::Shared {
                let at = aligned(shared, align);
                variables.push(at);
                // Dynamic ones begin where the others end.
                shared = if var.dynamic { at } else { at.saturating_add(var.size) };
                continue;
            }
            if !var.relocs.is_empty() {
                return Err(missing("variables that hold addresses".to_owned()));
            }
            let at = aligned(DATA + data.len() as u64, align);
            if at.saturating_add(var.size) > END {
                return Err(missing("memory for its variables".to_owned()));
            }
            variables.push(at);
            data.resize((at - DATA) as usize, 0);
            data.extend_from_slice(&var.init);
            data.resize((at + var.size - DATA) as usize, 0);
        }
        let is_shared = |id: &VarId| module.vars[id.index()].space == Space::Shared;
        let any_shared = needed.iter().any(is_shared);
        let start = aligned(DATA + data.len() as u64, 16);
        let local = aligned(start.saturating_add(shared).saturating_add(launch.shared.into()), 16);
        let local_bytes = aligned(u64::from(function.frame_size()), 8);
        let frame = aligned(
            local.saturating_add(local_bytes.saturating_mul(u64::from(launch.threads()))),
            16,
        );
        if frame > END {
            return Err(missing("memory for shared and local variables".to_owned()));
        }
        let insts = || function.blocks.iter().flat_map(|block| &block.insts);
        let warps = insts().any(|inst| inst.op == Op::WarpSync);
        let barriers = warps || insts().any(|inst| inst.op == Op::Bar);
        let mut next = arguments + 2;
        let mut import = |wanted: bool| {
            next += usize::from(wanted);
            wanted.then_some(next - 1)
        };
        let shared_import = import(any_shared);
        let phase_import = import(barriers);
        let cta_imports = launch.grid.map(|size| import(barriers && size > 1));
        Ok(Self {
            launch,
            variables,
            locals: function.locals.iter().map(|l| u64::from(l.offset)).collect(),
            data,
            shared: start,
            local,
            local_bytes,
            frame,
            block,
            arguments,
            frame_import: arguments,
            zero_import: arguments + 1,
            shared_import,
            phase_import,
            warps,
            cta_imports,
            free_import: next,
        })
    }

    /// The number that a symbol is in its space.
    pub(super) fn address(&self, symbol: Symbol, offset: i64) -> Option<u64> {
        let base = match symbol {
            Symbol::Var(var) => *self.variables.get(var.index())?,
            Symbol::Local(local) => *self.locals.get(local as usize)?,
            Symbol::Param(_) | Symbol::Func(_) => return None,
        };
        Some(base.wrapping_add_signed(offset))
    }

    /// What a special register holds in every thread of the launch.
    pub(super) fn constant(&self, sreg: Sreg) -> Option<u64> {
        let Launch { grid, block, .. } = self.launch;
        Some(u64::from(match sreg {
            Sreg::NtidX => block[0],
            Sreg::NtidY => block[1],
            Sreg::NtidZ => block[2],
            Sreg::NctaidX => grid[0],
            Sreg::NctaidY => grid[1],
            Sreg::NctaidZ => grid[2],
            Sreg::TidY if block[1] == 1 => 0,
            Sreg::TidZ if block[2] == 1 => 0,
            Sreg::CtaidX if grid[0] == 1 => 0,
            Sreg::CtaidY if grid[1] == 1 => 0,
            Sreg::CtaidZ if grid[2] == 1 => 0,
            _ => return None,
        }))
    }

    /// What is a special register in all instructions.
    pub(super) fn fixed(&self, sreg: Sreg) -> Option<String> {
        let Launch { grid, block, .. } = self.launch;
        let [x, y, z] = self.cta_imports.map(|import| import.map(|n| format!("ri{n}")));
        match sreg {
            Sreg::TidX if block[1] == 1 && block[2] == 1 => Some("lc0".to_owned()),
            Sreg::CtaidX if self.phase_import.is_some() => x,
            Sreg::CtaidY if self.phase_import.is_some() => y,
            Sreg::CtaidZ if self.phase_import.is_some() => z,
            Sreg::CtaidX => Some("lc1".to_owned()),
            Sreg::CtaidY if grid[2] == 1 => Some("lc2".to_owned()),
            _ => None,
        }
    }

    /// Fails if a frame of so many bytes does not fit.
    pub(super) fn fits(&self, frame: u64) -> Result<(), Missing> {
        let end = self.frame.saturating_add(frame);
        let what = || format!("room for a frame of {frame} bytes");
        if end > END { Err(Missing { what: what(), loc: LocId(0) }) } else { Ok(()) }
    }
}
