//! The answer to a call: headers, a message and trailers, or a status alone.

use bytes::Bytes;
use h2::server::SendResponse;
use http::header::CONTENT_TYPE as CONTENT_TYPE_NAME;
use http::{HeaderMap, HeaderValue, Response as Head, StatusCode};
use runstep::service::Response;
use runstep::tensor::Budget;
use runstep::wire::{Pieces, response_pieces};
use runstep::{Code, Status};

use crate::encoding::{ACCEPTED, Encoding};
use crate::header::{CONTENT_TYPE, GRPC_ACCEPT_ENCODING, GRPC_ENCODING, GRPC_STATUS, put_status};
use crate::inbound::PREFIX_LEN;
use crate::outbound::{framed, send};

/// A compressed answer is not worth its work below this many bytes.
const COMPRESSED_LEN_MIN: usize = 1024;

/// Where the answer goes.
pub(crate) struct Reply {
    pub(crate) stream: SendResponse<Bytes>,
    /// How the answer may be compressed.
    pub(crate) encoding: Option<Encoding>,
    pub(crate) stall_ms_max: u64,
}

impl Reply {
    /// Sends what became of a call; its bytes are charged to `budget` until they are sent. Nobody is told when the
    /// caller is gone.
    pub(crate) async fn send(mut self, result: Result<Response, Status>, budget: &Budget) {
        let framed = result.and_then(|response| {
            let pieces = response_pieces(&response, PREFIX_LEN)?;
            drop(response);
            let charge = budget.charge(pieces.len())?;
            Ok((self.compressed(pieces)?, charge))
        });
        match framed {
            Ok(((pieces, encoding), charge)) => {
                self.message(pieces, encoding).await;
                drop(charge);
            }
            Err(status) => self.status(&status),
        }
    }

    fn compressed(&self, pieces: Pieces) -> Result<(Pieces, Option<Encoding>), Status> {
        let encoding = self.encoding.filter(|_| pieces.len() >= COMPRESSED_LEN_MIN);
        let pieces = match encoding {
            Some(encoding) => encoding.deflate(&pieces, PREFIX_LEN)?,
            None => pieces,
        };
        let too_long = || Status::resource_exhausted("an answer of 4 GiB or more, which gRPC cannot carry");
        Ok((framed(pieces, encoding.is_some()).ok_or_else(too_long)?, encoding))
    }

    async fn message(mut self, pieces: Pieces, encoding: Option<Encoding>) {
        let mut head = head();
        if let Some(encoding) = encoding {
            head.headers_mut().insert(GRPC_ENCODING, encoding.header());
        }
        let Ok(mut stream) = self.stream.send_response(head, false) else { return };
        if send(&mut stream, pieces, self.stall_ms_max).await.is_ok() {
            let mut trailers = HeaderMap::with_capacity(1);
            trailers.insert(GRPC_STATUS, HeaderValue::from_static("0"));
            // An error says that the caller is gone.
            let _ = stream.send_trailers(trailers);
        }
    }

    /// Sends a message of another service than the master's.
    pub(crate) async fn bytes(self, message: &[u8]) {
        let mut first = vec![0; PREFIX_LEN];
        first.extend_from_slice(message);
        if let Some(pieces) = framed(Pieces { first, rest: Vec::new() }, false) {
            self.message(pieces, None).await;
        }
    }

    /// Sends a status alone.
    pub(crate) fn status(&mut self, status: &Status) {
        self.refuse(StatusCode::OK, status);
    }

    /// Sends a status alone under a code of HTTP, for what is not gRPC at all.
    pub(crate) fn refuse(&mut self, code: StatusCode, status: &Status) {
        let mut head = head();
        *head.status_mut() = code;
        put_status(head.headers_mut(), status);
        if status.code() == Code::Unimplemented {
            head.headers_mut().insert(GRPC_ACCEPT_ENCODING, ACCEPTED);
        }
        // An error says that the caller is gone.
        let _ = self.stream.send_response(head, true);
    }
}

/// The headers of every answer.
pub(crate) fn head() -> Head<()> {
    let mut head = Head::new(());
    head.headers_mut().insert(CONTENT_TYPE_NAME, CONTENT_TYPE);
    head
}
