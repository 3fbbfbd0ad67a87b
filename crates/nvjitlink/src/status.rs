//! Results of calls, with the names and numbers of the headers.

/// Declares results of an interface: the number, the name without its prefix.
macro_rules! results {
    ($(#[$doc:meta])+ $kind:ident $prefix:literal { $($number:literal $name:ident)+ }) => {
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $kind(pub i32);

        impl $kind {
            $(
                #[doc = concat!("`", $prefix, stringify!($name), "`.")]
                pub const $name: Self = Self($number);
            )+

            /// Names and numbers, as in the header.
            pub const ALL: &[(&str, i64)] =
                &[$((concat!($prefix, stringify!($name)), $number),)+];

            /// Returns the name.
            #[must_use]
            pub fn name(self) -> &'static str {
                let found = Self::ALL.iter().find(|row| row.1 == i64::from(self.0));
                found.map_or("", |row| row.0)
            }
        }
    };
}

results! {
    /// An `nvJitLinkResult`.
    LinkResult "NVJITLINK_" {
        0 SUCCESS
        1 ERROR_UNRECOGNIZED_OPTION
        2 ERROR_MISSING_ARCH
        3 ERROR_INVALID_INPUT
        4 ERROR_PTX_COMPILE
        5 ERROR_NVVM_COMPILE
        6 ERROR_INTERNAL
        7 ERROR_THREADPOOL
        8 ERROR_UNRECOGNIZED_INPUT
        9 ERROR_FINALIZE
        10 ERROR_NULL_INPUT
        11 ERROR_INCOMPATIBLE_OPTIONS
        12 ERROR_INCORRECT_INPUT_TYPE
        13 ERROR_ARCH_MISMATCH
        14 ERROR_OUTDATED_LIBRARY
        15 ERROR_MISSING_FATBIN
        16 ERROR_UNRECOGNIZED_ARCH
        17 ERROR_UNSUPPORTED_ARCH
        18 ERROR_LTO_NOT_ENABLED
    }
}

results! {
    /// An `nvPTXCompileResult`.
    CompileResult "NVPTXCOMPILE_" {
        0 SUCCESS
        1 ERROR_INVALID_COMPILER_HANDLE
        2 ERROR_INVALID_INPUT
        3 ERROR_COMPILATION_FAILURE
        4 ERROR_INTERNAL
        5 ERROR_OUT_OF_MEMORY
        6 ERROR_COMPILER_INVOCATION_INCOMPLETE
        7 ERROR_UNSUPPORTED_PTX_VERSION
        8 ERROR_UNSUPPORTED_DEVSIDE_SYNC
        9 ERROR_CANCELLED
        10 PARSE_ONLY_SUCCESS
    }
}
