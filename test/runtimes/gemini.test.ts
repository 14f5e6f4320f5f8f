import { createGemini } from '@recourse/test-support/providers/gemini.ts';
import { runAgent } from '../../examples/gemini/agent.ts';
import { describeRuntime } from './describe-runtime.ts';
import { createUnknownName } from './mistaken-calls.ts';
import { SCENARIOS } from './scenarios.ts';

const environmentOf = (url: string) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'key' });

describeRuntime({
  title: 'gemini 2, whose calls have no ids',
  createProvider: () => createGemini({ generation: 2 }),
  environmentOf,
  runAgent,
  hasIds: false,
  scenarios: [...SCENARIOS, createUnknownName()],
});

describeRuntime({
  title: 'gemini 3, with ids and thought signatures',
  createProvider: () => createGemini({ generation: 3 }),
  environmentOf,
  runAgent,
  scenarios: [...SCENARIOS, createUnknownName()],
});
