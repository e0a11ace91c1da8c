//! Optimiser steps on variables, by reference or by resource.
//!
//! The locks of all variables of a step are held while it is computed, in the order of their addresses; a variable whose
//! value somebody still reads is copied first.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::dispatch::*;
use super::variable::{Variables, lock_all, name, same_shape};
use super::{Ctx, Kernel, NodeContext, Op, kernel, shape};
use crate::Status;
use crate::kernels::element::Float;
use crate::kernels::error::Result as KernelResult;
use crate::kernels::training as k;
use crate::resource::Variable;
use crate::tensor::Tensor;

/// This family.
pub static OPS: &[&Op] = &[
    &APPLY_GRADIENT_DESCENT,
    &RESOURCE_APPLY_GRADIENT_DESCENT,
    &APPLY_MOMENTUM,
    &RESOURCE_APPLY_MOMENTUM,
    &RESOURCE_APPLY_KERAS_MOMENTUM,
    &APPLY_ADAM,
    &RESOURCE_APPLY_ADAM,
    &APPLY_RMS_PROP,
    &RESOURCE_APPLY_RMS_PROP,
    &APPLY_ADAGRAD,
    &RESOURCE_APPLY_ADAGRAD,
    &APPLY_ADAGRAD_V2,
    &RESOURCE_APPLY_ADAGRAD_V2,
];

/// The attributes that all have, with those of one op behind them.
macro_rules! attrs {
    ($more:literal) => {
        concat!(
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, \
             quint16, uint16, complex128, half, uint32, uint64}; use_locking: bool = false",
            $more
        )
    };
}

macro_rules! ops {
    ($($id:ident, $resource:ident = $name:literal, $by_ref:literal, $by_resource:literal, $attrs:expr, $set:ident $make:ident;)*) => {$(
        static $id: Op = Op::new($name, $by_ref, $attrs)
            .shape(shape::unchanged)
            .kernel(&[("T", $set)], |node| dispatch!(node, "T", $set T => $make::<T>(node)));
        static $resource: Op = Op::new(concat!("Resource", $name), $by_resource, $attrs)
            .stateful()
            .shape(shape::unknown)
            .kernel(&[("T", $set)], |node| dispatch!(node, "T", $set T => $make::<T>(node)));
    )*};
}

ops! {
    APPLY_GRADIENT_DESCENT, RESOURCE_APPLY_GRADIENT_DESCENT = "ApplyGradientDescent",
        "var: Ref(T), alpha: T, delta: T -> out: Ref(T)", "var: resource, alpha: T, delta: T ->",
        attrs!(""), INEXACT gradient_descent;
    APPLY_MOMENTUM, RESOURCE_APPLY_MOMENTUM = "ApplyMomentum",
        "var: Ref(T), accum: Ref(T), lr: T, grad: T, momentum: T -> out: Ref(T)",
        "var: resource, accum: resource, lr: T, grad: T, momentum: T ->",
        attrs!("; use_nesterov: bool = false"), INEXACT momentum;
    APPLY_ADAM, RESOURCE_APPLY_ADAM = "ApplyAdam",
        "var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, \
            grad: T -> out: Ref(T)",
        "var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, \
            epsilon: T, grad: T ->",
        attrs!("; use_nesterov: bool = false"), INEXACT adam;
    APPLY_RMS_PROP, RESOURCE_APPLY_RMS_PROP = "ApplyRMSProp",
        "var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T -> out: Ref(T)",
        "var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T ->",
        attrs!(""), FLOATS rms_prop;
    APPLY_ADAGRAD, RESOURCE_APPLY_ADAGRAD = "ApplyAdagrad",
        "var: Ref(T), accum: Ref(T), lr: T, grad: T -> out: Ref(T)",
        "var: resource, accum: resource, lr: T, grad: T ->",
        attrs!("; update_slots: bool = true"), FLOATS adagrad;
    APPLY_ADAGRAD_V2, RESOURCE_APPLY_ADAGRAD_V2 = "ApplyAdagradV2",
        "var: Ref(T), accum: Ref(T), lr: T, epsilon: T, grad: T -> out: Ref(T)",
        "var: resource, accum: resource, lr: T, epsilon: T, grad: T ->",
        attrs!("; update_slots: bool = true"), FLOATS adagrad_v2;
}

