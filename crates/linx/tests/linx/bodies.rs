//! Warnings about kernels' bodies, and none about the bundled kernels.

use crate::common::assembled;
use linx::{Linx, Program, TileOps};

fn warnings(source: &str) -> Vec<String> {
    let image = assembled(source, TileOps::V04);
    let program = Program::from_image(&image, TileOps::V04).unwrap();
    Linx::body_warnings(&program, &image).iter().map(|w| w.message.clone()).collect()
}

fn kernel(block: &str, body: &str) -> Vec<String> {
    warnings(&format!(
        "_start: BSTART.{block} 0\nB.TEXT body\nC.B.DIMI 1, ->lb0\nC.BSTART.STD\nebreak 0\nbody: {body}\n"
    ))
}

#[test]
fn bodies_are_looked_at() {
    let none: [&str; 0] = [];
    assert_eq!(kernel("MPAR", "v.addi zero.ud, 1, ->t.d\nb.nz body\nC.BSTOP"), none);
    let one = |block: &str, body: &str, words: &str| {
        let found = kernel(block, body);
        assert!(found.len() == 1 && found[0].contains(words), "{body}: {found:?}");
    };
    one("MPAR", "v.addi zero.ud, 1, ->t.d", "no terminator");
    one("MPAR", "b.nz _start\nC.BSTOP", "outside the body");
    one("MPAR", "j body+2\nC.BSTOP", "outside the body");
    one("MPAR", "lwi [a0, 0], ->t\nC.BSTOP", "closed in a body");
    one("MPAR", "C.B.DIMI 1, ->lb0\nC.BSTOP", "a descriptor in a body");
    one("MPAR", ".word 0xfffffffd\nC.BSTOP", "not an instruction");
    one("MPAR", "hl.ccat a0, a1, 3, ->a0, a1\nC.BSTOP", "not executed");
    one("VSEQ", "b.nz body\nC.BSTOP", "must not branch");
    one("VPAR", "C.BSTART.STD", "must not hold block markers");
    assert_eq!(kernel("MPAR", "C.BSTART.STD\nebreak 0"), none);
}

#[test]
fn many_headers_with_one_endless_body() {
    let mut source = "_start: C.BSTART.STD\n".to_owned();
    source.push_str(&"B.TEXT body\n".repeat(2000));
    source.push_str("body:\n");
    source.push_str(&"v.addi zero.ud, 1, ->t.d\n".repeat(5000));
    assert_eq!(warnings(&source).len(), 1);
}

#[test]
fn bundled_kernels_have_no_warnings() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/linx");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path.join(format!("{name}.linx"))).unwrap();
        assert!(warnings(&text).is_empty(), "{name}");
        count += 1;
    }
    assert!(count >= 13);
}
