import type { SessionView } from '../contract/session.ts';
import type { ToolCallsResponse } from '../contract/tool-result.ts';

// What the document shows is in openapi/examples, too, where it is proved against the service.

/** An agent that asked for a file that is not there, in two rounds, and did something else beside. */
export const SESSION_EXAMPLE: SessionView = {
  session: {
    mode: 'memory',
    rounds: 2,
    max_rounds: null,
    calls: 3,
    max_calls: null,
    retries_used: 1,
    retries_limit: 20,
  },
  tools: [
    {
      name: 'echo',
      failing: false,
      failures: 0,
      used: 0,
      running: 0,
      limit: 3,
      exhausted: false,
      last_error: '',
      streak: {
        failed: 0,
        same_answer: 1,
      },
      calls: null,
      max_calls: null,
    },
    {
      name: 'read_file',
      failing: true,
      failures: 2,
      used: 1,
      running: 0,
      limit: 3,
      exhausted: false,
      last_error:
        "FileNotFoundError: there is no file 'note.md' in the workspace. Did you mean 'notes.md'? Call list_files to see what is there.",
      streak: {
        failed: 2,
        same_answer: 0,
      },
      calls: null,
      max_calls: null,
    },
  ],
  slices: {
    failures_by_tool: {
      read_file: {
        tool_exception: 2,
      },
    },
    last_success: {
      tool: 'echo',
      step: 2,
      time: '2026-11-21T09:30:02.417Z',
      request_id: '01M7YS1XNXRKDYHWR5555WYRZG',
      index: 1,
    },
    timeline: [
      {
        step: 1,
        time: '2026-11-21T09:30:01.006Z',
        tool: 'read_file',
        outcome: 'retry',
        code: 'tool_exception',
        retries_left: 3,
        duration_ms: 0.38,
        message:
          "FileNotFoundError: there is no file 'note.md' in the workspace. Did you mean 'notes.md'? Call list_files to see what is there.",
      },
      {
        step: 2,
        time: '2026-11-21T09:30:02.417Z',
        tool: 'read_file',
        outcome: 'retry',
        code: 'tool_exception',
        retries_left: 2,
        duration_ms: 0.38,
        message:
          "FileNotFoundError: there is no file 'note.md' in the workspace. Did you mean 'notes.md'? Call list_files to see what is there.",
      },
      {
        step: 2,
        time: '2026-11-21T09:30:02.417Z',
        tool: 'echo',
        outcome: 'success',
        code: null,
        retries_left: 3,
        duration_ms: 0.02,
        message: '',
      },
    ],
  },
  calls: [
    {
      step: 1,
      time: '2026-11-21T09:30:01.006Z',
      request_id: '01M7YS1XNXZX345EQCMYZYC2PQ',
      index: 0,
      id: 'call_1',
      tool: 'read_file',
      name: 'read_file',
      fingerprint: 'd9f0be9f931d24e4cae50899a841be812d3128e29219c81194741b29f7dbf343',
      arguments: '{"path":"note.md"}',
      success: false,
      outcome: 'retry',
      executed: 'yes',
      code: 'tool_exception',
      fault: 'tool',
      message:
        "FileNotFoundError: there is no file 'note.md' in the workspace. Did you mean 'notes.md'? Call list_files to see what is there.",
      duration_ms: 0.38,
      retries_left: 3,
    },
    {
      step: 2,
      time: '2026-11-21T09:30:02.417Z',
      request_id: '01M7YS1XNXRKDYHWR5555WYRZG',
      index: 0,
      id: 'call_1',
      tool: 'read_file',
      name: 'read_file',
      fingerprint: 'd9f0be9f931d24e4cae50899a841be812d3128e29219c81194741b29f7dbf343',
      arguments: '{"path":"note.md"}',
      success: false,
      outcome: 'retry',
      executed: 'yes',
      code: 'tool_exception',
      fault: 'tool',
      message:
        "FileNotFoundError: there is no file 'note.md' in the workspace. Did you mean 'notes.md'? Call list_files to see what is there.",
      duration_ms: 0.38,
      retries_left: 2,
    },
    {
      step: 2,
      time: '2026-11-21T09:30:02.417Z',
      request_id: '01M7YS1XNXRKDYHWR5555WYRZG',
      index: 1,
      id: 'call_2',
      tool: 'echo',
      name: 'echo',
      fingerprint: '85be42fca12d943f4d13b242ad52d52c6606f56d4b079a02ff5e61ac74789138',
      arguments: '{"text":"hello"}',
      success: true,
      outcome: 'success',
      executed: 'yes',
      code: null,
      fault: null,
      message: '',
      duration_ms: 0.02,
      retries_left: 3,
    },
  ],
};

/** The results of a keyed batch, asked for again. */
export const KEPT_RESULTS_EXAMPLE: ToolCallsResponse = {
  request_id: 'lost-answer-0001',
  session_id: null,
  results: [
    {
      index: 0,
      id: 'call_1',
      name: 'echo',
      success: true,
      outcome: 'success',
      executed: 'yes',
      value: {
        text: 'hello',
      },
      message: '',
      error: null,
      retry: null,
      duration_ms: 0.02,
      warnings: [
        {
          code: 'idempotency_not_durable',
          message: 'The Idempotency-Key is remembered only while this process lives.',
        },
      ],
    },
  ],
};
