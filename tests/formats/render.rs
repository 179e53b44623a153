//! Pictures: the same bytes every time, objects where geometry puts them, files that can be read.

use std::path::Path;

use anachron::internals::base::frame::Frame;
use anachron::internals::base::ids::BodyId;
use anachron::internals::base::math::{Quat, Vec3, quat_raw};
use anachron::internals::base::state::BodyState;
use anachron::internals::physics::World;
use anachron::internals::physics::shape::{Capsule, Cuboid, Cylinder, HalfSpace, Ring, Shape, Sphere};
use anachron::internals::render::{Drawable, renderer as renderer_of, view};
use anachron::render::{Camera, ColorBy, GifWriter, Image, Pace, RenderOptions, Renderer};
use anachron::scene::Scene;
use anachron::scene::colors::STATIC_COLOR;
use proptest::prelude::*;

const RED: [u8; 3] = [0xe0, 0x20, 0x20];

fn drawable(shape: Shape, x: [f64; 3]) -> Drawable {
    Drawable { shape, x: x.into(), q: Quat::identity(), color: RED }
}

fn ball(x: [f64; 3], radius: f64) -> Drawable {
    drawable(Shape::Sphere(Sphere { radius }), x)
}

fn ground() -> Drawable {
    Drawable { color: STATIC_COLOR, ..drawable(Shape::HalfSpace(HalfSpace { normal: Vec3::y() }), [0.0; 3]) }
}

fn size(width: u32, height: u32) -> RenderOptions {
    RenderOptions { width, height, ..RenderOptions::default() }
}

fn looking(eye: [f64; 3], target: [f64; 3], fov_deg: f64) -> RenderOptions {
    RenderOptions { camera: Camera::look_at(eye.into(), target.into(), fov_deg), ..size(200, 100) }
}

fn frame(bodies: &[Drawable]) -> Frame {
    let states = bodies.iter().enumerate();
    let states =
        states.map(|(i, body)| (BodyId(i as u32), BodyState { q: body.q, ..BodyState::at_rest(body.x) }));
    Frame { index: 0, tick: 0, time_s: 0.0, bodies: states.collect() }
}

fn renderer(bodies: &[Drawable], statics: &[Drawable], options: RenderOptions) -> Renderer {
    let bodies = bodies.iter().cloned().enumerate().map(|(i, body)| (BodyId(i as u32), body)).collect();
    renderer_of(bodies, statics.to_vec(), options).unwrap()
}

fn picture(bodies: &[Drawable], statics: &[Drawable], options: RenderOptions) -> Image {
    renderer(bodies, statics, options).render(&frame(bodies))
}

/// A bit of everything: round, flat, cut open, in shadow.
fn busy_scene() -> (Vec<Drawable>, Vec<Drawable>) {
    let mut bodies: Vec<Drawable> = (0..60)
        .map(|i| ball([f64::from(i % 5) - 2.0, 0.5 + f64::from(i / 25), f64::from(i / 5 % 5) - 2.0], 0.45))
        .collect();
    bodies.push(drawable(Shape::Box(Cuboid { half: Vec3::new(0.5, 0.3, 0.4) }), [0.0, 4.0, 0.0]));
    bodies.push(drawable(Shape::Capsule(Capsule { radius: 0.3, half_height: 0.4 }), [1.5, 4.0, 0.0]));
    bodies.push(drawable(Shape::Cylinder(Cylinder { radius: 0.3, half_height: 0.4 }), [-1.5, 4.0, 0.0]));
    bodies.push(drawable(Shape::Ring(Ring { radius: 0.5, tube: 0.1 }), [0.0, 5.0, 0.0]));
    let wall = |x: [f64; 3], half: [f64; 3]| Drawable {
        color: STATIC_COLOR,
        ..drawable(Shape::Box(Cuboid { half: half.into() }), x)
    };
    let statics = vec![
        wall([4.0, 2.0, 0.0], [1.0, 4.0, 5.0]),
        wall([-4.0, 2.0, 0.0], [1.0, 4.0, 5.0]),
        wall([0.0, 2.0, 4.0], [5.0, 4.0, 1.0]),
        wall([0.0, 2.0, -4.0], [5.0, 4.0, 1.0]),
        wall([0.0, -1.0, 0.0], [5.0, 1.0, 5.0]),
    ];
    (bodies, statics)
}

