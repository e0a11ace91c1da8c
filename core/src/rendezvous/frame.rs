//! Numbers of loop frames on which all workers of a step agree, because keys of tensors inside loops contain them.
//!
//! The root frame is 0. A frame that begins in an iteration of another is numbered by a hash of that frame's number,
//! the iteration and the `frame_name` of its Enter nodes; the formula and its constants are TensorFlow's
//! (`propagator_state.cc`, `tsl/platform/hash.h`), so that its workers compute the same.

/// The hash of a frame's name: MurmurHash64A of its bytes with TensorFlow's seed.
pub fn frame_name_hash(name: &str) -> u64 {
    murmur64a(name.as_bytes(), 0x00DE_CAFC_AFFE)
}

/// The number of the frame of name hash `name` that begins in `iteration` of the frame `parent`.
pub fn child_frame_id(parent: u64, iteration: u64, name: u64) -> u64 {
    combine(parent, combine(iteration, name))
}

fn combine(a: u64, b: u64) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7800;
    a ^ b.wrapping_add(GOLDEN).wrapping_add(a << 10).wrapping_add(a >> 4)
}

/// MurmurHash64A by Austin Appleby (public domain), words read as little-endian.
fn murmur64a(bytes: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(M);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> R;
        hash = (hash ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(M);
    }
    hash ^= hash >> R;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> R)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that a stock TensorFlow worker used in its keys.
    #[test]
    fn as_tensorflow_numbers_them() {
        let outer = child_frame_id(0, 0, frame_name_hash("my/frame"));
        assert_eq!(outer, 9_916_786_729_512_995_348);
        assert_eq!(child_frame_id(outer, 0, frame_name_hash("inner")), 8_807_586_656_757_721_890);
    }

    /// Iterations of the parent have children of different numbers.
    #[test]
    fn iterations_differ() {
        let name = frame_name_hash("inner");
        assert_ne!(child_frame_id(7, 0, name), child_frame_id(7, 1, name));
    }
}
