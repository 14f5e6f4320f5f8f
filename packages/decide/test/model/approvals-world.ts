import type { DueIndex } from '@recourse/background/jobs/due-index';
import { handleOfPlace } from '@recourse/background/pending-service';
import { createActor } from '@recourse/test-support/keyed-client.ts';
import fc from 'fast-check';
import type { Approval as ShownApproval } from 'recourse-server/contract/tool-result';
import type { CallToDecide } from 'recourse-server/executor/policies';
import type { Decide, RecordStore, Records } from 'recourse-server/store/record-store';
import { NO_SEALING } from 'recourse-server/store/seals';
import { expect } from 'vitest';
import { createApprovalBook } from '#src/approvals/approval-book.ts';
import { digestCall } from '#src/approvals/approval-digest.ts';
import { type Approval, type ApprovalState, approvalIdOf, approvalKind } from '#src/approvals/approval-kind.ts';
import { ApprovalStore } from '#src/approvals/approval-store.ts';
import { createApprovalSweep } from '#src/approvals/approval-sweep.ts';
import type { ApprovalBook } from '#src/policies/policies.ts';
import { APPROVALS } from '#src/policies/policy-settings.ts';
import { type Fault, type Life, Machine } from './machine.ts';

// Processes that ask, persons who decide, and workers that run, of which every step on a record happens when a schedule says so.

export type Backend = (now: () => number) => Promise<{
  readonly openStore: () => RecordStore;
  readonly live: DueIndex;
  readonly pass: (ms: number) => Promise<void>;
}>;

const step = fc.record({
  pick: fc.nat(20),
  fault: fc.constantFrom<Fault>('none', 'none', 'none', 'none', 'lost', 'refused', 'slow'),
});
const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      amount: fc.nat(1),
      process: fc.nat(1),
      times: fc.constantFrom(1, 1, 3),
      waits: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('decide' as const),
      decision: fc.constantFrom('approve' as const, 'approve' as const, 'deny' as const, 'edit' as const),
      pick: fc.nat(9),
      process: fc.nat(1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), pick: fc.nat(9), process: fc.nat(1) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('work' as const),
      pick: fc.nat(9),
      process: fc.nat(1),
      begins: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sweep' as const), process: fc.nat(1) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(100, 1000, 6000, 11_000) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), process: fc.nat(1), sent: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reload' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('revoke' as const) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('drain' as const) }) },
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant('steps' as const),
      steps: fc.array(step, { minLength: 1, maxLength: 6 }),
    }),
  },
);
export const anySchedule = fc.array(act, { minLength: 20, maxLength: 80 });
type Act = typeof act extends fc.Arbitrary<infer What> ? What : never;

export const createTally = () => ({
  schedules: 0,
  ran: 0,
  refused: 0,
  asked: 0,
  edited: 0,
  states: new Map<ApprovalState, number>(),
});
type Tally = ReturnType<typeof createTally>;

const TENANT = 'acme';
const { tool: TOOL } = createActor('pay', { effects: 'write' });
const SETTINGS = APPROVALS.parse({ rules: [{ tools: 'pay', decide: 'ask', edit: true, expires: '10s' }] });
const NO_ENTRY = () => null;
const EDITED = { amount: 99 };

/** What may follow a state; time alone may lie between. */
const NEXT: Readonly<Record<ApprovalState, readonly ApprovalState[]>> = {
  waiting: ['granted', 'denied', 'expired', 'cancelled', 'stale'],
  granted: ['used', 'expired', 'cancelled', 'stale'],
  used: ['granted'],
  denied: ['expired', 'cancelled'],
  expired: ['waiting'],
  cancelled: ['waiting'],
  stale: ['waiting'],
};

type Change = { readonly before: Approval | null; readonly after: Approval | null; readonly now: number };
type PendingCall = {
  readonly call: CallToDecide;
  readonly handle: string;
  readonly approval: ShownApproval;
  state: 'waiting' | 'queued' | 'ended';
};
type Process = {
  life: Life;
  readonly store: ApprovalStore;
  readonly book: ApprovalBook;
  readonly sweep: ReturnType<typeof createApprovalSweep>;
};

