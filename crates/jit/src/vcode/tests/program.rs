//! Small programs over vectors, masks and numbers, and their evaluation.

/// Rows of the data: a variable's index is its row at the end of the program.
pub(super) const ROWS: usize = 48;

/// Numbers of variables: vectors, masks, numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) vectors: usize,
    pub(super) masks: usize,
    pub(super) ints: usize,
}

/// The lanes that an operation writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lanes {
    All,
    /// Those of a mask; the others keep the destination's old value.
    Merge(usize),
    /// Those of a mask; the others become zero.
    Zero(usize),
}

/// Vector operations of two sources.
#[derive(Clone, Copy, Debug)]
pub(super) enum Binary {
    Add,
    Sub,
    Xor,
    Mul,
    Min,
}

/// Operations of two masks or two numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
}

/// The second source of a vector operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Second {
    Vector(usize),
    /// A row of the data.
    Row(usize),
    /// A constant.
    Splat(u32),
}

#[derive(Clone, Debug)]
pub(super) enum Statement {
    Vector(usize, Binary, usize, Second, Lanes),
    /// Exclusive or of three.
    Three(usize, [usize; 3]),
    Gather(usize, usize, usize),
    /// Unsigned comparison by a predicate's number, under a mask.
    Compare(usize, usize, Second, u32, Option<usize>),
    Mask(usize, Logic, usize, usize),
    Int(usize, Logic, usize, usize),
    /// `a + 4 b + displacement`.
    Lea(usize, usize, usize, i32),
    /// Shift to the left by a number.
    Shift(usize, usize, usize),
    Splat(usize, usize),
    FromMask(usize, usize),
    ToMask(usize, usize),
    Store(usize, usize),
    Load(usize, usize),
    /// If a number is odd, the host adds `number + 2 * another` to word 0, and the result is that
    /// word; else the result is the number.
    Call(usize, usize, usize),
    /// If a number is odd, two vectors are loaded from rows.
    Replace([usize; 2], usize, [usize; 2]),
    /// Whether a number is less than another.
    Less(usize, usize, usize),
    /// If a number is odd, the turn ends.
    Switch(usize),
    /// The turn ends.
    Always,
    If(usize, usize, Vec<Statement>, Vec<Statement>),
    /// Rounds of a loop.
    Loop(u32, Vec<Statement>),
}

/// The values of variables, and the data.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) vectors: Vec<[u32; 16]>,
    pub(super) masks: Vec<u32>,
    pub(super) ints: Vec<u32>,
    pub(super) data: Vec<u32>,
}

impl State {
    /// The values at the beginning: variables from the rows of their numbers.
    pub(super) fn new(counts: Counts, data: &[u32]) -> Self {
        let row = |i: usize| std::array::from_fn(|lane| data[16 * i + lane]);
        Self {
            vectors: (0..counts.vectors).map(row).collect(),
            masks: (0..counts.masks).map(|i| data[i] & 0xffff).collect(),
            ints: data[16..16 + counts.ints].to_vec(),
            data: data.to_vec(),
        }
    }

    /// Stores all variables to the data.
    pub(super) fn store(mut self) -> Vec<u32> {
        for (i, row) in self.vectors.iter().enumerate() {
            self.data[16 * i..16 * (i + 1)].copy_from_slice(row);
        }
        let last = &mut self.data[16 * (ROWS - 2)..];
        last[..self.masks.len()].copy_from_slice(&self.masks);
        last[16..16 + self.ints.len()].copy_from_slice(&self.ints);
        self.data
    }

    fn second(&self, second: Second, lane: usize) -> u32 {
        match second {
            Second::Vector(v) => self.vectors[v][lane],
            Second::Row(row) => self.data[16 * row + lane],
            Second::Splat(value) => value,
        }
    }

