import { handleOfPlace } from '@recourse/background/pending-service';
import { isRecord } from 'recourse-server/contract/json-record';
import type { Approval as ShownApproval } from 'recourse-server/contract/tool-result';
import { type Failure, toFailure } from 'recourse-server/executor/call-outcome';
import { hideSensitive } from 'recourse-server/executor/journal';
import type { CallDecision, CallForecast, CallToDecide, Decided, Grant } from 'recourse-server/executor/policies';
import type { Redactor } from 'recourse-server/executor/redactor';
import { parseJson } from 'recourse-server/json/parse-json';
import type { Tool } from 'recourse-server/tools/tool';
import type { ApprovalBook, Swap } from '../policies/policies.ts';
import type { ApprovalSettings } from '../policies/policy-settings.ts';
import { digestCall, type FindEntry } from './approval-digest.ts';
import { type Approval, type ApprovalSpec, approvalIdOf, approvalKeyOf } from './approval-kind.ts';
import {
  type ApprovalStore,
  approvalIdOfHandle,
  createApprovalId,
  type OpenApproval,
  pointerKeyOf,
} from './approval-store.ts';
import { summarise } from './approval-summary.ts';
import { type ApprovalTerms, findTerms, mayAsk } from './approval-terms.ts';
import * as text from './approval-text.ts';

/** What is counted: that somebody is asked, or how an approval ended. */
export type ApprovalEvent = 'requested' | 'approved' | 'edited' | 'denied' | 'used' | 'expired' | 'cancelled' | 'stale';

/** Which approval, of what, and the digest of what may run. */
export type ApprovalAbout = Pick<OpenApproval, 'key' | 'spec'> & { readonly digest: string };

export type ApprovalBookOptions = {
  readonly store: ApprovalStore;
  readonly settings: () => ApprovalSettings;
  readonly findEntry: FindEntry;
  readonly redactor: Pick<Redactor, 'cut'>;
  /** What the tool itself says of a call; never rejects. */
  readonly askTool: (call: CallToDecide) => Promise<'ask' | 'allow'>;
  /** Where people see an approval; null: nowhere. */
  readonly urlOf: (id: string) => string | null;
  readonly onFailed: (error: unknown) => void;
  readonly onEvent: (event: ApprovalEvent, about: ApprovalAbout) => void;
  /** Tells the webhook endpoint that the call has named. */
  readonly announce: (call: CallToDecide, approval: ShownApproval) => void;
};

/** What rules have reserved for a call, and how they reserve for other arguments instead. */
type Reserved = { grant: Grant | null; readonly swap: Swap };

// Each round ends one approval that is over, or was claimed by another call at the same moment.
const MOST_ROUNDS = 8;

export const createApprovalBook = (options: ApprovalBookOptions): ApprovalBook => new StoredApprovalBook(options);

/** What people have said of calls, or have to say. Where the store is away nothing runs that a person has to approve. */
class StoredApprovalBook implements ApprovalBook {
  readonly #options: ApprovalBookOptions;
  #known: { readonly settings: ApprovalSettings; readonly tools: WeakMap<Tool, boolean> } | null = null;

  constructor(options: ApprovalBookOptions) {
    this.#options = options;
  }