export class World {
  readonly machine: Machine;
  readonly #tally: Tally;
  readonly #pending = new Map<string, PendingCall>();
  readonly #known = new Set<string>();
  /** By approval: the digests that a person has let run. */
  readonly #approved = new Map<string, Set<string>>();
  /** By claimer: what it has claimed last. */
  readonly #claims = new Map<string, { readonly id: string; readonly digest: string }>();
  readonly #runs = new Map<string, number>();
  readonly #processes: Process[] = [];
  readonly #wrong: unknown[] = [];
  #version = 0;
  #isRevoked = false;
  #calls = 0;
  readonly #open: () => Process;

  constructor(parts: Awaited<ReturnType<Backend>>, machine: Machine, tally: Tally) {
    this.machine = machine;
    this.#tally = tally;
    this.#open = () => this.#openProcess(parts);
    for (let process = 0; process < 2; process += 1) this.#processes.push(this.#open());
  }

  #openProcess({ openStore, live }: Awaited<ReturnType<Backend>>): Process {
    const life: Life = { state: 'live', faults: 0 };
    const gated = <Value>(ask: () => Value | Promise<Value>): Promise<Value> => this.machine.ask(life, ask);
    const own = openStore();
    const gatedIndex: DueIndex = {
      enter: (...words) => gated(() => live.enter(...words)),
      enterAgain: (...words) => gated(() => live.enterAgain(...words)),
      leave: (...words) => gated(() => live.leave(...words)),
      popDue: (...words) => gated(() => live.popDue(...words)),
      putOff: (...words) => gated(() => live.putOff(...words)),
      list: () => live.list(),
    };
    const store = new ApprovalStore({
      store: { now: own.now, open: (kind) => this.#gate(own.open(kind), kind.name === approvalKind.name, gated) },
      live: gatedIndex,
      sealing: NO_SEALING,
    });
    const sweep = createApprovalSweep({
      store,
      releasePending: async (_tenant, handle) => {
        const pending = this.#pending.get(handle);
        if (pending?.state === 'waiting') pending.state = 'queued';
        return pending === undefined ? 'gone' : 'told';
      },
      onExpired: () => undefined,
      onFailed: this.#note,
    });
    const book = createApprovalBook({
      ...{ store, settings: () => SETTINGS, findEntry: NO_ENTRY, redactor: { cut: (text) => text } },
      askTool: async () => 'allow',
      urlOf: () => null,
      onFailed: this.#note,
      onEvent: () => undefined,
      announce: () => undefined,
    });
    return { life, store, book, sweep };
  }

