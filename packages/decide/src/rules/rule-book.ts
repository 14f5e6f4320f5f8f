import type { Executed } from 'recourse-server/contract/failure';
import type { SessionRule } from 'recourse-server/contract/session';
import type { CallForecast, CallToDecide, Grant } from 'recourse-server/executor/policies';
import { tenantOfKey } from 'recourse-server/memory/bounded-store';
import { isSafe, type Tool } from 'recourse-server/tools/tool';
import { toDecimal } from '../policies/millionths.ts';
import type { RuleBook, RuleDecision } from '../policies/policies.ts';
import type { Rule } from '../policies/policy-settings.ts';
import { AskedCall, type RuleVerdict, type Success, type Use } from './asked-call.ts';
import { type Cap, type OpenRule, openRule } from './open-rule.ts';
import { askSafely, NoAnswer, type ReserveOptions, reserveCalls } from './reserve-calls.ts';
import type { Counted } from './rule-decisions.ts';
import { fullText, missingSuccessText, RULE_STORE_TEXT } from './rule-text.ts';
import { readTicket, type Ticket, writeTicket } from './rule-ticket.ts';
import { allOf, type Soon, type Steps, take } from './steps.ts';

export type RuleBookOptions = ReserveOptions & {
  /** Counts what a rule has said of a call. */
  readonly decided: (rule: string, decision: RuleVerdict) => void;
};

/** The rules of the configuration file, as they are now. */
export class ServiceRules implements RuleBook {
  readonly #options: RuleBookOptions;
  #rules: readonly OpenRule[] = [];
  /** Those that say anything of a tool, by its name. */
  readonly #ofTool = new Map<string, readonly OpenRule[]>();

  constructor(options: RuleBookOptions) {
    this.#options = options;
  }

  get rules(): readonly OpenRule[] {
    return this.#rules;
  }

  /** From now on these are the rules; what they have counted is kept by their names. */
  apply(rules: readonly Rule[]): void {
    this.#rules = rules.map(openRule);
    this.#ofTool.clear();
  }

  readonly concern = ({ name }: Pick<Tool, 'name'>): boolean =>
    this.#rules.length > 0 && this.#rulesOf(name).length > 0;

  readonly decide: RuleBook['decide'] = (calls) => take(this.#decide(calls));

  /** What would be decided, each call as if those before it ran: nothing is reserved. */
  readonly forecast: RuleBook['forecast'] = async (calls) => {
    const asked = this.#askAll(calls);
    await this.#checkRequirements(asked);
    const counts = new Map<string, Counted>();
    const forecasts: Awaited<ReturnType<RuleBook['forecast']>>[number][] = [];
    for (const each of asked) forecasts.push(await this.#forecastOne(each, counts));
    return forecasts;
  };

  /** How the rules stand that count by session, for who may use any of their tools. Rejects with the store. */
  async viewSession(sessionKey: string, isShown: (rule: OpenRule) => boolean): Promise<readonly SessionRule[]> {
    const { store } = this.#options;
    const scoped = { tenant: tenantOfKey(sessionKey), sessionKey, key: null };
    const views = this.#rules.map(async (rule): Promise<SessionRule | null> => {
      const key = rule.kind === 'cap' && rule.per === 'session' && isShown(rule) ? rule.keyOf(scoped) : null;
      return rule.kind === 'cap' && key !== null
        ? toView(rule, (await store.read(key, rule.terms)) ?? NOTHING_COUNTED)
        : null;
    });
    return (await Promise.all(views)).filter((view) => view !== null);
  }

