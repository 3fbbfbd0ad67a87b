//! Assembly for LinxISA v0.4.
//!
//! A kernel is made legal ([`crate::legal`], its second stage alone: cells have 64 bits) and put
//! under the EXEC mask (`flow::passes::exec_mask`); then each instruction becomes some of a body.
//!
//! What always holds:
//!
//! - EXEC is `p`; saved masks are values of the group, in `t` and `u` or in the frame;
//! - a cell holds a value of fewer bits with zeros above it; a predicate is 0 or 1;
//! - a value of a lane is pushed to `vt`, `vu`, `vm` or `vn`; one that is read where no queue has
//!   it is stored when it is written, and loaded again: the frame has a cell of each thread of a
//!   CTA for each such value, and a word for each such mask;
//! - `lc0` is the thread of the CTA, `lc1` the CTA in x, `lc2` the CTA in y and z; the sizes of the
//!   launch stand in the header and are constants of the body;
//! - arguments are imports, then come the frame's address, zero (the base of accesses at addresses
//!   of lanes), shared memory, and the constants that are used most;
//! - a body with barriers is run for one CTA after the other, and ends at each barrier, of the CTA
//!   or of a warp; so no two lanes need be of one group;
//! - groups run in order (MSEQ), for they share the frame, and in it a group stands alone.

mod barriers;
mod code;
mod compute;
mod layout;
mod masks;
mod memory;
mod names;
mod program;
mod queues;
mod regions;
mod select;
mod target;

use crate::legal::{self, Launch, legalise_wide_for};
use crate::{Missing, Refused};
use code::{Body, Item, Val};
use flow::passes::exec_mask::{Options, exec_mask};
use ir::module::TermKind;
use ir::{FuncId, Function, LocId, VerifiedModule};
use layout::Layout;
use rustc_hash::{FxHashMap, FxHashSet};
use select::Select;

pub use target::TARGET;

/// A program for the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// Text for its assembler.
    pub text: String,
    /// Instructions of the body.
    pub instructions: usize,
    /// Bytes of the body.
    pub bytes: u64,
    /// Values of lanes in the frame.
    pub slots: u32,
    /// Stores to the frame.
    pub stores: u32,
    /// Loads from the frame.
    pub reloads: u32,
    /// Masks that the body saves.
    pub masks: u32,
    /// Whether its one argument is the address of the parameter block, its parameter `parameters`.
    pub block: bool,
}

/// Lowers a kernel for a launch; `line` is the line of the program at a place, for comments.
///
/// # Errors
/// [`Refused`]: what the kernel needs and the machine lacks.
pub fn linx(
    module: &VerifiedModule,
    kernel: FuncId,
    launch: Launch,
    line: &dyn Fn(LocId) -> Option<String>,
) -> Result<Assembly, Refused> {
    let missing = |what: &str| Missing { what: what.to_owned(), loc: LocId(0) };
    if !module.functions.get(kernel.index()).is_some_and(Function::is_kernel) {
        return Err(missing("such kernel").into());
    }
    // One CTA runs at a time.
    let collectives =
        legal::Layout { blocks: 1, bytes: 1 << 26, lanes: 1, turns: false, collectives: true };
    let (legal, launch) = legalise_wide_for(module, kernel, TARGET, launch, collectives)?;
    let function = &legal.functions[kernel.index()];
    let unwritten = names::unwritten(function);
    let (masked, _) = exec_mask(&legal, kernel, Options::default())?;
    let function = &masked.functions[kernel.index()];
    let layout = Layout::new(&masked, function, launch)?;
    let body = body(function, &layout, &unwritten)?;
    Ok(program::write(&masked, function, (&layout, &body), line)?)
}

/// The body before its values have places.
fn body(
    function: &Function,
    layout: &Layout,
    unwritten: &FxHashSet<ir::LaneReg>,
) -> Result<Body, Missing> {
    let alias = names::aliases(function, layout, unwritten);
    let blocks = &function.blocks;
    let mut select = Select {
        function,
        layout,
        body: Body {
            lanes: function.regs.len() as u32,
            groups: function.warp_regs.len() as u32,
            ..Body::default()
        },
        reads: names::reads(function),
        alias,
        compares: FxHashMap::default(),
        parts: FxHashMap::default(),
        alive: None,
        barriers: None,
        labels: blocks.len() as u32 + 1,
        loc: function.loc,
    };
    let end = blocks.len() as u32;
    let waits = barriers::waits(function)?;
    let bars = waits.len();
    if bars > 0 {
        select.enter_again(&waits, function.warp_regs.len() as u32, end);
    }
    let early = |kind: &TermKind| matches!(kind, TermKind::Ret(Some(_)) | TermKind::Exit(Some(_)));
    if blocks.iter().any(|block| early(&block.term.kind)) {
        select.alive = Some(select.save());
    }
    let mut zeroed: Vec<_> = unwritten.iter().copied().collect();
    zeroed.sort_unstable();
    for reg in zeroed {
        select.op_imm("v.addi", (code::Src::zero(), "ud"), 0, (Val::Lane(reg.0), 'd'));
    }
    let targets: FxHashSet<u32> =
        blocks.iter().flat_map(|b| b.term.targets()).map(|to| to.0).collect();
    for (index, block) in blocks.iter().enumerate() {
        if targets.contains(&(index as u32)) {
            select.body.items.push(Item::Label(index as u32, block.name.clone()));
        }
        select.block(block)?;
        select.end(&block.term, end, index + 1 == blocks.len())?;
    }
    select.finish_again();
    let mut body = select.body;
    let goes = |item: &Item| matches!(item, Item::Branch(_, to) if *to == end);
    if bars == 0 && body.items.iter().any(goes) {
        body.items.push(Item::Label(end, "end".to_owned()));
    }
    names::remove_unread(&mut body);
    Ok(body)
}