  readonly concern = (tool: Tool): boolean => {
    const settings = this.#options.settings();
    if (this.#known?.settings !== settings) this.#known = { settings, tools: new WeakMap() };
    const { tools } = this.#known;
    const known = tools.get(tool);
    if (known !== undefined) return known;
    const concerned = tool.asksApproval || mayAsk(settings, tool);
    tools.set(tool, concerned);
    return concerned;
  };

  readonly decide = async (call: CallToDecide, grant: Grant | null, swap: Swap): Promise<CallDecision> => {
    const reserved: Reserved = { grant, swap };
    try {
      const decision = await this.#decide(call, reserved);
      if (decision.kind === 'refused') await reserved.grant?.settle('no', false);
      return decision;
    } catch (error) {
      this.#options.onFailed(error);
      await reserved.grant?.settle('no', false);
      return refuse(toFailure('store_unavailable', text.storeAwayText(call.tool.name), call.tool));
    }
  };

  readonly withdraw = async (tenant: string, { id }: ShownApproval, state: 'cancelled' | 'stale'): Promise<void> => {
    const key = approvalKeyOf(tenant, id);
    try {
      await this.#end(key, state, ['waiting', 'granted']);
      await this.#options.store.markReleased(key);
    } catch (error) {
      // Its call has ended: nothing runs by it, and it expires.
      this.#options.onFailed(error);
    }
  };

  readonly forecast = async (call: CallToDecide): Promise<Pick<CallForecast, 'would' | 'failure' | 'digest'>> => {
    const digest = digestCall(call, this.#options.findEntry);
    const { choice } = await this.#findTerms(call);
    if (choice === 'deny') return { would: 'refuse', failure: deniedByRule(call), digest };
    if (choice === 'allow') return { would: 'run', failure: null, digest };
    try {
      const found = await this.#findPointed(call, digest);
      if (found?.approval.state === 'denied') return { would: 'refuse', failure: denied(call, found), digest };
      return { would: found?.approval.state === 'granted' ? 'run' : 'ask', failure: null, digest };
    } catch (error) {
      this.#options.onFailed(error);
      return {
        would: 'refuse',
        failure: toFailure('store_unavailable', text.storeAwayText(call.tool.name), call.tool),
        digest,
      };
    }
  };

  async #decide(call: CallToDecide, reserved: Reserved): Promise<CallDecision> {
    const { pending } = call;
    if (pending !== null)
      return pending.approval === null
        ? { kind: 'run', grant: reserved.grant }
        : this.#resume(call, pending.approval.id, pending.handle, reserved);
    const terms = await this.#findTerms(call);
    if (terms.choice === 'allow') return { kind: 'run', grant: reserved.grant };
    if (terms.choice === 'deny') return refuse(deniedByRule(call));
    const digest = digestCall(call, this.#options.findEntry);
    return this.#meet(call, digest, terms, reserved);
  }

  async #findTerms(call: CallToDecide): Promise<ApprovalTerms> {
    const terms = findTerms(this.#options.settings(), call.tool, call.input);
    if (terms.choice !== 'allow' || !call.tool.asksApproval) return terms;
    return { ...terms, choice: await this.#options.askTool(call) };
  }

  /** Follows what leads a repeat to its approval, until one decides; makes one where none is there. */
  async #meet(call: CallToDecide, digest: string, terms: ApprovalTerms, reserved: Reserved): Promise<CallDecision> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const decision = await this.#meetOnce(call, digest, terms, reserved);
      if (decision !== null) return decision;
    }
    return refuse(toFailure('store_unavailable', text.storeAwayText(call.tool.name), call.tool));
  }

  /** null: what the call was led to was decided, or claimed, at that moment. */
  async #meetOnce(call: CallToDecide, digest: string, terms: ApprovalTerms, reserved: Reserved) {
    const { store } = this.#options;
    const pointer = pointerKeyOf(call, digest);
    const led = await store.pointed(pointer);
    const found = led === null ? null : await store.find(approvalKeyOf(call.tenant, led));
    const decision = found === null ? null : await this.#follow(call, found, reserved);
    if (decision !== null) return decision;
    if (call.mayWait) return this.#askPending(call, digest, terms, reserved.grant);
    const open = isOpenFor(found) ? led : null;
    const id = open ?? (await store.point(pointer, createApprovalId(), led, terms.expires));
    return this.#askOnce(call, id, digest, terms);
  }

