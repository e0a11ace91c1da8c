//! Shared bytes with a counted owner: heap memory, received bytes or constants.

use alloc::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering, fence};

use bytes::Bytes;

use super::{Budget, Charge};
use crate::Status;
use crate::status::OUT_OF_MEMORY;

/// The alignment of owned buffers: a cache line, and the widest vector.
pub(crate) const ALIGNMENT: usize = 64;

/// A shared, reference-counted range of bytes, aligned to 64 when it owns heap memory. Cloning never copies bytes.
pub struct Buffer {
    header: NonNull<Header>,
}

/// Where the bytes are, who owns them, and how many handles there are.
struct Header {
    handles: AtomicUsize,
    data: NonNull<u8>,
    capacity: usize,
    owner: Owner,
}

enum Owner {
    /// Heap memory made by `alloc` with [`ALIGNMENT`]; the charge goes back when the memory does.
    Heap { _charge: Option<Charge> },
    /// Bytes of a received frame; held, never written.
    Received { _bytes: Bytes },
    /// Constants of the program.
    Static,
}

// SAFETY: the bytes are written only through `bytes_mut`, which demands the only handle and `&mut`; counting is atomic.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Zeroed heap memory of at least `capacity` bytes, charged to `budget` first.
    pub fn new(capacity: usize, budget: Option<&Budget>) -> Result<Buffer, Status> {
        let size = capacity.max(1).checked_next_multiple_of(ALIGNMENT).ok_or(Status::fixed(&OUT_OF_MEMORY))?;
        let charge = budget.map(|b| b.charge(size)).transpose()?;
        let layout = Layout::from_size_align(size, ALIGNMENT).map_err(|_| Status::fixed(&OUT_OF_MEMORY))?;
        // SAFETY: the layout has a size above zero.
        let data = NonNull::new(unsafe { alloc_zeroed(layout) });
        let data = data.ok_or(Status::fixed(&OUT_OF_MEMORY))?;
        Buffer::with_owner(data, size, Owner::Heap { _charge: charge }).inspect_err(|_| {
            // SAFETY: allocated just above with this layout and not handed out.
            unsafe { dealloc(data.as_ptr(), layout) };
        })
    }

    /// The bytes of a received frame, without copying.
    pub fn from_bytes(bytes: Bytes) -> Result<Buffer, Status> {
        let data = NonNull::from(bytes.as_ref()).cast();
        let len = bytes.len();
        Buffer::with_owner(data, len, Owner::Received { _bytes: bytes })
    }

    /// Constants of the program, without copying.
    pub fn from_static(bytes: &'static [u8]) -> Result<Buffer, Status> {
        Buffer::with_owner(NonNull::from(bytes).cast(), bytes.len(), Owner::Static)
    }

    fn with_owner(data: NonNull<u8>, capacity: usize, owner: Owner) -> Result<Buffer, Status> {
        let layout = Layout::new::<Header>();
        // SAFETY: `Header` is not zero-sized.
        let header = NonNull::new(unsafe { alloc(layout) }.cast::<Header>()).ok_or(Status::fixed(&OUT_OF_MEMORY))?;
        // SAFETY: freshly allocated for a `Header`.
        unsafe { header.write(Header { handles: AtomicUsize::new(1), data, capacity, owner }) };
        Ok(Buffer { header })
    }

    fn header(&self) -> &Header {
        // SAFETY: the header lives while any handle does.
        unsafe { self.header.as_ref() }
    }

    /// How many bytes there are.
    pub fn capacity(&self) -> usize {
        self.header().capacity
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        let header = self.header();
        // SAFETY: `data` is valid for `capacity` initialised bytes while the owner lives, and nobody writes while a
        // shared borrow exists.
        unsafe { core::slice::from_raw_parts(header.data.as_ptr(), header.capacity) }
    }

    /// Whether this is the only handle of memory that may be written.
    pub fn is_unique(&self) -> bool {
        let header = self.header();
        // Acquire pairs with the release in `drop`: reads of dropped handles happened before writes that follow.
        matches!(header.owner, Owner::Heap { .. }) && header.handles.load(Ordering::Acquire) == 1
    }

    /// All bytes for writing; `None` unless [`Buffer::is_unique`].
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if !self.is_unique() {
            return None;
        }
        let header = self.header();
        // SAFETY: the only handle is borrowed exclusively, so nothing else sees these initialised heap bytes.
        Some(unsafe { core::slice::from_raw_parts_mut(header.data.as_ptr(), header.capacity) })
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        // Relaxed: a handle exists already, so the header cannot go away. Overflow needs 2^63 leaked handles.
        self.header().handles.fetch_add(1, Ordering::Relaxed);
        Buffer { header: self.header }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.header().handles.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        fence(Ordering::Acquire);
        // SAFETY: this was the last handle; the header was written by `with_owner`.
        let header = unsafe { self.header.read() };
        if let Owner::Heap { .. } = header.owner {
            // SAFETY: `new` allocated the memory with this size and alignment.
            unsafe {
                let layout = Layout::from_size_align_unchecked(header.capacity, ALIGNMENT);
                dealloc(header.data.as_ptr(), layout);
            }
        }
        // SAFETY: allocated with this layout by `with_owner`.
        unsafe { dealloc(self.header.as_ptr().cast(), Layout::new::<Header>()) };
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory is aligned, charged, shared, writable only when unique, and given back.
    #[test]
    fn life() {
        let budget = Budget::new("test", 1000);
        let mut a = Buffer::new(100, Some(&budget)).unwrap();
        assert_eq!(a.bytes().as_ptr() as usize % ALIGNMENT, 0);
        assert_eq!((a.capacity(), budget.used()), (128, 128));
        a.bytes_mut().unwrap()[3] = 9;
        let b = a.clone();
        assert!(a.bytes_mut().is_none());
        drop(a);
        assert!(b.is_unique());
        assert_eq!(b.bytes()[3], 9);
        drop(b);
        assert_eq!(budget.used(), 0);
        assert!(Buffer::new(1001, Some(&budget)).is_err());
        assert!(Buffer::new(usize::MAX, None).is_err());
        assert!(Buffer::new(isize::MAX as usize - 64, None).is_err());
    }

    /// Received and constant bytes are not copied and never written.
    #[test]
    fn borrowed_owners() {
        let frame = Bytes::from(alloc::vec![1, 2, 3]);
        let at = frame.as_ptr();
        let mut a = Buffer::from_bytes(frame).unwrap();
        assert_eq!(a.bytes().as_ptr(), at);
        assert!(a.bytes_mut().is_none());
        assert!(Buffer::from_static(b"abc").unwrap().bytes_mut().is_none());
    }
}
