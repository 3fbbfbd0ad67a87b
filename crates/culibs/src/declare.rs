//! Declarations of exported functions: one line for a function, or for a family of functions that
//! differ in their type and in the width of their integers.

/// Exports functions of families, and declares `list`, which returns their names.
///
/// A row is `[f32: nameS nameS_64; f64: nameD nameD_64] (argument: Type, ...) => body;`. In the
/// types and in the body, `T` is the type before the colon, and `Int` is `i32`, or `i64` for the
/// second name. The first word names a macro of the crate, which is called with the name, the
/// arguments, and the body; it expands to the status.
#[macro_export]
macro_rules! family {
    (
        $enter:ident;
        $([$($t:ty: $narrow:ident $($wide:ident)?);+ $(;)?] $args:tt => $body:expr;)+
    ) => {
        $($crate::family!(@types $enter [$($t: $narrow $($wide)?;)+] $args $body);)+

        /// Returns the names of the functions.
        #[must_use]
        pub fn list() -> Vec<&'static str> {
            vec![$($(stringify!($narrow), $(stringify!($wide),)?)+)+]
        }
    };
    (@types $enter:ident [$($t:ty: $narrow:ident $($wide:ident)?;)+] $args:tt $body:expr) => {
        $(
            $crate::family!(@one $enter $narrow i32 [$t] $args $body);
            $($crate::family!(@one $enter $wide i64 [$t] $args $body);)?
        )+
    };
    (
        @one $enter:ident $name:ident $int:ident [$t:ty]
        ($($arg:ident: $ty:ty),* $(,)?) $body:expr
    ) => {
        const _: () = {
            #[allow(dead_code, reason = "not every function has integers")]
            type Int = $int;
            #[allow(dead_code, reason = "not every function has a type")]
            type T = $t;
            #[unsafe(no_mangle)]
            extern "C" fn $name($($arg: $ty),*) -> i32 {
                $enter!(
                    $name,
                    ::cuda_abi::Arguments(&[$((stringify!($arg), stringify!($ty), &$arg)),*]),
                    $body
                )
            }
        };
    };
}

/// Exports functions that are not implemented, of the library whose [`Interface`](crate::Interface)
/// the first words name. They access no argument, answer that they are not supported, and are
/// recorded in the event log. Declares `list`.
#[macro_export]
macro_rules! missing {
    ($library:ty; $($name:ident)*) => {
        $(
            const _: () = {
                #[unsafe(no_mangle)]
                extern "C" fn $name() -> i32 {
                    $crate::unsupported::<$library>($crate::c_str!(stringify!($name)))
                }
            };
        )*

        /// Returns the names of the functions.
        #[must_use]
        pub fn list() -> Vec<&'static str> {
            vec![$(stringify!($name)),*]
        }
    };
}

/// Declares a library's statuses: a constant for each, and [`Interface`](crate::Interface) for the
/// type. `handle`, `memory` and so on name the status of each [`Error`](crate::Error).
#[macro_export]
macro_rules! interface {
    ($type:ident $success:ident { $($name:ident = $number:literal,)+ }
        handle $handle:ident, memory $memory:ident, value $value:ident,
        unsupported $unsupported:ident,
        execution $execution:ident, internal $internal:ident) => {
        /// The library's interface.
        #[derive(Clone, Copy, Debug)]
        pub struct $type;

        /// The library's statuses by name.
        pub const STATUSES: &[(&str, i32)] =
            &[(stringify!($success), 0), $((stringify!($name), $number)),+];

        $(
            #[allow(missing_docs, reason = "the public documentation of these is CUDA's")]
            pub const $name: i32 = $number;
        )+

        impl $crate::Interface for $type {
            fn number(error: $crate::Error) -> i32 {
                use $crate::Error as E;
                match error {
                    E::Handle => $handle,
                    E::OutOfMemory => $memory,
                    E::InvalidValue => $value,
                    E::NotSupported | E::Refused(_) => $unsupported,
                    E::Execution | E::Fault => $execution,
                    E::Internal => $internal,
                    E::Status(status) => status,
                }
            }

            fn name(status: i32) -> &'static ::std::ffi::CStr {
                match status {
                    0 => ::cuda_abi::c_str!(stringify!($success)),
                    $($number => ::cuda_abi::c_str!(stringify!($name)),)+
                    _ => c"unknown status",
                }
            }
        }
    };
}
