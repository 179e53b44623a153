//! All other pairs of shapes: parry's manifolds, computed without its caches so that no history can change a bit.

use parry3d::query::{ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher};

use crate::base::math::{from_parry, to_parry_pose};
use crate::physics::collision::kernels::reduce::PointList;
use crate::physics::collision::kernels::{ContactPoint, Manifold, Placed};

/// Where the two come closer than `reach`, by parry.
pub(super) fn contact(a: &Placed, b: &Placed, reach: f64) -> Manifold {
    let relative = to_parry_pose(a.x, &a.q).inv_mul(&to_parry_pose(b.x, &b.q));
    let mut manifolds: Vec<ContactManifold<(), ()>> = Vec::new();
    let answered = a.shape.with_parry(|shape_a| {
        b.shape.with_parry(|shape_b| {
            DefaultQueryDispatcher.contact_manifolds(
                &relative,
                shape_a,
                shape_b,
                reach.max(0.0),
                &mut manifolds,
                &mut None,
            )
        })
    });
    // Pairs of half-spaces and meshes are the only ones that parry refuses, and neither ever moves.
    if answered.is_err() {
        return Manifold::empty();
    }
    manifolds.sort_by_key(|manifold| (manifold.subshape1, manifold.subshape2));
    let mut points = PointList::new();
    for manifold in &manifolds {
        // parry's normal points out of the first shape; ours points into it.
        let normal = -(a.q * from_parry(manifold.local_n1));
        let in_first = manifold.subshape_pos1();
        let part = u64::from(manifold.subshape1) << 32 | u64::from(manifold.subshape2);
        for found in manifold.points.iter().filter(|found| found.dist < reach) {
            let local = in_first.map_or(found.local_p1, |pose| *pose * found.local_p1);
            let on_a = a.x + a.q * from_parry(local);
            let feature = (u64::from(found.fid1.0) << 32 | u64::from(found.fid2.0))
                ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let point = on_a - normal * (0.5 * found.dist);
            points.push(ContactPoint { feature, point, normal, gap: found.dist });
        }
    }
    points.tell_features_apart();
    points.reduce()
}
