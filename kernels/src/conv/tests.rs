//! The fast convolutions against plain loops, and those against a convolution written out by definition.

use super::*;
use crate::matmul::{Activation, Epilogue};
use crate::parallel::Inline;
use crate::testing::{Rng, assert_close, assert_close64, machines};
use alloc::{format, vec, vec::Vec};
use half::f16;

/// Sizes, strides, dilations, paddings, channels and groups of all kinds.
fn geometries() -> Vec<Conv2d> {
    let mut all = Vec::new();
    let axis = |input, taps, stride, dilation, before, after| {
        Axis::explicit(input, taps, stride, dilation, before, after).unwrap()
    };
    for (batch, rows, columns, in_channels, filter_in_channels, out_channels) in [
        (1, axis(1, 1, 1, 1, 0, 0), axis(1, 1, 1, 1, 0, 0), 1, 1, 1),
        (2, axis(5, 3, 1, 1, 1, 1), axis(6, 3, 1, 1, 1, 1), 3, 3, 8),
        (3, axis(7, 3, 2, 1, 0, 1), axis(8, 5, 3, 1, 2, 2), 4, 4, 17),
        (2, axis(9, 3, 1, 2, 2, 2), axis(8, 2, 2, 3, 1, 0), 5, 5, 33),
        (2, axis(6, 1, 1, 1, 0, 0), axis(7, 1, 1, 1, 0, 0), 19, 19, 20),
        (1, axis(6, 1, 2, 1, 0, 0), axis(7, 1, 2, 1, 0, 0), 6, 6, 40),
        (2, axis(5, 3, 1, 1, 1, 1), axis(5, 3, 1, 1, 1, 1), 6, 2, 9),
        (2, axis(4, 1, 1, 1, 0, 0), axis(4, 1, 1, 1, 0, 0), 8, 2, 12),
        (2, axis(3, 2, 1, 1, 4, 3), axis(3, 5, 1, 1, 4, 4), 2, 2, 3),
        (1, axis(40, 3, 1, 1, 1, 1), axis(33, 3, 1, 1, 1, 1), 16, 16, 32),
        (0, axis(4, 2, 1, 1, 0, 0), axis(4, 2, 1, 1, 0, 0), 2, 2, 3),
        (1, axis(2, 3, 1, 1, 0, 0), axis(4, 2, 1, 1, 0, 0), 2, 2, 3),
        (2, axis(4, 2, 1, 1, 0, 0), axis(4, 2, 1, 1, 0, 0), 0, 0, 3),
        (2, axis(4, 2, 1, 1, 0, 0), axis(4, 2, 1, 1, 0, 0), 2, 2, 0),
    ] {
        all.push(Conv2d { batch, rows, columns, in_channels, filter_in_channels, out_channels });
    }
    all
}

fn narrow(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&x| x as f32).collect()
}

/// By definition, one multiply-add at a time: calls `f(input index, filter index, output index)` for each.
fn each_product(g: &Conv2d, mut f: impl FnMut(usize, usize, usize)) {
    let groups = g.in_channels.checked_div(g.filter_in_channels).unwrap_or(1);
    for n in 0..g.batch {
        for (oy, ox) in (0..g.rows.output).flat_map(|y| (0..g.columns.output).map(move |x| (y, x))) {
            for (ky, kx) in (0..g.rows.taps).flat_map(|y| (0..g.columns.taps).map(move |x| (y, x))) {
                let y = (oy * g.rows.stride + ky * g.rows.dilation) as isize - g.rows.pad_before as isize;
                let x = (ox * g.columns.stride + kx * g.columns.dilation) as isize - g.columns.pad_before as isize;
                if y < 0 || x < 0 || y >= g.rows.input as isize || x >= g.columns.input as isize {
                    continue;
                }
                for o in 0..g.out_channels {
                    let group = o / (g.out_channels / groups);
                    for c in 0..g.filter_in_channels {
                        let pixel = (n * g.rows.input + y as usize) * g.columns.input + x as usize;
                        let filter = ((ky * g.columns.taps + kx) * g.filter_in_channels + c) * g.out_channels + o;
                        let output = ((n * g.rows.output + oy) * g.columns.output + ox) * g.out_channels + o;
                        f(pixel * g.in_channels + group * g.filter_in_channels + c, filter, output);
                    }
                }
            }
        }
    }
}

