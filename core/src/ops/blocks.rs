//! Blocks of space moved into the batch or the depth, and back.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::carry::{Carried, carried};
use super::dispatch::*;
use super::shape::{self, ShapeContext};
use super::shapes::{Ints, ints};
use super::{Ctx, Kernel, NodeContext, Op, kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::kernels::movement::blocks::{SpaceBatch, depth_to_space, space_to_depth};
use crate::tensor::{RANK_MAX, Shape, Tensor};

/// This family.
pub static OPS: &[&Op] =
    &[&SPACE_TO_BATCH, &SPACE_TO_BATCH_ND, &BATCH_TO_SPACE, &BATCH_TO_SPACE_ND, &SPACE_TO_DEPTH, &DEPTH_TO_SPACE];

static SPACE_TO_BATCH: Op = Op::new(
    "SpaceToBatch",
    "input: T, paddings: Tpaddings -> output: T",
    "T: type; Tpaddings: {int32, int64} = int32; block_size: int >= 2",
)
.shape(|c| batch_shape(c, 1, true))
.kernel(&[("T", REALS), ("Tpaddings", INDICES)], |node| carried!(node, "T", C => batch::<C>(node, true)));
static SPACE_TO_BATCH_ND: Op = Op::new(
    "SpaceToBatchND",
    "input: T, block_shape: Tblock_shape, paddings: Tpaddings -> output: T",
    "T: type; Tblock_shape: {int32, int64} = int32; Tpaddings: {int32, int64} = int32",
)
.shape(|c| batch_shape(c, 2, true))
.kernel(
    &[("T", REALS), ("Tblock_shape", INDICES), ("Tpaddings", INDICES)],
    |node| carried!(node, "T", C => batch::<C>(node, true)),
);
static BATCH_TO_SPACE: Op = Op::new(
    "BatchToSpace",
    "input: T, crops: Tidx -> output: T",
    "T: type; block_size: int >= 2; Tidx: {int32, int64} = int32",
)
.shape(|c| batch_shape(c, 1, false))
.kernel(&[("T", REALS), ("Tidx", INDICES)], |node| carried!(node, "T", C => batch::<C>(node, false)));
static BATCH_TO_SPACE_ND: Op = Op::new(
    "BatchToSpaceND",
    "input: T, block_shape: Tblock_shape, crops: Tcrops -> output: T",
    "T: type; Tblock_shape: {int32, int64} = int32; Tcrops: {int32, int64} = int32",
)
.shape(|c| batch_shape(c, 2, false))
.kernel(
    &[("T", REALS), ("Tblock_shape", INDICES), ("Tcrops", INDICES)],
    |node| carried!(node, "T", C => batch::<C>(node, false)),
);
const DEPTH: &str = "T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'";
static SPACE_TO_DEPTH: Op = Op::new("SpaceToDepth", "input: T -> output: T", DEPTH)
    .shape(|c| depth_shape(c, true))
    .kernel(&[], |node| carried!(node, "T", C => depth::<C>(node, true)));
static DEPTH_TO_SPACE: Op = Op::new("DepthToSpace", "input: T -> output: T", DEPTH)
    .shape(|c| depth_shape(c, false))
    .kernel(&[], |node| carried!(node, "T", C => depth::<C>(node, false)));

type Sizes = heapless::Vec<usize, RANK_MAX>;
type Margins = heapless::Vec<(usize, usize), RANK_MAX>;

/// TensorFlow's limit on dimensions that blocks or margins change.
const BLOCKED_MAX: usize = 4;

/// A checked request: the shape with few batches, the blocks and margins of its dimensions after the batch.
struct Blocks {
    space: Sizes,
    blocks: Sizes,
    margins: Margins,
}

impl Blocks {
    fn plan(&self) -> SpaceBatch<'_> {
        SpaceBatch { space: &self.space, blocks: &self.blocks, margins: &self.margins }
    }
}

fn invalid(text: core::fmt::Arguments<'_>) -> Status {
    Status::invalid_argument(text)
}

