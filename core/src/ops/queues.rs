//! Queues of tensors between steps: they block without holding a thread.
//!
//! An op that cannot be served leaves an attempt with the queue and its block of the step waits; see
//! [`crate::resource::Queue`] for who is served when. The older forms of the ops take a reference where the newer ones take
//! a resource: in a step both are the queue's handle.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Context, Poll};

use super::shape;
use super::variable::handle;
use super::{Ctx, Kernel, NodeContext, Op, Waiting, kernel, rows, waiting_kernel};
use crate::Status;
use crate::graph::PartialShape;
use crate::resource::{Asked, Queue, QueueKind, QueueSpec, QueueTicket, ResourceManager, Tuple};
use crate::tensor::{DType, Resource, Shape, Tensor};

/// This family.
pub static OPS: &[&Op] = &[
    &FIFO,
    &FIFO_V2,
    &PADDING,
    &PADDING_V2,
    &SHUFFLE,
    &SHUFFLE_V2,
    &PRIORITY,
    &PRIORITY_V2,
    &ENQUEUE,
    &ENQUEUE_V2,
    &ENQUEUE_MANY,
    &ENQUEUE_MANY_V2,
    &DEQUEUE,
    &DEQUEUE_V2,
    &DEQUEUE_MANY,
    &DEQUEUE_MANY_V2,
    &DEQUEUE_UP_TO,
    &DEQUEUE_UP_TO_V2,
    &CLOSE,
    &CLOSE_V2,
    &SIZE,
    &SIZE_V2,
    &IS_CLOSED,
    &IS_CLOSED_V2,
];

const QUEUE: &str = "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; \
    container: string = ''; shared_name: string = ''";
const SHUFFLED: &str = "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; \
    min_after_dequeue: int = 0; seed: int = 0; seed2: int = 0; container: string = ''; shared_name: string = ''";
const RANKED: &str = "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1; \
    container: string = ''; shared_name: string = ''";
const TAKE: &str = "component_types: list(type) >= 1; timeout_ms: int = -1";
const PUT: &str = "Tcomponents: list(type) >= 1; timeout_ms: int = -1";

static FIFO: Op =
    Op::new("FIFOQueue", "-> handle: Ref(string)", QUEUE).stateful().shape(shape::unknown).kernel(&[], fifo);
static FIFO_V2: Op =
    Op::new("FIFOQueueV2", "-> handle: resource", QUEUE).stateful().shape(shape::scalar).kernel(&[], fifo);
static PADDING: Op =
    Op::new("PaddingFIFOQueue", "-> handle: Ref(string)", QUEUE).stateful().shape(shape::unknown).kernel(&[], padding);
static PADDING_V2: Op =
    Op::new("PaddingFIFOQueueV2", "-> handle: resource", QUEUE).stateful().shape(shape::scalar).kernel(&[], padding);
static SHUFFLE: Op = Op::new("RandomShuffleQueue", "-> handle: Ref(string)", SHUFFLED)
    .stateful()
    .shape(shape::unknown)
    .kernel(&[], shuffle);
static SHUFFLE_V2: Op = Op::new("RandomShuffleQueueV2", "-> handle: resource", SHUFFLED)
    .stateful()
    .shape(shape::scalar)
    .kernel(&[], shuffle);
static PRIORITY: Op =
    Op::new("PriorityQueue", "-> handle: Ref(string)", RANKED).stateful().shape(shape::unknown).kernel(&[], priority);
static PRIORITY_V2: Op =
    Op::new("PriorityQueueV2", "-> handle: resource", RANKED).stateful().shape(shape::scalar).kernel(&[], priority);

static ENQUEUE: Op = Op::new("QueueEnqueue", "handle: Ref(string), components: Tcomponents ->", PUT)
    .waits()
    .shape(shape::unknown)
    .kernel(&[], |node| enqueue(node, false));
static ENQUEUE_V2: Op = Op::new("QueueEnqueueV2", "handle: resource, components: Tcomponents ->", PUT)
    .stateful()
    .waits()
    .shape(shape::unknown)
    .kernel(&[], |node| enqueue(node, false));
static ENQUEUE_MANY: Op = Op::new("QueueEnqueueMany", "handle: Ref(string), components: Tcomponents ->", PUT)
    .waits()
    .shape(shape::unknown)
    .kernel(&[], |node| enqueue(node, true));
static ENQUEUE_MANY_V2: Op = Op::new("QueueEnqueueManyV2", "handle: resource, components: Tcomponents ->", PUT)
    .stateful()
    .waits()
    .shape(shape::unknown)
    .kernel(&[], |node| enqueue(node, true));
