import { JsonSchema, type ToolDescription } from '../contract/tool-description.ts';
import type { ServiceRedactor } from './redactor.ts';

// Why a file cannot be loaded is the text of a failure, and may be of any length.
const MAX_REASON = 2000;

type Describe = () => readonly ToolDescription[];

/**
 * The catalogue without secrets: what a tool says of itself it may have put together from its environment. Its name stays
 * as it is, for it is called by it.
 */
export const redactCatalogue = (describe: Describe, redactor: ServiceRedactor): Describe => {
  let known: { readonly whole: readonly ToolDescription[]; readonly shown: readonly ToolDescription[] } | null = null;
  return () => {
    const whole = describe();
    if (known?.whole !== whole) known = { whole, shown: whole.map((tool) => redactDescription(tool, redactor)) };
    return known.shown;
  };
};

const redactDescription = (tool: ToolDescription, redactor: ServiceRedactor): ToolDescription => {
  const { unavailable_reason: unavailable, outdated_reason: outdated, output_schema: output } = tool;
  const redactSchema = (schema: JsonSchema): JsonSchema => {
    const json = JSON.stringify(schema);
    const redacted = redactor.schema(json, 'result');
    return redacted === json ? schema : JsonSchema.parse(JSON.parse(redacted));
  };
  return {
    ...tool,
    description: redactor.said(tool.description, Number.POSITIVE_INFINITY, 'result'),
    input_schema: redactSchema(tool.input_schema),
    output_schema: output === null ? null : redactSchema(output),
    unavailable_reason: unavailable === null ? null : redactor.cut(unavailable, MAX_REASON, 'result'),
    ...(outdated === undefined ? {} : { outdated_reason: redactor.cut(outdated, MAX_REASON, 'result') }),
  };
};
