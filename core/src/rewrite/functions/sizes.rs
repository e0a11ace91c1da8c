//! How large calls become, before anything is made: the number of nodes of a function with all that it calls.

use alloc::string::String;
use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::graph::{AttrValue, Function, Graph, NodeSpec};

/// Sizes of functions found so far.
#[derive(Default)]
pub(super) struct Sizes(HashMap<String, usize>);

impl Sizes {
    /// About as many nodes as a call of the function becomes, at least; a function within itself counts once. Each function
    /// is looked at once, without recursion.
    pub(super) fn of<'a>(&mut self, library: &'a Graph, name: &'a str) -> usize {
        // Functions that wait for those they call: whether their callees were put on the stack already.
        let mut stack: Vec<(&str, bool)> = alloc::vec![(name, false)];
        let mut open: HashMap<&str, ()> = HashMap::new();
        while let Some((name, callees_done)) = stack.pop() {
            if self.0.contains_key(name) {
                continue;
            }
            let Some(function) = library.function(name) else { continue };
            if callees_done {
                let size = function.nodes.iter().fold(0usize, |sum, node| {
                    let called = callees(library, node).filter_map(|callee| self.0.get(callee));
                    called.fold(sum.saturating_add(own(node)), |sum, size| sum.saturating_add(*size))
                });
                self.0.insert(name.into(), size.saturating_add(own_arguments(function)));
                continue;
            }
            if open.insert(&function.name, ()).is_some() {
                continue;
            }
            stack.push((&function.name, true));
            let callees = function.nodes.iter().flat_map(|node| callees(library, node));
            stack.extend(callees.filter(|callee| !open.contains_key(callee)).map(|callee| (callee, false)));
        }
        self.0.get(name).copied().unwrap_or(0)
    }
}

/// The nodes that a node becomes, without what it calls: lowering makes some an input.
fn own(node: &NodeSpec) -> usize {
    let calls = node.attrs.iter().any(|(_, value)| matches!(value, AttrValue::Func(_)));
    if calls { node.inputs.len().saturating_mul(6).saturating_add(8) } else { 1 }
}

fn own_arguments(function: &Function) -> usize {
    function.signature.inputs.len().saturating_add(function.signature.outputs.len()).saturating_add(4)
}

/// The functions that a node names.
fn callees<'a>(library: &'a Graph, node: &'a NodeSpec) -> impl Iterator<Item = &'a str> {
    let attrs = node.attrs.iter().flat_map(|(_, value)| match value {
        AttrValue::List(values) => values.as_slice(),
        value => core::slice::from_ref(value),
    });
    let named = attrs.filter_map(|value| match value {
        AttrValue::Func(func) => Some(func.name.as_str()),
        _ => None,
    });
    named.chain(core::iter::once(node.op.as_str())).filter(|name| library.function(name).is_some())
}
