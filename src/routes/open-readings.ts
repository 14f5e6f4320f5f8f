import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, Operation } from '../auth/callers.ts';
import { type ByteBudget, createByteBudget } from '../memory/byte-budget.ts';
import type { ProblemError } from './problems.ts';
import { createNotStoredProblem, operationNotAllowed, overloaded, unauthorized } from './problems.ts';
import { callerKeyOf, callerOf, credentialOf, type GateOptions, MISSING_OPERATION } from './request-gate.ts';
import type { Reading } from './route-host.ts';

// Keys and tokens that expire end what they read at most so much later.
const EXPIRY_CHECK_MS = 1000;

/** All answers that wait or stream. Each has one place, however many calls it is of, and is as good as its key or token. */
export const createOpenReadings = ({
  most,
  authenticate,
  time,
}: {
  /** How many there may be, of all callers. */
  readonly most: number;
  readonly authenticate: GateOptions['authenticate'];
  /** Unix milliseconds. */
  readonly time: () => number;
}) => {
  const readings = new Set<OpenReading>();
  const takePlace = createPlaces(most);
  let timer: NodeJS.Timeout | undefined;
  const findExpired = (): void => {
    const now = time();
    for (const reading of readings) reading.checkExpiry(now);
  };
  const add = ({ request, raw }: FastifyReply, givePlace: () => void): Reading => {
    const reading = new OpenReading(request);
    // Its keys may have changed since the request was let in: its body may have been long on its way.
    reading.check(authenticate);
    reading.checkExpiry(time());
    const onClose = (): void => {
      readings.delete(reading);
      givePlace();
      reading.end();
      if (readings.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
    readings.add(reading);
    timer ??= setInterval(findExpired, EXPIRY_CHECK_MS).unref();
    if (raw.destroyed) onClose();
    else raw.once('close', onClose);
    return reading;
  };
  return {
    /** Takes a place, until the answer is sent or its connection has closed; null: there is none. */
    open: (reply: FastifyReply): Reading | null => {
      const givePlace = takePlace(callerKeyOf(reply.request), callerOf(reply.request).rateKey);
      return givePlace === null ? null : add(reply, givePlace);
    },
    /** Follows the rights of a caller to an answer that has a limit of its own. */
    watch: (reply: FastifyReply): Reading => add(reply, () => undefined),
    /** API keys have changed: looks at what the callers of all answers that are open may do now. */
    recheck: (): void => {
      for (const reading of readings) reading.check(authenticate);
    },
  };
};

export type OpenReadings = ReturnType<typeof createOpenReadings>;

/** Ends a stream without its last event as soon as its caller has no right to it any more. */
export const cutOffWhenOver = ({ over }: Reading, { raw }: FastifyReply): void => void over.then(() => raw.destroy());

/** Why a stream finds no place. */
export const noPlace = (): ProblemError => overloaded({ reason: 'waiters', retryAfterSeconds: 2 });

class OpenReading implements Reading {
  readonly over: Promise<void>;
  readonly end: () => void;
  readonly #credential: string | undefined;
  readonly #operation: Operation;
  readonly #admitted: Caller;
  #caller: Caller;
  #tools: readonly (string | null)[] = [];
  #refusal: ProblemError | null = null;

  constructor(request: FastifyRequest) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.end = resolve;
    this.#credential = credentialOf(request);
    this.#operation = request.routeOptions.config.operation ?? 'call';
    this.#admitted = callerOf(request);
    this.#caller = this.#admitted;
  }

  isLost(): boolean {
    return this.#refusal !== null;
  }

  requireRight(): void {
    if (this.#refusal !== null) throw this.#refusal;
  }

  shows(tools: readonly (string | null)[]): void {
    this.#tools = tools;
    this.#checkTools();
  }

  /** A token says itself what it allows, for as long as it is valid: only keys are looked up again. */
  check(authenticate: GateOptions['authenticate']): void {
    if (this.#admitted.keyHash === undefined) return;
    const found = authenticate(this.#credential);
    if (found instanceof Promise || found.kind !== 'known' || found.caller.tenant !== this.#admitted.tenant) {
      this.#revoke(unauthorized());
      return;
    }
    this.#caller = found.caller;
    if (found.caller.may(this.#operation)) this.#checkTools();
    else this.#revoke(operationNotAllowed(MISSING_OPERATION[this.#operation]));
  }

  checkExpiry(now: number): void {
    const { validUntil = Number.POSITIVE_INFINITY } = this.#caller;
    if (validUntil <= now) this.#revoke(unauthorized());
  }

  #checkTools(): void {
    const isTaken = (tool: string | null): boolean =>
      tool !== null && this.#admitted.mayUse(tool) && !this.#caller.mayUse(tool);
    if (this.#tools.some(isTaken)) this.#revoke(createNotStoredProblem());
  }

  #revoke(problem: ProblemError): void {
    this.#refusal ??= problem;
    this.end();
  }
}

/**
 * Places are shared as bytes are: a tenant may have at most as many as are left free beside it, so one alone half of all; and of
 * that half a key as many as its tenant's other keys leave free. An address (key: null) has no keys. Gives the way to give a place
 * back; null: there is none.
 */
const createPlaces = (most: number) => {
  const tenants = createByteBudget({ limitBytes: most });
  const keysOf = new Map<string, ByteBudget>();
  return (tenant: string, key: string | null): (() => void) | null => {
    const ofTenant = tenants.open(tenant, 1);
    if (ofTenant === null) return null;
    if (key === null) return () => ofTenant.release();
    const keys = keysOf.get(tenant) ?? createByteBudget({ limitBytes: Math.floor(most / 2) });
    const ofKey = keys.open(key, 1);
    if (ofKey !== null) keysOf.set(tenant, keys);
    else ofTenant.release();
    return ofKey === null
      ? null
      : () => {
          ofKey.release();
          ofTenant.release();
          if (keys.inUse() === 0) keysOf.delete(tenant);
        };
  };
};
