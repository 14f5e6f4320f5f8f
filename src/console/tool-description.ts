import { isRecord, type JsonRecord, memberOf, numberOf, recordOf, recordsOf, textOf } from './read-json.ts';

/** A tool of the catalogue, as the page shows it. */
export type ToolDescription = {
  readonly name: string;
  readonly description: string;
  readonly effects: string;
  readonly inputSchema: JsonRecord;
  readonly outputSchema: JsonRecord | null;
  readonly limits: {
    readonly timeoutMs: number | null;
    readonly retries: number | null;
    readonly concurrency: number | null;
    readonly callsPerSession: number | null;
  };
  readonly available: boolean;
  readonly unavailableReason: string;
  readonly outdatedReason: string;
  readonly source: string;
};

/** Whether a call needs no question first: only what is known to do no harm twice, and not whatever is not called `write`. */
export const mayRunUnasked = (effects: string): boolean => effects === 'read' || effects === 'idempotent';

/** The body of GET /tools. */
export const toCatalogue = (body: unknown): readonly ToolDescription[] =>
  recordsOf(memberOf(recordOf(body), 'tools')).map(toDescription);

const toDescription = (tool: JsonRecord): ToolDescription => {
  const limits = recordOf(memberOf(tool, 'limits'));
  const output = memberOf(tool, 'output_schema');
  return {
    name: textOf(memberOf(tool, 'name')),
    description: textOf(memberOf(tool, 'description')),
    effects: textOf(memberOf(tool, 'effects')),
    inputSchema: recordOf(memberOf(tool, 'input_schema')),
    outputSchema: isRecord(output) ? output : null,
    limits: {
      timeoutMs: numberOf(memberOf(limits, 'timeout_ms')),
      retries: numberOf(memberOf(limits, 'retries')),
      concurrency: numberOf(memberOf(limits, 'concurrency')),
      callsPerSession: numberOf(memberOf(limits, 'max_calls_per_session')),
    },
    available: memberOf(tool, 'available') === true,
    unavailableReason: textOf(memberOf(tool, 'unavailable_reason')),
    outdatedReason: textOf(memberOf(tool, 'outdated_reason')),
    source: textOf(memberOf(tool, 'source')),
  };
};

/** The tools in whose name, description or source every word of the query occurs. */
export const findTools = (tools: readonly ToolDescription[], query: string): readonly ToolDescription[] => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return tools;
  return tools.filter(({ name, description, source }) => {
    const text = `${name} ${description} ${source}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
};
