//! Tests of linked modules by what they compute.

use std::sync::Arc;

use crate::{LoadError, Module};

const HEAD: &str = ".version 7.0 .target sm_70 .address_size 64\n";

fn link(texts: &[&str]) -> Result<Arc<Module>, LoadError> {
    let texts: Vec<String> = texts.iter().map(|t| format!("{HEAD}{t}")).collect();
    let named: Vec<(String, &str)> =
        texts.iter().enumerate().map(|(i, t)| (format!("f{i}"), t.as_str())).collect();
    let texts: Vec<(&str, &str)> = named.iter().map(|(n, t)| (n.as_str(), *t)).collect();
    Module::link(&texts)
}

/// Runs the kernel `k`, which stores one word at its argument.
fn run(module: &Arc<Module>) -> u32 {
    let mut context = crate::Context::new(crate::Settings::default());
    let at = context.allocate("out", 4).unwrap();
    let id = context.load(module).unwrap();
    let shape =
        crate::Shape { grid: [1; 3], block: [1; 3], shared: 0, cooperative: false, cluster: None };
    let kernel = module.kernel("k").unwrap();
    context.launch(id, kernel, shape, &at.0.to_le_bytes()).unwrap();
    let mut word = [0; 4];
    context.read(at, &mut word).unwrap();
    u32::from_le_bytes(word)
}

const MAIN: &str = "
    .extern .func (.param .b32 r) twice(.param .b32 x);
    .extern .global .u32 base;
    .global .u32 own = 100;
    .func (.reg .b32 %r) help() { mov.u32 %r, 1000; ret; }
    .visible .entry k(.param .u64 at) {
        .reg .b32 %v, %b, %o; .reg .b64 %a;
        ld.global.u32 %v, [base];
        { .param .b32 in; .param .b32 out; st.param.b32 [in], %v;
          call (out), twice, (in); ld.param.b32 %v, [out]; }
        ld.global.u32 %b, [own];
        add.u32 %v, %v, %b;
        call (%o), help;
        add.u32 %v, %v, %o;
        ld.param.u64 %a, [at];
        st.global.u32 [%a], %v;
        ret;
    }";

const LIBRARY: &str = "
    .visible .global .u32 base = 7;
    .global .u32 own = 3;
    .func (.reg .b32 %r) help() { ld.global.u32 %r, [own]; ret; }
    .visible .func (.param .b32 r) twice(.param .b32 x) {
        .reg .b32 %v, %w;
        ld.param.b32 %v, [x];
        shl.b32 %v, %v, 1;
        call (%w), help;
        add.u32 %v, %v, %w;
        st.param.b32 [r], %v;
        ret;
    }";

#[test]
fn externals_are_resolved_and_locals_stay_separate() {
    // 2 * 7 + 3 from the library; 100 and 1000 from the main file.
    assert_eq!(run(&link(&[MAIN, LIBRARY]).unwrap()), 1117);
    assert_eq!(run(&link(&[LIBRARY, MAIN]).unwrap()), 1117);
}

#[test]
fn strong_definitions_replace_weak_ones() {
    let weak = LIBRARY.replace(".visible .global", ".weak .global").replace("= 7", "= 9");
    let weak = weak.replace(".visible .func", ".weak .func").replace("%v, %v, 1;", "%v, %v, 2;");
    assert_eq!(run(&link(&[MAIN, &weak, LIBRARY]).unwrap()), 1117);
    assert_eq!(run(&link(&[MAIN, &weak]).unwrap()), 4 * 9 + 3 + 1100);
    assert_eq!(run(&link(&[&weak, MAIN, &weak]).unwrap()), 4 * 9 + 3 + 1100);
}

#[test]
fn texts_that_do_not_link_are_errors() {
    let missing = link(&[MAIN, ".visible .global .u32 base = 7;"]).unwrap_err().to_string();
    assert_eq!(missing, "Undefined reference to 'twice' in 'f0'");
    let twice = link(&[MAIN, LIBRARY, LIBRARY]).unwrap_err().to_string();
    let message = "Multiple definition of 'twice' in 'f2', first defined in 'f1'";
    assert!(twice.contains(message), "{twice}");
    let other = LIBRARY.replace("twice(.param .b32 x)", "twice(.param .b64 x)");
    let other = other.replace("ld.param.b32 %v, [x]", "mov.b32 %v, 0");
    let prototype = link(&[MAIN, &other]).unwrap_err().to_string();
    assert_eq!(prototype, "Prototype doesn't match for 'twice' in 'f0', first defined in 'f1'");
}

#[test]
fn unusable_kernels_do_not_affect_others() {
    let text = format!(
        "{HEAD}.entry good() {{ ret; }} .entry bad() {{ .reg .b32 %r; nonsense.b32 %r; ret; }}"
    );
    let module = Module::load("t", &text).unwrap();
    assert!(module.kernel("good").is_some() && module.kernel("bad").is_none());
    assert_eq!(module.refused().len(), 1);
    assert!(module.refused()[0].findings[0].starts_with("t:2:"), "{:?}", module.refused());
}

#[test]
fn declarations_may_have_other_results_than_definitions() {
    // A result that only the declaration has, and one that only the definition has.
    let main = "
        .extern .func (.param .b32 r) keep(.param .b64 at);
        .extern .func more(.param .b64 at);
        .visible .entry k(.param .u64 at) {
            .reg .b32 %v; .reg .b64 %a;
            ld.param.u64 %a, [at];
            { .param .b64 in; .param .b32 out; st.param.b64 [in], %a; call (out), keep, (in); }
            { .param .b64 in; st.param.b64 [in], %a; call more, (in); }
            ret;
        }";
    let other = "
        .visible .func keep(.param .b64 at) {
            .reg .b64 %a; ld.param.u64 %a, [at]; st.global.u32 [%a], 40; ret;
        }
        .visible .func (.param .b32 r) more(.param .b64 at) {
            .reg .b64 %a; .reg .b32 %v; ld.param.u64 %a, [at];
            ld.global.u32 %v, [%a]; add.u32 %v, %v, 2; st.global.u32 [%a], %v;
            st.param.b32 [r], %v; ret;
        }";
    assert_eq!(run(&link(&[main, other]).unwrap()), 42);
}
