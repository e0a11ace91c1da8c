//! Matrices in the last two dimensions, cut to a band.

use alloc::boxed::Box;

use super::dispatch::*;
use super::shapes::scalar_int;
use super::{Ctx, Kernel, Op, kernel, shape};
use crate::Status;
use crate::kernels::select::band_part;

/// This family.
pub static OPS: &[&Op] = &[&MATRIX_BAND_PART];

static MATRIX_BAND_PART: Op = Op::new(
    "MatrixBandPart",
    "input: T, num_lower: Tindex, num_upper: Tindex -> band: T",
    "T: type; Tindex: {int32, int64} = int64",
)
.shape(shape::unchanged)
.kernel(&[("T", PLAIN), ("Tindex", INDICES)], |node| dispatch!(node, "T", PLAIN T => band::<T>()));

fn band<T: Value>() -> Result<Box<dyn Kernel>, Status> {
    kernel(|c: &mut Ctx<'_>| {
        let shape = c.input(0).shape().clone();
        let Some(outer) = shape.rank().checked_sub(2) else {
            return Err(Status::invalid_argument(format_args!(
                "input must be at least 2-dim, received shape: {shape}"
            )));
        };
        let (rows, columns) = (shape.dim(outer), shape.dim(outer + 1));
        let kept = |i: usize, name: &str, most: usize| {
            let n = scalar_int(c.input(i), name)?;
            if n > most as i64 {
                return Err(Status::invalid_argument(format_args!(
                    "{name} must be negative or less or equal to the size of the matrix ({most}) got: {n}"
                )));
            }
            Ok(n)
        };
        let band = (kept(1, "num_lower", rows)?, kept(2, "num_upper", columns)?);
        let mut out = c.output(0, T::DTYPE, &shape)?;
        band_part(c.input(0).as_slice::<T>()?, rows, columns, band, out.make_mut::<T>()?)?;
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::ops::testing::{run, tensor};

    /// Bands of two matrices, and bounds that no matrix of the size has.
    #[test]
    fn bands() {
        let x = tensor(&[2, 2, 2], &[1i32, 2, 3, 4, 5, 6, 7, 8]);
        let go = |low: i64, high: i64| run("MatrixBandPart", &[], &[x.clone(), low.into(), high.into()]);
        assert_eq!(go(0, -1).unwrap()[0].as_slice::<i32>().unwrap(), [1, 2, 0, 4, 5, 6, 0, 8]);
        assert_eq!(go(-1, 0).unwrap()[0].as_slice::<i32>().unwrap(), [1, 0, 3, 4, 5, 0, 7, 8]);
        assert_eq!(go(3, 0).unwrap_err().code(), Code::InvalidArgument);
        let flat = run("MatrixBandPart", &[], &[tensor(&[2], &[1i32; 2]), 0i64.into(), 0i64.into()]);
        assert_eq!(flat.unwrap_err().code(), Code::InvalidArgument);
    }
}
