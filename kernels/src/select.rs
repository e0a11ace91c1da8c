//! Choosing and generating: select, where, one-hot, ranges, diagonals.

use crate::broadcast::Broadcast;
use crate::element::{Element, Float, Integer, Number, Real};
use crate::error::{self, Error, Result};

/// `out = if condition { yes } else { no }`, all three broadcast together (`SelectV2`). Operands are data and shape.
pub fn select<T: Clone>(
    condition: (&[bool], &[usize]),
    yes: (&[T], &[usize]),
    no: (&[T], &[usize]),
    out: &mut [T],
) -> Result<()> {
    let plan = Broadcast::new([condition.1, yes.1, no.1])?;
    error::same(out.len(), plan.len())?;
    let [nc, ny, nn] = plan.counts();
    error::same(condition.0.len(), nc)?;
    error::same(yes.0.len(), ny)?;
    error::same(no.0.len(), nn)?;
    let steps = plan.inner();
    plan.rows(0, plan.len(), &mut |[c, y, n], at, len| {
        let row = |step: usize| if step == 0 { 1 } else { len };
        let out = out.get_mut(at..at + len).ok_or(Error::Length)?;
        let condition = condition.0.get(c..c + row(steps[0])).ok_or(Error::Length)?;
        let yes = yes.0.get(y..y + row(steps[1])).ok_or(Error::Length)?;
        let no = no.0.get(n..n + row(steps[2])).ok_or(Error::Length)?;
        if let &[c] = condition {
            // One condition for the row: a copy.
            let chosen = if c { yes } else { no };
            match chosen {
                [one] => out.fill(one.clone()),
                row => out.clone_from_slice(row),
            }
            return Ok(());
        }
        let last = |row: &[T], i: usize| row.get(i).or(row.first()).cloned();
        if yes.len() == len && no.len() == len {
            for (((o, &c), y), n) in out.iter_mut().zip(condition).zip(yes).zip(no) {
                *o = if c { y.clone() } else { n.clone() };
            }
        } else {
            for (i, (o, &c)) in out.iter_mut().zip(condition).enumerate() {
                *o = last(if c { yes } else { no }, i).ok_or(Error::Length)?;
            }
        }
        Ok(())
    })
}

/// `Select`: equal shapes, or one condition for each row of `out.len() / condition.len()` elements.
pub fn select_rows<T: Clone>(condition: &[bool], yes: &[T], no: &[T], out: &mut [T]) -> Result<()> {
    error::same(yes.len(), out.len())?;
    error::same(no.len(), out.len())?;
    if out.is_empty() {
        return Ok(());
    }
    let width = out.len().checked_div(condition.len()).ok_or(Error::Length)?;
    error::same(width * condition.len(), out.len())?;
    if width == 1 {
        for (((o, &c), y), n) in out.iter_mut().zip(condition).zip(yes).zip(no) {
            *o = if c { y.clone() } else { n.clone() };
        }
        return Ok(());
    }
    for (((o, &c), y), n) in
        out.chunks_exact_mut(width).zip(condition).zip(yes.chunks_exact(width)).zip(no.chunks_exact(width))
    {
        o.clone_from_slice(if c { y } else { n });
    }
    Ok(())
}

/// `min(max(x, low), high)` where the bounds are one value or as many as `x`; NaN stays (`ClipByValue`).
pub fn clip<T: Real>(x: &[T], low: &[T], high: &[T], out: &mut [T]) -> Result<()> {
    error::same(x.len(), out.len())?;
    let bound = |b: &[T], i: usize| if b.len() == 1 { b.first() } else { b.get(i) }.copied().ok_or(Error::Length);
    for b in [low, high] {
        if b.len() != 1 {
            error::same(b.len(), x.len())?;
        }
    }
    for (i, (o, &x)) in out.iter_mut().zip(x).enumerate() {
        let (low, high) = (bound(low, i)?, bound(high, i)?);
        let x = if x < low { low } else { x };
        *o = if x > high { high } else { x };
    }
    Ok(())
}

