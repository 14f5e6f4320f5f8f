import type { CatalogueFormat, ToolOf } from './message-formats.ts';
import type { Problem, SessionView, StreamEvent, ToolResult } from './wire.ts';

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** The value of a JSON text; undefined where it is none. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

export const isProblem = (body: unknown): body is Problem =>
  isObject(body) && typeof body['code'] === 'string' && typeof body['detail'] === 'string' && 'status' in body;

const isToolResult = (value: unknown): value is ToolResult =>
  isObject(value) &&
  typeof value['success'] === 'boolean' &&
  typeof value['outcome'] === 'string' &&
  typeof value['executed'] === 'string' &&
  typeof value['message'] === 'string' &&
  'error' in value &&
  'retry' in value;

type Results = { readonly request_id: string; readonly results: readonly ToolResult[] };

/** Results in their places: the first one's `index` is 0, and so on. */
export const isResults = (body: unknown): body is Results =>
  isObject(body) &&
  typeof body['request_id'] === 'string' &&
  Array.isArray(body['results']) &&
  body['results'].every((result: unknown, place) => isToolResult(result) && result.index === place);

/** Results, and what the conversation goes on with. */
export const isMessages = (body: unknown): body is Results & { readonly messages: readonly unknown[] } =>
  isResults(body) && 'messages' in body && Array.isArray(body.messages);

/** A catalogue; what a tool looks like is the format's affair, and the service's word is taken for it. */
export const isCatalogueOf = <Format extends CatalogueFormat>(
  body: unknown,
): body is { readonly tools: ToolOf[Format][] } => isObject(body) && Array.isArray(body['tools']);

const EVENTS: readonly unknown[] = ['accepted', 'result', 'progress', 'part', 'done'];

/** One event of a stream, of those that this client knows. */
export const isStreamEvent = (value: unknown): value is StreamEvent =>
  isObject(value) &&
  EVENTS.includes(value['event']) &&
  typeof value['id'] === 'string' &&
  isObject(value['data']) &&
  (value['event'] !== 'result' || isToolResult(value['data']));

/** A sign of life, or an event of a later service. */
export const isUnknownEvent = (value: unknown): boolean =>
  isObject(value) && typeof value['event'] === 'string' && !EVENTS.includes(value['event']);

export const isSessionView = (body: unknown): body is SessionView =>
  isObject(body) && isObject(body['session']) && Array.isArray(body['tools']) && Array.isArray(body['calls']);
