//! The largest entries of each row.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::shapes::scalar_int;
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::element::{Integer, Real};
use crate::tensor::Shape;

/// This family.
pub static OPS: &[&Op] = &[&TOP_K, &TOP_K_V2];

static TOP_K: Op = Op::new(
    "TopK",
    "input: T -> values: T, indices: int32",
    "k: int >= 0; sorted: bool = true; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, \
        uint32, uint64}",
)
.shape(top_shape)
.kernel(&[("T", REALS)], |node| dispatch!(node, "T", REALS T => top::<T, i32>(node)));
static TOP_K_V2: Op = Op::new(
    "TopKV2",
    "input: T, k: Tk -> values: T, indices: index_type",
    "sorted: bool = true; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; \
        Tk: {int16, int32, int64} = int32; index_type: {int16, int32, int64} = int32",
)
.shape(top_shape)
.kernel(&[("T", REALS), ("index_type", GATHER_INDICES)], |node| {
    dispatch!(node, "index_type", GATHER_INDICES I => dispatch!(node, "T", REALS T => top::<T, I>(node)))
});

fn top_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let Some(mut dims) = c.input(0).dims else { return shape::unknown(c) };
    let k = match c.node.attrs.int("k") {
        Ok(k) => k,
        Err(_) => c.constant(1).filter(|k| k.len() == 1 && k[0] >= 0).map_or(-1, |k| k[0]),
    };
    if let Some(last) = dims.last_mut() {
        *last = k;
    }
    let shape = PartialShape { dims: Some(dims) };
    Ok(alloc::vec![shape.clone(), shape])
}

/// The order of a result: larger values first, of equal ones the first; what is no number stands last.
fn order<T: Real>(row: &[T], a: i32, b: i32) -> Ordering {
    let at = |i: i32| usize::try_from(i).ok().and_then(|i| row.get(i)).copied().unwrap_or(T::LOWEST);
    let (x, y) = (at(a), at(b));
    x.is_nan().cmp(&y.is_nan()).then(y.partial_cmp(&x).unwrap_or(Ordering::Equal)).then(a.cmp(&b))
}

fn top<T: Value + Real, I: Value + Integer>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let fixed = node.attrs().int("k").ok();
    kernel(move |c: &mut Ctx<'_>| {
        let k = match fixed {
            Some(k) => k,
            None => scalar_int(c.input(1), "k")?,
        };
        let shape = c.input(0).shape();
        let Some(last) = shape.rank().checked_sub(1) else {
            return Err(Status::invalid_argument(format_args!("input must be >= 1-D, got shape {shape}")));
        };
        let columns = shape.dim(last);
        let k = usize::try_from(k).map_err(|_| Status::invalid_argument(format_args!("Need k >= 0, got {k}")))?;
        if k > columns {
            return Err(Status::invalid_argument(format_args!(
                "input must have at least k columns. Had {columns}, needed {k}"
            )));
        }
        let count = i32::try_from(columns)
            .map_err(|_| Status::invalid_argument(format_args!("{columns} columns are more than an index counts")))?;
        let mut dims = shape.to_usize();
        if let Some(last) = dims.last_mut() {
            *last = k;
        }
        let shape = Shape::new(&dims)?;
        let mut places = c.scratch::<i32>(columns)?;
        let mut values = c.output(0, T::DTYPE, &shape)?;
        let mut indices = c.output(1, I::DTYPE, &shape)?;
        if k > 0 {
            let rows = c.input(0).as_slice::<T>()?.chunks_exact(columns);
            let outputs = values.make_mut::<T>()?.chunks_exact_mut(k).zip(indices.make_mut::<I>()?.chunks_exact_mut(k));
            let places = places.make_mut::<i32>()?;
            for (row, (values, indices)) in rows.zip(outputs) {
                places.iter_mut().zip(0..count).for_each(|(p, i)| *p = i);
                if k < columns {
                    places.select_nth_unstable_by(k, |&a, &b| order(row, a, b));
                }
                let best = places.get_mut(..k).unwrap_or_default();
                best.sort_unstable_by(|&a, &b| order(row, a, b));
                for ((v, i), &p) in values.iter_mut().zip(indices).zip(&*best) {
                    *v = usize::try_from(p).ok().and_then(|p| row.get(p)).copied().unwrap_or(T::LOWEST);
                    *i = I::from_i64(i64::from(p));
                }
            }
        }
        c.give_scratch(places);
        c.set(0, values);
        c.set(1, indices);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, tensor};

    /// Rows with equal values and NaN, both spellings, and more than there is.
    #[test]
    fn tops() {
        let x = tensor(&[2, 3], &[1.0f32, 3.0, 3.0, f32::NAN, -1.0, 0.0]);
        let out = run("TopKV2", &[], &[x.clone(), 2i32.into()]).unwrap();
        assert_eq!(out[0].as_slice::<f32>().unwrap(), [3.0, 3.0, 0.0, -1.0]);
        assert_eq!(out[1].as_slice::<i32>().unwrap(), [1, 2, 2, 1]);
        let one = run("TopK", &[("k", AttrValue::from(1i64))], &[x.clone()]).unwrap();
        assert_eq!(one[1].as_slice::<i32>().unwrap(), [1, 2]);
        for k in [4i32, -1] {
            assert_eq!(run("TopKV2", &[], &[x.clone(), k.into()]).unwrap_err().code(), Code::InvalidArgument);
        }
        assert_eq!(run("TopKV2", &[], &[1.0f32.into(), 0i32.into()]).unwrap_err().code(), Code::InvalidArgument);
    }
}
