//! Launches of one program in clusters of several sizes: none runs what another was decoded and
//! compiled to.

use std::convert::Infallible;
use std::sync::Mutex;

use engine::{Cache, Choice, End, EngineUsed, Guest, Launch, Options, Unmonitored, launch};
use simt::memory::MemoryMap;
use vm::{Program, begin_bare, catalogued, load_variables};

/// Block b stores the address of its shared variable in word b.
const TEXT: &str = "
shared @own size 64 align 16
kernel @ranks(out: u64 global) {
  reg %c, %s: b32
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %c = sreg.u32 ctaid.x
  %wide = mulwide.u32 %c, 4
  %at = add.u64 %at, %wide
  %s = mov.u32 @own
  st.shared.u32 [@own], %s
  %s = ld.shared.u32 [@own]
  st.global.u32 [%at], %s
  ret
}
";

#[test]
fn code_is_not_that_of_other_clusters() {
    let module = ir::text::parse(isa::FileId::default(), TEXT).expect("it is a module");
    let program = Program::link(module).expect("it links");
    let entry = converge::Entry::find("ipdom").expect("it is in the catalogue");
    for engine in [Choice::Interpreted, Choice::Fast, Choice::Both] {
        let (cache, mut memory) = (Mutex::new(Cache::default()), MemoryMap::new());
        let out = memory.allocate("out", 16).expect("room");
        // The rank of a block is in the upper bits of its addresses.
        for (size, ranks) in [(1, [0u32; 4]), (2, [0, 1, 0, 1]), (4, [0, 1, 2, 3])] {
            let mut of = vm::Launch::new(ir::FuncId(0), catalogued(entry));
            (of.grid, of.block, of.cluster) = ([4, 1, 1], [64, 1, 1], Some([size, 1, 1]));
            of.params = out.0.to_le_bytes().to_vec();
            of.variables = load_variables(&program, &mut of.memory).expect("room");
            let state = begin_bare(&program, of).expect("it begins");
            let options = Options { engine, detailed: true, ..Options::default() };
            let request =
                Launch { program: &program, cache: &cache, options, state, corrupt_byte: None };
            let guest = Guest { memory: &mut memory, heap: None };
            let ran = launch::<Infallible>(request, guest, None, &mut Unmonitored);
            let outcome = ran.expect("it can be run");
            assert!(matches!(outcome.ran, EngineUsed::Fast(_)), "{:?}", outcome.ran);
            assert_eq!(outcome.end, End::Done, "{engine:?}");
            let mut found = [0; 16];
            memory.read_bytes(out, &mut found).expect("it is there");
            let expected = ranks.map(|rank| (rank << 24).to_le_bytes());
            assert_eq!(found, *expected.as_flattened(), "{engine:?}, {size}");
        }
    }
}
