//! Machine instructions with the registers that their operands were given.

use super::emit::Emitter;
use super::function::{Address, AddressBase, Inst, Machine, Piece};
use super::register::{FRAME, POOL, SEAT, View};
use crate::frame::Frame;
use iced_x86::{Code as Op, IcedError, Instruction, MemoryOperand, Register, RoundingControl};
use regalloc2::{Allocation, OperandConstraint};

/// An operand as the encoder takes it.
#[derive(Clone, Copy, Debug)]
enum Arg {
    R(Register),
    M(MemoryOperand),
    I(i32),
    W(u64),
}

/// Emits a machine instruction.
pub(super) fn machine(
    e: &mut Emitter<'_>,
    machine: &Machine,
    inst: &Inst,
    allocations: &[Allocation],
) {
    let pieces = machine.pieces as usize;
    let pieces = &e.f.pieces[pieces..pieces + usize::from(machine.count)];
    let mut args = [Arg::I(0); 5];
    for (arg, piece) in args.iter_mut().zip(pieces) {
        *arg = resolve(e, piece, allocations);
    }
    let args = &mut args[..pieces.len().min(5)];
    let machine = &shortened(*machine, args);
    let mask = machine.mask.and_then(|k| allocations[usize::from(k)].as_reg());
    let mask = mask.map(|k| View::K.of(k, e.f.level));
    let instruction = instruction(machine, args, mask);
    if cfg!(debug_assertions) {
        // Unit tests have a longer frame.
        let is_within = cfg!(test) || is_within_frame(&instruction);
        assert!(is_within, "{:?} reaches beyond the frame", machine.op);
        let operands = &e.f.operands[inst.operands.range()];
        for (i, piece) in pieces.iter().enumerate() {
            let Piece::Reg(operand, _) = *piece else { continue };
            if operands[usize::from(operand)].constraint() == OperandConstraint::Any {
                args[i] = Arg::M(MemoryOperand::with_base_displ(SEAT, 64));
                assert!(takes(machine, args, mask), "{:?} takes no memory operand", machine.op);
            }
        }
    }
    e.asm.instruction(instruction);
}

/// Returns the form with an immediate of one byte, if there is one and the immediate fits.
fn shortened(machine: Machine, args: &[Arg]) -> Machine {
    let Some(&Arg::I(value)) = args.last() else { return machine };
    if i8::try_from(value).is_err() {
        return machine;
    }
    let op = match machine.op {
        Op::Add_rm32_imm32 => Op::Add_rm32_imm8,
        Op::Add_rm64_imm32 => Op::Add_rm64_imm8,
        Op::Or_rm32_imm32 => Op::Or_rm32_imm8,
        Op::Or_rm64_imm32 => Op::Or_rm64_imm8,
        Op::And_rm32_imm32 => Op::And_rm32_imm8,
        Op::And_rm64_imm32 => Op::And_rm64_imm8,
        Op::Sub_rm32_imm32 => Op::Sub_rm32_imm8,
        Op::Sub_rm64_imm32 => Op::Sub_rm64_imm8,
        Op::Xor_rm32_imm32 => Op::Xor_rm32_imm8,
        Op::Xor_rm64_imm32 => Op::Xor_rm64_imm8,
        Op::Cmp_rm32_imm32 => Op::Cmp_rm32_imm8,
        Op::Cmp_rm64_imm32 => Op::Cmp_rm64_imm8,
        Op::Imul_r32_rm32_imm32 => Op::Imul_r32_rm32_imm8,
        Op::Imul_r64_rm64_imm32 => Op::Imul_r64_rm64_imm8,
        other => other,
    };
    Machine { op, ..machine }
}

/// Whether the encoder knows an instruction with these operands.
fn takes(machine: &Machine, args: &[Arg], mask: Option<Register>) -> bool {
    let instruction = instruction(machine, args, mask);
    instruction.is_ok_and(|i| iced_x86::Encoder::new(64).encode(&i, 0).is_ok())
}

