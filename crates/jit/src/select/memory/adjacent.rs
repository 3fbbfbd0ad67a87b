//! Accesses to contiguous words, one a lane.

use super::{Fallback, Room, add_offset, bytes, call_step, check_align, length, locate, take_row};
use crate::frame::Frame;
use crate::select::Selector;
use crate::select::detail::LineCount;
use crate::select::level::Words;
use crate::vcode::{Local, Mem, Part, Pseudo, VReg, View};
use iced_x86::Code as Op;
use ir::mods::Space;
use smallvec::SmallVec;
use vector::{Access, Home, Value};

use View::R64;

/// An access to contiguous words that has been begun.
struct Adjacent {
    fallback: Fallback,
    room: Room,
    outputs: SmallVec<[VReg; 4]>,
    temps: [VReg; 3],
    at: VReg,
    /// The interpreter executes the step; some lanes may be in bounds; the address is found; the
    /// step is done.
    labels: [Local; 4],
    /// How launches in detail count it, if it is not counted with others: by its pattern, and where
    /// it goes on.
    line: Option<(LineCount, [Local; 2])>,
}

/// What an access moves.
enum Moved {
    /// The place and the registers of a result that is read.
    Loads(Option<(Home, SmallVec<[VReg; 4]>)>),
    /// The values; where partial rows are stored, and where it goes on.
    Stores(Vec<VReg>, Local, Local),
}

impl Selector<'_> {
    pub(super) fn load_adjacent(&mut self, access: &Access, args: &[Value], result: Value) {
        let words = self.level(|l| l.words(access, args[0]));
        let codes = self.codes;
        let place = access.step.results[0];
        let prefetch = self.prefetches(access);
        let (mut p, adjacent) = self.adjacent(access, args, words.parts);
        (codes.load_words)(&mut p, &words, adjacent.at, &adjacent.outputs);
        if prefetch {
            look_ahead(&mut p, adjacent.at, access);
        }
        let outputs = adjacent.outputs.clone();
        let result_of = place.map(|home| (home, outputs.clone()));
        finish_adjacent(p, &adjacent, access, &words, Moved::Loads(result_of));
        self.put_row(Some(result), outputs);
    }

    pub(super) fn store_adjacent(&mut self, access: &Access, args: &[Value]) {
        let words = self.level(|l| l.words(access, args[0]));
        let codes = self.codes;
        let values: Vec<VReg> = (0..words.parts).map(|part| self.v(args[2], part)).collect();
        let prefetch = self.prefetches(access);
        let (mut p, adjacent) = self.adjacent(access, args, 0);
        let (partial, stored) = (p.label(), p.label());
        (codes.store_words)(&mut p, &words, adjacent.at, &values, partial);
        p.bind(stored);
        if prefetch {
            look_ahead(&mut p, adjacent.at, access);
        }
        p.op(Op::Mov_rm32_imm32, (Mem::frame(Frame::PROGRESS), 1));
        finish_adjacent(p, &adjacent, access, &words, Moved::Stores(values, partial, stored));
    }

    /// Whether later warps probably access what follows soon: outside of loops.
    fn prefetches(&self, access: &Access) -> bool {
        let block = self.block_of[access.step.step as usize] as usize;
        let map = !matches!(access.space, Space::Shared | Space::Param | Space::Local);
        map && self.depths[block] == 0
    }

    /// Begins an access to contiguous words; the host address of lane 0's is in a register then.
    fn adjacent(
        &mut self,
        access: &Access,
        args: &[Value],
        outputs: usize,
    ) -> (Pseudo<'_>, Adjacent) {
        let room = self.room(access);
        let line = self.line_count(access, args, room);
        let fallback = self.fallback(access, args);
        let address = self.s(args[1]);
        let offset = self.offset(access);
        let mut p = self.f.pseudo();
        let outputs: SmallVec<[VReg; 4]> = (0..outputs).map(|_| p.output(View::V)).collect();
        let [at, room_at, limit] = [(); 3].map(|()| p.temp(R64));
        let [slow, part, found, back] = [(); 4].map(|()| p.label());
        add_offset(&mut p, at, address, offset, room);
        let position = line.map(|line| line.position(&mut p, at));
        check_align(&mut p, at, access.word.into(), slow);
        // All lanes' words are in bounds, mostly; else those of the lanes that are on may be.
        let span = 32 * i32::from(access.word);
        locate(&mut p, room, [at, room_at, limit], span, part);
        p.bind(found);
        let line = line.map(|line| (line, [p.label(), p.label()]));
        if let (Some((line, labels)), Some(position)) = (line, position) {
            line.count(&mut p, at, [position, limit], labels);
        }
        (
            p,
            Adjacent {
                fallback,
                room,
                outputs,
                temps: [at, room_at, limit],
                at,
                labels: [slow, part, found, back],
                line,
            },
        )
    }
}

