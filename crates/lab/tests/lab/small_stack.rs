//! Hostile texts loaded from threads with small stacks.

use std::sync::Arc;

use isa::SourceMap;
use lab::run::load_program;
use machines::{Program, find};

const HEAD: &str = ".version 8.1 .target sm_80 .address_size 64\n";

fn load(text: &str) -> Result<Arc<dyn Program>, String> {
    let machine = find("ptx").expect("there is such a machine");
    let loaded = load_program(machine, "k.ptx", text.as_bytes(), &[], &mut SourceMap::new());
    loaded
        .map(|(program, _)| program)
        .map_err(|found| found.iter().map(|f| f.message.clone()).collect())
}

#[test]
fn texts_that_nest_and_functions_that_call_each_other() {
    let brackets = format!(
        "{HEAD}.entry k() {{ .reg .b32 %r; mov.b32 %r, {}1{}; ret; }}",
        "(".repeat(200_000),
        ")".repeat(200_000)
    );
    let calls: String =
        (0..3000).map(|i| format!(".func f{i}() {{ call f{}; ret; }}\n", (i + 1) % 3000)).collect();
    let declared: String = (0..3000).map(|i| format!(".func f{i}();\n")).collect();
    let calls = format!("{HEAD}{declared}{calls}.entry k() {{ call f0; ret; }}");
    let both = move || {
        let nested = load(&brackets).err().expect("it nests too deeply");
        assert!(nested.contains("nested too deeply"), "{nested}");
        assert_eq!(load(&calls).map(|program| program.kernels().len()), Ok(1));
    };
    std::thread::Builder::new().stack_size(64 << 10).spawn(both).unwrap().join().unwrap();
}