#[test]
fn the_same_frame_gives_the_same_bytes_on_any_number_of_threads() {
    let (bodies, statics) = busy_scene();
    let on_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| picture(&bodies, &statics, size(160, 90)))
    };
    let first = on_threads(1);
    assert!(first == on_threads(1), "run to run");
    assert!(first == on_threads(2), "one thread against two");
    assert!(first == on_threads(5), "one thread against five");
}

#[test]
fn bodies_may_be_listed_in_any_order() {
    let (bodies, statics) = busy_scene();
    let expected = picture(&bodies, &statics, size(120, 68));
    let mut listed: Vec<_> = bodies.iter().cloned().enumerate().map(|(i, b)| (BodyId(i as u32), b)).collect();
    listed.reverse();
    let turned = renderer_of(listed, statics, size(120, 68)).unwrap();
    assert!(turned.render(&frame(&bodies)) == expected);
}

/// Whether a pixel shows the red ball and not the backdrop or the ground.
fn is_red(image: &Image, column: u32, row: u32) -> bool {
    let [red, green, _] = image.pixel(column, row).unwrap();
    i32::from(red) - i32::from(green) > 20
}

/// Focal length in pixels of a picture 100 pixels high with a field of view of 40 degrees.
fn focal() -> f64 {
    50.0 / libm::tan(20f64.to_radians())
}

#[test]
fn the_edge_of_a_ball_is_where_a_pinhole_sees_it() {
    let (distance, radius) = (10.0, 1.5);
    let image = picture(&[ball([0.0; 3], radius)], &[], looking([0.0, 0.0, distance], [0.0; 3], 40.0));
    // The sight line that grazes the ball.
    let edge = focal() * radius / (distance * distance - radius * radius).sqrt();
    let red = (0..200).filter(|column| is_red(&image, *column, 50)).count() as f64;
    assert!((red - 2.0 * edge).abs() <= 1.5, "{red} pixels wide, {} expected", 2.0 * edge);
    assert!(is_red(&image, (100.0 + edge - 1.5) as u32, 50));
    assert!(!is_red(&image, (100.0 + edge + 1.5) as u32, 50));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_ball_anywhere_has_the_position_and_the_size_of_a_pinhole_picture(
        x in -4.0..4.0, y in -1.5..1.5, radius in 0.4..1.2,
    ) {
        let balls = [ball([x, y, 0.0], radius)];
        let image = picture(&balls, &[], looking([0.0, 0.0, 10.0], [0.0; 3], 40.0));
        let (column, row) = (100.0 + focal() * x / 10.0, 50.0 - focal() * y / 10.0);
        prop_assert!(is_red(&image, column as u32, row as u32), "its middle");
        // Sight lines that touch the ball make a cone, and the picture cuts it in an ellipse.
        let distance2 = 100.0 + x * x + y * y;
        let (sin2, tilt_cos2) = (radius * radius / distance2, 100.0 / distance2);
        let cut = tilt_cos2 - sin2;
        let area = std::f64::consts::PI * focal() * focal() * sin2 * (1.0 - sin2).sqrt() / (cut * cut.sqrt());
        let pixels = (0..100).flat_map(|row| (0..200).map(move |column| (column, row)));
        let red = pixels.filter(|(column, row)| is_red(&image, *column, *row)).count() as f64;
        // Pixels on the edge may count or not.
        let edge = 2.0 * (std::f64::consts::PI * area).sqrt();
        prop_assert!((red - area).abs() < 0.3 * edge, "{red} pixels, {area} expected");
    }

    #[test]
    fn the_camera_shows_every_body_by_itself(
        positions in prop::collection::vec(([-1.0..1.0, 0.0..1.0, -1.0..1.0], 0.02..0.2), 2..12),
        stretch in [0.1..20.0, 0.1..20.0, 0.1..20.0],
    ) {
        let bodies: Vec<Drawable> = positions
            .into_iter()
            .map(|(x, radius)| ball([x[0] * stretch[0], x[1] * stretch[1], x[2] * stretch[2]], radius))
            .collect();
        let view = view(&renderer(&bodies, &[ground()], size(320, 180)), &frame(&bodies));
        for body in &bodies {
            let (column, row, depth) = view.project(body.x).unwrap();
            let radius = body.shape.bounding_radius() / (depth * view.pixel_size());
            prop_assert!(column - radius >= 0.0 && column + radius <= 320.0, "{column} +- {radius}");
            prop_assert!(row - radius >= 0.0 && row + radius <= 180.0, "{row} +- {radius}");
        }
    }
}

