//! Every instruction of the table of forms, as text.

use std::fmt::Write as _;

use ir::mods::Kind as IrKind;

use crate::ast::Type;
use crate::spelling::{
    Arg, Form, Kind, Special, Spelled, Target, Val, all_forms, fragment, group_product,
    matrix_mods, register_type, spell, tiles,
};

/// Registers of every type, and something to name.
const HEAD: &str = "
    .reg .pred %pred<9>;
    .reg .b8 %b8_<9>; .reg .u8 %u8_<9>; .reg .s8 %s8_<9>;
    .reg .b16 %b16_<9>; .reg .u16 %u16_<9>; .reg .s16 %s16_<9>; .reg .f16 %f16_<9>;
    .reg .b32 %b32_<9>; .reg .u32 %u32_<9>; .reg .s32 %s32_<9>; .reg .f32 %f32_<9>; .reg .f16x2 %f16x2_<9>;
    .reg .b64 %b64_<9>; .reg .u64 %u64_<9>; .reg .s64 %s64_<9>; .reg .f64 %f64_<9>;
    .reg .b128 %b128_<9>;
";

/// A register of a type, as the assembler wants it declared.
pub(super) fn register(ty: Type, number: usize) -> String {
    let word = match ty {
        Type::Pred => return format!("%pred{number}"),
        Type::Bf16 | Type::E4m3x2 | Type::E5m2x2 => "b16",
        Type::Bf16x2 | Type::Tf32 | Type::U16x2 | Type::S16x2 => "b32",
        Type::F32x2 => "b64",
        other => other.word(),
    };
    format!("%{word}_{number}")
}

pub(super) fn value_ty(types: &[Type], val: Val) -> Type {
    let first = types.first().copied().unwrap_or(Type::B32);
    match val {
        Val::T => first,
        Val::T2 => types.get(1).copied().unwrap_or(first),
        Val::Wide => match first {
            Type::U16 => Type::U32,
            Type::S16 => Type::S32,
            Type::S32 => Type::S64,
            _ => Type::U64,
        },
        Val::P | Val::PNot => Type::Pred,
        Val::B32 | Val::Imm => Type::B32,
        Val::B64 => Type::B64,
    }
}

fn vector(spelled: &Spelled, from: usize) -> String {
    let length = match spelled.word(Kind::Vector) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some("v8") => 8,
        _ => return register(spelled.ty(), from),
    };
    let parts: Vec<_> = (0..length).map(|k| register(spelled.ty(), k)).collect();
    format!("{{{}}}", parts.join(", "))
}

/// Operands of instructions on matrices.
fn matrices(s: &Spelled, optional: bool) -> Option<String> {
    let registers = |ty: Type, count: usize, from: usize| {
        let parts: Vec<_> = (0..count).map(|k| register(ty, (from + k) % 9)).collect();
        format!("{{{}}}", parts.join(", "))
    };
    let stride = if optional { ", %b32_8" } else { "" };
    Some(match s.form.target {
        Target::Special(Special::Mma) => {
            let product = ir::matrix::product(&matrix_mods(s)?)?;
            let [d, a, b, c] = [product.d(), product.a(), product.b(), product.c()];
            let list = |f: simt::matrix::Fragment, from| {
                registers(register_type(f.element), f.registers(), from)
            };
            let all = format!("{}, {}, {}, {}", list(d, 0), list(a, 1), list(b, 2), list(c, 3));
            match product.metadata() {
                Some(metadata) => format!("{all}, %b32_8, {}", metadata.selectors() - 1),
                None => all,
            }
        }
        Target::Special(Special::LdMatrix | Special::StMatrix) => {
            let (_, count) = tiles(s);
            match s.form.opcode {
                "ldmatrix" => format!("{}, [%b32_8]", registers(Type::B32, count, 0)),
                _ => format!("[%b32_8], {}", registers(Type::B32, count, 0)),
            }
        }
        Target::Special(Special::WmmaLoad) => {
            let f = fragment(s)?;
            let list = registers(register_type(f.element), f.registers(), 0);
            format!("{list}, [%b64_0]{stride}")
        }
        _ => {
            let f = fragment(s)?;
            let list = registers(register_type(f.element), f.registers(), 0);
            format!("[%b64_0], {list}{stride}")
        }
    })
}

