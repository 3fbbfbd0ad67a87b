//! The shared libraries: their symbols with versions, and a C program on each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object as _, ObjectSymbol as _};

/// A folder of this test's own with the driver library and both runtime libraries, linked of what
/// cargo has put beside the test.
fn libraries(test: &str) -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let deps = exe.parent().unwrap();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(deps.join("libcuda.so"), folder.join("libcuda.so.1")).unwrap();
    std::fs::copy(archive(deps), folder.join("libcudart.a")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("link.sh");
    let linked = Command::new("bash").arg(script).arg(&folder).output().unwrap();
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    folder
}

/// The static library that cargo has put beside the test last: its name has a hash.
fn archive(deps: &Path) -> PathBuf {
    let files = std::fs::read_dir(deps).unwrap().map(|entry| entry.unwrap().path());
    let archives = files.filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libcudart-") && name.ends_with(".a")
    });
    archives.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn every_function_is_exported_with_the_version_of_the_library() {
    let folder = libraries("exports");
    let named: BTreeSet<&str> =
        cudart::exports::names().into_iter().map(|(name, _)| name).collect();
    assert!(named.len() >= 480, "{}", named.len());
    for version in [12, 13] {
        let library = folder.join(format!("libcudart.so.{version}"));
        let bytes = std::fs::read(&library).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let exported: BTreeSet<&str> = file
            .dynamic_symbols()
            .filter(object::ObjectSymbol::is_definition)
            .filter_map(|s| s.name().ok())
            .filter(|name| name.starts_with("cuda") || name.starts_with("__cuda"))
            .collect();
        assert_eq!(exported, named);
        // The version is a name in the library's strings, and its soname.
        let name = format!("libcudart.so.{version}\0");
        assert!(bytes.windows(name.len()).any(|w| w == name.as_bytes()));
    }
}

