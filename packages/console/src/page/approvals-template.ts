import { html, nothing, type TemplateResult } from 'lit-html';
import { APPROVALS_PATH, approvalPath } from './api.ts';
import {
  type ApprovalList,
  type ApprovalRecord,
  type Asked,
  type Decision,
  explainApproval,
  findMistake,
  isWaiting,
  takeApproval,
  toArgumentsText,
} from './approvals.ts';
import { askDecision, stepApproval } from './changes.ts';
import { indentJson } from './json.ts';
import { firstOpen } from './kept-list.ts';
import type { PageModel, TroublePlace } from './page-model.ts';
import {
  factList,
  firstLineOf,
  liveTemplate,
  longText,
  moment,
  outcomeMark,
  some,
  toLeft,
  troubleBox,
} from './page-parts.ts';
import { routeLink } from './route.ts';
import type { Question as AnyQuestion } from './seen.ts';
import { diffLines } from './text-diff.ts';
import { toVisible, toVisibleExcerpt, toVisibleName } from './visible-text.ts';

/** The calls that wait for a person, oldest first, beside the one that is looked at. */
export const view = (page: PageModel): TemplateResult => {
  const id = chosenOf(page);
  return html`<div class="columns">
    <section aria-labelledby="approvals-title">
      <h2 id="approvals-title" tabindex="-1">Approvals</h2>
      ${liveTemplate(page)} ${troubleBox(page, page.seen.readTrouble)} ${listTemplate(page, id)}
    </section>
    <section aria-labelledby="approval-title">${chosenTemplate(page, id)}</section>
  </div>`;
};

const chosenOf = ({ route }: PageModel): string | null => (route.page === 'approvals' ? route.id : null);

export const read = (page: PageModel, signal: AbortSignal): void => {
  readEntries(page, signal, 'readTrouble');
  const id = chosenOf(page);
  const takeOne = (call: ApprovalRecord): void => takeApproval(page.seen.approvals, call);
  if (id !== null) void page.read(approvalPath(id), takeOne, signal, { place: 'approvalTrouble' });
};

export const readEntries = (page: PageModel, signal: AbortSignal, place: TroublePlace = 'approvalTrouble'): void =>
  void page.read<ApprovalList>(APPROVALS_PATH, (list) => page.seen.takeWaiting(list), signal, { place });

/** As list items: the first calls that wait, each with what would run and the buttons that decide it. */
export const entries = (page: PageModel, most: number): readonly unknown[] =>
  firstOpen(page.seen.approvals.values(), isWaiting, most).map((asked) =>
    asked === null ? nothing : cardTemplate(page, asked),
  );

const cardTemplate = (page: PageModel, asked: Asked): TemplateResult => {
  const { call } = asked;
  const link = routeLink({ approvals: call.id });
  // A list has no long arguments.
  const decision =
    call.arguments === null
      ? html`<p>Its arguments are not shown here: <a href=${link}>open it to see its arguments</a>.</p>`
      : html`${argumentsTemplate(page, call)} ${isWaiting(asked) ? buttonsTemplate(page, asked) : nothing}`;
  return html`<li class="card">
    <h4 class="row" tabindex="-1">
      <a class="name" href=${link}>${toVisibleName(call.tool)}</a>
      ${outcomeMark(MARKS[call.state], explainApproval(asked))} ${isWaiting(asked) ? leftTemplate(call) : nothing}
    </h4>
    <p>${toVisibleExcerpt(call.summary)}</p>
    ${decision} ${troubleBox(page, page.seen.refusals.get(call.id) ?? null)}
  </li>`;
};

const listTemplate = ({ seen }: PageModel, chosen: string | null): TemplateResult => {
  const { readAt, waitingCount } = seen;
  const listed = [...seen.approvals.values()];
  if (waitingCount === 0 && listed.length === 0) return html`<p class="notice">${NONE}</p>`;
  const isCut = readAt !== '' && (waitingCount ?? 0) > listed.filter(isWaiting).length;
  return html`${isCut ? html`<p class="notice">There are ${waitingCount}: the oldest are listed.</p>` : nothing}
    <ul class="names">${listed.map((one) => entryTemplate(one, chosen))}</ul>
    ${some(listed, () => html`<p class="muted">${key('J')} ${key('K')} move, in the list ${key('↓')} ${key('↑')} as well; ${key('Esc')} leaves.</p>`)}`;
};

