//! What to do about a kernel that a machine does not take.

use crate::Refused;

/// What a refusal says, and what a kernel would need instead. The first row whose words are in the
/// refusal applies.
const ADVICE: &[(&str, &str)] = &[
    ("recursion", "write the recursion as a loop with a stack in local memory"),
    ("calls through an address", "write a switch over direct calls"),
    ("`calli`", "write a switch over direct calls"),
    ("`printf`", "store the values in a buffer, or run this kernel with `--isa ptx`"),
    ("`assertfail`", "store what fails in a buffer, or run this kernel with `--isa ptx`"),
    ("wait for other groups", "let no thread wait for a later one: groups run one after the other"),
    ("cluster", "launch without clusters"),
    ("128", "use halves of 64 bits"),
    ("`wmma", "write the product by sums of scalars: the machine has no matrices"),
    ("matrix", "write the product by sums of scalars: the machine has no matrices"),
    ("`mma`", "write the product by sums of scalars: the machine has no matrices"),
    ("collectives of some lanes", "name all lanes of the warp as members, by a constant"),
    ("some lanes of a warp", "name all lanes of the warp as members, or use barriers of the CTA"),
    ("some threads", "let all threads of the CTA come to the barrier"),
    ("blocks of", "launch smaller blocks"),
    ("grids of", "launch smaller grids, one after the other"),
    ("masks", "nest fewer conditionals, or split the kernel"),
    ("predicate", "nest fewer conditionals, or split the kernel"),
    ("room for", "use less shared or local memory, or smaller blocks"),
    ("memory of the blocks", "use less shared or local memory, or smaller blocks"),
    ("memory for", "use less shared or local memory, or smaller blocks"),
    ("instructions with", "call fewer functions: calls are inlined"),
];

impl Refused {
    /// What the kernel would need.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        let text = self.to_string();
        let found = ADVICE.iter().find(|(words, _)| text.contains(words));
        found.map_or("run this kernel with `--isa ptx`, or leave this operation out", |row| row.1)
    }
}
