//! Calls of the boundary, and the objects that it makes.

use std::ptr::NonNull;

use crate::boundary::{self, Api, ErrorText};
use crate::{Build, Error, Result, text};

/// Calls the boundary, and converts a status to an error.
pub(crate) fn check(call: impl FnOnce(*mut ErrorText) -> i32) -> Result<()> {
    let mut error = ErrorText { text: [0; 512] };
    let status = call(&raw mut error);
    if status == boundary::OK {
        return Ok(());
    }
    let what = text(&error.text);
    Err(match status {
        boundary::NO_DEVICE => Error::NoDevice(what),
        boundary::OUT_OF_MEMORY => Error::OutOfMemory(what),
        boundary::TOO_LARGE => Error::TooLarge(what),
        _ => Error::Failed(what),
    })
}

/// Calls the boundary, which writes a result.
pub(crate) fn filled<T: Default>(call: impl FnOnce(*mut T, *mut ErrorText) -> i32) -> Result<T> {
    let mut filled = T::default();
    check(|error| call(&raw mut filled, error))?;
    Ok(filled)
}

/// Calls the boundary, which allocates.
pub(crate) fn made<T>(call: impl FnOnce(*mut *mut T, *mut ErrorText) -> i32) -> Result<NonNull<T>> {
    let made = filled(call)?;
    Ok(NonNull::new(made).expect("a status of OK comes with an object"))
}

/// An object of a build, dropped once.
pub(crate) struct Owned<T> {
    pub build: Build,
    raw: NonNull<T>,
    drop: unsafe extern "C" fn(*mut T),
}

// SAFETY: objects own all their state, and CUDA's calls work on any thread.
unsafe impl<T> Send for Owned<T> {}
// SAFETY: shared lists are only read, except for their weights, which have a lock.
unsafe impl Sync for Owned<boundary::DeviceLists> {}

impl<T> Owned<T> {
    /// Calls a build, which makes an object; `drop` is its function that drops it.
    pub fn make(
        build: Build,
        drop: unsafe extern "C" fn(*mut T),
        call: impl FnOnce(*mut *mut T, *mut ErrorText) -> i32,
    ) -> Result<Self> {
        let raw = made(call)?;
        Ok(Owned { build, raw, drop })
    }

    /// Makes an object by `make` of `build`; `drop` is the function that drops it.
    ///
    /// # Safety
    /// All that the options point to can be read during the call.
    pub unsafe fn by_options<O>(
        build: Build,
        drop: unsafe extern "C" fn(*mut T),
        make: unsafe extern "C" fn(*const O, *mut *mut T, *mut ErrorText) -> i32,
        options: &O,
    ) -> Result<Self> {
        // SAFETY: `made` gives places for the object and the error; the caller vouches for the options.
        Self::make(build, drop, |raw, error| unsafe {
            make(options, raw, error)
        })
    }

    /// Calls a function of the build on the object.
    ///
    /// # Safety
    /// All that `input` points to can be used during the call as the function uses it.
    pub unsafe fn call<I>(
        &self,
        function: unsafe extern "C" fn(*mut T, *const I, *mut ErrorText) -> i32,
        input: &I,
    ) -> Result<()> {
        // SAFETY: the object lives, `check` gives a place for the error; the caller vouches for the input.
        check(|error| unsafe { function(self.as_ptr(), input, error) })
    }

    /// The functions of the build.
    pub fn api(&self) -> &'static Api {
        self.build.api()
    }

    /// The object, for calls of the boundary.
    pub fn as_ptr(&self) -> *mut T {
        self.raw.as_ptr()
    }

    /// The times that `tell` writes.
    pub fn times<R: Default>(&self, tell: unsafe extern "C" fn(*mut T, *mut R)) -> R {
        let mut times = R::default();
        // SAFETY: `times` outlives the call.
        unsafe { tell(self.as_ptr(), &raw mut times) };
        times
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the build that made the object drops it, once.
        unsafe { (self.drop)(self.as_ptr()) };
    }
}
