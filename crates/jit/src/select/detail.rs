//! Counts of accesses in launches in detail: see [`crate::access_groups`].

use super::Selector;
use super::memory::Room;
use super::memory::layouts::Offsets;
use crate::access_groups::{AccessGroup, GroupList, POSITIONS, Pattern};
use crate::frame::Frame;
use crate::layout::{RowLayout, kind};
use crate::line_totals::LineTotals;
use crate::vcode::{Local, Mem, Part, Pseudo, VReg, View};
use fast::code::Kind;
use iced_x86::Code as Op;
use ir::mods::Space;
use vector::{Access, Scale, Shape, Value};

use View::R64;

/// Greatest distance of accesses that are counted together.
const NEAR: u64 = 1 << 16;
/// Bytes of a sector of global memory.
const SECTOR: i64 = 32;

/// What accesses of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Together {
    lanes: Value,
    addresses: Addresses,
    space: Option<Space>,
}

/// Addresses before constants are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Addresses {
    /// Zero.
    Constant,
    /// A scalar, and the distance of lanes.
    Line(Value, i64),
    Row(Value),
    Indexed(Value, Value, Scale),
}

/// A group of accesses that is counted at the first of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The byte offset of its list.
    list: i64,
    /// The active lanes.
    bits: VReg,
    /// Whether code may add up what accesses take.
    direct: bool,
}

/// How code counts accesses to words at affine addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineCount {
    group: Group,
    /// The byte offset of its counters of whole warps.
    positions: i64,
    /// Lane 0's address without the offset, if it is not zero.
    address: Option<VReg>,
    stub: crate::asm::Label,
    /// Whether positions are those of host addresses.
    by_host: bool,
}

/// Returns a space whose addresses are offsets.
fn window(space: Space) -> Option<Space> {
    Some(space).filter(|space| space.window().is_some())
}

