import { judgeResults } from './judge-results.ts';
import type { Message, Model } from './model.ts';
import { runStateMachine } from './state-machine.ts';
import { type Event, type State, TRANSITIONS } from './states.ts';
import type { ToolCall, ToolResult } from './tool-result.ts';

/** Gives one result per call, in their order; `step` counts the model's turns. Rejects only where the service took no call. */
export type ExecuteCalls = (calls: readonly ToolCall[], step: number) => Promise<readonly ToolResult[]>;

/** What an agent tells while it runs. */
export type AgentObserver = {
  readonly planned: (thought: string, calls: readonly ToolCall[]) => void;
  readonly received: (result: ToolResult) => void;
  readonly moved: (from: State, event: Event, to: State) => void;
};

export type AgentOptions = {
  readonly model: Model;
  readonly executeCalls: ExecuteCalls;
  /** Turns the model has. */
  readonly maxSteps: number;
  readonly observer: AgentObserver;
};

/** How a run ended. Also after a failure everything that was said is there to be read. */
export type AgentRun = {
  readonly state: 'done' | 'failed';
  /** The model's answer, or why there is none. */
  readonly text: string;
  /** The event that ended the run. */
  readonly cause: Event;
  readonly steps: number;
  readonly conversation: readonly Message[];
};

type Memory = {
  step: number;
  calls: readonly ToolCall[];
  results: readonly ToolResult[];
  text: string;
  cause: Event;
  readonly conversation: Message[];
};

/** Works on a task until it is done, failed, or out of steps. A failed run is a value; only a bug rejects. */
export const runAgent = async (task: string, options: AgentOptions): Promise<AgentRun> => {
  const memory: Memory = {
    step: 0,
    calls: [],
    results: [],
    text: '',
    cause: 'observed',
    conversation: [{ role: 'user', text: task }],
  };
  const state = await runStateMachine({
    transitions: TRANSITIONS,
    handlers: {
      planning: () => plan(memory, options),
      acting: () => act(memory, options),
      observing: () => observe(memory, options),
    },
    // Three states a step: a run that counts its steps never gets beyond.
    safetyCap: options.maxSteps * 3,
    onTransition: (from, event, to) => {
      memory.cause = event;
      options.observer.moved(from, event, to);
    },
  });
  const { step, text, cause, conversation } = memory;
  return { state, text, cause, steps: step, conversation };
};

const plan = async (memory: Memory, { model, observer }: AgentOptions): Promise<Event> => {
  memory.step += 1;
  try {
    const move = await model(memory.conversation);
    if (move.kind === 'answer') {
      memory.text = move.text;
      return 'answer_given';
    }
    memory.calls = move.calls;
    memory.conversation.push({ role: 'assistant', text: move.thought });
    observer.planned(move.thought, move.calls);
    return 'calls_planned';
  } catch (error) {
    memory.text = `The model failed: ${toText(error)}`;
    return 'model_failed';
  }
};

const act = async (memory: Memory, { executeCalls }: AgentOptions): Promise<Event> => {
  try {
    memory.results = await executeCalls(memory.calls, memory.step);
    return 'results_received';
  } catch (error) {
    memory.text = `The tools cannot be reached: ${toText(error)}`;
    return 'service_failed';
  }
};

const observe = (memory: Memory, options: AgentOptions): Event => {
  memory.results.forEach((result, position) => {
    const call = memory.calls[position];
    if (call === undefined) return;
    memory.conversation.push({ role: 'tool', call, success: result.success, text: toModelText(result) });
    options.observer.received(result);
  });
  const { event, reason } = judgeResults(memory.results);
  if (event !== 'observed') {
    memory.text = reason;
    return event;
  }
  if (memory.step < options.maxSteps) return 'observed';
  memory.text = `Max steps ${options.maxSteps} exceeded`;
  return 'steps_exhausted';
};

/** A failure is read as it was written; of a success the value counts, and a word of the tool where there is one. */
const toModelText = ({ success, value, message }: ToolResult): string => {
  if (!success) return message;
  return [message, toContent(value)].filter((part) => part !== '').join('\n');
};

const toContent = (value: unknown): string => {
  const hasContent = typeof value === 'object' && value !== null && 'content' in value;
  return hasContent && typeof value.content === 'string' ? value.content : JSON.stringify(value);
};

const toText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
