import { addShown, NOTHING_SHOWN, type Shown, type StreamEvent } from './answer-stream.ts';
import { type Answer, mayRunUnasked, type ToolDescription, toCallAnswer, toCatalogue, toSession } from './answers.ts';
import { callService, isAddressable, type Request } from './call-service.ts';
import { type JsonPath, parseJson, withValueAt } from './json.ts';
import { followPending, toPreference, toResultsPath } from './pending-call.ts';
import { type Attempt, type CallOptions, type Draft, draftOf, type KeyState, type State, type Store } from './state.ts';
import { toVisibleName } from './visible-text.ts';

export type Actions = ReturnType<typeof createToolActions> &
  ReturnType<typeof createSessionActions> & {
    readonly setKey: (key: string) => void;
    /** Folds something out or in. */
    readonly toggle: (identity: string) => void;
    readonly answerQuestion: (answer: 'yes' | 'no') => void;
  };

/** What a template gets: what is, and what can be done. */
export type View = { readonly state: State; readonly act: Actions };

type Ask = ReturnType<typeof createAsk>;

/**
 * Asks the service with the key in use; what it gives never rejects. Keeps what was asked with a former key from the one that followed it: whatever comes of that is `aborted`. Notes what
 * an answer says of the key in use; `keyRefused` is told when it was refused, after the page shows so.
 */
export const createAsk = ({ read, update }: Store, keyRefused: () => void) => {
  const note = (keyState: KeyState): void => {
    if (read().keyState === keyState) return;
    update({ keyState });
    if (keyState === 'refused') keyRefused();
  };
  return async (request: Omit<Request, 'key'>): Promise<Answer> => {
    const { key, keyTurn } = read();
    const answer = await callService({ ...request, key });
    if (read().keyTurn !== keyTurn) return { kind: 'aborted' };
    if (key !== '') note(toKeyState(answer, read().keyState));
    return answer;
  };
};

const toKeyState = (answer: Answer, known: KeyState): KeyState => {
  if (answer.kind === 'done') return 'in use';
  return answer.kind === 'refused' && answer.status === 401 ? 'refused' : known;
};

/**
 * Reads again and again, one reading at a time. `read` says in how many milliseconds the next is due, or null for never.
 * `start` begins anew at once; `stop` also aborts a reading that is under way.
 */
const createPoll = (read: (signal: AbortSignal) => Promise<number | null>) => {
  let timer = 0;
  let current = new AbortController();
  const stop = (): void => {
    clearTimeout(timer);
    current.abort();
  };
  const turn = async (own: AbortController): Promise<void> => {
    const delayMs = await read(own.signal);
    if (delayMs !== null && !own.signal.aborted) timer = setTimeout(() => void turn(own), delayMs);
  };
  const start = (): void => {
    stop();
    current = new AbortController();
    void turn(current);
  };
  return { start, stop };
};

/** Follows pending calls of tools. */
const createFollow = ({ read, update }: Store, ask: Ask, edit: (tool: string, change: Partial<Draft>) => void) => {
  let watching = new AbortController();
  // A browser has six connections to the service: one may be held by a stream for hours, the latest.
  const watchAlone = (): AbortController => {
    watching.abort();
    watching = new AbortController();
    return watching;
  };
  /** Keeps the result of a pending call up to date until it has ended, or another call of the tool was made. */
  return async (tool: string, first: Attempt): Promise<void> => {
    if (!isPending(first)) return;
    let current: Attempt = first;
    const isLookedAt = (): boolean => draftOf(read(), tool).attempt === current;
    const put = (attempt: Attempt): void => {
      current = attempt;
      edit(tool, { attempt });
    };
    const showing = createShowing((shown) => {
      if (isLookedAt() && isPending(current)) put({ ...current, shown });
    }, first.shown);
    const path = toResultsPath(first.answer.requestId);
    const own = watchAlone();
    const { keyTurn } = read();
    // The state and the result come from the polling; what breaks here costs parts alone.
    void ask({
      path: `${path}/events`,
      signal: own.signal,
      watch: (event) => {
        // What a call shows is for the key that sent it.
        if (event.name === 'part' && read().keyTurn === keyTurn) showing.add(event);
      },
    });
    await followPending({
      ask: () => ask({ path: `${path}?wait_ms=${POLL_MS}` }),
      show: (answer) => {
        if (!isLookedAt()) return false;
        put(toAttempt(answer, showing.now()));
        if (isPending(current)) return true;
        update({ announcement: describeAttempt(current) });
        return false;
      },
    });
    showing.end();
    own.abort();
  };
};

