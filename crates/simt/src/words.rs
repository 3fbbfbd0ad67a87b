//! Enums whose values have words: one list gives the enum, its values, their words and their
//! meanings.

/// Declares enums whose values have words.
///
/// Each value is one line of documentation, its name and its word. The enum has `ALL`, `WORDS`
/// (in the order of `ALL`), `word`, `doc` and `from_word`.
#[macro_export]
macro_rules! word_enums {
    ($( $(#[$meta:meta])* pub enum $name:ident {
        $(#[doc = $doc:literal] $(#[$attribute:meta])* $variant:ident $word:literal),+ $(,)?
    } )+) => {
        $( $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $(#[doc = $doc] $(#[$attribute])* $variant),+ }

        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Their words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The value's word.
            #[must_use]
            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            /// The meaning of the value: a sentence.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc.trim_start()),+ }
            }

            /// The value of a word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        } )+
    };
}
