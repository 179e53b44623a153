//! Opens closed boxes to the camera: walls between the camera and the bodies are cut away.
//!
//! A wall's inner face is the face that has the bodies before it. If the camera is behind it and the wall
//! hides bodies, or is one of several around them, the plane of that face cuts all scenery: what is on the
//! camera's side of it is not drawn. Of the walls that remain only the inner face is drawn, with a thin rim
//! where they were cut.

use crate::base::math::Vec3;
use crate::render::framing::Focus;
use crate::render::solid::{Ray, Solid, Span};
use crate::render::solids::{Hit, Solids};

/// Share of the bodies that have to be before a face to make it the inner face of a wall. Not tuned.
const INSIDE: f64 = 0.95;
/// Share of the bodies that have to be hidden to open a wall. Not tuned.
const HIDDEN: f64 = 0.02;
/// A wall covers the bodies if its face has this share of their width, and is no mere kerb: at least this
/// many body radii high and wide. Not tuned.
const COVERS: f64 = 0.6;
const KERB: f64 = 6.0;
/// Least number of walls around the bodies that make a closed room, floor included.
const ROOM: usize = 4;
/// Walls that are seen under a smaller angle than this are treated as seen from behind.
const FLAT: f64 = 0.15;
/// Most bodies that are tested.
const ASKED: usize = 256;
/// Width of the rim, relative to the radius of the focus.
const RIM: f64 = 0.012;

/// The inner face of a wall.
struct Face {
    wall: u32,
    point: Vec3,
    /// Towards the bodies, unit.
    normal: Vec3,
}

impl Face {
    #[inline]
    fn height(&self, p: &Vec3) -> f64 {
        self.normal.dot(&(p - self.point))
    }
}

/// How one static object appears in a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Role {
    /// Seen by the camera.
    pub drawn: bool,
    /// Cut by the section planes.
    pub cut: bool,
    /// Casts shadows.
    pub shadows: bool,
    /// Darkens corners.
    pub occludes: bool,
    /// A mesh that is open from behind.
    pub front_only: bool,
}

const PLAIN: Role = Role { drawn: true, cut: false, shadows: true, occludes: true, front_only: false };

/// The part of the static geometry that one view shows.
pub(super) struct Cutaway {
    pub roles: Vec<Role>,
    /// Section planes: the faces of the walls that are cut away.
    open: Vec<Face>,
    /// Inner faces of the walls that remain.
    walls: Vec<Face>,
    rim: f64,
}

impl Cutaway {
    pub fn new(eye: Vec3, statics: &Solids, focus: &Focus) -> Self {
        let mut roles = vec![PLAIN; statics.things.len()];
        let bodies = sample(&focus.bodies);
        let subjects = with_landings(statics, &bodies, focus.body_radius);
        let (mut behind, mut walls) = (Vec::new(), Vec::new());
        for (index, role) in roles.iter_mut().enumerate() {
            let index = index as u32;
            if matches!(*statics.things[index as usize].solid, Solid::Mesh(_)) {
                role.front_only = hidden_from_behind(statics, index, eye, &subjects) >= HIDDEN;
            }
            let Some((covers, face)) = inner_face(statics, index, &bodies, &eye, focus) else { continue };
            if is_behind(&face, &eye) {
                behind.push((hidden(statics, index, eye, &subjects) >= HIDDEN, covers, face));
            } else if covers {
                walls.push(face);
            }
        }
        let is_room = walls.len() + behind.iter().filter(|(_, covers, _)| *covers).count() >= ROOM;
        let any_hides = behind.iter().any(|(hides, ..)| *hides);
        let open =
            behind.into_iter().filter(|(hides, covers, _)| *hides || *covers && (is_room || any_hides));
        let open: Vec<Face> = open.map(|(_, _, face)| face).collect();
        if open.is_empty() && !is_room {
            return Cutaway { roles, open, walls: Vec::new(), rim: 0.0 };
        }
        for face in open.iter().chain(&walls) {
            // Light falls into an opened room as if it had no walls at all.
            roles[face.wall as usize].shadows = false;
        }
        for face in &open {
            roles[face.wall as usize].occludes = false;
            roles[face.wall as usize].drawn = false;
        }
        for (index, role) in roles.iter_mut().enumerate() {
            role.cut = !is_ground(statics, index as u32, focus);
        }
        walls.retain(|face: &Face| roles[face.wall as usize].cut);
        Cutaway { roles, open, walls, rim: RIM * focus.radius }
    }

