//! Attribute values of nodes.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::Status;
use crate::tensor::{DType, Shape, Str, Tensor};

/// A shape of which rank or dimensions may be unknown, as attributes and inference have it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PartialShape {
    /// The dimensions, −1 for an unknown one; `None` when even the rank is unknown.
    pub dims: Option<Vec<i64>>,
}

impl PartialShape {
    /// The shape of which nothing is known.
    pub const fn unknown() -> PartialShape {
        PartialShape { dims: None }
    }

    /// A shape with these dimensions, −1 for unknown.
    pub fn new(dims: &[i64]) -> PartialShape {
        PartialShape { dims: Some(dims.to_vec()) }
    }

    /// The rank, when known.
    pub fn rank(&self) -> Option<usize> {
        self.dims.as_ref().map(Vec::len)
    }

    /// The shape, when every dimension is known and it is a valid one.
    pub fn to_shape(&self) -> Option<Shape> {
        Shape::from_i64(self.dims.as_deref()?).ok()
    }

    /// Whether a tensor of `shape` is allowed where this shape is declared.
    pub fn admits(&self, shape: &Shape) -> bool {
        let Some(dims) = &self.dims else { return true };
        dims.len() == shape.rank() && dims.iter().zip(shape.dims()).all(|(&d, &s)| d < 0 || d == i64::from(s))
    }

    /// What both shapes together say; `None` when no shape is both.
    pub fn merge(&self, other: &PartialShape) -> Option<PartialShape> {
        let (Some(a), Some(b)) = (&self.dims, &other.dims) else {
            return Some(if self.dims.is_some() { self.clone() } else { other.clone() });
        };
        if a.len() != b.len() {
            return None;
        }
        let dims = a.iter().zip(b).map(|(&x, &y)| match (x, y) {
            (..0, y) => Some(y),
            (x, ..0) => Some(x),
            (x, y) => (x == y).then_some(x),
        });
        Some(PartialShape { dims: Some(dims.collect::<Option<Vec<i64>>>()?) })
    }
}

impl From<&Shape> for PartialShape {
    fn from(shape: &Shape) -> PartialShape {
        PartialShape { dims: Some(shape.dims().iter().map(|&d| i64::from(d)).collect()) }
    }
}

impl fmt::Display for PartialShape {
    /// As TensorFlow writes it: `[2,?]`, `<unknown>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = &self.dims else { return f.write_str("<unknown>") };
        f.write_str("[")?;
        for (i, &dim) in dims.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match dim {
                ..0 => write!(f, "{comma}?")?,
                _ => write!(f, "{comma}{dim}")?,
            }
        }
        f.write_str("]")
    }
}

/// A function name with attributes: the value of `func` attributes.
#[derive(Clone, Debug)]
pub struct FuncRef {
    /// The function's name in the library.
    pub name: String,
    /// The attributes that its body's placeholders take.
    pub attrs: Vec<(Arc<str>, AttrValue)>,
}

/// The value of a node's attribute.
#[derive(Clone, Debug)]
pub enum AttrValue {
    /// A dtype and whether it is a reference.
    Type(DType, bool),
    /// A number.
    Int(i64),
    /// A float.
    Float(f32),
    /// A truth value.
    Bool(bool),
    /// Bytes, mostly text.
    Str(Str),
    /// A shape.
    Shape(PartialShape),
    /// A tensor, for example the value of a Const.
    Tensor(Tensor),
    /// A function.
    Func(Arc<FuncRef>),
    /// A list; all elements are of one kind.
    List(Vec<AttrValue>),
    /// Inside a function body: the name of the function's attribute whose value stands here.
    Placeholder(String),
}

impl AttrValue {
    /// What kind of value this is, as op declarations name it.
    pub fn kind(&self) -> &'static str {
        match self {
            AttrValue::Type(..) => "type",
            AttrValue::Int(_) => "int",
            AttrValue::Float(_) => "float",
            AttrValue::Bool(_) => "bool",
            AttrValue::Str(_) => "string",
            AttrValue::Shape(_) => "shape",
            AttrValue::Tensor(_) => "tensor",
            AttrValue::Func(_) => "func",
            AttrValue::List(_) => "list",
            AttrValue::Placeholder(_) => "placeholder",
        }
    }
}

impl From<DType> for AttrValue {
    fn from(value: DType) -> AttrValue {
        AttrValue::Type(value, false)
    }
}

impl From<i64> for AttrValue {
    fn from(value: i64) -> AttrValue {
        AttrValue::Int(value)
    }
}

impl From<f32> for AttrValue {
    fn from(value: f32) -> AttrValue {
        AttrValue::Float(value)
    }
}

impl From<bool> for AttrValue {
    fn from(value: bool) -> AttrValue {
        AttrValue::Bool(value)
    }
}

impl From<&str> for AttrValue {
    fn from(value: &str) -> AttrValue {
        AttrValue::Str(Str::copy_from_slice(value.as_bytes()))
    }
}

impl From<Tensor> for AttrValue {
    fn from(value: Tensor) -> AttrValue {
        AttrValue::Tensor(value)
    }
}

impl From<PartialShape> for AttrValue {
    fn from(value: PartialShape) -> AttrValue {
        AttrValue::Shape(value)
    }
}

impl<T: Into<AttrValue>> From<Vec<T>> for AttrValue {
    fn from(values: Vec<T>) -> AttrValue {
        AttrValue::List(values.into_iter().map(Into::into).collect())
    }
}

/// The attributes of a node, sorted by name.
#[derive(Clone, Debug, Default)]
pub struct Attrs(Vec<(Arc<str>, AttrValue)>);

