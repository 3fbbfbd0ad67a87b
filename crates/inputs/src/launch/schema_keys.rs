//! The keys of each table, for messages and for the test that compares them with the JSON Schema.

/// Keys of the root table.
pub const ROOT_KEYS: &[&str] = &[
    "schema",
    "machine",
    "module",
    "description",
    "run",
    "options",
    "buffers",
    "launch",
    "expect",
];

/// Keys of `[run]`.
pub const RUN_KEYS: &[&str] = &["mechanism", "warp_size", "seed", "limit"];

/// Keys of `[[launch]]`.
pub const LAUNCH_KEYS: &[&str] = &["kernel", "grid", "block", "shared", "args", "options"];

/// Keys of `[[expect]]`.
pub const EXPECT_KEYS: &[&str] = &[
    "buffer",
    "memory",
    "type",
    "count",
    "file",
    "values",
    "fill",
    "multiset",
    "range",
    "atol",
    "rtol",
    "ulp",
    "statistic",
    "equals",
    "min",
    "max",
    "trap",
    "line",
    "message",
    "hang",
    "launch",
    "mechanism",
    "warp_size",
];
