// What a tool file of a tools directory imports as `recourse-server`.
// biome-ignore lint/performance/noBarrelFile: the one public entry; tools must not know where things lie.
export { z } from 'zod';
export type { Effects, Executed } from './contract/failure.ts';
export type { JournalEntry } from './contract/session.ts';
export type { JsonSchema } from './contract/tool-description.ts';
export type { Reducer } from './tools/define-reducer.ts';
export { defineReducer } from './tools/define-reducer.ts';
export { defineTool, type ToolDefinition } from './tools/define-tool.ts';
export { audio, file, image, type MediaData, type MediaValue, type TextFileValue } from './tools/media-values.ts';
export type { ToolContext, ToolLog, ToolProgress } from './tools/tool.ts';
export { RetryableToolError, TerminalToolError, UpstreamToolError } from './tools/tool-errors.ts';
export { didNotHappen, empty, happened, ok, unclear, type Verdict } from './tools/tool-values.ts';
