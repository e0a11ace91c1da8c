//! Matrix products, of one pair of matrices and of batches. Constant right-hand sides are packed when the kernel is made.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::dispatch::*;
use super::shape::ShapeContext;
use super::{Ctx, Kernel, NodeContext, Op, kernel, shape};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::broadcast::broadcast_shapes;
use crate::kernels::dims::{Dims, Walk, strides};
use crate::kernels::element::Number;
use crate::kernels::matmul::{self as k, Epilogue, Float, MatMul};
use crate::kernels::number::Arithmetic;
use crate::tensor::{Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[&MAT_MUL, &BATCH_MAT_MUL, &BATCH_MAT_MUL_V2];

static MAT_MUL: Op = Op::new(
    "MatMul",
    "a: T, b: T -> product: T",
    "transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, half, float, double, int32, int64, uint8, uint16, \
        uint32, uint64, complex64, complex128}; grad_a: bool = false; grad_b: bool = false",
)
.heavy()
.shape(product_shape)
.kernel(&[("T", DIFFERENCE)], |node| {
    dispatch!(node, "T", NATIVE_FLOATS T => mat_mul::<T>(node), DIFFERENCE T => mat_mul_plain::<T>(node))
});

static BATCH_MAT_MUL: Op = Op::new(
    "BatchMatMul",
    "x: T, y: T -> output: T",
    "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}; adj_x: bool = false; adj_y: bool = false; \
        grad_x: bool = false; grad_y: bool = false",
)
.heavy()
.shape(batch_shape)
.kernel(&[("T", DIFFERENCE)], |node| batch(node, false));

static BATCH_MAT_MUL_V2: Op = Op::new(
    "BatchMatMulV2",
    "x: T, y: T -> output: T",
    "T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}; \
        adj_x: bool = false; adj_y: bool = false; grad_x: bool = false; grad_y: bool = false",
)
.heavy()
.shape(batch_shape)
.kernel(&[("T", PRODUCTS)], |node| batch(node, true));

/// The geometry of the product of two stored matrices.
fn geometry(
    a: &Shape,
    b: &Shape,
    [a_rows, a_columns]: [usize; 2],
    [b_rows, b_columns]: [usize; 2],
    [a_transposed, b_transposed]: [bool; 2],
) -> Result<MatMul, Status> {
    let (m, k) = if a_transposed { (a_columns, a_rows) } else { (a_rows, a_columns) };
    let (k_of_b, n) = if b_transposed { (b_columns, b_rows) } else { (b_rows, b_columns) };
    if k != k_of_b {
        return Err(Status::invalid_argument(format_args!("Matrix size-incompatible: In[0]: {a}, In[1]: {b}")));
    }
    Ok(MatMul { m, n, k, a_transposed, b_transposed, accumulate: false })
}

/// The geometry of a `MatMul`'s inputs.
fn matrices(a: &Tensor, b: &Tensor, transposed: [bool; 2]) -> Result<MatMul, Status> {
    for (i, t) in [a, b].into_iter().enumerate() {
        if t.shape().rank() != 2 {
            return Err(Status::invalid_argument(format_args!(
                "In[{i}] is not a matrix. Instead it has shape {}",
                t.shape()
            )));
        }
    }
    let size = |t: &Tensor| [t.shape().dim(0), t.shape().dim(1)];
    geometry(a.shape(), b.shape(), size(a), size(b), transposed)
}

fn transposes(node: &NodeContext<'_>) -> Result<[bool; 2], Status> {
    Ok([node.attrs().bool("transpose_a")?, node.attrs().bool("transpose_b")?])
}

fn mat_mul<T: Value + Float>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let transposed = transposes(node)?;
    let packed = match node.constants.get(1) {
        Some(Some(b)) if b.shape().rank() == 2 && b.num_elements() > 0 => Some(pack::<T>(node, b, transposed[1])?),
        _ => None,
    };
    // A few rows go through the matrix as it lies at least as fast.
    let rows_unpacked = if transposed[1] { 8 } else { 2 };
    kernel(move |c: &mut Ctx<'_>| {
        let g = matrices(c.input(0), c.input(1), transposed)?;
        let mut out = c.output(0, T::DTYPE, &Shape::new(&[g.m, g.n])?)?;
        if let Some(packed) = packed.as_ref().filter(|_| g.m > rows_unpacked) {
            let (a, b) = (c.input(0).as_slice::<T>()?, packed.as_slice::<T>()?);
            k::matmul_packed(c.parallel(), &g, a, b, out.make_mut()?, Epilogue::default())?;
        } else {
            let mut scratch = c.scratch::<T>(k::matmul_scratch_len::<T>(&g)?)?;
            let (a, b) = (c.input(0).as_slice::<T>()?, c.input(1).as_slice::<T>()?);
            k::matmul(c.parallel(), &g, a, b, out.make_mut()?, Epilogue::default(), scratch.make_mut()?)?;
            c.give_scratch(scratch);
        }
        c.set(0, out);
        Ok(())
    })
}

