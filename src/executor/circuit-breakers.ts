import type { FailureCode } from '../contract/failure.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import { withLookahead } from '../tools/describe-value.ts';
import type { Tool } from '../tools/tool.ts';
import type { CircuitObserver, CircuitState } from './call-observer.ts';
import type { CallOutcome, Failure } from './call-outcome.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** Whether a call had the tool's own time, or one that its caller or its batch shortened. */
type Limit = 'own' | 'shortened';

/** The batch of a call, as far as circuits tell of it. */
type CircuitBatch = { readonly request: { readonly requestId: string; readonly tenant: string } };

/** A call that runs behind a breaker, or why it does not. */
export type CircuitPass =
  | { readonly kind: 'passed'; readonly ended: (outcome: CallOutcome, limit: Limit, batch: CircuitBatch) => void }
  | { readonly kind: 'refused'; readonly retryAfterMs: number };

/** The call that opened a circuit. Its message is not redacted: whoever shows it cuts it to 300 characters by the redactor. */
type CircuitFault = {
  readonly tool: string;
  readonly tenant: string;
  readonly requestId: string;
  readonly code: FailureCode;
  readonly message: string;
  readonly at: number;
};

/** A circuit that is not closed. Moments in milliseconds of the breakers' clock. */
export type OpenCircuit = {
  /** Of the tool, or of the upstream that its tools share: several upstreams that arguments name have one name. */
  readonly name: string;
  readonly kind: 'tool' | 'upstream';
  readonly state: 'open' | 'half_open';
  /** When it opened after it was closed. */
  readonly openedAt: number;
  /** From then on one call is tried. */
  readonly openUntil: number;
  /** null: so many circuits are open that those of the latest are not kept. */
  readonly fault: CircuitFault | null;
};

/**
 * A breaker per tool, or per upstream where the tool's arguments name one (`breakerKey`). It opens by faults of the
 * tool and of its upstream, never by what a model did wrong. Tools that say which upstream they share have one breaker.
 */
export type CircuitBreakers = {
  /** Milliseconds until the call may be tried; null where it may run now. Changes nothing. */
  readonly refusal: (tool: Tool, input: Arguments) => number | null;
  /** Lets the call run, as the probe where one is due. Its pass is told how it ended, and in which batch: faults of one count once. */
  readonly begin: (tool: Tool, input: Arguments) => CircuitPass;
  /** The circuits that are not closed, at most 200. */
  readonly list: () => readonly OpenCircuit[];
  /** Closes the circuits of this name, whose faults count anew from 0; false: none was open. */
  readonly close: (name: string) => boolean;
};

export type CircuitBreakersOptions = {
  /** Batches with a fault in a row that open a circuit; 0 = never. */
  readonly failures: number;
  /** How long it then refuses calls, in milliseconds. */
  readonly openMs: number;
  readonly observer: CircuitObserver;
  /** Of which the store `circuits` holds them: a model may name any number of upstreams. What is forgotten is closed. */
  readonly memory: StoreMemory;
  readonly now: () => number;
};

// Measured: a circuit with its batches, its probe, and its place among those that are open.
const CIRCUIT_BYTES = 500;

