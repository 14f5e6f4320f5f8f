import { defineExtension } from 'recourse-server/extension';

/** Tools of MCP servers, which `mcpServers` of the configuration file names. */
export const extension = defineExtension({
  name: 'upstream-mcp',
  settings: {},
  sources: { mcpServers: async () => (await import('./mcp-servers.ts')).MCP_SERVERS },
});
