import type { Checked } from './json-schema-checks.ts';
import type { SchemaCheck } from './schema-check.ts';
import type { InlineTool, Prepared, ToolContext } from './tool.ts';
import type { ToolResource } from './tool-resource.ts';

/** The code of a tool, as it is called with arguments that fit. */
export type Handlers = {
  readonly handle: (value: unknown, context: ToolContext) => unknown;
  readonly look: ((value: unknown, startedAt: number, context: ToolContext) => unknown) | null;
  readonly judge: ((value: unknown, context: ToolContext) => unknown) | null;
};

/** Checks arguments, and binds them to their handler. `handle` gets a context that has the resource, where there is one. */
export const createPrepare = (
  name: string,
  input: SchemaCheck,
  resource: ToolResource | null,
  { handle, look, judge }: Handlers,
): InlineTool['prepare'] => {
  const withResource = (context: ToolContext, use: (context: ToolContext) => unknown): unknown =>
    resource === null
      ? use(context)
      : resource.run((made) => use(Object.assign(context, { resource: made })), name, context);
  const bind = (checked: Checked): Prepared => {
    if (!checked.ok) return checked;
    const { value } = checked;
    const run = (context: ToolContext): unknown => withResource(context, (given) => handle(value, given));
    if (look === null && judge === null)
      return { ok: true, invocation: { run: resource === null ? (context) => handle(value, context) : run } };
    const reconcile = (startedAt: number, context: ToolContext): unknown =>
      withResource(context, (given) => look?.(value, startedAt, given));
    const approval = (context: ToolContext): unknown => withResource(context, (given) => judge?.(value, given));
    return { ok: true, invocation: { run, ...(look && { reconcile }), ...(judge && { approval }) } };
  };
  return (value) => {
    const checked = input.check(value);
    return checked instanceof Promise ? checked.then(bind) : bind(checked);
  };
};
