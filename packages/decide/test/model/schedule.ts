import type { DueIndex } from '@recourse/background/jobs/due-index';
import fc from 'fast-check';
import type { RecordStore } from 'recourse-server/store/record-store';
import { expect } from 'vitest';
import { Expectations } from './expectations.ts';
import { type Fault, Machine } from './machine.ts';
import { CHECKS, type CheckMode, type Ending, Process } from './process.ts';

/** Where the records of a schedule are. */
export type Backend = {
  /** Begins a schedule: how a process opens the store, the index that all have in common, and how time passes for both. */
  readonly open: (now: () => number) => Promise<{
    readonly openStore: () => RecordStore;
    readonly live: DueIndex;
    readonly pass: (ms: number) => Promise<void>;
  }>;
  /** How far the clocks of processes may be apart. */
  readonly slackMs: number;
};

const PROCESSES = 3;
const by = fc.nat(PROCESSES - 1);
const of = fc.nat(20);
const fault = fc.constantFrom<Fault>('none', 'none', 'none', 'none', 'none', 'slow', 'lost', 'refused');
const ending = fc.constantFrom<Ending>('success', 'refused', 'never_began', 'unknown', 'timeout', 'timeout');
const verdict = fc.constantFrom('happened' as const, 'did_not_happen' as const);
const ms = fc.constantFrom<number>(300, 1200, 3000, 6000, 11_000);
// Longer than a lease, and longer than a lease and any run.
const nap = fc.constantFrom<number>(5500, 9100);
const one = <const Kind extends string>(kind: Kind) => ({ kind: fc.constant(kind) });

/**
 * `by` names a process, `of` counts from the runs or steps that there are. `serve` and `sweep` are a request and a look with all steps of
 * the process; a process that naps is frozen until its leases have lapsed.
 */
const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ ...one('request'), by }) },
  { weight: 10, arbitrary: fc.record({ ...one('step'), of, fault }) },
  { weight: 6, arbitrary: fc.record({ ...one('drain'), by }) },
  { weight: 4, arbitrary: fc.record({ ...one('drainAll') }) },
  { weight: 4, arbitrary: fc.record({ ...one('act'), of }) },
  { weight: 6, arbitrary: fc.record({ ...one('end'), of, how: ending }) },
  { weight: 6, arbitrary: fc.record({ ...one('pass'), ms }) },
  { weight: 5, arbitrary: fc.record({ ...one('look'), by }) },
  { weight: 6, arbitrary: fc.record({ ...one('serve'), by }) },
  { weight: 5, arbitrary: fc.record({ ...one('sweep'), by }) },
  { weight: 4, arbitrary: fc.record({ ...one('nap'), by, ms: nap }) },
  { weight: 2, arbitrary: fc.record({ ...one('freeze'), by }) },
  { weight: 2, arbitrary: fc.record({ ...one('thaw'), by }) },
  { weight: 1, arbitrary: fc.record({ ...one('kill'), by, sent: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ ...one('decide'), by, verdict }) },
);
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never;

/** A run goes on for long, in a process that sleeps or does not, and another process looks for it. */
const overslept = fc
  .record({
    by,
    how: ending,
    later: ending,
    isEnded: fc.boolean(),
    sleeps: fc.boolean(),
    mayAct: fc.boolean(),
    ms: nap,
  })
  .map(({ by: first, how, later, isEnded, sleeps, mayAct, ms: forMs }): readonly Command[] => [
    { kind: 'serve', by: first },
    ...(isEnded ? [{ kind: 'end', of: 0, how } as const, { kind: 'drain', by: first } as const] : []),
    sleeps ? { kind: 'nap', by: first, ms: forMs } : { kind: 'pass', ms: forMs },
    { kind: 'sweep', by: (first + 1) % PROCESSES },
    ...(mayAct ? [{ kind: 'act', of: 0 } as const] : []),
    { kind: 'thaw', by: first },
    { kind: 'end', of: 0, how: later },
    { kind: 'drainAll' },
  ]);
const none = fc.constant<readonly Command[]>([]);

export const anySchedule = fc.record({
  isStrict: fc.boolean(),
  timeoutMs: fc.constantFrom(1000, 8000),
  checks: fc.array(fc.constantFrom<CheckMode>('truth', ...CHECKS), { minLength: 1, maxLength: 5 }),
  first: fc.oneof({ weight: 2, arbitrary: none }, { weight: 1, arbitrary: overslept }),
  rest: fc.array(command, { minLength: 10, maxLength: 60, size: 'max' }),
});
export type Schedule = typeof anySchedule extends fc.Arbitrary<infer Value> ? Value : never;

