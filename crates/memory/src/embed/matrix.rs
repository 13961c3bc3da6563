//! Arithmetic of a transformer: matrix products, layer norm, GELU and softmax.

/// Rows that one pass over the weights multiplies.
const ROWS: usize = 4;
/// Numbers that the compiler multiplies in one vector instruction.
const LANES: usize = 8;

/// A linear map: rows of `inner` weights, and a bias.
#[derive(Debug)]
pub(super) struct Linear {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) inner: usize,
}

impl Linear {
    pub(super) fn apply(&self, input: &[f32]) -> Vec<f32> {
        let outer = self.bias.len();
        let rows = input.len() / self.inner.max(1);
        let mut output = vec![0.0; rows * outer];
        for (block, out) in input.chunks(self.inner * ROWS).zip(output.chunks_mut(outer * ROWS)) {
            for (column, (weights, bias)) in self.weight.chunks_exact(self.inner).zip(&self.bias).enumerate()
            {
                let sums = dots(block, weights, self.inner);
                for (row, sum) in out.chunks_exact_mut(outer).zip(sums) {
                    if let Some(cell) = row.get_mut(column) {
                        *cell = sum + bias;
                    }
                }
            }
        }
        output
    }
}

/// The dot products of up to four rows with one row of weights, which is read once for all of them.
fn dots(block: &[f32], weights: &[f32], inner: usize) -> [f32; ROWS] {
    let mut sums = [0.0; ROWS];
    let mut rows = block.chunks_exact(inner);
    if let (Some(a), Some(b), Some(c), Some(d)) = (rows.next(), rows.next(), rows.next(), rows.next()) {
        let mut lanes = [[0.0_f32; LANES]; ROWS];
        let [la, lb, lc, ld] = &mut lanes;
        let all = weights.chunks_exact(LANES).zip(a.chunks_exact(LANES)).zip(b.chunks_exact(LANES));
        for (((w, a), b), (c, d)) in all.zip(c.chunks_exact(LANES).zip(d.chunks_exact(LANES))) {
            for (lane, (x, w)) in la.iter_mut().zip(a.iter().zip(w)) {
                *lane += x * w;
            }
            for (lane, (x, w)) in lb.iter_mut().zip(b.iter().zip(w)) {
                *lane += x * w;
            }
            for (lane, (x, w)) in lc.iter_mut().zip(c.iter().zip(w)) {
                *lane += x * w;
            }
            for (lane, (x, w)) in ld.iter_mut().zip(d.iter().zip(w)) {
                *lane += x * w;
            }
        }
        let rest = inner - inner % LANES;
        for ((sum, lanes), row) in sums.iter_mut().zip(&lanes).zip([a, b, c, d]) {
            *sum = lanes.iter().sum::<f32>() + tail(row, weights, rest);
        }
        return sums;
    }
    for (sum, row) in sums.iter_mut().zip(block.chunks_exact(inner)) {
        *sum = dot(row, weights);
    }
    sums
}

fn tail(one: &[f32], two: &[f32], from: usize) -> f32 {
    let rest = one.get(from..).unwrap_or_default().iter().zip(two.get(from..).unwrap_or_default());
    rest.map(|(one, two)| one * two).sum()
}

pub(super) fn dot(one: &[f32], two: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    for (one, two) in one.chunks_exact(LANES).zip(two.chunks_exact(LANES)) {
        for (lane, (one, two)) in lanes.iter_mut().zip(one.iter().zip(two)) {
            *lane += one * two;
        }
    }
    lanes.iter().sum::<f32>() + tail(one, two, one.len() - one.len() % LANES)
}

/// Layer norm with scale and bias.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) least: f32,
}

impl Norm {
    pub(super) fn apply(&self, input: &mut [f32]) {
        let width = self.weight.len().max(1);
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let count = width as f32;
        for row in input.chunks_exact_mut(width) {
            let mean = row.iter().sum::<f32>() / count;
            let spread = row.iter().map(|number| (number - mean) * (number - mean)).sum::<f32>() / count;
            let scale = 1.0 / (spread + self.least).sqrt();
            for (number, (weight, bias)) in row.iter_mut().zip(self.weight.iter().zip(&self.bias)) {
                *number = (*number - mean) * scale * weight + bias;
            }
        }
    }
}

pub(super) fn add(to: &mut [f32], what: &[f32]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += what;
    }
}

/// GELU, the activation function of BERT.
pub(super) fn gelu(numbers: &mut [f32]) {
    for number in numbers {
        *number = 0.5 * *number * (1.0 + erf(*number * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// The error function, to seven digits (Abramowitz and Stegun 7.1.26).
fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let poly =
        t * (0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_8 + t * (-1.453_152 + t * 1.061_405_4))));
    let value = 1.0 - poly * (-x * x).exp();
    if x < 0.0 { -value } else { value }
}

pub(super) fn softmax(numbers: &mut [f32]) {
    let most = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for number in numbers.iter_mut() {
        *number = (*number - most).exp();
        sum += *number;
    }
    for number in numbers {
        *number /= sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocked_product_equals_the_simple_one() {
        let inner = 19;
        let number = |n: usize| ((n * 7919 % 101) as f32 - 50.0) / 25.0;
        let input: Vec<f32> = (0..inner * 7).map(number).collect();
        let weight: Vec<f32> = (0..inner * 5).map(|n| number(n + 3)).collect();
        let linear = Linear { weight: weight.clone(), bias: vec![0.5; 5], inner };
        let output = linear.apply(&input);
        for row in 0..7 {
            for column in 0..5 {
                let plain: f32 =
                    (0..inner).map(|n| input[row * inner + n] * weight[column * inner + n]).sum::<f32>()
                        + 0.5;
                assert!((output[row * 5 + column] - plain).abs() < 1e-3);
            }
        }
        let mut curve = [-1.0_f32, 0.0, 1.0, 3.0];
        gelu(&mut curve);
        for (one, two) in curve.iter().zip([-0.158_655, 0.0, 0.841_345, 2.995_95]) {
            assert!((one - two).abs() < 1e-4, "{curve:?}");
        }
        let mut shares = [1.0_f32, 1000.0, 1000.0];
        softmax(&mut shares);
        assert_eq!(shares, [0.0, 0.5, 0.5]);
    }
}
