import * as api from './api.ts';
import { type JsonPath, parseJson, withValueAt } from './json.ts';
import { parseRoute, type Route } from './route.ts';
import {
  buildVerdict,
  explainState,
  type Outcome,
  type Outcomes,
  takeList,
  type UnknownCall,
  type UnknownList,
  type Verdict,
} from './unknown-outcomes.ts';
import { toVisibleName } from './visible-text.ts';

/** One call of a tool: what it shows before its result, the newest part last, and its answer; null until there is one. */
export type Attempt = { progress: string; parts: readonly string[]; answer: api.Answer<api.CallsAnswer> | null };

/** What was typed for one tool, and the last call that was made of it. */
type Draft = { text: string; attempt: Attempt | null };

/** A question that must be answered before something is changed. */
export type Question = {
  readonly title: string;
  readonly text: string;
  readonly label: string;
  /** What is to be typed for a yes. */
  readonly fields?: readonly { readonly name: string; readonly label: string; readonly about: string }[];
  /** Says what is wrong with what was typed; empty where nothing is. */
  readonly findMistake?: (typed: Typed) => string;
  readonly mistake?: string;
  readonly act: (typed: Typed) => void;
};

type Typed = Readonly<Record<string, string>>;

/** What one key has seen; another key begins with nothing. */
class Seen {
  keyState: 'in use' | 'refused' = 'in use';
  tools: readonly api.ToolDescription[] | null = null;
  toolsTrouble: api.Trouble | null = null;
  readonly drafts = new Map<string, Draft>();
  session: api.SessionView | null = null;
  readonly outcomes: Outcomes = new Map();
  /** Why the last thing that was asked of an outcome was refused, by effect id. */
  readonly refusals = new Map<string, api.Trouble>();
  /** How many outcomes are unknown, as far as that was read. */
  unknownCount: number | null = null;
  readTrouble: api.Trouble | null = null;
  /** When the session or the outcomes were read last, as an ISO time. */
  readAt = '';
  /** Said aloud by a screen reader. */
  announcement = '';
}

// What a browser can send as a header, and a key may consist of.
const SENDABLE_KEY = /^[\x21-\x7e]*$/;
const KEY_ITEM = 'recourse.api-key';
const SHOW_EVERY_MS = 50;
const POLL_MS = 2_000;
// Longer ones help no person who looks at the page, and one of more than 31 bits would be over at once.
const LONGEST_POLL_MS = 600_000;

/**
 * The state of the page and what a person can do with it. It owns the key in use, what that key has seen, the one
 * reading of what is looked at, and one stream of the pending call that was made last.
 *
 * | what       | begins                                              | ends                                                     |
 * |------------|-----------------------------------------------------|----------------------------------------------------------|
 * | `seen`     | a key is entered                                    | another is entered; a late answer for it is dropped      |
 * | an attempt | a call is sent                                      | it has an answer that is not pending, or another is sent |
 * | reading    | a session or outcomes are looked at, in a visible tab | another page, a hidden tab, a pause, a lasting refusal |
 */
export class PageModel {
  route: Route = parseRoute(location.hash);
  key = sessionStorage.getItem(KEY_ITEM) ?? '';
  keyMistake = '';
  seen = new Seen();
  query = '';
  options = { sessionId: '', idempotencyKey: '', timeoutMs: '' };
  polling: 'live' | 'paused' = 'live';
  question: Question | null = null;
  /** What is folded out or shown whole, by identity. */
  readonly opened = new Set<string>();
  readonly #render: () => void;
  #renderTimer = 0;
  #reading = new AbortController();
  #watching = new AbortController();

  constructor(render: () => void) {
    this.#render = render;
  }

  /** Takes what was typed or chosen. */
  update(change: Partial<Pick<PageModel, 'keyMistake' | 'query' | 'options' | 'question'>>): void {
    Object.assign(this, change);
    this.#render();
  }

  /** Follows the address to another page. */
  go(fragment: string): void {
    this.route = parseRoute(fragment);
    Object.assign(this.seen, { session: null, readTrouble: null, readAt: '' });
    this.seen.outcomes.clear();
    this.seen.refusals.clear();
    this.update({ question: null });
    this.readPage();
  }