/** What can be done with the catalogue and a tool of it. */
export const createToolActions = ({ read, update }: Store, ask: Ask) => {
  const edit = (tool: string, change: Partial<Draft>): void => {
    const state = read();
    update({ drafts: new Map(state.drafts).set(tool, { ...draftOf(state, tool), ...change }) });
  };
  const follow = createFollow({ read, update }, ask, edit);
  const post = async ({ name, background }: ToolDescription): Promise<void> => {
    const { options, keyTurn } = read();
    const { text } = draftOf(read(), name);
    const showing = createShowing((shown) => {
      // What a call shows is for the key that sent it.
      if (read().keyTurn === keyTurn) edit(name, { attempt: { kind: 'sending', shown } });
    });
    // A background call is followed by its state, which has a button to end it.
    const watch = background === '' ? { watch: showing.add } : {};
    const answer = await ask({ path: 'tool-calls', ...toRequest(name, text, options, background), ...watch });
    const shown = showing.end();
    if (answer.kind === 'aborted') return;
    const attempt = toAttempt(answer, shown);
    edit(name, { attempt });
    update({ announcement: describeAttempt(attempt) });
    await follow(name, attempt);
  };
  return {
    loadTools: async (): Promise<void> => {
      const answer = await ask({ path: 'tools' });
      if (answer.kind === 'done') update({ tools: toCatalogue(answer.body), toolsTrouble: null });
      else if (answer.kind !== 'aborted') update({ tools: null, toolsTrouble: answer });
    },
    search: (query: string): void => update({ query }),
    editText: (tool: string, text: string): void => edit(tool, { text }),
    /** Puts a value into the arguments; undefined takes it out. */
    editValue: (tool: string, path: JsonPath, value: unknown): void => {
      const parsed = parseJson(draftOf(read(), tool).text);
      const root = parsed.kind === 'value' ? parsed.value : {};
      edit(tool, { text: JSON.stringify(withValueAt(root, path, value), null, 2) });
    },
    setOption: (name: keyof CallOptions, value: string): void =>
      update({ options: { ...read().options, [name]: value } }),
    /** Asks for the end of a pending call; what comes of it is seen as any end of it. */
    cancelCall: async (requestId: string): Promise<void> => {
      const answer = await ask({ path: toResultsPath(requestId), method: 'DELETE' });
      if (answer.kind === 'aborted') return;
      update({ announcement: answer.kind === 'done' ? 'The call was asked to end.' : 'The call was not cancelled.' });
    },
    /** Sends the call; asks first where the tool writes. */
    send: (tool: ToolDescription): void => {
      const act = (): void => void post(tool);
      if (mayRunUnasked(tool.effects)) {
        act();
        return;
      }
      const name = toVisibleName(tool.name);
      update({
        question: {
          title: `Run ${name}?`,
          text: `${name} ${tool.effects === 'write' ? 'is a write tool' : 'does not declare its effects'}: its effect may be permanent, and running it twice may apply it twice.`,
          label: 'Run',
          act,
        },
      });
    },
  };
};

const SHOW_EVERY_MS = 50;

/** Gathers what a call shows, and has it shown at once and then a few times a second, until it ends. */
const createShowing = (show: (shown: Shown) => void, first = NOTHING_SHOWN) => {
  let shown = first;
  let timer = 0;
  const showNow = (): void => {
    timer = 0;
    show(shown);
  };
  showNow();
  return {
    add: (event: StreamEvent): void => {
      const more = addShown(shown, event);
      if (more === shown) return;
      shown = more;
      if (timer === 0) timer = setTimeout(showNow, SHOW_EVERY_MS);
    },
    now: (): Shown => shown,
    end: (): Shown => {
      clearTimeout(timer);
      return shown;
    },
  };
};

