//! Whole elements of collections as parts of tensors: cut out of the outermost dimension, and put together again.
//!
//! Lists, tensor arrays, stacks and queues hold tensors whose dtype is known only when a kernel runs.

use super::carry::Carried;
use crate::Status;
use crate::tensor::{Budget, DType, Shape, Str, Tensor, Variant};

/// The shape below the outermost dimension, and the size of that.
///
/// # Errors
/// INVALID_ARGUMENT for a scalar.
pub(super) fn below(shape: &Shape) -> Result<(usize, Shape), Status> {
    match shape.to_usize().split_first() {
        Some((&first, rest)) => Ok((first, Shape::new(rest)?)),
        None => Err(Status::invalid_argument("Tensor must be at least a vector, but saw shape: []")),
    }
}

/// A shape with one dimension more, the outermost.
///
/// # Errors
/// INVALID_ARGUMENT when it is no shape any more.
pub(super) fn above(count: usize, shape: &Shape) -> Result<Shape, Status> {
    let mut dims = heapless::Vec::<usize, { crate::tensor::RANK_MAX + 1 }>::new();
    // A shape's dimensions and one more fit.
    let _ = (dims.push(count), dims.extend_from_slice(&shape.to_usize()));
    Ok(Shape::new(&dims)?)
}

/// Copies all elements of `part` to those of `whole` that begin at number `at`. The dtypes are the same and the elements
/// fit; what does not is left out.
///
/// # Errors
/// INTERNAL for a dtype without elements of its own to write.
pub(super) fn put(whole: &mut Tensor, at: usize, part: &Tensor) -> Result<(), Status> {
    fn copy<C: Carried>(whole: &mut Tensor, at: usize, part: &Tensor) -> Result<(), Status> {
        let from = C::read(part)?;
        if let Some(to) = C::write(whole)?.get_mut(at..at + from.len()) {
            to.clone_from_slice(from);
        }
        Ok(())
    }
    match whole.dtype() {
        DType::Bool => copy::<bool>(whole, at, part),
        DType::String => copy::<Str>(whole, at, part),
        DType::Variant => copy::<Variant>(whole, at, part),
        dtype => {
            let size = dtype.size();
            let from = part.bytes();
            let to = whole.bytes_mut().and_then(|b| b.get_mut(at * size..at * size + from.len()));
            match to {
                Some(to) => to.copy_from_slice(from),
                None if from.is_empty() => {}
                None => return Err(Status::internal(format_args!("elements of {dtype} were put where none fit"))),
            }
            Ok(())
        }
    }
}

/// Copies `part` into the corner of a box of shape `outer` whose elements begin at number `at` of `whole`; what the box has
/// beyond stays. Their ranks are the same, and the part is nowhere larger than the box.
///
/// # Errors
/// INTERNAL when they are not; else as [`put`].
pub(super) fn put_within(whole: &mut Tensor, at: usize, outer: &Shape, part: &Tensor) -> Result<(), Status> {
    let (outer, inner) = (outer.to_usize(), part.shape().to_usize());
    if outer.len() != inner.len() || inner.iter().zip(&outer).any(|(i, o)| i > o) {
        return Err(Status::internal(format_args!("an element of shape {} does not fit in its place", part.shape())));
    }
    let Some((&row, above)) = inner.split_last() else { return put(whole, at, part) };
    if part.num_elements() == 0 {
        return Ok(());
    }
    let line = Shape::new(&[row])?;
    let lines: usize = above.iter().product();
    for number in 0..lines {
        // The place of this line in the box, from its place in the part.
        let (mut rest, mut to, mut stride) = (number, 0, outer.last().copied().unwrap_or(1));
        for (axis, &len) in above.iter().enumerate().rev() {
            to += rest % len * stride;
            rest /= len;
            stride *= outer.get(axis).copied().unwrap_or(1);
        }
        put(whole, at + to, &cut(part, number * row, &line, None)?)?;
    }
    Ok(())
}

