//! Shape functions: what is known of output shapes before anything runs.

use alloc::vec::Vec;

use crate::Status;
use crate::graph::{Node, PartialShape};
use crate::tensor::Tensor;

/// Derives the output shapes of a node.
///
/// # Errors
/// INVALID_ARGUMENT when the input shapes cannot be right.
pub type ShapeFn = fn(&ShapeContext<'_>) -> Result<Vec<PartialShape>, Status>;

/// What a shape function sees.
pub struct ShapeContext<'a> {
    /// The node.
    pub node: &'a Node,
    /// What is known of the inputs' shapes.
    pub inputs: &'a [PartialShape],
    /// The inputs' values where they are constants.
    pub constants: &'a [Option<Tensor>],
}

impl ShapeContext<'_> {
    /// What is known of input `i`'s shape; unknown for an absent one.
    pub fn input(&self, i: usize) -> PartialShape {
        self.inputs.get(i).cloned().unwrap_or_default()
    }

    /// The integers of input `i` when it is a constant.
    pub fn constant(&self, i: usize) -> Option<Vec<i64>> {
        self.constants.get(i)?.as_ref()?.to_i64_vec().ok()
    }
}

/// Nothing is known of any output.
///
/// # Errors
/// None.
pub fn unknown(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    Ok(c.node.output_types.iter().map(|_| PartialShape::unknown()).collect())
}

/// Every output is a scalar.
///
/// # Errors
/// None.
pub fn scalar(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    Ok(c.node.output_types.iter().map(|_| PartialShape::new(&[])).collect())
}

/// Every output has the shape of the first input.
///
/// # Errors
/// None.
pub fn unchanged(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    Ok(c.node.output_types.iter().map(|_| c.input(0)).collect())
}

/// The output has the shape of the two inputs broadcast against each other.
///
/// # Errors
/// INVALID_ARGUMENT when known dimensions do not broadcast.
pub fn broadcast(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let (a, b) = (c.input(0), c.input(1));
    let (Some(a), Some(b)) = (a.dims, b.dims) else { return unknown(c) };
    let rank = a.len().max(b.len());
    let at =
        |dims: &[i64], i: usize| (i + dims.len()).checked_sub(rank).and_then(|k| dims.get(k).copied()).unwrap_or(1);
    let dims = (0..rank)
        .map(|i| match (at(&a, i), at(&b, i)) {
            (x, y) if x == y => Ok(x),
            (1, y) => Ok(y),
            (x, 1) => Ok(x),
            // An unknown dimension against one above 1 can only be that one, or 1.
            (-1, y) => Ok(y),
            (x, -1) => Ok(x),
            (x, y) => Err(Status::invalid_argument(format_args!("dimensions {x} and {y} do not broadcast"))),
        })
        .collect::<Result<Vec<i64>, Status>>()?;
    Ok(c.node.output_types.iter().map(|_| PartialShape { dims: Some(dims.clone()) }).collect())
}
