import { toToolFilter } from '../contract/tool-patterns.ts';
import type { Caller } from './caller.ts';

/** The tools that a credential names. */
export type AllowedTools = Pick<Caller, 'tools' | 'mayUse'>;

export const ALL_TOOLS: AllowedTools = { tools: 'all', mayUse: () => true };

/** The tools that patterns allow; what is no pattern allows none. */
export const toAllowedTools = (patterns: readonly string[]): AllowedTools =>
  patterns.includes('*') ? ALL_TOOLS : { tools: 'some', mayUse: toToolFilter(patterns) };
