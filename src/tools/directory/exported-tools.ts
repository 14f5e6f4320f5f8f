import { isDefinedTool } from '../define-tool.ts';
import type { InlineTool } from '../tool.ts';
import type { LoadFindings } from './load-tool-file.ts';

/** Whatever a module exports that `defineTool` made, in arrays too, each once; as `default` or under any name. */
export const findExportedTools = (exports: object): readonly InlineTool[] => {
  const exported: readonly unknown[] = Object.values(exports).flatMap((value: unknown) => value);
  return [...new Set(exported.filter(isDefinedTool))];
};

const HANDLERS = ['run', 'execute', 'handler', 'func', 'invoke', 'callback'];

/** Exports that are objects with a handler and a description or a schema, as tools have in this and other libraries. */
export const findLookalikes = (exports: object): LoadFindings['lookalikes'] =>
  Object.entries(exports).flatMap(([exportName, exported]) =>
    [exported]
      .flat()
      .filter(looksLikeTool)
      .map((value: object) => ({
        exportName,
        tool: 'name' in value && typeof value.name === 'string' ? value.name : null,
      })),
  );

const looksLikeTool = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !isDefinedTool(value) &&
  HANDLERS.some((member) => typeof Reflect.get(value, member) === 'function') &&
  ['description', 'input', 'parameters', 'inputSchema', 'schema'].some((member) => member in value);
