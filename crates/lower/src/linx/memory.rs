//! Loads, stores and atomics.
//!
//! A bridged access has an import as its base: the pointer that an argument is, or zero, and a
//! value of each lane. What the kernel adds to a pointer and shifts before is part of the access.

use super::code::{Item, Mask, Src, Val, When};
use super::select::{Alias, Part, Select, To, letter, of, plain, suffix};
use super::target::{float, integer};
use crate::Missing;
use ir::mods::{AtomOp, Flag, Order, Space};
use ir::{Inst, LaneReg, Op, Operand, Reg, Symbol, Ty};

/// An address.
struct Place {
    /// The import.
    base: String,
    index: Option<(Src, &'static str, u32)>,
    offset: i64,
}

impl Select<'_> {
    pub(super) fn memory(&mut self, inst: &Inst) -> Result<(), Missing> {
        match inst.op {
            // The groups run one after the other, each of them in order.
            Op::Fence => Ok(()),
            Op::Ld | Op::St => self.access(inst),
            Op::Atom => self.atomic(inst),
            _ => Err(self.missing(format!("operation `{}`", inst.op.name()))),
        }
    }

    /// Sums and products of which an access may be made.
    pub(super) fn remember(&mut self, inst: &Inst) {
        let (None, [Some(Reg::Lane(to))]) = (inst.guard, inst.results.as_slice()) else { return };
        let ty = inst.ty.unwrap_or(Ty::B32);
        let lane = |operand: &Operand| match operand {
            Operand::Reg(Reg::Lane(reg)) if !self.alias.contains_key(reg) => Some(*reg),
            _ => None,
        };
        let part = match (inst.op, inst.operands.as_slice()) {
            (Op::Add, [a, b]) if ty.bits() == 64 => {
                let sum = |a: &Operand, b: &Operand| Some((self.import(a)?, lane(b)?));
                sum(a, b).or_else(|| sum(b, a)).map(|(base, lane)| Part::Sum(base, lane))
            }
            (Op::MulWide, [a, b]) if ty.bits() == 32 => {
                let by = self.known(b, 32).filter(|by| by.is_power_of_two());
                let source = lane(a).map(|reg| Src::Val(Val::Lane(reg.0)));
                by.zip(source).map(|(by, src)| Part::Scaled(src, of(ty), by.trailing_zeros()))
            }
            (Op::Shl, [a, b]) if ty.bits() == 64 => {
                let by = self.known(b, 32).filter(|&by| by < 32);
                let source = lane(a).map(|reg| Src::Val(Val::Lane(reg.0)));
                by.zip(source).map(|(by, src)| Part::Scaled(src, "ud", by as u32))
            }
            _ => None,
        };
        let itself = match &part {
            Some(Part::Sum(_, lane)) => lane == to,
            Some(Part::Scaled(src, ..)) => *src == Src::Val(Val::Lane(to.0)),
            None => true,
        };
        if let Some(part) = part.filter(|_| !itself) {
            self.parts.insert(*to, part);
        }
    }