/// Checks blocks and margins against the input's shape. Going to space, the input is the side with many batches.
fn resolve(input: &[usize], blocks: &[i64], margins: &[i64], to_batch: bool) -> Result<Blocks, Status> {
    if input.len() <= blocks.len() {
        return Err(invalid(format_args!("input rank should be >= {} instead of {}", blocks.len() + 1, input.len())));
    }
    let mut sizes = Sizes::new();
    for &b in blocks {
        let b = usize::try_from(b).ok().filter(|&b| b > 0);
        let b = b.ok_or_else(|| invalid(format_args!("All values in block_shape must be positive: {blocks:?}")))?;
        // As many fit as the shape has dimensions.
        let _ = sizes.push(b);
    }
    let mut pairs = Margins::new();
    for pair in margins.chunks_exact(2) {
        match (usize::try_from(pair[0]), usize::try_from(pair[1])) {
            (Ok(before), Ok(after)) => drop(pairs.push((before, after))),
            _ => return Err(invalid(format_args!("paddings and crops must be non-negative: {margins:?}"))),
        }
    }
    let plain = |i: &usize| sizes[*i] == 1 && pairs[*i] == (0, 0);
    let first = (0..blocks.len()).take_while(plain).count();
    let last = (first..blocks.len()).rev().take_while(plain).count();
    let blocked = blocks.len() - first - last;
    if blocked > BLOCKED_MAX {
        return Err(invalid(format_args!(
            "Maximum number of non-combined block dimensions is {blocked} but must not exceed {BLOCKED_MAX}"
        )));
    }
    let mut space: Sizes = input.iter().copied().collect();
    if !to_batch {
        let product = sizes.iter().try_fold(1usize, |n, &b| n.checked_mul(b));
        let product = product.filter(|&p| input[0].is_multiple_of(p)).ok_or_else(|| {
            invalid(format_args!(
                "Input batch dimension ({}) is not divisible by product of block sizes {sizes:?}",
                input[0]
            ))
        })?;
        space[0] /= product;
        for (i, (&b, &(before, after))) in sizes.iter().zip(&pairs).enumerate() {
            let whole = space[i + 1].checked_mul(b);
            space[i + 1] = whole.and_then(|n| n.checked_sub(before)?.checked_sub(after)).ok_or_else(|| {
                invalid(format_args!("cropped_shape[{i}] of {input:?} with blocks {sizes:?} must be non-negative"))
            })?;
        }
    }
    let found = Blocks { space, blocks: sizes, margins: pairs };
    found.plan().batched().map_err(|_| {
        invalid(format_args!(
            "padded shape of {input:?} with margins {margins:?} is not divisible by block_shape {blocks:?}"
        ))
    })?;
    Ok(found)
}

fn batch_shape(c: &ShapeContext<'_>, margins: usize, to_batch: bool) -> Result<Vec<PartialShape>, Status> {
    let Some(dims) = c.input(0).dims else { return shape::unknown(c) };
    let same = c.node.attrs.int("block_size").ok().map(|b| alloc::vec![b; 2]);
    let (Some(blocks), Some(margins)) = (same.or_else(|| c.constant(1)), c.constant(margins)) else {
        return Ok(alloc::vec![PartialShape { dims: Some(alloc::vec![-1; dims.len()]) }]);
    };
    let known: Option<Sizes> = dims
        .iter()
        .map(|&d| usize::try_from(d).ok())
        .collect::<Option<Vec<_>>>()
        .and_then(|d| Sizes::from_slice(&d).ok());
    let (Some(known), true) = (known, blocks.len() < RANK_MAX && margins.len() == 2 * blocks.len()) else {
        return Ok(alloc::vec![PartialShape { dims: Some(alloc::vec![-1; dims.len()]) }]);
    };
    let found = resolve(&known, &blocks, &margins, to_batch)?;
    let out: Vec<i64> = match to_batch {
        true => found.plan().batched().map_err(Status::from)?.iter().map(|&d| d as i64).collect(),
        false => found.space.iter().map(|&d| d as i64).collect(),
    };
    Ok(alloc::vec![PartialShape { dims: Some(out) }])
}

