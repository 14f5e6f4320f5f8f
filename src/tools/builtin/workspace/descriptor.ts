import type { FileHandle } from 'node:fs/promises';

// From Linux's asm-generic/fcntl.h; Node has no name for it. Opening a place touches nothing: no device wakes up, no
// FIFO waits for its other end.
export const O_PATH = 0o10000000;

/** Leads to the very object that is open, whatever has since been put under its name. */
export const toLink = (handle: FileHandle): string => `/proc/self/fd/${handle.fd}`;
