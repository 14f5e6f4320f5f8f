import { SessionView } from '../../contract/session.ts';
import { askService } from '../address/ask-service.ts';
import type { CommandEnd, LoadedEnvironment, Terminal } from '../terminal/cli-context.ts';
import { escapeForTerminal } from '../terminal/plain-text.ts';
import { type SessionWords, toSessionOptions } from './session-options.ts';
import { isUnseen, toOverview } from './to-overview.ts';
import { toTimeline } from './to-timeline.ts';

const UNSEEN = 'Nothing is known of it: it was never used, was forgotten, or belongs to another tenant.';
// Reducers get a second each, and there may be some.
const TIME_LIMIT_MS = 30_000;

/** Shows a session of a running service: its budgets, and the calls that its journal keeps. */
export const runSession = async (
  words: SessionWords,
  loaded: LoadedEnvironment,
  terminal: Terminal,
): Promise<CommandEnd> => {
  const options = toSessionOptions(words, loaded);
  if ('wrong' in options) return options;
  const { id, format } = options;
  const asked = await askService(options, {
    path: `/sessions/${encodeURIComponent(id)}`,
    read: (answer) => SessionView.safeParse(answer).data ?? null,
    timeLimitMs: TIME_LIMIT_MS,
  });
  if (!asked.ok) {
    terminal.writeError(`${asked.problem}\n`);
    return 1;
  }
  const { body: view, raw } = asked;
  const { columns } = terminal;
  if (format === 'json') terminal.write(`${escapeForTerminal(JSON.stringify(raw, null, 2))}\n`);
  else terminal.write(`${toOverview(id, view, columns)}\n\n${isUnseen(view) ? UNSEEN : toTimeline(view, columns)}\n`);
  return 0;
};
