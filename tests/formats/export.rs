//! Exports hold what the frames hold: CSV to the bit, glTF by the rules that viewers rely on.

use anachron::export::gltf::GltfOptions;
use anachron::export::{ExportError, csv, gltf};
use anachron::internals::base::frame::Frame;
use anachron::internals::base::ids::BodyId;
use anachron::internals::base::math::{Quat, Vec3, quat_raw, rotation_exp};
use anachron::internals::base::state::{BodyState, STATE_FIELDS};
use anachron::internals::export::{BodyModel, Models, StaticModel, write_models};
use anachron::internals::physics;
use anachron::record::RecordError;
use anachron::scene::{Body, Material, Scene, Shape, StaticObject};
use anachron::{ControlFlow, Simulation};
use proptest::prelude::*;

use crate::glb::{Glb, floats, number};

fn named_body(name: &str, shape: Shape, position: [f64; 3]) -> Body {
    Body { name: Some(name.to_owned()), ..Body::new(shape, position) }
}

/// One body of every shape above a floor, a wall and a piece of mesh.
fn every_shape() -> Scene {
    let hull = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].to_vec();
    let mut scene = Scene { name: "every shape".to_owned(), seconds: 1.0, ..Scene::default() };
    let red = Material { color: Some("#ff8000".to_owned()), ..Material::default() };
    scene.materials.insert("red".to_owned(), red);
    scene.bodies = vec![
        named_body("ball", Shape::Sphere { radius: 0.5 }, [0.0, 1.0, 0.0]),
        named_body("box", Shape::Box { half_extents: [0.2, 0.3, 0.4] }, [2.0, 1.0, 0.0]).of("red"),
        named_body("capsule", Shape::Capsule { radius: 0.2, half_height: 0.4 }, [4.0, 1.0, 0.0]),
        named_body("tube", Shape::Cylinder { radius: 0.3, half_height: 0.4 }, [6.0, 1.0, 0.0]),
        named_body("ring", Shape::Ring { radius: 0.4, tube: 0.1 }, [0.0, 1.0, 3.0]),
        named_body("hull", Shape::Hull { points: hull }, [8.0, 1.0, 0.0]).of("red"),
        Body::new(Shape::Sphere { radius: 0.25 }, [0.0, 3.0, 0.0]).of("red"),
    ];
    let vertices = vec![[0.0, 0.5, 9.0], [5.0, 0.5, 9.0], [0.0, 2.0, 9.0]];
    let mesh = Shape::Mesh { file: None, vertices, triangles: vec![[0, 1, 2]] };
    scene.statics = vec![
        StaticObject::new(Shape::HalfSpace { normal: [0.0, 1.0, 0.0] }, [0.0; 3]),
        StaticObject::new(Shape::HalfSpace { normal: [-1.0, 0.0, 0.0] }, [12.0, 0.0, 0.0]),
        StaticObject::new(mesh, [0.0; 3]).of("red"),
    ];
    scene
}

fn simulated(scene: &Scene) -> Vec<Frame> {
    let mut frames = Vec::new();
    let run = Simulation::new(scene).unwrap().run(|frame| {
        frames.push(frame.clone());
        ControlFlow::Continue(())
    });
    run.unwrap();
    frames
}

fn ball(id: u32) -> BodyModel {
    let shape = physics::Shape::Sphere(physics::shape::Sphere { radius: 0.5 });
    BodyModel { id: BodyId(id), name: format!("ball {id}"), color: [255, 128, 0], shape }
}

fn frame(index: u64, bodies: &[(u32, BodyState)]) -> Frame {
    let bodies = bodies.iter().map(|(id, state)| (BodyId(*id), *state)).collect();
    Frame { index, tick: index * 4, time_s: 1.5 + index as f64 / 64.0, bodies }
}

fn at(x: f64) -> BodyState {
    BodyState::at_rest(Vec3::new(x, 1.0, 2.0))
}

fn export(models: &Models, frames: &[Frame], every: usize) -> Result<Glb, ExportError> {
    let mut file = Vec::new();
    write_models(models, frames.iter().cloned().map(Ok), GltfOptions { every }, &mut file)?;
    Ok(Glb::checked(&file))
}

fn models_of(bodies: &[BodyModel]) -> Models {
    Models { title: "test".to_owned(), bodies: bodies.to_vec(), statics: Vec::new() }
}

