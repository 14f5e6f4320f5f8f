import { closeSync, readSync, type Stats } from 'node:fs';
import { unlessRefused } from './file-errors.ts';

/** Something below the root, so that nothing put under its name meanwhile is taken for it. */
export type Pinned = Disposable & {
  /** Leads here: opens a directory to read its names. */
  readonly link: string;
  readonly stats: Stats;
  /** Opens it to read, a regular file; throws the system's error. */
  readonly open: () => number;
  /** Opens this entry of it, a directory, to read; no symbolic link. */
  readonly openEntry: (name: string) => number;
  /** Whether it lies where it did: what was read of a directory by its link counts only then. */
  readonly isSame: () => boolean;
};

/** The beginning of a pinned regular file, at most `length` bytes; undefined where it cannot be read. */
export const readBeginning = (pinned: Pinned, length: number): Buffer | undefined =>
  unlessRefused(() => {
    const descriptor = pinned.open();
    try {
      const buffer = Buffer.allocUnsafe(Math.min(length, pinned.stats.size));
      return buffer.subarray(0, fill(descriptor, buffer));
    } finally {
      closeSync(descriptor);
    }
  });

/** A regular file under one name alone: a second one (hard link) may lie anywhere. */
export const isOwnFile = (stats: Stats): boolean => stats.isFile() && stats.nlink === 1;

/** Reads until `buffer` is full or the file ends; gives the number of bytes. */
export const fill = (descriptor: number, buffer: Uint8Array): number => {
  let filled = 0;
  while (filled < buffer.length) {
    const bytes = readSync(descriptor, buffer, filled, buffer.length - filled, filled);
    if (bytes === 0) break;
    filled += bytes;
  }
  return filled;
};
