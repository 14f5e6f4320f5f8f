import * as z from 'zod';
import { CALL_KINDS } from '../bodies.ts';
import { FORMS } from '../forms.ts';

/**
 * What is sent with a batch beside its body: an Idempotency-Key that is new each time, one that comes again, or a header
 * of that size that the service does not read.
 */
export const KEY_MANNERS = ['none', 'fresh', 'kept', 'ignored'] as const;

/** One server, and what it is asked. */
export const LanePlan = z.object({
  url: z.string(),
  pid: z.int().positive(),
  kind: z.enum(CALL_KINDS).default('succeeding'),
  /** Only `native` knows other kinds than `succeeding`. */
  form: z.enum(FORMS).default('native'),
  calls: z.int().positive(),
  /** Batches are of so many sessions in turn; 0 = of none. */
  sessions: z.int().nonnegative().default(0),
  /** Of this plan only; `shared`: of the same ids in every plan. */
  sessionNames: z.enum(['own', 'shared']).default('own'),
  key: z.enum(KEY_MANNERS).default('none'),
  /** Milliseconds that a batch has; 0 = as many as the service gives it. Only `native`. */
  deadlineMs: z.int().nonnegative().default(0),
  /** Batches come with so many API keys in turn; 0 = with none. */
  apiKeys: z.int().nonnegative().default(0),
  /** Requests that are made beforehand and sent over and over. */
  requests: z.int().positive().default(1024),
  connections: z.int().positive().default(32),
  /**
   * Whether the generator never sleeps while it drives the lane. One that does is woken by nearly each answer of the slower server, which
   * pays for that (11 of 42 µs), and by few of the faster one. Not where anything else needs its core, as Redis does.
   */
  awake: z.boolean().default(false),
  /** Whether the time from each batch to its whole answer is noted. */
  timed: z.boolean().default(false),
});
export type LanePlan = Readonly<z.infer<typeof LanePlan>>;
/** The same as it is asked for. */
export type LaneLoad = Readonly<Omit<z.input<typeof LanePlan>, 'url' | 'pid'>>;

/**
 * How long a lane is driven: until so many batches are sent, or for a time. Where `calls` is given the time is up to
 * doubled until so many calls are sent.
 */
const Stint = z.union([
  z.object({ ms: z.number().positive(), calls: z.int().nonnegative().default(0) }),
  z.object({ answers: z.int().positive() }),
]);
export type Stint = Readonly<z.infer<typeof Stint>>;
export type AskedStint = Readonly<z.input<typeof Stint>>;

/** Lanes that are warmed up one after the other, and then driven in turn, a slice each, round by round. */
export const SlicePlan = z.object({
  lanes: z.array(LanePlan).min(1),
  /** Each of these is one stint of every lane in turn. */
  warmUps: z.array(Stint),
  rounds: z.int().nonnegative(),
  slice: Stint,
});
export type SlicePlan = Readonly<z.input<typeof SlicePlan>>;

/** One slice of one lane. */
export const Slice = z.object({
  answers: z.int().positive(),
  ms: z.number().positive(),
  /** Processor time of all threads of the server. */
  cpuNanos: z.number().nonnegative(),
  /** Milliseconds from sending a batch to its whole answer, of each; empty where the lane is not timed. */
  times: z.array(z.number()),
  /** Answers with a warning, and the first of these. */
  warned: z.int().nonnegative(),
  warning: z.string(),
});
export type Slice = Readonly<z.infer<typeof Slice>>;

/** The slices of each lane, in the order of the rounds. */
export const Slices = z.array(z.array(Slice));
