//! The heavy inner loops of f32 and f64, compiled in this crate.
//!
//! A generic function is compiled where it is used, each time anew, and without optimisation in a debug build of the user.
//! The trait's methods are not generic for a given type, so they are compiled here once, with this crate's optimisation.

use crate::conv::{Conv2d, Products, Sizes, gather, scatter};
use crate::isa::{Isa, Vectorised};
use crate::matmul::{Dot, ProductOf, Stream, transpose_panel};
use crate::number::Floating;
use crate::softmax::{Finish, Row};
use core::ops::Range;

/// Inner loops of products and convolutions.
pub trait Loops: Copy + 'static {
    #[doc(hidden)]
    fn product(isa: Isa, product: ProductOf<'_, Self>);
    #[doc(hidden)]
    fn stream(isa: Isa, stream: Stream<'_, Self>);
    #[doc(hidden)]
    fn dot(isa: Isa, a: &[Self], b: &[Self]) -> Self;
    #[doc(hidden)]
    fn transpose_panel(k: usize, columns: usize, stride: usize, from: &[Self], panel: &mut [Self]);
    #[doc(hidden)]
    fn pair_products(isa: Isa, products: Products<'_, Self>);
    #[doc(hidden)]
    fn gather(
        conv: &Conv2d,
        sizes: &Sizes,
        group: usize,
        input: &[Self],
        pixels: Range<usize>,
        part: Range<usize>,
        out: &mut [Self],
    );
    #[doc(hidden)]
    fn scatter(
        conv: &Conv2d,
        sizes: &Sizes,
        group: usize,
        patches: &[Self],
        pixels: Range<usize>,
        first: usize,
        input: &mut [Self],
    );
}

macro_rules! loops {
    ($($t:ty)*) => {$(
        impl Loops for $t {
            fn product(isa: Isa, product: ProductOf<'_, Self>) {
                <$t>::run(isa, product);
            }
            fn stream(isa: Isa, stream: Stream<'_, Self>) {
                <$t>::run(isa, stream);
            }
            fn dot(isa: Isa, a: &[Self], b: &[Self]) -> Self {
                <$t>::run(isa, Dot(a, b))
            }
            fn transpose_panel(k: usize, columns: usize, stride: usize, from: &[Self], panel: &mut [Self]) {
                transpose_panel(k, columns, stride, from, panel);
            }
            fn pair_products(isa: Isa, products: Products<'_, Self>) {
                <$t>::run(isa, products);
            }
            fn gather(
                conv: &Conv2d,
                sizes: &Sizes,
                group: usize,
                input: &[Self],
                pixels: Range<usize>,
                part: Range<usize>,
                out: &mut [Self],
            ) {
                gather(conv, sizes, group, input, pixels, part, out);
            }
            fn scatter(
                conv: &Conv2d,
                sizes: &Sizes,
                group: usize,
                patches: &[Self],
                pixels: Range<usize>,
                first: usize,
                input: &mut [Self],
            ) {
                scatter(conv, sizes, group, patches, pixels, first, input);
            }
        }
    )*};
}

loops!(f32 f64);

/// A row of softmax and its relatives.
pub trait RowLoop: Sized {
    #[doc(hidden)]
    fn softmax_row(isa: Isa, x: &[Self], out: &mut [Self], finish: Finish<'_, Self>) -> Self;
}

macro_rules! row_loops {
    ($($t:ty)*) => {$(
        impl RowLoop for $t {
            fn softmax_row(isa: Isa, x: &[Self], out: &mut [Self], finish: Finish<'_, Self>) -> Self {
                use crate::number::Arithmetic;
                <$t>::narrow(<<$t as Floating>::Wide as Vectorised>::run(isa, Row { x, out, finish }))
            }
        }
    )*};
}

row_loops!(f32 f64 half::f16 half::bf16);
