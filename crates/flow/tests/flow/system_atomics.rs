//! Where the addresses of atomic operations of system scope come from.

use flow::params::{Origins, system_atomics};
use isa::FileId;

fn origins(body: &str) -> Origins {
    let text = format!(
        "global @v size 8 align 8
kernel @k(n: u32, a: u64 global, b: u64 global) {{
  reg %n, %x: b32
  reg %a, %b, %c: b64
entry:
  %n = ld.param.u32 [@n]
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  {body}
  ret
}}
"
    );
    let module = ir::text::parse(FileId(0), &text).expect("it is a module");
    system_atomics(&module.functions[0])
}

fn of(params: &[usize], elsewhere: bool) -> Origins {
    Origins { params: params.to_vec(), elsewhere }
}

#[test]
fn addresses_are_followed_to_parameters() {
    let cases = [
        ("atom.add.relaxed.sys.global.u32 [%a], %n", of(&[1], false)),
        (
            "%c = mulwide.u32 %n, 4
  %c = add.u64 %b, %c
  atom.add.relaxed.sys.global.u32 [%c], 1",
            of(&[0, 2], false),
        ),
        (
            "%x = sreg.u32 tid.x
  %c = mulwide.u32 %x, 4
  %c = add.u64 %a, %c
  atom.add.relaxed.sys.u32 [%c], 1",
            of(&[1], false),
        ),
        ("%c = ld.global.u64 [%a]\natom.add.relaxed.sys.global.u32 [%c], 1", of(&[], true)),
        ("%c = mov.u64 @v\natom.add.relaxed.sys.global.u32 [%c], 1", of(&[], true)),
        ("atom.add.relaxed.sys.global.u32 [@v], 1", of(&[], true)),
        (
            "%c = ld.global.u64 [%a]
  %c = add.u64 %c, %b
  atom.add.relaxed.sys.global.u32 [%c], 1",
            of(&[2], true),
        ),
        // Those of narrower scopes, and loads and stores, do not count.
        ("atom.add.relaxed.gpu.global.u32 [%a], 1\natom.add.global.u32 [%b], 1", of(&[], false)),
        ("st.relaxed.sys.global.u32 [%a], 1", of(&[], false)),
    ];
    for (body, expected) in cases {
        assert_eq!(origins(body), expected, "{body}");
    }
}