    /// Whether anything is cut away.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.rim > 0.0
    }

    /// A point of a static object, or the nearest point on the section where the object is cut off; none if it is cut away.
    pub fn kept(&self, index: usize, mut p: Vec3) -> Option<Vec3> {
        let role = &self.roles[index];
        if !role.cut || !role.drawn {
            return role.drawn.then_some(p);
        }
        let planes =
            || self.open.iter().map(|face| (face, 0.0)).chain(self.walls.iter().map(|face| (face, self.rim)));
        for (face, margin) in planes() {
            p -= face.normal * (face.height(&p) + margin).min(0.0);
        }
        // Planes that are not at right angles may have moved the point out of each other.
        planes().all(|(face, margin)| face.height(&p) + margin >= -0.5 * self.rim).then_some(p)
    }

    /// The stretch of a camera ray on which cut scenery is drawn, and the section plane where it begins.
    #[inline]
    pub fn window(&self, ray: &Ray) -> (Span, Option<usize>) {
        let (mut span, mut plane) = (Span::ALL, None);
        for (index, face) in self.open.iter().enumerate() {
            let approach = face.normal.dot(&ray.dir);
            let t = -face.height(&ray.origin) / approach;
            if approach > 0.0 && t > span.from {
                span.from = t;
                plane = Some(index);
            } else if approach < 0.0 && t < span.to {
                span.to = t;
            } else if approach == 0.0 && face.height(&ray.origin) < 0.0 {
                span.to = f64::NEG_INFINITY;
            }
        }
        for face in &self.walls {
            // The camera is before these walls: what is behind them is outside of the room.
            let approach = face.normal.dot(&ray.dir);
            if approach < 0.0 {
                span.to = span.to.min(-(face.height(&ray.origin) + self.rim) / approach);
            }
        }
        (span, plane)
    }

    /// The cut through the walls that remain, if the ray enters the window there.
    pub fn rim(&self, statics: &Solids, ray: &Ray, (span, plane): (Span, Option<usize>)) -> Option<Hit> {
        let plane = &self.open[plane?];
        if span.from >= span.to {
            return None;
        }
        let p = ray.at(span.from);
        if self.walls.iter().any(|face| face.height(&p) < -self.rim) {
            return None;
        }
        let cut = self.walls.iter().find(|face| {
            let wall = &statics.things[face.wall as usize];
            // Just behind the section, so that rounding does not decide.
            let inside = wall.local(p + plane.normal * (1e-3 * self.rim));
            face.height(&p) <= 0.0 && wall.solid.contains(&inside)
        })?;
        Some(Hit { t: span.from, normal: -plane.normal, index: cut.wall })
    }
}

fn sample(bodies: &[Vec3]) -> Vec<Vec3> {
    bodies.iter().step_by(bodies.len().div_ceil(ASKED).max(1)).copied().collect()
}

/// The bodies, and where they would be if they had fallen down.
fn with_landings(statics: &Solids, bodies: &[Vec3], body_radius: f64) -> Vec<Vec3> {
    let landing = |p: &Vec3| {
        let down = Ray::new(*p, -Vec3::y());
        let met = statics.nearest(&down, Span::ALL, |_| false, |_| true)?;
        Some(down.at((met.t - body_radius).max(0.0)))
    };
    bodies.iter().copied().chain(bodies.iter().filter_map(landing)).collect()
}

/// Whether the camera is behind a face, or sees a wall so flatly that it is better opened.
fn is_behind(face: &Face, eye: &Vec3) -> bool {
    let height = face.height(eye);
    height <= 0.0 || face.normal.y < 0.8 && height < FLAT * (eye - face.point).norm()
}

/// The face of a wall that has nearly all bodies before it, and whether it covers them. If there are several,
/// one that covers them, and one that the camera is behind.
fn inner_face(
    statics: &Solids,
    wall: u32,
    bodies: &[Vec3],
    eye: &Vec3,
    focus: &Focus,
) -> Option<(bool, Face)> {
    let thing = &statics.things[wall as usize];
    let faces = thing.solid.wall_faces().into_iter().map(|(point, normal)| Face {
        wall,
        point: thing.x + thing.axes * point,
        normal: thing.axes * normal,
    });
    let enough = (INSIDE * bodies.len() as f64).ceil() as usize;
    let inner = faces.filter(|face| {
        !bodies.is_empty() && bodies.iter().filter(|p| face.height(p) > 0.0).count() >= enough
    });
    let inner = inner.map(|face| (covers_bodies(statics, &face, focus), face));
    inner.min_by(|(a_covers, a), (b_covers, b)| {
        b_covers.cmp(a_covers).then(a.height(eye).total_cmp(&b.height(eye)))
    })
}

