//! A session on a Cortex-M: fixed heap, no operating system; says how much of the heap it needed.
#![no_std]
#![no_main]

extern crate alloc;

mod heap;

use alloc::vec;
use core::panic::PanicInfo;
use cortex_m as _;
use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{self, EXIT_FAILURE, EXIT_SUCCESS};
use cortex_m_semihosting::hprintln;
use runstep as _;
use runstep_kernels as _;

#[entry]
fn main() -> ! {
    heap::init();
    let sum: usize = vec![1usize; 1000].iter().sum();
    if sum != 1000 {
        hprintln!("board: wrong sum {}", sum);
        exit(false)
    }
    let too_big = alloc::vec::Vec::<u8>::new().try_reserve_exact(1 << 20);
    if too_big.is_ok() {
        hprintln!("board: a megabyte came out of {} bytes", heap::SIZE);
        exit(false)
    }
    hprintln!("figure edge_board_heap_size {} bytes", heap::SIZE);
    hprintln!("figure edge_board_heap_high_water {} bytes", heap::high_water());
    hprintln!("board: ok");
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
    hprintln!("board: {}", info);
    exit(false)
}
