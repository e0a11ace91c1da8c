//! Compression of messages: gzip and deflate, both ways, and a bound against what swells.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzDecoder, GzEncoder, ZlibDecoder, ZlibEncoder};
use http::{HeaderMap, HeaderValue};
use runstep::Status;
use runstep::service::whole::Gather;
use runstep::wire::Pieces;

use crate::header::{GRPC_ACCEPT_ENCODING, GRPC_ENCODING};

/// The encodings that can be read.
pub(crate) const ACCEPTED: HeaderValue = HeaderValue::from_static("identity, deflate, gzip");

/// Bytes that a compressed message may swell to, whatever its length.
const INFLATED_LEN_MAX: u64 = 256 << 20;
/// How often its length, where that is more.
const INFLATED_RATIO_MAX: u64 = 16;

/// How messages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Gzip,
    Deflate,
}

impl Encoding {
    /// What a call says of its messages.
    ///
    /// # Errors
    /// UNIMPLEMENTED for an encoding that is not known.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Encoding>, Status> {
        let Some(name) = headers.get(GRPC_ENCODING) else { return Ok(None) };
        match name.as_bytes() {
            b"identity" => Ok(None),
            b"gzip" => Ok(Some(Encoding::Gzip)),
            b"deflate" => Ok(Some(Encoding::Deflate)),
            _ => Err(Status::unimplemented(format_args!("the message encoding {name:?}; there are {ACCEPTED:?}"))),
        }
    }

    /// Whether the other side reads this.
    pub(crate) fn is_accepted(self, headers: &HeaderMap) -> bool {
        let named =
            |list: &HeaderValue| list.to_str().is_ok_and(|list| list.split(',').any(|name| name.trim() == self.name()));
        headers.get_all(GRPC_ACCEPT_ENCODING).iter().any(named)
    }

    fn name(self) -> &'static str {
        match self {
            Encoding::Gzip => "gzip",
            Encoding::Deflate => "deflate",
        }
    }

    pub(crate) fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.name())
    }

    /// The message compressed, as one piece with `room` zeros before it.
    ///
    /// # Errors
    /// INTERNAL, which writing to memory does not give.
    pub(crate) fn deflate(self, pieces: &Pieces, room: usize) -> Result<Pieces, Status> {
        fn all(mut to: impl Write, pieces: &Pieces, room: usize) -> io::Result<()> {
            to.write_all(pieces.first.get(room..).unwrap_or_default())?;
            pieces.rest.iter().try_for_each(|piece| to.write_all(piece))
        }
        let mut first = vec![0; room];
        let done = match self {
            Encoding::Gzip => {
                let mut to = GzEncoder::new(&mut first, Compression::fast());
                all(&mut to, pieces, room).and_then(|()| to.finish().map(|_| ()))
            }
            Encoding::Deflate => {
                let mut to = ZlibEncoder::new(&mut first, Compression::fast());
                all(&mut to, pieces, room).and_then(|()| to.finish().map(|_| ()))
            }
        };
        done.map_err(|error| Status::internal(format_args!("a message could not be compressed: {error}")))?;
        Ok(Pieces { first, rest: Vec::<Bytes>::new() })
    }
}

/// The most that a compressed message of so many bytes may become.
pub(crate) fn inflated_len_max(len: u64) -> u64 {
    INFLATED_LEN_MAX.max(len.saturating_mul(INFLATED_RATIO_MAX))
}

/// A compressed message that is arriving.
#[derive(Debug)]
pub(crate) enum Inflate {
    Gzip(Box<GzDecoder<Sink>>),
    Deflate(Box<ZlibDecoder<Sink>>),
}

/// Where the inflated bytes go, and why they did not.
#[derive(Debug)]
pub(crate) struct Sink {
    gather: Gather,
    refused: Option<Status>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.gather.feed(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(status) => {
                self.refused = Some(status);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Inflate {
    pub(crate) fn new(encoding: Encoding, gather: Gather) -> Inflate {
        let sink = Sink { gather, refused: None };
        match encoding {
            Encoding::Gzip => Inflate::Gzip(Box::new(GzDecoder::new(sink))),
            Encoding::Deflate => Inflate::Deflate(Box::new(ZlibDecoder::new(sink))),
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for what was not compressed so; as [`Gather::feed`].
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), Status> {
        let result = match self {
            Inflate::Gzip(decoder) => decoder.write_all(bytes),
            Inflate::Deflate(decoder) => decoder.write_all(bytes),
        };
        result.map_err(|error| self.why(&error))
    }

    fn why(&mut self, error: &io::Error) -> Status {
        let sink = match self {
            Inflate::Gzip(decoder) => decoder.get_mut(),
            Inflate::Deflate(decoder) => decoder.get_mut(),
        };
        sink.refused.take().unwrap_or_else(|| malformed(error))
    }

    /// The message.
    ///
    /// # Errors
    /// As [`Inflate::feed`].
    pub(crate) fn finish(mut self) -> Result<Gather, Status> {
        let tried = match &mut self {
            Inflate::Gzip(decoder) => decoder.try_finish(),
            Inflate::Deflate(decoder) => decoder.try_finish(),
        };
        if let Err(error) = tried {
            return Err(self.why(&error));
        }
        let sink = match self {
            Inflate::Gzip(decoder) => decoder.finish(),
            Inflate::Deflate(decoder) => decoder.finish(),
        };
        sink.map(|sink| sink.gather).map_err(|error| malformed(&error))
    }
}

fn malformed(error: &io::Error) -> Status {
    Status::invalid_argument(format_args!("a compressed message cannot be read: {error}"))
}