/// Blocks and margins of a node's inputs, of which there are as many as the shapes say.
fn request(c: &Ctx<'_>, same: Option<i64>) -> Result<(Ints, Ints), Status> {
    let margins: &Tensor = c.input(c.num_inputs() - 1);
    let blocks: Ints = match same {
        Some(_) if c.input(0).shape().rank() != 4 => {
            return Err(invalid(format_args!("Input rank should be: 4 instead of: {}", c.input(0).shape().rank())));
        }
        Some(size) => Ints::from_iter([size, size]),
        None if c.input(1).shape().rank() != 1 => {
            return Err(invalid(format_args!("block_shape rank should be 1 instead of {}", c.input(1).shape().rank())));
        }
        None => ints(c.input(1))?,
    };
    let shape = margins.shape();
    if shape.rank() != 2 || shape.dim(0) != blocks.len() || shape.dim(1) != 2 {
        return Err(invalid(format_args!(
            "paddings and crops should have shape [{}, 2] instead of {shape}",
            blocks.len()
        )));
    }
    Ok((blocks, ints(margins)?))
}

fn batch<C: Carried>(node: &NodeContext<'_>, to_batch: bool) -> Result<Box<dyn Kernel>, Status> {
    let (dtype, same) = (node.dtype("T")?, node.attrs().int("block_size").ok());
    kernel(move |c: &mut Ctx<'_>| {
        let (blocks, margins) = request(c, same)?;
        let dims = c.input(0).shape().to_usize();
        let found = resolve(&dims, &blocks, &margins, to_batch)?;
        let many = found.plan().batched()?;
        let shape = Shape::new(if to_batch { &many } else { &found.space })?;
        let mut out = c.output(0, dtype, &shape)?;
        if to_batch {
            found.plan().space_to_batch(C::read(c.input(0))?, C::default(), C::write(&mut out)?)?;
        } else {
            found.plan().batch_to_space(C::read(c.input(0))?, C::write(&mut out)?)?;
        }
        c.set(0, out);
        Ok(())
    })
}

/// The output's shape of a step into or out of depth.
fn deepened(dims: [usize; 4], block: usize, to_depth: bool) -> Option<[usize; 4]> {
    let [n, h, w, c] = dims;
    let area = block.checked_mul(block).filter(|&a| a > 0)?;
    if to_depth {
        (h % block == 0 && w % block == 0).then_some(())?;
        Some([n, h / block, w / block, c.checked_mul(area)?])
    } else {
        (c % area == 0).then_some(())?;
        Some([n, h.checked_mul(block)?, w.checked_mul(block)?, c / area])
    }
}

fn depth_shape(c: &ShapeContext<'_>, to_depth: bool) -> Result<Vec<PartialShape>, Status> {
    let four = |dims: &[i64]| -> Option<[usize; 4]> {
        let dims: Vec<usize> = dims.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<_>>()?;
        dims.try_into().ok()
    };
    let channels_last = c.node.attrs.str("data_format")? == "NHWC";
    let block = c.node.attrs.int("block_size")?;
    let known = c.input(0).dims.as_deref().and_then(four).filter(|_| channels_last);
    let (Some(dims), Ok(block)) = (known, usize::try_from(block)) else { return shape::unknown(c) };
    let out = deepened(dims, block, to_depth).ok_or_else(|| does_not_divide(dims, block))?;
    Ok(alloc::vec![PartialShape::new(&out.map(|d| d as i64))])
}

fn does_not_divide(dims: [usize; 4], block: usize) -> Status {
    invalid(format_args!("block_size {block} does not divide the sizes of {dims:?}"))
}

