//! Joints: anchors, axes and frames in the coordinates of the bodies that they connect.

use crate::base::math::{Quat, Vec3, any_perpendicular};
use crate::base::state::BodyState;
use crate::physics::bodies::Bodies;
use crate::physics::world::StaticDef;
use crate::scene::{JointKind, NameTable, Resolved, Scene, SceneError};

/// One side of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointSide {
    /// Index of the body in the world's list; `None` for a static object or the world itself.
    pub body: Option<u32>,
    /// Where the joint holds, in local coordinates, metres.
    pub anchor: Vec3,
    /// Unit vector along the axis of a hinge, in local coordinates.
    pub axis: Vec3,
    /// Turns the joint's frame into local coordinates. The frames of both sides coincide at the start.
    pub frame: Quat,
    /// Pose of a side without a body. For a body, its state at tick 0.
    pub fixed: BodyState,
}

/// A joint between two bodies, or between a body and something static. The first side is always a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointDef {
    /// Which motions the joint leaves free.
    pub kind: JointKind,
    /// The side with a body; the one of the smaller index if both have one.
    pub a: JointSide,
    /// The other side.
    pub b: JointSide,
    /// Whether the two sides still collide with each other.
    pub collide: bool,
}

impl JointDef {
    /// The indices of both bodies, if both sides have one; the smaller first.
    pub fn pair(&self) -> Option<(u32, u32)> {
        self.a.body.zip(self.b.body)
    }

    /// How far the joint is violated: the distance of the anchors in metres, and the angle between the frames in radians
    /// (fixed joints) or the sine of that between the axes (hinges).
    pub fn violation(&self, a: &BodyState, b: &BodyState) -> (f64, f64) {
        let gap = (a.x + a.q * self.a.anchor - b.x - b.q * self.b.anchor).norm();
        let turned = match self.kind {
            JointKind::Ball => 0.0,
            JointKind::Hinge => (a.q * self.a.axis).cross(&(b.q * self.b.axis)).norm(),
            JointKind::Fixed => self.misalignment(&a.q, &b.q).norm(),
        };
        (gap, turned)
    }

    /// The rotation vector (small angles) that would bring side `a` in line with side `b`, negated: in world
    /// coordinates.
    pub(crate) fn misalignment(&self, qa: &Quat, qb: &Quat) -> Vec3 {
        let off = (qa * self.a.frame) * (qb * self.b.frame).inverse();
        let sign = if off.w < 0.0 { -2.0 } else { 2.0 };
        Vec3::new(off.i, off.j, off.k) * sign
    }
}

/// Compiles the joints of a validated scene.
pub(super) fn joint_defs(
    scene: &Scene,
    bodies: &Bodies,
    statics: &[StaticDef],
) -> Result<Vec<JointDef>, SceneError> {
    if scene.joints.is_empty() {
        return Ok(Vec::new());
    }
    let directory = NameTable::new(scene);
    let mut joints = Vec::with_capacity(scene.joints.len());
    for (index, joint) in scene.joints.iter().enumerate() {
        let side = |target: Option<Resolved>| {
            let (body, pose) = match target {
                Some(Resolved::Body(at)) => {
                    let index = bodies.index_of(scene.body_id(at));
                    (index.map(|index| index as u32), index.map(|index| bodies[index].start))
                }
                Some(Resolved::Static(at)) => {
                    let object = statics.iter().find(|object| object.id == scene.static_id(at));
                    let pose = object.map(|object| BodyState { q: object.q, ..BodyState::at_rest(object.x) });
                    (None, pose)
                }
                None => (None, None),
            };
            let pose = pose.unwrap_or(BodyState::at_rest(Vec3::zeros()));
            let axis = joint.axis.map_or(Vec3::z(), Vec3::from).normalize();
            JointSide {
                body,
                anchor: pose.q.inverse_transform_vector(&(Vec3::from(joint.point) - pose.x)),
                axis: pose.q.inverse_transform_vector(&axis),
                frame: pose.q.inverse(),
                fixed: pose,
            }
        };
        let find = |wanted, name| directory.find(wanted, || format!("joint[{index}].{name}"));
        let a = side(Some(find(&joint.a, "a")?));
        let b = side(joint.b.as_ref().map(|b| find(b, "b")).transpose()?);
        let swap = match (a.body, b.body) {
            (Some(a), Some(b)) => b < a,
            (first, _) => first.is_none(),
        };
        let (a, b) = if swap { (b, a) } else { (a, b) };
        joints.push(JointDef { kind: joint.kind, a, b, collide: joint.collide });
    }
    Ok(joints)
}

/// Two directions at right angles to the unit vector `axis`.
#[inline]
pub(crate) fn across(axis: Vec3) -> (Vec3, Vec3) {
    let first = any_perpendicular(axis);
    (first, axis.cross(&first))
}
