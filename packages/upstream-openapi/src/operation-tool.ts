import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPinnedRedirects, isRedirect } from '@recourse/toolkit-kit/egress/redirects';
import { isSuccess } from '@recourse/toolkit-kit/egress/response-status';
import { isRecord, type JsonRecord } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import { defineTool } from 'recourse-server/tools/define-tool';
import { createExampleArguments } from 'recourse-server/tools/json-schema';
import {
  type Checked,
  createJsonSchemaChecks,
  type FormatRule,
  type JsonSchemaCheck,
} from 'recourse-server/tools/json-schema-checks';
import { runInTimeBox } from 'recourse-server/tools/time-box';
import { type InlineTool, type ToolContext, toWorkMs } from 'recourse-server/tools/tool';
import * as z from 'zod';
import type { ImportMeans } from './import-means.ts';
import type { OperationPlan } from './operation-plan.ts';
import { createOperationRequest } from './operation-request.ts';
import { readOperationValue } from './operation-value.ts';
import { isHidden } from './parameters.ts';

const ERROR_BODY_BYTES = 65_536;

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
  const { upstream, settings } = means;
  const run = createRun(plan, means, null);
  const check = means.checkFor(inputSchema);
  return {
    ...defineTool({
      ...{ name, description, effects, input: ANY_OBJECT, run, timeoutMs: settings.timeoutMs, upstream, source },
    }),
    inputSchema,
    exampleArguments: createExampleArguments(inputSchema),
    prepare: createPrepare(check, run),
    prepareWithEffectId: {
      inArgument: (schema, complete) =>
        createPrepare(means.checkFor(schema), (input, context) => run(complete(input, context.effectId), context)),
      inHeader: (header) =>
        explainSentHeader(header.toLowerCase(), plan) ??
        createPrepare(check, createRun(plan, means, header.toLowerCase())),
    },
  };
};

type Run = (input: JsonRecord, context: ToolContext) => Promise<unknown>;

const createPrepare =
  (check: JsonSchemaCheck, run: Run): InlineTool['prepare'] =>
  (input) => {
    const checked = check(input);
    if (!checked.ok) return checked;
    // An object that was checked stays one.
    const given = isRecord(checked.value) ? checked.value : input;
    return { ok: true, invocation: { run: (context) => run(given, context) } };
  };

/** What else says what a header holds, so that it cannot carry an effect id; null where nothing does. */
const explainSentHeader = (header: string, { parameters, credentials }: OperationPlan): string | null => {
  if (isHidden('header', header, credentials)) return `the header ${header} carries credentials: name another.`;
  const part = parameters.find((one) => one.in === 'header' && one.name.toLowerCase() === header);
  if (part === undefined) return null;
  return part.argument === null
    ? `parameters of the import set the header ${header}: name another, or remove it there.`
    : `models send the header ${header} as an argument: write argument: /${part.argument} instead.`;
};

/** `effectIdHeader`: the header, in lower case, that carries the effect id of a call; null where none does. */
const createRun = (plan: OperationPlan, means: ImportMeans, effectIdHeader: string | null): Run => {
  const { maxResponseBytes } = means.settings;
  const isSafeMethod = plan.method === 'GET' || plan.method === 'HEAD';
  return async (input, context) => {
    const { effects } = context;
    const request = await createOperationRequest(plan, input, means, context);
    const client = await means.openClient();
    const fetched = await client.send({
      ...request,
      // Last, so that it stands in for the key of the call where that has the same header.
      headers: { ...request.headers, ...(effectIdHeader === null ? {} : { [effectIdHeader]: context.effectId }) },
      signal: context.signal,
      // Before the call's own end, so that a slow API is reported as such.
      limitMs: toWorkMs(context.timeoutMs),
      wantedBytes: (status) => limitBytes(status, maxResponseBytes),
      nextHop: createPinnedRedirects(plan.base, effects),
      repeats: effects === 'read' && isSafeMethod ? 'transport' : 'never',
    });
    if (fetched.kind === 'answer') await means.turnFor(fetched.body.bytes.byteLength);
    return readOperationValue(fetched, plan, effects, means);
  };
};

const limitBytes = (status: number, maxResponseBytes: number): number => {
  if (isRedirect(status)) return 0;
  return isSuccess(status) ? maxResponseBytes : Math.min(ERROR_BODY_BYTES, maxResponseBytes);
};

// Less takes a millisecond, and never waits.
const SMALL_BYTES = 65_536;

/**
 * Settles when an answer of so many bytes may be parsed: of the large ones, one has each turn of the event loop. Sixteen that
 * came together stopped the service for the sum of them.
 */
export const createAnswerTurns = (): ((bytes: number) => Promise<void>) => {
  let last: Promise<void> = Promise.resolve();
  return (bytes) => {
    if (bytes < SMALL_BYTES) return Promise.resolve();
    last = last.then(() => nextTurn());
    return last;
  };
};

// Thirty times what the largest of GitHub's takes: a busy machine refuses none. Nothing else of the process runs meanwhile.
const MOST_COMPILE_MS = 5_000;

const NO_VALIDATOR: Checked = {
  ok: false,
  issues: [
    {
      path: '',
      expected: 'a schema that can be compiled',
      received: 'a schema that cannot',
      message: "this operation's schema cannot be compiled to check arguments; use another operation",
    },
  ],
};

/**
 * Makes the checks of one version of a document. They share one validator: one each would take 9 ms and most of a
 * megabyte, and a document has a thousand. It goes with the tools of the version. A schema that cannot be compiled, or
 * not in five seconds, refuses all arguments and is not tried again.
 */
export const createArgumentChecks = (formats: FormatRule): ((schema: JsonSchema) => JsonSchemaCheck) => {
  let validator: ReturnType<typeof createJsonSchemaChecks> | undefined;
  const compile = (schema: JsonSchema): JsonSchemaCheck => {
    const current = validator ?? createJsonSchemaChecks({ origin: 'foreign', formats, toWideInteger: BigInt });
    validator = current;
    const compiled = runInTimeBox(MOST_COMPILE_MS, () => {
      try {
        return current(schema);
      } catch (thrown) {
        // Ajv says in many ways that it cannot compile a schema: all of them are the schema's fault.
        if (thrown instanceof Error) return null;
        throw thrown;
      }
    });
    if (typeof compiled === 'function') return compiled;
    // What was cut off in the middle of its work is not worked with again.
    validator = undefined;
    return () => NO_VALIDATOR;
  };
  return (schema) => {
    let check: JsonSchemaCheck | undefined;
    return (value) => {
      check ??= compile(schema);
      return check(value);
    };
  };
};