/// Operands of products of warp groups: A by descriptor, or in registers.
fn warp_group(s: &Spelled, registers: bool) -> Option<String> {
    match s.word(Kind::GroupAction) {
        Some("wait_group") => return Some("1".to_owned()),
        Some("mma_async") => {}
        _ => return Some(String::new()),
    }
    let (_, product) = group_product(s)?;
    let list = |ty: Type, count: usize| {
        let parts: Vec<_> = (0..count).map(|k| register(ty, k % 9)).collect();
        format!("{{{}}}", parts.join(", "))
    };
    let d = list(register_type(product.elements[0]), product.registers());
    let a = if registers { list(Type::B32, 4) } else { "%b64_0".to_owned() };
    let mut text = format!("{d}, {a}, %b64_1");
    if let Some(metadata) = product.metadata() {
        let _ = write!(text, ", %b32_8, {}", metadata.selectors() - 1);
    }
    text += ", %pred1";
    if !product.elements[1].is_integer() {
        text += ", 1, -1";
    }
    if product.elements[1].bits() == 16 {
        text += if registers { ", 1" } else { ", 0, 1" };
    }
    Some(text)
}

/// Operands of a video instruction: whole words, or with all optional parts of the opcode.
fn video(s: &Spelled, optional: bool) -> String {
    let [d, a, b, c] = [0, 1, 2, 3].map(|k| register(Type::U32, k));
    let third = s.has(Kind::SecondaryOp);
    match s.form.opcode {
        "vmad" if optional && !s.has(Kind::PlusOne) => format!("{d}, -{a}.h0, {b}.b3, {c}"),
        "vmad" if optional => format!("{d}, {a}.h0, {b}.b3, {c}"),
        "vmad" => format!("{d}, {a}, {b}, {c}"),
        opcode if opcode.ends_with('2') && optional => format!("{d}.h1, {a}.h30, {b}.h12, {c}"),
        opcode if opcode.ends_with('4') && optional => {
            format!("{d}.b31, {a}.b7013, {b}.b2245, {c}")
        }
        opcode if opcode.ends_with(['2', '4']) => format!("{d}, {a}, {b}, {c}"),
        _ if third && optional => format!("{d}, {a}.h1, {b}.b0, {c}"),
        _ if third => format!("{d}, {a}, {b}, {c}"),
        _ if optional => format!("{d}.b2, {a}.h1, {b}.b0, {c}"),
        _ => format!("{d}, {a}, {b}"),
    }
}

