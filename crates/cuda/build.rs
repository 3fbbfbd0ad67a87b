//! Gives the shared library the name under which programs look for the driver.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        // A thread of its own may run when the client closes the library.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