  /** Settles by its ticket what was reserved for a call of any process, as whoever found it out says. */
  async settle(ticket: string, executed: Executed, isSuccess: boolean): Promise<void> {
    const read = readTicket(ticket);
    if (read !== null) await Promise.all(this.#settleAll(read, executed, isSuccess, 'other'));
  }

  #rulesOf(tool: string): readonly OpenRule[] {
    const known = this.#ofTool.get(tool);
    if (known !== undefined) return known;
    const rules = this.#rules.filter(
      (rule) => rule.concerns(tool) || (rule.kind === 'requirement' && rule.successOf === tool),
    );
    this.#ofTool.set(tool, rules);
    return rules;
  }

  *#decide(calls: readonly CallToDecide[]): Steps<readonly RuleDecision[]> {
    const asked = this.#askAll(calls);
    yield this.#checkRequirements(asked);
    yield* reserveCalls(asked, this.#options);
    return asked.map((each) => this.#toDecision(each));
  }

  #askAll(calls: readonly CallToDecide[]): readonly AskedCall[] {
    return calls.map((call) => new AskedCall(call, this.#rulesOf(call.tool.name)));
  }

  #checkRequirements(asked: readonly AskedCall[]): Promise<unknown> | undefined {
    return allOf(asked.flatMap((each) => each.requirements.map((success) => this.#require(each, success))));
  }

  #require(asked: AskedCall, { rule, key, digest }: Success): Soon<void> {
    const { store, onFailed } = this.#options;
    const note = (found: boolean | null | NoAnswer): void => {
      if (found instanceof NoAnswer) asked.refuse(rule, RULE_STORE_TEXT, 'store_unavailable');
      else if (found !== true) asked.refuse(rule, missingSuccessText(rule));
    };
    const found = askSafely(() => store.hasSuccess(key, digest, rule.withinMs), onFailed);
    return found instanceof Promise ? found.then(note) : note(found);
  }

  #toDecision(asked: AskedCall): RuleDecision {
    const { decided } = this.#options;
    const { failure, uses, successes } = asked;
    const rules = asked.describe();
    for (const { name, decision } of rules) decided(name, decision);
    const said = rules.length === 0 ? null : { rules, approval: null };
    if (failure !== null) return { kind: 'refused', failure, decided: said };
    const held = uses.filter(({ reserved }) => reserved !== null);
    return {
      kind: 'run',
      grant: held.length + successes.length === 0 ? null : this.#grant(asked, held),
      decided: said,
    };
  }

  #grant(asked: AskedCall, held: readonly Use[]): Grant {
    const ticket: Ticket = {
      name: asked.reservation,
      isWrite: !isSafe(asked.call.tool),
      uses: held.map(({ rule, key, amount }) => ({ rule: rule.name, key, amount, windowMs: rule.terms.windowMs })),
      successes: asked.successes.map(({ rule, key, digest }) => ({
        ...{ rule: rule.name, key, digest, withinMs: rule.withinMs },
      })),
    };
    return new RuleGrant(ticket, (executed, isSuccess) => this.#settleAll(ticket, executed, isSuccess, 'run'));
  }

  /** Promises what the next call must see, and nothing where the store has answered already. */
  #settleAll(ticket: Ticket, executed: Executed, isSuccess: boolean, by: 'run' | 'other'): Promise<unknown>[] {
    const { store, onFailed } = this.#options;
    const { name, isWrite } = ticket;
    const awaited: Promise<unknown>[] = [];
    for (const { rule, key, amount, windowMs } of ticket.uses) {
      const terms = { windowMs: this.#windowOf(rule, windowMs) };
      const settling = askSafely(() => store.settle(key, { name, amount, executed, by, isWrite }, terms), onFailed);
      if (settling instanceof Promise && (executed === 'no' || by === 'other')) awaited.push(settling);
    }
    if (!isSuccess) return awaited;
    for (const { key, digest, withinMs } of ticket.successes) {
      const noting = askSafely(() => store.noteSuccess(key, digest, withinMs), onFailed);
      if (noting instanceof Promise) awaited.push(noting);
    }
    return awaited;
  }

  #windowOf(name: string, before: number | null): number | null {
    const rule = this.#rules.find((each) => each.name === name);
    return rule?.kind === 'cap' ? rule.terms.windowMs : before;
  }

  async #forecastOne(asked: AskedCall, counts: Map<string, Counted>): Promise<Pick<CallForecast, 'failure' | 'rules'>> {
    const rules: { readonly name: string; readonly remaining_after: string }[] = [];
    const after = new Map<string, Counted>();
    for (const use of asked.uses) {
      const counted = counts.get(use.key) ?? (await this.#read(asked, use));
      if (counted === null) continue;
      after.set(use.key, { ...counted, held: counted.held + use.amount });
      rules.push({ name: use.rule.name, remaining_after: toDecimal(this.#leftAfter(asked, use, counted)) });
    }
    if (asked.failure === null) for (const [key, counted] of after) counts.set(key, counted);
    return { failure: asked.failure, rules };
  }

  #leftAfter(asked: AskedCall, { rule, amount }: Use, { spent, held, until }: Counted): bigint {
    const left = max(rule.terms.max - spent - held);
    if (amount > left || rule.terms.max < spent + held)
      asked.refuse(rule, fullText(rule, { left, until }, this.#options.time()));
    return max(left - amount);
  }

  async #read(asked: AskedCall, { rule, key }: Pick<Use, 'rule' | 'key'>): Promise<Counted | null> {
    const { store, onFailed } = this.#options;
    const counted = await askSafely(() => store.read(key, rule.terms), onFailed);
    if (!(counted instanceof NoAnswer)) return counted ?? NOTHING_COUNTED;
    asked.refuse(rule, RULE_STORE_TEXT, 'store_unavailable');
    return null;
  }
}

const toView = ({ name, terms }: Cap, { spent, held, until }: Counted): SessionRule => ({
  ...{ name, used: toDecimal(spent), reserved: toDecimal(held), max: toDecimal(terms.max) },
  until: until === null ? null : new Date(until).toISOString(),
});

const max = (amount: bigint): bigint => (amount > 0n ? amount : 0n);

const NOTHING_COUNTED: Counted = { spent: 0n, held: 0n, until: null };

/** What was reserved for a call that runs in this process. */
class RuleGrant implements Grant {
  readonly #ticket: Ticket;
  readonly #settle: (executed: Executed, isSuccess: boolean) => readonly Promise<unknown>[];
  #last: Executed | null = null;

  constructor(ticket: Ticket, settle: (executed: Executed, isSuccess: boolean) => readonly Promise<unknown>[]) {
    this.#ticket = ticket;
    this.#settle = settle;
  }

  get ticket(): string {
    return writeTicket(this.#ticket);
  }

  settle = (executed: Executed, isSuccess: boolean): Promise<void> | undefined => {
    // The end that comes late says once more what the answer has said.
    if (this.#last === executed || this.#last === 'yes') return undefined;
    this.#last = executed;
    const awaited = this.#settle(executed, isSuccess);
    return awaited.length === 0 ? undefined : Promise.all(awaited).then(() => undefined);
  };
}
