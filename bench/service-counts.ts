/**
 * What a service has counted since it started: how many calls came to each code, where rounds were decided, and what
 * became of keyed batches.
 */
export type ServiceCounts = {
  readonly codes: ReadonlyMap<string, number>;
  readonly modes: ReadonlyMap<string, number>;
  readonly keys: ReadonlyMap<string, number>;
  readonly contractViolations: number;
};

/** Reads the counts of one tool from GET /metrics of a service. */
export const readServiceCounts = async (url: string, tool = 'echo'): Promise<ServiceCounts> => {
  const answer = await fetch(new URL('/metrics', url));
  const lines = (await answer.text()).split('\n');
  return {
    codes: sumBy('code', `recourse_tool_calls_total{tool="${tool}"`, lines),
    modes: sumBy('mode', 'recourse_retry_budget_decisions_total{', lines),
    keys: sumBy('result', 'recourse_idempotency_total{', lines),
    contractViolations: [...sumBy('', 'recourse_contract_violations_total', lines).values()].reduce(add, 0),
  };
};

const add = (one: number, other: number): number => one + other;

const sumBy = (label: string, prefix: string, lines: readonly string[]): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>();
  for (const line of lines.filter((text) => text.startsWith(prefix))) {
    const value = new RegExp(`\\b${label}="([^"]*)"`).exec(line)?.[1] ?? '';
    sums.set(value, (sums.get(value) ?? 0) + Number(line.split(' ').at(-1)));
  }
  return sums;
};

// When a run ends, autocannon closes its connections without waiting for what is under way.
const HUNG_UP_ON = 'cancelled';

export type Span = { readonly before: ServiceCounts; readonly after: ServiceCounts };

/**
 * Throws unless all calls between two readings came to `code` or to an excused one, and where the service met a bug of
 * its own.
 */
export const checkCodes = (code: string, { before, after }: Span, excused: readonly string[] = []): void => {
  if (after.contractViolations > 0) throw new Error(`The service counted ${after.contractViolations} bugs of its own.`);
  const codes = toShares(before.codes, after.codes, HUNG_UP_ON);
  if ([...codes.keys()].some((name) => name !== code && !excused.includes(name)) || codes.size === 0)
    throw new Error(`Calls should come to ${code}, not ${show(codes)}.`);
};

/** Share of what was counted between two readings that is `name`, 0 to 1; 0 where nothing was. */
export const toShareOf = (what: 'codes' | 'modes' | 'keys', name: string, { before, after }: Span): number =>
  toShares(before[what], after[what]).get(name) ?? 0;

/** Share of the rounds between two readings that were decided in `mode`, 0 to 1. */
export const toShareIn = (mode: string, span: Span): number => toShareOf('modes', mode, span);

const toShares = (
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  leaveOut = '',
): ReadonlyMap<string, number> => {
  const grown = [...after]
    .filter(([name]) => name !== leaveOut)
    .map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const);
  const total = grown.map(([, count]) => count).reduce(add, 0);
  return new Map(grown.filter(([, count]) => count > 0).map(([name, count]) => [name, count / total]));
};

const show = (shares: ReadonlyMap<string, number>): string =>
  [...shares].map(([name, share]) => `${name} ${(share * 100).toFixed(2)} %`).join(', ');
