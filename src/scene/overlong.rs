//! Finds lists in TOML that are longer than their field allows: the TOML reader would silently drop the rest.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::scene::explain::key_text;

/// A list that is longer than its field allows.
pub(super) struct OverlongList {
    /// The key that says what the list is.
    pub field: String,
    pub len: usize,
    pub len_max: usize,
    /// Where it begins in the text.
    pub offset: usize,
    /// The steps of its path, from the list outwards.
    steps_outwards: Vec<String>,
}

impl OverlongList {
    /// The path as written in the file, such as `body[3].position`.
    pub(super) fn path(&self) -> String {
        let path: String = self.steps_outwards.iter().rev().map(String::as_str).collect();
        path.trim_start_matches('.').to_owned()
    }

    fn inside(mut self, step: String) -> Self {
        self.steps_outwards.push(step);
        self
    }
}

/// How many elements the list of a field may have, and each list in it.
fn limits(field: &str) -> (usize, usize) {
    match field {
        "gravity" | "position" | "velocity" | "angular_velocity" | "half_extents" | "normal" | "point"
        | "axis" => (3, usize::MAX),
        "orientation" => (4, usize::MAX),
        "points" | "vertices" | "triangles" => (usize::MAX, 3),
        _ => (usize::MAX, usize::MAX),
    }
}

/// The first overlong list anywhere in the table.
pub(super) fn overlong_in(table: &DeTable<'_>) -> Option<OverlongList> {
    table.iter().find_map(|(key, value)| {
        let field: &str = key.get_ref();
        let found = match value.get_ref() {
            DeValue::Table(inner) => overlong_in(inner),
            DeValue::Array(_) => overlong_list(field, value),
            _ => None,
        }?;
        Some(found.inside(format!(".{}", key_text(field))))
    })
}

/// The list of a field, if it is overlong, or the first overlong list in it.
fn overlong_list(field: &str, list: &Spanned<DeValue<'_>>) -> Option<OverlongList> {
    let (len_max, element_len_max) = limits(field);
    let elements = list.get_ref().as_array()?;
    check_length(field, list, len_max).or_else(|| {
        elements.iter().enumerate().find_map(|(index, element)| {
            let found = match element.get_ref() {
                DeValue::Table(inner) => overlong_in(inner),
                _ => check_length(field, element, element_len_max),
            }?;
            Some(found.inside(format!("[{index}]")))
        })
    })
}

fn check_length(field: &str, list: &Spanned<DeValue<'_>>, len_max: usize) -> Option<OverlongList> {
    let len = list.get_ref().as_array()?.len();
    (len > len_max).then(|| OverlongList {
        field: field.to_owned(),
        len,
        len_max,
        offset: list.span().start,
        steps_outwards: Vec::new(),
    })
}
