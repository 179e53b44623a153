//! Pictures of frames, by casting rays at parry's shapes.
//!
//! A [`Renderer`] turns committed frames into [`Image`]s and images into PNG and GIF files. It decides nothing
//! about a run and never runs one. The same frame gives the same bytes on any number of threads.
//!
//! Steps of a picture: `framing` and `fit` find its subject and the view, `cutaway` opens closed boxes, `solids` holds the
//! solids, `ray_scene` casts rays at them, `shade` gives colours, `tile` puts all of it together.

mod animation;
mod camera;
mod cutaway;
mod drawable;
mod fit;
mod framing;
mod image;
mod palette;
mod ray_scene;
mod ring;
mod shade;
mod solid;
mod solids;
mod tile;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use rayon::prelude::*;

use crate::base::color::{Rgb, color_by_share};
use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::physics::{Shape, World};
use crate::scene::Scene;
use crate::scene::colors;
use crate::scene::suggest::shown;

pub use animation::{GifWriter, Pace};
pub use camera::Camera;
use camera::View;
pub use image::Image;
use image::{PIXELS_MAX, SIDE_MAX};

use cutaway::Cutaway;
use drawable::Drawable;
use framing::{Focus, Framing};
use ray_scene::{RayScene, Samples};
use shade::{Gamma, Paint};
use solid::Solid;
use solids::Solids;
use tile::{Painter, TILE};

/// The meaning of the colours of bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorBy {
    /// The material's colour, or one for each body.
    #[default]
    Body,
    /// Blue for slow to red for fast.
    Speed,
}

impl FromStr for ColorBy {
    type Err = RenderError;

    fn from_str(text: &str) -> Result<Self, RenderError> {
        match text {
            "body" => Ok(ColorBy::Body),
            "speed" => Ok(ColorBy::Speed),
            other => Err(RenderError::Colors(other.to_owned())),
        }
    }
}

/// Settings of pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenderOptions {
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
    /// The camera.
    pub camera: Camera,
    /// The meaning of the colours of bodies.
    pub colors: ColorBy,
}

impl Default for RenderOptions {
    fn default() -> Self {
        RenderOptions { width: 960, height: 540, camera: Camera::Auto, colors: ColorBy::Body }
    }
}

/// An error while making a picture or an animation.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The picture would be too small or too large.
    #[error(
        "size {width}x{height}: width and height must be 1 to {SIDE_MAX} and their product at most {PIXELS_MAX} \
         pixels; try 960x540"
    )]
    Size {
        /// Width that was asked for, pixels.
        width: u32,
        /// Height that was asked for, pixels.
        height: u32,
    },
    /// The camera cannot take a picture.
    #[error("camera: {0}")]
    Camera(String),
    /// There is no such meaning of colours.
    #[error("colors: `{0}` is unknown; use body or speed")]
    Colors(String),
    /// An animation cannot be shown like this.
    #[error("animation: {0}")]
    Pace(String),
    /// A file cannot be written.
    #[error("{}: {reason}", shown(path))]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Reason, as the operating system or the encoder gives it.
        reason: String,
    },
}

impl RenderError {
    fn camera(problem: String) -> Self {
        RenderError::Camera(problem)
    }