const chosenTemplate = (page: PageModel, id: string | null): TemplateResult => {
  const asked = page.seen.approvals.get(id ?? '');
  if (asked !== undefined) return askedTemplate(page, asked);
  if (id !== null)
    return html`<h2 id="approval-title" tabindex="-1">Approval</h2>${troubleBox(page, page.seen.approvalTrouble)}`;
  return html`<h2 id="approval-title" tabindex="-1">Choose a call</h2>
    <p class="muted">This page then shows what would run, and lets you approve or deny it. To look at it changes nothing.</p>`;
};

const NONE =
  'No call waits for an approval. It would be listed here if a rule, its tool or its effects ask for a person.';

const key = (name: string): TemplateResult => html`<kbd data-key=${name}></kbd>`;

const leftTemplate = ({ expires_at: until }: ApprovalRecord): unknown =>
  some(until, (at) => html`<span class="left">${toLeft(Date.parse(at) - Date.now())}</span>`);

// One word: what stands below in the list does not move.
const toWord = ({ call: { state } }: Asked): string => (state === 'waiting' ? 'over' : state);

const entryTemplate = (asked: Asked, chosen: string | null): TemplateResult => {
  const { id, tool, summary } = asked.call;
  return html`<li>
    <a href=${routeLink({ approvals: id })} aria-current=${id === chosen ? 'true' : nothing}>
      <span class="name">${toVisibleName(tool)}</span>
      <span class="muted">${isWaiting(asked) ? leftTemplate(asked.call) : toWord(asked)}</span>
      <span class="muted whole">${toVisibleName(firstLineOf(summary))}</span>
    </a>
  </li>`;
};

const MARKS = {
  waiting: 'pending',
  granted: 'success',
  used: 'success',
  denied: 'refused',
  expired: 'unknown',
  cancelled: 'unknown',
  stale: 'unknown',
} as const;

const askedTemplate = (page: PageModel, asked: Asked): TemplateResult => {
  const { call, isAsked } = asked;
  return html`<article class="card">
    <h3 class="row" id="approval-title" tabindex="-1">
      <span class="name">${toVisibleName(call.tool)}</span> ${outcomeMark(MARKS[call.state], explainApproval(asked))}
      ${isAsked ? html`<span class="muted">Waiting for the answer…</span>` : nothing}
    </h3>
    <p>${toVisibleExcerpt(call.summary)}</p>
    ${some(call.reason, (reason) => html`<p>Reason: <span class="about">${toVisibleExcerpt(reason)}</span></p>`)}
    ${factList(factsOf(asked))}
    <h4>${call.edited_arguments === null ? 'Arguments as they will run' : 'What was changed of the arguments'}</h4>
    ${argumentsTemplate(page, call)}
    ${isWaiting(asked) ? buttonsTemplate(page, asked) : nothing}
    ${troubleBox(page, page.seen.refusals.get(call.id) ?? page.seen.approvalTrouble)}
    <p class="muted">
      Approval <code>${toVisibleName(call.id)}</code> · request <code>${toVisibleName(call.request_id)}</code>, call
      ${call.index}
    </p>
  </article>`;
};

const factsOf = (asked: Asked): readonly (readonly [string, unknown])[] => {
  const { key: caller, session, effects, digest, requested_at: since, expires_at: until } = asked.call;
  const isOpen = isWaiting(asked);
  return [
    ['Called by', caller === null ? 'somebody without a key' : html`<code>${toVisibleName(caller)}</code>`],
    ['Effects', effects],
    [isOpen ? 'Waits since' : 'Asked', moment(since)],
    ...(until === null
      ? []
      : [[isOpen ? 'Time left' : 'Holds', html`${leftTemplate(asked.call)}, until ${moment(until)}`] as const]),
    ...(isOpen ? [['Who decides', explainWho(asked.call)] as const] : []),
    ['Session', session === null ? 'none' : html`<code>${toVisibleName(session)}</code>`],
    ['Digest', html`<code>${toVisibleName(digest)}</code>`],
  ];
};

const WHO = { operator: 'a key with the right approve', requester: 'the key that called' };

const explainWho = ({ by, four_eyes: isByOther }: ApprovalRecord): string =>
  `${by.map((who) => WHO[who]).join(', or ')}${isByOther ? '; not by the key that called' : ''}`;

const argumentsTemplate = (page: PageModel, { id, arguments: sent, edited_arguments: edited }: ApprovalRecord) => {
  if (sent === null) return html`<p class="muted">Its arguments are not shown: the tool is not here now.</p>`;
  const text = toArgumentsText(sent);
  return edited === null ? longText(page, `approval:${id}`, text) : diffTemplate(text, toArgumentsText(edited));
};

