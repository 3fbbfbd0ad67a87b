//! Names of functions and variables as their source has them.
//!
//! Compilers mangle names of C++ by the rules of the Itanium C++ ABI: `_Z5scalePfi` is
//! `scale(float*, int)`, and `_ZZ4copyPfE4tile` is `copy(float*)::tile`, a variable of a function.
//! Data formats keep the mangled name, which is the one that programs use; messages show this one.

use std::borrow::Cow;
use std::fmt;

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Bytes of a mangled name that are read, and of a readable one that are shown.
const LONGEST_MANGLED: usize = 1 << 16;
const LONGEST_SHOWN: usize = 200;

/// Depth to which parts of a name may be nested.
const DEEPEST: u32 = 96;

/// The name as its source has it; none for a name that is not mangled. A long one is cut, and ends
/// in `...`.
#[must_use]
pub fn demangled(name: &str) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > LONGEST_MANGLED {
        return None;
    }
    let parse = ParseOptions::default().recursion_limit(DEEPEST);
    let symbol = Symbol::new_with_options(name, &parse).ok()?;
    let options = DemangleOptions::new().recursion_limit(DEEPEST);
    let mut text = Cut(String::new());
    // A name can stand for a text exponentially longer than itself: writing ends where it is cut.
    let whole = symbol.structured_demangle(&mut text, &options).is_ok();
    let Cut(mut text) = text;
    if !whole {
        if text.len() < LONGEST_SHOWN {
            return None;
        }
        text.push_str("...");
    }
    Some(text)
}

/// The name as messages show it: demangled where it is mangled.
#[must_use]
pub fn shown(name: &str) -> Cow<'_, str> {
    demangled(name).map_or(Cow::Borrowed(name), Cow::Owned)
}

/// Text of at most [`LONGEST_SHOWN`] bytes.
struct Cut(String);

impl fmt::Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = LONGEST_SHOWN - self.0.len();
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let fits = text.char_indices().map(|(at, c)| at + c.len_utf8());
        self.0.push_str(&text[..fits.take_while(|&end| end <= room).last().unwrap_or(0)]);
        // Full, or as full as whole characters make it.
        let missing = LONGEST_SHOWN - self.0.len();
        self.0.extend(std::iter::repeat_n('.', missing));
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_variables_and_plain_names() {
        assert_eq!(demangled("_Z9oob_writePii").as_deref(), Some("oob_write(int*, int)"));
        assert_eq!(shown("_ZZ10oob_sharedPiiE1s"), "oob_shared(int*, int)::s");
        for plain in ["saxpy", "_Z", "_Zzz", ""] {
            assert_eq!(demangled(plain), None, "{plain}");
            assert_eq!(shown(plain), plain);
        }
    }

    #[test]
    fn long_names_are_cut_and_hostile_ones_are_short_work() {
        let long = format!("_Z300{}v", "x".repeat(300));
        let shown = demangled(&long).unwrap();
        assert_eq!(shown.len(), LONGEST_SHOWN + 3);
        assert!(shown.ends_with("x..."));
        // Each argument is a pair of the one before: 2^30 names.
        let mut name = "_Z1fN1aE".to_owned();
        for i in 0..30 {
            name += &format!("St4pairIS{i}_S{i}_E");
        }
        assert!(demangled(&name).is_none_or(|text| text.len() <= LONGEST_SHOWN + 3));
        assert_eq!(demangled(&format!("_Z1f{}", "P".repeat(1 << 15))), None);
    }
}
