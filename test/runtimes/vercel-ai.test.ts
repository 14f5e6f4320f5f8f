import { createOpenaiResponses } from '@recourse/test-support/providers/openai-responses.ts';
import { vi } from 'vitest';
import { runAgent } from '../../examples/vercel-ai/agent.ts';
import { describeRuntime } from './describe-runtime.ts';
import { createBrokenArguments, createUnknownName } from './mistaken-calls.ts';
import { SCENARIOS } from './scenarios.ts';

// It warns about every keyword that it leaves out of a schema.
vi.stubGlobal('AI_SDK_LOG_WARNINGS', false);

describeRuntime({
  title: 'ai, generateText',
  createProvider: createOpenaiResponses,
  environmentOf: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'key' }),
  runAgent,
  scenarios: [
    ...SCENARIOS,
    createUnknownName({
      by: 'runtime',
      text: `{"error":"AI_NoSuchToolError: Model tried to call unavailable tool 'send_fax'. Available tools: charge_card, close_ledger, echo, fetch_url, list_files, math_add, note, read_cell, read_file, search_files, search_orders, write_file."}`,
    }),
    createBrokenArguments({
      by: 'runtime',
      text: String.raw`{"error":"AI_InvalidToolInputError: Invalid input for tool echo: AI_JSONParseError: JSON parsing failed: Text: {\"text\": .\nError message: SyntaxError: Unexpected end of JSON input"}`,
    }),
  ],
});
