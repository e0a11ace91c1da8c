//! Elements that are no plain bytes: strings, resource handles and variants.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt;

use super::{Budget, DType, Shape};
use crate::Status;

/// An element of a string tensor: shared bytes of any content.
pub use bytes::Bytes as Str;

/// A resource that handles point to: a variable, a queue, a table …
pub trait Resource: Any + Send + Sync {
    /// The kind, for errors and for the type field of handles, for example `Variable`.
    fn type_name(&self) -> &'static str;
}

/// An element of a resource tensor: names a resource and, inside its process, points to it. Cloning is cheap.
#[derive(Clone)]
pub struct ResourceHandle(Arc<HandleParts>);

/// What a [`ResourceHandle`] is made of.
pub struct HandleParts {
    /// Full name of the device that owns the resource.
    pub device: Arc<str>,
    /// The container.
    pub container: Arc<str>,
    /// The name within the container.
    pub name: Arc<str>,
    /// The kind of resource.
    pub type_name: Arc<str>,
    /// Dtype and, where it is wholly known, shape of the value, for kinds that have one.
    pub value: Option<(DType, Option<Shape>)>,
    /// The resource itself; `None` in a handle that came from outside and was not looked up yet.
    pub target: Option<Arc<dyn Resource>>,
}

impl ResourceHandle {
    /// A handle of these parts.
    pub fn new(parts: HandleParts) -> ResourceHandle {
        ResourceHandle(Arc::new(parts))
    }

    /// The parts.
    pub fn parts(&self) -> &HandleParts {
        &self.0
    }

    /// The resource, when it is known and of type `R`.
    pub fn target<R: Resource>(&self) -> Option<&R> {
        let target: &dyn Resource = self.0.target.as_deref()?;
        let any: &dyn Any = target;
        any.downcast_ref()
    }

    /// A shared pointer to the resource, when it is known and of type `R`.
    pub fn target_arc<R: Resource>(&self) -> Option<Arc<R>> {
        let any: Arc<dyn Any + Send + Sync> = self.0.target.clone()?;
        any.downcast().ok()
    }
}

impl fmt::Debug for ResourceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceHandle({} {}/{} on {})", self.0.type_name, self.0.container, self.0.name, self.0.device)
    }
}

/// A value of a type that only some ops know, for example a tensor list. Cloning shares it.
pub trait VariantValue: Any + Send + Sync {
    /// The type's name as TensorFlow registers it, for example `tensorflow::TensorList`.
    fn type_name(&self) -> &'static str;

    /// How many values lie within each other here, this one counted: what keeps letting go of one from recursing deeply.
    fn depth(&self) -> u32 {
        1
    }

    /// A value of zeros of the same form, for `ZerosLike`.
    ///
    /// # Errors
    /// INTERNAL when values of the type have none; RESOURCE_EXHAUSTED when memory or budget is used up.
    fn zeros_like(&self, budget: Option<&Budget>) -> Result<Variant, Status> {
        let _ = budget;
        Err(Status::internal(format_args!("there are no zeros like a {}", self.type_name())))
    }

    /// The sum of this value and another, for `AddN`.
    ///
    /// # Errors
    /// INTERNAL when values of the type have no sum; INVALID_ARGUMENT when these two have none; RESOURCE_EXHAUSTED when
    /// memory or budget is used up.
    fn add(&self, other: &Variant, budget: Option<&Budget>) -> Result<Variant, Status> {
        let _ = (other, budget);
        Err(Status::internal(format_args!("there is no sum of a {}", self.type_name())))
    }
}

/// An element of a variant tensor; the empty one is what an uninitialised element holds.
#[derive(Clone, Default)]
pub struct Variant(Option<Arc<dyn VariantValue>>);

impl Variant {
    /// Wraps a value.
    pub fn new(value: impl VariantValue) -> Variant {
        Variant(Some(Arc::new(value)))
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The value, whatever its type.
    pub fn any(&self) -> Option<&dyn VariantValue> {
        self.0.as_deref()
    }

    /// The value's type; `None` when there is no value.
    pub fn type_name(&self) -> Option<&'static str> {
        self.0.as_deref().map(VariantValue::type_name)
    }

    /// The value's [depth](VariantValue::depth), 0 when there is none.
    pub fn depth(&self) -> u32 {
        self.0.as_deref().map_or(0, VariantValue::depth)
    }

    /// The value, when it is of type `V`.
    pub fn value<V: VariantValue>(&self) -> Option<&V> {
        let value: &dyn VariantValue = self.0.as_deref()?;
        let any: &dyn Any = value;
        any.downcast_ref()
    }

    /// The value for writing, when it is of type `V` and shared with nobody.
    pub fn value_mut<V: VariantValue>(&mut self) -> Option<&mut V> {
        let value: &mut dyn VariantValue = Arc::get_mut(self.0.as_mut()?)?;
        let any: &mut dyn Any = value;
        any.downcast_mut()
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => write!(f, "Variant({})", value.type_name()),
            None => f.write_str("Variant(empty)"),
        }
    }
}
