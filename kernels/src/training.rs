//! Optimiser steps on slices: the arithmetic of `Apply…`, `ResourceApply…` and, a row at a time, `SparseApply…`.
//!
//! Halves are computed in `f32` and rounded when stored. All slices of a call have one length.

use num_complex::Complex;

use crate::element::{Element, Elementary, Float, Number, Real};
use crate::error::{self, Result};

type N<T> = <T as Float>::Native;

/// A real or complex float, with the type that a step on it is computed in.
pub trait Inexact: Elementary {
    /// `f32` for halves, else the type itself.
    type Computed: Elementary;
    /// To the computing type, exactly.
    fn computed(self) -> Self::Computed;
    /// From the computing type, rounded.
    fn rounded(value: Self::Computed) -> Self;
}

impl<T: Float> Inexact for T {
    type Computed = T::Native;
    #[inline(always)]
    fn computed(self) -> T::Native {
        self.to_native()
    }
    #[inline(always)]
    fn rounded(value: T::Native) -> T {
        T::from_native(value)
    }
}

macro_rules! complex {
    ($($t:ty)*) => {$(
        impl Inexact for Complex<$t> {
            type Computed = Self;
            #[inline(always)]
            fn computed(self) -> Self { self }
            #[inline(always)]
            fn rounded(value: Self) -> Self { value }
        }
    )*};
}

complex!(f32 f64);

fn same_lengths<const K: usize>(lengths: [usize; K]) -> Result<()> {
    lengths.iter().try_for_each(|&l| error::same(l, lengths[0]))
}

/// `var −= lr · grad`.
pub fn gradient_descent<T: Inexact>(var: &mut [T], lr: T, grad: &[T]) -> Result<()> {
    same_lengths([var.len(), grad.len()])?;
    let lr = lr.computed();
    for (v, g) in var.iter_mut().zip(grad) {
        *v = T::rounded(v.computed().minus(g.computed().times(lr)));
    }
    Ok(())
}

/// Proximal gradient descent with `l1` and `l2` regularisation (`ApplyProximalGradientDescent`).
pub fn proximal_gradient_descent<T: Float>(var: &mut [T], lr: T, l1: T, l2: T, grad: &[T]) -> Result<()> {
    same_lengths([var.len(), grad.len()])?;
    let (lr, l1, l2) = (lr.to_native(), l1.to_native(), l2.to_native());
    for (v, g) in var.iter_mut().zip(grad) {
        *v = T::from_native(proximal::<T>(v.to_native().minus(g.to_native().times(lr)), lr, l1, l2));
    }
    Ok(())
}

/// Shrinks toward zero by `lr · l1`, then divides by `1 + lr · l2`.
fn proximal<T: Float>(prox: N<T>, lr: N<T>, l1: N<T>, l2: N<T>) -> N<T> {
    let shrunk = if l1 > N::<T>::ZERO {
        let m = prox.magnitude().minus(lr.times(l1));
        prox.sign().times(if m > N::<T>::ZERO { m } else { N::<T>::ZERO })
    } else {
        prox
    };
    shrunk.over(N::<T>::ONE.plus(l2.times(lr)))
}

/// `accum = accum · momentum + grad`, then `var −= lr · accum`, or with Nesterov's look-ahead
/// `var −= lr · grad + lr · momentum · accum`.
pub fn momentum<T: Inexact>(
    var: &mut [T],
    accum: &mut [T],
    lr: T,
    grad: &[T],
    momentum: T,
    nesterov: bool,
) -> Result<()> {
    same_lengths([var.len(), accum.len(), grad.len()])?;
    let (lr, momentum) = (lr.computed(), momentum.computed());
    for ((v, a), g) in var.iter_mut().zip(accum).zip(grad) {
        let g = g.computed();
        let acc = a.computed().times(momentum).plus(g);
        *a = T::rounded(acc);
        let step = if nesterov { g.times(lr).plus(acc.times(momentum).times(lr)) } else { acc.times(lr) };
        *v = T::rounded(v.computed().minus(step));
    }
    Ok(())
}