/// Forward and both gradients, f32 and f64, plain and packed, every level of machine.
#[test]
fn agrees_with_the_definition() {
    let mut rng = Rng(6);
    for g in geometries() {
        let (input_len, filter_len, output_len) = g.lens().unwrap();
        let (x, w, dy) = (rng.f64s(input_len), rng.f64s(filter_len), rng.f64s(output_len));
        let (mut y, mut dx, mut dw) = (vec![0.0; output_len], vec![0.0; input_len], vec![0.0; filter_len]);
        each_product(&g, |i, f, o| {
            y[o] += x[i] * w[f];
            dx[i] += dy[o] * w[f];
            dw[f] += x[i] * dy[o];
        });
        let (mut out, mut back, mut weights) = (vec![9.0; output_len], vec![9.0; input_len], vec![9.0; filter_len]);
        conv2d_plain(&Inline, &g, &x, &w, &mut out).unwrap();
        conv2d_backprop_input_plain(&Inline, &g, &w, &dy, &mut back).unwrap();
        conv2d_backprop_filter_plain(&Inline, &g, &x, &dy, &mut weights).unwrap();
        assert_close64(&out, &y, 1e-12, &format!("plain {g:?}"));
        assert_close64(&back, &dx, 1e-12, &format!("plain input {g:?}"));
        assert_close64(&weights, &dw, 1e-11, &format!("plain filter {g:?}"));

        let (x32, w32, dy32) = (narrow(&x), narrow(&w), narrow(&dy));
        for par in machines() {
            let case = format!("{g:?} {:?} {}", par.isa, par.threads);
            let mut out = vec![9.0; output_len];
            let mut scratch = vec![f64::NAN; conv2d_scratch_len::<f64>(&par, &g, false).unwrap()];
            conv2d(&par, &g, &x, Filter::Plain(&w), &mut out, Epilogue::default(), &mut scratch).unwrap();
            assert_close64(&out, &y, 1e-12, &case);

            let mut out = vec![9.0; output_len];
            let mut scratch = vec![f32::NAN; conv2d_scratch_len::<f32>(&par, &g, true).unwrap()];
            let mut packed = vec![f32::NAN; pack_filter_len::<f32>(&g).unwrap()];
            pack_filter(&par, &g, &w32, &mut packed).unwrap();
            let bias = narrow(&(0..g.out_channels).map(|i| i as f64 * 0.25 - 1.0).collect::<Vec<_>>());
            let epilogue = Epilogue { bias: Some(&bias), activation: Activation::Relu6 };
            conv2d(&par, &g, &x32, Filter::Packed(&packed), &mut out, epilogue, &mut scratch).unwrap();
            let activated: Vec<f64> =
                y.iter().enumerate().map(|(i, y)| y + f64::from(bias[i % g.out_channels])).collect();
            let activated: Vec<f32> = activated.iter().map(|y| y.clamp(0.0, 6.0) as f32).collect();
            assert_close(&out, &activated, 1e-4, &case);

            let mut back = vec![9.0; input_len];
            let mut scratch = vec![f32::NAN; conv2d_backprop_input_scratch_len::<f32>(&par, &g).unwrap()];
            conv2d_backprop_input(&par, &g, &w32, &dy32, &mut back, &mut scratch).unwrap();
            assert_close(&back, &narrow(&dx), 1e-4, &case);

            let mut weights = vec![9.0; filter_len];
            let mut scratch = vec![f32::NAN; conv2d_backprop_filter_scratch_len::<f32>(&par, &g).unwrap()];
            conv2d_backprop_filter(&par, &g, &x32, &dy32, &mut weights, &mut scratch).unwrap();
            assert_close(&weights, &narrow(&dw), 1e-4, &case);
        }
    }
}

