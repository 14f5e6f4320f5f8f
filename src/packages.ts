import { dialects } from '@recourse/dialects';
import { createExtensionSet, type ExtensionSet } from './extensions/extension-set.ts';

/** Where the service names its packages: what is a function is loaded at most once, and where something asks for it. */
export const PACKAGES = {
  background: () => import('@recourse/background'),
  decide: () => import('@recourse/decide'),
  dialects,
  oncall: () => import('@recourse/oncall'),
  policies: () => import('@recourse/decide/policies/policy-settings'),
  ruleChecks: () => import('@recourse/decide/rules/check-rules'),
  storeRedis: () => import('@recourse/store-redis'),
  storeSqlite: () => import('@recourse/store-sqlite'),
  toolHosts: () => import('@recourse/tool-hosts'),
  tracing: () => import('@recourse/tracing'),
  upstreams: () => import('@recourse/upstreams'),
  webhooks: () => import('@recourse/background/webhooks/endpoint-settings'),
  workspace: () => import('@recourse/toolkit-kit/workspace/workspace'),
} as const;

// One line each, in the order of their settings and groups. At a start they declare what they are, and load nothing else.
const OWN = [
  (await import('@recourse/mcp-server')).extension,
  (await import('@recourse/console')).extension,
  (await import('@recourse/upstream-mcp')).extension,
  (await import('@recourse/upstream-openapi')).extension,
  (await import('./extensions/echo/echo.ts')).extension,
  (await import('@recourse/toolkit-files')).extension,
  (await import('@recourse/toolkit-notes')).extension,
  (await import('@recourse/toolkit-shell')).extension,
  (await import('@recourse/toolkit-google')).extension,
  (await import('@recourse/toolkit-slack')).extension,
  (await import('@recourse/toolkit-web')).extension,
] as const;

/** The extensions that every service has. */
export const OWN_EXTENSIONS: ExtensionSet = createExtensionSet(OWN);

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The settings of these extensions, each as its extension reads it. */
export const EXTENSION_SETTINGS: Intersection<(typeof OWN)[number]['settings']> = Object.assign(
  {},
  ...OWN.map(({ settings }) => settings),
);
