//! Lists and maps of a scene, counted while they are read: a short text may describe far more than memory holds.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, de};

use crate::scene::{Body, Scene, SceneError};

/// What the lists of a scene may take, MiB: some four million bodies. Reading takes up to four times as much.
const SCENE_MIB_MAX: u64 = 1024;

thread_local! {
    /// What the lists of the scene that this thread reads may still take, bytes.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Reads a scene: its lists have a limit in sum.
pub(crate) fn limited<R>(read: impl FnOnce() -> R) -> R {
    let before = LEFT.replace(SCENE_MIB_MAX << 20);
    let done = read();
    LEFT.set(before);
    done
}

/// Checks that a scene that is about to be written can be read again. Lists of millions other than bodies come from files.
pub(crate) fn check(scene: &Scene) -> Result<(), SceneError> {
    let bodies_max = (SCENE_MIB_MAX << 20) / size_of::<Body>() as u64;
    if scene.bodies.len() as u64 <= bodies_max {
        return Ok(());
    }
    Err(SceneError::new("body", problem(), format!("record at most {bodies_max} bodies")))
}

/// What is wrong with a scene beyond the limit.
pub(super) fn problem() -> String {
    format!("takes the scene beyond {SCENE_MIB_MAX} MiB of memory")
}

fn take<E: de::Error>(bytes: usize) -> Result<(), E> {
    LEFT.set(LEFT.get().checked_sub(bytes as u64).ok_or_else(|| E::custom(problem()))?);
    Ok(())
}

/// Reads a list.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(ListVisitor(PhantomData))
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> de::Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            take(size_of::<T>())?;
            list.push(element);
        }
        Ok(list)
    }
}

/// Reads a map.
pub(super) fn map<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    from.deserialize_map(MapVisitor(PhantomData))
}

struct MapVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> de::Visitor<'de> for MapVisitor<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry()? {
            // Nodes of the tree are about half full.
            take(2 * size_of::<(String, T)>())?;
            map.insert(key, value);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a scene while so many bytes are left.
    fn within(left: usize, text: &str) -> Result<Scene, String> {
        LEFT.set(left as u64);
        let read = serde_json::from_str(text).map_err(|error| error.to_string());
        LEFT.set(u64::MAX);
        read
    }

    #[test]
    fn every_list_counts() {
        let ball = r#"{"shape":{"sphere":{"radius":1}}}"#;
        let two = format!(r#"{{"body":[{ball},{ball}]}}"#);
        assert_eq!(within(2 * size_of::<Body>(), &two).unwrap().bodies.len(), 2);
        assert!(within(2 * size_of::<Body>() - 1, &two).unwrap_err().contains("beyond 1024 MiB"));
        for text in [
            r#"{"part":[{"bodies":[0,0,0,0]}]}"#,
            r#"{"part":[{"bodies":[]},{"bodies":[]},{"bodies":[]}]}"#,
            r#"{"materials":{"a":{}}}"#,
            r#"{"joint":[{"kind":"ball","a":0,"point":[0,0,0]}]}"#,
            r#"{"static":[{"shape":{"sphere":{"radius":1}}}]}"#,
            r#"{"body":[{"shape":{"hull":{"points":[[0,0,0],[0,0,0],[0,0,0]]}}}]}"#,
            r#"{"body":[{"shape":{"mesh":{"vertices":[[0,0,0],[0,0,0],[0,0,0]]}}}]}"#,
            r#"{"body":[{"shape":{"mesh":{"triangles":[[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0]]}}}]}"#,
        ] {
            let fixed = if text.contains("body\"") { size_of::<Body>() } else { 0 };
            assert!(within(fixed + 59, text).unwrap_err().contains("beyond"), "{text}");
            assert!(within(1 << 20, text).is_ok(), "{text}");
        }
    }
}
