//! What a run fetched, by name and typed.

use alloc::string::String;
use alloc::vec::Vec;

use crate::Status;
use crate::tensor::{Element, Tensor};

/// The fetched tensors of a run, in the order in which they were asked for.
#[derive(Clone, Debug, Default)]
pub struct Outputs(Vec<(String, Tensor)>);

impl Outputs {
    /// The response's tensors in the order of `fetches`.
    pub(super) fn new(mut tensors: Vec<(String, Tensor)>, fetches: &[&str]) -> Result<Outputs, Status> {
        let in_order = tensors.len() == fetches.len() && tensors.iter().zip(fetches).all(|((a, _), b)| a == b);
        if in_order {
            return Ok(Outputs(tensors));
        }
        if let Some(missing) = fetches.iter().find(|&&name| !tensors.iter().any(|(n, _)| n == name)) {
            return Err(Status::internal(format_args!("the master did not answer the fetch {missing}")));
        }
        let rank = |name: &str| fetches.iter().position(|&f| f == name).unwrap_or(usize::MAX);
        tensors.sort_by_cached_key(|(name, _)| rank(name));
        Ok(Outputs(tensors))
    }

    /// The tensor of a name, spelled as it was asked for.
    ///
    /// # Errors
    /// NOT_FOUND when the run did not fetch it.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, Status> {
        let found = self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value);
        found.ok_or_else(|| Status::not_found(format_args!("the run did not fetch {}", name.escape_debug())))
    }

    /// The elements of a tensor.
    ///
    /// # Errors
    /// NOT_FOUND when the run did not fetch it, INVALID_ARGUMENT when it is of another dtype.
    pub fn get<T: Element>(&self, name: &str) -> Result<&[T], Status> {
        self.tensor(name)?.as_slice().map_err(|e| e.context(name))
    }

    /// The only element of a tensor.
    ///
    /// # Errors
    /// As [`Outputs::get`]; INVALID_ARGUMENT when there are more or none.
    pub fn scalar<T: Element>(&self, name: &str) -> Result<T, Status> {
        self.tensor(name)?.to_scalar().map_err(|e| e.context(name))
    }

    /// Names and tensors in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was fetched.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tensors in order.
    pub fn into_tensors(self) -> Vec<Tensor> {
        self.0.into_iter().map(|(_, value)| value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use alloc::vec;

    /// Answers come in any order and leave in the asked one; typed access says what is wrong.
    #[test]
    fn order_and_types() {
        let tensors = || vec![("b:0".into(), Tensor::scalar(2i32)), ("a".into(), Tensor::scalar(1.5f32))];
        let outputs = Outputs::new(tensors(), &["a", "b:0", "a"]).unwrap();
        assert_eq!(outputs.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b:0"]);
        assert_eq!((outputs.len(), outputs.is_empty()), (2, false));
        assert_eq!((outputs.scalar::<f32>("a"), outputs.get::<i32>("b:0")), (Ok(1.5), Ok(&[2][..])));
        assert_eq!(outputs.scalar::<f32>("b:0").unwrap_err().code(), Code::InvalidArgument);
        assert_eq!(outputs.tensor("b").unwrap_err().code(), Code::NotFound);
        assert_eq!(Outputs::new(tensors(), &["a", "c"]).unwrap_err().code(), Code::Internal);
    }
}
