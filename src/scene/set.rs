//! Overrides single fields of a scene by their path, as `--set gravity=[0,-1.6,0]` does.
//!
//! A part of the scene is serialised, edited and read back, so every field can be set and the same rules hold
//! as for files. Only the part that the path names is touched, however many bodies there are.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::base::number::whole;
use crate::scene::explain::explain;
use crate::scene::suggest::{excerpt, listed, suggest};
use crate::scene::{Body, Joint, Material, Part, Scene, SceneError, StaticObject};

impl Scene {
    /// Sets the field at `path` (`response.iterations`, `body[3].velocity`, `materials.default.friction`) to
    /// `value`, a TOML value; a bare word is a string. An error leaves the scene as it was. The result is not
    /// validated.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), SceneError> {
        let steps = split_path(path)?;
        let value = read_value(path, value)?;
        match steps.as_slice() {
            [Step::Key(key), rest @ ..] if key == "body" => {
                set_in_list(&mut self.bodies, path, rest, value, |body: &Body| {
                    let mut tree = tree_of(body);
                    // Fields that are left out when they are zero can be set element by element, too.
                    fill(&mut tree, "velocity", &body.velocity);
                    fill(&mut tree, "angular_velocity", &body.angular_velocity);
                    fill(&mut tree, "orientation", &body.orientation);
                    tree
                })
            }
            [Step::Key(key), rest @ ..] if key == "static" => {
                set_in_list(&mut self.statics, path, rest, value, |object: &StaticObject| {
                    let mut tree = tree_of(object);
                    fill(&mut tree, "orientation", &object.orientation);
                    tree
                })
            }
            [Step::Key(key), rest @ ..] if key == "joint" => {
                set_in_list(&mut self.joints, path, rest, value, |joint: &Joint| {
                    let mut tree = tree_of(joint);
                    fill(&mut tree, "collide", &joint.collide);
                    tree
                })
            }
            [Step::Key(key), rest @ ..] if key == "part" => {
                set_in_list(&mut self.parts, path, rest, value, |part: &Part| tree_of(part))
            }
            _ => self.set_outside_lists(path, &steps, value),
        }
    }

    /// Sets a field that is neither in a body nor in a static object, without looking at those.
    fn set_outside_lists(&mut self, path: &str, steps: &[Step], value: Value) -> Result<(), SceneError> {
        let lists = self.take_lists();
        let mut tree = tree_of(self);
        self.put_lists(lists);
        fill(&mut tree, "group", &self.group);
        self.check_material_exists(path, steps)?;
        if let Some(materials) = tree.get_mut("materials").and_then(Value::as_object_mut) {
            materials.entry("default").or_insert_with(|| tree_of(&Material::default()));
        }
        put(&mut tree, path, steps, value)?;
        let had_default = self.materials.contains_key("default");
        let mut edited: Scene = read_back(tree, "")?;
        if !had_default && edited.materials.get("default") == Some(&Material::default()) {
            edited.materials.remove("default");
        }
        edited.put_lists(self.take_lists());
        *self = edited;
        Ok(())
    }

    fn take_lists(&mut self) -> Lists {
        use std::mem::take;
        (take(&mut self.statics), take(&mut self.bodies), take(&mut self.joints), take(&mut self.parts))
    }

    fn put_lists(&mut self, lists: Lists) {
        (self.statics, self.bodies, self.joints, self.parts) = lists;
    }

    /// A field of a material can be set only if the material exists: a typing error must not make a new one.
    fn check_material_exists(&self, path: &str, steps: &[Step]) -> Result<(), SceneError> {
        let [Step::Key(head), Step::Key(name), _, ..] = steps else { return Ok(()) };
        let known = ["default"].into_iter().chain(self.materials.keys().map(String::as_str));
        if head != "materials" || known.clone().any(|known| known == name) {
            return Ok(());
        }
        let near = suggest(name, known);
        let fix = format!("{near}; or set the whole material: `materials.NAME={{friction=0.5}}`");
        Err(SceneError::new(excerpt(path), format!("there is no material `{}`", excerpt(name)), fix))
    }
}

