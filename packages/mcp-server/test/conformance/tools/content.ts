// The tools that the conformance suite of the protocol asks of a server, as far as a tool of Recourse can be them: each
// kind of content, a failure, progress.
import { setTimeout as wait } from 'node:timers/promises';
import { defineTool, ok, TerminalToolError, z } from 'recourse-server';
import { PNG, RICH_SCHEMA, WAV } from './material.ts';

const NOTHING = z.object({});
const IMAGE = { type: 'image', mimeType: 'image/png', data: PNG } as const;
const AUDIO = { type: 'audio', mimeType: 'audio/wav', data: WAV } as const;

const toResource = (uri: string, mimeType: string, text: string) => ({
  type: 'resource',
  uri,
  mimeType,
  data: Buffer.from(text).toString('base64'),
});

const toTool = (name: string, description: string, run: () => unknown) =>
  defineTool({ name, description, effects: 'read', input: NOTHING, run });

export const content = [
  toTool('test_simple_text', 'Answers with a text.', () => 'This is a simple text response for testing.'),
  toTool('test_image_content', 'Answers with an image.', () => IMAGE),
  toTool('test_audio_content', 'Answers with a sound.', () => AUDIO),
  toTool('test_embedded_resource', 'Answers with a file.', () =>
    toResource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ),
  toTool('test_multiple_content_types', 'Answers with a text, an image and a file.', () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      IMAGE,
      toResource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  })),
  // The suite's own closes its stream before it answers; a tool of Recourse has none to close.
  toTool('test_reconnection', 'Answers.', () => 'Reconnection test completed successfully.'),
  toTool('test_error_handling', 'Always fails.', () => {
    throw new TerminalToolError('This tool intentionally returns an error for testing.');
  }),
];

const PAUSE_MS = 10;

/** Progress from 0 to 100, in three steps. */
export const progress = defineTool({
  name: 'test_tool_with_progress',
  description: 'Says three times how far it is.',
  effects: 'read',
  input: NOTHING,
  run: async (_arguments, context) => {
    for (const done of [0, 50, 100]) {
      context.progress({ progress: done, total: 100 });
      await wait(PAUSE_MS);
    }
    return ok(null, 'All three steps are done.');
  },
});

const LOG_LINES = ['Tool execution started', 'Tool processing data', 'Tool execution completed'] as const;

/** Both names that the suite's versions have for a tool that logs. */
export const logging = ['test_tool_with_logging', 'test_logging_tool'].map((name) =>
  defineTool({
    name,
    description: 'Writes three lines to its log.',
    effects: 'read',
    input: NOTHING,
    run: async (_arguments, context) => {
      for (const line of LOG_LINES) {
        context.log.info(line);
        await wait(PAUSE_MS);
      }
      return ok(null, 'Three lines are logged.');
    },
  }),
);

/** A schema with every keyword that the suite looks for. */
export const schema = defineTool({
  name: 'json_schema_2020_12_tool',
  description: 'Tool with JSON Schema 2020-12 features',
  effects: 'read',
  input: RICH_SCHEMA,
  run: (given) => given,
});

/** An argument that clients repeat in a header of the request. */
export const header = defineTool({
  name: 'test_custom_header',
  description: 'Takes an argument that also stands in a header.',
  effects: 'read',
  input: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    required: ['region'],
    additionalProperties: false,
  },
  run: (given) => given,
});
