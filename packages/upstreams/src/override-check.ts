import type { UpstreamState } from 'recourse-server/extensions/source';
import type { Catalogue } from './catalogue.ts';

type Unmatched = ReturnType<Catalogue['findUnmatched']>[number];

const AWAY: ReadonlySet<UpstreamState['status']> = new Set(['connecting', 'down']);

// As long as the start waits for what is to be reached.
const TIMEOUT_MS = 10_000;

/**
 * Logs once each override whose pattern matches no tool: when everything that has tools has been reached, and for want
 * of that after a while, naming what has not.
 */
export const createOverrideCheck = (
  catalogue: Pick<Catalogue, 'findUnmatched'>,
  upstreams: () => readonly UpstreamState[],
  log: { readonly warn: (fields: Readonly<Record<string, unknown>>, message: string) => void },
  timeoutMs = TIMEOUT_MS,
) => {
  const logged = new Set<string>();
  let status: 'not begun' | 'looking' | 'stopped' = 'not begun';
  let isPatient = true;
  const warn = ({ entry, pattern, nearest }: Unmatched, notReached: readonly string[]): void => {
    const isFinal = notReached.length === 0;
    const key = `${entry} ${pattern}`;
    if (logged.has(key) || (!isFinal && logged.has(`${key} so far`))) return;
    logged.add(isFinal ? key : `${key} so far`);
    if (isFinal) log.warn({ [entry]: pattern, nearest }, NONE);
    else log.warn({ [entry]: pattern, nearest, notReached }, NONE_YET);
  };
  const look = (): void => {
    const notReached = upstreams().filter((upstream) => AWAY.has(upstream.status));
    if (status !== 'looking' || (notReached.length > 0 && isPatient)) return;
    const names = notReached.map(({ name }) => name);
    for (const unmatched of catalogue.findUnmatched()) warn(unmatched, names);
  };
  const wait = (): NodeJS.Timeout => {
    isPatient = true;
    return setTimeout(() => {
      isPatient = false;
      look();
    }, timeoutMs).unref();
  };
  let waiting = wait();
  return {
    /** From now on every tool should be there. */
    begin: (): void => {
      if (status === 'not begun') status = 'looking';
      look();
    },
    /** Looks at what is offered now. */
    look,
    /** There are other overrides: each may be logged again. */
    forget: (): void => {
      logged.clear();
      clearTimeout(waiting);
      waiting = wait();
    },
    /** Nothing is logged any more. */
    stop: (): void => {
      status = 'stopped';
      clearTimeout(waiting);
    },
  };
};

const NONE = 'entry of the configuration file matches no tool';
const NONE_YET = 'entry of the configuration file matches no tool so far (some upstreams are not connected)';
