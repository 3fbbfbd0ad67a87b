//! The types of elements (`cudaDataType`), values of each as numbers to compute with, and scalars
//! that clients pass by address.

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;

use cuda_abi::host::Ptr;

use crate::device::{Rows, get_host, put_host};
use crate::error::{Error, Outcome};
use crate::narrow::{E4M3, E5M2, to_e4m3, to_e5m2};

/// A number of some type, as real and imaginary parts.
pub trait Number: Pod + Send + Sync + 'static {
    /// Its type.
    const TYPE: DataType;

    /// Returns the parts, exactly.
    fn wide(self) -> (f64, f64);

    /// Returns the nearest number of this type: ties to even; integers and numbers of eight bits
    /// saturate; a real type drops the imaginary part.
    fn of_wide(re: f64, im: f64) -> Self;
}

macro_rules! real_numbers {
    ($($name:ident $ty:ty: $to:expr, $from:expr;)+) => {$(
        impl Number for $ty {
            const TYPE: DataType = DataType::$name;

            fn wide(self) -> (f64, f64) {
                (($to)(self), 0.0)
            }

            fn of_wide(re: f64, _: f64) -> Self {
                ($from)(re)
            }
        }
    )+};
}

real_numbers! {
    F32 f32: f64::from, |x: f64| x as f32;
    F64 f64: |x| x, |x| x;
    F16 f16: f16::to_f64, f16::from_f64;
    BF16 bf16: bf16::to_f64, bf16::from_f64;
    I8 i8: f64::from, |x: f64| x.round_ties_even() as i8;
    U8 u8: f64::from, |x: f64| x.round_ties_even() as u8;
    I32 i32: f64::from, |x: f64| x.round_ties_even() as i32;
    U32 u32: f64::from, |x: f64| x.round_ties_even() as u32;
    E4M3 E4M3: |x: E4M3| f64::from(x.to_f32()), |x: f64| to_e4m3(x as f32);
    E5M2 E5M2: |x: E5M2| f64::from(x.to_f32()), |x: f64| to_e5m2(x as f32);
}

macro_rules! complex_numbers {
    ($($name:ident $ty:ty)+) => {$(
        impl Number for Complex<$ty> {
            const TYPE: DataType = DataType::$name;

            fn wide(self) -> (f64, f64) {
                (self.re.wide().0, self.im.wide().0)
            }

            fn of_wide(re: f64, im: f64) -> Self {
                Self::new(<$ty>::of_wide(re, 0.0), <$ty>::of_wide(im, 0.0))
            }
        }
    )+};
}

complex_numbers! { C32 f32 C64 f64 C16 f16 CBF16 bf16 CI8 i8 }

macro_rules! data_types {
    ($($name:ident = $number:literal $ty:ty;)+) => {
        /// A type of elements, by its name in `cudaDataType` without the underscore and the `R` of
        /// real types.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "described by the enumeration")]
        pub enum DataType {
            $($name = $number),+
        }

        impl DataType {
            /// Returns the type with this number.
            ///
            /// # Errors
            /// [`Error::NotSupported`] for other types of `cudaDataType`, [`Error::InvalidValue`]
            /// for other numbers.
            pub fn of(number: i32) -> Outcome<Self> {
                match number {
                    $($number => Ok(Self::$name),)+
                    0..=33 => Err(Error::NotSupported),
                    _ => Err(Error::InvalidValue),
                }
            }

            /// Returns the number of bytes of an element.
            #[must_use]
            pub fn bytes(self) -> usize {
                match self {
                    $(Self::$name => size_of::<$ty>(),)+
                }
            }

            /// Reads rows of this type as numbers.
            ///
            /// # Errors
            /// As [`Rows::read`].
            pub fn read<T: Number>(self, rows: Rows) -> Outcome<Vec<T>> {
                if self == T::TYPE {
                    return rows.read();
                }
                match self {
                    $(Self::$name => Ok(convert::<$ty, T>(&rows.read()?)),)+
                }
            }

            /// Checks that elements of the type can be written: room for results is made after
            /// that, so that it is at most that of an allocation.
            ///
            /// # Errors
            /// As [`Rows::read`].
            pub fn check_write(self, Rows { at, width, height, pitch }: Rows) -> Outcome {
                let bytes = |n: usize| crate::size(&[n, self.bytes()]);
                let (width, pitch) = (bytes(width)?, bytes(pitch)?);
                Rows { at, width, height, pitch }.check_write::<u8>()
            }

            /// Writes numbers to rows of this type, each rounded once.
            ///
            /// # Errors
            /// As [`Rows::write`].
            pub fn write<T: Number>(self, rows: Rows, data: &[T]) -> Outcome {
                if self == T::TYPE {
                    return rows.write(data);
                }
                match self {
                    $(Self::$name => rows.write(&convert::<T, $ty>(data)),)+
                }
            }

            /// Reads a value of the host.
            ///
            /// # Errors
            /// As [`get_host`].
            pub fn get_host<T: Number>(self, at: Ptr) -> Outcome<T> {
                match self {
                    $(Self::$name => Ok(one::<$ty, T>(get_host(at)?)),)+
                }
            }

            /// Writes a value of the host.
            ///
            /// # Errors
            /// As [`put_host`].
            pub fn put_host<T: Number>(self, at: Ptr, value: T) -> Outcome {
                match self {
                    $(Self::$name => put_host(at, one::<T, $ty>(value)),)+
                }
            }
        }
    };
}

