//! Determinate kernels and kernels of [`generate::flow`] against the front end.

use generate::kernel::module;
use generate::random::{Pool, named};
use generate::{flow, templates::Group};

const HEAD: &str = ".version 8.8\n.target sm_90a\n.address_size 64\n";

/// The messages of the front end about a kernel of a text.
fn errors(text: &str, kernel: &str) -> Vec<String> {
    let (tree, mut found) = ptx::parse(isa::FileId(0), text);
    found.append(ptx::lower(&tree, ptx::Select::Kernel(kernel)).1);
    let wrong =
        |d: &&isa::Diagnostic| d.severity == isa::Severity::Error || d.code == "ptx::too-new";
    let errors = found.iter().filter(wrong);
    errors
        .map(|d| {
            let at = d.primary.as_ref().map_or(0, |label| label.span.range().start);
            let line = text[at..].lines().next().unwrap_or("");
            format!("{kernel}: {}: {line}", d.message)
        })
        .collect()
}

#[test]
fn the_front_end_takes_determinate_kernels() {
    let pool = Pool::determinate(HEAD);
    assert!(pool.all.len() > 1500, "{}", pool.all.len());
    for group in [Group::Compute, Group::Carry, Group::Memory, Group::Atomic, Group::Collective] {
        assert!(pool.all.iter().any(|t| t.group == group), "{group:?}");
    }
    let open = ["activemask", "%warpid", ".approx", "gv", "cvta.to"];
    let mut wrong = Vec::new();
    // The instructions of successive seeds are all there are: these kernels have some of them.
    for seed in (0..pool.all.len() as u64 / 3).step_by(13) {
        let name = format!("k{seed}");
        let text = module(HEAD, &[named(&pool, seed, &name)]);
        wrong.extend(errors(&text, &name));
        let code = text.split_once(&format!("// {name}\n")).unwrap().1;
        assert!(!open.iter().any(|word| code.contains(word)), "{code}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_module_has_many_kernels() {
    let pool = Pool::determinate(HEAD);
    let kernels: Vec<_> = (0..20).map(|seed| named(&pool, seed, &format!("k{seed}"))).collect();
    let text = module(HEAD, &kernels);
    for kernel in &kernels {
        assert_eq!(errors(&text, &kernel.name), [""; 0]);
    }
}

#[test]
fn the_front_end_takes_kernels_of_ir() {
    let mut text = HEAD.to_owned();
    for seed in 0..200 {
        text += &flow::kernel(seed, &format!("k{seed}")).text;
    }
    for seed in (0..200).step_by(7) {
        assert_eq!(errors(&text, &format!("k{seed}")), [""; 0]);
    }
    assert!(text.contains("brx.idx") && text.contains("call (results)"));
}