/// Momentum in Keras' form: `accum = accum · momentum − lr · grad`, then `var += accum`, or with Nesterov's look-ahead
/// `var += accum · momentum − lr · grad`.
pub fn keras_momentum<T: Inexact>(
    var: &mut [T],
    accum: &mut [T],
    lr: T,
    grad: &[T],
    momentum: T,
    nesterov: bool,
) -> Result<()> {
    same_lengths([var.len(), accum.len(), grad.len()])?;
    let (lr, momentum) = (lr.computed(), momentum.computed());
    for ((v, a), g) in var.iter_mut().zip(accum).zip(grad) {
        let down = g.computed().times(lr);
        let acc = a.computed().times(momentum).minus(down);
        *a = T::rounded(acc);
        let step = if nesterov { acc.times(momentum).minus(down) } else { acc };
        *v = T::rounded(v.computed().plus(step));
    }
    Ok(())
}

/// The scalars of Adam.
#[derive(Clone, Copy, Debug)]
pub struct Adam<T> {
    /// β₁ to the power of the step.
    pub beta1_power: T,
    /// β₂ to the power of the step.
    pub beta2_power: T,
    /// Learning rate.
    pub lr: T,
    /// Decay of the first moment.
    pub beta1: T,
    /// Decay of the second moment.
    pub beta2: T,
    /// Keeps the divisor from zero.
    pub epsilon: T,
    /// Nesterov's look-ahead.
    pub nesterov: bool,
}

impl<T: Inexact> Adam<T> {
    /// One step of `var` with its moments `m` and `v`.
    pub fn apply(&self, var: &mut [T], m: &mut [T], v: &mut [T], grad: &[T]) -> Result<()> {
        same_lengths([var.len(), m.len(), v.len(), grad.len()])?;
        let one = T::Computed::ONE;
        let (beta1, beta2, epsilon) = (self.beta1.computed(), self.beta2.computed(), self.epsilon.computed());
        let unbias = one.minus(self.beta2_power.computed()).sqrt();
        let alpha = self.lr.computed().times(unbias).over(one.minus(self.beta1_power.computed()));
        let (rest1, rest2) = (one.minus(beta1), one.minus(beta2));
        for (((x, m), v), g) in var.iter_mut().zip(m).zip(v).zip(grad) {
            let g = g.computed();
            let m1 = m.computed();
            let m1 = m1.plus(g.minus(m1).times(rest1));
            let v1 = v.computed();
            let v1 = v1.plus(g.times(g).minus(v1).times(rest2));
            (*m, *v) = (T::rounded(m1), T::rounded(v1));
            let direction = if self.nesterov { g.times(rest1).plus(beta1.times(m1)) } else { m1 };
            *x = T::rounded(x.computed().minus(direction.times(alpha).over(v1.sqrt().plus(epsilon))));
        }
        Ok(())
    }
}

/// The scalars of AdaMax.
#[derive(Clone, Copy, Debug)]
pub struct AdaMax<T> {
    /// β₁ to the power of the step.
    pub beta1_power: T,
    /// Learning rate.
    pub lr: T,
    /// Decay of the first moment.
    pub beta1: T,
    /// Decay of the infinity norm.
    pub beta2: T,
    /// Keeps the divisor from zero.
    pub epsilon: T,
}

impl<T: Float> AdaMax<T> {
    /// One step of `var` with its moment `m` and norm `v`.
    pub fn apply(&self, var: &mut [T], m: &mut [T], v: &mut [T], grad: &[T]) -> Result<()> {
        same_lengths([var.len(), m.len(), v.len(), grad.len()])?;
        let one = N::<T>::ONE;
        let (beta1, beta2, epsilon) = (self.beta1.to_native(), self.beta2.to_native(), self.epsilon.to_native());
        let rate = self.lr.to_native().over(one.minus(self.beta1_power.to_native()));
        for (((x, m), v), g) in var.iter_mut().zip(m).zip(v).zip(grad) {
            let g = g.to_native();
            let m1 = m.to_native();
            let m1 = m1.plus(g.minus(m1).times(one.minus(beta1)));
            let v1 = beta2.times(v.to_native()).maximum(g.magnitude());
            (*m, *v) = (T::from_native(m1), T::from_native(v1));
            *x = T::from_native(x.to_native().minus(rate.times(m1.over(v1.plus(epsilon)))));
        }
        Ok(())
    }
}

