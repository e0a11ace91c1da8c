//! The program's allocator: a fixed block of RAM behind counters.

use core::alloc::{GlobalAlloc, Layout};
use core::mem::MaybeUninit;
use core::ptr::addr_of_mut;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use embedded_alloc::LlffHeap;

/// Bytes of heap; what is left of the chip's 256 KiB is for statics and the stack.
pub(crate) const SIZE: usize = 192 * 1024;

/// Gives the heap its memory. Only the first call does anything.
pub(crate) fn init() {
    static mut MEMORY: [MaybeUninit<u8>; SIZE] = [MaybeUninit::uninit(); SIZE];
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.swap(true, Relaxed) {
        // SAFETY: MEMORY is named nowhere else and the flag lets one call through, so the heap is its only owner.
        unsafe { HEAP.inner.init(addr_of_mut!(MEMORY) as usize, SIZE) }
    }
}

/// The bytes that are allocated now.
pub(crate) fn held() -> usize {
    HEAP.held.load(Relaxed)
}

/// The most bytes that were allocated at one time.
pub(crate) fn high_water() -> usize {
    HEAP.most.load(Relaxed)
}

/// How often memory was asked for.
pub(crate) fn calls() -> usize {
    HEAP.calls.load(Relaxed)
}

struct Counting {
    inner: LlffHeap,
    held: AtomicUsize,
    most: AtomicUsize,
    calls: AtomicUsize,
}

#[global_allocator]
static HEAP: Counting = Counting {
    inner: LlffHeap::empty(),
    held: AtomicUsize::new(0),
    most: AtomicUsize::new(0),
    calls: AtomicUsize::new(0),
};

// SAFETY: every call is handed to LlffHeap with the caller's own arguments, and LlffHeap is a GlobalAlloc.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.calls.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise about `layout` is the one that the inner heap asks for.
        let p = unsafe { self.inner.alloc(layout) };
        if !p.is_null() {
            let held = self.held.fetch_add(layout.size(), Relaxed) + layout.size();
            self.most.fetch_max(held, Relaxed);
        }
        p
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        self.held.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `p` came from `alloc` above with this layout, so it came from the inner heap.
        unsafe { self.inner.dealloc(p, layout) }
    }
}