/// A constant right-hand side in the layout of the tiles.
fn pack<T: Value + Float>(node: &NodeContext<'_>, b: &Tensor, transposed: bool) -> Result<Tensor, Status> {
    let (rows, columns) = (b.shape().dim(0), b.shape().dim(1));
    let (k, n) = if transposed { (columns, rows) } else { (rows, columns) };
    let mut packed = Tensor::zeros(T::DTYPE, &Shape::new(&[k::pack_b_len::<T>(k, n)?])?, None)?;
    k::pack_b(node.host.parallel(), k, n, transposed, b.as_slice::<T>()?, packed.make_mut()?)?;
    Ok(packed)
}

fn mat_mul_plain<T: Value + Arithmetic>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let transposed = transposes(node)?;
    kernel(move |c: &mut Ctx<'_>| {
        let g = matrices(c.input(0), c.input(1), transposed)?;
        let mut out = c.output(0, T::DTYPE, &Shape::new(&[g.m, g.n])?)?;
        let (a, b) = (c.input(0).as_slice::<T>()?, c.input(1).as_slice::<T>()?);
        k::matmul_plain(c.parallel(), &g, a, b, out.make_mut()?)?;
        c.set(0, out);
        Ok(())
    })
}

fn product_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let flag = |name| c.node.attrs.bool(name);
    let (ta, tb) = (flag("transpose_a")?, flag("transpose_b")?);
    let of = |i: usize, at: usize| {
        c.input(i).dims.map_or(Ok(-1), |d| match d[..] {
            [_, _] => Ok(d[at]),
            _ => Err(Status::invalid_argument(format_args!("In[{i}] is not a matrix"))),
        })
    };
    Ok(alloc::vec![PartialShape::new(&[of(0, usize::from(ta))?, of(1, usize::from(!tb))?])])
}

fn batch_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>, Status> {
    let (ax, ay) = (c.node.attrs.bool("adj_x")?, c.node.attrs.bool("adj_y")?);
    let (Some(x), Some(y)) = (c.input(0).dims, c.input(1).dims) else { return shape::unknown(c) };
    let [(bx, mx), (by, my)] = [&x, &y].map(|d| d.split_at(d.len().saturating_sub(2)));
    let (&[xr, xc], &[yr, yc]) = (mx, my) else {
        return Err(Status::invalid_argument(format_args!(
            "operands of rank {} and {}, expected two or more",
            x.len(),
            y.len()
        )));
    };
    let inputs = [PartialShape::new(bx), PartialShape::new(by)];
    let mut dims = shape::broadcast(&ShapeContext { node: c.node, inputs: &inputs, constants: &[] })?;
    if let Some(dims) = dims.first_mut().and_then(|s| s.dims.as_mut()) {
        dims.extend([if ax { xc } else { xr }, if ay { yr } else { yc }]);
    }
    Ok(dims)
}

fn batch(node: &NodeContext<'_>, broadcasts: bool) -> Result<Box<dyn Kernel>, Status> {
    dispatch!(
        node, "T",
        NATIVE_FLOATS T => batch_of(node, broadcasts, false, |c, g, a: &[T], b, out, scratch: &mut Tensor| {
            k::matmul(c.parallel(), g, a, b, out, Epilogue::default(), scratch.make_mut()?)?;
            Ok(())
        }, k::matmul_scratch_len::<T>),
        COMPLEX T => batch_of(node, broadcasts, true, plain::<T>, |_| Ok(0)),
        PRODUCTS T => batch_of(node, broadcasts, false, plain::<T>, |_| Ok(0)),
    )
}

fn plain<T: Value + Arithmetic>(
    c: &Ctx<'_>,
    g: &MatMul,
    a: &[T],
    b: &[T],
    out: &mut [T],
    _: &mut Tensor,
) -> Result<(), Status> {
    Ok(k::matmul_plain(c.parallel(), g, a, b, out)?)
}