/// `accum += grad²` (if `update_slots`), `var −= lr · grad / √accum` (`ApplyAdagrad`).
pub fn adagrad<T: Float>(var: &mut [T], accum: &mut [T], lr: T, grad: &[T], update_slots: bool) -> Result<()> {
    adagrad_with(var, accum, lr, grad, update_slots, |acc| acc.sqrt())
}

/// `accum += grad²` (if `update_slots`), `var −= lr · grad / (√accum + ε)` (`ApplyAdagradV2`).
pub fn adagrad_v2<T: Float>(
    var: &mut [T],
    accum: &mut [T],
    lr: T,
    epsilon: T,
    grad: &[T],
    update_slots: bool,
) -> Result<()> {
    let epsilon = epsilon.to_native();
    adagrad_with(var, accum, lr, grad, update_slots, |acc| acc.sqrt().plus(epsilon))
}

fn adagrad_with<T: Float>(
    var: &mut [T],
    accum: &mut [T],
    lr: T,
    grad: &[T],
    update_slots: bool,
    divisor: impl Fn(N<T>) -> N<T>,
) -> Result<()> {
    same_lengths([var.len(), accum.len(), grad.len()])?;
    let lr = lr.to_native();
    for ((v, a), g) in var.iter_mut().zip(accum).zip(grad) {
        let g = g.to_native();
        let mut acc = a.to_native();
        if update_slots {
            acc = acc.plus(g.times(g));
            *a = T::from_native(acc);
        }
        *v = T::from_native(v.to_native().minus(g.times(lr).over(divisor(acc))));
    }
    Ok(())
}

/// Adagrad followed by a proximal step (`ApplyProximalAdagrad`).
pub fn proximal_adagrad<T: Float>(var: &mut [T], accum: &mut [T], lr: T, l1: T, l2: T, grad: &[T]) -> Result<()> {
    same_lengths([var.len(), accum.len(), grad.len()])?;
    let (lr, l1, l2) = (lr.to_native(), l1.to_native(), l2.to_native());
    for ((v, a), g) in var.iter_mut().zip(accum).zip(grad) {
        let g = g.to_native();
        let acc = a.to_native().plus(g.times(g));
        *a = T::from_native(acc);
        let rate = lr.times(acc.rsqrt());
        *v = T::from_native(proximal::<T>(v.to_native().minus(g.times(rate)), rate, l1, l2));
    }
    Ok(())
}

/// The scalars of Adagrad with dual averaging.
#[derive(Clone, Copy, Debug)]
pub struct AdagradDa<T> {
    /// Learning rate.
    pub lr: T,
    /// Strength of the absolute penalty.
    pub l1: T,
    /// Strength of the quadratic penalty.
    pub l2: T,
    /// Number of the step, from one.
    pub global_step: i64,
}

impl<T: Float> AdagradDa<T> {
    /// One step of `var` with the sums of gradients and of their squares.
    pub fn apply(&self, var: &mut [T], sum: &mut [T], squares: &mut [T], grad: &[T]) -> Result<()> {
        same_lengths([var.len(), sum.len(), squares.len(), grad.len()])?;
        let step = N::<T>::from_f64(self.global_step as f64);
        let (lr, l1, l2) = (self.lr.to_native(), self.l1.to_native(), self.l2.to_native());
        for (((x, s), q), g) in var.iter_mut().zip(sum).zip(squares).zip(grad) {
            let g = g.to_native();
            let (s1, q1) = (s.to_native().plus(g), q.to_native().plus(g.times(g)));
            (*s, *q) = (T::from_native(s1), T::from_native(q1));
            let pull = if l1 > N::<T>::ZERO {
                let m = s1.magnitude().minus(l1.times(step));
                s1.sign().times(if m > N::<T>::ZERO { m } else { N::<T>::ZERO })
            } else {
                s1
            };
            *x = T::from_native(lr.times(pull.negated()).over(l2.times(step).times(lr).plus(q1.sqrt())));
        }
        Ok(())
    }
}

