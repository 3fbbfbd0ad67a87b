//! Structures with the layout of C, read and written field by field.

/// A value with the layout of C that contains no pointers, but may contain addresses as numbers.
pub trait Abi: Sized {
    /// Reads a value from `size_of::<Self>()` bytes.
    fn from_bytes(bytes: &[u8]) -> Self;

    /// Writes the value to `size_of::<Self>()` bytes. Padding is left alone.
    fn write_to(&self, out: &mut [u8]);

    /// Returns the bytes of the value; padding is zero.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<Self>()];
        self.write_to(&mut bytes);
        bytes
    }

    /// Returns the value whose bytes are all zero.
    #[must_use]
    fn zeroed() -> Self {
        Self::from_bytes(&vec![0; size_of::<Self>()])
    }
}

macro_rules! primitives {
    ($($ty:ty)+) => {
        $(
            impl Abi for $ty {
                fn from_bytes(bytes: &[u8]) -> Self {
                    let mut value = [0; size_of::<Self>()];
                    value.copy_from_slice(bytes);
                    Self::from_ne_bytes(value)
                }

                fn write_to(&self, out: &mut [u8]) {
                    out.copy_from_slice(&self.to_ne_bytes());
                }
            }
        )+
    };
}

primitives! { u8 u16 i32 u32 i64 u64 usize f32 }

impl<T: Abi, const N: usize> Abi for [T; N] {
    fn from_bytes(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| read_at(bytes, i * size_of::<T>()))
    }

    fn write_to(&self, out: &mut [u8]) {
        for (i, value) in self.iter().enumerate() {
            write_at(value, out, i * size_of::<T>());
        }
    }
}

/// Reads a part of a value.
#[must_use]
pub fn read_at<T: Abi>(bytes: &[u8], offset: usize) -> T {
    T::from_bytes(&bytes[offset..][..size_of::<T>()])
}

/// Writes a part of a value.
pub fn write_at<T: Abi>(value: &T, out: &mut [u8], offset: usize) {
    value.write_to(&mut out[offset..][..size_of::<T>()]);
}

/// How much of a header's structure a declaration here describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it, in all versions.
    Whole,
    /// Its first fields; some version appends others.
    Prefix,
    /// All of it, in versions before 13.
    Before13,
    /// All of it, in version 13.
    Since13,
}

/// The layout of a structure, to be compared with a header.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The type as C writes it.
    pub name: &'static str,
    /// How much of the type the fields are.
    pub extent: Extent,
    /// Bytes of the structure.
    pub size: usize,
    /// Name, offset and bytes of each field. A field whose name begins with an underscore stands
    /// for several of the header.
    pub fields: &'static [(&'static str, usize, usize)],
}

/// Declares structures with the layout of C, and a constant with their layouts.
/// `Name = "C type": Extent` may leave out the type, if it has the same name, and the extent, if it
/// is [`Extent::Whole`].
#[macro_export]
macro_rules! structs {
    ($layouts:ident; $(
        $(#[$meta:meta])*
        $name:ident $(= $c:literal)? $(: $extent:ident)? {
            $($field:ident: $ty:ty,)+
        }
    )+) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $name {
                $(pub $field: $ty,)+
            }

            impl $crate::Abi for $name {
                fn from_bytes(bytes: &[u8]) -> Self {
                    Self {
                        $($field: $crate::read_at(
                            bytes,
                            ::std::mem::offset_of!(Self, $field),
                        ),)+
                    }
                }

                fn write_to(&self, out: &mut [u8]) {
                    $($crate::write_at(
                        &self.$field,
                        out,
                        ::std::mem::offset_of!(Self, $field),
                    );)+
                }
            }
        )+

        /// The layouts of these structures.
        pub const $layouts: &[$crate::Layout] = &[$($crate::Layout {
            name: $crate::structs!(@first $($c,)? stringify!($name)),
            extent: $crate::structs!(
                @first $($crate::Extent::$extent,)? $crate::Extent::Whole
            ),
            size: ::std::mem::size_of::<$name>(),
            fields: &[$((
                stringify!($field),
                ::std::mem::offset_of!($name, $field),
                ::std::mem::size_of::<$ty>(),
            ),)+],
        },)+];
    };
    (@first $first:expr $(, $second:expr)?) => { $first };
}
