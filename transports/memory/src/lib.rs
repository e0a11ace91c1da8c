//! Placeholder, replaced by the first working version.
