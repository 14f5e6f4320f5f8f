import type { Effects } from '../contract/failure.ts';

/** `missing`: the tool is known and cannot be called. */
export type OfferedTool = { readonly name: string; readonly effects: Effects | 'missing' };

/** Which tools have series of their own. Those that are not offered any more lose them, or names would pile up for ever. */
export type ToolNames = {
  /** The tool's own name while it has series of its own, else `_other`; `_unknown` as it is. */
  readonly labelOf: (tool: string) => string;
  /** The same for a tool that was called: its numbers are kept rather than those of tools that nobody called. */
  readonly labelOfCalled: (tool: string) => string;
  /** These are offered from now on, and no others. Gives those whose numbers begin: new ones, and with other effects. */
  readonly offer: (tools: readonly OfferedTool[]) => readonly OfferedTool[];
  /** Forgets what has been gone for long. */
  readonly sweep: () => void;
  /** Hears of each name that has no series any more. */
  readonly onForget: (forget: (tool: string) => void) => void;
};

type ToolNamesOptions = {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** How many offered tools have series of their own. Default 2 000. */
  readonly maxOffered?: number;
  /** How many that are gone keep theirs. Default 500. */
  readonly maxGone?: number;
};

// A tool has some twenty series: forty thousand are what one process should show, whoever chose the names.
const MAX_OFFERED = 2000;
// Beyond that nobody reloads a file or mends a server: what is gone for so long is another tool when it comes back.
const RETENTION_MS = 3_600_000;
const MAX_GONE = 500;

const OTHER = '_other';
const UNKNOWN = '_unknown';

export const createToolNames = ({ now, maxOffered = MAX_OFFERED, maxGone = MAX_GONE }: ToolNamesOptions): ToolNames => {
  const offered = new Map<string, OfferedTool['effects']>();
  // Name → since when. The oldest first.
  const gone = new Map<string, number>();
  const called = new Set<string>();
  const listeners: ((tool: string) => void)[] = [];
  const labelOf = (tool: string): string => (offered.has(tool) || gone.has(tool) || tool === UNKNOWN ? tool : OTHER);
  const forget = (tool: string): void => {
    gone.delete(tool);
    called.delete(tool);
    for (const listener of listeners) listener(tool);
  };
  const sweep = (): void => {
    const moment = now();
    for (const [tool, since] of gone) {
      if (moment - since < RETENTION_MS) return;
      forget(tool);
    }
  };
  const leave = (tools: readonly OfferedTool[]): void => {
    const still = new Set(tools.map(({ name }) => name));
    for (const name of [...offered.keys()].filter((one) => !still.has(one))) {
      offered.delete(name);
      gone.set(name, now());
    }
  };
  const forgetTooMany = (): void => {
    const names = [...gone.keys()];
    const worthless = [...names.filter((name) => !called.has(name)), ...names.filter((name) => called.has(name))];
    for (const name of worthless.slice(0, Math.max(0, gone.size - maxGone))) forget(name);
  };
  const enter = ({ name, effects }: OfferedTool): boolean => {
    if (offered.get(name) === effects || (!offered.has(name) && offered.size >= maxOffered)) return false;
    offered.set(name, effects);
    gone.delete(name);
    return true;
  };
  return {
    labelOf,
    labelOfCalled: (tool) => {
      const label = labelOf(tool);
      if (label === tool) called.add(tool);
      return label;
    },
    offer: (tools) => {
      leave(tools);
      const begun = tools.filter(enter);
      sweep();
      forgetTooMany();
      return begun;
    },
    sweep,
    onForget: (listener) => void listeners.push(listener),
  };
};
