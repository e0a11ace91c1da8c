//! The checked-in table of supported ops is what the declarations say.

use runstep_tests::op_table;

/// Each op is in the table, with its dtypes: a new op, or a dtype more, shows.
#[test]
fn each_op_is_in_the_table() {
    let found = std::fs::read_to_string(op_table::path()).expect("the table is checked in");
    assert!(found == op_table::table(), "core/OPS.md is stale: cargo run -p runstep-tests --bin op-table");
}
