//! Arguments of a client's call as text, for reports of calls that failed.

/// Smallest 64-bit number that is written as an address or a handle.
const FIRST_ADDRESS: u64 = 1 << 16;

/// Something that clients give to calls.
pub trait Argument {
    /// As text; `kind` is its type as the function's declaration writes it, where `Ptr` is an
    /// address.
    fn text(&self, kind: &str) -> String;
}

macro_rules! plain {
    ($($ty:ty)+) => {
        $(
            impl Argument for $ty {
                fn text(&self, _: &str) -> String {
                    self.to_string()
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
}

/// A number, a handle, or an address of a device.
impl Argument for u64 {
    fn text(&self, _: &str) -> String {
        if *self < FIRST_ADDRESS { self.to_string() } else { format!("{self:#x}") }
    }
}

/// `name=value, ...` of names, types and values; underscores before names are left out.
#[must_use]
pub fn arguments(list: &[(&str, &str, &dyn Argument)]) -> String {
    let one = |&(name, kind, value): &(&str, &str, &dyn Argument)| {
        format!("{}={}", name.trim_start_matches('_'), value.text(kind))
    };
    list.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_named() {
        let (at, len, handle) = (4096_usize, 12_usize, 0x51_0000_0020_u64);
        let text = arguments(&[
            ("out", "Ptr", &at),
            ("len", "usize", &len),
            ("_stream", "u64", &handle),
            ("name", "Ptr", &0_usize),
        ]);
        assert_eq!(text, "out=0x1000, len=12, stream=0x5100000020, name=null");
    }
}