/// Lists that may be long, and are not touched unless they are named.
type Lists = (Vec<StaticObject>, Vec<Body>, Vec<Joint>, Vec<Part>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Splits `materials."my wood".friction` or `body[3].velocity[0]` into its steps.
fn split_path(path: &str) -> Result<Vec<Step>, SceneError> {
    let malformed = || {
        let fix = "write names separated by dots, with list elements in brackets: `body[3].velocity`";
        SceneError::new(excerpt(path), "is not the path of a field", fix)
    };
    let mut steps = Vec::new();
    let mut rest = path.trim();
    loop {
        let (key, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or_else(malformed)?,
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        if key.is_empty() {
            return Err(malformed());
        }
        steps.push(Step::Key(key.to_owned()));
        rest = after;
        while let Some(bracketed) = rest.strip_prefix('[') {
            let (index, after) = bracketed.split_once(']').ok_or_else(malformed)?;
            steps.push(Step::Index(index.trim().parse().map_err(|_| malformed())?));
            rest = after;
        }
        if rest.is_empty() {
            return Ok(steps);
        }
        rest = rest.strip_prefix('.').ok_or_else(malformed)?;
    }
}

/// Reads a TOML value; a bare word is a string.
fn read_value(path: &str, text: &str) -> Result<Value, SceneError> {
    let text = text.trim();
    let wrong = |problem: String| {
        let fix =
            "write a TOML value such as 4, 0.5, true, \"text\", [0, -1.6, 0] or { sphere = { radius = 1 } }";
        SceneError::new(excerpt(path), problem, fix)
    };
    if let Some(whole) = whole(text) {
        // Seeds use all 64 bits, TOML values in memory only 63. `1e6` may be meant as a count.
        return Ok(whole.into());
    }
    match text.parse::<toml::Value>() {
        Ok(value) => json_of(value).ok_or_else(|| wrong(format!("`{}` is not finite", excerpt(text)))),
        Err(_) if is_bare_word(text) => Ok(text.into()),
        Err(error) => {
            Err(wrong(format!("the value `{}` cannot be read: {}", excerpt(text), excerpt(error.message()))))
        }
    }
}

/// Whether the text is to be taken as a string, as it stands.
fn is_bare_word(text: &str) -> bool {
    let unexpected = |c: char| c.is_control() || "[]{}\"'=,".contains(c);
    !text.is_empty() && !text.contains(unexpected)
}

/// The same value as JSON; none if a number is not finite.
fn json_of(value: toml::Value) -> Option<Value> {
    Some(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(whole) => whole.into(),
        toml::Value::Float(number) => Value::Number(Number::from_f64(number)?),
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(list) => Value::Array(list.into_iter().map(json_of).collect::<Option<_>>()?),
        toml::Value::Table(table) => {
            let members = table.into_iter().map(|(key, value)| Some((key, json_of(value)?)));
            Value::Object(members.collect::<Option<Map<_, _>>>()?)
        }
    })
}

fn tree_of(part: &impl Serialize) -> Value {
    serde_json::to_value(part).expect("invariant: scenes have only string keys")
}

fn fill(tree: &mut Value, key: &str, field: &impl Serialize) {
    if let Some(members) = tree.as_object_mut() {
        members.entry(key).or_insert_with(|| tree_of(field));
    }
}

/// Sets something in a list of bodies or static objects, or the whole list.
fn set_in_list<T: DeserializeOwned>(
    list: &mut Vec<T>,
    path: &str,
    steps: &[Step],
    value: Value,
    to_tree: impl Fn(&T) -> Value,
) -> Result<(), SceneError> {
    let name = path.split(['.', '[']).next().unwrap_or(path).trim();
    match steps {
        [] => *list = read_back(value, name)?,
        [Step::Index(index), rest @ ..] => {
            let count = list.len();
            let element = list.get_mut(*index).ok_or_else(|| out_of_range(path, count))?;
            let mut tree = to_tree(element);
            put(&mut tree, path, rest, value)?;
            *element = read_back(tree, &format!("{name}[{index}]"))?;
        }
        [Step::Key(_), ..] => {
            let fix = format!("write which one: `{name}[0]`, counted from 0");
            return Err(SceneError::new(excerpt(path), "is a field of a list", fix));
        }
    }
    Ok(())
}

fn out_of_range(path: &str, count: usize) -> SceneError {
    let fix = match count {
        0 => "set something that exists".to_owned(),
        _ => format!("use an index from 0 to {}", count - 1),
    };
    SceneError::new(excerpt(path), format!("the list has {count} elements"), fix)
}

/// Replaces the value that `steps` lead to. All but the last step must exist; reading back checks the last.
fn put(tree: &mut Value, path: &str, steps: &[Step], value: Value) -> Result<(), SceneError> {
    let mut target = tree;
    for (depth, step) in steps.iter().enumerate() {
        let last = depth + 1 == steps.len();
        target = match (step, target) {
            (Step::Key(key), Value::Object(members)) => {
                if last {
                    members.entry(key.as_str()).or_insert(Value::Null)
                } else if members.contains_key(key) {
                    &mut members[key]
                } else {
                    let fix = suggest(key, members.keys().map(String::as_str));
                    return Err(SceneError::new(
                        excerpt(path),
                        format!("there is no `{}`", excerpt(key)),
                        fix,
                    ));
                }
            }
            (Step::Index(index), Value::Array(list)) => {
                let count = list.len();
                list.get_mut(*index).ok_or_else(|| out_of_range(path, count))?
            }
            (Step::Key(key), other) => {
                let problem = format!("there is nothing named `{}` in {}", excerpt(key), kind(other));
                return Err(SceneError::new(excerpt(path), problem, "set the whole value instead"));
            }
            (Step::Index(_), other) => {
                let fix = match &*other {
                    Value::Object(members) => {
                        format!("name one of its fields: {}", listed(members.keys().map(String::as_str)))
                    }
                    _ => "leave the brackets out".to_owned(),
                };
                return Err(SceneError::new(excerpt(path), format!("{} has no elements", kind(other)), fix));
            }
        };
    }
    *target = value;
    Ok(())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

/// Reads an edited part; `within` is the path of the part in the scene.
fn read_back<T: DeserializeOwned>(tree: Value, within: &str) -> Result<T, SceneError> {
    serde_path_to_error::deserialize(tree).map_err(|error| {
        let mut told = explain(error.path(), &error.inner().to_string(), None);
        if !within.is_empty() {
            let separator = if told.field.starts_with('[') { "" } else { "." };
            told.field = match told.field.as_str() {
                "scene" => within.to_owned(),
                field => format!("{within}{separator}{field}"),
            };
        }
        told
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Shape;

    fn scene() -> Scene {
        let ball = |x: f64| Body::new(Shape::Sphere { radius: 0.5 }, [x, -0.0, 5e-324]);
        Scene { bodies: (0..4).map(|i| ball(f64::from(i))).collect(), seed: u64::MAX, ..Scene::default() }
    }

    fn after(path: &str, value: &str) -> Scene {
        let mut scene = scene();
        scene.set(path, value).unwrap_or_else(|error| panic!("{path}={value}: {error}"));
        scene
    }

    fn error(path: &str, value: &str) -> String {
        let mut edited = scene();
        let told = edited.set(path, value).unwrap_err().to_string();
        assert_eq!(format!("{edited:?}"), format!("{:?}", scene()), "an error changed the scene");
        told
    }

    #[test]
    fn every_kind_of_field_can_be_set() {
        assert_eq!(after("response.iterations", "4").response.iterations, 4);
        assert_eq!(after("gravity", "[0,-1.6,0]").gravity, [0.0, -1.6, 0.0]);
        assert_eq!(after("gravity[1]", "-1.6").gravity, [0.0, -1.6, 0.0]);
        assert_eq!(after("materials.default.friction", "0.2").materials["default"].friction, 0.2);
        assert_eq!(after("materials.\"my wood\"", "{density=600}").materials["my wood"].density, 600.0);
        assert_eq!(after("ticks_per_second", "600").ticks_per_second, 600.0);
        assert_eq!(after("seconds", " 2 ").seconds, 2.0);
        assert_eq!(after("seed", "18446744073709551615").seed, u64::MAX);
        assert_eq!(after("response.warm_start", "false").response, {
            super::super::ResponseSettings { warm_start: false, ..Default::default() }
        });
        assert_eq!(after("name", "moon landing").name, "moon landing");
        assert_eq!(after("name", "\"42\"").name, "42");
        assert_eq!(after("body[3].velocity", "[1,0,0]").bodies[3].velocity, [1.0, 0.0, 0.0]);
        assert_eq!(after("body[3].velocity[2]", "-7").bodies[3].velocity, [0.0, 0.0, -7.0]);
        assert_eq!(after("body[0].shape.sphere.radius", "2").bodies[0].shape, Shape::Sphere { radius: 2.0 });
        let cube = Shape::Box { half_extents: [1.0; 3] };
        assert_eq!(after("body[0].shape", "{box={half_extents=[1,1,1]}}").bodies[0].shape, cube);
        assert_eq!(after("body", "[]").bodies, []);
        assert_eq!(after("static", "[{shape={half_space={normal=[0,1,0]}}}]").statics.len(), 1);
    }

    #[test]
    fn what_is_not_set_keeps_its_bits() {
        let mut expected = scene();
        expected.seconds = 9.0;
        assert_eq!(format!("{:?}", after("seconds", "9")), format!("{expected:?}"));
        let mut expected = scene();
        expected.bodies[1].name = Some("b".to_owned());
        assert_eq!(format!("{:?}", after("body[1].name", "b")), format!("{expected:?}"));
    }

    #[test]
    fn unknown_paths_are_refused_and_near_ones_named() {
        for (path, value, expected) in [
            ("secnds", "2", "secnds: unknown key; did you mean `seconds`?"),
            ("response.iteration", "2", "response.iteration: unknown key; did you mean `iterations`?"),
            ("respnse.iterations", "2", "there is no `respnse`; did you mean `response`?"),
            ("body[0].postion", "[1,2,3]", "body[0].postion: unknown key; did you mean `position`?"),
            ("body[4].position", "[1,2,3]", "the list has 4 elements; use an index from 0 to 3"),
            ("static[0].position", "[1,2,3]", "the list has 0 elements"),
            ("body.velocity", "[1,2,3]", "write which one: `body[0]`"),
            ("materials.defualt.friction", "1", "no material `defualt`; did you mean `default`?"),
            (
                "materials.default.frction",
                "1",
                "materials.default.frction: unknown key; did you mean `friction`?",
            ),
            ("body[0].shape.box.half_extents", "[1,1,1]", "there is no `box`"),
            ("gravity[3]", "1", "the list has 3 elements"),
            ("gravity.x", "1", "nothing named `x` in a list"),
            ("seconds[0]", "1", "a number has no elements"),
            ("response[0]", "1", "name one of its fields: `correction`"),
            ("", "1", "not the path of a field"),
            ("body[", "1", "not the path of a field"),
            ("body[-1].id", "1", "not the path of a field"),
            ("a..b", "1", "not the path of a field"),
        ] {
            let told = error(path, value);
            assert!(told.contains(expected), "{path}={value} told {told:?}");
        }
    }

    #[test]
    fn wrong_values_are_refused_with_the_right_form() {
        for (path, value, expected) in [
            (
                "seconds",
                "soon",
                "seconds: found string \"soon\", expected a number; write a number of seconds",
            ),
            (
                "gravity",
                "[0,-1]",
                "gravity: found invalid length 2, expected a list of three; write three numbers",
            ),
            ("gravity", "[0,-1,2,3]", "gravity: found invalid length 4"),
            ("seconds", "nan", "`nan` is not finite"),
            ("seconds", "[1", "cannot be read"),
            ("seconds", "1\nseed=3", "cannot be read"),
            ("ticks_per_frame", "1.5", "expected a whole number"),
            ("body[0].shape", "{sphere={radius=\"x\"}}", "body[0].shape.sphere.radius: found string \"x\""),
            ("body", "[{}]", "body[0].shape: is missing"),
            ("body[2]", "3", "body[2]: found integer `3`, expected a table"),
        ] {
            let told = error(path, value);
            assert!(told.contains(expected), "{path}={value} told {told:?}");
        }
    }

    #[test]
    fn setting_a_field_costs_the_same_for_many_bodies() {
        let mut scene = scene();
        let ball = scene.bodies[0].clone();
        scene.bodies.resize(65_536, ball);
        let start = std::time::Instant::now();
        for i in 0..2_000 {
            scene.set("seconds", &i.to_string()).unwrap();
            scene.set(&format!("body[{i}].velocity"), "[1,2,3]").unwrap();
        }
        // Re-serialising 65,536 bodies each time would take minutes.
        assert!(start.elapsed().as_secs() < 20, "took {:?}", start.elapsed());
    }
}
