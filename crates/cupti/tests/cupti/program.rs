//! A C program that profiles itself: `tests/profile.c`.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda as _;

/// The file that cargo has put beside the test last, for a library: its name has a hash.
fn beside(test: &Path, prefix: &str, suffix: &str) -> PathBuf {
    let files = std::fs::read_dir(test).unwrap().map(|entry| entry.unwrap().path());
    let found = files.filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(prefix) && name.ends_with(suffix)
    });
    found.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_profiles_itself() {
    let exe = std::env::current_exe().unwrap();
    let deps = exe.parent().unwrap();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("profile");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(deps.join("libcuda.so"), folder.join("libcuda.so.1")).unwrap();
    std::fs::copy(beside(deps, "libcupti-", ".a"), folder.join("libcupti.a")).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let linked = Command::new("bash").arg(here.join("../culibs/link.sh")).arg(&folder).output();
    let linked = linked.unwrap();
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    for version in [12, 13] {
        let program = folder.join(format!("profile{version}"));
        let compiled = Command::new("cc")
            .args(["-std=gnu11", "-Wall", "-Werror", "-o"])
            .arg(&program)
            .arg(here.join("tests/profile.c"))
            .arg(folder.join(format!("libcupti.so.{version}")))
            .arg(folder.join("libcuda.so.1"))
            .arg(format!("-Wl,-rpath,{}", folder.display()))
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        // cargo's own path has libraries of other builds.
        let ran = Command::new(&program).env("LD_LIBRARY_PATH", &folder).output().unwrap();
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{text}{}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(text, "all checks passed\n");
    }
}
