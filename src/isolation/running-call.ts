import type { CallOutcome } from '../executor/call-outcome.ts';
import { type HostedTool, isSafe } from '../tools/tool.ts';
import type { Death } from './isolation-observer.ts';

/** Whether a host's death is the work of this call: `unknown` where several ran and nothing tells them apart. */
export type Blame = 'this' | 'other' | 'unknown';

/** What came of a call in a host. `began`: the handler may have run. */
export type HostedEnd =
  | { readonly kind: 'ended'; readonly outcome: CallOutcome }
  | { readonly kind: 'died'; readonly death: Death; readonly began: boolean; readonly blame: Blame }
  /** It did not begin, or its host is blocked by another call: another host may run it. */
  | { readonly kind: 'moved'; readonly began: boolean };

/** A call that was sent to a host. It ends once; what comes later is not heard. */
export class RunningCall {
  readonly nonce: string;
  readonly tool: HostedTool;
  /** A moment of the monotonic clock; the host does not begin the call after it. null = none. */
  readonly beginBy: number | null;
  /** It has been answered without its end, and its handler did not heed its signal. */
  isOverdue = false;
  #began = false;
  #isOver = false;
  readonly #resolve: (end: HostedEnd) => void;

  constructor(nonce: string, tool: HostedTool, beginBy: number | null, resolve: (end: HostedEnd) => void) {
    this.nonce = nonce;
    this.tool = tool;
    this.beginBy = beginBy;
    this.#resolve = resolve;
  }

  get began(): boolean {
    return this.#began;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get mayRunTwice(): boolean {
    return isSafe(this.tool);
  }

  begin(): void {
    this.#began = true;
  }

  end(outcome: CallOutcome): void {
    this.#settle({ kind: 'ended', outcome });
  }

  /** Its host said that it did not run the handler after all. */
  refuse(): void {
    this.#settle({ kind: 'moved', began: false });
  }

  leave(): void {
    this.#settle({ kind: 'moved', began: this.#began });
  }

  die(death: Death, blame: Blame): void {
    this.#settle({ kind: 'died', death, began: this.#began, blame });
  }

  #settle(end: HostedEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#resolve(end);
  }
}