/// Share of the bodies that the solid stands before.
fn hidden(statics: &Solids, index: u32, eye: Vec3, bodies: &[Vec3]) -> f64 {
    let thing = &statics.things[index as usize];
    if thing.solid.contains(&thing.local(eye)) {
        return 1.0;
    }
    let hides = |p: &&Vec3| sight(statics, index, eye, **p, false).is_some();
    bodies.iter().filter(hides).count() as f64 / bodies.len().max(1) as f64
}

/// Share of the bodies that a mesh hides by faces that are seen from behind.
fn hidden_from_behind(statics: &Solids, index: u32, eye: Vec3, bodies: &[Vec3]) -> f64 {
    let hides = |p: &&Vec3| {
        let any = sight(statics, index, eye, **p, false);
        any.is_some() && any != sight(statics, index, eye, **p, true)
    };
    bodies.iter().filter(hides).count() as f64 / bodies.len().max(1) as f64
}

fn sight(statics: &Solids, index: u32, eye: Vec3, p: Vec3, front_only: bool) -> Option<f64> {
    let thing = &statics.things[index as usize];
    let distance = (p - eye).norm();
    let ray = Ray::new(eye, (p - eye) / distance);
    let span = Span { from: 0.0, to: distance };
    thing.solid.enter(&thing.x, &thing.axes, &ray, span, front_only).map(|(t, _)| t)
}

/// Whether a wall's face is large enough to be a side of the room the bodies are in.
fn covers_bodies(statics: &Solids, face: &Face, focus: &Focus) -> bool {
    let thing = &statics.things[face.wall as usize];
    let Solid::Box { half } = *thing.solid else { return true };
    let extent = (focus.bounds.max - focus.bounds.min) * 0.5;
    (0..3).filter(|k| thing.axes.column(*k).dot(&face.normal).abs() < 0.5).all(|k| {
        let axis: Vec3 = thing.axes.column(k).into();
        // Bodies may be piled higher than the walls around them.
        let wanted = if axis.y.abs() > 0.5 { 0.0 } else { COVERS * axis.abs().dot(&extent) };
        half[k] >= wanted.max(0.5 * KERB * focus.body_radius)
    })
}

