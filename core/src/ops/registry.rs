//! Which ops a program knows: explicit lists of declarations.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::{Op, Role, Signature};
use crate::Status;

/// An op with its parsed signature.
#[derive(Debug)]
pub struct OpInfo {
    /// The name as in a NodeDef.
    pub name: String,
    /// The parsed signature.
    pub signature: Signature,
    /// The declaration; `None` for an op that TensorFlow has and this program does not.
    pub op: Option<&'static Op>,
}

impl OpInfo {
    /// What a node does to the flow of a step.
    pub fn role(&self) -> Role {
        self.op.map_or(Role::Kernel, |op| op.role)
    }

    /// Whether a node has state or effects.
    pub fn is_stateful(&self) -> bool {
        self.op.is_none_or(|op| op.stateful)
    }
}

impl core::fmt::Debug for Op {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

/// The ops that graphs may use.
pub struct Registry {
    ops: HashMap<&'static str, Arc<OpInfo>>,
    /// Signatures of ops that are known but not supported: sorted lines `Name|args|attrs|flags`.
    known: &'static str,
}

impl Registry {
    /// A registry of families of ops. Of two ops with one name the later wins, so that a program can replace one.
    ///
    /// # Errors
    /// INTERNAL when a declaration cannot be parsed.
    pub fn new(families: &[&[&'static Op]]) -> Result<Registry, Status> {
        let mut ops = HashMap::new();
        for &op in families.iter().flat_map(|family| family.iter()) {
            let signature = Signature::parse(op.args, op.attrs).map_err(|e| e.context(op.name))?;
            ops.insert(op.name, Arc::new(OpInfo { name: op.name.into(), signature, op: Some(op) }));
        }
        Ok(Registry { ops, known: "" })
    }

    /// Adds the signatures of ops that TensorFlow has and this program may not: lines
    /// `Name|args|attrs|flags`, sorted by name.
    #[must_use]
    pub fn with_known(mut self, table: &'static str) -> Registry {
        self.known = table;
        self
    }

    /// The op of a name: supported, or known by signature only.
    ///
    /// # Errors
    /// NOT_FOUND for a name that is no op.
    pub fn find(&self, name: &str) -> Result<Arc<OpInfo>, Status> {
        if let Some(op) = self.ops.get(name) {
            return Ok(op.clone());
        }
        let line = self.known.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('|'));
        let (args, rest) = line.and_then(|line| line.split_once('|')).ok_or_else(|| {
            Status::not_found(format_args!("Op type not registered '{}' in this binary", name.escape_debug()))
        })?;
        let attrs = rest.rsplit_once('|').map_or(rest, |(attrs, _flags)| attrs);
        let signature = Signature::parse(args, attrs)?;
        Ok(Arc::new(OpInfo { name: name.into(), signature, op: None }))
    }

    /// Whether a node of a known op has state or effects.
    pub(crate) fn is_stateful(&self, name: &str) -> bool {
        match self.ops.get(name) {
            Some(info) => info.is_stateful(),
            None => {
                let line = self.known.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('|'));
                line.and_then(|line| line.rsplit_once('|')).is_some_and(|(_, flags)| flags.contains('s'))
            }
        }
    }

    /// Every supported op, sorted by name.
    pub fn ops(&self) -> Vec<&Arc<OpInfo>> {
        let mut ops: Vec<_> = self.ops.values().collect();
        ops.sort_by(|a, b| a.name.cmp(&b.name));
        ops
    }
}
