import { createAnthropic } from '@recourse/test-support/providers/anthropic.ts';
import { runAgent as runMessagesAgent } from '../../examples/anthropic/agent.ts';
import { runAgent as runToolRunnerAgent } from '../../examples/anthropic/tool-runner.ts';
import { describeRuntime } from './describe-runtime.ts';
import { createUnknownName } from './mistaken-calls.ts';
import { SCENARIOS } from './scenarios.ts';

const environmentOf = (url: string) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'key' });

describeRuntime({
  title: 'anthropic, messages',
  createProvider: createAnthropic,
  environmentOf,
  runAgent: runMessagesAgent,
  scenarios: [...SCENARIOS, createUnknownName()],
});

describeRuntime({
  title: 'anthropic, toolRunner',
  createProvider: createAnthropic,
  environmentOf,
  runAgent: runToolRunnerAgent,
  scenarios: [...SCENARIOS, createUnknownName({ by: 'runtime', text: "Error: Tool 'send_fax' not found" })],
});