/// Adds the out-of-line parts of an access to contiguous words.
fn finish_adjacent(
    mut p: Pseudo<'_>,
    adjacent: &Adjacent,
    access: &Access,
    words: &Words,
    moved: Moved,
) {
    let Adjacent { fallback, room, outputs, temps, at, labels, line } = adjacent;
    let [slow, part, found, back] = *labels;
    let [_, room_at, limit] = *temps;
    p.bind(back);
    p.out_of_line();
    // `at` holds the offset of lane 0's word in the room, `limit` is free: checks the words from
    // the first lane that is on to the last.
    p.bind(part);
    let shift = access.word.trailing_zeros() as i32;
    let rest = p.temp(R64);
    (fallback.codes.bits_to)(&mut p, &fallback.lanes, limit, rest);
    p.op(Op::Tzcnt_r32_rm32, (rest.d(), limit.d()));
    p.op(Op::Lzcnt_r32_rm32, (limit.d(), limit.d()));
    // The end of the last word, from lane 0's word on.
    p.op(Op::Neg_rm32, (limit.d(),));
    p.op(Op::Add_rm32_imm8, (limit.d(), 32));
    if shift > 0 {
        p.op(Op::Shl_rm32_imm8, (rest.d(), shift));
        p.op(Op::Shl_rm32_imm8, (limit.d(), shift));
    }
    // The first word's offset, and the number of bytes from there.
    p.op(Op::Sub_r32_rm32, (limit.d(), rest.d()));
    p.op(Op::Add_r64_rm64, (*at, rest));
    if let Room::Window(..) = room {
        p.op(Op::Mov_r32_rm32, (at.d(), at.d()));
    }
    p.op(Op::Add_r64_rm64, (limit, *at));
    p.jump(Op::Jb_rel32_64, slow);
    p.op(Op::Cmp_r64_rm64, (limit, length(*room, room_at)));
    p.jump(Op::Ja_rel32_64, slow);
    p.op(Op::Sub_r64_rm64, (*at, rest));
    p.op(Op::Add_r64_rm64, (*at, bytes(*room, room_at)));
    let codes = fallback.codes;
    match (&moved, codes.load_partial) {
        (Moved::Loads(_), Some(load)) => {
            let has_loaded = load(&mut p, words, *at, outputs);
            if let (true, Some((line, _))) = (has_loaded, line) {
                line.by_pattern(&mut p);
            }
            p.jump(Op::Jmp_rel32_64, if has_loaded { back } else { slow });
        }
        _ => {
            p.jump(Op::Jmp_rel32_64, found);
        }
    }
    if let (Moved::Stores(values, partial, stored), Some(store)) = (&moved, codes.store_partial) {
        p.bind(*partial);
        store(&mut p, words, *at, values, [room_at, limit, rest]);
        p.jump(Op::Jmp_rel32_64, *stored);
    }
    if let Some((line, [partial, counted])) = *line {
        p.bind(partial);
        line.by_pattern(&mut p);
        p.jump(Op::Jmp_rel32_64, counted);
    }
    p.bind(slow);
    if let Some((line, _)) = line {
        line.by_pattern(&mut p);
    }
    call_step(&mut p, fallback, [room_at, limit], outputs);
    if let Moved::Loads(Some((place, outputs))) = moved {
        take_row(&mut p, codes, place, room_at, &outputs);
    }
    p.jump(Op::Jmp_rel32_64, back);
    p.end();
}

/// Prefetches what later warps will probably access. Any address will do: a prefetch never faults.
fn look_ahead(p: &mut Pseudo<'_>, at: VReg, access: &Access) {
    const LINE: i64 = 64;
    // About what warps access during one memory latency.
    const AHEAD: i64 = 1024;
    for line in 0..(32 * i64::from(access.word)).max(LINE) / LINE {
        p.op(Op::Prefetcht0_m8, (Mem::at(at, AHEAD + LINE * line),));
    }
}
