//! Conformance tables whose rows bring their programs.

use std::path::Path;

use lab::run::table::{conform, has_programs};
use machines::find;

/// The failures of a table's rows, by row.
fn failures(machine: &str, table: &str) -> Vec<Option<String>> {
    let machine = find(machine).expect("there is such a machine");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/prf/saxpy/table.tsv");
    conform(machine, &folder, table).into_iter().map(|case| case.failure).collect()
}

#[test]
fn a_row_is_a_program_with_its_results() {
    let table = "name\tprogram\tgrid\tblock\tbuffers\targs\texpect\tnote
good\t.param out ptr; csrr x1, argp; lw x2, 0(x1); addi x3, x0, 7; sw x3, 0(x2); halt\t1\t1\t\
        {out = \"u32[2]\"}\t[\"&out\"]\t[{buffer = \"out\", values = [7, 0]}]\tfor people
wrong\t.param out ptr; csrr x1, argp; lw x2, 0(x1); addi x3, x0, 7; sw x3, 0(x2); halt\t1\t1\t\
        {out = \"u32[2]\"}\t[\"&out\"]\t[{buffer = \"out\", values = [8, 0]}]\t
memory\taddi x3, x0, 9; lui x2, 0x10; sw x3, 4(x2); halt\t1\t1\t\t\t\
        [{memory = \"0x10000004\", values = [9]}]\t
hang\tl: jpnz p0, l; halt\t1\t32\t\t\t[{hang = \"repeats\"}]\t
no text\tbogus x1; halt\t1\t1\t\t\t[{hang = \"repeats\"}]\t
nothing\thalt\t1\t1\t\t\t\t
";
    assert!(has_programs(table));
    let found = failures("prf", table);
    assert_eq!(found[0], None);
    assert!(found[1].as_deref().is_some_and(|why| why.contains("out[0]")), "{:?}", found[1]);
    assert_eq!((&found[2], &found[3]), (&None, &None));
    assert!(found[4].as_deref().is_some_and(|why| why.contains("bogus")), "{:?}", found[4]);
    assert!(found[5].as_deref().is_some_and(|why| why.contains("expects nothing")));
}

#[test]
fn a_row_may_name_a_file_of_the_table() {
    let table = "name\tfile\tgrid\tblock\targs\tbuffers\texpect
saxpy\tsaxpy.prf\t1\t2\t[\"u32:2\", \"f32:2\", \"&x\", \"&y\"]\t\
        {x = \"f32[2]:ones\", y = \"f32[2]:ones\"}\t[{buffer = \"y\", fill = 3}]
missing\tnone.prf\t1\t1\t\t\t[{trap = \"no-code\"}]
both\t\t1\t1\t\t\t[{trap = \"no-code\"}]
";
    let found = failures("prf", table);
    assert_eq!(found[0], None);
    assert!(found[1].as_deref().is_some_and(|why| why.contains("none.prf")), "{:?}", found[1]);
    assert!(found[2].as_deref().is_some_and(|why| why.contains("neither")), "{:?}", found[2]);
}

#[test]
fn tables_of_machines_have_no_programs() {
    assert!(!has_programs("op\timm\tresult\n") && !has_programs(""));
    assert!(has_programs("# a comment\nid\tfile\n"));
}
