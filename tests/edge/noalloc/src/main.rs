//! Core without its `alloc` feature, on a Cortex-M: this links although there is neither an allocator nor the alloc crate.
//!
//! A layer of a network, computed from weights in flash into a static arena through borrowed tensors, and what a wrong
//! size answers.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::panic::PanicInfo;
use cortex_m as _;
use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{self, EXIT_FAILURE, EXIT_SUCCESS};
use cortex_m_semihosting::hprintln;
use runstep::kernels::matmul::{Activation, Epilogue, MatMul, matmul, matmul_scratch_len};
use runstep::kernels::parallel::Inline;
use runstep::status::{Fixed, Result};
use runstep::tensor::{DType, Shape, TensorMut, TensorRef};
use runstep::{Code, Status};

#[repr(align(64))]
struct Aligned<const N: usize>([u8; N]);

/// 3 × 2, row by row: 1, -1, 2, 0.5, 0, 3.
static WEIGHTS: Aligned<24> = Aligned([
    0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xbf, //
    0, 0, 0, 0x40, 0, 0, 0, 0x3f, //
    0, 0, 0, 0, 0, 0, 0x40, 0x40,
]);
static BIAS: [f32; 2] = [0.5, -10.0];

static WRONG_SIZE: Fixed = Fixed { code: Code::InvalidArgument, message: "sizes do not fit" };

#[entry]
fn main() -> ! {
    static mut ARENA: Aligned<256> = Aligned([0; 256]);
    let ok = check(&mut ARENA.0).unwrap_or_else(|status| {
        hprintln!("noalloc: {}", status);
        false
    });
    hprintln!("noalloc: {}", if ok { "ok" } else { "FAILED" });
    exit(ok)
}

/// Whether the layer gives what was computed by hand and refuses what does not fit.
fn check(arena: &mut [u8]) -> Result<bool> {
    let Ok(shape) = Shape::from_i64(&[2, 2]) else { return Err(Status::fixed(&WRONG_SIZE)) };
    let fed: [f32; 6] = [1.0, 2.0, 3.0, -1.0, 0.0, 4.0];
    // 1·1 + 2·2 + 3·0 + 0.5, 1·-1 + 2·0.5 + 3·3 - 10; then the second row.
    let right = layer(&fed, shape.dims(), arena)? == [5.5, 0.0, 0.0, 3.0];
    let refused = layer(&fed[..5], shape.dims(), arena).err().map(|status| status.code());
    let small = layer(&fed, shape.dims(), &mut arena[..15]).err().map(|status| status.code());
    Ok(right && refused == Some(Code::InvalidArgument) && small == Some(Code::InvalidArgument))
}

/// `relu(fed · WEIGHTS + BIAS)`, left in the arena.
fn layer<'a>(fed: &[f32], dims: &[u32], arena: &'a mut [u8]) -> Result<&'a [f32]> {
    let wrong = || Status::fixed(&WRONG_SIZE);
    let weights = TensorRef::new(DType::Float, &[3, 2], &WEIGHTS.0).ok_or_else(wrong)?;
    let mut out = TensorMut::new(DType::Float, dims, arena).ok_or_else(wrong)?;
    let geometry = MatMul { m: 2, k: 3, n: 2, ..MatMul::default() };
    let mut scratch = [0.0f32; 48];
    let needed = matmul_scratch_len::<f32>(&geometry).map_err(|_| wrong())?;
    matmul(
        &Inline,
        &geometry,
        fed,
        weights.elements().ok_or_else(wrong)?,
        out.elements_mut().ok_or_else(wrong)?,
        Epilogue { bias: Some(&BIAS), activation: Activation::Relu },
        scratch.get_mut(..needed).ok_or_else(wrong)?,
    )
    .map_err(|_| wrong())?;
    TensorRef::new(DType::Float, &[4], &arena[..16]).and_then(|t| t.elements()).ok_or_else(wrong)
}

fn exit(ok: bool) -> ! {
    debug::exit(if ok { EXIT_SUCCESS } else { EXIT_FAILURE });
    loop {
        cortex_m::asm::wfi();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("noalloc: {}", info);
    exit(false)
}
