import type { Answer } from './answer.ts';
import { toCallAnswer } from './call-result.ts';
import type { Ask } from './create-ask.ts';
import { type JsonPath, withValueAt } from './json-path.ts';
import { parseJson } from './parse-json.ts';
import { type Attempt, type CallOptions, type Draft, draftOf, type Store } from './state.ts';
import { mayRunUnasked, type ToolDescription, toCatalogue } from './tool-description.ts';
import { toVisibleName } from './visible-text.ts';

export type ToolActions = {
  readonly loadTools: () => Promise<void>;
  readonly search: (query: string) => void;
  readonly editText: (tool: string, text: string) => void;
  /** Puts a value into the arguments; undefined takes it out. */
  readonly editValue: (tool: string, path: JsonPath, value: unknown) => void;
  readonly setOption: (name: keyof CallOptions, value: string) => void;
  /** Sends the call; asks first where the tool writes. */
  readonly send: (tool: ToolDescription) => void;
};

/** What can be done with the catalogue and a tool of it. */
export const createToolActions = ({ read, update }: Store, ask: Ask): ToolActions => {
  const edit = (tool: string, change: Partial<Draft>): void => {
    const state = read();
    update({ drafts: new Map(state.drafts).set(tool, { ...draftOf(state, tool), ...change }) });
  };
  const post = async ({ name }: ToolDescription): Promise<void> => {
    const { options } = read();
    const { text } = draftOf(read(), name);
    edit(name, { attempt: { kind: 'sending' } });
    const answer = await ask({ path: 'tool-calls', ...toRequest(name, text, options) });
    if (answer.kind === 'aborted') return;
    const attempt = toAttempt(answer);
    edit(name, { attempt });
    update({ announcement: describeAttempt(attempt) });
  };
  return {
    loadTools: async () => {
      const answer = await ask({ path: 'tools' });
      if (answer.kind === 'done') update({ tools: toCatalogue(answer.body), toolsTrouble: null });
      else if (answer.kind !== 'aborted') update({ tools: null, toolsTrouble: answer });
    },
    search: (query) => update({ query }),
    editText: (tool, text) => edit(tool, { text }),
    editValue: (tool, path, value) => {
      const parsed = parseJson(draftOf(read(), tool).text);
      const root = parsed.kind === 'value' ? parsed.value : {};
      edit(tool, { text: JSON.stringify(withValueAt(root, path, value), null, 2) });
    },
    setOption: (name, value) => update({ options: { ...read().options, [name]: value } }),
    send: (tool) => {
      const act = (): void => void post(tool);
      if (mayRunUnasked(tool.effects)) return act();
      const name = toVisibleName(tool.name);
      update({
        question: {
          title: `Run ${name}?`,
          text: `${name} ${tool.effects === 'write' ? 'is a write tool' : 'does not say what it changes'}: what it does may not be undone, and doing it twice may do it twice.`,
          label: 'Run it',
          act,
        },
      });
    },
  };
};

// The arguments go as the text that was typed, as models send them: nothing is rounded, and what is no JSON gets the
// answer that a model would get.
const toRequest = (name: string, text: string, { sessionId, idempotencyKey, timeoutMs }: CallOptions) => {
  const timeout = timeoutMs.trim() === '' ? {} : { timeout_ms: toNumberOrText(timeoutMs.trim()) };
  const session = sessionId === '' ? {} : { session_id: sessionId };
  const unrepeated: Readonly<Record<string, string>> =
    idempotencyKey === '' ? {} : { 'idempotency-key': idempotencyKey };
  return {
    method: 'POST' as const,
    headers: { 'content-type': 'application/json', ...unrepeated },
    body: JSON.stringify({ ...session, calls: [{ id: 'console', name, arguments: text, ...timeout }] }),
  };
};

const toNumberOrText = (text: string): number | string => (Number.isFinite(Number(text)) ? Number(text) : text);

const toAttempt = (answer: Exclude<Answer, { readonly kind: 'aborted' }>): Attempt => {
  if (answer.kind !== 'done') return { kind: 'troubled', trouble: answer };
  const found = toCallAnswer(answer.body);
  if (found !== null) return { kind: 'answered', answer: found, raw: answer.text };
  return { kind: 'troubled', trouble: { kind: 'unreachable' } };
};

const describeAttempt = (attempt: Attempt): string => {
  if (attempt.kind !== 'answered') return 'The call was not answered.';
  const { outcome, code } = attempt.answer.result;
  return `Result: ${outcome}${code === '' ? '' : `, ${code}`}.`;
};
