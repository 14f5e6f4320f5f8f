import type { NoteIndex } from './note-index.ts';
import { RootUnreadableError } from './walk-notes.ts';

export type IndexKeeper = {
  /** The index of this root, showing what the disk held at most a second ago. Rejects with RootUnreadableError. */
  readonly freshIndex: (root: string) => Promise<NoteIndex>;
};

export type KeeperTiming = {
  /** How long ago the scan began that a caller sees, at most. */
  readonly maxAgeMs: number;
  /** From the start of one scan to the next while somebody asks, so that calls find the index fresh and need not wait. */
  readonly intervalMs: number;
  /** Nobody has asked for so long: the next call looks at the disk first, and until then nothing is done at all. */
  readonly idleAfterMs: number;
};

// Below the second that is promised: writing and answering take time, too. A scan that has not ended 900 ms after the one
// before began is waited for, so it has 400 ms: ten times what it takes alone.
const TIMING: KeeperTiming = { maxAgeMs: 900, intervalMs: 500, idleAfterMs: 10_000 };

/**
 * Keeps one index fresh by scanning the directory again and again, while it is used. No inotify: shares and some
 * containers do not tell of changes made elsewhere, and a scan of ten thousand notes takes some 40 ms. What is not
 * asked for is not scanned, so an idle index costs nothing.
 */
export const createIndexKeeper = (
  open: (root: string) => NoteIndex,
  { maxAgeMs, intervalMs, idleAfterMs }: KeeperTiming = TIMING,
): IndexKeeper => {
  let index: { readonly root: string; readonly index: NoteIndex } | undefined;
  let scan: { readonly root: string; readonly startedMs: number; readonly done: Promise<void> } | undefined;
  let scannedMs = Number.NEGATIVE_INFINITY;
  let askedMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const openFor = (root: string): NoteIndex => {
    if (index?.root === root) return index.index;
    index?.index.close();
    scannedMs = Number.NEGATIVE_INFINITY;
    index = { root, index: open(root) };
    return index.index;
  };

  const startScan = (root: string): Promise<void> => {
    clearTimeout(timer);
    const startedMs = performance.now();
    const done = openFor(root)
      .update()
      .then(() => {
        scannedMs = startedMs;
      })
      .finally(() => {
        scan = undefined;
        scheduleNext(root, startedMs);
      });
    scan = { root, startedMs, done };
    return done;
  };

  const scheduleNext = (root: string, startedMs: number): void => {
    const now = performance.now();
    if (now - askedMs > idleAfterMs) return;
    // Never more than half of the time, however large the directory.
    const waitMs = Math.max(intervalMs - (now - startedMs), now - startedMs);
    timer = setTimeout(() => void startScan(root).catch(passOver), waitMs);
  };

  const freshIndex = async (root: string): Promise<NoteIndex> => {
    const oldestMs = performance.now() - maxAgeMs;
    askedMs = performance.now();
    // One scan at a time; one of another root, or one that began too long ago, is waited for and then done again.
    while (index?.root !== root || scannedMs < oldestMs) {
      if (scan === undefined) await startScan(root);
      else await scan.done.catch(ignoreOther(scan.root === root && scan.startedMs >= oldestMs));
    }
    return index.index;
  };

  return { freshIndex };
};

// A root that cannot be read is told to whoever asks; nobody asked for this scan. Anything else ends the thread.
const passOver = (thrown: unknown): void => {
  if (!(thrown instanceof RootUnreadableError)) throw thrown;
};

// The failure of a scan that would not have counted is not the caller's.
const ignoreOther =
  (isOwn: boolean) =>
  (thrown: unknown): void => {
    if (isOwn) throw thrown;
  };
