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
    one("MPAR", "hl.qpop a0, ->a0, a1\nC.BSTOP", "not executed");
    one("VSEQ", "b.nz body\nC.BSTOP", "must not branch");
    assert_eq!(kernel("MPAR", "C.BSTART.STD\nebreak 0"), none);
    assert_eq!(kernel("VPAR", "C.BSTART.STD\nebreak 0"), none);
}

#[test]
fn many_headers_with_one_endless_body() {
    let mut source = "_start: C.BSTART.STD\n".to_owned();
    source.push_str(&"BSTART.MPAR 0\nB.TEXT body\n".repeat(2000));
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

/// Instructions that trap wherever they run, unbound imports and tiles: one warning each.
#[test]
fn what_can_never_run_is_named() {
    let bodies = [
        ("v.add vt#1.uw, lc0.uw, ->t.w", "lane-wise result goes to a lane queue"),
        ("v.rdadd lc0.ud, ->vt.d", "a reduction goes to t, u or an export"),
        ("v.cmp.eqi lc0.ud, 3, ->t.d", "lane-wise result"),
        ("addi s0, 1, ->s0", "must not write general registers"),
        ("v.lw [ri0, lc0<<2, zero.ud], ->vt.w", "base of a local access is a tile"),
        ("v.lw.brg [ta, lc0<<2, zero.ud], ->vt.w", "base of a bridged access is an import"),
        ("v.fadd vt#1.fs, vt#1.fd, ->vt.w", "different widths"),
        ("acrc 0", "closed in a body"),
        ("fence.d 0, 0", "closed in a body"),
        ("v.lw [ta, lc0<<2, zero.ud], ->vt.w", "binds no such source tile"),
        ("v.sw lc0.uw, [to, lc0<<2, zero.ud]", "binds no such destination tile"),
        ("v.add ri11.ud, zero.ud, ->t.d", "ri11 reads 0"),
        ("lwi [a0, 0], ->t", "closed in a body"),
        ("setc.eqi a0, 0", "closed in a body"),
    ];
    for (text, words) in bodies {
        let found = kernel("MPAR", &format!("{text}\nC.BSTOP"));
        assert!(found.len() == 1 && found[0].contains(words), "{text}: {found:?}");
    }
}

#[test]
fn masks_and_queues_that_differ_by_path_are_named() {
    let none: [&str; 0] = [];
    // Saved, narrowed, restored: fine. Both sides push the same: fine. Loops: left alone.
    let fine = "v.addi p.ud, 0, ->u.d
        v.cmp.ltui lc0.ud, 3, ->p
        b.z skip
        v.addi lc0.ud, 1, ->vt.d
        j join
        skip: v.addi lc0.ud, 2, ->vt.d
        join: v.addi u#1.ud, 0, ->p
        v.add vt#1.ud, zero.ud, ->vu.d
        loop: v.addi vt#1.ud, 1, ->vt.d
        v.cmp.ltui vt#1.ud, 9, ->p
        b.nz loop
        v.addi u#1.ud, 0, ->p
        C.BSTOP";
    assert_eq!(kernel("MPAR", fine), none);
    let one = |body: &str, words: &str| {
        let found = kernel("MSEQ", body);
        assert!(found.len() == 1 && found[0].contains(words), "{body}: {found:?}");
    };
    one(
        "b.z skip\nv.cmp.ltui lc0.ud, 3, ->p\nskip: v.addi lc0.ud, 1, ->vt.d\nC.BSTOP",
        "may have fewer on another",
    );
    one(
        "v.addi lc0.ud, 1, ->vt.d\nb.z skip\nv.addi lc0.ud, 2, ->vt.d\n\
         skip: v.add vt#2.ud, zero.ud, ->vu.d\nC.BSTOP",
        "vt#2 is another entry on each path",
    );
    one(
        "c.movi 1, ->t\nb.z skip\nc.movi 2, ->t\n\
         skip: c.movi 3, ->t\nv.add t#2.ud, t#3.ud, ->u.d\nC.BSTOP",
        "t#3 is another entry on each path",
    );
}
