import * as api from './api.ts';
import {
  type Attempt,
  addShown,
  type CallOptions,
  callRequest,
  type Draft,
  findPending,
  isHarmless,
  mayRun,
} from './attempt.ts';
import { type JsonPath, parseJson, withValueAt } from './json.ts';
import type { Pages, PageView } from './page-view.ts';
import { parseRoute, type Route } from './route.ts';
import { type Question, Seen, type Typed } from './seen.ts';
import { toVisibleName } from './visible-text.ts';

// What a browser can send as a header, and a key may consist of.
const SENDABLE_KEY = /^[\x21-\x7e]*$/;
const KEY_ITEM = 'recourse.api-key';
const SHOW_EVERY_MS = 50;
const POLL_MS = 2_000;
// The code with which the service refuses a stream for which it has no place.
const NO_PLACE = 'overloaded';
// Longer ones help no person who looks at the page, and one of more than 31 bits would be over at once.
const LONGEST_POLL_MS = 600_000;

/** Where the trouble of a reading is shown. */
export type TroublePlace = 'readTrouble' | 'approvalTrouble' | 'outcomeTrouble';
/** A function makes the path of each reading anew. */
export type Path = string | (() => string);
const pathNow = (path: Path): string => (typeof path === 'string' ? path : path());
type ReadHow = {
  readonly place?: TroublePlace;
  readonly isStreamed?: boolean;
  /** Whether a stream of it has shown something before: no proxy holds it back then. */
  readonly wasStreamed?: boolean;
};

// A refusal that another key or another page is needed for stays.
const isLasting = (trouble: api.Trouble | null): boolean => trouble !== null && !api.mayPass(trouble);

const delayAfter = (trouble: api.Trouble | null): number =>
  Math.min(LONGEST_POLL_MS, Math.max(POLL_MS, (trouble?.retryAfterSeconds ?? 0) * 1000));

// Where there is no place for a stream, or a proxy holds it back, it is read like all else.
const mayStream = (trouble: api.Trouble | null, isProven: boolean): boolean =>
  trouble?.code !== NO_PLACE && (trouble !== api.SILENT || isProven);

/**
 * The state of the page and what a person can do with it. It owns the key in use, what that key has seen, the one
 * reading of what is looked at, and one stream of the pending call that was made last.
 *
 * | what       | begins                                              | ends                                                     |
 * |------------|-----------------------------------------------------|----------------------------------------------------------|
 * | `seen`     | a key is entered                                    | another is entered; a late answer for it is dropped      |
 * | an attempt | a call is sent                                      | it has an answer that is not pending, or another is sent |
 * | reading    | a session or a list is looked at, in a visible tab    | another page, a hidden tab, a pause, a lasting refusal |
 */
export class PageModel {
  route: Route = parseRoute(location.hash);
  key = sessionStorage.getItem(KEY_ITEM) ?? '';
  keyMistake = '';
  seen = new Seen();
  query = '';
  options: CallOptions = { sessionId: '', idempotencyKey: '', timeoutMs: '' };
  polling: 'live' | 'paused' = 'live';
  question: Question | null = null;
  /** What is folded out or shown whole, by identity. */
  readonly opened = new Set<string>();
  readonly hasDocs = document.querySelector('link[rel=service-doc]') !== null;
  readonly #pages: Pages<PageModel>;
  readonly #render: () => void;
  #renderTimer = 0;
  #reading = new AbortController();
  #watching = new AbortController();

  constructor(pages: Pages<PageModel>, render: () => void) {
    this.#pages = pages;
    this.#render = render;
  }

  /** The page that is looked at. */
  get view(): PageView<PageModel> {
    return this.#pages[this.route.page];
  }

  /** Takes what was typed or chosen. */
  update(change: Partial<Pick<PageModel, 'keyMistake' | 'query' | 'options' | 'question'>>): void {
    Object.assign(this, change);
    this.#render();
  }

