import type { Checked } from './json-schema-checks.ts';
import type { SchemaCheck } from './schema-check.ts';
import type { InlineTool, Prepared, ToolContext } from './tool.ts';
import type { ToolResource } from './tool-resource.ts';

/** What a tool's own code does with checked arguments; null: it cannot. Each gets a context that has the resource, where there is one. */
type Handlers = {
  readonly handle: (value: unknown, context: ToolContext) => unknown;
  readonly look: ((value: unknown, startedAt: number, context: ToolContext) => unknown) | null;
  readonly judge: ((value: unknown, context: ToolContext) => unknown) | null;
  readonly show: ((value: unknown, context: ToolContext) => unknown) | null;
};

/** Checks arguments, and binds them to their handlers. */
export const createPrepare = (
  name: string,
  input: SchemaCheck,
  resource: ToolResource | null,
  { handle, look, judge, show }: Handlers,
): InlineTool['prepare'] => {
  const withResource = (context: ToolContext, use: (context: ToolContext) => unknown): unknown =>
    resource === null
      ? use(context)
      : resource.run((made) => use(Object.assign(context, { resource: made })), name, context);
  const others = [look, judge, show];
  const isPlain = resource === null && others.every((other) => other === null);
  const bind = (checked: Checked): Prepared => {
    if (!checked.ok) return checked;
    const { value } = checked;
    // What nearly all tools are.
    if (isPlain) return { ok: true, invocation: { run: (context) => handle(value, context) } };
    const own =
      (handler: Handlers['judge']) =>
      (context: ToolContext): unknown =>
        withResource(context, (given) => handler?.(value, given));
    const reconcile = (startedAt: number, context: ToolContext): unknown =>
      withResource(context, (given) => look?.(value, startedAt, given));
    return {
      ok: true,
      invocation: {
        run: own(handle),
        ...(look && { reconcile }),
        ...(judge && { approval: own(judge) }),
        ...(show && { preview: own(show) }),
      },
    };
  };
  return (value) => {
    const checked = input.check(value);
    return checked instanceof Promise ? checked.then(bind) : bind(checked);
  };
};

type Reconcile = (facts: { input: never; effectId: string; startedAt: number }, context: never) => unknown;
type Own = (input: never, context: never) => unknown;

// A word is taken for a type: the value comes from the tool's own schema, the resource from its own setup.

export const createLook = (reconcile: Reconcile | undefined): Handlers['look'] =>
  reconcile === undefined
    ? null
    : (value, startedAt, context) =>
        reconcile({ input: value as never, effectId: context.effectId, startedAt }, context as never);

/** Of what is called as `run` is: `approval` and `preview`. */
export const createOwn = (own: Own | undefined): Handlers['judge'] =>
  own === undefined ? null : (value, context) => own(value as never, context as never);
