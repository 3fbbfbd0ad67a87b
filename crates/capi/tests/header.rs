//! The header is what cbindgen makes of the crate; `SIMTLAB_BLESS=1` writes it.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_src(root.join("src/lib.rs"));
    let mut made = Vec::new();
    builder.with_config(config).generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = root.join("include/simtlab.h");
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(made == committed, "include/simtlab.h is not current: run with SIMTLAB_BLESS=1");
}
