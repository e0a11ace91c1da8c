//! The value that `TensorList*` ops pass around: a list of tensors of one dtype, some of which may not be set.

use alloc::vec::Vec;

use super::dispatch::{Value, with_type};
use super::rows;
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::element::Number;
use crate::tensor::{Budget, Charge, DType, Shape, Tensor, Variant, VariantValue};

/// More elements than a list may have: places cost memory even where nothing is set.
const ELEMENTS_MAX: usize = 1 << 26;

/// Lists within lists, this deep at most: letting go of them recurses.
const DEPTH_MAX: u32 = 64;

/// A list of tensors.
pub(super) struct TensorList {
    elements: Vec<Option<Tensor>>,
    /// What the shapes of elements must agree with.
    pub(super) element_shape: PartialShape,
    /// The dtype of elements.
    pub(super) dtype: DType,
    /// How many elements pushing may lead to; −1 for any number.
    pub(super) max_elements: i32,
    depth: u32,
    /// The memory of the places, beside that of the elements themselves.
    charge: Option<Charge>,
}

impl TensorList {
    /// An empty list.
    pub(super) fn new(dtype: DType, element_shape: PartialShape, max_elements: i32) -> TensorList {
        TensorList { elements: Vec::new(), element_shape, dtype, max_elements, depth: 1, charge: None }
    }

    /// The elements; `None` where none is set.
    pub(super) fn elements(&self) -> &[Option<Tensor>] {
        &self.elements
    }

    /// The number of places.
    pub(super) fn len(&self) -> usize {
        self.elements.len()
    }

    fn reserve(&mut self, more: usize, budget: Option<&Budget>) -> Result<(), Status> {
        let (len, capacity) = (self.elements.len(), self.elements.capacity());
        let needed = len.saturating_add(more);
        if needed <= capacity {
            return Ok(());
        }
        if needed > ELEMENTS_MAX {
            return Err(Status::resource_exhausted(format_args!(
                "a list of {needed} elements; at most {ELEMENTS_MAX} are supported"
            )));
        }
        let wanted = needed.max(capacity * 2).min(ELEMENTS_MAX);
        if let Some(budget) = budget {
            let bytes = (wanted - capacity) * size_of::<Option<Tensor>>();
            match &mut self.charge {
                Some(charge) => charge.grow(bytes)?,
                None => self.charge = Some(budget.charge(bytes)?),
            }
        }
        let reserved = self.elements.try_reserve_exact(wanted - len);
        reserved.map_err(|_| Status::resource_exhausted(format_args!("no memory for a list of {needed} elements")))
    }

    /// Cuts the list off, or adds places without element.
    pub(super) fn resize(&mut self, len: usize, budget: Option<&Budget>) -> Result<(), Status> {
        self.reserve(len.saturating_sub(self.len()), budget)?;
        self.elements.resize(len, None);
        Ok(())
    }

    /// Adds a place at the end.
    pub(super) fn push(&mut self, element: Option<Tensor>, budget: Option<&Budget>) -> Result<(), Status> {
        self.reserve(1, budget)?;
        self.admit(element.as_ref())?;
        self.elements.push(element);
        Ok(())
    }

    /// Removes the last place.
    pub(super) fn pop(&mut self) -> Option<Option<Tensor>> {
        let last = self.elements.pop();
        if self.elements.is_empty() {
            self.depth = 1;
        }
        last
    }

    /// Sets an element; one past the end is ignored.
    pub(super) fn set(&mut self, i: usize, element: Tensor) -> Result<(), Status> {
        self.admit(Some(&element))?;
        if let Some(place) = self.elements.get_mut(i) {
            *place = Some(element);
        }
        Ok(())
    }

    /// Counts how deep lists lie within each other.
    fn admit(&mut self, element: Option<&Tensor>) -> Result<(), Status> {
        let Some(variants) = element.and_then(|e| e.variants().ok()) else { return Ok(()) };
        let depth = 1 + variants.iter().map(Variant::depth).max().unwrap_or(0);
        if depth > DEPTH_MAX {
            return Err(Status::resource_exhausted(format_args!("lists lie more than {DEPTH_MAX} deep in each other")));
        }
        self.depth = self.depth.max(depth);
        Ok(())
    }

    /// A list of its own with the same elements.
    pub(super) fn copy(&self, budget: Option<&Budget>) -> Result<TensorList, Status> {
        let mut copy = TensorList::new(self.dtype, self.element_shape.clone(), self.max_elements);
        copy.reserve(self.len(), budget)?;
        copy.elements.extend_from_slice(&self.elements);
        copy.depth = self.depth;
        Ok(copy)
    }

