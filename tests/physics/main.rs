//! The laws of physics: flight, contacts, collisions, friction, rest, joints; what they cost, and what messages carry of
//! them.

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
mod island_solver;
mod kernels;
mod landing;
mod rest;
mod rings;
mod wire;