    fn file(path: &Path, reason: impl ToString) -> Self {
        RenderError::File { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// For the project's own tests: renderers of objects that belong to no scene.
pub(crate) mod internals {
    pub use super::camera::View;
    pub use super::drawable::Drawable;
    use super::{BodyId, Frame, RenderError, RenderOptions, Renderer};

    /// A renderer for objects of any origin.
    pub fn renderer(
        bodies: Vec<(BodyId, Drawable)>,
        statics: Vec<Drawable>,
        options: RenderOptions,
    ) -> Result<Renderer, RenderError> {
        Renderer::from_parts(bodies, statics, options)
    }

    /// The view of a picture of this frame.
    pub fn view(renderer: &Renderer, frame: &Frame) -> View {
        renderer.view(frame)
    }
}

/// The view and the scale of colours that pictures share.
struct Setting {
    view: View,
    focus: Focus,
    cutaway: Cutaway,
    /// Speed that is shown as fast, m/s.
    fast: f64,
}

/// Takes pictures of the frames of one scene.
pub struct Renderer {
    options: RenderOptions,
    /// Bodies in ascending id.
    bodies: Vec<(BodyId, Drawable)>,
    /// Solid of each body.
    solids: Vec<Arc<Solid>>,
    statics: Solids,
    /// Colour of each static object, and whether it is ground or wall.
    static_colors: Vec<(Rgb, bool)>,
    framing: Framing,
    /// The setting for all frames, once [`Renderer::fit_camera`] has found it.
    fitted: Option<Setting>,
    samples: Samples,
    gamma: Gamma,
}

impl Renderer {
    /// A renderer for the frames of a scene and the world made of it.
    pub fn new(scene: &Scene, world: &World, options: RenderOptions) -> Result<Self, RenderError> {
        let mut body_colors: Vec<(BodyId, Rgb)> = colors::body_colors(scene)
            .into_iter()
            .enumerate()
            .map(|(index, color)| (scene.body_id(index), color))
            .collect();
        body_colors.sort_unstable();
        let color_of = |id: BodyId| {
            let found = body_colors.binary_search_by_key(&id, |(id, _)| *id);
            found.map_or_else(|_| crate::base::color::color_by_number(id.0), |at| body_colors[at].1)
        };
        let bodies = world.bodies.iter().map(|body| {
            let (x, q) = (body.start.x, body.start.q);
            (body.id, Drawable { shape: body.shape.clone(), x, q, color: color_of(body.id) })
        });
        let mut static_colors: Vec<_> = colors::static_colors(scene)
            .into_iter()
            .enumerate()
            .map(|(index, color)| (scene.static_id(index), color))
            .collect();
        static_colors.sort_unstable();
        let statics = world.statics.iter().map(|object| {
            let found = static_colors.binary_search_by_key(&object.id, |(id, _)| *id);
            let color = found.map_or(colors::STATIC_COLOR, |at| static_colors[at].1);
            Drawable { shape: object.shape.clone(), x: object.x, q: object.q, color }
        });
        Self::from_parts(bodies.collect(), statics.collect(), options)
    }

    /// A renderer for objects of any origin; frames move the bodies.
    pub(crate) fn from_parts(
        mut bodies: Vec<(BodyId, Drawable)>,
        statics: Vec<Drawable>,
        options: RenderOptions,
    ) -> Result<Self, RenderError> {
        image::check_size(options.width, options.height)?;
        options.camera.check()?;
        bodies.sort_by_key(|(id, _)| *id);
        let framing = Framing::new(&bodies, &statics);
        let solids = bodies.iter().map(|(_, body)| Arc::new(Solid::new(&body.shape))).collect();
        let flat = |thing: &Drawable| matches!(thing.shape, Shape::Box { .. } | Shape::HalfSpace { .. });
        let static_colors = statics.iter().map(|thing| (thing.color, flat(thing))).collect();
        let placed = statics.iter().map(|t| (&t.shape, Arc::new(Solid::new(&t.shape)), t.x, t.q));
        let statics = Solids::new(placed);
        Ok(Renderer {
            options,
            bodies,
            solids,
            statics,
            static_colors,
            framing,
            fitted: None,
            samples: Samples::new(),
            gamma: Gamma::new(),
        })
    }

    /// Fixes the camera and the scale of colours so that they suit all of these frames. Without this, every
    /// picture has its own.
    pub fn fit_camera<F: std::borrow::Borrow<Frame>>(&mut self, frames: impl IntoIterator<Item = F>) {
        let mut framing = self.framing.clone();
        let mut fast = 0.0_f64;
        for frame in frames {
            framing.see(frame.borrow());
            fast = fast.max(fast_of(frame.borrow()));
        }
        self.fitted = Some(self.setting(&framing, fast));
    }

    /// The view of a picture of this frame.
    fn view(&self, frame: &Frame) -> View {
        match &self.fitted {
            Some(setting) => setting.view,
            None => self.setting_for(frame).view,
        }
    }

    /// Takes a picture. Bodies with a state that is not finite are left out.
    pub fn render(&self, frame: &Frame) -> Image {
        let own;
        let setting = match &self.fitted {
            Some(setting) => setting,
            None => {
                own = self.setting_for(frame);
                &own
            }
        };
        let seen = frame.bodies.iter().filter_map(|(id, state)| {
            let index = self.bodies.binary_search_by_key(id, |(id, _)| *id).ok()?;
            Some((index, state))
        });
        let seen: Vec<_> = seen.collect();
        let bodies = Solids::new(
            seen.iter()
                .map(|(i, state)| (&self.bodies[*i].1.shape, self.solids[*i].clone(), state.x, state.q)),
        );
        let colors: Vec<Rgb> = seen
            .iter()
            .map(|(index, state)| match self.options.colors {
                ColorBy::Body => self.bodies[*index].1.color,
                ColorBy::Speed => color_by_share(share(state.v.norm(), setting.fast)),
            })
            .collect();
        let paint = Paint::new(&colors, &self.static_colors, square(&setting.focus));
        let Setting { view, focus, cutaway, .. } = setting;
        let ray_scene =
            RayScene { statics: &self.statics, bodies: &bodies, cutaway, focus, samples: &self.samples };
        self.paint(&Painter { view, ray_scene: &ray_scene, paint: &paint, gamma: &self.gamma })
    }

    fn paint(&self, painter: &Painter) -> Image {
        let (width, height) = (self.options.width, self.options.height);
        let mut image = Image::new(width, height).expect("invariant: the size was checked on construction");
        let columns = width.div_ceil(TILE);
        let tiles: Vec<_> = (0..columns * height.div_ceil(TILE))
            .into_par_iter()
            .map(|tile| {
                let (left, top) = (tile % columns * TILE, tile / columns * TILE);
                (left, top, painter.tile(left, top))
            })
            .collect();
        for (left, top, colors) in tiles {
            image.put(left, top, TILE.min(width - left), &colors);
        }
        image
    }

    fn setting_for(&self, frame: &Frame) -> Setting {
        let mut framing = self.framing.clone();
        framing.see(frame);
        self.setting(&framing, fast_of(frame))
    }

    fn setting(&self, framing: &Framing, fast: f64) -> Setting {
        let RenderOptions { width, height, camera, .. } = &self.options;
        // The cutaway depends on the view, and the view on what remains: two iterations are enough.
        let bodies = framing.focus();
        let first = Cutaway::new(bodies.view(camera, *width, *height).eye, &self.statics, &bodies);
        let focus = framing.with_scenery(&bodies, |index, p| first.kept(index, p));
        let view = focus.view(camera, *width, *height);
        let cutaway = Cutaway::new(view.eye, &self.statics, &focus);
        Setting { view, focus, cutaway, fast }
    }
}

/// The speed that all but a few bodies stay below.
fn fast_of(frame: &Frame) -> f64 {
    let speeds = frame.bodies.iter().map(|(_, state)| state.v.norm()).filter(|speed| speed.is_finite());
    let mut speeds: Vec<f64> = speeds.collect();
    speeds.sort_by(f64::total_cmp);
    let last = speeds.len().saturating_sub(1);
    speeds.get(last - last / 50).copied().unwrap_or(0.0)
}

fn share(speed: f64, fast: f64) -> f64 {
    if fast > 0.0 { speed / fast } else { 0.0 }
}

/// Edge length of the squares on the ground: one, two or five times a power of ten, in proportion to the scene.
fn square(focus: &Focus) -> f64 {
    let wanted = (focus.radius / 8.0).clamp(1e-9, 1e12);
    let mut power = 1e-9;
    while power * 10.0 <= wanted {
        power *= 10.0;
    }
    [5.0, 2.0, 1.0].into_iter().map(|step| step * power).find(|size| *size <= wanted).unwrap_or(power)
}
