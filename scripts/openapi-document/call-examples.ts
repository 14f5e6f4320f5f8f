import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { ToolCallsResponse } from '../../src/contract/tool-result.ts';
import { ProblemError } from '../../src/routes/problems.ts';

// What the document shows of POST /tool-calls. The tests send each request and compare the answer of the same name.

const MODEL_CALL = { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{"text":"hello"}' } };

export const REQUEST_EXAMPLES = {
  success: {
    summary: "The service's own envelope",
    value: { session_id: 'agent_1', calls: [{ id: 'call_1', name: 'echo', arguments: { text: 'hello' } }] },
  },
  failure: {
    summary: 'A call without a required argument',
    value: { session_id: 'agent_2', calls: [{ id: 'call_1', name: 'echo', arguments: {} }] },
  },
  dry_run: {
    summary: 'A dry run: what a call would do',
    value: {
      session_id: 'agent_2',
      dry_run: true,
      calls: [{ id: 'call_1', name: 'echo', arguments: { text: 'hello' } }],
    },
  },
  message: {
    summary: 'The message of a model, as OpenAI chat completions write it',
    value: { session_id: 'agent_3', role: 'assistant', content: null, tool_calls: [MODEL_CALL] },
  },
} as const;

const EXAMPLES = join(import.meta.dirname, '../../openapi/examples');
const Example = z.object({ response: z.object({ body: z.looseObject({}) }) });

/** The answer that an example of openapi/examples shows; the tests hold it against the service. */
export const readExample = (name: string): Readonly<Record<string, unknown>> =>
  Example.parse(JSON.parse(readFileSync(join(EXAMPLES, `${name}.json`), 'utf8'))).response.body;

const SUCCESS = readExample('success');

const FAILURE: ToolCallsResponse = {
  request_id: '01M7YS1XMGYJ2WFDYMYSPV5GWY',
  session_id: 'agent_2',
  results: [
    {
      index: 0,
      id: 'call_1',
      name: 'echo',
      success: false,
      outcome: 'retry',
      executed: 'no',
      value: null,
      message: "Required parameter 'text' missing. Fix this and call 'echo' again.",
      error: {
        code: 'invalid_arguments',
        type: 'invalid_arguments',
        hint: null,
        issues: [{ path: 'text', expected: 'a string', received: 'nothing', message: 'required parameter missing' }],
        retry_after_ms: null,
        fatal: false,
        reference: '01M7YS1XMJSKK81AGS2C0TQZ4C',
      },
      retry: {
        allowed: true,
        limit: 3,
        used: 0,
        remaining: 3,
        limited_by: 'tool',
        scope: 'session',
        mode: 'memory',
      },
      duration_ms: 0.99,
    },
  ],
};

const DRY_RUN: ToolCallsResponse = {
  request_id: '01M7YS1XMGYJ2WFDYMYSPV5GWZ',
  session_id: 'agent_2',
  results: [
    {
      index: 0,
      id: 'call_1',
      name: 'echo',
      success: false,
      outcome: 'checked',
      executed: 'no',
      value: null,
      message: 'Dry run: this call would run. Nothing has run.',
      error: null,
      retry: null,
      dry_run: {
        depth: 'checked',
        would: 'run',
        digest: 'sha256:dddd2666d6c35efd2287574b6648ee401a0d64d27b451a7a6bdc52fe2360f979',
        rules: [],
      },
      duration_ms: 0,
    },
  ],
};

const MESSAGE = {
  ...SUCCESS,
  session_id: 'agent_3',
  format: 'openai-chat',
  messages: [{ role: 'tool', tool_call_id: 'call_1', content: '{"text":"hello"}' }],
};

export const ANSWER_EXAMPLES = {
  success: { summary: 'A call that succeeded', value: SUCCESS },
  failure: { summary: 'A call that failed: the HTTP status is still 200', value: FAILURE },
  dry_run: { summary: 'A dry run: nothing has run', value: DRY_RUN },
  message: { summary: 'The messages to append to the conversation', value: MESSAGE },
} as const;

/** The problem that `openapi/examples/problem.json` is about. */
export const REFUSED_ENVELOPE = new ProblemError(
  400,
  'invalid_envelope',
  'session_id: Too small: expected string to have >=1 characters; calls: Invalid input: expected array, received string',
);