#[test]
fn a_run_with_every_shape_becomes_a_sound_file() {
    let scene = every_shape();
    let frames = simulated(&scene);
    let mut file = Vec::new();
    gltf::write(&scene, frames.iter().cloned().map(Ok), GltfOptions::default(), &mut file).unwrap();
    let glb = Glb::checked(&file);
    assert_eq!(glb.list("nodes").len(), 10);
    let pi = std::f64::consts::PI;
    let table = [
        ("ball", 4.0 / 3.0 * pi * 0.125),
        ("box", 8.0 * 0.2 * 0.3 * 0.4),
        ("capsule", 4.0 / 3.0 * pi * 0.008 + pi * 0.04 * 0.8),
        ("tube", pi * 0.09 * 0.8),
        ("ring", 2.0 * pi * pi * 0.4 * 0.01),
        ("hull", 1.0 / 6.0),
        ("body 6", 4.0 / 3.0 * pi * 0.015_625),
    ];
    for (name, expected) in table {
        let share = glb.volume(name) / expected;
        assert!((0.97..1.000_01).contains(&share), "{name}: {share}");
    }
    for (body, name) in ["ball", "box", "capsule", "tube", "ring", "hull", "body 6"].iter().enumerate() {
        let (times, positions, interpolation) = glb.channel(name, "translation").expect("it falls");
        assert_eq!((times.len(), interpolation), (frames.len(), "LINEAR"));
        for (position, frame) in positions.iter().zip(&frames) {
            let x = frame.bodies[body].1.x;
            assert_eq!(position, &[x.x, x.y, x.z].map(|n| f64::from(n as f32)), "{name}");
        }
    }
}

#[test]
fn like_shapes_share_a_mesh_and_colours_are_linear() {
    let mut bodies: Vec<BodyModel> = (0..4).map(ball).collect();
    bodies[1].shape = physics::Shape::Sphere(physics::shape::Sphere { radius: 2.0 });
    bodies[3].color = [0, 255, 10];
    let still: Vec<_> = (0..4).map(|id| (id, at(f64::from(id)))).collect();
    let glb = export(&models_of(&bodies), &[frame(0, &still)], 1).unwrap();
    assert_eq!((glb.list("meshes").len(), glb.list("materials").len()), (2, 2));
    let mesh = |name: &str| number(&glb.node(name).1["mesh"]);
    assert_eq!((mesh("ball 0"), mesh("ball 0")), (mesh("ball 1"), mesh("ball 2")));
    // One geometry: positions, normals, corners. Nothing moves, so there is no animation.
    assert_eq!((glb.list("accessors").len(), glb.list("animations").len()), (3, 0));
    assert_eq!(floats(&glb.node("ball 1").1["scale"]), [2.0, 2.0, 2.0]);
    let color = |at: usize| floats(&glb.list("materials")[at]["pbrMetallicRoughness"]["baseColorFactor"]);
    // From the definition of sRGB: 128/255 is 0.21586, 10/255 is 0.0030353.
    for (is, should) in color(0).iter().zip([1.0, 0.215_861, 0.0, 1.0]) {
        assert!((is - should).abs() < 1e-6, "{is}, {should}");
    }
    assert!((color(1)[2] - 0.003_035_3).abs() < 1e-7);
}

#[test]
fn bodies_are_hidden_while_they_do_not_exist() {
    let frames = [
        frame(0, &[(0, at(0.0)), (1, at(5.0))]),
        frame(1, &[(0, at(0.1)), (1, at(5.1))]),
        frame(2, &[(0, at(0.2)), (2, at(7.0))]),
        frame(3, &[(0, at(0.3)), (1, at(6.0)), (2, at(7.5))]),
    ];
    let glb = export(&models_of(&[ball(0), ball(1), ball(2), ball(3)]), &frames, 1).unwrap();
    assert!(glb.channel("ball 0", "scale").is_none(), "always there");
    let (_, scales, interpolation) = glb.channel("ball 1", "scale").unwrap();
    assert_eq!((scales, interpolation), ([0.5, 0.5, 0.0, 0.5].map(|s| vec![s; 3]).to_vec(), "STEP"));
    let (_, scales, _) = glb.channel("ball 2", "scale").unwrap();
    assert_eq!(scales, [0.0, 0.0, 0.5, 0.5].map(|s| vec![s; 3]));
    assert_eq!(floats(&glb.node("ball 2").1["scale"]), [0.0; 3], "not there at first");
    let positions =
        |name| glb.channel(name, "translation").unwrap().1.iter().map(|x| x[0]).collect::<Vec<_>>();
    assert_eq!(positions("ball 1"), [5.0, 5.1f32.into(), 5.1f32.into(), 6.0]);
    assert_eq!(positions("ball 2"), [7.0, 7.0, 7.0, 7.5]);
    assert_eq!(glb.list("nodes").len(), 3, "ball 3 never was");
}

