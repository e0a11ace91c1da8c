//! A run in pieces as its client sees it.

use alloc::string::String;

use super::{Outputs, Session};
use crate::Status;
use crate::service::RunOptions;
use crate::tensor::Tensor;

/// A declared run that is fed and fetched in pieces. It is over when all feeds and fetches are used, or after an error.
pub struct PartialRun {
    session: Session,
    handle: String,
}

impl PartialRun {
    pub(super) fn new(session: Session, handle: String) -> PartialRun {
        PartialRun { session, handle }
    }

    /// Feeds some tensors and waits for some fetches, which must depend on no other feeds than those given so far.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a feed or fetch that was not declared, is used already or cannot be computed yet, which leaves
    /// the run usable; else as [`Session::run`], which ends the run.
    pub async fn run(&self, feeds: &[(&str, &Tensor)], fetches: &[&str]) -> Result<Outputs, Status> {
        let response = self.session.run_step(feeds, fetches, &[], RunOptions::default(), &self.handle).await?;
        Outputs::new(response.tensors, fetches)
    }
}
