import type * as api from './api.ts';
import { type ApprovalList, type Approvals, takeApprovals } from './approvals.ts';
import type { Draft } from './attempt.ts';
import { type Outcomes, takeList, type UnknownList } from './unknown-outcomes.ts';

/** A question that must be answered before something is changed. */
export type Question = {
  readonly title: string;
  readonly text: string;
  readonly label: string;
  /** What is to be typed for a yes. `value` stands there before; Enter in a line is a yes. */
  readonly fields?: readonly {
    readonly name: string;
    readonly label: string;
    readonly about: string;
    readonly value?: string;
    readonly isLine?: boolean;
  }[];
  /** Who has pressed a key for the question answers it with Enter. */
  readonly isForKeys?: boolean;
  /** Shows what comes of what is typed. */
  readonly preview?: (typed: Typed) => unknown;
  readonly typed?: Typed;
  /** Says what is wrong with what was typed; empty where nothing is. */
  readonly findMistake?: (typed: Typed) => string;
  readonly mistake?: string;
  readonly act: (typed: Typed) => void;
};

export type Typed = Readonly<Record<string, string>>;

/** What one key has seen; another key begins with nothing. */
export class Seen {
  /** `none`: the service answers without a key; `missing`: it does not. */
  keyState: 'unasked' | 'none' | 'in use' | 'missing' | 'refused' = 'unasked';
  /** Whether the service has answered anything: a key that is refused later takes nothing away that was read before. */
  isAnswered = false;
  tools: readonly api.ToolDescription[] | null = null;
  toolsTrouble: api.Trouble | null = null;
  readonly drafts = new Map<string, Draft>();
  session: api.SessionView | null = null;
  readonly outcomes: Outcomes = new Map();
  readonly approvals: Approvals = new Map();
  /** Why the approval that is looked at could not be read; on the first page, the list of them. */
  approvalTrouble: api.Trouble | null = null;
  /** The same of unknown outcomes on the first page. */
  outcomeTrouble: api.Trouble | null = null;
  /** How many calls wait for an approval, as far as that was read. */
  waitingCount: number | null = null;
  /** Why the last thing that was asked of an outcome or an approval was refused, by its id; of what is deleted, by its path. */
  readonly refusals = new Map<string, api.Trouble>();
  /** What was deleted, by its path, in the words of a person; and when. */
  readonly done = new Map<string, { readonly at: string; readonly text: string }>();
  /** How many outcomes are unknown, as far as that was read. */
  unknownCount: number | null = null;
  /** Whether those two were asked for. */
  isCounted = false;
  readTrouble: api.Trouble | null = null;
  /** When what is looked at was read last, as an ISO time. */
  readAt = '';
  /** Said aloud by a screen reader. */
  announcement = '';

  takeUnknown(list: UnknownList): void {
    takeList(this.outcomes, list);
    this.unknownCount = list.total;
  }

  takeWaiting(list: ApprovalList): void {
    takeApprovals(this.approvals, list);
    this.waitingCount = list.total;
  }
}