impl Selector<'_> {
    /// Counts an access in launches in detail; otherwise this does nothing. Every form of an access
    /// calls it before its instructions, unless it [counts lines](Self::line_count) itself. The
    /// arguments are those of [`vector::Op::Load`]: the lanes, and the addresses as the access's
    /// shape says. What [`Self::fallback`] returns tells the interpreter.
    pub(super) fn note_access(&mut self, access: &Access, args: &[Value]) {
        let Some(group) = self.group(access, args, None, false) else { return };
        let wide = window(access.space).is_none();
        let is_line = matches!(access.shape, Shape::One | Shape::Adjacent);
        let stub = self.note_stub(wide, is_line);
        let address = is_line.then(|| self.s(args[1]));
        if !is_line {
            self.store_addresses(access, args);
        }
        let mut p = self.f.pseudo();
        call_note(&mut p, stub, group, address);
        p.end();
    }

    /// Stores the addresses of an access at any ones in the frame's room for lanes: 64 bits each,
    /// or 32 if they are offsets, without the constant one.
    fn store_addresses(&mut self, access: &Access, args: &[Value]) {
        let codes = self.codes;
        let offsets = match self.has_numbers(access, args) {
            true => self.numbers(access, args),
            false => Offsets { rows: self.registers(args[1]), indexed: None },
        };
        let mut p = self.f.pseudo();
        let temps = [(); 2].map(|()| p.temp(View::V));
        for &row in &offsets.rows {
            p.any(row);
        }
        offsets.store(&mut p, codes, temps);
        p.end();
    }

    /// Returns the code that counts an access by its pattern.
    pub(super) fn note_stub(&self, wide: bool, is_line: bool) -> crate::asm::Label {
        self.outside.notes[usize::from(wide) + 2 * usize::from(is_line)]
    }

    /// Returns the group that begins with an access in a launch in detail, unless the access
    /// belongs to one that has begun.
    pub(super) fn group(
        &mut self,
        access: &Access,
        args: &[Value],
        region: Option<usize>,
        counts_positions: bool,
    ) -> Option<Group> {
        if !self.detailed || self.grouped.remove(&access.step.step) {
            return None;
        }
        let (together, offset) = self.together(access, args);
        let mut members = vec![(access.step.step, offset)];
        let step = &self.code.steps[access.step.step as usize];
        let mut plain = !matches!(step.kind, Kind::Atomic(_));
        let mut words = access.bytes() == LineTotals::WORD;
        for &inst in self.ahead {
            let data = self.source.inst(inst);
            let other = match &data.op {
                vector::Op::Load(other) | vector::Op::Store(other) => other,
                vector::Op::Atomic(other) | vector::Op::AtomicTotal(other) => &other.access,
                vector::Op::Barrier(..) | vector::Op::BackEdge(_) | vector::Op::Await(_) => break,
                _ => continue,
            };
            let (others, at) = self.together(other, &data.args);
            let near = together.addresses == Addresses::Constant || at.abs_diff(offset) < NEAR;
            if near && others == together {
                members.push((other.step.step, at));
                words &= other.bytes() == LineTotals::WORD;
                plain &= matches!(data.op, vector::Op::Load(_) | vector::Op::Store(_));
                self.grouped.insert(other.step.step);
            }
        }
        let stride = match together.addresses {
            Addresses::Constant => Some(0),
            Addresses::Line(_, stride) => Some(stride),
            _ => None,
        };
        let positions = counts_positions
            .then(|| self.access_groups.iter().filter(|group| group.positions.is_some()).count());
        let list = self.access_groups.len() as i64 * GroupList::SIZE;
        let wide = window(access.space).is_none();
        let direct = match (window(access.space), stride) {
            (Some(Space::Shared), Some(0)) => plain && words,
            (Some(Space::Shared), Some(4) | None) => words,
            (None, Some(0)) => true,
            // Sectors are those of the first step.
            (None, Some(4)) => {
                words && members.iter().all(|m| m.1.wrapping_sub(offset) % SECTOR == 0)
            }
            _ => false,
        };
        self.access_groups.push(AccessGroup { members, wide, stride, region, positions, direct });
        let bits = self.bits_of_lanes(args[0]);
        Some(Group { list, bits, direct })
    }

    /// Returns what an access has in common with others, and its distance from there.
    fn together(&self, access: &Access, args: &[Value]) -> (Together, i64) {
        let mut offset = access.offset;
        let addresses = match (access.shape, self.constant_address(args[1])) {
            (Shape::One, Some(bits)) if access.space == Space::Param => {
                offset = offset.wrapping_add(bits as i64);
                Addresses::Constant
            }
            (Shape::One, _) => Addresses::Line(args[1], 0),
            (Shape::Adjacent, _) => Addresses::Line(args[1], access.word.into()),
            (Shape::Any, _) => Addresses::Row(args[1]),
            (Shape::Indexed(scale), _) => Addresses::Indexed(args[1], args[2], scale),
        };
        (Together { lanes: args[0], addresses, space: window(access.space) }, offset)
    }

    /// Returns a constant.
    fn constant_address(&self, value: Value) -> Option<u64> {
        let inst = self.source.inst(self.defined[value.index()]?);
        if let vector::Op::Const(bits) = inst.op { Some(bits) } else { None }
    }

    /// Returns the lanes of a mask in a general register.
    pub(super) fn bits_of_lanes(&mut self, lanes: Value) -> VReg {
        if let Some(&bits) = self.lane_bits.get(&lanes) {
            return bits;
        }
        let bits = self.mask_bits(lanes);
        self.lane_bits.insert(lanes, bits);
        bits
    }

    /// Returns how to count an access at affine addresses in launches in detail, unless it belongs
    /// to a group that has begun.
    pub(super) fn line_count(
        &mut self,
        access: &Access,
        args: &[Value],
        room: Room,
    ) -> Option<LineCount> {
        let region = match room {
            Room::Map(_) => self.region_steps.iter().position(|&step| step == access.step.step),
            Room::Window(..) => None,
        };
        let group = self.group(access, args, region, true)?;
        let counters = (8 * POSITIONS) as i64;
        let positions = self.access_groups.last().and_then(|g| g.positions).unwrap_or(0);
        let constant = matches!(self.together(access, args).0.addresses, Addresses::Constant);
        let address = (!constant).then(|| self.s(args[1]));
        let by_host = region.is_some();
        let stub = self.note_stub(window(access.space).is_none(), true);
        Some(LineCount { group, positions: positions as i64 * counters, address, stub, by_host })
    }

    /// Counts an access to a parameter at a constant offset.
    pub(super) fn count_param(&mut self, line: LineCount, at: i64) {
        let mut p = self.f.pseudo();
        let counters = p.temp(R64);
        let (partial, back) = (p.label(), p.label());
        p.op(Op::Cmp_rm32_imm8, (line.group.bits.d(), -1));
        p.jump(Op::Jne_rel32_64, partial);
        p.op(Op::Mov_r64_rm64, (counters, Mem::frame(Frame::POSITIONS)));
        let position = line.positions + 8 * (at & (POSITIONS as i64 - 1));
        p.op(Op::Inc_rm64, (Mem::at(counters, position),));
        p.bind(back);
        p.out_of_line();
        p.bind(partial);
        line.by_pattern(&mut p);
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
    }
}

