//! Compiles the kernels: always for the host, by the C++ compiler there is, and with the feature
//! `cuda` for GPUs, by nvcc.
//!
//! nvcc is looked for in `CUDA_HOME`, on the `PATH`, and where `crates/kernels/fetch-nvcc` puts it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The GPUs that machine code is made for, by compute capability: Turing to Blackwell. Later ones
/// compile the last one's PTX when the program starts. `TOKAPI_CUDA_ARCH` names others.
const ARCHITECTURES: &str = "75,80,86,89,90,100";

fn main() {
    println!("cargo::rerun-if-changed=cpp");
    for variable in ["CUDA_HOME", "TOKAPI_CUDA_ARCH", "TOKAPI_SANITIZE"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    host();
    if std::env::var_os("CARGO_FEATURE_CUDA").is_some() {
        cuda();
    }
}

fn host() {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .warnings(true)
        .extra_warnings(true)
        // The same operations as in Rust, none fused: weights agree to the last bit.
        .flag_if_supported("-ffp-contract=off")
        .file("cpp/boundary.cpp");
    let sanitizers = std::env::var("TOKAPI_SANITIZE");
    if let Ok(sanitizers) = &sanitizers {
        build
            .flag(format!("-fsanitize={sanitizers}"))
            .flag("-fno-sanitize-recover=all")
            .flag("-g")
            // Compiled sooner; the checks are the same.
            .opt_level(1);
    }
    build.compile("tokapi_host");
    for (sanitizer, library) in [("address", "asan"), ("undefined", "ubsan")] {
        if sanitizers.as_ref().is_ok_and(|all| all.contains(sanitizer)) {
            println!("cargo::rustc-link-lib=dylib={library}");
        }
    }
}

fn cuda() {
    let home = cuda_home();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let library = out.join("libtokapi_cuda.a");
    let architectures =
        std::env::var("TOKAPI_CUDA_ARCH").unwrap_or_else(|_| String::from(ARCHITECTURES));
    let architectures: Vec<&str> = architectures.split(',').map(str::trim).collect();
    let mut nvcc = Command::new(home.join("bin/nvcc"));
    nvcc.args(["-x", "cu", "-O3", "-std=c++17", "--extended-lambda", "-lib"])
        // As for the host: nothing fused.
        .args(["-fmad=false", "-Xcompiler", "-fPIC,-ffp-contract=off"])
        .args(["--threads", "0"])
        .arg(format!("-I{}", home.join("include/cccl").display()))
        .arg(format!("-I{}", home.join("include").display()));
    for architecture in &architectures {
        nvcc.arg(format!(
            "-gencode=arch=compute_{architecture},code=sm_{architecture}"
        ));
    }
    if let Some(last) = architectures.last() {
        nvcc.arg(format!("-gencode=arch=compute_{last},code=compute_{last}"));
    }
    nvcc.arg("-o").arg(&library).arg("cpp/boundary.cpp");
    let status = nvcc
        .status()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", home.join("bin/nvcc").display()));
    assert!(status.success(), "nvcc failed: {nvcc:?}");
    println!("cargo::rustc-link-search=native={}", out.display());
    for folder in [
        "lib",
        "lib64",
        "targets/x86_64-linux/lib",
        "targets/sbsa-linux/lib",
    ] {
        println!(
            "cargo::rustc-link-search=native={}",
            home.join(folder).display()
        );
    }
    println!("cargo::rustc-link-lib=static=tokapi_cuda");
    println!("cargo::rustc-link-lib=static=cudart_static");
    for library in ["stdc++", "dl", "rt", "pthread"] {
        println!("cargo::rustc-link-lib=dylib={library}");
    }
}

/// The folder with `bin/nvcc` in it.
fn cuda_home() -> PathBuf {
    let has_nvcc = |home: &Path| home.join("bin/nvcc").exists();
    if let Some(home) = std::env::var_os("CUDA_HOME").map(PathBuf::from) {
        assert!(
            has_nvcc(&home),
            "CUDA_HOME has no bin/nvcc: {}",
            home.display()
        );
        return home;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).find_map(|folder| {
        let nvcc = folder.join("nvcc").canonicalize().ok()?;
        Some(nvcc.parent()?.parent()?.to_path_buf())
    });
    if let Some(home) = on_path {
        return home;
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let fetched = root.join("../../.cuda/home");
    if has_nvcc(&fetched) {
        return fetched;
    }
    panic!(
        "the feature `cuda` needs nvcc: set CUDA_HOME, put nvcc on the PATH, or run crates/kernels/fetch-nvcc"
    );
}