/// The product of one pair of a batch.
type One<T> = fn(&Ctx<'_>, &MatMul, &[T], &[T], &mut [T], &mut Tensor) -> Result<(), Status>;

fn batch_of<T: Value + Number>(
    node: &NodeContext<'_>,
    broadcasts: bool,
    conjugates: bool,
    one: One<T>,
    scratch_len: fn(&MatMul) -> Result<usize, crate::kernels::Mismatch>,
) -> Result<Box<dyn Kernel>, Status> {
    let adjoint = [node.attrs().bool("adj_x")?, node.attrs().bool("adj_y")?];
    kernel(move |c: &mut Ctx<'_>| {
        let plan = BatchPlan::new(c.input(0).shape(), c.input(1).shape(), adjoint, broadcasts)?;
        let mut out = c.output(0, T::DTYPE, &plan.output)?;
        let mut scratch = c.scratch::<T>(scratch_len(&plan.g)?)?;
        // An adjoint of complex numbers is conjugated as well.
        let mut conjugated = [None, None];
        for (i, slot) in conjugated.iter_mut().enumerate() {
            if conjugates && adjoint[i] {
                let mut copy = c.scratch::<T>(c.input(i).num_elements())?;
                let from = c.input(i).as_slice::<T>()?;
                copy.make_mut::<T>()?.iter_mut().zip(from).for_each(|(o, x)| *o = x.conj());
                *slot = Some(copy);
            }
        }
        let operand = |i: usize| conjugated[i].as_ref().unwrap_or(c.input(i)).as_slice::<T>();
        let (a, b) = (operand(0)?, operand(1)?);
        let g = &plan.g;
        let (mut walk_a, mut walk_b) = (plan.walk(0, g.m * g.k)?, plan.walk(1, g.k * g.n)?);
        if g.m * g.n != 0 {
            for out in out.make_mut::<T>()?.chunks_mut(g.m * g.n) {
                let (at, bt) = (walk_a.offset(), walk_b.offset());
                let short = || Status::internal("a batch has fewer elements than its shape says");
                let a = a.get(at..at + g.m * g.k).ok_or_else(short)?;
                let b = b.get(bt..bt + g.k * g.n).ok_or_else(short)?;
                one(c, g, a, b, out, &mut scratch)?;
                walk_a.advance();
                walk_b.advance();
            }
        }
        conjugated.into_iter().flatten().for_each(|copy| c.give_scratch(copy));
        c.give_scratch(scratch);
        c.set(0, out);
        Ok(())
    })
}

/// How a batch of products is walked.
struct BatchPlan {
    g: MatMul,
    output: Shape,
    batch: Dims,
    /// The batch dimensions of each operand.
    operands: [Dims; 2],
}

impl BatchPlan {
    fn new(x: &Shape, y: &Shape, adjoint: [bool; 2], broadcasts: bool) -> Result<BatchPlan, Status> {
        let (dx, dy) = (x.to_usize(), y.to_usize());
        let ([.., xr, xc], [.., yr, yc]) = (&dx[..], &dy[..]) else {
            return Err(Status::invalid_argument(format_args!(
                "In[0] and In[1] must have 2 or more dimensions: {x}, {y}"
            )));
        };
        let g = geometry(x, y, [*xr, *xc], [*yr, *yc], adjoint)?;
        let operands = [Dims::new(&dx[..dx.len() - 2])?, Dims::new(&dy[..dy.len() - 2])?];
        if !broadcasts && *operands[0] != *operands[1] {
            return Err(Status::invalid_argument(format_args!("In[0] and In[1] have different batches: {x}, {y}")));
        }
        let batch = broadcast_shapes(&operands[0], &operands[1]).map_err(|_| {
            Status::invalid_argument(format_args!("In[0] and In[1] must have compatible batch dimensions: {x} vs. {y}"))
        })?;
        let mut dims = batch;
        dims.push(g.m)?;
        dims.push(g.n)?;
        Ok(BatchPlan { g, output: Shape::new(&dims)?, batch, operands })
    }

