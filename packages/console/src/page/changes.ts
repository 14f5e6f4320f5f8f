import { approvalPath, type Request, resultsPath, type Trouble } from './api.ts';
import {
  type ApprovalRecord,
  type Asked,
  buildDecision,
  type Decision,
  explainApproval,
  findRefusedEdit,
  stepFrom,
} from './approvals.ts';
import type { Kept } from './kept-list.ts';
import type { PageModel } from './page-model.ts';
import { routeLink } from './route.ts';
import type { Question, Typed } from './seen.ts';
import { buildVerdict, explainState, type Outcome, type UnknownCall, type Verdict } from './unknown-outcomes.ts';
import { toVisibleName } from './visible-text.ts';

// What a person changes of an unknown outcome or an approval.

type Ask = Omit<Question, 'act'>;

/** Lets the tool of a write look for it now. */
export const look = (page: PageModel, outcome: Outcome): void =>
  void reconcile(page, outcome, {}, 'Nobody has looked.');

/** Settles a write by hand, as it stands now, after a yes. */
export const askVerdict = (page: PageModel, outcome: Outcome, verdict: Verdict, question: Ask): void => {
  const { call } = outcome;
  const act = (typed: Typed): void =>
    void reconcile(page, outcome, buildVerdict(call, verdict, typed), 'It was not settled.');
  page.update({ question: { ...question, act } });
};

/** Decides on a call as it was read, after a yes. */
export const askDecision = (page: PageModel, asked: Asked, decision: Decision, question: Ask): void => {
  const { call } = asked;
  const act = (typed: Typed): void => void decide(page, { asked, call, decision, question }, typed);
  page.update({ question: { ...question, act } });
};

/** Leads to another approval of the list, or with 0 to the list alone. Keeps one step in the history of the browser. */
export const stepApproval = (page: PageModel, step: number): void => {
  const { route, seen } = page;
  if (route.page !== 'approvals') return;
  const id = step === 0 ? null : stepFrom(seen.approvals, route.id, step);
  const link = routeLink({ approvals: id ?? '' });
  history.replaceState(null, '', link);
  page.go(link);
};

const reconcile = async (
  page: PageModel,
  outcome: Outcome,
  sent: Pick<Request, 'headers' | 'body'>,
  failed: string,
): Promise<void> => {
  const { request_id: id, index, tool, effect_id: effectId } = outcome.call;
  const path = `${resultsPath(id)}/calls/${index}/reconcile`;
  await change<UnknownCall>(page, outcome, effectId, { path, ...sent }, (trouble) =>
    trouble === null ? `${toVisibleName(tool)}: ${explainState(outcome)}.` : failed,
  );
};

type Decided = {
  readonly asked: Asked;
  /** As it was shown. */
  readonly call: ApprovalRecord;
  readonly decision: Decision;
  readonly question: Ask;
};

const decide = async (page: PageModel, decided: Decided, typed: Typed): Promise<void> => {
  const { asked, call, decision, question } = decided;
  const { id, tool } = call;
  const { route } = page;
  const sent = { path: approvalPath(id), ...buildDecision(call, decision, typed) };
  const trouble = await change<ApprovalRecord>(page, asked, id, sent, (trouble) =>
    trouble === null ? `${toVisibleName(tool)}: ${explainApproval(asked)}.` : 'It was not decided.',
  );
  const mistake = trouble === null ? null : findRefusedEdit(trouble);
  if (mistake === null || page.question !== null || page.route !== route) return;
  // What was typed is there again, beside what is wrong with it.
  page.seen.refusals.delete(id);
  const fields = question.fields?.map((field) => ({ ...field, value: typed[field.name] ?? '' })) ?? [];
  askDecision(page, asked, decision, { ...question, fields, typed, mistake });
};

/** Asks for a change of a call of a list, one at a time; null: it was made, or its answer is no longer waited for. */
const change = async <Call>(
  page: PageModel,
  kept: Kept<Call>,
  id: string,
  sent: Request<Call>,
  explain: (trouble: Trouble | null) => string,
): Promise<Trouble | null> => {
  if (kept.isAsked) return null;
  kept.isAsked = true;
  page.seen.refusals.delete(id);
  page.update({});
  const answer = await page.ask<Call>({ method: 'POST', ...sent });
  if (answer === null) return null;
  Object.assign(kept, { isAsked: false, answeredAt: Date.now() });
  if (answer.trouble === null) kept.call = answer.body;
  else page.seen.refusals.set(id, answer.trouble);
  page.announce(explain(answer.trouble));
  page.readPage();
  return answer.trouble;
};
