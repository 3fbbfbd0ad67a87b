//! What is told of a PTX file part by part is what the loaded program tells.

use std::path::Path;

use isa::{Diagnostics, FileId, SourceFile};
use machines::{Image, Isa, ProgramSummary, SummaryParts, find, load};

fn image(text: &str) -> Image<'_> {
    Image { bytes: text.as_bytes(), file: FileId(0) }
}

fn texts(folder: &Path, to: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts(&path, to);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            to.extend(std::fs::read_to_string(path));
        }
    }
}

/// All that is told of a program, as text.
fn shown(summary: &ProgramSummary) -> String {
    format!("{:#?}", (&summary.kernels, &summary.warnings, &summary.dependences))
}

/// Compares what is told of a text. Returns whether it was told part by part.
fn compare(isa: &Isa, text: &str) -> bool {
    let source = SourceFile::new("", text);
    let by_parts = isa.summary.unwrap()(image(text), &source, SummaryParts::All);
    let Some(by_parts) = by_parts else { return false };
    let mut found = Diagnostics::new();
    let program = load(isa, image(text), &[], &mut found).expect("it is right");
    assert!(found.is_empty(), "{found:?}");
    let whole = ProgramSummary::of(program.as_ref(), SummaryParts::All);
    assert_eq!(shown(&by_parts), shown(&whole), "{text}");
    true
}

#[test]
fn all_files_give_the_same_summary() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    for folder in ["kernels", "crates/filetests"] {
        texts(&root.join(folder), &mut all);
    }
    let isa = find("ptx").unwrap();
    let count = all.iter().filter(|text| compare(isa, text)).count();
    assert!(count > 500, "{count} of {} files", all.len());
}

/// A text with kernels that wait for each other, that call by address and that depend on the warp
/// size; so long that it has several parts.
fn long(more: &str) -> String {
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned();
    text.push_str(".global .u32 lock;\n.func f() { ret; }\n");
    text.push_str(".func lanes() { .reg .b32 %r; mov.u32 %r, %laneid; ret; }\n");
    let filler = "  add.u32 %r, %r, 1;\n".repeat(10_000);
    for number in 0..12 {
        let call = if number % 2 == 0 { "call lanes;" } else { "mov.u32 %r, WARP_SZ;" };
        text.push_str(&format!(
            "
.entry k{number}(.param .u64 out{number}) {{
  .reg .pred %p; .reg .b32 %r; .reg .b64 %a;
  .shared .b8 own[{}];
{filler}
  mov.u64 %a, lock;
SPIN:
  atom.global.cas.b32 %r, [%a], 0, 1;
  setp.ne.u32 %p, %r, 0;
  @%p bra SPIN;
  {call}
  atom.global.exch.b32 %r, [%a], 0;
  mov.u64 %a, own;
  ret;
}}
",
            number + 1
        ));
    }
    text + more
}

#[test]
fn several_parts_give_the_summary_of_the_file() {
    let isa = find("ptx").unwrap();
    let text = long("");
    assert!(text.len() > 1 << 21 && compare(isa, &text));
    let source = SourceFile::new("", text.as_str());
    let summary = isa.summary.unwrap()(image(&text), &source, SummaryParts::All).unwrap();
    let of_all = [summary.kernels.len(), summary.warnings.len(), summary.dependences.len()];
    assert_eq!(of_all, [12, 12, 6]);
    assert_eq!(summary.kernels[4].shared, 5);
}

#[test]
fn other_files_are_loaded() {
    let isa = find("ptx").unwrap();
    let address = ".entry a() { .reg .b64 %f; mov.u64 %f, f; ret; }\n";
    let call = ".entry b() { .reg .b64 %f; mov.u64 %f, lock; p: .callprototype _ (); call %f, (), p; ret; }\n";
    for (more, expected) in [
        (address.to_owned(), true),
        (call.to_owned(), true),
        (format!("{address}{call}"), true),
        (".func g() { .reg .b31 %x; ret; }".to_owned(), false),
    ] {
        assert_eq!(compare(isa, &long(&more)), expected, "{more}");
    }
    // The call may lead to a function of another part.
    let text = long(call).replacen(".func lanes", &format!("{address}.func lanes"), 1);
    assert!(!compare(isa, &text));
    let mut found = Diagnostics::new();
    assert!(load(isa, image(&text), &[], &mut found).is_some() && found.is_empty(), "{found:?}");
}
