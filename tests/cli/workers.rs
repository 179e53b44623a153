//! `--sync overlap`: its flags, scenes with joints, and arguments that are rejected.

use crate::program::Sandbox;

const CHAIN: &str = "
seconds = 0.5
[[static]]
name = \"post\"
shape = { box = { half_extents = [0.1, 1, 0.1] } }
position = [-0.2, 0, 0]
[[body]]
name = \"first\"
shape = { box = { half_extents = [0.4, 0.05, 0.05] } }
position = [0.5, 0, 0]
[[body]]
shape = { box = { half_extents = [0.4, 0.05, 0.05] } }
position = [1.5, 0, 0]
[[joint]]
kind = \"ball\"
a = \"first\"
b = \"post\"
point = [0, 0, 0]
[[joint]]
kind = \"hinge\"
a = \"first\"
b = 1
point = [1, 0, 0]
axis = [0, 0, 1]
";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("chain.toml", CHAIN);
    sandbox
}

#[test]
fn scenes_with_joints_are_run_by_workers_unless_told_otherwise() {
    let sandbox = sandbox();
    let told = sandbox.json(&["run", "chain.toml"]);
    assert_eq!(told["sync"], "overlap");
    assert_eq!(told["overlap"]["workers"], 2);
    assert!(told["overlap"]["joint_gaps"]["max_m"].as_f64().unwrap() < 0.05);
    let one = sandbox.json(&["run", "chain.toml", "--workers", "1", "--cores", "1"]);
    assert_eq!(one["overlap"]["workers"], 1);
    let checked = sandbox.good(&["check", "chain.toml"]);
    assert!(checked.contains("2 (1 ball, 1 hinge)"), "{checked}");
}

#[test]
fn digests_depend_on_workers_not_on_cores() {
    let sandbox = sandbox();
    let bowl = ["run", "bowl", "--bodies", "200", "--seconds", "1.2", "--sync", "overlap"];
    let digest = |more: &[&str]| sandbox.digest(&[&bowl, more].concat());
    let two = digest(&["--workers", "2", "--cores", "1"]);
    assert_eq!(digest(&["--workers", "2", "--cores", "2"]), two);
    assert_eq!(digest(&["--workers", "2", "--cores", "2", "--residual"]), two);
    assert_ne!(digest(&["--workers", "3", "--cores", "2"]), two);
}

#[test]
fn wrong_arguments_are_rejected_by_name() {
    let sandbox = sandbox();
    let changed = |from: &str, to: &str| CHAIN.replace(from, to);
    sandbox.write("unknown.toml", changed("a = \"first\"\nb = \"post\"", "a = \"firs\""));
    sandbox.write("id.toml", changed("b = 1\n", "b = 9\n"));
    sandbox.write("static.toml", changed("a = \"first\"\nb = \"post\"", "a = \"post\""));
    sandbox.write("itself.toml", changed("b = 1\n", "b = 0\n"));
    sandbox.write("zero_axis.toml", changed("axis = [0, 0, 1]", "axis = [0, 0, 0]"));
    sandbox.write("no_axis.toml", changed("axis = [0, 0, 1]", ""));
    sandbox.write("kind.toml", changed("\"ball\"", "\"bal\""));
    sandbox.write("part.toml", CHAIN.to_owned() + "[[part]]\nbodies = [0, \"thrid\"]\n");
    sandbox.write("twice.toml", CHAIN.to_owned() + "[[part]]\nbodies = [0, 1, 0]\n");
    sandbox.write("missing.toml", CHAIN.to_owned() + "[[part]]\nbodies = [0]\n");
    let table: &[(&str, &[&str])] = &[
        ("run unknown.toml", &["joint[0].a", "`firs`", "did you mean `first`?"]),
        ("run id.toml", &["joint[1].b", "no body with the id 9"]),
        ("run static.toml", &["joint[0]", "static geometry", "name a body"]),
        ("run itself.toml", &["joint[1].b", "with itself"]),
        ("run zero_axis.toml", &["joint[1].axis", "is zero"]),
        ("run no_axis.toml", &["joint[1].axis", "a hinge needs an axis"]),
        ("run kind.toml", &["joint[0].kind", "unknown kind of joint `bal`", "did you mean `ball`?"]),
        ("check part.toml", &["part[0].bodies[1]", "`thrid`"]),
        ("check twice.toml", &["part[0].bodies[2]", "already in part[0]"]),
        ("check missing.toml", &["part", "body[1] is in no part"]),
        ("run chain.toml --sync sequential", &["joint", "`--sync sequential`", "use `--sync overlap`"]),
        ("run chain.toml --sync timewarp", &["joint", "`--sync timewarp`", "use `--sync overlap`"]),
        ("run chain.toml --workers 0", &["workers", "0 workers for 2 bodies", "use 1 to 2"]),
        ("run chain.toml --workers 3", &["workers", "3 workers for 2 bodies"]),
        ("run chain.toml --gamma 2", &["gamma", "no two of 2 bodies", "use 0 to 1"]),
        ("run chain.toml --beta 0", &["beta", "is 0"]),
        ("run bowl --workers 2", &["--workers", "`--sync timewarp` has no workers", "use `--sync overlap`"]),
        ("run chain.toml --set group.iterations=0", &["group.iterations", "from 1.0 to 10000.0"]),
        ("run chain.toml --set joint[2].kind=ball", &["the list has 2 elements"]),
    ];
    for (arguments, parts) in table {
        let ended = sandbox.run(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(ended.code, Some(2), "{arguments}: {ended:?}");
        for part in *parts {
            assert!(ended.stderr.contains(part), "{part} is missing in {ended:?}");
        }
    }
}

#[test]
fn joints_can_be_set_from_the_command_line() {
    let sandbox = sandbox();
    let plain = sandbox.digest(&["run", "chain.toml"]);
    let stiff = sandbox.digest(&["run", "chain.toml", "--set", "joint[0].kind=fixed"]);
    assert_ne!(plain, stiff);
    let more = sandbox.digest(&["run", "chain.toml", "--set", "group.iterations=40"]);
    assert_ne!(plain, more);
}
