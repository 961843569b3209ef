//! What crosses the C boundary, and the guard that keeps panics on this side of it.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

const OK: i32 = 0;
const FAILED: i32 = 1;

/// Bytes of the caller.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes {
    pub data: *const u8,
    pub size: usize,
}

impl Bytes {
    /// # Safety
    /// `data` points to `size` bytes that outlive the call, or `size` is 0.
    pub unsafe fn as_slice<'a>(self) -> &'a [u8] {
        if self.size == 0 {
            return &[];
        }
        std::slice::from_raw_parts(self.data, self.size)
    }
}

/// An array of byte strings of the caller.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Strings {
    pub items: *const Bytes,
    pub count: usize,
}

impl Strings {
    /// # Safety
    /// `items` points to `count` valid `Bytes` that outlive the call, or `count` is 0.
    pub unsafe fn as_slice<'a>(self) -> &'a [Bytes] {
        if self.count == 0 {
            return &[];
        }
        std::slice::from_raw_parts(self.items, self.count)
    }
}

/// A byte vector handed to the caller.
#[repr(C)]
pub struct Buffer {
    data: *mut u8,
    size: usize,
    capacity: usize,
}

impl Buffer {
    fn new(bytes: Vec<u8>) -> Self {
        let mut bytes = std::mem::ManuallyDrop::new(bytes);
        Self { data: bytes.as_mut_ptr(), size: bytes.len(), capacity: bytes.capacity() }
    }

    /// # Safety
    /// `self` came from `new` and was not changed.
    pub unsafe fn free(self) {
        if !self.data.is_null() {
            drop(Vec::from_raw_parts(self.data, self.size, self.capacity));
        }
    }
}

/// Runs `work`; its bytes or its error message go to `result`.
///
/// # Safety
/// `result` is writable.
pub unsafe fn guard<F>(result: *mut Buffer, work: F) -> i32
where
    F: FnOnce() -> Result<Vec<u8>, String>,
{
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("of unknown cause");
        Err(format!("internal panic: {text}"))
    });
    let (status, bytes) = match outcome {
        Ok(bytes) => (OK, bytes),
        Err(message) => (FAILED, one_line(&message).into_bytes()),
    };
    result.write(Buffer::new(bytes));
    status
}

fn one_line(message: &str) -> String {
    const LONGEST: usize = 600;
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}
