//! Collision detection: which pairs are near (broad phase), where they touch (narrow phase and its
//! kernels), and when two flights touch for the first time (time of impact).

pub(crate) mod broad_phase;
pub(crate) mod crowd;
pub mod kernels;
mod narrow_phase;
pub(crate) mod static_bvh;
mod time_of_impact;

pub(crate) use narrow_phase::{is_within_margin, parting_speed};
pub use narrow_phase::{touching, touching_static};
pub use time_of_impact::{first_static_touch, first_touch};