/// Operands of a form; `None` for forms without an example.
fn operands(form: &Form, s: &Spelled, optional: bool) -> Option<String> {
    let types = &s.types;
    match form.target {
        Target::Special(Special::Mov) if s.has(Kind::Vector) => {
            return Some(format!("{}, {}", vector(s, 0), vector(s, 0)));
        }
        Target::Special(Special::Mov) => {
            return Some(format!("{}, {}", register(s.ty(), 0), register(s.ty(), 1)));
        }
        Target::Special(Special::Bra) => return Some("target".to_owned()),
        Target::Special(Special::Brx) => return Some("%b32_0, table".to_owned()),
        Target::Special(Special::Call) => return Some("callee".to_owned()),
        Target::Special(Special::Copy) => {
            return Some(format!(
                "[%b32_0], [%b64_0+16], 16{}",
                if optional { ", %b32_1" } else { "" }
            ));
        }
        Target::Special(Special::Bulk) => {
            let (global, shared) = ("[%b64_0]", "[%b32_0]");
            let store = s.has(Kind::BulkGroup);
            let load = s.has(Kind::GlobalSpace) && !store;
            let (to, from) = match () {
                () if store => (global, shared),
                () if load => (shared, global),
                () => (shared, shared),
            };
            let mut out = format!("{to}, {from}, %b32_1");
            if s.has(Kind::Trimmed) {
                out.push_str(", %b32_3, %b32_4");
            }
            if !store {
                out.push_str(", [%b32_2]");
            }
            if s.has(Kind::Multicast) || s.has(Kind::ByteMask) {
                out.push_str(", %b16_0");
            }
            return Some(out);
        }
        Target::Special(Special::Tensor) => return Some(tensor(s)),
        Target::Special(Special::Texture | Special::TextureQuery | Special::Surface) => {
            return Some(texture(form, s, optional));
        }
        Target::Special(Special::ReplaceField) => return Some(field(s)),
        Target::Special(Special::RegisterCount) => return Some("64".to_owned()),
        Target::Special(Special::CopyMap) => return Some("[%b64_0], [%b32_0], 128".to_owned()),
        Target::Special(Special::ProxyFence) => {
            let map = s.has(Kind::MapGeneric) && s.word(Kind::OneWay) == Some("acquire");
            return Some(if map { "[%b64_0], 128" } else { "" }.to_owned());
        }
        Target::Special(Special::AsyncStore) => {
            let bits = if s.has(Kind::ClusterShared) { 32 } else { 64 };
            return Some(format!("[%b{bits}_0], {}, [%b{bits}_1]", vector(s, 0)));
        }
        Target::Special(Special::CopyGroup) => {
            let waits = s.word(Kind::CopyGroup) == Some("wait_group");
            let all = s.word(Kind::CopyGroup) == Some("wait_all");
            // Of bulk copies, there is no `wait_all`, and only waits read.
            if s.has(Kind::Bulk) && (all || s.has(Kind::ReadOnly) && !waits) {
                return None;
            }
            return Some(if waits { "1".to_owned() } else { String::new() });
        }
        Target::Special(
            Special::Mma
            | Special::LdMatrix
            | Special::StMatrix
            | Special::WmmaLoad
            | Special::WmmaStore,
        ) => return matrices(s, optional),
        Target::Special(Special::Wgmma) => return warp_group(s, optional),
        Target::Special(Special::Policy) => {
            return Some(match () {
                () if s.has(Kind::Range) => "%b64_0, [%b64_1], %b32_1, 4096".to_owned(),
                () if s.has(Kind::PolicyCvt) => "%b64_0, %b64_1".to_owned(),
                () if optional => "%b64_0, 0.5".to_owned(),
                () => "%b64_0".to_owned(),
            });
        }
        // A barrier must be initialised before use, by an instruction of its own.
        Target::Special(Special::Mbarrier)
            if form.args.contains(&Arg::A) || form.args.contains(&Arg::Rest) =>
        {
            return None;
        }
        Target::Special(Special::Video) => return Some(video(s, optional)),
        Target::Special(Special::Nop) => {
            return Some(match form.opcode {
                "prefetch" | "prefetchu" => "[%b64_0]".to_owned(),
                "applypriority" | "discard" => "[%b64_0], 128".to_owned(),
                "pmevent" => "1".to_owned(),
                "cp" => "[%b64_0], %b32_0".to_owned(),
                _ => String::new(),
            });
        }
        _ => {}
    }
    let cas = s.word(Kind::Ir(IrKind::AtomOp)) == Some("cas");
    let mut out = Vec::new();
    for (k, arg) in form.args.iter().enumerate() {
        out.push(match *arg {
            Arg::O(Val::T) if form.opcode == "atom" && !cas => continue,
            Arg::O(Val::T) if form.opcode == "atom" => register(s.ty(), k),
            Arg::O(Val::B64) => continue,
            Arg::O(_) if !optional => continue,
            Arg::D(val) | Arg::Ds(val) | Arg::O(val) | Arg::S(val) if val != Val::Imm => {
                // Member masks name the lanes that are there.
                register(value_ty(types, val), k)
            }
            Arg::Dp(val) if !optional => register(value_ty(types, val), k),
            Arg::Dp(val) | Arg::Dpp(val) => {
                format!("{}|{}", register(value_ty(types, val), k), register(Type::Pred, 7))
            }
            Arg::A => "[%b64_0]".to_owned(),
            Arg::V => vector(s, k),
            _ => "8".to_owned(),
        });
    }
    Some(out.join(", "))
}