/// A tensor of `shape` with the elements of `whole` from number `at` on, in memory of its own.
///
/// # Errors
/// RESOURCE_EXHAUSTED when memory or budget is used up; INVALID_ARGUMENT when there are not as many elements.
pub(super) fn cut(whole: &Tensor, at: usize, shape: &Shape, budget: Option<&Budget>) -> Result<Tensor, Status> {
    fn copy<C: Carried>(whole: &Tensor, at: usize, part: &mut Tensor) -> Result<(), Status> {
        let to = C::write(part)?;
        let from = C::read(whole)?.get(at..at + to.len());
        to.clone_from_slice(from.ok_or_else(|| Status::invalid_argument("a part past the end of a tensor"))?);
        Ok(())
    }
    if whole.dtype() == DType::Resource {
        let handles = whole.resources()?.get(at..at + shape.num_elements()).unwrap_or_default();
        return Tensor::from_resources(shape.clone(), handles.to_vec());
    }
    let mut part = Tensor::zeros(whole.dtype(), shape, budget)?;
    match whole.dtype() {
        DType::Bool => copy::<bool>(whole, at, &mut part)?,
        DType::String => copy::<Str>(whole, at, &mut part)?,
        DType::Variant => copy::<Variant>(whole, at, &mut part)?,
        dtype => {
            let size = dtype.size();
            let from = whole.bytes().get(at * size..(at + shape.num_elements()) * size);
            let from = from.ok_or_else(|| Status::invalid_argument("a part past the end of a tensor"))?;
            if let Some(to) = part.bytes_mut() {
                to.copy_from_slice(from);
            }
        }
    }
    Ok(part)
}

/// Row `i` of the outermost dimension, without that dimension, in memory of its own.
///
/// # Errors
/// As [`below`] and [`cut`].
pub(super) fn row(whole: &Tensor, i: usize, budget: Option<&Budget>) -> Result<Tensor, Status> {
    let (_, shape) = below(whole.shape())?;
    cut(whole, i * shape.num_elements(), &shape, budget)
}

/// Sets elements `at..at + count` to zeros (empty strings, empty variants).
///
/// # Errors
/// As [`put`].
pub(super) fn clear(whole: &mut Tensor, at: usize, count: usize) -> Result<(), Status> {
    fn fill<C: Carried>(whole: &mut Tensor, at: usize, count: usize) -> Result<(), Status> {
        if let Some(to) = C::write(whole)?.get_mut(at..at + count) {
            to.fill(C::default());
        }
        Ok(())
    }
    match whole.dtype() {
        DType::Bool => fill::<bool>(whole, at, count),
        DType::String => fill::<Str>(whole, at, count),
        DType::Variant => fill::<Variant>(whole, at, count),
        dtype => {
            let size = dtype.size();
            if let Some(to) = whole.bytes_mut().and_then(|b| b.get_mut(at * size..(at + count) * size)) {
                to.fill(0);
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{strings, tensor};

    /// What is cut out and put back is what was there, for each kind of element.
    #[test]
    fn there_and_back() {
        let wholes = [
            tensor(&[3, 2], &[1i32, 2, 3, 4, 5, 6]),
            tensor(&[3, 1], &[true, false, true]),
            strings(&[3], &["a", "b", "c"]),
            tensor(&[3, 0], &[] as &[f64]),
        ];
        for whole in wholes {
            let (count, shape) = below(whole.shape()).unwrap();
            let mut copy = Tensor::zeros(whole.dtype(), &above(count, &shape).unwrap(), None).unwrap();
            for i in 0..count {
                let part = row(&whole, i, None).unwrap();
                assert_eq!(part.shape(), &shape);
                put(&mut copy, i * shape.num_elements(), &part).unwrap();
            }
            assert_eq!(copy.bytes(), whole.bytes());
            assert_eq!(copy.strings().ok(), whole.strings().ok());
            assert!(cut(&whole, 1, &above(7, &shape).unwrap(), None).is_err() || shape.num_elements() == 0);
            clear(&mut copy, 0, shape.num_elements()).unwrap();
            assert!(copy.bytes().iter().take(shape.num_elements() * whole.dtype().size()).all(|&b| b == 0));
        }
        assert!(below(&Shape::scalar()).is_err());
    }

    /// A part lies in the corner of its box, line by line.
    #[test]
    fn corners() {
        let mut whole = tensor(&[2, 2, 3], &[0i32; 12]);
        let outer = Shape::new(&[2, 3]).unwrap();
        put_within(&mut whole, 6, &outer, &tensor(&[2, 2], &[1, 2, 3, 4])).unwrap();
        put_within(&mut whole, 0, &outer, &tensor(&[1, 3], &[7, 8, 9])).unwrap();
        put_within(&mut whole, 0, &outer, &tensor(&[0, 3], &[] as &[i32])).unwrap();
        assert_eq!(whole.as_slice::<i32>().unwrap(), [7, 8, 9, 0, 0, 0, 1, 2, 0, 3, 4, 0]);
        assert!(put_within(&mut whole, 0, &outer, &tensor(&[3, 1], &[7, 8, 9])).is_err());
    }
}