#[test]
fn fewer_frames_keep_the_first_and_the_last() {
    let frames: Vec<Frame> = (0..10).map(|index| frame(index, &[(0, at(index as f64))])).collect();
    for (every, kept) in
        [(0, (0..10).collect()), (3, vec![0, 3, 6, 9]), (4, vec![0, 4, 8, 9]), (99, vec![0, 9])]
    {
        let glb = export(&models_of(&[ball(0)]), &frames, every).unwrap();
        let (times, positions, _) = glb.channel("ball 0", "translation").unwrap();
        assert_eq!(times, kept.iter().map(|n| f64::from(*n) / 64.0).collect::<Vec<_>>());
        assert_eq!(positions.iter().map(|x| x[0] as i32).collect::<Vec<_>>(), kept);
    }
}

#[test]
fn planes_are_shown_where_the_bodies_are() {
    let plane = |normal: Vec3, x: Vec3, q: Quat| {
        let shape = physics::Shape::HalfSpace(physics::shape::HalfSpace { normal });
        StaticModel { name: "plane".to_owned(), color: [9, 9, 9], shape, x, q }
    };
    let turned = rotation_exp(Vec3::new(0.3, -0.2, 0.9));
    let table = [
        plane(Vec3::y(), Vec3::new(0.0, -3.0, 0.0), Quat::identity()),
        plane(-Vec3::y(), Vec3::new(0.0, 9.0, 0.0), Quat::identity()),
        plane(Vec3::x(), Vec3::new(5.0, 9.0, 100.0), turned),
    ];
    for object in table {
        let (normal, point) = (object.q * physics_normal(&object), object.x);
        let models = Models { statics: vec![object], ..models_of(&[ball(0)]) };
        let glb = export(&models, &[frame(0, &[(0, at(100.0))]), frame(1, &[(0, at(120.0))])], 1).unwrap();
        let node = glb.node("plane").1;
        let [x, q] = [&node["translation"], &node["rotation"]].map(floats);
        let (x, q) = (Vec3::new(x[0], x[1], x[2]), quat_raw(q[0], q[1], q[2], q[3]));
        assert!((q * Vec3::y() - normal).norm() < 1e-6, "faces out of the solid");
        assert!(normal.dot(&(x - point)).abs() < 1e-5, "lies in the plane");
        let bodies = Vec3::new(110.0, 1.0, 2.0);
        let beside = (x - bodies) - normal * normal.dot(&(x - bodies));
        assert!(beside.norm() < 1e-4, "is centred on what happens");
        assert!(floats(&node["scale"])[0] > 10.0, "is large enough");
    }
}

fn physics_normal(object: &StaticModel) -> Vec3 {
    match object.shape {
        physics::Shape::HalfSpace(physics::shape::HalfSpace { normal }) => normal,
        _ => panic!("not a plane"),
    }
}

#[test]
fn errors_name_the_number_that_gltf_cannot_hold() {
    let models = models_of(&[ball(0), ball(1)]);
    let error = |frames: &[Frame]| export(&models, frames, 1).err().unwrap().to_string();
    let good = frame(0, &[(0, at(0.0)), (1, at(1.0))]);
    for (change, named) in [
        ((|state| state.x.y = f64::NAN) as fn(&mut BodyState), "x.y is NaN"),
        (|state| state.x.z = 1e39, "x.z is 1e39"),
        (|state| state.q = quat_raw(0.0, f64::INFINITY, 0.0, 1.0), "q.y is inf"),
        (|state| state.q = quat_raw(0.0, 0.0, 0.0, 0.0), "the length of q is 0.0"),
    ] {
        let mut bad = frame(7, &[(0, at(0.0)), (1, at(1.0))]);
        change(&mut bad.bodies[1].1);
        let text = error(&[good.clone(), bad]);
        assert!(text.starts_with(&format!("frame 7, body 1: {named}")), "{text}");
    }
    let unknown = error(&[frame(3, &[(0, at(0.0)), (8, at(1.0))])]);
    assert!(unknown.starts_with("frame 3 has body 8, which the scene does not"), "{unknown}");
    assert_eq!(error(&[]), "there are no frames to export; record at least one");
}

