//! Rigid bodies as the protocol's dynamics: the only module that knows both protocol and physics.

mod crowd_log;
mod entity_contacts;
mod island_response;
mod model;
mod track_end;

use crate::physics::local_solver::LocalSolver;

pub use model::RigidModel;
pub(crate) use model::clear_pool_workspaces;
pub use track_end::TrackEnd;

/// The contact model of all exact executors. Another model is chosen here.
pub(crate) type Local = LocalSolver;