/** What another text has changed, line by line, with signs and not by colours alone. */
const diffTemplate = (before: string, after: string): TemplateResult => {
  const lines = diffLines(before, after);
  if (lines.length === 0) return html`<p class="muted">Nothing is changed.</p>`;
  return html`<pre class="text">${lines.map(({ sign, text }) => {
    const line = `${sign} ${toVisible(text)}\n`;
    if (sign === ' ') return line;
    return sign === '+' ? html`<ins class="success">${line}</ins>` : html`<del class="failed">${line}</del>`;
  })}</pre>`;
};

const buttonsTemplate = (page: PageModel, asked: Asked): TemplateResult => {
  const { tool, id } = asked.call;
  // On the first page several calls stand beside each other: no key is for one of them.
  const hasKeys = page.route.page === 'approvals';
  return html`<div class="row field">
    ${choicesOf(asked).map(
      ({
        letter,
        decision,
        label,
        kind,
        ask,
      }) => html`<button type="button" class=${kind} aria-keyshortcuts=${hasKeys ? letter : nothing}
        aria-label="${label}: ${toVisibleName(tool)} ${toVisibleName(id)}"
        @click=${() => askDecision(page, asked, decision, ask(asked.call))}>${label} ${hasKeys ? key(letter) : nothing}</button>`,
    )}
  </div>`;
};

type Question = Omit<AnyQuestion, 'act'>;

const askApproval = (call: ApprovalRecord): Question => ({
  title: `Approve this call of ${toVisibleName(call.tool)}?`,
  text: `${toVisibleExcerpt(call.summary)}. It runs once, with the arguments that are shown.`,
  ...{ label: 'Approve', isForKeys: true },
});

const askDenial = (call: ApprovalRecord): Question => ({
  title: `Deny this call of ${toVisibleName(call.tool)}?`,
  text: `${toVisibleExcerpt(call.summary)}. The same call is refused for a while.`,
  fields: [{ name: 'reason', label: 'Reason', about: 'Optional. The model reads it.', isLine: true }],
  ...{ label: 'Deny', findMistake },
});

const askEdit = (call: ApprovalRecord): Question => {
  const text = toArgumentsText(call.arguments);
  return {
    title: `Approve other arguments for ${toVisibleName(call.tool)}?`,
    text: 'The call runs once, with these arguments, and the model is told so.',
    fields: [
      { name: 'arguments', label: 'Arguments as JSON', about: 'All of them. The service checks them.', value: text },
    ],
    ...{ label: 'Approve the edit', findMistake },
    preview: ({ arguments: typed = text }) => html`<h3>What is changed</h3>${diffTemplate(text, indentJson(typed))}`,
  };
};

type Choice = {
  readonly letter: string;
  readonly decision: Decision;
  readonly label: string;
  readonly kind: string;
  readonly ask: (call: ApprovalRecord) => Question;
};

const APPROVE = { letter: 'A', decision: 'approve', label: 'Approve', kind: 'primary', ask: askApproval } as const;
const DENY = { letter: 'D', decision: 'deny', label: 'Deny', kind: 'danger', ask: askDenial } as const;
const EDIT = { letter: 'E', decision: 'edit', label: 'Edit', kind: '', ask: askEdit } as const;

/** What can be decided now. Nobody approves what is not shown. */
const choicesOf = (asked: Asked): readonly Choice[] => {
  if (!isWaiting(asked)) return [];
  if (asked.call.arguments === null) return [DENY];
  return asked.call.edit ? [APPROVE, DENY, EDIT] : [APPROVE, DENY];
};

const STEPS: ReadonlyMap<string, number> = new Map([
  ...([
    ['j', 1],
    ['k', -1],
    ['Escape', 0],
  ] as const),
  ...([
    ['ArrowDown', 1],
    ['ArrowUp', -1],
  ] as const),
]);

/** Does what a key stands for on this page: whether it stands for anything. No key decides: it asks a question. */
export const pressKey = (page: PageModel, pressed: string): 'moved' | 'asked' | null => {
  const { route, seen } = page;
  if (route.page !== 'approvals') return null;
  const step = STEPS.get(pressed);
  if (step !== undefined) {
    stepApproval(page, step);
    return 'moved';
  }
  const asked = seen.approvals.get(route.id ?? '');
  const choice = asked && choicesOf(asked).find(({ letter }) => letter.toLowerCase() === pressed);
  if (!choice) return null;
  askDecision(page, asked, choice.decision, choice.ask(asked.call));
  return 'asked';
};
