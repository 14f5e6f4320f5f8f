import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBufferedOutput } from '#src/buffered-output.ts';

test('what fits is kept whole, in whatever chunks it comes; of more, both ends and the number of bytes between', () => {
  const chunks = fc.array(fc.stringMatching(/^[a-z\n]{0,20}$/), { maxLength: 30 });
  fc.assert(
    fc.property(chunks, fc.integer({ min: 2, max: 40 }), (texts, limit) => {
      const kept = createBufferedOutput(limit);
      for (const text of texts) kept.add(Buffer.from(text));
      const all = texts.join('');
      const { text, cutBytes, lines } = kept.toKept();
      expect(lines).toBe(all === '' ? 0 : all.replace(/\n$/, '').split('\n').length);
      expect(kept.totalBytes()).toBe(all.length);
      const half = Math.floor(limit / 2);
      const cut = `${all.slice(0, half)}\n[… ${all.length - limit} bytes cut …]\n${all.slice(-(limit - half))}`;
      expect({ text, cutBytes }).toEqual(
        all.length <= limit ? { text: all, cutBytes: 0 } : { text: cut, cutBytes: all.length - limit },
      );
    }),
    { numRuns: 2000 },
  );
});

test('a cut does not leave halves of characters', () => {
  const kept = createBufferedOutput(10);
  kept.add(Buffer.from('ääääääääää€€€😀'));
  expect(kept.toKept()).toEqual({ text: 'ää\n[… 23 bytes cut …]\n😀', cutBytes: 23, lines: 1 });
});
