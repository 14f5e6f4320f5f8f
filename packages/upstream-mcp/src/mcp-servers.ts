import { defineSource } from 'recourse-server/extension';
import { McpServerSettings, prefixOf } from './mcp-server-settings.ts';
import { findServerCode } from './server-code.ts';

/** MCP servers whose tools are offered here. */
export const MCP_SERVERS = defineSource({
  kind: 'mcp',
  description: 'MCP servers, in the format that other MCP hosts use',
  settings: McpServerSettings,
  prefixOf,
  isDisabled: ({ disabled }) => disabled === true,
  codePaths: findServerCode,
  load: async () => (await import('./mcp-upstream.ts')).createMcpUpstream,
});
