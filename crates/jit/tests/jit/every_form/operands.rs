//! Addresses and values of an instruction's operands.

use super::form::{Form, Threads, bits_of, registers, type_of};
use super::kernel::{Builder, ExecMode, Piece, SHARED, UNIFORM};
use super::values::value;
use std::fmt::Write as _;

/// The origin of a source operand's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A value of its own in each thread.
    Memory,
    /// A uniform value.
    Uniform,
    /// An affine value.
    Line,
    /// A literal in the instruction.
    Literal,
}

/// The layout of the words that a warp's lanes access.
#[derive(Clone, Copy)]
enum Pattern {
    Adjacent,
    Same,
    Few,
    Reversed,
    Mixed,
}

/// The state space that an instruction accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Global,
    Shared,
    Local,
}

impl Builder {
    /// Gives addresses to operands in brackets.
    pub(super) fn address(
        &mut self,
        form: &Form,
        operands: &mut [String],
        piece: &mut Piece,
        region: usize,
    ) {
        let Some(at) = operands.iter().position(|o| o.starts_with('[')) else { return };
        if form.opcode == "cp" && form.has("tensor") {
            // A prefetch: other tensor copies are not run. It has a comma for each coordinate.
            let rank = operands[at].matches(',').count();
            let map = self.in_global(form, piece);
            operands[at] = format!("[{map}, {{{}}}]", vec!["%gt"; rank].join(", "));
            return;
        }
        if form.opcode == "cp" {
            let to = self.in_shared(form, piece, region, true);
            let from = self.in_global(form, piece);
            operands[0] = format!("[{to}]");
            operands[1] = format!("[{from}+16]");
            return;
        }
        if form.has("cp_fenceproxy") {
            let from = self.in_shared(form, piece, region, true);
            let to = self.in_global(form, piece);
            (operands[0], operands[1]) = (format!("[{to}]"), format!("[{from}]"));
            return;
        }
        if ["ldmatrix", "stmatrix"].contains(&form.opcode.as_str()) {
            let named = form.has("shared") || form.has("shared::cta");
            let base = self.in_shared(form, piece, region, named);
            if !named {
                let _ = writeln!(piece.before, "cvta.shared.u64 {base}, {base};");
            }
            operands[at] = format!("[{base}]");
            return;
        }
        if form.has("param") || form.has("param::entry") {
            operands[at] = format!("[pu+{}]", 32 * self.rng.below(UNIFORM as usize / 32));
            return;
        }
        if form.has("const") {
            let base = self.register("b64");
            let _ = writeln!(
                piece.before,
                "and.b32 %t0, %ln, 15;\nmul.wide.u32 %w0, %t0, 32;\nmov.u64 {base}, cc;\n\
                 add.u64 {base}, {base}, %w0;"
            );
            operands[at] = format!("[{base}]");
            return;
        }
        let shared = ["shared", "shared::cta", "shared::cluster"].iter().any(|s| form.has(s));
        let generic = !shared && !form.has("global") && !form.has("local");
        // A tensor map has more bytes than a thread has of local memory.
        let only_global = ["ldu", "discard", "applypriority", "prefetch", "prefetchu", "tensormap"];
        let space = match self.rng.below(3) {
            _ if shared => Space::Shared,
            _ if form.has("local") => Space::Local,
            _ if form.has("global") || only_global.contains(&form.opcode.as_str()) => Space::Global,
            0 => Space::Shared,
            1 if form.opcode != "atom" && form.opcode != "red" && form.opcode != "wmma" => {
                Space::Local
            }
            _ => Space::Global,
        };
        let base = match space {
            Space::Shared => {
                let narrow = !generic && self.rng.one_in(2);
                self.in_shared(form, piece, region, narrow)
            }
            Space::Local => self.in_local(form, piece, region),
            Space::Global => self.in_global(form, piece),
        };
        if generic && space != Space::Global {
            let name = if space == Space::Shared { "shared" } else { "local" };
            let _ = writeln!(piece.before, "cvta.{name}.u64 {base}, {base};");
        }
        operands[at] = if self.rng.one_in(2) || form.opcode == "wmma" {
            format!("[{base}]")
        } else {
            let unit = if base.starts_with("%n") { "u32" } else { "u64" };
            let _ = writeln!(piece.before, "sub.{unit} {base}, {base}, 64;");
            format!("[{base}+64]")
        };
    }

