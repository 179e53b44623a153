//! Which bodies are in which cell: doubly linked lists through flat arrays.

/// No body, no cell.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Link {
    cell: u32,
    next: u32,
    former: u32,
}

/// The bodies of every cell.
#[derive(Clone, Default)]
pub(crate) struct Cells {
    first: Vec<u32>,
    links: Vec<Link>,
}

impl Cells {
    /// As many empty cells, and bodies that are in none.
    pub fn new(cells: usize, bodies: usize) -> Self {
        let mut all = Cells { first: vec![NONE; cells], links: Vec::new() };
        all.make_room(bodies);
        all
    }

    /// Room for so many bodies.
    pub fn make_room(&mut self, bodies: usize) {
        let links = self.links.len().max(bodies);
        self.links.resize(links, Link { cell: NONE, next: NONE, former: NONE });
    }

    /// The cell of a body, or [`NONE`].
    #[inline]
    pub fn cell_of(&self, body: u32) -> u32 {
        self.links[body as usize].cell
    }

    /// The first body of a cell, or [`NONE`].
    #[inline]
    pub fn first(&self, cell: u32) -> u32 {
        self.first[cell as usize]
    }

    /// The body after this one in its cell, or [`NONE`].
    #[inline]
    pub fn next(&self, body: u32) -> u32 {
        self.links[body as usize].next
    }

    /// Puts a body that is in no cell into one.
    pub fn enter(&mut self, body: u32, cell: u32) {
        let next = std::mem::replace(&mut self.first[cell as usize], body);
        self.links[body as usize] = Link { cell, next, former: NONE };
        if next != NONE {
            self.links[next as usize].former = body;
        }
    }

    /// Takes a body out of its cell.
    pub fn leave(&mut self, body: u32) {
        let Link { cell, next, former } = self.links[body as usize];
        match former {
            NONE => self.first[cell as usize] = next,
            former => self.links[former as usize].next = next,
        }
        if next != NONE {
            self.links[next as usize].former = former;
        }
        self.links[body as usize].cell = NONE;
    }
}
