//! The wire format of messages between processes: serde through postcard, one message after another.

use thiserror::Error;

use super::dynamics::Dynamics;
use super::message::Message;

/// Bytes that are not a message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("these bytes are not a protocol message: {0}")]
pub struct CodecError(String);

/// A message as bytes.
pub fn encode<D: Dynamics>(message: &Message<D>) -> Vec<u8> {
    postcard::to_stdvec(message).expect("invariant: messages hold numbers and lists only")
}

/// The message that bytes stand for. All bytes must be used.
pub fn decode<D: Dynamics>(bytes: &[u8]) -> Result<Message<D>, CodecError> {
    let (message, rest) = postcard::take_from_bytes(bytes).map_err(|error| CodecError(error.to_string()))?;
    match rest.len() {
        0 => Ok(message),
        more => Err(CodecError(format!("{more} bytes too many"))),
    }
}
