//! Names of nodes and tensors.

use core::fmt;

use crate::Status;

/// A parsed tensor name: `node`, `node:slot` or `^node`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint<'a> {
    /// The node's name.
    pub node: &'a str,
    /// The output's number; `None` for a control edge (`^node`).
    pub slot: Option<u32>,
}

impl<'a> Endpoint<'a> {
    /// Parses a tensor name: a trailing `:digits` is the slot, without it the slot is 0, a leading `^` means control. A
    /// slot beyond 32 bits reads as the largest, which no op has.
    pub fn parse(text: &'a str) -> Endpoint<'a> {
        if let Some(node) = text.strip_prefix('^') {
            return Endpoint { node, slot: None };
        }
        match text.rsplit_once(':') {
            Some((node, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                Endpoint { node, slot: Some(digits.parse().unwrap_or(u32::MAX)) }
            }
            _ => Endpoint { node: text, slot: Some(0) },
        }
    }
}

impl fmt::Display for Endpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slot {
            Some(slot) => write!(f, "{}:{slot}", self.node),
            None => write!(f, "^{}", self.node),
        }
    }
}

/// Checks a client's node name: a letter, digit or dot, then letters, digits, `_`, `.`, `/`, `-`, `>`.
///
/// # Errors
/// INVALID_ARGUMENT naming it.
pub fn check_node_name(name: &str) -> Result<(), Status> {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'.');
    if first && bytes.all(|b| b.is_ascii_alphanumeric() || b"_./->".contains(&b)) {
        return Ok(());
    }
    let shown = name.get(..name.floor_char_boundary(200)).unwrap_or(name);
    Err(Status::invalid_argument(format_args!("Illegal op name '{}'", shown.escape_debug())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The grammar of tensor names, odd ones included.
    #[test]
    fn endpoints() {
        let cases = [
            ("a", "a", Some(0)),
            ("a:0", "a", Some(0)),
            ("a:12", "a", Some(12)),
            ("a:b", "a:b", Some(0)),
            ("a:", "a:", Some(0)),
            ("a:-1", "a:-1", Some(0)),
            ("^a", "a", None),
            ("a:99999999999", "a", Some(u32::MAX)),
            ("", "", Some(0)),
        ];
        for (text, node, slot) in cases {
            assert_eq!(Endpoint::parse(text), Endpoint { node, slot }, "{text}");
        }
    }

    /// Legal and illegal node names.
    #[test]
    fn names() {
        for good in ["a", ".a", "9", "a/b-c.d_e>f"] {
            assert!(check_node_name(good).is_ok(), "{good}");
        }
        for bad in ["", "_a", "/a", "a b", "a:b", "é", "^a", "a\\b"] {
            assert!(check_node_name(bad).is_err(), "{bad}");
        }
    }
}