/// All products of types for a form.
pub(super) fn type_choices(form: &Form) -> Vec<Vec<Type>> {
    (0..form.types).fold(vec![Vec::new()], |all, position| {
        let mut out = Vec::new();
        for choice in &all {
            for ty in form.type_set(position) {
                let mut choice = choice.clone();
                choice.push(*ty);
                out.push(choice);
            }
        }
        out
    })
}

/// All choices of a word for each required kind, then with each word of each optional kind in turn,
/// then with all.
fn word_choices(form: &Form) -> Vec<Vec<&'static str>> {
    let mut base = vec![Vec::new()];
    // In the order in which the row has them, which is that of the PTX ISA.
    for kind in form.kinds().filter(|kind| form.required.has(*kind)) {
        base = base
            .iter()
            .flat_map(|choice: &Vec<&str>| {
                form.words(kind).iter().map(move |w| [choice.as_slice(), &[*w]].concat())
            })
            .collect();
    }
    let mut out = base.clone();
    for choice in base {
        for kind in form.optional {
            out.extend(form.words(*kind).iter().map(|w| [choice.as_slice(), &[*w]].concat()));
        }
        let firsts: Vec<&str> =
            form.optional.iter().filter_map(|k| form.words(*k).first().copied()).collect();
        out.push([choice.as_slice(), &firsts].concat());
    }
    out
}

/// Operands of a tensor copy.
fn tensor(s: &Spelled) -> String {
    let rank = s.word(Kind::TensorRank).map_or(1, |word| usize::from(word.as_bytes()[0] - b'0'));
    let numbered = |name: &str, count: usize| {
        let all: Vec<String> = (0..count).map(|i| format!("%{name}_{}", i % 3)).collect();
        format!("{{{}}}", all.join(", "))
    };
    let rows = s.has(Kind::TensorGather) || s.has(Kind::TensorScatter);
    let at = format!("[%b64_0, {}]", numbered("b32", if rows { 5 } else { rank }));
    let (store, prefetch) = (s.has(Kind::BulkGroup), s.has(Kind::Prefetch));
    let mut out = match () {
        () if store => format!("{at}, [%b32_0]"),
        () if prefetch => at,
        () => format!("[%b32_0], {at}, [%b32_1]"),
    };
    if s.word(Kind::TensorLoad) == Some("im2col") {
        let _ = write!(out, ", {}", numbered("b16", rank - 2));
    }
    if s.has(Kind::TensorWide) {
        let _ = write!(out, ", {}", numbered("b16", 2));
    }
    if s.has(Kind::Multicast) {
        out.push_str(", %b16_0");
    }
    out
}

/// Operands of textures and surfaces: with an offset, if there may be one.
fn texture(form: &Form, s: &Spelled, optional: bool) -> String {
    let geometry = s.word(Kind::Ir(IrKind::Geometry)).unwrap_or("1d");
    let geometry = ir::mods::Geometry::from_word(geometry).unwrap_or(ir::mods::Geometry::D1);
    let list = |ty: Type, count: usize, layer: bool| {
        let padded = if count == 3 { 4 } else { count };
        let part = |k| register(if layer && k == 0 { Type::U32 } else { ty }, k);
        format!("{{{}}}", (0..padded).map(part).collect::<Vec<_>>().join(", "))
    };
    let at = |ty| list(ty, geometry.coordinates(), geometry.is_layered());
    match form.opcode {
        "tex" | "tld4" => {
            let ty = s.source_ty();
            let mut out = format!("{}, [%b64_0, {}]", vector(s, 0), at(ty));
            let derivatives = list(Type::F32, geometry.dimensions(), false);
            match s.word(Kind::Ir(IrKind::Lod)) {
                Some("level") => _ = write!(out, ", {}", register(ty, 5)),
                Some("grad") => _ = write!(out, ", {derivatives}, {derivatives}"),
                _ => {}
            }
            if optional && !geometry.is_cube() {
                _ = write!(out, ", {}", list(Type::S32, geometry.dimensions(), false));
            }
            out
        }
        "txq" | "suq" if s.has(Kind::QueryLevel) => "%b32_0, [%b64_0], %b32_1".to_owned(),
        "txq" | "suq" => "%b32_0, [%b64_0]".to_owned(),
        "suld" => format!("{}, [%b64_0, {}]", vector(s, 0), at(Type::S32)),
        _ => format!("[%b64_0, {}], {}", at(Type::S32), vector(s, 0)),
    }
}