/// Counts an access by its pattern.
fn call_note(p: &mut Pseudo<'_>, stub: crate::asm::Label, group: Group, address: Option<VReg>) {
    p.op(Op::Mov_rm64_imm32, (Mem::frame(Frame::NOTE_GROUP), group.list as i32));
    p.op(Op::Mov_rm32_r32, (Mem::frame(Frame::NOTE_ON), group.bits.d()));
    match address {
        Some(address) => p.op(Op::Mov_rm64_r64, (Mem::frame(Frame::NOTE_ADDRESS), address)),
        None => p.op(Op::Mov_rm64_imm32, (Mem::frame(Frame::NOTE_ADDRESS), 0)),
    };
    p.jump_out(Op::Call_rel32_64, stub);
}

impl LineCount {
    /// Keeps the position of the address in a register before it becomes that of the host, where it
    /// is needed. Returns the register for [`Self::count`].
    pub(super) fn position(&self, p: &mut Pseudo<'_>, at: VReg) -> VReg {
        let position = p.temp(R64);
        if !self.by_host {
            p.op(Op::Movzx_r32_rm8, (position.d(), at.b()));
        }
        position
    }

    /// Counts a whole warp whose lane 0 accesses the host address in a register, or goes to
    /// `partial` and comes back behind this.
    pub(super) fn count(
        &self,
        p: &mut Pseudo<'_>,
        at: VReg,
        [position, temp]: [VReg; 2],
        [partial, back]: [Local; 2],
    ) {
        p.op(Op::Cmp_rm32_imm8, (self.group.bits.d(), -1));
        p.jump(Op::Jne_rel32_64, partial);
        if self.by_host {
            p.op(Op::Movzx_r32_rm8, (position.d(), at.b()));
        }
        p.op(Op::Mov_r64_rm64, (temp, Mem::frame(Frame::POSITIONS)));
        p.op(Op::Inc_rm64, (Mem::at(temp, self.positions).index(position, 8),));
        p.bind(back);
    }

    /// Counts an access by its pattern.
    pub(super) fn by_pattern(&self, p: &mut Pseudo<'_>) {
        call_note(p, self.stub, self.group, self.address);
    }
}

/// Registers for counts by layouts.
pub(super) struct LayoutCount {
    pub(super) group: Group,
    pub(super) stub: crate::asm::Label,
    pub(super) wide: bool,
    /// The address that the layout is at, and the layout.
    pub(super) at: VReg,
    pub(super) layout: VReg,
    /// Free registers; the last one is needed for 64-bit addresses.
    pub(super) temps: [VReg; 3],
}

impl LayoutCount {
    /// Whether layouts may say how many passes over the banks of shared memory lanes take.
    fn counts_passes(&self) -> bool {
        self.group.direct && !self.wide
    }

