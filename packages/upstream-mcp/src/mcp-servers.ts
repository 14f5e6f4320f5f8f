import { defineUpstream } from '@recourse/upstreams/upstream';
import { McpServerSettings, toPrefix } from './mcp-server-settings.ts';

/** MCP servers whose tools are offered here. */
export const MCP_SERVERS = defineUpstream({
  kind: 'mcp',
  description: 'MCP servers, in the format that other MCP hosts use',
  settings: McpServerSettings,
  prefixOf: ({ prefix }, name) => toPrefix(name, prefix),
  isDisabled: ({ disabled }) => disabled === true,
  load: async () => (await import('./mcp-upstream.ts')).createMcpUpstream,
});
