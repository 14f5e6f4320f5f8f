import fc from 'fast-check';
import { expect, test } from 'vitest';
import { offerOf, startCatalogue, toolOf } from './catalogue-lab.ts';

// Some of them equal as portable names: a.b and a_b, 1x and _1x.
const NAMES = ['a.b', 'a_b', '1x', '_1x', 'c'] as const;
const PORTABLE: Readonly<Record<string, string>> = { 'a.b': 'a_b', a_b: 'a_b', '1x': '_1x', _1x: '_1x', c: 'c' };
const anySource = fc.constantFrom('dir', 'a', 'b');
const anyNames = fc.uniqueArray(fc.constantFrom(...NAMES));
const anyOffers = fc.tuple(
  fc.tuple(fc.constant('builtin'), fc.uniqueArray(fc.constantFrom('a.b', '1x', 'c'))),
  fc.tuple(fc.constant('dir'), anyNames),
  fc.tuple(fc.constant('a'), anyNames),
  fc.tuple(fc.constant('b'), anyNames),
);

type Offers = readonly (readonly [source: string, names: readonly string[]])[];

/** By the rule alone: in their order, each takes what is not taken. */
const settleByHand = (offers: Offers) => {
  const claims = offers.flatMap(([source, names]) => names.map((name) => ({ source, name })));
  const isFirst = (claim: (typeof claims)[number]): boolean =>
    claims.find(({ name }) => PORTABLE[name] === PORTABLE[claim.name]) === claim;
  const toText = ({ name, source }: (typeof claims)[number]): string => `${name} ${source}`;
  return {
    serving: Object.fromEntries(claims.filter(isFirst).map(({ name, source }) => [name, source])),
    refused: claims
      .filter((claim) => !isFirst(claim))
      .map(toText)
      .toSorted(),
  };
};

test('before names are held, whoever publishes first or last, the same serve: those that come first in the order', () => {
  const anyTurns = fc.tuple(fc.shuffledSubarray(['dir', 'a', 'b'], { minLength: 3 }), fc.array(anySource));
  fc.assert(
    fc.property(anyOffers, anyTurns, (offers, turns) => {
      const namesOf = new Map<string, readonly string[]>(offers);
      const { catalogue, serving, refused } = startCatalogue(offers[0][1].map((name) => toolOf('builtin', name)));
      for (const source of turns.flat()) catalogue.register(source, offerOf(source, namesOf.get(source) ?? []));
      const expected = settleByHand(offers);
      expect(serving()).toEqual(expected.serving);
      expect(
        refused()
          .map(({ name, source }) => `${name} ${source}`)
          .toSorted(),
      ).toEqual(expected.refused);
    }),
  );
});

test('once names are held, whatever is published and withdrawn, who serves a name serves it as long as it offers it', () => {
  const anyStep = fc.tuple(anySource, fc.option(anyNames));
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 12 }), (steps) => {
      const { catalogue, serving } = startCatalogue([toolOf('builtin', 'c')]);
      catalogue.lockNames();
      const offered = new Map<string, readonly string[]>([['builtin', ['c']]]);
      for (const [source, names] of steps) {
        const before = Object.entries(serving());
        offered.set(source, names ?? []);
        if (names === null) catalogue.unregister(source);
        else catalogue.register(source, offerOf(source, names));
        const staying = before.filter(([name, holder]) => offered.get(holder)?.includes(name));
        expect(serving()).toMatchObject(Object.fromEntries(staying));
      }
    }),
  );
});

test('a source that offers one name twice takes nothing from anybody and serves it once', () => {
  const { catalogue, serving, refused } = startCatalogue();
  catalogue.register('a', offerOf('mcp:a', ['x', 'x', 'y']));
  expect(serving()).toEqual({ x: 'mcp:a', y: 'mcp:a' });
  expect(refused()).toHaveLength(1);
});
