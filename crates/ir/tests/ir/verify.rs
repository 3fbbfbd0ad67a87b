//! Every rule of the verifier: what keeps it and what violates it.

use ir::module::{Inlined, Reloc, Signature, SourceLine};
use ir::verify::{Place, Rule, VerifiedModule, VerifyErrors, verify};
use ir::{
    BlockId, FuncId, InlinedId, Inst, LaneReg, LocId, Module, Op, Operand, Reg, RegTy, Symbol,
    TermKind, Ty, WarpReg,
};
use isa::FileId;
use std::collections::BTreeSet;

#[track_caller]
fn module(text: &str) -> Module {
    ir::text::parse(FileId(0), text).unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

/// A device function with registers of all types around some lines.
fn function(lines: &str) -> String {
    format!(
        "global @g size 16 align 4
const @c size 16 align 4
shared @s size 16 align 4
kernel @k(n: u32) {{
  exit
}}
func @two(%a: b32, %b: pred) -> (%r: b64) {{
  ret
}}
func @f() {{
  reg %a, %b: b32
  reg %h: b16
  reg %c: b8
  reg %x, %y: b64
  reg %q: b128
  reg %p, %p2: pred
  warp %m, %m2: mask
  warp %u: b32
  warp %up: pred
  local @l size 16
  spills 2
entry:
{lines}
  ret
}}
"
    )
}

fn rules(errors: &VerifyErrors) -> BTreeSet<Rule> {
    errors.iter().map(|e| e.violation.rule()).collect()
}

#[track_caller]
fn verifies(text: &str) {
    let module = module(text);
    let errors = verify(&module).err().map(|e| e.to_string()).unwrap_or_default();
    assert_eq!(errors, "", "{text}");
}

/// Lines that violate exactly one rule.
const BAD_LINES: &[(Rule, &str)] = &[
    (Rule::Guard, "@%a nop"),
    (Rule::Guard, "@%a ret\nnext:"),
    (Rule::Guard, "@%p %m = exec_and_save %p2"),
    (Rule::Guard, "@%p %x = call @two(1, true)"),
    (Rule::Guard, "@%p cb_wait 0"),
    (Rule::Guard, "@%p split %p2"),
    (Rule::Guard, "@%p %u = add.u32 %u, 1"),
    (Rule::Modifier, "%p = setp.u32 %a, %b"),
    (Rule::Modifier, "%x = cvta.u64 %x"),
    (Rule::Modifier, "%a = add.rn.u32 %a, %b"),
    (Rule::Modifier, "%a = add.ftz.u32 %a, %b"),
    (Rule::Modifier, "%a = add.sat.u32 %a, %b"),
    (Rule::Modifier, "%x = add.sat.f64 %x, %y"),
    (Rule::Modifier, "%a = add.rzi.f32 %a, %b"),
    (Rule::Modifier, "%a = div.approx.u32 %a, %b"),
    (Rule::Modifier, "%p = setp.lo.s32 %a, %b"),
    (Rule::Modifier, "%p = setp.lt.b32 %a, %b"),
    (Rule::Modifier, "%p = setp.equ.u32 %a, %b"),
    (Rule::Modifier, "%p = vote.ballot %p, 3"),
    (Rule::Modifier, "%a = redux.cas.u32 %a, 3"),
    (Rule::Modifier, "%a = atom.and.f32 [%x], %a"),
    (Rule::Modifier, "%a = atom.inc.s32 [%x], %a"),
    (Rule::Modifier, "%a = atom.exch.u32 [%x], %a"),
    (Rule::Modifier, "%a = atom.min.f32 [%x], %a"),
    (Rule::Modifier, "%x = sqrt.approx.f64 %x"),
    (Rule::Modifier, "%a = sqrt.approx.rn.f32 %a"),
    (Rule::Count, "%a = cvt.f32.f16x2 %a"),
    (Rule::Count, "%a = min.s32 %a, %b, %a"),
    (Rule::Count, "%a = cvt.f16x2.f16 %h"),
    (Rule::Result, "_ = exec_read"),
    (Rule::Count, "%a = add.u32 %a"),
    (Rule::Count, "%a = add.u32 %a, %b, %a"),
    (Rule::Count, "add.u32 %a, %b"),
    (Rule::Count, "%a = nop"),
    (Rule::Count, "%x = pack.b64.b32 %a, %b, %a"),
    (Rule::Count, "%a, %b = unpack.b32.b32 %a"),
    (Rule::Count, "%a, %b, %x = ld.u32 [%x]"),
    (Rule::Count, "st.b128 [%x], %q, %q, %q, %q"),
    (Rule::Count, "_, _, %a = atomv.add.f32 [%x], %a, %b"),
    (Rule::Count, "%a = atom.cas.b32 [%x], %a"),
    (Rule::Count, "%a = atom.add.u32 [%x], %a, %b"),
    (Rule::Count, "%a = shfl.idx.b32 %a, 0, 31"),
    (Rule::Count, "%a = shfl.idx.nomask.b32 %a, 0, 31, 3"),
    (Rule::Count, "%p = vote.all %p"),
    (Rule::Count, "%a = ballot.nomask %p, 3"),
    (Rule::Count, "%a, %p = match.b32 %a, 3"),
    (Rule::Count, "%a, %p = lop3.b32 %a, %b, %a, 1, %p2"),
    (Rule::Count, "%p = setp.lt.and.u32 %a, %b"),
    (Rule::Count, "%p = setp.lt.u32 %a, %b, %p"),
    (Rule::Count, "%h = cvt.rn.f16.f32 %a, %b"),
    (Rule::Count, "bar.arrive 0"),
    (Rule::Count, "%a = bar.sync 0"),
    (Rule::Count, "%a = bar.popc 0"),
    (Rule::Operand, "%a = add.u32 %h, %b"),
    (Rule::Operand, "%a = add.u32 %x, %b"),
    (Rule::Operand, "%a = add.u32 %p, %b"),
    (Rule::Operand, "%p = and.pred %a, %p"),
    (Rule::Operand, "%m = and.mask %m, %u"),
    (Rule::Operand, "st.u32 [%x], %h"),
    (Rule::Operand, "%a = ld.u32 [%h]"),
    (Rule::Operand, "exec_write %a"),
    (Rule::Operand, "%m = maskof %a"),
    (Rule::Operand, "pspill %a, %p"),
    (Rule::Operand, "split %up"),
    (Rule::Operand, "exec_andn %up"),
    (Rule::Operand, "%a = cvt.u32.u16 %c"),
    (Rule::Operand, "maskbr.any %a, entry\nnext:"),
    (Rule::Operand, "maskbr.any %u, entry\nnext:"),
    (Rule::Operand, "switch %x, [entry]\nnext:"),
    (Rule::Result, "%h = add.u32 %a, %b"),
    (Rule::Result, "%x = add.u32 %a, %b"),
    (Rule::Result, "%h = ld.u32 [%x]"),
    (Rule::Result, "%a, %a = ld.u32 [%x]"),
    (Rule::Result, "%a = exec_read"),
    (Rule::Result, "%p = bar.popc 0, %p"),
    (Rule::Result, "%a = bar.and 0, %p"),
    (Rule::Immediate, "%a = lop3.b32 %a, %a, %a, 256"),
    (Rule::Immediate, "bar.sync 16"),
    (Rule::Immediate, "cb_wait 65536"),
    (Rule::Immediate, "%x = alloca.u64 %x, 3"),
    (Rule::Symbol, "%h = mov.b16 @g"),
    (Rule::Symbol, "%a = ld.shared.u32 [@g]"),
    (Rule::Symbol, "%a = ld.u32 [@s]"),
    (Rule::Symbol, "%a = ld.global.u32 [@l]"),
    (Rule::Symbol, "%a = ld.u32 [@f]"),
    (Rule::Uniform, "%u = ld.global.u32 [@g]"),
    (Rule::Uniform, "%u = ballot %p, 3"),
    (Rule::Uniform, "%u = add.u32 %u, %a"),
    (Rule::Uniform, "%u = sreg.b32 laneid"),
    (Rule::Call, "call @k()"),
    (Rule::Call, "%x = call @two(1)"),
    (Rule::Call, "call @two(1, true)"),
    (Rule::Call, "%x = call @two(%x, true)"),
    (Rule::Call, "%a = call @two(%a, true)"),
    (Rule::Call, "calli %x(%m)"),
    (Rule::Memory, "st.const.u32 [%x], %a"),
    (Rule::Memory, "%a = atom.add.local.u32 [%x], 1"),
    (Rule::Memory, "%x = cvta.generic.u64 %x"),
    (Rule::Memory, "%a = ld.param.u32 [%x]"),
    (Rule::Memory, "%a = ld.release.gpu.u32 [%x]"),
    (Rule::Memory, "st.acquire.gpu.u32 [%x], %a"),
    (Rule::Memory, "%a = ld.gpu.u32 [%x]"),
    (Rule::Memory, "fence.relaxed.gpu"),
    (Rule::SpillSlot, "pspill 2, %p"),
    (Rule::SpillSlot, "%p = pfill 2"),
    (Rule::Target, "switch %a, []\nnext:"),
];

#[test]
fn lines_that_violate_one_rule() {
    for &(rule, lines) in BAD_LINES {
        let text = function(lines);
        let errors = verify(&module(&text)).expect_err(lines);
        let found: Vec<_> = rules(&errors).into_iter().map(Rule::name).collect();
        assert_eq!(found, [rule.name()], "{lines}: {errors}");
    }
}

/// What can only be said by changing a module.
fn bad_modules() -> Vec<(Rule, Module)> {
    let good = module(&function("  br next\nnext:\n  %a = add.u32 %a, 1"));
    let f = 2;
    let change = |rule: Rule, change: &dyn Fn(&mut Module)| {
        let mut m = good.clone();
        change(&mut m);
        (rule, m)
    };
    let add = |m: &mut Module, inst: Inst| m.functions[f].blocks[0].insts.push(inst);
    let wrong = |m: &mut Module| m.functions[f].blocks[1].insts[0].clone();
    vec![
        change(Rule::Name, &|m| m.vars[0].name = "c".to_owned()),
        change(Rule::Name, &|m| m.functions[0].name.clear()),
        change(Rule::Name, &|m| {
            let Signature::Kernel { params, .. } = &mut m.functions[0].signature else { panic!() };
            params.push(ir::module::Param { offset: 4, ..params[0].clone() });
        }),
        change(Rule::Variable, &|m| m.vars[0].space = simt::observe::Space::Local),
        change(Rule::Variable, &|m| m.vars[0].align = 3),
        change(Rule::Variable, &|m| m.vars[0].size = 0),
        change(Rule::Variable, &|m| m.vars[0].init = vec![0; 17]),
        change(Rule::Variable, &|m| m.vars[2].init = vec![0; 1]),
        change(Rule::Variable, &|m| (m.vars[0].dynamic, m.vars[0].size) = (true, 0)),
        change(Rule::Variable, &|m| m.vars[2].dynamic = true),
        change(Rule::Reloc, &|m| m.vars[0].relocs.push(reloc(16, 8, Symbol::Func(FuncId(0))))),
        change(Rule::Reloc, &|m| m.vars[0].relocs.push(reloc(0, 2, Symbol::Func(FuncId(0))))),
        change(Rule::Reloc, &|m| m.vars[0].relocs.push(reloc(0, 8, Symbol::Func(FuncId(9))))),
        change(Rule::Reloc, &|m| {
            let whole = reloc(0, 4, Symbol::Func(FuncId(0)));
            m.vars[0].relocs.push(Reloc { byte: 5, ..whole });
        }),
        change(Rule::Reloc, &|m| m.vars[0].relocs.push(reloc(0, 8, Symbol::Local(0)))),
        change(Rule::Place, &|m| m.functions[f].loc = LocId(999)),
        change(Rule::Place, &|m| {
            let line = SourceLine { file: 9, line: 1, column: 1, inlined: None };
            m.locs[0].line = Some(line);
        }),
        change(Rule::Place, &|m| {
            m.files.push("a.cu".to_owned());
            let line = SourceLine { file: 0, line: 1, column: 1, inlined: Some(InlinedId(0)) };
            m.locs[0].line = Some(line);
        }),
        change(Rule::Place, &|m| {
            m.files.push("a.cu".to_owned());
            let call = SourceLine { file: 0, line: 1, column: 1, inlined: Some(InlinedId(0)) };
            m.inlined.push(Inlined { function: "f".into(), call });
        }),
        change(Rule::Signature, &|m| {
            let params = vec![LaneReg(99)];
            m.functions[f].signature = Signature::Device { params, results: Vec::new() };
        }),
        change(Rule::Signature, &|m| {
            let params = vec![LaneReg(0), LaneReg(0)];
            m.functions[f].signature = Signature::Device { params, results: Vec::new() };
        }),
        change(Rule::Parameter, &|m| param(m).offset = 2),
        change(Rule::Parameter, &|m| param(m).align = 0),
        change(Rule::Parameter, &|m| param(m).size = 8),
        change(Rule::Parameter, &|m| param(m).offset = 32_764),
        change(Rule::Parameter, &|m| {
            param(m).ty = Ty::B8;
            param(m).pointer = Some(simt::observe::Space::Global);
        }),
        change(Rule::Parameter, &|m| {
            let Signature::Kernel { bounds, .. } = &mut m.functions[0].signature else { panic!() };
            bounds.max = Some([1, 0, 1]);
        }),
        change(Rule::Local, &|m| m.functions[f].locals[0].offset = 4),
        change(Rule::Local, &|m| m.functions[f].locals[0].size = u32::MAX),
        change(Rule::Local, &|m| {
            let local = m.functions[f].locals[0].clone();
            m.functions[f].locals.push(local);
        }),
        change(Rule::Limit, &|m| m.functions[f].spill_slots = 1 << 20),
        change(Rule::RegisterType, &|m| m.functions[f].regs[5].ty = RegTy::Mask),
        change(Rule::NoEntry, &|m| m.functions[f].blocks.clear()),
        change(Rule::FallsOff, &|m| m.functions[f].blocks[1].term.kind = TermKind::Fall),
        change(Rule::Target, &|m| {
            m.functions[f].blocks[0].term.kind = TermKind::Br(BlockId(2));
        }),
        change(Rule::Target, &|m| {
            let inst = Inst::new(Op::CbSet).operand(Operand::Imm(0));
            add(m, inst.operand(Operand::Block(BlockId(2))));
        }),
        change(Rule::Register, &|m| {
            let mut inst = wrong(m);
            inst.operands[0] = Operand::lane(LaneReg(99));
            add(m, inst);
        }),
        change(Rule::Register, &|m| {
            let mut inst = wrong(m);
            inst.results[0] = Some(Reg::Warp(WarpReg(99)));
            inst.operands[0] = Operand::Imm(0);
            add(m, inst);
        }),
        change(Rule::Type, &|m| {
            let mut inst = wrong(m);
            inst.ty = Some(Ty::B32);
            add(m, inst);
        }),
        change(Rule::Type, &|m| {
            let mut inst = wrong(m);
            inst.ty2 = Some(Ty::U32);
            add(m, inst);
        }),
        change(Rule::Type, &|m| add(m, Inst::new(Op::Nop).ty(Ty::U32))),
        change(Rule::Modifier, &|m| {
            let mut inst = wrong(m);
            inst.mods.testp = Some(ir::mods::TestP::Finite);
            add(m, inst);
        }),
        change(Rule::Modifier, &|m| {
            let mut inst = wrong(m);
            inst.mods.flags = ir::mods::Flags::of(&[ir::mods::Flag::Wrap]);
            add(m, inst);
        }),
        change(Rule::Immediate, &|m| {
            let mut inst = wrong(m);
            inst.operands[1] = Operand::Imm(1 << 32);
            add(m, inst);
        }),
        change(Rule::Operand, &|m| {
            let mut inst = wrong(m);
            inst.operands[1] = Operand::Sreg(ir::Sreg::TidX);
            add(m, inst);
        }),
        change(Rule::Symbol, &|m| {
            let mut inst = wrong(m);
            inst.operands[1] = Operand::Symbol(Symbol::Param(0), 0);
            add(m, inst);
        }),
        change(Rule::Call, &|m| {
            add(m, Inst::new(Op::Call).operand(Operand::Func(FuncId(99))));
        }),
        change(Rule::Offset, &|m| {
            let mut inst = wrong(m);
            inst.offset = 4;
            add(m, inst);
        }),
    ]
}

fn reloc(offset: u32, size: u32, symbol: Symbol) -> Reloc {
    Reloc { offset, size, symbol, addend: 0, generic: false, byte: 0 }
}

fn param(m: &mut Module) -> &mut ir::module::Param {
    let Signature::Kernel { params, .. } = &mut m.functions[0].signature else { panic!() };
    &mut params[0]
}

#[test]
fn changes_that_violate_one_rule() {
    for (i, (rule, module)) in bad_modules().into_iter().enumerate() {
        let errors = verify(&module).expect_err(rule.name());
        let found: Vec<_> = rules(&errors).into_iter().map(Rule::name).collect();
        assert_eq!(found, [rule.name()], "change {i}: {errors}");
    }
}

#[test]
fn every_rule_is_documented_and_violated_by_a_test() {
    let doc = include_str!("../../src/verify/mod.rs");
    let lines = BAD_LINES.iter().map(|l| l.0);
    let tested: BTreeSet<_> = lines.chain(bad_modules().into_iter().map(|m| m.0)).collect();
    for rule in Rule::ALL {
        let bullet = format!("//! - **{}** (`{}`): ", rule.number(), rule.name());
        assert!(doc.contains(&bullet), "{bullet}");
        assert!(tested.contains(rule), "{}", rule.name());
    }
}

#[test]
fn what_keeps_the_rules() {
    verifies(include_str!("../data/everything.ir"));
    for lines in [
        "%x = mov.b64 @g\n%a = ld.u32 [@g + 4]\n%a = ld.local.u32 [@l]\n%x = mov.u64 @f",
        "%x = ld.s32 [%x]\nst.u8 [%x], %x\n%x = cvt.u64.u8 %a\n%a = cvt.u8.s32 %a",
        "%u = mov.b32 3\n%u = add.s32 %u, -1\n%a = add.u32 %u, %a\n%m = andn.mask %m, 0xf",
        "%m = exec_and_save %p\nexec_xor %m\nexec_or %m\nexec_write 0xff\n%p = predof %m",
        "%a = bar.popc 0, %p\n%p2 = bar.or %a, 64, %p\nbar.sync 1, 64\nbar.arrive 1, 64\n@%p bar.sync 0",
        "@%p cb_break 0\n%x = calli %x(%a, 3)\n%q = atom.cas.b128 [%x], %q, %q",
        "%a, %p = shfl.up.b32 %a, 1, 0, -1\n%a = ballot.nomask %p\n%a = redux.add.s32 %a, -1",
        "%a = cvt.rn.f16x2.f32 %a, %b\n%c = mov.b8 3\n%a = pack.b32.b8 1, 2, 3, %c",
        "%a = ld.acquire.sys.global.b32 [%x]\nfence.sc.cta\nst.volatile.shared.u32 [@s], %a",
        "%p, %p2 = setp.gt.and.f32 %a, 1.0, %p\n%a, %p = lop3.or.b32 %a, %b, %a, 0x96, %p",
        "maskbr.any exec, entry\nb: maskbr.none %m, b\nc: maskbr.any %p, c\nd: switch 3, [entry]\ne:",
    ] {
        verifies(&function(lines));
    }
}

#[test]
fn all_violations_are_reported_up_to_the_cap() {
    let m = module(&function(&"%a = add.u32 %h, 1\n".repeat(300)));
    let errors = verify(&m).unwrap_err();
    assert_eq!((errors.iter().count(), errors.dropped()), (VerifyErrors::CAP, 100));
}

#[test]
fn errors_name_their_place() {
    let text = function("%b = mov.b32 0\n%a = add.u32 %h, 1");
    let m = module(&text);
    let errors = verify(&m).unwrap_err();
    let error = errors.iter().next().unwrap();
    assert_eq!(error.place, Place::Inst(FuncId(2), BlockId(0), 1));
    assert_eq!(
        error.to_string(),
        "function 2, block 0, instruction 1: operand 1 is read as u32, but its register holds b16 (V18 operand)"
    );
    let diagnostic = error.diagnostic(&m);
    assert_eq!(diagnostic.code, "ir::verify::operand");
    assert_eq!(&text[diagnostic.primary.unwrap().span.range()], "%a = add.u32 %h, 1");
    assert_eq!(diagnostic.notes, ["in `f`, block `entry`: `%a = add.u32 %h, 1`"]);
}

#[test]
fn a_verified_module_gives_its_module_back() {
    let m = module(include_str!("../data/everything.ir"));
    let verified = VerifiedModule::new(m.clone()).unwrap();
    assert_eq!(verified.functions.len(), 3);
    assert_eq!(verified.into_inner(), m);
}
