//! Parser of `safetensors` files, which hold the weights of a model: a JSON header, then the numbers.

use super::error::ModelError;
use marvin_base::files::{self, Links};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Only small models are supported.
const MAX_TENSOR_FILE_BYTES: u64 = 1024 * 1024 * 1024;
const MAX_HEADER_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Tensors {
    header: BTreeMap<String, Place>,
    numbers: Vec<u8>,
}

#[derive(Debug, Deserialize)]
struct Place {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl Tensors {
    pub(super) fn read(path: &Path) -> Result<Self, ModelError> {
        let bytes = files::read(path, MAX_TENSOR_FILE_BYTES, Links::Follow)
            .map_err(|error| ModelError::read(path, error))?;
        let wrong = |reason: &str| {
            ModelError::Unsupported(format!("{} is not a file of weights: {reason}", path.display()))
        };
        if bytes.len() as u64 > MAX_TENSOR_FILE_BYTES {
            return Err(wrong("it is too large"));
        }
        let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
            return Err(wrong("it is too short"));
        };
        let length = u64::from_le_bytes(*length);
        let header = usize::try_from(length)
            .ok()
            .filter(|_| length <= MAX_HEADER_BYTES)
            .and_then(|end| rest.split_at_checked(end));
        let Some((header, numbers)) = header else { return Err(wrong("its header is longer than it")) };
        let mut all: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(|error| wrong(&error.to_string()))?;
        all.remove("__metadata__");
        let header = all
            .into_iter()
            .map(|(name, value)| {
                Ok((name, serde_json::from_value(value).map_err(|error| wrong(&error.to_string()))?))
            })
            .collect::<Result<_, ModelError>>()?;
        Ok(Tensors { header, numbers: numbers.to_vec() })
    }

    pub(super) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let unsupported = |message: String| Err(ModelError::Unsupported(message));
        // Some files prefix all names with the name of the model.
        let found = self.header.get(name).or_else(|| self.header.get(&format!("bert.{name}")));
        let Some(place) = found else { return unsupported(format!("the model has no `{name}`")) };
        if place.shape != shape {
            return unsupported(format!("`{name}` has the shape {:?} and not {shape:?}", place.shape));
        }
        let (start, end) = place.data_offsets;
        let Some(bytes) = self.numbers.get(start..end) else {
            return unsupported(format!("`{name}` lies outside of the file"));
        };
        let count: usize = shape.iter().product();
        let numbers: Vec<f32> = match place.dtype.as_str() {
            "F32" => bytes
                .chunks_exact(4)
                .filter_map(|four| Some(f32::from_le_bytes(four.try_into().ok()?)))
                .collect(),
            "F16" => bytes
                .chunks_exact(2)
                .filter_map(|two| Some(half(u16::from_le_bytes(two.try_into().ok()?))))
                .collect(),
            "BF16" => bytes
                .chunks_exact(2)
                .filter_map(|two| {
                    Some(f32::from_bits(u32::from(u16::from_le_bytes(two.try_into().ok()?)) << 16))
                })
                .collect(),
            other => {
                return unsupported(format!(
                    "`{name}` has the type {other}; F32, F16 and BF16 are supported"
                ));
            }
        };
        if numbers.len() == count { Ok(numbers) } else { unsupported(format!("`{name}` is incomplete")) }
    }
}

/// Converts a 16-bit float.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10) & 31, u32::from(bits) & 1023);
    match exponent {
        0 => {
            let small = f32::from(u16::try_from(fraction).unwrap_or(0)) / 16_777_216.0;
            if sign == 0 { small } else { -small }
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | (fraction << 13)),
        _ => f32::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read() {
        for (bits, number) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0, 0.0)]
        {
            assert!((half(bits) - number).abs() < 1e-9, "{bits:x}");
        }
    }
}
