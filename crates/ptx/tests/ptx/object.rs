//! Files that are to be linked with others: what binds to whom.

use isa::FileId;
use ptx::{Binding, Select, lower_object, parse};

/// External shared memory with a size is defined where it is declared; without one it is dynamic;
/// other external variables are another file's.
#[test]
fn external_shared_memory_with_a_size_is_a_definition() {
    let text = ".version 8.0 .target sm_80 .address_size 64
        .extern .shared .align 8 .b8 sized[256];
        .extern .shared .align 8 .b8 open[];
        .extern .global .b32 elsewhere;
        .visible .entry k() {
          .reg .b32 %r; ld.shared.u32 %r, [sized]; ld.shared.u32 %r, [open];
          ld.global.u32 %r, [elsewhere]; ret; }";
    let (tree, found) = parse(FileId(0), text);
    assert!(!found.has_errors());
    let (object, found) = lower_object(&tree, Select::All);
    let codes: Vec<_> = found.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["ptx::extern-shared"]);
    let object = object.unwrap();
    let vars: Vec<_> = object
        .module
        .vars
        .iter()
        .zip(&object.vars)
        .map(|(var, binding)| (var.name.as_str(), var.size, var.dynamic, *binding))
        .collect();
    assert_eq!(
        vars,
        [
            ("sized", 256, false, Binding::Local),
            ("open", 0, true, Binding::Local),
            ("elsewhere", 4, false, Binding::Undefined),
        ]
    );
}
