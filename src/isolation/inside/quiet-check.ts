import { existsSync, readFileSync } from 'node:fs';

/** What goes on in this process although no call runs, in a few words; null where nothing does. */
export type QuietCheck = () => string | null;

// Kept here, before a tool's code could put its own in their place.
const listResources = process.getActiveResourcesInfo.bind(process);
const { pid } = process;

// Ours: a turn of the event loop, and an answer that the service has not read yet.
const NOT_COUNTED: ReadonlySet<string> = new Set(['Immediate', 'WriteWrap']);

/** Remembers what is open now: timers, sockets, pending work. What comes to be more than that is somebody's. */
export const createQuietCheck = (): QuietCheck => {
  const before = countResources();
  const readChildren = canReadChildren() ? readOwnChildren : () => '';
  return () => {
    for (const [kind, count] of countResources()) if (count > (before.get(kind) ?? 0)) return kind;
    return readChildren().trim() === '' ? null : 'processes';
  };
};

const countResources = (): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const kind of listResources()) if (!NOT_COUNTED.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
};

const CHILDREN = `/proc/self/task/${pid}/children`;

// Without a permission, or without /proc, children are those that Node itself counts among its resources.
const canReadChildren = (): boolean =>
  process.permission?.has('fs.read', '/proc/self') !== false && existsSync(CHILDREN);

const readOwnChildren = (): string => readFileSync(CHILDREN, 'latin1');
