import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { failed } from '@recourse/test-support/formats/results.ts';
import { toPublishedTurn } from '@recourse/test-support/formats/scenarios.ts';
import { expect, test } from 'vitest';
import { DIALECTS } from '#src/dialects.ts';

const CODES = ['rule_refused', 'approval_required', 'approval_denied', 'approval_expired', 'approval_stale'] as const;
const MESSAGE = "Not executed: a person has to approve this call to 'echo' first.";

/** What marks an answer as an error, where the format has a mark. */
const MARKS: Readonly<Record<string, object>> = {
  anthropic: { content: [{ is_error: true }] },
  bedrock: { content: [{ toolResult: { status: 'error' } }] },
  'ai-sdk': { content: [{ output: { type: 'error-text' } }] },
  langchain: { status: 'error' },
  gemini: { parts: [{ functionResponse: { response: { error: expect.any(String) } } }] },
  vapi: { error: expect.any(String) },
};

const toTexts = (value: unknown): readonly string[] =>
  typeof value === 'object' && value !== null ? Object.values(value).flatMap(toTexts) : [String(value)];

test.for(ALL_FORMATS)(
  '%s: what people or rules refuse is an error with its code and words, and nothing beside them',
  (format) => {
    const turn = DIALECTS.get(format)?.parse(toPublishedTurn(format, 'one-call'));
    for (const code of CODES) {
      const refused = failed(MESSAGE, { code, type: code }, { outcome: 'refused', executed: 'no' });
      const [answer, ...more] = turn?.toMessages([refused]) ?? [];
      expect(more).toEqual([]);
      expect(toTexts(answer)).toContain(`ERROR: ${code}: ${MESSAGE}`);
      if (MARKS[format] !== undefined) expect(answer).toMatchObject(MARKS[format]);
    }
  },
);
