//! NVIDIA PTX: text to syntax tree to kernel IR, and back to text.
