//! Joints as the physics sees them: where they hold, in the coordinates of the bodies they hold.

use crate::base::math::{Quat, Vec3, any_perpendicular};
use crate::base::state::BodyState;
use crate::physics::bodies::Bodies;
use crate::physics::world::StaticDef;
use crate::scene::{JointKind, NameTable, Resolved, Scene, SceneError};

/// One side of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointSide {
    /// The place of the body in the world's list; nothing for what never moves.
    pub body: Option<u32>,
    /// Where it is held, in its own coordinates.
    pub anchor: Vec3,
    /// The hinge's axis in its own coordinates.
    pub axis: Vec3,
    /// Turns the joint's frame into its own coordinates. The frames of both sides coincide at the start.
    pub frame: Quat,
    /// Pose of a side that never moves.
    pub fixed: BodyState,
}

/// A joint as the physics sees it. The first side always moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointDef {
    /// What it leaves free.
    pub kind: JointKind,
    /// The moving side, or that of the smaller place if both move.
    pub a: JointSide,
    /// The other.
    pub b: JointSide,
    /// Whether the two still collide.
    pub collide: bool,
}

impl JointDef {
    /// The places of both bodies, if both move; the smaller first.
    pub fn pair(&self) -> Option<(u32, u32)> {
        self.a.body.zip(self.b.body)
    }

    /// How far the two are from where they should be held together: metres apart, and radians (or the sine of it)
    /// out of line for hinges and fixed joints.
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
        let side = |meant: Option<Resolved>| {
            let (body, pose) = match meant {
                Some(Resolved::Body(at)) => {
                    let place = bodies.place(scene.body_id(at));
                    (place.map(|place| place as u32), place.map(|place| bodies[place].start))
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
