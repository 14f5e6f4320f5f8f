import { FAILURE_POLICY, type FailureCode } from 'recourse-server/contract/failure';

/** Of a tool in the minute that is not over. */
type MinuteCounts = { readonly calls: number; readonly failures: ReadonlyMap<string, number> | null };

/** Where calls are counted by tenant and tool. Each minute they begin anew, right after `beforeTurn`. */
export type CountedCalls = {
  readonly hours: ReadonlyMap<string, { readonly tools: ReadonlyMap<string, MinuteCounts> }>;
  beforeTurn: () => void;
};

/** Calls of a tool that were not taken before, and those of them that failed. */
export type TakenCalls = {
  readonly tenant: string;
  readonly tool: string;
  readonly calls: number;
  readonly failures: readonly (readonly [FailureCode, number])[];
};

const NOTHING: MinuteCounts = { calls: 0, failures: null };

const isCode = (code: string): code is FailureCode => Object.hasOwn(FAILURE_POLICY, code);

/** Takes calls from where they are counted, each once: so the path of a call counts it in one place. */
export class CallTaker {
  readonly #source: CountedCalls;
  readonly #add: (taken: TakenCalls) => void;
  /** What was taken of the minute that is not over. */
  #taken = new WeakMap<MinuteCounts, MinuteCounts>();

  constructor(source: CountedCalls, add: (taken: TakenCalls) => void) {
    this.#source = source;
    this.#add = add;
    source.beforeTurn = () => {
      this.take();
      this.#taken = new WeakMap();
    };
  }

  /** Adds what was counted since this was called last. */
  take(): void {
    for (const [tenant, { tools }] of this.#source.hours)
      for (const [tool, minute] of tools) this.#takeTool(tenant, tool, minute);
  }

  #takeTool(tenant: string, tool: string, minute: MinuteCounts): void {
    const before = this.#taken.get(minute) ?? NOTHING;
    const { calls, failures } = minute;
    if (calls === before.calls) return;
    const failed = [...(failures ?? [])].flatMap(([code, count]): [FailureCode, number][] =>
      isCode(code) ? [[code, count - (before.failures?.get(code) ?? 0)]] : [],
    );
    this.#taken.set(minute, { calls, failures: new Map(failures ?? []) });
    this.#add({ tenant, tool, calls: calls - before.calls, failures: failed.filter(([, count]) => count > 0) });
  }
}
