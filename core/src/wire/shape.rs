//! Dtypes and shapes as messages say them, to native ones and back.

use super::generated::{TensorShapeProto, tensor_shape_proto};
use crate::Status;
use crate::graph::PartialShape;
use crate::tensor::{DType, RANK_MAX, Shape, ShapeError};

/// The most dimensions TensorFlow itself takes.
const WIRE_RANK_MAX: usize = 254;

/// The dtype of a number from a message.
///
/// # Errors
/// INVALID_ARGUMENT for 0, a reference, or a number that is no dtype; the message tells which.
pub fn dtype_from_proto(number: i32) -> Result<DType, Status> {
    match DType::from_number_or_ref(number) {
        Some((dtype, false)) => Ok(dtype),
        Some((dtype, true)) => {
            Err(Status::invalid_argument(format_args!("{dtype}_ref is a reference and no dtype of values")))
        }
        None if number == 0 => Err(Status::invalid_argument("the dtype is not set (DT_INVALID)")),
        None => Err(Status::invalid_argument(format_args!("{number} is no dtype"))),
    }
}

/// The shape of a tensor that exists: every dimension known. An unknown rank without dimensions is a scalar.
///
/// # Errors
/// INVALID_ARGUMENT for a negative or too large dimension, for too many of them, and where the elements are more than
/// the address space holds.
pub fn shape_from_proto(shape: &TensorShapeProto) -> Result<Shape, Status> {
    check_rank(shape)?;
    let mut dims = heapless::Vec::<i64, RANK_MAX>::new();
    for dim in &shape.dim {
        if dims.push(dim.size).is_err() {
            return Err(ShapeError::Rank(shape.dim.len()).into());
        }
    }
    Ok(Shape::from_i64(&dims)?)
}

/// The message of a shape.
pub fn shape_to_proto(shape: &Shape) -> TensorShapeProto {
    let dim = |&size: &u32| tensor_shape_proto::Dim { size: size.into(), ..Default::default() };
    TensorShapeProto { dim: shape.dims().iter().map(dim).collect(), unknown_rank: false }
}

/// The shape of an attribute, which may be unknown in part or wholly, and of any rank that TensorFlow takes.
///
/// # Errors
/// INVALID_ARGUMENT for a dimension below −1, for too many of them, and for any where the rank is unknown.
pub fn partial_shape_from_proto(shape: &TensorShapeProto) -> Result<PartialShape, Status> {
    check_rank(shape)?;
    if let Some(dim) = shape.dim.iter().find(|dim| dim.size < -1) {
        return Err(Status::invalid_argument(format_args!("dimension {} is below -1, which is unknown", dim.size)));
    }
    match (shape.unknown_rank, shape.dim.is_empty()) {
        (true, true) => Ok(PartialShape::unknown()),
        (true, false) => Err(Status::invalid_argument("a shape of unknown rank has dimensions")),
        (false, _) => Ok(PartialShape { dims: Some(shape.dim.iter().map(|dim| dim.size).collect()) }),
    }
}

/// The message of a shape that may be unknown.
pub fn partial_shape_to_proto(shape: &PartialShape) -> TensorShapeProto {
    let dim = |&size: &i64| tensor_shape_proto::Dim { size, ..Default::default() };
    match &shape.dims {
        Some(dims) => TensorShapeProto { dim: dims.iter().map(dim).collect(), unknown_rank: false },
        None => TensorShapeProto { unknown_rank: true, ..Default::default() },
    }
}

fn check_rank(shape: &TensorShapeProto) -> Result<(), Status> {
    match shape.dim.len() {
        ..=WIRE_RANK_MAX => Ok(()),
        rank => Err(Status::invalid_argument(format_args!("a shape of {rank} dimensions; at most 254 are valid"))),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::Code;

    fn proto(dims: &[i64]) -> TensorShapeProto {
        let dim = |&size: &i64| tensor_shape_proto::Dim { size, name: "n".into() };
        TensorShapeProto { dim: dims.iter().map(dim).collect(), unknown_rank: false }
    }

    #[test]
    fn dtypes() {
        for &dtype in DType::ALL {
            assert_eq!(dtype_from_proto(dtype.number()), Ok(dtype));
            let reference = dtype_from_proto(dtype.number() + 100).unwrap_err();
            assert!(reference.message().contains("reference"), "{reference}");
        }
        for (number, said) in [(0, "not set"), (34, "34 is no dtype"), (-1, "-1"), (i32::MIN, "no dtype")] {
            let error = dtype_from_proto(number).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument);
            assert!(error.message().contains(said), "{error}");
        }
    }

    /// Shapes come back as they were; names of dimensions are dropped.
    #[test]
    fn shapes() {
        for dims in [&[][..], &[0], &[2, 3], &[1, 0, 4_000_000_000], &[1, 2, 1, 2, 1, 2, 1, 2]] {
            let shape = shape_from_proto(&proto(dims)).unwrap();
            let sizes: Vec<i64> = shape_to_proto(&shape).dim.iter().map(|dim| dim.size).collect();
            assert_eq!(sizes, dims);
        }
        let unknown = TensorShapeProto { dim: Vec::new(), unknown_rank: true };
        assert_eq!(shape_from_proto(&unknown).unwrap(), Shape::scalar());
    }

    #[test]
    fn refusals() {
        let cases: &[(&[i64], &str)] = &[
            (&[-1], "dimension -1 is negative"),
            (&[0, -5], "dimension -5 is negative"),
            (&[1 << 40], "1099511627776"),
            (&[1 << 31, 1 << 31, 1 << 31], "too large"),
            (&[1; 9], "rank 9"),
            (&[1; 254], "rank 254"),
            (&[1; 255], "255 dimensions"),
        ];
        for (dims, said) in cases {
            let error = shape_from_proto(&proto(dims)).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument);
            assert!(error.message().contains(said), "{error}");
        }
    }

    /// Unknown ranks and dimensions, and ranks that no tensor here has.
    #[test]
    fn partial_shapes() {
        for dims in [&[][..], &[-1], &[2, -1, 0], &[1; 254]] {
            let shape = partial_shape_from_proto(&proto(dims)).unwrap();
            assert_eq!(shape, PartialShape::new(dims));
            assert_eq!(partial_shape_from_proto(&partial_shape_to_proto(&shape)).unwrap(), shape);
        }
        let unknown = TensorShapeProto { dim: Vec::new(), unknown_rank: true };
        assert_eq!(partial_shape_from_proto(&unknown).unwrap(), PartialShape::unknown());
        assert_eq!(partial_shape_to_proto(&PartialShape::unknown()), unknown);
        let both = TensorShapeProto { unknown_rank: true, ..proto(&[1]) };
        for refused in [proto(&[-2]), proto(&[1; 255]), both] {
            assert_eq!(partial_shape_from_proto(&refused).unwrap_err().code(), Code::InvalidArgument);
        }
    }
}
