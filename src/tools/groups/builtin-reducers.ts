import { failuresByTool } from '../builtin/reducers/failures-by-tool.ts';
import { lastSuccess } from '../builtin/reducers/last-success.ts';
import { timeline } from '../builtin/reducers/timeline.ts';
import type { InlineTool } from '../tool.ts';

/** The reducers every service has. */
export const createBuiltinReducers = (): readonly InlineTool[] => [failuresByTool, lastSuccess, timeline];
