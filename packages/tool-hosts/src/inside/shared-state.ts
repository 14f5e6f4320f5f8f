import { existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { createModuleWorlds } from './module-worlds.ts';
import { createMutationCheck } from './mutation-check.ts';
import { announceLeaving, watchCalls } from './watched-calls.ts';

// Kept here, before a tool's code could put its own in their place.
const later = setTimeout;
const { pid } = process;
const listResources = process.getActiveResourcesInfo.bind(process);
// What a file starts while it loads may take a moment to end.
const SETTLE_MS = 100;
const SETTLE_STEP_MS = 5;

/** What all files share that run in this process, and how they left it. */
export type SharedState = ReturnType<typeof createSharedState>;

/** Remembers this process as it is now. To be called once, before any tool file is loaded. */
export const createSharedState = (api: string, onLeaving: () => void) => {
  announceLeaving(onLeaving);
  const onBuiltin = (url: string): void => {
    calls.watch(url);
    mutations.watch(url);
  };
  // First: it has hooks of its own, which are no change by a tool.
  const worlds = createModuleWorlds(api, { onBuiltin, onWeb: () => mutations.watchWeb() });
  const calls = watchCalls(onBuiltin);
  let mutations = createMutationCheck();
  let quiet = createQuietCheck();
  let isLooked = true;
  let found: string | null = null;
  const findDeep = (): string | null => mutations.find() ?? mutations.findRest() ?? calls.find();
  const findTrace = (): string | null => findDeep() ?? (worlds.hasAddon() ? 'a native addon' : null) ?? quiet();
  return {
    worlds,
    /** What the code of calls has changed of what is changed most; null where nothing. Looked for once after any number of answers. */
    findGlobalMutation: (): string | null => {
      if (!isLooked) {
        found = mutations.find();
        isLooked = true;
      }
      return found;
    },
    /** From now on `findGlobalMutation` looks again. */
    noteAnswer: (): void => {
      isLooked = false;
    },
    /** The same of everything: before another file runs. */
    findDeepMutation: findDeep,
    /** What goes on although no call runs; null where nothing does. */
    findPendingWork: (): string | null => quiet(),
    /** What loading a file has left behind that other files would meet; null where nothing. */
    findTraceOfLoad: async (): Promise<string | null> => {
      let trace = findTrace();
      for (let waitedMs = 0; waitedMs < SETTLE_MS && trace !== null; waitedMs += SETTLE_STEP_MS) {
        await new Promise((resolve) => later(resolve, SETTLE_STEP_MS));
        trace = findTrace();
      }
      return trace;
    },
    /** What is changed now is how it shall be: this process belongs to one file. */
    accept: (): void => {
      calls.accept();
      mutations = createMutationCheck();
      quiet = createQuietCheck();
      found = null;
    },
  };
};

// Ours: an iteration of the event loop, and an answer that the service has not read yet.
const NOT_COUNTED: ReadonlySet<string> = new Set(['Immediate', 'WriteWrap']);

/**
 * Remembers what is open now: timers, sockets, pending work. What this returns names in a few words what
 * was opened since; null where nothing goes on.
 */
const createQuietCheck = (): (() => string | null) => {
  const before = countResources();
  // Without a permission, or without /proc, children are those that Node itself counts among its resources.
  const canRead = process.permission?.has('fs.read', '/proc/self') !== false && existsSync(CHILDREN);
  return () => {
    for (const [kind, count] of countResources()) if (count > (before.get(kind) ?? 0)) return kind;
    return canRead && hasChildren() ? 'processes' : null;
  };
};

// Opening and closing the file for each answer takes ten times as long as reading it.
let childrenFile: number | null = null;
const firstByte = Buffer.alloc(1);

const hasChildren = (): boolean => {
  try {
    childrenFile ??= openSync(CHILDREN, 'r');
    return readSync(childrenFile, firstByte, 0, 1, 0) > 0;
  } catch (_closed) {
    // Code of a tool may have closed it.
    childrenFile = null;
    return readFileSync(CHILDREN, 'latin1').trim() !== '';
  }
};

const countResources = (): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const kind of listResources()) if (!NOT_COUNTED.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
};

const CHILDREN = `/proc/self/task/${pid}/children`;
