//! Colours: materials, light, and the conversion from light to the numbers of a picture.

use crate::base::color::Rgb;
use crate::base::math::Vec3;
use crate::render::framing::smooth_step;
use crate::render::ray_scene::{Light, RayScene, SUN, Sight, Thing};
use crate::render::solid::{Ray, Solid};
use crate::render::solids::Placed;
use crate::scene::colors::STATIC_COLOR;

/// Light, or the share of it that a surface sends back: red, green, blue, linear.
pub(super) type Color = Vec3;

const SUN_LIGHT: Color = Color::new(1.9, 1.78, 1.58);
const SKY_LIGHT: Color = Color::new(0.74, 0.84, 1.0);
const GROUND_LIGHT: Color = Color::new(0.44, 0.41, 0.39);
/// Ground without a colour of its own.
const GROUND: Rgb = [0xd2, 0xd6, 0xdc];
/// The backdrop above the horizon, at it, and below it.
const ZENITH: Rgb = [0xa9, 0xc3, 0xe0];
const HORIZON: Rgb = [0xee, 0xf2, 0xf6];
const NADIR: Rgb = [0xb4, 0xc0, 0xcd];

/// Colours of the objects of one picture.
pub(super) struct Paint {
    pub bodies: Vec<Color>,
    /// Colour of each static object, and whether it has squares.
    pub statics: Vec<(Color, bool)>,
    /// Edge length of the squares on the ground, metres.
    square: f64,
    zenith: Color,
    horizon: Color,
    nadir: Color,
}

impl Paint {
    pub fn new(bodies: &[Rgb], statics: &[(Rgb, bool)], square: f64) -> Self {
        // Colours that a user has chosen are left alone.
        let ground = |(color, is_flat): &(Rgb, bool)| match (*is_flat, *color) {
            (true, STATIC_COLOR) => (linear(GROUND), true),
            (_, color) => (linear(color), false),
        };
        Paint {
            bodies: bodies.iter().map(|color| linear(*color)).collect(),
            statics: statics.iter().map(ground).collect(),
            square,
            zenith: linear(ZENITH),
            horizon: linear(HORIZON),
            nadir: linear(NADIR),
        }
    }

    /// The colour where a ray hits nothing.
    pub fn backdrop(&self, dir: &Vec3) -> Color {
        let (far, share) = if dir.y > 0.0 { (self.zenith, dir.y) } else { (self.nadir, -dir.y) };
        self.horizon.lerp(&far, smooth_step(0.0, 0.9, share))
    }

    /// The colour of a surface under some light. `footprint` is the width of a pixel there, metres.
    pub fn surface(
        &self,
        ray_scene: &RayScene,
        ray: &Ray,
        sight: &Sight,
        light: Light,
        footprint: f64,
    ) -> Color {
        let p = ray.at(sight.t);
        let (albedo, normal, gloss) = match sight.thing {
            Thing::Body(index) => {
                let thing = &ray_scene.bodies.things[index as usize];
                let local = thing.local(p);
                let albedo = marked(self.bodies[index as usize], &thing.solid, &local, footprint);
                (albedo, rounded(thing, &local, sight.normal), 0.55)
            }
            Thing::Static(index) => {
                let thing = &ray_scene.statics.things[index as usize];
                let slant = footprint / ray.dir.dot(&sight.normal).abs().max(0.05);
                let (color, patterned) = self.statics[index as usize];
                let shade = if patterned { self.squares(thing, &p, &sight.normal, slant) } else { 1.0 };
                (color * shade, sight.normal, 0.25)
            }
            Thing::Rim(index) => (self.statics[index as usize].0 * 0.45, sight.normal, 0.0),
        };
        let lit = tone(illuminate(albedo, &normal, &ray.dir, gloss, light));
        match sight.thing {
            Thing::Body(_) => lit,
            _ => lit.lerp(&self.backdrop(&ray.dir), fade(ray_scene, &p)),
        }
    }

    /// Subtle squares on floors and walls, so that motion and size can be read.
    fn squares(&self, thing: &Placed, p: &Vec3, normal: &Vec3, footprint: f64) -> f64 {
        let (origin, facing) = match *thing.solid {
            Solid::Box { .. } => (thing.local(*p), thing.axes.tr_mul(normal).abs()),
            _ => (*p - thing.x, normal.abs()),
        };
        let width = (footprint / self.square).max(1e-9);
        let mut product = 1.0;
        for k in 0..3 {
            if facing[k] < 0.7 {
                product *= filtered_square_wave(origin[k] / self.square, width);
            }
        }
        0.92 + 0.08 * product
    }
}

/// A wave of +1 and -1 with period two, averaged over `width`.
fn filtered_square_wave(x: f64, width: f64) -> f64 {
    let triangle = |x: f64| (x * 0.5 - (x * 0.5).floor() - 0.5).abs();
    2.0 * (triangle(x - 0.5 * width) - triangle(x + 0.5 * width)) / width
}

