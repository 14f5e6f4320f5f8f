import { channel } from 'node:diagnostics_channel';
import type { InlineTool } from './tool.ts';

/** A tool or a reducer that was declared, and the stack of where. */
export type Declaration = { readonly tool: InlineTool; readonly stack: string };

// Known to every copy of this module in the process: a tool file may bring its own.
const DECLARED = channel('recourse:declared');

/** Tells whoever watches that `declare` has made this tool. Costs nothing where nobody does. */
export const tellDeclared = (tool: InlineTool, declare: (...definition: never) => InlineTool): InlineTool => {
  if (DECLARED.hasSubscribers) {
    const at = { stack: '' };
    Error.captureStackTrace(at, declare);
    DECLARED.publish({ tool, stack: at.stack } satisfies Declaration);
  }
  return tool;
};

/** Hears of every declaration until it is stopped. */
export const watchDeclarations = (hear: (declaration: Declaration) => void): (() => void) => {
  const listen = (message: unknown): void => {
    if (isDeclaration(message)) hear(message);
  };
  DECLARED.subscribe(listen);
  return () => void DECLARED.unsubscribe(listen);
};

const isDeclaration = (message: unknown): message is Declaration =>
  typeof message === 'object' && message !== null && 'tool' in message && 'stack' in message;