/// Adadelta: `accum` averages squared gradients, `accum_update` squared updates.
pub fn adadelta<T: Float>(
    var: &mut [T],
    accum: &mut [T],
    accum_update: &mut [T],
    (lr, rho, epsilon): (T, T, T),
    grad: &[T],
) -> Result<()> {
    same_lengths([var.len(), accum.len(), accum_update.len(), grad.len()])?;
    let (lr, rho, epsilon) = (lr.to_native(), rho.to_native(), epsilon.to_native());
    let rest = N::<T>::ONE.minus(rho);
    for (((x, a), u), g) in var.iter_mut().zip(accum).zip(accum_update).zip(grad) {
        let g = g.to_native();
        let acc = a.to_native().times(rho).plus(g.times(g).times(rest));
        let step = u.to_native().plus(epsilon).sqrt().times(acc.plus(epsilon).rsqrt()).times(g);
        *x = T::from_native(x.to_native().minus(step.times(lr)));
        *a = T::from_native(acc);
        *u = T::from_native(u.to_native().times(rho).plus(step.times(step).times(rest)));
    }
    Ok(())
}

/// The scalars of RMSProp.
#[derive(Clone, Copy, Debug)]
pub struct RmsProp<T> {
    /// Learning rate.
    pub lr: T,
    /// Decay of the mean square.
    pub rho: T,
    /// Weight of the step before.
    pub momentum: T,
    /// Keeps the divisor from zero.
    pub epsilon: T,
}

impl<T: Float> RmsProp<T> {
    /// One step of `var` with the mean square `ms` and the last step `mom`.
    pub fn apply(&self, var: &mut [T], ms: &mut [T], mom: &mut [T], grad: &[T]) -> Result<()> {
        same_lengths([var.len(), ms.len(), mom.len(), grad.len()])?;
        let (lr, rho) = (self.lr.to_native(), self.rho.to_native());
        let (momentum, epsilon) = (self.momentum.to_native(), self.epsilon.to_native());
        let rest = N::<T>::ONE.minus(rho);
        for (((x, s), p), g) in var.iter_mut().zip(ms).zip(mom).zip(grad) {
            let g = g.to_native();
            let s0 = s.to_native();
            let s1 = s0.plus(g.times(g).minus(s0).times(rest));
            let p1 = p.to_native().times(momentum).plus(g.times(lr).over(s1.plus(epsilon).sqrt()));
            (*s, *p) = (T::from_native(s1), T::from_native(p1));
            *x = T::from_native(x.to_native().minus(p1));
        }
        Ok(())
    }

    /// As [`apply`](Self::apply) with the variance in place of the mean square; `mg` is the mean gradient.
    pub fn apply_centered(&self, var: &mut [T], mg: &mut [T], ms: &mut [T], mom: &mut [T], grad: &[T]) -> Result<()> {
        same_lengths([var.len(), mg.len(), ms.len(), mom.len(), grad.len()])?;
        let (lr, rho) = (self.lr.to_native(), self.rho.to_native());
        let (momentum, epsilon) = (self.momentum.to_native(), self.epsilon.to_native());
        let rest = N::<T>::ONE.minus(rho);
        for ((((x, d), s), p), g) in var.iter_mut().zip(mg).zip(ms).zip(mom).zip(grad) {
            let g = g.to_native();
            let (s0, d0) = (s.to_native(), d.to_native());
            let s1 = s0.plus(g.times(g).minus(s0).times(rest));
            let d1 = d0.plus(g.minus(d0).times(rest));
            let divisor = s1.minus(d1.times(d1)).plus(epsilon);
            let p1 = p.to_native().times(momentum).plus(g.times(lr).over(divisor.sqrt()));
            (*s, *d, *p) = (T::from_native(s1), T::from_native(d1), T::from_native(p1));
            *x = T::from_native(x.to_native().minus(p1));
        }
        Ok(())
    }
}

/// The scalars of "follow the regularised leader".
#[derive(Clone, Copy, Debug)]
pub struct Ftrl<T> {
    /// Learning rate.
    pub lr: T,
    /// Strength of the absolute penalty.
    pub l1: T,
    /// Strength of the quadratic penalty.
    pub l2: T,
    /// Quadratic penalty on the online loss; zero for `ApplyFtrl`.
    pub l2_shrinkage: T,
    /// Exponent of the learning-rate schedule, at most zero; −0.5 is the usual.
    pub lr_power: T,
    /// The linear slot holds values multiplied by the learning rate.
    pub multiply_linear_by_lr: bool,
}

