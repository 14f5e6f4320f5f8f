import type { Conversation, ModelTurn, PlannedCall, Provider } from '@recourse/test-support/providers/provider.ts';
import { startProviderEndpoint } from '@recourse/test-support/providers/provider-endpoint.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createRuntimeTools } from './runtime-tools.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { watchConnections } from './watch-connections.ts';

export type Runtime = {
  readonly title: string;
  readonly createProvider: () => Provider;
  /** What the runtime's client is configured by, apart from RECOURSE_URL. */
  readonly environmentOf: (providerUrl: string) => Readonly<Record<string, string>>;
  /** Runs the runtime's own tool loop and gives the model's last text. */
  readonly runAgent: (question: string) => Promise<string>;
  /** false where the provider's calls have no ids. */
  readonly hasIds?: boolean;
  /** What the model reads of a text, where the runtime's client writes it anew. Default: the text as it is. */
  readonly rewrite?: (text: string, isError: boolean) => string;
  /** Default: all of them. */
  readonly scenarios?: readonly Scenario[];
};

/** Every scenario, with the runtime's real client between a service and a scripted model on real sockets. */
export const describeRuntime = (runtime: Runtime): void => {
  describe(runtime.title, () => {
    let service: RunningService;
    const runtimeTools = createRuntimeTools();
    beforeEach(async () => {
      runtimeTools.clear();
      service = await startService({}, runtimeTools.tools);
    });
    afterEach(async () => {
      vi.unstubAllEnvs();
      await service.stop();
    });

    test.each(runtime.scenarios ?? SCENARIOS)('$title', async (scenario) => {
      const outcome = await play(runtime, scenario, service.url);
      // First, because it says why nothing else fits.
      expect(outcome.rejections).toEqual([]);
      expect(outcome.answer).toBe(scenario.answer);
      expect(outcome.read).toEqual(expectedOf(scenario, runtime, outcome.hasErrorFlags));
      expect(runtimeTools.charges().toSorted((a, b) => a - b)).toEqual(scenario.charges);
      expect(outcome.hosts).toEqual(['127.0.0.1']);
      expect(await countCalls(service.url)).toBe(scenario.served);
    });
  });
};

const play = async (runtime: Runtime, scenario: Scenario, serviceUrl: string) => {
  let last: Conversation = { question: '', tools: [], rounds: [] };
  const endpoint = await startProviderEndpoint(runtime.createProvider(), (conversation) => {
    if (conversation.question !== scenario.question) throw new Error('the question is not the one that was asked');
    last = conversation;
    return keepToSchemas(scenario.script(conversation), conversation);
  });
  const connections = watchConnections();
  try {
    setEnvironment({ ...runtime.environmentOf(endpoint.url), RECOURSE_URL: serviceUrl });
    const answer = await runtime.runAgent(scenario.question).catch((error: unknown) => `failed: ${String(error)}`);
    return {
      answer,
      read: last.rounds,
      hasErrorFlags: last.rounds.some((round) => round.some(({ isError }) => isError !== null)),
      rejections: endpoint.rejections(),
      hosts: connections.hosts(),
    };
  } finally {
    connections.stop();
    await endpoint.stop();
  }
};

/** NODE_ENV too: some SDKs keep quiet in tests and report home everywhere else. */
const setEnvironment = (environment: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries({ NODE_ENV: 'production', ...environment })) vi.stubEnv(name, value);
};

/** What a strict tool's model does: it names every property, and says null for those it leaves out. */
const keepToSchemas = (turn: ModelTurn, { tools }: Conversation): ModelTurn => {
  if ('text' in turn) return turn;
  const complete = (call: PlannedCall): PlannedCall => {
    const tool = tools.find(({ name }) => name === call.name);
    if (tool?.namesEveryProperty !== true || typeof call.arguments === 'string') return call;
    const nulls = Object.fromEntries(tool.properties.map((name) => [name, null]));
    return { ...call, arguments: { ...nulls, ...call.arguments } };
  };
  return { calls: turn.calls.map(complete) };
};

/** Calls the service has counted, of all tools together. */
const countCalls = async (serviceUrl: string): Promise<number> => {
  const text = await (await fetch(`${serviceUrl}/metrics`)).text();
  const counted = [...text.matchAll(/^recourse_tool_calls_total\{.*\} (\d+)$/gm)].map(([, count]) => Number(count));
  return counted.reduce((sum, count) => sum + count, 0);
};

const expectedOf = ({ read }: Scenario, { hasIds = true, rewrite }: Runtime, hasErrorFlags: boolean) =>
  read.map((round) =>
    round.map(({ id, text, isError }) => ({
      id: hasIds ? id : null,
      text: rewrite?.(text, isError) ?? text,
      isError: hasErrorFlags ? isError : null,
    })),
  );