    fn pattern(&mut self, form: &Form) -> Pattern {
        use Pattern::{Adjacent, Few, Mixed, Reversed, Same};
        match form.opcode.as_str() {
            "wmma" | "discard" | "applypriority" | "tensormap" => Same,
            "cp" | "ldmatrix" | "stmatrix" => Mixed,
            "atom" | "red" => [Same, Same, Few, Adjacent, Mixed][self.rng.below(5)],
            _ => [Adjacent, Adjacent, Same, Few, Reversed, Mixed][self.rng.below(6)],
        }
    }

    /// Computes the offset of a thread's address in a region, into `%w0`.
    fn distance(&mut self, form: &Form, thread: &str, last: u64) -> String {
        match self.pattern(form) {
            Pattern::Adjacent => format!("mul.wide.u32 %w0, {thread}, {};\n", form.bytes()),
            Pattern::Same => "mov.b64 %w0, 0;\n".to_owned(),
            Pattern::Few => "and.b32 %t0, %ln, 3;\nmul.wide.u32 %w0, %t0, 32;\n".to_owned(),
            Pattern::Reversed => {
                format!("sub.u32 %t0, {last}, {thread};\nmul.wide.u32 %w0, %t0, 32;\n")
            }
            Pattern::Mixed => {
                format!("xor.b32 %t0, {thread}, 21;\nmul.wide.u32 %w0, %t0, 32;\n")
            }
        }
    }

    fn in_global(&mut self, form: &Form, piece: &mut Piece) -> String {
        let (base, part) = (self.register("b64"), self.part());
        piece.before += &self.distance(form, "%gt", super::kernel::THREADS - 1);
        let _ =
            writeln!(piece.before, "add.u64 {base}, %mem, %w0;\nadd.u64 {base}, {base}, {part};");
        base
    }

    /// Initializes four words per thread, and stores them as results after an instruction that
    /// writes memory.
    fn own(&mut self, form: &Form, piece: &mut Piece, (space, at): (&str, &str)) {
        for word in 0..4 {
            let row = self.row(64);
            let to = 8 * word;
            let _ = writeln!(
                piece.before,
                "ld.global.u64 %w1, [%data+{row}];\nst.{space}.u64 [{at}+{to}], %w1;"
            );
            if form.stores() {
                let result = self.result(space);
                let _ = writeln!(
                    piece.after,
                    "ld.{space}.u64 %w1, [{at}+{to}];\nst.global.u64 [%out+{result}], %w1;"
                );
            }
        }
    }

    fn in_shared(&mut self, form: &Form, piece: &mut Piece, region: usize, narrow: bool) -> String {
        let begin = region as u64 * SHARED;
        let own = self.register("b64");
        let _ = writeln!(
            piece.before,
            "mul.wide.u32 %w0, %th, 32;\nmov.u64 {own}, sm;\nadd.u64 {own}, {own}, %w0;\n\
             add.u64 {own}, {own}, {begin};\nbar.sync 0;"
        );
        piece.after += "bar.sync 0;\n";
        self.own(form, piece, ("shared", &own));
        piece.before += &self.distance(form, "%th", 95);
        let base = self.register("b64");
        let _ = writeln!(
            piece.before,
            "mov.u64 {base}, sm;\nadd.u64 {base}, {base}, %w0;\n\
             add.u64 {base}, {base}, {begin};\nbar.sync 0;"
        );
        if !narrow {
            return base;
        }
        let short = format!("%n{}", &base[2..]);
        let _ = writeln!(self.declared, ".reg .b32 {short};");
        let _ = writeln!(piece.before, "cvt.u32.u64 {short}, {base};");
        short
    }

    fn in_local(&mut self, form: &Form, piece: &mut Piece, region: usize) -> String {
        let own = self.register("b64");
        let begin = 64 * region;
        let _ = writeln!(piece.before, "mov.u64 {own}, lm;\nadd.u64 {own}, {own}, {begin};");
        self.own(form, piece, ("local", &own));
        let base = self.register("b64");
        let _ = writeln!(piece.before, "mov.u64 {base}, {own};");
        if self.rng.one_in(2) && !form.stores() {
            let at = self.row(64);
            let _ = writeln!(
                piece.before,
                "ld.global.u64 %w1, [%data+{at}];\n\
                 st.local.u64 [{own}+32], %w1;\nst.local.u64 [{own}+40], %w1;\n\
                 st.local.u64 [{own}+48], %w1;\nst.local.u64 [{own}+56], %w1;\n\
                 and.b32 %t0, %ln, 1;\nmul.wide.u32 %w0, %t0, 32;\nadd.u64 {base}, {base}, %w0;"
            );
        }
        base
    }

