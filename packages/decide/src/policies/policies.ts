import type { CallDecision, CallForecast, CallToDecide, Grant, Policies } from 'recourse-server/executor/policies';
import type { Tool } from 'recourse-server/tools/tool';

/** What rules say of one call: what they have reserved for it, or why it is refused. */
export type RuleDecision =
  | { readonly kind: 'run'; readonly grant: Grant | null }
  | Extract<CallDecision, { kind: 'refused' }>;

/** One kind of policy over all calls. Nothing here rejects. */
export type RuleBook = {
  readonly concern: (tool: Tool) => boolean;
  readonly decide: (calls: readonly CallToDecide[]) => readonly RuleDecision[] | Promise<readonly RuleDecision[]>;
  readonly forecast: (calls: readonly CallToDecide[]) => Promise<readonly Pick<CallForecast, 'failure' | 'rules'>[]>;
};

/** What people have said of calls, or have to say. Nothing here rejects. */
export type ApprovalBook = {
  readonly concern: (tool: Tool) => boolean;
  /** `grant`: what rules have reserved for it; whoever refuses it gives that back. */
  readonly decide: (call: CallToDecide, grant: Grant | null) => Promise<CallDecision>;
  readonly forecast: (call: CallToDecide) => Promise<Pick<CallForecast, 'would' | 'failure' | 'digest'>>;
};

/** Rules first, then people. */
export const createPolicies = (rules: RuleBook, approvals: ApprovalBook): Policies => ({
  concern: (tool) => rules.concern(tool) || approvals.concern(tool),
  mayAsk: approvals.concern,
  decide: (calls) => {
    const ruled = rules.decide(calls);
    if (ruled instanceof Promise) return ruled.then((later) => askPeople(calls, later, approvals));
    return calls.some(({ tool }) => approvals.concern(tool)) ? askPeople(calls, ruled, approvals) : ruled;
  },
  forecast: async (calls) => {
    const ruled = await rules.forecast(calls);
    return Promise.all(calls.map((call, place) => forecast(call, ruled[place], approvals)));
  },
});

const askPeople = (
  calls: readonly CallToDecide[],
  ruled: readonly RuleDecision[],
  approvals: ApprovalBook,
): Promise<readonly CallDecision[]> =>
  Promise.all(
    calls.map((call, place) => {
      const rule = ruled[place] ?? UNRULED;
      return rule.kind === 'refused' || !approvals.concern(call.tool) ? rule : approvals.decide(call, rule.grant);
    }),
  );

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

/** Where nobody has to be asked. */
export const NO_APPROVALS: ApprovalBook = {
  concern: () => false,
  decide: async (_call, grant) => ({ kind: 'run', grant }),
  forecast: async () => ({ would: 'run', failure: null, digest: '' }),
};
