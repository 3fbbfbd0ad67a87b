//! What is said of wrong PTX: code, message, and the text under the caret.

use isa::{FileId, Severity};

/// What is found in a kernel with this body, one finding a line.
fn findings(body: &str) -> String {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 var; .shared .u32 sh[4]; .extern .func (.param .b32 r) outer(.param .b32 a);
.func (.param .b32 r) inner(.param .b32 a) {{ ret; }}
.visible .entry k(.param .u64 p) {{
.reg .b32 %r<10>; .reg .b64 %d<10>; .reg .f32 %f<4>; .reg .pred %p<4>; .reg .b16 %h<4>; .reg .v4 .f32 v;
{body}
ret; }}"
    );
    file_findings(&text)
}

fn file_findings(text: &str) -> String {
    let (tree, mut found) = ptx::parse(FileId(0), text);
    found.append(ptx::check(&tree));
    let lines = found.iter().map(|d| {
        let at = d.primary.as_ref().and_then(|l| text.get(l.span.range())).unwrap_or("");
        let warning = if d.severity == Severity::Error { "" } else { "warning " };
        format!("{warning}{} {} [{at}]", d.code.trim_start_matches("ptx::"), d.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

macro_rules! errors {
    ($($name:ident: $body:literal => $expected:literal;)+) => {
        #[test]
        fn exact_texts() {
            let mut wrong = Vec::new();
            $(
                let found = findings($body);
                if found != $expected {
                    wrong.push(format!("    {}: {:?} => {:?};", stringify!($name), $body, found));
                }
            )+
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    };
}

errors! {
    unknown_opcode: "ad.s32 %r1, %r2, %r3;" => "unknown-opcode unknown opcode `ad` [ad]";
    unknown_opcode_far: "frobnicate %r1;" => "unknown-opcode unknown opcode `frobnicate` [frobnicate]";
    tensor_memory: "tcgen05.wait::ld.sync.aligned;" => "unsupported `tcgen05.wait::ld.sync.aligned` is not supported yet [tcgen05]";
    later_forms: "fence.proxy.async.shared::cta;\nbarrier.cluster.arrive;\nfence.mbarrier_init.release.cluster;\nprefetch.tensormap [%d1];" => "warning too-new `fence.proxy.async.shared::cta` needs sm_90 or later [fence]\nwarning too-new `barrier.cluster.arrive` needs sm_90 or later [barrier]\nwarning too-new `fence.mbarrier_init.release.cluster` needs sm_90 or later [fence]\nwarning too-new `prefetch.tensormap` needs sm_90 or later [prefetch]";
    narrow_address: "ld.global.u32 %r1, [%r2];" => "warning address-width the address is in a register of 32 bits [[%r2]]";
    narrow_shared_address: "ld.shared.u32 %r1, [%r2];" => "";
    shuffle_without_sync: "shfl.down.b32 %r1, %r2, 1, 31;\nvote.ballot.b32 %r1, %p1;\nshfl.up.b32 %r1, %r2, 1, 0;" => "warning no-sync `shfl.down.b32` names no lanes [shfl]\nwarning no-sync `vote.ballot.b32` names no lanes [vote]";
    texture: "tex.2d.v4.f32.f32 %r1, %r2;" => "vector a vector of 4 elements is needed [%r1]";
    texture_place: "tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%d1];" => "address a texture or surface and coordinates are needed [[%d1]]";
    texture_narrow: "suld.b.1d.b32.trap %r1, [%r2, {%r3}];" => "operand-type `%r2` is declared `.b32`; the instruction uses it as `.b64` [%r2]";
    texture_coordinates: "tex.2d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%d1, {%r1}];" => "vector a vector of 2 is needed [{%r1}]";
    texture_direction: "tex.cube.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%d1, {%r1, %r2, %r3, %r4}];" => "modifier the modifiers of `tex.cube.v4.s32.s32` do not go together [tex]";
    texture_depth: "tld4.r.2d.v4.f32.f32 {%f1, %f1, %f1, %f1}, [%d1, {%f1, %f1}], %f1;" => "unsupported textures of depths, which are compared, are not supported [%f1]";
    surface_wide: "sust.b.1d.v4.b64.zero [%d1, {%r1}], {%d1, %d1, %d1, %d1};" => "modifier the modifiers of `sust.b.1d.v4.b64.zero` do not go together [sust]";
    surface_cube: "sust.b.cube.b32.trap [%d1, {%r1, %r1, %r1, %r1}], %r1;" => "modifier the modifiers of `sust.b.cube.b32.trap` do not go together [sust]";
    surface_sum: "sured.b.add.1d.b32.clamp [%d1, {%r1}], %r1;" => "modifier the modifiers of `sured.b.add.1d.b32.clamp` do not go together [sured]";
    unknown_modifier: "add.fast.s32 %r1, %r2, %r3;" => "modifier `add` takes no `.fast` here [.fast]";
    near_modifier: "fma.rm.fz.f32 %f1, %f2, %f3, %f1;" => "modifier `fma` takes no `.fz` here [.fz]";
    missing_rounding: "fma.f32 %f1, %f2, %f3, %f1;" => "modifier `fma` needs a rounding mode [fma]";
    missing_type: "add %r1, %r2, %r3;" => "instruction-type `add` needs a type [add]";
    wrong_type: "and.u32 %r1, %r2, %r3;" => "instruction-type `and` does not work on `.u32` with these modifiers [.u32]";
    two_roundings: "add.rn.rz.f32 %f1, %f2, %f3;" => "modifier `add` has a rounding mode twice [.rz]";
    two_types: "add.u32.u32 %r1, %r2, %r3;" => "instruction-type `add` has too many types [.u32]";
    bad_comparison: "setp.lo.s32 %p1, %r1, %r2;" => "modifier the modifiers of `setp.lo.s32` do not go together [setp]";
    too_few: "add.u32 %r1, %r2;" => "operand-count `add.u32` takes 3 operands, 2 given [add.u32 %r1, %r2;]";
    too_many: "mov.u32 %r1, %r2, %r3;" => "operand-count `mov.u32` takes 2 operands, 3 given [mov.u32 %r1, %r2, %r3;]";
    range: "mov.u32 %r1, %r10;" => "undefined `%r10` is not declared [%r10]";
    misspelt: "mov.u32 %r1, sg;" => "undefined `sg` is not declared [sg]";
    float_as_int: "add.u32 %r1, %f1, 1;" => "operand-type `%f1` is declared `.f32`; the instruction uses it as `.u32` [%f1]";
    narrow: "add.u64 %d1, %r1, %d2;" => "operand-type `%r1` is declared `.b32`; the instruction uses it as `.u64` [%r1]";
    predicate: "add.u32 %r1, %p1, 1;" => "operand-type `%p1` is declared `.pred`; the instruction uses it as `.u32` [%p1]";
    int_constant: "add.f32 %f1, %f2, 1;" => "constant-type `1` cannot be read as `.f32` [1]";
    float_constant: "add.u32 %r1, %r2, 1.0;" => "constant-type `1.0` cannot be read as `.u32` [1.0]";
    half_constant: "fma.rn.f16 %h1, %h2, %h3, 1.0;" => "constant-type `1.0` cannot be read as `.f16` [1.0]";
    special_register: "add.u32 %r1, %tid.x, 1;" => "operand the special register `%tid.x` is not possible here [%tid.x]";
    special_written: "mov.u32 %tid.x, %r1;" => "operand the special register `%tid.x` cannot be written [%tid.x]";
    special_width: "mov.u64 %d1, %tid.x;" => "operand-type `%tid.x` has 32 bits [%tid.x]";
    special_unknown: "mov.u32 %r1, %envreg32;" => "undefined `%envreg32` is not declared [%envreg32]";
    discard: "add.u32 _, %r1, %r2;" => "operand the result of this instruction cannot be discarded [_]";
    constant_written: "add.u32 5, %r1, %r2;" => "operand `5` cannot be written [5]";
    not_complement: "add.u32 %r1, !%r2, %r3;" => "operand this operand cannot be complemented [!%r2]";
    negated: "add.u32 %r1, -%r2, %r3;" => "operand `-%r2` is not possible here [-%r2]";
    variable_as_value: "add.u32 %r1, var, 1;" => "operand `var` is a variable, not a value [var]";
    function_as_value: "add.u64 %d1, inner, 1;" => "operand `inner` is a function, not a value [inner]";
    vector_whole: "add.f32 %f1, v, 1.0;" => "operand `v` is a vector [v]";
    vector_member: "add.f32 %f1, v.q, 1.0;" => "operand `v` has no `.q` [v.q]";
    wrong_space: "ld.global.u32 %r1, [sh];" => "space `[sh]` is in `.shared`, the instruction accesses `.global` [[sh]]";
    no_brackets: "ld.global.u32 %r1, %d1;" => "address `%d1` is not an address [%d1]";
    float_address: "ld.global.u32 %r1, [%f1];" => "operand-type `%f1` is declared `.f32` [[%f1]]";
    address_sum: "ld.global.u32 %r1, [%d1+%d2];" => "address `[%d1 + %d2]` is not an address [[%d1+%d2]]";
    wrong_vector: "ld.global.v4.u32 {%r1, %r2}, [%d1];" => "vector a vector of 4 elements is needed [{%r1, %r2}]";
    big_vector: "ld.global.v4.b128 {%d1, %d2, %d3, %d4}, [%d1];" => "modifier the modifiers of `ld.global.v4.b128` do not go together [ld]";
    store_const: "st.const.u32 [%d1], %r1;" => "modifier the modifiers of `st.const.u32` do not go together [st]";
    scope_alone: "ld.gpu.global.u32 %r1, [%d1];" => "modifier the modifiers of `ld.gpu.global.u32` do not go together [ld]";
    atomic_local: "atom.local.add.u32 %r1, [%d1], 1;" => "space atomic operations work on `.global` and `.shared` [[%d1]]";
    atomic_type: "atom.global.and.f32 %f1, [%d1], %f2;" => "modifier the modifiers of `atom.global.and.f32` do not go together [atom]";
    cas_count: "atom.global.cas.b32 %r1, [%d1], 1;" => "operand-count `atom.global.cas.b32` takes 4 to 5 operands, 3 given [atom.global.cas.b32 %r1, [%d1], 1;]";
    guard: "@%r1 mov.u32 %r1, 1;" => "guard the guard `%r1` is declared `.b32` [%r1]";
    guard_unknown: "@%q mov.u32 %r1, 1;" => "undefined `%q` is not declared [%q]";
    no_label: "bra nowhere;" => "undefined-label the label `nowhere` is not defined [nowhere]";
    label_is_register: "bra 5;" => "label a label is needed here [5]";
    two_labels: "a: a: bra a;" => "redefined `a` is defined twice [a]";
    scoped_label: "{ b: } bra b;" => "undefined-label the label `b` is not defined [b]";
    two_registers: ".reg .b32 x; .reg .b64 x;" => "redefined `x` is defined twice [x]";
    register_array: ".reg .b32 x[4];" => "register a register is declared by its name, or by a name and a count [x]";
    no_list: "brx.idx %r1, %r2;" => "label the name of a `.branchtargets` list is needed here [%r2]";
    pack: "mov.b64 %d1, {%r1, %r2, %r3};" => "operand 3 elements do not make up a value of `.b64` [{%r1, %r2, %r3}]";
    pack_types: "mov.b64 %d1, {%r1, %h1};" => "operand-type `%h1` is declared `.b16`; the instruction uses it as `.b32` [%h1]";
    barrier: "bar.sync 16;" => "barrier there is no barrier 16 [16]";
    barrier_count: "bar.sync 0, 33;" => "barrier a barrier of 33 threads [bar.sync 0, 33;]";
    call_undefined: "call (%r1), outer, (%r2);" => "undefined the function `outer` is not defined in this file [outer]";
    call_unknown: "call nobody;" => "undefined `nobody` is not declared [nobody]";
    call_kernel: "call k;" => "call a kernel cannot be called [k]";
    call_arguments: "call (%r1), inner, (%d2);" => "call the arguments of the call are not those of the function [call (%r1), inner, (%d2);]";
    call_count: "call (%r1), inner;" => "call the arguments of the call are not those of the function [call (%r1), inner;]";
    call_nothing: "call;" => "call a call names no function [call;]";
    division: "mov.u32 %r1, 1/0;" => "constant the constant has no value [1/0]";
    local_size: ".local .b8 big[100000000];" => "frame a thread's variables have at most 524288 bytes [big]";
    alignment: ".local .align 3 .b8 x[4];" => "alignment an alignment of 3 [.align 3]";
    array_size: ".local .b8 x[-1];" => "array-size the size of an array is not a constant of 0 or more [-1]";
    too_new: "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;" => "warning too-new `cvt.rn.satfinite.e4m3x2.f32` needs PTX 8.1 or later [cvt]";
    param_address: "{ .param .b32 a; mov.b64 %d1, a; }" => "unsupported the parameter `a` has no address [a]";
    param_outside: "{ .param .b32 a; st.param.b32 [a+4], %r1; }" => "parameter `[a+4]` is outside of the parameter's 4 bytes [[a+4]]";
    param_misaligned: "{ .param .align 4 .b8 a[8]; st.param.b32 [a+2], %r1; }" => "parameter `[a+2]` is not aligned to the access [[a+2]]";
    dense_shape: "mma.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r3}, {%r1, %r2, %r3, %r4};" => "modifier `mma` has no shape `.m16n8k64` with these modifiers [.m16n8k64]";
    sparse_shape: "mma.sp.sync.aligned.m16n8k9.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2}, %r8, 0;" => "modifier `mma` has no shape `.m16n8k9` with these modifiers [.m16n8k9]";
    unknown_directive: ".foo 1;" => "warning unknown-directive the directive `.foo` is not known [.foo]";
}

#[test]
fn files_as_a_whole() {
    let mut wrong = Vec::new();
    for (text, expected) in FILES {
        let found = file_findings(text);
        if found != *expected {
            wrong.push(format!("    ({text:?}, {found:?}),"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const FILES: &[(&str, &str)] = &[
    ("", "no-version the file has no `.version` []"),
    (".entry k() { ret; }", "no-version the file has no `.version` []"),
    (
        ".version 8.0\n.target sm_80\n.address_size 32",
        "address-size 32-bit addresses are not supported [.address_size 32]",
    ),
    (
        ".version 8.0\n.target sm_80\n.global .u32 a; .global .u64 a;",
        "redefined `a` is defined twice [a]",
    ),
    (
        ".version 8.0\n.target sm_80\n.entry k() {} .entry k() {}",
        "redefined `k` is defined twice [k]",
    ),
    (".version 8.0\n.target sm_80\n.entry k();", ""),
    (".version 8.0\n.entry k();", "no-target the file has no `.target` []"),
    (
        ".version 99.0\n.target sm_80\n.entry k();",
        "version there is no PTX version 99.0 [.version 99.0]",
    ),
    (
        ".version 3.9\n.target sm_35\n.entry k();",
        "version there is no PTX version 3.9 [.version 3.9]",
    ),
    (
        ".version 0.9\n.target sm_35\n.entry k();",
        "version there is no PTX version 0.9 [.version 0.9]",
    ),
    (".version 1.5\n.target sm_13\n.entry k();", ""),
    (".version 7.8\n.target sm_80\n.entry k();", ""),
    (
        ".version 7.8\n.target sm_90\n.entry k() { .reg .b64 s; .shared .b64 b;
        mbarrier.arrive.shared.b64 s, [b], 2; }",
        "",
    ),
    (
        ".version 7.7\n.target sm_90\n.entry k() { .reg .b64 s; .shared .b64 b;
        mbarrier.arrive_drop.shared.b64 s, [b], 2; }",
        "warning too-new `mbarrier.arrive_drop.shared.b64` with 3 operands needs PTX 7.8 or later \
         [mbarrier]",
    ),
    (
        ".target sm_80\n.version 8.0\n.entry k();",
        "header-order the file does not begin with `.version` and `.target` [.version 8.0]",
    ),
    (
        ".version 8.0\n.target sm_80\n.entry k(.param .b8 a[0]) {}",
        "parameter a parameter of no bytes [.param .b8 a[0]]",
    ),
    (".version 8.0\n.target sm80", "target there is no target `sm80` [sm80]"),
    (
        ".version 8.0\n.target sm_80\n.sat 5;",
        "warning unknown-directive the directive `.sat` is not known [.sat]",
    ),
    (".version 8.0\n.target sm_80\n.pred 5;", "directive `.pred` begins no statement here [.pred]"),
    (".version 8.0\n.target sm_80\n.alias a, b;", "undefined there is no function `b` [b]"),
    (
        ".version 8.0\n.target sm_80\n.global .u32 a[2] = {1, 2, 3};",
        "initialiser more values than the variable has room for [3]",
    ),
    (".version 8.0\n.target sm_80\n.global .u32 a = b;", "undefined `b` is not defined [b]"),
    (
        ".version 8.0\n.target sm_80\n.global .u32 a = 1.5;",
        "initialiser the value cannot be of type `.u32` [1.5]",
    ),
    (
        ".version 8.0\n.target sm_80\n.global .u16 a = a;",
        "initialiser an address needs 64 bits [a]",
    ),
    (".version 8.0\n.target sm_80\n.global .q32 a;", "unknown-type `.q32` is not a type [.q32]"),
    (
        ".version 8.0\n.target sm_80\n.global a;",
        "no-type a declaration without a type [.global a;]",
    ),
    (
        ".version 8.0\n.target sm_80\n.global .u32 a[99999999999999999];",
        "array-size the variable has more bytes than any device [a]",
    ),
    (
        ".version 8.0\n.target sm_80\n.global .u32 a[][2][];",
        "array-size only the first dimension can be left open [a]",
    ),
    (
        ".version 8.0\n.target sm_80\n.shared .u32 a = 1;",
        "initialiser shared memory cannot be initialised [1]",
    ),
    (
        ".version 8.0\n.target sm_80\n.const .texref t;",
        "unsupported such `.texref` variables are not supported [t]",
    ),
    (
        ".version 8.0\n.target sm_80\n.extern .global .u32 a; .global .u64 p = a;",
        "undefined the variable `a` is not defined in this file [a]",
    ),
    (
        ".version 8.0\n.target sm_80\n.entry k(.param .b8 a[40000]) {}",
        "parameter a kernel's parameters have at most 4352 bytes [.param .b8 a[40000]]",
    ),
    (
        ".version 8.0\n.target sm_80\n.entry k(.reg .u32 a) {}",
        "parameter a kernel's parameters are in `.param`, and not predicates [.reg .u32 a]",
    ),
    (
        ".version 8.0\n.target sm_80\n.entry k() .maxntid 0 {}",
        "bounds a number of threads from 1 on is needed [0]",
    ),
    (
        ".version 8.0\n.target sm_80\n.local .u32 a;",
        "space variables of the module cannot be in `.local` [a]",
    ),
    (
        ".version 9999999999.0",
        "syntax expected a version such as `8.5`, found `9999999999.0` [9999999999.0]",
    ),
];

/// Texts that ask for much more than they hold end soon, with little memory: by an error that says
/// so, or with nothing made.
#[test]
fn few_words_make_no_mountains() {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let aggregates = format!(
        "{head}.func f(.param .b8 a[4096]) {{ ret; }}\n.entry k() {{ .param .b8 x[4096]; {} ret; }}",
        "call f, (x);".repeat(20_000)
    );
    assert!(file_findings(&aggregates).starts_with("budget "));
    let parameters =
        format!("{head}.entry k() {{ {} ret; }}", "{ .param .b8 x[4096]; }".repeat(20_000));
    assert!(file_findings(&parameters).starts_with("budget "));
    let labels: String = (0..3000).map(|i| format!("L{i}:")).collect();
    let branches = format!(
        "{head}.entry k() {{ .reg .b32 r; {labels} t: .branchtargets L<3000>; {} ret; }}",
        "brx.idx r, t;".repeat(5000)
    );
    assert!(file_findings(&branches).starts_with("budget "));
    let far = format!(
        "{head}{}",
        (0..100)
            .map(|i| format!(".global .u8 a{i}[2][200000000] = {{{{1}}, {{1}}}};\n"))
            .collect::<String>()
    );
    assert!(file_findings(&far).starts_with("budget "));
    let names = format!("{head}.entry k() {{ {} ret; }}", "mov.u32 a, b;".repeat(20_000));
    assert_eq!(file_findings(&names).lines().count(), isa::Diagnostics::CAP);
    let modifiers = format!("{head}.entry k() {{ add{} ret; }}", ".x".repeat(200_000));
    assert!(
        file_findings(&modifiers).contains("200000 modifiers")
            || file_findings(&modifiers).contains("expected")
    );
    let many =
        format!("{head}.entry k() {{ .reg .b32 r<4000000000>; mov.u32 r3999999999, 1; ret; }}");
    assert_eq!(file_findings(&many), "");
    let chain: String = (1..20_000).map(|i| format!(".global .u64 a{i} = a{};", i - 1)).collect();
    assert_eq!(file_findings(&format!("{head}.global .u64 a0;{chain}")), "");
}

#[test]
fn bounds_that_no_block_comes_to() {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let of = |bounds: &str| file_findings(&format!("{head}.entry k() {bounds} {{ ret; }}"));
    for possible in [".maxntid 1024", ".maxntid 32, 32", ".reqntid 16, 1, 64"] {
        assert_eq!(of(possible), "");
    }
    let warning = |n: u32, word: &str| {
        format!("warning bounds `k` is declared for blocks of {n} threads [.{word}]")
    };
    assert_eq!(of(".maxntid 4096"), warning(4096, "maxntid"));
    assert_eq!(of(".maxntid 64, 32"), warning(2048, "maxntid"));
    assert_eq!(of(".reqntid 1, 1, 65"), warning(65, "reqntid"));
}

#[test]
fn without_limits_of_devices() {
    let text = ".version 8.0 .target sm_80 .address_size 64
        .shared .b8 s[300000]; .const .b8 c[70000];
        .entry large(.param .align 8 .b8 p[5000]) { ret; }
        .entry k() .maxntid 4096 { .reg .b32 %r; mov.u32 %r, s; ret; }";
    let (tree, _) = ptx::parse(FileId(0), text);
    assert_eq!(ptx::check(&tree).error_count(), 3);
    let limits = ir::device::Limits::None;
    let (module, found) = ptx::lower_for(&tree, ptx::Select::All, limits);
    assert!(module.is_some() && found.is_empty(), "{found:?}");
}