static RESOURCE_APPLY_KERAS_MOMENTUM: Op = Op::new(
    "ResourceApplyKerasMomentum",
    "var: resource, accum: resource, lr: T, grad: T, momentum: T ->",
    attrs!("; use_nesterov: bool = false"),
)
.stateful()
.shape(shape::unknown)
.kernel(&[("T", INEXACT)], |node| dispatch!(node, "T", INEXACT T => keras_momentum::<T>(node)));

/// Where an op has what: its first `N` inputs are variables.
#[derive(Clone, Copy)]
struct Layout<const N: usize> {
    variables: [&'static str; N],
    /// The scalars, by input.
    scalars: &'static [(usize, &'static str)],
    /// The gradient, by input.
    grad: usize,
}

/// A step on the slices of `N` variables, the scalars in the order of the layout, and the gradient.
trait Step<const N: usize, T>: Fn([&mut [T]; N], &[T], &[T]) -> KernelResult<()> + Send + Sync + 'static {}
impl<const N: usize, T, F: Fn([&mut [T]; N], &[T], &[T]) -> KernelResult<()> + Send + Sync + 'static> Step<N, T> for F {}

/// More scalars than any optimiser has.
const SCALARS_MAX: usize = 8;

fn apply<const N: usize, T: Value>(
    node: &NodeContext<'_>,
    layout: Layout<N>,
    step: impl Step<N, T>,
) -> Result<Box<dyn Kernel>, Status> {
    let variables = Variables::new(node);
    let is_ref = node.node.input_types.first().is_some_and(|&(_, is_ref)| is_ref);
    kernel(move |c: &mut Ctx<'_>| {
        update(c, &variables, &layout, is_ref, &step)?;
        if is_ref {
            c.set(0, c.input(0).clone());
        }
        Ok(())
    })
}

fn update<const N: usize, T: Value>(
    c: &Ctx<'_>,
    variables: &Variables,
    layout: &Layout<N>,
    is_ref: bool,
    step: &impl Step<N, T>,
) -> Result<(), Status> {
    let mut found: [Option<Arc<Variable>>; N] = [const { None }; N];
    for (i, slot) in found.iter_mut().enumerate() {
        *slot = Some(variables.get(c, i)?);
    }
    let mut rest = found.into_iter().flatten();
    let Some(first) = rest.next() else { return Err(Status::internal("an update without variable")) };
    // All were found, so that the fallback serves no one.
    let held: [Arc<Variable>; N] = {
        let mut given = Some(first.clone());
        core::array::from_fn(|_| given.take().or_else(|| rest.next()).unwrap_or_else(|| first.clone()))
    };
    let mut scalars = [T::ZERO; SCALARS_MAX];
    for (slot, &(i, scalar)) in scalars.iter_mut().zip(layout.scalars) {
        let value = c.input(i);
        if value.shape().rank() != 0 {
            return Err(Status::invalid_argument(format_args!("{scalar} is not a scalar: {}", value.shape())));
        }
        *slot = value.to_scalar()?;
    }
    let grad = c.input(layout.grad);
    let mut guards = lock_all(&held)?;
    let mut values: [Option<&mut Tensor>; N] = [const { None }; N];
    for (i, (value, guard)) in values.iter_mut().zip(&mut guards).enumerate() {
        *value = guard.as_mut();
        match value {
            Some(tensor) => same_shape([layout.variables[i], "grad"], tensor.shape(), grad.shape())?,
            None => return Err(not_initialized(c, i, is_ref)),
        }
    }
    let mut slices: [&mut [T]; N] = core::array::from_fn(|_| &mut [][..]);
    for (slice, value) in slices.iter_mut().zip(values) {
        if let Some(tensor) = value {
            *slice = tensor.make_mut::<T>()?;
        }
    }
    step(slices, &scalars, grad.as_slice::<T>()?)?;
    Ok(())
}

