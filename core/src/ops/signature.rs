//! The text form of an op's signature and its parsed form.
//!
//! Inputs and outputs: `x: T, y: T -> z: T`, `values: N * T -> output: T`, `ref: Ref(T) -> output_ref: Ref(T)`,
//! `input: T_list -> …` where `T_list` is a `list(type)` attribute. Attributes, separated by semicolons:
//! `T: {float, double} = float`, `N: int >= 1`, `padding: {'SAME', 'VALID'}`, `strides: list(int)`, `shape: shape = ?`,
//! `Tidx: type`, `b: bool = false`, `name: string = ''`, `Tl: list({int32, float}) >= 1 = []`, `f: func`, `v: tensor`.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use crate::Status;
use crate::graph::{AttrValue, Attrs, PartialShape};
use crate::tensor::DType;

/// A parsed signature.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// The inputs.
    pub inputs: Vec<Arg>,
    /// The outputs.
    pub outputs: Vec<Arg>,
    /// The attributes.
    pub attrs: Vec<AttrDef>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// Its type, perhaps given by attributes.
    pub ty: ArgType,
    /// The int attribute that says how many tensors the argument is, when it is several of one type.
    pub count: Option<String>,
    /// Whether it is a reference.
    pub is_ref: bool,
}

/// The type of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgType {
    /// Always this dtype.
    Fixed(DType),
    /// The value of a `type` attribute, or several tensors by a `list(type)` attribute.
    Attr(String),
}

/// An attribute's declaration.
#[derive(Clone, Debug)]
pub struct AttrDef {
    /// Its name.
    pub name: String,
    /// The kind: `type`, `int`, `float`, `bool`, `string`, `shape`, `tensor`, `func`.
    pub kind: &'static str,
    /// Whether it is a list of that kind.
    pub is_list: bool,
    /// The dtypes allowed; empty when all are.
    pub types: Vec<DType>,
    /// The strings allowed; empty when all are.
    pub strings: Vec<String>,
    /// The smallest number, or length of a list.
    pub minimum: Option<i64>,
    /// The value of nodes that do not say.
    pub default: Option<AttrValue>,
}

impl AttrDef {
    /// Checks a value against kind and allowed types.
    ///
    /// # Errors
    /// INVALID_ARGUMENT saying what is allowed.
    pub fn check(&self, value: &AttrValue) -> Result<(), Status> {
        let kind_error = || {
            let (open, close) = if self.is_list { ("list(", ")") } else { ("", "") };
            Status::invalid_argument(format_args!(
                "attr '{}' has a value of kind {}, expected {open}{}{close}",
                self.name,
                value.kind(),
                self.kind
            ))
        };
        match value {
            AttrValue::Placeholder(_) => Ok(()),
            AttrValue::List(values) if self.is_list => values
                .iter()
                .try_for_each(|v| if v.kind() == self.kind { self.check_one(v) } else { Err(kind_error()) }),
            _ if self.is_list || value.kind() != self.kind => Err(kind_error()),
            _ => self.check_one(value),
        }
    }

    /// Checks a number, or the length of a list, against the minimum, and a string against the allowed ones. TensorFlow
    /// does so when a run needs the node, not at import.
    ///
    /// # Errors
    /// INVALID_ARGUMENT naming what is allowed.
    pub fn check_when_needed(&self, value: &AttrValue) -> Result<(), Status> {
        let (have, what) = match value {
            AttrValue::Str(text) => return self.check_string(text),
            AttrValue::Int(n) => (*n, "Value"),
            AttrValue::List(values) => (i64::try_from(values.len()).unwrap_or(i64::MAX), "Length"),
            _ => return Ok(()),
        };
        match self.minimum {
            Some(minimum) if have < minimum => Err(Status::invalid_argument(format_args!(
                "{what} for attr '{}' of {have} must be at least minimum {minimum}",
                self.name
            ))),
            _ => Ok(()),
        }
    }

    fn check_one(&self, value: &AttrValue) -> Result<(), Status> {
        if let AttrValue::Type(dtype, is_ref) = value
            && (*is_ref || !(self.types.is_empty() || self.types.contains(dtype)))
        {
            return Err(Status::invalid_argument(format_args!(
                "value {}{dtype} of attr '{}' is not in the list of allowed types: {}",
                if *is_ref { "reference to " } else { "" },
                self.name,
                Joined(self.types.iter().map(|t| t.name()))
            )));
        }
        Ok(())
    }

    fn check_string(&self, text: &[u8]) -> Result<(), Status> {
        if self.strings.is_empty() || self.strings.iter().any(|s| s.as_bytes() == text) {
            return Ok(());
        }
        Err(Status::invalid_argument(format_args!(
            "Value for attr '{}' of \"{}\" is not in the list of allowed values: {}",
            self.name,
            text.escape_ascii(),
            Joined(self.strings.iter().map(String::as_str))
        )))
    }
}