  setKey(key: string): void {
    if (!SENDABLE_KEY.test(key))
      return void this.update({ keyMistake: 'A key has only printable ASCII characters and no spaces.' });
    if (key === '') sessionStorage.removeItem(KEY_ITEM);
    else sessionStorage.setItem(KEY_ITEM, key);
    this.key = key;
    // What the former key was shown is not for this one.
    this.seen = new Seen();
    this.load();
  }

  /** Asks for all that the page shows. */
  load(): void {
    this.update({ keyMistake: '' });
    void this.loadTools();
    this.readPage();
  }

  /** Folds something out or in. */
  toggle(identity: string): void {
    if (!this.opened.delete(identity)) this.opened.add(identity);
    this.#render();
  }

  answerQuestion(answer: 'yes' | 'no', typed: Typed = {}): void {
    const { question } = this;
    if (question === null) return;
    const mistake = answer === 'yes' ? question.findMistake?.(typed) : '';
    if (mistake) return void this.update({ question: { ...question, mistake } });
    this.update({ question: null });
    if (answer === 'yes') question.act(typed);
  }

  async loadTools(): Promise<void> {
    const answer = await this.#ask<{ readonly tools: readonly api.ToolDescription[] }>({ path: 'tools' });
    if (answer === null) return;
    this.seen.tools = answer.trouble === null ? answer.body.tools : null;
    this.seen.toolsTrouble = answer.trouble;
    this.#render();
    if (answer.trouble === null && this.route.page !== 'unknown') await this.#countUnknown();
  }

  draftOf(tool: string): Draft {
    const draft = this.seen.drafts.get(tool) ?? { text: '{}', attempt: null };
    this.seen.drafts.set(tool, draft);
    return draft;
  }

  editText(tool: string, text: string): void {
    this.draftOf(tool).text = text;
    this.#render();
  }

  /** Puts a value into the arguments; undefined takes it out. */
  editValue(tool: string, path: JsonPath, value: unknown): void {
    const parsed = parseJson(this.draftOf(tool).text);
    const root = 'value' in parsed ? parsed.value : {};
    this.editText(tool, JSON.stringify(withValueAt(root, path, value), null, 2));
  }

  /** Sends the call; asks first unless the tool is known to do no harm. */
  send(tool: api.ToolDescription): void {
    const act = (): void => void this.#post(tool);
    const title = `Run ${toVisibleName(tool.name)}?`;
    const text = 'Its effect may be permanent, and running it twice may apply it twice.';
    if (isHarmless(tool)) act();
    else this.update({ question: { title, text, label: 'Run', act } });
  }

  /** Asks for the end of a pending call; what comes of it is seen as any end of it. */
  async cancelCall(requestId: string): Promise<void> {
    const answer = await this.#ask({ path: resultsPath(requestId), method: 'DELETE' });
    if (answer !== null) this.#announce(answer.trouble ? 'The call was not cancelled.' : 'The call was asked to end.');
  }

  setPolling(polling: PageModel['polling']): void {
    this.polling = polling;
    this.#render();
    if (polling === 'paused') this.#reading.abort();
    else this.readPage();
  }

  /** Reads the session or the outcomes that are looked at, again and again while their page and its tab are seen. */
  readPage(): void {
    this.#reading.abort();
    const { route, seen } = this;
    if (document.hidden) return;
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    const takeSession = (session: api.SessionView): void => void Object.assign(seen, { session });
    if (route.page === 'session' && api.isAddressable(route.id))
      void this.#read(sessionPath(route.id), takeSession, signal);
    if (route.page === 'unknown') void this.#read<UnknownList>(UNKNOWN_PATH, (list) => this.#takeUnknown(list), signal);
  }

  /** Lets the tool of a write look for it now. */
  look(outcome: Outcome): void {
    void this.#reconcile(outcome, {}, 'Nobody has looked.');
  }

  /** Settles a write by hand, as it stands now, after a yes. */
  askVerdict(outcome: Outcome, verdict: Verdict, question: Omit<Question, 'act'>): void {
    const { call } = outcome;
    const act = (typed: Typed): void =>
      void this.#reconcile(outcome, buildVerdict(call, verdict, typed), 'It was not settled.');
    this.update({ question: { ...question, act } });
  }