/// TensorFlow tells the two kinds apart: an unassigned resource variable does not exist.
#[cold]
fn not_initialized(c: &Ctx<'_>, i: usize, is_ref: bool) -> Status {
    let text = alloc::format!("Attempting to use uninitialized variables: {}", name(c, i));
    if is_ref {
        Status::failed_precondition(text)
    } else {
        Status::internal(alloc::format!("Invalid variable reference. {text}"))
    }
}

fn gradient_descent<T: Value + k::Inexact>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let layout = Layout { variables: ["var"], scalars: &[(1, "alpha")], grad: 2 };
    apply(node, layout, |[var], s: &[T], grad| k::gradient_descent(var, s[0], grad))
}

const MOMENTUM: Layout<2> = Layout { variables: ["var", "accum"], scalars: &[(2, "lr"), (4, "momentum")], grad: 3 };

fn momentum<T: Value + k::Inexact>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let nesterov = node.attrs().bool("use_nesterov")?;
    apply(node, MOMENTUM, move |[var, accum], s: &[T], grad| k::momentum(var, accum, s[0], grad, s[1], nesterov))
}

fn keras_momentum<T: Value + k::Inexact>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let nesterov = node.attrs().bool("use_nesterov")?;
    apply(node, MOMENTUM, move |[var, accum], s: &[T], grad| k::keras_momentum(var, accum, s[0], grad, s[1], nesterov))
}

fn adam<T: Value + k::Inexact>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let layout = Layout {
        variables: ["var", "m", "v"],
        scalars: &[(3, "beta1_power"), (4, "beta2_power"), (5, "lr"), (6, "beta1"), (7, "beta2"), (8, "epsilon")],
        grad: 9,
    };
    let nesterov = node.attrs().bool("use_nesterov")?;
    apply(node, layout, move |[var, m, v], s: &[T], grad| {
        let [beta1_power, beta2_power, lr, beta1, beta2, epsilon] = [s[0], s[1], s[2], s[3], s[4], s[5]];
        k::Adam { beta1_power, beta2_power, lr, beta1, beta2, epsilon, nesterov }.apply(var, m, v, grad)
    })
}

fn rms_prop<T: Value + Float>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let layout = Layout {
        variables: ["var", "ms", "mom"],
        scalars: &[(3, "lr"), (4, "rho"), (5, "momentum"), (6, "epsilon")],
        grad: 7,
    };
    apply(node, layout, |[var, ms, mom], s: &[T], grad| {
        k::RmsProp { lr: s[0], rho: s[1], momentum: s[2], epsilon: s[3] }.apply(var, ms, mom, grad)
    })
}

fn adagrad<T: Value + Float>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let layout = Layout { variables: ["var", "accum"], scalars: &[(2, "lr")], grad: 3 };
    let slots = node.attrs().bool("update_slots")?;
    apply(node, layout, move |[var, accum], s: &[T], grad| k::adagrad(var, accum, s[0], grad, slots))
}

