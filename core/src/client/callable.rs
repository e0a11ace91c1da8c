//! A prepared run as its client sees it.

use alloc::vec::Vec;

use super::Session;
use super::connection::wrong_kind;
use super::session::let_go;
use crate::Status;
use crate::service::{ReleaseCallableRequest, Request, Response, RunCallableRequest, RunMetadata};
use crate::tensor::Tensor;

/// A run whose names are resolved. Any number of its runs may be under way at once. Dropping it begins its release, see
/// [`Session`].
pub struct Callable {
    session: Session,
    handle: i64,
    feeds: usize,
    fetches: usize,
    released: bool,
}

impl Callable {
    pub(super) fn new(session: Session, handle: i64, feeds: usize, fetches: usize) -> Callable {
        Callable { session, handle, feeds, fetches, released: false }
    }

    /// The number of tensors that a run takes.
    pub fn num_feeds(&self) -> usize {
        self.feeds
    }

    /// The number of tensors that a run gives.
    pub fn num_fetches(&self) -> usize {
        self.fetches
    }

    /// Runs with feeds in the order in which they were named; answers the fetches in theirs.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for too few feeds, INTERNAL for one of another dtype, a kernel's own error, and any that the
    /// channel answers.
    pub async fn run(&self, feeds: &[Tensor]) -> Result<Vec<Tensor>, Status> {
        Ok(self.run_with_metadata(feeds).await?.0)
    }

    /// As [`Callable::run`], with what the callable's options ask to be told of the run.
    ///
    /// # Errors
    /// As [`Callable::run`].
    pub async fn run_with_metadata(&self, feeds: &[Tensor]) -> Result<(Vec<Tensor>, RunMetadata), Status> {
        let request = RunCallableRequest {
            session_handle: self.session.handle().into(),
            handle: self.handle,
            feeds: feeds.to_vec(),
            request_id: self.session.id(),
        };
        match self.session.call(Request::RunCallable(request)).await? {
            Response::RunCallable(r) if r.fetches.len() == self.fetches => Ok((r.fetches, r.metadata)),
            _ => Err(wrong_kind()),
        }
    }

    /// As [`Callable::run`], setting `outputs`. The old tensors are let go first, so that their memory serves again.
    ///
    /// # Errors
    /// As [`Callable::run`]; INVALID_ARGUMENT when there are fewer outputs than fetches.
    pub async fn run_into(&self, feeds: &[Tensor], outputs: &mut [Tensor]) -> Result<(), Status> {
        let_go(outputs, self.fetches)?;
        for (output, value) in outputs.iter_mut().zip(self.run(feeds).await?) {
            *output = value;
        }
        Ok(())
    }

    /// Forgets the callable at the master.
    ///
    /// # Errors
    /// ABORTED when the master does not know the session any more.
    pub async fn release(mut self) -> Result<(), Status> {
        self.released = true;
        match self.session.call(self.release_request()).await? {
            Response::ReleaseCallable => Ok(()),
            _ => Err(wrong_kind()),
        }
    }

    fn release_request(&self) -> Request {
        let session_handle = self.session.handle().into();
        Request::ReleaseCallable(ReleaseCallableRequest { session_handle, handle: self.handle })
    }
}

impl Drop for Callable {
    fn drop(&mut self) {
        if !self.released {
            self.session.begin(self.release_request());
        }
    }
}
