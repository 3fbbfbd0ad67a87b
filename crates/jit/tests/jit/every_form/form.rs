//! Instructions that the front end generates, split into their parts, and their requirements on the
//! surrounding kernel.

/// An instruction: `opcode.words operands;`.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) text: String,
    pub(super) opcode: String,
    /// Types and modifiers in order.
    pub(super) words: Vec<String>,
    pub(super) operands: Vec<String>,
}

/// The threads that can execute an instruction together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threads {
    /// Any lanes.
    Any,
    /// All lanes of a whole warp.
    Warp,
    /// All threads of a block of whole warps.
    Block,
}

impl Form {
    pub(super) fn new(text: &str) -> Self {
        let (head, tail) = text.trim_end_matches(';').split_once(' ').unwrap_or((text, ""));
        let mut words = head.split('.').map(str::to_owned);
        let opcode = words.next().unwrap_or_default();
        Self { text: text.to_owned(), opcode, words: words.collect(), operands: split(tail) }
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }

    /// Returns the instruction's head with other operands.
    pub(super) fn with(&self, operands: &[String]) -> String {
        let words: String = self.words.iter().map(|w| format!(".{w}")).collect();
        format!("{}{words} {};", self.opcode, operands.join(", "))
    }

    pub(super) fn threads(&self) -> Threads {
        match self.opcode.as_str() {
            "mma" | "wmma" | "ldmatrix" | "stmatrix" | "movmatrix" => Threads::Warp,
            "tensormap" if self.has("cp_fenceproxy") => Threads::Warp,
            "bar" if self.has("warp") => Threads::Any,
            "bar" | "barrier" => Threads::Block,
            _ => Threads::Any,
        }
    }

    /// Returns whether the last operand is a member mask.
    pub(super) fn has_members(&self) -> bool {
        let named = ["shfl", "vote", "match", "redux", "elect", "bar"];
        named.contains(&self.opcode.as_str()) && self.has("sync") && self.threads() == Threads::Any
    }

    /// Whether it is a SIMD video instruction, which takes registers only.
    pub(super) fn is_of_elements(&self) -> bool {
        self.opcode.starts_with('v') && self.opcode.ends_with(['2', '4'])
    }

    /// Whether it multiplies by a sparse matrix.
    pub(super) fn is_sparse(&self) -> bool {
        self.has("sp") || self.has("sp::ordered_metadata")
    }

    /// Returns whether the instruction reads or writes the carry flag.
    pub(super) fn has_carry(&self) -> bool {
        self.has("cc") || ["addc", "subc", "madc"].contains(&self.opcode.as_str())
    }

    /// Returns whether it writes memory.
    pub(super) fn stores(&self) -> bool {
        let stores = ["st", "atom", "red", "cp", "stmatrix", "tensormap"];
        stores.contains(&self.opcode.as_str()) || self.has("store")
    }

    /// Returns the index of the operand that is written, if any.
    pub(super) fn result(&self) -> Option<usize> {
        let first = self.operands.first()?;
        let none = matches!(self.opcode.as_str(), "nanosleep")
            || self.opcode.starts_with("bar") && !self.has("red");
        (!first.starts_with('[') && !none).then_some(0)
    }

    /// Returns the bytes of an access.
    pub(super) fn bytes(&self) -> u64 {
        let number = |w: &str| {
            let digits = w.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let digits = digits.split('x').next()?;
            digits.parse::<u64>().ok().filter(|b| [8, 16, 32, 64, 128].contains(b))
        };
        let pair = |w: &str| if w.ends_with("x2") { 2 } else { 1 };
        let word = self.words.iter().rev().find_map(|w| Some(number(w)? * pair(w) / 8));
        let many = ["v2", "v4", "v8"].iter().find(|v| self.has(v));
        word.unwrap_or(4) * many.map_or(1, |v| v[1..].parse().unwrap_or(1))
    }
}

/// Splits operands at commas outside of brackets.
fn split(text: &str) -> Vec<String> {
    let (mut out, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        match (c, out.last_mut()) {
            (',', _) if depth == 0 => out.push(String::new()),
            (_, Some(last)) => last.push(c),
            _ => {}
        }
    }
    let trimmed = out.iter().map(|o| o.trim().to_owned());
    trimmed.filter(|o| !o.is_empty()).collect()
}

/// Returns the registers that a text names.
pub(super) fn registers(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for part in text.split('%').skip(1) {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = part[..end.unwrap_or(part.len())].to_owned();
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}

/// Returns the type of a register of the front end's examples, which its name contains.
pub(super) fn type_of(register: &str) -> &str {
    match register.split_once('_') {
        Some((ty, _)) => ty,
        None => "pred",
    }
}

/// Returns the bits of a register's type; 1 for predicates.
pub(super) fn bits_of(ty: &str) -> u32 {
    match ty {
        "pred" => 1,
        "f16x2" => 32,
        ty => ty.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(32),
    }
}
