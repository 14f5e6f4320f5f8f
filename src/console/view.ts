import type { SessionActions } from './session-actions.ts';
import type { State } from './state.ts';
import type { ToolActions } from './tool-actions.ts';

export type Actions = ToolActions &
  SessionActions & {
    readonly setKey: (key: string) => void;
    /** Folds something out or in. */
    readonly toggle: (identity: string) => void;
    readonly answerQuestion: (answer: 'yes' | 'no') => void;
  };

/** What a template gets: what is, and what can be done. */
export type View = { readonly state: State; readonly act: Actions };
