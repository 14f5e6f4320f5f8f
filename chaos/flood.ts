import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { findFreePort } from '@recourse/test-support/redis-server.ts';
import * as z from 'zod';
import { ATTACK_NAMES, type AttackName, FLOOD_FORMATS, type Flood, isAttack } from './flood-attacks.ts';
import type { FloodCounts } from './flood-load.ts';
import { type Probe, toPercentile } from './flood-probe.ts';
import { findBroken, floodFor, probeFor, toMostP99 } from './flood-round.ts';
import { parkCalls, toFloodSettings } from './flood-service.ts';
import { readResidentMb } from './look-at-processes.ts';
import { createMemoryCage } from './memory-cage.ts';
import { createReplica } from './replica.ts';

// One key floods a service in a memory cage, while another tenant calls `echo` every 20 ms. In rounds: every attack of
// flood-attacks.ts at once, then two of them, which find the memory that the others would have taken.
//
//     npm run chaos:floods -- [--seconds 600] [--memory 1024] [--heap 512] [--attack NAME]...
//
// --memory: of the cage, in MiB, which needs root and control groups that can be written; without, the heap is the only limit.
// --heap: in MB; 512 is what Node takes of 1 GiB. --attack: this one alone in each round; more than once: these.
// Exit code 1 where the service ends, a call of the other tenant fails, or its p99 in a round is over the larger of 250 ms and five
// times its own without a flood.

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    memory: { type: 'string', default: '1024' },
    heap: { type: 'string', default: '512' },
    attack: { type: 'string', multiple: true, default: [] },
  },
});
const toNumber = (text: string): number => z.coerce.number().int().positive().parse(text);
const [seconds, memoryMib, heapMb] = [toNumber(values.seconds), toNumber(values.memory), toNumber(values.heap)];
const ONLY = z.array(z.string().refine((name): name is AttackName => isAttack(name))).parse(values.attack);

const QUIET_MS = 10_000;
// About as long as a slow tool takes.
const ROUND_MS = 20_000;
const LEAST_MS = 250;

const toFlood = (attack: AttackName, place: number): Flood => ({
  attack,
  format: FLOOD_FORMATS[place % FLOOD_FORMATS.length] ?? 'native',
  bytes: 1_000_000,
  toolMs: 20_000,
  lanes: 20,
});

// Each with one from the other half of the table.
const PAIRS = ATTACK_NAMES.length / 2;

const toFloods = (round: number): readonly Flood[] => {
  if (ONLY.length > 0) return ONLY.map(toFlood);
  const pair = ((round - 1) / 2) % PAIRS;
  return ATTACK_NAMES.map(toFlood).filter((_, place) => round % 2 === 0 || place % PAIRS === pair);
};

const say = (line: string): void => void process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

const describe = (probe: Probe): string => {
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => toPercentile(probe, share).toFixed(1));
  return `${probe.times.length} calls of another tenant, ${probe.failures.length} failed, p50 ${p50} ms, p99 ${p99} ms, most ${most} ms`;
};

const describeCounts = (counts: FloodCounts): string =>
  Object.entries(counts)
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([outcome, times]) => `${outcome} × ${times}`)
    .join(', ');

/** Calls that polls and streams wait for, and that end with the run. */
const park = (port: number): Promise<string> => parkCalls(port, seconds * 1000 + QUIET_MS);

const attack = async (port: number, exited: Promise<unknown>, look: () => string): Promise<readonly string[]> => {
  const before = await probeFor(port, QUIET_MS);
  const mostP99 = toMostP99(before, LEAST_MS);
  say(`without a flood: ${describe(before)}; p99 may be ${mostP99.toFixed(0)} ms`);
  const target = { port, pendingRequest: await park(port) };
  const all: Probe[] = [];
  const broken: string[] = [];
  for (let round = 0; round * ROUND_MS < seconds * 1000; round += 1) {
    const ms = Math.min(ROUND_MS, seconds * 1000 - round * ROUND_MS);
    const flooded = await floodFor(target, toFloods(round), ms, exited);
    say(`round ${round + 1}: ${describe(flooded.probe)}; ${look()}\n  ${describeCounts(flooded.counts)}`);
    broken.push(...findBroken(flooded, mostP99).map((what) => `round ${round + 1}: ${what}`));
    all.push(flooded.probe);
    if (flooded.exit !== null) break;
  }
  const times = all.flatMap((probe) => probe.times);
  say(`${seconds} s of floods: ${describe({ times, failures: all.flatMap((probe) => probe.failures) })}; ${look()}`);
  return broken;
};

const main = async (): Promise<number> => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-floods-'));
  const cage = createMemoryCage(memoryMib * 2 ** 20);
  if (cage === null) say(`No control group can be made here: the heap of ${heapMb} MB is the only limit.`);
  const { promise: exited, resolve } = Promise.withResolvers<unknown>();
  const environment = {
    PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    ...toFloodSettings(directory, heapMb),
  };
  const service = createReplica(
    {
      name: 'service',
      port: await findFreePort(),
      environment,
      logFile: join(directory, 'service.log'),
      ...(cage === null ? {} : { wrap: cage.wrap }),
    },
    resolve,
  );
  await service.start();
  const port = Number(new URL(service.url).port);
  const look = (): string => {
    const resident = readResidentMb(service.pid() ?? 0)?.toFixed(0) ?? 'none';
    const peak =
      cage === null ? '' : `, all its processes at most ${(cage.peakBytes() / 2 ** 20).toFixed(0)} of ${memoryMib} MiB`;
    return `the service has ${resident} MB${peak}`;
  };
  const broken = await attack(port, exited, look);
  await service.kill();
  await cage?.remove();
  for (const problem of broken) say(`BROKEN: ${problem}`);
  if (broken.length === 0) rmSync(directory, { recursive: true });
  else say(`The log of the service stays in ${directory}.`);
  return broken.length;
};

process.exit((await main()) === 0 ? 0 : 1);