  /** Deletes what `path` names below the session that is looked at, after a yes; then says `done`. */
  confirmDelete(question: Omit<Question, 'act'>, path: string, done: string): void {
    const { route } = this;
    if (route.page !== 'session') return;
    const act = (): void => void this.#delete(`${sessionPath(route.id)}${path}`, done);
    this.update({ question: { ...question, act } });
  }

  #announce(text: string): void {
    this.seen.announcement = text;
    this.#render();
  }

  /**
   * Asks the service with the key in use; never rejects. Null: the page no longer waits for the answer, because it aborted
   * the request, or because what comes for a former key is not shown under the key that followed.
   */
  async #ask<Body>({ watch, ...request }: api.Request): Promise<api.Answer<Body> | null> {
    const { seen, key } = this;
    const watchOwn = (event: api.StreamEvent): void => {
      if (this.seen === seen) watch?.(event);
    };
    const answer = await api.callService<Body>({ ...request, ...(watch && { watch: watchOwn }) }, key);
    if (this.seen !== seen || request.signal?.aborted) return null;
    if (answer.trouble === null) seen.keyState = 'in use';
    else if (answer.trouble.status === 401 && key !== '') seen.keyState = 'refused';
    return answer;
  }

  async #post({ name, background }: api.ToolDescription): Promise<void> {
    const draft = this.draftOf(name);
    const attempt: Attempt = { progress: '', parts: [], answer: null };
    draft.attempt = attempt;
    this.#render();
    const request = callRequest(name, draft.text, this.options, background !== undefined);
    // A background call is followed by its state, which has a button to end it.
    const watch = background === undefined && { watch: (event: api.StreamEvent) => this.#addShown(attempt, event) };
    this.#settle(draft, attempt, await this.#ask<api.CallsAnswer>({ ...request, ...watch }));
    const requestId = findPending(attempt);
    if (requestId !== null) await this.#follow(draft, attempt, resultsPath(requestId));
  }

  /** Reads a pending call until it has ended, or another call of the tool was made. */
  async #follow(draft: Draft, attempt: Attempt, path: string): Promise<void> {
    // A browser has six connections to the service: one may be held by a stream for hours, the latest.
    this.#watching.abort();
    const watching = new AbortController();
    this.#watching = watching;
    // State, progress and result come from reading again and again: a stream that breaks here costs parts alone.
    const watch = (event: api.StreamEvent): void => {
      if (event.event === 'part') this.#addShown(attempt, event);
    };
    void this.#ask({ path: `${path}/events`, signal: watching.signal, watch });
    while (draft.attempt === attempt && findPending(attempt) !== null) {
      const answer = await this.#ask<api.CallsAnswer>({ path: `${path}?wait_ms=${POLL_MS}` });
      if (answer === null) break;
      if (answer.trouble && api.mayPass(answer.trouble)) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      else this.#settle(draft, attempt, answer);
    }
    watching.abort();
  }

  #settle(draft: Draft, attempt: Attempt, answer: Attempt['answer']): void {
    if (answer === null || draft.attempt !== attempt) return;
    attempt.answer = answer;
    const [result] = answer.trouble === null ? answer.body.results : [];
    const code = result?.error ? `, ${result.error.code}` : '';
    this.#announce(result ? `Result: ${result.outcome}${code}.` : 'The service did not answer the call.');
  }

  /** Takes what a call shows; the page shows it a few times a second. */
  #addShown(attempt: Attempt, event: api.StreamEvent): void {
    addShown(attempt, event);
    if (this.#renderTimer !== 0) return;
    this.#renderTimer = setTimeout(() => {
      this.#renderTimer = 0;
      this.#render();
    }, SHOW_EVERY_MS);
  }

  async #read<Body>(path: string, take: (body: Body) => void, signal: AbortSignal): Promise<void> {
    const answer = signal.aborted ? null : await this.#ask<Body>({ path, signal });
    if (answer === null) return;
    const { trouble } = answer;
    this.seen.readTrouble = trouble;
    if (trouble === null) {
      take(answer.body);
      this.seen.readAt = new Date().toISOString();
    }
    this.#render();
    // A refusal that another key or another page is needed for stays.
    if (this.polling === 'paused' || (trouble && !api.mayPass(trouble))) return;
    const delayMs = Math.min(LONGEST_POLL_MS, Math.max(POLL_MS, (trouble?.retryAfterSeconds ?? 0) * 1000));
    setTimeout(() => void this.#read(path, take, signal), delayMs);
  }

  async #delete(path: string, done: string): Promise<void> {
    const answer = await this.#ask({ path, method: 'DELETE' });
    if (answer === null) return;
    this.seen.readTrouble = answer.trouble;
    this.#announce(answer.trouble === null ? done : 'The change was not made.');
    if (answer.trouble === null) this.readPage();
  }

  #takeUnknown(list: UnknownList): void {
    takeList(this.seen.outcomes, list);
    this.seen.unknownCount = list.total;
  }

  // Once, for the link to their page. A key that may not read them has no number there.
  async #countUnknown(): Promise<void> {
    const answer = await this.#ask<UnknownList>({ path: `${UNKNOWN_PATH}?limit=1` });
    if (answer === null || answer.trouble !== null) return;
    this.seen.unknownCount = answer.body.total;
    this.#render();
  }

  async #reconcile(outcome: Outcome, sent: Pick<api.Request, 'headers' | 'body'>, failed: string): Promise<void> {
    if (outcome.isAsked) return;
    const { request_id: id, index, tool, effect_id: effectId } = outcome.call;
    outcome.isAsked = true;
    this.seen.refusals.delete(effectId);
    this.#render();
    const path = `${resultsPath(id)}/calls/${index}/reconcile`;
    const answer = await this.#ask<UnknownCall>({ path, method: 'POST', ...sent });
    if (answer === null) return;
    outcome.isAsked = false;
    if (answer.trouble === null) outcome.call = answer.body;
    else this.seen.refusals.set(effectId, answer.trouble);
    this.#announce(answer.trouble === null ? `${toVisibleName(tool)}: ${explainState(outcome)}.` : failed);
    this.readPage();
  }
}