fn resolve(e: &Emitter<'_>, piece: &Piece, allocations: &[Allocation]) -> Arg {
    match *piece {
        Piece::Reg(operand, view) => {
            let allocation = allocations[usize::from(operand)];
            match allocation.as_reg() {
                Some(register) => Arg::R(view.of(register, e.f.level)),
                None => Arg::M(MemoryOperand::with_base_displ(SEAT, e.slot(allocation))),
            }
        }
        Piece::Mem(address) => Arg::M(memory(e, &address, allocations)),
        Piece::Imm(value) => Arg::I(value),
        Piece::Imm64(value) => Arg::W(value),
    }
}

fn memory(e: &Emitter<'_>, address: &Address, allocations: &[Allocation]) -> MemoryOperand {
    let register = |operand: u8, view: View| {
        let register = allocations[usize::from(operand)].as_reg();
        register.map_or(Register::None, |r| view.of(r, e.f.level))
    };
    let base = match address.base {
        AddressBase::Reg(operand) => register(operand, View::R64),
        AddressBase::Frame => FRAME,
        AddressBase::Pool => POOL,
        AddressBase::Seat => SEAT,
    };
    let index = address.index.map_or(Register::None, |(operand, view)| register(operand, view));
    let Address { scale, displacement, broadcast, .. } = *address;
    // The encoder chooses the length of a displacement.
    let length = u32::from(displacement != 0);
    MemoryOperand::new(
        base,
        index,
        u32::from(scale),
        displacement,
        length,
        broadcast,
        Register::None,
    )
}

/// Whether the memory operand of an instruction ends within the frame, if it is there.
fn is_within_frame(instruction: &Result<Instruction, IcedError>) -> bool {
    let Ok(instruction) = instruction else { return true };
    let bytes = instruction.memory_size().size() as u64;
    let is_in_frame = instruction.memory_base() == FRAME;
    !is_in_frame || instruction.memory_displacement64() + bytes <= size_of::<Frame>() as u64
}

fn instruction(
    machine: &Machine,
    args: &[Arg],
    mask: Option<Register>,
) -> Result<Instruction, IcedError> {
    let mut instruction = with_operands(machine.op, args)?;
    if let Some(mask) = mask {
        instruction.set_op_mask(mask);
        instruction.set_zeroing_masking(machine.zeroing);
    }
    if machine.rounding != RoundingControl::None {
        instruction.set_rounding_control(machine.rounding);
    }
    if machine.quiet {
        instruction.set_suppress_all_exceptions(true);
    }
    Ok(instruction)
}

fn with_operands(op: Op, args: &[Arg]) -> Result<Instruction, IcedError> {
    use Arg::{I, M, R, W};
    match *args {
        [] => Ok(Instruction::with(op)),
        [R(a)] => Instruction::with1(op, a),
        [M(a)] => Instruction::with1(op, a),
        [R(a), R(b)] => Instruction::with2(op, a, b),
        [R(a), M(b)] => Instruction::with2(op, a, b),
        [R(a), I(b)] => Instruction::with2(op, a, b),
        [R(a), W(b)] => Instruction::with2(op, a, b),
        [M(a), R(b)] => Instruction::with2(op, a, b),
        [M(a), I(b)] => Instruction::with2(op, a, b),
        [R(a), R(b), R(c)] => Instruction::with3(op, a, b, c),
        [R(a), R(b), M(c)] => Instruction::with3(op, a, b, c),
        [R(a), R(b), I(c)] => Instruction::with3(op, a, b, c),
        [R(a), M(b), R(c)] => Instruction::with3(op, a, b, c),
        [R(a), M(b), I(c)] => Instruction::with3(op, a, b, c),
        [M(a), R(b), R(c)] => Instruction::with3(op, a, b, c),
        [M(a), R(b), I(c)] => Instruction::with3(op, a, b, c),
        [R(a), R(b), R(c), R(d)] => Instruction::with4(op, a, b, c, d),
        [R(a), R(b), R(c), I(d)] => Instruction::with4(op, a, b, c, d),
        [R(a), R(b), R(c), M(d)] => Instruction::with4(op, a, b, c, d),
        [R(a), R(b), M(c), R(d)] => Instruction::with4(op, a, b, c, d),
        [R(a), R(b), M(c), I(d)] => Instruction::with4(op, a, b, c, d),
        _ => Instruction::with1(Op::INVALID, Register::None),
    }
}
