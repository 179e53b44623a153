//! Connected components of a graph, by union-find.

/// The connected components of the vertices `0..vertices`. Each is ascending, and they are in the order of their first
/// vertices. A vertex without an edge is a component of its own.
pub fn connected_components(vertices: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Vec<Vec<u32>> {
    // Every vertex points to a smaller one of its component, or to itself if it is the smallest.
    let mut parents: Vec<u32> = (0..vertices as u32).collect();
    for (a, b) in edges {
        let (a, b) = (root(&mut parents, a), root(&mut parents, b));
        parents[a.max(b) as usize] = a.min(b);
    }
    let mut components: Vec<Vec<u32>> = vec![Vec::new(); vertices];
    for vertex in 0..vertices as u32 {
        components[root(&mut parents, vertex) as usize].push(vertex);
    }
    components.retain(|component| !component.is_empty());
    components
}

/// The smallest vertex known to be connected with a vertex. Halves the path to it.
fn root(parents: &mut [u32], mut vertex: u32) -> u32 {
    while parents[vertex as usize] != vertex {
        parents[vertex as usize] = parents[parents[vertex as usize] as usize];
        vertex = parents[vertex as usize];
    }
    vertex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_ordered_by_their_first_vertices() {
        let found = connected_components(7, [(5, 3), (1, 3), (0, 6), (6, 0), (2, 2)]);
        assert_eq!(found, [vec![0, 6], vec![1, 3, 5], vec![2], vec![4]]);
        assert!(connected_components(0, []).is_empty());
    }
}
