//! A scene as anachron exports it (`anachron scene NAME --json`), rounded to the numbers that other engines compute with.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

/// Shapes that all engines have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Sphere {
        radius_m: f32,
    },
    Box {
        half_m: [f32; 3],
    },
    /// Along its own y.
    Cylinder {
        radius_m: f32,
        half_height_m: f32,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Body {
    pub moves: bool,
    pub shape: Shape,
    pub x: [f32; 3],
    pub q: [f32; 4],
    pub v: [f32; 3],
}

/// What every engine gets: the same bodies in the same order.
#[derive(Debug)]
pub struct Scene {
    /// Along y.
    pub gravity: f32,
    /// Of every pair, as are the next.
    pub friction: f32,
    pub restitution: f32,
    pub density: f32,
    /// Static ones first.
    pub bodies: Vec<Body>,
}

#[derive(Deserialize)]
struct File {
    gravity: [f64; 3],
    #[serde(default)]
    materials: BTreeMap<String, Material>,
    #[serde(default, rename = "static")]
    fixed: Vec<Described>,
    #[serde(default)]
    body: Vec<Described>,
    #[serde(default)]
    joint: Vec<serde_json::Value>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
struct Material {
    density: f64,
    friction: f64,
    restitution: f64,
}

#[derive(Deserialize)]
struct Described {
    shape: serde_json::Value,
    position: [f64; 3],
    #[serde(default = "upright")]
    orientation: [f64; 4],
    #[serde(default)]
    velocity: [f64; 3],
    #[serde(default)]
    angular_velocity: [f64; 3],
}

fn upright() -> [f64; 4] {
    [0.0, 0.0, 0.0, 1.0]
}

impl Scene {
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut materials = file.materials.values();
        let usual = Material { density: 1000.0, friction: 0.5, restitution: 0.0 };
        let material = materials.next().copied().unwrap_or(usual);
        if materials.any(|other| *other != material) {
            return Err(
                "materials differ, and every engine combines those of two bodies in its own way".into()
            );
        }
        if !file.joint.is_empty() {
            return Err("joints are not compared".into());
        }
        if file.gravity[0] != 0.0 || file.gravity[2] != 0.0 {
            return Err("gravity is not along y".into());
        }
        let fixed = file.fixed.iter().map(|described| described.body(false));
        let moving = file.body.iter().map(|described| described.body(true));
        Ok(Scene {
            gravity: file.gravity[1] as f32,
            friction: material.friction as f32,
            restitution: material.restitution as f32,
            density: material.density as f32,
            bodies: fixed.chain(moving).collect::<Result<_, String>>()?,
        })
    }

    pub fn moving(&self) -> impl Iterator<Item = &Body> {
        self.bodies.iter().filter(|body| body.moves)
    }
}

impl Described {
    fn body(&self, moves: bool) -> Result<Body, String> {
        if self.angular_velocity != [0.0; 3] {
            return Err("bodies that spin at the start are not compared".into());
        }
        let single = |list: [f64; 3]| list.map(|number| number as f32);
        Ok(Body {
            moves,
            shape: self.shape()?,
            x: single(self.position),
            q: self.orientation.map(|number| number as f32),
            v: single(self.velocity),
        })
    }

    fn shape(&self) -> Result<Shape, String> {
        let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN) as f32;
        if let Some(sphere) = self.shape.get("sphere") {
            return Ok(Shape::Sphere { radius_m: number(&sphere["radius"]) });
        }
        if let Some(half) = self.shape.get("box").map(|shape| &shape["half_extents"]) {
            return Ok(Shape::Box { half_m: [0, 1, 2].map(|axis| number(&half[axis])) });
        }
        if let Some(cylinder) = self.shape.get("cylinder") {
            let (radius_m, half_height_m) = (number(&cylinder["radius"]), number(&cylinder["half_height"]));
            return Ok(Shape::Cylinder { radius_m, half_height_m });
        }
        Err(format!("{}: only spheres, boxes and cylinders are compared", self.shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: &str = r#"{"gravity": [0, -9.81, 0],
        "materials": {"a": {"density": 1000, "friction": 0.3, "restitution": 0}},
        "static": [{"shape": {"box": {"half_extents": [9, 0.5, 9]}}, "position": [0, -0.5, 0]}],
        "body": [{"shape": {"sphere": {"radius": 0.5}}, "position": [0.1, 2, 0], "velocity": [1, 0, 0]}]}"#;

    #[test]
    fn a_scene_is_read() {
        let scene = Scene::parse(SCENE).unwrap();
        assert_eq!((scene.gravity, scene.friction, scene.bodies.len()), (-9.81, 0.3, 2));
        assert_eq!(scene.bodies[0].shape, Shape::Box { half_m: [9.0, 0.5, 9.0] });
        assert_eq!(scene.moving().next().unwrap().x, [0.1, 2.0, 0.0]);
    }

    #[test]
    fn what_engines_would_treat_differently_is_refused() {
        let two = SCENE.replace(
            r#""restitution": 0}"#,
            r#""restitution": 0}, "b": {"density": 1, "friction": 0, "restitution": 1}"#,
        );
        assert!(Scene::parse(&two).unwrap_err().contains("materials differ"));
        let ring = SCENE.replace("sphere", "ring");
        assert!(Scene::parse(&ring).unwrap_err().contains("only spheres"));
    }
}
