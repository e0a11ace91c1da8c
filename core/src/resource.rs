//! Containers of named resources, and kernel state by node name.
//!
//! A resource is found by container, kind and name. A variable exists as soon as something names it and is
//! uninitialised until its first assignment; a reference edge and a resource handle both point to the variable itself.

mod heap;
mod queue;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use core::any::Any;

pub use queue::{Asked, Queue, QueueKind, QueueSpec, QueueTicket, Tuple};

use crate::Status;
use crate::graph::PartialShape;
use crate::sync::Mutex;
use crate::tensor::{DType, HandleParts, Resource, ResourceHandle, Shape, Tensor};

/// A variable: a tensor that outlives steps.
pub struct Variable {
    /// The dtype of every value.
    pub dtype: DType,
    /// The declared shape.
    pub shape: PartialShape,
    /// The value; `None` while uninitialised. Readers take a handle, writers write in place when theirs is the only one.
    pub value: Mutex<Option<Tensor>>,
}

impl Variable {
    /// An uninitialised variable.
    pub fn new(dtype: DType, shape: PartialShape) -> Variable {
        Variable { dtype, shape, value: Mutex::new(None) }
    }

    /// The value at this moment, sharing its elements; `None` while uninitialised.
    pub fn read(&self) -> Option<Tensor> {
        self.value.lock().clone()
    }
}

impl Resource for Variable {
    fn type_name(&self) -> &'static str {
        "Variable"
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    container: Arc<str>,
    kind: &'static str,
    name: Arc<str>,
}

/// The resources of one device, by container, kind and name.
pub struct ResourceManager {
    device: Arc<str>,
    default_container: Arc<str>,
    resources: Mutex<BTreeMap<Key, Arc<dyn Resource>>>,
}

impl ResourceManager {
    /// An empty manager for `device`; resources that name no container are in `default_container`.
    pub fn new(device: &str, default_container: &str) -> ResourceManager {
        ResourceManager {
            device: device.into(),
            default_container: default_container.into(),
            resources: Mutex::new(BTreeMap::new()),
        }
    }

    fn key(&self, container: &str, kind: &'static str, name: &str) -> Key {
        let container = if container.is_empty() { self.default_container.clone() } else { container.into() };
        Key { container, kind, name: name.into() }
    }

    /// The resource of a name, made by `make` if there is none.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for an illegal container name; INTERNAL when a resource of another Rust type has the key.
    pub fn find_or_create<R: Resource>(
        &self,
        container: &str,
        name: &str,
        make: impl FnOnce() -> R,
    ) -> Result<Arc<R>, Status> {
        check_container(container)?;
        let made = make();
        let key = self.key(container, made.type_name(), name);
        let mut resources = self.resources.lock();
        let resource = resources.entry(key).or_insert_with(|| Arc::new(made)).clone();
        drop(resources);
        let any: Arc<dyn Any + Send + Sync> = resource;
        any.downcast().map_err(|_| Status::internal(format_args!("two kinds of resource are named '{name}'")))
    }

    /// The resource of a name, or `None`.
    pub fn find<R: Resource>(&self, container: &str, kind: &'static str, name: &str) -> Option<Arc<R>> {
        let any: Arc<dyn Any + Send + Sync> = self.resources.lock().get(&self.key(container, kind, name))?.clone();
        any.downcast().ok()
    }

    /// Forgets a resource; whether there was one. Those who hold it keep it.
    pub fn remove(&self, container: &str, kind: &'static str, name: &str) -> bool {
        self.resources.lock().remove(&self.key(container, kind, name)).is_some()
    }

    /// Empties containers; an empty list means the default one.
    pub fn clear(&self, containers: &[String]) {
        let emptied = |container: &str| {
            (containers.is_empty() && *container == *self.default_container)
                || containers.iter().any(|c| c == container || (c.is_empty() && *container == *self.default_container))
        };
        let mut resources = self.resources.lock();
        let kept = core::mem::take(&mut *resources).into_iter();
        let (gone, kept): (BTreeMap<_, _>, BTreeMap<_, _>) = kept.partition(|(key, _)| emptied(&key.container));
        *resources = kept;
        drop(resources);
        // Resources may be large; they are dropped outside the lock.
        drop(gone);
    }

    /// A handle to a resource of this manager.
    pub fn handle(
        &self,
        container: &str,
        name: &str,
        value: Option<(DType, Option<Shape>)>,
        target: Arc<dyn Resource>,
    ) -> ResourceHandle {
        let key = self.key(container, target.type_name(), name);
        ResourceHandle::new(HandleParts {
            device: self.device.clone(),
            container: key.container,
            name: key.name,
            type_name: target.type_name().into(),
            value,
            target: Some(target),
        })
    }

