//! Evaluating flights and looking for contacts of balls allocates nothing: it is done for every body at every tick, or
//! for every pair that comes near.
#![allow(unsafe_code, reason = "an allocator that counts cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use anachron::internals::physics::{Flight, FlightCursor, World, first_touch, touching, touching_static};
use anachron::scene::{Body, Scene, Shape};

use crate::laws::{ball, floor, scene, walls, weightless};

/// The system's allocator, and how often each thread has asked it for memory.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending has no counter any more; nothing is measured there.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations_of(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

fn world(scene: &Scene) -> World {
    World::new(scene).expect("the scene is valid")
}

fn flights(world: &World) -> Vec<Flight> {
    world.bodies.iter().map(|body| Flight { since: 0, origin: body.start }).collect()
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations_of(|| drop(black_box(Box::new(1)))), 1);
    assert_eq!(allocations_of(|| drop(black_box(Vec::<u8>::new()))), 0);
}

/// Balls in closed form, and bodies that tumble.
#[test]
fn evaluating_flights_allocates_nothing() {
    let mut scene = scene(0.3, 0.5);
    scene.bodies = [
        Shape::Sphere { radius: 0.5 },
        Shape::Box { half_extents: [0.1, 0.2, 0.3] },
        Shape::Capsule { radius: 0.1, half_height: 0.4 },
        Shape::Cylinder { radius: 0.3, half_height: 0.1 },
        Shape::Hull { points: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] },
    ]
    .map(|shape| Body { angular_velocity: [1.0, 2.0, 3.0], ..Body::new(shape, [0.0, 5.0, 0.0]) })
    .into();
    let world = world(&scene);
    let flights = flights(&world);
    let count = allocations_of(|| {
        for (body, flight) in world.bodies.iter().zip(&flights) {
            let mut cursor = FlightCursor::new(*flight);
            for tick in [0, 1, 17, 240] {
                black_box(flight.state_at(&world, body, tick));
                black_box(cursor.state_at(&world, body, tick));
                black_box(flight.swept_aabb(&world, body, tick, tick + 64));
            }
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn first_touches_of_balls_allocate_nothing() {
    for mut scene in [scene(0.3, 0.5), weightless(0.0, 1.0)] {
        scene.bodies = vec![
            ball(0.5, [0.0, 5.0, 0.0]).moving([2.0, 0.0, 0.0]),
            ball(0.5, [3.0, 5.2, 0.0]).moving([-2.0, 0.0, 0.0]),
            ball(0.5, [3.0, 5.0, 7.0]),
        ];
        let world = world(&scene);
        let flights = flights(&world);
        let mut met = [None; 2];
        let count = allocations_of(|| {
            met = [1, 2].map(|other| {
                let (a, b) = ((&world.bodies[0], &flights[0]), (&world.bodies[other], &flights[other]));
                first_touch(&world, a, b, 0, 480)
            });
        });
        assert!(met[0].is_some() && met[1].is_none(), "one touches, one does not: {met:?}");
        assert_eq!(count, 0);
    }
}

#[test]
fn the_touching_predicate_of_balls_allocates_nothing() {
    let mut scene = scene(0.3, 0.5);
    scene.bodies = vec![ball(0.5, [0.0, 0.5, 0.0]), ball(0.5, [0.999, 0.5, 0.0])];
    scene.statics = walls(3.0);
    scene.statics.push(floor());
    let world = world(&scene);
    let mut touches = 0;
    let count = allocations_of(|| {
        let [a, b] = [&world.bodies[0], &world.bodies[1]];
        touches += usize::from(touching(&world.rule, a, &a.start, b, &b.start).is_some());
        for object in &world.statics {
            touches += usize::from(touching_static(&world.rule, a, &a.start, object).is_some());
        }
    });
    assert_eq!((count, touches), (0, 2), "allocations, touches");
}