static DEQUEUE: Op = Op::new("QueueDequeue", "handle: Ref(string) -> components: component_types", TAKE)
    .waits()
    .shape(shape::unknown)
    .kernel(&[], dequeue);
static DEQUEUE_V2: Op = Op::new("QueueDequeueV2", "handle: resource -> components: component_types", TAKE)
    .stateful()
    .waits()
    .shape(shape::unknown)
    .kernel(&[], dequeue);
static DEQUEUE_MANY: Op =
    Op::new("QueueDequeueMany", "handle: Ref(string), n: int32 -> components: component_types", TAKE)
        .waits()
        .shape(shape::unknown)
        .kernel(&[], |node| dequeue_many(node, false));
static DEQUEUE_MANY_V2: Op =
    Op::new("QueueDequeueManyV2", "handle: resource, n: int32 -> components: component_types", TAKE)
        .stateful()
        .waits()
        .shape(shape::unknown)
        .kernel(&[], |node| dequeue_many(node, false));
static DEQUEUE_UP_TO: Op =
    Op::new("QueueDequeueUpTo", "handle: Ref(string), n: int32 -> components: component_types", TAKE)
        .waits()
        .shape(shape::unknown)
        .kernel(&[], |node| dequeue_many(node, true));
static DEQUEUE_UP_TO_V2: Op =
    Op::new("QueueDequeueUpToV2", "handle: resource, n: int32 -> components: component_types", TAKE)
        .stateful()
        .waits()
        .shape(shape::unknown)
        .kernel(&[], |node| dequeue_many(node, true));
static CLOSE: Op = Op::new("QueueClose", "handle: Ref(string) ->", "cancel_pending_enqueues: bool = false")
    .waits()
    .shape(shape::unknown)
    .kernel(&[], close);
static CLOSE_V2: Op = Op::new("QueueCloseV2", "handle: resource ->", "cancel_pending_enqueues: bool = false")
    .stateful()
    .waits()
    .shape(shape::unknown)
    .kernel(&[], close);
static SIZE: Op = Op::new("QueueSize", "handle: Ref(string) -> size: int32", "").shape(shape::scalar).kernel(&[], size);
static SIZE_V2: Op =
    Op::new("QueueSizeV2", "handle: resource -> size: int32", "").stateful().shape(shape::scalar).kernel(&[], size);
static IS_CLOSED: Op =
    Op::new("QueueIsClosed", "handle: Ref(string) -> is_closed: bool", "").shape(shape::scalar).kernel(&[], is_closed);
static IS_CLOSED_V2: Op = Op::new("QueueIsClosedV2", "handle: resource -> is_closed: bool", "")
    .stateful()
    .shape(shape::scalar)
    .kernel(&[], is_closed);

fn fifo(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    make(node, QueueKind::Fifo)
}

fn padding(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    make(node, QueueKind::Padding)
}

fn shuffle(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    make(node, QueueKind::Shuffle)
}

fn priority(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    make(node, QueueKind::Priority)
}

/// The name by which nodes share a resource: their own unless they give another.
///
/// # Errors
/// INVALID_ARGUMENT for one that begins with an underscore.
pub(super) fn shared_name<'a>(node: &'a NodeContext<'_>) -> Result<&'a str, Status> {
    match node.attrs().str("shared_name")? {
        "" => Ok(&node.node.name),
        name if name.starts_with('_') => {
            Err(Status::invalid_argument(format_args!("shared_name cannot start with '_': {name}")))
        }
        name => Ok(name),
    }
}

