//! Arguments of a client's call: as text, for reports of calls that failed, and in the layout of C,
//! for tools that look on.

/// Smallest 64-bit number that is written as an address or a handle.
const FIRST_ADDRESS: u64 = 1 << 16;

/// Something that clients give to calls.
pub trait Argument {
    /// As text; `kind` is its type as the function's declaration writes it, where `Ptr` is an
    /// address.
    fn text(&self, kind: &str) -> String;

    /// Its bytes, in the layout of C.
    fn bytes(&self) -> Vec<u8>;

    /// The multiple at which it lies in a structure.
    fn alignment(&self) -> usize;
}

macro_rules! plain {
    ($($ty:ty)+) => {
        $(
            impl Argument for $ty {
                fn text(&self, _: &str) -> String {
                    self.to_string()
                }

                fn bytes(&self) -> Vec<u8> {
                    self.to_ne_bytes().to_vec()
                }

                fn alignment(&self) -> usize {
                    align_of::<Self>()
                }
            }
        )+
    };
}

plain! { u8 u16 u32 i32 i64 f32 f64 }

/// A size, or an address.
impl Argument for usize {
    fn text(&self, kind: &str) -> String {
        match (kind, self) {
            ("Ptr", 0) => "null".to_owned(),
            ("Ptr", at) => format!("{at:#x}"),
            _ => self.to_string(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.to_ne_bytes().to_vec()
    }

    fn alignment(&self) -> usize {
        align_of::<Self>()
    }
}

/// A number, a handle, or an address of a device.
impl Argument for u64 {
    fn text(&self, _: &str) -> String {
        if *self < FIRST_ADDRESS { self.to_string() } else { format!("{self:#x}") }
    }

    fn bytes(&self) -> Vec<u8> {
        self.to_ne_bytes().to_vec()
    }

    fn alignment(&self) -> usize {
        align_of::<Self>()
    }
}

/// Returns where values lie in a structure of C, by their sizes and alignments, and its bytes.
#[must_use]
pub fn layout(values: impl Iterator<Item = (usize, usize)>) -> (Vec<usize>, usize) {
    let (mut end, mut most) = (0_usize, 1);
    let place = |(size, alignment): (usize, usize)| {
        let start = end.next_multiple_of(alignment);
        end = start + size;
        most = most.max(alignment);
        start
    };
    (values.map(place).collect(), end.next_multiple_of(most))
}

/// Arguments as names, types and values.
#[derive(Clone, Copy)]
pub struct Arguments<'a>(pub &'a [(&'a str, &'a str, &'a dyn Argument)]);

impl Arguments<'_> {
    /// Returns `name=value, ...`; underscores before names are left out.
    #[must_use]
    pub fn text(self) -> String {
        let one = |&(name, kind, value): &(&str, &str, &dyn Argument)| {
            format!("{}={}", name.trim_start_matches('_'), value.text(kind))
        };
        self.0.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Returns where each argument lies in a structure of C that has them all in this order, and
    /// the structure's bytes.
    #[must_use]
    pub fn layout(self) -> (Vec<usize>, usize) {
        layout(self.0.iter().map(|(_, _, value)| (value.bytes().len(), value.alignment())))
    }

    /// Returns that structure, in words.
    #[must_use]
    pub fn block(self) -> Vec<u64> {
        let (places, size) = self.layout();
        let mut bytes = vec![0; size.next_multiple_of(8)];
        for ((_, _, value), at) in self.0.iter().zip(places) {
            let value = value.bytes();
            bytes[at..at + value.len()].copy_from_slice(&value);
        }
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b));
        bytes.chunks(8).map(word).map(u64::from_le).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_named() {
        let (at, len, handle) = (4096_usize, 12_usize, 0x51_0000_0020_u64);
        let arguments = Arguments(&[
            ("out", "Ptr", &at),
            ("len", "usize", &len),
            ("_stream", "u64", &handle),
            ("name", "Ptr", &0_usize),
        ]);
        assert_eq!(arguments.text(), "out=0x1000, len=12, stream=0x5100000020, name=null");
    }

    #[test]
    fn arguments_lie_as_in_a_structure() {
        let arguments = Arguments(&[
            ("a", "u8", &1_u8),
            ("b", "u16", &0x203_u16),
            ("c", "u8", &4_u8),
            ("d", "u64", &5_u64),
            ("e", "f32", &1.0_f32),
        ]);
        assert_eq!(arguments.layout(), (vec![0, 2, 4, 8, 16], 24));
        assert_eq!(arguments.block(), [0x4_0203_0001_u64, 5, 0x3f80_0000].map(u64::from_le));
        assert_eq!(Arguments(&[]).layout(), (Vec::new(), 0));
    }
}
