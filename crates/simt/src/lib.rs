//! Masks, lane arithmetic, guest memory, traps, lane slots and observers: what every SIMT machine shares.