impl<T: Float> Ftrl<T> {
    /// One step of `var` with its slots.
    pub fn apply(&self, var: &mut [T], accum: &mut [T], linear: &mut [T], grad: &[T]) -> Result<()> {
        same_lengths([var.len(), accum.len(), linear.len(), grad.len()])?;
        let native = |t: T| t.to_native();
        let (lr, l1, l2, power) = (native(self.lr), native(self.l1), native(self.l2), native(self.lr_power));
        let two = N::<T>::from_f64(2.0);
        let shrinkage = two.times(native(self.l2_shrinkage));
        let root = |a: N<T>| {
            if power == N::<T>::from_f64(-0.5) { a.sqrt() } else { a.powf(power.negated()) }
        };
        // Either both sides of the quotient carry the learning rate or neither does.
        let (scale, inverse) = if self.multiply_linear_by_lr { (lr, N::<T>::ONE) } else { (N::<T>::ONE, lr) };
        for (((x, a), l), g) in var.iter_mut().zip(accum).zip(linear).zip(grad) {
            let (g, v, a0) = (g.to_native(), x.to_native(), a.to_native());
            let shrunk = g.plus(shrinkage.times(v));
            let a1 = a0.plus(g.times(g));
            let sigma = root(a1).minus(root(a0)).over(inverse);
            let l1new = l.to_native().plus(shrunk.times(scale)).minus(sigma.times(v));
            let edge = l1.times(scale);
            *x = T::from_native(if l1new.magnitude() > edge {
                let quadratic = root(a1).over(inverse).plus(two.times(l2).times(scale));
                edge.times(l1new.sign()).minus(l1new).over(quadratic)
            } else {
                N::<T>::ZERO
            });
            (*a, *l) = (T::from_native(a1), T::from_native(l1new));
        }
        Ok(())
    }
}

/// The scalars of AddSign and PowerSign.
#[derive(Clone, Copy, Debug)]
pub struct SignStep<T> {
    /// Learning rate.
    pub lr: T,
    /// `alpha` of AddSign, `logbase` of PowerSign.
    pub base: T,
    /// Weight of the agreement of signs.
    pub sign_decay: T,
    /// Decay of the moment.
    pub beta: T,
}

impl<T: Float> SignStep<T> {
    /// `var −= lr · (base + decay · sign g · sign m) · g`.
    pub fn apply_add(&self, var: &mut [T], m: &mut [T], grad: &[T]) -> Result<()> {
        self.step(var, m, grad, |base, agreement| base.plus(agreement))
    }

    /// `var −= lr · e^(base · decay · sign g · sign m) · g`.
    pub fn apply_power(&self, var: &mut [T], m: &mut [T], grad: &[T]) -> Result<()> {
        self.step(var, m, grad, |base, agreement| base.times(agreement).exp())
    }

