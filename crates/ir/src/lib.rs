//! The kernel IR: types, operations, text form, verifier.
