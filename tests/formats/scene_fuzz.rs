//! Fuzzing of scenes: every scene reads back to the bit, and no text whatever makes the readers panic.

use anachron::scene::{
    Body, BodyRef, GroupSettings, Joint, JointKind, Material, Part, ResponseSettings, Scene, SceneFormat,
    Shape, StaticObject, parse,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// A scene with something of everything.
const EXAMPLE: &str = include_str!("../data/everything.toml");

fn same_bits(a: &Scene, b: &Scene) -> bool {
    // Unlike `==`, the text tells 0 from -0.
    format!("{a:?}") == format!("{b:?}")
}

// Strategies are boxed: nested as they are, their values would not fit on the stack of a debug build.

fn any_number() -> BoxedStrategy<f64> {
    prop_oneof![
        4 => -10.0..10.0,
        2 => any::<f64>().prop_filter("finite", |n| n.is_finite()),
        1 => proptest::num::f64::SUBNORMAL,
        1 => Just(-0.0),
        1 => Just(0.0),
        1 => Just(f64::MAX),
    ]
    .boxed()
}

fn any_vector() -> BoxedStrategy<[f64; 3]> {
    [any_number(), any_number(), any_number()].boxed()
}

fn any_text() -> BoxedStrategy<String> {
    prop_oneof!["[a-z]{1,8}", "\\PC{0,12}", any::<String>()].boxed()
}

fn any_shape() -> BoxedStrategy<Shape> {
    let points = || vec(any_vector(), 0..12);
    prop_oneof![
        any_number().prop_map(|radius| Shape::Sphere { radius }),
        any_vector().prop_map(|half_extents| Shape::Box { half_extents }),
        (any_number(), any_number()).prop_map(|(radius, half_height)| Shape::Capsule { radius, half_height }),
        (any_number(), any_number())
            .prop_map(|(radius, half_height)| Shape::Cylinder { radius, half_height }),
        (any_number(), any_number()).prop_map(|(radius, tube)| Shape::Ring { radius, tube }),
        points().prop_map(|points| Shape::Hull { points }),
        any_vector().prop_map(|normal| Shape::HalfSpace { normal }),
        (proptest::option::of(any_text()), points(), vec(any::<[u32; 3]>(), 0..12))
            .prop_map(|(file, vertices, triangles)| Shape::Mesh { file, vertices, triangles }),
    ]
    .boxed()
}

type Label = (Option<u32>, Option<String>, String);

fn any_label() -> BoxedStrategy<Label> {
    (
        any::<Option<u32>>(),
        proptest::option::of(any_text()),
        prop_oneof![Just("default".to_owned()), any_text()],
    )
        .boxed()
}

fn any_body() -> BoxedStrategy<Body> {
    let turn = [any_number(), any_number(), any_number(), any_number()];
    let turn = prop_oneof![Just([0.0, 0.0, 0.0, 1.0]), turn];
    (any_label(), any_shape(), any_vector(), turn, any_vector(), any_vector())
        .prop_map(|((id, name, material), shape, position, orientation, velocity, angular_velocity)| Body {
            id,
            name,
            shape,
            position,
            orientation,
            velocity,
            angular_velocity,
            material,
        })
        .boxed()
}

fn any_scene() -> BoxedStrategy<Scene> {
    let material = (any_number(), any_number(), any_number(), proptest::option::of(any_text())).prop_map(
        |(density, friction, restitution, color)| Material { density, friction, restitution, color },
    );
    let response = (any::<u32>(), any::<u32>(), any::<bool>(), any_number()).prop_map(
        |(iterations, rounds, warm_start, correction)| ResponseSettings {
            iterations,
            rounds,
            warm_start,
            correction,
        },
    );
    let as_static = |body: Body| StaticObject {
        id: body.id,
        name: body.name,
        shape: body.shape,
        position: body.position,
        orientation: body.orientation,
        material: body.material,
    };
    let top = (any_text(), any_number(), any_number(), any::<u32>(), any_vector(), any::<u64>());
    let group = (any::<u32>(), any::<bool>(), any_number(), any_number(), any::<u32>()).prop_map(
        |(iterations, warm_start, correction, closing, gamma)| GroupSettings {
            iterations,
            warm_start,
            correction,
            closing,
            gamma,
        },
    );
    let part = vec(any_body_ref(), 0..4).prop_map(|bodies| Part { bodies });
    let lists = (
        vec(any_body().prop_map(as_static), 0..4),
        vec(any_body(), 0..6),
        vec(any_joint(), 0..4),
        vec(part, 0..3),
        group,
    );
    (top, response, btree_map(any_text(), material, 0..4), lists)
        .prop_map(|(top, response, materials, lists)| {
            let (name, seconds, ticks_per_second, ticks_per_frame, gravity, seed) = top;
            let (statics, bodies, joints, parts, group) = lists;
            Scene {
                name,
                seconds,
                ticks_per_second,
                ticks_per_frame,
                gravity,
                seed,
                response,
                materials,
                statics,
                bodies,
                joints,
                parts,
                group,
            }
        })
        .boxed()
}

fn any_body_ref() -> BoxedStrategy<BodyRef> {
    prop_oneof![any_text().prop_map(BodyRef::Name), any::<u32>().prop_map(BodyRef::Id)].boxed()
}

fn any_joint() -> impl Strategy<Value = Joint> {
    let kind = prop_oneof![Just(JointKind::Ball), Just(JointKind::Hinge), Just(JointKind::Fixed)];
    let sides = (any_body_ref(), proptest::option::of(any_body_ref()));
    (kind, sides, any_vector(), proptest::option::of(any_vector()), any::<bool>())
        .prop_map(|(kind, (a, b), point, axis, collide)| Joint { kind, a, b, point, axis, collide })
}

/// A mistake in a text: some bytes replaced, removed, repeated, or replaced by something that looks right.
fn mutated(text: &str, edits: &[(usize, u8, u8)]) -> Vec<u8> {
    const TOKENS: &[&str] = &[
        "nan",
        "-inf",
        "1e308",
        "-0.0",
        "99999999999999999999",
        "[]",
        "{}",
        "[[body]]",
        "\"\"",
        "\u{feff}",
        "\n",
        "=",
        "shape",
        "mesh",
        "radius",
        "true",
        "null",
        ":",
        ",",
        "1979-05-27",
        "'''",
        "\\u0000",
        "id = 4294967295",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for (offset, kind, value) in edits {
        let at = offset % (bytes.len() + 1);
        let end = (at + usize::from(*value)).min(bytes.len());
        match kind % 5 {
            0 if at < bytes.len() => bytes[at] ^= value,
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at.max(bytes.len() / 4)),
            3 => drop(bytes.splice(at..end.min(at + 4), TOKENS[usize::from(*value) % TOKENS.len()].bytes())),
            _ => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

/// Reads a text in both forms and uses whatever comes out, which must not panic.
fn survive(text: &str) -> Result<(), TestCaseError> {
    for format in [SceneFormat::Toml, SceneFormat::Json] {
        match parse(text, format) {
            Ok(mut scene) => {
                let _ = scene.validate();
                let again = parse(&scene.to_toml(), SceneFormat::Toml);
                prop_assert!(again.is_ok_and(|again| same_bits(&again, &scene)));
                let _ = scene.set("body[0].velocity[1]", "1");
                let _ = scene.to_json();
            }
            Err(error) => prop_assert!(!error.field.is_empty() && !error.fix.is_empty(), "{error:?}"),
        }
    }
    Ok(())
}

proptest! {
    // More with PROPTEST_CASES.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(512), ..Default::default() })]

    #[test]
    fn any_scene_survives_being_written_and_read(scene in any_scene()) {
        let toml = scene.to_toml();
        let from_toml = parse(&toml, SceneFormat::Toml).map_err(|e| TestCaseError::fail(format!("{e}\n{toml}")))?;
        prop_assert!(same_bits(&scene, &from_toml), "{}", toml);
        let json = scene.to_json();
        let from_json = parse(&json, SceneFormat::Json).map_err(|e| TestCaseError::fail(format!("{e}\n{json}")))?;
        prop_assert!(same_bits(&scene, &from_json), "{}", json);
        let _ = scene.validate();
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        survive(&text)?;
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..256)) {
        survive(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn no_mistake_in_a_scene_panics(
        edits in vec((any::<usize>(), any::<u8>(), any::<u8>()), 1..8),
        json in any::<bool>(),
    ) {
        let example = parse(EXAMPLE, SceneFormat::Toml).expect("the example is right");
        let text = if json { example.to_json() } else { EXAMPLE.to_owned() };
        survive(&String::from_utf8_lossy(&mutated(&text, &edits)))?;
    }

    #[test]
    fn no_override_panics(path in "(body|static|response|materials|gravity|x)?(\\[[0-9]{0,2}\\]|\\.[a-z_]{1,8}|\\.|\"){0,4}",
                          value in prop_oneof!["\\PC{0,16}", "[-0-9.e\\[\\]{},=a-z\" ]{0,24}"]) {
        let example = parse(EXAMPLE, SceneFormat::Toml).expect("the example is right");
        let mut scene = example.clone();
        if scene.set(&path, &value).is_err() {
            prop_assert!(same_bits(&scene, &example));
        }
    }
}
