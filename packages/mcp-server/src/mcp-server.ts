import { defineExtension, flag, oneOf } from 'recourse-server/extension';

/** The tools at `/mcp`, for clients of the Model Context Protocol. */
export const extension = defineExtension({
  name: 'mcp-server',
  settings: {
    MCP_SERVER: flag(true).describe('Serve the tools to MCP clients at `/mcp`.'),
    MCP_DEFAULT_SESSION: oneOf(['none', 'key'])
      .default('none')
      .describe('Session of calls at `/mcp` that name none: none, or one for all such calls of an API key.'),
  },
  open: async ({ MCP_SERVER, MCP_DEFAULT_SESSION }) => {
    if (!MCP_SERVER) return null;
    const { addMcpRoute } = await import('./mcp-route.ts');
    return {
      addRoutes: (app, host) => addMcpRoute(app, { ...host, defaultSession: MCP_DEFAULT_SESSION }),
      links: { mcp: '/mcp' },
    };
  },
});