  /** Follows the address to another page. */
  go(fragment: string): void {
    const { view } = this;
    const { page } = this.route;
    this.route = parseRoute(fragment);
    if (page === this.route.page && view.follow?.(this)) return void this.update({ question: null });
    Object.assign(this.seen, {
      session: null,
      readTrouble: null,
      approvalTrouble: null,
      outcomeTrouble: null,
      readAt: '',
    });
    this.seen.outcomes.clear();
    // Nothing moves in a list while a person goes through it.
    if (page !== this.route.page) this.seen.approvals.clear();
    this.seen.refusals.clear();
    this.seen.done.clear();
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
    // Asked for first: the service answers while the page is drawn.
    this.readPage();
    this.update({ keyMistake: '' });
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
    const answer = await this.ask<{ readonly tools: readonly api.ToolDescription[] }>({ path: 'tools' });
    if (answer === null) return;
    if (answer.trouble === null) this.seen.tools = answer.body.tools;
    this.seen.toolsTrouble = answer.trouble;
    this.#render();
    if (answer.trouble === null) this.#countOnce();
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

  /** Sends the call. Unless the tool is known to do no harm, has it checked first, and asks, with a view of what would be sent. */
  send(tool: api.ToolDescription, preview: (text: string) => unknown): void {
    if (isHarmless(tool)) void this.#post(tool, this.draftOf(tool.name).text);
    else void this.#check(tool, preview);
  }

  setPolling(polling: PageModel['polling']): void {
    this.polling = polling;
    this.#render();
    if (polling === 'paused') this.#reading.abort();
    else this.readPage();
  }

  /** Begins anew what the page that is looked at reads; a hidden one reads nothing. */
  readPage(): void {
    this.#reading.abort();
    const { view } = this;
    if (document.hidden) return;
    this.#reading = new AbortController();
    view.read?.(this, this.#reading.signal);
  }

  /** Deletes what a path names, after a yes. */
  askDelete(question: Omit<Question, 'act'>, path: string, done: string): void {
    this.update({ question: { ...question, act: () => void this.deleteAt(path, done) } });
  }

  /** Deletes what a path names; then says `done`. What came of it, also a refusal, is found under the path. */
  async deleteAt(path: string, done: string): Promise<void> {
    const { refusals, done: told } = this.seen;
    refusals.delete(path);
    told.delete(path);
    const answer = await this.ask({ path, method: 'DELETE' });
    if (answer === null) return;
    if (answer.trouble === null) told.set(path, { at: new Date().toISOString(), text: done });
    else refusals.set(path, answer.trouble);
    this.announce(answer.trouble === null ? done : 'The change was not made.');
    if (answer.trouble === null) this.readPage();
  }

  /** Says it aloud, by a screen reader. */
  announce(text: string): void {
    this.seen.announcement = text;
    this.#render();
  }

  /**
   * Asks the service with the key in use; never rejects. Null: the page no longer waits for the answer, because it aborted
   * the request, or because what comes for a former key is not shown under the key that followed.
   */
  async ask<Body>({ watch, watchSnapshots, ...request }: api.Request<Body>): Promise<api.Answer<Body> | null> {
    const { seen, key } = this;
    const own =
      <Told>(tell: (told: Told) => void) =>
      (told: Told): void => {
        if (this.seen === seen && !request.signal?.aborted) tell(told);
      };
    const watched = {
      ...(watch && { watch: own(watch) }),
      ...(watchSnapshots && { watchSnapshots: own(watchSnapshots) }),
    };
    const answer = await api.callService<Body>({ ...request, ...watched }, key);
    if (this.seen !== seen || request.signal?.aborted) return null;
    const hasKey = key !== '';
    if (answer.trouble === null) Object.assign(seen, { keyState: hasKey ? 'in use' : 'none', isAnswered: true });
    else if (answer.trouble.status === 401) seen.keyState = hasKey ? 'refused' : 'missing';
    return answer;
  }

  async #check(tool: api.ToolDescription, preview: (text: string) => unknown): Promise<void> {
    const { route } = this;
    const draft = this.draftOf(tool.name);
    const { text } = draft;
    const before = draft.attempt;
    const attempt = this.#beginAttempt(draft);
    const answer = await this.ask<api.CallsAnswer>(callRequest(tool.name, text, this.options, 'check'));
    if (answer === null || draft.attempt !== attempt) return;
    // What would fail as it is needs no answer of a person.
    if (!mayRun(answer)) return this.#settle(draft, attempt, answer);
    draft.attempt = before;
    if (this.route !== route) return;
    const question = {
      title: `Run ${toVisibleName(tool.name)}?`,
      text: 'Its effect may be permanent, and running it twice may apply it twice.',
      ...{ label: 'Run', preview: () => preview(text), act: (): void => void this.#post(tool, text) },
    };
    this.update({ question });
  }

  #beginAttempt(draft: Draft): Attempt {
    const attempt: Attempt = { progress: '', parts: [], answer: null };
    draft.attempt = attempt;
    this.#render();
    return attempt;
  }

  async #post({ name, background }: api.ToolDescription, text: string): Promise<void> {
    const draft = this.draftOf(name);
    const attempt = this.#beginAttempt(draft);
    const request = callRequest(name, text, this.options, background === undefined ? 'plain' : 'background');
    // A background call is followed by its state, which has a button to end it.
    const watch = background === undefined && { watch: (event: api.StreamEvent) => this.#addShown(attempt, event) };
    this.#settle(draft, attempt, await this.ask<api.CallsAnswer>({ ...request, ...watch }));
    const requestId = findPending(attempt);
    if (requestId !== null) await this.#followCall(draft, attempt, api.resultsPath(requestId));
  }

  /** Reads a pending call until it has ended, or another call of the tool was made. */
  async #followCall(draft: Draft, attempt: Attempt, path: string): Promise<void> {
    // A browser has six connections to the service: one may be held by a stream for hours, the latest.
    this.#watching.abort();
    const watching = new AbortController();
    this.#watching = watching;
    // State, progress and result come from reading again and again: a stream that breaks here costs parts alone.
    const watch = (event: api.StreamEvent): void => {
      if (event.event === 'part') this.#addShown(attempt, event);
    };
    void this.ask({ path: `${path}/events`, signal: watching.signal, watch });
    while (draft.attempt === attempt && findPending(attempt) !== null) {
      const answer = await this.ask<api.CallsAnswer>({ path: `${path}?wait_ms=${POLL_MS}` });
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
    this.announce(result ? `Result: ${result.outcome}${code}.` : 'The service did not answer the call.');
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

  /** Reads again and again, until the signal or a lasting refusal; what is streamed is taken as it changes. */
  async read<Body>(path: Path, take: (body: Body) => void, signal: AbortSignal, how: ReadHow = {}): Promise<void> {
    const { place = 'readTrouble', isStreamed = false, wasStreamed = false } = how;
    let isTaken = false;
    const takeNow = (body: Body): void => {
      isTaken = true;
      take(body);
      Object.assign(this.seen, { [place]: null, readAt: new Date().toISOString() });
      this.#countOnce();
      this.#render();
    };
    // A page that was paused is read once.
    const watch = isStreamed && this.polling === 'live' && { watchSnapshots: takeNow };
    const answer = await this.ask<Body>({ path: pathNow(path), signal, ...watch });
    if (answer === null) return;
    if (!isTaken && answer.trouble === null) takeNow(answer.body);
    // A stream that breaks after it was read is begun again, and says so only where that fails, or where it broke unseen.
    const trouble = isTaken && answer.trouble !== api.SILENT ? null : answer.trouble;
    this.seen[place] = trouble;
    this.#render();
    if (this.polling === 'paused' || isLasting(trouble)) return;
    const isProven = wasStreamed || isTaken;
    const next = { place, isStreamed: isStreamed && mayStream(trouble, isProven), wasStreamed: isProven };
    setTimeout(() => signal.aborted || void this.read(path, take, signal, next), delayAfter(trouble));
  }

  /** Reads once what does not change; a trouble is shown as that of other readings. */
  async readOnce<Body>(path: string, take: (body: Body) => void, signal: AbortSignal): Promise<void> {
    const answer = signal.aborted ? null : await this.ask<Body>({ path, signal });
    if (answer === null) return;
    this.seen.readTrouble = answer.trouble;
    if (answer.trouble === null) take(answer.body);
    this.#render();
  }

  // For the links to their pages. A key that may not read them has no number there.
  #countOnce(): void {
    if (!this.seen.isCounted) void this.#count();
  }

  async #count(): Promise<void> {
    const { route, seen } = this;
    seen.isCounted = true;
    const ask = async (path: string) => {
      const answer = await this.ask<{ readonly total: number }>({ path: `${path}?limit=1` });
      return answer?.trouble === null ? answer.body.total : null;
    };
    if (route.page !== 'unknown') seen.unknownCount = (await ask(api.UNKNOWN_PATH)) ?? seen.unknownCount;
    if (route.page !== 'approvals') seen.waitingCount = (await ask(api.APPROVALS_PATH)) ?? seen.waitingCount;
    this.#render();
  }
}
