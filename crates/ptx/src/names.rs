//! Interned names.
//!
//! Every identifier, dotted word and string of a file is stored once and referred to by a
//! [`Symbol`]. The words in [`kw`] have fixed symbols, so recognising a directive or a type is an
//! integer comparison.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// An interned name of one [`Names`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

impl Symbol {
    pub(crate) const fn fixed(index: u32) -> Self {
        Self(index)
    }

    /// The number of the name, in order of first use; fixed names come first.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of distinct names.
#[derive(Clone, Debug)]
pub struct Names {
    text: String,
    /// `ends[i]` is one past the last byte of name `i` in `text`.
    ends: Vec<u32>,
    /// Open addressing, a power of two in size: (upper hash bits, symbol + 1), or zeros when free.
    table: Vec<(u32, u32)>,
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name.as_bytes());
    hasher.finish()
}

impl Names {
    /// The fixed names of [`kw`] alone.
    #[must_use]
    pub fn new() -> Self {
        let mut names =
            Self { text: String::new(), ends: Vec::with_capacity(512), table: vec![(0, 0); 1024] };
        for word in kw::ALL {
            names.intern(word);
        }
        names
    }

    /// The symbol of a name, made when it is new.
    pub fn intern(&mut self, name: &str) -> Symbol {
        let hash = hash(name);
        let tag = (hash >> 32) as u32;
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let (slot_tag, raw) = self.table[slot];
            if raw == 0 {
                return self.insert(slot, tag, name);
            }
            if slot_tag == tag && self.get(Symbol(raw - 1)) == name {
                return Symbol(raw - 1);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn insert(&mut self, slot: usize, tag: u32, name: &str) -> Symbol {
        let symbol = Symbol(self.ends.len() as u32);
        self.text.push_str(name);
        self.ends.push(self.text.len() as u32);
        self.table[slot] = (tag, symbol.0 + 1);
        if self.ends.len() * 2 > self.table.len() {
            self.grow();
        }
        symbol
    }

    fn grow(&mut self) {
        let mask = self.table.len() * 2 - 1;
        let mut table = vec![(0, 0); self.table.len() * 2];
        for index in 0..self.ends.len() as u32 {
            let hash = hash(self.get(Symbol(index)));
            let mut slot = hash as usize & mask;
            while table[slot].1 != 0 {
                slot = (slot + 1) & mask;
            }
            table[slot] = ((hash >> 32) as u32, index + 1);
        }
        self.table = table;
    }

    /// Drops all names but the first ones.
    pub(crate) fn truncate(&mut self, length: usize) {
        // The latest name is in the last slot of its chain: nothing behind it is lost.
        for index in (length..self.ends.len()).rev() {
            let mask = self.table.len() - 1;
            let mut slot = hash(self.get(Symbol(index as u32))) as usize & mask;
            while self.table[slot].1 != index as u32 + 1 {
                slot = (slot + 1) & mask;
            }
            self.table[slot] = (0, 0);
            self.ends.pop();
            self.text.truncate(self.ends.last().map_or(0, |&end| end as usize));
        }
    }

    /// The text of a name of this table; empty for a symbol of another.
    #[must_use]
    pub fn get(&self, symbol: Symbol) -> &str {
        let index = symbol.index();
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(0),
            None => 0,
        };
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.text.get(start as usize..end as usize).unwrap_or("")
    }

    /// The symbol of a name that is already there.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Symbol> {
        let hash = hash(name);
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.table[slot] {
                (_, 0) => return None,
                (tag, raw) if tag == (hash >> 32) as u32 && self.get(Symbol(raw - 1)) == name => {
                    return Some(Symbol(raw - 1));
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// Number of names, the fixed ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the fixed names are always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

macro_rules! keywords {
    ($($ident:ident $text:literal)*) => {
        /// Names with fixed symbols: directives, state spaces, types, and words of the grammar.
        pub mod kw {
            use super::Symbol;

            #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "numbers the names below")]
            #[repr(u32)]
            enum Number { $($ident),* }

            $(
                #[doc = concat!("`", $text, "`")]
                pub const $ident: Symbol = Symbol::fixed(Number::$ident as u32);
            )*

            /// All fixed names, in the order of their symbols.
            pub const ALL: &[&str] = &[$($text),*];
        }
    };
}

keywords! {
    SINK "_"
    // Module directives.
    VERSION "version" TARGET "target" ADDRESS_SIZE "address_size" FILE "file" SECTION "section" ALIAS "alias"
    ENTRY "entry" FUNC "func"
    // Linkage.
    EXTERN "extern" VISIBLE "visible" WEAK "weak" COMMON "common"
    // State spaces.
    REG "reg" SREG "sreg" CONST "const" GLOBAL "global" LOCAL "local" PARAM "param" SHARED "shared" TEX "tex"
    // Declarations.
    ALIGN "align" PTR "ptr" ATTRIBUTE "attribute" V2 "v2" V4 "v4" V8 "v8"
    // Performance and function directives.
    MAXNTID "maxntid" REQNTID "reqntid" MINNCTAPERSM "minnctapersm" MAXNCTAPERSM "maxnctapersm" MAXNREG "maxnreg"
    NORETURN "noreturn" PRAGMA "pragma" EXPLICITCLUSTER "explicitcluster"
    REQNCTAPERCLUSTER "reqnctapercluster" MAXCLUSTERRANK "maxclusterrank" BLOCKSARECLUSTERS "blocksareclusters"
    ABI_PRESERVE "abi_preserve" ABI_PRESERVE_CONTROL "abi_preserve_control" LANGUAGE "language"
    // Statements.
    LOC "loc" FUNCTION_NAME "function_name" INLINED_AT "inlined_at" BRANCHTARGETS "branchtargets"
    CALLTARGETS "calltargets" CALLPROTOTYPE "callprototype"
    // Types.
    PRED "pred" B8 "b8" B16 "b16" B32 "b32" B64 "b64" B128 "b128" U8 "u8" U16 "u16" U32 "u32" U64 "u64"
    S8 "s8" S16 "s16" S32 "s32" S64 "s64" F16 "f16" F16X2 "f16x2" F32 "f32" F64 "f64" BF16 "bf16" BF16X2 "bf16x2"
    TF32 "tf32" E4M3 "e4m3" E5M2 "e5m2" E4M3X2 "e4m3x2" E5M2X2 "e5m2x2" F32X2 "f32x2"
    U16X2 "u16x2" S16X2 "s16x2" U4 "u4" S4 "s4" U2 "u2" S2 "s2" B1 "b1" TEXREF "texref" SAMPLERREF "samplerref" SURFREF "surfref"
    // Words of operands and expressions.
    WARP_SZ "WARP_SZ" GENERIC "generic" CALL "call" UNIFIED "unified" MANAGED "managed"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_names_have_their_symbols_and_no_name_is_twice() {
        let mut names = Names::new();
        assert_eq!(names.len(), kw::ALL.len());
        assert_eq!(names.get(kw::CALLPROTOTYPE), "callprototype");
        assert_eq!(names.intern("b32"), kw::B32);
        let many: Vec<_> = (0..5000).map(|i| names.intern(&format!("%r{i}"))).collect();
        for (i, &symbol) in many.iter().enumerate() {
            assert_eq!(names.get(symbol), format!("%r{i}"));
            assert_eq!(names.find(&format!("%r{i}")), Some(symbol));
        }
        assert_eq!(names.find("%absent"), None);
        assert_eq!(names.len(), kw::ALL.len() + 5000);
    }
}
