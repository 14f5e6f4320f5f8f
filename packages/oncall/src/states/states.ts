import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Config } from 'recourse-server/config/settings/config';
import { ignoreBodies } from 'recourse-server/routes/body-parsers';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import { ProblemError } from 'recourse-server/routes/problems';
import { callerOf } from 'recourse-server/routes/request-gate';
import { askStore } from 'recourse-server/routes/sessions';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import { KEY_PREFIX } from 'recourse-server/store/shared-connection';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { ToolRegistry } from 'recourse-server/tools/registry';
import type { States } from '../contract/contract.ts';
import { createToolOrigins, mergeStates } from './merge-states.ts';
import { createReportReader, type ReportParts } from './own-report.ts';
import type { ReplicaReport } from './replica-report.ts';
import { createReportStore, type ReportStore, replicasKind } from './report-store.ts';
import type { Viewer } from './warnings.ts';

/** A person has closed a circuit. */
export type CircuitClosed = {
  readonly tenant: string;
  /** The name of the tool, or of the upstream. */
  readonly circuit: string;
  /** The name of the key, or the subject of the token; null while anonymous. */
  readonly by: string | null;
  readonly request_id: string;
};

export type StatesParts = Omit<ReportParts, 'role' | 'backend'> & {
  readonly backend: StoreBackend;
  readonly registry: Pick<ToolRegistry, 'list' | 'reducers'>;
  readonly log: Logger;
  /** Writes the line of the audit log. */
  readonly onCircuitClosed: (event: CircuitClosed) => void;
};

const LOOK_EVERY_MS = 1000;
const WRITE_EVERY_MS = 10_000;
// Of the second that all parts of a service have to close.
const LAST_WRITE_MS = 500;
// Measured: 20 replicas with 200 open circuits each are 2 MB, read in 80 ms, whoever asks.
const SHARED_MS = 1000;
const CHANNEL = `${KEY_PREFIX}:circuits`;

type OfCircuit = { Params: { name: string } };

/**
 * The states of all processes that share the store. Each writes its own, and reads those of the others when it is asked.
 *
 * | this process | its field in the record `replicas`                                                              |
 * |--------------|-------------------------------------------------------------------------------------------------|
 * | started      | written at once, every 10 s, and within a second after its open circuits are other ones         |
 * | killed       | as it was: `is_silent` after 30 s, forgotten by readers and by the next writer after an hour     |
 * | closed       | deleted                                                                                         |
 *
 * Where this process has the store alone nothing is written.
 */
export const openStates = (config: Config, parts: StatesParts) => {
  const { backend, circuits, log, time, now, registry } = parts;
  const { shared } = backend;
  const readOwn = createReportReader({ ...parts, role: config.ROLE === 'worker' ? 'worker' : 'service' });
  const reports = shared === null ? null : createReportStore(backend.records.open(replicasKind), backend.sealing);
  const origins = createToolOrigins(registry);
  let writing: Promise<void> | null = null;
  let writtenAt = Number.NEGATIVE_INFINITY;
  let writtenCircuits = '';

  /** Best effort. */
  const write = (): Promise<void> => {
    writtenAt = now();
    writtenCircuits = nameOpen();
    writing ??= (reports?.write(readOwn()) ?? Promise.resolve())
      // The store tells of its outages itself.
      .catch((error: unknown) => log.debug({ causes: describeCauses(error) }, 'state of this replica not written'))
      .finally(() => {
        writing = null;
      });
    return writing;
  };
  const nameOpen = (): string =>
    circuits
      .list()
      .map(({ name, state }) => `${state} ${name}`)
      .join('\n');
  const look = (): void => {
    if (now() - writtenAt >= WRITE_EVERY_MS || nameOpen() !== writtenCircuits) void write();
  };

  const readOthers = shareReading(reports, now);
  const read = async (viewer: Viewer): Promise<States> =>
    mergeStates([readOwn(), ...(await readOthers())], { viewer, origins, now: time() });

  const close = async (request: FastifyRequest<OfCircuit>, reply: FastifyReply): Promise<FastifyReply> => {
    const { name } = request.params;
    const caller = callerOf(request);
    const open = await read(caller);
    if (!open.circuits.some((circuit) => circuit.name === name)) throw noSuchCircuit();
    circuits.close(name);
    if (reports !== null) await askStore(shared?.client.publish(CHANNEL, reports.seal(name)) ?? Promise.resolve());
    const event = { tenant: caller.tenant, circuit: name, by: caller.key, request_id: request.id };
    log.info(event, 'circuit closed by hand');
    parts.onCircuitClosed(event);
    return reply.code(204).send();
  };

  const addCircuitRoutes: FastifyPluginAsync = async (routes) => {
    ignoreBodies(routes);
    routes.delete<OfCircuit>('/circuits/:name', { config: { operation: 'operate' } }, close);
  };
  let timer: NodeJS.Timeout | undefined;
  let stop: () => void = () => undefined;
  return {
    read,
    addRoutes: (app: FastifyInstance): void => {
      void app.register(addCircuitRoutes);
      refuseOtherMethods(app, '/circuits/:name', ['DELETE']);
    },
    start: (): void => {
      if (shared === null || reports === null) return;
      ({ stop } = shared.subscription.subscribe(CHANNEL, (message) => {
        const name = reports.open(message);
        if (name !== null) circuits.close(name);
      }));
      timer = setInterval(look, LOOK_EVERY_MS).unref();
      look();
    },
    close: async (): Promise<void> => {
      clearInterval(timer);
      stop();
      const forgotten = Promise.resolve(writing).then(() => reports?.forgetOwn());
      // A store that does not answer must not keep other parts from closing.
      await Promise.race([forgotten.catch(() => undefined), setTimeout(LAST_WRITE_MS, null, { ref: false })]);
    },
  };
};

/** What the other replicas say: read once a second at most, whoever asks. While the store is away: nothing. */
const shareReading = (reports: Pick<ReportStore, 'readOthers'> | null, now: () => number) => {
  let others: Promise<readonly ReplicaReport[]> = Promise.resolve([]);
  let readAt = Number.NEGATIVE_INFINITY;
  return (): typeof others => {
    if (reports === null || now() - readAt < SHARED_MS) return others;
    readAt = now();
    others = reports.readOthers().catch(() => []);
    return others;
  };
};

const noSuchCircuit = (): ProblemError =>
  new ProblemError(404, 'circuit_not_found', 'No replica has an open circuit of this name.');