fn declaration(node: &NodeContext<'_>, kind: QueueKind) -> Result<QueueSpec, Status> {
    let attrs = node.attrs();
    let capacity = attrs.int("capacity")?;
    let mut dtypes = attrs.dtypes("component_types")?;
    let mut shapes = attrs.shapes("shapes")?;
    if kind == QueueKind::Priority {
        dtypes.insert(0, DType::Int64);
        if shapes.is_empty() {
            return Err(Status::invalid_argument(
                "a priority queue has component shapes [] but requested component shapes were [[]]",
            ));
        }
        shapes.insert(0, PartialShape::new(&[]));
    }
    if !(shapes.is_empty() && kind != QueueKind::Padding) && shapes.len() != dtypes.len() {
        return Err(Status::invalid_argument(format_args!(
            "Different number of component types. Types: {}, Shapes: {}",
            dtypes.len(),
            shapes.len()
        )));
    }
    if kind == QueueKind::Padding && shapes.iter().any(|shape| shape.rank().is_none()) {
        return Err(Status::invalid_argument("shape <unknown> must have known rank."));
    }
    if kind != QueueKind::Padding {
        // A shape of unknown rank counts as a scalar's, as it does in TensorFlow.
        for shape in shapes.iter_mut().filter(|shape| shape.dims.is_none()) {
            *shape = PartialShape::new(&[]);
        }
    }
    let partial = |shape: &&PartialShape| shape.dims.is_some() && shape.to_shape().is_none();
    if let Some(shape) = shapes.iter().find(partial).filter(|_| kind != QueueKind::Padding) {
        return Err(Status::invalid_argument(format_args!("Shape {shape} is not fully defined")));
    }
    let mut spec = QueueSpec {
        kind,
        capacity: usize::try_from(capacity).ok(),
        dtypes,
        shapes,
        min_after_dequeue: 0,
        seeds: [0, 0],
    };
    if kind == QueueKind::Shuffle {
        let min = attrs.int("min_after_dequeue")?;
        spec.min_after_dequeue = usize::try_from(min)
            .map_err(|_| Status::invalid_argument(format_args!("min_after_dequeue {min} must be >= 0")))?;
        if spec.capacity.is_some_and(|capacity| spec.min_after_dequeue >= capacity) {
            return Err(Status::invalid_argument(format_args!(
                "min_after_dequeue {min} must be < capacity {capacity}"
            )));
        }
        spec.seeds = [attrs.int("seed")?, attrs.int("seed2")?];
    }
    Ok(spec)
}

fn make(node: &NodeContext<'_>, kind: QueueKind) -> Result<Box<dyn Kernel>, Status> {
    let (spec, name, container) = (declaration(node, kind)?, shared_name(node)?, node.attrs().str("container")?);
    let mut entropy = [[0; 8]; 2];
    for half in &mut entropy {
        // A host without entropy shuffles the same way each time.
        node.host.entropy(half);
    }
    let make = || Queue::new(name, spec.clone(), entropy.map(i64::from_le_bytes));
    let queue = node.resources.find_or_create(container, name, make)?;
    queue.spec().check_shared(name, &spec)?;
    let target: Arc<dyn Resource> = queue;
    let handle = node.resources.handle(container, name, None, target);
    let handle = Tensor::from_resources(Shape::scalar(), alloc::vec![handle])?;
    kernel(move |c: &mut Ctx<'_>| {
        c.set(0, handle.clone());
        Ok(())
    })
}

/// Finds queues: by their handle, or by name where that came from outside.
struct Queues(Arc<ResourceManager>);

impl Queues {
    fn new(node: &NodeContext<'_>) -> Queues {
        Queues(node.resources.clone())
    }

    fn get(&self, c: &Ctx<'_>) -> Result<Arc<Queue>, Status> {
        let handle = handle(c, 0)?;
        if let Some(queue) = handle.target_arc::<Queue>() {
            return Ok(queue);
        }
        let parts = handle.parts();
        if parts.target.is_some() {
            return Err(Status::invalid_argument(format_args!(
                "Trying to access resource using the wrong type: a handle of a {}, expected one of a queue",
                parts.type_name
            )));
        }
        let found = self.0.find::<Queue>(&parts.container, "tensorflow::QueueInterface", &parts.name);
        found.ok_or_else(|| {
            Status::not_found(format_args!("Resource {}/{}/queue does not exist.", parts.container, parts.name))
        })
    }
}

fn check_timeout(node: &NodeContext<'_>) -> Result<(), Status> {
    match node.attrs().int("timeout_ms")? {
        -1 => Ok(()),
        _ => Err(Status::invalid_argument("Timeout not supported yet.")),
    }
}

/// Whether tensors of these dtypes are elements of a queue.
fn check_dtypes(queue: &Queue, dtypes: &[DType]) -> Result<(), Status> {
    if queue.spec().dtypes == dtypes {
        return Ok(());
    }
    Err(Status::invalid_argument(format_args!(
        "Signature mismatch: the queue '{}' holds {:?}, the op has {dtypes:?}",
        queue.name(),
        queue.spec().dtypes
    )))
}

