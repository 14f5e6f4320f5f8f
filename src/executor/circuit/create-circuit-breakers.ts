import type { StoreMemory } from '../../memory/store-memory.ts';
import type { Tool } from '../../tools/tool.ts';
import type { CallOutcome } from '../call-outcome.ts';
import type { CircuitBreakers, CircuitPass } from '../circuit-breakers.ts';
import { circuitKeyOf } from './circuit-key.ts';
import type { CircuitObserver, CircuitState } from './circuit-observer.ts';
import { toCircuitVerdict } from './circuit-verdict.ts';
import { type Circuit, createCircuit } from './create-circuit.ts';
import { createToolStates } from './tool-states.ts';

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

// Measured: cockatiel's policy with its emitters, and what stands around it.
const CIRCUIT_BYTES = 3000;

type KeptCircuit = Circuit & { readonly forgotten: () => void };

/** Breakers of this process. There is a circuit from the first fault of its tool or upstream on. */
export const createCircuitBreakers = (options: CircuitBreakersOptions): CircuitBreakers => {
  if (options.failures === 0) return OFF;
  const { openMs, memory, now } = options;
  const states = createToolStates(options.observer);
  const circuits = memory.open<KeptCircuit>('circuits', {
    tenantOf: () => '',
    ttl: null,
    now,
    onGone: (_id, circuit) => circuit.forgotten(),
  });

  const addCircuit = (tool: string, id: string): Circuit => {
    let state: CircuitState = 'closed';
    const move = (next: CircuitState): void => {
      states.moved(tool, state, next);
      state = next;
    };
    const circuit = createCircuit({
      ...options,
      stateChanged: (next) => {
        // A forgotten one may hear of its probe yet.
        if (circuits.peek(id) === kept) move(next);
      },
    });
    const kept: KeptCircuit = { ...circuit, forgotten: () => move('closed') };
    circuits.set(id, kept, CIRCUIT_BYTES);
    return kept;
  };

  const ended = (end: CallOutcome, limit: Limit, { tool, id, batch }: OrdinaryPass): void => {
    const verdict = toCircuitVerdict(end, limit);
    if (verdict === 'success' && circuits.size > 0) circuits.get(id)?.succeeded();
    else if (verdict === 'fault') (circuits.get(id) ?? addCircuit(toLabel(tool), id)).faulted(batch);
  };

  return {
    // Nothing has ever failed: whom a call talks to is nobody's concern yet.
    refusal: (tool, input) =>
      circuits.size === 0 ? null : (circuits.get(toCircuitId(tool, input))?.refusal() ?? null),
    begin: (tool, input, batch) => {
      const id = toCircuitId(tool, input);
      const circuit = circuits.size === 0 ? undefined : circuits.get(id);
      if (circuit === undefined || circuit.state() === 'closed') return new OrdinaryPass(tool, id, batch, ended);
      const retryAfterMs = circuit.refusal();
      if (retryAfterMs !== null) return { kind: 'refused', retryAfterMs };
      const probeEnded = circuit.takeProbe(openMs + tool.timeoutMs);
      return { kind: 'passed', ended: (end, limit) => probeEnded(toCircuitVerdict(end, limit)) };
    },
  };
};

type Limit = Parameters<Extract<CircuitPass, { kind: 'passed' }>['ended']>[1];
type Ended = (end: CallOutcome, limit: Limit, pass: OrdinaryPass) => void;

/** Of a call that runs while its circuit is closed. A class: each call has one. */
class OrdinaryPass {
  readonly kind = 'passed';
  readonly tool: Tool;
  readonly id: string;
  readonly batch: WeakKey;
  readonly #ended: Ended;

  constructor(tool: Tool, id: string, batch: WeakKey, ended: Ended) {
    this.tool = tool;
    this.id = id;
    this.batch = batch;
    this.#ended = ended;
  }

  ended(end: CallOutcome, limit: Limit): void {
    this.#ended(end, limit, this);
  }
}

// All tools of an upstream share its one circuit, which goes by its name.
const toLabel = ({ name, upstream }: Tool): string => upstream?.name ?? name;

// By name: a tool that is loaded anew keeps its circuits. No name holds a line break.
const toCircuitId = (tool: Tool, input: Readonly<Record<string, unknown>>): string => {
  if (tool.upstream !== null) return `\n${tool.upstream.name}`;
  const key = circuitKeyOf(tool, input);
  return key === null ? tool.name : `${tool.name}\n${key}`;
};

const PASS: CircuitPass = { kind: 'passed', ended: () => undefined };
const OFF: CircuitBreakers = { refusal: () => null, begin: () => PASS };