// The arguments go as the text that was typed, as models send them: nothing is rounded, and what is no JSON gets the
// answer that a model would get.
const toRequest = (
  name: string,
  text: string,
  { sessionId, idempotencyKey, timeoutMs }: CallOptions,
  background: string,
) => {
  const timeout = timeoutMs.trim() === '' ? {} : { timeout_ms: toNumberOrText(timeoutMs.trim()) };
  const session = sessionId === '' ? {} : { session_id: sessionId };
  const unrepeated: Readonly<Record<string, string>> =
    idempotencyKey === '' ? {} : { 'idempotency-key': idempotencyKey };
  return {
    method: 'POST' as const,
    headers: { 'content-type': 'application/json', ...unrepeated, ...toPreference(background) },
    body: JSON.stringify({ ...session, calls: [{ id: 'console', name, arguments: text, ...timeout }] }),
  };
};

const toNumberOrText = (text: string): number | string => (Number.isFinite(Number(text)) ? Number(text) : text);

const toAttempt = (answer: Exclude<Answer, { readonly kind: 'aborted' }>, shown: Shown): Attempt => {
  if (answer.kind !== 'done') return { kind: 'troubled', trouble: answer };
  const found = toCallAnswer(answer.body);
  if (found !== null) return { kind: 'answered', answer: found, raw: answer.text, shown };
  return { kind: 'troubled', trouble: { kind: 'unreachable' } };
};

type PendingAttempt = Extract<Attempt, { readonly kind: 'answered' }>;

const isPending = (attempt: Attempt): attempt is PendingAttempt =>
  attempt.kind === 'answered' && attempt.answer.result.pending !== null;

const describeAttempt = (attempt: Attempt): string => {
  if (attempt.kind !== 'answered') return 'The service did not answer the call.';
  const { outcome, code } = attempt.answer.result;
  return `Result: ${outcome}${code === '' ? '' : `, ${code}`}.`;
};

const POLL_MS = 2_000;
// Longer ones help nobody who looks at the page, and one of more than 31 bits would be over at once.
const LONGEST_POLL_MS = 600_000;

/** What can be done with the session that is looked at. */
export const createSessionActions = ({ read, update }: Store, ask: Ask) => {
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
    update({ announcement: trouble === null ? said : 'The change was not made.', sessionTrouble: trouble });
    if (trouble === null) follow();
  };
  /** Asks for a change of the session that is looked at, and makes it after a yes. */
  const confirm = ([title, text, label]: readonly [string, string, string], path: string, said: string): void =>
    update({ question: { title, text, label, act: () => void change(`${toPath(idOf())}${path}`, said) } });
  return {
    /** Begins or ends the reading, as the route, the pause button and the visibility of the tab want it. */
    follow,
    setPolling: (polling: State['polling']): void => {
      update({ polling });
      if (polling === 'paused') poll.stop();
      else follow();
    },
    resetTool: (tool: string): void => {
      const name = toVisibleName(tool);
      const question = [
        `Reset the budget of ${name}?`,
        'The tool can be called and retried again immediately.',
        'Reset',
      ] as const;
      confirm(question, `/budgets/${encodeURIComponent(tool)}`, `The budget of ${name} is reset.`);
    },
    resetAll: (): void => confirm(RESET_ALL, '/budgets', 'All budgets are reset.'),
    endSession: (): void => confirm(END_SESSION, '', 'The session has ended.'),
  };
};

const RESET_ALL = [
  'Reset all budgets?',
  'Every tool of this session can be called again immediately.',
  'Reset all',
] as const;
const END_SESSION = [
  'End this session?',
  'Its budgets, streaks and journal are deleted. An agent that continues with it starts from zero.',
  'End session',
] as const;

const toPath = (id: string): string => `sessions/${encodeURIComponent(id)}`;

// What another key or another page is needed for is not asked again; everything else may pass.
const toDelay = (answer: Answer): number | null => {
  if (answer.kind !== 'refused') return POLL_MS;
  if (answer.status < 500 && answer.status !== 429) return null;
  return Math.min(LONGEST_POLL_MS, Math.max(POLL_MS, (answer.retryAfterSeconds ?? 0) * 1000));
};
