import type { Tool as BedrockTool } from '@aws-sdk/client-bedrock-runtime';
import type { Tool as MistralTool } from '@mistralai/mistralai/models/components';
import type { Cohere } from 'cohere-ai';
import { expect, expectTypeOf, test } from 'vitest';
import { type writeBedrockTools, writeCatalogue, type writeFunctionTools } from '#src/catalogue/write-catalogue.ts';
import { PLAIN, SEARCH } from './catalogue-lab.ts';
import { describe } from './describe.ts';

const DECLARED = { name: 'search_files', description: 'Does search.files.', parameters: PLAIN } as const;

test.each(['mistral', 'cohere', 'ollama'] as const)('%s: functions without a word about strictness', (format) => {
  const tools = [{ type: 'function', function: DECLARED }] as const;
  expectTypeOf<ReturnType<typeof writeFunctionTools>[number]>().toExtend<MistralTool>();
  expectTypeOf<ReturnType<typeof writeFunctionTools>[number]>().toExtend<Cohere.ToolV2>();
  expectTypeOf<ReturnType<typeof writeBedrockTools>[number]['toolSpec']['name']>().toExtend<
    NonNullable<BedrockTool['toolSpec']>['name']
  >();
  expect(writeCatalogue([SEARCH], format, 'strict')).toEqual({ tools });
});

test('what a session of the Realtime API, the AI SDK and Bedrock take', () => {
  const { parameters, ...head } = DECLARED;
  const realtime = [{ type: 'function', ...DECLARED }] as const;
  const bedrock = [{ toolSpec: { ...head, inputSchema: { json: { ...parameters } } } }];
  const aiSdk = [{ type: 'function', ...head, inputSchema: parameters }];
  expect(writeCatalogue([SEARCH], 'openai-realtime', 'plain')).toEqual({ tools: realtime });
  expect(writeCatalogue([SEARCH], 'bedrock', 'plain')).toEqual({ tools: bedrock });
  expect(writeCatalogue([SEARCH], 'ai-sdk', 'plain')).toEqual({ tools: aiSdk });
});

test('Bedrock refuses an empty description, and its Claude what Anthropic refuses', () => {
  const silent = { ...SEARCH, description: '' };
  const odd = describe('odd', { type: 'object', properties: { 'a b': {} } });
  expect(writeCatalogue([silent, odd], 'bedrock', 'plain')).toEqual({
    tools: [{ toolSpec: { name: 'search_files', inputSchema: { json: PLAIN } } }],
    left_out: [
      {
        name: 'odd',
        reason: "Anthropic does not accept the argument name 'a b': it must match ^[a-zA-Z0-9_.-]{1,64}$.",
      },
    ],
  });
});