/// Compiles the C program with options for the linker; returns its path.
fn compile(folder: &Path, name: &str, version: u32, options: &[&str]) -> PathBuf {
    let program = folder.join(name);
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .arg(format!("-DVERSION={version}"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runtime.c"))
        .args(options)
        .arg("-o")
        .arg(&program)
        .arg("-ldl")
        .env("COMPILER_PATH", folder.join("link/tools"))
        .output()
        .expect("a C compiler: cargo needs one for linking, too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// Arguments lie where the structures of CUDA's headers for profiling tools have them, as a C
/// compiler says: see the tests of libcupti.
#[test]
fn arguments_lie_where_the_headers_have_them() {
    let record = include_str!("../../cupti/tests/arguments.tsv");
    let mut compared = 0;
    for (name, (places, size)) in cudart::exports::argument_layouts() {
        let mut rows = record.lines().filter_map(|line| line.split_once('\t'));
        let Some((_, there)) = rows.find(|(function, _)| *function == name) else { continue };
        // Its arguments differ between versions 12 and 13, and are those of 12 here.
        if !name.starts_with("cudaMemcpyBatchAsync") {
            let places: String = places.iter().map(|place| format!("{place} ")).collect();
            assert_eq!(format!("{places}of {size}"), there, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared} functions");
}

/// The archive that stands for a static runtime forwards to the shared library: named by a library
/// and a folder, by the path of another runtime's archive, and in a response file. Its version is
/// that of the folder in which the link line has a runtime.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn programs_linked_with_a_static_runtime() {
    let folder = libraries("static");
    for version in [12, 13] {
        let other = folder.join(format!("toolkit-{version}"));
        std::fs::create_dir_all(&other).unwrap();
        // Neither is a library: whoever links it gets an error.
        for name in ["libcudart_static.a", &format!("libcudart.so.{version}.0.88")] {
            std::fs::write(other.join(name), "not a library").unwrap();
        }
        let search = format!("-L{}", other.display());
        let archive = other.join("libcudart_static.a").display().to_string();
        let response = folder.join(format!("response-{version}"));
        std::fs::write(&response, format!("\"{archive}\"\n")).unwrap();
        let response = format!("-Wl,@{}", response.display());
        let ways: [&[&str]; 3] = [&[&search, "-lcudart_static"], &[&archive], &[&response]];
        for (i, way) in ways.into_iter().enumerate() {
            let program = compile(&folder, &format!("static-{version}-{i}"), version, way);
            let bytes = std::fs::read(&program).unwrap();
            let file = object::File::parse(&*bytes).unwrap();
            let section = object::Object::section_by_name(&file, ".simtlab.cudart").unwrap();
            let marker = format!("libcudart.so.{version}\0");
            assert_eq!(object::ObjectSection::data(&section).unwrap(), marker.as_bytes());
            let run = |libraries: &Path| {
                let mut command = Command::new(&program);
                command.env("LD_LIBRARY_PATH", libraries).output().unwrap()
            };
            let ran = run(&folder);
            let said = String::from_utf8_lossy(&ran.stdout);
            assert!(
                ran.status.success() && said.ends_with("all checks passed\n"),
                "{said} {ran:?}"
            );
            let alone = run(Path::new("/nowhere"));
            let said = String::from_utf8_lossy(&alone.stderr);
            assert!(!alone.status.success(), "{alone:?}");
            let missing = format!("libcudart.so.{version} is not found; ");
            assert_eq!(said.matches(&missing).count(), 1, "{said}");
        }
    }
}

/// Links that name no runtime are none of the linker's business.
#[test]
#[cfg(target_os = "linux")]
fn other_links_are_passed_on() {
    let folder = libraries("other-links");
    let source = folder.join("plain.c");
    std::fs::write(&source, "int main(void) { return 7; }\n").unwrap();
    let program = folder.join("plain");
    let compiled = Command::new("cc")
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .env("COMPILER_PATH", folder.join("link/tools"))
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    assert_eq!(Command::new(&program).status().unwrap().code(), Some(7));
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_on_each_version() {
    let folder = libraries("program");
    for version in [12, 13] {
        let library = folder.join(format!("libcudart.so.{version}")).display().to_string();
        let program = compile(&folder, &format!("runtime-{version}"), version, &[&library]);
        let journal = folder.join(format!("journal-{version}"));
        let _ = std::fs::remove_file(&journal);
        let mut ran = Command::new(&program);
        ran.env("LD_LIBRARY_PATH", &folder).env("SIMTLAB_JOURNAL", &journal);
        let ran = ran.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.ends_with("all checks passed\n"), "{said} {ran:?}");
        let faults = String::from_utf8_lossy(&ran.stderr);
        let history = "call of cudaMalloc (100 bytes), freed by the ";
        let events = faults.lines().find(|line| line.contains(history));
        assert!(events.is_some_and(|line| line.ends_with(" call of cudaFree")), "{faults}");
        // Calls that fail are told by the names that the program called, not by those of the
        // driver's calls behind them.
        let events = std::fs::read_to_string(journal).unwrap();
        let failed = events.lines().filter(|line| line.contains("\"event\":\"failed\""));
        let (ours, others): (Vec<&str>, Vec<&str>) =
            failed.partition(|line| line.contains("\"call\":\"cuda"));
        let others: Vec<&&str> = others.iter().filter(|line| !line.contains(":\"__cuda")).collect();
        assert!(!ours.is_empty() && others.is_empty(), "{events}");
        let refused = "grid=(1,1,1), block=(1,1,1), args=0x8, ";
        assert!(ours.iter().any(|line| line.contains(refused)), "{events}");
    }
}

/// Destructors of static objects free device memory and launch kernels.
#[test]
#[cfg(target_os = "linux")]
fn calls_work_when_the_variables_of_the_thread_are_destroyed() {
    let folder = libraries("at-exit");
    for version in [12, 13] {
        let library = folder.join(format!("libcudart.so.{version}")).display().to_string();
        let program = compile(&folder, &format!("at-exit-{version}"), version, &[&library]);
        let mut ran = Command::new(&program);
        let ran = ran.arg("at-exit").env("LD_LIBRARY_PATH", &folder).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said == "all checks passed\n", "{said} {ran:?}");
    }
}

/// Compiles a C program of a folder of tests.
fn program(folder: &Path, source: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let program = folder.join(source.file_stem().unwrap());
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"]).arg(source).arg("-o").arg(&program);
    let compiled = compile.arg("-ldl").output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// Runs it with libraries of a folder; it says that all is well.
fn run(program: &Path, arguments: &[&Path], libraries: &Path) {
    let mut command = Command::new(program);
    let ran = command.args(arguments).env("LD_LIBRARY_PATH", libraries).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.ends_with("all checks passed\n"), "{said} {ran:?}");
}

/// Writes the names of all functions to a file.
fn list_of_names(folder: &Path) -> PathBuf {
    let list = folder.join("names");
    let names: Vec<&str> = cudart::exports::names().into_iter().map(|(name, _)| name).collect();
    std::fs::write(&list, names.join("\n")).unwrap();
    list
}

#[test]
#[cfg(target_os = "linux")]
fn runtimes_of_two_versions_are_in_one_process() {
    let folder = libraries("mixed");
    let [first, second] = [12, 13].map(|version| folder.join(format!("libcudart.so.{version}")));
    run(&program(&folder, "tests/mixed.c"), &[Path::new("both"), &first, &second], &folder);
}

/// A driver of another kind beside the runtime: one with no function that it needs, and one that
/// is old.
#[test]
#[cfg(target_os = "linux")]
fn a_driver_that_lacks_functions_is_an_error() {
    let folder = libraries("old-driver");
    let (mixed, list) = (program(&folder, "tests/mixed.c"), list_of_names(&folder));
    let old = "int cuInit(unsigned flags) { return (int)flags; }\n\
        int cuDriverGetVersion(int *out) { *out = 11000; return 0; }\n";
    for (name, functions) in [("empty", "int nothing;\n"), ("old", old)] {
        let beside = folder.join(name);
        std::fs::create_dir_all(&beside).unwrap();
        let source = beside.join("driver.c");
        std::fs::write(&source, functions).unwrap();
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC"]).arg(&source).arg("-o").arg(beside.join("libcuda.so.1"));
        assert!(compile.status().unwrap().success());
        for version in [12, 13] {
            let library = folder.join(format!("libcudart.so.{version}"));
            run(&mixed, &[Path::new("old"), &library, &list], &beside);
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn careless_programs_get_errors() {
    let folder = libraries("careless");
    let careless = program(&folder, "../cuda/tests/careless.c");
    let (driver, list) = (folder.join("libcuda.so.1"), list_of_names(&folder));
    for (version, seed) in [(12, "1"), (13, "4")] {
        let library = folder.join(format!("libcudart.so.{version}"));
        let arguments = [&driver, &list, Path::new("20000"), Path::new(seed), &library];
        run(&careless, &arguments, &folder);
    }
}
