//! Every op that TensorFlow has, by signature: what makes "unsupported" differ from "unknown".

/// Sorted lines `Name|args|attrs|flags`, for [`super::Registry::with_known`]; `tests/golden/make_known_ops.py` makes them.
pub static KNOWN: &str = include_str!("known.txt");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::signature::AttrDef;
    use crate::ops::{ALL, Registry, Signature};
    use alloc::collections::BTreeMap;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    fn table() -> BTreeMap<&'static str, (Signature, &'static str)> {
        let parse = |line: &'static str| {
            let parts: Vec<_> = line.split('|').collect();
            let [name, args, attrs, flags] = parts[..] else { panic!("{line}") };
            (name, (Signature::parse(args, attrs).unwrap_or_else(|e| panic!("{line}: {e}")), flags))
        };
        KNOWN.lines().map(parse).collect()
    }

    /// Every line parses, names are sorted and unique, and a registry tells unsupported from unknown.
    #[test]
    fn every_line_parses() {
        let table = table();
        assert!(table.len() > 1800);
        assert!(KNOWN.lines().is_sorted_by(|a, b| a.split('|').next() < b.split('|').next()));
        let registry = Registry::new(ALL).unwrap().with_known(KNOWN);
        assert!(registry.find("Betainc").unwrap().op.is_none());
        assert_eq!(registry.find("Betainc").unwrap().signature.attrs.len(), 1);
        assert_eq!(registry.find("NoSuchOp").unwrap_err().code(), crate::Code::NotFound);
    }

    /// An attribute in a form that equals another's just when they mean the same.
    fn attr(def: &AttrDef) -> (String, String) {
        let mut types: Vec<_> = def.types.iter().map(|t| t.name()).collect();
        types.sort_unstable();
        types.dedup();
        let rest =
            format!("{} {} {types:?} {:?} {:?} {:?}", def.kind, def.is_list, def.strings, def.minimum, def.default);
        (def.name.clone(), rest)
    }

    /// No declaration differs from TensorFlow's.
    #[test]
    fn declarations_are_tensorflows() {
        let table = table();
        let mut seen = Vec::new();
        for op in ALL.iter().flat_map(|family| family.iter()) {
            let (known, flags) = table.get(op.name).unwrap_or_else(|| panic!("TensorFlow has no {}", op.name));
            let ours = Signature::parse(op.args, op.attrs).unwrap();
            assert_eq!(ours.inputs, known.inputs, "{}", op.name);
            assert_eq!(ours.outputs, known.outputs, "{}", op.name);
            let sorted = |s: &Signature| s.attrs.iter().map(attr).collect::<BTreeMap<_, _>>();
            assert_eq!(sorted(&ours), sorted(known), "{}", op.name);
            let has = [op.stateful, op.commutative, op.allows_uninitialized_input];
            assert_eq!(
                has,
                ['s', 'c', 'u'].map(|f| flags.contains(f)),
                "{}: stateful, commutative, uninitialised",
                op.name
            );
            assert!(!seen.contains(&op.name), "{} is declared twice", op.name);
            seen.push(op.name);
            for (name, types) in op.types {
                let def = known.attr(name).unwrap_or_else(|| panic!("{} has no attr {name}", op.name));
                let allowed = |t| def.types.is_empty() || def.types.contains(t);
                assert!(types.iter().all(allowed), "{}: kernel for a type of {name} that is not allowed", op.name);
            }
        }
    }
}