/** What the schedules came to, all in all: that they reach what they are meant to reach. */
export const createTally = () => ({ runs: 0, happened: 0, didNotHappen: 0, contradictions: 0, rerun: 0, schedules: 0 });
type Tally = ReturnType<typeof createTally>;

const RENEW_MS = 1500;
let schedules = 0;

class Player {
  readonly #machine: Machine;
  readonly #expected: Expectations;
  readonly #open: () => Process;
  readonly #processes: Process[];
  readonly #all: Process[] = [];

  constructor(
    { isStrict, timeoutMs, checks }: Schedule,
    backend: Backend,
    machine: Machine,
    { openStore, live }: Awaited<ReturnType<Backend['open']>>,
  ) {
    schedules += 1;
    this.#machine = machine;
    this.#expected = new Expectations({ isStrict, timeoutMs, slackMs: backend.slackMs });
    let looks = 0;
    const nextCheck = (): CheckMode => {
      looks += 1;
      const mode = checks[looks % checks.length] ?? 'truth';
      return this.isOver || (isStrict && mode === 'lie') ? 'truth' : mode;
    };
    const world = {
      ...{ machine, expected: this.#expected, name: `${process.pid}_${schedules}`, timeoutMs, nextCheck },
    };
    this.#open = () => {
      const opened = new Process(world, openStore(), live);
      this.#all.push(opened);
      return opened;
    };
    this.#live = live;
    this.#processes = Array.from({ length: PROCESSES }, this.#open);
  }

  readonly #live: DueIndex;
  /** A process was frozen or has died, or a step has failed. */
  #isDisturbed = false;
  isOver = false;