    /// The element shape merged with those of the elements that are set, out of `of`.
    pub(super) fn merged_shape(
        &self,
        mut shape: PartialShape,
        of: impl Iterator<Item = usize>,
    ) -> Result<PartialShape, Status> {
        for element in of.filter_map(|i| self.elements.get(i)?.as_ref()) {
            if !shape.admits(element.shape()) {
                return Err(incompatible(&shape, element.shape()));
            }
            if shape.to_shape().is_none() {
                shape = element.shape().into();
            }
        }
        Ok(shape)
    }
}

#[cold]
pub(super) fn incompatible(shape: &PartialShape, other: &Shape) -> Status {
    Status::invalid_argument(format_args!("Incompatible shapes during merge: {shape} vs. {other}"))
}

impl VariantValue for TensorList {
    fn type_name(&self) -> &'static str {
        "tensorflow::TensorList"
    }

    fn depth(&self) -> u32 {
        self.depth
    }

    fn zeros_like(&self, budget: Option<&Budget>) -> Result<Variant, Status> {
        let mut zeros = TensorList::new(self.dtype, self.element_shape.clone(), -1);
        for element in &self.elements {
            let zero = match element {
                None => None,
                Some(element) => match element.variants() {
                    Ok(variants) => Some(zero_variants(element.shape(), variants, budget)?),
                    Err(_) if is_number(element.dtype()) => {
                        Some(Tensor::zeros(element.dtype(), element.shape(), budget)?)
                    }
                    Err(_) => {
                        return Err(Status::invalid_argument(format_args!(
                            "Trying to compute zeros_like for unsupported dtype {}",
                            element.dtype()
                        )));
                    }
                },
            };
            zeros.push(zero, budget)?;
        }
        Ok(Variant::new(zeros))
    }

    fn add(&self, other: &Variant, budget: Option<&Budget>) -> Result<Variant, Status> {
        let Some(other) = other.value::<TensorList>() else {
            return Err(Status::internal("BinaryOpVariants: a list is added to something else"));
        };
        if self.dtype != other.dtype {
            return Err(Status::invalid_argument(format_args!(
                "Trying to add two lists of tensors of different dtypes. One is {} and the other is {}",
                self.dtype, other.dtype
            )));
        }
        let Some(shape) = self.element_shape.merge(&other.element_shape) else {
            return Err(Status::invalid_argument(format_args!(
                "Trying to add two lists of tensors with incompatible element shapes. One is {} and the other is {}",
                self.element_shape, other.element_shape
            )));
        };
        if self.len() != other.len() {
            return Err(Status::invalid_argument(format_args!(
                "Trying to add two lists of tensors with different lengths. One is {} and the other is {}",
                self.len(),
                other.len()
            )));
        }
        let mut sum = TensorList::new(self.dtype, shape, -1);
        for (a, b) in self.elements.iter().zip(&other.elements) {
            let element = match (a, b) {
                (Some(a), Some(b)) => Some(add_tensors(a, b, budget)?),
                (a, b) => a.clone().or_else(|| b.clone()),
            };
            sum.push(element, budget)?;
        }
        Ok(Variant::new(sum))
    }
}

/// Whether a list of these has zeros.
fn is_number(dtype: DType) -> bool {
    let quantised = [DType::Qint8, DType::Quint8, DType::Qint16, DType::Quint16, DType::Qint32];
    dtype.is_plain() && !quantised.contains(&dtype)
}

/// Zeros like each of some variants. Recurses as deep as lists lie in each other, which is bounded.
pub(super) fn zero_variants(shape: &Shape, variants: &[Variant], budget: Option<&Budget>) -> Result<Tensor, Status> {
    let zeros = variants.iter().map(|v| match v.any() {
        Some(value) => value.zeros_like(budget),
        None => Ok(Variant::default()),
    });
    Tensor::from_variants(shape.clone(), zeros.collect::<Result<Vec<_>, _>>()?)
}

