import { inspect } from 'node:util';
import * as z from 'zod';
import {
  createRecourse,
  isFatal,
  isRetryable,
  mayHaveRun,
  type Recourse,
  RecourseError,
} from '../../../clients/typescript/src/client.ts';
import { toRetryAfterMs, toWaitMs } from '../../../clients/typescript/src/judge-attempt.ts';
import type { CaseToRun, ClientUnderTest, Operation, Outcome } from './contract-case.ts';

const toCamel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const toSnake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const rename = (members: object, toName: (name: string) => string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [toName(name), value]));

/** Options as the cases have them as this client wants them. */
const toOptions = (members: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(rename(members, toCamel)).map(([name, value]) => [name, toOption(name, value)]));

const toOption = (name: string, value: unknown): unknown =>
  name === 'respondAsync' ? rename(Object(value), toCamel) : (value ?? undefined);

// What a case says goes to the client as it stands: wrong formats and calls are cases, too.
const ClientOptions = z.custom<Partial<Parameters<typeof createRecourse>[0]>>();
const ExecuteOptions = z.custom<{ format: 'openai-chat' }>();
const ToolsFormat = z.custom<'native'>();

const execute = async (recourse: Recourse, { session, calls, options }: Operation): Promise<unknown> => {
  const executor = session === undefined ? recourse : recourse.session(session);
  const answer = await executor.execute(calls, ExecuteOptions.parse(toOptions(options ?? {})));
  const said = rename(answer, toSnake);
  if (!('results' in answer)) return said;
  const { results } = answer;
  if (results === undefined) return said;
  return {
    ...said,
    retryable: results.map(isRetryable),
    fatal: results.map(isFatal),
    may_have_run: results.map(mayHaveRun),
  };
};

const stream = async (recourse: Recourse, { session, calls, options }: Operation): Promise<unknown> => {
  const executor = session === undefined ? recourse : recourse.session(session);
  const events = executor.stream(calls, ExecuteOptions.parse(toOptions(options ?? {})));
  return { events: await Array.fromAsync(events) };
};

const ModelCalls = z.array(
  z.looseObject({ id: z.string(), name: z.string(), arguments: z.unknown(), round_id: z.string().optional() }),
);

const answerCalls = async (recourse: Recourse, { session = '', calls }: Operation): Promise<unknown> => {
  const { answerCall } = recourse.session(session);
  const answers: unknown[] = [];
  for (const { round_id: roundId, ...call } of ModelCalls.parse(calls))
    answers.push(
      await answerCall(call, { roundId }).then(
        ({ text, isError }) => ({ text, is_error: isError }),
        (error: unknown) => ({ raises: error instanceof RecourseError ? error.code : String(error) }),
      ),
    );
  return answers;
};

const RUNS = new Map([
  ['execute', execute],
  ['answer_calls', answerCalls],
  ['stream', stream],
]);

const perform = async (recourse: Recourse, operation: Operation): Promise<unknown> => {
  const { do: what, session = '', tool, request_id: requestId = '', options = {} } = operation;
  const run = RUNS.get(what);
  if (run !== undefined) return run(recourse, operation);
  if (what === 'tools') {
    const { format, ...others } = options;
    return recourse.tools(ToolsFormat.parse(format), others);
  }
  if (what === 'recover') {
    const recovered = await recourse.recover(requestId);
    return recovered === null ? null : rename(recovered, toSnake);
  }
  if (what === 'results' || what === 'cancel')
    return rename(await recourse[what](requestId, toOptions(options)), toSnake);
  if (what === 'view') return recourse.session(session).view();
  await (what === 'end' ? recourse.session(session).end() : recourse.session(session).resetBudgets(tool));
  return null;
};

const printed = (thing: unknown): string =>
  `${String(thing)} ${inspect(thing, { depth: Infinity, showHidden: true })} ${JSON.stringify(thing)}`;

const toOutcome = (error: unknown): Outcome => {
  if (error instanceof RecourseError)
    return { raises: { ...rename(error, toSnake), message: error.message }, printed: printed(error) };
  if (error instanceof TypeError) return { refuses: true, printed: printed(error) };
  throw error;
};

const attempt = async (running: () => unknown): Promise<Outcome> => {
  const startedAt = performance.now();
  let outcome: Outcome;
  try {
    outcome = { returns: await running() };
  } catch (error) {
    outcome = toOutcome(error);
  }
  return { ...outcome, elapsed_ms: performance.now() - startedAt };
};

const run = async ({ url, client = {}, operations }: CaseToRun): Promise<readonly Outcome[]> => {
  const open = () => createRecourse({ ...ClientOptions.parse(toOptions(client)), url });
  const opened = await attempt(open);
  if (opened.refuses === true) return [opened];
  const recourse = open();
  const outcomes: Outcome[] = [];
  for (const operation of operations) outcomes.push(await attempt(() => perform(recourse, operation)));
  return outcomes.map((outcome) => ({ ...outcome, client: printed(recourse) }));
};

/** The TypeScript client, in this process. */
export const startTypescriptClient = (): ClientUnderTest => ({
  run,
  toRetryAfterMs: async (text, nowMs) => toRetryAfterMs(text, nowMs),
  toWaitMs: async (attempts, retryAfterMs, random) => Math.round(toWaitMs(attempts, retryAfterMs, random)),
  stop: async () => undefined,
});