fn brightness(image: &Image, at: (f64, f64, f64)) -> i32 {
    image.pixel(at.0 as u32, at.1 as u32).unwrap().iter().map(|c| i32::from(*c)).sum()
}

#[test]
fn shadows_fall_away_from_the_sun() {
    // The sun stands at (-0.36, 0.8, 0.48): the shadow of a ball at height 2 falls 0.9 m towards +X and
    // 1.2 m towards -Z.
    let balls = [ball([0.0, 2.0, 0.0], 0.5)];
    let options = RenderOptions {
        camera: Camera::look_at(Vec3::new(0.0, 12.0, 9.0), Vec3::zeros(), 40.0),
        ..size(400, 300)
    };
    let things = renderer(&balls, &[ground()], options);
    let (view, image) = (view(&things, &frame(&balls)), things.render(&frame(&balls)));
    let seen = |x: f64, z: f64| brightness(&image, view.project(Vec3::new(x, 0.0, z)).unwrap());
    let (shadow, mirrored) = (seen(0.9, -1.2), seen(-0.9, 1.2));
    assert!(shadow + 60 < mirrored, "shadow {shadow}, other side {mirrored}");
    // Its edge is soft: half a radius around the edge lies between light and dark.
    let edge = seen(0.9 + 0.5, -1.2);
    assert!(shadow < edge && edge < mirrored + 20, "{shadow} {edge} {mirrored}");
}

#[test]
fn a_closed_box_shows_what_is_in_it() {
    let (bodies, statics) = busy_scene();
    let image = picture(&bodies, &statics, size(160, 90));
    let pixels = (0..90).flat_map(|row| (0..160).map(move |column| (column, row)));
    let red = pixels.filter(|(column, row)| is_red(&image, *column, *row)).count();
    assert!(red > 1000, "{red} red pixels");
}

#[test]
fn colours_show_speeds() {
    let bodies = [ball([-1.0, 0.0, 0.0], 0.5), ball([1.0, 0.0, 0.0], 0.5)];
    let options = RenderOptions { colors: ColorBy::Speed, ..looking([0.0, 0.0, 10.0], [0.0; 3], 40.0) };
    let at_speed = |speed: f64| {
        let mut moving = frame(&bodies);
        moving.bodies[1].1.v = Vec3::x() * speed;
        moving
    };
    let mut things = renderer(&bodies, &[], options);
    let column = |x: f64| (100.0 + focal() * x / 10.0) as u32;
    let warm = |image: &Image, x: f64| {
        let [red, _, blue] = image.pixel(column(x), 46).unwrap();
        i32::from(red) - i32::from(blue)
    };
    let alone = things.render(&at_speed(3.0));
    assert!(warm(&alone, -1.0) < -40 && warm(&alone, 1.0) > 40);
    // The scale is that of all frames: 3 m/s is slow beside 30 m/s.
    things.fit_camera([at_speed(3.0), at_speed(30.0)]);
    assert!(warm(&things.render(&at_speed(3.0)), 1.0) < -40);
    assert!(warm(&things.render(&at_speed(30.0)), 1.0) > 40);
}