  /** What was decided of the same call before; null: nothing that holds for this one. */
  async #follow(call: CallToDecide, found: OpenApproval, reserved: Reserved): Promise<CallDecision | null> {
    const { approval, spec } = found;
    if (approval.state === 'denied') return refuse(denied(call, found), found);
    const isOwn = approval.state === 'used' && approval.usedBy === call.reservation;
    if (spec.handle !== null || (approval.state !== 'granted' && !isOwn)) return null;
    return this.#claim(call, found, call.reservation, reserved);
  }

  /** Asks under this id; null: what it stands for was decided meanwhile. */
  async #askOnce(call: CallToDecide, id: string, digest: string, terms: ApprovalTerms): Promise<CallDecision | null> {
    const spec = this.#createSpec(call, digest, terms, { handle: null, ticket: null });
    const asked = await this.#options.store.ask(id, spec, 'tell');
    if (asked === 'full') return refuse(tooMany(call));
    if (asked.approval.state !== 'waiting') return null;
    const shown = this.#show(id, asked.approval, spec);
    if (asked.isNew) this.#tellRequested(call, shown, spec);
    const decision = { approval: shown };
    return refuse(toFailure('approval_required', text.requiredText(call.tool.name, shown), call.tool, { decision }));
  }

  async #askPending(
    call: CallToDecide,
    digest: string,
    terms: ApprovalTerms,
    grant: Grant | null,
  ): Promise<CallDecision> {
    const { place, tenant, tool } = call;
    if (place === null) throw new Error('A call that may wait has a place.');
    const handle = handleOfPlace(place);
    const id = approvalIdOfHandle(tenant, handle);
    const spec = this.#createSpec(call, digest, terms, { handle, ticket: grant?.ticket ?? null });
    const asked = await this.#options.store.ask(id, spec, 'anew');
    if (asked === 'full') return refuse(tooMany(call));
    const { state } = asked.approval;
    if (state !== 'waiting' && state !== 'granted')
      return refuse(toFailure('approval_stale', text.staleText(tool.name), tool));
    const approval = this.#show(id, asked.approval, spec);
    if (asked.isNew) this.#tellRequested(call, approval, spec);
    return { kind: 'ask', approval, grant };
  }

  /** A pending call that a person was asked for, and that was released: its time was over, or somebody has decided. */
  async #resume(call: CallToDecide, id: string, handle: string, reserved: Reserved): Promise<CallDecision> {
    const { store } = this.#options;
    const key = approvalKeyOf(call.tenant, id);
    const found = await store.find(key);
    if (found === null && (await store.has(key)))
      throw new Error('This process lacks the key that an approval is sealed with.');
    if (found === null) return refuse(toFailure('approval_stale', text.staleText(call.tool.name), call.tool));
    const { state } = found.approval;
    if (state === 'granted' || state === 'used') {
      const claimed = await this.#claim(call, found, handle, reserved);
      return claimed ?? this.#refuseEnded(call, await store.find(key));
    }
    // By the clock of this process its time is over: whoever decides from now on is told so.
    if (state === 'waiting') await this.#end(key, 'expired', ['waiting']);
    return this.#refuseEnded(call, await store.find(key));
  }

  #refuseEnded(call: CallToDecide, found: OpenApproval | null): CallDecision {
    const { tool } = call;
    if (found?.approval.state === 'denied') return refuse(denied(call, found), found);
    if (found?.approval.state === 'expired')
      return refuse(toFailure('approval_expired', text.expiredText(tool.name), tool), found);
    if (found?.approval.state === 'cancelled')
      return refuse(toFailure('approval_denied', text.withdrawnText(tool.name), tool), found);
    return refuse(toFailure('approval_stale', text.staleText(tool.name), tool), found);
  }

  /** Claims a grant, where what would run is what was approved; null: it is another call's, or over. */
  async #claim(call: CallToDecide, found: OpenApproval, by: string, reserved: Reserved): Promise<CallDecision | null> {
    const { key, approval, verdict } = found;
    if (verdict === null || verdict.decision === 'deny') return null;
    const edited = verdict.arguments === null ? null : readInput(verdict.arguments);
    const input = edited ?? call.input;
    if (digestCall({ ...call, input }, this.#options.findEntry) !== verdict.digest) {
      await this.#end(key, 'stale', ['granted']);
      return null;
    }
    const refused = edited === null ? null : await swapTo(edited, reserved);
    if (refused !== null) return refused;
    const claimed = await this.#options.store.claim(key, by, approval.verdict);
    if (claimed !== 'claimed') return null;
    this.#options.onEvent('used', { key, spec: found.spec, digest: verdict.digest });
    const run = { kind: 'run', grant: this.#holdClaim(key, by, reserved.grant), decided: describe(found) } as const;
    return edited === null ? run : { ...run, input: edited };
  }

  /** What rules have reserved, and the claim: a call that never begins gives back both. */
  #holdClaim(key: string, by: string, grant: Grant | null): Grant {
    const { store, onFailed } = this.#options;
    return {
      ticket: grant?.ticket ?? null,
      settle: (executed, isSuccess, hasBegun = false) => {
        const settled = grant?.settle(executed, isSuccess, hasBegun);
        if (hasBegun || executed !== 'no') return settled;
        return Promise.all([settled, store.unclaim(key, by).catch(onFailed)]).then(() => undefined);
      },
    };
  }

  /** What time has ended is told of by the sweep, once. */
  async #end(
    key: string,
    state: 'expired' | 'stale' | 'cancelled',
    from: readonly ('waiting' | 'granted')[],
  ): Promise<void> {
    const ended = await this.#options.store.withdraw(key, state, from);
    const found = ended?.isFirst === true && state !== 'expired' ? await this.#options.store.find(key) : null;
    if (found !== null) this.#options.onEvent(state, { key, spec: found.spec, digest: found.approval.digest });
  }

  async #findPointed(call: CallToDecide, digest: string): Promise<OpenApproval | null> {
    const led = await this.#options.store.pointed(pointerKeyOf(call, digest));
    return led === null ? null : this.#options.store.find(approvalKeyOf(call.tenant, led));
  }

  #createSpec(
    call: CallToDecide,
    digest: string,
    terms: ApprovalTerms,
    pending: Pick<ApprovalSpec, 'handle' | 'ticket'>,
  ): ApprovalSpec {
    const { tenant, tool, input, sessionKey, key, keyHash, caller, requestId, index } = call;
    const { by, four_eyes: fourEyes, edit: mayEdit, expires: expiresMs } = terms;
    const summary = summarise(terms.summary, tool.name, hideSensitive(input, tool));
    return {
      ...{ tenant, tool: tool.name, effects: tool.effects, digest, arguments: JSON.stringify(input), sessionKey },
      ...{ key, keyHash, caller, requestId, index, by, fourEyes, mayEdit, expiresMs, ...pending },
      summary: this.#options.redactor.cut(summary, MAX_SUMMARY, 'journal'),
    };
  }

  #show(id: string, { digest, endsAt }: Approval, { summary }: ApprovalSpec): ShownApproval {
    return { id, digest, summary, expires_at: new Date(endsAt).toISOString(), url: this.#options.urlOf(id) };
  }

  #tellRequested(call: CallToDecide, approval: ShownApproval, spec: ApprovalSpec): void {
    const { id, digest } = approval;
    this.#options.onEvent('requested', { key: approvalKeyOf(call.tenant, id), spec, digest });
    this.#options.announce(call, approval);
  }
}

