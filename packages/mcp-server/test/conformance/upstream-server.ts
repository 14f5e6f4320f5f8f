// An MCP server over stdio with the tools that the conformance suite asks for, made with the SDK. It answers each kind of
// content as the protocol's examples write it.
import { setTimeout as wait } from 'node:timers/promises';
import { Server, type ServerContext } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { PNG, RICH_SCHEMA, WAV } from './tools/material.ts';

const IMAGE = { type: 'image', data: PNG, mimeType: 'image/png' } as const;

const text = (said: string) => ({ type: 'text', text: said }) as const;

const file = (uri: string, mimeType: string, said: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text: said } }) as const;

const ANSWERS = new Map<string, object>([
  ['test_simple_text', { content: [text('This is a simple text response for testing.')] }],
  ['test_image_content', { content: [IMAGE] }],
  ['test_audio_content', { content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }],
  [
    'test_embedded_resource',
    { content: [file('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')] },
  ],
  [
    'test_multiple_content_types',
    {
      content: [
        text('Multiple content types test:'),
        IMAGE,
        file('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ],
    },
  ],
  ['test_error_handling', { content: [text('This tool intentionally returns an error for testing')], isError: true }],
  ['test_tool_with_progress', { content: [text('All three steps are done.')] }],
  ['test_reconnection', { content: [text('Reconnection test completed successfully.')] }],
  ['json_schema_2020_12_tool', { content: [text('Taken.')] }],
  ['test_custom_header', { content: [text('Taken.')] }],
]);

const HEADER_SCHEMA = {
  type: 'object' as const,
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  required: ['region'],
};

const schemaOf = (name: string) => {
  if (name === 'json_schema_2020_12_tool') return RICH_SCHEMA;
  return name === 'test_custom_header' ? HEADER_SCHEMA : { type: 'object' as const, properties: {} };
};

const sayProgress = async ({ mcpReq }: ServerContext, progressToken: string | number): Promise<void> => {
  for (const progress of [0, 50, 100]) {
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
    await wait(10);
  }
};

const create = (): Server => {
  const server = new Server({ name: 'conformance', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({
    tools: [...ANSWERS.keys()].map((name) => ({
      name,
      description: `The suite's ${name}.`,
      inputSchema: schemaOf(name),
      annotations: { readOnlyHint: true },
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const token = params._meta?.progressToken;
    if (params.name === 'test_tool_with_progress' && token !== undefined) await sayProgress(context, token);
    return { content: [], ...ANSWERS.get(params.name) };
  });
  return server;
};

serveStdio(create);
