//! The tests of the crate, as one program.

mod attributes;
mod calls;
mod capture;
mod client_functions;
mod common;
mod context;
mod graph_nodes;
mod handles;
mod library;
mod mappings;
mod memory_limit;
mod peers;
mod references;
mod textures;
mod visible;
mod waiting;