fn depth<C: Carried>(node: &NodeContext<'_>, to_depth: bool) -> Result<Box<dyn Kernel>, Status> {
    let dtype = node.dtype("T")?;
    let format = node.attrs().str("data_format")?;
    if format != "NHWC" {
        return Err(invalid(format_args!("Only NHWC data_format supported on CPU. Got {format}")));
    }
    let block = node.attrs().int("block_size")?;
    let block =
        usize::try_from(block).map_err(|_| invalid(format_args!("Block size should be > 1, but was: {block}")))?;
    kernel(move |c: &mut Ctx<'_>| {
        let dims = c.input(0).shape().to_usize();
        let dims = <[usize; 4]>::try_from(&*dims)
            .map_err(|_| invalid(format_args!("Input rank should be 4 instead of {}", dims.len())))?;
        let shape = deepened(dims, block, to_depth).ok_or_else(|| does_not_divide(dims, block))?;
        let mut out = c.output(0, dtype, &Shape::new(&shape)?)?;
        let move_blocks = if to_depth { space_to_depth::<C> } else { depth_to_space::<C> };
        move_blocks(C::read(c.input(0))?, dims, block, C::write(&mut out)?)?;
        c.set(0, out);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::AttrValue;
    use crate::ops::testing::{run, strings, tensor};
    use crate::tensor::Tensor;

    fn go(
        op: &str,
        attrs: &[(&str, AttrValue)],
        inputs: &[Tensor],
    ) -> Result<(alloc::vec::Vec<u32>, alloc::vec::Vec<i32>), Code> {
        let out = run(op, attrs, inputs).map_err(|e| e.code())?;
        Ok((out[0].shape().dims().to_vec(), out[0].as_slice::<i32>().unwrap().to_vec()))
    }

    /// There and back, with margins, in both spellings; what does not divide is refused.
    #[test]
    fn batches() {
        let x = tensor(&[1, 3], &[1i32, 2, 3]);
        let (two, pad) = (tensor(&[1], &[2i32]), tensor(&[1, 2], &[1i32, 0]));
        let many = go("SpaceToBatchND", &[], &[x.clone(), two.clone(), pad.clone()]).unwrap();
        assert_eq!(many, ([2, 2].to_vec(), [0, 2, 1, 3].to_vec()));
        let back = go("BatchToSpaceND", &[], &[tensor(&[2, 2], &many.1), two.clone(), pad]).unwrap();
        assert_eq!(back, ([1, 3].to_vec(), [1, 2, 3].to_vec()));
        let none = tensor(&[1, 2], &[0i32, 0]);
        assert_eq!(go("SpaceToBatchND", &[], &[x.clone(), two, none]), Err(Code::InvalidArgument));
        let square = tensor(&[1, 2, 2, 1], &[1i32, 2, 3, 4]);
        let size = [("block_size", AttrValue::from(2i64))];
        let zero = tensor(&[2, 2], &[0i32; 4]);
        let apart = go("SpaceToBatch", &size, &[square.clone(), zero.clone()]).unwrap();
        assert_eq!(apart, ([4, 1, 1, 1].to_vec(), [1, 2, 3, 4].to_vec()));
        let whole = go("BatchToSpace", &size, &[tensor(&[4, 1, 1, 1], &apart.1), zero.clone()]).unwrap();
        assert_eq!(whole.1, [1, 2, 3, 4]);
        assert_eq!(go("BatchToSpace", &size, &[x, zero]), Err(Code::InvalidArgument));
    }

    /// Depth and back, of any element; formats of other devices are refused.
    #[test]
    fn depths() {
        let x = strings(&[1, 2, 2, 1], &["a", "b", "c", "d"]);
        let size = ("block_size", AttrValue::from(2i64));
        let deep = run("SpaceToDepth", core::slice::from_ref(&size), &[x.clone()]).unwrap().remove(0);
        assert_eq!(deep.shape().dims(), [1, 1, 1, 4]);
        let back = run("DepthToSpace", core::slice::from_ref(&size), &[deep]).unwrap();
        assert_eq!(back[0].strings().unwrap(), x.strings().unwrap());
        let odd = tensor(&[1, 3, 2, 1], &[0i32; 6]);
        assert_eq!(go("SpaceToDepth", core::slice::from_ref(&size), &[odd.clone()]), Err(Code::InvalidArgument));
        assert_eq!(go("DepthToSpace", core::slice::from_ref(&size), &[odd.clone()]), Err(Code::InvalidArgument));
        let format = ("data_format", AttrValue::from("NCHW"));
        assert_eq!(go("SpaceToDepth", &[size, format], &[odd]), Err(Code::InvalidArgument));
    }
}
