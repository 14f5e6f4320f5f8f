import type { Shown } from './answer-stream.ts';
import type { CallAnswer, Session, ToolDescription, Trouble } from './answers.ts';

/** What is looked at; kept in the fragment of the address, which is never sent. */
export type Route =
  | { readonly page: 'tools'; readonly tool: string | null }
  | { readonly page: 'session'; readonly id: string }
  | { readonly page: 'extension'; readonly name: string };

export type Attempt =
  | { readonly kind: 'none' }
  | { readonly kind: 'sending'; readonly shown: Shown }
  | { readonly kind: 'answered'; readonly answer: CallAnswer; readonly raw: string; readonly shown: Shown }
  | { readonly kind: 'troubled'; readonly trouble: Trouble };

/** What was typed for one tool, and what came of it last. */
export type Draft = { readonly text: string; readonly attempt: Attempt };

export type CallOptions = { readonly sessionId: string; readonly idempotencyKey: string; readonly timeoutMs: string };

/** A question that must be answered before something is changed. */
export type Question = {
  readonly title: string;
  readonly text: string;
  readonly label: string;
  readonly act: () => void;
};

/** What the last answer said of the key. */
export type KeyState = 'in use' | 'refused';

export type State = {
  readonly route: Route;
  readonly key: string;
  /** Counts the keys: an answer is shown only where it was asked for with the one in use. */
  readonly keyTurn: number;
  readonly keyState: KeyState;
  readonly keyMistake: string;
  readonly tools: readonly ToolDescription[] | null;
  readonly toolsTrouble: Trouble | null;
  readonly query: string;
  readonly drafts: ReadonlyMap<string, Draft>;
  readonly options: CallOptions;
  readonly session: Session | null;
  readonly sessionTrouble: Trouble | null;
  readonly polling: 'live' | 'paused';
  /** When the session was read last, as an ISO time. */
  readonly readAt: string;
  readonly question: Question | null;
  /** What is folded out or shown whole, by identity. */
  readonly opened: ReadonlySet<string>;
  /** Said aloud by a screen reader. */
  readonly announcement: string;
};

export type Store = {
  readonly read: () => State;
  /** Puts new values over the old ones and shows them. */
  readonly update: (change: Partial<State>) => void;
};

const FRESH: Draft = { text: '{}', attempt: { kind: 'none' } };

export const draftOf = ({ drafts }: State, tool: string): Draft => drafts.get(tool) ?? FRESH;

/** A store of the state; `show` hears of every new one. */
export const createStore = (initial: State, show: (state: State) => void): Store => {
  let state = initial;
  return {
    read: () => state,
    update: (change) => {
      state = { ...state, ...change };
      show(state);
    },
  };
};

/** Reads the fragment of an address: `#tool=read_file`, `#session=s_42`, `#page=clock`. */
export const toRoute = (fragment: string): Route => {
  const names = new URLSearchParams(fragment.replace(/^#/, ''));
  const name = names.get('page');
  if (name !== null) return { page: 'extension', name };
  const id = names.get('session');
  return id === null ? { page: 'tools', tool: names.get('tool') } : { page: 'session', id };
};

export const toolLink = (tool: string): string => `#${new URLSearchParams({ tool })}`;

export const sessionLink = (session: string): string => `#${new URLSearchParams({ session })}`;
