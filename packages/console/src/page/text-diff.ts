/** A line of two texts: in both, only in the one before, or only in the one after. */
export type DiffLine = { readonly sign: ' ' | '-' | '+'; readonly text: string };

// Beyond this nobody reads a difference line by line, and to find it would make the page slow.
const MOST_PAIRS = 250_000;
/** Lines without a change that stand before and after one. */
const CONTEXT = 2;

/** What has to be taken out of a text and put into it to make the other; of what is the same only what stands beside a change. */
export const diffLines = (before: string, after: string): readonly DiffLine[] => {
  const [old, next] = [before.split('\n'), after.split('\n')];
  const shorter = Math.min(old.length, next.length);
  let head = 0;
  while (head < shorter && old[head] === next[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === next.at(-1 - tail)) tail += 1;
  const lines = [
    ...old.slice(0, head).map(toSame),
    ...diffMiddle(old.slice(head, old.length - tail), next.slice(head, next.length - tail)),
    ...old.slice(old.length - tail).map(toSame),
  ];
  return lines.filter((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ sign }) => sign !== ' '),
  );
};

const toSame = (text: string): DiffLine => ({ sign: ' ', text });

/** By the longest row of lines that both have in their order. */
const diffMiddle = (old: readonly string[], next: readonly string[]): readonly DiffLine[] => {
  if (old.length * next.length > MOST_PAIRS) return [...old.map(toOld), ...next.map(toNew)];
  const commonAt = countCommon(old, next);
  const signAt = (one: number, other: number): DiffLine['sign'] => {
    if (old[one] === next[other]) return ' ';
    const isOver = one === old.length;
    return other < next.length && (isOver || commonAt(one + 1, other) < commonAt(one, other + 1)) ? '+' : '-';
  };
  const lines: DiffLine[] = [];
  let [one, other] = [0, 0];
  while (one < old.length || other < next.length) {
    const sign = signAt(one, other);
    lines.push({ sign, text: (sign === '+' ? next[other] : old[one]) ?? '' });
    one += sign === '+' ? 0 : 1;
    other += sign === '-' ? 0 : 1;
  }
  return lines;
};

const toOld = (text: string): DiffLine => ({ sign: '-', text });
const toNew = (text: string): DiffLine => ({ sign: '+', text });

/** How many lines both have in common from two places on. */
const countCommon = (old: readonly string[], next: readonly string[]): ((one: number, other: number) => number) => {
  const width = next.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  const commonAt = (one: number, other: number): number => common[one * width + other] ?? 0;
  for (let one = old.length - 1; one >= 0; one -= 1)
    for (let other = next.length - 1; other >= 0; other -= 1)
      common[one * width + other] =
        old[one] === next[other]
          ? commonAt(one + 1, other + 1) + 1
          : Math.max(commonAt(one + 1, other), commonAt(one, other + 1));
  return commonAt;
};
