use super::*;

/// A kernel that calls `twice`, and files that define it.
const CALLER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .extern .func (.param .b32 r) twice(.param .b32 x);\n\
    .visible .entry k() { .param .b32 r, x; st.param.b32 [x], 1; call (r), twice, (x); ret; }\n";
const TWICE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .func (.param .b32 r) twice(.param .b32 x)\n\
    { .reg .b32 %r; ld.param.b32 %r, [x]; st.param.b32 [r], %r; ret; }\n";

const PTX: i32 = 2;
const LTO_IR: i32 = 3;
const ANY: i32 = 10;

fn new(options: &[&str]) -> Link {
    let options = ["-arch=sm_80"].iter().chain(options).map(|&o| o.to_owned());
    let (link, end) = Link::new(options.collect());
    assert_eq!(end, Ok(()));
    link
}

fn add(link: &mut Link, kind: i32, input: impl AsRef<[u8]>, name: &str) -> i32 {
    link.add(kind, input.as_ref().to_vec(), name).err().map_or(0, |status| status.0)
}

fn errors(link: &Link) -> String {
    text(link, Part::Errors)
}

fn text(link: &Link, part: Part) -> String {
    let bytes = link.part(part).unwrap();
    assert!(bytes.is_empty() || bytes.ends_with(b"\0"));
    String::from_utf8(bytes).unwrap().trim_end_matches('\0').to_owned()
}

#[test]
fn a_link_of_ptx_is_an_image_for_the_driver() {
    let mut link = new(&["-verbose"]);
    assert_eq!((add(&mut link, PTX, CALLER, "a"), add(&mut link, ANY, TWICE, "b")), (0, 0));
    assert_eq!(link.complete(), Ok(()));
    let image = link.part(Part::Cubin).unwrap();
    let named = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(images::from_bytes(&image, (8, 0)), Ok(vec![named("a", CALLER), named("b", TWICE)]));
    assert_eq!(errors(&link), "");
    assert!(text(&link, Part::Info).contains("Compiling entry function 'k' for 'sm_80'"));
    assert_eq!(link.part(Part::Ptx), Err(LinkResult::ERROR_INVALID_INPUT));
    assert_eq!(link.part(Part::LtoIr), Err(LinkResult::ERROR_INVALID_INPUT));
    // An image can be linked again: as what it is called, or as what it is.
    for kind in [1, ANY, PTX] {
        let mut again = new(&[]);
        assert_eq!(add(&mut again, kind, &image, "linked"), 0);
        assert_eq!(again.complete(), Ok(()));
        assert_eq!(again.part(Part::Cubin), Ok(image.clone()));
    }
}

#[test]
fn missing_and_repeated_names_are_told_in_the_words_of_nvlink() {
    let mut link = new(&[]);
    assert_eq!(add(&mut link, PTX, CALLER, "a"), 0);
    assert_eq!(link.complete(), Err(LinkResult::ERROR_INTERNAL));
    assert_eq!(errors(&link), "error   : Undefined reference to 'twice' in 'a'\n");
    assert_eq!(link.part(Part::Cubin), Err(LinkResult::ERROR_INTERNAL));
    let mut link = new(&[]);
    for (input, name) in [(CALLER, "a"), (TWICE, "b"), (TWICE, "c")] {
        assert_eq!(add(&mut link, PTX, input, name), 0);
    }
    assert_eq!(link.complete(), Err(LinkResult::ERROR_INTERNAL));
    let line = "error   : Multiple definition of 'twice' in 'c', first defined in 'b'\n";
    assert_eq!(errors(&link), line);
    // A relocatable link may leave names to the next one.
    let mut link = new(&["-r"]);
    assert_eq!(add(&mut link, PTX, CALLER, "a"), 0);
    assert_eq!(link.complete(), Ok(()));
    let first = link.part(Part::Cubin).unwrap();
    let mut link = new(&[]);
    assert_eq!((add(&mut link, 1, &first, "first"), add(&mut link, PTX, TWICE, "b")), (0, 0));
    assert_eq!(link.complete(), Ok(()));
}

