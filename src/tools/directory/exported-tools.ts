import { isDefinedTool } from '../define-tool.ts';
import type { InlineTool } from '../tool.ts';

/** Whatever a module exports that `defineTool` made, in arrays too, each once; as `default` or under any name. */
export const findExportedTools = (exports: object): readonly InlineTool[] => {
  const exported: readonly unknown[] = Object.values(exports).flatMap((value: unknown) => value);
  return [...new Set(exported.filter(isDefinedTool))];
};