    /// Counts an access whose words have the layout, or goes to `other`, or to `unknown` if its
    /// passes are [not known](Self::count_unknown).
    pub(super) fn count(&self, p: &mut Pseudo<'_>, other: Local, unknown: Local) {
        if !self.counts_passes() {
            return self.count_pattern(p, other);
        }
        let [lists, lanes, _] = self.temps;
        p.op(Op::Cmp_rm32_imm8, (Mem::at(self.layout, RowLayout::PASSES), 0));
        p.jump(Op::Je_rel32_64, unknown);
        p.op(Op::Mov_r64_rm64, (lists, Mem::frame(Frame::GROUP_LISTS)));
        p.op(Op::Inc_rm64, (Mem::at(lists, self.group.list + GroupList::PASSED),));
        p.op(Op::Mov_r32_rm32, (lanes.d(), self.group.bits.d()));
        p.op(Op::Shr_rm32_imm8, (lanes.d(), 16));
        p.op(Op::And_r32_rm32, (lanes.d(), self.group.bits.d()));
        p.op(Op::And_r32_rm32, (lanes.d(), Mem::at(self.layout, RowLayout::MEETING)));
        // The carry tells whether any lanes meet.
        p.op(Op::Neg_rm32, (lanes.d(),));
        p.op(Op::Adc_rm64_imm8, (Mem::at(lists, self.group.list + GroupList::PASSED_TWICE), 0));
    }

    /// Counts an access by its pattern, out of line, where its passes are not known.
    pub(super) fn count_unknown(
        &self,
        p: &mut Pseudo<'_>,
        unknown: Local,
        [other, counted]: [Local; 2],
    ) {
        p.bind(unknown);
        if self.counts_passes() {
            self.count_pattern(p, other);
            p.jump(Op::Jmp_rel32_64, counted);
        }
    }

    /// Counts an access by the pattern of its layout.
    fn count_pattern(&self, p: &mut Pseudo<'_>, other: Local) {
        let [pattern, first, page] = self.temps;
        p.op(Op::Mov_r64_rm64, (pattern, Mem::at(self.layout, RowLayout::PATTERN)));
        p.op(Op::Add_r64_rm64, (pattern, Mem::frame(Frame::GROUP_PATTERNS)));
        p.op(Op::Cmp_r32_rm32, (self.group.bits.d(), Mem::at(pattern, Pattern::ON)));
        p.jump(Op::Jne_rel32_64, other);
        p.op(Op::Mov_r64_rm64, (first, Mem::at(self.layout, RowLayout::FIRST)));
        p.op(Op::Add_r64_rm64, (first, self.at));
        if self.wide {
            p.op(Op::Mov_r64_rm64, (page, first));
            p.op(Op::Shr_rm64_imm8, (page, 32));
            p.op(Op::Cmp_r32_rm32, (page.d(), Mem::at(pattern, Pattern::PAGE)));
            p.jump(Op::Jne_rel32_64, other);
        }
        p.op(Op::And_rm32_imm32, (first.d(), 127));
        p.op(Op::Inc_rm64, (Mem::at(pattern, Pattern::TIMES).index(first, 8),));
    }

    /// Counts an access whose addresses are in the room for lanes by its pattern.
    pub(super) fn by_pattern(&self, p: &mut Pseudo<'_>) {
        call_note(p, self.stub, self.group, None);
    }

    /// Has the layout name the pattern that was found.
    pub(super) fn keep(&self, p: &mut Pseudo<'_>, back: Local) {
        let [pattern, first, _] = self.temps;
        p.op(Op::Mov_r64_rm64, (pattern, Mem::frame(Frame::NOTE_FOUND)));
        p.op(Op::Test_rm64_r64, (pattern, pattern));
        p.jump(Op::Je_rel32_64, back);
        // All workers share the one that is no layout.
        p.op(Op::Cmp_rm32_imm32, (Mem::at(self.layout, RowLayout::LOADS), kind::NONE as i32));
        p.jump(Op::Je_rel32_64, back);
        p.op(Op::Mov_rm64_r64, (Mem::at(self.layout, RowLayout::PATTERN), pattern));
        p.op(Op::Mov_r64_rm64, (first, Mem::frame(Frame::NOTE_FIRST)));
        p.op(Op::Sub_r64_rm64, (first, self.at));
        p.op(Op::Mov_rm64_r64, (Mem::at(self.layout, RowLayout::FIRST), first));
        p.jump(Op::Jmp_rel32_64, back);
    }
}