/// Share of the backdrop in the colour of the ground: it grows with the distance from the subject.
fn fade(ray_scene: &RayScene, p: &Vec3) -> f64 {
    let distance = (p - ray_scene.focus.centre).norm() / ray_scene.focus.radius;
    smooth_step(2.0, 7.0, distance)
}

/// A mark on round bodies, so that rolling can be seen.
fn marked(color: Color, solid: &Solid, local: &Vec3, footprint: f64) -> Color {
    let Solid::Sphere { radius } = *solid else { return color };
    let edge = (footprint / radius).max(0.01);
    let height = local.y.abs() / radius;
    let band = 1.0 - smooth_step(0.26 - edge, 0.26 + edge, height);
    color.lerp(&Color::repeat(0.86), 0.42 * band)
}

/// Bends the normal near the edges of boxes as if they were rounded.
fn rounded(thing: &Placed, local: &Vec3, normal: Vec3) -> Vec3 {
    let Solid::Box { half } = *thing.solid else { return normal };
    let width = 0.06 * half.min();
    let bend = Vec3::from_fn(|k, _| {
        let share = 1.0 - (half[k] - local[k].abs()) / width;
        share.clamp(0.0, 1.0).copysign(local[k])
    });
    let bent = normal + thing.axes * bend * 0.7;
    bent / bent.norm()
}

/// Light that a surface sends to the viewer.
fn illuminate(albedo: Color, normal: &Vec3, dir: &Vec3, gloss: f64, light: Light) -> Color {
    let sun = soft_start(normal.dot(&SUN)) * light.sun;
    let upward = 0.5 + 0.5 * normal.y;
    // Light between neighbours keeps corners from going black, the more so the brighter they are.
    let sky = albedo.map(|a| light.sky / (1.0 - 0.6 * a * (1.0 - light.sky)));
    let ambient = GROUND_LIGHT.lerp(&SKY_LIGHT, upward).component_mul(&sky);
    let diffuse = albedo.component_mul(&(SUN_LIGHT * sun + ambient));
    let facing = (-normal.dot(dir)).clamp(0.0, 1.0);
    let grazing = (1.0 - facing) * (1.0 - facing);
    let mirror = dir - normal * (2.0 * normal.dot(dir));
    let reflected = GROUND_LIGHT.lerp(&SKY_LIGHT, smooth_step(-0.4, 0.6, mirror.y)) * light.sky;
    let fresnel = 0.03 + 0.5 * grazing * grazing * (1.0 - facing);
    let half_way = (SUN - dir).normalize().dot(normal).max(0.0);
    let glint = SUN_LIGHT * (0.9 * power_64(half_way) * light.sun);
    diffuse + (reflected * fresnel + glint) * gloss
}

/// Zero below zero and a slope of one far above, without a kink: the sun is no point.
fn soft_start(x: f64) -> f64 {
    const WIDTH: f64 = 0.2;
    if x < WIDTH { x.max(0.0) * x.max(0.0) / (2.0 * WIDTH) } else { x - 0.5 * WIDTH }
}

fn power_64(x: f64) -> f64 {
    (0..6).fold(x, |x, _| x * x)
}

/// From light to what a screen shows: bright light is compressed, not cut off.
fn tone(light: Color) -> Color {
    light.map(|x| {
        let x = 0.62 * x;
        ((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14)).clamp(0.0, 1.0)
    })
}

/// The linear value of an eight-bit colour.
fn linear(color: Rgb) -> Color {
    Color::from(color.map(|c| {
        let c = f64::from(c) / 255.0;
        if c <= 0.040_45 { c / 12.92 } else { libm::pow((c + 0.055) / 1.055, 2.4) }
    }))
}

/// Linear values to eight bits.
pub(super) struct Gamma {
    /// The code of each step from 0 to 1, times 255.
    codes: Vec<f32>,
}

impl Gamma {
    const STEPS: usize = 4096;

    pub fn new() -> Self {
        let code = |step: usize| {
            let c = step as f64 / Self::STEPS as f64;
            let c = if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * libm::pow(c, 1.0 / 2.4) - 0.055 };
            (255.0 * c) as f32
        };
        Gamma { codes: (0..=Self::STEPS).map(code).collect() }
    }

    /// The eight-bit colour; `dither` within ±0.5 hides the steps of slow gradients.
    pub fn encode(&self, color: &Color, dither: f32) -> Rgb {
        [color.x, color.y, color.z].map(|c| {
            let step = (c.clamp(0.0, 1.0) * Self::STEPS as f64) as usize;
            (self.codes[step] + dither).round().clamp(0.0, 255.0) as u8
        })
    }
}