/// The depthwise kind is the grouped kind with one input channel a group, but for the filter's layout.
#[test]
fn depthwise_agrees_with_grouped() {
    let mut rng = Rng(7);
    for (channels, multiplier) in [(1, 1), (3, 1), (8, 1), (37, 1), (70, 1), (5, 3), (1, 20)] {
        for rows in [Axis::same(6, 3, 1, 1), Axis::same(7, 3, 2, 1), Axis::valid(9, 3, 1, 2), Axis::valid(2, 3, 1, 1)] {
            let rows = rows.unwrap();
            let columns = Axis::explicit(9, 4, 2, 1, 1, 3).unwrap();
            let d = Depthwise2d { batch: 2, rows, columns, channels, multiplier };
            let (out_channels, filter_in_channels) = (channels * multiplier, 1);
            let g = Conv2d { batch: 2, rows, columns, in_channels: channels, filter_in_channels, out_channels };
            assert_eq!(d.lens(), g.lens());
            let (input_len, filter_len, output_len) = d.lens().unwrap();
            let (x, w, dy) = (rng.f64s(input_len), rng.f64s(filter_len), rng.f64s(output_len));
            let (mut y, mut dx, mut dw) = (vec![0.0; output_len], vec![0.0; input_len], vec![0.0; filter_len]);
            conv2d_plain(&Inline, &g, &x, &w, &mut y).unwrap();
            conv2d_backprop_input_plain(&Inline, &g, &w, &dy, &mut dx).unwrap();
            conv2d_backprop_filter_plain(&Inline, &g, &x, &dy, &mut dw).unwrap();
            for par in machines() {
                let case = format!("{d:?} {:?} {}", par.isa, par.threads);
                let (mut out, mut back, mut weights) =
                    (vec![9.0; output_len], vec![9.0; input_len], vec![9.0; filter_len]);
                depthwise_conv2d(&par, &d, &x, &w, &mut out).unwrap();
                depthwise_conv2d_backprop_input(&par, &d, &w, &dy, &mut back).unwrap();
                depthwise_conv2d_backprop_filter(&par, &d, &x, &dy, &mut weights).unwrap();
                assert_close64(&out, &y, 1e-12, &case);
                assert_close64(&back, &dx, 1e-12, &case);
                assert_close64(&weights, &dw, 1e-12, &case);
                depthwise_conv2d_plain(&par, &d, &x, &w, &mut out).unwrap();
                depthwise_conv2d_backprop_input_plain(&par, &d, &w, &dy, &mut back).unwrap();
                depthwise_conv2d_backprop_filter_plain(&par, &d, &x, &dy, &mut weights).unwrap();
                assert_close64(&out, &y, 1e-12, &case);
                assert_close64(&back, &dx, 1e-12, &case);
                assert_close64(&weights, &dw, 1e-12, &case);
            }
        }
    }
}

/// f16 is summed in f32; integers wrap; NaN spreads to the pixels that see it.
#[test]
fn other_types_and_nan() {
    let pixel = Axis::valid(1, 1, 1, 1).unwrap();
    let g = Conv2d { batch: 1, rows: pixel, columns: pixel, in_channels: 3, filter_in_channels: 3, out_channels: 1 };
    let mut out = [f16::ZERO];
    conv2d_plain(&Inline, &g, &[f16::from_f32(2048.0), f16::ONE, f16::ONE], &[f16::ONE; 3], &mut out).unwrap();
    assert_eq!(out[0].to_f32(), 2050.0);
    let mut out = [0i32];
    conv2d_plain(&Inline, &g, &[i32::MAX, 1, 1], &[1; 3], &mut out).unwrap();
    assert_eq!(out[0], i32::MIN + 1);

    let line = Axis::same(5, 3, 1, 1).unwrap();
    let g = Conv2d { batch: 1, rows: pixel, columns: line, in_channels: 1, filter_in_channels: 1, out_channels: 1 };
    for par in machines() {
        let mut out = [0.0f32; 5];
        let mut scratch = vec![0.0; conv2d_scratch_len::<f32>(&par, &g, false).unwrap()];
        let input = [1.0, 1.0, 1.0, 1.0, f32::NAN];
        conv2d(&par, &g, &input, Filter::Plain(&[1.0; 3]), &mut out, Epilogue::default(), &mut scratch).unwrap();
        assert_eq!(out[..3], [2.0, 3.0, 3.0]);
        assert!(out[3].is_nan() && out[4].is_nan());
    }
}