/// Elements that are not zero; NaN is not.
pub fn count_nonzero<T: Element>(x: &[T]) -> usize {
    x.iter().filter(|&&v| v != T::ZERO).count()
}

/// The coordinates of the elements that are not zero, row after row (`Where`); `out` holds `count · rank` of them.
pub fn nonzero<T: Element>(x: &[T], dims: &[usize], out: &mut [i64]) -> Result<()> {
    error::same(x.len(), crate::dims::count(dims)?)?;
    let strides = crate::dims::strides(dims)?;
    let rank = dims.len();
    error::same(out.len(), count_nonzero(x).checked_mul(rank).ok_or(Error::Overflow)?)?;
    if rank == 0 {
        return Ok(());
    }
    let found = x.iter().enumerate().filter(|&(_, &v)| v != T::ZERO);
    for (row, (i, _)) in out.chunks_exact_mut(rank).zip(found) {
        for ((o, &d), &s) in row.iter_mut().zip(dims).zip(strides.iter()) {
            *o = (i / s % d) as i64;
        }
    }
    Ok(())
}

/// `on` at `[.., indices[o, i], ..]`, `off` elsewhere (`OneHot`): indices are `[outer, inner]`, `out` `[outer, depth, inner]`.
/// Indices out of range set nothing.
pub fn one_hot<T: Clone, I: Integer>(
    indices: &[I],
    inner: usize,
    depth: usize,
    on: T,
    off: T,
    out: &mut [T],
) -> Result<()> {
    error::same(out.len(), indices.len().checked_mul(depth).ok_or(Error::Overflow)?)?;
    out.fill(off);
    if out.is_empty() {
        return Ok(());
    }
    let outer = indices.len().checked_div(inner).ok_or(Error::Length)?;
    error::same(outer * inner, indices.len())?;
    for (slab, indices) in out.chunks_exact_mut(depth * inner).zip(indices.chunks_exact(inner)) {
        for (i, index) in indices.iter().enumerate() {
            if let Some(place) = index.to_index().filter(|&k| k < depth).and_then(|k| slab.get_mut(k * inner + i)) {
                *place = on.clone();
            }
        }
    }
    Ok(())
}

/// How many values `Range` gives for integers: [`Error::Argument`] for a zero step or one away from the limit.
pub fn range_len_integer<T: Integer>(start: T, limit: T, delta: T) -> Result<usize> {
    check_range(start, limit, delta)?;
    // Unsigned 64-bit values above i64::MAX wrap alike in all three, and so does their difference.
    let span = if start <= limit {
        limit.to_i64().wrapping_sub(start.to_i64())
    } else {
        start.to_i64().wrapping_sub(limit.to_i64())
    } as u64;
    let step = if delta > T::ZERO { delta.to_i64() as u64 } else { delta.to_i64().unsigned_abs() };
    usize::try_from(span.div_ceil(step.max(1))).map_err(|_| Error::Overflow)
}

/// How many values `Range` gives for floats.
pub fn range_len_float<T: Float>(start: T, limit: T, delta: T) -> Result<usize> {
    check_range(start, limit, delta)?;
    // In the type's own arithmetic, as the values themselves: half of 0.8 / 0.2 is 4, and a little more in double.
    let n = libm::ceil(libm::fabs(limit.minus(start).over(delta).to_f64()));
    // NaN and what does not fit are refused.
    if n >= 0.0 && n < usize::MAX as f64 { Ok(n as usize) } else { Err(Error::Overflow) }
}

fn check_range<T: Real>(start: T, limit: T, delta: T) -> Result<()> {
    let toward = if delta > T::ZERO { start <= limit } else { start >= limit };
    if delta == T::ZERO || !toward { Err(Error::Argument) } else { Ok(()) }
}

/// `out[i] = start + i · delta`, product and sum rounded apart (`Range`).
pub fn range<T: Number>(start: T, delta: T, out: &mut [T]) {
    for (i, o) in out.iter_mut().enumerate() {
        *o = start.plus(T::from_count(i).times(delta));
    }
}

