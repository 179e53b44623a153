//! The constraint graph: bodies are its vertices, joints and contacts between them its edges.
//!
//! Static geometry is no vertex: it passes no force from one body to another.

/// The neighbours of every body.
#[derive(Clone, Debug, Default)]
pub struct ConstraintGraph {
    /// The neighbours of all vertices, one vertex after the other.
    neighbours: Vec<u32>,
    /// Where in `neighbours` those of each vertex begin, and the total at the end.
    begins: Vec<u32>,
}

impl ConstraintGraph {
    /// The graph of `vertices` bodies with these edges; an edge may be given more than once.
    pub fn new(vertices: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut begins = vec![0u32; vertices + 1];
        for (a, b) in edges.clone() {
            begins[a as usize + 1] += 1;
            begins[b as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            begins[vertex + 1] += begins[vertex];
        }
        let mut neighbours = vec![0u32; begins[vertices] as usize];
        let mut filled = begins.clone();
        for (a, b) in edges {
            for (from, to) in [(a, b), (b, a)] {
                neighbours[filled[from as usize] as usize] = to;
                filled[from as usize] += 1;
            }
        }
        ConstraintGraph { neighbours, begins }
    }

    /// How many vertices there are.
    pub fn len(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The vertices at the other ends of a vertex's edges.
    #[inline]
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        let range = self.begins[vertex as usize] as usize..self.begins[vertex as usize + 1] as usize;
        &self.neighbours[range]
    }
}

/// Walks a graph breadth first; keeps its scratch space from walk to walk.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    seen: Vec<u32>,
    round: u32,
    /// The vertices found, with their distance from the root, nearest first.
    found: Vec<(u32, u32)>,
}

impl Walk {
    /// Visits the vertices at most `depth` edges from `root`, the root first, until `visit` returns false. `visit` gets the
    /// vertex and its distance.
    pub fn from(
        &mut self,
        graph: &ConstraintGraph,
        root: u32,
        depth: u32,
        mut visit: impl FnMut(u32, u32) -> bool,
    ) {
        self.seen.resize(graph.len().max(self.seen.len()), 0);
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.seen.fill(0);
            self.round = 1;
        }
        self.found.clear();
        self.found.push((root, 0));
        self.seen[root as usize] = self.round;
        let mut at = 0;
        while let Some(&(vertex, distance)) = self.found.get(at) {
            at += 1;
            if !visit(vertex, distance) {
                return;
            }
            if distance == depth {
                continue;
            }
            for &next in graph.neighbours(vertex) {
                if self.seen[next as usize] != self.round {
                    self.seen[next as usize] = self.round;
                    self.found.push((next, distance + 1));
                }
            }
        }
    }

    /// All vertices at most `depth` edges from `root`, the root first.
    pub fn ball(&mut self, graph: &ConstraintGraph, root: u32, depth: u32) -> Vec<u32> {
        let mut ball = Vec::new();
        self.from(graph, root, depth, |vertex, _| {
            ball.push(vertex);
            true
        });
        ball
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_visit_exactly_the_vertices_within_their_depth() {
        let edges = [(0, 1), (1, 2), (2, 3), (0, 4), (1, 2)];
        let graph = ConstraintGraph::new(6, edges.iter().copied());
        let mut walk = Walk::default();
        let sorted = |mut ball: Vec<u32>| {
            ball.sort_unstable();
            ball
        };
        assert_eq!(sorted(walk.ball(&graph, 0, 0)), [0]);
        assert_eq!(sorted(walk.ball(&graph, 0, 1)), [0, 1, 4]);
        assert_eq!(sorted(walk.ball(&graph, 0, 9)), [0, 1, 2, 3, 4]);
        assert_eq!(sorted(walk.ball(&graph, 5, 9)), [5]);
        let mut distances = Vec::new();
        walk.from(&graph, 4, 3, |vertex, distance| {
            distances.push((vertex, distance));
            true
        });
        assert_eq!(distances, [(4, 0), (0, 1), (1, 2), (2, 3)]);
    }
}
