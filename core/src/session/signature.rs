//! What a run asks for: names as they were sent, and the canonical form under which programs are cached.
//!
//! `x` and `x:0` are one tensor, and the order of names means nothing to a program; so names are spelled out, sorted and
//! freed of repeats before a program is looked up or compiled. A signature says how the request's positions map to the
//! program's.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use hashbrown::{Equivalent, HashSet};

use crate::Status;
use crate::graph::{Endpoint, Graph, NodeId};
use crate::program::{Program, RunSpec};
use crate::step::Step;
use crate::tensor::Tensor;

/// The names of a run as they were sent, in their order: the key under which a request finds its signature at once.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Sent {
    feeds: Vec<String>,
    fetches: Vec<String>,
    targets: Vec<String>,
    partial: bool,
}

/// The same, borrowed from a request, so that finding allocates nothing.
pub(super) struct SentRef<'a, F> {
    pub(super) feeds: &'a [F],
    pub(super) fetches: &'a [String],
    pub(super) targets: &'a [String],
    pub(super) partial: bool,
}

/// A feed of a request: its name alone, or with its value.
pub(super) trait Named {
    fn name(&self) -> &str;
}

impl Named for String {
    fn name(&self) -> &str {
        self
    }
}

impl Named for (String, Tensor) {
    fn name(&self) -> &str {
        &self.0
    }
}

impl<F: Named> SentRef<'_, F> {
    pub(super) fn to_owned(&self) -> Sent {
        Sent {
            feeds: self.feeds.iter().map(|f| f.name().into()).collect(),
            fetches: self.fetches.to_vec(),
            targets: self.targets.to_vec(),
            partial: self.partial,
        }
    }

    /// The canonical form.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when nothing is asked for, or one string is fed twice.
    pub(super) fn canonical(&self) -> Result<Canonical, Status> {
        let feeds: Vec<&str> = self.feeds.iter().map(Named::name).collect();
        Canonical::new(&feeds, self.fetches, self.targets, &[], self.partial)
    }
}

fn hash_names<'a, H: Hasher>(state: &mut H, names: impl ExactSizeIterator<Item = &'a str>) {
    names.len().hash(state);
    names.for_each(|name| name.hash(state));
}

impl Hash for Sent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        SentRef { feeds: &self.feeds, fetches: &self.fetches, targets: &self.targets, partial: self.partial }
            .hash(state);
    }
}

impl<F: Named> Hash for SentRef<'_, F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_names(state, self.feeds.iter().map(Named::name));
        hash_names(state, self.fetches.iter().map(String::as_str));
        hash_names(state, self.targets.iter().map(String::as_str));
        self.partial.hash(state);
    }
}

impl<F: Named> Equivalent<Sent> for SentRef<'_, F> {
    fn equivalent(&self, key: &Sent) -> bool {
        self.partial == key.partial
            && self.fetches == key.fetches
            && self.targets == key.targets
            && self.feeds.len() == key.feeds.len()
            && self.feeds.iter().zip(&key.feeds).all(|(mine, theirs)| mine.name() == theirs)
    }
}

/// A canonical spec and where the request's names are in it.
#[derive(Debug)]
pub(super) struct Canonical {
    pub(super) spec: RunSpec,
    /// For each feed of the request its index in the spec; `None` when an earlier one spells the same tensor otherwise.
    pub(super) feed_at: Vec<Option<usize>>,
    /// For each fetch of the request its index in the spec.
    pub(super) fetch_at: Vec<FetchAt>,
}

/// Where a request's fetch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FetchAt {
    /// The index in the spec.
    pub(super) index: usize,
    /// The first position of the request that fetches the same tensor: this one, or an earlier one.
    pub(super) first: usize,
    /// Whether an earlier position has the very same string.
    pub(super) repeated: bool,
}

