import type { Attributes } from '@opentelemetry/api';
import type { TracedAnswer } from '../../executor/batch-trace.ts';
import type { ToolInvoked } from '../../executor/call-observer.ts';
import { ATTRIBUTE, EXECUTE_TOOL, TOOL_TYPE } from './span-names.ts';

/** What spans may say of a call in free text. */
export type SpanText = {
  /** The first `limit` characters of a text, without secrets. */
  readonly cutText: (text: string, limit: number) => string;
  /** Whether arguments and results are in spans. */
  readonly content: 'kept' | 'left_out';
};

/** What a call's span says of it. Every text that is not ours is redacted. */
export const toCallAttributes = (event: ToolInvoked, answer: TracedAnswer, text: SpanText): Attributes => ({
  [ATTRIBUTE.operation]: EXECUTE_TOOL,
  [ATTRIBUTE.tool]: event.tool,
  [ATTRIBUTE.toolType]: TOOL_TYPE,
  [ATTRIBUTE.index]: event.index,
  [ATTRIBUTE.outcome]: event.outcome,
  [ATTRIBUTE.executed]: event.executed,
  ...(event.replayed ? { [ATTRIBUTE.replayed]: true } : {}),
  ...(event.session === null ? {} : { [ATTRIBUTE.conversation]: event.session }),
  ...toIdAttribute(event, text),
  ...(event.success ? {} : toFailureAttributes(event, answer)),
  ...(text.content === 'kept' ? toContentAttributes(event, answer, text) : {}),
});

// Nobody looks a longer one up; cut, it would not be found, and might show half a secret.
const MAX_ID = 256;

const toIdAttribute = ({ callId }: ToolInvoked, { cutText }: SpanText): Attributes => {
  const id = callId === null ? '' : String(callId);
  return id === '' || id.length > MAX_ID ? {} : { [ATTRIBUTE.callId]: cutText(id, MAX_ID) };
};

const toFailureAttributes = ({ code, fault, fatal }: ToolInvoked, { retry }: TracedAnswer): Attributes => ({
  ...(code === null ? {} : { [ATTRIBUTE.error]: code }),
  ...(fault === null ? {} : { [ATTRIBUTE.fault]: fault }),
  ...(fatal ? { [ATTRIBUTE.fatal]: true } : {}),
  ...(retry === null
    ? {}
    : {
        [ATTRIBUTE.retryAllowed]: retry.allowed,
        [ATTRIBUTE.retryRemaining]: retry.remaining,
        [ATTRIBUTE.retryLimitedBy]: retry.limited_by,
      }),
});

const toContentAttributes = (event: ToolInvoked, answer: TracedAnswer, { cutText }: SpanText): Attributes => {
  const given = answer.argumentsText();
  // That of a replay stands in the span of the call that ran.
  const hasResult = !event.replayed && (event.success || event.valueJson !== 'null');
  return {
    ...(given === null ? {} : { [ATTRIBUTE.arguments]: cutText(given, MAX_CONTENT) }),
    ...(hasResult ? { [ATTRIBUTE.result]: cutText(event.valueJson, MAX_CONTENT) } : {}),
  };
};

const MAX_CONTENT = 8192;
const MAX_MESSAGE = 300;

/** What the model read of a failure, as a span's status says it. */
export const toStatusMessage = ({ message }: ToolInvoked, { cutText }: SpanText): string =>
  cutText(message, MAX_MESSAGE);
