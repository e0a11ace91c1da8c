//! Rewrites the generated files of `core/src/wire` after a change in `core/proto`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in runstep_tests::wire::generate()? {
        std::fs::write(&file.path, file.text)?;
        println!("wrote {}", file.path.display());
    }
    Ok(())
}
