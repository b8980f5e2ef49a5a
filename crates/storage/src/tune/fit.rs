//! Least squares for a few coefficients, some of which must not be negative.

/// The coefficients of `columns` that fit `values` best. The error is relative, because the noise of a time grows with
/// the time. A coefficient with its flag in `non_negative` set is 0 or more.
///
/// There are so few columns that every subset is tried. The best fit among those with allowed signs is the optimum
/// under the constraint. Columns that the values cannot tell apart are left out, later ones first.
pub(super) fn least_squares<const N: usize>(
    columns: &[[f64; N]],
    values: &[f64],
    non_negative: [bool; N],
) -> [f64; N] {
    let weights = weights(values);
    let mut best = ([0.0; N], error(columns, values, &weights, &[0.0; N]));
    for choice in 1..1usize << N {
        let chosen: Vec<usize> = (0..N).filter(|column| choice >> column & 1 == 1).collect();
        if chosen.len() > values.len() {
            continue;
        }
        let Some(solution) = solve(columns, values, &weights, &chosen) else {
            continue;
        };
        let mut coefficients = [0.0; N];
        for (&column, &coefficient) in chosen.iter().zip(&solution) {
            coefficients[column] = coefficient;
        }
        let allowed = |column: &usize| !non_negative[*column] || coefficients[*column] >= 0.0;
        let error = error(columns, values, &weights, &coefficients);
        // A gain from rounding alone does not count: earlier columns come first.
        if chosen.iter().all(allowed) && error < best.1 * (1.0 - 1e-9) - 1e-18 {
            best = (coefficients, error);
        }
    }
    best.0
}

/// The inverse of each value. Values near 0 count as a thousandth of the largest.
fn weights(values: &[f64]) -> Vec<f64> {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let least = (largest / 1000.0).max(f64::MIN_POSITIVE);
    values.iter().map(|value| 1.0 / value.max(least)).collect()
}

/// The sum of the squared relative errors.
fn error<const N: usize>(
    columns: &[[f64; N]],
    values: &[f64],
    weights: &[f64],
    coefficients: &[f64; N],
) -> f64 {
    let rows = columns.iter().zip(values).zip(weights);
    let squares = rows.map(|((row, value), weight)| {
        let fitted: f64 = row.iter().zip(coefficients).map(|(x, a)| x * a).sum();
        ((fitted - value) * weight).powi(2)
    });
    squares.sum()
}

/// The least squares of the chosen columns alone, by QR (Gram-Schmidt, applied twice for precision); none if the
/// columns are linearly dependent.
fn solve<const N: usize>(
    columns: &[[f64; N]],
    values: &[f64],
    weights: &[f64],
    chosen: &[usize],
) -> Option<Vec<f64>> {
    let column = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
        (0..values.len())
            .map(|row| of(row) * weights[row])
            .collect()
    };
    let target = column(&|row| values[row]);
    let mut orthonormal: Vec<Vec<f64>> = Vec::new();
    let mut triangle: Vec<Vec<f64>> = Vec::new();
    for &chosen in chosen {
        let mut vector = column(&|row| columns[row][chosen]);
        let length = dot(&vector, &vector).sqrt();
        let mut entries = vec![0.0; orthonormal.len()];
        for _ in 0..2 {
            for (entry, other) in entries.iter_mut().zip(&orthonormal) {
                let along = dot(&vector, other);
                *entry += along;
                vector
                    .iter_mut()
                    .zip(other)
                    .for_each(|(x, y)| *x -= along * y);
            }
        }
        let rest = dot(&vector, &vector).sqrt();
        if rest <= 1e-9 * length {
            return None;
        }
        vector.iter_mut().for_each(|x| *x /= rest);
        entries.push(rest);
        orthonormal.push(vector);
        triangle.push(entries);
    }
    let mut solution = vec![0.0; chosen.len()];
    for row in (0..chosen.len()).rev() {
        let later: f64 = (row + 1..chosen.len())
            .map(|column| triangle[column][row] * solution[column])
            .sum();
        solution[row] = (dot(&target, &orthonormal[row]) - later) / triangle[row][row];
    }
    Some(solution)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(sizes: &[f64]) -> Vec<[f64; 3]> {
        sizes.iter().map(|c| [1.0, 1.0 / c, c.log2()]).collect()
    }

    #[test]
    fn known_coefficients_come_back() {
        let columns = rows(&[1e6, 2e6, 5e6, 1e7, 3e7, 1e8]);
        for known in [[3.0, 2e6, 0.5], [-3.0, 1e5, 0.5], [1.0, 0.0, 0.0], [0.0; 3]] {
            let values: Vec<f64> = columns
                .iter()
                .map(|row| row.iter().zip(known).map(|(x, a)| x * a).sum())
                .collect();
            let fitted = least_squares(&columns, &values, [false, true, true]);
            for (fitted, known) in fitted.iter().zip(known) {
                assert!(
                    (fitted - known).abs() <= 1e-6 * known.abs().max(1e-6),
                    "{fitted}"
                );
            }
        }
    }

    #[test]
    fn what_must_not_be_negative_is_left_out() {
        let columns = rows(&[1e6, 2e6, 5e6, 1e7, 3e7, 1e8]);
        // The values fall as chunks grow; log c cannot.
        let values = [1.0, 0.9, 0.8, 0.7, 0.65, 0.6];
        let fitted = least_squares(&columns, &values, [false, true, true]);
        assert!(fitted[1] > 0.0 && fitted[2] == 0.0, "{fitted:?}");
        assert!(least_squares(&columns, &values, [false; 3])[2] < 0.0);
    }

    #[test]
    fn fewer_values_than_coefficients_are_met() {
        let columns = rows(&[1e6, 4e6]);
        let fitted = least_squares(&columns, &[2.0, 1.0], [false, true, true]);
        assert!(error(&columns, &[2.0, 1.0], &[1.0; 2], &fitted) < 1e-12);
        assert_eq!(least_squares::<3>(&[], &[], [false; 3]), [0.0; 3]);
        // One size tells nothing about growth.
        let columns = rows(&[1e6, 1e6, 1e6]);
        let fitted = least_squares(&columns, &[2.0, 2.0, 2.0], [false; 3]);
        assert!((fitted[0] - 2.0).abs() < 1e-12 && fitted[1..] == [0.0; 2]);
    }
}