    /// The import that an operand is.
    fn import(&self, operand: &Operand) -> Option<String> {
        match operand {
            Operand::Reg(Reg::Lane(reg)) => match self.alias.get(reg)? {
                Alias::Fixed(name) if name.starts_with("ri") => Some(name.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    fn place(&mut self, inst: &Inst, space: Space) -> Result<Place, Missing> {
        let import = |index: usize| format!("ri{index}");
        let zero = import(self.layout.zero_import);
        let operand = inst.operands.first().copied();
        let Some(operand) = operand else { return Err(self.missing("access without an address")) };
        let base = match space {
            Space::Shared => self.layout.shared_import.map_or(zero.clone(), import),
            Space::Local => zero.clone(),
            Space::Global | Space::Generic | Space::Const => zero.clone(),
            Space::Param => return Err(self.missing("computed parameter addresses")),
        };
        let bits = self.address_bits(&operand);
        if space == Space::Local {
            let index = self.local(&operand, bits)?;
            return self.with_offset(Place {
                base,
                index: Some((index, "ud", 0)),
                offset: inst.offset,
            });
        }
        if let Some(value) = self.known(&operand, 64) {
            return Ok(Place { base, index: None, offset: inst.offset.wrapping_add(value as i64) });
        }
        if let Some(base) = self.import(&operand).filter(|_| space != Space::Shared) {
            return Ok(Place { base, index: None, offset: inst.offset });
        }
        if let (Operand::Reg(Reg::Lane(reg)), 0) = (&operand, inst.offset)
            && let Some(place) = self.folded(*reg, &base)
        {
            return Ok(place);
        }
        let index = self.src(&operand, bits)?;
        let kind = suffix(bits, false);
        self.with_offset(Place { base, index: Some((index, kind, 0)), offset: inst.offset })
    }

    /// An address that the access itself computes.
    fn folded(&self, reg: LaneReg, zero: &str) -> Option<Place> {
        let scaled = |reg: LaneReg| match self.parts.get(&reg) {
            Some(Part::Scaled(src, kind, by)) => (src.clone(), *kind, *by),
            _ => (Src::Val(Val::Lane(reg.0)), "ud", 0),
        };
        match self.parts.get(&reg)? {
            Part::Sum(base, lane) => {
                Some(Place { base: base.clone(), index: Some(scaled(*lane)), offset: 0 })
            }
            Part::Scaled(..) if self.layout.zero_import < super::layout::IMPORTS => {
                Some(Place { base: zero.to_owned(), index: Some(scaled(reg)), offset: 0 })
            }
            Part::Scaled(..) => None,
        }
    }

    /// An address without an offset beside its index.
    fn with_offset(&mut self, place: Place) -> Result<Place, Missing> {
        let (Some((index, kind, 0)), offset) = (place.index.clone(), place.offset) else {
            return Ok(place);
        };
        if offset == 0 {
            return Ok(place);
        }
        let width = if kind == "uw" { 'w' } else { 'd' };
        let sum = match offset {
            0..=4095 => self.temp_imm("v.addi", (index, kind), offset, width),
            -4095..=-1 => self.temp_imm("v.subi", (index, kind), -offset, width),
            _ => {
                let by = self.constant(offset as u64);
                self.temp("v.add", &[(index, kind), (by, "ud")], width)
            }
        };
        Ok(Place { index: Some((sum, kind, 0)), offset: 0, ..place })
    }

    fn address_bits(&self, operand: &Operand) -> u32 {
        match operand {
            Operand::Reg(Reg::Lane(reg)) => {
                self.function.regs.get(reg.index()).map_or(64, |info| info.ty.bits())
            }
            _ => 64,
        }
    }

    /// Where an address in a thread's local memory lies.
    fn local(&mut self, operand: &Operand, bits: u32) -> Result<Src, Missing> {
        let address = self.src(operand, bits)?;
        let start = self.constant(self.layout.local);
        let size = self.constant(self.layout.local_bytes);
        let own =
            self.temp("v.madd", &[(Src::fixed("lc0"), "ud"), (size, "ud"), (start, "ud")], 'd');
        Ok(self.temp("v.add", &[(own, "ud"), (address, suffix(bits, false))], 'd'))
    }

    /// Between addresses in a space and generic ones.
    pub(super) fn generic(&mut self, inst: &Inst, space: Space, to: To) -> Result<(), Missing> {
        let bits = inst.ty.map_or(64, Ty::bits);
        let a = self.arg(inst, 0, bits)?;
        let kind = suffix(bits, false);
        let base = match space {
            Space::Global | Space::Const | Space::Generic => {
                self.op_imm("v.addi", (a, kind), 0, to);
                return Ok(());
            }
            Space::Shared => self.constant(self.layout.shared),
            Space::Local => {
                let start = self.constant(self.layout.local);
                let size = self.constant(self.layout.local_bytes);
                let own = [(Src::fixed("lc0"), "ud"), (size, "ud"), (start, "ud")];
                self.temp("v.madd", &own, 'd')
            }
            Space::Param => return Err(self.missing("generic addresses of parameters")),
        };
        let name = if inst.op == Op::CvtaTo { "v.add" } else { "v.sub" };
        self.op(name, &[(a, kind), (base, "ud")], to);
        Ok(())
    }

    fn access(&mut self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let space = inst.mods.space.unwrap_or(Space::Generic);
        let ordered =
            !matches!(inst.mods.order, None | Some(Order::Weak | Order::Relaxed | Order::Volatile));
        if ordered {
            return Err(self.missing("accesses that wait for other groups"));
        }
        if space == Space::Param && inst.op == Op::Ld {
            return self.parameter(inst, ty);
        }
        if ty.bits() > 64 {
            return Err(self.missing("accesses to values of 128 bits"));
        }
        let count = if inst.op == Op::Ld { inst.results.len() } else { inst.operands.len() - 1 };
        for i in 0..count {
            let mut one = inst.clone();
            one.offset = inst.offset.wrapping_add(i64::from(ty.bytes()) * i as i64);
            let place = self.place(&one, space)?;
            if inst.op == Op::St {
                let value = self.arg(inst, i + 1, ty.bits())?;
                self.store(place, ty, value);
                continue;
            }
            if inst.results[i].is_none() {
                continue;
            }
            let (val, width) = self.to(inst, i)?;
            // The address may be overwritten by the first of several values.
            let overwrites = match inst.operands.first() {
                Some(Operand::Reg(Reg::Lane(a))) => i + 1 < count && Val::Lane(a.0) == val,
                _ => false,
            };
            if overwrites {
                return Err(self.missing("load of several values that overwrites its address"));
            }
            self.load(&place, ty, (val, width));
        }
        Ok(())
    }

    fn load(&mut self, place: &Place, ty: Ty, to: To) {
        let size = match (ty.bits(), ty.is_signed()) {
            (64, _) => "d",
            (32, true) => "w",
            (32, false) => "wu",
            (16, true) => "h",
            (16, false) => "hu",
            (_, true) => "b",
            _ => "bu",
        };
        let (text, sources) = address(place, ty, &format!("v.l{size}"));
        self.text(text, &sources, Some(to));
        // A load may fault, as the kernel's would.
        if let Some(Item::Inst(inst)) = self.body.items.last_mut() {
            inst.effect = true;
        }
    }

    fn store(&mut self, place: Place, ty: Ty, value: Src) {
        let size = letter(ty.bits());
        let bytes = i64::from(ty.bytes());
        let data = (value, plain(ty));
        let Place { base, index, offset } = place;
        let text = match index {
            None if offset % bytes == 0 => format!("v.s{size}i.brg {{0}}, [{base}, {offset}]"),
            None => format!("v.s{size}i.u.brg {{0}}, [{base}, {offset}]"),
            Some((_, _, by)) => {
                let least = ty.bytes().trailing_zeros();
                let form = if by >= least { "" } else { ".u" };
                let shift = if by == 0 { String::new() } else { format!("<<{by}") };
                format!("v.s{size}{form}.brg {{0}}, [{base}, {{1}}{shift}]")
            }
        };
        let mut sources = vec![data];
        sources.extend(index.map(|(src, kind, _)| (src, kind)));
        self.text(text, &sources, None);
    }

    fn parameter(&mut self, inst: &Inst, ty: Ty) -> Result<(), Missing> {
        let Some(&Operand::Symbol(Symbol::Param(index), within)) = inst.operands.first() else {
            return Err(self.missing("computed parameter addresses"));
        };
        let at = within + inst.offset;
        if self.layout.block {
            let start = self.function.params().get(index as usize).map_or(0, |p| p.offset);
            for i in 0..inst.results.len() {
                if inst.results[i].is_none() {
                    continue;
                }
                let to = self.to(inst, i)?;
                let offset = i64::from(start) + at + i64::from(ty.bytes()) * i as i64;
                self.load(&Place { base: "ri0".to_owned(), index: None, offset }, ty, to);
            }
            return Ok(());
        }
        let source = (Src::fixed(&format!("ri{index}")), "ud");
        for i in 0..inst.results.len() {
            let to = self.to(inst, i)?;
            let bit = 8 * (at + i64::from(ty.bytes()) * i as i64);
            let part = self.temp_imm("v.srli", source.clone(), bit, letter(ty.bits()));
            self.op_imm("v.addi", (part, if float(ty) { plain(ty) } else { of(ty) }), 0, to);
        }
        Ok(())
    }

    fn atomic(&mut self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let Some(op) = inst.mods.atom else { return Err(self.missing("such atomic")) };
        if !(integer(ty) && ty.bits() >= 32 || float(ty) && ty.bits() >= 32) {
            return Err(self.missing(format!("atomics on {ty} values")));
        }
        if inst.mods.flags.has(Flag::Ftz) {
            return Err(self.missing("atomics that flush to zero"));
        }
        let space = inst.mods.space.unwrap_or(Space::Generic);
        let signed = ty.is_signed();
        let name = match op {
            AtomOp::Add if integer(ty) => Some("add"),
            AtomOp::And => Some("and"),
            AtomOp::Or => Some("or"),
            AtomOp::Xor => Some("xor"),
            AtomOp::Min if signed => Some("min"),
            AtomOp::Max if signed => Some("max"),
            _ => None,
        };
        let result = inst.results.iter().flatten().next().is_some();
        let Some(name) = name else { return self.serial(inst, op, ty, space) };
        let place = self.place(inst, space)?;
        let at = self.absolute(place);
        let value = self.arg(inst, 1, ty.bits())?;
        let size = letter(ty.bits());
        let sources = [(at, ""), (value, of(ty))];
        if result {
            let to = self.to(inst, 0)?;
            self.text(format!("v.l{size}.{name} [{{0}}], {{1}}"), &sources, Some(to));
            if let Some(Item::Inst(inst)) = self.body.items.last_mut() {
                inst.effect = true;
            }
        } else {
            self.text(format!("v.s{size}.{name} [{{0}}], {{1}}"), &sources, None);
        }
        Ok(())
    }

    /// An address as one value.
    fn absolute(&mut self, place: Place) -> Src {
        let base = Src::fixed(&place.base);
        let at = match place.index {
            None => base,
            Some((src, kind, 0)) => {
                let to = self.body.lane();
                self.op("v.add", &[(base, "ud"), (src, kind)], (to, 'd'));
                Src::Val(to)
            }
            Some((src, kind, by)) => {
                let to = (self.body.lane(), 'd');
                let sources = [(base, "ud"), (src, kind)];
                self.text(format!("v.add {{0}}, {{1}}<<{by}"), &sources, Some(to));
                Src::Val(to.0)
            }
        };
        match place.offset {
            0 => at,
            offset => {
                let by = self.constant(offset as u64);
                self.temp("v.add", &[(at, "ud"), (by, "ud")], 'd')
            }
        }
    }

    /// An atomic that the machine lacks, as a load and a store of one lane after the other: a group
    /// is alone while it runs.
    fn serial(&mut self, inst: &Inst, op: AtomOp, ty: Ty, space: Space) -> Result<(), Missing> {
        let bits = ty.bits();
        let (kind, own) = (plain(ty), of(ty));
        let place = self.place(inst, space)?;
        let at = self.absolute(place);
        let value = self.arg(inst, 1, bits)?;
        let third = if op == AtomOp::Cas { Some(self.arg(inst, 2, bits)?) } else { None };
        let (all, rest) = (self.save(), self.body.group());
        self.save_to(rest);
        let next = self.label();
        self.body.items.push(Item::Label(next, "one lane".to_owned()));
        let lowest = self.body.group();
        self.group("v.sub zero.ud, {0}", &[(Src::Val(rest), "ud")], lowest);
        self.set_mask("v.and {0}, {1}", &[rest, lowest], Mask::Within(rest));
        let zero = format!("ri{}", self.layout.zero_import);
        let old = self.body.lane();
        let wide = if bits == 64 { "d" } else { "wu" };
        let width = letter(bits);
        self.text(
            format!("v.l{wide}.brg [{zero}, {{0}}]"),
            &[(at.clone(), "ud")],
            Some((old, width)),
        );
        let old = Src::Val(old);
        let new = match op {
            AtomOp::Exch => value,
            AtomOp::Cas => {
                let same = self.temp("v.cmp.eq", &[(old.clone(), kind), (value, kind)], 'b');
                let new = third.unwrap_or_else(Src::zero);
                self.temp("v.csel", &[(same, "ub"), (new, kind), (old.clone(), kind)], width)
            }
            AtomOp::Min => self.temp("v.min", &[(old.clone(), own), (value, own)], width),
            AtomOp::Max => self.temp("v.max", &[(old.clone(), own), (value, own)], width),
            AtomOp::Add if float(ty) => {
                let to = self.body.lane();
                self.sum(ty, old.clone(), value, (to, width));
                Src::Val(to)
            }
            AtomOp::Inc => {
                let last = self.temp("v.cmp.geu", &[(old.clone(), kind), (value, kind)], 'b');
                let more = self.temp_imm("v.addi", (old.clone(), kind), 1, width);
                self.temp("v.csel", &[(last, "ub"), (Src::zero(), kind), (more, kind)], width)
            }
            AtomOp::Dec => {
                let first = self.temp_imm("v.cmp.eqi", (old.clone(), kind), 0, 'b');
                let above =
                    self.temp("v.cmp.ltu", &[(value.clone(), kind), (old.clone(), kind)], 'b');
                let wraps = self.temp("v.or", &[(first, "ub"), (above, "ub")], 'b');
                let less = self.temp_imm("v.subi", (old.clone(), kind), 1, width);
                self.temp("v.csel", &[(wraps, "ub"), (value, kind), (less, kind)], width)
            }
            _ => return Err(self.missing(format!("such atomic on {ty} values"))),
        };
        self.text(
            format!("v.s{width}.u.brg {{0}}, [{zero}, {{1}}]"),
            &[(new, kind), (at, "ud")],
            None,
        );
        if inst.results.iter().flatten().next().is_some() {
            let to = self.to(inst, 0)?;
            self.op_imm("v.addi", (old, kind), 0, to);
        }
        // What remains of the lanes.
        self.group("v.and {0}, p.ud.not", &[(Src::Val(rest), "ud")], rest);
        self.set_mask("v.addi {0}, 0", &[rest], Mask::Any);
        self.body.items.push(Item::Branch(When::AnyLane, next));
        self.set_mask("v.addi {0}, 0", &[all], Mask::Restored(all));
        Ok(())
    }
}

/// The text of an access with its sources.
fn address(place: &Place, ty: Ty, name: &str) -> (String, Vec<(Src, &'static str)>) {
    let Place { base, index, offset } = place;
    match index {
        None if offset % i64::from(ty.bytes()) == 0 => {
            (format!("{name}i.brg [{base}, {offset}]"), Vec::new())
        }
        None => (format!("{name}i.u.brg [{base}, {offset}]"), Vec::new()),
        Some((src, kind, by)) => {
            let shift = if *by == 0 { String::new() } else { format!("<<{by}") };
            (format!("{name}.brg [{base}, {{0}}{shift}]"), vec![(src.clone(), kind)])
        }
    }
}