/** Breakers of this process. There is a circuit from the first fault of its tool or upstream on. */
export const createCircuitBreakers = (options: CircuitBreakersOptions): CircuitBreakers => {
  if (options.failures === 0) return OFF;
  const { openMs, memory, now } = options;
  const moved = createStateReports(options.observer);
  const circuits = memory.open<Circuit>('circuits', {
    tenantOf: () => '',
    now,
    onGone: (_id, circuit) => circuit.forget(),
  });

  const notClosed = new Map<Circuit, Pick<OpenCircuit, 'name' | 'kind'>>();

  const addCircuit = ({ name, upstream }: Tool, id: string): Circuit => {
    const whose = { name: upstream?.name ?? name, kind: upstream === null ? 'tool' : 'upstream' } as const;
    const circuit: Circuit = new Circuit(options, (from, to) => {
      if (to === 'closed') notClosed.delete(circuit);
      else notClosed.set(circuit, whose);
      // A message is ten times as large as its circuit, and a model may open any number.
      if (to === 'closed' || notClosed.size > MOST_LISTED) circuit.fault = null;
      moved(whose.name, from, to);
    });
    circuits.set(id, circuit, CIRCUIT_BYTES);
    return circuit;
  };

  /** Of calls that run while their circuit is closed. */
  const createOrdinaryPass = (tool: Tool, id: string) => ({
    kind: 'passed' as const,
    tool,
    id,
    ended: (outcome: CallOutcome, limit: Limit, batch: CircuitBatch): void => {
      if (outcome.kind === 'success' && circuits.size > 0) circuits.get(id)?.succeeded();
      if (outcome.kind === 'success' || toCircuitVerdict(outcome, limit) !== 'fault') return;
      const circuit = circuits.get(id) ?? addCircuit(tool, id);
      circuit.faulted(batch, describeFault(tool, outcome.failure, batch));
    },
  });
  // That of the latest call: calls of a batch, and batches, are often of one tool.
  let ordinary: ReturnType<typeof createOrdinaryPass> | null = null;
  const findOrdinaryPass = (tool: Tool, id: string) => {
    if (ordinary?.tool !== tool || ordinary.id !== id) ordinary = createOrdinaryPass(tool, id);
    return ordinary;
  };

  const describeFault = ({ name }: Tool, { code, message }: Failure, { request }: CircuitBatch): CircuitFault => {
    const { requestId, tenant } = request;
    return { tool: name, tenant, requestId, code, message: withLookahead(message, MAX_MESSAGE), at: now() };
  };

  return {
    // Without any circuit there is no need to find out whom the call talks to.
    refusal: (tool, input) =>
      circuits.size === 0 ? null : (circuits.get(toCircuitId(tool, input))?.refusal() ?? null),
    begin: (tool, input) => {
      const id = toCircuitId(tool, input);
      const circuit = circuits.size === 0 ? undefined : circuits.get(id);
      if (circuit === undefined || circuit.state === 'closed') return findOrdinaryPass(tool, id);
      const retryAfterMs = circuit.refusal();
      if (retryAfterMs !== null) return { kind: 'refused', retryAfterMs };
      const probeEnded = circuit.takeProbe(openMs + tool.timeoutMs);
      return {
        kind: 'passed',
        ended: (outcome, limit, batch) => {
          const fault = outcome.kind === 'success' ? null : describeFault(tool, outcome.failure, batch);
          probeEnded(toCircuitVerdict(outcome, limit), fault);
        },
      };
    },
    list: () =>
      [...notClosed].slice(0, MOST_LISTED).flatMap(([circuit, whose]) => {
        const { state, openedAt, openUntil, fault } = circuit;
        return state === 'closed' ? [] : [{ ...whose, state, openedAt, openUntil, fault }];
      }),
    close: (name) => {
      const named = [...notClosed].filter(([, whose]) => whose.name === name);
      for (const [circuit] of named) circuit.close();
      return named.length > 0;
    },
  };
};

const MOST_LISTED = 200;
const MAX_MESSAGE = 300;

const OFF: CircuitBreakers = {
  refusal: () => null,
  begin: () => ({ kind: 'passed', ended: () => undefined }),
  list: () => [],
  close: () => false,
};

// Calls beside a probe may ask again soon: it may have ended by then.
const BESIDE_PROBE_MS = 1000;

/**
 * The breaker of one tool or upstream.
 *
 * | state     | calls                   | goes on                                                               |
 * |-----------|-------------------------|-----------------------------------------------------------------------|
 * | closed    | run                     | to `open` after `failures` batches with a fault and no success between |
 * | open      | refused for `openMs`    | to `half_open` with the first call after that, the probe               |
 * | half_open | refused beside a probe  | to `closed` or `open` as the probe ends; one that tells nothing, or takes too long, gives way to the next |
 *
 * A person who closes it moves it to `closed` from any state; a probe on its way then tells nothing.
 */
class Circuit {
  state: CircuitState = 'closed';
  readonly #options: CircuitBreakersOptions;
  readonly #moved: (from: CircuitState, to: CircuitState) => void;
  /** When it opened after it was closed. */
  openedAt = 0;
  /** Of the call that opened it last; null while it is closed. */
  fault: CircuitFault | null = null;
  #refusesFrom = 0;
  /** The batches with a fault since the last success. */
  #batches = new WeakSet<WeakKey>();
  #faults = 0;
  #probe: { readonly until: number } | null = null;
  #isForgotten = false;

  constructor(options: CircuitBreakersOptions, moved: (from: CircuitState, to: CircuitState) => void) {
    this.#options = options;
    this.#moved = moved;
  }

  /** Milliseconds until a call may be tried; null where one may be now. */
  refusal(): number | null {
    const { openMs, now } = this.#options;
    if (this.state === 'closed') return null;
    if (this.state === 'half_open')
      return this.#probe !== null && now() < this.#probe.until ? Math.min(BESIDE_PROBE_MS, openMs) : null;
    const leftMs = Math.ceil(this.openUntil - now());
    return leftMs > 0 ? leftMs : null;
  }

  get openUntil(): number {
    return this.#refusesFrom + this.#options.openMs;
  }

