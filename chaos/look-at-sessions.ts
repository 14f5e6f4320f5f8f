import * as z from 'zod';
import { SessionView } from '#src/contract/session.ts';
import { Problem, ToolCallsResponse } from '#src/contract/tool-result.ts';
import type { Accounts } from './accounts.ts';
import { type SeenResult, toSeenResult } from './keyed-attempt.ts';
import { becomesReady } from './readiness.ts';
import type { Replica } from './replica.ts';

const TIMEOUT_MS = 10_000;

type Text = { readonly status: number; readonly text: string };

const get = async (url: string): Promise<Text | null> => {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    // Nobody listens, or the replica was killed while it answered.
    if (error instanceof TypeError || error instanceof DOMException) return null;
    throw error;
  }
};

/** GET /sessions/{id} of a replica. Null where it cannot tell now; what breaks the contract is noted. */
export const readSession = async (
  { name, url }: Pick<Replica, 'name' | 'url'>,
  id: string,
  accounts: Accounts,
): Promise<SessionView | null> => {
  const answer = await get(`${url}/sessions/${encodeURIComponent(id)}`);
  if (answer === null) return null;
  const { status, text } = answer;
  accounts.add(`sessions read: ${status}`);
  const shown = `${name}, session ${id}: ${status} ${text.slice(0, 300)}`;
  if (status === 200) {
    const view = SessionView.safeParse(JSON.parse(text));
    if (view.success) return view.data;
    accounts.offend('bad_session', `${z.prettifyError(view.error)} in ${shown}`);
    return null;
  }
  if (status >= 500 && status !== 503) accounts.offend('server_error', shown);
  if (status !== 503 || !Problem.safeParse(JSON.parse(text)).success) accounts.offend('bad_session', shown);
  return null;
};

/** GET /tool-calls/{request_id}: what is seen of the results; null where there are none. */
export const readKept = async (
  { url }: Pick<Replica, 'url'>,
  requestId: string,
): Promise<readonly SeenResult[] | null> => {
  const answer = await get(`${url}/tool-calls/${requestId}`);
  if (answer?.status !== 200) return null;
  return ToolCallsResponse.parse(JSON.parse(answer.text)).results.map((result) => toSeenResult(result, []));
};

const TRIES = 5;

/** Of Redis. On a busy machine a command may take longer than a replica waits: then it has to be found again. */
const readShared = async (replica: Replica, id: string, accounts: Accounts): Promise<SessionView | null> => {
  for (let left = TRIES; left > 0; left -= 1) {
    const view = await readSession(replica, id, accounts);
    if (view?.session.mode === 'redis') return view;
    await becomesReady(replica);
  }
  return null;
};

/** When Redis is there: every session can be read from every replica, from Redis, and all say the same. */
export const lookAtSessions = async (
  replicas: readonly Replica[],
  ids: readonly string[],
  accounts: Accounts,
): Promise<void> => {
  for (const id of ids) {
    const views = [];
    for (const replica of replicas) views.push(await readShared(replica, id, accounts));
    accounts.add('sessions looked at');
    accounts.add('calls in their journals', views[0]?.calls.length ?? 0);
    if (views.includes(null)) accounts.offend('bad_session', `session ${id} cannot be read from Redis`);
    if (new Set(views.map((view) => JSON.stringify(view))).size > 1)
      accounts.offend('bad_session', `session ${id} differs from replica to replica`);
  }
};
