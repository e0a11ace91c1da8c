//! The bytes of one tensor as they arrive: aligned memory that is filled piece by piece.

use bytes::Bytes;

use crate::Status;
use crate::tensor::Buffer;

/// Bytes of known length in memory aligned to 64, written while they arrive and then shared.
#[derive(Debug)]
pub(in crate::service) struct Payload {
    buffer: Buffer,
    len: usize,
}

impl Payload {
    /// Zeros of `len` bytes. Large memory is only reserved: pages are taken when bytes are written to them, where the
    /// system gives memory by pages.
    pub(in crate::service) fn new(len: usize) -> Result<Payload, Status> {
        Ok(Payload { buffer: Buffer::new(len, None)?, len })
    }

    pub(in crate::service) fn len(&self) -> usize {
        self.len
    }

    /// The bytes from `start` on, for writing.
    pub(in crate::service) fn space(&mut self, start: usize) -> &mut [u8] {
        let len = self.len;
        self.buffer.bytes_mut().and_then(|bytes| bytes.get_mut(start..len)).unwrap_or_default()
    }

    /// The same bytes for tensors to share.
    pub(in crate::service) fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        self.buffer.bytes().get(..self.len).unwrap_or_default()
    }
}