  /** Makes a call the probe, where the circuit is not closed and refuses nothing; gives what its end is told to. */
  takeProbe(patienceMs: number): (verdict: CircuitVerdict, fault: CircuitFault | null) => void {
    const probe = { until: this.#options.now() + patienceMs };
    this.#probe = probe;
    this.#moveTo('half_open');
    return (verdict, fault) => {
      if (this.#probe !== probe) return;
      this.#probe = null;
      if (verdict === 'fault') this.#open(fault);
      if (verdict === 'success') this.close();
    };
  }

  close(): void {
    this.#probe = null;
    this.#forgetFaults();
    this.#moveTo('closed');
  }

  /** A call that was no probe was at fault; those of one batch count once in a row. */
  faulted(batch: WeakKey, fault: CircuitFault): void {
    if (this.state !== 'closed' || this.#batches.has(batch)) return;
    this.#batches.add(batch);
    this.#faults += 1;
    if (this.#faults >= this.#options.failures) this.#open(fault);
  }

  /** A call that was no probe succeeded. */
  succeeded(): void {
    if (this.state === 'closed' && this.#faults > 0) this.#forgetFaults();
  }

  /** From now on it counts as closed, whatever its probe comes to. */
  forget(): void {
    this.#moveTo('closed');
    this.#isForgotten = true;
  }

  #open(fault: CircuitFault | null): void {
    this.#refusesFrom = this.#options.now();
    if (this.state === 'closed') this.openedAt = this.#refusesFrom;
    this.fault = fault;
    this.#moveTo('open');
  }

  #forgetFaults(): void {
    this.#batches = new WeakSet();
    this.#faults = 0;
  }

  #moveTo(next: CircuitState): void {
    if (this.state === next) return;
    if (!this.#isForgotten) this.#moved(this.state, next);
    this.state = next;
  }
}

/** Tells the observer of the worst state of any of a tool's circuits, each time it is another one. */
const createStateReports = (observer: CircuitObserver) => {
  const tools = new Map<string, { half_open: number; open: number }>();
  return (tool: string, from: CircuitState, to: CircuitState): void => {
    const counts = tools.get(tool) ?? { half_open: 0, open: 0 };
    const worst = (): CircuitState => (counts.open > 0 ? 'open' : counts.half_open > 0 ? 'half_open' : 'closed');
    const before = worst();
    if (from !== 'closed') counts[from] -= 1;
    if (to !== 'closed') counts[to] += 1;
    const after = worst();
    if (after === 'closed') tools.delete(tool);
    else tools.set(tool, counts);
    if (after !== before) observer.circuitChanged(tool, after);
  };
};

/** What the end of a call says of what it called. `neither`: nothing, as where the model, a rule or we ended it. */
export type CircuitVerdict = 'success' | 'fault' | 'neither';

// Not `tool_failed` and `output_too_large`: a tool that can say so works.
const FAULTS: ReadonlySet<FailureCode> = new Set([
  'tool_exception',
  'tool_crashed',
  'out_of_memory',
  'timeout',
  'invalid_output',
  'upstream_rate_limited',
  'upstream_unavailable',
]);

/** What an outcome says of the tool's health; `limit`: of the time that the call had. */
export const toCircuitVerdict = (outcome: CallOutcome, limit: Limit): CircuitVerdict => {
  if (outcome.kind === 'success') return 'success';
  const { code, hint } = outcome.failure;
  // An exception that tells the model what to do differently says whose fault it is: a path that is not there.
  if (code === 'tool_exception' && hint !== null) return 'neither';
  // Else a caller in a hurry would close a slow tool for everybody.
  if (code === 'timeout' && limit === 'shortened') return 'neither';
  return FAULTS.has(code) ? 'fault' : 'neither';
};

// By name: a tool that is loaded anew keeps its circuits. No name holds a line break.
const toCircuitId = (tool: Tool, input: Arguments): string => {
  if (tool.upstream !== null) return `\n${tool.upstream.name}`;
  const key = circuitKeyOf(tool, input);
  return key === null ? tool.name : `${tool.name}\n${key}`;
};

// Enough for an origin; what a model writes may have any length.
const MAX_KEY_LENGTH = 200;

/**
 * The upstream that a call with these arguments talks to, at most 200 characters; null = the tool as a whole, also
 * where the tool's own function throws or gives no text.
 */
export const circuitKeyOf = (tool: Tool, input: Arguments): string | null => {
  const key =
    tool.runsIn === 'service' ? callBreakerKey(tool.breakerKeyOf, input) : readArgument(tool.breakerKey, input);
  return typeof key === 'string' && key !== '' ? key.slice(0, MAX_KEY_LENGTH) : null;
};

const readArgument = (name: string | null, input: Arguments): unknown =>
  name !== null && Object.hasOwn(input, name) ? input[name] : null;

const callBreakerKey = (breakerKeyOf: ((input: Arguments) => unknown) | null, input: Arguments): unknown => {
  if (breakerKeyOf === null) return null;
  try {
    const key = breakerKeyOf(input);
    // It is not awaited, so its rejection would be unhandled.
    if (key instanceof Promise) key.catch(() => undefined);
    return key;
  } catch (_foreign) {
    return null;
  }
};
