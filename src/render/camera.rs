//! Cameras: what a user asks for, the text form of the command line, and the pinhole it becomes.
//!
//! `framing` finds a good view by itself.

use std::str::FromStr;

use crate::base::math::Vec3;
use crate::render::RenderError;
use crate::render::solid::Ray;

/// Vertical field of view by default, degrees: narrow enough to keep spheres round.
pub(crate) const DEFAULT_FOV_DEG: f64 = 30.0;

/// From where a picture is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Camera {
    /// Frames the whole scene by itself.
    #[default]
    Auto,
    /// Looks from one point at another; values that are not given are those of [`Camera::Auto`].
    LookAt {
        /// Position of the camera, metres.
        eye: Option<Vec3>,
        /// The point in the middle of the picture, metres.
        target: Option<Vec3>,
        /// Vertical field of view, degrees.
        fov_deg: Option<f64>,
    },
}

impl Camera {
    /// Looks from `eye` at `target`.
    pub fn look_at(eye: Vec3, target: Vec3, fov_deg: f64) -> Self {
        Camera::LookAt { eye: Some(eye), target: Some(target), fov_deg: Some(fov_deg) }
    }

    /// Checks that the camera can take a picture.
    pub(crate) fn check(&self) -> Result<(), RenderError> {
        let Camera::LookAt { eye, target, fov_deg } = *self else { return Ok(()) };
        for (name, point) in [("eye", eye), ("target", target)] {
            if point.is_some_and(|p| !p.iter().all(|c| c.abs() <= 1e9)) {
                return Err(RenderError::camera(format!(
                    "{name} must be three numbers between -1e9 and 1e9 metres"
                )));
            }
        }
        if fov_deg.is_some_and(|fov| !(0.1..=170.0).contains(&fov)) {
            return Err(RenderError::camera(
                "fov must be between 0.1 and 170 degrees; 30 is a good value".into(),
            ));
        }
        match (eye, target) {
            (Some(eye), Some(target)) if (eye - target).norm() < 1e-9 => {
                Err(RenderError::camera("eye and target are the same point; move one of them".into()))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for Camera {
    type Err = RenderError;

    /// Reads `auto` or `eye=x,y,z;target=x,y,z;fov=degrees` with any of the parts.
    fn from_str(text: &str) -> Result<Self, RenderError> {
        if text.trim() == "auto" {
            return Ok(Camera::Auto);
        }
        let (mut eye, mut target, mut fov_deg) = (None, None, None);
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return Err(RenderError::camera(format!("`{part}` has no `=`; write it as in `eye=0,5,20`")));
            };
            let repeated = match name.trim() {
                "eye" => eye.replace(parse_point("eye", value)?).is_some(),
                "target" => target.replace(parse_point("target", value)?).is_some(),
                "fov" => fov_deg.replace(parse_number("fov", value)?).is_some(),
                other => {
                    return Err(RenderError::camera(format!(
                        "`{other}` is unknown; use eye, target and fov, as in `eye=0,5,20;target=0,0,0;fov=40`"
                    )));
                }
            };
            if repeated {
                return Err(RenderError::camera(format!("`{}` is given twice; keep one", name.trim())));
            }
        }
        if eye.is_none() && target.is_none() && fov_deg.is_none() {
            return Err(RenderError::camera(
                "it is empty; write `auto` or `eye=0,5,20;target=0,0,0;fov=40`".into(),
            ));
        }
        let camera = Camera::LookAt { eye, target, fov_deg };
        camera.check().map(|()| camera)
    }
}

fn parse_point(name: &str, text: &str) -> Result<Vec3, RenderError> {
    let numbers = text.split(',').map(|number| parse_number(name, number)).collect::<Result<Vec<_>, _>>()?;
    match numbers[..] {
        [x, y, z] => Ok(Vec3::new(x, y, z)),
        _ => Err(RenderError::camera(format!(
            "{name} has {} numbers; write three, as in `{name}=0,5,20`",
            numbers.len()
        ))),
    }
}

fn parse_number(name: &str, text: &str) -> Result<f64, RenderError> {
    let wrong = || RenderError::camera(format!("{name}: `{}` is not a number; write it as 1.5", text.trim()));
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(wrong)
}

/// A pinhole camera: position, orientation and field of view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Position of the camera, metres.
    pub eye: Vec3,
    /// Unit vector to the right of the picture.
    pub right: Vec3,
    /// Unit vector upwards in the picture.
    pub up: Vec3,
    /// Unit vector into the picture.
    pub forward: Vec3,
    /// Half the height of the picture at distance one.
    pub half_height: f64,
    /// Width of the picture, pixels.
    pub width: u32,
    /// Height of the picture, pixels.
    pub height: u32,
}

impl View {
    /// The view from `eye` towards `target`, with +Y upwards in the picture.
    pub fn look_at(eye: Vec3, target: Vec3, fov_deg: f64, width: u32, height: u32) -> Self {
        let (right, up, forward) = axes(target - eye);
        let half_height = libm::tan(fov_deg.to_radians() * 0.5);
        View { eye, right, up, forward, half_height, width, height }
    }

