import { expect, test } from 'vitest';
import { APPROVALS } from '#src/policies/policy-settings.ts';

test.each([
  ['https://tools.example/console#approvals={id}', true],
  ['http://127.0.0.1:8080/console#approvals={id}', true],
  ['https://tools.example/approvals/{id}?from=agent', true],
  ['https://tools.example/console', false],
  ['/console#approvals={id}', false],
  ['https://ann:secret@tools.example/{id}', false],
  ['javascript:alert("{id}")', false],
])('%s as the page where people decide: %s', (url, isTaken) => {
  expect(APPROVALS.safeParse({ url }).success).toBe(isTaken);
});
