//! Random programs: what their code leaves in memory is what their evaluation leaves.

use super::harness::{Test, is_available};
use super::program::{Binary, Counts, Lanes, Logic, ROWS, Second, State, Statement};
use super::translate::translate;
use regalloc2::Algorithm;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }
}

/// Makes programs over a number of variables.
struct Generator {
    random: Random,
    counts: Counts,
}

impl Generator {
    fn vector(&mut self) -> usize {
        self.random.below(self.counts.vectors)
    }

    fn mask(&mut self) -> usize {
        self.random.below(self.counts.masks)
    }

    fn int(&mut self) -> usize {
        self.random.below(self.counts.ints)
    }

    fn second(&mut self) -> Second {
        match self.random.below(6) {
            0 => Second::Row(self.random.below(ROWS)),
            1 => Second::Splat(self.random.next() as u32 >> self.random.below(32)),
            _ => Second::Vector(self.vector()),
        }
    }

    fn logic(&mut self) -> Logic {
        [Logic::And, Logic::Or, Logic::Xor][self.random.below(3)]
    }

    fn list(&mut self, length: usize, depth: usize) -> Vec<Statement> {
        (0..length).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: usize) -> Statement {
        use Binary::{Add, Min, Mul, Sub, Xor};
        if depth > 0 && self.random.below(10) == 0 {
            let length = 1 + self.random.below(12);
            let inner = self.list(length, depth - 1);
            if self.random.below(2) == 0 {
                return Statement::Loop(1 + self.random.below(3) as u32, inner);
            }
            let length = self.random.below(8);
            let other = self.list(length, depth - 1);
            return Statement::If(self.int(), self.int(), inner, other);
        }
        match self.random.below(28) {
            0..8 => {
                let op = [Add, Sub, Xor, Mul, Min][self.random.below(5)];
                let lanes = match self.random.below(3) {
                    0 => Lanes::All,
                    1 => Lanes::Merge(self.mask()),
                    _ => Lanes::Zero(self.mask()),
                };
                Statement::Vector(self.vector(), op, self.vector(), self.second(), lanes)
            }
            8 => Statement::Three(self.vector(), [(); 3].map(|()| self.vector())),
            9 => Statement::Gather(self.vector(), self.vector(), self.mask()),
            10 | 11 => {
                let under = (self.random.below(3) == 0).then(|| self.mask());
                let predicate = self.random.below(4) as u32;
                Statement::Compare(self.mask(), self.vector(), self.second(), predicate, under)
            }
            12 => Statement::Mask(self.mask(), self.logic(), self.mask(), self.mask()),
            13 => Statement::Int(self.int(), self.logic(), self.int(), self.int()),
            14 | 15 => {
                let displacement = self.random.below(1000) as i32;
                Statement::Lea(self.int(), self.int(), self.int(), displacement)
            }
            16 => Statement::Shift(self.int(), self.int(), self.int()),
            17 => Statement::Splat(self.vector(), self.int()),
            18 => Statement::FromMask(self.int(), self.mask()),
            19 => Statement::ToMask(self.mask(), self.int()),
            20 => Statement::Store(self.random.below(ROWS), self.vector()),
            21 => Statement::Load(self.vector(), self.random.below(ROWS)),
            22 => Statement::Call(self.int(), self.int(), self.int()),
            23 => {
                let to = [(); 2].map(|()| self.vector());
                Statement::Replace(to, self.int(), [(); 2].map(|()| self.random.below(ROWS)))
            }
            24 => Statement::Less(self.int(), self.int(), self.int()),
            25 => Statement::Always,
            _ => Statement::Switch(self.int()),
        }
    }
}

/// Runs one program, and returns the moves that allocation has added.
fn one(seed: u64) -> [usize; 2] {
    let mut random = Random(seed);
    let counts = Counts {
        vectors: 2 + random.below(40),
        masks: 1 + random.below(12),
        ints: 1 + random.below(15),
    };
    let words: Vec<u32> =
        (0..16 * ROWS).map(|_| random.next() as u32 >> random.below(32)).collect();
    let length = 5 + random.below(120);
    let mut generator = Generator { random, counts };
    let statements = generator.list(length, 3);
    let mut state = State::new(counts, &words);
    state.run(&statements);
    let expected = state.store();
    let mut moves = [0; 2];
    for algorithm in [Algorithm::Ion, Algorithm::Fastalloc] {
        let mut test = Test::new();
        translate(&mut test, counts, &statements);
        let (result, compiled) = test.finish(algorithm, &words);
        assert_eq!(result, expected, "seed {seed}, {algorithm:?}: {statements:#?}");
        (0..2).for_each(|i| moves[i] += compiled.moves[i]);
    }
    moves
}

#[test]
fn random_programs_give_what_their_evaluation_gives() {
    if !is_available() {
        return;
    }
    let count = std::env::var("SIMTLAB_VCODE_PROGRAMS").ok().and_then(|n| n.parse().ok());
    let mut moves = [0; 2];
    for seed in 0..count.unwrap_or(60) {
        let added = one(seed);
        (0..2).for_each(|i| moves[i] += added[i]);
    }
    // Programs that need no spill slots would test little.
    assert!(moves.iter().all(|&count| count > 1000), "{moves:?}");
}
