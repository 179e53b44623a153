//! Rigid bodies as the protocol's dynamics: the one place where protocol and physics meet.

mod cluster_contacts;
mod island_response;
mod model;
mod track_end;

pub use model::RigidModel;
pub(crate) use model::clear_pool_workspaces;
pub use track_end::TrackEnd;
