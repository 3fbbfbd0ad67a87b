//! Broken PTX, made from whole files by small changes. The changes follow from a seed.

/// A generator of numbers (xorshift64*).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// One that begins with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit.max(1)
    }
}

/// Pieces of text: words, numbers, single characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || "_$%.".contains(c);
        let length = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        out.push(token);
        rest = after;
    }
    out
}

const WORDS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    ":",
    "@",
    "!",
    "|",
    "-",
    "+4",
    "<",
    ">",
    "=",
    "_",
    ".b8",
    ".u64",
    ".f32",
    ".pred",
    ".v4",
    ".global",
    ".param",
    ".shared",
    ".align",
    "0",
    "-1",
    "0x7fffffffffffffff",
    "99999999999999999999",
    "1.0",
    "0f3F800000",
    "%r1",
    "%tid.x",
    "bra",
    "call",
    "ret",
    ".reg",
    ".local",
    ".func",
    ".entry",
    "\"",
    "/*",
    "//",
    "\u{e9}",
    "<1000000000>",
    ".branchtargets",
    ".callprototype",
    ".loc",
    "WARP_SZ",
    "%",
];

/// A text with one to four small changes, so that most of it is as it was.
#[must_use]
pub fn mutate(text: &str, random: &mut Random) -> String {
    let mut parts: Vec<String> = tokens(text).into_iter().map(str::to_owned).collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(parts.len());
        if parts.is_empty() {
            break;
        }
        match random.below(7) {
            0 => drop(parts.remove(at)),
            1 => parts.insert(at, parts[random.below(parts.len())].clone()),
            2 => {
                let other = random.below(parts.len());
                parts.swap(at, other);
            }
            3 => parts[at] = WORDS[random.below(WORDS.len())].to_owned(),
            4 => parts.insert(at, WORDS[random.below(WORDS.len())].to_owned()),
            5 => parts[at] = parts[random.below(parts.len())].clone(),
            _ => {
                // One bit of one byte; bytes that are no longer text become a replacement
                // character.
                let mut bytes = parts[at].clone().into_bytes();
                let byte = random.below(bytes.len());
                if let Some(b) = bytes.get_mut(byte) {
                    *b ^= 1 << random.below(8);
                }
                parts[at] = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
    }
    if random.below(20) == 0 {
        parts.truncate(random.below(parts.len()));
    }
    parts.concat()
}
