import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AnswerSize } from '#src/executor/answer-size.ts';
import { failed, toFailure } from '#src/executor/call-outcome.ts';
import { echoTool as echo } from '#src/extensions/echo/echo-tool.ts';

const sign = fc.constantFrom('a', '"', '\\', '\n', '\u0001', '\u007f', 'é', '…', '漢', '😀', '\ud83d', '\ude00');
const text = fc.oneof(
  fc.string({ unit: sign, maxLength: 140 }),
  fc.nat(80).map((length) => '\u0001'.repeat(length)),
);
const issue = fc.record({ path: text, expected: text, received: text, message: text });

test('the issues of a failure count with the bytes that they have as JSON, where these are more than a kilobyte', () => {
  fc.assert(
    fc.property(fc.array(issue, { minLength: 1, maxLength: 4 }), (issues) => {
      const size = new AnswerSize(1_000_000, null);
      const failure = toFailure('invalid_arguments', 'wrong', echo, { issues, issueCount: issues.length });
      size.keep({ index: 0, tool: echo, storedResult: null, outcome: failed(failure), end: () => undefined });
      const bytes = 4 + Buffer.byteLength(JSON.stringify(issues));
      if (bytes > 1024) expect(size.storedBytes).toBe(bytes);
      else expect([0, bytes]).toContain(size.storedBytes);
    }),
    { numRuns: 400, seed: 20_261_124 },
  );
});
