//! Computations.

use super::code::{Src, Val};
use super::select::{Compare, Select, To, letter, of, plain, suffix};
use super::target::{float, integer};
use crate::Missing;
use ir::mods::{BoolOp, Cmp, Space};
use ir::{Inst, Op, Operand, Reg, Sreg, Ty};

/// The NaN that PTX delivers.
fn nan(ty: Ty) -> u64 {
    match ty {
        Ty::F64 => 0x7fff_ffff_ffff_ffff,
        Ty::F32 => 0x7fff_ffff,
        _ => 0x7fff,
    }
}

fn signed(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

impl Select<'_> {
    pub(super) fn compute(&mut self, inst: &Inst) -> Result<(), Missing> {
        let ty = inst.ty.unwrap_or(Ty::B32);
        if matches!(inst.op, Op::Setp) {
            return self.setp(inst, ty);
        }
        if inst.op == Op::Unpack {
            return self.unpack(inst, ty);
        }
        if ty == Ty::Mask {
            return self.exec(inst);
        }
        let to = self.to(inst, 0)?;
        match inst.op {
            Op::Mov | Op::CvtaTo | Op::CvtaFrom => self.mov(inst, ty, to),
            Op::Sreg => self.sreg(inst, to),
            Op::Selp => {
                let bits = if ty == Ty::Pred { 8 } else { ty.bits() };
                let (a, b) = (self.arg(inst, 0, bits)?, self.arg(inst, 1, bits)?);
                let p = self.arg(inst, 2, 8)?;
                let kind = suffix(bits, false);
                self.op("v.csel", &[(p, "ub"), (a, kind), (b, kind)], to);
                Ok(())
            }
            Op::Cvt => self.convert(inst, ty, to),
            Op::Pack => self.pack(inst, to),
            _ if float(ty) => self.float(inst, ty, to),
            _ if ty == Ty::Pred => self.predicate(inst, to),
            _ if integer(ty) => self.integer(inst, ty, to),
            _ => Err(self.missing(format!("operation `{}.{ty}`", inst.op.name()))),
        }
    }

    fn mov(&mut self, inst: &Inst, ty: Ty, to: To) -> Result<(), Missing> {
        let space = inst.mods.space.unwrap_or(Space::Generic);
        if inst.op != Op::Mov {
            return self.generic(inst, space, to);
        }
        let bits = if ty == Ty::Pred { 8 } else { ty.bits() };
        let known = inst.operands.first().and_then(|operand| self.known(operand, bits));
        if let Some(value @ 0..=4095) = known {
            self.op_imm("v.addi", (Src::zero(), "ud"), value as i64, to);
            return Ok(());
        }
        let a = self.arg(inst, 0, bits)?;
        self.op_imm("v.addi", (a, suffix(bits, false)), 0, to);
        Ok(())
    }

    fn sreg(&mut self, inst: &Inst, to: To) -> Result<(), Missing> {
        let Some(&Operand::Sreg(sreg)) = inst.operands.first() else {
            return Err(self.missing("such special register"));
        };
        if let Some(name) = self.layout.fixed(sreg) {
            self.op_imm("v.addi", (Src::Fixed(name), "uw"), 0, to);
            return Ok(());
        }
        if let Some(value) = self.layout.constant(sreg) {
            let value = self.constant(value);
            self.op_imm("v.addi", (value, "ud"), 0, to);
            return Ok(());
        }
        let [x, y, _] = self.layout.launch.block.map(u64::from);
        let lane = (Src::fixed("lc0"), "uw");
        match sreg {
            Sreg::TidX => self.remainder(lane, x, to),
            Sreg::TidY => {
                let rows = self.quotient(lane, x);
                self.remainder((rows, "uw"), y, to);
            }
            Sreg::TidZ => {
                let planes = self.quotient(lane, x * y);
                self.op_imm("v.addi", (planes, "uw"), 0, to);
            }
            Sreg::LaneId => self.op_imm("v.andi", lane, 31, to),
            Sreg::WarpId => self.op_imm("v.srli", lane, 5, to),
            Sreg::CtaidY => {
                let rows = u64::from(self.layout.launch.grid[1]);
                self.remainder((Src::fixed("lc2"), "uw"), rows, to);
            }
            Sreg::CtaidZ => {
                let rows = u64::from(self.layout.launch.grid[1]);
                let planes = self.quotient((Src::fixed("lc2"), "uw"), rows);
                self.op_imm("v.addi", (planes, "uw"), 0, to);
            }
            other => {
                return Err(self.missing(format!("special register `{}`", other.name())));
            }
        }
        Ok(())
    }

    fn quotient(&mut self, a: (Src, &'static str), by: u64) -> Src {
        match by {
            1 => a.0,
            _ if by.is_power_of_two() => {
                self.temp_imm("v.srli", a, i64::from(by.trailing_zeros()), 'w')
            }
            _ => {
                let by = self.constant(by);
                self.temp("v.div", &[a, (by, "uw")], 'w')
            }
        }
    }

    fn remainder(&mut self, a: (Src, &'static str), by: u64, to: To) {
        if by.is_power_of_two() && by <= 2048 {
            self.op_imm("v.andi", a, by as i64 - 1, to);
        } else {
            let by = self.constant(by);
            self.op("v.rem", &[a, (by, "uw")], to);
        }
    }

    fn predicate(&mut self, inst: &Inst, to: To) -> Result<(), Missing> {
        let a = (self.arg(inst, 0, 8)?, "ub");
        let name = match inst.op {
            Op::Not => {
                self.op_imm("v.xori", a, 1, to);
                return Ok(());
            }
            Op::And => "v.and",
            Op::Or => "v.or",
            Op::Xor => "v.xor",
            Op::AndNot => {
                let b = (self.arg(inst, 1, 8)?, "ub.not");
                self.op("v.and", &[a, b], to);
                return Ok(());
            }
            _ => return Err(self.missing(format!("operation `{}.pred`", inst.op.name()))),
        };
        let b = (self.arg(inst, 1, 8)?, "ub");
        self.op(name, &[a, b], to);
        Ok(())
    }

    fn integer(&mut self, inst: &Inst, ty: Ty, to: To) -> Result<(), Missing> {
        let (bits, kind, own) = (ty.bits(), plain(ty), of(ty));
        let a = self.arg(inst, 0, bits)?;
        let second = inst.operands.get(1).and_then(|b| self.known(b, bits));
        if self.immediate(inst.op, bits, (a.clone(), kind), second, to) {
            return Ok(());
        }
        match inst.op {
            Op::Neg => self.op("v.sub", &[(Src::zero(), kind), (a, kind)], to),
            Op::Abs => {
                let minus = self.temp("v.sub", &[(Src::zero(), kind), (a.clone(), kind)], to.1);
                let own = suffix(bits, true);
                self.op("v.max", &[(a, own), (minus, own)], to);
            }
            Op::Not => self.op_imm("v.xori", (a, kind), -1, to),
            Op::Cnot => self.op_imm("v.cmp.eqi", (a, kind), 0, to),
            Op::Popc => self.text(format!("v.bcnt {{0}}, 0, {bits}"), &[(a, kind)], Some(to)),
            Op::Clz => self.text(format!("v.clz {{0}}, 0, {bits}"), &[(a, kind)], Some(to)),
            Op::Shl | Op::Shr => return self.shift(inst, ty, a, to),
            _ => {
                let b = self.arg(inst, 1, bits)?;
                return self.two(inst, (ty, own), a, b, to);
            }
        }
        Ok(())
    }

    /// An operation with an immediate, if it has the form.
    fn immediate(
        &mut self,
        op: Op,
        bits: u32,
        a: (Src, &'static str),
        second: Option<u64>,
        to: To,
    ) -> bool {
        let Some(value) = second else { return false };
        let value = signed(value, bits);
        let (name, value) = match op {
            Op::Add if (0..4096).contains(&value) => ("v.addi", value),
            Op::Add if (-4095..0).contains(&value) => ("v.subi", -value),
            Op::Sub if (0..4096).contains(&value) => ("v.subi", value),
            Op::Sub if (-4095..0).contains(&value) => ("v.addi", -value),
            Op::And if (-2048..2048).contains(&value) => ("v.andi", value),
            Op::Or if (-2048..2048).contains(&value) => ("v.ori", value),
            Op::Xor if (-2048..2048).contains(&value) => ("v.xori", value),
            _ => return false,
        };
        self.op_imm(name, a, value, to);
        true
    }

    fn two(
        &mut self,
        inst: &Inst,
        (ty, own): (Ty, &'static str),
        a: Src,
        b: Src,
        to: To,
    ) -> Result<(), Missing> {
        let (bits, kind) = (ty.bits(), plain(ty));
        let simple = match inst.op {
            Op::Add => Some("v.add"),
            Op::Sub => Some("v.sub"),
            Op::Mul => Some("v.mul"),
            Op::And => Some("v.and"),
            Op::Or => Some("v.or"),
            Op::Xor => Some("v.xor"),
            _ => None,
        };
        if let Some(name) = simple {
            self.op(name, &[(a, kind), (b, kind)], to);
            return Ok(());
        }
        match inst.op {
            Op::AndNot => {
                let not = match bits {
                    64 => "ud.not",
                    32 => "uw.not",
                    _ => "uh.not",
                };
                self.op("v.and", &[(a, kind), (b, not)], to);
            }
            Op::Mad => {
                let c = self.arg(inst, 2, bits)?;
                self.op("v.madd", &[(a, kind), (b, kind), (c, kind)], to);
            }
            Op::MulWide => self.op("v.mul", &[(a, own), (b, own)], to),
            Op::MadWide => {
                let c = self.arg(inst, 2, 2 * bits)?;
                self.op("v.madd", &[(a, own), (b, own), (c, suffix(2 * bits, false))], to);
            }
            Op::MulHi if bits < 64 => {
                let product = self.temp("v.mul", &[(a, own), (b, own)], 'd');
                self.op_imm("v.srli", (product, "ud"), i64::from(bits), to);
            }
            Op::MulHi => self.high(ty.is_signed(), a, b, to),
            Op::Min => self.op("v.min", &[(a, own), (b, own)], to),
            Op::Max => self.op("v.max", &[(a, own), (b, own)], to),
            Op::Rem => self.op("v.rem", &[(a, own), (b, own)], to),
            Op::Div => {
                // By zero the machine gives 0, and PTX all ones.
                let quotient = self.temp("v.div", &[(a, own), (b.clone(), own)], letter(bits));
                let ones = self.constant(if bits == 64 { u64::MAX } else { (1 << bits) - 1 });
                self.op("v.csel", &[(b, kind), (quotient, kind), (ones, kind)], to);
            }
            _ => return Err(self.missing(format!("operation `{}.{ty}`", inst.op.name()))),
        }
        Ok(())
    }

    /// The high half of a product of 128 bits, by products of halves (Hacker's Delight, 8-2).
    fn high(&mut self, is_signed: bool, a: Src, b: Src, to: To) {
        let up = |this: &mut Self, x: &Src| this.temp_imm("v.srli", (x.clone(), "ud"), 32, 'd');
        let low = self.temp("v.mul", &[(a.clone(), "uw"), (b.clone(), "uw")], 'd');
        let (ah, bh) = (up(self, &a), up(self, &b));
        let carry = up(self, &low);
        let first =
            self.temp("v.madd", &[(ah.clone(), "uw"), (b.clone(), "uw"), (carry, "ud")], 'd');
        let second = self.temp(
            "v.madd",
            &[(a.clone(), "uw"), (bh.clone(), "uw"), (first.clone(), "uw")],
            'd',
        );
        let (x, y) = (up(self, &first), up(self, &second));
        let sum = self.temp("v.madd", &[(ah, "uw"), (bh, "uw"), (x, "ud")], 'd');
        if !is_signed {
            self.op("v.add", &[(sum, "ud"), (y, "ud")], to);
            return;
        }
        let mut high = self.temp("v.add", &[(sum, "ud"), (y, "ud")], 'd');
        for (x, y) in [(a.clone(), b.clone()), (b, a)] {
            let sign = self.temp_imm("v.srai", (x, "sd"), 63, 'd');
            let part = self.temp("v.and", &[(sign, "ud"), (y, "ud")], 'd');
            high = self.temp("v.sub", &[(high, "ud"), (part, "ud")], 'd');
        }
        self.op_imm("v.addi", (high, "ud"), 0, to);
    }

    /// Shifts: amounts beyond the width clamp to it; the machine's count modulo the width.
    fn shift(&mut self, inst: &Inst, ty: Ty, a: Src, to: To) -> Result<(), Missing> {
        let bits = ty.bits();
        let arithmetic = inst.op == Op::Shr && ty.is_signed();
        let name = match (inst.op, arithmetic) {
            (Op::Shl, _) => "v.sll",
            (_, false) => "v.srl",
            (_, true) => "v.sra",
        };
        let own = if arithmetic { of(ty) } else { plain(ty) };
        if let Some(amount) = inst.operands.get(1).and_then(|b| self.known(b, 32)) {
            match (amount < u64::from(bits), arithmetic) {
                (true, _) => self.op_imm(&format!("{name}i"), (a, own), amount as i64, to),
                (false, true) => self.op_imm("v.srai", (a, own), i64::from(bits) - 1, to),
                (false, false) => self.op_imm("v.addi", (Src::zero(), "ud"), 0, to),
            }
            return Ok(());
        }
        let amount = self.arg(inst, 1, 32)?;
        if arithmetic || bits < 64 {
            // A cell of 64 bits shifts a narrow value out altogether.
            let most = self.constant(if arithmetic { u64::from(bits) - 1 } else { 63 });
            let amount = self.temp("v.min", &[(amount, "uw"), (most, "uw")], 'w');
            let (a, own) = if arithmetic { (a, own) } else { (self.cell(a, bits), "ud") };
            self.op(name, &[(a, own), (amount, "uw")], to);
            return Ok(());
        }
        let shifted = self.temp(name, &[(a, "ud"), (amount.clone(), "uw")], 'd');
        let within = self.temp_imm("v.cmp.ltui", (amount, "uw"), 64, 'b');
        self.op("v.csel", &[(within, "ub"), (shifted, "ud"), (Src::zero(), "ud")], to);
        Ok(())
    }

    fn float(&mut self, inst: &Inst, ty: Ty, to: To) -> Result<(), Missing> {
        let kind = of(ty);
        let a = self.arg(inst, 0, ty.bits())?;
        match inst.op {
            Op::Abs => {
                self.op("v.fabs", &[(a, kind)], to);
                return Ok(());
            }
            Op::Neg => {
                let sign = self.constant(1 << (ty.bits() - 1));
                self.op("v.xor", &[(a, plain(ty)), (sign, plain(ty))], to);
                return Ok(());
            }
            _ => {}
        }
        let (name, count) = match inst.op {
            Op::Add => ("v.fadd", 2),
            Op::Sub => ("v.fsub", 2),
            Op::Mul => ("v.fmul", 2),
            Op::Div => ("v.fdiv", 2),
            Op::Min => ("v.fmin", 2),
            Op::Max => ("v.fmax", 2),
            Op::Fma => ("v.fmadd", 3),
            Op::Sqrt => ("v.fsqrt", 1),
            Op::Rcp => ("v.frecip", 1),
            _ => return Err(self.missing(format!("operation `{}.{ty}`", inst.op.name()))),
        };
        let mut sources = vec![(a, kind)];
        for index in 1..count {
            sources.push((self.arg(inst, index, ty.bits())?, kind));
        }
        let value = self.temp(name, &sources, letter(ty.bits()));
        self.canonical(value, ty, to);
        Ok(())
    }

    /// A sum of floats.
    pub(super) fn sum(&mut self, ty: Ty, a: Src, b: Src, to: To) {
        let value = self.temp("v.fadd", &[(a, of(ty)), (b, of(ty))], letter(ty.bits()));
        self.canonical(value, ty, to);
    }

    /// The NaN of PTX in the place of the machine's.
    fn canonical(&mut self, value: Src, ty: Ty, to: To) {
        let (kind, bits) = (of(ty), plain(ty));
        let is_nan = self.temp("v.fne", &[(value.clone(), kind), (value.clone(), kind)], 'b');
        let nan = self.constant(nan(ty));
        self.op("v.csel", &[(is_nan, "ub"), (nan, bits), (value, bits)], to);
    }

    fn convert(&mut self, inst: &Inst, ty: Ty, to: To) -> Result<(), Missing> {
        let from = inst.ty2.unwrap_or(Ty::B32);
        let a = self.arg(inst, 0, from.bits())?;
        match (integer(ty), integer(from)) {
            (true, true) if ty.bits() >= 16 || ty.bits() >= from.bits() => {
                let kind = if ty.bits() > from.bits() { of(from) } else { plain(from) };
                self.op_imm("v.addi", (a, kind), 0, to);
            }
            (true, true) => {
                let name = format!("v.icvt.{}2{}", of(from), of(ty));
                self.op(&name, &[(a, of(from))], to);
            }
            (false, true) => {
                let name = format!("v.icvtf.{}2{}", of(from), of(ty));
                self.op(&name, &[(a, of(from))], to);
            }
            (true, false) => {
                let name = format!("v.fcvti.{}2{}", of(from), of(ty));
                self.op(&name, &[(a, of(from))], to);
            }
            (false, false) if float(ty) && float(from) => {
                let name = format!("v.fcvt.{}2{}", of(from), of(ty));
                let value = self.temp(&name, &[(a, of(from))], letter(ty.bits()));
                self.canonical(value, ty, to);
            }
            _ => return Err(self.missing(format!("conversion from {from} to {ty}"))),
        }
        Ok(())
    }

    fn pack(&mut self, inst: &Inst, to: To) -> Result<(), Missing> {
        let part = inst.ty2.unwrap_or(Ty::B32);
        let bits = part.bits();
        let mut value = (self.arg(inst, 0, bits)?, plain(part));
        for index in 1..inst.operands.len() {
            let shift = bits * index as u32;
            let next = self.arg(inst, index, bits)?;
            let next = self.cell(next, bits);
            let up = self.temp_imm("v.slli", (next, "ud"), i64::from(shift), 'd');
            value = (self.temp("v.or", &[value, (up, "ud")], 'd'), "ud");
        }
        self.op_imm("v.addi", value, 0, to);
        Ok(())
    }

    fn unpack(&mut self, inst: &Inst, ty: Ty) -> Result<(), Missing> {
        let part = inst.ty2.unwrap_or(Ty::B32);
        let mut a = self.arg(inst, 0, ty.bits())?;
        // A result may be the operand.
        let overwritten = |r: &Option<Reg>| match (r, &a) {
            (Some(Reg::Lane(reg)), Src::Val(val)) => Val::Lane(reg.0) == *val,
            _ => false,
        };
        if inst.results.iter().any(overwritten) {
            a = self.temp_imm("v.addi", (a, plain(ty)), 0, 'd');
        }
        for (index, result) in inst.results.iter().enumerate() {
            if result.is_none() {
                continue;
            }
            let to = self.to(inst, index)?;
            let shift = i64::from(part.bits()) * index as i64;
            let piece = self.temp_imm("v.srli", (a.clone(), plain(ty)), shift, letter(part.bits()));
            self.op_imm("v.addi", (piece, plain(part)), 0, to);
        }
        Ok(())
    }

    fn setp(&mut self, inst: &Inst, ty: Ty) -> Result<(), Missing> {
        let Some(cmp) = inst.mods.cmp else { return Err(self.missing("such comparison")) };
        let (a, b) = (self.arg(inst, 0, ty.bits())?, self.arg(inst, 1, ty.bits())?);
        let first = inst.results.first().copied().flatten();
        let second = inst.results.get(1).copied().flatten();
        let simple = inst.mods.bool_op.is_none() && second.is_none();
        if simple && let Some(Reg::Lane(reg)) = first {
            let to = self.to(inst, 0)?;
            if float(ty) {
                self.compare_floats(cmp, ty, a, b, to)?;
            } else {
                let compare = self.compare(inst, cmp, ty, a, b)?;
                self.text(compare.text.clone(), &compare.sources, Some(to));
                self.compares.insert(reg, compare);
            }
            return Ok(());
        }
        let holds = self.body.lane();
        if float(ty) {
            self.compare_floats(cmp, ty, a, b, (holds, 'b'))?;
        } else {
            let compare = self.compare(inst, cmp, ty, a, b)?;
            self.text(compare.text, &compare.sources, Some((holds, 'b')));
        }
        let not = self.temp_imm("v.xori", (Src::Val(holds), "ub"), 1, 'b');
        let with = match inst.mods.bool_op {
            Some(_) => Some(self.arg(inst, 2, 8)?),
            None => None,
        };
        for (index, value) in [(0, Src::Val(holds)), (1, not)] {
            let Some(Some(_)) = inst.results.get(index) else { continue };
            let to = self.to(inst, index)?;
            // The first result may be the operand that the second is combined with.
            let name = match inst.mods.bool_op {
                Some(BoolOp::And) => "v.and",
                Some(BoolOp::Or) => "v.or",
                Some(BoolOp::Xor) => "v.xor",
                None => "v.or",
            };
            let other = with.clone().unwrap_or_else(Src::zero);
            if second.is_some() && index == 0 && other == Src::Val(to.0) {
                return Err(self.missing("comparison that overwrites its own operand"));
            }
            self.op(name, &[(value, "ub"), (other, "ub")], to);
        }
        Ok(())
    }

    /// A comparison of integers.
    fn compare(
        &mut self,
        inst: &Inst,
        cmp: Cmp,
        ty: Ty,
        a: Src,
        b: Src,
    ) -> Result<Compare, Missing> {
        let (kind, own) = (plain(ty), of(ty));
        let unsigned = !ty.is_signed() || matches!(cmp, Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs);
        let order = if unsigned { kind } else { own };
        let (name, opposite, swap, kind) = match (cmp, unsigned) {
            (Cmp::Eq, _) => ("eq", "ne", false, kind),
            (Cmp::Ne, _) => ("ne", "eq", false, kind),
            (Cmp::Lt | Cmp::Lo, true) => ("ltu", "geu", false, order),
            (Cmp::Lt, false) => ("lt", "ge", false, order),
            (Cmp::Ge | Cmp::Hs, true) => ("geu", "ltu", false, order),
            (Cmp::Ge, false) => ("ge", "lt", false, order),
            (Cmp::Gt | Cmp::Hi, true) => ("ltu", "geu", true, order),
            (Cmp::Gt, false) => ("lt", "ge", true, order),
            (Cmp::Le | Cmp::Ls, true) => ("geu", "ltu", true, order),
            (Cmp::Le, false) => ("ge", "lt", true, order),
            _ => return Err(self.missing("such comparison of integers")),
        };
        let second = inst.operands.get(1).and_then(|b| self.known(b, ty.bits()));
        let small = second.map(|v| if unsigned { v as i64 } else { signed(v, ty.bits()) });
        let fits = small.filter(|v| match name {
            "ltu" | "geu" => (0..4096).contains(v),
            "eq" | "ne" => (0..2048).contains(v),
            _ => (-2048..2048).contains(v),
        });
        if let Some(value) = fits.filter(|_| !swap) {
            let text = |name: &str| format!("v.cmp.{name}i {{0}}, {value}");
            return Ok(Compare {
                text: text(name),
                opposite: Some(text(opposite)),
                sources: vec![(a, kind)],
            });
        }
        let text = |name: &str| format!("v.cmp.{name} {{0}}, {{1}}");
        let sources = if swap { vec![(b, kind), (a, kind)] } else { vec![(a, kind), (b, kind)] };
        Ok(Compare { text: text(name), opposite: Some(text(opposite)), sources })
    }

    fn compare_floats(&mut self, cmp: Cmp, ty: Ty, a: Src, b: Src, to: To) -> Result<(), Missing> {
        let kind = of(ty);
        let (a, b) = ((a, kind), (b, kind));
        let (name, first, second, not) = match cmp {
            Cmp::Eq => ("v.feq", a, b, false),
            Cmp::Neu => ("v.fne", a, b, false),
            Cmp::Lt => ("v.flt", a, b, false),
            Cmp::Gt => ("v.flt", b, a, false),
            Cmp::Ge => ("v.fge", a, b, false),
            Cmp::Le => ("v.fge", b, a, false),
            Cmp::Ltu => ("v.fge", a, b, true),
            Cmp::Gtu => ("v.fge", b, a, true),
            Cmp::Geu => ("v.flt", a, b, true),
            Cmp::Leu => ("v.flt", b, a, true),
            Cmp::Ne | Cmp::Equ => {
                let less = self.temp("v.flt", &[a.clone(), b.clone()], 'b');
                let more = self.temp("v.flt", &[b, a], 'b');
                self.both("v.or", less, more, cmp == Cmp::Equ, to);
                return Ok(());
            }
            Cmp::Num | Cmp::Nan => {
                let x = self.temp("v.feq", &[a.clone(), a], 'b');
                let y = self.temp("v.feq", &[b.clone(), b], 'b');
                self.both("v.and", x, y, cmp == Cmp::Nan, to);
                return Ok(());
            }
            _ => return Err(self.missing("such comparison of floats")),
        };
        if not {
            let holds = self.temp(name, &[first, second], 'b');
            self.op_imm("v.xori", (holds, "ub"), 1, to);
        } else {
            self.op(name, &[first, second], to);
        }
        Ok(())
    }

    fn both(&mut self, name: &str, x: Src, y: Src, not: bool, to: To) {
        if !not {
            self.op(name, &[(x, "ub"), (y, "ub")], to);
            return;
        }
        let holds = self.temp(name, &[(x, "ub"), (y, "ub")], 'b');
        self.op_imm("v.xori", (holds, "ub"), 1, to);
    }
}
