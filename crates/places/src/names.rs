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

/// Bytes of a name that is shown whole among others.
const LONGEST_BRIEF: usize = 60;

/// Bytes of a readable name whose arguments are left out.
const LONGEST_READ: usize = 1 << 12;

/// Depth to which parts of a name may be nested.
const DEEPEST: u32 = 96;

/// The name as its source has it; none for a name that is not mangled. A long one is cut, and ends
/// in `...`.
#[must_use]
pub fn demangled(name: &str) -> Option<String> {
    demangled_up_to(name, LONGEST_SHOWN)
}

fn demangled_up_to(name: &str, longest: usize) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > LONGEST_MANGLED {
        return None;
    }
    let parse = ParseOptions::default().recursion_limit(DEEPEST);
    let symbol = Symbol::new_with_options(name, &parse).ok()?;
    let options = DemangleOptions::new().recursion_limit(DEEPEST);
    let mut text = Cut { text: String::new(), longest };
    // A name can stand for a text exponentially longer than itself: writing ends where it is cut.
    let whole = symbol.structured_demangle(&mut text, &options).is_ok();
    let mut text = text.text;
    if !whole {
        if text.len() < longest {
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

/// The name as messages show it that have several: without template arguments, parameters and the
/// type of the result if it is long.
#[must_use]
pub(crate) fn brief(name: &str) -> Cow<'_, str> {
    let Some(shown) = demangled_up_to(name, LONGEST_READ) else { return Cow::Borrowed(name) };
    if shown.len() <= LONGEST_BRIEF {
        return Cow::Owned(shown);
    }
    Cow::Owned(without_arguments(&shown))
}

fn without_arguments(shown: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::new();
    for c in shown.replace("(anonymous namespace)", "{anonymous}").chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && !plain.ends_with("operator") => break,
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let start = match plain.find("operator") {
        Some(operator) => plain[..operator].rfind(' '),
        None => plain.trim_end().rfind(' '),
    };
    plain[start.map_or(0, |at| at + 1)..].trim_end().chars().take(LONGEST_SHOWN).collect()
}

/// Text of at most `longest` bytes.
struct Cut {
    text: String,
    longest: usize,
}

impl fmt::Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.longest - self.text.len();
        if text.len() <= room {
            self.text.push_str(text);
            return Ok(());
        }
        let fits = text.char_indices().map(|(at, c)| at + c.len_utf8());
        self.text.push_str(&text[..fits.take_while(|&end| end <= room).last().unwrap_or(0)]);
        // Full, or as full as whole characters make it.
        let missing = self.longest - self.text.len();
        self.text.extend(std::iter::repeat_n('.', missing));
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
    fn brief_names_have_no_arguments() {
        let long = "void cub::_V_3::LoadDirectWarpStriped<int, 18, thrust::_V_3::normal_iterator<\
                    thrust::_V_3::device_ptr<int> > >(int, thrust::_V_3::normal_iterator<int>)";
        assert_eq!(without_arguments(long), "cub::_V_3::LoadDirectWarpStriped");
        let conversion = "thrust::_V_3::reference<int, thrust::_V_3::device_ptr<int>, \
                          thrust::_V_3::device_reference<int> >::operator int() const";
        assert_eq!(without_arguments(conversion), "thrust::_V_3::reference::operator int");
        let call = "bool (anonymous namespace)::is_odd_and_has_a_name_that_is_long_enough<long \
                    long>::operator()(long long const&) const";
        assert_eq!(
            without_arguments(call),
            "{anonymous}::is_odd_and_has_a_name_that_is_long_enough::operator()"
        );
        assert_eq!(brief("_Z9oob_writePii"), "oob_write(int*, int)");
        assert_eq!(brief(&format!("_Z300{}v", "x".repeat(300))).len(), LONGEST_SHOWN);
        assert_eq!(without_arguments(&"<".repeat(100)), "");
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
