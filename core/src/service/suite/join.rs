//! Several futures in one task.

use alloc::vec::Vec;
use core::future::poll_fn;
use core::task::Poll;

use super::Boxed;

/// Waits for all futures, side by side; their outputs in order.
pub async fn join_all<T: Send>(futures: Vec<Boxed<'_, T>>) -> Vec<T> {
    let mut places: Vec<_> = futures.into_iter().map(|future| (Some(future), None)).collect();
    poll_fn(|cx| {
        let mut pending = false;
        for (place, output) in &mut places {
            let Some(future) = place else { continue };
            match future.as_mut().poll(cx) {
                Poll::Ready(value) => {
                    *place = None;
                    *output = Some(value);
                }
                Poll::Pending => pending = true,
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    places.into_iter().filter_map(|(_, output)| output).collect()
}
