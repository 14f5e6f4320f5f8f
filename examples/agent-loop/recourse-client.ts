import { type ToolCall, type ToolResult, toToolResult } from './tool-result.ts';

/** Gives one result per call, in their order. Rejects only where the service could not take the batch at all. */
export type ExecuteCalls = (calls: readonly ToolCall[]) => Promise<readonly ToolResult[]>;

export type RecourseClientOptions = {
  readonly url: string;
  /** One per agent run: retry budgets are kept under it. */
  readonly sessionId: string;
};

/** The whole of the REST client: one POST for all calls of a turn. */
export const createRecourseClient = ({ url, sessionId }: RecourseClientOptions): ExecuteCalls => {
  const endpoint = new URL('/tool-calls', url);
  return async (calls) => {
    const answer = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ session_id: sessionId, calls }),
    });
    const body: unknown = await answer.json();
    // HTTP says whether the batch was taken; what became of each call stands in its result, always with a 200.
    if (!answer.ok) throw new Error(`Recourse did not take the batch (${answer.status}): ${detailOf(body)}`);
    return toResults(body, calls.length);
  };
};

const toResults = (body: unknown, count: number): readonly ToolResult[] => {
  const results = typeof body === 'object' && body !== null && 'results' in body ? body.results : undefined;
  if (!Array.isArray(results) || results.length !== count)
    throw new TypeError(`The answer does not hold ${count} results.`);
  return results.map(toToolResult);
};

const detailOf = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'detail' in body ? String(body.detail) : 'no detail was given.';
