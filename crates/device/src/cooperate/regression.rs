//! Simple linear regression by least squares, with its significance.

/// A regression line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regression {
    /// The slope: the change of y for one unit of x.
    pub coefficient: f64,
    /// The intercept: y at x = 0.
    pub intercept: f64,
    /// r^2: the fraction of the variance of y that the line explains.
    pub r_square: f64,
    /// The p value of Student's t test: the probability of a slope at least as far from 0 if y
    /// does not depend on x.
    pub p_value: f64,
}

impl Regression {
    /// Fits a line to (x, y); none for fewer than three points, or if all x are equal.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        if points.len() < 3 {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for (x, y) in points {
            let (x, y) = (x - mean_x, y - mean_y);
            xx += x * x;
            xy += x * y;
            yy += y * y;
        }
        if xx == 0.0 {
            return None;
        }
        let coefficient = xy / xx;
        let r_square = if yy == 0.0 { 1.0 } else { xy * xy / (xx * yy) };
        let freedom = count - 2.0;
        // t^2 = r^2 / (1 - r^2) * freedom, and so freedom / (freedom + t^2) = 1 - r^2.
        let p_value = incomplete_beta(freedom / 2.0, 0.5, (1.0 - r_square).clamp(0.0, 1.0));
        Some(Regression {
            coefficient,
            intercept: mean_y - coefficient * mean_x,
            r_square,
            p_value,
        })
    }

    /// y at x.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.coefficient * x
    }
}

/// The regularised incomplete beta function, by its continued fraction (Abramowitz and Stegun 26.5.8).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast only below the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log(1.0 - x) - log_beta) / a;
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    // Lentz's method.
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for step in [even, odd] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found() {
        let points: Vec<(f64, f64)> = (0..10).map(f64::from).map(|x| (x, 3.0 - 2.0 * x)).collect();
        let line = Regression::fit(&points).unwrap();
        assert!((line.coefficient + 2.0).abs() < 1e-12 && (line.intercept - 3.0).abs() < 1e-12);
        assert!((line.r_square - 1.0).abs() < 1e-12 && line.p_value < 1e-12);
        assert!((line.at(4.0) + 5.0).abs() < 1e-12);
    }

    /// Anscombe's first data set: r^2 = 0.6665, slope 0.5001, intercept 3.0001, p = 0.00217.
    #[test]
    fn of_anscombe() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [
            8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68,
        ];
        let points: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let line = Regression::fit(&points).unwrap();
        assert!((line.coefficient - 0.5001).abs() < 5e-5);
        assert!((line.intercept - 3.0001).abs() < 5e-5);
        assert!((line.r_square - 0.6665).abs() < 5e-5);
        assert!((line.p_value - 0.00217).abs() < 5e-6, "{}", line.p_value);
    }

    #[test]
    fn too_little_to_tell() {
        assert_eq!(Regression::fit(&[(1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(Regression::fit(&[(1.0, 2.0); 5]), None);
        let flat = Regression::fit(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]).unwrap();
        assert_eq!((flat.coefficient, flat.r_square), (0.0, 1.0));
        let noise = Regression::fit(&[(1.0, 1.0), (2.0, -1.0), (3.0, -1.0), (4.0, 1.0)]).unwrap();
        assert!((noise.p_value - 1.0).abs() < 1e-12);
    }
}