#[test]
fn wrong_inputs_take_no_part_and_are_named() {
    let header = ".version 8.0\n.address_size 64\n.visible .entry k() { ";
    let machine_code = [&b"\x7fELF\x02\x01\x01"[..], &[0; 11], &[190, 0]].concat();
    let fat = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 255, 255, 255, 1, 0, 0, 0, 0];
    let newer = CALLER.replace("sm_80", "sm_90");
    for (kind, input, status, wanted) in [
        (PTX, &b""[..], 3, ""),
        (PTX, header.as_bytes(), 4, "ptxas fatal   : Ptx assembly aborted due to errors\n"),
        (PTX, newer.as_bytes(), 4, "ptxas fatal   : SM version specified by .target is higher"),
        (
            PTX,
            b".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { foo; }",
            4,
            "ptxas x:4:14: unknown opcode `foo`: no PTX instruction",
        ),
        (PTX, b".version 19.0\n.target sm_80\n.entry k() { ret; }", 4, "no PTX version 19.0"),
        (PTX, b"hello", 12, "x does not match type NVJITLINK_INPUT_PTX"),
        (PTX, &machine_code, 12, "x does not match type NVJITLINK_INPUT_PTX"),
        (1, CALLER.as_bytes(), 12, "x does not match type NVJITLINK_INPUT_CUBIN"),
        (1, &machine_code, 3, "x is machine code, which the virtual device does not run"),
        (4, &fat, 3, "x holds no PTX; machine code does not run"),
        (4, &fat[..9], 12, "x does not match type NVJITLINK_INPUT_FATBIN"),
        (4, &[&b"xxxx"[..], &fat[4..]].concat(), 12, "x does not match type"),
        (5, b"\x7fELF\x02\x01", 0, ""),
        (6, b"!<arch>\nnonsense", 0, ""),
        (6, b"junk", 12, "x does not match type NVJITLINK_INPUT_LIBRARY"),
        (7, CALLER.as_bytes(), 12, "x does not match type NVJITLINK_INPUT_INDEX"),
        (0, CALLER.as_bytes(), 12, "unsupported input type: x"),
        (99, CALLER.as_bytes(), 12, "unsupported input type: x"),
        (ANY, b"\0\x01\x02", 8, "unrecognized input type: x"),
        (LTO_IR, b"\xed\x43\x4e\x7f", 18, "x: LTO-IR input cannot be used without LTO enabled"),
    ] {
        let mut link = new(&[]);
        assert_eq!(add(&mut link, kind, input, "x"), status, "{wanted}");
        let found = errors(&link);
        assert!(found.contains(wanted) && (wanted.is_empty() == found.is_empty()), "{found}");
        // The link goes on without it.
        assert_eq!(link.complete(), Ok(()), "{wanted}");
    }
}

#[test]
fn wrong_options_of_the_assembler_are_told_by_each_text() {
    let mut link = new(&["-maxrregcount=foo"]);
    assert_eq!(add(&mut link, PTX, TWICE, "b"), 4);
    let lines = "ptxas fatal   : Invalid value 'foo' for option 'maxrregcount'\n\
                 ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (b)\n";
    assert_eq!(errors(&link), lines);
}

#[test]
fn a_link_with_refused_options_has_logs_alone() {
    let (mut link, end) = Link::new(vec!["-foo".to_owned()]);
    assert_eq!(end, Err(LinkResult::ERROR_UNRECOGNIZED_OPTION));
    assert_eq!(errors(&link), "unrecognized option: -foo\n");
    assert_eq!(add(&mut link, PTX, TWICE, "b"), 3);
    assert_eq!(link.complete(), Err(LinkResult::ERROR_INVALID_INPUT));
    assert_eq!(link.part(Part::Cubin), Err(LinkResult::ERROR_INTERNAL));
}

#[test]
fn lto_ir_needs_nvidias_library() {
    let mut link = new(&["-lto"]);
    assert_eq!(add(&mut link, LTO_IR, b"\xed\x43\x4e\x7f", "x"), 0);
    assert_eq!(link.complete(), Err(LinkResult::ERROR_NVVM_COMPILE));
    assert!(errors(&link).starts_with("ERROR NVJITLINK_ERROR_NVVM_COMPILE: LTO-IR is compiled by"));
    let mut link = new(&["-lto", "-ptx"]);
    assert_eq!(link.complete(), Err(LinkResult::ERROR_NVVM_COMPILE));
    assert_eq!(add(&mut link, PTX, TWICE, "b"), 0);
    assert_eq!(link.complete(), Err(LinkResult::ERROR_INCORRECT_INPUT_TYPE));
    assert_eq!(link.part(Part::Ptx), Err(LinkResult::ERROR_INTERNAL));
}

#[test]
fn a_link_of_nothing_can_be_loaded() {
    let mut link = new(&["-time"]);
    assert_eq!(link.part(Part::Cubin), Err(LinkResult::ERROR_INTERNAL));
    assert_eq!(link.complete(), Ok(()));
    let texts = images::from_bytes(&link.part(Part::Cubin).unwrap(), (8, 0)).unwrap();
    assert!(Module::load("empty", &texts[0].1).is_ok());
    assert!(text(&link, Part::Info).starts_with("nvJitLinkComplete time to finish: "));
}

#[test]
fn files_are_added_by_their_path() {
    let mut link = new(&[]);
    assert_eq!(link.add_file(PTX, "/nonexistent"), Err(LinkResult::ERROR_INVALID_INPUT));
    assert_eq!(link.add_file(PTX, "/"), Err(LinkResult::ERROR_INVALID_INPUT));
    let line = "ERROR NVJITLINK_ERROR_INVALID_INPUT: no such file: /nonexistent\n";
    assert!(errors(&link).starts_with(line));
}
