//! What the exported functions do, by kind of object. Each function has a call's arguments, after
//! the driver.

pub(crate) mod array;
pub(crate) mod capture;
pub(crate) mod condition;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod edges;
pub(crate) mod event;
pub(crate) mod function;
pub(crate) mod graph;
pub(crate) mod graph_dot;
pub(crate) mod graph_exec;
pub(crate) mod graph_memory;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod linker;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod node;
pub(crate) mod pointer;
pub(crate) mod pool;
pub(crate) mod stream;
pub(crate) mod tensor;
pub(crate) mod texture;
pub(crate) mod user_object;