impl Canonical {
    /// The canonical form of names.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when nothing is asked for, one string is fed twice, or the target of a tensor connection is
    /// fed or fetched as well.
    pub(super) fn new(
        feeds: &[&str],
        fetches: &[String],
        targets: &[String],
        connections: &[(String, String)],
        partial: bool,
    ) -> Result<Canonical, Status> {
        if fetches.is_empty() && targets.is_empty() {
            return Err(Status::invalid_argument("Must specify at least one target to fetch or execute."));
        }
        let mut strings = HashSet::with_capacity(feeds.len());
        if let Some(twice) = feeds.iter().find(|name| !strings.insert(**name)) {
            return Err(Status::invalid_argument(format_args!(
                "Endpoint \"{}\" fed more than once.",
                twice.escape_debug()
            )));
        }
        let fed: Vec<String> = feeds.iter().map(|name| canonical_name(name)).collect();
        let fetched: Vec<String> = fetches.iter().map(|name| canonical_name(name)).collect();
        let mut spec = RunSpec {
            feeds: sorted(fed.clone()),
            fetches: sorted(fetched.clone()),
            targets: sorted(targets.iter().map(|name| Endpoint::parse(name).node.into()).collect()),
            tensor_connections: Vec::new(),
            partial,
        };
        for (from, to) in connections {
            let to = canonical_name(to);
            if spec.feeds.binary_search(&to).is_ok() || spec.fetches.binary_search(&to).is_ok() {
                return Err(Status::invalid_argument(format_args!(
                    "Tensor connection to {to}, which is fed or fetched as well"
                )));
            }
            spec.tensor_connections.push((canonical_name(from), to));
        }
        let mut taken = alloc::vec![false; spec.feeds.len()];
        let mut first = |name: &String| {
            let at = spec.feeds.binary_search(name).ok()?;
            let taken = taken.get_mut(at)?;
            (!core::mem::replace(taken, true)).then_some(at)
        };
        let feed_at = fed.iter().map(&mut first).collect();
        let mut firsts = alloc::vec![None; spec.fetches.len()];
        let mut strings = HashSet::with_capacity(fetches.len());
        let mut place = |(i, (name, sent)): (usize, (&String, &String))| {
            let index = spec.fetches.binary_search(name).ok()?;
            let first = *firsts.get_mut(index)?.get_or_insert(i);
            Some(FetchAt { index, first, repeated: !strings.insert(sent.clone()) })
        };
        let fetch_at = fetched.iter().zip(fetches).enumerate().filter_map(&mut place).collect();
        Ok(Canonical { spec, feed_at, fetch_at })
    }
}

