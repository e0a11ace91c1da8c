//! Every way a product is computed, at every level of the machine, against the plain loop.

use super::*;
use crate::parallel::Inline;
use crate::testing::{Rng, assert_close, assert_close64, machines};
use alloc::{format, vec, vec::Vec};
use half::{bf16, f16};

const SIZES: [(usize, usize, usize); 22] = [
    (1, 1, 1),
    (1, 37, 5),
    (2, 64, 33),
    (2, 3, 2),
    (3, 17, 16),
    (5, 16, 9),
    (6, 31, 40),
    (7, 33, 3),
    (8, 48, 64),
    (12, 32, 300),
    (13, 15, 7),
    (14, 100, 31),
    (48, 17, 20),
    (49, 10, 64),
    (61, 64, 513),
    (130, 40, 260),
    (0, 4, 4),
    (4, 0, 4),
    (4, 4, 0),
    (60, 20, 0),
    (1, 2100, 9),
    (250, 3, 11),
];

fn geometries() -> Vec<MatMul> {
    let mut all = Vec::new();
    for (m, n, k) in SIZES {
        for bits in 0..8 {
            all.push(MatMul {
                m,
                n,
                k,
                a_transposed: bits & 1 != 0,
                b_transposed: bits & 2 != 0,
                accumulate: bits & 4 != 0,
            });
        }
    }
    all
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| x.into()).collect()
}

/// f32, with and without bias and activations, plain and packed.
#[test]
fn f32_agrees_with_the_reference() {
    let mut rng = Rng(1);
    for g in geometries() {
        let (a, b) = (rng.f32s(g.m * g.k), rng.f32s(g.k * g.n));
        let (c, bias) = (rng.f32s(g.m * g.n), rng.f32s(g.n));
        for (activation, biased) in
            [(Activation::None, false), (Activation::None, true), (Activation::Relu, true), (Activation::Relu6, false)]
        {
            let mut want = wide(&c);
            let wide_bias = wide(&bias);
            let epilogue = Epilogue { bias: biased.then_some(&wide_bias[..]), activation };
            reference::matmul(&g, &wide(&a), &wide(&b), &mut want, epilogue);
            let want: Vec<f32> = want.iter().map(|&x| x as f32).collect();
            let epilogue = Epilogue { bias: biased.then_some(&bias[..]), activation };
            for par in machines() {
                let case = format!("{g:?} {activation:?} {biased} {:?} {}", par.isa, par.threads);
                let mut got = c.clone();
                let mut scratch = vec![f32::NAN; matmul_scratch_len::<f32>(&g).unwrap()];
                matmul(&par, &g, &a, &b, &mut got, epilogue, &mut scratch).unwrap();
                assert_close(&got, &want, 2e-5, &case);
                let mut packed = vec![f32::NAN; pack_b_len::<f32>(g.k, g.n).unwrap()];
                pack_b(&par, g.k, g.n, g.b_transposed, &b, &mut packed).unwrap();
                let mut got = c.clone();
                matmul_packed(&par, &g, &a, &packed, &mut got, epilogue).unwrap();
                assert_close(&got, &want, 2e-5, &format!("packed {case}"));
            }
        }
    }
}

/// f64, and the same geometry through the generic loops.
#[test]
fn f64_and_plain_agree_with_the_reference() {
    let mut rng = Rng(2);
    for g in geometries() {
        let (a, b, c) = (rng.f64s(g.m * g.k), rng.f64s(g.k * g.n), rng.f64s(g.m * g.n));
        let mut want = c.clone();
        reference::matmul(&g, &a, &b, &mut want, Epilogue::default());
        for par in machines() {
            let case = format!("{g:?} {:?} {}", par.isa, par.threads);
            let mut got = c.clone();
            let mut scratch = vec![f64::NAN; matmul_scratch_len::<f64>(&g).unwrap()];
            matmul(&par, &g, &a, &b, &mut got, Epilogue::default(), &mut scratch).unwrap();
            assert_close64(&got, &want, 1e-12, &case);
        }
        let mut got = c.clone();
        matmul_plain(&Inline, &g, &a, &b, &mut got).unwrap();
        assert_close64(&got, &want, 1e-12, &format!("plain {g:?}"));
    }
}