fn adagrad_v2<T: Value + Float>(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let layout = Layout { variables: ["var", "accum"], scalars: &[(2, "lr"), (3, "epsilon")], grad: 4 };
    let slots = node.attrs().bool("update_slots")?;
    apply(node, layout, move |[var, accum], s: &[T], grad| k::adagrad_v2(var, accum, s[0], s[1], grad, slots))
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::graph::{AttrValue, PartialShape};
    use crate::ops::testing::{Device, tensor};
    use crate::resource::Variable;
    use crate::tensor::{DType, Tensor};

    /// A variable of each kind with this value.
    fn variable(device: &Device, resource: bool, name: &'static str, value: Option<f32>) -> Tensor {
        let op = if resource { "VarHandleOp" } else { "VariableV2" };
        let attrs =
            [("shape", PartialShape::new(&[1]).into()), ("dtype", DType::Float.into()), ("shared_name", name.into())];
        let v = device.run(op, &attrs, &[]).unwrap().remove(0);
        v.resources().unwrap()[0]
            .target::<Variable>()
            .unwrap()
            .value
            .lock()
            .clone_from(&value.map(|x| tensor(&[1], &[x])));
        v
    }

    fn read(v: &Tensor) -> f32 {
        let value = v.resources().unwrap()[0].target::<Variable>().unwrap().read().unwrap();
        value.as_slice::<f32>().unwrap()[0]
    }

    /// One step of every optimiser, by reference and by resource, from 1 with slots of 0.5.
    #[test]
    fn steps() {
        let s = |x: f32| Tensor::scalar(x);
        let grad = tensor(&[1], &[2.0f32]);
        let scalars: &[(&str, usize, &[f32], &[f32], f32, f32)] = &[
            // Op, variables, scalars before the gradient, behind it, the variable after, its first slot after.
            ("ApplyGradientDescent", 1, &[0.1], &[], 0.8, 0.0),
            ("ApplyMomentum", 2, &[0.1], &[0.9], 0.755, 2.45),
            ("ApplyAdam", 3, &[0.9, 0.999, 0.1, 0.9, 0.999, 1e-7], &[], 0.971_032, 0.65),
            ("ApplyRMSProp", 3, &[0.1, 0.9, 0.9, 1e-7], &[], 0.333_07, 0.85),
            ("ApplyAdagrad", 2, &[0.1], &[], 0.905_719, 4.5),
            ("ApplyAdagradV2", 2, &[0.1, 1e-7], &[], 0.905_719, 4.5),
        ];
        for &(op, variables, before, behind, want, slot) in scalars {
            for resource in [false, true] {
                let device = Device::new();
                let names = ["a", "b", "c"];
                let vars: alloc::vec::Vec<_> = (0..variables)
                    .map(|i| variable(&device, resource, names[i], Some(if i == 0 { 1.0 } else { 0.5 })))
                    .collect();
                let mut inputs = vars.clone();
                inputs.extend(before.iter().map(|&x| s(x)));
                inputs.push(grad.clone());
                inputs.extend(behind.iter().map(|&x| s(x)));
                let op = if resource { alloc::format!("Resource{op}") } else { op.into() };
                device.run(&op, &[("T", DType::Float.into())], &inputs).unwrap();
                assert!((read(&vars[0]) - want).abs() < 1e-5, "{op} {}", read(&vars[0]));
                if variables > 1 {
                    assert!((read(&vars[1]) - slot).abs() < 1e-5, "{op} {}", read(&vars[1]));
                }
            }
        }
    }

    /// Uninitialised variables, other shapes, scalars that are none, and one variable twice.
    #[test]
    fn refusals() {
        let device = Device::new();
        let t = [("T", AttrValue::from(DType::Float))];
        let (v, m) = (variable(&device, false, "v", Some(1.0)), variable(&device, false, "m", None));
        let run = |m: &Tensor, lr: Tensor, grad: Tensor| {
            let inputs = [v.clone(), m.clone(), lr, grad, 0.9f32.into()];
            device.run("ApplyMomentum", &t, &inputs).unwrap_err().code()
        };
        let grad = tensor(&[1], &[2.0f32]);
        assert_eq!(run(&m, 0.1f32.into(), grad.clone()), Code::FailedPrecondition);
        assert_eq!(run(&v, 0.1f32.into(), grad.clone()), Code::InvalidArgument);
        let ready = variable(&device, false, "w", Some(1.0));
        assert_eq!(run(&ready, grad.clone(), grad), Code::InvalidArgument);
        assert_eq!(run(&ready, 0.1f32.into(), tensor(&[2], &[0.0f32; 2])), Code::InvalidArgument);
        assert_eq!(read(&v), 1.0);
    }
}
