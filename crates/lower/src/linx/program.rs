//! The text: the scalar block, the header, the body, the data.

use super::code::{Body, When};
use super::layout::{IMPORTS, Layout};
use super::queues::{Bases, GROUP_BYTES, Line, Placed, place};
use super::{Assembly, names};
use crate::Missing;
use ir::module::Param;
use ir::{Function, LocId, Module, Ty};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Registers for imports that are not arguments.
const REGISTERS: [&str; 10] = ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "x0", "x1", "x2"];
/// Lines of a body beyond which a branch on a mask may not reach its target.
const NEAR: usize = 400;

/// Writes the program.
pub(super) fn write(
    module: &Module,
    function: &Function,
    (layout, body): (&Layout, &Body),
    line: &dyn Fn(LocId) -> Option<String>,
) -> Result<Assembly, Missing> {
    let next = layout.free_import;
    if next > IMPORTS {
        let what = format!("more than {IMPORTS} imports");
        return Err(Missing { what, loc: function.loc });
    }
    // Registers that other imports leave.
    let fixed = next - layout.arguments - usize::from(layout.phase_import.is_some());
    let room = REGISTERS.len().saturating_sub(fixed);
    let mut pool = Vec::new();
    let mut constants = FxHashMap::default();
    let most = room.min(IMPORTS - next);
    for (index, _) in names::constants(body).into_iter().take(most) {
        constants.insert(index, format!("ri{}", next + pool.len()));
        pool.push(body.constants[index as usize]);
    }
    let stride = 8 * u64::from(layout.launch.threads());
    let bases = Bases { frame: format!("ri{}", layout.frame_import), stride, constants };
    let placed = place(body, &bases);
    if u64::from(placed.group_slots) * 8 > GROUP_BYTES {
        let what = format!("room for {} masks", placed.group_slots);
        return Err(Missing { what, loc: function.loc });
    }
    let frame = match placed.lane_slots + placed.group_slots {
        0 => 0,
        _ => GROUP_BYTES + stride * u64::from(placed.lane_slots),
    };
    layout.fits(frame)?;
    let mut out = String::new();
    header(&mut out, function, layout, &pool);
    let comment = |loc: LocId| line(loc).or_else(|| source(module, loc));
    let (instructions, bytes) = lines(&mut out, &comment, &placed);
    data(&mut out, layout, frame);
    Ok(Assembly {
        text: out,
        instructions,
        bytes,
        slots: placed.lane_slots,
        stores: placed.stores,
        reloads: placed.reloads,
        masks: placed.masks,
        block: layout.block,
    })
}

/// A name that the assembler takes.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

fn parameter(out: &mut String, index: usize, param: &Param) {
    let ty = match (param.ty, param.size) {
        (Ty::F32, _) => " f32",
        (Ty::F64, _) => " f64",
        (_, 4) => " u32",
        (_, 2) => " u16",
        (_, 1) => " u8",
        _ => "",
    };
    let name = identifier(&param.name);
    let _ = writeln!(out, "        .param  {name}{ty}{:16}# a{index}, ri{index}", "");
}