/// `out.len()` values from `start` to `stop`, both included (`LinSpace`).
pub fn linspace<T: Float>(start: T, stop: T, out: &mut [T]) {
    let Some((last, rest)) = out.split_last_mut() else { return };
    if rest.is_empty() {
        *last = start;
        return;
    }
    let step = stop.minus(start).over(T::from_count(rest.len()));
    for (i, o) in rest.iter_mut().enumerate() {
        *o = start.plus(step.times(T::from_count(i)));
    }
    *last = stop;
}

/// The diagonals of `[batch, rows, columns]` matrices, `min(rows, columns)` each (`MatrixDiagPart`).
pub fn diagonal_part<T: Clone>(x: &[T], rows: usize, columns: usize, out: &mut [T]) -> Result<()> {
    let (area, n) = (rows.checked_mul(columns).ok_or(Error::Overflow)?, rows.min(columns));
    if n == 0 {
        return error::same(out.len(), 0);
    }
    error::same(x.len() % area, 0)?;
    error::same(out.len(), x.len() / area * n)?;
    for (o, x) in out.chunks_exact_mut(n).zip(x.chunks_exact(area)) {
        for (o, x) in o.iter_mut().zip(x.iter().step_by(columns + 1)) {
            *o = x.clone();
        }
    }
    Ok(())
}

/// Writes `diagonal` (`min(rows, columns)` a matrix) onto the diagonals of `[batch, rows, columns]` (`MatrixSetDiag`).
pub fn set_diagonal<T: Clone>(diagonal: &[T], rows: usize, columns: usize, matrices: &mut [T]) -> Result<()> {
    let (area, n) = (rows.checked_mul(columns).ok_or(Error::Overflow)?, rows.min(columns));
    if n == 0 {
        return error::same(diagonal.len(), 0);
    }
    error::same(matrices.len() % area, 0)?;
    error::same(diagonal.len(), matrices.len() / area * n)?;
    for (m, d) in matrices.chunks_exact_mut(area).zip(diagonal.chunks_exact(n)) {
        for (m, d) in m.iter_mut().step_by(columns + 1).zip(d) {
            *m = d.clone();
        }
    }
    Ok(())
}

