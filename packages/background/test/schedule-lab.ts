import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKeyedClient, freshName, whenConnected } from '@recourse/test-support/keyed-client.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { NEW_SECRET, type Receiver, startReceiver } from '@recourse/test-support/webhook-lab.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import type { Tool } from 'recourse-server/internal/tools/tool.ts';
import { expect, onTestFinished } from 'vitest';
import * as z from 'zod';

// One service, or one that accepts and one that works, with tools whose handlers wait until the schedule lets them end.

export const BACKGROUNDS = ['never', 'optional', 'always'] as const;
export const EFFECTS = ['read', 'write'] as const;
type Effects = (typeof EFFECTS)[number];
export type HeldEnd = 'value' | 'throw';

/** The handlers that have begun, and those that wait. */
export type Ledger = {
  readonly begins: (only: string) => number;
  /** Ends one of the handlers that wait, in the order in which they began. */
  readonly end: (place: number, how: HeldEnd) => void;
  /** From now on no handler waits. */
  readonly release: () => void;
  readonly hold: () => void;
};

const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_done, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

const createLedger = () => {
  const begun = new Map<string, number>();
  const waiting = new Map<string, PromiseWithResolvers<HeldEnd>>();
  let isHolding = true;
  const enter = (only: string): Promise<HeldEnd> => {
    begun.set(only, (begun.get(only) ?? 0) + 1);
    if (!isHolding) return Promise.resolve('value');
    const gate = waiting.get(only) ?? Promise.withResolvers<HeldEnd>();
    waiting.set(only, gate);
    return gate.promise;
  };
  const end = (only: string | undefined, how: HeldEnd): void => {
    if (only === undefined) return;
    waiting.get(only)?.resolve(how);
    waiting.delete(only);
  };
  const ledger: Ledger = {
    begins: (only) => begun.get(only) ?? 0,
    end: (place, how) => end([...waiting.keys()][place % Math.max(1, waiting.size)], how),
    release: () => {
      isHolding = false;
      for (const only of waiting.keys()) end(only, 'value');
    },
    hold: () => {
      isHolding = true;
    },
  };
  return { ledger, enter };
};

type Held = { readonly held: boolean; readonly effects: Effects; readonly signal: AbortSignal };

const waitFor = (ended: Promise<HeldEnd>, { held, effects, signal }: Held): HeldEnd | Promise<HeldEnd> => {
  if (!held) return 'value';
  // A write does not listen: what it does cannot be taken back half way.
  return effects === 'write' ? ended : Promise.race([ended, whenAborted(signal)]);
};

const createTools = (enter: (only: string) => Promise<HeldEnd>): readonly Tool[] =>
  BACKGROUNDS.flatMap((background) =>
    EFFECTS.map((effects) =>
      defineTool({
        name: `${background}_${effects}`,
        description: 'Waits until the schedule lets it end.',
        effects,
        background,
        input: z.object({ only: z.string(), held: z.boolean() }),
        run: async ({ only, held }, { signal, progress }) => {
          progress({ progress: 1, total: 2, message: 'begun' });
          const how = await waitFor(enter(only), { held, effects, signal });
          if (how === 'throw') throw new Error('the schedule says so');
          return { only };
        },
      }),
    ),
  );

export type ScheduleLab = {
  readonly url: string;
  readonly ledger: Ledger;
  readonly receiver: Receiver;
  /** `none`: the service itself runs the calls. */
  readonly workers: 'none' | 'one';
  /** The worker is closed in good order, and another is started; without Redis there is none beside the service. */
  readonly restart: () => Promise<void>;
};

const NO_LIMITS = { CIRCUIT_FAILURES: '0', SESSION_RETRIES: '0', LOG_LEVEL: 'silent', WORKER_CONCURRENCY: '4' };

const writeConfiguration = ({ url }: Receiver): string => {
  const events = ['tool_call.pending', 'tool_call.completed', 'tool_calls.completed'];
  const file = join(makeDirectory().root, 'recourse.config.json');
  writeFileSync(
    file,
    JSON.stringify({ webhooks: { ops: { url, secret: NEW_SECRET, events, privateAddresses: 'allow' } } }),
  );
  return file;
};

/** All of it, on real sockets; gone with its test. */
export const startScheduleLab = async (redisUrl: string | null): Promise<ScheduleLab> => {
  const { ledger, enter } = createLedger();
  const receiver = await startReceiver();
  const shared = { ...NO_LIMITS, CONFIG_FILE: writeConfiguration(receiver) };
  const tools = createTools(enter);
  const start = (role: Readonly<Record<string, string>>): Promise<RunningService> =>
    startService({ ...shared, ...role, ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }) }, tools);
  const service = await start(redisUrl === null ? {} : { ROLE: 'api' });
  let worker = redisUrl === null ? null : await start({ ROLE: 'worker' });
  const close = async (running: RunningService | null): Promise<void> => {
    running?.drain();
    await running?.stop();
  };
  onTestFinished(async () => {
    ledger.release();
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await close(worker);
    await close(service);
  });
  if (redisUrl !== null) await whenConnected(createKeyedClient(service.url));
  return {
    url: service.url,
    ledger,
    receiver,
    workers: redisUrl === null ? 'none' : 'one',
    restart: async () => {
      if (worker === null) return;
      const old = worker;
      worker = await start({ ROLE: 'worker' });
      await close(old);
    },
  };
};

/** An id that a caller may choose for its request. */
export const freshRequestId = (): string =>
  freshName()
    .replace(/[^\w-]/g, '_')
    .slice(-40);
