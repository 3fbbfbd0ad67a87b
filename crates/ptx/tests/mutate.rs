//! Broken PTX, made from whole files by small changes: nothing panics, and what is accepted holds together.
//!
//! Deterministic: the changes follow from a seed. `PTX_MUTATIONS=N` makes N of them instead of the default.

use isa::FileId;

/// A generator of numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
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

fn mutate(text: &str, random: &mut Random) -> String {
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
                // One bit of one byte; what is no longer text becomes a replacement character.
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

/// All that can be done with a text. Gives whether it was accepted whole.
fn exercise(text: &str) -> bool {
    let (tree, found) = ptx::parse(FileId(0), text);
    for d in &found {
        let labels = d.primary.iter().chain(&d.secondary);
        for label in labels {
            assert!(text.get(label.span.range()).is_some(), "{label:?} of {text}");
        }
    }
    assert_eq!(tree.incomplete, found.has_errors());
    let printed = tree.to_string();
    if !found.has_errors() {
        let (again, found) = ptx::parse(FileId(0), &printed);
        assert!(found.is_empty(), "{found:?}\n{printed}\n--- from\n{text}");
        assert!(
            again.without_spans() == tree.clone().without_spans(),
            "{printed}\n--- from\n{text}"
        );
    }
    let (module, more) = ptx::lower(&tree, ptx::Select::All);
    for label in more.iter().flat_map(|d| d.primary.iter().chain(&d.secondary)) {
        assert!(text.get(label.span.range()).is_some(), "{label:?} of {text}");
    }
    let Some(module) = module else { return false };
    assert!(!more.has_errors());
    if let Err(errors) = ir::verify::verify(&module) {
        panic!("lowered, but not right: {errors}\n--- from\n{text}");
    }
    !found.has_errors()
}

fn corpus() -> Vec<String> {
    let mut files = vec![include_str!("ptx/grammar.ptx").to_owned()];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    for path in names {
        let file = path.join(path.file_name().unwrap()).with_extension("ptx");
        files.extend(std::fs::read_to_string(file));
    }
    files
}

#[test]
fn broken_files_are_refused_or_hold_together() {
    let files = corpus();
    assert!(files[1..].iter().all(|f| exercise(f)), "the unbroken ones are right");
    let count = std::env::var("PTX_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(600);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut accepted = 0;
    for _ in 0..count {
        let file = &files[random.below(files.len())];
        let text = mutate(file, &mut random);
        accepted += usize::from(exercise(&text));
    }
    assert!(accepted > count / 50, "{accepted} of {count} accepted: the changes are too coarse");
}
