//! An object to be drawn.

use crate::base::color::Rgb;
use crate::base::math::{Quat, Vec3};
use crate::physics::Shape;

/// A shape at a pose, in a colour.
#[derive(Clone)]
pub struct Drawable {
    /// Shape, about its centre of mass.
    pub shape: Shape,
    /// Position in world coordinates, metres; that of a body before its first frame.
    pub x: Vec3,
    /// Orientation in world coordinates.
    pub q: Quat,
    /// Colour of the surface.
    pub color: Rgb,
}