/** Whether a call needs no question first: only what is known to do no harm twice, and not whatever is not called `write`. */
export const isHarmless = ({ effects }: api.ToolDescription): boolean => effects === 'read' || effects === 'idempotent';

/** The request id of an attempt whose call is pending, or null. */
const findPending = ({ answer }: Attempt): string | null =>
  answer?.trouble === null && answer.body.results[0]?.outcome === 'pending' ? answer.body.request_id : null;

const resultsPath = (requestId: string): string => `tool-calls/${encodeURIComponent(requestId)}`;

const UNKNOWN_PATH = 'calls/unknown';

const sessionPath = (id: string): string => `sessions/${encodeURIComponent(id)}`;

// The arguments go as the text that was typed, as models send them: nothing is rounded, and what is no JSON gets the
// answer that a model would get.
const callRequest = (name: string, text: string, options: PageModel['options'], isBackground: boolean): api.Request => {
  const { sessionId, idempotencyKey, timeoutMs } = options;
  const typed = timeoutMs.trim();
  const timeout = typed !== '' && { timeout_ms: Number.isFinite(Number(typed)) ? Number(typed) : typed };
  const call = { id: 'console', name, arguments: text, ...timeout };
  return {
    path: 'tool-calls',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(idempotencyKey !== '' && { 'idempotency-key': idempotencyKey }),
      // A call that ends within a second is answered as any other.
      ...(isBackground && { prefer: 'respond-async, wait=1' }),
    },
    body: JSON.stringify({ ...(sessionId !== '' && { session_id: sessionId }), calls: [call] }),
  };
};

// What a person reads while a call runs; of more the newest are shown, and of each its beginning.
const MAX_PARTS = 100;
const MAX_CHARACTERS = 2_000;

const addShown = (attempt: Attempt, { event, data }: api.StreamEvent): void => {
  if (event === 'progress') {
    const { done, total, message } = data.progress;
    const count = total === null ? `${done}` : `${done} of ${total}`;
    attempt.progress = message === null ? count : `${count} · ${message}`;
  }
  if (event !== 'part') return;
  const text = typeof data.value === 'string' ? data.value : JSON.stringify(data.value);
  const part = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
  attempt.parts = [...attempt.parts, part].slice(-MAX_PARTS);
};
