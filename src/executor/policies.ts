import type { Executed } from '../contract/failure.ts';
import type { Approval } from '../contract/tool-result.ts';
import type { Tool } from '../tools/tool.ts';
import type { Failure } from './call-outcome.ts';

type Input = Readonly<Record<string, unknown>>;

/** A valid call that would begin now, as policies decide of it. */
export type CallToDecide = {
  readonly tool: Tool;
  /** Its arguments, with the defaults of the schema filled in: what its handler gets. */
  readonly input: Input;
  readonly tenant: string;
  /** The name of the key that sent it; null: anonymous. */
  readonly key: string | null;
  /** Who of the tenant sent it, opaque; null: anonymous. */
  readonly caller: string | null;
  /** SHA-256 of the API key it came with, 64 hex digits; null: it came without one. */
  readonly keyHash: string | null;
  /** Opaque key of tenant and session; null without a session. */
  readonly sessionKey: string | null;
  readonly requestId: string;
  readonly index: number;
  readonly id: string | number | null;
  readonly name: string;
  /** Names what is reserved for it: the same for each repeat under one key, and for no other call. */
  readonly reservation: string;
  /** Milliseconds after which it has ended at the latest, once it has begun. */
  readonly timeoutMs: number;
  /** Whether it may wait for a person beyond its request. */
  readonly mayWait: boolean;
  /** What names it as a pending call; null: it cannot become one. */
  readonly place: { readonly recordKey: string; readonly place: number } | null;
  /** The webhook endpoint that its batch has named; null: none. */
  readonly notify: string | null;
  /** The pending call that it is; null: it is none. */
  readonly pending: {
    readonly handle: string;
    /** As it was asked for when the call was accepted; null: nobody had to be asked. */
    readonly approval: Approval | null;
    /** `Grant.ticket` of when it was accepted; null: nothing was reserved. */
    readonly ticket: string | null;
  } | null;
};

/** What was reserved, or claimed, for a call that runs. */
export type Grant = {
  /** With what any process settles it: opaque. null: only this process can. */
  readonly ticket: string | null;
  /**
   * Spends or gives back what was reserved, as the call has ended. Promises only what the next call must see: a success that others
   * require, and what is given back. `hasBegun`: its handler was called; left out: it was not. Never rejects.
   */
  readonly settle: (executed: Executed, isSuccess: boolean, hasBegun?: boolean) => Promise<void> | undefined;
};

/** What rules and people have said of a call, for who writes it down. */
export type Decided = {
  readonly rules: readonly { readonly name: string; readonly decision: string }[];
  readonly approval: {
    readonly id: string;
    readonly digest: string;
    /** The name of the key, or the subject, that has decided; null: anonymous, or nobody has. */
    readonly by: string | null;
  } | null;
};

/** `decided`: left out where nothing is to be written down. */
export type CallDecision = { readonly decided?: Decided | null } & (
  | {
      readonly kind: 'run';
      readonly grant: Grant | null;
      /** What a person has approved in the place of what was sent; left out: the same. */
      readonly input?: Input;
    }
  | { readonly kind: 'refused'; readonly failure: Failure }
  /** It waits for a person, as a pending call: only where it may. */
  | { readonly kind: 'ask'; readonly approval: Approval; readonly grant: Grant | null }
);

/** What was decided of a call, until it has ended. */
export type Ruling = {
  /** What was reserved for it; null: nothing, or it is settled. */
  grant: Grant | null;
  /** What a person has to approve before it runs; null: nothing. */
  readonly asked: Approval | null;
  readonly decided: Decided | null;
  /** What a person has approved in the place of what was sent, as JSON text for its caller; null: nothing. */
  readonly editedJson: string | null;
  /** Its handler was called. */
  hasBegun: boolean;
};

/** What would be decided of a call. */
export type CallForecast = {
  readonly would: 'run' | 'ask' | 'refuse';
  /** Why it would be refused. */
  readonly failure: Failure | null;
  /** `sha256:` and 64 hex digits: what an approval would be for. */
  readonly digest: string;
  /** What would be left of each rule that counts the call, after it, as decimal texts. */
  readonly rules: readonly { readonly name: string; readonly remaining_after: string }[];
};

/** Decides before calls begin whether they may: rules of sessions, and approvals of people. Nothing here rejects. */
export type Policies = {
  /** Whether anything is decided of calls of this tool, or counted. */
  readonly concern: (tool: Tool) => boolean;
  /** Whether a person may have to be asked before a call of this tool runs: then the same call may wait for one already. */
  readonly mayAsk: (tool: Tool) => boolean;
  /** In the order of the batch: what is left after one call decides the next. */
  readonly decide: (calls: readonly CallToDecide[]) => readonly CallDecision[] | Promise<readonly CallDecision[]>;
  /** Gives back what a call had that does not wait any more, without having been decided. */
  readonly giveUp: (given: GivenUp) => Promise<void>;
  /** The same of calls that do not run: nothing is reserved, asked for or kept. */
  readonly forecast: (calls: readonly CallToDecide[]) => Promise<readonly CallForecast[]>;
};

/** What was reserved, and asked for, for a call that was to wait and ended before it began. */
export type GivenUp = {
  readonly tenant: string;
  readonly approval: Approval | null;
  /** `Grant.ticket`; null: nothing was reserved, or it is settled already. */
  readonly ticket: string | null;
  /** `stale`: its key may no more. */
  readonly why: 'cancelled' | 'stale';
};

/** Where every call may run. */
export const NO_POLICIES: Policies = {
  concern: () => false,
  mayAsk: () => false,
  decide: (calls) => calls.map(() => ({ kind: 'run', grant: null })),
  giveUp: async () => undefined,
  forecast: async (calls) => calls.map(() => ({ would: 'run', failure: null, digest: '', rules: [] })),
};