/// Integers wrap, halves are rounded once, complex numbers multiply as such.
#[test]
fn other_types() {
    let g = MatMul { m: 2, n: 2, k: 2, ..MatMul::default() };
    let mut c = [0u8; 4];
    matmul_plain(&Inline, &g, &[200, 1, 2, 3], &[2, 0, 1, 1], &mut c).unwrap();
    assert_eq!(c, [145, 1, 7, 3]);
    let mut c = [0i32; 4];
    matmul_plain(&Inline, &g, &[i32::MAX, 1, 2, 3], &[2, 0, 1, 1], &mut c).unwrap();
    assert_eq!(c, [-1, 1, 7, 3]);
    let g = MatMul { m: 1, n: 1, k: 3, ..MatMul::default() };
    let mut c = [f16::ZERO];
    let one = f16::ONE;
    matmul_plain(&Inline, &g, &[f16::from_f32(2048.0), one, one], &[one; 3], &mut c).unwrap();
    assert_eq!(c[0].to_f32(), 2050.0, "in f16 the sum would stay 2048");
    let mut c = [bf16::ZERO];
    matmul_plain(&Inline, &g, &[bf16::from_f32(256.0), bf16::ONE, bf16::ONE], &[bf16::ONE; 3], &mut c).unwrap();
    assert_eq!(c[0].to_f32(), 258.0, "in bf16 the sum would stay 256");
    use num_complex::Complex;
    let i = Complex::new(0.0f32, 1.0);
    let mut c = [i];
    let g = MatMul { m: 1, n: 1, k: 1, accumulate: true, ..MatMul::default() };
    matmul_plain(&Inline, &g, &[i], &[i], &mut c).unwrap();
    assert_eq!(c[0], Complex::new(-1.0, 1.0));
}

/// NaN and infinity in an operand reach the elements that use it and no others, also under relu.
#[test]
fn nan_and_infinity() {
    for par in machines() {
        for m in [1, 2, 3, 20, 60] {
            let g = MatMul { m, n: 19, k: 21, ..MatMul::default() };
            let (mut a, b) = (vec![1.0f32; m * 21], vec![1.0f32; 21 * 19]);
            a[(m - 1) * 21 + 20] = f32::NAN;
            if m > 1 {
                a[5] = f32::INFINITY;
            }
            let mut c = vec![0.0; m * 19];
            let mut scratch = vec![0.0; matmul_scratch_len::<f32>(&g).unwrap()];
            let epilogue = Epilogue { bias: None, activation: Activation::Relu6 };
            matmul(&par, &g, &a, &b, &mut c, epilogue, &mut scratch).unwrap();
            for (i, x) in c.iter().enumerate() {
                if i / 19 == m - 1 {
                    assert!(x.is_nan(), "{m} {i}");
                } else {
                    assert_eq!(*x, 6.0, "{m} {i}");
                }
            }
        }
    }
}

/// Slices of wrong lengths and sizes that overflow are refused by name.
#[test]
fn wrong_sizes_are_refused() {
    let g = MatMul { m: 2, n: 3, k: 4, ..MatMul::default() };
    let run = |g: &MatMul, a: usize, b: usize, c: usize, bias: usize, scratch: usize| {
        let (a, b, mut c, bias) = (vec![0.0f32; a], vec![0.0; b], vec![0.0; c], vec![0.0; bias]);
        let epilogue = Epilogue { bias: Some(&bias), activation: Activation::None };
        matmul(&Inline, g, &a, &b, &mut c, epilogue, &mut vec![0.0; scratch]).map_err(|e| e.argument)
    };
    assert_eq!(run(&g, 8, 12, 6, 3, 0), Ok(()));
    assert_eq!(run(&g, 7, 12, 6, 3, 0), Err("a"));
    assert_eq!(run(&g, 8, 13, 6, 3, 0), Err("b"));
    assert_eq!(run(&g, 8, 12, 5, 3, 0), Err("c"));
    assert_eq!(run(&g, 8, 12, 6, 2, 0), Err("bias"));
    let g = MatMul { m: 100, ..g };
    assert_eq!(run(&g, 400, 12, 300, 3, 63), Err("scratch"));
    assert_eq!(run(&g, 400, 12, 300, 3, 64), Ok(()));
    let g = MatMul { m: usize::MAX, ..g };
    assert_eq!(run(&g, 400, 12, 300, 3, 64), Err("a"));
}

/// A batch takes matrices in turn and repeats a single one.
#[test]
fn batches() {
    let g = MatMul { m: 1, n: 1, k: 2, ..MatMul::default() };
    let mut c = [0.0f32; 3];
    matmul_batch(&Inline, &g, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 10.0], &mut c, &mut []).unwrap();
    assert_eq!(c, [21.0, 43.0, 65.0]);
    assert_eq!(matmul_batch(&Inline, &g, &[1.0; 3], &[1.0, 10.0], &mut c, &mut []).unwrap_err().argument, "a");
    assert_eq!(matmul_batch::<f32>(&Inline, &g, &[], &[], &mut [], &mut []), Ok(()));
}
