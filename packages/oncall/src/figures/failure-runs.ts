import { isRecord } from 'recourse-server/contract/json-record';
import { parseJson } from 'recourse-server/json/parse-json';
import * as z from 'zod';

/** Failures of one tool and code that follow each other without ten quiet minutes between. Times in Unix milliseconds. */
const FailureRun = z.object({
  tool: z.string(),
  code: z.string(),
  since: z.number(),
  last: z.number(),
  /** Of the last one. */
  message: z.string(),
  reference: z.string(),
});
export type FailureRun = Readonly<z.infer<typeof FailureRun>>;

/** `isWhole`: its message is as it was told. */
type KnownRun = z.infer<typeof FailureRun> & { isWhole: boolean };

export const QUIET_MS = 10 * 60_000;
// Of a tenant and process: more than an answer shows.
const MOST_RUNS = 100;
const MAX_MESSAGE = 300;

const keyOf = (tool: string, code: string): string => `${tool} ${code}`;

/** The runs of a tenant. Those that failed least lately are forgotten where there is no room. */
export class FailureRuns {
  readonly #runs = new Map<string, KnownRun>();

  list(): readonly FailureRun[] {
    this.#cut();
    return [...this.#runs.values()].map(({ isWhole: _isWhole, ...run }) => run);
  }

  failed({ tool, code, message, reference }: Omit<FailureRun, 'since' | 'last'>, now: number): void {
    const key = keyOf(tool, code);
    const run = this.#runs.get(key);
    if (run === undefined) {
      if (this.#runs.size >= MOST_RUNS) this.#forgetOldest();
      this.#runs.set(key, { tool, code, since: now, last: now, message, reference, isWhole: true });
      return;
    }
    if (now - run.last >= QUIET_MS) run.since = now;
    run.last = now;
    run.message = message;
    run.reference = reference;
    run.isWhole = true;
  }

  /** Those of another process. A run goes on where another process has seen the failures before it. */
  add(runs: readonly FailureRun[]): void {
    for (const run of runs) {
      const key = keyOf(run.tool, run.code);
      const known = this.#runs.get(key);
      this.#runs.set(key, { ...(known === undefined ? run : joinRuns(known, run)), isWhole: false });
    }
  }

  /** Forgets what has not failed since. */
  forget(since: number): void {
    for (const [key, { last }] of this.#runs) if (last < since) this.#runs.delete(key);
    this.#cut();
  }

  // Not with each call. Copied: a part of a text would keep the whole of it.
  #cut(): void {
    for (const run of this.#runs.values()) {
      if (!run.isWhole) continue;
      run.message = Buffer.from(run.message.slice(0, MAX_MESSAGE).toWellFormed()).toString();
      run.isWhole = false;
    }
  }

  #forgetOldest(): void {
    let [oldest, at] = ['', Number.POSITIVE_INFINITY];
    for (const [key, { last }] of this.#runs) if (last < at) [oldest, at] = [key, last];
    this.#runs.delete(oldest);
  }
}

const joinRuns = (one: FailureRun, other: FailureRun): FailureRun => {
  const [earlier, later] = one.last <= other.last ? [one, other] : [other, one];
  return later.since - earlier.last < QUIET_MS ? { ...later, since: Math.min(one.since, other.since) } : later;
};

export const encodeRuns = (runs: FailureRuns): string => JSON.stringify({ runs: runs.list() });

/** Runs of a record; of a damaged one those that can be read. */
export const readRuns = (text: string): readonly FailureRun[] => {
  const parsed = parseJson(text);
  const runs: unknown = parsed.ok && isRecord(parsed.value) ? parsed.value['runs'] : [];
  if (!Array.isArray(runs)) return [];
  return runs.slice(0, MOST_RUNS).flatMap((run: unknown) => FailureRun.safeParse(run).data ?? []);
};