    /// Where the matrices of an operand lie, each of `size` elements, for the products in order.
    fn walk(&self, operand: usize, size: usize) -> Result<Walk, Status> {
        let own = &self.operands[operand];
        let own_steps = strides(own)?;
        let mut steps = Dims::filled(0, self.batch.len())?;
        let skip = self.batch.len() - own.len();
        for (i, step) in steps.as_mut_slice().iter_mut().skip(skip).enumerate() {
            *step = if own[i] == 1 { 0 } else { own_steps[i].saturating_mul(size) };
        }
        Ok(Walk::new(&self.batch, &steps)?)
    }
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, tensor};
    use crate::tensor::{Element, Tensor};
    use num_complex::Complex;

    /// `[[1, 2, 3], [4, 5, 6]] · [[1, 2], [3, 4], [5, 6]]` however it is stored.
    fn forms<T: Element>(of: impl Fn(i32) -> T) {
        let values = |x: &[i32]| x.iter().map(|&x| of(x)).collect::<alloc::vec::Vec<T>>();
        let a = [tensor(&[2, 3], &values(&[1, 2, 3, 4, 5, 6])), tensor(&[3, 2], &values(&[1, 4, 2, 5, 3, 6]))];
        let b = [tensor(&[3, 2], &values(&[1, 2, 3, 4, 5, 6])), tensor(&[2, 3], &values(&[1, 3, 5, 2, 4, 6]))];
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let flags = |a, b| [(a, AttrValue::from(i == 1)), (b, AttrValue::from(j == 1))];
            let one = run("MatMul", &flags("transpose_a", "transpose_b"), &[a[i].clone(), b[j].clone()]).unwrap();
            assert_eq!(one[0].as_slice::<T>().unwrap(), values(&[22, 28, 49, 64]));
            let many = run("BatchMatMulV2", &flags("adj_x", "adj_y"), &[a[i].clone(), b[j].clone()]).unwrap();
            assert_eq!(many[0].as_slice::<T>().unwrap(), values(&[22, 28, 49, 64]));
        }
    }

    /// Every kind of number, transposed or not.
    #[test]
    fn transposes() {
        forms(|x| x as f32);
        forms(|x| x as f64);
        forms(|x| half::f16::from_f32(x as f32));
        forms(|x| x);
        forms(|x| Complex::new(x as f32, 0.0));
    }

    /// Packed constants and enough rows to use them; no inner dimension gives zeros.
    #[test]
    fn sizes() {
        let (m, k, n) = (60usize, 7usize, 33usize);
        let a: alloc::vec::Vec<f32> = (0..m * k).map(|i| (i % 5) as f32 - 2.0).collect();
        let b: alloc::vec::Vec<f32> = (0..k * n).map(|i| (i % 7) as f32 - 3.0).collect();
        let out = run("MatMul", &[], &[tensor(&[m, k], &a), tensor(&[k, n], &b)]).unwrap();
        let at = |i: usize, j: usize| (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum::<f32>();
        let want: alloc::vec::Vec<f32> = (0..m * n).map(|x| at(x / n, x % n)).collect();
        assert_eq!(out[0].as_slice::<f32>().unwrap(), want);
        let none = run("MatMul", &[], &[tensor::<f32>(&[2, 0], &[]), tensor::<f32>(&[0, 2], &[])]).unwrap();
        assert_eq!(none[0].as_slice::<f32>().unwrap(), [0.0; 4]);
    }

    /// Batches: equal, broadcast, conjugated.
    #[test]
    fn batches() {
        let x = tensor(&[2, 1, 1, 2], &[1.0f32, 2.0, 3.0, 4.0]);
        let y = tensor(&[3, 2, 1], &[1.0f32, 0.0, 0.0, 1.0, 1.0, 1.0]);
        let out = run("BatchMatMulV2", &[], &[x.clone(), y.clone()]).unwrap();
        assert_eq!(out[0].shape().dims(), [2, 3, 1, 1]);
        assert_eq!(out[0].as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 3.0, 4.0, 7.0]);
        assert_eq!(run("BatchMatMul", &[], &[x, y]).unwrap_err().code(), Code::InvalidArgument);
        let i = tensor(&[1, 1], &[Complex::new(0.0f64, 1.0)]);
        let out = run("BatchMatMul", &[("adj_x", true.into())], &[i.clone(), i]).unwrap();
        assert_eq!(out[0].to_scalar::<Complex<f64>>().unwrap(), Complex::new(1.0, 0.0));
    }

    #[test]
    fn refusals() {
        let code = |a: Tensor, b: Tensor| run("MatMul", &[], &[a, b]).unwrap_err().code();
        let m = |d: &[usize]| tensor(d, &alloc::vec![0.0f32; d.iter().product()]);
        assert_eq!(code(m(&[2, 3]), m(&[2, 3])), Code::InvalidArgument);
        assert_eq!(code(m(&[2]), m(&[2, 3])), Code::InvalidArgument);
        assert_eq!(run("BatchMatMulV2", &[], &[m(&[2]), m(&[2, 2])]).unwrap_err().code(), Code::InvalidArgument);
    }
}