data_types! {
    F32 = 0 f32;
    F64 = 1 f64;
    F16 = 2 f16;
    I8 = 3 i8;
    C32 = 4 Complex<f32>;
    C64 = 5 Complex<f64>;
    C16 = 6 Complex<f16>;
    CI8 = 7 Complex<i8>;
    U8 = 8 u8;
    I32 = 10 i32;
    U32 = 12 u32;
    BF16 = 14 bf16;
    CBF16 = 15 Complex<bf16>;
    E4M3 = 28 E4M3;
    E5M2 = 29 E5M2;
}

fn one<A: Number, B: Number>(value: A) -> B {
    let (re, im) = value.wide();
    B::of_wide(re, im)
}

fn convert<A: Number, B: Number>(data: &[A]) -> Vec<B> {
    data.iter().map(|&value| one(value)).collect()
}

/// A value that a client passes by address: read when the call is made if it is on the host, and
/// when the work is done if it is on the device.
#[derive(Clone, Copy, Debug)]
pub enum Param<T> {
    /// It was on the host.
    Value(T),
    /// It is at this address of the device, with this type.
    At(u64, DataType),
}

impl<T: Number> Param<T> {
    /// Takes a parameter from a client.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a null pointer, and for an address of the host that cannot be
    /// read.
    pub fn take(at: Ptr, on_device: bool, dtype: DataType) -> Outcome<Self> {
        match (at, on_device) {
            (0, _) => Err(Error::InvalidValue),
            (at, true) => Ok(Self::At(at as u64, dtype)),
            (at, false) => Ok(Self::Value(dtype.get_host(at)?)),
        }
    }

    /// Returns the value; this is work.
    ///
    /// # Errors
    /// [`Error::Fault`] if the device refuses the access.
    pub fn get(self) -> Outcome<T> {
        match self {
            Self::Value(value) => Ok(value),
            Self::At(at, dtype) => Ok(dtype.read(Rows::flat(at, 1))?[0]),
        }
    }
}

/// Where a result goes, on the host or on the device.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    at: Ptr,
    on_device: bool,
    dtype: DataType,
}

impl Place {
    /// Takes an address from a client.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a null pointer.
    pub fn take(at: Ptr, on_device: bool, dtype: DataType) -> Outcome<Self> {
        if at == 0 { Err(Error::InvalidValue) } else { Ok(Self { at, on_device, dtype }) }
    }

    /// Reads the value that is there; this is work.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn get<T: Number>(self) -> Outcome<T> {
        match self.on_device {
            true => Ok(self.dtype.read(Rows::flat(self.at as u64, 1))?[0]),
            false => self.dtype.get_host(self.at),
        }
    }

    /// Writes the result; this is work.
    ///
    /// # Errors
    /// [`Error::Fault`] if the device refuses the access, [`Error::InvalidValue`] if the host does.
    pub fn put<T: Number>(self, value: T) -> Outcome {
        match self.on_device {
            true => self.dtype.write(Rows::flat(self.at as u64, 1), &[value]),
            false => self.dtype.put_host(self.at, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_once_and_saturate() {
        assert_eq!(one::<f64, i8>(300.0), 127);
        assert_eq!(one::<f64, i8>(2.5), 2);
        assert_eq!(one::<f32, f16>(65520.0), f16::INFINITY);
        assert_eq!(one::<f32, bf16>(1.0 + 0.75 / 128.0).to_f32(), 1.0 + 1.0 / 128.0);
        assert_eq!(one::<Complex<f32>, f32>(Complex::new(1.5, 2.0)), 1.5);
        assert_eq!(DataType::of(2), Ok(DataType::F16));
        assert_eq!(DataType::of(33), Err(Error::NotSupported));
        assert_eq!(DataType::of(-1), Err(Error::InvalidValue));
        assert_eq!(DataType::CBF16.bytes(), 4);
    }
}