    /// Width of one pixel at distance one, metres.
    pub fn pixel_size(&self) -> f64 {
        2.0 * self.half_height / f64::from(self.height)
    }

    /// The pixel a point is seen at and its depth along [`View::forward`], if it is in front of the camera.
    /// Pixel (0, 0) is top left; its middle is at (0.5, 0.5).
    pub fn project(&self, point: Vec3) -> Option<(f64, f64, f64)> {
        let from_eye = point - self.eye;
        let depth = from_eye.dot(&self.forward);
        let scale = 1.0 / (depth * self.pixel_size());
        let column = 0.5 * f64::from(self.width) + from_eye.dot(&self.right) * scale;
        let row = 0.5 * f64::from(self.height) - from_eye.dot(&self.up) * scale;
        (depth > 0.0).then_some((column, row, depth))
    }

    /// The ray through a point of the picture, in pixels.
    #[inline]
    pub(super) fn ray(&self, column: f64, row: f64) -> Ray {
        let size = self.pixel_size();
        let x = (column - 0.5 * f64::from(self.width)) * size;
        let y = (0.5 * f64::from(self.height) - row) * size;
        let dir = self.forward + self.right * x + self.up * y;
        Ray::new(self.eye, dir / dir.norm())
    }
}

/// Right, up and forward of a camera that looks along `towards`.
pub(super) fn axes(towards: Vec3) -> (Vec3, Vec3, Vec3) {
    let length = towards.norm();
    let forward = if length > 0.0 { towards / length } else { -Vec3::z() };
    let level = forward.cross(&Vec3::y());
    // Straight up or down there is no level; then the picture's right is +X.
    let right = if level.norm() > 1e-6 { level.normalize() } else { Vec3::x() };
    (right, right.cross(&forward), forward)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cameras_are_read_as_written() {
        assert_eq!("auto".parse::<Camera>().unwrap(), Camera::Auto);
        let eye = Vec3::new(1.0, -2.5, 3e1);
        assert_eq!(
            " eye = 1, -2.5 ,3e1; target=0,0,0 ;fov=40;".parse::<Camera>().unwrap(),
            Camera::look_at(eye, Vec3::zeros(), 40.0)
        );
        let only_fov = Camera::LookAt { eye: None, target: None, fov_deg: Some(55.0) };
        assert_eq!("fov=55".parse::<Camera>().unwrap(), only_fov);
    }

    #[test]
    fn wrong_cameras_are_refused_with_the_reason_and_the_fix() {
        for (text, reason, fix) in [
            ("", "empty", "`auto`"),
            ("eye", "has no `=`", "eye=0,5,20"),
            ("eye=1,2", "eye has 2 numbers", "eye=0,5,20"),
            ("target=1,2,3,4", "target has 4 numbers", "target=0,5,20"),
            ("eye=1,two,3", "`two` is not a number", "1.5"),
            ("eye=1,NaN,3", "`NaN` is not a number", "1.5"),
            ("eye=1,1e12,3", "eye must be three numbers", "1e9"),
            ("fov=0", "fov must be between", "30"),
            ("fov=180", "fov must be between", "30"),
            ("up=0,1,0", "`up` is unknown", "eye, target and fov"),
            ("fov=30;fov=40", "`fov` is given twice", "keep one"),
            ("eye=1,2,3;target=1,2,3", "same point", "move one"),
        ] {
            let message = text.parse::<Camera>().unwrap_err().to_string();
            assert!(message.contains(reason) && message.contains(fix), "{text}: {message}");
        }
    }

    #[test]
    fn rays_and_projection_are_inverse() {
        let view = View::look_at(Vec3::new(3.0, 4.0, 9.0), Vec3::new(0.5, 1.0, -1.0), 40.0, 640, 360);
        for (column, row) in [(0.5, 0.5), (320.0, 180.0), (639.5, 12.25)] {
            let (x, y, _) = view.project(view.ray(column, row).at(7.0)).unwrap();
            assert!((x - column).abs() < 1e-9 && (y - row).abs() < 1e-9);
        }
        assert_eq!(view.project(view.eye - view.forward), None);
    }

    #[test]
    fn straight_down_is_a_view_too() {
        let view = View::look_at(Vec3::y() * 10.0, Vec3::zeros(), 30.0, 100, 100);
        let (x, y, depth) = view.project(Vec3::new(1.0, 0.0, 1.0)).unwrap();
        assert!(x > 50.0 && y > 50.0 && depth == 10.0, "+X is right, +Z is towards the viewer");
    }
}