/// The sum of two tensors of one dtype that is known only now.
///
/// # Errors
/// INVALID_ARGUMENT for different shapes or a dtype without sums.
pub(super) fn add_tensors(a: &Tensor, b: &Tensor, budget: Option<&Budget>) -> Result<Tensor, Status> {
    if a.shape() != b.shape() || a.dtype() != b.dtype() {
        return Err(Status::invalid_argument(format_args!(
            "Trying to add two tensors with incompatible element shapes. One is {} and the other is {}",
            a.shape(),
            b.shape()
        )));
    }
    if let (Ok(x), Ok(y)) = (a.variants(), b.variants()) {
        let sums = x.iter().zip(y).map(|(x, y)| match x.any() {
            Some(value) => value.add(y, budget),
            None => Ok(y.clone()),
        });
        return Tensor::from_variants(a.shape().clone(), sums.collect::<Result<Vec<_>, _>>()?);
    }
    let dtype = a.dtype();
    with_type!(dtype, NUMBERS, T => return sum::<T>(a, b, budget));
    Err(Status::invalid_argument(format_args!("Trying to add unsupported dtype {dtype}")))
}

fn sum<T: Value + Number>(a: &Tensor, b: &Tensor, budget: Option<&Budget>) -> Result<Tensor, Status> {
    let mut sum = Tensor::zeros(T::DTYPE, a.shape(), budget)?;
    let (x, y) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
    sum.make_mut::<T>()?.iter_mut().zip(x.iter().zip(y)).for_each(|(o, (x, y))| *o = x.plus(*y));
    Ok(sum)
}

/// The rows of a tensor as elements.
///
/// # Errors
/// As [`rows::row`].
pub(super) fn push_rows(list: &mut TensorList, t: &Tensor, budget: Option<&Budget>) -> Result<(), Status> {
    let (count, _) = rows::below(t.shape())?;
    list.reserve(count, budget)?;
    (0..count).try_for_each(|i| list.push(Some(rows::row(t, i, budget)?), budget))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use crate::ops::testing::tensor;

    fn list(elements: &[Option<f32>]) -> TensorList {
        let mut list = TensorList::new(DType::Float, PartialShape::new(&[]), -1);
        elements.iter().for_each(|e| list.push(e.map(Tensor::scalar), None).unwrap());
        list
    }

    /// Sums go by element; one that is not set counts as zero.
    #[test]
    fn sums() {
        let (a, b) = (list(&[Some(1.0), None, Some(2.0)]), Variant::new(list(&[Some(3.0), Some(4.0), None])));
        let sum = a.add(&b, None).unwrap();
        let sum = sum.value::<TensorList>().unwrap();
        let values: Vec<f32> = sum.elements().iter().map(|e| e.as_ref().unwrap().to_scalar().unwrap()).collect();
        assert_eq!(values, [4.0, 4.0, 2.0]);
        assert!(a.add(&Variant::new(list(&[None])), None).is_err());
        assert!(a.add(&Variant::default(), None).is_err());
        let zeros = a.zeros_like(None).unwrap();
        let zeros = zeros.value::<TensorList>().unwrap();
        assert!(zeros.elements()[1].is_none());
        assert_eq!(zeros.elements()[2].as_ref().unwrap().to_scalar::<f32>().unwrap(), 0.0);
    }

    /// Places are charged, copies too, and all is given back; a list too long is refused before memory is taken.
    #[test]
    fn memory() {
        let budget = Budget::new("test", 1 << 20);
        let mut list = TensorList::new(DType::Float, PartialShape::unknown(), -1);
        list.resize(1000, Some(&budget)).unwrap();
        let used = budget.used();
        assert!(used >= 1000 * size_of::<Option<Tensor>>());
        let copy = list.copy(Some(&budget)).unwrap();
        assert_eq!(budget.used(), 2 * used);
        assert_eq!(list.resize(1 << 20, Some(&budget)).unwrap_err().code(), Code::ResourceExhausted);
        assert_eq!(list.resize(usize::MAX, None).unwrap_err().code(), Code::ResourceExhausted);
        drop((list, copy));
        assert_eq!(budget.used(), 0);
    }

    /// Lists in lists have an end.
    #[test]
    fn depth() {
        let mut inner = Variant::new(list(&[]));
        for _ in 1..DEPTH_MAX {
            let mut outer = TensorList::new(DType::Variant, PartialShape::unknown(), -1);
            outer.push(Some(Tensor::from_variants(Shape::scalar(), alloc::vec![inner]).unwrap()), None).unwrap();
            inner = Variant::new(outer);
        }
        let inner = Tensor::from_variants(Shape::scalar(), alloc::vec![inner]).unwrap();
        let mut outer = TensorList::new(DType::Variant, PartialShape::unknown(), -1);
        assert_eq!(outer.push(Some(inner), None).unwrap_err().code(), Code::ResourceExhausted);
        outer.push(Some(tensor(&[1], &[1.0f32])), None).unwrap();
        assert_eq!(outer.depth(), 1);
    }
}