    /// Gives an instruction registers of its own, sets them before it, and stores them after it.
    pub(super) fn values(
        &mut self,
        form: &Form,
        operands: &mut [String],
        piece: &mut Piece,
        (mode, round): (ExecMode, usize),
    ) {
        let result = form.result();
        let members = form.has_members().then(|| operands.len() - 1);
        let free_operands = operands.len() - usize::from(members.is_some());
        let mut names: Vec<(String, String)> = Vec::new();
        // Now and then the result takes the place of an operand.
        let free = &operands[..free_operands];
        let same = self.operand_like_result(free, result).filter(|_| self.rng.one_in(4));
        if let (Some(index), Some(result)) = (same, result) {
            operands[index] = operands[result].clone();
        }
        for (index, operand) in operands.iter_mut().enumerate() {
            if operand.starts_with('[') || Some(index) == members {
                continue;
            }
            let is_result = result == Some(index) && same.is_none();
            let mut text = operand.clone();
            // Longer names first, so that no name is a prefix of one that is replaced later.
            let mut found = registers(operand);
            found.sort_by_key(|r| std::cmp::Reverse(r.len()));
            for name in found {
                let ty = type_of(&name).to_owned();
                let plain = *operand == format!("%{name}");
                let known = names.iter().find(|n| n.0 == name).map(|n| n.1.clone());
                let demanded = special(form, ("", &ty), index).is_some();
                let source = self.source(form, &ty, (mode, round), is_result || demanded);
                let literal = source == Source::Literal && result != Some(index);
                if plain && is_segment(form, index, free_operands) && self.rng.one_in(2) {
                    text = self.segment();
                    continue;
                }
                if plain && known.is_none() && literal {
                    text = self.literal(&ty);
                    continue;
                }
                let own = known.unwrap_or_else(|| {
                    let own = self.register(&ty);
                    // A result register that is not written before can be uniform.
                    if !(is_result && mode == ExecMode::Scalar) {
                        self.load(form, (&own, &ty), source, (index, piece));
                    }
                    self.store((&own, &ty), piece);
                    names.push((name.clone(), own.clone()));
                    own
                });
                text = text.replace(&format!("%{name}"), &own);
            }
            *operand = text;
        }
    }

    /// Returns an operand that is a register of the result's type.
    fn operand_like_result(&mut self, operands: &[String], result: Option<usize>) -> Option<usize> {
        let plain = |operand: &str| {
            let [name] = <[String; 1]>::try_from(registers(operand)).ok()?;
            (operand.len() == name.len() + 1).then(|| type_of(&name).to_owned())
        };
        let ty = plain(operands.get(result?)?)?;
        let such = |i: &usize| Some(*i) != result && plain(&operands[*i]).as_ref() == Some(&ty);
        let such: Vec<usize> = (0..operands.len()).filter(such).collect();
        self.rng.pick(&such).copied()
    }

    /// Chooses the origin of an operand's value.
    fn source(
        &mut self,
        form: &Form,
        ty: &str,
        (mode, round): (ExecMode, usize),
        own: bool,
    ) -> Source {
        // Untyped registers hold packed and short floats, which have no literals.
        let packed = form.words.iter().any(|w| w.contains('f'));
        let first = mode == ExecMode::All && round == 0;
        let number = matches!(ty, "b32" | "u32" | "s32" | "b64" | "u64" | "s64" | "f32" | "f64");
        let integer = number && !ty.starts_with('f');
        let pick = self.rng.below(20);
        let uniform = if mode == ExecMode::Loop { 10 } else { 4 };
        match pick {
            _ if mode.is_uniform() && !own => Source::Uniform,
            _ if own || first => Source::Memory,
            p if p < uniform => Source::Uniform,
            p if p < uniform + 3 && integer => Source::Line,
            _ if form.is_of_elements() => Source::Memory,
            p if p < uniform + 6 && number && !(packed && ty.starts_with('b')) => Source::Literal,
            _ => Source::Memory,
        }
    }

    /// Segment and bound of a shuffle: engines have code of their own where these are written in
    /// the instruction.
    fn segment(&mut self) -> String {
        let segment = [0, 0, 0x10, 0x18, 0x1c, 0x1e, 0x1f][self.rng.below(7)];
        let bound = if self.rng.one_in(2) { 0x1f } else { self.rng.below(32) };
        format!("{:#x}", segment << 8 | bound)
    }

    fn literal(&mut self, ty: &str) -> String {
        let value = value(bits_of(ty), &mut self.rng);
        match ty {
            "f32" => format!("0f{:08x}", value as u32),
            "f64" => format!("0d{value:016x}"),
            _ if bits_of(ty) == 32 => format!("{:#x}", value as u32),
            _ => format!("{value:#x}"),
        }
    }

