import type { DueEntry } from '@recourse/background/jobs/due-index';
import { isRecord } from 'recourse-server/contract/json-record';
import { parseJson } from 'recourse-server/json/parse-json';
import type { Check, Sought } from './checks.ts';
import type { Effect, EffectSpec } from './effects/effect-kind.ts';
import { type EffectStore, entryOf, type OpenEffect } from './effects/effect-store.ts';
import type { Looker, LookStep } from './looker.ts';

export type SweepOptions = {
  readonly effects: EffectStore;
  readonly looker: Looker;
  readonly findCheck: (tool: string) => Check | null;
  readonly apply: (key: string, effect: Effect) => Promise<void>;
  readonly onFailed: (error: unknown) => void;
  /** Whether any tool's writes can be looked for now. */
  readonly isCovered: () => boolean;
  /** How many writes of each tool are unknown, and for how long the oldest is, in milliseconds. */
  readonly sampled: (counts: ReadonlyMap<string, number>, oldestMs: number) => void;
  /** The store's, in Unix milliseconds. */
  readonly time: () => number;
  readonly now: () => number;
};

const AT_ONCE = 20;
// Of two processes that sweep one looks; that it died over it shows after this.
const AGAIN_MS = 15_000;
// A tool, or a key of the store, that this process lacks another one may have.
const ELSEWHERE_MS = 5000;
const LONGEST_PAUSE_MS = 1000;

export type EffectSweep = ReturnType<typeof createSweep>;

/** Looks for effects whose time has come, whichever process has left them. Never rejects. */
export const createSweep = (options: SweepOptions) => {
  const { effects, onFailed, isCovered, now } = options;
  let isClosed = false;
  let sampledAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const look = (entry: DueEntry): Promise<void> => lookAt(entry.key, options).then(() => undefined, onFailed);
  /** Gives the milliseconds until the next sweep. */
  const sweepOnce = async (): Promise<number> => {
    // Another process looks for what this one has no tool for.
    if (!isCovered()) return LONGEST_PAUSE_MS;
    if (now() - sampledAt >= SAMPLE_EVERY_MS) {
      sampledAt = now();
      await sample(options);
    }
    const { entries, nextMs } = await effects.live.popDue(AT_ONCE, AGAIN_MS);
    await Promise.all(entries.map(look));
    if (entries.length === AT_ONCE) return LEAST_PAUSE_MS;
    return Math.max(LEAST_PAUSE_MS, Math.min(nextMs ?? LONGEST_PAUSE_MS, LONGEST_PAUSE_MS));
  };
  const sweep = async (): Promise<void> => {
    const pauseMs = await sweepOnce().catch((error: unknown) => {
      onFailed(error);
      return LONGEST_PAUSE_MS;
    });
    if (!isClosed) timer = setTimeout(() => void sweep(), pauseMs).unref();
  };
  return {
    start: (): void => void sweep(),
    /** Looks at one effect now. Rejects where the store fails. */
    look: (key: string): Promise<LookStep> => lookAt(key, options),
    close: (): void => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
};

const LEAST_PAUSE_MS = 25;
const SAMPLE_EVERY_MS = 5000;
// Counting more would take longer than it is worth: an alert has been raised long before.
const MOST_SAMPLED = 1000;

const sample = async ({ effects, sampled, time }: SweepOptions): Promise<void> => {
  const counts = new Map<string, number>();
  const now = time();
  let oldestAt = now;
  let seen = 0;
  for await (const part of effects.live.list()) {
    const read = await Promise.all(part.slice(0, MOST_SAMPLED - seen).map(({ key }) => effects.find(key)));
    seen += read.length;
    for (const open of read) {
      if (open?.effect.state !== 'open') continue;
      counts.set(open.spec.tool, (counts.get(open.spec.tool) ?? 0) + 1);
      oldestAt = Math.min(oldestAt, open.effect.openedAt);
    }
  }
  sampled(counts, now - oldestAt);
};

/** Of an effect whose record is gone, or that is sealed with a key which this process lacks: that is another one's to look for. */
const passOver = async (key: string, effects: EffectStore): Promise<LookStep> => {
  if (await effects.has(key)) await effects.live.enterAgain(entryOf(key), ELSEWHERE_MS);
  else await effects.live.leave(entryOf(key));
  return { kind: 'none', retryAfterMs: null };
};

const lookAt = async (key: string, { effects, looker, findCheck, apply }: SweepOptions): Promise<LookStep> => {
  const found = await effects.find(key);
  if (found === null) return passOver(key, effects);
  const { effect, spec } = found;
  if (effect.state === 'settled') {
    if (!effect.isApplied) await apply(key, effect);
    else await effects.live.leave(entryOf(key));
    return { kind: 'settled', effect };
  }
  const check = findCheck(spec.tool);
  if (check === null) {
    await effects.live.enterAgain(entryOf(key), ELSEWHERE_MS);
    return { kind: 'none', retryAfterMs: ELSEWHERE_MS };
  }
  const ledger = {
    claim: effects.claim.bind(effects, key),
    endLook: effects.endLook.bind(effects, key),
  };
  const step = await looker.lookOnce(ledger, check, check.timeoutMs, (now) => describeSought(found, now));
  if (step.kind === 'settled') await apply(key, step.effect);
  else if (step.kind === 'none') await effects.live.enterAgain(entryOf(key), step.retryAfterMs ?? AGAIN_MS);
  return step;
};

const describeSought = ({ spec }: OpenEffect, { startedAt }: Effect): Sought => ({
  ...spec,
  input: readInput(spec),
  startedAt,
});

const readInput = (spec: EffectSpec): Readonly<Record<string, unknown>> => {
  const parsed = parseJson(spec.arguments);
  return parsed.ok && isRecord(parsed.value) ? parsed.value : {};
};
