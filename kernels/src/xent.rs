//! Cross entropy of a softmax against labels, with its gradient, in one go over each row.

use crate::number::Floating;
use crate::parallel::{Parallel, chunks_mut2};
use crate::softmax::{Finish, cycles, row};
use crate::{Mismatch, ensure, product};

/// Why a cross entropy was not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XentError {
    /// A slice does not fit the geometry.
    Mismatch(Mismatch),
    /// Label number `index` is not a class.
    Label {
        /// Its place among the labels; the first such.
        index: usize,
        /// Its value.
        label: i64,
    },
}

impl From<Mismatch> for XentError {
    fn from(mismatch: Mismatch) -> Self {
        XentError::Mismatch(mismatch)
    }
}

/// `loss = ln(sum(exp(x))) - x[label]` and `backprop = softmax(x) - one_hot(label)` of each row of `classes` numbers.
///
/// `logits` and `backprop` hold `labels.len()` rows, `loss` a number a row. Labels (int32 or int64) are looked at before
/// anything is written: one outside `0..classes` fails the call.
pub fn sparse_softmax_xent<T: Floating, L: Copy + Into<i64> + Sync>(
    par: &dyn Parallel,
    classes: usize,
    logits: &[T],
    labels: &[L],
    loss: &mut [T],
    backprop: &mut [T],
) -> Result<(), XentError> {
    check(classes, labels.len(), [logits.len(), backprop.len()], loss.len())?;
    let class = |label: L| usize::try_from(label.into()).ok().filter(|&label| label < classes);
    if let Some((index, &label)) = labels.iter().enumerate().find(|&(_, &label)| class(label).is_none()) {
        return Err(XentError::Label { index, label: label.into() });
    }
    let isa = par.isa();
    chunks_mut2(par, (loss, 1), (backprop, classes), cycles(classes), &|first, loss, backprop| {
        let rows = logits[first * classes..].chunks(classes).zip(&labels[first..]);
        for (((x, &label), loss), out) in rows.zip(loss).zip(backprop.chunks_mut(classes)) {
            *loss = row(isa, x, out, Finish::LessOneAt(class(label).unwrap_or(classes)));
        }
    });
    Ok(())
}

/// `loss = sum(labels · (ln(sum(exp(x))) - x))` and `backprop = softmax(x) - labels` of each row of `classes` numbers.
///
/// `logits`, `labels` and `backprop` hold `loss.len()` rows. Labels are used as they are; they need not sum to one.
pub fn softmax_xent<T: Floating>(
    par: &dyn Parallel,
    classes: usize,
    logits: &[T],
    labels: &[T],
    loss: &mut [T],
    backprop: &mut [T],
) -> Result<(), Mismatch> {
    check(classes, loss.len(), [logits.len(), backprop.len()], loss.len())?;
    ensure(labels.len() == logits.len(), "labels")?;
    if classes == 0 {
        loss.fill(T::ZERO);
        return Ok(());
    }
    let isa = par.isa();
    chunks_mut2(par, (loss, 1), (backprop, classes), cycles(classes), &|first, loss, backprop| {
        let rows = logits[first * classes..].chunks(classes).zip(labels[first * classes..].chunks(classes));
        for (((x, labels), loss), out) in rows.zip(loss).zip(backprop.chunks_mut(classes)) {
            *loss = row(isa, x, out, Finish::Less(labels));
        }
    });
    Ok(())
}

