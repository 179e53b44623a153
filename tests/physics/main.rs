//! The laws of physics: flight, touches, collisions, friction, rest, joints; and what they cost.

#[path = "../support/laws.rs"]
mod laws;
#[path = "../support/scenes.rs"]
mod scenes;

mod allocations;
mod collisions;
mod cradle_and_break;
mod elastic;
mod first_touch;
mod free_flight;
mod group_solver;
mod kernels;
mod landing;
mod rest;
mod rings;