#[test]
fn a_fitted_camera_stays_where_it_is() {
    let bodies = [ball([0.0, 3.0, 0.0], 0.5), ball([2.0, 0.5, 0.0], 0.5)];
    let first = frame(&bodies);
    let mut later = first.clone();
    later.bodies[0].1.x.y = 0.5;
    let mut things = renderer(&bodies, &[ground()], size(160, 90));
    assert_ne!(view(&things, &first), view(&things, &later));
    things.fit_camera([&first, &later]);
    assert_eq!(view(&things, &first), view(&things, &later));
}

#[test]
fn odd_frames_and_scenes_have_pictures() {
    let bodies = [ball([0.0; 3], 0.5), ball([1.0, 0.0, 0.0], 0.5)];
    let things = renderer(&bodies, &[ground()], size(40, 30));
    let none = Frame { bodies: Vec::new(), ..frame(&bodies) };
    things.render(&none);
    for wrong in [f64::NAN, f64::INFINITY, 1e300, -1e15] {
        let mut odd = frame(&bodies);
        odd.bodies[0].1.x.y = wrong;
        odd.bodies[0].1.v.z = wrong;
        odd.bodies[1].1.q = quat_raw(wrong, 0.0, 0.0, 1.0);
        odd.bodies.push((BodyId(77), BodyState::at_rest(Vec3::zeros())));
        things.render(&odd);
    }
    for statics in
        [vec![], vec![ground()], vec![drawable(Shape::Box(Cuboid { half: Vec3::repeat(1e-9) }), [0.0; 3])]]
    {
        picture(&[], &statics, size(40, 30));
    }
    picture(&[ball([1e9, 1e9, 1e9], 1e-6)], &[], size(1, 1));
    picture(&[ball([0.0; 3], 1e9)], &[ground()], size(7, 300));
}

#[test]
fn a_scene_and_its_world_are_enough() {
    let toml = "[[body]]\nshape = { sphere = { radius = 0.5 } }\nposition = [0, 1, 0]\n";
    let scene: Scene = toml::from_str(toml).unwrap();
    let world = World::new(&scene).unwrap();
    let things = Renderer::new(&scene, &world, size(32, 18)).unwrap();
    let bodies = world.bodies.iter().map(|body| (body.id, body.start)).collect();
    let image = things.render(&Frame { index: 0, tick: 0, time_s: 0.0, bodies });
    assert_eq!((image.width(), image.height()), (32, 18));
}

#[test]
fn wrong_sizes_are_rejected() {
    for (width, height) in [(0, 10), (10, 0), (20_000, 10), (16_384, 16_384)] {
        let message = renderer_of(Vec::new(), Vec::new(), size(width, height)).err().unwrap().to_string();
        assert!(message.contains(&format!("{width}x{height}")) && message.contains("960x540"), "{message}");
    }
}

fn read_png(path: &Path) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path).unwrap()));
    reader.set_transformations(png::Transformations::IDENTITY);
    let mut reader = reader.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    (info.width, info.height, bytes)
}

#[test]
fn png_files_hold_the_picture() {
    let (bodies, statics) = busy_scene();
    let image = picture(&bodies, &statics, size(61, 35));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.png");
    image.write_png(&path).unwrap();
    assert_eq!(read_png(&path), (61, 35, image.bytes().to_vec()));
}

/// Reads an animation: all pictures as red, green and blue, and their delays.
fn read_gif(path: &Path) -> Vec<(Vec<u8>, u16)> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut reader = options.read_info(std::fs::File::open(path).unwrap()).unwrap();
    let (width, height) = (usize::from(reader.width()), usize::from(reader.height()));
    let mut canvas = vec![0; width * height * 3];
    let mut shown = Vec::new();
    while let Some(part) = reader.read_next_frame().unwrap() {
        for (at, pixel) in part.buffer.chunks_exact(4).enumerate().filter(|(_, pixel)| pixel[3] != 0) {
            let (x, y) = (at % usize::from(part.width), at / usize::from(part.width));
            let to = ((y + usize::from(part.top)) * width + x + usize::from(part.left)) * 3;
            canvas[to..to + 3].copy_from_slice(&pixel[..3]);
        }
        shown.push((canvas.clone(), part.delay));
    }
    shown
}