    /// Gives a register its value.
    fn load(
        &mut self,
        form: &Form,
        (name, ty): (&str, &str),
        source: Source,
        (index, piece): (usize, &mut Piece),
    ) {
        if let Some(text) = special(form, (name, ty), index) {
            piece.before += &text;
            return;
        }
        let from = match source {
            Source::Uniform => format!("ld.param.TYPE REG, [{}];\n", self.uniform()),
            _ => format!("ld.global.TYPE REG, [%data+{}];\n", self.row(bits_of(ty))),
        };
        let load = |ty: &str, name: &str| from.replace("TYPE", ty).replace("REG", name);
        piece.before += &match (ty, source) {
            (_, Source::Line) => {
                let bits = bits_of(ty);
                let step = [1, 4, 8, 0x0fff_ffff, u32::MAX][self.rng.below(5)];
                let at = self.uniform();
                let thread = if bits == 64 { "cvt.u64.u32 %w0, %th;\n" } else { "" };
                let from = if bits == 64 { "%w0" } else { "%th" };
                format!(
                    "{thread}ld.param.b{bits} {name}, [{at}];\n\
                     mad.lo.u{bits} {name}, {from}, {step}, {name};\n"
                )
            }
            ("pred", _) => {
                let word = load("u32", "%t0");
                format!("{word}and.b32 %t0, %t0, 1;\nsetp.ne.u32 {name}, %t0, 0;\n")
            }
            ("f16", _) => load("b16", name),
            ("f16x2", _) => load("b32", name),
            ("b128", _) => {
                let (low, high) = (load("b64", "%w0"), self.row(64));
                format!("{low}ld.global.b64 %w1, [%data+{high}];\nmov.b128 {name}, {{%w0, %w1}};\n")
            }
            (ty, _) => load(ty, name),
        };
    }

    /// Stores a register as a result.
    fn store(&mut self, (name, ty): (&str, &str), piece: &mut Piece) {
        let at = self.result(&format!("{name} ({ty})"));
        piece.after += &match ty {
            "pred" => {
                format!("selp.u32 %t0, 1, 2, {name};\nst.global.u32 [%out+{at}], %t0;\n")
            }
            "b128" => {
                let more = self.result(&format!("{name}, the high half"));
                format!(
                    "mov.b128 {{%w0, %w1}}, {name};\nst.global.b64 [%out+{at}], %w0;\n\
                     st.global.b64 [%out+{more}], %w1;\n"
                )
            }
            "f16" => format!("st.global.b16 [%out+{at}], {name};\n"),
            "f16x2" => format!("st.global.b32 [%out+{at}], {name};\n"),
            _ => format!("st.global.{ty} [%out+{at}], {name};\n"),
        };
    }
}

/// Whether an operand is a shuffle's segment and bound, the last one before its members.
fn is_segment(form: &Form, index: usize, operands: usize) -> bool {
    form.opcode == "shfl" && index + 1 == operands
}

/// Values that some instructions demand: barriers, distances of a matrix's rows, sizes, metadata of
/// sparse matrices.
fn special(form: &Form, (name, ty): (&str, &str), index: usize) -> Option<String> {
    if form.is_sparse() && index == 4 {
        // Codes whose indices increase; of `tf32`, the two that there are.
        let (even, odd) = match form.has("tf32") {
            true => (0x4e44_ee4e_u32, 0xe4ee_44e4_u32),
            false => (0x4e8c_9d48, 0xd9e4_8ce9),
        };
        return Some(format!(
            "and.b32 {name}, %ln, 1;\nmad.lo.u32 {name}, {name}, {:#x}, {even:#x};\n",
            odd.wrapping_sub(even)
        ));
    }
    let value = match form.opcode.as_str() {
        "alloca" => 64,
        _ if ty != "b32" => return None,
        // The first operand after the result is the barrier, the next one the number of threads.
        _ if form.threads() == Threads::Block => {
            // Barriers of all threads and of a number of them are different ones.
            let id = usize::from(form.has("red"));
            let of_some = form.operands.len() - usize::from(form.result().is_some()) > id + 1;
            if index != id {
                64
            } else if of_some {
                4
            } else {
                3
            }
        }
        "wmma" if form.has("b1") => 128,
        "wmma" if form.has("s4") || form.has("u4") => 32,
        "wmma" => 16,
        "cp" => 12,
        _ => return None,
    };
    Some(format!("mov.b{} {name}, {value};\n", bits_of(ty)))
}