fn check(classes: usize, rows: usize, [logits, backprop]: [usize; 2], loss: usize) -> Result<(), Mismatch> {
    let len = product(&[rows, classes], "logits")?;
    ensure(logits == len, "logits")?;
    ensure(backprop == len, "backprop")?;
    ensure(loss == rows, "loss")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rng, assert_close64, machines};
    use alloc::{format, vec};
    use half::bf16;

    /// Both forms against the formula, rows of every length, and against each other.
    #[test]
    fn agrees_with_the_formula() {
        let mut rng = Rng(4);
        for classes in [1usize, 2, 10, 16, 17, 64, 130] {
            let rows = 5;
            let x = rng.f64s(rows * classes);
            let labels: alloc::vec::Vec<i32> = (0..rows).map(|_| rng.below(classes) as i32).collect();
            let mut dense = vec![0.0; rows * classes];
            let (mut want, mut want_grad) = (vec![0.0; rows], vec![0.0; rows * classes]);
            for i in 0..rows {
                let (x, label) = (&x[i * classes..(i + 1) * classes], labels[i] as usize);
                dense[i * classes + label] = 1.0;
                let sum: f64 = x.iter().map(|&x| libm::exp(x)).sum();
                want[i] = libm::log(sum) - x[label];
                for j in 0..classes {
                    want_grad[i * classes + j] = libm::exp(x[j]) / sum - f64::from(u8::from(j == label));
                }
            }
            for par in machines() {
                let case = format!("{classes} {:?} {}", par.isa, par.threads);
                let (mut loss, mut grad) = (vec![9.0; rows], vec![9.0; rows * classes]);
                sparse_softmax_xent(&par, classes, &x, &labels, &mut loss, &mut grad).unwrap();
                assert_close64(&loss, &want, 1e-14, &case);
                assert_close64(&grad, &want_grad, 1e-14, &case);
                let (mut loss, mut grad) = (vec![9.0; rows], vec![9.0; rows * classes]);
                softmax_xent(&par, classes, &x, &dense, &mut loss, &mut grad).unwrap();
                assert_close64(&loss, &want, 1e-14, &case);
                assert_close64(&grad, &want_grad, 1e-14, &case);
            }
        }
    }

    /// TensorFlow's answers to logits of -∞: an impossible label costs ∞, and zero times ∞ is NaN in the dense form.
    #[test]
    fn infinities() {
        let x = [f32::NEG_INFINITY, 0.0, 1.0, 2.0];
        for par in machines() {
            let (mut loss, mut grad) = ([0.0], [0.0; 4]);
            sparse_softmax_xent(&par, 4, &x, &[0i64], &mut loss, &mut grad).unwrap();
            assert_eq!((loss[0], grad[0]), (f32::INFINITY, -1.0));
            softmax_xent(&par, 4, &x, &[0.0, 0.0, 1.0, 0.0], &mut loss, &mut grad).unwrap();
            assert!(loss[0].is_nan());
            assert_eq!(grad[0], 0.0);
            sparse_softmax_xent(&par, 4, &[f32::NAN, 0.0, 0.0, 0.0], &[1i64], &mut loss, &mut grad).unwrap();
            assert!(loss[0].is_nan() && grad.iter().all(|x| x.is_nan()));
        }
    }

    /// A label that is no class is named by place and value, and nothing is written.
    #[test]
    fn labels_out_of_range() {
        let par = &machines()[0];
        let (mut loss, mut grad) = ([bf16::ONE; 2], [bf16::ONE; 4]);
        for label in [-1i64, 2, i64::MAX, i64::MIN] {
            let got = sparse_softmax_xent(par, 2, &[bf16::ONE; 4], &[0, label], &mut loss, &mut grad);
            assert_eq!(got, Err(XentError::Label { index: 1, label }));
        }
        assert_eq!((loss, grad), ([bf16::ONE; 2], [bf16::ONE; 4]));
        let got = sparse_softmax_xent(par, 2, &[bf16::ONE; 4], &[0i32], &mut loss, &mut grad);
        assert_eq!(got, Err(XentError::Mismatch(Mismatch { argument: "logits" })));
        assert_eq!(sparse_softmax_xent::<f32, i32>(par, 3, &[], &[], &mut [], &mut []), Ok(()));
        assert_eq!(softmax_xent::<f32>(par, 0, &[], &[], &mut [], &mut []), Ok(()));
    }
}
