//! The handwritten digits of `data/`, as tensors.

use runstep::Status;
use runstep::tensor::Tensor;

const IMAGES: &[u8] = include_bytes!("../data/digits_images.npy");
const LABELS: &[u8] = include_bytes!("../data/digits_labels.npy");
const PIXELS: usize = 64;
const TRAIN_COUNT: usize = 1500;

/// Images, float32 `[n, 64]` from 0 to 1, and which digit each is, int32 `[n]`.
#[derive(Clone, Debug)]
pub struct Digits {
    /// The images.
    pub images: Tensor,
    /// The labels.
    pub labels: Tensor,
}

impl Digits {
    /// The images to train with and those to test with.
    ///
    /// # Errors
    /// INTERNAL when the files in this crate are damaged.
    pub fn load() -> Result<(Digits, Digits), Status> {
        let images: Vec<f32> = npy(IMAGES)?.iter().map(|&pixel| f32::from(pixel) / 16.0).collect();
        let labels: Vec<i32> = npy(LABELS)?.iter().map(|&label| i32::from(label)).collect();
        let count = labels.len();
        let all = Digits {
            images: Tensor::from_slice(&[count, PIXELS], &images)?,
            labels: Tensor::from_slice(&[count], &labels)?,
        };
        Ok((all.rows(0, TRAIN_COUNT)?, all.rows(TRAIN_COUNT, count - TRAIN_COUNT)?))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.labels.num_elements()
    }

    /// Batch `step` of an endless walk through the images in order. Nothing is copied.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for a batch larger than all there is.
    pub fn batch(&self, step: usize, size: usize) -> Result<Digits, Status> {
        let batches = (self.count() / size.max(1)).max(1);
        self.rows(step % batches * size, size)
    }

    fn rows(&self, start: usize, count: usize) -> Result<Digits, Status> {
        Ok(Digits { images: self.images.rows(start, count)?, labels: self.labels.rows(start, count)? })
    }
}

fn npy(file: &[u8]) -> Result<Vec<u8>, Status> {
    let read = npyz::NpyFile::new(file).and_then(|file| file.into_vec());
    read.map_err(|e| Status::internal(format_args!("the digits: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The split is complete, batches wrap around, pixels and labels are in range.
    #[test]
    fn loads() {
        let (train, test) = Digits::load().unwrap();
        assert_eq!((train.count(), test.count()), (1500, 297));
        let (first, again) = (train.batch(0, 50).unwrap(), train.batch(30, 50).unwrap());
        assert_eq!(first.images.as_slice::<f32>(), again.images.as_slice::<f32>());
        assert_eq!(first.images.shape().dims(), [50, 64]);
        assert!(train.images.as_slice::<f32>().unwrap().iter().all(|p| (0.0..=1.0).contains(p)));
        assert!(test.labels.as_slice::<i32>().unwrap().iter().all(|l| (0..10).contains(l)));
    }
}
