/** What a service has counted so far. */
export type ServiceCounts = {
  /** Calls of `echo` by what they came to. */
  readonly codes: ReadonlyMap<string, number>;
  /** Rounds of sessions by where their budgets were decided. */
  readonly modes: ReadonlyMap<string, number>;
  readonly contractViolations: number;
};

/** Reads the counts from GET /metrics of a service. */
export const readServiceCounts = async (url: string): Promise<ServiceCounts> => {
  const answer = await fetch(new URL('/metrics', url));
  const lines = (await answer.text()).split('\n');
  return {
    codes: sumBy('code', 'recourse_tool_calls_total{tool="echo"', lines),
    modes: sumBy('mode', 'recourse_retry_budget_decisions_total{', lines),
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

/** Throws unless all calls of a service came to a success, and where it met a bug of its own. */
export const checkSuccesses = ({ codes, contractViolations }: ServiceCounts): void => {
  if (contractViolations > 0) throw new Error(`The service counted ${contractViolations} bugs of its own.`);
  const others = [...codes].filter(([code, count]) => code !== 'ok' && count > 0);
  if (others.length > 0) throw new Error(`Calls should come to a success, not to ${JSON.stringify(others)}.`);
};

/** Share of the rounds that were decided in `mode`, 0 to 1; NaN where there were none. */
export const toShareIn = (mode: string, { modes }: ServiceCounts): number =>
  (modes.get(mode) ?? 0) / [...modes.values()].reduce(add, 0);