  /** The same records, of which each step waits for the machine, and is looked at. */
  #gate<State>(
    records: Records<State>,
    isWatched: boolean,
    gated: <Value>(ask: () => Value | Promise<Value>) => Promise<Value>,
  ): Records<State> {
    return {
      update: (key, decide, timeout) => {
        let change: Change | null = null;
        // It may be decided several times, of which the last one counts.
        const watched: typeof decide = (state, now) => {
          const before = copy(state);
          const result = decide(state, now);
          change = { before, after: copy(state), now };
          return result;
        };
        return gated(async () => {
          const result = await records.update(key, isWatched ? watched : decide, timeout);
          if (change !== null) this.#look(key, change);
          return result;
        });
      },
      read: <Result>(key: string, look: Decide<State, Result>, only?: readonly string[]) =>
        gated(() => records.read(key, look, only)),
      list: (key, count) => gated(() => records.list(key, count)),
      delete: (key) => gated(() => records.delete(key)),
    };
  }

  // A step that the machine has refused is no mistake.
  readonly #note = (error: unknown): void => {
    if (!(error instanceof Error) || error.message !== 'The store is away.') this.#wrong.push(error);
  };

  #look(key: string, change: Change): void {
    try {
      this.#lookAt(key, change);
    } catch (error) {
      this.#wrong.push(error);
    }
  }

  #lookAt(key: string, { before, after, now }: Change): void {
    this.#known.add(key);
    if (after === null || before === null || before.state === after.state) return;
    // Two steps, of which the first is that its time was over.
    const isOver = before.endsAt !== 0 && now >= before.endsAt;
    const from = isOver && after.state !== 'expired' ? 'expired' : before.state;
    expect(NEXT[from], `${before.state} → ${after.state}`).toContain(after.state);
    this.#tally.states.set(after.state, (this.#tally.states.get(after.state) ?? 0) + 1);
    if (after.state !== 'used' || after.usedBy === null) return;
    expect(now, 'a grant that was over').toBeLessThan(before.endsAt);
    this.#claims.set(after.usedBy, { id: approvalIdOf(key), digest: after.digest });
  }

  /** Starts what an act says; it goes on as the machine lets its steps happen. */
  async act(what: Act): Promise<void> {
    const tasks = this.#start(what);
    for (const task of tasks) void task.catch(this.#note);
    if (tasks.length === 0) await this.#happen(what);
  }

  /** What processes and people begin. */
  #start(what: Act): readonly Promise<unknown>[] {
    switch (what.kind) {
      case 'call':
        // Equal calls at the same moment.
        return Array.from({ length: what.times }, (_, time) =>
          this.#call({ ...what, process: (what.process + time) % 2 }),
        );
      case 'decide':
        return [this.#decide(what)];
      case 'withdraw':
        return [this.#withdraw(what)];
      case 'work':
        return [this.#work(what)];
      case 'sweep':
        return [this.#process(what).sweep.sweepOnce()];
      default:
        return [];
    }
  }

  async #happen(what: Act): Promise<void> {
    if (what.kind === 'pass') await this.#pass(what.ms);
    else if (what.kind === 'kill') await this.#kill(what);
    else if (what.kind === 'drain') await this.machine.drain();
    else if (what.kind === 'reload') this.#version = (this.#version + 1) % 2;
    else if (what.kind === 'revoke') this.#isRevoked = !this.#isRevoked;
    else if (what.kind === 'steps') for (const { pick, fault } of what.steps) await this.machine.step(pick, fault);
  }

  async #pass(ms: number): Promise<void> {
    await this.machine.pass(ms);
    for (const pending of this.#pending.values())
      if (pending.state === 'waiting' && this.machine.now() >= pending.call.timeoutMs) pending.state = 'queued';
  }

  async #kill({ process, sent }: Extract<Act, { kind: 'kill' }>): Promise<void> {
    await this.machine.kill(this.#process({ process }).life, sent);
    this.#processes[process] = this.#open();
  }

  /** Everything happens that was asked for; then each call has ended, or waits. */
  async finish(): Promise<void> {
    await this.machine.drain();
    expect(this.#wrong).toEqual([]);
    for (const [id, count] of this.#runs) expect(count, `runs by ${id}`).toBe(1);
  }

  #process({ process }: { readonly process: number }): Process {
    const found = this.#processes[process];
    if (found === undefined) throw new Error('There is no such process.');
    return found;
  }

  #toolNow() {
    return { ...TOOL, source: `version ${this.#version}` };
  }

  async #call({ amount, process, waits }: Extract<Act, { kind: 'call' }>): Promise<void> {
    if (this.#isRevoked) return;
    this.#calls += 1;
    const place = { recordKey: `call ${this.#calls}`, place: 0 };
    const call: CallToDecide = {
      ...{
        tool: this.#toolNow(),
        input: { amount },
        tenant: TENANT,
        key: 'agent',
        caller: 'agent',
        keyHash: 'f'.repeat(64),
      },
      ...{
        sessionKey: `${TENANT}:session`,
        requestId: 'request',
        index: 0,
        id: null,
        name: 'pay',
        notify: null,
        pending: null,
      },
      ...{ reservation: `call ${this.#calls}`, mayWait: waits, place: waits ? place : null },
      // When its approval is over at the latest.
      timeoutMs: this.machine.now() + 10_000,
    };
    const { book, life } = this.#process({ process });
    const decision = await book.decide(call, null, NO_SWAP);
    if (life.state !== 'live') return;
    if (decision.kind === 'ask') {
      const handle = handleOfPlace(place);
      this.#pending.set(handle, { call, handle, approval: decision.approval, state: 'waiting' });
      this.#tally.asked += 1;
    } else if (decision.kind === 'run') this.#run(call, decision.input ?? call.input, call.reservation);
    else this.#tally.refused += 1;
  }

  async #work({ pick, process, begins }: Extract<Act, { kind: 'work' }>): Promise<void> {
    const queued = [...this.#pending.values()].filter(({ state }) => state === 'queued');
    const pending = queued[pick % Math.max(1, queued.length)];
    if (pending === undefined) return;
    const { handle, approval } = pending;
    const { book, life } = this.#process({ process });
    if (this.#isRevoked) {
      pending.state = 'ended';
      await book.withdraw(TENANT, approval, 'stale');
      return;
    }
    const call = {
      ...pending.call,
      tool: this.#toolNow(),
      place: null,
      mayWait: false,
      pending: { handle, approval, ticket: null },
    };
    const decision = await book.decide(call, null, NO_SWAP);
    // Of all workers one holds a call.
    if (life.state !== 'live' || pending.state !== 'queued') return;
    if (decision.kind === 'refused') {
      if (decision.failure.code !== 'store_unavailable') pending.state = 'ended';
      this.#tally.refused += 1;
      return;
    }
    if (decision.kind !== 'run') throw new Error('A pending call asks nobody.');
    if (!begins) return void (await decision.grant?.settle('no', false, false));
    pending.state = 'ended';
    this.#run(call, decision.input ?? call.input, handle);
  }

  #run(call: CallToDecide, input: CallToDecide['input'], by: string): void {
    const digest = digestCall({ ...call, input }, NO_ENTRY);
    const claim = this.#claims.get(by);
    expect(claim?.digest, 'what ran is what was claimed').toBe(digest);
    const { id = '' } = claim ?? {};
    expect([...(this.#approved.get(id) ?? [])], 'what ran is what was approved').toContain(digest);
    this.#runs.set(id, (this.#runs.get(id) ?? 0) + 1);
    expect(this.#runs.get(id), `runs by ${id}`).toBe(1);
    this.#tally.ran += 1;
    if (input === EDITED || input['amount'] === EDITED.amount) this.#tally.edited += 1;
  }

  #pick(pick: number): string | undefined {
    return [...this.#known].at(-1 - (pick % Math.max(1, this.#known.size)));
  }

  async #decide({ decision, pick, process }: Extract<Act, { kind: 'decide' }>): Promise<void> {
    const key = this.#pick(pick);
    const { store, sweep } = this.#process({ process });
    const found = key === undefined ? null : await store.find(key);
    if (found === null) return;
    const { digest: read } = found.approval;
    const edited = decision === 'edit' ? EDITED : null;
    const digest =
      edited === null ? read : digestCall({ ...found.spec, tool: this.#toolNow(), input: edited }, NO_ENTRY);
    const id = approvalIdOf(found.key);
    if (decision !== 'deny') this.#approved.set(id, new Set([...(this.#approved.get(id) ?? []), digest]));
    const verdict = { decision, digest, arguments: edited && JSON.stringify(edited), by: 'ops', reason: null };
    await store.decide(found, read, { state: decision === 'deny' ? 'denied' : 'granted', verdict });
    await sweep.release(found.key);
  }

  async #withdraw({ pick, process }: Extract<Act, { kind: 'withdraw' }>): Promise<void> {
    const key = this.#pick(pick);
    const { store, sweep } = this.#process({ process });
    if (key === undefined) return;
    await store.withdraw(key, 'cancelled');
    await sweep.release(key);
  }
}

const NO_SWAP = async () => ({ kind: 'run', grant: null }) as const;

const copy = (state: unknown): Approval | null => {
  const { approval = null } = state as { readonly approval?: Approval | null };
  return approval === null ? null : { ...approval };
};

export const playSchedule = async (schedule: readonly Act[], backend: Backend, tally: Tally): Promise<void> => {
  const parts = await backend(() => machine.now());
  const machine: Machine = new Machine(parts.pass);
  const world = new World(parts, machine, tally);
  for (const what of schedule) await world.act(what);
  await world.finish();
  tally.schedules += 1;
};