/// Whether something is the ground that a room stands on: it faces up and goes on far beyond the walls.
fn is_ground(statics: &Solids, index: u32, focus: &Focus) -> bool {
    let thing = &statics.things[index as usize];
    match &*thing.solid {
        Solid::HalfSpace { normal } => (thing.axes * normal).y > 0.7,
        Solid::Box { half } => {
            let reach = thing.axes.abs() * half;
            reach.x.min(reach.z) > 3.0 * focus.radius
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Drawable;
    use super::super::framing::Framing;
    use super::*;
    use crate::base::frame::Frame;
    use crate::base::ids::BodyId;
    use crate::base::math::Quat;
    use crate::base::state::BodyState;
    use crate::physics::shape::{Cuboid, Shape, Sphere};

    fn boxed(x: [f64; 3], half: [f64; 3]) -> Drawable {
        Drawable {
            shape: Shape::Box(Cuboid { half: half.into() }),
            x: x.into(),
            q: Quat::identity(),
            color: [0; 3],
        }
    }

    fn cutaway(statics: &[Drawable], eye: Vec3) -> (Cutaway, Solids) {
        let bodies: Vec<_> = (0..27)
            .map(|i| {
                let x = Vec3::new(f64::from(i % 3), f64::from(i / 3 % 3), f64::from(i / 9)) * 2.0;
                let shape = Shape::Sphere(Sphere { radius: 0.5 });
                (BodyId(i), Drawable { shape, x: x - Vec3::repeat(2.0), q: Quat::identity(), color: [0; 3] })
            })
            .collect();
        let states = bodies.iter().map(|(id, body)| (*id, BodyState::at_rest(body.x))).collect();
        let mut framing = Framing::new(&bodies, statics);
        framing.see(&Frame { index: 0, tick: 0, time_s: 0.0, bodies: states });
        let things = statics.iter().map(|s| (&s.shape, Arc::new(Solid::new(&s.shape)), s.x, s.q));
        let group = Solids::new(things);
        (Cutaway::new(eye, &group, &framing.focus()), group)
    }

    fn closed_box() -> Vec<Drawable> {
        let walls = (0..6).map(|side| {
            let (mut x, mut half) = ([0.0; 3], [5.0; 3]);
            x[side / 2] = if side % 2 == 0 { 4.0 } else { -4.0 };
            half[side / 2] = 1.0;
            boxed(x, half)
        });
        walls.collect()
    }

    #[test]
    fn a_closed_box_is_opened_towards_the_camera_only() {
        let eye = Vec3::new(12.0, 9.0, 20.0);
        let (cutaway, group) = cutaway(&closed_box(), eye);
        let mut opened: Vec<u32> = cutaway.open.iter().map(|face| face.wall).collect();
        opened.sort_unstable();
        assert_eq!(opened, [0, 2, 4], "the walls at +X, +Y and +Z");
        // A ray through the middle sees the far wall's inner face.
        let ray = Ray::new(eye, -eye.normalize());
        let (span, _) = cutaway.window(&ray);
        let met = group.nearest(&ray, span, |_| false, |_| true).unwrap();
        assert!([1, 3, 5].contains(&met.index), "wall {}", met.index);
        let p = ray.at(met.t);
        assert!((p.abs().max() - 3.0).abs() < 1e-9, "{p}");
        assert!(cutaway.roles.iter().all(|role| role.cut && !role.shadows));
    }

    #[test]
    fn a_wall_that_is_seen_very_flatly_is_opened_too() {
        // A little before the inner face of the wall at +X, far above the opened top.
        let eye = Vec3::new(2.9, 20.0, 12.0);
        let (cutaway, group) = cutaway(&closed_box(), eye);
        let drawn: Vec<bool> = cutaway.roles.iter().map(|role| role.drawn).collect();
        assert_eq!(drawn, [false, true, false, true, false, true]);
        assert!(cutaway.kept(0, Vec3::new(3.0, 0.0, 0.0)).is_none());
        assert!(cutaway.kept(1, Vec3::new(-3.0, 0.0, 0.0)).is_some());
        let ray = Ray::new(eye, (Vec3::new(3.0, 0.0, 0.0) - eye).normalize());
        let (span, _) = cutaway.window(&ray);
        let met = group.nearest(&ray, span, |_| false, |index| cutaway.roles[index as usize].drawn);
        assert!(met.is_none_or(|met| met.index != 0));
    }

    #[test]
    fn the_cut_shows_as_a_rim_on_the_walls_that_remain() {
        let eye = Vec3::new(12.0, 9.0, 20.0);
        let (cutaway, group) = cutaway(&closed_box(), eye);
        let look = |p: Vec3| {
            let ray = Ray::new(eye, (p - eye).normalize());
            cutaway.rim(&group, &ray, cutaway.window(&ray)).map(|met| met.index)
        };
        let width = cutaway.rim;
        assert_eq!(look(Vec3::new(0.0, -3.0 - 0.5 * width, 3.0)), Some(3), "the floor, cut at the front");
        assert_eq!(look(Vec3::new(0.0, -3.0 + 0.5 * width, 3.0)), None, "the opening");
        assert_eq!(look(Vec3::new(0.0, -3.0 - 1.5 * width, 3.0)), None, "below the rim");
    }

    #[test]
    fn what_hides_nothing_stays() {
        let low_edge = boxed([0.0, -2.9, 4.0], [4.0, 0.4, 0.5]);
        let floor = boxed([0.0, -4.0, 0.0], [6.0, 1.0, 6.0]);
        let (cutaway, _) = cutaway(&[low_edge, floor], Vec3::new(5.0, 14.0, 18.0));
        assert!(cutaway.open.is_empty());
        assert!(cutaway.roles.iter().all(|role| *role == PLAIN));
    }

    #[test]
    fn a_camera_within_the_room_cuts_nothing() {
        assert!(cutaway(&closed_box(), Vec3::new(2.5, 2.0, 2.0)).0.open.is_empty());
    }
}