/// Keeps `lower` subdiagonals and `upper` superdiagonals, negative for all; zero elsewhere (`MatrixBandPart`).
pub fn band_part<T: Element>(
    x: &[T],
    rows: usize,
    columns: usize,
    (lower, upper): (i64, i64),
    out: &mut [T],
) -> Result<()> {
    error::same(out.len(), x.len())?;
    if x.is_empty() {
        return Ok(());
    }
    error::same(x.len() % rows.checked_mul(columns).filter(|&a| a > 0).ok_or(Error::Length)?, 0)?;
    for (r, (out, x)) in out.chunks_exact_mut(columns).zip(x.chunks_exact(columns)).enumerate() {
        let row = (r % rows) as i64;
        for (c, (o, &x)) in out.iter_mut().zip(x).enumerate() {
            let away = row - c as i64;
            let keep = (lower < 0 || away <= lower) && (upper < 0 || -away <= upper);
            *o = if keep { x } else { T::ZERO };
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn selects() {
        let mut out = [0; 6];
        let (c, y, n) = ([true, false], [1, 2, 3, 4, 5, 6], [10, 20, 30]);
        select((&c, &[2, 1]), (&y, &[2, 3]), (&n, &[3]), &mut out).unwrap();
        assert_eq!(out, [1, 2, 3, 10, 20, 30]);
        select((&[true, false, true], &[3]), (&y, &[2, 3]), (&[0], &[]), &mut out).unwrap();
        assert_eq!(out, [1, 0, 3, 4, 0, 6]);
        select((&[true], &[]), (&[7], &[]), (&n, &[3]), &mut out[..3]).unwrap();
        assert_eq!(out[..3], [7, 7, 7]);
        let bad = select((&c, &[2]), (&n, &[3]), (&[0], &[]), &mut out);
        assert_eq!(bad, Err(Error::Incompatible));
        select_rows(&c, &y, &[0; 6], &mut out).unwrap();
        assert_eq!(out, [1, 2, 3, 0, 0, 0]);
        let mut text = [""; 2];
        select((&c, &[2]), (&["a"], &[]), (&["b"], &[]), &mut text).unwrap();
        assert_eq!(text, ["a", "b"]);
        assert_eq!(select_rows(&[true; 4], &y, &y, &mut out), Err(Error::Length));
        let mut clipped = [0f32; 3];
        clip(&[1.0, f32::NAN, -5.0], &[-2.0], &[2.0, 3.0, 4.0], &mut clipped).unwrap();
        assert!(clipped[0] == 1.0 && clipped[1].is_nan() && clipped[2] == -2.0);
    }

    #[test]
    fn finds_and_marks() {
        let x = [1.0, f32::NAN, 0.0, -0.0];
        let mut out = [9; 4];
        nonzero(&x, &[2, 2], &mut out).unwrap();
        assert_eq!((out, count_nonzero(&x)), ([0, 0, 0, 1], 2));
        assert_eq!(nonzero(&x, &[2, 2], &mut out[..3]), Err(Error::Length));
        nonzero(&[true], &[], &mut []).unwrap();
        let mut hot = [0; 9];
        one_hot(&[0i32, 5, -1], 1, 3, 1, 0, &mut hot).unwrap();
        assert_eq!(hot, [1, 0, 0, 0, 0, 0, 0, 0, 0]);
        one_hot(&[0u8, 2, 1], 3, 3, 1, 0, &mut hot).unwrap();
        assert_eq!(hot, [1, 0, 0, 0, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn ranges_round_like_tensorflow() {
        assert_eq!(range_len_integer(0i32, 10, 3), Ok(4));
        assert_eq!(range_len_integer(10i64, 0, -3), Ok(4));
        assert_eq!(range_len_integer(5u64, u64::MAX, 1 << 60), Ok(16));
        assert_eq!(range_len_integer(0i32, 5, 0), Err(Error::Argument));
        assert_eq!(range_len_integer(5i32, 0, 1), Err(Error::Argument));
        assert_eq!(range_len_integer(i64::MIN, i64::MAX, i64::MAX), Ok(3));
        assert_eq!(range_len_float(0.0f32, 1.0, 0.1), Ok(10));
        assert_eq!(range_len_float(f64::NAN, 1.0, 0.1), Err(Error::Argument));
        assert_eq!(range_len_float(0.0, f64::INFINITY, 0.1), Err(Error::Overflow));
        let mut out = [f16::ZERO; 10];
        range(f16::ZERO, f16::from_f32(0.1), &mut out);
        assert_eq!(out[3], f16::from_f32(0.2998));
        let mut out = [bf16::ZERO; 10];
        range(bf16::ZERO, bf16::from_f32(0.1), &mut out);
        assert_eq!(out[9], bf16::from_f32(0.902344));
        let mut out = [0f32; 4];
        linspace(0.0, 1.0, &mut out);
        assert_eq!(out, [0.0, 0.33333334, 0.6666667, 1.0]);
        linspace(3.0, 9.0, &mut out[..1]);
        assert_eq!(out[0], 3.0);
        linspace(0.0f32, 1.0, &mut []);
    }

    #[test]
    fn diagonals() {
        let x = [1, 2, 3, 4, 5, 6];
        let mut out = [0; 2];
        diagonal_part(&x, 2, 3, &mut out).unwrap();
        assert_eq!(out, [1, 5]);
        let mut m = [0; 6];
        set_diagonal(&[7, 8], 3, 2, &mut m).unwrap();
        assert_eq!(m, [7, 0, 0, 8, 0, 0]);
        band_part(&x, 2, 3, (0, -1), &mut m).unwrap();
        assert_eq!(m, [1, 2, 3, 0, 5, 6]);
        assert_eq!(diagonal_part(&x, 4, 1, &mut out), Err(Error::Length));
    }
}