/// Wrong lengths, channels that do not divide and positions that overflow are refused.
#[test]
fn wrong_geometry_is_refused() {
    let line = Axis::valid(3, 1, 1, 1).unwrap();
    let g = Conv2d { batch: 1, rows: line, columns: line, in_channels: 4, filter_in_channels: 2, out_channels: 4 };
    let run = |g: &Conv2d, x: usize, w: usize, y: usize| {
        let (x, w, mut y) = (vec![0i32; x], vec![0; w], vec![0; y]);
        conv2d_plain(&Inline, g, &x, &w, &mut y).map_err(|e| e.argument)
    };
    assert_eq!(run(&g, 36, 8, 36), Ok(()));
    assert_eq!(run(&g, 35, 8, 36), Err("input"));
    assert_eq!(run(&g, 36, 7, 36), Err("filter"));
    assert_eq!(run(&g, 36, 8, 35), Err("output"));
    assert_eq!(run(&Conv2d { filter_in_channels: 3, ..g }, 36, 8, 36), Err("in_channels"));
    assert_eq!(run(&Conv2d { filter_in_channels: 0, ..g }, 36, 8, 36), Err("in_channels"));
    assert_eq!(run(&Conv2d { out_channels: 3, ..g }, 36, 8, 36), Err("out_channels"));
    assert_eq!(run(&Conv2d { batch: usize::MAX, ..g }, 36, 8, 36), Err("output"));
    let far = Axis { stride: usize::MAX, ..line };
    assert_eq!(run(&Conv2d { rows: far, ..g }, 36, 8, 36), Err("rows"));
    let still = Axis { stride: 0, ..line };
    assert_eq!(run(&Conv2d { columns: still, ..g }, 36, 8, 36), Err("columns"));
    let mut out = [0.0f32; 36];
    let got = conv2d(&Inline, &g, &[0.0; 36], Filter::Plain(&[0.0; 8]), &mut out, Epilogue::default(), &mut []);
    assert_eq!(got.unwrap_err().argument, "scratch");
}

/// A filter without numbers may claim any number of taps: the answer is zeros, at once.
#[test]
fn empty_filters_are_not_gone_through() {
    let line = Axis::same(2, 1 << 29, 1, 1).unwrap();
    let g = Conv2d { batch: 1, rows: line, columns: line, in_channels: 0, filter_in_channels: 0, out_channels: 2 };
    let mut out = [9.0f32; 8];
    conv2d_plain(&Inline, &g, &[], &[], &mut out).unwrap();
    assert_eq!(out, [0.0; 8]);
    assert_eq!(conv2d_scratch_len::<f32>(&Inline, &g, false), Ok(0));
    let epilogue = Epilogue { bias: Some(&[1.0, 2.0]), activation: Activation::None };
    conv2d(&Inline, &g, &[], Filter::Plain(&[]), &mut out, epilogue, &mut []).unwrap();
    assert_eq!(out, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    conv2d_backprop_filter(&Inline, &g, &[], &out, &mut [], &mut []).unwrap();

    let g = Conv2d { in_channels: 2, filter_in_channels: 2, out_channels: 0, ..g };
    conv2d_backprop_input_plain(&Inline, &g, &[], &[], &mut out).unwrap();
    assert_eq!(out, [0.0; 8]);
    out.fill(9.0);
    assert_eq!(conv2d_backprop_input_scratch_len::<f32>(&Inline, &g), Ok(0));
    conv2d_backprop_input(&Inline, &g, &[], &[], &mut out, &mut []).unwrap();
    assert_eq!(out, [0.0; 8]);

    let d = Depthwise2d { batch: 1, rows: line, columns: line, channels: 2, multiplier: 0 };
    out.fill(9.0);
    depthwise_conv2d_backprop_input(&Inline, &d, &[], &[], &mut out).unwrap();
    assert_eq!(out, [0.0; 8]);
}