impl Attrs {
    /// Attributes in any order; of two with one name the last counts.
    pub fn new(mut list: Vec<(Arc<str>, AttrValue)>) -> Attrs {
        list.reverse();
        list.sort_by(|a, b| a.0.cmp(&b.0));
        list.dedup_by(|a, b| a.0 == b.0);
        Attrs(list)
    }

    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&AttrValue> {
        let at = self.0.binary_search_by(|(n, _)| (**n).cmp(name)).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// Sets an attribute.
    pub fn set(&mut self, name: &str, value: AttrValue) {
        match self.0.binary_search_by(|(n, _)| (**n).cmp(name)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name.into(), value)),
        }
    }

    /// All attributes by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttrValue)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}

/// Typed access; each answers NOT_FOUND for an absent attribute and INVALID_ARGUMENT for one of another kind.
impl Attrs {
    fn typed<'a, T>(
        &'a self,
        name: &str,
        kind: &str,
        pick: impl FnOnce(&'a AttrValue) -> Option<T>,
    ) -> Result<T, Status> {
        let value = self.get(name).ok_or_else(|| Status::not_found(format_args!("no attr named '{name}'")))?;
        pick(value).ok_or_else(|| {
            Status::invalid_argument(format_args!("attr '{name}' has a value of kind {}, not {kind}", value.kind()))
        })
    }

    /// A dtype.
    pub fn dtype(&self, name: &str) -> Result<DType, Status> {
        self.typed(name, "type", |v| if let AttrValue::Type(t, _) = v { Some(*t) } else { None })
    }

    /// A number.
    pub fn int(&self, name: &str) -> Result<i64, Status> {
        self.typed(name, "int", |v| if let AttrValue::Int(i) = v { Some(*i) } else { None })
    }

    /// A float.
    pub fn float(&self, name: &str) -> Result<f32, Status> {
        self.typed(name, "float", |v| if let AttrValue::Float(x) = v { Some(*x) } else { None })
    }

    /// A truth value.
    pub fn bool(&self, name: &str) -> Result<bool, Status> {
        self.typed(name, "bool", |v| if let AttrValue::Bool(b) = v { Some(*b) } else { None })
    }

    /// A string that is text.
    pub fn str(&self, name: &str) -> Result<&str, Status> {
        self.typed(name, "string", |v| if let AttrValue::Str(s) = v { core::str::from_utf8(s).ok() } else { None })
    }

    /// A shape.
    pub fn shape(&self, name: &str) -> Result<&PartialShape, Status> {
        self.typed(name, "shape", |v| if let AttrValue::Shape(s) = v { Some(s) } else { None })
    }

    /// A tensor.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, Status> {
        self.typed(name, "tensor", |v| if let AttrValue::Tensor(t) = v { Some(t) } else { None })
    }

    /// A list of numbers.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>, Status> {
        self.list(name, "list(int)", |v| if let AttrValue::Int(i) = v { Some(*i) } else { None })
    }

    /// A list of dtypes.
    pub fn dtypes(&self, name: &str) -> Result<Vec<DType>, Status> {
        self.list(name, "list(type)", |v| if let AttrValue::Type(t, _) = v { Some(*t) } else { None })
    }

    /// A list of floats.
    pub fn floats(&self, name: &str) -> Result<Vec<f32>, Status> {
        self.list(name, "list(float)", |v| if let AttrValue::Float(x) = v { Some(*x) } else { None })
    }

    /// A list of shapes.
    pub fn shapes(&self, name: &str) -> Result<Vec<PartialShape>, Status> {
        self.list(name, "list(shape)", |v| if let AttrValue::Shape(s) = v { Some(s.clone()) } else { None })
    }

    /// A list of strings.
    pub fn strs(&self, name: &str) -> Result<Vec<Str>, Status> {
        self.list(name, "list(string)", |v| if let AttrValue::Str(s) = v { Some(s.clone()) } else { None })
    }

    fn list<T>(&self, name: &str, kind: &str, pick: impl Fn(&AttrValue) -> Option<T>) -> Result<Vec<T>, Status> {
        self.typed(name, kind, |v| match v {
            AttrValue::List(values) => values.iter().map(pick).collect(),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use alloc::string::ToString;
    use alloc::vec;

    /// Look-up, replacement, and the codes of absent and ill-typed attributes.
    #[test]
    fn attrs() {
        let mut attrs =
            Attrs::new(vec![("b".into(), 1i64.into()), ("a".into(), true.into()), ("b".into(), 2i64.into())]);
        assert_eq!(attrs.int("b"), Ok(2));
        attrs.set("b", vec![3i64].into());
        attrs.set("c", "text".into());
        assert_eq!(attrs.ints("b"), Ok(vec![3]));
        assert_eq!(attrs.str("c"), Ok("text"));
        assert_eq!(attrs.int("zz").unwrap_err().code(), Code::NotFound);
        assert_eq!(attrs.int("a").unwrap_err().code(), Code::InvalidArgument);
    }

    /// Partial shapes print as TensorFlow's and admit what they should.
    #[test]
    fn partial_shapes() {
        let shape = PartialShape::new(&[2, -1]);
        assert_eq!(shape.to_string(), "[2,?]");
        assert_eq!(PartialShape::unknown().to_string(), "<unknown>");
        assert!(shape.admits(&Shape::new(&[2, 9]).unwrap()));
        assert!(!shape.admits(&Shape::new(&[3, 9]).unwrap()) && !shape.admits(&Shape::scalar()));
    }
}