    pub(super) fn run(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.step(statement));
    }

    fn step(&mut self, statement: &Statement) {
        match *statement {
            Statement::Vector(to, op, a, b, lanes) => {
                self.vectors[to] = std::array::from_fn(|lane| {
                    let (a, b) = (self.vectors[a][lane], self.second(b, lane));
                    let value = match op {
                        Binary::Add => a.wrapping_add(b),
                        Binary::Sub => a.wrapping_sub(b),
                        Binary::Xor => a ^ b,
                        Binary::Mul => a.wrapping_mul(b),
                        Binary::Min => a.min(b),
                    };
                    let on = |k: usize| self.masks[k] >> lane & 1 != 0;
                    match lanes {
                        Lanes::Merge(k) if !on(k) => self.vectors[to][lane],
                        Lanes::Zero(k) if !on(k) => 0,
                        _ => value,
                    }
                });
            }
            Statement::Three(to, [a, b, c]) => {
                let [a, b, c] = [a, b, c].map(|v| self.vectors[v]);
                self.vectors[to] = std::array::from_fn(|lane| a[lane] ^ b[lane] ^ c[lane]);
            }
            Statement::Gather(to, index, k) => {
                self.vectors[to] = std::array::from_fn(|lane| {
                    let index = self.vectors[index][lane] & 15;
                    let on = self.masks[k] >> lane & 1 != 0;
                    if on { self.data[index as usize] } else { self.vectors[to][lane] }
                });
            }
            Statement::Compare(to, a, b, predicate, under) => {
                let mut bits = 0;
                for lane in 0..16 {
                    let (a, b) = (self.vectors[a][lane], self.second(b, lane));
                    let holds = match predicate {
                        0 => a == b,
                        1 => a < b,
                        2 => a <= b,
                        _ => a > b,
                    };
                    bits |= u32::from(holds) << lane;
                }
                self.masks[to] = bits & under.map_or(0xffff, |k| self.masks[k]);
            }
            Statement::Mask(to, op, a, b) => {
                self.masks[to] = logic(op, self.masks[a], self.masks[b]);
            }
            Statement::Int(to, op, a, b) => self.ints[to] = logic(op, self.ints[a], self.ints[b]),
            Statement::Lea(to, a, b, d) => {
                let sum = self.ints[a].wrapping_add(self.ints[b].wrapping_mul(4));
                self.ints[to] = sum.wrapping_add(d as u32);
            }
            Statement::Shift(to, a, by) => self.ints[to] = self.ints[a] << (self.ints[by] & 31),
            Statement::Splat(to, from) => self.vectors[to] = [self.ints[from]; 16],
            Statement::FromMask(to, from) => self.ints[to] = self.masks[from],
            Statement::ToMask(to, from) => self.masks[to] = self.ints[from] & 0xffff,
            Statement::Store(row, from) => {
                let to = &mut self.data[16 * row..16 * (row + 1)];
                to.copy_from_slice(&self.vectors[from]);
            }
            Statement::Load(to, row) => {
                self.vectors[to] = std::array::from_fn(|lane| self.data[16 * row + lane]);
            }
            Statement::Call(to, a, b) => {
                let (a, b) = (self.ints[a], self.ints[b]);
                if a & 1 != 0 {
                    let sum = a.wrapping_add(b.wrapping_mul(2));
                    self.data[0] = self.data[0].wrapping_add(sum);
                    self.ints[to] = self.data[0];
                } else {
                    self.ints[to] = a;
                }
            }
            Statement::Replace(to, a, rows) => {
                if self.ints[a] & 1 != 0 {
                    for (to, row) in to.into_iter().zip(rows) {
                        self.step(&Statement::Load(to, row));
                    }
                }
            }
            Statement::Less(to, a, b) => self.ints[to] = u32::from(self.ints[a] < self.ints[b]),
            Statement::Switch(_) | Statement::Always => {}
            Statement::If(a, b, ref yes, ref no) => {
                let less = self.ints[a] < self.ints[b];
                self.run(if less { yes } else { no });
            }
            Statement::Loop(rounds, ref body) => (0..rounds).for_each(|_| self.run(body)),
        }
    }
}

fn logic(op: Logic, a: u32, b: u32) -> u32 {
    match op {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}
