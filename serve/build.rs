//! With the feature `grpc`: the messages and services of `proto/` become Rust.

#[cfg(not(feature = "grpc"))]
fn main() {}

#[cfg(feature = "grpc")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use protox::prost::Message;

    println!("cargo::rerun-if-changed=proto");
    let files = ["state", "search", "documents", "indexes", "snapshots"];
    let files = files.map(|name| format!("tokapi/v1/{name}.proto"));
    let descriptors = protox::compile(files, ["proto"])?;
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("tokapi.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .btree_map(".")
        .build_client(cfg!(feature = "grpc-client"))
        .build_transport(false)
        .compile_fds(descriptors)?;
    Ok(())
}
