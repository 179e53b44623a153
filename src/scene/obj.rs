//! Reads triangle meshes from OBJ text: vertices and faces. Colours, normals, groups and the rest are ignored.

use crate::scene::suggest::excerpt;
use crate::scene::{MESH_TRIANGLES_MAX, MESH_VERTICES_MAX};

/// Vertices and the triangles between them, counted from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ObjMesh {
    pub vertices: Vec<[f64; 3]>,
    pub triangles: Vec<[u32; 3]>,
}

/// An error in an OBJ text, and its line (from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjError {
    pub line: usize,
    pub problem: String,
    pub fix: String,
}

/// Reads vertices and faces. A face with more than three corners becomes a fan of triangles.
pub(super) fn read_obj(text: &str) -> Result<ObjMesh, ObjError> {
    let mut mesh = ObjMesh::default();
    // A face may name vertices that follow, so the largest number is checked at the end.
    let mut largest_vertex = (0, 0);
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let line_number = index + 1;
        let mut line = line.split('#').next().unwrap_or_default().trim().to_owned();
        while line.ends_with('\\') {
            line.pop();
            let (_, next) = lines.next().unwrap_or_default();
            line.push(' ');
            line.push_str(next.trim());
        }
        let mut words = line.split_ascii_whitespace();
        let result = match words.next() {
            Some("v") => add_vertex(&mut mesh, words),
            Some("f") => add_face(&mut mesh, words).map(|largest| {
                if largest > largest_vertex.0 {
                    largest_vertex = (largest, line_number);
                }
            }),
            _ => Ok(()),
        };
        result.map_err(|(problem, fix)| ObjError { line: line_number, problem, fix: fix.to_owned() })?;
    }
    if largest_vertex.0 as usize > mesh.vertices.len() {
        let (vertex, line) = largest_vertex;
        let problem = format!("the face names vertex {vertex} of {}", mesh.vertices.len());
        return Err(ObjError { line, problem, fix: "name vertices that exist, counted from 1".to_owned() });
    }
    if mesh.triangles.is_empty() {
        let problem = "the file ends without a single face".to_owned();
        let fix = "export the mesh with faces (`f` lines)".to_owned();
        return Err(ObjError { line: text.lines().count().max(1), problem, fix });
    }
    Ok(mesh)
}

type Complaint = (String, &'static str);

fn add_vertex<'a>(mesh: &mut ObjMesh, mut words: impl Iterator<Item = &'a str>) -> Result<(), Complaint> {
    let mut vertex = [0.0; 3];
    for number in &mut vertex {
        let word = words
            .next()
            .ok_or_else(|| ("the vertex has fewer than three numbers".to_owned(), "write `v x y z`"))?;
        *number = word.parse().ok().filter(|n: &f64| n.is_finite()).ok_or_else(|| {
            (format!("`{}` is not a finite number", excerpt(word)), "write `v x y z` with finite numbers")
        })?;
    }
    if mesh.vertices.len() >= MESH_VERTICES_MAX {
        return Err((format!("more than {MESH_VERTICES_MAX} vertices"), "use a smaller mesh"));
    }
    mesh.vertices.push(vertex);
    Ok(())
}

/// Adds the triangles of a face; the largest vertex number it names, counted from 1.
fn add_face<'a>(mesh: &mut ObjMesh, words: impl Iterator<Item = &'a str>) -> Result<u32, Complaint> {
    let (mut first, mut previous, mut corners, mut largest) = (0, 0, 0, 0);
    for word in words {
        let corner = vertex_number(word, mesh.vertices.len())?;
        largest = largest.max(corner);
        match corners {
            0 => first = corner,
            1 => {}
            _ if mesh.triangles.len() >= MESH_TRIANGLES_MAX => {
                return Err((format!("more than {MESH_TRIANGLES_MAX} triangles"), "use a smaller mesh"));
            }
            _ => mesh.triangles.push([first - 1, previous - 1, corner - 1]),
        }
        previous = corner;
        corners += 1;
    }
    if corners < 3 {
        return Err((format!("the face has {corners} corners"), "write at least three corners"));
    }
    Ok(largest)
}

/// The vertex of a corner such as `7`, `7/1`, `7//3` or `-1` (the last vertex so far), counted from 1.
fn vertex_number(word: &str, vertices_so_far: usize) -> Result<u32, Complaint> {
    let digits = word.split('/').next().unwrap_or_default();
    let wrong = || {
        let problem = format!("the corner `{}` names no vertex", excerpt(word));
        (problem, "count vertices from 1, or from -1 backwards")
    };
    let number: i64 = digits.parse().map_err(|_| wrong())?;
    let number = if number < 0 { number.saturating_add(vertices_so_far as i64 + 1) } else { number };
    u32::try_from(number).ok().filter(|n| *n > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn polygons_become_fans_and_slashes_are_ignored() {
        let text = "# a square and a triangle\r\no thing\nv 0 0 0\nv 1 0 0 1.0\nv 1 1 0\nv 0 1 -2.5e-1\nvn 0 0 1\n\
                    f 1/1/1 2//1 3/3 4\nf -4 -2 -1 # corners from the end\n";
        let mesh = read_obj(text).unwrap();
        assert_eq!(mesh.vertices, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, -0.25]]);
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 2, 3]]);
    }

    #[test]
    fn lines_may_continue_and_faces_may_come_first() {
        let mesh = read_obj("f 1 2 \\\n 3\nv 0 0 0\nv 1 0 0\nv 0 \\\n1 0\n").unwrap();
        assert_eq!((mesh.vertices.len(), mesh.triangles.as_slice()), (3, &[[0, 1, 2]][..]));
    }

    #[test]
    fn errors_name_the_line() {
        let corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
        for (text, line, problem) in [
            ("v 0 0\n".to_owned(), 1, "fewer than three"),
            ("v 0 0 x\n".to_owned(), 1, "`x` is not a finite number"),
            ("v 0 0 nan\n".to_owned(), 1, "not a finite number"),
            ("v 0 0 inf\n".to_owned(), 1, "not a finite number"),
            (format!("{corners}f 1 2\n"), 4, "has 2 corners"),
            (format!("{corners}f 1 2 0\n"), 4, "`0` names no vertex"),
            (format!("{corners}f 1 2 -4\n"), 4, "`-4` names no vertex"),
            (format!("{corners}f 1 2 99999999999\n"), 4, "names no vertex"),
            (format!("{corners}f 1 2 -9223372036854775808\n"), 4, "names no vertex"),
            (format!("{corners}f 1 2 3\nf 1 2 4\n"), 5, "vertex 4 of 3"),
            (corners.to_owned(), 3, "without a single face"),
            (String::new(), 1, "without a single face"),
            ("v 1 2 3 \\".to_owned(), 1, "without a single face"),
        ] {
            let error = read_obj(&text).unwrap_err();
            assert!(error.line == line && error.problem.contains(problem), "{text:?} gave {error:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_mesh_with_valid_triangles_or_an_error(
            text in "([vf#\\\\ ]{0,3}[-0-9a-f./ \\\\]{0,24}\n){0,24}"
        ) {
            if let Ok(mesh) = read_obj(&text) {
                let count = mesh.vertices.len() as u32;
                prop_assert!(mesh.triangles.iter().flatten().all(|index| *index < count));
            }
        }
    }
}