fn header(out: &mut String, function: &Function, layout: &Layout, pool: &[u64]) {
    let launch = layout.launch;
    let [gx, gy, gz] = launch.grid;
    let [bx, by, bz] = launch.block;
    let _ = writeln!(
        out,
        "# {} for LinxISA v0.4: grid {gx} x {gy} x {gz}, block {bx} x {by} x {bz}",
        function.name
    );
    if layout.block {
        let what = "the address of the parameter block";
        let _ = writeln!(out, "        .param  {BLOCK}{:16}# a0, ri0: {what}", "");
    } else {
        for (index, param) in function.params().iter().enumerate() {
            parameter(out, index, param);
        }
    }
    let _ = writeln!(out, "_start: C.BSTART.STD");
    let mut imports: Vec<String> = (0..layout.arguments).map(|i| format!("a{i}")).collect();
    let mut registers = REGISTERS.iter();
    let mut bind = |out: &mut String, value: u64, what: &str| {
        let behind = what.starts_with("behind");
        let register = if behind { BEHIND } else { registers.next().copied().unwrap_or(BEHIND) };
        set(out, register, value, &format!("ri{}: {what}", imports.len()));
        imports.push(register.to_owned());
        register
    };
    bind(out, layout.frame, "the frame");
    bind(out, 0, "the base of addresses");
    if layout.shared_import.is_some() {
        bind(out, layout.shared, "shared memory");
    }
    let phased = layout.phase_import.is_some();
    if phased {
        bind(out, 0, "behind which barrier");
    }
    let cta: Vec<&str> = (0..3)
        .filter(|&axis| phased && launch.grid[axis] > 1)
        .map(|axis| bind(out, 0, ["the CTA in x", "in y", "in z"][axis]))
        .collect();
    for &value in pool {
        bind(out, value, "a constant");
    }
    // Counts beyond the immediate's 17 bits come from a register that no import needs.
    let rows = if phased { [1, 1] } else { [u64::from(gx), u64::from(gy) * u64::from(gz)] };
    let sizes = [u64::from(launch.threads()), rows[0], rows[1]];
    let mut dims = Vec::new();
    for (index, &size) in sizes.iter().enumerate() {
        if size >= 1 << 17 {
            let register = ["ra", "s8", "x3"][index];
            set(out, register, size, "a bound");
            dims.push(format!("        B.DIM   {register}, 0, ->lb{index}"));
        } else {
            dims.push(format!("        B.DIM   zero, {size}, ->lb{index}"));
        }
    }
    if phased {
        let _ = writeln!(out, "cta:    C.BSTART.STD\n        c.movi  0, ->{PHASE}");
        let _ = writeln!(out, "phase:  C.BSTART.STD");
        let _ =
            writeln!(out, "        addi    {PHASE}, 0, ->{BEHIND}\n        c.movi  0, ->{PHASE}");
        if layout.warps {
            let _ = writeln!(out, "met:    C.BSTART.STD\n        c.movi  0, ->{MET}");
        }
    }
    let _ = writeln!(out, "        BSTART.MSEQ 0\n        B.TEXT  body");
    if layout.warps && imports.len() <= 3 {
        // A second descriptor for the second export.
        imports.resize(4, "zero".to_owned());
    }
    for (index, three) in imports.chunks(3).enumerate() {
        let export = match index {
            0 if phased => PHASE,
            1 if layout.warps => MET,
            _ => "",
        };
        let _ = writeln!(out, "        B.IOR   [{}],[{export}]", three.join(","));
    }
    for dim in dims {
        let _ = writeln!(out, "{dim}");
    }
    if phased {
        if layout.warps {
            let _ = writeln!(out, "        C.BSTART.STD\n        addi    {MET}, 0, ->{BEHIND}");
            let _ = writeln!(out, "        BSTART.STD COND, met\n        setc.nei {MET}, 0");
        }
        let _ = writeln!(out, "        BSTART.STD COND, phase\n        setc.nei {PHASE}, 0");
        let sizes = launch.grid.into_iter().filter(|&size| size > 1);
        for (register, size) in cta.iter().zip(sizes) {
            let _ =
                writeln!(out, "        C.BSTART.STD\n        addi    {register}, 1, ->{register}");
            let _ = writeln!(out, "        hl.liu  {size:#x}, ->ra");
            let _ = writeln!(out, "        BSTART.STD COND, cta\n        setc.ltu {register}, ra");
            let _ = writeln!(out, "        C.BSTART.STD\n        c.movi  0, ->{register}");
        }
    }
    let _ = writeln!(out, "        C.BSTART.STD\n        c.movi  0, ->a0\n        ebreak  0\n");
}

/// The name of the parameter of a program whose one argument is the address of the block of all.
const BLOCK: &str = "parameters";
/// The register of the barrier at which groups have ended, and of the one behind which they begin.
const PHASE: &str = "x3";
/// The register that says whether groups have ended at a barrier of a warp.
const MET: &str = "s8";
const BEHIND: &str = "s0";

