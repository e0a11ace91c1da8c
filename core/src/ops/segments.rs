//! Rows gathered into segments by their ids, in any order: sums, products and extremes.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dispatch::*;
use super::scatter::Update;
use super::shape::{self, ShapeContext};
use super::shapes::scalar_int;
use super::{Ctx, Kernel, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::binary::{self as k, run_in_place};
use crate::kernels::element::{Element as _, Float, Integer, Number, Real};
use crate::tensor::{RANK_MAX, Shape};

/// This family.
pub static OPS: &[&Op] = &[&UNSORTED_SEGMENT_SUM, &UNSORTED_SEGMENT_PROD, &UNSORTED_SEGMENT_MAX, &UNSORTED_SEGMENT_MIN];

const ARGS: &str = "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T";
macro_rules! number {
    ($indices:literal) => {
        concat!(
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, \
             quint16, uint16, complex128, half, uint32, uint64}; Tindices: {",
            $indices,
            "}; Tnumsegments: {int32, int64} = int32"
        )
    };
}
const REAL: &str = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; \
    Tindices: {int32, int64}; Tnumsegments: {int32, int64} = int32";

static UNSORTED_SEGMENT_SUM: Op = Op::new("UnsortedSegmentSum", ARGS, number!("int16, int32, int64"))
    .shape(segments_shape)
    .kernel(&[("T", NUMBERS), ("Tindices", GATHER_INDICES), ("Tnumsegments", INDICES)], |node| {
        dispatch!(node, "Tindices", GATHER_INDICES I => dispatch!(
            node, "T", NUMBERS T => segments::<T, I>(T::ZERO, run_in_place::<k::Add, T>)
        ))
    });
static UNSORTED_SEGMENT_PROD: Op = Op::new("UnsortedSegmentProd", ARGS, number!("int32, int64"))
    .shape(segments_shape)
    .kernel(&[("T", NUMBERS), ("Tindices", INDICES), ("Tnumsegments", INDICES)], |node| {
        dispatch!(node, "Tindices", INDICES I => dispatch!(
            node, "T", NUMBERS T => segments::<T, I>(T::ONE, run_in_place::<k::Mul, T>)
        ))
    });
static UNSORTED_SEGMENT_MAX: Op = Op::new("UnsortedSegmentMax", ARGS, REAL).shape(segments_shape).kernel(
    &[("T", REALS), ("Tindices", INDICES), ("Tnumsegments", INDICES)],
    |node| {
        dispatch!(node, "Tindices", INDICES I => dispatch!(
            node, "T",
            INTEGERS T => segments::<T, I>(<T as Real>::LOWEST, run_in_place::<k::Maximum, T>),
            FLOATS T => segments::<T, I>(<T as Float>::MIN, run_in_place::<k::Maximum, T>),
        ))
    },
);
static UNSORTED_SEGMENT_MIN: Op = Op::new("UnsortedSegmentMin", ARGS, REAL).shape(segments_shape).kernel(
    &[("T", REALS), ("Tindices", INDICES), ("Tnumsegments", INDICES)],
    |node| {
        dispatch!(node, "Tindices", INDICES I => dispatch!(
            node, "T",
            INTEGERS T => segments::<T, I>(<T as Real>::HIGHEST, run_in_place::<k::Minimum, T>),
            FLOATS T => segments::<T, I>(<T as Float>::MIN.negated(), run_in_place::<k::Minimum, T>),
        ))
    },
);

fn segments_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let (Some(data), Some(ids)) = (c.input(0).dims, c.input(1).dims) else { return shape::unknown(c) };
    let count = c.constant(2).filter(|n| n.len() == 1 && n[0] >= 0).map_or(-1, |n| n[0]);
    let Some(rest) = data.get(ids.len()..) else { return shape::unknown(c) };
    Ok(alloc::vec![PartialShape { dims: Some(core::iter::once(count).chain(rest.iter().copied()).collect()) }])
}

/// Segments that start as `empty`; rows of negative ids are dropped.
fn segments<T: Value + Number, I: Value + Integer>(empty: T, update: Update<T>) -> Result<Box<dyn Kernel>, Status> {
    kernel(move |c: &mut Ctx<'_>| {
        let (data, ids) = (c.input(0).shape(), c.input(1).shape());
        let count = scalar_int(c.input(2), "num_segments")?;
        let rest = data.dims().get(ids.rank()..).filter(|_| data.dims().starts_with(ids.dims())).ok_or_else(|| {
            Status::invalid_argument(format_args!("data.shape = {data} does not start with segment_ids.shape = {ids}"))
        })?;
        let count = usize::try_from(count).map_err(|_| {
            Status::invalid_argument(format_args!("Input num_segments == {count} must not be negative."))
        })?;
        let mut dims = heapless::Vec::<usize, { RANK_MAX + 1 }>::new();
        // The rest of a shape and one more always fit.
        dims.extend(core::iter::once(count).chain(rest.iter().map(|&d| d as usize)));
        let inner: usize = rest.iter().map(|&d| d as usize).product();
        let mut out = c.output(0, T::DTYPE, &Shape::new(&dims)?)?;
        let to = out.make_mut::<T>()?;
        to.fill(empty);
        let (rows, ids) = (c.input(0).as_slice::<T>()?, c.input(1).as_slice::<I>()?);
        for (i, id) in ids.iter().enumerate() {
            let Some(id) = id.to_index() else { continue };
            if id >= count {
                return Err(Status::invalid_argument(format_args!(
                    "segment_ids[{i}] = {id} is out of range [0, {count})"
                )));
            }
            if inner > 0
                && let (Some(to), Some(from)) =
                    (to.get_mut(id * inner..(id + 1) * inner), rows.get(i * inner..(i + 1) * inner))
            {
                update(to, from)?;
            }
        }
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::ops::testing::{run, tensor};

    /// Each op on rows with a dropped and an empty segment; ids beyond the last are refused.
    #[test]
    fn unsorted() {
        let x = tensor(&[3, 2], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let go = |op: &str, ids: [i32; 3]| run(op, &[], &[x.clone(), tensor(&[3], &ids), 2i32.into()]);
        let cases = [
            ("UnsortedSegmentSum", [0.0, 0.0, 6.0, 8.0]),
            ("UnsortedSegmentProd", [1.0, 1.0, 5.0, 12.0]),
            ("UnsortedSegmentMax", [f32::MIN, f32::MIN, 5.0, 6.0]),
            ("UnsortedSegmentMin", [f32::MAX, f32::MAX, 1.0, 2.0]),
        ];
        for (op, want) in cases {
            assert_eq!(go(op, [1, -1, 1]).unwrap()[0].as_slice::<f32>().unwrap(), want, "{op}");
            assert_eq!(go(op, [1, 2, 1]).unwrap_err().code(), Code::InvalidArgument, "{op}");
        }
        let short = run("UnsortedSegmentSum", &[], &[x, tensor(&[2], &[0i32; 2]), 2i32.into()]);
        assert_eq!(short.unwrap_err().code(), Code::InvalidArgument);
    }
}