/// Operands of a change of a tensor map.
fn field(s: &Spelled) -> String {
    let place = if s.word(Kind::MapSpace) == Some("shared::cta") { "%b32_0" } else { "%b64_0" };
    let value = match s.word(Kind::MapField) {
        Some("global_address") => "%b64_1",
        Some("rank") => "%b32_1",
        Some("global_stride") => "0, %b64_1",
        Some("box_dim" | "global_dim" | "element_stride") => "0, %b32_1",
        _ => "1",
    };
    format!("[{place}], {value}")
}

/// Brings words of a bulk copy into the order in which they are written: where to, where from.
fn sort_spaces(words: &mut [(&str, Option<Type>)]) {
    let stores = words.iter().any(|(word, _)| *word == "bulk_group");
    let tensor = words.iter().any(|(word, _)| *word == "tensor");
    words.sort_by_key(|(word, ty)| match *word {
        "reduce" | "async" | "bulk" | "prefetch" | "tensor" => 0,
        "1d" | "2d" | "3d" | "4d" | "5d" => 0,
        "global" if stores => 1,
        "shared::cluster" => 1,
        "shared::cta" => 2,
        "L2" => 3,
        "global" => 3,
        "tile" | "im2col" | "im2col_no_offs" => 5,
        "tile::gather4" | "tile::scatter4" | "im2col::w" | "im2col::w::128" => 5,
        "bulk_group" | "mbarrier::complete_tx::bytes" if tensor => 6,
        "multicast::cluster" if tensor => 7,
        _ => 4 + u32::from(ty.is_some()),
    });
}

/// Every instruction of the table, as text.
#[must_use]
pub fn instructions() -> Vec<(&'static Form, String)> {
    of(all_forms())
}

/// Those of one opcode.
#[must_use]
pub fn instructions_of(opcode: &str) -> Vec<(&'static Form, String)> {
    of(all_forms().filter(|form| form.opcode == opcode))
}

fn of(forms: impl Iterator<Item = &'static Form>) -> Vec<(&'static Form, String)> {
    let mut out = Vec::new();
    for form in forms {
        for types in type_choices(form) {
            for words in word_choices(form) {
                let mut all: Vec<(&str, Option<Type>)> = words.iter().map(|w| (*w, None)).collect();
                all.extend(types.iter().map(|t| (t.word(), Some(*t))));
                if matches!(form.target, Target::Special(Special::Bulk | Special::Tensor)) {
                    sort_spaces(&mut all);
                }
                if form.target == Target::Special(Special::Copy) {
                    // Where from comes last.
                    all.sort_by_key(|(word, _)| *word == "global");
                }
                if matches!(form.target, Target::Special(Special::Texture)) {
                    // `ptxas` wants the level in front of the geometry.
                    all.sort_by_key(|(word, _)| !matches!(*word, "base" | "level" | "grad"));
                }
                let Ok(spelled) = spell(&[form], &all) else { continue };
                for optional in [false, true] {
                    let Some(operands) = operands(form, &spelled, optional) else { continue };
                    let mut text = form.opcode.to_owned();
                    for (word, _) in &all {
                        let _ = write!(text, ".{word}");
                    }
                    let _ = write!(text, " {operands};");
                    if out.last().is_none_or(|(_, last)| *last != text) {
                        out.push((form, text));
                    }
                }
            }
        }
    }
    out
}

/// A file for a target whose one kernel has registers of every type, and these lines.
#[must_use]
pub fn file(target: &str, body: &str) -> String {
    format!(
        ".version 9.5\n.target {target}\n.address_size 64\n.func callee() {{ ret; }}\n\
         .visible .entry k() {{{HEAD}target:\n{body}\ntable: .branchtargets target;\nret;\n}}\n"
    )
}
