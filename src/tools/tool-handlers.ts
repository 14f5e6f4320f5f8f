import type { Issue } from '../contract/tool-result.ts';
import type { Checked, SchemaCheck } from './schema-check.ts';
import type { InlineTool, Prepared, ToolContext } from './tool.ts';
import type { ResourceHandler, ToolResource } from './tool-resource.ts';

type Handling = {
  readonly name: string;
  readonly input: SchemaCheck;
  readonly resource: ToolResource | null;
  /** Runs the tool's code with a value that passed its schema; the context has the resource, where there is one. */
  readonly handle: (value: unknown, context: ToolContext) => unknown;
};

/** Checks arguments, and binds them to their handler. */
export const toPrepare = ({ name, input, resource, handle }: Handling): InlineTool['prepare'] => {
  const toPrepared = (checked: Checked): Prepared => {
    if (!checked.ok) return checked;
    const { value } = checked;
    if (resource === null) return { ok: true, invocation: { run: (context) => handle(value, context) } };
    const handler: ResourceHandler = (context, made) => handle(value, Object.assign(context, { resource: made }));
    return { ok: true, invocation: { run: (context) => resource.run(handler, name, context) } };
  };
  return (given) => {
    const checked = input.check(given);
    return checked instanceof Promise ? checked.then(toPrepared) : toPrepared(checked);
  };
};

/** What is wrong with an output. */
export const toOutputCheck = (output: SchemaCheck): NonNullable<InlineTool['checkOutput']> => {
  const toIssues = (checked: Checked): readonly Issue[] => (checked.ok ? [] : checked.issues);
  return (value) => {
    const checked = output.check(value);
    return checked instanceof Promise ? checked.then(toIssues) : toIssues(checked);
  };
};
