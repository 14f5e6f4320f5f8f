import type { Executed } from 'recourse-server/contract/failure';
import type { Approval } from 'recourse-server/contract/tool-result';
import type { CallDecision, CallForecast, CallToDecide, Grant, Policies } from 'recourse-server/executor/policies';
import type { Tool } from 'recourse-server/tools/tool';

/** What rules say of one call: what they have reserved for it, or why it is refused. */
export type RuleDecision =
  | Omit<Extract<CallDecision, { kind: 'run' }>, 'input'>
  | Extract<CallDecision, { kind: 'refused' }>;

/** One kind of policy over all calls. Nothing here rejects. */
export type RuleBook = {
  readonly concern: (tool: Tool) => boolean;
  readonly decide: (calls: readonly CallToDecide[]) => readonly RuleDecision[] | Promise<readonly RuleDecision[]>;
  readonly forecast: (calls: readonly CallToDecide[]) => Promise<readonly Pick<CallForecast, 'failure' | 'rules'>[]>;
  /** Settles what was reserved by its ticket, in any process. */
  readonly settle: (ticket: string, executed: Executed, isSuccess: boolean) => Promise<void>;
};

/** Reserves for edited arguments in the place of what was reserved for a call. */
export type Swap = (input: CallToDecide['input']) => Promise<RuleDecision>;

/** What people have said of calls, or have to say. Nothing here rejects. */
export type ApprovalBook = {
  readonly concern: (tool: Tool) => boolean;
  /** `grant`: what rules have reserved for it; whoever refuses it gives that back. `swap`: what they say of an edit. */
  readonly decide: (call: CallToDecide, grant: Grant | null, swap: Swap) => Promise<CallDecision>;
  readonly forecast: (call: CallToDecide) => Promise<Pick<CallForecast, 'would' | 'failure' | 'digest'>>;
  /** Ends an approval whose call does not wait for it any more. */
  readonly withdraw: (tenant: string, approval: Approval, state: 'cancelled' | 'stale') => Promise<void>;
};

/** Rules first, then people. */
export const createPolicies = (rules: RuleBook, approvals: ApprovalBook): Policies => ({
  concern: (tool) => rules.concern(tool) || approvals.concern(tool),
  mayAsk: approvals.concern,
  decide: (calls) => {
    const ruled = rules.decide(calls);
    if (!calls.some((call) => asksPeople(call, approvals))) return ruled;
    if (ruled instanceof Promise) return ruled.then((later) => askPeople(calls, later, { rules, approvals }));
    return askPeople(calls, ruled, { rules, approvals });
  },
  giveUp: async ({ tenant, approval, ticket, why }) => {
    await Promise.all([
      approval === null ? undefined : approvals.withdraw(tenant, approval, why),
      ticket === null ? undefined : rules.settle(ticket, 'no', false),
    ]);
  },
  forecast: async (calls) => {
    const ruled = await rules.forecast(calls);
    return Promise.all(calls.map((call, place) => forecast(call, ruled[place], approvals)));
  },
});

const askPeople = (
  calls: readonly CallToDecide[],
  ruled: readonly RuleDecision[],
  { rules, approvals }: { readonly rules: RuleBook; readonly approvals: ApprovalBook },
): Promise<readonly CallDecision[]> =>
  Promise.all(
    calls.map((call, place) => {
      const rule = ruled[place] ?? UNRULED;
      if (rule.kind === 'refused' || !asksPeople(call, approvals)) return rule;
      return askPerson(call, rule, { rules, approvals });
    }),
  );

/** What both have said: rules of what is to run, after an edit of what it was edited to. */
const askPerson = async (
  call: CallToDecide,
  rule: Extract<RuleDecision, { kind: 'run' }>,
  { rules, approvals }: { readonly rules: RuleBook; readonly approvals: ApprovalBook },
): Promise<CallDecision> => {
  let ruled: RuleDecision = rule;
  const decision = await approvals.decide(call, rule.grant, async (input) => {
    ruled = await swap(rules, call, rule.grant, input);
    return ruled;
  });
  const approval = decision.decided?.approval ?? null;
  const said = ruled.decided?.rules ?? [];
  return approval === null && said.length === 0 ? decision : { ...decision, decided: { rules: said, approval } };
};

/** Reserves anew under the same name, so that what was reserved for the call does not count beside it. */
const swap = async (
  rules: RuleBook,
  call: CallToDecide,
  grant: Grant | null,
  input: CallToDecide['input'],
): Promise<RuleDecision> => {
  const pending = grant === null ? call.pending : { handle: '', approval: null, ...call.pending, ticket: grant.ticket };
  const [decision = UNRULED] = await rules.decide([{ ...call, input, pending }]);
  return decision;
};

// What a person was asked for is decided by what that person says, whatever the file says now.
const asksPeople = ({ tool, pending }: CallToDecide, { concern }: ApprovalBook): boolean =>
  concern(tool) || (pending?.approval ?? null) !== null;

const UNRULED: RuleDecision = { kind: 'run', grant: null };

const forecast = async (
  call: CallToDecide,
  ruled: Pick<CallForecast, 'failure' | 'rules'> | undefined,
  approvals: ApprovalBook,
): Promise<CallForecast> => {
  const asked = await approvals.forecast(call);
  const { failure = null, rules = [] } = ruled ?? {};
  return failure === null ? { ...asked, rules } : { ...asked, would: 'refuse', failure, rules };
};
