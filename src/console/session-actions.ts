import type { Answer } from './answer.ts';
import { isAddressable } from './call-service.ts';
import type { Ask } from './create-ask.ts';
import { createPoll } from './create-poll.ts';
import { toSession } from './session.ts';
import type { Question, Store } from './state.ts';
import { toVisibleName } from './visible-text.ts';

export type SessionActions = {
  /** Begins or ends the reading, as the route, the pause button and the visibility of the tab want it. */
  readonly follow: () => void;
  readonly setPolling: (polling: 'live' | 'paused') => void;
  readonly resetTool: (tool: string) => void;
  readonly resetAll: () => void;
  readonly endSession: () => void;
};

const POLL_MS = 2_000;
// Longer ones help nobody who looks at the page, and one of more than 31 bits would be over at once.
const LONGEST_POLL_MS = 600_000;

/** What can be done with the session that is looked at. */
export const createSessionActions = ({ read, update }: Store, ask: Ask): SessionActions => {
  const idOf = (): string => {
    const { route } = read();
    return route.page === 'session' ? route.id : '';
  };
  const poll = createPoll(async (signal) => {
    const answer = await ask({ path: toPath(idOf()), signal });
    if (answer.kind === 'aborted' || signal.aborted) return null;
    if (answer.kind === 'done')
      update({ session: toSession(answer.body), sessionTrouble: null, readAt: new Date().toISOString() });
    else update({ sessionTrouble: answer });
    return read().polling === 'paused' ? null : toDelay(answer);
  });
  const follow = (): void => {
    if (!isAddressable(idOf()) || document.hidden) poll.stop();
    else poll.start();
  };
  const change = async (path: string, said: string): Promise<void> => {
    const answer = await ask({ path, method: 'DELETE' });
    if (answer.kind === 'aborted') return;
    const trouble = answer.kind === 'done' ? null : answer;
    update({ announcement: trouble === null ? said : 'That was not done.', sessionTrouble: trouble });
    if (trouble === null) follow();
  };
  const confirm = (question: Omit<Question, 'act'>, path: string, said: string): void =>
    update({ question: { ...question, act: () => void change(`${toPath(idOf())}${path}`, said) } });
  return {
    follow,
    setPolling: (polling) => {
      update({ polling });
      if (polling === 'paused') poll.stop();
      else follow();
    },
    ...createResets(confirm),
  };
};

type Confirm = (question: Omit<Question, 'act'>, path: string, said: string) => void;

const createResets = (confirm: Confirm) => ({
  resetTool: (tool: string) => {
    const name = toVisibleName(tool);
    confirm(
      { title: `Reset the budget of ${name}?`, text: 'It can be called and retried again at once.', label: 'Reset' },
      `/budgets/${encodeURIComponent(tool)}`,
      `The budget of ${name} is reset.`,
    );
  },
  resetAll: () =>
    confirm(
      {
        title: 'Reset all budgets?',
        text: 'Every tool of this session can be called again at once.',
        label: 'Reset all',
      },
      '/budgets',
      'All budgets are reset.',
    ),
  endSession: () =>
    confirm(
      {
        title: 'End this session?',
        text: 'Its budgets, streaks and journal are removed. An agent that goes on with it starts anew.',
        label: 'End session',
      },
      '',
      'The session has ended.',
    ),
});

const toPath = (id: string): string => `sessions/${encodeURIComponent(id)}`;

// What another key or another page is needed for is not asked again; everything else may pass.
const toDelay = (answer: Answer): number | null => {
  if (answer.kind !== 'refused') return POLL_MS;
  if (answer.status < 500 && answer.status !== 429) return null;
  return Math.min(LONGEST_POLL_MS, Math.max(POLL_MS, (answer.retryAfterSeconds ?? 0) * 1000));
};
