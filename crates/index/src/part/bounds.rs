//! Upper bounds of the weights of a block, for every formula, k1 and b.
//!
//! Every formula grows with tf and falls with the length. So the largest weight of a block belongs
//! to an undominated posting: no other posting has at least its tf and at most its length (the
//! Pareto front). A block keeps five points that dominate all of its postings. They are the front
//! itself if it is small; otherwise neighbours of the front are joined. A tf is rounded up and a
//! length down to one of 256 values.

use bytemuck::{Pod, Zeroable};

use tokapi_weigh::formula::Bm25;
use tokapi_weigh::formula::Statistics;

/// The number of points.
pub(crate) const POINTS: usize = 5;

/// A tf and a length, by their codes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Point {
    pub tf: u8,
    pub length: u8,
}

/// The points of a block or of a list. Fewer than five points are filled up with copies of the
/// last.
pub(crate) type Front = [Point; POINTS];

/// The tf of every code: the code itself up to 127, then increasing steps.
const TFS: [u32; 256] = {
    let mut tfs = [u32::MAX; 256];
    let mut code = 0;
    while code < 255 {
        tfs[code] = match code {
            0..128 => code as u32,
            // A factor of 1.146: 127 steps lead to 2^32.
            _ => (tfs[code - 1] as u64 * 1146 / 1000) as u32,
        };
        code += 1;
    }
    tfs
};

/// The lowest code whose tf is at least `tf`.
pub(crate) fn tf_code(tf: u32) -> u8 {
    match tf {
        0..128 => tf as u8,
        // The last code covers every tf.
        _ => TFS.partition_point(|&stands_for| stands_for < tf) as u8,
    }
}

/// The lengths of the 256 codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LengthCodes {
    /// Ascending; the first is the smallest length of the part.
    starts: [u32; 256],
}

impl LengthCodes {
    /// Codes for lengths from `least` to `most`; neighbouring codes differ by about a constant
    /// factor.
    pub fn new(least: u32, most: u32) -> Self {
        let least = least.min(most);
        let factor = (f64::from(most.max(1)) / f64::from(least.max(1))).powf(1.0 / 255.0);
        let mut starts = [least; 256];
        for code in 1..256 {
            let geometric = f64::from(least.max(1)) * factor.powi(code as i32);
            // The cast saturates.
            starts[code] = (geometric as u32).max(starts[code - 1].saturating_add(1));
        }
        LengthCodes { starts }
    }

    /// Codes read from a file.
    pub fn of_starts(starts: &[u32]) -> Option<Self> {
        let starts: [u32; 256] = starts.try_into().ok()?;
        starts.is_sorted().then_some(LengthCodes { starts })
    }

    /// The lengths of the codes.
    pub fn starts(&self) -> &[u32; 256] {
        &self.starts
    }

    /// The highest code whose length is at most `length`, which is not below the first.
    pub fn code(&self, length: u32) -> u8 {
        // At least one code qualifies, and there are 256.
        (self.starts.partition_point(|&start| start <= length).max(1) - 1) as u8
    }
}

/// Computes fronts, and reuses its buffers.
pub(crate) struct FrontFinder {
    /// The minimum length for every tf; [`NONE`] if there is none.
    lengths: [u16; 256],
    points: Vec<Point>,
    norms: [f64; 256],
}

const NONE: u16 = 256;

impl FrontFinder {
    /// Joins the points whose join raises the bound least under the default parameters.
    pub fn new(codes: &LengthCodes, statistics: &Statistics) -> Self {
        let bm25 = Bm25::default();
        FrontFinder {
            lengths: [NONE; 256],
            points: Vec::new(),
            norms: codes
                .starts
                .map(|length| bm25.k1 * bm25.norm(length, statistics)),
        }
    }

    /// The front of `points`, which are not empty.
    pub fn find(&mut self, points: impl Iterator<Item = Point>) -> Front {
        let mut most = 0;
        for point in points {
            let least = &mut self.lengths[usize::from(point.tf)];
            *least = (*least).min(point.length.into());
            most = most.max(point.tf);
        }
        self.points.clear();
        let mut least = NONE;
        for tf in (0..=most).rev() {
            let length = std::mem::replace(&mut self.lengths[usize::from(tf)], NONE);
            if length < least {
                least = length;
                // Below 256.
                let length = length as u8;
                self.points.push(Point { tf, length });
            }
        }
        while self.points.len() > POINTS {
            self.join();
        }
        let last = self.points[self.points.len() - 1];
        std::array::from_fn(|place| self.points.get(place).copied().unwrap_or(last))
    }

    /// Joins the two neighbours whose join raises the bound least.
    fn join(&mut self) {
        let joined = |pair: &[Point]| Point {
            tf: pair[0].tf,
            length: pair[1].length,
        };
        let weight = |point: &Point| {
            let tf = f64::from(TFS[usize::from(point.tf)]);
            tf / (tf + self.norms[usize::from(point.length)])
        };
        let costs = self.points.windows(2).map(|pair| weight(&joined(pair)));
        let cheapest = costs.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((place, _)) = cheapest {
            self.points[place] = joined(&self.points[place..place + 2]);
            self.points.remove(place + 1);
        }
    }
}

/// The tf of a point.
#[inline(always)]
pub(crate) fn tf_of(point: Point) -> f64 {
    f64::from(TFS[usize::from(point.tf)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_round_to_the_safe_side() {
        for tf in (1..1000).chain([1 << 20, 1 << 31, u32::MAX]) {
            let code = tf_code(tf);
            assert!(TFS[usize::from(code)] >= tf, "{tf}");
            assert!(code == 0 || TFS[usize::from(code) - 1] < tf, "{tf}");
        }
        assert!(TFS.is_sorted());
        for (least, most) in [
            (0, 0),
            (1, 1),
            (3, 300),
            (0, u32::MAX),
            (u32::MAX, u32::MAX),
        ] {
            let codes = LengthCodes::new(least, most);
            for length in [least, least.midpoint(most), most] {
                let start = codes.starts()[usize::from(codes.code(length))];
                assert!(start <= length, "{start} is not below {length}");
            }
            assert_eq!(
                LengthCodes::of_starts(codes.starts()).as_ref(),
                Some(&codes)
            );
        }
    }

    proptest! {
        #[test]
        fn no_point_lies_beyond_a_front(points in prop::collection::vec((1..40u8, 0..=255u8), 1..128)) {
            let codes = LengthCodes::new(10, 1000);
            let statistics = Statistics { documents: 10, total_length: 2000 };
            let mut finder = FrontFinder::new(&codes, &statistics);
            let points: Vec<Point> = points.iter().map(|&(tf, length)| Point { tf, length }).collect();
            let front = finder.find(points.iter().copied());
            for point in &points {
                prop_assert!(front.iter().any(|beyond| beyond.tf >= point.tf && beyond.length <= point.length));
            }
            // And the front is no larger than necessary.
            let most = points.iter().map(|point| point.tf).max().unwrap();
            let least = points.iter().map(|point| point.length).min().unwrap();
            prop_assert!(front.iter().all(|point| point.tf <= most && point.length >= least));
        }
    }
}
