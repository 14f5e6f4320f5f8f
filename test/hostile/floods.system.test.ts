import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ATTACK_NAMES, FLOOD_FORMATS, type Flood } from '../../chaos/flood-attacks.ts';
import { findBroken, floodFor, probeFor, toMostP99 } from '../../chaos/flood-round.ts';
import { parkCalls, toFloodSettings } from '../../chaos/flood-service.ts';
import { runBounded, TEST_MS } from './bounded-run.ts';

const FLOOD_MS = 2000;

const flood: fc.Arbitrary<Flood> = fc.record({
  attack: fc.constantFrom(...ATTACK_NAMES),
  format: fc.constantFrom(...FLOOD_FORMATS),
  bytes: fc.constantFrom(1000, 40_000, 300_000, 1_000_000),
  toolMs: fc.constantFrom(0, 1000, 20_000),
  lanes: fc.constantFrom(5, 20, 60),
});

const ALL_AT_ONCE = ATTACK_NAMES.map(
  (attack): Flood => ({ attack, format: 'native', bytes: 1_000_000, toolMs: 20_000, lanes: 5 }),
);

const start = (heapMb: number): Promise<RunningProcess> =>
  startProcess({ by: 'node', environment: toFloodSettings(makeDirectory().root, heapMb) });

type Attacked = { readonly heapMb: number; readonly calm: RunningProcess; readonly floods: readonly Flood[] };

/** `calm` is not attacked: what its callers meet meanwhile is what the machine alone makes them wait. */
const attack = async ({ heapMb, calm, floods }: Attacked) => {
  const service = await start(heapMb);
  const target = { port: service.port, pendingRequest: await parkCalls(service.port, TEST_MS) };
  const [round, without] = await Promise.all([
    floodFor(target, floods, FLOOD_MS, service.exited),
    probeFor(calm.port, FLOOD_MS),
  ]);
  service.send('SIGKILL', 'group');
  return { round, mostP99: toMostP99(without, timeLimit(250)), stderr: service.stderr() };
};

// What other processes on the same cores hold up is another call each time; what the flood holds up, it holds up again.
const ATTEMPTS = 3;

const serves = async (attacked: Attacked): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    const { round, mostP99, stderr } = await attack(attacked);
    const { exit, probe, counts } = round;
    expect({ exit, failures: probe.failures, counts, stderr }).toMatchObject({ exit: null, failures: [] });
    const broken = findBroken(round, mostP99);
    if (broken.length === 0) return;
    if (attempt === ATTEMPTS) expect({ broken, counts }).toMatchObject({ broken: [] });
  }
};

test.each([256, 512])(
  'whatever one key sends, with a heap of %i MB the service lives and serves another tenant in time',
  async (heapMb) => {
    const calm = await start(heapMb);
    const plans = fc.array(flood, { minLength: 1, maxLength: 4, size: 'max' });
    await runBounded(
      fc.asyncProperty(plans, (floods) => serves({ heapMb, calm, floods })),
      [[ALL_AT_ONCE]],
    );
  },
  2 * TEST_MS,
);
