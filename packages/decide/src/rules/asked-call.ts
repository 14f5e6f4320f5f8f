import type { Failure } from 'recourse-server/executor/call-outcome';
import { toFailure } from 'recourse-server/executor/call-outcome';
import type { CallToDecide } from 'recourse-server/executor/policies';
import type { Cap, OpenRule, Requirement } from './open-rule.ts';
import type { Reserved } from './rule-decisions.ts';
import { noAmountText, noSessionText } from './rule-text.ts';
import { readTicket, type Ticket } from './rule-ticket.ts';

/** What one rule counts of a call, in which record. */
export type Use = { readonly rule: Cap; readonly key: string; readonly amount: bigint; reserved: Reserved | null };

/** A success that others require, in which record. */
export type Success = { readonly rule: Requirement; readonly key: string; readonly digest: string };

/** What rules ask of one call, and what has come of it so far. */
export class AskedCall {
  readonly call: CallToDecide;
  /** Names what is reserved for it: of a pending call, what was reserved when it was accepted. */
  readonly reservation: string;
  readonly previous: Ticket | null;
  /** In the order of the file: all reserve in it, so that no two wait for each other. */
  readonly uses: readonly Use[];
  readonly requirements: readonly Success[];
  readonly successes: readonly Success[];
  failure: Failure | null = null;
  /** Which rule has refused it, or would have: each at most once. */
  readonly verdicts: { readonly name: string; readonly decision: RuleVerdict }[] = [];

  constructor(call: CallToDecide, rules: readonly OpenRule[]) {
    this.call = call;
    this.previous = call.pending?.ticket ? readTicket(call.pending.ticket) : null;
    this.reservation = this.previous?.name ?? call.reservation;
    const uses: Use[] = [];
    const requirements: Success[] = [];
    const successes: Success[] = [];
    for (const rule of rules) {
      if (rule.kind === 'requirement') {
        this.#require(rule, requirements);
        this.#succeed(rule, successes);
      } else this.#use(rule, uses);
    }
    this.uses = uses;
    this.requirements = requirements;
    this.successes = successes;
  }

  /** Notes that a rule lets the call not run; one that only observes changes nothing. */
  refuse(rule: OpenRule, message: string, code: 'rule_refused' | 'store_unavailable' = 'rule_refused'): void {
    const { isEnforced, name } = rule;
    if (this.verdicts.some(({ name: known }) => known === name)) return;
    const refusal = isEnforced ? 'refused' : 'would_refuse';
    this.verdicts.push({ name, decision: code === 'store_unavailable' ? 'unavailable' : refusal });
    if (isEnforced) this.failure ??= toFailure(code, message, this.call.tool, { decision: { rule: name } });
  }

  /** What each rule has said of it: of a call that is refused, those alone that do not let it run. */
  describe(): AskedCall['verdicts'] {
    if (this.failure !== null) return this.verdicts;
    if (this.verdicts.length + this.requirements.length === 0) return this.uses.map(toAllowed);
    const known = new Set(this.verdicts.map(({ name }) => name));
    const allowing = [...this.uses, ...this.requirements].filter(({ rule }) => !known.has(rule.name));
    return [...this.verdicts, ...allowing.map(toAllowed)];
  }

  /** Whether another enforced rule decides of it after this one. */
  isTentative({ place }: Cap): boolean {
    return this.uses.some(({ rule }) => rule.place > place && rule.isEnforced);
  }

  #use(rule: Cap, uses: Use[]): void {
    if (!rule.concerns(this.call.tool.name) || !rule.applies(this.call.input)) return;
    const key = rule.keyOf(this.call);
    const amount = rule.amountOf(this.call.input);
    if (key === null) this.refuse(rule, noSessionText(rule));
    else if (amount === null) this.refuse(rule, noAmountText(rule));
    else uses.push({ rule, key, amount, reserved: null });
  }

  #require(rule: Requirement, requirements: Success[]): void {
    if (!rule.concerns(this.call.tool.name) || !rule.applies(this.call.input)) return;
    const key = rule.keyOf(this.call);
    if (key === null) this.refuse(rule, noSessionText(rule));
    else requirements.push({ rule, key, digest: rule.digestOf(key, this.call.input) });
  }

  #succeed(rule: Requirement, successes: Success[]): void {
    const key = rule.successOf === this.call.tool.name ? rule.keyOf(this.call) : null;
    if (key !== null) successes.push({ rule, key, digest: rule.digestOf(key, this.call.input) });
  }
}

const toAllowed = ({ rule: { name } }: Pick<Use | Success, 'rule'>) => ({ name, decision: 'allowed' as const });

export const RULE_VERDICTS = ['allowed', 'refused', 'would_refuse', 'unavailable'] as const;
export type RuleVerdict = (typeof RULE_VERDICTS)[number];
