import { dialects } from '@recourse/dialects';

/** Where the service names its packages: what is a function is loaded at most once, and where something asks for it. */
export const PACKAGES = {
  background: () => import('@recourse/background'),
  console: () => import('@recourse/console'),
  dialects,
  mcpServer: () => import('@recourse/mcp-server'),
  tracing: () => import('@recourse/tracing'),
} as const;