/// `x` as `x:0`; a control name stays what it is, for the compiler to refuse.
pub(super) fn canonical_name(name: &str) -> String {
    format!("{}", Endpoint::parse(name))
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

/// A run as requests see it: the program and how positions map.
pub(super) struct RunSignature {
    pub(super) program: Arc<Program>,
    pub(super) spec: RunSpec,
    pub(super) feed_at: Vec<Option<usize>>,
    pub(super) fetch_at: Vec<FetchAt>,
    /// Of a partial run: for each fetch of the program the feeds that it depends on, in the whole graph.
    pub(super) depends_on: Vec<Vec<usize>>,
}

impl RunSignature {
    pub(super) fn new(program: Arc<Program>, canonical: Canonical) -> RunSignature {
        let Canonical { spec, feed_at, fetch_at } = canonical;
        RunSignature { program, spec, feed_at, fetch_at, depends_on: Vec::new() }
    }

    /// Takes the fetches out of a finished step, by position of the request.
    ///
    /// # Errors
    /// INTERNAL when one was not computed.
    pub(super) fn take_fetches(&self, step: &mut Step) -> Result<Vec<Tensor>, Status> {
        let mut values: Vec<Tensor> = Vec::with_capacity(self.fetch_at.len());
        for at in &self.fetch_at {
            let value = match values.get(at.first) {
                Some(value) => value.clone(),
                None => step.take_fetch(at.index)?,
            };
            values.push(value);
        }
        Ok(values)
    }

    /// Adds what a partial run needs to know of the graph.
    pub(super) fn with_dependencies(mut self, graph: &Graph) -> RunSignature {
        self.depends_on = self.spec.fetches.iter().map(|fetch| dependencies(graph, fetch, &self.spec.feeds)).collect();
        self
    }
}

/// Indices in `feeds` (sorted) of the tensors that `fetch` depends on, over data and control edges of the whole graph:
/// as TensorFlow looks at it, a feed does not hide what lies behind it.
fn dependencies(graph: &Graph, fetch: &str, feeds: &[String]) -> Vec<usize> {
    let endpoint = Endpoint::parse(fetch);
    let Some(start) = graph.find(endpoint.node) else { return Vec::new() };
    let fed: Vec<(NodeId, u32, usize)> = feeds
        .iter()
        .enumerate()
        .filter_map(|(i, name)| {
            let endpoint = Endpoint::parse(name);
            Some((graph.find(endpoint.node)?, endpoint.slot?, i))
        })
        .collect();
    let mut needed = alloc::vec![false; feeds.len()];
    let mut need = |node: NodeId, port: u32| {
        for (_, _, i) in fed.iter().filter(|(n, p, _)| (*n, *p) == (node, port)) {
            if let Some(needed) = needed.get_mut(*i) {
                *needed = true;
            }
        }
    };
    let mut seen = alloc::vec![false; graph.nodes().len()];
    let mut waiting = alloc::vec![start];
    need(start, endpoint.slot.unwrap_or(0));
    while let Some(id) = waiting.pop() {
        match seen.get_mut(id.index()) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        let node = graph.node(id);
        for edge in &node.inputs {
            need(edge.node, edge.port);
            waiting.push(edge.node);
        }
        waiting.extend(node.controls.iter().copied());
    }
    needed.iter().enumerate().filter_map(|(i, &needed)| needed.then_some(i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use alloc::string::ToString;
    use core::hash::BuildHasher;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    /// Spellings and order do not matter to the spec; positions lead back to it.
    #[test]
    fn canonical() {
        let c = Canonical::new(
            &["b", "a:0", "a"],
            &names(&["z:1", "y", "y:0", "z:1"]),
            &names(&["t:3", "^s", "t"]),
            &[],
            false,
        );
        let c = c.unwrap();
        assert_eq!(c.spec.feeds, ["a:0", "b:0"]);
        assert_eq!(c.spec.fetches, ["y:0", "z:1"]);
        assert_eq!(c.spec.targets, ["s", "t"]);
        assert_eq!(c.feed_at, [Some(1), Some(0), None]);
        let places: Vec<_> = c.fetch_at.iter().map(|f| (f.index, f.first, f.repeated)).collect();
        assert_eq!(places, [(1, 0, false), (0, 1, false), (0, 1, false), (1, 0, true)]);
    }

    /// What is refused before any graph is looked at.
    #[test]
    fn refused() {
        let to = [("a".to_string(), "f:0".to_string())];
        let cases = [
            Canonical::new(&["a"], &[], &[], &[], false),
            Canonical::new(&["a", "a"], &names(&["y"]), &[], &[], false),
            Canonical::new(&["f"], &names(&["y"]), &[], &to, false),
            Canonical::new(&[], &names(&["f"]), &[], &to, false),
        ];
        for case in cases {
            assert_eq!(case.unwrap_err().code(), Code::InvalidArgument);
        }
    }

    /// The borrowed key finds the owned one, and any difference in names, order or kind is another key.
    #[test]
    fn keys() {
        let build = hashbrown::DefaultHashBuilder::default();
        let (feeds, fetches, targets) = (names(&["a", "b"]), names(&["c"]), names(&["d"]));
        let key = SentRef { feeds: &feeds, fetches: &fetches, targets: &targets, partial: false };
        let owned = key.to_owned();
        assert!(key.equivalent(&owned) && build.hash_one(&key) == build.hash_one(&owned));
        let tensors: Vec<(String, Tensor)> = feeds.iter().map(|f| (f.clone(), Tensor::default())).collect();
        let with_values = SentRef { feeds: &tensors, fetches: &fetches, targets: &targets, partial: false };
        assert!(with_values.equivalent(&owned) && build.hash_one(&with_values) == build.hash_one(&owned));
        let swapped = names(&["b", "a"]);
        let others = [
            SentRef { feeds: &swapped, fetches: &fetches, targets: &targets, partial: false },
            SentRef { feeds: &feeds, fetches: &targets, targets: &fetches, partial: false },
            SentRef { feeds: &feeds, fetches: &fetches, targets: &targets, partial: true },
            SentRef { feeds: &feeds[..1], fetches: &fetches, targets: &targets, partial: false },
        ];
        assert!(others.iter().all(|other| !other.equivalent(&owned)));
    }
}
