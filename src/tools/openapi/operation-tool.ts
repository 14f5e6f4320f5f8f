import * as z from 'zod';
import { defineTool } from '../define-tool.ts';
import { toExampleArguments } from '../example-arguments.ts';
import type { HttpClient } from '../http/http-client.ts';
import { isSuccess } from '../http/is-success.ts';
import { toPinnedRedirects } from '../http/pinned-redirects.ts';
import { isRedirect } from '../http/redirects.ts';
import { toWorkMs } from '../to-work-ms.ts';
import type { InlineTool, ToolContext, Upstream } from '../tool.ts';
import { toOperationValue } from './answer/operation-value.ts';
import type { ArgumentCheck } from './argument-checks.ts';
import type { OpenApiAuth } from './operation/openapi-import-settings.ts';
import type { OperationPlan } from './operation/operation-plan.ts';
import { type Credentials, createSecretRemover } from './request/credentials.ts';
import { toOperationRequest } from './request/operation-request.ts';
import type { Arguments } from './request/request-url.ts';
import type { FileReading } from './request/sent-file.ts';

/** What all tools of one import share. */
export type ImportMeans = {
  readonly importName: string;
  readonly base: URL;
  readonly auth: OpenApiAuth | undefined;
  readonly credentials: Credentials;
  readonly files: FileReading;
  readonly upstream: Upstream;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  readonly openClient: () => Promise<HttpClient>;
  /** Settles when an answer of so many bytes may be worked on: large ones have a turn of the event loop each. */
  readonly turnFor: (bytes: number) => Promise<void>;
  readonly checkFor: (schema: OperationPlan['inputSchema']) => ArgumentCheck;
  readonly now: () => number;
};

const ERROR_BODY_BYTES = 65_536;
// As the service's own redactor: shorter ones are parts of words, and an answer must not be torn for them.
const LEAST_SECRET_IN_ANSWER = 8;
const LEAST_SECRET_IN_FAILURE = 4;

// What is checked is the operation's own schema; this one is never asked.
const ANY_OBJECT = z.looseObject({});

/**
 * One operation as a tool. Its schema is compiled with the first call: a document of a thousand operations would
 * otherwise take ten seconds for what is hardly ever called.
 */
export const createOperationTool = (
  { name, source }: { readonly name: string; readonly source: string },
  plan: OperationPlan,
  means: ImportMeans,
): InlineTool => {
  const { effects, description, inputSchema } = plan;
  const { timeoutMs, upstream } = means;
  const run = createRun(plan, means);
  const check = means.checkFor(inputSchema);
  return {
    ...defineTool({ name, description, effects, input: ANY_OBJECT, run, timeoutMs, upstream, source }),
    inputSchema,
    exampleArguments: toExampleArguments(inputSchema),
    prepare: (given) => {
      const checked = check(given);
      return checked.ok ? { ok: true, invocation: { run: (context) => run(given, context) } } : checked;
    },
  };
};

const createRun = (plan: OperationPlan, means: ImportMeans) => {
  const { importName, auth, maxResponseBytes, now } = means;
  const removeSecrets = {
    fromAnswer: createSecretRemover(auth, LEAST_SECRET_IN_ANSWER),
    fromFailure: createSecretRemover(auth, LEAST_SECRET_IN_FAILURE),
  };
  const isSafeMethod = plan.method === 'GET' || plan.method === 'HEAD';
  return async (given: Arguments, context: ToolContext): Promise<unknown> => {
    const { effects } = context;
    const request = await toOperationRequest(plan, given, means, context);
    const client = await means.openClient();
    const fetched = await client.send({
      ...request,
      signal: context.signal,
      // Before the call's own end, so that a slow API is told as such.
      limitMs: toWorkMs(context.timeoutMs),
      wantedBytes: (status) => toWantedBytes(status, maxResponseBytes),
      nextHop: toPinnedRedirects(plan.base, effects),
      repeats: effects === 'read' && isSafeMethod ? 'transport' : 'never',
    });
    if (fetched.kind === 'answer') await means.turnFor(fetched.body.bytes.byteLength);
    return toOperationValue(fetched, { importName, plan, effects, maxResponseBytes, nowMs: now(), removeSecrets });
  };
};

const toWantedBytes = (status: number, maxResponseBytes: number): number => {
  if (isRedirect(status)) return 0;
  return isSuccess(status) ? maxResponseBytes : Math.min(ERROR_BODY_BYTES, maxResponseBytes);
};