/// Whether components have the shapes that the queue declares, below the outermost dimension if they are batches.
fn check_shapes(queue: &Queue, values: &[Tensor], batch: Option<usize>) -> Result<(), Status> {
    for (i, (value, shape)) in values.iter().zip(&queue.spec().shapes).enumerate() {
        let mut expected = shape.clone();
        if let (Some(batch), Some(dims)) = (batch, &mut expected.dims) {
            dims.insert(0, i64::try_from(batch).unwrap_or(i64::MAX));
        }
        if !expected.admits(value.shape()) {
            return Err(Status::invalid_argument(format_args!(
                "Shape mismatch in tuple component {i}. Expected {expected}, got {}",
                value.shape()
            )));
        }
    }
    Ok(())
}

fn check_rank(queue: &Queue, values: &[Tensor], batched: bool) -> Result<(), Status> {
    let wanted = usize::from(batched);
    match values.first() {
        Some(rank) if queue.spec().kind == QueueKind::Priority && rank.shape().rank() != wanted => {
            Err(Status::invalid_argument(format_args!(
                "Expected the priority element to be a scalar, but received shape: {}",
                rank.shape()
            )))
        }
        _ => Ok(()),
    }
}

fn enqueue(node: &NodeContext<'_>, many: bool) -> Result<Box<dyn Kernel>, Status> {
    check_timeout(node)?;
    let (queues, dtypes) = (Queues::new(node), node.attrs().dtypes("Tcomponents")?);
    waiting_kernel(move |c: &mut Ctx<'_>| {
        let queue = queues.get(c)?;
        check_dtypes(&queue, &dtypes)?;
        let values: Box<[Tensor]> = (1..c.num_inputs()).map(|i| c.input(i).clone()).collect();
        let elements = if many {
            let elements = split(c, &queue, &values)?;
            if elements.is_empty() {
                return Ok(None);
            }
            elements
        } else {
            check_shapes(&queue, &values, None)?;
            check_rank(&queue, &values, false)?;
            VecDeque::from([Tuple::new(values, c.budget())?])
        };
        Ok(match queue.enqueue(elements)? {
            Asked::Done(_) => None,
            Asked::Waits(ticket) => Some(Box::new(Done(ticket))),
        })
    })
}

/// Batches taken apart.
fn split(c: &Ctx<'_>, queue: &Queue, values: &[Tensor]) -> Result<VecDeque<Tuple>, Status> {
    let mut count = None;
    for (i, value) in values.iter().enumerate() {
        let (len, _) = rows::below(value.shape()).map_err(|_| {
            Status::invalid_argument(format_args!(
                "tuple component {i} is a scalar and has no 0th dimension to take apart"
            ))
        })?;
        let first = *count.get_or_insert(len);
        if len != first && queue.spec().shapes.is_empty() {
            return Err(Status::invalid_argument(format_args!(
                "All input tensors must have the same size in the 0th dimension. Component {i} has {len}, and should \
                 have {first}"
            )));
        }
    }
    let count = count.unwrap_or(0);
    check_shapes(queue, values, Some(count))?;
    check_rank(queue, values, true)?;
    let mut elements = VecDeque::new();
    let reserved = elements.try_reserve_exact(count);
    reserved.map_err(|_| Status::resource_exhausted(format_args!("no memory for {count} elements")))?;
    for i in 0..count {
        let row = values.iter().map(|value| rows::row(value, i, c.budget()));
        elements.push_back(Tuple::new(row.collect::<Result<_, _>>()?, c.budget())?);
    }
    Ok(elements)
}

/// Waits for an attempt that gives nothing.
struct Done(QueueTicket);

impl Waiting for Done {
    fn poll(&mut self, cx: &mut Context<'_>, _: &mut Ctx<'_>) -> Poll<Result<(), Status>> {
        self.0.poll(cx).map(|result| result.map(|_| ()))
    }
}

fn dequeue(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    check_timeout(node)?;
    let (queues, dtypes) = (Queues::new(node), node.attrs().dtypes("component_types")?);
    waiting_kernel(move |c: &mut Ctx<'_>| {
        let queue = queues.get(c)?;
        check_dtypes(&queue, &dtypes)?;
        Ok(match queue.dequeue(1, false)? {
            Asked::Done(tuples) => {
                set_element(c, tuples);
                None
            }
            Asked::Waits(ticket) => Some(Box::new(Element(ticket))),
        })
    })
}

fn set_element(c: &mut Ctx<'_>, tuples: Vec<Tuple>) {
    let values = tuples.into_iter().next().map(|tuple| tuple.values).unwrap_or_default();
    for (i, value) in values.into_iter().enumerate() {
        c.set(i, value);
    }
}

/// Waits for an element.
struct Element(QueueTicket);