#[test]
fn gif_files_hold_the_pictures_that_were_pushed() {
    let bodies: Vec<Drawable> = (0..12).map(|i| ball([f64::from(i) - 6.0, 0.5, 0.0], 0.45)).collect();
    let mut things = renderer(&bodies, &[ground()], size(96, 54));
    let frames: Vec<Frame> = (0..7)
        .map(|k| {
            let mut frame = frame(&bodies);
            frame.index = k;
            frame.bodies[3].1.x.y += 0.3 * k as f64;
            frame
        })
        .collect();
    things.fit_camera(&frames);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.gif");
    let pace = Pace::new(60.0, Some(2)).unwrap();
    let mut writer = GifWriter::create(&path, 96, 54, pace).unwrap();
    let shown: Vec<Image> =
        frames.iter().filter(|frame| pace.shows(frame.index)).map(|frame| things.render(frame)).collect();
    for image in &shown {
        writer.push(image.clone()).unwrap();
    }
    // The same picture again: no pixels to write, but a delay.
    writer.push(shown[3].clone()).unwrap();
    assert_eq!(writer.len(), 5);
    writer.finish().unwrap();
    let decoded = read_gif(&path);
    assert_eq!(decoded.iter().map(|(_, delay)| *delay).collect::<Vec<_>>(), [3, 4, 3, 3, 4]);
    for (k, (canvas, _)) in decoded.iter().enumerate() {
        let image = &shown[k.min(3)];
        let errors = canvas.iter().zip(image.bytes()).map(|(a, b)| f64::from(a.abs_diff(*b)));
        let mean = errors.sum::<f64>() / canvas.len() as f64;
        assert!(mean < 3.0, "picture {k} is off by {mean} on average");
    }
    assert_eq!(decoded[3].0, decoded[4].0);
}

#[test]
fn an_animation_that_changes_its_colours_gets_a_new_palette() {
    let solid = |color: [u8; 3]| {
        let bodies = [Drawable { color, ..ball([0.0; 3], 1.0) }];
        picture(&bodies, &[], looking([0.0, 0.0, 4.0], [0.0; 3], 40.0))
    };
    let images = [solid([40, 40, 220]), solid([40, 40, 220]), solid([220, 200, 30])];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colours.gif");
    let mut writer = GifWriter::create(&path, 200, 100, Pace::new(10.0, None).unwrap()).unwrap();
    for image in images.clone() {
        writer.push(image).unwrap();
    }
    writer.finish().unwrap();
    for ((canvas, _), image) in read_gif(&path).iter().zip(&images) {
        let errors = canvas.iter().zip(image.bytes()).map(|(a, b)| f64::from(a.abs_diff(*b)));
        assert!(errors.sum::<f64>() / (canvas.len() as f64) < 3.0);
    }
}

#[test]
fn file_errors_name_the_file() {
    let image = picture(&[], &[], size(4, 4));
    let path = Path::new("no-such-folder/picture.png");
    assert!(image.write_png(path).unwrap_err().to_string().contains("no-such-folder/picture.png"));
    let path = Path::new("no-such-folder/run.gif");
    let pace = Pace::new(30.0, None).unwrap();
    assert!(
        GifWriter::create(path, 4, 4, pace).err().unwrap().to_string().contains("no-such-folder/run.gif")
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.gif");
    let mut writer = GifWriter::create(&path, 5, 4, pace).unwrap();
    let message = writer.push(image).unwrap_err().to_string();
    assert!(message.contains("run.gif") && message.contains("4x4") && message.contains("5x4"), "{message}");
}
