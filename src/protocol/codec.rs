//! The wire format of messages between processes: serde through postcard, with bodies named by their ids.
//!
//! In memory a body is an index into the world's list, which is a matter of one process. On the wire it is its id, which
//! means the same everywhere: both directions translate.

use thiserror::Error;

use super::dynamics::{BodyIndex, Dynamics, PartnerKey};
use super::message::Message;
use crate::base::ids::BodyId;

/// Bytes that are not a message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// They do not have the form of one.
    #[error("these bytes are not a protocol message: {0}")]
    Malformed(String),
    /// They name a body that this process does not know.
    #[error("the message names {0}, which does not exist here")]
    UnknownBody(BodyId),
}

/// A message as bytes.
pub fn encode<D: Dynamics>(dynamics: &D, message: &Message<D>) -> Vec<u8> {
    let mut message = message.clone();
    rename_bodies(&mut message, &mut |index| dynamics.body_id(index).0);
    postcard::to_stdvec(&message).expect("invariant: messages hold numbers and lists only")
}

/// The message that bytes stand for. All bytes must be used.
pub fn decode<D: Dynamics>(dynamics: &D, bytes: &[u8]) -> Result<Message<D>, CodecError> {
    let malformed = |problem: String| CodecError::Malformed(problem);
    let (mut message, rest): (Message<D>, _) =
        postcard::take_from_bytes(bytes).map_err(|error| malformed(error.to_string()))?;
    if !rest.is_empty() {
        return Err(malformed(format!("{} bytes too many", rest.len())));
    }
    let mut unknown = None;
    rename_bodies(&mut message, &mut |id| {
        let index = dynamics.body_index(BodyId(id));
        index.unwrap_or_else(|| {
            unknown.get_or_insert(BodyId(id));
            0
        })
    });
    unknown.map_or(Ok(message), |id| Err(CodecError::UnknownBody(id)))
}

/// Gives every body that a message names another number. Indices ascend with ids, so lists keep their order.
fn rename_bodies<D: Dynamics>(message: &mut Message<D>, rename: &mut dyn FnMut(BodyIndex) -> BodyIndex) {
    match message {
        Message::Event { mine, yours, .. } => {
            *mine = rename(*mine);
            *yours = rename(*yours);
        }
        Message::GhostUpdate { mine, .. } => *mine = rename(*mine),
        Message::Migrate { migration, .. } => {
            migration.cluster.iter_mut().for_each(|(body, _)| *body = rename(*body));
            for cached in &mut migration.caches {
                cached.own = rename(cached.own);
                if let PartnerKey::Body(body) = &mut cached.partner {
                    *body = rename(*body);
                }
                D::rename_in_cache(&mut cached.cache, rename);
            }
        }
        Message::Antievent { .. } | Message::Ack { .. } => {}
    }
}
