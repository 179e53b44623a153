//! Checks joints and parts: that names and ids refer to bodies, and that joints can hold them.

use std::collections::BTreeMap;

use crate::scene::suggest::suggest;
use crate::scene::validate::{At, check_count, check_range, check_unit, check_vector};
use crate::scene::{BodyRef, JointKind, Scene, SceneError};

const POINT_MAX_M: f64 = 1e9;

/// The object that a name or an id refers to: its index in the list of bodies or in that of static objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    Body(usize),
    Static(usize),
}

/// Looks up names and ids.
pub(crate) struct NameTable<'a> {
    names: BTreeMap<&'a str, Resolved>,
    ids: BTreeMap<u32, usize>,
}

impl<'a> NameTable<'a> {
    pub(crate) fn new(scene: &'a Scene) -> Self {
        let bodies = scene.bodies.iter().enumerate();
        let bodies = bodies.filter_map(|(at, body)| Some((body.name.as_deref()?, Resolved::Body(at))));
        let statics = scene.statics.iter().enumerate();
        let statics =
            statics.filter_map(|(at, object)| Some((object.name.as_deref()?, Resolved::Static(at))));
        let ids = (0..scene.bodies.len()).map(|at| (scene.body_id(at).0, at)).collect();
        NameTable { names: statics.chain(bodies).collect(), ids }
    }

    pub(crate) fn find(&self, wanted: &BodyRef, field: impl Fn() -> String) -> Result<Resolved, SceneError> {
        match wanted {
            BodyRef::Id(id) => self.ids.get(id).map(|at| Resolved::Body(*at)).ok_or_else(|| {
                let largest = self.ids.keys().next_back().copied().unwrap_or(0);
                let fix = format!("use the id of a body (the largest is {largest}), or a name in quotes");
                SceneError::new(field(), format!("there is no body with the id {id}"), fix)
            }),
            BodyRef::Name(name) => self.names.get(name.as_str()).copied().ok_or_else(|| {
                let fix = match self.names.is_empty() {
                    true => "give the body that `name`, or write its id".to_owned(),
                    false => suggest(name, self.names.keys().copied()),
                };
                SceneError::new(field(), format!("there is no body or static object named {wanted}"), fix)
            }),
        }
    }
}

impl Scene {
    pub(super) fn check_joints(&self) -> Result<(), SceneError> {
        if self.joints.is_empty() {
            return Ok(());
        }
        check_count("joint", self.joints.len())?;
        let directory = NameTable::new(self);
        for (index, joint) in self.joints.iter().enumerate() {
            let at = At::element("joint", index);
            let side = |name: &str| format!("joint[{index}].{name}");
            let a = directory.find(&joint.a, || side("a"))?;
            let b = joint.b.as_ref().map(|b| directory.find(b, || side("b"))).transpose()?;
            if b == Some(a) {
                let problem = format!("joins {} with itself", joint.a);
                return Err(SceneError::new(side("b"), problem, "name two different bodies"));
            }
            if !matches!(a, Resolved::Body(_)) && !matches!(b, Some(Resolved::Body(_))) {
                let problem = "joins static geometry with static geometry, which never moves anyway";
                return Err(SceneError::new(format!("joint[{index}]"), problem, "name a body as `a` or `b`"));
            }
            check_vector(at.field("point"), &joint.point, POINT_MAX_M, "m")?;
            match (joint.kind, &joint.axis) {
                (JointKind::Hinge, Some(axis)) => check_unit(at.field("axis"), axis, "[0.0, 0.0, 1.0]")?,
                (JointKind::Hinge, None) => {
                    let fix = "write the direction it turns about, such as `axis = [0, 0, 1]`";
                    return Err(SceneError::new(side("axis"), "a hinge needs an axis", fix));
                }
                (kind, Some(_)) => {
                    let problem = format!("a {} joint has no axis", kind.name());
                    let fix = "leave it out, or write `kind = \"hinge\"`";
                    return Err(SceneError::new(side("axis"), problem, fix));
                }
                (_, None) => {}
            }
        }
        Ok(())
    }

    pub(super) fn check_group(&self) -> Result<(), SceneError> {
        let at = At::table("group");
        check_range(at.field("iterations"), f64::from(self.group.iterations), 1.0..=10_000.0)?;
        check_range(at.field("correction"), self.group.correction, 0.0..=1.0)?;
        check_range(at.field("closing"), self.group.closing, 0.0..=1.0)?;
        check_range(at.field("gamma"), f64::from(self.group.gamma), 0.0..=1e6)
    }

    pub(super) fn check_parts(&self) -> Result<(), SceneError> {
        if self.parts.is_empty() {
            return Ok(());
        }
        let directory = NameTable::new(self);
        let mut part_of: Vec<Option<usize>> = vec![None; self.bodies.len()];
        for (index, part) in self.parts.iter().enumerate() {
            for (entry, body) in part.bodies.iter().enumerate() {
                let field = || format!("part[{index}].bodies[{entry}]");
                let Resolved::Body(at) = directory.find(body, field)? else {
                    let fix = "list bodies only: every worker knows all static geometry";
                    return Err(SceneError::new(field(), format!("{body} is static geometry"), fix));
                };
                if let Some(other) = part_of[at].replace(index) {
                    let problem = format!("{body} is already in part[{other}]");
                    return Err(SceneError::new(field(), problem, "list every body once"));
                }
            }
        }
        match part_of.iter().position(Option::is_none) {
            None => Ok(()),
            Some(at) => {
                let problem = format!("body[{at}] is in no part");
                Err(SceneError::new("part", problem, "list every body in one part, or leave all parts out"))
            }
        }
    }
}