    /// The default container's name.
    pub fn default_container(&self) -> &str {
        &self.default_container
    }

    /// The device that the resources are on.
    pub fn device(&self) -> &Arc<str> {
        &self.device
    }
}

/// Whether a container may have this name: a letter, digit or dot, then letters, digits, `-`, `.`, `/`; or empty.
///
/// # Errors
/// INVALID_ARGUMENT naming it.
pub fn check_container(container: &str) -> Result<(), Status> {
    let mut bytes = container.bytes();
    let first = bytes.next().is_none_or(|b| b.is_ascii_alphanumeric() || b == b'.');
    if first && bytes.all(|b| b.is_ascii_alphanumeric() || b"-./_".contains(&b)) {
        return Ok(());
    }
    Err(Status::invalid_argument(format_args!("container contains invalid characters: {}", container.escape_debug())))
}

/// State of kernels by node name, shared by all programs of a session: random streams continue across signatures.
#[derive(Default)]
pub struct NodeStates(Mutex<BTreeMap<String, Arc<dyn Any + Send + Sync>>>);

impl NodeStates {
    /// The state of node `name`, made by `make` the first time.
    ///
    /// # Errors
    /// INTERNAL when the node's state is of another type.
    pub fn find_or_create<S: Any + Send + Sync>(&self, name: &str, make: impl FnOnce() -> S) -> Result<Arc<S>, Status> {
        let mut states = self.0.lock();
        let state = match states.get(name) {
            Some(state) => state.clone(),
            None => {
                let state: Arc<dyn Any + Send + Sync> = Arc::new(make());
                states.insert(name.into(), state.clone());
                state
            }
        };
        drop(states);
        state.downcast().map_err(|_| Status::internal(format_args!("node '{name}' has state of another kind")))
    }
}

/// The resources of one step, by name: tensor arrays and stacks, which handles that are strings find here. They are gone
/// when the step is.
#[derive(Default)]
pub struct StepResources(Mutex<BTreeMap<Arc<str>, Arc<dyn Resource>>>);

impl StepResources {
    /// Enters a resource, in place of one of the same name.
    pub fn insert(&self, name: Arc<str>, resource: Arc<dyn Resource>) {
        let old = self.0.lock().insert(name, resource);
        drop(old);
    }

    /// The resource of a name, or `None`.
    pub fn find<R: Resource>(&self, name: &str) -> Option<Arc<R>> {
        let any: Arc<dyn Any + Send + Sync> = self.0.lock().get(name)?.clone();
        any.downcast().ok()
    }

    /// Forgets all.
    pub fn clear(&self) {
        let old = core::mem::take(&mut *self.0.lock());
        drop(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn variable() -> Variable {
        Variable::new(DType::Float, PartialShape::unknown())
    }

    /// One name is one variable; containers separate; clearing forgets just what is named.
    #[test]
    fn containers() {
        let manager = ResourceManager::new("/job:w/replica:0/task:0/device:CPU:0", "w");
        let a = manager.find_or_create("", "v", variable).unwrap();
        let b = manager.find_or_create("w", "v", variable).unwrap();
        let c = manager.find_or_create("other", "v", variable).unwrap();
        assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&a, &c));
        manager.clear(&[]);
        assert!(manager.find::<Variable>("", "Variable", "v").is_none());
        assert!(manager.find::<Variable>("other", "Variable", "v").is_some());
        manager.clear(&["other".to_string()]);
        assert!(manager.find::<Variable>("other", "Variable", "v").is_none());
        assert!(manager.find_or_create("-x", "v", variable).is_err());
    }

    /// A handle leads back to its resource, and only as the right type.
    #[test]
    fn handles() {
        let manager = ResourceManager::new("d", "c");
        let variable = manager.find_or_create("", "v", variable).unwrap();
        let handle = manager.handle("", "v", None, variable.clone());
        assert!(core::ptr::eq(handle.target::<Variable>().unwrap(), &*variable));
        assert_eq!(&*handle.parts().container, "c");
    }

    /// Node state is made once.
    #[test]
    fn states() {
        let states = NodeStates::default();
        assert_eq!(*states.find_or_create("n", || 1u32).unwrap(), 1);
        assert_eq!(*states.find_or_create("n", || 2u32).unwrap(), 1);
        assert!(states.find_or_create("n", || 2u64).is_err());
    }
}