  /** The process of a number; where it is dead, another one in its place. */
  #find(number: number): Process {
    const existing = this.#processes[number];
    if (existing !== undefined && existing.life.state !== 'dead') return existing;
    const opened = this.#open();
    this.#processes[number] = opened;
    return opened;
  }

  #start(work: Promise<unknown>): void {
    work.catch((error: unknown) =>
      this.#expected.hold(() => {
        throw error;
      }),
    );
  }

  async take(next: Command): Promise<void> {
    await this.#take(next);
    this.#expected.throwBroken();
  }

  async #take(next: Command): Promise<void> {
    const machine = this.#machine;
    switch (next.kind) {
      case 'request':
        return this.#start(this.#find(next.by).request());
      case 'serve':
        this.#start(this.#find(next.by).request());
        return machine.drain(this.#find(next.by).life);
      case 'sweep':
        this.#find(next.by).look();
        return machine.drain(this.#find(next.by).life);
      case 'step':
        this.#isDisturbed ||= next.fault === 'lost' || next.fault === 'refused';
        return void (await machine.step(next.of, next.fault));
      case 'drain':
        return machine.drain(this.#find(next.by).life);
      case 'drainAll':
        return machine.drain();
      case 'act':
        return this.#act(next.of);
      case 'end':
        return this.#end(next.of, next.how);
      case 'pass':
        return this.#pass(next.ms);
      case 'look':
        return this.#find(next.by).look();
      case 'decide':
        return this.#decide(next.by, next.verdict);
      default:
        return this.#change(next);
    }
  }

  async #change(next: Extract<Command, { kind: 'freeze' | 'thaw' | 'kill' | 'nap' }>): Promise<void> {
    const { life } = this.#find(next.by);
    this.#isDisturbed = true;
    if (next.kind === 'kill') return this.#machine.kill(life, next.sent);
    if (life.state !== 'dead') life.state = next.kind === 'thaw' ? 'live' : 'frozen';
    if (next.kind === 'thaw') await this.#machine.ring();
    if (next.kind === 'nap') await this.#pass(next.ms);
  }

  get #handlers() {
    return this.#all.flatMap(({ handlers }) => handlers);
  }

  #act(of: number): void {
    const open = this.#handlers.filter(({ run, process }) => this.#expected.mayAct(run, process.time()));
    const handler = open[of % Math.max(1, open.length)];
    if (handler !== undefined) this.#expected.act(handler.run);
  }

  async #end(of: number, how: Ending): Promise<void> {
    const open = this.#handlers.filter(({ run, process }) => run.state !== 'over' && process.life.state === 'live');
    const handler = open[of % Math.max(1, open.length)];
    if (handler === undefined) return;
    const { run, process } = handler;
    if (how === 'success' && this.#expected.mayAct(run, process.time())) this.#expected.act(run);
    handler.end(toTrue(how, run.hasActed, run.state));
    await new Promise((resolve) => setImmediate(resolve));
  }

  async #pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= RENEW_MS) {
      await this.#machine.pass(Math.min(left, RENEW_MS));
      await this.#machine.atOnce(() => {
        for (const process of this.#all) if (process.life.state === 'live') process.renew();
      });
    }
  }

  #decide(number: number, verdict: 'happened' | 'did_not_happen'): void {
    const expected = this.#expected;
    const process = this.#find(number);
    const choose = () => (expected.isStrict && !expected.isKnown(verdict, process.time()) ? null : verdict);
    // A store that fails leaves the record as it was, or settled.
    this.#start(process.decide(choose).catch(() => undefined));
  }

  /** Whatever is open ends; then one process sweeps for as long as it takes, and the key is repeated until its result stands. */
  async finish(): Promise<void> {
    this.isOver = true;
    const expected = this.#expected;
    await this.#endAll();
    expected.throwBroken();
    const last = this.#open();
    for (let round = 0; round < 12; round += 1) await this.#sweep(last);
    expected.throwBroken();
    expect(expected.effect?.state ?? 'settled').toBe('settled');
    expected.expectContradictions();
    await this.#repeat(last);
    expected.throwBroken();
  }

  async #endAll(): Promise<void> {
    for (const { life } of this.#all) if (life.state === 'frozen') life.state = 'live';
    await this.#machine.ring();
    await this.#machine.drain();
    for (let left = this.#handlers.length; left > 0; left -= 1) {
      await this.#end(0, 'unknown');
      await this.#machine.drain();
    }
  }

  async #sweep(process: Process): Promise<void> {
    await this.#pass(15_100);
    const { entries } = await this.#live.popDue(20, 15_000);
    // A process that was frozen, or its store, may have left it out of the index: it is looked for when it is repeated.
    const isLeftOut = this.#isDisturbed && entries.length === 0;
    for (let looks = isLeftOut ? 1 : entries.length; looks > 0; looks -= 1) process.look();
    await this.#machine.drain();
  }

  async #repeat(last: Process): Promise<void> {
    let stored: unknown = null;
    for (let times = 0; times < 5; times += 1) {
      stored = null;
      this.#start(
        last.request().then((answer) => {
          stored = answer;
        }),
      );
      for (let round = 0; round < 4 && stored === null; round += 1) {
        await this.#machine.drain();
        await this.#end(0, 'success');
        await this.#machine.drain();
        await this.#pass(6000);
      }
    }
    expect(stored).not.toBeNull();
    expect(stored).not.toBe('later');
    const result: { readonly kind?: string; readonly failure?: { readonly outcome: string } } = Object(stored);
    expect(result.failure?.outcome ?? 'success').not.toBe('unknown');
    if (this.#expected.isStrict && result.kind === 'success') expect(this.#expected.ledger).toHaveLength(1);
  }

  addTo(tally: Tally): void {
    const { runs, accepted, told } = this.#expected;
    tally.schedules += 1;
    tally.runs += runs.length;
    tally.happened += accepted.filter((each) => each.verdict === 'happened').length;
    tally.didNotHappen += accepted.filter((each) => each.verdict === 'did_not_happen').length;
    tally.contradictions += told;
    tally.rerun += runs.length > 1 ? 1 : 0;
  }

  close(): void {
    for (const process of this.#all) process.close();
  }
}

/** A handler says what is true. */
const toTrue = (how: Ending, hasActed: boolean, state: 'running' | 'late' | 'over'): Ending => {
  if (how === 'timeout') return state === 'late' ? 'unknown' : how;
  if (how === 'success') return hasActed ? how : 'unknown';
  return hasActed && (how === 'refused' || (how === 'never_began' && state === 'running')) ? 'success' : how;
};

/** Plays a schedule; throws where something that must hold does not. */
export const playSchedule = async (schedule: Schedule, backend: Backend, tally: Tally): Promise<void> => {
  let pass: (ms: number) => Promise<void> = async () => undefined;
  const machine = new Machine((ms) => pass(ms));
  const opened = await backend.open(machine.now);
  pass = opened.pass;
  const player = new Player(schedule, backend, machine, opened);
  try {
    for (const next of [...schedule.first, ...schedule.rest]) await player.take(next);
    await player.finish();
    player.addTo(tally);
  } finally {
    player.close();
  }
};