impl Waiting for Element {
    fn poll(&mut self, cx: &mut Context<'_>, c: &mut Ctx<'_>) -> Poll<Result<(), Status>> {
        self.0.poll(cx).map(|result| {
            set_element(c, result?);
            Ok(())
        })
    }
}

fn dequeue_many(node: &NodeContext<'_>, small: bool) -> Result<Box<dyn Kernel>, Status> {
    check_timeout(node)?;
    let (queues, dtypes) = (Queues::new(node), node.attrs().dtypes("component_types")?);
    waiting_kernel(move |c: &mut Ctx<'_>| {
        let queue = queues.get(c)?;
        let n = match c.input(1).as_slice::<i32>()? {
            [n, ..] => *n,
            [] => return Err(Status::invalid_argument("the number of elements to dequeue is not there")),
        };
        let count = usize::try_from(n)
            .map_err(|_| Status::invalid_argument(format_args!("DequeueManyOp requested {n} < 0 elements")))?;
        check_dtypes(&queue, &dtypes)?;
        if queue.spec().shapes.is_empty() {
            return Err(Status::invalid_argument(format_args!(
                "{}'s DequeueMany and DequeueUpTo require the components to have specified shapes.",
                queue.spec().kind.name()
            )));
        }
        if count == 0 {
            set_batch(c, &queue, &[])?;
            return Ok(None);
        }
        Ok(match queue.dequeue(count, small)? {
            Asked::Done(tuples) => {
                set_batch(c, &queue, &tuples)?;
                None
            }
            Asked::Waits(ticket) => Some(Box::new(Batch { queue, ticket })),
        })
    })
}

/// Waits for elements and makes them a batch.
struct Batch {
    queue: Arc<Queue>,
    ticket: QueueTicket,
}

impl Waiting for Batch {
    fn poll(&mut self, cx: &mut Context<'_>, c: &mut Ctx<'_>) -> Poll<Result<(), Status>> {
        self.ticket.poll(cx).map(|result| set_batch(c, &self.queue, &result?))
    }
}

fn set_batch(c: &mut Ctx<'_>, queue: &Queue, tuples: &[Tuple]) -> Result<(), Status> {
    let spec = queue.spec();
    for (i, (shape, &dtype)) in spec.shapes.iter().zip(&spec.dtypes).enumerate() {
        let elements = || tuples.iter().filter_map(|tuple| tuple.values.get(i));
        let mut dims = [0usize; crate::tensor::RANK_MAX];
        let declared = shape.dims.as_deref().unwrap_or_default();
        let dims =
            dims.get_mut(..declared.len()).ok_or_else(|| Status::invalid_argument("a shape of too high rank"))?;
        for (at, (dim, &declared)) in dims.iter_mut().zip(declared).enumerate() {
            let largest = || elements().map(|e| e.shape().dim(at)).max().unwrap_or(0);
            *dim = usize::try_from(declared).unwrap_or_else(|_| largest());
        }
        let element = Shape::new(dims)?;
        let whole = rows::above(tuples.len(), &element)?;
        let padded = shape.to_shape().is_none();
        let mut out = if padded { c.output_zeroed(i, dtype, &whole)? } else { c.output(i, dtype, &whole)? };
        for (at, value) in elements().enumerate() {
            let first = at * element.num_elements();
            match padded {
                true => rows::put_within(&mut out, first, &element, value)?,
                false => rows::put(&mut out, first, value)?,
            }
        }
        c.set(i, out);
    }
    Ok(())
}

fn close(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let (queues, cancel) = (Queues::new(node), node.attrs().bool("cancel_pending_enqueues")?);
    waiting_kernel(move |c: &mut Ctx<'_>| {
        let queue = queues.get(c)?;
        if cancel {
            queue.close_and_cancel();
            return Ok(None);
        }
        Ok(match queue.close()? {
            Asked::Done(_) => None,
            Asked::Waits(ticket) => Some(Box::new(Done(ticket))),
        })
    })
}

fn size(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let queues = Queues::new(node);
    kernel(move |c: &mut Ctx<'_>| {
        let size = queues.get(c)?.size();
        c.set_scalar(0, i32::try_from(size).unwrap_or(i32::MAX));
        Ok(())
    })
}

fn is_closed(node: &NodeContext<'_>) -> Result<Box<dyn Kernel>, Status> {
    let queues = Queues::new(node);
    kernel(move |c: &mut Ctx<'_>| {
        let closed = queues.get(c)?.is_closed();
        c.set_scalar(0, closed);
        Ok(())
    })
}