/** Has rules reserve for these arguments instead; null: they have. */
const swapTo = async (input: CallToDecide['input'], reserved: Reserved): Promise<CallDecision | null> => {
  const swapped = await reserved.swap(input);
  if (swapped.kind === 'refused') return swapped;
  reserved.grant = swapped.grant;
  return null;
};

// One that is not there, or not readable here, may wait.
const isOpenFor = (found: OpenApproval | null): boolean =>
  found === null || (found.approval.state === 'waiting' && found.spec.handle === null);

const MAX_SUMMARY = 500;

const readInput = (text: string): Readonly<Record<string, unknown>> => {
  const parsed = parseJson(text);
  if (parsed.ok && isRecord(parsed.value)) return parsed.value;
  throw new Error('The arguments of an edit are damaged.');
};

const refuse = (failure: Failure, by: OpenApproval | null = null): CallDecision => ({
  ...{ kind: 'refused', failure },
  decided: by === null ? null : describe(by),
});

const describe = ({ key, approval: { digest }, verdict }: OpenApproval): Decided => ({
  rules: [],
  approval: { id: approvalIdOf(key), digest, by: verdict?.by ?? null },
});

const deniedByRule = ({ tool }: CallToDecide): Failure =>
  toFailure('approval_denied', text.deniedByRuleText(tool.name), tool);

const denied = ({ tool }: CallToDecide, { verdict }: OpenApproval): Failure =>
  toFailure('approval_denied', text.deniedText(tool.name, verdict?.reason ?? null), tool);

const tooMany = ({ tool }: CallToDecide): Failure =>
  toFailure('call_limit_exceeded', text.tooManyText(tool.name), tool);
