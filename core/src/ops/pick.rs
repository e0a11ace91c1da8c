//! Choosing single ops out of the families, when a program is compiled.

use super::Op;

/// The ops of these names, out of `families`. In a static, it leaves nothing of the others in the program:
///
/// ```
/// # #[cfg(feature = "alloc")]
/// # fn main() -> Result<(), runstep::Status> {
/// use runstep::ops::{ALL, Op, Registry, pick};
///
/// static OPS: [&Op; 3] = pick(ALL, ["Placeholder", "Const", "Neg"]);
/// let registry = Registry::new(&[&OPS])?;
/// assert!(registry.find("Neg").is_ok());
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "alloc"))]
/// # fn main() {}
/// ```
///
/// # Panics
/// When no family has the name; for a static, that is an error of the compiler.
pub const fn pick<const N: usize>(families: &[&[&'static Op]], names: [&str; N]) -> [&'static Op; N] {
    let mut picked = [const { &NONE }; N];
    let mut i = 0;
    while i < N {
        picked[i] = one(families, names[i]);
        i += 1;
    }
    picked
}

static NONE: Op = Op::new("", "", "");

const fn one(families: &[&[&'static Op]], name: &str) -> &'static Op {
    let mut found = None;
    let mut f = 0;
    while f < families.len() {
        let mut i = 0;
        while i < families[f].len() {
            if same(families[f][i].name, name) {
                found = Some(families[f][i]);
            }
            i += 1;
        }
        f += 1;
    }
    found.expect("no family has an op of this name")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are whole, and each picks its own op.
    #[test]
    fn by_whole_names() {
        static A: Op = Op::new("Add", "", "");
        static B: Op = Op::new("AddV2", "", "");
        static FAMILIES: &[&[&Op]] = &[&[], &[&B, &A]];
        static PICKED: [&Op; 2] = pick(FAMILIES, ["Add", "AddV2"]);
        assert_eq!(PICKED.map(|op| op.name), ["Add", "AddV2"]);
    }
}
