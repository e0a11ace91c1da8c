//! Rewrites the table of supported ops after a change in `core/src/ops`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = runstep_tests::op_table::path();
    std::fs::write(&path, runstep_tests::op_table::table())?;
    println!("wrote {}", path.display());
    Ok(())
}
