//! Which values stand in the machine's registers: rows of one register for each lane.
//!
//! Values come into rows where they are needed, and go back to their frame slots when the row is
//! needed for another, when lanes are turned on or off, and at the end of a block. The value whose
//! next use is farthest goes first (Belady, 1966).

use super::emit::Window::{Row, Same};
use super::live::Home;
use super::select::Select;
use ir::{LaneReg, Operand, Reg};

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    /// Integer registers.
    X,
    /// Floating-point registers.
    F,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A row, by its first register.
    Row(u32),
    /// A scalar register: the same value in all lanes.
    Same(u32),
}

/// What a row holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// A register of the kernel; `None` for a value inside of one instruction.
    reg: Option<LaneReg>,
    /// Its slot does not have the value yet.
    dirty: bool,
    /// It is an operand or result of the instruction in hand.
    pinned: bool,
    /// Its NaNs are those of PTX.
    canonical: bool,
}

/// First integer register of rows; those below are scalars.
const FIRST_X: u32 = 8;

impl Select<'_> {
    fn file(&mut self, file: File) -> &mut Vec<Option<Held>> {
        &mut self.rows[file as usize]
    }

    fn register(&self, file: File, row: usize) -> u32 {
        let first = if file == File::X { FIRST_X } else { 0 };
        first + row as u32 * self.lanes
    }

    fn row(&self, file: File, register: u32) -> usize {
        let first = if file == File::X { FIRST_X } else { 0 };
        ((register - first) / self.lanes) as usize
    }

    fn name(file: File) -> char {
        if file == File::X { 'x' } else { 'f' }
    }

    /// The place of the next use of a register in the block, `END` if it is needed behind it only.
    fn next_use(&self, reg: LaneReg) -> Option<u32> {
        let uses = self.uses.get(&reg).map_or(&[][..], Vec::as_slice);
        let next = uses.get(uses.partition_point(|&at| at <= self.at)).copied();
        next.or_else(|| self.facts.needed(&self.block, reg).then_some(u32::MAX))
    }

    /// The same, with the instruction in hand, whose operands may not have been read yet.
    fn next_read(&self, reg: LaneReg) -> Option<u32> {
        if self.reads.contains(&reg) { Some(self.at) } else { self.next_use(reg) }
    }

    fn find(&self, file: File, reg: LaneReg) -> Option<usize> {
        self.rows[file as usize].iter().position(|held| held.is_some_and(|h| h.reg == Some(reg)))
    }

    /// A free row, pinned.
    fn take(&mut self, file: File) -> usize {
        let row = self.free_row(file);
        self.file(file)[row] =
            Some(Held { reg: None, dirty: false, pinned: true, canonical: true });
        row
    }

    fn free_row(&mut self, file: File) -> usize {
        if let Some(row) = self.file(file).iter().position(Option::is_none) {
            return row;
        }
        let distance =
            |held: &Held| held.reg.map_or(0, |reg| self.next_read(reg).map_or(u64::MAX, u64::from));
        let rows = self.rows[file as usize].iter().enumerate();
        let unpinned = rows.filter_map(|(i, held)| held.filter(|h| !h.pinned).map(|h| (i, h)));
        let victim = unpinned.max_by_key(|(_, held)| distance(held)).map_or(0, |found| found.0);
        self.write_back(file, victim);
        self.file(file)[victim] = None;
        victim
    }

    /// A new row for a value of the instruction in hand.
    pub(super) fn temp(&mut self, file: File) -> u32 {
        let row = self.take(file);
        self.register(file, row)
    }

    /// Gives up a row of [`Select::temp`].
    pub(super) fn drop_temp(&mut self, file: File, register: u32) {
        let row = self.row(file, register);
        if self.rows[file as usize][row].is_some_and(|held| held.reg.is_none()) {
            self.file(file)[row] = None;
        }
    }

    /// The row is not needed by the rest of the instruction, unless it is its result.
    pub(super) fn unpin(&mut self, file: File, source: Source) {
        let Source::Row(register) = source else { return };
        let row = self.row(file, register);
        if let Some(held) = &mut self.file(file)[row]
            && held.reg.is_some()
        {
            held.pinned = false;
        }
    }

    /// A row for a result: one of the sources' that nothing needs behind the instruction, or a new
    /// one. Only for instructions that read their operands before they write.
    pub(super) fn result_row(&mut self, file: File, sources: &[Source]) -> u32 {
        for source in sources {
            let &Source::Row(register) = source else { continue };
            let row = self.row(file, register);
            let Some(held) = self.rows[file as usize][row] else { continue };
            let dead = held.reg.is_none_or(|reg| {
                let again = self.reads.iter().filter(|&&read| read == reg).count() > 1;
                self.next_use(reg).is_none() && !again
            });
            if dead {
                self.file(file)[row] =
                    Some(Held { reg: None, dirty: false, pinned: true, canonical: true });
                return register;
            }
        }
        self.temp(file)
    }

    /// The row of `file` holds the register's new value from here on.
    pub(super) fn define(&mut self, file: File, register: u32, reg: LaneReg, canonical: bool) {
        for other in [File::X, File::F] {
            if let Some(row) = self.find(other, reg) {
                self.file(other)[row] = None;
            }
        }
        let row = self.row(file, register);
        self.file(file)[row] = Some(Held { reg: Some(reg), dirty: true, pinned: false, canonical });
    }

    /// Unpins all rows and frees those that nothing needs: the end of an instruction.
    pub(super) fn release(&mut self) {
        for file in [File::X, File::F] {
            for row in 0..self.rows[file as usize].len() {
                let Some(held) = self.rows[file as usize][row] else { continue };
                let needed = held.reg.is_some_and(|reg| self.next_use(reg).is_some());
                self.file(file)[row] = needed.then_some(Held { pinned: false, ..held });
            }
        }
        self.scratch = 0;
    }

    /// Stores a row to its slot, if the slot does not have it and something needs it.
    fn write_back(&mut self, file: File, row: usize) {
        let Some(Held { reg: Some(reg), dirty: true, .. }) = self.rows[file as usize][row] else {
            return;
        };
        if self.next_read(reg).is_some() {
            let slot = self.slot(reg);
            let store = if file == File::X { "sw" } else { "fsw" };
            let register = self.register(file, row);
            self.frame(store, Self::name(file), register, slot);
        }
        if let Some(held) = &mut self.file(file)[row] {
            held.dirty = false;
        }
    }

    /// Stores all rows: before lanes are turned on or off, and at the end of a block.
    pub(super) fn flush(&mut self) {
        for file in [File::X, File::F] {
            (0..self.rows[file as usize].len()).for_each(|row| self.write_back(file, row));
        }
    }

    /// Forgets all rows.
    pub(super) fn forget(&mut self) {
        for file in [File::X, File::F] {
            self.file(file).fill(None);
        }
    }

    /// The frame slot of a register.
    pub(super) fn slot(&mut self, reg: LaneReg) -> u32 {
        if let Home::Slot(slot) = self.facts.home(reg) {
            return slot;
        }
        // Values that stay in their block share slots behind the others with those of other blocks.
        let next = self.facts.slots + self.spilled.len() as u32;
        let slot = *self.spilled.entry(reg).or_insert(next);
        self.most_slots = self.most_slots.max(slot + 1);
        self.spills += u64::from(slot == next);
        slot
    }

    /// A lane-wise load or store of a frame slot.
    pub(super) fn frame(&mut self, name: &str, file: char, register: u32, slot: u32) {
        let offset = self.slot_offset(slot);
        let (base, offset) = self.reach(2, offset);
        let stores = name.contains("sw");
        self.emit.lane(
            format!("{name} {file}{register}, {offset}(x{base})"),
            Some(Same),
            stores.then_some(Row),
        );
    }

    /// A base and an offset that fits into an instruction, by scratch register x1.
    pub(super) fn reach(&mut self, base: u32, offset: i64) -> (u32, i64) {
        if (-2048..2048).contains(&offset) {
            return (base, offset);
        }
        self.emit.constant(1, offset as u32);
        self.emit.scalar(format!("add x1, x1, x{base}"));
        (1, 0)
    }

    /// A scalar register for a value of the instruction in hand: x4, x5 or x6.
    pub(super) fn scratch(&mut self) -> u32 {
        self.scratch += 1;
        3 + self.scratch
    }

    /// The scalar word of the frame at this index, loaded into a register.
    pub(super) fn load_word(&mut self, register: u32, word: u32) {
        let (base, offset) = self.reach(2, Self::word_offset(word));
        self.emit.scalar(format!("lw x{register}, {offset}(x{base})"));
    }

    pub(super) fn store_word(&mut self, register: u32, word: u32) {
        let (base, offset) = self.reach(2, Self::word_offset(word));
        self.emit.scalar(format!("sw x{register}, {offset}(x{base})"));
    }

    /// A value that is the same in all lanes, in a scalar register; `None` for others.
    pub(super) fn same(&mut self, operand: Operand) -> Option<u32> {
        match operand {
            Operand::Imm(value) if value as u32 == 0 => Some(0),
            Operand::Imm(value) => {
                let register = self.scratch();
                self.emit.constant(register, value as u32);
                Some(register)
            }
            Operand::Reg(Reg::Lane(reg)) => {
                let home = self.facts.home(reg);
                if !matches!(home, Home::Word(_) | Home::Param(_)) {
                    return None;
                }
                let register = self.scratch();
                match home {
                    Home::Word(word) => self.load_word(register, word),
                    Home::Param(at) => {
                        let at = at + super::launch::PARAMS;
                        self.emit.scalar(format!("lw x{register}, {at}(x7)"));
                    }
                    _ => {}
                }
                Some(register)
            }
            Operand::Symbol(ir::Symbol::Var(var), within) => {
                let register = self.scratch();
                self.emit.address(register, &super::launch::variable(var), within);
                Some(register)
            }
            Operand::Sreg(sreg) => {
                let at = super::live::launch_word(sreg)?;
                let register = self.scratch();
                self.emit.scalar(format!("lw x{register}, {at}(x7)"));
                Some(register)
            }
            _ => None,
        }
    }

    /// An integer operand.
    pub(super) fn x(&mut self, operand: Operand) -> Source {
        match self.same(operand) {
            Some(register) => Source::Same(register),
            None => Source::Row(self.x_row(operand)),
        }
    }

    /// An integer operand in a row; one that is the same in all lanes is copied into one.
    pub(super) fn x_row(&mut self, operand: Operand) -> u32 {
        if let Some(scalar) = self.same(operand) {
            let row = self.temp(File::X);
            self.emit.lane(format!("addi x{row}, x{scalar}, 0"), Some(Same), None);
            return row;
        }
        let Operand::Reg(Reg::Lane(reg)) = operand else { return self.temp(File::X) };
        let register = self.loaded(File::X, reg);
        self.canonical(register, reg);
        register
    }

    /// A floating-point operand in a row.
    pub(super) fn f_row(&mut self, operand: Operand) -> u32 {
        if let Some(scalar) = self.same(operand) {
            let row = self.temp(File::F);
            self.emit.lane(format!("fmv.w.x f{row}, x{scalar}"), Some(Same), None);
            return row;
        }
        let Operand::Reg(Reg::Lane(reg)) = operand else { return self.temp(File::F) };
        self.loaded(File::F, reg)
    }

    /// The row of a register, loaded if it stands in none, and pinned.
    fn loaded(&mut self, file: File, reg: LaneReg) -> u32 {
        if let Some(row) = self.find(file, reg) {
            if let Some(held) = &mut self.file(file)[row] {
                held.pinned = true;
            }
            return self.register(file, row);
        }
        let other = if file == File::X { File::F } else { File::X };
        let there = self.find(other, reg);
        // The row that it is copied from must not be the one that makes room.
        let row = self.take(file);
        let register = self.register(file, row);
        let mut canonical = !self.raw.contains(&reg);
        if let Some(from) = there {
            let name = if file == File::X { "fmv.x.w x" } else { "fmv.w.x f" };
            let source = self.register(other, from);
            let text = format!("{name}{register}, {}{source}", Self::name(other));
            self.emit.lane(text, Some(Row), None);
            canonical = self.rows[other as usize][from].is_none_or(|held| held.canonical);
        } else {
            let load = if file == File::X { "lw" } else { "flw" };
            let slot = self.slot(reg);
            self.frame(load, Self::name(file), register, slot);
        }
        self.file(file)[row] = Some(Held { reg: Some(reg), dirty: false, pinned: true, canonical });
        register
    }

    /// Makes the NaNs of a row those of PTX: results of the machine's floating-point instructions
    /// have `0x7fc00000` instead of `0x7fffffff`, which only those that look at bits can tell.
    fn canonical(&mut self, register: u32, reg: LaneReg) {
        let row = self.row(File::X, register);
        if !self.raw.contains(&reg) || self.rows[0][row].is_none_or(|held| held.canonical) {
            return;
        }
        let test = self.temp(File::X);
        self.emit.constant(1, 0x7fbf_ffff);
        self.emit.lane(format!("slt x{test}, x1, x{register}"), Some(Same), Some(Row));
        self.emit.lane(format!("sub x{test}, x0, x{test}"), Some(Same), Some(Row));
        self.emit.lane(format!("srliw x{test}, x{test}, 10"), Some(Row), None);
        self.emit.lane(format!("or x{register}, x{register}, x{test}"), Some(Row), Some(Row));
        self.drop_temp(File::X, test);
        if let Some(held) = &mut self.rows[0][row] {
            held.canonical = true;
        }
    }
}

impl Source {
    /// The register, and the window that its lanes have.
    pub(super) fn parts(self) -> (u32, super::emit::Window) {
        match self {
            Self::Row(register) => (register, Row),
            Self::Same(register) => (register, Same),
        }
    }
}