#[test]
fn an_error_in_the_frames_is_returned() {
    let broken = || RecordError::Broken { path: "run.anr".into() };
    let frames = || [Ok(frame(0, &[(0, at(0.0))])), Err(broken())];
    let models = models_of(&[ball(0)]);
    let result = write_models(&models, frames(), GltfOptions::default(), Vec::new());
    assert!(matches!(result, Err(ExportError::Record(RecordError::Broken { .. }))));
    let mut text = Vec::new();
    let result = csv::write(&Scene::default(), frames(), &mut text);
    assert!(matches!(result, Err(ExportError::Record(RecordError::Broken { .. }))));
    assert_eq!(String::from_utf8(text).unwrap().lines().count(), 2, "good frames are written");
}

fn any_pose() -> impl Strategy<Value = BodyState> {
    let angle = prop::array::uniform3(-10.0..10.0f64);
    (prop::array::uniform3(-1e3..1e3f64), angle, any::<bool>()).prop_map(|(x, angle, flip)| {
        let q = rotation_exp(Vec3::from(angle)).coords * if flip { -1.0 } else { 1.0 };
        BodyState { q: quat_raw(q.x, q.y, q.z, q.w), ..BodyState::at_rest(Vec3::from(x)) }
    })
}

proptest! {
    #[test]
    fn any_motion_becomes_a_sound_file(
        motion in prop::collection::vec((any_pose(), prop::option::of(any_pose())), 1..20),
        every in 1usize..4,
    ) {
        let frames: Vec<Frame> = (0..)
            .zip(&motion)
            .map(|(index, (a, b))| {
                let mut bodies = vec![(0, *a)];
                bodies.extend(b.map(|b| (1, b)));
                frame(index, &bodies)
            })
            .collect();
        let glb = export(&models_of(&[ball(0), ball(1)]), &frames, every).unwrap();
        if let Some((_, rotations, _)) = glb.channel("ball 0", "rotation") {
            let kept = (0..frames.len()).filter(|n| n % every == 0 || n + 1 == frames.len());
            for (rotation, n) in rotations.iter().zip(kept) {
                let q = frames[n].bodies[0].1.q;
                let dot: f64 = rotation.iter().zip([q.i, q.j, q.k, q.w]).map(|(a, b)| a * b).sum();
                prop_assert!((dot.abs() - 1.0).abs() < 1e-6, "turned by something else");
            }
        }
    }

    #[test]
    fn csv_reads_back_to_the_bit(numbers in prop::array::uniform13(any::<u64>().prop_map(f64::from_bits))) {
        let state = BodyState::from_array(numbers);
        let mut text = Vec::new();
        csv::write(&Scene::default(), [Ok(frame(3, &[(5, state)]))], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let row = text.lines().nth(1).unwrap();
        let read: Vec<f64> = row.split(',').skip(5).map(|number| number.parse().unwrap()).collect();
        for (read, original) in read.iter().zip(numbers) {
            // A NaN stays one, but text cannot hold its other bits.
            prop_assert!(read.to_bits() == original.to_bits() || read.is_nan() && original.is_nan());
        }
        prop_assert_eq!(read.len(), 13);
    }
}

#[test]
fn csv_has_one_row_per_body_and_frame() {
    let mut scene = Scene::default();
    let body = |name: Option<&str>, id| Body {
        name: name.map(str::to_owned),
        id,
        ..Body::new(Shape::Sphere { radius: 0.5 }, [0.0; 3])
    };
    scene.bodies = vec![body(Some("8, \"eight\""), Some(8)), body(None, Some(2)), body(Some("cue"), Some(4))];
    let frames = [frame(0, &[(2, at(0.1)), (4, at(-0.0)), (8, at(1e-7))]), frame(1, &[(8, at(1e300))])];
    let mut text = Vec::new();
    assert_eq!(csv::write(&scene, frames.map(Ok), &mut text).unwrap(), 4);
    let rest = "1.0,2.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0";
    let expected = format!(
        "frame,tick,time_s,body,name,{}\n\
         0,0,1.5,2,,0.1,{rest}\n\
         0,0,1.5,4,cue,-0.0,{rest}\n\
         0,0,1.5,8,\"8, \"\"eight\"\"\",1e-7,{rest}\n\
         1,4,1.515625,8,\"8, \"\"eight\"\"\",1e300,{rest}\n",
        STATE_FIELDS.join(",")
    );
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}
