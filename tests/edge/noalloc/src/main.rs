//! Core without its `alloc` feature, on a Cortex-M: this links although there is neither an allocator nor the alloc crate.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::panic::PanicInfo;
use cortex_m as _;
use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{self, EXIT_FAILURE, EXIT_SUCCESS};
use cortex_m_semihosting::hprintln;
use runstep as _;
use runstep_kernels as _;

#[entry]
fn main() -> ! {
    hprintln!("noalloc: ok");
    exit(true)
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
