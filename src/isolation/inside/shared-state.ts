import { announceLeaving } from './announce-leaving.ts';
import { createModuleWorlds, type ModuleWorlds } from './module-worlds.ts';
import { createQuietCheck } from './quiet-check.ts';
import { createTaintCheck } from './taint-check.ts';

// Kept here, before a tool's code could put its own in its place.
const later = setTimeout;
// What a file starts while it loads may take a moment to end.
const SETTLE_MS = 100;
const SETTLE_STEP_MS = 5;

/** What all files share that run in this process, and how they left it. */
export type SharedState = {
  readonly worlds: ModuleWorlds;
  /** What the code of calls has changed; null where nothing. Looked for once after any number of answers. */
  readonly findTaint: () => string | null;
  /** From now on `findTaint` looks again. */
  readonly noteAnswer: () => void;
  /** The same, and the modules of Node: before another file runs. */
  readonly findDeepTaint: () => string | null;
  /** What goes on although no call runs; null where nothing does. */
  readonly findUnrest: () => string | null;
  /** What loading a file has left behind that other files would meet; null where nothing. */
  readonly findTraceOfLoad: () => Promise<string | null>;
  /** What is changed now is how it shall be: this process belongs to one file. */
  readonly accept: () => void;
};

/** Remembers this process as it is now. To be called once, before any tool file is loaded. */
export const createSharedState = (api: string, onLeaving: () => void): SharedState => {
  announceLeaving(onLeaving);
  let taint = createTaintCheck();
  let quiet = createQuietCheck();
  let isLooked = true;
  let found: string | null = null;
  const findTrace = (): string | null => taint.findAll() ?? (worlds.hasAddon() ? 'a native addon' : null) ?? quiet();
  const worlds = createModuleWorlds(api, (url) => taint.watch(url));
  return {
    worlds,
    findTaint: () => {
      if (!isLooked) {
        found = taint.find();
        isLooked = true;
      }
      return found;
    },
    noteAnswer: () => {
      isLooked = false;
    },
    findDeepTaint: () => taint.findAll(),
    findUnrest: () => quiet(),
    findTraceOfLoad: async () => {
      for (let waitedMs = 0; waitedMs < SETTLE_MS && findTrace() !== null; waitedMs += SETTLE_STEP_MS)
        await new Promise((resolve) => later(resolve, SETTLE_STEP_MS));
      return findTrace();
    },
    accept: () => {
      taint = createTaintCheck();
      quiet = createQuietCheck();
      found = null;
    },
  };
};
