//! Messages to bytes and back, with the scan before every decoding.

use bytes::Bytes;

use super::scan::{Limits, ScanError, ScanErrorKind, Scanned, scan};
use crate::Status;
use crate::tensor::{Budget, Charge};

/// A message of this module, by any of its types.
pub trait Message: Scanned + prost::Message + Default {}

impl<M: Scanned + prost::Message + Default> Message for M {}

/// What a receiver allows a message to take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowance<'a> {
    /// Limits of the message without tensors' own bytes.
    pub limits: Limits,
    /// Charged for the message while it is decoded, and for what is copied for as long as that lives.
    pub budget: Option<&'a Budget>,
}

/// Decodes a message of outside origin; its byte fields share `bytes`.
///
/// # Errors
/// INVALID_ARGUMENT for bytes that are no `M`, RESOURCE_EXHAUSTED where decoding would exceed the limits.
pub fn decode<M: Message>(bytes: Bytes, limits: &Limits) -> Result<M, Status> {
    scan::<M>(&bytes, limits)?;
    decode_scanned(bytes)
}

/// As [`decode`], with the memory of the decoded message charged to `budget` first, for as long as the charge is kept.
///
/// # Errors
/// As [`decode`], and RESOURCE_EXHAUSTED where the budget is used up.
pub fn decode_charged<M: Message>(bytes: Bytes, limits: &Limits, budget: &Budget) -> Result<(M, Charge), Status> {
    let needed = scan::<M>(&bytes, limits)?.decoded_bytes_max;
    let charge = budget.charge(usize::try_from(needed).unwrap_or(usize::MAX))?;
    Ok((decode_scanned(bytes)?, charge))
}

fn decode_scanned<M: Message>(bytes: Bytes) -> Result<M, Status> {
    M::decode(bytes).map_err(|error| Status::invalid_argument(format_args!("malformed message: {error}")))
}

/// The encoded message.
pub fn encode<M: Message>(message: &M) -> Bytes {
    message.encode_to_vec().into()
}

/// How many bytes the encoded message has.
pub fn encoded_len<M: Message>(message: &M) -> usize {
    message.encoded_len()
}

impl From<ScanError> for Status {
    /// RESOURCE_EXHAUSTED for what is too large, INVALID_ARGUMENT for all else.
    fn from(error: ScanError) -> Status {
        match error.kind {
            ScanErrorKind::TooLarge => Status::resource_exhausted(error),
            _ => Status::invalid_argument(format_args!("malformed message: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::generated::{NamedTensorProto, NodeDef, TensorProto};
    use super::*;
    use crate::Code;

    /// A message comes back as it was, and its bytes lie where they were received.
    #[test]
    fn round_trip_shares_bytes() {
        let tensor = TensorProto { tensor_content: Bytes::from(vec![5; 4096]), ..Default::default() };
        let message = NamedTensorProto { name: "x:0".into(), tensor: Some(tensor) };
        let bytes = encode(&message);
        assert_eq!(bytes.len(), encoded_len(&message));
        let decoded: NamedTensorProto = decode(bytes.clone(), &Limits::default()).unwrap();
        assert_eq!(decoded, message);
        let content = decoded.tensor.unwrap().tensor_content;
        assert!(bytes.as_ptr_range().contains(&content.as_ptr()));
    }

    /// What is malformed, too large for the limits and too large for the budget.
    #[test]
    fn refusals() {
        let node = NodeDef { input: vec!["input".into(); 100], ..Default::default() };
        let bytes = encode(&node);
        let code = |limits| decode::<NodeDef>(bytes.clone(), &limits).map_err(|error| error.code());
        assert_eq!(code(Limits::default()), Ok(node));
        assert_eq!(code(Limits { decoded_bytes_max: 1000, ..Limits::default() }), Err(Code::ResourceExhausted));
        let cut = decode::<NodeDef>(bytes.slice(..9), &Limits::default()).unwrap_err();
        assert_eq!(cut.code(), Code::InvalidArgument);
        let no_text = Bytes::from_static(&[0x0a, 1, 0xff]);
        assert_eq!(decode::<NodeDef>(no_text, &Limits::default()).unwrap_err().code(), Code::InvalidArgument);

        let budget = Budget::new("test", 20_000);
        let (_, charge) = decode_charged::<NodeDef>(bytes.clone(), &Limits::default(), &budget).unwrap();
        assert!(budget.used() > 100 * 24);
        let again = decode_charged::<NodeDef>(bytes.clone(), &Limits::default(), &budget);
        assert_eq!(again.unwrap_err().code(), Code::ResourceExhausted);
        drop(charge);
        assert!(decode_charged::<NodeDef>(bytes, &Limits::default(), &budget).is_ok());
    }
}
