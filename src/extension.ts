// What an extension imports as `recourse-server/extension`.
// biome-ignore lint/performance/noBarrelFile: the public entry for extensions; they must not know where things lie.
export { Counter, Gauge, Histogram } from 'prom-client';
export {
  type Additions,
  type ConsolePage,
  defineExtension,
  type Extension,
  type ExtensionHost,
  type ExtensionLog,
  type OpenedTools,
  type SettingPurpose,
  type ToolGroup,
} from './extensions/extension.ts';
export { baseAddress, flag, list, listOf, MAX_TIMER_MS, oneOf, whole } from './extensions/setting-kinds.ts';
export {
  type CodePath,
  defineSource,
  type Publish,
  type SourceOptions,
  type SourcePlace,
  type ToolSource,
  type UpstreamState,
} from './extensions/source.ts';
export type { RouteHost } from './routes/route-host.ts';
export type { PageTokens } from './tools/page-tokens.ts';
export type { InlineTool, ToolContext } from './tools/tool.ts';
export type { ToolOffer } from './tools/tool-offer.ts';