/// Items with commas between them.
struct Joined<I>(I);

impl<'a, I: Iterator<Item = &'a str> + Clone> core::fmt::Display for Joined<I> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (i, item) in self.0.clone().enumerate() {
            write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl Signature {
    /// Parses the two texts of a declaration.
    ///
    /// # Errors
    /// INTERNAL with the place that is not understood: declarations are part of the program.
    pub fn parse(args: &str, attrs: &str) -> Result<Signature, Status> {
        let (inputs, outputs) =
            args.split_once("->").ok_or_else(|| Status::internal(format_args!("no '->' in the signature '{args}'")))?;
        Ok(Signature {
            inputs: split(inputs, b',').map(parse_arg).collect::<Result<_, _>>()?,
            outputs: split(outputs, b',').map(parse_arg).collect::<Result<_, _>>()?,
            attrs: split(attrs, b';').map(parse_attr).collect::<Result<_, _>>()?,
        })
    }

    /// The declaration of an attribute.
    pub fn attr(&self, name: &str) -> Option<&AttrDef> {
        self.attrs.iter().find(|a| a.name == name)
    }

    /// The dtypes of arguments, and whether each is a reference, under a node's attributes.
    ///
    /// # Errors
    /// NOT_FOUND or INVALID_ARGUMENT for attributes that are absent or ill-typed; RESOURCE_EXHAUSTED for counts beyond
    /// what a node may have.
    pub fn arg_types(args: &[Arg], attrs: &Attrs) -> Result<Vec<(DType, bool)>, Status> {
        /// More inputs or outputs than any sane node has; bounds memory.
        const ARGS_MAX: i64 = 1 << 20;
        let mut types = Vec::new();
        for arg in args {
            if let ArgType::Attr(name) = &arg.ty
                && let Some(AttrValue::List(_)) = attrs.get(name)
            {
                types.extend(attrs.dtypes(name)?.into_iter().map(|t| (t, arg.is_ref)));
                continue;
            }
            let dtype = match &arg.ty {
                ArgType::Fixed(dtype) => *dtype,
                ArgType::Attr(name) => attrs.dtype(name)?,
            };
            let count = match &arg.count {
                Some(name) => attrs.int(name)?,
                None => 1,
            };
            if !(0..=ARGS_MAX).contains(&count) {
                return Err(Status::invalid_argument(format_args!("argument '{}' of {count} tensors", arg.name)));
            }
            types.extend((0..count).map(|_| (dtype, arg.is_ref)));
        }
        Ok(types)
    }
}

/// The trimmed, non-empty parts of `text` between separators that are outside brackets and quotes.
fn split(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    let mut quoted = false;
    text.split(move |c: char| {
        match c {
            '\'' => quoted = !quoted,
            '{' | '(' | '[' if !quoted => depth += 1,
            '}' | ')' | ']' if !quoted => depth -= 1,
            _ => {}
        }
        depth == 0 && !quoted && c == separator as char
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

fn bad(text: &str) -> Status {
    Status::internal(format_args!("op declaration not understood at '{text}'"))
}

fn parse_arg(text: &str) -> Result<Arg, Status> {
    let (name, ty) = text.split_once(':').ok_or_else(|| bad(text))?;
    let mut ty = ty.trim();
    let mut is_ref = false;
    let mut count = None;
    if let Some((n, rest)) = ty.split_once('*') {
        count = Some(n.trim().to_owned());
        ty = rest.trim();
    }
    if let Some(inner) = ty.strip_prefix("Ref(").and_then(|r| r.strip_suffix(')')) {
        is_ref = true;
        ty = inner.trim();
    }
    let ty = match DType::from_name(ty) {
        Some(dtype) => ArgType::Fixed(dtype),
        None => ArgType::Attr(ty.to_owned()),
    };
    Ok(Arg { name: name.trim().to_owned(), ty, count, is_ref })
}

fn parse_attr(text: &str) -> Result<AttrDef, Status> {
    let (name, rest) = text.split_once(':').ok_or_else(|| bad(text))?;
    let mut rest = rest.trim();
    let mut def = AttrDef {
        name: name.trim().to_owned(),
        kind: "type",
        is_list: false,
        types: Vec::new(),
        strings: Vec::new(),
        minimum: None,
        default: None,
    };
    let mut default = None;
    if let Some((before, after)) = split_top(rest, " = ") {
        rest = before.trim();
        default = Some(after.trim());
    }
    if let Some((before, minimum)) = split_top(rest, ">=") {
        rest = before.trim();
        def.minimum = Some(minimum.trim().parse().map_err(|_| bad(text))?);
    }
    if let Some(inner) = rest.strip_prefix("list(").and_then(|r| r.strip_suffix(')')) {
        def.is_list = true;
        rest = inner.trim();
    }
    if let Some(values) = rest.strip_prefix('{').and_then(|r| r.strip_suffix('}')) {
        for value in split(values, b',') {
            match value.strip_prefix('\'').and_then(|v| v.strip_suffix('\'')) {
                Some(string) => def.strings.push(string.to_owned()),
                None => def.types.push(DType::from_name(value).ok_or_else(|| bad(value))?),
            }
        }
        def.kind = if def.strings.is_empty() { "type" } else { "string" };
    } else {
        const KINDS: [&str; 8] = ["type", "int", "float", "bool", "string", "shape", "tensor", "func"];
        def.kind = KINDS.into_iter().find(|k| *k == rest).ok_or_else(|| bad(rest))?;
    }
    if let Some(default) = default {
        def.default = Some(parse_value(&def, default)?);
    }
    Ok(def)
}

/// Splits at the first `separator` outside brackets.
fn split_top<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0i32;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ if depth == 0 => {
                if let Some(after) = text.get(at..).and_then(|t| t.strip_prefix(separator)) {
                    return Some((text.get(..at)?, after));
                }
            }
            _ => {}
        }
    }
    None
}

fn parse_value(def: &AttrDef, text: &str) -> Result<AttrValue, Status> {
    let error = || bad(text);
    if def.is_list {
        let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or_else(error)?;
        return split(inner, b',').map(|v| parse_one(def.kind, v)).collect::<Result<_, _>>().map(AttrValue::List);
    }
    parse_one(def.kind, text)
}

fn parse_one(kind: &str, text: &str) -> Result<AttrValue, Status> {
    let error = || bad(text);
    Ok(match kind {
        "type" => AttrValue::Type(DType::from_name(text).ok_or_else(error)?, false),
        "int" => AttrValue::Int(text.parse().map_err(|_| error())?),
        "float" => AttrValue::Float(text.parse().map_err(|_| error())?),
        "bool" => AttrValue::Bool(text.parse().map_err(|_| error())?),
        "string" => {
            let inner = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).ok_or_else(error)?;
            AttrValue::from(&*inner.replace("\\n", "\n").replace("\\t", "\t"))
        }
        "shape" if text == "?" => AttrValue::Shape(PartialShape::unknown()),
        "shape" => {
            let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or_else(error)?;
            let dims = split(inner, b',').map(|d| d.parse().map_err(|_| error())).collect::<Result<Vec<i64>, _>>()?;
            AttrValue::Shape(PartialShape { dims: Some(dims) })
        }
        _ => return Err(error()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use alloc::vec;

    /// Every form of argument and attribute.
    #[test]
    fn forms() {
        let s = Signature::parse(
            "values: N * T, axis: Tidx, r: Ref(T), l: Tl -> out: T, i: int32",
            "N: int >= 2; T: {float, half} = half; Tidx: type; Tl: list({int32, float}) >= 1 = [int32]; \
             p: {'SAME', 'VALID'} = 'SAME'; s: list(int) = [1, 2]; f: float = 0.5; sh: shape = ?; sh2: shape = [1,-1]; \
             b: bool = false; n: string = ''; g: func; v: tensor",
        )
        .unwrap();
        assert_eq!(s.inputs.len(), 4);
        assert_eq!(s.inputs[0].count.as_deref(), Some("N"));
        assert!(s.inputs[2].is_ref);
        assert_eq!(s.outputs[1].ty, ArgType::Fixed(DType::Int32));
        assert_eq!(s.attrs.len(), 13);
        assert_eq!(s.attr("T").unwrap().types, [DType::Float, DType::Half]);
        let mut attrs = Attrs::new(vec![("N".into(), 3i64.into()), ("Tidx".into(), DType::Int64.into())]);
        for name in ["T", "Tl"] {
            attrs.set(name, s.attr(name).unwrap().default.clone().unwrap());
        }
        let types = Signature::arg_types(&s.inputs, &attrs).unwrap();
        assert_eq!(types.len(), 6);
        assert_eq!(types[3], (DType::Int64, false));
        assert_eq!(types[4], (DType::Half, true));
    }

    /// Values of the wrong kind, below the minimum, or not allowed are refused by name.
    #[test]
    fn checks() {
        let s = Signature::parse("->", "N: int >= 2; T: {float}; p: {'A'}; l: list(int) >= 1").unwrap();
        for (name, value) in [("N", AttrValue::Int(1)), ("l", AttrValue::List(vec![])), ("p", "B".into())] {
            let error = s.attr(name).unwrap().check_when_needed(&value).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument);
        }
        let bad: [(&str, AttrValue); 3] =
            [("N", true.into()), ("T", DType::Int32.into()), ("T", AttrValue::Type(DType::Float, true))];
        for (name, value) in bad {
            let error = s.attr(name).unwrap().check(&value).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument);
            assert!(error.message().contains(name), "{error}");
        }
        assert!(s.attr("N").unwrap().check(&2i64.into()).is_ok());
    }
}
