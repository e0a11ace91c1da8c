//! Puts memory.x where the linker script of cortex-m-rt looks for it. Shared by both programs.
use std::path::Path;
use std::{env, fs};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("memory.x"), include_bytes!("memory.x")).expect("OUT_DIR is writable");
    println!("cargo::rustc-link-search={out}");
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    println!("cargo::rerun-if-changed=../memory.x");
    println!("cargo::rerun-if-changed=../build.rs");
}
