import type Anthropic from '@anthropic-ai/sdk';
import type { Tool as GeminiClientTool } from '@google/genai';
import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import {
  writeAnthropicTools,
  writeCatalogue,
  writeGeminiTools,
  writeOpenaiChatTools,
  writeOpenaiResponsesTools,
} from '#src/catalogue/write-catalogue.ts';
import { PLAIN, SEARCH } from './catalogue-lab.ts';
import { describe } from './describe.ts';

const FREE = describe('free', { type: 'object', properties: { any: {} }, additionalProperties: false });

test('OpenAI chat: what ChatCompletionTool is, under a name that OpenAI takes', () => {
  const tools = [...writeOpenaiChatTools([SEARCH], 'plain')] satisfies OpenAI.Chat.ChatCompletionTool[];
  expect(tools).toEqual([
    {
      type: 'function',
      function: { name: 'search_files', description: 'Does search.files.', parameters: PLAIN, strict: false },
    },
  ]);
});

test('OpenAI responses: not strict is said, for strict is their default', () => {
  const tools = [...writeOpenaiResponsesTools([SEARCH], 'plain')] satisfies OpenAI.Responses.Tool[];
  expect(tools).toEqual([
    { type: 'function', name: 'search_files', description: 'Does search.files.', parameters: PLAIN, strict: false },
  ]);
});

test('OpenAI strict: all is required, what is optional may be null, and what is not enforced is told', () => {
  const [search, free] = writeOpenaiResponsesTools([SEARCH, FREE], 'strict');
  expect(search).toEqual({
    type: 'function',
    name: 'search_files',
    description: 'Does search.files.',
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string', description: '(minLength: 1)' },
        limit: { type: ['integer', 'null'], maximum: 50, description: '(default: 10)' },
      },
      required: ['query', 'limit'],
      additionalProperties: false,
    },
    strict: true,
  });
  expect(free).toMatchObject({ strict: false, parameters: { properties: { any: {} } } });
});

test('Anthropic: what its Tool is; strict where asked for and possible, and optional stays optional', () => {
  const plain = [...writeAnthropicTools([SEARCH], 'plain')] satisfies Anthropic.Tool[];
  expect(plain).toEqual([{ name: 'search_files', description: 'Does search.files.', input_schema: PLAIN }]);
  expect(writeAnthropicTools([SEARCH, FREE], 'strict')).toEqual([
    {
      name: 'search_files',
      description: 'Does search.files.',
      input_schema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: '(minLength: 1)' },
          limit: { type: 'integer', description: '(default: 10, maximum: 50)' },
        },
        required: ['query'],
        additionalProperties: false,
      },
      strict: true,
    },
    {
      name: 'free',
      description: 'Does free.',
      input_schema: { type: 'object', properties: { any: {} }, additionalProperties: false },
    },
  ]);
});

test('Anthropic: no request has more strict tools, or more optional parameters in them, than it may', () => {
  const many = Array.from({ length: 25 }, (_, place) => describe(`tool_${place}`));
  expect(writeAnthropicTools(many, 'strict').filter(({ strict }) => strict === true)).toHaveLength(20);
  const optional = Array.from({ length: 9 }, (_, place) => [`p${place}`, { type: 'string' }] as const);
  const wide = describe('wide', { type: 'object', properties: Object.fromEntries(optional) });
  expect(writeAnthropicTools([wide, wide, wide, describe('x')], 'strict').map(({ strict }) => strict)).toEqual([
    true,
    true,
    undefined,
    true,
  ]);
});

test('Gemini: one tool with all functions, and no keyword that it does not list', () => {
  const tools = [...writeGeminiTools([SEARCH, describe('7zip')])] satisfies GeminiClientTool[];
  expect(tools).toEqual([
    {
      functionDeclarations: [
        {
          name: 'search_files',
          description: 'Does search.files.',
          parametersJsonSchema: {
            type: 'object',
            properties: {
              query: { type: 'string', description: '(minLength: 1)' },
              limit: { type: 'integer', maximum: 50, description: '(default: 10)' },
            },
            required: ['query'],
            additionalProperties: false,
          },
        },
        {
          name: '_7zip',
          description: 'Does 7zip.',
          parametersJsonSchema: { type: 'object', properties: {}, additionalProperties: false },
        },
      ],
    },
  ]);
  expect(writeGeminiTools([])).toEqual([]);
});

test('MCP carries names as they are', () => {
  expect(writeCatalogue([SEARCH], 'mcp', 'plain').tools).toMatchObject([
    { name: 'search.files', inputSchema: { type: 'object' } },
  ]);
});

test.each(['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'mcp'] as const)(
  '%s: what is not available is not offered',
  (format) => {
    const away = describe('away', undefined, { available: false, unavailable_reason: 'gone' });
    expect(JSON.stringify(writeCatalogue([away, SEARCH], format, 'plain'))).not.toContain('away');
    expect(writeCatalogue([away], format, 'strict')).toEqual({ tools: [] });
  },
);

test.each(['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'mcp'] as const)(
  '%s: what only cannot be reached now is offered as ever',
  (format) => {
    const away = { available: false, unavailable_reason: 'no connection', unreachable: true } as const;
    expect(writeCatalogue([describe('search', undefined, away), SEARCH], format, 'plain')).toEqual(
      writeCatalogue([describe('search'), SEARCH], format, 'plain'),
    );
  },
);

test('a schema that combines at its root is offered as one object of all it allows', () => {
  const shape = describe('shape', {
    oneOf: [
      {
        type: 'object',
        properties: { kind: { const: 'circle' }, radius: { type: 'number' } },
        required: ['kind', 'radius'],
      },
      {
        type: 'object',
        properties: { kind: { const: 'square' }, side: { type: 'number' } },
        required: ['kind', 'side'],
      },
    ],
  });
  for (const style of ['plain', 'strict'] as const) {
    const [tool] = writeOpenaiResponsesTools([shape], style);
    expect([tool?.strict, tool?.parameters]).toEqual([
      false,
      {
        type: 'object',
        properties: {
          kind: { anyOf: [{ const: 'circle' }, { const: 'square' }] },
          radius: { type: 'number' },
          side: { type: 'number' },
        },
        required: ['kind'],
      },
    ]);
  }
});

test('a tool for which Anthropic would refuse the whole request is left out, and that is said', () => {
  const odd = describe('odd', { type: 'object', properties: { 'filter[status]': { type: 'string' } } });
  expect(writeCatalogue([odd, FREE], 'anthropic', 'plain')).toMatchObject({
    tools: [{ name: 'free' }],
    left_out: [
      {
        name: 'odd',
        reason: "Anthropic does not accept the argument name 'filter[status]': it must match ^[a-zA-Z0-9_.-]{1,64}$.",
      },
    ],
  });
  expect(writeCatalogue([odd], 'openai-chat', 'plain')).not.toHaveProperty('left_out');
});

test('a description longer than OpenAI takes is cut, for OpenAI alone', () => {
  const wordy = describe('wordy', undefined, { description: 'x'.repeat(1500) });
  const [tool] = writeOpenaiResponsesTools([wordy], 'plain');
  expect(tool?.description).toBe(`${'x'.repeat(1023)}…`);
  expect(writeAnthropicTools([wordy], 'plain')[0]?.description).toHaveLength(1500);
});
