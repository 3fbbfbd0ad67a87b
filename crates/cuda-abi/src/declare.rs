//! Declarations of exported functions: one line for each, with its arguments and what it does.

/// Converts a literal to a C string.
#[macro_export]
macro_rules! c_str {
    ($text:expr) => {
        const {
            match ::std::ffi::CStr::from_bytes_with_nul(::std::concat!($text, "\0").as_bytes()) {
                Ok(text) => text,
                Err(_) => c"",
            }
        }
    };
}

/// Exports functions that return a status, and declares `list`, which returns their names and
/// addresses, and `argument_layouts`.
///
/// Each function is declared as `cuName | cuOtherName (argument: Type, ...) => body;`. The first
/// word names a macro of the crate, which is called with the name, the arguments
/// ([`Arguments`](crate::Arguments)), and the body; it expands to the status.
#[macro_export]
macro_rules! exports {
    ($enter:ident; $($($name:ident)|+ ($($args:tt)*) => $body:expr;)+) => {
        $($crate::exports!(@names $enter [$($name)|+] ($($args)*) $body);)+
        $crate::exports_list! { $($($name)+)+ }

        /// Lists names and layouts of arguments.
        pub(super) fn argument_layouts() -> Vec<$crate::ArgumentLayout> {
            vec![$($crate::exports!(@layout [$($name)|+] ($($args)*)),)+].concat()
        }
    };
    (@layout [$($name:ident)|+] $args:tt) => {
        vec![$($crate::exports!(@layout $name $args)),+]
    };
    (@layout $name:ident ($($arg:ident: $ty:ty),* $(,)?)) => {{
        let values: &[(usize, usize)] = &[$((size_of::<$ty>(), align_of::<$ty>())),*];
        (stringify!($name), $crate::argument_layout(values.iter().copied()))
    }};
    (@names $enter:ident [$($name:ident)|+] $args:tt $body:expr) => {
        $($crate::exports!(@one $enter $name $args $body);)+
    };
    (@one $enter:ident $name:ident ($($arg:ident: $ty:ty),* $(,)?) $body:expr) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> i32 {
            $enter!(
                $name,
                $crate::Arguments(&[$((stringify!($arg), stringify!($ty), &$arg)),*]),
                $body
            )
        }
    };
}

/// Exports functions of the public interface that are not implemented. They access no argument. The
/// first word names a macro of the crate, which is called with the name and expands to the status.
/// Declares `list`, and `functions`, which returns names and functions.
#[macro_export]
macro_rules! missing_exports {
    ($refuse:ident; $($name:ident)+) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> i32 {
                $refuse!($name)
            }
        )+

        /// Returns names and functions. No function accesses its arguments.
        #[must_use]
        pub fn functions() -> Vec<(&'static str, extern "C" fn() -> i32)> {
            vec![$((stringify!($name), $name as extern "C" fn() -> i32)),+]
        }

        $crate::exports_list! { $($name)+ }
    };
}

/// Declares `list`, which returns the names and addresses of functions.
#[macro_export]
macro_rules! exports_list {
    ($($name:ident)+) => {
        /// Lists names and addresses.
        pub(super) fn list() -> Vec<(&'static str, usize)> {
            vec![$((stringify!($name), $name as *const () as usize)),+]
        }
    };
}