    fn step(&self, var: &mut [T], m: &mut [T], grad: &[T], f: impl Fn(N<T>, N<T>) -> N<T>) -> Result<()> {
        same_lengths([var.len(), m.len(), grad.len()])?;
        let (lr, base) = (self.lr.to_native(), self.base.to_native());
        let (decay, beta) = (self.sign_decay.to_native(), self.beta.to_native());
        for ((x, m), g) in var.iter_mut().zip(m).zip(grad) {
            let g = g.to_native();
            let m1 = m.to_native().times(beta).plus(g.times(N::<T>::ONE.minus(beta)));
            *m = T::from_native(m1);
            let scale = f(base, decay.times(g.sign()).times(m1.sign()));
            *x = T::from_native(x.to_native().minus(lr.times(scale).times(g)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use half::f16;

    const GRAD: [f64; 3] = [0.1, -0.4, 2.0];

    /// Two steps from a variable [1, −2, 0.5] with slots [0.1, 0.2, 0.3]; `want` is what TensorFlow 2.21 made of them.
    fn check<const K: usize>(name: &str, want: [[f64; 3]; K], step: impl Fn(&mut [[f64; 3]; K])) {
        let mut state = [[0.1, 0.2, 0.3]; K];
        state[0] = [1.0, -2.0, 0.5];
        if K == 4 {
            state[2] = [1.0; 3];
        }
        step(&mut state);
        step(&mut state);
        for (slot, (found, want)) in state.iter().zip(&want).enumerate() {
            for (f, w) in found.iter().zip(want) {
                assert!((f - w).abs() < 1e-11, "{name} slot {slot}: {found:?} {want:?}");
            }
        }
    }

    #[test]
    #[rustfmt::skip]
    fn steps_equal_tensorflow() {
        let g = &GRAD;
        let lr = 0.1;
        let adam = Adam { beta1_power: 0.9, beta2_power: 0.999, lr, beta1: 0.9, beta2: 0.999, epsilon: 1e-3, nesterov: false };
        let adamax = AdaMax { beta1_power: 0.9, lr, beta1: 0.9, beta2: 0.999, epsilon: 1e-3 };
        let da = AdagradDa { lr, l1: 0.0, l2: 0.2, global_step: 3 };
        let rms = RmsProp { lr, rho: 0.9, momentum: 0.5, epsilon: 1e-3 };
        let ftrl = Ftrl { lr, l1: 0.3, l2: 0.2, l2_shrinkage: 0.01, lr_power: -0.5, multiply_linear_by_lr: false };
        let sign = SignStep { lr, base: 1.0, sign_decay: 0.9, beta: 0.9 };
        check("gd", [[0.98, -1.92, 0.1]],
            |[v]| gradient_descent(v, lr, g).unwrap());
        check("prox_gd", [[0.883506343714, -1.7864282968089, 0.0340253748558]],
            |[v]| proximal_gradient_descent(v, lr, 0.3, 0.2, g).unwrap());
        check("prox_gd0", [[0.941753171857, -1.8446751249519, 0.0922722029988]],
            |[v]| proximal_gradient_descent(v, lr, 0.0, 0.2, g).unwrap());
        check("momentumFalse", [[0.9539, -1.9182, -0.1313], [0.271, -0.598, 4.043]],
            |[v, a]| momentum(v, a, lr, g, 0.9, false).unwrap());
        check("kerasFalse", [[1.142, -1.542, 0.433], [0.062, 0.238, -0.137]],
            |[v, a]| keras_momentum(v, a, lr, g, 0.9, false).unwrap());
        check("adamFalse", [[0.9800496205651, -2.0159471554866, 0.4376096045112], [0.1, 0.086, 0.623], [0.09982009, 0.19992004, 0.3073963]],
            |[x, m, v]| adam.apply(x, m, v, g).unwrap());
        check("adagradFalse", [[0.9367544467966, -1.8211145618, -0.2302967433402], [0.1, 0.2, 0.3]],
            |[v, a]| adagrad(v, a, lr, g, false).unwrap());
        check("momentumTrue", [[0.93851, -1.84638, -0.46817], [0.271, -0.598, 4.043]],
            |[v, a]| momentum(v, a, lr, g, 0.9, true).unwrap());
        check("kerasTrue", [[1.1078, -1.5078, 0.0397], [0.062, 0.238, -0.137]],
            |[v, a]| keras_momentum(v, a, lr, g, 0.9, true).unwrap());
        check("adamTrue", [[0.9800496205651, -2.0087073619026, 0.4210062754934], [0.1, 0.086, 0.623], [0.09982009, 0.19992004, 0.3073963]],
            |[x, m, v]| Adam { nesterov: true, ..adam }.apply(x, m, v, g).unwrap());
        check("adagradTrue", [[0.9409813520827, -1.8778633137108, 0.3341304221159], [0.12, 0.52, 8.3]],
            |[v, a]| adagrad(v, a, lr, g, true).unwrap());
        check("adagradv2", [[0.9426737871591, -1.8797149192491, 0.3348334365206], [0.12, 0.52, 8.3]],
            |[v, a]| adagrad_v2(v, a, lr, 0.01, g, true).unwrap());
        check("prox_adagrad", [[0.6749438966621, -1.6789426207625, 0.3034267535043], [0.12, 0.52, 8.3]],
            |[v, a]| proximal_adagrad(v, a, lr, 0.3, 0.2, g).unwrap());
        check("da0.0", [[-0.0738170519365, 0.0768137399411, -0.1462101616383], [0.3, -0.6, 4.3], [0.12, 0.52, 8.3]],
            |[v, a, b]| da.apply(v, a, b, g).unwrap());
        check("da0.05", [[-0.0369085259683, 0.0576103049558, -0.1411098071626], [0.3, -0.6, 4.3], [0.12, 0.52, 8.3]],
            |[v, a, b]| AdagradDa { l1: 0.05, ..da }.apply(v, a, b, g).unwrap());
        check("adadelta", [[0.9795391155279, -1.9195990457175, 0.1852033178188], [0.091225, 0.1961, 0.66075], [0.0912704536804, 0.1962567635233, 0.5122989621763]],
            |[v, a, b]| adadelta(v, a, b, (lr, 0.95, 1e-3), g).unwrap());
        check("adamax", [[-0.980198019802, -2.5635910224439, -0.0462268865567], [0.1, 0.086, 0.623], [0.1, 0.4, 2.0]],
            |[x, m, v]| adamax.apply(x, m, v, g).unwrap());
        check("rmsprop", [[0.8410226305073, -1.9238621427846, -0.2908363211932], [0.0829, 0.1924, 1.003], [0.0760083458229, -0.0860166754035, 0.3966795710737]],
            |[v, a, b]| rms.apply(v, a, b, g).unwrap());
        check("centered", [[0.8979577364299, -2.0428627107442, -0.1975531219175], [0.1, 0.086, 0.623], [0.8119, 0.8404, 1.57], [0.0414541748229, -0.0149125517196, 0.3551119412953]],
            |[v, d, a, b]| rms.apply_centered(v, d, a, b, g).unwrap());
        check("ftrl-0.5False", [[0.0, -0.339494791712, 0.1688529870302], [0.12, 0.52, 8.3], [0.165652869813, 2.883929675226, -5.2321485705515]],
            |[v, a, b]| ftrl.apply(v, a, b, g).unwrap());
        check("ftrl-0.5True", [[-0.2040536797024, -0.6200057397859, 0.0411989862808], [0.12, 0.52, 8.3], [0.1088484153313, 0.5018927267675, -0.1503410877516]],
            |[v, a, b]| Ftrl { multiply_linear_by_lr: true, ..ftrl }.apply(v, a, b, g).unwrap());
        check("ftrl-0.7False", [[0.0, -0.4605545266564, 0.2785751795222], [0.12, 0.52, 8.3], [0.1823407774835, 3.398180534861, -12.665972046763]],
            |[v, a, b]| Ftrl { lr_power: -0.7, ..ftrl }.apply(v, a, b, g).unwrap());
        check("ftrl-0.7True", [[-0.3048656939443, -0.7997332585826, 0.1827395366005], [0.12, 0.52, 8.3], [0.1113037582529, 0.567985813061, -0.8411821036305]],
            |[v, a, b]| Ftrl { lr_power: -0.7, multiply_linear_by_lr: true, ..ftrl }.apply(v, a, b, g).unwrap());
        check("ftrl_v1", [[0.0, -0.3467777104289, 0.1694887110494], [0.12, 0.52, 8.3], [0.145652869813, 2.9393607164506, -5.250717891519]],
            |[v, a, b]| Ftrl { l2_shrinkage: 0.0, ..ftrl }.apply(v, a, b, g).unwrap());
        check("addsign", [[0.962, -1.992, -0.26], [0.1, 0.086, 0.623]],
            |[v, m]| sign.apply_add(v, m, g).unwrap());
        check("powersign", [[0.9508079377769, -1.9674744272208, -0.4838412444628], [0.1, 0.086, 0.623]],
            |[v, m]| sign.apply_power(v, m, g).unwrap());
    }

    #[test]
    fn lengths_and_halves() {
        assert_eq!(gradient_descent(&mut [1.0], 0.1, &[1.0, 2.0]), Err(Error::Length));
        let mut var = [f16::ONE; 2];
        momentum(&mut var, &mut [f16::ZERO; 2], f16::from_f32(0.1), &[f16::ONE; 2], f16::ONE, true).unwrap();
        assert_eq!(var[0], f16::from_f32(1.0 - 0.1 - 0.1));
        gradient_descent::<f32>(&mut [], 0.1, &[]).unwrap();
    }
}
