import { dialects } from '@recourse/dialects';

/** Where the service names its packages: what is a function is loaded at most once, and where something asks for it. */
export const PACKAGES = {
  background: () => import('@recourse/background'),
  console: () => import('@recourse/console'),
  dialects,
  mcpServer: () => import('@recourse/mcp-server'),
  storeRedis: () => import('@recourse/store-redis'),
  storeSqlite: () => import('@recourse/store-sqlite'),
  toolHosts: () => import('@recourse/tool-hosts'),
  tracing: () => import('@recourse/tracing'),
} as const;