/// A register's value.
fn set(out: &mut String, register: &str, value: u64, what: &str) {
    let _ = match value {
        0 => writeln!(out, "        c.movi  0, ->{register}{:16}# {what}", ""),
        _ if value >> 32 == 0 => {
            writeln!(out, "        hl.liu  {value:#x}, ->{register}{:8}# {what}", "")
        }
        _ => writeln!(
            out,
            "        hl.liu  {:#x}, ->t\n        hl.liu  {:#x}, ->t\n        slli    t#1, 32, ->t\n        or      t#1, t#3, ->{register}{:8}# {what}",
            value & 0xffff_ffff,
            value >> 32,
            ""
        ),
    };
}

/// Bytes of an instruction, by its text.
fn bytes(text: &str) -> u64 {
    match text {
        _ if text.starts_with("v.") => 8,
        _ if text.starts_with("hl.") => 6,
        _ => 4,
    }
}

/// The body's lines; returns how many instructions and bytes they are.
fn lines(
    out: &mut String,
    comment: &dyn Fn(LocId) -> Option<String>,
    placed: &Placed,
) -> (usize, u64) {
    let far = placed.lines.len() > NEAR;
    let (mut count, mut size) = (0, 0);
    let (mut at, mut said) = (LocId(0), String::new());
    let _ = writeln!(out, "body:");
    for line in &placed.lines {
        let text = match line {
            Line::Label(id, name) => {
                let _ = writeln!(out, "L{id}:    # {name}");
                continue;
            }
            Line::Code(text, loc) => {
                if *loc != at && *loc != LocId(0) {
                    at = *loc;
                    let text = comment(at).unwrap_or_default();
                    if !text.is_empty() && text != said {
                        let _ = writeln!(out, "        # {text}");
                        said = text;
                    }
                }
                text.clone()
            }
            Line::Branch(when, tested, to) => {
                let over = match (when, far) {
                    (When::Empty(_), true) => Some("b.ne"),
                    (When::Filled(_), true) => Some("b.eq"),
                    _ => None,
                };
                if let Some(name) = over {
                    let _ = writeln!(out, "        {name}    {tested}, zero, .+8");
                    (count, size) = (count + 1, size + 4);
                }
                match when {
                    When::Always => format!("j       L{to}"),
                    When::NoLane => format!("b.z     L{to}"),
                    When::AnyLane => format!("b.nz    L{to}"),
                    When::Empty(_) | When::Filled(_) if far => format!("j       L{to}"),
                    When::Empty(_) => format!("b.eq    {tested}, zero, L{to}"),
                    When::Filled(_) => format!("b.ne    {tested}, zero, L{to}"),
                }
            }
        };
        (count, size) = (count + 1, size + bytes(&text));
        let _ = writeln!(out, "        {text}");
    }
    let _ = writeln!(out, "        C.BSTOP");
    (count + 1, size + 2)
}

/// The line of the source, by the line table.
fn source(module: &Module, loc: LocId) -> Option<String> {
    let line = module.loc(loc).line.as_ref()?;
    let file = module.files.get(line.file as usize).map_or("", String::as_str);
    let file = file.rsplit('/').next().unwrap_or(file);
    Some(format!("{file}:{}", line.line))
}

fn data(out: &mut String, layout: &Layout, frame: u64) {
    let end = layout.frame + frame;
    let start = super::layout::DATA;
    if end == start {
        return;
    }
    let _ = writeln!(out, "\n        .data");
    let used = layout.data.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let mut zeros = 0;
    for bytes in layout.data[..used].chunks(16) {
        if bytes.iter().all(|&byte| byte == 0) {
            zeros += bytes.len();
            continue;
        }
        if zeros > 0 {
            let _ = writeln!(out, "        .space  {zeros}");
            zeros = 0;
        }
        let words: Vec<String> = bytes.iter().map(|b| format!("{b:#x}")).collect();
        let _ = writeln!(out, "        .byte   {}", words.join(", "));
    }
    let rest = end - start - used as u64;
    if rest > 0 {
        let _ = writeln!(
            out,
            "        .space  {rest}{:8}# variables of zeros, shared and local memory, the frame",
            ""
        );
    }
}
