import { setTimeout as pause } from 'node:timers/promises';
import { freshName } from '@recourse/test-support/keyed-client.ts';
import { createPendingClient, type PendingAnswer } from '@recourse/test-support/pending-client.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { StrictBank } from './approval-bank.ts';
import { createAsk } from './approvals-lab.ts';

/** Between which steps a service dies, in their order. */
export const STOPS = ['request', 'decision', 'claim', 'effect', 'answer'] as const;
const FATES = ['approve', 'approve', 'approve', 'edit', 'deny', 'expire'] as const;

export const anyErrand = fc.record({
  /** Whether its caller prefers an asynchronous answer, or calls again. */
  waits: fc.boolean(),
  fate: fc.constantFrom(...FATES),
  stop: fc.constantFrom(...STOPS),
  /** Which replica is called, and which is told the decision. */
  home: fc.nat(1),
  judge: fc.nat(1),
});
type Plan = typeof anyErrand extends fc.Arbitrary<infer What> ? What : never;

export const CONFIG = {
  approvals: {
    rules: [
      { tools: 'pay', when: { properties: { fate: { const: 'expire' } } }, decide: 'ask', expires: '1s' },
      { tools: 'pay', decide: 'ask', edit: true },
    ],
  },
};

/** The services that live, by their URLs. */
export type Live = readonly string[];

const DEADLINE = { timeout: timeLimit(60_000), interval: 100 };
const DECIDED = { approve: 'approve', edit: 'edit', deny: 'deny' } as const;

const pick = (live: Live, at: number): string => live[at % live.length] ?? '';

/** One call that a person has to approve, from its request to its end, over the death of a service. */
export class Errand {
  readonly plan: Plan;
  readonly mark = freshName();
  readonly #session = freshName();
  readonly #bank: StrictBank;
  #requestId = '';
  #approval: { readonly id: string; readonly digest: string } | null = null;
  /** What was under way when the service died. */
  #flying: Promise<unknown> = Promise.resolve();
  /** How its caller was answered last. */
  end = '';

  constructor(plan: Plan, bank: StrictBank) {
    this.plan = plan;
    this.#bank = bank;
  }

  /** What may be in the ledger. */
  get paid(): string {
    return this.plan.fate === 'edit' ? `${this.mark} edited` : this.mark;
  }

  get mayRun(): boolean {
    return this.plan.fate === 'approve' || this.plan.fate === 'edit';
  }

  comesTo(stop: (typeof STOPS)[number]): boolean {
    return STOPS.indexOf(this.plan.stop) >= STOPS.indexOf(stop);
  }

  /** Goes to the step over which the service is to die. */
  async begin(live: Live): Promise<void> {
    if (this.comesTo('decision')) await this.#call(live);
    if (!this.comesTo('claim')) return;
    const reached = this.mayRun ? this.#bank.hold(this.paid, this.comesTo('effect') ? 'effect' : 'gate') : null;
    await this.#decide(live);
    if (reached === null) return;
    if (!this.plan.waits) this.#flying = this.#call(live).catch(() => null);
    await reached;
  }

  /** Takes the step over which the service dies. */
  take(live: Live): void {
    const { stop } = this.plan;
    if (stop === 'request') this.#flying = this.#call(live).catch(() => null);
    if (stop === 'decision') this.#flying = this.#decide(live, 1).catch(() => null);
    if (stop === 'answer') this.#bank.letGo(this.paid);
  }

  /** Goes on until its caller is answered for good. */
  async finish(live: Live): Promise<void> {
    this.#bank.letGo(this.paid);
    await this.#flying;
    if (this.#approval === null) await this.#call(live);
    await this.#decide(live);
    if (this.plan.fate === 'expire') await expect.poll(() => this.#stateOf(live), DEADLINE).toBe('expired');
    if (this.plan.waits) await expect.poll(() => this.#look(live), DEADLINE).not.toBe('pending');
    else await this.#call(live);
  }

  async expectKept(live: Live): Promise<void> {
    const { fate, stop } = this.plan;
    const rows = this.#bank.ledger.filter((mark) => mark.split(' ')[0] === this.mark);
    const told = { ...this.plan, end: this.end, approval: this.#approval, rows };
    expect(
      rows.filter((mark) => mark !== this.paid || !this.mayRun),
      JSON.stringify(told),
    ).toEqual([]);
    expect(rows.length, JSON.stringify(told)).toBeLessThanOrEqual(1);
    // What was decided after the death, or was paid before it, is there.
    if (this.mayRun && (stop === 'request' || this.comesTo('effect')))
      expect(rows, JSON.stringify(told)).toEqual([this.paid]);
    const { body } = await this.#read(live);
    if (fate === 'deny') expect(body).toMatchObject({ state: 'denied', decision: 'deny' });
    if (rows.length === 0) return;
    expect(body).toMatchObject({ state: 'used', decision: fate, digest: this.#approval?.digest });
    expect(body[fate === 'edit' ? 'edited_arguments' : 'arguments']).toMatchObject({ mark: rows[0] });
  }

  async #call(live: Live): Promise<void> {
    const client = createPendingClient(pick(live, this.plan.home));
    const call = { id: this.mark, name: 'pay', arguments: { mark: this.mark, fate: this.plan.fate } };
    const body = { session_id: this.#session, deadline_ms: timeLimit(25_000), calls: [call] };
    const send = () =>
      this.plan.waits
        ? client.begin(body, { headers: { 'idempotency-key': this.mark } })
        : client.ask('/tool-calls', { method: 'POST', body });
    // A try that died has its key until its lease lapses.
    let answer = await send();
    while (answer.problem === 'idempotency_key_in_flight') {
      await pause(DEADLINE.interval);
      answer = await send();
    }
    this.#requestId ||= answer.requestId;
    this.#note(answer);
  }

  #note({ results: [result], problem }: PendingAnswer): void {
    this.end = result?.error?.code ?? result?.outcome ?? problem ?? 'no answer';
    const pending = result?.outcome === 'pending' ? result.pending.approval : null;
    this.#approval ??= result?.error?.approval ?? pending ?? null;
  }

  async #look(live: Live): Promise<string> {
    this.#note(await createPendingClient(pick(live, this.plan.home)).ask(`/tool-calls/${this.#requestId}`));
    return this.end;
  }

  /** Says what is to become of it, until the service has taken it. */
  async #decide(live: Live, tries = 100): Promise<void> {
    const { fate, judge } = this.plan;
    if (fate === 'expire' || this.#approval === null) return;
    const { id, digest } = this.#approval;
    const edited = fate === 'edit' ? { arguments: { mark: this.paid, fate } } : {};
    for (let tried = 0; tried < tries; tried += 1) {
      const ask = createAsk(pick(live, judge));
      const { status } = await ask(`/approvals/${id}`, { body: { decision: DECIDED[fate], ...edited }, digest });
      if (status === 200 || status === 409) break;
      // The store may be late on a busy machine; a digest that has changed is that of an edit that was taken.
      if (status === 412) break;
      expect(status).toBe(503);
    }
    const { body } = await this.#read(live);
    this.#approval = { id, digest: String(body['digest']) };
  }

  async #stateOf(live: Live): Promise<unknown> {
    return (await this.#read(live)).body['state'];
  }

  async #read(live: Live): ReturnType<ReturnType<typeof createAsk>> {
    const ask = createAsk(pick(live, this.plan.judge));
    const read = () => ask(`/approvals/${this.#approval?.id}`);
    await expect.poll(async () => (await read()).status, DEADLINE).toBe(200);
    return read();
  }
}
