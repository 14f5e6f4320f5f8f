import type { ToolDescription } from '../../contract/tool-description.ts';

/**
 * Whether models are told of a tool. Also of one that only cannot be reached now: it would be missing for the whole of a
 * run that starts meanwhile, and all others would lose what the provider has cached of their requests.
 */
export const isOffered = ({ available, unreachable }: ToolDescription): boolean => available || unreachable === true;
